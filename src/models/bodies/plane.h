// SPDX-License-Identifier: MIT
// A potential V(x, y) in the plane. A network gives V, its two slopes and its mixed derivative at
// the nodes of a square grid; between the nodes V is bicubic. As with radial.h the grid is the
// model, and its gradients are exact.
#ifndef MODELS_BODIES_PLANE_H
#define MODELS_BODIES_PLANE_H

#include "models/bodies/jets.h"

typedef struct plane_spec {
    double half;      ///< the grid is from -half to half on both axes
    int nodes, width; ///< per axis, and units of a layer
} plane_spec;

typedef struct plane_table {
    plane_spec spec;
    jets_network net;
    double step, inverse; ///< of a node, and one over it
    double *value; ///< (nodes, nodes, 4): V, step dV/dx, step dV/dy, step^2 d2V/dxdy; y is slower
    double *seed;  ///< derivative of the loss by `value`
} plane_table;

/// Value, gradient and second derivatives.
typedef struct plane_jet {
    double v, x, y, xx, xy, yy;
} plane_jet;

jets_shape plane_shape(const plane_spec *spec);
plumb_status plane_alloc(plane_table *out, arena *mem, const plane_spec *spec);
/// Fills the grid from the parameters of the network, and sets the seeds to 0.
void plane_fill(plane_table *table, const float *parameters);
/// Adds the gradient that the seeds stand for. After plane_fill().
void plane_add_gradient(plane_table *table, float *gradient);

/// V and its derivatives at a point. Far beyond the grid the force is constant.
void plane_evaluate(plane_jet *out, const plane_table *table, double x, double y);
/// Adds the derivatives of the loss by dV/dx and dV/dy at a point to the seeds.
void plane_add_seed(plane_table *table, double x, double y, double seed_x, double seed_y);

#endif
