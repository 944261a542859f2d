// SPDX-License-Identifier: MIT
// Expectation: a trained model of films judged by what surprises it. It watches probes, tuples of
// two possible and two impossible clips, and every scorer there is says whether the impossible ones
// stand out; beside it stand predictors that need no training.
#ifndef PLUMB_EXPECT_H
#define PLUMB_EXPECT_H

#include "plumb/surprise.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Predictors that need no training.
typedef enum plumb_reference {
    PLUMB_REFERENCE_COPY,   ///< the last frame again
    PLUMB_REFERENCE_LINEAR, ///< every pixel goes on as it went; the floor: no physics in it
    PLUMB_REFERENCE_ORACLE, ///< what began as a possible clip goes on as it; the ceiling
    PLUMB_REFERENCES,
} plumb_reference;
PLUMB_API const char *plumb_reference_name(plumb_reference reference);

typedef struct plumb_expect_options {
    size_t size;
    int64_t tuples;            ///< of each concept, 250; of a file at most so many
    int64_t first;             ///< number of the first among those never used for training, 0
    int64_t films;             ///< free clips whose frames are predicted, 64; 0 none
    const char *const *probes; ///< files of tuples; none: the five rooms
    int64_t probe_count;
    const char *naive; ///< a run trained on impossible clips, for the scorer of that name; or NULL
    const char *save;  ///< a file for surprise, feature and concept, as `plumb surprise` reads them
    int threads;       ///< 0: plumb_machine_threads(). Changes no result
    plumb_surprise_options surprise;
    const char *world; ///< of the free clips; NULL: the one the run was trained on, if it was one
} plumb_expect_options;

/// The paper's settings on fewer tuples.
PLUMB_API plumb_expect_options plumb_expect_defaults(void);

/// Mean squared error of frames 1 .. of many clips.
typedef struct plumb_expect_errors {
    int64_t clips;                              ///< 0: not measured
    double model, references[PLUMB_REFERENCES]; ///< of free clips there is no oracle: NaN
} plumb_expect_errors;

/// What was measured. Free what it points to with plumb_expect_clear.
typedef struct plumb_expect {
    char model[64], world[512];
    int64_t trained; ///< updates the run has had
    plumb_surprise surprise;
    plumb_surprise references[PLUMB_REFERENCES]; ///< plain, on the tuples that `surprise` tested
    plumb_expect_errors free;                    ///< free clips it has never seen
    plumb_expect_errors *possible; ///< possible clips of each concept, in the order of its names
    double seconds;
    void *memory; ///< private
} plumb_expect;

/// Is that the run of a model of films, one that can be judged here?
PLUMB_API plumb_status plumb_expect_applies(bool *out, const char *run);

/// Judges the run directory `run`. `opt` may be NULL. On failure `out` is left as it was. Fails as
/// plumb_surprise_measure does, and with PLUMB_EFILE or PLUMB_EFORMAT if the run is not whole,
/// PLUMB_ESHAPE if the clips do not fit the model, PLUMB_EVALUE for a model of something else.
PLUMB_API plumb_status plumb_expect_run(plumb_expect *out, const char *run,
                                        const plumb_expect_options *opt);
PLUMB_API void plumb_expect_clear(plumb_expect *result);

/// The result under the names that `plumb evaluate --json` prints.
PLUMB_API void plumb_expect_record(plumb_record *record, const plumb_expect *result,
                                   const plumb_expect_options *opt);
/// The same, into the run's results.json.
PLUMB_API plumb_status plumb_expect_save(const char *run, const plumb_expect *result,
                                         const plumb_expect_options *opt);

#ifdef __cplusplus
}
#endif
#endif
