// SPDX-License-Identifier: MIT
// Can possible and impossible clips be told apart without understanding anything? A probe is worth
// only as much as the answer is no.
#ifndef PLUMB_AUDIT_H
#define PLUMB_AUDIT_H

#include "plumb/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a byte by byte comparison of one array says: tuples in which at every time the possible
/// pair of frames is the impossible one, and tuples in which that holds for consecutive frame
/// pairs.
typedef struct plumb_audit_splice {
    bool there;                  ///< has the file this array?
    int64_t frames_hold;         ///< tuples
    int64_t pairs_hold;          ///< tuples; these are among the others
    int64_t bad_tuple, bad_time; ///< the first that does not, or -1
} plumb_audit_splice;

/// A classifier that sees single frames, or pairs of consecutive ones, trained on half of the
/// tuples and judged on the other half, and the other way round.
typedef struct plumb_audit_classifier {
    double accuracy; ///< share of frames (pairs) that it names rightly, possible or impossible
    plumb_interval accuracy_ci;
    double tuple_accuracy; ///< share of tuples whose impossible clips it finds the stranger ones
    plumb_interval tuple_ci;
    bool leak; ///< one of the two intervals lies above one half
} plumb_audit_classifier;

typedef struct plumb_audit {
    int64_t tuples, steps;
    int64_t idle; ///< tuples whose impossible clips are the possible ones: nothing is impossible
    plumb_audit_splice frames, mask, camera;
    int64_t
        judged; ///< tuples that the classifiers saw; below 8 there are none, and the rest is NaN
    plumb_audit_classifier frame, pair;
    bool clean; ///< everything holds, nothing is idle and nothing leaks
} plumb_audit;

typedef struct plumb_audit_options {
    size_t size;
    int64_t judged;    ///< at most so many tuples for the classifiers, evenly from all; 500
    int64_t bootstrap; ///< draws for the intervals, 2000
    uint64_t seed;
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

#define PLUMB_AUDIT_VERSION 1

/// Audits probes: items of `frames` (4, steps, height, width, channels) in bytes, two possible
/// clips and two impossible ones; `mask` and `camera_pose` too if they are there. `opt` may be
/// NULL. Fails with PLUMB_ESHAPE if they are not tuples, and with what reading fails with.
PLUMB_API plumb_status plumb_audit_measure(plumb_audit *out, plumb_dataset *probes,
                                           const plumb_audit_options *opt);

/// What --json prints.
PLUMB_API plumb_record *plumb_audit_record(const plumb_audit *result,
                                           const plumb_audit_options *opt);

#ifdef __cplusplus
}
#endif
#endif
