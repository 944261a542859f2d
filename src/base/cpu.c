// SPDX-License-Identifier: MIT
// Asks the processor, through the compiler, which instruction sets it has.
#include "base/cpu.h"

#include <string.h>

bool cpu_has(const char *set)
{
    if (!strcmp(set, "portable")) return true;
#if defined(__x86_64__)
    __builtin_cpu_init();
    // AVX-512 is used only with the three parts that the kernels need.
    if (!strcmp(set, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    if (!strcmp(set, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(set, "sse4.2")) return __builtin_cpu_supports("sse4.2");
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
