// SPDX-License-Identifier: MIT
// The Adam optimiser over one flat block of parameters [Kingma15], clipping by the gradient's norm,
// and learning rates as a function of the step.
//
// Each element is computed on its own, with the same roundings in every instruction set. So a block
// may be cut into slices anywhere without changing a bit.
#ifndef ENGINE_ADAM_H
#define ENGINE_ADAM_H

#include <stdbool.h>
#include <stdint.h>

/// Constants of the optimiser. HGN and HGN++ [Higgins21] use 0.9, 0.999 and 1e-8.
typedef struct adam_options {
    double beta1;   ///< Decay of the mean of gradients, 0 to 1.
    double beta2;   ///< Decay of the mean of squared gradients, 0 to 1.
    double epsilon; ///< Added to the square root, not under it.
} adam_options;

/// What all elements of one update share.
typedef struct adam_update {
    const adam_options *options;
    double rate;  ///< Learning rate.
    double scale; ///< Factor of the gradient, from adam_clip_factor(); 1 for none.
    int64_t time; ///< Number of the update, from 1.
} adam_update;

/// One step [Kingma15, Algorithm 1]: value -= rate m^ / (sqrt(v^) + epsilon), where m^ and v^ are
/// the bias-corrected means of gradients and of their squares. m and v (count) start as zeros.
void adam_step(float *restrict value, float *restrict m, float *restrict v,
               const float *restrict gradient, int64_t count, const adam_update *update);

/// The definition: the same in double throughout.
void adam_step_reference(double *restrict value, double *restrict m, double *restrict v,
                         const double *restrict gradient, int64_t count, const adam_update *update);

/// The factor that brings a gradient of this norm to a norm of at most `clip`. clip = 0: no limit.
double adam_clip_factor(double norm, double clip);

typedef enum adam_decay { ADAM_CONSTANT, ADAM_COSINE } adam_decay;

/// The learning rate rises linearly from rate / warmup to the rate, stays there until `hold` of all
/// steps have passed, and then falls along half a cosine to `last` times the rate.
typedef struct adam_schedule {
    double rate;      ///< The largest learning rate.
    int64_t steps;    ///< All steps of the training.
    int64_t warmup;   ///< Steps of the linear rise; 0 for none.
    adam_decay decay; ///< ADAM_CONSTANT: the rate stays after the rise.
    double hold;      ///< Share of the steps before the fall, 0 to 1.
    double last;      ///< Share of the rate at the end, 0 to 1.
} adam_schedule;

/// The learning rate of step 0 .. steps - 1. Later steps have that of the end.
double adam_schedule_rate(const adam_schedule *schedule, int64_t step);

/// For tests: chooses "portable", "avx2" or "avx512"; false if this processor does not have it.
bool adam_select(const char *set);

#endif
