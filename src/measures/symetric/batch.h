// SPDX-License-Identifier: MIT
// One fit of SyMetric to a batch of trajectories: mask, standardise, fit, Jacobians, Sym.
#ifndef MEASURES_SYMETRIC_BATCH_H
#define MEASURES_SYMETRIC_BATCH_H

#include "measures/fit/polynomial_fit.h"
#include "measures/symetric/sym_score.h"

/// What all batches share.
typedef struct symetric_batch_input {
    const plumb_array *latent, *truth, *variance; // variance may be NULL
    const int64_t *kept; // (trajectories) rows of the arrays that are measured
    int64_t trajectories;
    int64_t steps;                // of the truth
    int64_t latent_steps;         // at least `steps`
    int64_t latent_dims, targets; // 2m, 2n
    const double *alphas;
    int64_t points;
    const int64_t *eval_index; // (trajectories, points)
    const plumb_symetric_options *opt;
    bool quiet; // write no log lines
} symetric_batch_input;

typedef struct symetric_batch {
    plumb_symetric_batch numbers;
    int64_t dims;                       // latents used
    int64_t *used;                      // (dims) which, increasing
    int64_t informative;                // latents that pass the mask; -1 without a variance
    int64_t pairs;                      // pairs of which both are used
    int64_t *pair_q, *pair_p;           // (pairs) their places in `used`
    double *latent_mean, *latent_scale; // (dims)
    double *truth_mean, *truth_scale;   // (targets)
    polynomial_fit fit;
    double *jacobian;                 // (points, targets, dims) of the first trajectory, shifted
    sym_score *sym;                   // (trajectories)
    double r2_heldout;                // NaN if no trajectory is whole in one half
    double *residual2, *sum, *square; // (trajectories, targets): of full fit; of the truth
    double *heldout2;                 // (trajectories, targets) NaN where cut by the halves
} symetric_batch;

/// Which trajectories become rows.
typedef struct row_range {
    int64_t first, count; // of the trajectories kept
    int64_t from;         // mean and deviation are of trajectories from .. count-1 of these
    int64_t stride;       // of the columns
} row_range;

/// Standardised columns that are made from an array (trajectories, steps, dims) when they are
/// needed, so that no copy of a large array is kept.
typedef struct symetric_columns {
    const plumb_array *array;
    const int64_t *kept;        // which trajectories
    int64_t steps, array_steps; // used, and of the array
    int64_t dims;
    const int64_t *used;  // (count) which of the dims, if not all
    int64_t count;        // columns
    double *mean, *scale; // (count)
    double *tile;         // (a few rows, count) scratch
    double *whole_row;    // (dims) scratch
} symetric_columns;

/// Targets and residuals of the trajectories measured, (targets, stride) each.
typedef struct fit_residuals {
    const double *y, *residual;
    const double *heldout; // residuals by the fit to the other half
    int64_t half; // row where the second half begins; a trajectory that it cuts is left out
    int64_t stride;
} fit_residuals;

// The steps that both ways of fitting share, on trajectories first .. first+count-1 of those kept.

/// Which latents take part: dims, used, informative, pairs.
plumb_status symetric_batch_select_latents(symetric_batch *out, arena *mem,
                                           const symetric_batch_input *in, int64_t first,
                                           int64_t count);
/// x (dims, stride) and y (targets, stride), standardised.
plumb_status symetric_batch_columns(double **x, double **y, symetric_batch *out, arena *mem,
                                    const symetric_batch_input *in, const row_range *range);
/// The two halves of it: x row by row, and y.
plumb_status symetric_batch_latents(symetric_columns *x, symetric_batch *out, arena *mem,
                                    const symetric_batch_input *in, const row_range *range);
plumb_status symetric_batch_truth(double **y, symetric_batch *out, arena *mem,
                                  const symetric_batch_input *in, const row_range *range);
/// Writes j (points, targets, dims) of trajectory k, 0 <= k < count.
typedef void symetric_jacobians(double *j, const void *context, int64_t k);
/// Sym and rho.
plumb_status symetric_batch_score(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                  int64_t count, symetric_jacobians *fill, const void *context);
/// Sums per trajectory, from which intervals and items are made, and held-out R2.
plumb_status symetric_batch_sums(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                 const fit_residuals *residuals, int64_t count);
/// The highest polynomial order that is tried with `dims` latents.
int symetric_batch_orders(int64_t dims, int64_t rows, const plumb_symetric_options *opt);
/// The verdict, from r2, sym and rho.
void symetric_batch_decide(plumb_symetric_batch *b, const plumb_symetric_options *opt);

/// By polynomials: trajectories first .. first+count-1 of the kept ones, on `threads` threads.
plumb_status symetric_batch_measure(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                    int64_t first, int64_t count, int threads);

#endif
