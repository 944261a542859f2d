// SPDX-License-Identifier: MIT
// Which instruction sets this processor has, and the one way in which a file with loops compiled
// for several of them chooses among them.
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/// Whether this processor has the instruction set: "avx512" (F, DQ and VL), "avx2" (with FMA) or
/// "sse4.2" of x86-64. Every processor has "portable".
bool cpu_has(const char *set);

/// The same loops compiled for one instruction set.
typedef struct cpu_variant {
    const char *set;     ///< Name as for cpu_has(); NULL ends a table.
    const void *kernels; ///< A table of functions whose type the file that uses it knows.
} cpu_variant;

/// Searches a table that is sorted from best to "portable" and ends with a NULL name. Returns the
/// entry of `set`, or the first that this processor can run if `set` is NULL. Returns NULL if there
/// is none.
const cpu_variant *cpu_choose(const cpu_variant *table, const char *set);

// Entries of such a table, in this order: CPU_AVX512(x) CPU_AVX2(y) CPU_PORTABLE(z).
#if defined(__x86_64__)
#define CPU_AVX512(name) {"avx512", &(name)},
#define CPU_AVX2(name) {"avx2", &(name)},
#else
#define CPU_AVX512(name)
#define CPU_AVX2(name)
#endif
#define CPU_PORTABLE(name) \
    {"portable", &(name)}, \
    {                      \
        0                  \
    }

/// Defines the choice among the kernels of one file. `type` is the struct of function pointers,
/// `table` an array of cpu_variant, `fallback` the portable kernels. The file can then use
///     chosen                     the kernels in use, a `const type *`,
///     chosen_set                 the name of their instruction set,
///     choose_kernels(set)        to choose others; false if this processor cannot run them.
/// The best kernels are chosen when the library is loaded, before main() runs.
#define CPU_DISPATCH(type, table, fallback)                             \
    static const type *chosen = &(fallback);                            \
    __attribute__((unused)) static const char *chosen_set = "portable"; \
    static bool choose_kernels(const char *set)                         \
    {                                                                   \
        const cpu_variant *variant = cpu_choose(table, set);            \
        if (!variant) return false;                                     \
        chosen = variant->kernels;                                      \
        chosen_set = variant->set;                                      \
        return true;                                                    \
    }                                                                   \
    __attribute__((constructor)) static void choose_best_kernels(void)  \
    {                                                                   \
        choose_kernels(NULL);                                           \
    }                                                                   \
    struct cpu_dispatch_needs_a_semicolon

#endif
