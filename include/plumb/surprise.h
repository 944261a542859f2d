// SPDX-License-Identifier: MIT
// Surprise: is a model more surprised by impossible clips than by possible ones? Violation of
// expectation judged by a likelihood ratio [Lin23], on anybody's arrays.
//
// Clips come in tuples of four: 0 and 1 are possible, 2 and 3 impossible, and 2 opens as 0 does, 3
// as 1. Squared prediction error s is -log p(possible) up to scale. Deciding well needs the
// likelihood of being impossible beside it, so a scorer takes off gamma times r, a number that is
// small near impossible clips seen before:
//     score = s - gamma r
// A tuple is right if the scores of its impossible clips add up to more than those of its possible
// ones. A tie, but for rounding, is wrong.
#ifndef PLUMB_SURPRISE_H
#define PLUMB_SURPRISE_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_SURPRISE_VERSION 1

// One list makes the enum, the names and what each needs: name, word, features, paper's default.
// clang-format off
#define PLUMB_SCORER_LIST(X)                                                          \
    X(PLAIN,       "plain")       /* s alone */                                       \
    X(NAIVE,       "naive")       /* r = surprise of a model trained on impossible clips */ \
    X(KNN,         "knn")         /* r = distance to the k-th nearest impossible clip */ \
    X(IFOREST,     "iforest")     /* r = anomaly score of an isolation forest */      \
    X(OCSVM,       "ocsvm")       /* r = minus the decision of a one-class SVM */     \
    X(PCA,         "pca")         /* r = what principal components leave over */      \
    X(MAHALANOBIS, "mahalanobis") /* r = squared Mahalanobis distance */              \
    X(KNN_LOG,     "knn-log")     /* r = (d - 1) log of knn's, the density itself */
// clang-format on

typedef enum plumb_scorer {
#define PLUMB_SCORER_ENUM(name, word) PLUMB_SCORER_##name,
    PLUMB_SCORER_LIST(PLUMB_SCORER_ENUM)
#undef PLUMB_SCORER_ENUM
        PLUMB_SCORER_COUNT ///< how many there are
} plumb_scorer;

/// "knn" and so on.
PLUMB_API const char *plumb_scorer_name(plumb_scorer scorer);
/// The scorer of this name, or PLUMB_SCORER_COUNT.
PLUMB_API plumb_scorer plumb_scorer_find(const char *name);

/// How the frames of a clip become its surprise.
typedef enum plumb_surprise_frames {
    PLUMB_SURPRISE_FRAMES_MEAN, ///< mean over frames, the unit in which the default gamma makes
                                ///< sense
    PLUMB_SURPRISE_FRAMES_MAX,  ///< the most surprising frame
    PLUMB_SURPRISE_FRAMES_SUM,
} plumb_surprise_frames;

/// What r is for PCA.
typedef enum plumb_surprise_pca {
    PLUMB_SURPRISE_PCA_RECON, ///< squared residual behind the components that hold 95 % of the
                              ///< variance
    PLUMB_SURPRISE_PCA_SHYU,  ///< the larger of the major and the minor sum of [Shyu03]
} plumb_surprise_pca;

/// The settings. Take them from plumb_surprise_defaults() and change what you need.
typedef struct plumb_surprise_options {
    size_t size;                       ///< sizeof(plumb_surprise_options)
    bool scorers[PLUMB_SCORER_COUNT];  ///< which to compute; none: all the arrays allow but knn-log
    int64_t k;                         ///< 50
    double gamma;                      ///< of knn and knn-log, and where others are scaled to, 0.01
    double gammas[PLUMB_SCORER_COUNT]; ///< one's own, or NaN: naive 1, knn `gamma`, the others
                                       ///< gamma std(r_knn) / std(r) over the observation set
    bool normalise;                    ///< features to unit length, true
    double share;                      ///< of the tuples that is set apart as observation set if
                                       ///< there is none, 0.2
    plumb_surprise_frames frames;      ///< mean
    plumb_surprise_pca pca;            ///< recon
    double nu;                         ///< of the SVM, 0.5
    double tolerance;                  ///< at which its solver stops, 1e-6
    int64_t trees;                     ///< of the forest, 100
    int64_t sample;                    ///< points a tree, 256
    double temperature;                ///< T of p(possible) = exp(-s/T), 1
    double prior;                      ///< P(impossible), 0.5: the ratio's threshold is (1 - p)/p
    double type1;      ///< share of impossible clips that may pass as possible, 0.05
    int64_t resamples; ///< bootstrap draws for the 95 % intervals, 2000; 0 none
    uint64_t seed;     ///< of split, forest and bootstrap, 1
    int threads;       ///< 0: plumb_system_threads(). Changes no result
} plumb_surprise_options;

/// What there is to be judged; what is NULL is not there.
typedef struct plumb_surprise_input {
    size_t size;                     ///< sizeof(plumb_surprise_input)
    const plumb_array *surprise;     ///< (tuples, 4) or, frame by frame, (tuples, 4, frames)
    const plumb_array *truth;        ///< or these two: (tuples, 4, frames, height, width,
    const plumb_array *prediction;   ///< channels); one frame less: of all but the first
    const plumb_array *feature;      ///< (tuples, 4, d), for all scorers but plain and naive
    const plumb_array *observation;  ///< (N, d): features of impossible clips not in the tuples
    const plumb_array *surprise_voe; ///< as `surprise`, of the model trained on impossible clips
    const plumb_array *concept; ///< (tuples): whole numbers; or text, (tuples, length) u1 or u4
} plumb_surprise_input;

/// Scores of many tuples, and what they are worth. n is the number of tuples.
typedef struct plumb_surprise_metrics {
    int64_t tuples, correct, ties;
    double accuracy;                ///< right tuples; over several concepts the mean of theirs
    plumb_interval accuracy_ci;     ///< bootstrap over tuples, inside each concept
    plumb_interval accuracy_wilson; ///< Wilson's interval [Wilson27] of all tuples
    double chance_p;                ///< P(as many right or more by chance), exact binomial
    double relative_surprise;       ///< mean of (I - P) / (|I| + |P|), sums over two clips
    plumb_interval relative_ci;
    double difference; ///< mean of (I - P) / 2, a clip's own unit
    plumb_interval difference_ci;
    double t, t_p;         ///< one-sided t test that relative surprise exceeds 0
    double pairwise;       ///< each possible against each impossible clip, ties half
    double permutation_p;  ///< of `pairwise`, labels exchanged inside each tuple
    double matched;        ///< clips with the same opening, ties half
    double matched_strict; ///< the same, a tie being wrong
    double midpoint;       ///< clips 1 and 3 against the middle of 0 and 2, ties half
    double auroc;          ///< of single clips
    plumb_interval auroc_ci;
    double auprc, auprc_possible;     ///< impossible or possible clips being what is looked for
    double threshold;                 ///< the score that `type1` of the impossible clips are below
    double type1, type2;              ///< share of impossible below it, of possible above
    double threshold_90, accuracy_90; ///< 90 % of the possible clips below; clips told apart right
    double best_threshold, best_accuracy; ///< the best there is in hindsight
} plumb_surprise_metrics;

/// log p(impossible) - log p(possible) of a clip, from the k-th neighbour and s / T.
typedef struct plumb_surprise_ratio {
    bool measured;
    double log_threshold;                     ///< log((1 - prior) / prior)
    double type1, type2;                      ///< impossible clips below it, possible clips above
    double accuracy, auroc;                   ///< of single clips
    double best_log_threshold, best_accuracy; ///< in hindsight
    const double *log_ratio;                  ///< (tested, 4)
} plumb_surprise_ratio;

/// One scorer.
typedef struct plumb_surprise_score {
    plumb_scorer scorer;
    bool measured;   ///< the rest is zero if not
    const char *why; ///< why not, if `measured` is false and it was wanted
    double gamma;
    plumb_surprise_metrics all;
    const plumb_surprise_metrics *concepts; ///< one each, in the order of the names
    bool has_maximum;                       ///< frames were given:
    plumb_surprise_metrics maximum;         ///< with the most surprising frame in the place of all
    const double *score;                    ///< (tested, 4)
    const double *distance;                 ///< r, (tested, 4); NULL for plain
    double seconds; ///< to fit the observed clips and to find r of the tested ones
} plumb_surprise_score;

/// One test of r_k.
typedef struct plumb_surprise_test {
    double statistic, p;
} plumb_surprise_test;

/// Are the features of the tested clips spread evenly? "paper" asks whether r_k is uniform between
/// its least and greatest value, which it is not even for features that are; "exact" whether the
/// share of the sphere nearer than r_k follows Beta(k, N - k + 1), which it does for them.
typedef struct plumb_surprise_uniformity {
    bool measured;
    const char *why;               ///< why not
    plumb_surprise_test exact;     ///< Kolmogorov-Smirnov
    plumb_surprise_test paper;     ///< Kolmogorov-Smirnov
    plumb_surprise_test paper_chi; ///< chi-square, 20 bins
    int64_t histogram[20];         ///< of r_k between `least` and `greatest`
    double least, greatest;
    double cap_log10; ///< median log10 of the share of the sphere
    int64_t clips;
} plumb_surprise_uniformity;

/// McNemar's exact test between two scorers on the same tuples.
typedef struct plumb_surprise_comparison {
    plumb_scorer first, second;
    int64_t first_only, second_only; ///< tuples only one of them gets right
    double p;                        ///< two-sided
} plumb_surprise_comparison;

/// What was measured. Free what it points to with plumb_surprise_clear.
typedef struct plumb_surprise {
    plumb_surprise_score scorers[PLUMB_SCORER_COUNT];
    plumb_surprise_ratio ratio;
    plumb_surprise_uniformity uniformity;
    const plumb_surprise_comparison *pairs;
    int64_t pair_count;
    int64_t tuples;              ///< given
    int64_t tested;              ///< judged
    const int64_t *tested_tuple; ///< which
    int64_t observed;            ///< rows of the observation set, over all concepts
    bool split;                  ///< they were taken from the tuples given
    int64_t dims;                ///< of features
    int64_t concept_count;       ///< 0: none given
    const char *const *concept_names;
    const int64_t *concept_of;                 ///< (tested)
    int64_t frames;                            ///< 0: only whole clips were given
    const double *frame_surprise;              ///< (tested, 4, frames)
    int64_t zero_features, equal_observations; ///< rows that are no direction; that repeat another
    double seconds;
    char input_hash[33]; ///< XXH3-128 of the arrays
    void *memory;        ///< private
} plumb_surprise;

/// Sets the first `size` bytes of `options` to the defaults. plumb_surprise_defaults() calls it.
PLUMB_API void plumb_surprise_options_init(plumb_surprise_options *options, size_t size);

/// The paper's settings.
static inline plumb_surprise_options plumb_surprise_defaults(void)
{
    plumb_surprise_options options;
    plumb_surprise_options_init(&options, sizeof options);
    return options;
}

/// Judges scores, or what scores are made of. `opt` may be NULL. On failure `out` is left as it
/// was. Without `observation`, a share of each concept's tuples is drawn, the features of their
/// impossible clips are the observation set of that concept, and every scorer is judged on the
/// tuples that are left.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_EVALUE if an option makes no sense
/// or k is larger than an observation set, PLUMB_ENUMERIC if a value is not finite or observation
/// and tuples share a feature, PLUMB_EMISSING for a scorer this build does not have.
PLUMB_API plumb_status plumb_surprise_measure(plumb_surprise *out,
                                              const plumb_surprise_input *input,
                                              const plumb_surprise_options *opt);

PLUMB_API void plumb_surprise_clear(plumb_surprise *result);

/// The result under the names that `plumb surprise --json` prints.
PLUMB_API void plumb_surprise_record(plumb_record *record, const plumb_surprise *result,
                                     const plumb_surprise_options *opt);

/// One tested tuple of it, as a line of --items.
PLUMB_API void plumb_surprise_item_record(plumb_record *record, const plumb_surprise *result,
                                          int64_t tested);

/// Scores as the code of the V-JEPA study and of IntPhys 2 saves them, put into tuples.
typedef struct plumb_surprise_losses {
    plumb_array surprise; ///< (tuples, 4, windows), or (tuples, 4) if clips differ in length
    bool pairs;           ///< there were two clips a tuple, and each stands for two
    int64_t padded;       ///< clips with windows of exactly 0 at their end, which are left out
    void *memory;         ///< private
} plumb_surprise_losses;

/// losses (clips, contexts, windows) and, a clip each, `slot`: its tuple times four plus its place
/// in it, or negative for a clip to be left out. Places 0 and 1 are possible, 2 and 3 impossible;
/// with places 0 and 2 alone in every tuple it is pairs. `context` chooses one context length by
/// its index; negative takes the least loss over all of them, the study's "filtered" row. Clips
/// that differ in length are joined over their own windows as `frames` says. Free `out` with
/// plumb_surprise_losses_clear. Fails with PLUMB_ESHAPE or PLUMB_EVALUE.
PLUMB_API plumb_status plumb_surprise_losses_make(plumb_surprise_losses *out,
                                                  const plumb_array *losses, const int64_t *slot,
                                                  int64_t context, plumb_surprise_frames frames);
PLUMB_API void plumb_surprise_losses_clear(plumb_surprise_losses *losses);

/// slot (clips) from labels (clips), 1 possible and 0 impossible, in matched pairs one after the
/// other; two pairs make a tuple if `quadruples`. Fails with PLUMB_EVALUE if they do not alternate
/// so.
PLUMB_API plumb_status plumb_surprise_slots(int64_t *slot, const plumb_array *labels,
                                            bool quadruples);

/// The paper's counter-example: impossible x ~ N(0, 0.001), possible x ~ N(0, 1). Surprise calls
/// x = 1 the stranger, the likelihood ratio x = 0.
typedef struct plumb_surprise_example {
    double deviation;    ///< of the narrow one
    double surprise[2];  ///< of x = 0 and x = 1
    double log_ratio[2]; ///< log p(impossible) - log p(possible)
    double posterior[2]; ///< P(impossible), prior one half
    double even;         ///< |x| where the ratio is 1
} plumb_surprise_example;

/// `deviation` sqrt(0.001) if 0.001 is read as a variance, 0.001 if as a standard deviation.
PLUMB_API plumb_surprise_example plumb_surprise_example_compute(double deviation);
/// log p(impossible) - log p(possible) at x.
PLUMB_API double plumb_surprise_example_log_ratio(double x, double deviation);
PLUMB_API void plumb_surprise_example_record(plumb_record *record);

#ifdef __cplusplus
}
#endif
#endif
