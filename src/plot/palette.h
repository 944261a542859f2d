// SPDX-License-Identifier: MIT
// The colours of all figures, for light and dark background. HTML pages make their style from the
// same list, so that drawings in them follow the reader's choice.
#ifndef PLOT_PALETTE_H
#define PLOT_PALETTE_H

// clang-format off
//    name    light     dark
#define PALETTE(X)                \
    X(INK,    0x2f3437, 0xe4e7ea) \
    X(PALE,   0x77808a, 0x9aa4ad) \
    X(GRID,   0xeceff1, 0x2a3036) \
    X(AXIS,   0xb8c0c6, 0x5a646d) \
    X(PAPER,  0xffffff, 0x171b1f) \
    X(BAND,   0xe3f0f8, 0x1d3444) \
    X(BLUE,   0x2a7fb8, 0x62b3e8) \
    X(ORANGE, 0xe07b39, 0xf29b60) \
    X(GREEN,  0x3c8d63, 0x63c591) \
    X(VIOLET, 0x7d62ab, 0xb09add) \
    X(RED,    0xd1495b, 0xf46f81)
// clang-format on

enum {
#define PALETTE_ENUM(name, light, dark) PALETTE_##name = light,
    PALETTE(PALETTE_ENUM)
#undef PALETTE_ENUM
};

#endif
