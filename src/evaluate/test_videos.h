// SPDX-License-Identifier: MIT
// Test data of dynamics models: videos that training never used, and the true states behind them.
#ifndef EVALUATE_TEST_VIDEOS_H
#define EVALUATE_TEST_VIDEOS_H

#include "evaluate/trained_model.h"

/// Which test videos. The two uses never share a trajectory, and neither shares one with training.
typedef enum test_videos_use { TEST_VIDEOS_FORECAST, TEST_VIDEOS_MEASURE } test_videos_use;

typedef struct test_videos_request {
    const char *world; ///< NULL: the world of the run
    const char *data;  ///< NULL, or a file
    int64_t first;     ///< index of the first video of this use
    test_videos_use use;
    int64_t count;
    int64_t steps; ///< of the states
    /// For the message about a file that is too short: the option that sets `steps`, or NULL; how
    /// many steps it does not set; and the fewest that help, for another use of the same file.
    const char *steps_option;
    int64_t fixed_steps, least_steps;
    int64_t rendered_steps; ///< of the frames, at most `steps`; a file always gives `steps`
    bool canonical;         ///< canonical coordinates, energy and actions too
    bool states_optional;   ///< a file may have no true states
    bool parameters;        ///< parameters of the trajectories too; a file gives constants only
    int threads;
    double progress_from, progress_share; ///< of the work that is reported; share 0: all of it
} test_videos_request;

typedef struct test_videos {
    video_set videos;
    double *state;      ///< (count, steps, state_dims); NULL if not in a file, and optional
    double *energy;     ///< (count, steps); NULL if canonical was not requested, or not in a file
    double *canonical;  ///< (count, steps, canonical_dims); NULL if not requested, or not in a file
    double *parameters; ///< (count, parameter_total) of the world; NULL if not requested
    double *constants;  ///< (count, constant_total) that enter the motion; NULL if there are none
    double *action; ///< (count, steps, action_dims); as energy; NULL if nothing drives the world
    int64_t state_dims, canonical_dims, parameter_total, constant_total, action_dims;
} test_videos;

/// Makes or reads the videos, in the memory of `trained`. Fails with PLUMB_ESHAPE if they do not
/// fit the model.
plumb_status test_videos_get(test_videos *out, trained_model *trained,
                             const test_videos_request *request);

#endif
