// SPDX-License-Identifier: MIT
// Asks the processor which instruction sets it has, and the system whether it saves their
// registers. Not by __builtin_cpu_supports(): not every compiler's runtime library has what it
// needs.
#include "base/cpu.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

// What CPUID and XGETBV say. The bits are those of the processors' manuals.
typedef struct features {
    bool sse42, avx2, avx512;
} features;

static bool has_bits(uint64_t value, uint64_t bits)
{
    return (value & bits) == bits;
}

static features read_features(void)
{
    const uint32_t fma = 1u << 12, sse42 = 1u << 20, osxsave = 1u << 27,
                   avx = 1u << 28; // leaf 1, ecx
    const uint32_t avx2 = 1u << 5, avx512f = 1u << 16, avx512dq = 1u << 17,
                   avx512vl = 1u << 31; // leaf 7, ebx
    unsigned eax, ebx = 0, ecx, edx, one;
    features found = {false, false, false};
    if (!__get_cpuid(1, &eax, &ebx, &one, &edx)) return found;
    found.sse42 = has_bits(one, sse42);
    if (!has_bits(one, osxsave | avx | fma)) return found;
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if (!has_bits(low, 0x06) || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return found;
    found.avx2 = has_bits(ebx, avx2);
    // AVX-512 is used only with the three parts that the kernels need.
    found.avx512 = has_bits(low, 0xe6) && has_bits(ebx, avx512f | avx512dq | avx512vl);
    return found;
}
#endif

bool cpu_has(const char *set)
{
    if (!strcmp(set, "portable")) return true;
#if defined(__x86_64__)
    const features found = read_features();
    if (!strcmp(set, "avx512")) return found.avx512;
    if (!strcmp(set, "avx2")) return found.avx2;
    if (!strcmp(set, "sse4.2")) return found.sse42;
#endif
    return false;
}

const cpu_variant *cpu_choose(const cpu_variant *table, const char *set)
{
    // The table lists the fastest variant first.
    for (; table->set; table++)
        if ((!set || !strcmp(table->set, set)) && cpu_has(table->set)) return table;
    return NULL;
}
