// SPDX-License-Identifier: MIT
// Outlines of the printable ASCII characters, drawn for plumb.
#include "plot/stroke_font.h"

#include <stddef.h>

// A path of M (move), L (line) and Q (quadratic curve) in font units, y upwards from the baseline.
// Capitals are 6 high, small letters 4.
typedef struct glyph {
    char letter;
    float width;
    const char *path;
} glyph;

// Shapes that several letters share.
#define BOWL "M4 2Q4 4 2 4Q0 4 0 2Q0 0 2 0Q4 0 4 2"
#define RING "M5 3Q5 6 2.5 6Q0 6 0 3Q0 0 2.5 0Q5 0 5 3"

// clang-format off
static const glyph glyph_table[] = {
    {'0', 3.8F, "M3.8 3Q3.8 6 1.9 6Q0 6 0 3Q0 0 1.9 0Q3.8 0 3.8 3"},
    {'1', 2.6F, "M0.4 4.7L2 6L2 0"},
    {'2', 3.8F, "M0.1 4.6Q0.2 6 1.9 6Q3.7 6 3.7 4.4Q3.7 3.2 2.2 2.1L0 0L3.8 0"},
    {'3', 3.8F, "M0.1 5Q0.6 6 1.8 6Q3.5 6 3.5 4.6Q3.5 3.2 1.4 3.2Q3.8 3.2 3.8 1.6Q3.8 0 1.8 0Q0.4 0 0 1.1"},
    {'4', 3.9F, "M2.9 0L2.9 6L0 1.7L3.9 1.7"},
    {'5', 3.8F, "M3.4 6L0.6 6L0.3 3.3Q1 3.8 1.9 3.8Q3.8 3.8 3.8 1.9Q3.8 0 1.8 0Q0.5 0 0 0.9"},
    {'6', 3.8F, "M3.4 5.3Q2.9 6 2 6Q0 6 0 2.4Q0 0 1.9 0Q3.8 0 3.8 1.85Q3.8 3.7 2 3.7Q0.3 3.7 0 2"},
    {'7', 3.8F, "M0 6L3.8 6L1.3 0"},
    {'8', 3.8F, "M1.9 3.2Q0.3 3.2 0.3 4.6Q0.3 6 1.9 6Q3.5 6 3.5 4.6Q3.5 3.2 1.9 3.2Q0 3.2 0 1.6Q0 0 1.9 0Q3.8 0 3.8 1.6Q3.8 3.2 1.9 3.2"},
    {'9', 3.8F, "M0.4 0.7Q0.9 0 1.8 0Q3.8 0 3.8 3.6Q3.8 6 1.9 6Q0 6 0 4.15Q0 2.3 1.8 2.3Q3.5 2.3 3.8 4"},
    {'a', 4.0F, BOWL "M4 4L4 0"},
    {'b', 4.0F, BOWL "M0 6L0 0"},
    {'c', 3.6F, "M3.6 3.2Q3 4 2 4Q0 4 0 2Q0 0 2 0Q3 0 3.6 0.8"},
    {'d', 4.0F, BOWL "M4 6L4 0"},
    {'e', 4.0F, "M0 2.05L4 2.05Q4 4 2 4Q0 4 0 2Q0 0 2 0Q3.2 0 3.8 0.9"},
    {'f', 2.6F, "M2.6 5.95Q1 6.2 1 4.8L1 0M0 4L2.4 4"},
    {'g', 4.0F, BOWL "M4 4L4 0Q4 -2 2 -2Q0.8 -2 0.3 -1.4"},
    {'h', 4.0F, "M0 6L0 0M0 2.2Q0.2 4 2.1 4Q4 4 4 2.2L4 0"},
    {'i', 0.4F, "M0.2 4L0.2 0M0.2 5.6L0.2 5.65"},
    {'j', 1.2F, "M1 4L1 -1Q1 -2 0 -2M1 5.6L1 5.65"},
    {'k', 3.6F, "M0 6L0 0M3.4 4L0 1.4M1.3 2.4L3.6 0"},
    {'l', 0.4F, "M0.2 6L0.2 0"},
    {'m', 6.4F, "M0 4L0 0M0 2.2Q0.2 4 1.7 4Q3.2 4 3.2 2.2L3.2 0M3.2 2.2Q3.4 4 4.9 4Q6.4 4 6.4 2.2L6.4 0"},
    {'n', 4.0F, "M0 4L0 0M0 2.2Q0.2 4 2.1 4Q4 4 4 2.2L4 0"},
    {'o', 4.0F, BOWL},
    {'p', 4.0F, BOWL "M0 4L0 -2"},
    {'q', 4.0F, BOWL "M4 4L4 -2"},
    {'r', 2.2F, "M0 4L0 0M0 2.2Q0.2 4 2.2 4"},
    {'s', 3.3F, "M3.1 3.3Q2.7 4 1.7 4Q0.2 4 0.2 3Q0.2 2.2 1.7 2Q3.3 1.8 3.3 1Q3.3 0 1.7 0Q0.5 0 0 0.8"},
    {'t', 2.4F, "M1 5.4L1 1.2Q1 0 2.4 0.1M0 4L2.4 4"},
    {'u', 4.0F, "M0 4L0 1.8Q0 0 1.9 0Q3.8 0 4 1.8M4 4L4 0"},
    {'v', 3.6F, "M0 4L1.8 0L3.6 4"},
    {'w', 5.6F, "M0 4L1.4 0L2.8 4L4.2 0L5.6 4"},
    {'x', 3.4F, "M0 4L3.4 0M3.4 4L0 0"},
    {'y', 3.7F, "M0 4L1.9 0M3.7 4L1.6 -1Q1.2 -2 0 -2"},
    {'z', 3.4F, "M0 4L3.4 4L0 0L3.4 0"},
    {'A', 4.4F, "M0 0L2.2 6L4.4 0M0.8 2.1L3.6 2.1"},
    {'B', 4.2F, "M0 0L0 6L2 6Q3.8 6 3.8 4.6Q3.8 3.2 2 3.2L0 3.2M2 3.2Q4.2 3.2 4.2 1.6Q4.2 0 2 0L0 0"},
    {'C', 4.5F, "M4.5 4.9Q3.7 6 2.5 6Q0 6 0 3Q0 0 2.5 0Q3.7 0 4.5 1.1"},
    {'D', 4.5F, "M0 0L0 6L1.7 6Q4.5 6 4.5 3Q4.5 0 1.7 0L0 0"},
    {'E', 3.6F, "M3.6 6L0 6L0 0L3.6 0M0 3.2L3.1 3.2"},
    {'F', 3.6F, "M3.6 6L0 6L0 0M0 3.1L3 3.1"},
    {'G', 4.6F, "M4.5 4.9Q3.7 6 2.5 6Q0 6 0 3Q0 0 2.5 0Q4 0 4.6 1L4.6 2.8L2.7 2.8"},
    {'H', 4.2F, "M0 6L0 0M4.2 6L4.2 0M0 3.1L4.2 3.1"},
    {'I', 0.4F, "M0.2 6L0.2 0"},
    {'J', 2.6F, "M2.6 6L2.6 1.7Q2.6 0 1.2 0Q0.3 0 0 0.8"},
    {'K', 4.2F, "M0 6L0 0M4 6L0 2.2M1.5 3.6L4.2 0"},
    {'L', 3.5F, "M0 6L0 0L3.5 0"},
    {'M', 5.2F, "M0 0L0 6L2.6 1.6L5.2 6L5.2 0"},
    {'N', 4.2F, "M0 0L0 6L4.2 0L4.2 6"},
    {'O', 5.0F, RING},
    {'P', 4.0F, "M0 0L0 6L2 6Q4 6 4 4.4Q4 2.8 2 2.8L0 2.8"},
    {'Q', 5.0F, RING "M3 1.5L4.8 -0.4"},
    {'R', 4.2F, "M0 0L0 6L2 6Q4 6 4 4.4Q4 2.8 2 2.8L0 2.8M2.2 2.8L4.2 0"},
    {'S', 4.1F, "M3.8 5Q3.2 6 2 6Q0.3 6 0.3 4.6Q0.3 3.4 2 3.1Q4.1 2.8 4.1 1.5Q4.1 0 2 0Q0.6 0 0 1.1"},
    {'T', 4.4F, "M0 6L4.4 6M2.2 6L2.2 0"},
    {'U', 4.2F, "M0 6L0 2.2Q0 0 2.1 0Q4.2 0 4.2 2.2L4.2 6"},
    {'V', 4.4F, "M0 6L2.2 0L4.4 6"},
    {'W', 6.4F, "M0 6L1.6 0L3.2 6L4.8 0L6.4 6"},
    {'X', 4.0F, "M0 6L4 0M4 6L0 0"},
    {'Y', 4.2F, "M0 6L2.1 3L4.2 6M2.1 3L2.1 0"},
    {'Z', 4.0F, "M0 6L4 6L0 0L4 0"},
    {'.', 0.4F, "M0.2 0L0.2 0.05"},
    {',', 0.6F, "M0.5 0.1L0 -1.1"},
    {':', 0.4F, "M0.2 0L0.2 0.05M0.2 3.6L0.2 3.65"},
    {';', 0.6F, "M0.5 0.1L0 -1.1M0.4 3.6L0.4 3.65"},
    {'-', 2.3F, "M0 2.2L2.3 2.2"},
    {'+', 3.2F, "M0 2.3L3.2 2.3M1.6 3.9L1.6 0.7"},
    {'=', 3.2F, "M0 3L3.2 3M0 1.6L3.2 1.6"},
    {'(', 1.4F, "M1.4 6.6Q0 5 0 2.6Q0 0.2 1.4 -1.4"},
    {')', 1.4F, "M0 6.6Q1.4 5 1.4 2.6Q1.4 0.2 0 -1.4"},
    {'[', 1.2F, "M1.2 6.6L0 6.6L0 -1.2L1.2 -1.2"},
    {']', 1.2F, "M0 6.6L1.2 6.6L1.2 -1.2L0 -1.2"},
    {'/', 2.4F, "M0 -0.6L2.4 6.4"},
    {'_', 4.0F, "M0 -0.8L4 -0.8"},
    {'<', 3.0F, "M3 4.2L0 2.3L3 0.4"},
    {'>', 3.0F, "M0 4.2L3 2.3L0 0.4"},
    {'*', 2.4F, "M1.2 6L1.2 3.6M0.1 5.4L2.3 4.2M2.3 5.4L0.1 4.2"},
    {'\'', 0.4F, "M0.2 6L0.2 4.6"},
    {'?', 3.4F, "M0 4.7Q0.2 6 1.7 6Q3.4 6 3.4 4.5Q3.4 3.4 2.2 2.9Q1.7 2.6 1.7 1.7M1.7 0L1.7 0.05"},
    {'%', 5.2F, "M4.4 6L0.8 0M1.1 6Q0 6 0 4.7Q0 3.4 1.1 3.4Q2.2 3.4 2.2 4.7Q2.2 6 1.1 6M4.1 2.6Q3 2.6 3 1.3Q3 0 4.1 0Q5.2 0 5.2 1.3Q5.2 2.6 4.1 2.6"},
};
// clang-format on

// The path of a letter and its width in font units; a letter without a path is a space.
const char *stroke_font_find(double *width, char letter)
{
    for (size_t i = 0; i < sizeof glyph_table / sizeof *glyph_table; i++)
        if (glyph_table[i].letter == letter) {
            *width = (double)glyph_table[i].width;
            return glyph_table[i].path;
        }
    *width = STROKE_FONT_SPACE;
    return "";
}

// Width of a line of text in pixels: letters with a gap between them.
double stroke_font_width(const char *text, double size)
{
    double units = 0.0, width;
    for (; *text; text++) {
        stroke_font_find(&width, *text);
        units += width + (text[1] ? STROKE_FONT_GAP : 0.0);
    }
    return units * STROKE_FONT_SCALE(size);
}
