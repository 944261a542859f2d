// SPDX-License-Identifier: MIT
// Loops: are the latents canonical coordinates? A second answer, without regression.
//
// By Poincare, every canonical map preserves the integral of p dq around a closed loop of states,
// the action of the loop. So the actions of loops in latent space are those of the true loops, up
// to one constant. It needs loops of states (`plumb simulate --loops`) and no fit, so it works in
// many dimensions. docs/measures-loops.md has the details.
#ifndef PLUMB_LOOPS_H
#define PLUMB_LOOPS_H

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_LOOPS_VERSION 1

/// The settings. Take them from plumb_loops_defaults() and change what you need.
typedef struct plumb_loops_options {
    size_t size;       ///< sizeof(plumb_loops_options)
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of the bootstrap. Default 1.
} plumb_loops_options;

/// The result. Free what it owns with plumb_loops_clear().
typedef struct plumb_loops {
    double cosine;               ///< Between the latent and the true actions: 1 if canonical.
    plumb_interval cosine_ci;    ///< 95 %, over loops.
    double slope;                ///< The constant: latent action per true action.
    plumb_interval slope_ci;     ///< 95 %, over loops.
    int64_t loops;               ///< Loops measured.
    int64_t states;              ///< States of the shortest loop.
    const double *true_action;   ///< (loops) of the truth.
    const double *latent_action; ///< (loops) of the latents.
    void *memory;                ///< Private.
} plumb_loops;

/// Sets the first `size` bytes of `options` to the defaults. plumb_loops_defaults() calls it.
PLUMB_API void plumb_loops_options_init(plumb_loops_options *options, size_t size);

/// The defaults.
static inline plumb_loops_options plumb_loops_defaults(void)
{
    plumb_loops_options options;
    plumb_loops_options_init(&options, sizeof options);
    return options;
}

/// Measures loops. latent (items, 2m) and truth (items, 2n), or with an axis of steps of which the
/// first counts, q first. loop (items): the number of the loop of each item; the items of a loop
/// stand together, in the order of its angle and equally spaced in it, at least 8 of them.
/// May be NULL: options. On failure `result` is unchanged. Fails with PLUMB_ESHAPE, PLUMB_EVALUE
/// if a loop is too short, PLUMB_ENUMERIC if a value is not finite or no true loop has an action.
PLUMB_API plumb_status plumb_loops_measure(plumb_loops *result, const plumb_array *latent,
                                           const plumb_array *truth, const plumb_array *loop,
                                           const plumb_loops_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_loops_clear(plumb_loops *result);

/// Writes the result under the names that `plumb measure --loops --json` prints.
PLUMB_API void plumb_loops_record(plumb_record *record, const plumb_loops *result);

#ifdef __cplusplus
}
#endif
#endif
