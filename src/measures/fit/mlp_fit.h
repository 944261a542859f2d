// SPDX-License-Identifier: MIT
// The map F from latents to truth as a small network on the engine: layers of tanh units, then a
// linear one, fitted by Adam.
//
// The parameters are one block: w0, b0, w1, b1, .., each w (in, out) in row order. Data are
// columns, one per coordinate, so that the long side of every product is contiguous.
#ifndef MEASURES_FIT_MLP_FIT_H
#define MEASURES_FIT_MLP_FIT_H

#include "base/arena.h"
#include "engine/adam.h"
#include "engine/program.h"

enum { MLP_MAX_LAYERS = 16 };

typedef struct mlp_fit_shape {
    int64_t inputs, outputs;
    int64_t width; // of every layer but the last
    int layers;    // the linear one included
} mlp_fit_shape;

int64_t mlp_fit_parameters(const mlp_fit_shape *s);

/// First values: weights normal, cut at two deviations, over the root of the inputs; biases zero.
void mlp_fit_init(double *value, const mlp_fit_shape *s, uint64_t seed, uint64_t stream);

typedef struct mlp_fit_training {
    mlp_fit_shape shape;
    const double *x, *y; // (inputs, stride), (outputs, stride)
    int64_t rows, stride;
    int64_t batch; // rows per update; update t takes those from t * batch on, cyclically
    adam_schedule rate;
    double ridge; // times the sum of squared weights, biases left out, added to the mean square
    double l1;    // times the sum of absolute weights, biases left out, added to the mean square
    program_form form;     // float, or double throughout
    double *loss;          // (updates) before each update, or NULL
    _Atomic int64_t *done; // updates done, of `all` on several threads; NULL: not counted
    int64_t all;
    bool reports; // this thread reports progress
} mlp_fit_training;

/// Trains in place: `value` (parameters) has the first weights, then the last. Fails with
/// PLUMB_ENUMERIC if the loss is not finite, PLUMB_ESTOPPED on request.
plumb_status mlp_fit_train(double *value, const mlp_fit_training *t);

/// y (outputs, stride) = F(x), x (inputs, stride), in double.
plumb_status mlp_fit_apply(double *y, const mlp_fit_shape *s, const double *value, const double *x,
                           int64_t rows, int64_t stride);

/// j (points, outputs, inputs) of F at x (inputs, points), in double: the gradient of each output.
plumb_status mlp_fit_jacobians(double *j, const mlp_fit_shape *s, const double *value,
                               const double *x, int64_t points);

#endif
