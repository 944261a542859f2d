// SPDX-License-Identifier: MIT
// Compare: is one model better than another? Scores of two models or more on the same items
// (tuples, trajectories, clips), of one run or several of each: means with intervals, deviations
// over runs, and paired tests of every pair.
#ifndef PLUMB_COMPARE_H
#define PLUMB_COMPARE_H

#include "plumb/record.h"
#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_COMPARE_VERSION 1

/// The settings. Take them from plumb_compare_defaults() and change what you need.
typedef struct plumb_compare_options {
    size_t size;          ///< sizeof(plumb_compare_options)
    bool lower_is_better; ///< Of the scores, as errors. Default false.
    int64_t resamples;    ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    int64_t flips;        ///< Random changes of sign for p with more than 16 items. Default 10000.
    uint64_t seed;        ///< Of both. Default 1.
} plumb_compare_options;

/// Scores of models, by name. Opaque.
typedef struct plumb_compare plumb_compare;

PLUMB_API plumb_status plumb_compare_create(plumb_compare **out);
/// May be NULL: compare.
PLUMB_API void plumb_compare_free(plumb_compare *compare);

/// Adds the scores of one run: one per item, in the same order for all models. Further runs of the
/// same name are other seeds of the same model. Fails with PLUMB_ENUMERIC if a score is not finite,
/// PLUMB_ESHAPE if the number of items differs from the others.
PLUMB_API plumb_status plumb_compare_add(plumb_compare *compare, const char *model,
                                         const double *scores, int64_t items);

/// The same from a file: a record of --json, whose `key` is a list of numbers or one number; a file
/// of --items, one record per line, of each `key`; or arrays (.npz, .npy, .csv ...), array `key`.
/// Keys may be paths, "forward.vpt". May be NULL: key, for "vpt_per_trajectory" of records and the
/// only array of others.
PLUMB_API plumb_status plumb_compare_add_file(plumb_compare *compare, const char *model,
                                              const char *path, const char *key);

/// One model.
typedef struct plumb_compare_model {
    const char *name;  ///< As it was added.
    int64_t runs;      ///< Score files or records that were added under this name.
    double mean;       ///< Over runs and items.
    plumb_interval ci; ///< 95 % interval, bootstrap over items.
    double deviation;  ///< Standard deviation over runs of their means; NaN with one run.
    int64_t rank;      ///< 1: the best mean.
} plumb_compare_model;

/// Two models, on the same items; each score is the mean over runs.
typedef struct plumb_compare_pair {
    int64_t first, second;        ///< Models.
    double difference;            ///< Mean of first - second.
    plumb_interval difference_ci; ///< 95 % interval, paired bootstrap over items.
    double p; ///< Of a difference as large by chance: signs of the differences are changed.
    double p_adjusted;  ///< Corrected for the number of pairs [Holm79].
    int64_t wins, ties; ///< Items on which the first is better, and equal.
} plumb_compare_pair;

/// The result. Free what it owns with plumb_compare_result_clear().
typedef struct plumb_compare_result {
    const plumb_compare_model *model; ///< (models) in the order of the input.
    int64_t models;                   ///< At least 2.
    const plumb_compare_pair *pair;   ///< (pairs); none with one item.
    int64_t pairs;                    ///< models (models - 1) / 2, or 0.
    int64_t items;                    ///< Scores of each run, the same items for all.
    void *memory;                     ///< Private.
} plumb_compare_result;

/// Sets the first `size` bytes of `options` to the defaults.
PLUMB_API void plumb_compare_options_init(plumb_compare_options *options, size_t size);

/// Returns the defaults.
static inline plumb_compare_options plumb_compare_defaults(void)
{
    plumb_compare_options options;
    plumb_compare_options_init(&options, sizeof options);
    return options;
}

/// Compares all models that were added. May be NULL: options. Fails with PLUMB_EVALUE if there are
/// fewer than two or an option is invalid.
PLUMB_API plumb_status plumb_compare_measure(plumb_compare_result *result,
                                             const plumb_compare *compare,
                                             const plumb_compare_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_compare_result_clear(plumb_compare_result *result);

/// Writes the result under the names that `plumb compare --json` prints. May be NULL: options.
PLUMB_API void plumb_compare_record(plumb_record *record, const plumb_compare_result *result,
                                    const plumb_compare_options *options);

#ifdef __cplusplus
}
#endif
#endif
