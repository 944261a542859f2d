// SPDX-License-Identifier: MIT
// What is trained, as the trainer sees it: one block of numbers with names, and a function that
// gives a gradient. The trainer knows no graph, and a model knows no loop, file or thread.
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "plumb/array.h"
#include "plumb/forecast.h"

/// A named part of the block of parameters.
typedef struct model_tensor {
    const char *name;
    int rank;
    int64_t shape[8];
    int64_t offset; ///< in floats
} model_tensor;

/// Films to be told by a model that knows states: it watches one end of each and tells all of it.
typedef struct model_rollout_job {
    /// (count, filmed, height, width, channels); NULL: the latents are given, and only drawn.
    const uint8_t *frames;
    int64_t count, steps;
    int64_t filmed; ///< frames of each film that are there, from its first; 0: all
    bool backward;  ///< it watches the last frames, not the first
    int threads;    ///< more than 0; changes no bit
    /// (count, told, latents): q first, then p. Told are `begins` .. steps - 1 of the frames where
    /// there are any, else all steps.
    float *latent;
    float *momenta;    ///< (count, told, latents / 2), of models that have them; may be NULL
    float *variance;   ///< (count, latents), of the posterior; may be NULL
    float *prediction; ///< (count, told, height, width, channels); may be NULL
} model_rollout_job;

/// Clips to be watched by a model of films: it sees all of each and is asked for every frame before
/// it comes.
typedef struct model_predict_job {
    const uint8_t *frames; ///< (count, steps, height, width, channels)
    const uint8_t *mask;   ///< (count, steps, height, width): objects; only where `masks`
    int64_t count, steps;
    int threads;       ///< more than 0; changes no bit
    double *error;     ///< (count, steps - 1): mean squared error of frames 1 ..
    float *feature;    ///< (count, features); may be NULL
    float *prediction; ///< (count, steps - 1, height, width, channels); may be NULL
} model_predict_job;

typedef struct trainable_model {
    const char *model; ///< "hgn++"
    int64_t tensors;
    const model_tensor *tensor; ///< in the order of their offsets, without a gap
    int64_t size;
    float *value; ///< all parameters, (size)

    /// The batch is cut into so many shares. A setting, never the number of cores: it is part of
    /// what the bits are.
    int64_t replicas;

    int64_t terms;
    const char *const *term; ///< names of loss terms; the first is what is minimised

    /// Named numbers that change in training and belong into a checkpoint.
    int64_t states;
    const char *const *state_name;
    double *state;

    void *self;
    /// Once before anything else, on the thread that will compute this replica. May be NULL.
    plumb_status (*enter)(void *self, int64_t replica);
    /// The gradient of this replica's share of the batch of `step`, and its share of each term,
    /// scaled so that sums over replicas are those of the batch. Overwrites. Called on any thread,
    /// for several replicas at once, for one replica always on the same thread.
    /// A function of step, value and state alone.
    plumb_status (*gradient)(void *self, int64_t replica, int64_t step, float *gradient,
                             double *terms);
    /// After the update of `step`; `terms` are those of the batch. May change `state`; may be NULL.
    plumb_status (*after)(void *self, int64_t step, const double *terms);
    /// Models of states in a phase space, else NULL: how many numbers a state has, which frames it
    /// was trained to predict, and what it tells of films.
    int64_t latents;
    int64_t window, targets;
    plumb_forecast_protocol frames;
    int64_t begins; ///< the first frame of a film that it can tell of
    bool one_way;   ///< it cannot be run into the past
    bool momenta;   ///< its latents are (q, velocity), and it knows its own momenta
    plumb_status (*play)(void *self, const model_rollout_job *job);
    /// Models of films, else NULL: how many numbers tell of a clip, and whether it must be shown
    /// which pixels belong to which object. Clips that begin alike have the same errors, bit by
    /// bit, as long as they do.
    int64_t features;
    bool masks;
    plumb_status (*watch)(void *self, const model_predict_job *job);
    /// What a step costs, into the record: memory, arithmetic, calls. May be NULL.
    void (*plan)(void *self, plumb_record *record);
    /// Ends what is not in the arena the model was made in. May be NULL.
    void (*end)(void *self);
} trainable_model;

#endif
