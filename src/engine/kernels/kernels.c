// SPDX-License-Identifier: MIT
// One body per tile and transform, compiled once per instruction set, chosen by a table when the
// library loads.
#include "engine/kernels/kernels.h"

#include <stddef.h>
#include <string.h>

#include "base/cpu.h"

static const kernel_set *const sets[] = {
#if defined(__x86_64__)
    &kernels_avx512,
    &kernels_avx2,
#endif
    &kernels_portable,
};

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
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(sets[i]->name, set) && cpu_has(set)) {
            kernels_use(sets[i]);
            return true;
        }
    return false;
}

__attribute__((constructor)) static void choose(void)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (kernels_select(sets[i]->name)) return;
}

const kernel_set *kernels_for(int64_t columns)
{
    return columns <= narrow->lanes ? narrow : chosen;
}

const char *kernels_instructions(void)
{
    return chosen->name;
}
