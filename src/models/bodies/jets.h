// SPDX-License-Identifier: MIT
// A small network of one scalar output, U(f) with two hidden layers of swish, together with its
// derivatives along two directions a and b: U, dU/da, dU/db and d2U/dadb. Forces are first
// derivatives of a potential and training differentiates them again; with these four numbers at the
// nodes of a table nothing else of the network is needed.
#ifndef MODELS_BODIES_JETS_H
#define MODELS_BODIES_JETS_H

#include <stdint.h>

#include "base/arena.h"
#include "plumb/status.h"

/// A value and its derivatives: by nothing, a, b, and a and b.
enum { JET_VALUE, JET_A, JET_B, JET_AB, JET_PARTS };

/// Sizes. Widths are multiples of 8.
typedef struct jets_shape {
    int features, width;
} jets_shape;

/// Floats of the parameters: w0 (features, width), b0 (width), w1 (width, width), b1 (width), w2
/// (width). U has no constant: it changes no force.
int64_t jets_parameter_count(const jets_shape *shape);

typedef struct jets_network {
    jets_shape shape;
    int64_t points;            ///< where it is evaluated
    double *features;          ///< (points, JET_PARTS, features): input
    double *output;            ///< (points, JET_PARTS)
    double *output_seed;       ///< (points, JET_PARTS): derivative of the loss by the output
    double *weights;           ///< parameters in double
    double *transposed;        ///< w1 transposed
    double *sum;               ///< parameters: gradient in double
    double *z0, *y0, *z1, *y1; ///< (points, JET_PARTS, width): before and after the activations
    double *g0, *g1;           ///< (points, width): slopes of the activations
    double *seed;              ///< (2, JET_PARTS, width)
} jets_network;

/// Allocates everything; the caller fills `features`.
plumb_status jets_alloc(jets_network *out, arena *mem, const jets_shape *shape, int64_t points);

/// Computes `output` from the parameters.
void jets_run(jets_network *net, const float *parameters);

/// Adds the gradient of sum(output_seed * output) by the parameters to `gradient`. After
/// jets_run().
void jets_add_gradient(jets_network *net, float *gradient);

/// The definition: the output of one point in plain loops. features (JET_PARTS, shape.features).
void jets_reference(double output[JET_PARTS], const jets_shape *shape, const float *parameters,
                    const double *features);

/// For tests: chooses "portable" or "avx2"; false if this processor does not have it.
bool jets_select(const char *set);

#endif
