// SPDX-License-Identifier: MIT
// Letters as strokes, for pictures in pixels: a light hand of our own, so that no font is needed.
#ifndef PLOT_STROKE_FONT_H
#define PLOT_STROKE_FONT_H

/// Six units are the height of a capital; a line of text of `size` pixels has units of this many.
#define STROKE_FONT_UNIT(size) ((size)*0.122)

/// The outline of a letter: "M x y", "L x y" and "Q cx cy x y", y up from the base line. `*width`
/// is how far it reaches, without the gap to the next.
const char *stroke_font_find(double *width, char letter);

/// Between letters, and the width of a space, in units.
#define STROKE_FONT_GAP 1.35
#define STROKE_FONT_SPACE 2.0

/// How wide a text is, in pixels.
double stroke_font_width(const char *text, double size);

#endif
