// SPDX-License-Identifier: MIT
// Rolls out a dynamics model on test videos.
#ifndef EVALUATE_MODEL_ROLLOUT_H
#define EVALUATE_MODEL_ROLLOUT_H

#include "evaluate/test_videos.h"
#include "plumb/rollout.h"

/// What a model returns for test videos: from frame `first_step` of the model on.
typedef struct rollout_arrays {
    int64_t steps;     ///< predicted steps per video
    float *latent;     ///< (count, steps, latents)
    float *variance;   ///< (count, latents) of the posterior
    float *prediction; ///< (count, steps, height, width, channels); NULL if not requested
    float *momenta;    ///< (count, steps, latents / 2); NULL if the model has none
    float *tracks;     ///< (count, steps, objects, 2) in pixels; NULL as prediction, or if none
} rollout_arrays;

typedef struct rollout_request {
    int64_t steps;      ///< steps per video, those before the model's first one included
    bool backward;      ///< the last frames are the input
    bool decode_frames; ///< fill `prediction`
    int threads;
} rollout_request;

/// Runs the model on the videos, in the memory of `trained`.
plumb_status model_rollout_run(rollout_arrays *out, trained_model *trained, const video_set *videos,
                               const rollout_request *request);

/// Infers a state around each of the first `steps` frames from `first_step` on, from true frames
/// alone: out (count, steps, latents), NaN where a window of input frames does not fit into the
/// video. In the memory of `trained`.
plumb_status model_rollout_encode(float **out, trained_model *trained, const video_set *videos,
                                  int64_t steps, int threads);

/// Removes from each video's states the steps before the model's first one; `steps` there are.
void model_rollout_drop_states(test_videos *test, const trained_model *trained, int64_t steps);

/// Removes the first `first` of `steps` rows of `row_size` bytes from each of `count` arrays.
void model_rollout_drop_first(void *data, int64_t count, int64_t steps, size_t row_size,
                              int64_t first);

/// A view of (count, steps, height, width, channels).
plumb_array model_rollout_frames(void *data, plumb_dtype dtype, const video_set *videos,
                                 int64_t steps);

/// Writes the rollout of a video model, see plumb_rollout_save().
plumb_status rollout_video_save(const char *path, trained_model *trained,
                                const plumb_rollout_options *opt, int threads);

#endif
