// SPDX-License-Identifier: MIT
// kappa: are a model's latents a canonical image of the true state? plumb's own score.
//
// SyMetric fits a map from latents to truth and looks at its Jacobian off the data as well, where
// it is arbitrary. kappa pulls the latent symplectic form back along the map from truth to latents,
// which the data determine, and compares it with the true form. docs/measures.md derives it.
#ifndef PLUMB_KAPPA_H
#define PLUMB_KAPPA_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_KAPPA_VERSION 1

/// How the maps between truth and latents are fitted.
typedef enum plumb_kappa_estimator {
    PLUMB_KAPPA_ESTIMATOR_NETWORK, ///< a line and the kernel of an endless network, or a polynomial
    PLUMB_KAPPA_ESTIMATOR_GAUSSIAN,   ///< a line and Gaussian bumps, or a polynomial
    PLUMB_KAPPA_ESTIMATOR_POLYNOMIAL, ///< polynomials of rising order
} plumb_kappa_estimator;

/// The settings. Take them from plumb_kappa_defaults() and change what you need.
typedef struct plumb_kappa_options {
    size_t size; ///< sizeof(plumb_kappa_options)
    plumb_kappa_estimator estimator;
    double kappa_bar;      ///< kappa must be above it, 0.9
    double r2_bar;         ///< r2_state must be above it, 0.9
    int64_t centres;       ///< of the kernels for the map from truth to latents, 400
    int64_t state_centres; ///< of those for the map from latents to truth, 250
    bool symplectic;       ///< fit a map symplectic by design in any case; takes seconds
    bool drop_nonfinite;   ///< leave out trajectories that are not finite; else refuse them
    int64_t resamples;     ///< bootstrap draws for the 95 % interval, 2000; 0 none
    uint64_t seed;         ///< of the bootstrap and of the symplectic map, 1
    /// (n) which true positions are angles; NULL: those that range over more than a turn may be.
    const bool *angles;
} plumb_kappa_options;

/// The verdict on a model.
typedef enum plumb_verdict {
    PLUMB_VERDICT_NOT_DETERMINED =
        -1, ///< The data do not determine it; `why` says what is missing.
    PLUMB_VERDICT_NOT_LEARNT = 0,
    PLUMB_VERDICT_LEARNT = 1,
} plumb_verdict;

/// One trajectory.
typedef struct plumb_kappa_item {
    int64_t trajectory; ///< its index in the arrays given
    double kappa;       ///< of its states alone, with their own constant
    double lost;        ///< its share of what keeps kappa from 1; all shares add up to 1
} plumb_kappa_item;

/// What was measured. Free what it points to with plumb_kappa_clear.
typedef struct plumb_kappa {
    bool measured;           ///< false if kappa is undefined here; `why` then has the reason
    double kappa;            ///< 1: the pulled back form is the true one everywhere, up to c
    plumb_interval kappa_ci; ///< 95 %: over trajectories, and for the error of the fit
    plumb_verdict canonical; ///< are the latents canonical coordinates of the true state?
    const char *why;         ///< the verdict in one sentence
    double r2_state;         ///< held-out R2 of the map from latents to truth
    double r2_latent;        ///< held-out R2 of the map from truth to latents
    double r2_local;         ///< the same as r2_state, from the slope of that map and its noise
    double c;                ///< the constant; negative if q and p changed places
    double form_error;       ///< share of the form's square in which the fits to two halves differ
    double form_low, form_high; ///< least and greatest singular value of the mean form, over |c|
    double symplectic_r2;       ///< held-out R2 of a map symplectic by design; NaN if not asked for
    int64_t n, m;               ///< degrees of freedom: of the truth, of the latent space
    int64_t n_used;             ///< of the truth after redundant coordinates were taken out
    const char *reduced;        ///< what was taken out, in words; NULL if nothing
    const double *pairs;        ///< (n, m) share of each latent pair in each true pair; NULL if
                                ///< the true pairs were mixed to take redundancy out
    const plumb_kappa_item *items;
    int64_t trajectories; ///< measured
    int64_t dropped;      ///< left out because not finite
    int64_t steps;
    double seconds;
    char input_hash[33]; ///< XXH3-128 of the arrays
    void *memory;        ///< private
} plumb_kappa;

/// Sets the first `size` bytes of `options` to the defaults. plumb_kappa_defaults() calls it.
PLUMB_API void plumb_kappa_options_init(plumb_kappa_options *options, size_t size);

/// The defaults.
static inline plumb_kappa_options plumb_kappa_defaults(void)
{
    plumb_kappa_options options;
    plumb_kappa_options_init(&options, sizeof options);
    return options;
}

/// Are the latents the true phase space in other canonical coordinates?
/// latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n): q first, then p; latents
/// longer in time than the truth are cut. `momenta` (trajectories, steps, m) is for a Lagrangian
/// model, whose latents are (q, velocity): its momenta dL/dv, which replace the velocities.
/// May be NULL: momenta, opt. On failure `out` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC where the measure is not
/// defined (not finite, fewer than four trajectories, truth without area), PLUMB_EMISSING without
/// OpenBLAS. A verdict that the data do not determine is no failure.
PLUMB_API plumb_status plumb_kappa_measure(plumb_kappa *out, const plumb_array *latent,
                                           const plumb_array *momenta, const plumb_array *truth,
                                           const plumb_kappa_options *opt);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_kappa_clear(plumb_kappa *result);

/// Writes the result under the names that `plumb measure --json` prints; null for all if `measured`
/// is false, with the reason in canonical_why. May be NULL: options.
PLUMB_API void plumb_kappa_record(plumb_record *record, const plumb_kappa *result,
                                  const plumb_kappa_options *options);

#ifdef __cplusplus
}
#endif
#endif
