// SPDX-License-Identifier: MIT
// Surprise: does a model find impossible clips more surprising than possible ones? Violation of
// expectation, decided by a likelihood ratio [Lin23]. The input is arrays of any model.
//
// Clips come in tuples of four: 0 and 1 are possible, 2 and 3 impossible; 2 has the same first
// frames as 0, and 3 as 1. The squared prediction error s is -log p(possible) up to scale. The best
// decision also needs the likelihood of the impossible, so a scorer subtracts gamma times r, a
// number that is small near impossible clips that were observed before:
//     score = s - gamma r
// A tuple is correct if the scores of its impossible clips have the larger sum. A tie (up to
// rounding) is wrong.
#ifndef PLUMB_SURPRISE_H
#define PLUMB_SURPRISE_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_SURPRISE_VERSION 2

// One list makes the enum and the names: name, word.
// clang-format off
#define PLUMB_SCORER_LIST(X)                                                          \
    X(PLAIN,       "plain")       /* s alone */                                       \
    X(NAIVE,       "naive")       /* r = surprise of a model trained on impossible clips */ \
    X(KNN,         "knn")         /* r = distance to the k-th nearest impossible clip */ \
    X(IFOREST,     "iforest")     /* r = anomaly score of an isolation forest */      \
    X(OCSVM,       "ocsvm")       /* r = minus the decision of a one-class SVM */     \
    X(PCA,         "pca")         /* r = squared residual of principal components */      \
    X(MAHALANOBIS, "mahalanobis") /* r = squared Mahalanobis distance */              \
    X(KNN_LOG,     "knn-log")     /* r = (d - 1) log of knn's, the density itself */  \
    X(LR,          "lr")          /* no r: the log of the likelihood ratio, calibrated */
// clang-format on

/// How a clip is scored: which r is subtracted from its surprise.
typedef enum plumb_scorer {
#define PLUMB_SCORER_ENUM(name, word) PLUMB_SCORER_##name,
    PLUMB_SCORER_LIST(PLUMB_SCORER_ENUM)
#undef PLUMB_SCORER_ENUM
        PLUMB_SCORER_COUNT ///< Number of scorers.
} plumb_scorer;

/// The name of a scorer: "knn" and so on.
PLUMB_API const char *plumb_scorer_name(plumb_scorer scorer);
/// The scorer of this name, or PLUMB_SCORER_COUNT if there is none.
PLUMB_API plumb_scorer plumb_scorer_find(const char *name);

/// How the surprise of a clip is made from that of its frames.
typedef enum plumb_surprise_frames {
    PLUMB_SURPRISE_FRAMES_MEAN, ///< Mean over frames.
    PLUMB_SURPRISE_FRAMES_MAX,  ///< The most surprising frame.
    PLUMB_SURPRISE_FRAMES_SUM,  ///< Sum over frames.
    /// As `error_unit` says where errors are computed from pixels; mean for an array `surprise`.
    PLUMB_SURPRISE_FRAMES_AUTO,
} plumb_surprise_frames;

/// The unit of surprise where errors are computed from pixels. An array `surprise` is not rescaled.
typedef enum plumb_surprise_unit {
    /// Sum of squared errors over pixels, channels and frames [Lin23, equation 1]. The default
    /// gamma is meant for this unit.
    PLUMB_SURPRISE_UNIT_SUM,
    PLUMB_SURPRISE_UNIT_MEAN,  ///< Mean over all of them.
    PLUMB_SURPRISE_UNIT_GIVEN, ///< Of an array `surprise`: unknown. Only in results.
} plumb_surprise_unit;

/// How the threshold for single clips is chosen from clips that are not judged.
typedef enum plumb_surprise_threshold {
    PLUMB_SURPRISE_THRESHOLD_BEST,  ///< The one that is right most often.
    PLUMB_SURPRISE_THRESHOLD_LEVEL, ///< `type1` of the impossible clips are below it.
} plumb_surprise_threshold;

/// What r is for PCA.
typedef enum plumb_surprise_pca {
    /// Squared residual after the fewest components that hold 95 % of the variance.
    PLUMB_SURPRISE_PCA_RECON,
    PLUMB_SURPRISE_PCA_SHYU, ///< The larger of the major and the minor sum of [Shyu03].
} plumb_surprise_pca;

/// The settings. Take them from plumb_surprise_defaults() and change what you need.
typedef struct plumb_surprise_options {
    size_t size; ///< sizeof(plumb_surprise_options)
    /// Which scorers to compute. None set (the default): all that the arrays allow but knn-log.
    bool scorers[PLUMB_SCORER_COUNT];
    /// Which nearest neighbour counts, 1 to the observed clips. Default 0: 0.025 N, rounded, at
    /// least 1, with N the clips of the smallest observation set; 50 of 2000 as in [Lin23].
    int64_t k;
    double gamma; ///< Gamma of knn and knn-log; the others are scaled to it. Default 0.01.
    /// Gamma of each scorer. NaN (the default): plain 0, naive 1, knn `gamma`, the others
    /// gamma std(r_knn) / std(r) over the observation set.
    double gammas[PLUMB_SCORER_COUNT];
    bool normalise; ///< Scale features to unit length. Default true.
    /// Share of the tuples that becomes the observation set if none is given, in (0, 1).
    /// Default 0.2.
    double share;
    plumb_surprise_frames frames; ///< Default PLUMB_SURPRISE_FRAMES_AUTO.
    plumb_surprise_pca pca;       ///< Default PLUMB_SURPRISE_PCA_RECON.
    double nu;                    ///< Nu of the one-class SVM, in (0, 1). Default 0.5.
    double tolerance;             ///< Tolerance of the SVM solver, in (0, 1). Default 1e-6.
    int64_t trees;                ///< Trees of the isolation forest. Default 100.
    int64_t sample;               ///< Points per tree, at most 4096. Default 256.
    /// T of p(possible) = exp(-s/T), for the likelihood ratio. Default 0: fitted on tuples that are
    /// not judged.
    double temperature;
    /// P(impossible) before the clip is seen, in (0, 1). The threshold of the ratio is (1 - p)/p.
    /// Default 0.5.
    double prior;
    double type1;      ///< Share of impossible clips that may pass as possible. Default 0.05.
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of the split, the forest and the bootstrap. Default 1.
    int threads;       ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
    /// Choose the gamma of each scorer, but of plain and of those in `gammas`, so that most tuples
    /// that are not judged are decided. Default false.
    bool gamma_auto;
    plumb_surprise_threshold threshold_rule; ///< Default PLUMB_SURPRISE_THRESHOLD_BEST.
    double threshold; ///< A score to be used as threshold of single clips. NaN (the default): none.
    plumb_surprise_unit error_unit; ///< Of errors of pixels. Default PLUMB_SURPRISE_UNIT_SUM.
} plumb_surprise_options;

/// The arrays. Give `surprise`, or `truth` and `prediction`. All others may be NULL.
typedef struct plumb_surprise_input {
    size_t size;                    ///< sizeof(plumb_surprise_input)
    const plumb_array *surprise;    ///< (tuples, 4) or (tuples, 4, frames).
    const plumb_array *truth;       ///< (tuples, 4, frames, height, width, channels).
    const plumb_array *prediction;  ///< As `truth`, or without the first frame.
    const plumb_array *feature;     ///< (tuples, 4, d), for all scorers but plain and naive.
    const plumb_array *observation; ///< (N, d): features of impossible clips of other tuples.
    /// As `surprise`, of a model trained on impossible clips, for the scorer naive. Its name in
    /// files is surprise_voe.
    const plumb_array *surprise_naive;
    const plumb_array *concepts; ///< (tuples) integers, or (tuples, length) text, u1 or u4.
    /// Text u1, "sum" or "mean": what `surprise` is, as plumb evaluate saves it. Frames are then
    /// reduced in the same way. NULL: unknown.
    const plumb_array *error_unit;
    /// (tuples, 4) or (tuples, 4, numbers), at most 8 numbers: how much each clip moves. Without
    /// it, two numbers of `truth`: the mean squared and the mean absolute difference of
    /// neighbouring frames.
    const plumb_array *motion;
    /// As `concepts`, of the rows of `observation`: each concept then has a density of its own.
    const plumb_array *observation_concepts;
} plumb_surprise_input;

/// Metrics of the scores of many tuples. P and I are the sums of the scores of the possible and of
/// the impossible clips of a tuple.
typedef struct plumb_surprise_metrics {
    int64_t tuples;  ///< Tuples tested.
    int64_t correct; ///< Tuples with I > P.
    int64_t ties;    ///< Tuples with I = P up to rounding.
    double accuracy; ///< Share of correct tuples, 0 to 1; with concepts the mean of theirs.
    plumb_interval accuracy_ci;     ///< 95 %, bootstrap over tuples inside each concept.
    plumb_interval accuracy_wilson; ///< 95 %, the interval of [Wilson27] of all tuples.
    double chance_p;                ///< P(as many correct or more by chance), exact binomial.
    double relative_surprise;       ///< Mean of (I - P) / (|I| + |P|), -1 to 1.
    plumb_interval relative_ci;     ///< 95 % interval of `relative_surprise`.
    double difference;              ///< Mean of (I - P) / 2, in the unit of surprise.
    plumb_interval difference_ci;   ///< 95 % interval of `difference`.
    double t;                       ///< Student's t of relative surprise against 0.
    double t_p;                     ///< Its p-value, one-sided.
    double pairwise;         ///< Share of pairs (possible, impossible) in a tuple, ties one half.
    double permutation_p;    ///< p-value of `pairwise`, labels exchanged inside each tuple.
    double matched;          ///< Share of pairs with the same first frames, ties one half.
    double matched_strict;   ///< The same with a tie as wrong.
    double midpoint;         ///< Clips 1 and 3 against the mean of clips 0 and 2, ties one half.
    double auroc;            ///< Area under the ROC curve of single clips, 0 to 1.
    plumb_interval auroc_ci; ///< 95 % interval of `auroc`.
    double auprc;            ///< Area under precision-recall, impossible clips positive.
    double auprc_possible;   ///< The same, possible clips positive.
    double threshold;        ///< The score below which `type1` of the impossible clips lie.
    double type1;            ///< Share of impossible clips below `threshold`.
    double type2;            ///< Share of possible clips at or above it.
    double threshold_90;     ///< The score below which 90 % of the possible clips lie.
    double accuracy_90;      ///< Share of clips that `threshold_90` classifies correctly.
    double best_threshold;   ///< The threshold that is best in hindsight.
    double best_accuracy;    ///< Share of clips that it classifies correctly.
} plumb_surprise_metrics;

enum { PLUMB_SURPRISE_BINS = 10 };

/// The log likelihood ratio of clips in nats, log p(impossible) - log p(possible)
///     = s / T - w D log r_k + c
/// with D the dimension of the observed features. T, w and c are fitted on tuples that are not
/// judged, for each concept: those of the observation sets, or else the other four fifths.
typedef struct plumb_surprise_ratio {
    bool measured;             ///< False without knn and lr; the rest is then zero.
    double log_threshold;      ///< log((1 - prior) / prior).
    double type1;              ///< Share of impossible clips below it.
    double type2;              ///< Share of possible clips at or above it.
    double accuracy;           ///< Share of clips classified correctly.
    double auroc;              ///< Area under the ROC curve of single clips.
    double best_log_threshold; ///< The threshold that is best in hindsight.
    double best_accuracy;      ///< Share of clips that it classifies correctly.
    const double *log_ratio;   ///< (tested, 4).
    const double *posterior;   ///< (tested, 4) P(impossible) = p / (p + (1 - p) / LR), p the prior.
    double posterior_mean[2];  ///< Mean over possible and over impossible clips.
    double brier;              ///< Mean of (posterior - 1 or 0)^2; 0.25 for a posterior of 1/2.
    double calibration_error;  ///< Expected calibration error: mean of |said - found| over bins.
    double calibration_said[PLUMB_SURPRISE_BINS];   ///< Mean posterior of a bin; NaN: empty.
    double calibration_found[PLUMB_SURPRISE_BINS];  ///< Share of impossible clips, by the prior.
    int64_t calibration_clips[PLUMB_SURPRISE_BINS]; ///< Clips of a bin.
    int64_t concepts;          ///< Length of `temperature` and `weight`; 1 without concepts.
    int64_t sets;              ///< Length of `dimension`.
    const double *temperature; ///< T of each concept, in the unit of surprise.
    const double *weight;      ///< w of each concept.
    const double *dimension;   ///< D of each observation set, d - 1 for unit features.
    bool frame_variances;      ///< Each frame has a T of its own; `temperature` is of their mean.
    bool scene_variances; ///< Scenes differ in scale: the ratio has log s, and `temperature` is
                          ///< that of a clip of mean surprise.
} plumb_surprise_ratio;

/// Single clips called impossible where their score reaches a threshold that was chosen on clips
/// of other tuples.
typedef struct plumb_surprise_decision {
    bool measured;    ///< False if too few tuples are known; the rest is then zero.
    double threshold; ///< The score; the mean over folds without an observation set.
    double accuracy;  ///< Share of clips classified correctly; impossible and possible count alike.
    double type1;     ///< Share of impossible clips below it.
    double type2;     ///< Share of possible clips at or above it.
    double power;     ///< 1 - type2: share of possible clips that are recognised.
} plumb_surprise_decision;

/// What a scorer decides if possible and impossible clips move as much.
typedef struct plumb_surprise_motion {
    bool measured;         ///< False without motion; the rest is then zero.
    int64_t tuples;        ///< Tuples tested.
    int64_t matched;       ///< Tuples whose clips differ by 0.2 deviations or less in all numbers.
    int64_t matched_right; ///< Those that are right.
    double matched_accuracy;       ///< Their share; NaN if no tuple is matched.
    plumb_interval matched_wilson; ///< 95 %.
    double adjusted_accuracy; ///< Share of right tuples after a regression on motion is subtracted.
    double alone_accuracy;    ///< Share of tuples that the regression, motion alone, decides.
} plumb_surprise_motion;

/// The result of one scorer.
typedef struct plumb_surprise_score {
    plumb_scorer scorer;                    ///< Which.
    bool measured;                          ///< The rest is zero if false.
    const char *why;                        ///< Why it was asked for but not measured, or NULL.
    double gamma;                           ///< The gamma used.
    plumb_surprise_metrics all;             ///< Metrics of all tested tuples.
    const plumb_surprise_metrics *concepts; ///< (concept_count), or NULL.
    bool has_maximum;                       ///< Frames were given, so `maximum` is measured.
    plumb_surprise_metrics maximum; ///< As `all`, with the most surprising frame of each clip.
    const double *score;            ///< (tested, 4).
    const double *distance;         ///< r, (tested, 4); NULL for plain.
    double seconds; ///< Time to fit the observed clips and to compute r of the tested ones.
    plumb_surprise_decision decision; ///< By the threshold of the options.
    plumb_surprise_decision level;    ///< The test at level `type1` [Lin23, Theorem 1].
    plumb_surprise_motion motion;     ///< With motion held fixed.
} plumb_surprise_score;

/// One test of uniformity.
typedef struct plumb_surprise_test {
    double statistic; ///< The statistic of the test.
    double p;         ///< Its p-value.
} plumb_surprise_test;

/// Are the features of the tested clips uniform on the sphere? "paper" tests whether r_k is uniform
/// between its least and greatest value, which does not hold even for uniform features; "exact"
/// tests whether the share of the sphere nearer than r_k follows Beta(k, N - k + 1), which does.
typedef struct plumb_surprise_uniformity {
    bool measured;                 ///< The rest is zero if false.
    const char *why;               ///< Why it was not measured, or NULL.
    plumb_surprise_test exact;     ///< Kolmogorov-Smirnov.
    plumb_surprise_test paper;     ///< Kolmogorov-Smirnov.
    plumb_surprise_test paper_chi; ///< Chi-square, 20 bins.
    int64_t histogram[20];         ///< Of r_k between `least` and `greatest`.
    double least, greatest;        ///< Range of r_k.
    double cap_log10;              ///< Median log10 of the share of the sphere nearer than r_k.
    int64_t clips;                 ///< Clips tested.
} plumb_surprise_uniformity;

/// McNemar's exact test between two scorers on the same tuples.
typedef struct plumb_surprise_comparison {
    plumb_scorer first, second; ///< Which scorers.
    int64_t first_only;         ///< Tuples that only the first gets right.
    int64_t second_only;        ///< Tuples that only the second gets right.
    double p;                   ///< Two-sided p-value.
} plumb_surprise_comparison;

/// The result. Free what it owns with plumb_surprise_clear().
typedef struct plumb_surprise {
    plumb_surprise_score scorers[PLUMB_SCORER_COUNT]; ///< By plumb_scorer.
    plumb_surprise_ratio ratio;                       ///< Measured together with knn or lr.
    plumb_surprise_uniformity uniformity;             ///< Measured together with knn.
    const plumb_surprise_comparison *pairs;           ///< (pair_count) every two scorers.
    int64_t pair_count;                               ///< Number of comparisons.
    int64_t tuples;                                   ///< Tuples given.
    int64_t tested;                                   ///< Tuples tested.
    const int64_t *tested_tuple;                      ///< (tested) indices of the tested tuples.
    int64_t observed;                 ///< Rows of the observation set, over all concepts.
    bool split;                       ///< The observation set was taken from the tuples given.
    int64_t dims;                     ///< Dimension of the features; 0: no features.
    int64_t concept_count;            ///< 0: no concepts were given.
    const char *const *concept_names; ///< (concept_count).
    const int64_t *concept_of;        ///< (tested) index of the concept of each tuple.
    int64_t frames;                   ///< 0: only surprise of whole clips was given.
    const double *frame_surprise;     ///< (tested, 4, frames), or NULL.
    int64_t zero_features;            ///< Features of length 0, which have no direction.
    int64_t equal_observations;       ///< Observed features that repeat another.
    /// (concept_count) `uniformity` of each concept, or NULL.
    const plumb_surprise_uniformity *concept_uniformity;
    int64_t k;                      ///< The k used; 0: no scorer needs neighbours.
    int64_t least_observed;         ///< Clips of the smallest observation set.
    plumb_surprise_unit error_unit; ///< The unit of surprise.
    plumb_surprise_frames joined;   ///< How frames were reduced; never PLUMB_SURPRISE_FRAMES_AUTO.
    double seconds;                 ///< Time of the call.
    char input_hash[33];            ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;                   ///< Private.
} plumb_surprise;

/// Sets the first `size` bytes of `options` to the defaults. plumb_surprise_defaults() calls it.
PLUMB_API void plumb_surprise_options_init(plumb_surprise_options *options, size_t size);

/// The settings of [Lin23].
static inline plumb_surprise_options plumb_surprise_defaults(void)
{
    plumb_surprise_options options;
    plumb_surprise_options_init(&options, sizeof options);
    return options;
}

/// Scores the clips and measures the scores. Without `observation`, a share of the tuples of each
/// concept is drawn; the features of their impossible clips are the observation set of that
/// concept, and every scorer is tested on the other tuples.
/// May be NULL: options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_EVALUE if an option is invalid or
/// k is larger than an observation set, PLUMB_ENUMERIC if a value is NaN or infinite or if
/// observation and tuples share a feature, PLUMB_EMISSING for a scorer that this build lacks.
PLUMB_API plumb_status plumb_surprise_measure(plumb_surprise *result,
                                              const plumb_surprise_input *input,
                                              const plumb_surprise_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_surprise_clear(plumb_surprise *result);

/// Writes the result under the names that `plumb surprise --json` prints. May be NULL: options.
PLUMB_API void plumb_surprise_record(plumb_record *record, const plumb_surprise *result,
                                     const plumb_surprise_options *options);

/// Writes tested tuple `tested`, 0 to tested - 1, as one line of `--items`.
PLUMB_API void plumb_surprise_item_record(plumb_record *record, const plumb_surprise *result,
                                          int64_t tested);

// ---- clips without tuples ----

/// Metrics of labelled clips that belong to no tuple.
typedef struct plumb_surprise_clips {
    int64_t possible, impossible;     ///< Clips of each kind.
    double auroc;                     ///< Area under the ROC curve, 0 to 1.
    plumb_interval auroc_ci;          ///< 95 %, bootstrap over the clips of each kind.
    plumb_surprise_decision decision; ///< Each fifth of the clips by a threshold of the others.
} plumb_surprise_clips;

/// Measures the scores (clips) of labelled clips; possible (clips): 0 for an impossible one. Of the
/// options threshold, threshold_rule, type1, resamples and seed count. May be NULL: options. On
/// failure `result` is unchanged. Fails with PLUMB_ESHAPE, PLUMB_EVALUE if a kind of clip is
/// missing, PLUMB_ENUMERIC.
PLUMB_API plumb_status plumb_surprise_clips_measure(plumb_surprise_clips *result,
                                                    const plumb_array *scores,
                                                    const plumb_array *possible,
                                                    const plumb_surprise_options *options);

/// Writes the result under the names that `plumb surprise --json` prints.
PLUMB_API void plumb_surprise_clips_record(plumb_record *record,
                                           const plumb_surprise_clips *result);

// ---- score files of other benchmarks ----

/// How a loss file is read. Take them from plumb_surprise_losses_defaults().
typedef struct plumb_surprise_losses_options {
    size_t size; ///< sizeof(plumb_surprise_losses_options)
    /// Path of a CSV table that says what each clip is (IntPhys 2). NULL (the default): the file
    /// has labels (V-JEPA study).
    const char *metadata;
    /// Index of the context length to take. Negative (the default): the least loss over all
    /// context lengths, the row "filtered" of the study.
    int64_t context;
    /// How the windows of a clip are reduced if clips differ in length. Default
    /// PLUMB_SURPRISE_FRAMES_MEAN.
    plumb_surprise_frames frames;
    /// Column or member of a table that has the score. NULL (the default): "score", "surprise" or
    /// "loss", or the columns t0, t1, ... of frames.
    const char *score;
    bool plausible; ///< Higher scores mean more plausible; they are negated. Default false.
    /// Columns of a table that are the concept together: "Difficulty,Camera". NULL (the default):
    /// "concept", "property", "condition" and others.
    const char *concept_by;
} plumb_surprise_losses_options;

/// Losses arranged in tuples. Free what it owns with plumb_surprise_losses_clear().
typedef struct plumb_surprise_losses {
    plumb_array surprise; ///< (tuples, 4, windows), or (tuples, 4) if clips differ in length.
    bool has_concepts;    ///< `concepts` is set.
    plumb_array concepts; ///< (tuples, length) text u1: the conditions of the table.
    bool pairs;           ///< The file has two clips per tuple; each takes two places.
    int64_t padded;       ///< Clips that end with windows of exactly 0, which are left out.
    int64_t groups;       ///< Groups of a table; 0 for other files.
    bool expanded;        ///< Groups differ from 2 + 2 and 1 + 1: all their pairs are tuples.
    int64_t skipped;      ///< Clips of incomplete groups, which are left out.
    bool plausible;       ///< The scores of the file were negated.
    bool has_motion;      ///< `motion` is set.
    plumb_array motion;   ///< (tuples, 4, numbers) of the columns motion and frame_difference.
    bool single;          ///< No groups: `clips` and `possible` are set, and `surprise` is not.
    plumb_array clips;    ///< (clips) surprise of single clips.
    plumb_array possible; ///< (clips) u1: 1 for a possible clip.
    int64_t files;        ///< Loss files that were joined: those of all ranks.
    int64_t repeated;     ///< Clips that two ranks have; each is taken once.
    void *memory;         ///< Private.
} plumb_surprise_losses;

/// Sets the first `size` bytes of `options` to the defaults.
PLUMB_API void plumb_surprise_losses_options_init(plumb_surprise_losses_options *options,
                                                  size_t size);

/// The defaults.
static inline plumb_surprise_losses_options plumb_surprise_losses_defaults(void)
{
    plumb_surprise_losses_options options;
    plumb_surprise_losses_options_init(&options, sizeof options);
    return options;
}

/// Reads score files of other benchmarks and arranges the clips in tuples. A .pth file has the
/// losses (clips, contexts, windows) that the code of the V-JEPA study (label 1: possible) or of
/// IntPhys 2 saves; with NAME_rank0.pth the files of all other ranks are read. A .csv, .tsv, .json
/// or .jsonl file has clips with a group, possible or not, and a score or one for each frame; an
/// array file may have `possible` and `impossible`, (n), (n, k) or (n, k, frames). Clips that
/// differ in length are reduced over their own windows or frames. May be NULL: options. On failure
/// `result` is unchanged. Fails as plumb_file_open() does, with PLUMB_EFORMAT if labels, names or
/// table are missing or wrong, PLUMB_ESHAPE or PLUMB_EVALUE if the clips do not form tuples,
/// PLUMB_ENUMERIC if a loss is NaN or infinite.
PLUMB_API plumb_status plumb_surprise_losses_read(plumb_surprise_losses *result, const char *path,
                                                  const plumb_surprise_losses_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_surprise_losses_clear(plumb_surprise_losses *result);

// ---- the counter-example of [Lin23] ----

/// Impossible x ~ N(0, deviation^2), possible x ~ N(0, 1). Surprise is larger at x = 1, but the
/// likelihood ratio says that x = 0 is the impossible one.
typedef struct plumb_surprise_counterexample {
    double deviation;    ///< Standard deviation of the impossible distribution.
    double surprise[2];  ///< At x = 0 and x = 1.
    double log_ratio[2]; ///< log p(impossible) - log p(possible).
    double posterior[2]; ///< P(impossible) for a prior of one half.
    double even;         ///< |x| where the ratio is 1.
} plumb_surprise_counterexample;

/// The paper writes N(0, 0.001): `deviation` is sqrt(0.001) if that is a variance, or 0.001.
PLUMB_API plumb_surprise_counterexample plumb_surprise_counterexample_compute(double deviation);

/// The same with another prior than one half for `posterior`.
PLUMB_API plumb_surprise_counterexample plumb_surprise_counterexample_judge(double deviation,
                                                                            double prior);

/// The Gaussian annulus [Lin23, Theorem 2]: samples of N(0, I) in d dimensions lie near the sphere
/// of radius sqrt(d), and none near 0, where surprise is least.
typedef struct plumb_surprise_annulus {
    int64_t dims;              ///< d.
    double radius;             ///< sqrt(d).
    double mean_norm;          ///< Mean of |x|.
    double within_1, within_3; ///< P(| |x| - sqrt(d) | <= 1) and <= 3.
    double surprise[2];        ///< -log of the density at 0, and at distance sqrt(d).
} plumb_surprise_annulus;

/// `dims` is 1 or more.
PLUMB_API plumb_surprise_annulus plumb_surprise_annulus_compute(int64_t dims);

/// Writes both readings as `plumb surprise --example --json` prints them, with a prior of one half.
PLUMB_API void plumb_surprise_counterexample_record(plumb_record *record);
/// The same with another prior, which is in the record, and the annulus in some dimensions.
PLUMB_API void plumb_surprise_example_record(plumb_record *record, double prior);

#ifdef __cplusplus
}
#endif
#endif
