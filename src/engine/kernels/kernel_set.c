// SPDX-License-Identifier: MIT
// One body per tile and transform, compiled once per instruction set, chosen by a table when the
// library loads.
#include "engine/kernels/kernel_set.h"

#include <stddef.h>
#include <string.h>

#include "base/cpu.h"

static const cpu_kernels sets[] = {CPU_AVX512(kernels_avx512) CPU_AVX2(kernels_avx2)
                                       CPU_PORTABLE(kernels_portable)};
static const kernel_set *chosen = &kernels_portable, *narrow = &kernels_portable;

void kernels_use(const kernel_set *set)
{
    chosen = narrow = set;
#if defined(__x86_64__)
    if (chosen == &kernels_avx512) narrow = &kernels_avx2;
#endif
}

bool kernels_select(const char *set)
{
    const cpu_kernels *k = cpu_choose(sets, set);
    if (k) kernels_use(k->kernels);
    return k;
}

__attribute__((constructor)) static void choose(void)
{
    kernels_select(NULL);
}

const kernel_set *kernels_for(int64_t columns)
{
    return columns <= narrow->lanes ? narrow : chosen;
}

const char *kernels_instructions(void)
{
    return chosen->name;
}
