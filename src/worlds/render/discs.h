// SPDX-License-Identifier: MIT
// Renders discs with soft edges on a square canvas, as in the DeepMind Hamiltonian suite [Botev21].
#ifndef WORLDS_RENDER_DISCS_H
#define WORLDS_RENDER_DISCS_H

#include <stdbool.h>
#include <stdint.h>

enum { DISCS_MAX = 64 };

/// How the cover falls off from the centre; see plumb_world_profile.
typedef enum disc_profile { DISC_FULL, DISC_RING, DISC_BLOB } disc_profile;

/// Everything about an image except the positions of its discs. Radii and distances are fractions
/// of the side of the canvas.
typedef struct disc_style {
    int64_t size;               ///< Height and width in pixels.
    int count;                  ///< Number of discs, 1 to DISCS_MAX.
    double low, side;           ///< The canvas in world coordinates: [low, low + side]^2.
    double sharpness;           ///< Coverage is 1 / (1 + exp(sharpness (distance - radius))).
    double shift[2];            ///< Added to every position, in world coordinates.
    double radius[DISCS_MAX];   ///< In units of the side of the canvas.
    double color[DISCS_MAX][3]; ///< Red, green, blue, 0 to 1.
    bool textured;              ///< The background is a texture.
    disc_profile profile;
    double reach; ///< A disc is skipped beyond radius + reach; no byte changes.
    double doubt; ///< Largest error of 255 v. Pixels nearer to an integer than this
                  ///< are computed by the reference implementation.
} disc_style;

/// Makes a style for `count` discs. The caller sets radii and colours.
disc_style discs_make_style(int64_t size, int count, double low, double high, double sharpness);

/// Colour `index` of `count`: hue index / count, full saturation and value.
void discs_color(double rgb[3], int64_t index, int64_t count);

/// Renders discs at xy (count, 2), in world coordinates, into frame (size, size, 3). Row 0 is the
/// bottom. The bytes are those of discs_draw_reference().
void discs_draw(uint8_t *frame, const disc_style *style, const double *xy);

/// Reference implementation: every disc at every pixel, in double.
void discs_draw_reference(uint8_t *frame, const disc_style *style, const double *xy);
/// One pixel of it before it is rounded to bytes.
void discs_pixel_reference(double rgb[3], const disc_style *style, const double *xy, int64_t row,
                           int64_t column);

/// Selects "avx2" or "portable" loops, for tests. Returns 0 if the processor lacks them.
int discs_select(const char *set);

#endif
