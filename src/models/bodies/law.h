// SPDX-License-Identifier: MIT
// The parameters of the model `bodies`: their places in the block, and the sprites and the
// Hamiltonian that they make.
#ifndef MODELS_BODIES_LAW_H
#define MODELS_BODIES_LAW_H

#include "models/bodies/perception.h"
#include "models/bodies/settings.h"
#include "models/params.h"

/// Offsets in the block of parameters, in floats; -1: the model has none.
typedef struct bodies_layout {
    int64_t background, direction, contrast, colour, radius, edge; ///< not trained
    int64_t colour_of;             ///< (objects), if objects share colours; not trained
    int64_t profile, profile_step; ///< (objects, PROFILE_NODES), if it is learnt; not trained
    int64_t range;                 ///< (2) distances that the data have; not trained
    int64_t half;                  ///< half the side of the grids of fields; not trained
    int64_t still;     ///< (objects, 2) 1 for coordinates that never change; not trained
    int64_t mean_size; ///< geometric mean of radii; not trained
    int64_t row_mean, row_deviation; ///< (row_size) of the constants; not trained by gradients
    int64_t log_mass;                ///< (objects); the first stays 0
    int64_t mass_law;                ///< (2): log m = a x + b x^2, x = log(radius / mean)
    int64_t log_spring;              ///< logarithm of the stiffness
    int64_t gravity;                 ///< (objects, 2)
    int64_t rows;                    ///< (rows, row_size)
    int64_t pair, field[CHAIN_MAX];  ///< networks
} bodies_layout;

/// Adds all parameters. Fails with PLUMB_EMEMORY.
plumb_status bodies_layout_build(bodies_layout *out, params *all, const bodies_config *config,
                                 const video_set *frames);

/// Sprites and colours from the parameters, and back.
void bodies_load_perception(perception *out, const bodies_layout *layout,
                            const bodies_config *config, const float *parameters,
                            const video_set *frames);
void bodies_store_perception(float *parameters, const bodies_layout *layout,
                             const perception *seen);

/// The Hamiltonian and its tables.
typedef struct bodies_law {
    const bodies_config *config;
    const bodies_layout *layout;
    points_law points;
    chain_law chain;
    radial_table pair;
    plane_table field[CHAIN_MAX];
    int fields;
} bodies_law;

/// Allocates the tables. The range of distances must be among the parameters.
plumb_status bodies_law_alloc(bodies_law *out, arena *mem, const bodies_config *config,
                              const bodies_layout *layout, const float *parameters);
void bodies_law_fill(bodies_law *law, const float *parameters);
/// Adds the gradient of the networks.
void bodies_law_add_gradient(bodies_law *law, float *gradient);
/// Mean square of the force of the fields at the nodes of their grids. Adds `weight` times its
/// gradient to their seeds.
double bodies_law_add_penalty(bodies_law *law, double weight);

/// The constants of one trajectory, for points or for a chain.
typedef struct bodies_constants {
    points_constants points;
    chain_constants chain;
} bodies_constants;

/// From a row of constants (row_size) and the radii of the objects (objects).
void bodies_find_constants(bodies_constants *out, const bodies_law *law, const float *parameters,
                           const double *row, const double *radius);

/// A row of the table of constants.
void bodies_read_row(double *row, const bodies_law *law, const float *parameters, int64_t index);

#endif
