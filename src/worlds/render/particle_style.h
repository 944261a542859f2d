// SPDX-License-Identifier: MIT
// What the worlds of one or two bodies share in their looks: offsets, colours, the canvas.
#ifndef WORLDS_RENDER_PARTICLE_STYLE_H
#define WORLDS_RENDER_PARTICLE_STYLE_H

#include "worlds/render/particles.h"
#include "worlds/world.h"

/// How a world of bodies is drawn.
typedef struct particle_style {
    int count;      ///< bodies
    int64_t colors; ///< to choose from
    double half;    ///< half the side of the canvas, before it is enlarged
    enum { BODIES_STILL, BODIES_DIAGONAL, BODIES_FREE } jitter; ///< of the whole drawing
} particle_style;

/// Draws offset (2) and colour numbers (count) of one trajectory.
void particle_style_sample(double *offset, double *color_index, const particle_style *style, rng *r,
                           plumb_world_colors rule);

/// A picture with these parameters of the trajectory; radii are sqrt(mass / pi).
void particle_style_picture(particles *p, const particle_style *style, const double *mass,
                            const double *offset, const double *color_index,
                            const world_plan *plan);

#endif
