// SPDX-License-Identifier: MIT
// SyMetric: is there a canonical map from a model's latent space to the true phase space?
// [Higgins21] I. Higgins et al., SyMetric: Measuring the Quality of Learnt Hamiltonian Dynamics
// Inferred from Vision, NeurIPS 2021.
//
// A map F from latents S to true states s is fitted. R2 is 1 - SSres/SStot, as in the published
// code. The paper prints 1 - sum (F(S) - mean s)^2 / sum (s - mean s)^2; that is a misprint, for it
// is 0 where F is perfect. docs/measures-symetric.md lists where paper, published code and plumb
// differ.
#ifndef PLUMB_SYMETRIC_H
#define PLUMB_SYMETRIC_H

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_SYMETRIC_VERSION 4

/// How the Lasso problems are solved.
typedef enum plumb_symetric_mode {
    PLUMB_SYMETRIC_MODE_CONVERGED, ///< To a relative duality gap of 1e-11.
    /// The published iterates: cold starts, at most 1000 sweeps, gap 1e-4.
    PLUMB_SYMETRIC_MODE_REFERENCE,
} plumb_symetric_mode;

/// Which latents are used if their posterior variance is given.
typedef enum plumb_symetric_mask {
    /// The published code: pairs of which a mean variance is below variance_bar.
    PLUMB_SYMETRIC_MASK_VARIANCE,
    /// The paper: latents whose mean KL to the prior is kl_bar or more, each q and p by itself. A
    /// latent that is left out is no input of the map, and its column of the Jacobian is 0.
    PLUMB_SYMETRIC_MASK_KL,
    PLUMB_SYMETRIC_MASK_NONE, ///< All.
} plumb_symetric_mask;

/// The definition of R2.
typedef enum plumb_symetric_r2 {
    PLUMB_SYMETRIC_R2_RESIDUAL, ///< 1 - SSres/SStot, as in the published code.
    /// SSexplained/SStot, what the paper means. The paper prints
    /// 1 - sum (F - mean)^2 / sum (s - mean)^2, which is a misprint.
    PLUMB_SYMETRIC_R2_EXPLAINED,
} plumb_symetric_r2;

/// The constant c in Sym = MSE(c A^ A^^T, I).
typedef enum plumb_symetric_scale {
    /// 1 / mean over points of max |A^ A^^T|, the formula of the paper and of its code.
    PLUMB_SYMETRIC_SCALE_MEAN_MAX,
    PLUMB_SYMETRIC_SCALE_MINIMISE, ///< The c that minimises Sym, the words of the paper.
} plumb_symetric_scale;

/// What to do with NaN and infinity.
typedef enum plumb_symetric_nonfinite {
    PLUMB_SYMETRIC_NONFINITE_BY_MODE, ///< Refuse in converged mode, mean in reference mode.
    PLUMB_SYMETRIC_NONFINITE_REFUSE,  ///< Fail; the message has the first index and the count.
    PLUMB_SYMETRIC_NONFINITE_DROP,    ///< Leave out whole trajectories.
    /// As published: NaN in latents is left out of mean and deviation, then set to the mean.
    PLUMB_SYMETRIC_NONFINITE_MEAN,
} plumb_symetric_nonfinite;

/// The map from latents to truth.
typedef enum plumb_symetric_method {
    PLUMB_SYMETRIC_METHOD_POLYNOMIAL, ///< Polynomials of increasing order, fitted by Lasso.
    /// A network of tanh units. The definition is plumb's; none was published.
    PLUMB_SYMETRIC_METHOD_MLP,
} plumb_symetric_method;

/// The settings. Take them from plumb_symetric_defaults() and change what you need.
typedef struct plumb_symetric_options {
    size_t size;              ///< sizeof(plumb_symetric_options)
    plumb_symetric_mode mode; ///< Default PLUMB_SYMETRIC_MODE_CONVERGED.
    /// Trajectories per fit. 0: all in one. -1 (the default): all in converged mode, 5 in
    /// reference mode.
    int64_t batch;
    int64_t max_batches;      ///< Maximum of fits; 0: all. Default 0.
    int max_order;            ///< Highest polynomial order tried, from 1. Default 5.
    int64_t order_one_above;  ///< With more latents than this only order 1 is tried. Default 32.
    double r2_bar;            ///< R2 must be above it. Default 0.9.
    double sym_bar;           ///< Sym must be below it. Default 0.05.
    double sym_cap;           ///< Maximum of Sym; larger values are cut. Default 1000.
    double degenerate_bar;    ///< A fit with rho below it is degenerate. Default 1e-4.
    int64_t points;           ///< Points of the Jacobian per trajectory; 0: all steps. Default 10.
    double shift;             ///< Added to every entry of J. Default 1e-6.
    double weight_tolerance;  ///< Weights up to this size are left out of J. Default 1e-3.
    int64_t alphas;           ///< Number of Lasso penalties, spaced evenly in log. Default 10.
    double alpha_min;         ///< Smallest penalty, above 0. Default 1e-4.
    double alpha_max;         ///< Largest penalty. Default 10^-0.5.
    int64_t max_sweeps;       ///< Sweeps of coordinate descent in reference mode. Default 1000.
    double tolerance;         ///< Stopping tolerance in reference mode. Default 1e-4.
    double gap;               ///< Relative duality gap in converged mode. Default 1e-11.
    plumb_symetric_mask mask; ///< Default PLUMB_SYMETRIC_MASK_VARIANCE.
    double variance_bar;      ///< For PLUMB_SYMETRIC_MASK_VARIANCE. Default 0.5.
    double kl_bar;            ///< For PLUMB_SYMETRIC_MASK_KL, in nats. Default 0.01.
    plumb_symetric_r2 r2;     ///< Default PLUMB_SYMETRIC_R2_RESIDUAL.
    plumb_symetric_scale scale;         ///< Default PLUMB_SYMETRIC_SCALE_MEAN_MAX.
    plumb_symetric_nonfinite nonfinite; ///< Default PLUMB_SYMETRIC_NONFINITE_BY_MODE.
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of the points and the bootstrap. Default 1.
    int threads;       ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
    /// (trajectories, points) integers: the steps where the Jacobian is taken. NULL (the default):
    /// they are drawn.
    const plumb_array *eval_index;
    plumb_symetric_method method; ///< Default PLUMB_SYMETRIC_METHOD_POLYNOMIAL.

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

    /// Converged mode tries no order with more monomials than this; 0: no limit. Default 10000. 32
    /// latents have 435896 monomials of order 5, which take 20 GB for 6000 rows and hours.
    int64_t max_features;
    /// For PLUMB_SYMETRIC_MASK_KL with a variance (trajectories, 2m): the step of the latents that
    /// the variance belongs to, from 0. Default 0.
    int64_t inferred_step;
    double network_l1; ///< Penalty times the sum of absolute weights of the network. Default 0.
    /// (trajectories, steps, m) momenta of a Lagrangian model, whose latents are (q, velocity):
    /// they replace the second half of the latents. May be NULL (default).
    const plumb_array *momenta;
    /// Converged mode: an order with more than 600 monomials is tried only if these, at all rows of
    /// a fit, are at most this many numbers; 0: no limit. Default 4000000, some seconds. What was
    /// left out is in `order_limit` and `why` of the result.
    int64_t max_cells;
} plumb_symetric_options;

/// One fit: a batch of trajectories.
typedef struct plumb_symetric_batch {
    int64_t first, trajectories; ///< Range among the trajectories kept.
    int order;                   ///< Order of the polynomial used.
    int alpha_index;             ///< Index of the penalty chosen.
    double alpha;                ///< The penalty chosen.
    int64_t features;            ///< Monomials of that order.
    int64_t nonzero;             ///< Nonzero weights, all targets together.
    int64_t unconverged;         ///< Lasso problems that did not converge.
    double r2, sym;              ///< R2, best 1; Sym, best 0.
    double rho;      ///< Median over points of max |A^| / largest squared row norm of J.
    bool symetric;   ///< R2 and Sym pass their bars.
    bool degenerate; ///< rho is below degenerate_bar.
} plumb_symetric_batch;

/// One trajectory.
typedef struct plumb_symetric_item {
    int64_t trajectory; ///< Its index in the arrays given.
    int64_t batch;      ///< The fit that it belongs to.
    double r2;          ///< R2 of its rows, against the mean of the batch.
    double r2_heldout;  ///< The same by the fit to the other half.
    double sym;         ///< Sym of its points.
} plumb_symetric_item;

/// How a network was trained.
typedef struct plumb_symetric_training {
    int64_t width, parameters;    ///< Units per layer; parameters of the network.
    int64_t trajectories, points; ///< Trajectories and rows trained on; none of them is measured.
    double loss;                  ///< Mean squared error on them after the last update.
    double r2;                    ///< R2 on them.
    int64_t components;           ///< Principal components used as input; 0: the latents.
} plumb_symetric_training;

/// The result. Free what it owns with plumb_symetric_clear().
typedef struct plumb_symetric {
    double r2;            ///< Mean over fits, best 1.
    double sym;           ///< Mean over fits, best 0.
    double symetric;      ///< Share of fits that pass; 0 or 1 for a single fit.
    double r2_heldout;    ///< Fitted on half of the trajectories, scored on the other half.
    double rho;           ///< Smallest over fits.
    bool degenerate;      ///< Some fit found no area in the latent space.
    const char *why;      ///< The verdict in one sentence.
    int order;            ///< Highest order over fits; 0 for a network.
    int order_limit;      ///< Highest order that max_features and max_cells allow; 0 for a network.
    double alpha;         ///< Penalty of all fits; NaN if they differ.
    int64_t trajectories; ///< Trajectories measured.
    int64_t dropped;      ///< Trajectories left out because of NaN or infinity.
    int64_t steps;        ///< Steps of the truth.
    int64_t n, m;         ///< Degrees of freedom of the truth and of the latents.
    int64_t unconverged;  ///< Lasso problems that did not converge, all fits.
    plumb_interval r2_ci, sym_ci, symetric_ci, r2_heldout_ci; ///< 95 %; NaN if undefined.
    int64_t latents;             ///< Latent dimensions used, after the mask.
    const int64_t *latents_used; ///< (latents) their indices.
    int64_t informative; ///< Latents that pass the mask in some batch; -1 if there is no mask.
    const plumb_symetric_item *items;    ///< (trajectories).
    const plumb_symetric_batch *batches; ///< (batch_count).
    int64_t batch_count;                 ///< Number of fits.
    plumb_symetric_mode mode;            ///< The mode used.
    double seconds;                      ///< Time of the call.
    char input_hash[33];                 ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;                        ///< Private.
    plumb_symetric_method method;        ///< The method used.
    plumb_symetric_training training;    ///< Zeros unless the method is a network.
    const void *maps;                    ///< Private: what plumb_symetric_predict() uses.
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

/// Measures whether `latent` is the true phase space, up to a change of canonical coordinates.
/// latent (trajectories, steps, 2m) and truth (trajectories, steps, 2n): q first, then p. Latents
/// past the end of the truth are cut. `variance` is the posterior variance, (trajectories, 2m) or
/// (trajectories, steps, 2m).
/// May be NULL: variance, options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_EVALUE if an option is invalid,
/// PLUMB_ENUMERIC if the measure is not defined: NaN or infinity, constant truth, a single
/// trajectory, too few points.
PLUMB_API plumb_status plumb_symetric_measure(plumb_symetric *result, const plumb_array *latent,
                                              const plumb_array *variance, const plumb_array *truth,
                                              const plumb_symetric_options *options);

/// Reads the true state off latents by the map F that the measure found: out (trajectories, steps,
/// 2n) from latent (trajectories, steps, 2m), any trajectories of the same model. `fit` is the
/// index of the fit, 0 to batch_count - 1. Fails with PLUMB_EVALUE if there is no such fit or the
/// method is a network, PLUMB_ESHAPE if the latents do not fit the map.
PLUMB_API plumb_status plumb_symetric_predict(double *out, const plumb_symetric *result,
                                              int64_t fit, const plumb_array *latent);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_symetric_clear(plumb_symetric *result);

/// Writes the result under the names that `plumb measure --json` prints. May be NULL: options.
PLUMB_API void plumb_symetric_record(plumb_record *record, const plumb_symetric *result,
                                     const plumb_symetric_options *options);

/// Writes trajectory `index`, 0 to trajectories - 1, as one line of `--items`.
PLUMB_API void plumb_symetric_item_record(plumb_record *record, const plumb_symetric *result,
                                          int64_t index);

#ifdef __cplusplus
}
#endif
#endif
