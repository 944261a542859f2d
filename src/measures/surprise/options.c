// SPDX-License-Identifier: MIT
// Options of surprise: the table of its members, their defaults and their ranges.
#include "measures/surprise/options.h"

#include <math.h>

#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "measures/surprise/isolation_forest.h"

const char *const surprise_frames_words[] = {"mean", "max", "sum", "auto", NULL};
// Words of the enumerated options, in the order of their enumerators.
static const char *const threshold_words[] = {"best", "level", NULL};
static const char *const unit_words[] = {"sum", "mean", NULL};
static const char *const pca_words[] = {"recon", "shyu", NULL};

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_surprise_options, member)
static const option_spec specs[] = {
    {MEMBER(scorers), .kind = OPTION_POINTER, .type = "bool[9]",
     .help = "which scorers to compute; none: all that the arrays allow"},
    {MEMBER(k), .kind = OPTION_INT64, .low = 0, .high = 1e15,
     .help = "neighbours of the scorer knn; 0: 0.025 of the clips of the observation set"},
    {MEMBER(gamma), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "weight of the likelihood in surprise_knn; the other scorers are scaled to it"},
    {MEMBER(gammas), .kind = OPTION_POINTER, .type = "double[9]",
     .help = "weight of each scorer; NaN: the default"},
    {MEMBER(normalise), .kind = OPTION_BOOL, .help = "scale features to unit length"},
    {MEMBER(share), .kind = OPTION_DOUBLE,
     .help = "share of the tuples that become the observation set if there is none"},
    {MEMBER(frames), .kind = OPTION_ENUM, .words = surprise_frames_words,
     .help = "how surprise per frame becomes surprise per clip; auto: as the unit for errors of "
             "pixels, mean for surprise of a file"},
    {MEMBER(pca), .kind = OPTION_ENUM, .words = pca_words,
     .help = "score of pca: squared residual, or the larger of the two sums of Shyu et al."},
    {MEMBER(nu), .kind = OPTION_DOUBLE, .help = "nu of ocsvm"},
    {MEMBER(tolerance), .kind = OPTION_DOUBLE, .help = "tolerance of the solver of ocsvm"},
    {MEMBER(trees), .kind = OPTION_INT64, .low = 1, .high = 100000, .help = "trees of iforest"},
    {MEMBER(sample), .kind = OPTION_INT64, .low = 2, .high = ISOLATION_FOREST_MAX_SAMPLE,
     .help = "points per tree of iforest"},
    {MEMBER(temperature), .kind = OPTION_DOUBLE, .low = 0, .high = 1e300,
     .help = "T of p(possible) = exp(-s/T); 0: fitted on tuples that are not judged"},
    {MEMBER(prior), .kind = OPTION_DOUBLE,
     .help = "prior probability of an impossible clip, for the likelihood ratio"},
    {MEMBER(type1), .kind = OPTION_DOUBLE,
     .help = "share of impossible clips that may pass as possible"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 100000000,
     .help = "bootstrap draws for the 95 % intervals; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the split, the forest and the bootstrap"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = PARALLEL_MAX_THREADS,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(gamma_auto), .kind = OPTION_BOOL,
     .help = "choose gammas on tuples that are not judged"},
    {MEMBER(threshold_rule), .kind = OPTION_ENUM, .words = threshold_words,
     .help = "threshold of single clips: the best for clips that are not judged, or the level type1"},
    {MEMBER(threshold), .kind = OPTION_DOUBLE,
     .help = "a score as the threshold of single clips; NaN: by threshold_rule"},
    {MEMBER(error_unit), .kind = OPTION_ENUM, .words = unit_words,
     .help = "errors of pixels: their sum over pixels, channels and frames, or their mean; surprise "
             "of a file is not rescaled"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table surprise_option_table = {"surprise_options", sizeof(plumb_surprise_options),
                                            specs};

void plumb_surprise_options_init(plumb_surprise_options *options, size_t size)
{
    plumb_surprise_options defaults = {
        .size = sizeof defaults,
        // gamma and share as in [Lin23]; nu, trees and sample are the defaults of the libraries.
        .gamma = 0.01,
        .normalise = true,
        .share = 0.2,
        .frames = PLUMB_SURPRISE_FRAMES_AUTO,
        .pca = PLUMB_SURPRISE_PCA_RECON,
        .nu = 0.5,
        .tolerance = 1e-6,
        .trees = 100,
        .sample = 256,
        .prior = 0.5,
        .type1 = 0.05,
        .resamples = 2000,
        .seed = 1,
        .threshold = (double)NAN,
    };
    // NaN: the weight of this scorer is computed.
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) defaults.gammas[i] = (double)NAN;
    options_init(options, size, &defaults, sizeof defaults);
}

static plumb_status check_between(const char *name, double value, double low, double high)
{
    if (value > low && value < high) return PLUMB_OK;
    return fail(PLUMB_EVALUE, "%s is %g; it must be between %g and %g", name, value, low, high);
}

// Open intervals, which the table of ranges cannot express.
plumb_status surprise_options_check(const plumb_surprise_options *opt)
{
    plumb_status st = options_check_ranges(&surprise_option_table, opt);
    if (!st) st = check_between("share", opt->share, 0.0, 1.0);
    if (!st) st = check_between("nu", opt->nu, 0.0, 1.0);
    if (!st) st = check_between("tolerance", opt->tolerance, 0.0, 1.0);
    if (!st) st = check_between("prior", opt->prior, 0.0, 1.0);
    if (!st) st = check_between("type1", opt->type1, 0.0, 1.0);
    if (!st && isinf(opt->threshold)) st = fail(PLUMB_EVALUE, "threshold is not finite");
    for (int i = 0; i < PLUMB_SCORER_COUNT && !st; i++)
        if (isinf(opt->gammas[i]))
            st =
                fail(PLUMB_EVALUE, "gamma of %s is not finite", plumb_scorer_name((plumb_scorer)i));
    return st;
}
