// SPDX-License-Identifier: MIT
// The state of a video from the places in its input frames: a polynomial over a window, then, where
// asked for, Levenberg-Marquardt on all input frames. Constants of the video are found along with
// the state, from several starts and with a prior of those that were learnt.
#ifndef MODELS_BODIES_INFER_H
#define MODELS_BODIES_INFER_H

#include "models/bodies/clip.h"

typedef struct infer_input {
    const double *xy;     ///< (frames, objects, 2) in units of length
    int64_t frames;       ///< input frames
    const double *radius; ///< (objects) in pixels
    bool backward;        ///< the state is that near the end of the input, not near its start
} infer_input;

typedef struct infer_result {
    int64_t at; ///< frame of the state
    double q[2 * POINTS_MAX], p[2 * POINTS_MAX];
    double row[BODIES_MAX_CONSTANTS];
    bodies_constants constants;
} infer_result;

/// Frame whose state is inferred.
int64_t infer_frame(const bodies_config *config, int64_t frames, bool backward);

/// Values of q, which are those of p: two per point, one per link.
int infer_state_size(const bodies_config *config);

plumb_status infer_state(infer_result *out, const bodies_law *law, const window_weights *weights,
                         const float *parameters, const infer_input *input);

/// Rolls out `frames` frames from a state: q_out and p_out (frames, state size).
void infer_roll(double *q_out, double *p_out, const bodies_law *law,
                const bodies_constants *constants, const double *q, const double *p,
                int64_t frames_signed);
/// Places (objects, 2) in units of length.
void infer_places(double *xy, const bodies_law *law, const bodies_constants *constants,
                  const double *q);

#endif
