// SPDX-License-Identifier: MIT
// Options of SyMetric: the table of its members, their defaults and their ranges.
#include "measures/symetric/options.h"

#include <math.h>

#include "base/options_struct.h"
#include "math/pca.h"
#include "math/poly.h"
#include "measures/fit/mlp_fit.h"

// Words of the enumerated options, in the order of their enumerators.
static const char *const mode_words[] = {"converged", "reference", NULL};
static const char *const mask_words[] = {"variance", "kl", "none", NULL};
static const char *const r2_words[] = {"residual", "explained", NULL};
static const char *const scale_words[] = {"mean-max", "minimise", NULL};
static const char *const nonfinite_words[] = {"by-mode", "refuse", "drop", "mean", NULL};
static const char *const method_words[] = {"pr", "mlp", NULL};

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_symetric_options, member)
static const option_spec specs[] = {
    {MEMBER(mode), .kind = OPTION_ENUM, .words = mode_words,
     .help = "solve each Lasso problem to its optimum, or repeat the published iterates and their "
             "stopping rule"},
    {MEMBER(batch), .kind = OPTION_INT64, .low = -1, .high = 1e15,
     .help = "trajectories per fit; 0: all in one fit; -1: by mode, all (converged) or 5 (reference)"},
    {MEMBER(max_batches), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "measure only the first N batches; 0: all"},
    {MEMBER(max_order), .kind = OPTION_INT, .low = 1, .high = POLY_MAX_ORDER,
     .help = "highest polynomial order that is tried"},
    {MEMBER(order_one_above), .kind = OPTION_INT64,
     .help = "with more latents than N only order 1 is tried"},
    {MEMBER(r2_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "R2 must be above it; the search for an order stops there"},
    {MEMBER(sym_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "Sym must be below it"},
    {MEMBER(sym_cap), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "a larger Sym counts as this value"},
    {MEMBER(degenerate_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "rho below it: the latent space has no area"},
    {MEMBER(points), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "steps per trajectory where the Jacobian is taken, drawn by the seed; 0: all"},
    {MEMBER(shift), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "added to every entry of the Jacobian, as in the published code"},
    {MEMBER(weight_tolerance), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "smaller weights are left out of the Jacobian; the published function alone has 1e-5"},
    {MEMBER(alphas), .kind = OPTION_INT64, .low = 1, .high = 1000,
     .help = "number of Lasso penalties, log-spaced"},
    {MEMBER(alpha_min), .kind = OPTION_DOUBLE,
     .help = "smallest penalty; the published function alone has 1e-8"},
    {MEMBER(alpha_max), .kind = OPTION_DOUBLE,
     .help = "largest penalty; the published function alone has 1e-2"},
    {MEMBER(max_sweeps), .kind = OPTION_INT64, .low = 1, .high = 1e15,
     .help = "reference mode: sweeps per Lasso problem"},
    {MEMBER(tolerance), .kind = OPTION_DOUBLE,
     .help = "reference mode: relative duality gap that ends the sweeps"},
    {MEMBER(gap), .kind = OPTION_DOUBLE,
     .help = "converged mode: relative duality gap to reach"},
    {MEMBER(mask), .kind = OPTION_ENUM, .words = mask_words,
     .help = "with a variance, a pair of latents counts if a mean variance of it is small "
             "(published code), or a latent if its mean KL to the prior is large (paper)"},
    {MEMBER(variance_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "threshold of the mask variance"},
    {MEMBER(kl_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "threshold of the mask kl"},
    {MEMBER(inferred_step), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "mask kl: the step that a variance of shape (trajectories, 2m) belongs to"},
    {MEMBER(r2), .kind = OPTION_ENUM, .words = r2_words,
     .help = "1 - SSres/SStot (published code) or SSexplained/SStot (paper)"},
    {MEMBER(scale), .kind = OPTION_ENUM, .words = scale_words,
     .help = "c in Sym: 1/mean(max |A^ A^T|) (both), or the value that minimises Sym (the paper's words)"},
    {MEMBER(nonfinite), .kind = OPTION_ENUM, .words = nonfinite_words,
     .help = "NaN in the latents: refuse, drop the trajectory, or set to the mean as published"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the points and of the bootstrap"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = 256,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(eval_index), .kind = OPTION_POINTER, .type = "array",
     .help = "steps where the Jacobian is taken, whole numbers (trajectories, points)"},
    {MEMBER(method), .kind = OPTION_ENUM, .words = method_words,
     .help = "the map from latents to truth: polynomial regression or a small network"},
    {MEMBER(network_width), .kind = OPTION_INT64, .low = 0, .high = 1024,
     .help = "mlp: tanh units per layer; 0: 4, or 2n if that is more"},
    {MEMBER(network_layers), .kind = OPTION_INT, .low = 2, .high = MLP_MAX_LAYERS,
     .help = "mlp: layers, the linear output layer included"},
    {MEMBER(network_updates), .kind = OPTION_INT64, .low = 1, .high = 1e15,
     .help = "mlp: Adam steps"},
    {MEMBER(network_rows), .kind = OPTION_INT64, .low = 1, .high = 1e15,
     .help = "mlp: points per Adam step"},
    {MEMBER(network_rate), .kind = OPTION_DOUBLE,
     .help = "mlp: learning rate; it falls to 1 % along half a cosine"},
    {MEMBER(network_ridge), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "mlp: penalty times the sum of squared weights"},
    {MEMBER(network_starts), .kind = OPTION_INT64, .low = 1, .high = 1000,
     .help = "mlp: networks that are trained; the best fit counts"},
    {MEMBER(network_heldout), .kind = OPTION_INT64, .low = 1, .high = 1e15,
     .help = "mlp: trajectories held out for R2 and Sym; at most a fifth"},
    {MEMBER(network_points_per_parameter), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "mlp: training points that each parameter of the network needs"},
    {MEMBER(network_few_points), .kind = OPTION_BOOL,
     .help = "mlp: train on fewer points than it needs"},
    {MEMBER(network_components), .kind = OPTION_INT64, .low = 0, .high = 4096,
     .help = "mlp: with more latents it takes this many principal components as input; 0: never"},
    {MEMBER(max_features), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "converged mode tries no order with more features than N; 0: all"},
    {MEMBER(momenta), .kind = OPTION_POINTER, .type = "array",
     .help = "momenta of a Lagrangian model (trajectories, steps, m), in place of the velocities"},
    {MEMBER(max_cells), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "converged mode: an order with more than 600 monomials is tried only if these, at all "
             "rows, are at most this many numbers; 0: no limit"},
    {MEMBER(network_l1), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "mlp: penalty times the sum of absolute weights"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table symetric_option_table = {"symetric_options", sizeof(plumb_symetric_options),
                                            specs};

void plumb_symetric_options_init(plumb_symetric_options *options, size_t size)
{
    const plumb_symetric_options defaults = {
        .size = sizeof defaults,
        .mode = PLUMB_SYMETRIC_MODE_CONVERGED,
        .batch = -1,
        .max_order = 5,
        .order_one_above = 32,
        // Thresholds of the verdict as published [Higgins21].
        .r2_bar = 0.9,
        .sym_bar = 0.05,
        .sym_cap = 1000.0,
        .degenerate_bar = 1e-4,
        // Jacobian and Sym.
        .points = 10,
        .shift = 1e-6,
        .weight_tolerance = 1e-3,
        // Lasso: the path of penalties and when a solution counts as converged.
        .alphas = 10,
        .alpha_min = 1e-4,
        .alpha_max = 0.31622776601683794, // 10^-0.5
        .max_sweeps = 1000,
        .tolerance = 1e-4,
        .gap = 1e-11,
        // Mask of informative latents.
        .variance_bar = 0.5,
        .kl_bar = 0.01,
        .resamples = 2000,
        .seed = 1,
        // Method mlp.
        .network_layers = 4,
        .network_updates = 6000,
        .network_rows = 3840,
        .network_rate = 0.01,
        .network_starts = 2,
        .network_heldout = 50,
        .network_points_per_parameter = 1000,
        .network_components = PCA_MAX_COMPONENTS,
        .max_features = 10000,
        .max_cells = 4000000,
    };
    options_init(options, size, &defaults, sizeof defaults);
}

// Rules that the table of ranges cannot express.
plumb_status symetric_options_check(const plumb_symetric_options *opt)
{
    const plumb_status st = options_check_ranges(&symetric_option_table, opt);
    if (st) return st;
    if (opt->batch == 1)
        return fail(PLUMB_EVALUE, "batch is 1; it must be 2 trajectories or more, or 0 for all");
    if (!(opt->alpha_min > 0.0) || !(opt->alpha_max >= opt->alpha_min) || !isfinite(opt->alpha_max))
        return fail(PLUMB_EVALUE,
                    "alpha_min is %g and alpha_max %g; they must be positive and rising",
                    opt->alpha_min, opt->alpha_max);
    if (!(opt->gap > 0.0) || !(opt->tolerance > 0.0))
        return fail(PLUMB_EVALUE, "gap is %g and tolerance %g; they must be positive", opt->gap,
                    opt->tolerance);
    if (opt->method == PLUMB_SYMETRIC_METHOD_MLP && opt->mode == PLUMB_SYMETRIC_MODE_REFERENCE)
        return fail(PLUMB_EVALUE,
                    "mode reference needs method pr: no code of the network was published");
    if (!(opt->network_rate > 0.0) || !isfinite(opt->network_rate))
        return fail(PLUMB_EVALUE, "network_rate is %g; it must be positive", opt->network_rate);
    return PLUMB_OK;
}
