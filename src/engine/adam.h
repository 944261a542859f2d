// SPDX-License-Identifier: MIT
// Adam over one flat block of parameters [Kingma15], the norm of a gradient, and learning rates
// that are a function of the step alone.
//
// Every element is computed by itself, with the same roundings in every instruction set, so a block
// may be cut into slices anywhere and the bits stay the same.
#ifndef ENGINE_ADAM_H
#define ENGINE_ADAM_H

#include <stdbool.h>
#include <stdint.h>

/// The constants. Published HGN and HGN++: rate 1.5e-4, 0.9, 0.999, 1e-8.
typedef struct adam {
    double beta1, beta2;
    double epsilon; ///< added to the root, not under it
} adam;

/// value -= rate m^ / (sqrt(v^) + epsilon) [Kingma15, Algorithm 1]. The gradient is scaled by
/// `scale` first (clipping). `time` counts updates from 1; m and v start as zeros.
void adam_step(float *restrict value, float *restrict m, float *restrict v,
               const float *restrict gradient, int64_t count, const adam *a, double rate,
               double scale, int64_t time);

/// The judge, in double throughout.
void adam_step_reference(double *restrict value, double *restrict m, double *restrict v,
                         const double *restrict gradient, int64_t count, const adam *a, double rate,
                         double scale, int64_t time);

/// sum += other, elementwise.
void adam_add(float *restrict sum, const float *restrict other, int64_t count);

/// The sum of squares in double, in eight lanes that are added in one order. Of a block it is to be
/// taken in parts of ADAM_PART elements, the last one shorter, and these added in order: then the
/// number of threads changes no bit. Not finite if and only if an element is not.
enum { ADAM_PART = 4096 };
double adam_squares(const float *x, int64_t count);

/// By what a gradient of this norm is multiplied so that its norm is at most `clip`; 0: no clip.
double adam_clip_factor(double norm, double clip);

typedef enum adam_decay { ADAM_CONSTANT, ADAM_COSINE } adam_decay;

/// Warm-up: linear from rate / warmup to the rate. Then the rate is held until `hold` of all steps
/// have passed, and falls along half a cosine to `last` of itself at the end.
typedef struct adam_schedule {
    double rate;
    int64_t steps; ///< all
    int64_t warmup;
    adam_decay decay;
    double hold; ///< 0 to 1
    double last; ///< 0 to 1
} adam_schedule;

/// The rate of step 0 .. steps - 1; beyond them that of the end.
double adam_schedule_rate(const adam_schedule *s, int64_t step);

/// For tests: "portable", "avx2" or "avx512"; false if this processor does not have it.
bool adam_select(const char *set);

#endif
