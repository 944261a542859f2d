// SPDX-License-Identifier: MIT
// Chooses the kernels of the best instruction set when the library is loaded.
#include "engine/kernels/kernel_set.h"

#include "base/cpu.h"

static const cpu_variant variants[] = {CPU_AVX512(kernel_set_avx512) CPU_AVX2(kernel_set_avx2)
                                           CPU_PORTABLE(kernel_set_portable)};
CPU_DISPATCH(kernel_set, variants, kernel_set_portable);

bool kernel_set_select(const char *set)
{
    return choose_kernels(set);
}

void kernel_set_use(const kernel_set *set)
{
    chosen = set;
}

// Registers of AVX-512 are wider than few columns fill; then AVX2 is faster.
static const kernel_set *narrower_set(void)
{
#if defined(__x86_64__)
    if (chosen == &kernel_set_avx512) return &kernel_set_avx2;
#endif
    return chosen;
}

// `columns` floats that lie side by side in the result.
const kernel_set *kernel_set_for(int64_t columns)
{
    const kernel_set *narrow = narrower_set();
    return columns <= narrow->lanes ? narrow : chosen;
}

const char *kernel_set_instructions(void)
{
    return chosen->name;
}
