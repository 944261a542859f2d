// SPDX-License-Identifier: MIT
// A run opened to be looked at: its model with its weights, and films it has never seen.
#ifndef EVALUATE_TRAINED_MODEL_H
#define EVALUATE_TRAINED_MODEL_H

#include "models/model.h"
#include "plumb/evaluate.h"
#include "train/run_config.h"

typedef struct examinee {
    arena mem;
    recipe recipe;
    trainee t;
    bool created;
    int64_t trained; ///< updates
    footage shape;   ///< of the frames it was trained on; no frames
} examinee;

/// A run of any model.
plumb_status examinee_load(examinee *e, const char *run);
/// One that has a phase space.
plumb_status examinee_open(examinee *e, const char *run, const plumb_evaluate_options *opt);
void examinee_close(examinee *e);

/// Films and the true states behind them. `state` and `canonical` are (count, steps, ..), in `mem`.
typedef struct films {
    footage film;
    double *state, *canonical;
    int64_t states, canonicals; ///< numbers a frame
} films;

/// Which films: those of the forecast, or those of the phase-space measures. They never meet, nor
/// those of training.
typedef enum films_use { FILMS_FORECAST, FILMS_MEASURE } films_use;
plumb_status films_get(films *out, examinee *e, const plumb_evaluate_options *opt, films_use use,
                       int64_t count, int64_t steps);

/// Many trajectories of FILMS_MEASURE of which only what the model watches is filmed:
/// `film` has its window of frames, `state` has `steps`, `canonical` is NULL. From a file all that
/// it has, `steps` frames of each.
plumb_status films_watched(films *out, examinee *e, const plumb_evaluate_options *opt,
                           int64_t count, int64_t steps);

#endif
