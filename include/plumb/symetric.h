// SPDX-License-Identifier: MIT
// SyMetric: is there a canonical map from a model's latent space to the true phase space?
// [Higgins21] I. Higgins et al., SyMetric: Measuring the Quality of Learnt Hamiltonian Dynamics
// Inferred from Vision, NeurIPS 2021.
#ifndef PLUMB_SYMETRIC_H
#define PLUMB_SYMETRIC_H

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_SYMETRIC_VERSION 1

/// How the Lasso problems are solved.
typedef enum plumb_symetric_mode {
    PLUMB_SYMETRIC_MODE_CONVERGED, ///< solved to a relative duality gap of 1e-11
    PLUMB_SYMETRIC_MODE_REFERENCE, ///< the published iterates: cold starts, at most 1000 sweeps,
                                   ///< gap 1e-4
} plumb_symetric_mode;

/// Which latents take part when their posterior variance is given.
typedef enum plumb_symetric_mask {
    PLUMB_SYMETRIC_MASK_VARIANCE, ///< the published code: a pair stays if a mean variance is below
                                  ///< the bar
    PLUMB_SYMETRIC_MASK_KL, ///< the paper: a pair stays if a mean KL to the prior exceeds the bar
    PLUMB_SYMETRIC_MASK_NONE,
} plumb_symetric_mask;

/// What R2 is.
typedef enum plumb_symetric_r2 {
    PLUMB_SYMETRIC_R2_RESIDUAL,  ///< 1 - SSres/SStot, as the published code has it
    PLUMB_SYMETRIC_R2_EXPLAINED, ///< SSexplained/SStot, as the paper prints it
} plumb_symetric_r2;

/// The constant c in Sym = MSE(c A^ A^T, I).
typedef enum plumb_symetric_scale {
    PLUMB_SYMETRIC_SCALE_MEAN_MAX, ///< 1 / mean over points of max |A^ A^T|: what is computed in
                                   ///< both
    PLUMB_SYMETRIC_SCALE_MINIMISE, ///< the c that minimises Sym: what the paper says in words
} plumb_symetric_scale;

/// What to do with latents that are not finite.
typedef enum plumb_symetric_nonfinite {
    PLUMB_SYMETRIC_NONFINITE_BY_MODE, ///< refuse in converged mode, as published in reference mode
    PLUMB_SYMETRIC_NONFINITE_REFUSE,  ///< fail, naming the first and how many there are
    PLUMB_SYMETRIC_NONFINITE_DROP,    ///< leave out whole trajectories
    PLUMB_SYMETRIC_NONFINITE_MEAN,    ///< as published: NaN is left out of mean and sd, then set to
                                      ///< the mean
} plumb_symetric_nonfinite;

/// What the map from latents to truth is.
typedef enum plumb_symetric_method {
    PLUMB_SYMETRIC_METHOD_POLYNOMIAL,
    PLUMB_SYMETRIC_METHOD_MLP, ///< a network of tanh units; plumb's own definition, for none was
                               ///< published
} plumb_symetric_method;

/// The settings. Take them from plumb_symetric_defaults() and change what you need.
typedef struct plumb_symetric_options {
    size_t size; ///< sizeof(plumb_symetric_options)
    plumb_symetric_mode mode;
    int64_t batch;           ///< trajectories a fit; 0 all in one, -1 by mode: 5 or all
    int64_t max_batches;     ///< 0 all
    int max_order;           ///< highest polynomial order tried, 5
    int64_t order_one_above; ///< more latents than this: order 1 only, 32
    double r2_bar;           ///< 0.9
    double sym_bar;          ///< 0.05
    double sym_cap;          ///< 1000
    double degenerate_bar;   ///< rho below this is degenerate, 1e-4
    int64_t points;          ///< points a trajectory where the Jacobian is taken, 10; 0 all
    double shift;            ///< added to every entry of J, 1e-6
    double weight_tolerance; ///< smaller weights do not enter J, 1e-3
    int64_t alphas;          ///< how many Lasso weights, 10
    double alpha_min;        ///< 1e-4
    double alpha_max;        ///< 10^-0.5; the weights are log-spaced
    int64_t max_sweeps;      ///< reference mode, 1000
    double tolerance;        ///< reference mode, 1e-4
    double gap;              ///< converged mode, 1e-11
    plumb_symetric_mask mask;
    double variance_bar; ///< 0.5
    double kl_bar;       ///< 0.01
    plumb_symetric_r2 r2;
    plumb_symetric_scale scale;
    plumb_symetric_nonfinite nonfinite;
    int64_t resamples; ///< bootstrap draws for the 95 % intervals, 2000; 0 none
    uint64_t seed;     ///< draws the points and the bootstrap, 1
    int threads;       ///< 0: plumb_system_threads(). Changes no result
    /// Where the Jacobian is taken, (trajectories, points) integers, instead of a draw. NULL: draw.
    const plumb_array *eval_index;
    plumb_symetric_method method;

    // The network of PLUMB_SYMETRIC_METHOD_MLP and its training.
    int64_t network_width;   ///< Units per layer. 0: 4, or 2n if that is more. Default 0.
    int network_layers;      ///< Layers, the linear output layer included. Default 4.
    int64_t network_updates; ///< Adam steps. Default 6000.
    int64_t network_rows;    ///< Rows per Adam step. Default 3840.
    double network_rate;  ///< First learning rate; falls to 1 % along half a cosine. Default 0.01.
    double network_ridge; ///< Penalty times the sum of squared weights. Default 0.
    int64_t network_starts;  ///< Networks that are trained; the best fit counts. Default 2.
    int64_t network_heldout; ///< Trajectories held out for R2 and Sym, at most a fifth. Default 50.
    int64_t
        network_points_per_parameter; ///< Training rows that each parameter needs. Default 1000.
    bool network_few_points;          ///< Accept fewer training rows. Default false.
    /// With more latents than this the network takes the first principal components as input.
    /// 0: never. Default 32.
    int64_t network_components;

    /// Converged mode does not try an order of more monomials than this, 10000; 0: it tries all.
    /// 32 latents have 435896 of order 5, which take 20 GB for 6000 rows and hours.
    int64_t max_features;
} plumb_symetric_options;

/// One fit: a batch of trajectories.
typedef struct plumb_symetric_batch {
    int64_t first, trajectories; ///< which ones, counted among those kept
    int order;                   ///< the polynomial that was used
    int alpha_index;
    double alpha;
    int64_t features;    ///< monomials of that order
    int64_t nonzero;     ///< weights that are not zero, all targets together
    int64_t unconverged; ///< Lasso problems that stopped before their bar
    double r2, sym;
    double rho; ///< median over points of max |A^| / max squared row norm of J
    bool symetric;
    bool degenerate;
} plumb_symetric_batch;

/// One trajectory.
typedef struct plumb_symetric_item {
    int64_t trajectory; ///< its index in the arrays given
    int64_t batch;      ///< the fit it took part in
    double r2;          ///< of its own rows, against the batch's mean
    double r2_heldout;  ///< the same from the fit that had not seen it
    double sym;
} plumb_symetric_item;

/// How a network was trained.
typedef struct plumb_symetric_training {
    int64_t width, parameters;
    int64_t trajectories, points; ///< it was trained on, none of them measured
    double loss;                  ///< mean square over them after the last update
    double r2;                    ///< on them
    int64_t components;           ///< principal components it saw; 0: the latents themselves
} plumb_symetric_training;

/// What was measured. Free what it points to with plumb_symetric_clear.
typedef struct plumb_symetric {
    double r2;            ///< mean over fits, best 1
    double sym;           ///< mean over fits, best 0
    double symetric;      ///< share of fits that pass; 0 or 1 for a single fit
    double r2_heldout;    ///< fit on half of the trajectories, scored on the other half
    double rho;           ///< smallest over fits
    bool degenerate;      ///< some fit found no area in the latent space
    const char *why;      ///< the verdict in one sentence
    int order;            ///< of a single fit; the highest over several; 0 for a network
    double alpha;         ///< of a single fit; NaN if fits differ
    int64_t trajectories; ///< measured
    int64_t dropped;      ///< left out because not finite
    int64_t steps;
    int64_t n, m;        ///< degrees of freedom: of the truth, of the latent space
    int64_t unconverged; ///< Lasso problems that stopped before their bar, all fits
    plumb_interval r2_ci, sym_ci, symetric_ci, r2_heldout_ci; ///< NaN where undefined
    int64_t latents;                  ///< latent dimensions used, after the mask
    const int64_t *latents_used;      ///< their indices
    const plumb_symetric_item *items; ///< one a trajectory measured
    const plumb_symetric_batch *batches;
    int64_t batch_count;
    plumb_symetric_mode mode;
    double seconds;
    char input_hash[33]; ///< XXH3-128 of the arrays
    void *memory;        ///< private
    plumb_symetric_method method;
    plumb_symetric_training training; ///< PLUMB_SYMETRIC_METHOD_MLP, else zeros
} plumb_symetric;

/// Sets the first `size` bytes of `options` to the defaults. plumb_symetric_defaults() calls it.
PLUMB_API void plumb_symetric_options_init(plumb_symetric_options *options, size_t size);

/// The published configuration.
static inline plumb_symetric_options plumb_symetric_defaults(void)
{
    plumb_symetric_options options;
    plumb_symetric_options_init(&options, sizeof options);
    return options;
}

/// Is `latent` the true phase space, up to a change of canonical coordinates?
/// latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n): q first, then p; latents
/// longer in time than the truth are cut. `variance`, if not NULL, is the posterior variance,
/// (trajectories, 2m) or (trajectories, steps, 2m). `opt` may be NULL.
/// On failure `out` is left as it was.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC where the measure is not
/// defined: not finite, constant truth, a single trajectory, too few points.
PLUMB_API plumb_status plumb_symetric_measure(plumb_symetric *out, const plumb_array *latent,
                                              const plumb_array *variance, const plumb_array *truth,
                                              const plumb_symetric_options *opt);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_symetric_clear(plumb_symetric *result);

/// Writes the result under the names that `plumb measure --json` prints. May be NULL: opt.
PLUMB_API void plumb_symetric_record(plumb_record *record, const plumb_symetric *result,
                                     const plumb_symetric_options *opt);

/// Writes trajectory `index`, 0 to trajectories - 1, as one line of `--items`.
PLUMB_API void plumb_symetric_item_record(plumb_record *record, const plumb_symetric *result,
                                          int64_t index);

#ifdef __cplusplus
}
#endif
#endif
