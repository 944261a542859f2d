// SPDX-License-Identifier: MIT
// Audit of a probe file: can possible and impossible clips be told apart without physics? The probe
// is valid only if the answer is no.
#ifndef PLUMB_AUDIT_H
#define PLUMB_AUDIT_H

#include "plumb/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_AUDIT_VERSION 1

/// The byte by byte comparison of one array: at every time, the frames of the two possible clips
/// must be those of the two impossible clips, in some order.
typedef struct plumb_audit_splice {
    bool present;        ///< The file has this array. The rest counts only if it does.
    int64_t frames_hold; ///< Tuples in which this holds for single frames.
    int64_t pairs_hold;  ///< Tuples in which it holds for pairs of consecutive frames too.
    int64_t bad_tuple;   ///< The first tuple in which it fails for pairs, or -1.
    int64_t bad_time;    ///< The time in that tuple at which it fails, or -1.
} plumb_audit_splice;

/// A linear classifier whose input is single frames, or pairs of consecutive frames. It is trained
/// on one half of the tuples and tested on the other, and the other way round.
typedef struct plumb_audit_classifier {
    double accuracy;            ///< Share of frames (pairs) classified correctly, 0 to 1.
    plumb_interval accuracy_ci; ///< 95 % interval of `accuracy`, bootstrap over tuples.
    double tuple_accuracy;      ///< Share of tuples whose impossible clips score higher, 0 to 1.
    plumb_interval tuple_ci;    ///< 95 % interval of `tuple_accuracy`.
    bool leak;                  ///< One of the two intervals lies above one half.
} plumb_audit_classifier;

/// The result. It owns no memory.
typedef struct plumb_audit {
    int64_t tuples;    ///< Tuples in the file.
    int64_t steps;     ///< Frames per clip.
    int64_t identical; ///< Tuples whose impossible clips are the possible ones.
    plumb_audit_splice frames, mask, camera; ///< Comparison of the three arrays of a probe.
    /// Tuples that the classifiers were given. 0 if the file has fewer than 8; then the
    /// classifiers are NaN.
    int64_t judged;
    plumb_audit_classifier frame; ///< Its input is one frame.
    plumb_audit_classifier pair;  ///< Its input is two consecutive frames.
    bool clean; ///< All splices hold, no tuple is identical and no classifier has a leak.
} plumb_audit;

/// The settings. Take them from plumb_audit_defaults() and change what you need.
typedef struct plumb_audit_options {
    size_t size; ///< sizeof(plumb_audit_options)
    /// Maximum of tuples for the classifiers, taken evenly from all. 0 to 100000, default 500.
    int64_t max_tuples;
    int64_t resamples; ///< Bootstrap draws for the intervals, 0 to 1000000. Default 2000.
    uint64_t seed;     ///< Of the folds and the bootstrap. Default 1.
} plumb_audit_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_audit_defaults() calls it.
PLUMB_API void plumb_audit_options_init(plumb_audit_options *options, size_t size);

/// The defaults.
static inline plumb_audit_options plumb_audit_defaults(void)
{
    plumb_audit_options options;
    plumb_audit_options_init(&options, sizeof options);
    return options;
}

/// Audits probes: items of `frames` (4, steps, height, width, channels) in bytes, two possible
/// clips and two impossible ones; also `mask` and `camera_pose` if the file has them per tuple.
/// May be NULL: options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if the items are not tuples, PLUMB_EVALUE if an option is invalid, and
/// as plumb_dataset_read_field() does.
PLUMB_API plumb_status plumb_audit_measure(plumb_audit *result, plumb_dataset *probes,
                                           const plumb_audit_options *options);

/// Sets the result to zeros. May be NULL: result.
PLUMB_API void plumb_audit_clear(plumb_audit *result);

/// Writes the result under the names that `plumb audit --json` prints. May be NULL: options.
PLUMB_API void plumb_audit_record(plumb_record *record, const plumb_audit *result,
                                  const plumb_audit_options *options);

#ifdef __cplusplus
}
#endif
#endif
