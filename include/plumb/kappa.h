// SPDX-License-Identifier: MIT
// kappa: are the latents of a model canonical coordinates of the true state?
//
// SyMetric fits a map from latents to truth and uses its Jacobian also off the data, where it is
// arbitrary. kappa pulls the latent symplectic form back along the map from truth to latents, which
// the data determine, and compares it with the true form. docs/measures-kappa.md derives it.
#ifndef PLUMB_KAPPA_H
#define PLUMB_KAPPA_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_KAPPA_VERSION 7

/// How the maps between truth and latents are fitted.
typedef enum plumb_kappa_estimator {
    /// A polynomial, or a line plus the kernel of an infinite network [Williams98].
    PLUMB_KAPPA_ESTIMATOR_NETWORK,
    PLUMB_KAPPA_ESTIMATOR_GAUSSIAN,   ///< A polynomial, or a line plus Gaussian kernels.
    PLUMB_KAPPA_ESTIMATOR_POLYNOMIAL, ///< Polynomials of increasing order.
} plumb_kappa_estimator;

/// The settings. Take them from plumb_kappa_defaults() and change what you need.
typedef struct plumb_kappa_options {
    size_t size;                     ///< sizeof(plumb_kappa_options)
    plumb_kappa_estimator estimator; ///< Default PLUMB_KAPPA_ESTIMATOR_NETWORK.
    double kappa_bar;                ///< kappa must be above it, 0 to 1. Default 0.9.
    double r2_bar;                   ///< r2_state must be above it, 0 to 1. Default 0.9.
    int64_t centres;       ///< Kernel centres of the map from truth to latents. Default 400.
    int64_t state_centres; ///< Kernel centres of the map from latents to truth. Default 250.
    bool symplectic;       ///< Measure `symplectic` too; takes seconds. Default false.
    /// Leave out trajectories with NaN or infinity instead of failing. Default false.
    bool drop_nonfinite;
    int64_t resamples; ///< Bootstrap draws for the 95 % interval; 0: none. Default 2000.
    uint64_t seed;     ///< Of the bootstrap and the symplectic map. Default 1.
    /// (n) which true positions are angles. NULL (the default): those that range over more than a
    /// turn may be.
    const bool *angles;
    /// (trajectories, constants) that differ between trajectories, such as masses. The form is
    /// taken at fixed values of them, if the latents depend on them. Columns that do not differ are
    /// left out. NULL (the default): only latents that stay constant are.
    const plumb_array *constants;
} plumb_kappa_options;

/// The verdict on a model.
typedef enum plumb_verdict {
    PLUMB_VERDICT_NOT_DETERMINED = -1, ///< The data do not decide; `why` says what is missing.
    PLUMB_VERDICT_NOT_LEARNT = 0,      ///< The latents are not the true phase space.
    PLUMB_VERDICT_LEARNT = 1,          ///< The latents are the true phase space.
} plumb_verdict;

/// "learnt", "not learnt" or "not determined".
PLUMB_API const char *plumb_verdict_name(plumb_verdict verdict);

/// One trajectory.
typedef struct plumb_kappa_item {
    int64_t trajectory; ///< Its index in the arrays given.
    double kappa;       ///< kappa of its states alone, with a c of its own, 0 to 1.
    double lost;        ///< Its share of the deficit of kappa; the shares add up to 1.
    /// Its sums over steps, from which kappa with any c is computed: <O, A>, |O|^2, |A|^2, and
    /// |O1 - O2|^2 of the fits to two halves. O is in units of `c`.
    double dot, form_norm2, true_norm2, halves_diff2;
} plumb_kappa_item;

/// The result. Free what it owns with plumb_kappa_clear().
typedef struct plumb_kappa {
    bool measured; ///< False if kappa is not defined here; `why` has the reason.
    double kappa;  ///< 0 to 1; 1: the pulled back form is c times the true one everywhere.
    plumb_interval kappa_ci; ///< 95 %: over trajectories, and for the error of the fit.
    /// kappa with c as a smooth function of the constants of each trajectory (latents that stay
    /// constant, or `constants`). It decides in the place of kappa. Equal to kappa where one c does
    /// as well; NaN if no constants differ, or if there are too few trajectories.
    double kappa_constants;
    plumb_interval kappa_constants_ci; ///< 95 %, or NaN.
    plumb_verdict canonical;           ///< Are the latents canonical coordinates of the true state?
    const char *why;                   ///< The verdict in one sentence.
    /// What may be wrong with the arrays: another layout, or latent and truth exchanged; also in
    /// `why`. NULL if nothing was found.
    const char *hint;
    /// For ranking models: kappa times r2_latent, 0 if the latents do not hold the state. kappa
    /// alone is near 1 for a model of which little is explained. NaN if kappa is not determined.
    double score;
    double r2_state; ///< Held-out R2 of the map from latents to truth.
    /// (2n) the same of each true coordinate. NULL if they were mixed to remove redundancy.
    const double *r2_coordinates;
    double r2_latent;  ///< Held-out R2 of the map from truth to latents.
    double r2_local;   ///< As r2_state, from the slope of the map to latents and its noise.
    double r2_nearest; ///< As r2_state, by nearest neighbours; NaN if it was not needed.
    double c;          ///< The constant; negative if q and p are exchanged.
    double form_error; ///< Share of the squared form that is error of the fit, 0 or more.
    double form_low;   ///< Least singular value of the mean form, over |c|.
    double form_high;  ///< Greatest singular value of the mean form, over |c|.
    /// Waves of the latents that are shorter than this, in standard deviations of the true
    /// coordinates, cannot be told from noise: three times the mean distance from a state to the
    /// nearest one of another trajectory, six times where few trajectories are near each other.
    /// NaN if no latent moves.
    double resolution;
    double symplectic_r2; ///< Held-out R2 of the symplectic map; NaN if it was not fitted.
    /// The least of three: the held-out R2 of two maps that are symplectic by design, from truth to
    /// latents and back, and twice the area that the latents carry over the one that the first map
    /// gives them. High only if the latents hold the state and keep the form. NaN if it was not
    /// measured.
    double symplectic;
    plumb_interval symplectic_ci; ///< 95 %, over trajectories; or NaN.
    /// Why `symplectic` was asked for and cannot be measured. NULL if it was measured, or not asked
    /// for.
    const char *symplectic_why;
    int64_t n, m;        ///< Degrees of freedom of the truth and of the latents.
    int64_t n_used;      ///< Of the truth without redundant coordinates.
    const char *reduced; ///< Which redundancy was removed, in words; NULL if none.
    /// (n, m) share of each latent pair in each true pair. NULL if the true pairs were mixed to
    /// remove redundancy.
    const double *pairs;
    const plumb_kappa_item *items; ///< (trajectories).
    int64_t trajectories;          ///< Trajectories measured.
    int64_t dropped;               ///< Trajectories left out because of NaN or infinity.
    int64_t diverged_count;        ///< Trajectories left out because their latents diverge.
    const int64_t *diverged;       ///< (diverged_count) their indices in the arrays given.
    int64_t steps;                 ///< Steps of the truth.
    double seconds;                ///< Time of the call.
    char input_hash[33];           ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;                  ///< Private.
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

/// Measures whether the latents are the true phase space in other canonical coordinates.
/// latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n): q first, then p. Latents
/// past the end of the truth are cut. `momenta` (trajectories, steps, m) is for a Lagrangian model,
/// whose latents are (q, velocity): its momenta dL/dv, which replace the velocities.
/// May be NULL: momenta, options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC if the measure is not
/// defined (NaN or infinity, fewer than four trajectories, truth without area), PLUMB_EMISSING
/// without OpenBLAS. A verdict that is not determined is no failure.
PLUMB_API plumb_status plumb_kappa_measure(plumb_kappa *result, const plumb_array *latent,
                                           const plumb_array *momenta, const plumb_array *truth,
                                           const plumb_kappa_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_kappa_clear(plumb_kappa *result);

/// Adds to a record what kappa says about the trajectory with this index in the arrays: kappa, lost
/// and the sums of the form. Adds nothing if it was left out.
PLUMB_API void plumb_kappa_item_record(plumb_record *record, const plumb_kappa *result,
                                       int64_t trajectory);

/// Writes the result under the names that `plumb measure --json` prints; null for all if `measured`
/// is false, with the reason in canonical_why. May be NULL: options.
PLUMB_API void plumb_kappa_record(plumb_record *record, const plumb_kappa *result,
                                  const plumb_kappa_options *options);

#ifdef __cplusplus
}
#endif
#endif
