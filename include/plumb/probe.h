// SPDX-License-Identifier: MIT
// Probe: what of the physics is in these latents? A linear and a small non-linear readout of each
// target from the latents, scored on trajectories that they were not fitted to, beside controls
// that give the numbers a meaning.
//
// Trajectories are divided into folds. The readouts of a fold are fitted to the other folds, and
// their penalty is chosen by leaving out each of those in turn, so no trajectory has a part in the
// readout that predicts it. All scores are over the predictions of all trajectories.
#ifndef PLUMB_PROBE_H
#define PLUMB_PROBE_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_PROBE_VERSION 1

/// The settings. Take them from plumb_probe_defaults() and change what you need.
typedef struct plumb_probe_options {
    size_t size;         ///< sizeof(plumb_probe_options)
    int64_t folds;       ///< Folds of trajectories, 3 to 20; at most the trajectories. Default 5.
    int64_t penalties;   ///< Penalties of the ridge to choose from, 1 to 64. Default 10.
    double penalty_low;  ///< The smallest, in units of the number of rows; above 0. Default 1e-8.
    double penalty_high; ///< The largest; the others are spaced evenly in log. Default 10.
    bool nonlinear;      ///< Fit the non-linear probe too. Default true.
    int64_t centres;     ///< Of its kernel, 1 to 4096. Default 256.
    bool controls;       ///< Measure the controls too. Default true.
    int64_t shuffles;    ///< Shuffles of the targets, 0 to 1000. Default 5.
    int64_t window;      ///< Earlier steps in the control `past`, 1 to 64. Default 4.
    int64_t resamples;   ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;       ///< Of folds, shuffles, projections, centres and bootstrap. Default 1.
    int threads;         ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
} plumb_probe_options;

/// One array of targets. Its columns are one group.
typedef struct plumb_probe_target {
    const char *name; ///< Of the group: "truth", "energy".
    /// (trajectories, steps, k) or (trajectories, steps), a value per step; or (trajectories, k) or
    /// (trajectories), a value per trajectory. Two axes are per step if the second has `steps`.
    const plumb_array *array;
    const char *const *columns; ///< (k) names of the columns, or NULL: "truth[0]", "truth[1]" ...
    /// (k) true for angles in radians, which are read out as sine and cosine; NULL: none.
    const bool *angles;
} plumb_probe_target;

/// What is measured.
typedef struct plumb_probe_input {
    size_t size; ///< sizeof(plumb_probe_input)
    /// (trajectories, steps, d). Trajectories that end early have NaN in all latents of their last
    /// steps, or `lengths`.
    const plumb_array *latent;
    const plumb_probe_target *targets; ///< (target_count)
    int64_t target_count;              ///< At least 1.
    const plumb_array *lengths;        ///< (trajectories) steps of each, or NULL.
    /// (trajectories, steps, height, width, channels) what the model saw, or NULL. For controls.
    const plumb_array *frames;
    /// (trajectories, steps, a) what drove the system, or NULL. For a control.
    const plumb_array *action;
    /// As the array of a target, one column, or NULL. The low half of the trajectories, by the mean
    /// of this value, is for fitting, the high half for testing.
    const plumb_array *ood;
    /// (trajectories) first row of each trajectory, or NULL. With it all arrays of values per step
    /// have one axis of rows in place of (trajectories, steps), as latents (rows, d), and `lengths`
    /// must be given. Rows may belong to several trajectories or to none.
    const plumb_array *offsets;
} plumb_probe_input;

/// How well a target is read out.
typedef struct plumb_probe_score {
    double r2;              ///< 1 - squared error / variance over all tested rows. Best: 1.
    plumb_interval r2_ci;   ///< 95 % interval, bootstrap over trajectories.
    double r;               ///< Pearson's correlation of readout and target. Of angles their mean.
    plumb_interval r_ci;    ///< 95 % interval.
    double nmse;            ///< Mean squared error / variance in the trajectories fitted to.
    plumb_interval nmse_ci; ///< 95 % interval.
    double penalty;         ///< Chosen penalty, the median over folds; NaN for a group.
} plumb_probe_score;

/// By which probe a target is found: the lower end of the interval of R2 is above 0 and above every
/// R2 with shuffled targets.
typedef enum plumb_probe_found {
    PLUMB_PROBE_FOUND_NONE,
    PLUMB_PROBE_FOUND_NONLINEAR, ///< Only by the non-linear probe.
    PLUMB_PROBE_FOUND_LINEAR,
} plumb_probe_found;

enum { PLUMB_PROBE_FRACTIONS = 3 }; ///< Smaller shares of trajectories: 1/8, 1/4 and 1/2.

/// One target, or a group: the means over its targets.
typedef struct plumb_probe_line {
    const char *name;  ///< "truth[0]"; of a group "truth".
    const char *group; ///< The name of its array.
    bool angle;        ///< Read out as sine and cosine, whose errors are added up.
    bool constant;     ///< The target never changes: its scores are NaN, and no group counts it.
    plumb_probe_score linear;    ///< Of the linear probe.
    plumb_probe_score nonlinear; ///< NaN if not measured.
    plumb_probe_found found;     ///< By which of the two it is found.
    // Controls: R2 of the linear probe if not said otherwise; NaN if not measured.
    double shuffled, shuffled_max;                     ///< Shuffled targets: mean, largest.
    double nonlinear_shuffled, nonlinear_shuffled_max; ///< The same of the non-linear probe.
    /// With 1/8, 1/4 and 1/2 of the trajectories to fit to; NaN if a fold has too few.
    double fractions[PLUMB_PROBE_FRACTIONS];
    double past;           ///< From a random projection of the latents of earlier steps.
    double projection;     ///< From a random projection of the frame, as many numbers as latents.
    double pixels;         ///< From the pixels of the frame.
    double action;         ///< From the actions.
    plumb_probe_score ood; ///< Fitted to the low half, tested on the high half.
} plumb_probe_line;

/// The result. Free what it owns with plumb_probe_clear().
typedef struct plumb_probe {
    double r2;                         ///< Mean over targets of the linear R2.
    double r2_nonlinear;               ///< The same of the non-linear probe; NaN if not measured.
    const plumb_probe_line *line;      ///< (count) targets, in the order of the input.
    int64_t count;                     ///< Columns of all targets.
    const plumb_probe_line *group;     ///< (group_count) arrays of more than one target.
    int64_t group_count;               ///< 0 if every array has one column.
    int64_t trajectories, steps, dims; ///< Of the latents.
    int64_t rows;                      ///< Steps of all trajectories.
    int64_t nonlinear_rows;            ///< Rows of the non-linear probe, a part of many.
    int64_t folds;                     ///< That were used.
    int64_t ood_fitted, ood_tested;    ///< Trajectories of each half; 0 without `ood`.
    double ood_limit;                  ///< The value that divides them; NaN without.
    int64_t fitted[PLUMB_PROBE_FRACTIONS + 1]; ///< Trajectories fitted to: 1/8, 1/4, 1/2, all.
    double seconds;                            ///< Time of the call.
    char input_hash[33];                       ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;                              ///< Private.
    const int64_t *fold;                       ///< (trajectories) the fold of each, from 0.
    /// A doubt about the arrays: latents and targets that were exchanged, an angle that jumps by a
    /// turn. It changes no number. NULL: none.
    const char *hint;
} plumb_probe;

/// Sets the first `size` bytes of `options` to the defaults. plumb_probe_defaults() calls it.
PLUMB_API void plumb_probe_options_init(plumb_probe_options *options, size_t size);

/// Returns the defaults.
static inline plumb_probe_options plumb_probe_defaults(void)
{
    plumb_probe_options options;
    plumb_probe_options_init(&options, sizeof options);
    return options;
}

/// Measures what of the targets can be read off the latents.
/// May be NULL: options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC if a value is NaN or
/// infinite (but see `latent`), PLUMB_EVALUE if an option is invalid or there are fewer than four
/// trajectories, PLUMB_EMISSING without OpenBLAS.
PLUMB_API plumb_status plumb_probe_measure(plumb_probe *result, const plumb_probe_input *input,
                                           const plumb_probe_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_probe_clear(plumb_probe *result);

/// Writes the result under the names that `plumb probe --json` prints. May be NULL: options.
PLUMB_API void plumb_probe_record(plumb_record *record, const plumb_probe *result,
                                  const plumb_probe_options *options);

#ifdef __cplusplus
}
#endif
#endif
