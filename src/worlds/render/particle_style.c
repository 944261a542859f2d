// SPDX-License-Identifier: MIT
// Appearance of bodies. Rules and numbers are those of the generator of [Botev21].
#include "worlds/render/particle_style.h"

#include <math.h>

static const double pi = 0x1.921fb54442d18p+1;

// Edge as in [Botev21]: coverage rises from 10 to 90 % over 0.055 of the canvas.
static const double sharpness = 80.0;

static int64_t get_color_count(const particle_style *style, plumb_world_colors rule)
{
    if (rule != PLUMB_WORLD_COLORS_SIX) return style->colors;
    return 6;
}

void particle_style_sample(double *offset, double *color_index, const particle_style *style,
                           rng *random, plumb_world_colors rule)
{
    // All numbers are drawn whether used or not, so that a colour rule does not move the drawing.
    const double along = rng_uniform(random), spread = 0.4 * style->half_side;
    const double e1 = world_uniform(random, -spread, spread),
                 e2 = world_uniform(random, -spread, spread);
    offset[0] = offset[1] = 0.0;
    if (style->jitter == PARTICLE_JITTER_DIAGONAL) {
        offset[0] = along + e1;
        offset[1] = e1;
    } else if (style->jitter == PARTICLE_JITTER_FREE) {
        offset[0] = e1;
        offset[1] = e2;
    }

    int64_t order[2] = {0, 1};
    if (rule != PLUMB_WORLD_COLORS_FIXED)
        rng_distinct(order, random, style->count, get_color_count(style, rule));
    for (int k = 0; k < style->count; k++) color_index[k] = (double)order[k];
}

void particle_style_make_discs(disc_style *discs, const particle_style *style, const double *mass,
                               const double *offset, const double *color_index,
                               const world_plan *plan)
{
    const double half =
        style->jitter == PARTICLE_JITTER_NONE ? style->half_side : 1.4 * style->half_side;
    *discs = discs_make_style(plan->image, style->count, -half, half, sharpness);
    discs->textured = plan->background == PLUMB_WORLD_BACKGROUND_TEXTURE;
    discs->profile = (disc_profile)plan->profile;
    discs->shift[0] = offset[0];
    discs->shift[1] = offset[1];
    const int64_t colors = get_color_count(style, plan->colors);
    for (int k = 0; k < style->count; k++) {
        discs->radius[k] = sqrt(mass[k] / pi) / (2.0 * half);
        // Any finite number is a colour index; it wraps around.
        const double index = fmod(floor(color_index[k]), (double)colors);
        discs_color(discs->color[k], (int64_t)(index < 0.0 ? index + (double)colors : index),
                    colors);
        for (int c = 0; c < 3 && plan->colors == PLUMB_WORLD_COLORS_WHITE; c++)
            discs->color[k][c] = 1.0;
    }
}
