// SPDX-License-Identifier: MIT
// Predicts a few clips of the training videos and compares how much predicted and true frames
// differ between clips, at the same step and pixel.
#include "train/input_dependence.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/parallel_for.h"
#include "base/status.h"

enum { MAX_CLIPS = 8, FRAMES_AHEAD = 8 };

// Clips of the training videos, and what is predicted of them.
typedef struct clip_set {
    int64_t count, steps; // clips, and frames of each
    int64_t first;        // the first step that is predicted
    int64_t frame;        // values of a frame
    uint8_t *frames;      // (count, steps, frame)
    uint8_t *mask;        // (count, steps, height, width), or NULL
    float *prediction;    // (count, steps - first, frame)
} clip_set;

static plumb_status draw_clips(clip_set *out, arena *mem, const video_set *videos, uint64_t seed)
{
    const int64_t pixels = videos->height * videos->width;
    out->frame = pixels * videos->channels;
    out->frames = ARENA_ALLOC(mem, uint8_t, out->count * out->steps * out->frame);
    out->prediction = ARENA_ALLOC(mem, float, out->count *(out->steps - out->first) * out->frame);
    if (videos->mask) out->mask = ARENA_ALLOC(mem, uint8_t, out->count * out->steps * pixels);
    if (!out->frames || !out->prediction || (videos->mask && !out->mask)) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < out->count; i++) {
        const video_window window = video_sample_window(videos, seed, 0, i, out->steps);
        memcpy(out->frames + i * out->steps * out->frame, video_window_frames(videos, window),
               (size_t)(out->steps * out->frame));
        if (out->mask)
            memcpy(out->mask + i * out->steps * pixels, video_window_mask(videos, window),
                   (size_t)(out->steps * pixels));
    }
    return PLUMB_OK;
}

// A model with a state takes its window as input and predicts the frames after it.
static plumb_status predict_rollouts(clip_set *clips, arena *mem, const trainable_model *model,
                                     int threads)
{
    const int64_t steps = clips->steps - clips->first;
    float *latent = ARENA_ALLOC(mem, float, clips->count *steps * model->dynamics->latents);
    if (!latent) return PLUMB_EMEMORY;
    return model->dynamics->rollout(model->context,
                                    &(model_rollout_job){.frames = clips->frames,
                                                         .count = clips->count,
                                                         .steps = clips->steps,
                                                         .threads = threads,
                                                         .latent = latent,
                                                         .prediction = clips->prediction});
}

// A video model predicts every frame from the true frames before it.
static plumb_status predict_next_frames(clip_set *clips, arena *mem, const trainable_model *model,
                                        int threads)
{
    double *error = ARENA_ALLOC(mem, double, clips->count *(clips->steps - 1));
    if (!error) return PLUMB_EMEMORY;
    return model->video->predict(model->context,
                                 &(model_predict_job){.frames = clips->frames,
                                                      .mask = clips->mask,
                                                      .count = clips->count,
                                                      .steps = clips->steps,
                                                      .threads = threads,
                                                      .error = error,
                                                      .prediction = clips->prediction});
}

// Sum over steps and pixels of the variance over clips, of predicted frames over true ones.
static double compare_variances(const clip_set *clips)
{
    const int64_t values = (clips->steps - clips->first) * clips->frame;
    const uint8_t *truth = clips->frames + clips->first * clips->frame;
    double predicted = 0.0, true_variance = 0.0;
    for (int64_t i = 0; i < values; i++) {
        double mean[2] = {0}, square[2] = {0};
        // Differences from the first clip: equal values give exactly 0.
        for (int64_t k = 1; k < clips->count; k++) {
            const double x =
                (double)clips->prediction[k * values + i] - (double)clips->prediction[i];
            const double y =
                ((double)truth[k * clips->steps * clips->frame + i] - (double)truth[i]) / 255.0;
            mean[0] += x, square[0] += x * x;
            mean[1] += y, square[1] += y * y;
        }
        predicted += square[0] - mean[0] * mean[0] / (double)clips->count;
        true_variance += square[1] - mean[1] * mean[1] / (double)clips->count;
    }
    return true_variance > 0.0 ? predicted / true_variance : (double)NAN;
}

plumb_status input_dependence_measure(double *out, const trainable_model *model,
                                      const video_set *videos, int64_t clip, uint64_t seed,
                                      int threads)
{
    *out = (double)NAN;
    const model_dynamics *dynamics = model->dynamics;
    // Some video models take only clips of the length they were trained on.
    const int64_t wanted = dynamics ? dynamics->window + FRAMES_AHEAD : clip;
    clip_set clips = {.count = MAX_CLIPS,
                      .steps = wanted < videos->steps ? wanted : videos->steps,
                      .first = dynamics ? dynamics->first_step : 1};
    if ((!dynamics && !model->video) || clips.steps <= clips.first) return PLUMB_OK;
    // A recurrent model predicts nothing within its window.
    if (dynamics && clips.steps <= dynamics->window) return PLUMB_OK;
    arena mem = {0};
    if (threads < 1) threads = parallel_threads();
    plumb_status st = draw_clips(&clips, &mem, videos, seed);
    if (!st)
        st = dynamics ? predict_rollouts(&clips, &mem, model, threads)
                      : predict_next_frames(&clips, &mem, model, threads);
    if (!st) *out = compare_variances(&clips);
    arena_clear(&mem);
    return st;
}

// After a hundred steps models that collapsed have 5e-6 or less, those that learn have 5e-2.
bool input_dependence_is_low(double share, int64_t steps)
{
    const double least = 1e-4;
    return steps >= 100 && share < least;
}
