// SPDX-License-Identifier: MIT
// Nearest upsampling and a 3x3 convolution. In one dimension, with weights (a, b, c):
//     y[2i] = a x[i-1] + (b + c) x[i],    y[2i+1] = (a + b) x[i] + c x[i+1]
// so each parity of y is a convolution of x with two taps, and 9 multiplications become 4.
#include <string.h>

#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_window.h"

// Which of the three taps make tap t of parity p: from `first` to `last`.
static const struct {
    int first, last;
} made_of[2][2] = {{{0, 0}, {1, 2}}, {{0, 1}, {2, 2}}};

typedef void pair(float *restrict four, float *restrict nine, int64_t size);

static void walk(float *four, float *nine, int64_t size, pair *each)
{
    for (int p = 0; p < 16; p++) { // parity of row, of column, tap of row, of column
        const int row = p >> 3, column = p >> 2 & 1, t = p >> 1 & 1, u = p & 1;
        for (int a = made_of[row][t].first; a <= made_of[row][t].last; a++)
            for (int b = made_of[column][u].first; b <= made_of[column][u].last; b++)
                each(four + p * size, nine + (a * 3 + b) * size, size);
    }
}

static void add_nine(float *restrict four, float *restrict nine, int64_t size)
{
    for (int64_t i = 0; i < size; i++) four[i] += nine[i];
}

static void add_four(float *restrict four, float *restrict nine, int64_t size)
{
    for (int64_t i = 0; i < size; i++) nine[i] += four[i];
}

void conv_direct_upsample_parities(float *restrict parities, const float *restrict w, int64_t size)
{
    memset(parities, 0, (size_t)(16 * size) * sizeof *parities);
    walk(parities, (float *)w, size, add_nine); // reads w alone
}

void conv_direct_upsample_fold(float *restrict dw, const float *restrict parities, int64_t size)
{
    walk((float *)parities, dw, size, add_four); // writes dw alone
}

static padded_plane plane_of_x(const conv_geometry *g)
{
    return (padded_plane){g->h / 2, g->w / 2, g->c, 1, 1, g->h / 2 + 2, g->w / 2 + 2};
}

static padded_plane plane_of_dy(const conv_geometry *g)
{
    return (padded_plane){g->oh, g->ow, g->k, 1, 1, g->oh + 2, g->ow + 2};
}

void conv_direct_upsample_forward(float *restrict y, const float *restrict x,
                                  const float *restrict w, const float *restrict bias, float slope,
                                  const conv_geometry *g, float *scratch)
{
    const padded_plane p = plane_of_x(g);
    const int64_t h = g->h / 2, width = g->w / 2, taps = 4 * g->c;
    float *parities = scratch, *packed = parities + 16 * g->c * g->k;
    float *room = packed + 4 * conv_window_panels_size(taps, g->k);
    const float *panels[4];
    conv_direct_upsample_parities(parities, w, g->c * g->k);
    for (int q = 0; q < 4; q++)
        panels[q] = conv_window_panels(packed + q * conv_window_panels_size(taps, g->k),
                                       parities + q * taps * g->k, taps, g->k,
                                       2 * kernel_set_for(g->k)->lanes);
    const gemm_tile job = {.runs = 2,
                           .length = 2 * g->c,
                           .a_run = p.wide * g->c,
                           .a_step = 1,
                           .rows = h * width,
                           .line = width,
                           .a_line = p.wide * g->c,
                           .a_row = g->c,
                           .c_line = 2 * g->w * g->k,
                           .c_row = 2 * g->k};
    for (int64_t n = 0; n < g->n; n++) {
        const float *in = conv_window_pad(room, x + n * h * width * g->c, &p);
        for (int q = 0; q < 4; q++) {
            const int64_t row = q >> 1, column = q & 1;
            conv_window_correlate(y + ((n * g->h + row) * g->w + column) * g->k,
                                  in + (row * p.wide + column) * g->c, panels[q], g->k, bias, slope,
                                  job);
        }
    }
}

// dx[i] sees y[2i-1], y[2i], y[2i+1] and y[2i+2], through taps that are those of the parities: a
// 4x4 convolution of dy with stride 2.
void conv_direct_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                     const float *restrict w, const conv_geometry *g,
                                     float *scratch)
{
    static const int parity[4] = {1, 0, 1, 0}, tap[4] = {1, 1, 0, 0};
    const padded_plane p = plane_of_dy(g);
    const int64_t h = g->h / 2, width = g->w / 2, rows = 16 * g->k, size = g->c * g->k;
    float *parities = scratch, *turned = parities + 16 * size, *packed = turned + 16 * size;
    float *room = packed + conv_window_panels_size(rows, g->c);
    conv_direct_upsample_parities(parities, w, size);
    for (int q = 0; q < 16; q++) {
        const int a = q >> 2, b = q & 3;
        const float *from = parities + (parity[a] * 8 + parity[b] * 4 + tap[a] * 2 + tap[b]) * size;
        conv_window_transpose(turned + q * size, g->c, from, g->k, g->c, g->k);
    }
    const float *panels =
        conv_window_panels(packed, turned, rows, g->c, 2 * kernel_set_for(g->c)->lanes);
    const gemm_tile job = {.runs = 4,
                           .length = 4 * g->k,
                           .a_run = p.wide * g->k,
                           .a_step = 1,
                           .rows = h * width,
                           .line = width,
                           .a_line = 2 * p.wide * g->k,
                           .a_row = 2 * g->k,
                           .c_line = width * g->c,
                           .c_row = g->c};
    for (int64_t n = 0; n < g->n; n++) {
        const float *in = conv_window_pad(room, dy + n * g->oh * g->ow * g->k, &p);
        conv_window_correlate(dx + n * h * width * g->c, in, panels, g->c, NULL, 1.0f, job);
    }
}

void conv_direct_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                       const float *restrict dy, bool accumulate,
                                       const conv_geometry *g, float *scratch)
{
    const padded_plane p = plane_of_x(g);
    const int64_t h = g->h / 2, width = g->w / 2, size = g->c * g->k, line = p.wide * g->c;
    float *parities = scratch, *room = scratch + 16 * size;
    memset(parities, 0, (size_t)(16 * size) * sizeof *parities);
    for (int64_t n = 0; n < g->n; n++) {
        const float *in = conv_window_pad(room, x + n * h * width * g->c, &p);
        for (int q = 0; q < 8; q++) { // parity of row, of column, tap of row
            const int64_t row = q >> 2, column = q >> 1 & 1, t = q & 1;
            conv_window_gather(parities + q * 2 * size, 2 * g->c,
                               in + (row + t) * line + column * g->c, line, g->c,
                               dy + ((n * g->h + row) * g->w + column) * g->k, 2 * g->w * g->k,
                               2 * g->k, g->k, h, width);
        }
    }
    if (!accumulate) memset(dw, 0, (size_t)(9 * size) * sizeof *dw);
    conv_direct_upsample_fold(dw, parities, size);
}

int64_t conv_direct_upsample_scratch(const conv_geometry *g)
{
    const padded_plane x = plane_of_x(g), dy = plane_of_dy(g);
    const int64_t size = 16 * g->c * g->k;
    return 2 * size +
           4 * conv_window_panels_size(4 * conv_window_max(g->c, g->k),
                                       conv_window_max(g->c, g->k)) +
           conv_window_max(conv_window_plane_size(&x), conv_window_plane_size(&dy));
}
