// SPDX-License-Identifier: MIT
// One body per tile and transform, compiled once per instruction set, chosen by a table when the
// library loads.
#include "engine/kernels/kernel_set.h"

#include <stddef.h>
#include <string.h>

#include "base/cpu.h"

static const cpu_variant sets[] = {CPU_AVX512(kernel_set_avx512) CPU_AVX2(kernel_set_avx2)
                                       CPU_PORTABLE(kernel_set_portable)};
static const kernel_set *chosen = &kernel_set_portable, *narrow = &kernel_set_portable;

void kernel_set_use(const kernel_set *set)
{
    chosen = narrow = set;
#if defined(__x86_64__)
    if (chosen == &kernel_set_avx512) narrow = &kernel_set_avx2;
#endif
}

bool kernel_set_select(const char *set)
{
    const cpu_variant *k = cpu_choose(sets, set);
    if (k) kernel_set_use(k->kernels);
    return k;
}

__attribute__((constructor)) static void choose(void)
{
    kernel_set_select(NULL);
}

const kernel_set *kernel_set_for(int64_t columns)
{
    return columns <= narrow->lanes ? narrow : chosen;
}

const char *kernel_set_instructions(void)
{
    return chosen->name;
}
