// SPDX-License-Identifier: MIT
// Looks of bodies. Rules and numbers as in the published generator [Botev21].
#include "worlds/render/particle_style.h"

#include <math.h>

static const double pi = 0x1.921fb54442d18p+1;

// The published edge: 10 to 90 % in 0.055 of the canvas.
static const double sharpness = 80.0;

static int64_t colors_of(const particle_style *style, plumb_world_colors rule)
{
    if (rule != PLUMB_WORLD_COLORS_SIX) return style->colors;
    return 6;
}

void particle_style_sample(double *offset, double *color_index, const particle_style *style, rng *r,
                           plumb_world_colors rule)
{
    // Drawn whether used or not, so that a colour rule moves no drawing.
    const double along = rng_uniform(r), spread = 0.4 * style->half;
    const double e1 = world_uniform(r, -spread, spread), e2 = world_uniform(r, -spread, spread);
    offset[0] = offset[1] = 0.0;
    if (style->jitter == BODIES_DIAGONAL) {
        offset[0] = along + e1;
        offset[1] = e1;
    } else if (style->jitter == BODIES_FREE) {
        offset[0] = e1;
        offset[1] = e2;
    }

    int64_t order[2] = {0, 1};
    if (rule != PLUMB_WORLD_COLORS_FIXED)
        rng_distinct(order, r, style->count, colors_of(style, rule));
    for (int k = 0; k < style->count; k++) color_index[k] = (double)order[k];
}

void particle_style_picture(particles *p, const particle_style *style, const double *mass,
                            const double *offset, const double *color_index, const world_plan *plan)
{
    const double half = style->jitter == BODIES_STILL ? style->half : 1.4 * style->half;
    *p = particles_make(plan->image, style->count, -half, half, sharpness);
    p->shift[0] = offset[0];
    p->shift[1] = offset[1];
    const int64_t colors = colors_of(style, plan->colors);
    for (int k = 0; k < style->count; k++) {
        p->radius[k] = sqrt(mass[k] / pi) / (2.0 * half);
        // Any finite number is a hue; out of its range it goes round the circle.
        const double index = fmod(floor(color_index[k]), (double)colors);
        particles_color(p->color[k], (int64_t)(index < 0.0 ? index + (double)colors : index),
                        colors);
    }
}
