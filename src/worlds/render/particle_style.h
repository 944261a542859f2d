// SPDX-License-Identifier: MIT
// Appearance of the worlds with one or two bodies: offset of the drawing, colours, canvas.
#ifndef WORLDS_RENDER_PARTICLE_STYLE_H
#define WORLDS_RENDER_PARTICLE_STYLE_H

#include "worlds/render/discs.h"
#include "worlds/world.h"

/// How the drawing as a whole is moved from trajectory to trajectory.
typedef enum particle_jitter {
    PARTICLE_JITTER_NONE,
    PARTICLE_JITTER_DIAGONAL, ///< By one random number along the diagonal and one along x.
    PARTICLE_JITTER_FREE,     ///< By two independent random numbers.
} particle_jitter;

/// Rules of a world for its appearance.
typedef struct particle_style {
    int count;        ///< Number of bodies, 1 or 2.
    int64_t colors;   ///< Number of colours to choose from.
    double half_side; ///< Half the side of the canvas in world units; jitter enlarges it by 1.4.
    particle_jitter jitter;
} particle_style;

/// Samples offset (2) and colour indices (count) of one trajectory.
void particle_style_sample(double *offset, double *color_index, const particle_style *style,
                           rng *random, plumb_world_colors rule);

/// Makes the disc style of a trajectory with these parameters. Radii are sqrt(mass / pi).
void particle_style_make_discs(disc_style *discs, const particle_style *style, const double *mass,
                               const double *offset, const double *color_index,
                               const world_plan *plan);

#endif
