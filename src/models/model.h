// SPDX-License-Identifier: MIT
// Interface between the trainer and a model: one block of named parameters, and a function that
// computes its gradient. The trainer knows no graph; a model knows no training loop, file or
// thread. What only some models can do is in `dynamics` and `video`.
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "models/renames.h"
#include "plumb/array.h"
#include "plumb/record.h"

struct exchange_list;

/// A named part of the block of parameters.
typedef struct model_tensor {
    const char *name;
    int rank;
    int64_t shape[8];
    int64_t offset; ///< in the block, in floats
} model_tensor;

// ---- models with a state ----

/// Bytes of the name of a latent, with the 0 at its end.
enum { MODEL_NAME_SIZE = 8 };

/// Which frames a model predicts, in the order of plumb_forecast_frames.
typedef enum frame_protocol {
    FRAMES_OVERLAP_BY_ONE,    ///< the last input frame is also the first target
    FRAMES_NO_OVERLAP,        ///< targets begin after the input frames
    FRAMES_INCLUDE_INFERENCE, ///< the input frames are targets too
    FRAMES_AUTOREGRESSIVE,    ///< each frame is predicted from the frames before it
} frame_protocol;

/// Rollouts to compute: a model with a state takes one end of each video as input and predicts the
/// whole video. Without frames the latents are given and only decoded; with `advance` only their
/// first step is given.
typedef struct model_rollout_job {
    const uint8_t *frames; ///< (count, input_steps, height, width, channels), or NULL
    int64_t count;         ///< videos
    int64_t steps;         ///< steps of each rollout, those before `first_step` included
    int64_t input_steps;   ///< frames per video in `frames`, from the first on; 0: `steps`
    bool backward;         ///< the last frames are the input, not the first
    bool advance;          ///< without frames: compute the latents after step 0
    int threads;           ///< at least 1; does not affect the result
    /// (count, output_steps, latents): q first, then p. output_steps is steps - first_step with
    /// frames and steps without.
    float *latent;
    float *momenta;    ///< (count, output_steps, latents / 2), if the model has them; may be NULL
    float *variance;   ///< (count, latents) of the posterior; may be NULL
    float *prediction; ///< (count, output_steps, height, width, channels); may be NULL
    /// (count, output_steps, objects, 2): places in pixels, x before y, if the model has them and
    /// there are frames; may be NULL.
    float *tracks;
} model_rollout_job;

/// A model whose latents are a state in a phase space.
typedef struct model_dynamics {
    int64_t latents;         ///< dimension of a state, q and p together
    int64_t window;          ///< input frames
    int64_t targets;         ///< frames to predict in training
    frame_protocol protocol; ///< which frames the targets are
    int64_t first_step;      ///< first frame of a video that it can predict
    int64_t inferred_step;   ///< step whose state is inferred, counted from first_step
    bool forward_only;       ///< it cannot be run backward in time
    int64_t objects;         ///< whose places in the picture it knows; 0: it knows none
    bool has_momenta;        ///< its latents are (q, velocity), and it can compute momenta
    /// (latents): what each is, below MODEL_NAME_SIZE bytes: "x1", "px1". NULL: they have no names.
    const char *const *latent_names;
    plumb_status (*rollout)(void *context, const model_rollout_job *job);
} model_dynamics;

// ---- models of videos ----

/// Clips to predict frame by frame: every frame from the true frames before it.
typedef struct model_predict_job {
    const uint8_t *frames; ///< (count, steps, height, width, channels)
    const uint8_t *mask;   ///< (count, steps, height, width), object numbers; if `needs_masks`
    int64_t count, steps;  ///< clips, and frames per clip
    int threads;           ///< at least 1; does not affect the result
    double *error;         ///< (count, steps - 1): mean squared error of frames 1, 2, ..
    float *feature;        ///< (count, features); may be NULL
    float *prediction;     ///< (count, steps - 1, height, width, channels); may be NULL
} model_predict_job;

/// A model that predicts the next frame. Clips that begin with the same frames have bit-identical
/// errors for these frames.
typedef struct model_video {
    int64_t features; ///< dimension of the feature vector of a clip
    bool needs_masks; ///< it takes object masks as input
    plumb_status (*predict)(void *context, const model_predict_job *job);
} model_video;

// ---- training ----

typedef struct trainable_model {
    const char *name; ///< "hgn++"

    int64_t tensor_count;
    const model_tensor *tensors;  ///< in the order of their offsets, without a gap
    name_change *renamed_tensors; ///< old names of tensors; may be NULL
    int64_t parameter_count;      ///< floats in `parameters`
    float *parameters;            ///< all of them, one block

    /// The batch is cut into this many shards. A setting, never the number of cores: the sums of
    /// floats depend on it.
    int64_t replicas;

    int64_t term_count;
    const char *const *term_names; ///< loss terms; the first is minimised

    /// Named numbers that training changes and a checkpoint holds.
    int64_t state_count;
    const char *const *state_names;
    double *state;

    /// First step of a second phase of training: each phase has the learning rates of a training of
    /// its length. 0: one phase.
    int64_t second_phase;

    void *context; ///< first argument of all callbacks
    /// Called once before anything else, on the thread that will compute this replica. May be NULL.
    plumb_status (*init_replica)(void *context, int64_t replica);
    /// Computes the gradient of this replica's shard of the batch of `step`, and its share of each
    /// term. Both are scaled so that sums over replicas are those of the batch. Overwrites. Called
    /// on any thread, for several replicas at once, for one replica always on the same thread. A
    /// function of step, parameters and state alone.
    plumb_status (*gradient)(void *context, int64_t replica, int64_t step, float *gradient,
                             double *terms);
    /// Called after the update of `step` with the terms of the batch. May change `state`; may be
    /// NULL.
    plumb_status (*after_step)(void *context, int64_t step, const double *terms);
    /// Adds its parameters under the names and in the layouts of its published PyTorch code, see
    /// exchange.h. NULL: it has none.
    plumb_status (*list_published)(void *context, struct exchange_list *out, arena *mem);
    /// Logs how this model differs from what its published code computes with these weights. May be
    /// NULL.
    void (*note_published)(void *context, const char *file);
    /// Records what a step costs: memory, arithmetic, kernel calls. May be NULL.
    void (*record_cost)(void *context, plumb_record *record);
    /// Frees what is not in the arena that the model was created in. May be NULL.
    void (*destroy)(void *context);

    const model_dynamics *dynamics; ///< NULL: no state in a phase space
    const model_video *video;       ///< NULL: does not predict clips
} trainable_model;

#endif
