// SPDX-License-Identifier: MIT
// A font of strokes for drawings in pixels, so that no font file is needed.
#ifndef PLOT_STROKE_FONT_H
#define PLOT_STROKE_FONT_H

/// Pixels per unit of the font for a line of text of `size` pixels. Capitals are six units high.
#define STROKE_FONT_SCALE(size) ((size)*0.122)

/// Returns the outline of a letter: "M x y", "L x y" and "Q cx cy x y" commands, y up from the base
/// line. `*width` is its width without the gap to the next letter.
const char *stroke_font_find(double *width, char letter);

/// Gap between letters and width of a space, in units of the font.
#define STROKE_FONT_GAP 1.35
#define STROKE_FONT_SPACE 2.0

/// Width of a text in pixels.
double stroke_font_width(const char *text, double size);

#endif
