// SPDX-License-Identifier: MIT
// A potential U(r) of a distance. A network gives dU/dx and d2U/dx2 at the nodes of a table, where
// x = r or x = log r; between the nodes the force is a cubic polynomial, beyond them a straight
// line. The table is the model: its force is the exact derivative of its energy, and gradients are
// exact for it. A rollout evaluates only the table, so its cost does not depend on the network.
#ifndef MODELS_BODIES_RADIAL_H
#define MODELS_BODIES_RADIAL_H

#include "models/bodies/jets.h"

typedef enum radial_form {
    RADIAL_LINEAR,  ///< x = r; features r
    RADIAL_INVERSE, ///< x = r; features r and 1 / r
    RADIAL_LOG,     ///< x = log r; features log r and 1 / r^2
} radial_form;

typedef struct radial_spec {
    radial_form form;
    double low, high; ///< distances that the data have
    double cut;       ///< no force beyond; 0: none
    int nodes, width; ///< of the table, and units of a layer
} radial_spec;

typedef struct radial_table {
    radial_spec spec;
    jets_network net;
    double first, step; ///< of x
    double *value;      ///< (nodes): dU/dx
    double *slope;      ///< (nodes): step d2U/dx2
    double *energy;     ///< (nodes): U
    double *value_seed; ///< (nodes): derivative of the loss by `value`
    double *slope_seed;
} radial_table;

jets_shape radial_shape(const radial_spec *spec);
plumb_status radial_alloc(radial_table *out, arena *mem, const radial_spec *spec);

/// Fills the table from the parameters of the network, and sets the seeds to 0.
void radial_fill(radial_table *table, const float *parameters);
/// Adds the gradient that the seeds stand for. After radial_fill().
void radial_add_gradient(radial_table *table, float *gradient);

/// dU/dr and d2U/dr2 at r > 0.
void radial_force(double *force, double *slope, const radial_table *table, double r);
/// Adds `seed`, the derivative of the loss by dU/dr at r, to the seeds of the nodes.
void radial_add_seed(radial_table *table, double r, double seed);
/// U(r), with the constant that the network gives at the first node.
double radial_energy(const radial_table *table, double r);

#endif
