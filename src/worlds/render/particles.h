// SPDX-License-Identifier: MIT
// Round particles with soft edges on a square canvas, as the published sets draw them.
#ifndef WORLDS_RENDER_PARTICLES_H
#define WORLDS_RENDER_PARTICLES_H

#include <stdint.h>

enum { PARTICLES_MAX = 64 };

/// A picture but for the places of its particles. Lengths are in units of the canvas' side.
typedef struct particles {
    int64_t size; ///< height and width in pixels
    int count;
    double low, side; ///< the canvas in the world: [low, low + side]^2
    double sharpness; ///< of the edge: coverage 1 / (1 + exp(sharpness (d - radius)))
    double shift[2];  ///< in the world, added to every place
    double radius[PARTICLES_MAX];
    double color[PARTICLES_MAX][3];
    double reach; ///< beyond radius + reach a particle is left out, which changes no byte
    double doubt; ///< how far 255 v may be off: nearer to an integer, the judge is asked
} particles;

/// A picture of `count` particles (1 to PARTICLES_MAX); radii and colours are still to be set.
particles particles_make(int64_t size, int count, double low, double high, double sharpness);

/// Colour `index` of `count`: hue index / count, full saturation and value.
void particles_color(double rgb[3], int64_t index, int64_t count);

/// The picture of particles at xy (count, 2), world coordinates: (size, size, 3). Row 0 is the
/// bottom. Bytes are those of particles_draw_ref.
void particles_draw(uint8_t *frame, const particles *p, const double *xy);

/// The definition: every particle at every pixel in double, and the judge of particles_draw.
void particles_draw_ref(uint8_t *frame, const particles *p, const double *xy);
/// One pixel of it before it becomes a byte.
void particles_pixel_ref(double rgb[3], const particles *p, const double *xy, int64_t row,
                         int64_t column);

/// For tests: uses "avx2" or "portable" loops; zero if this processor does not have them.
int particles_select(const char *set);

#endif
