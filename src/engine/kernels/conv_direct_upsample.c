// SPDX-License-Identifier: MIT
// Nearest-neighbour upsampling by 2 and a 3x3 convolution, direct. In one dimension, with weights
// (a, b, c):
//     y[2i] = a x[i-1] + (b + c) x[i],    y[2i+1] = (a + b) x[i] + c x[i+1]
// So each parity of y is a convolution of x with two taps, and in two dimensions 9 multiplications
// become 4.
#include <string.h>

#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_window.h"

// taps_of[parity][t]: tap t of this parity is the sum of the taps first .. last of the three.
static const struct {
    int first, last;
} taps_of[2][2] = {{{0, 0}, {1, 2}}, {{0, 1}, {2, 2}}};

// Called with a tap of the parities and one of the nine taps that belong to it.
typedef void tap_visitor(float *restrict four, float *restrict nine, int64_t size);

static void visit_taps(float *four, float *nine, int64_t size, tap_visitor *visit)
{
    for (int index = 0; index < 16; index++) { // parity of row, of column, tap of row, of column
        const int row = index >> 3, column = index >> 2 & 1, t = index >> 1 & 1, u = index & 1;
        for (int a = taps_of[row][t].first; a <= taps_of[row][t].last; a++)
            for (int b = taps_of[column][u].first; b <= taps_of[column][u].last; b++)
                visit(four + index * size, nine + (a * 3 + b) * size, size);
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
    visit_taps(parities, (float *)w, size, add_nine); // reads w alone
}

void conv_direct_upsample_fold(float *restrict dw, const float *restrict parities, int64_t size)
{
    visit_taps((float *)parities, dw, size, add_four); // writes dw alone
}

// x with a border of one pixel; it has half the height and width of the upsampled image.
static padded_plane make_input_plane(const conv_geometry *conv)
{
    return (padded_plane){conv->h / 2, conv->w / 2,     conv->c,        1,
                          1,           conv->h / 2 + 2, conv->w / 2 + 2};
}

static padded_plane make_output_plane(const conv_geometry *conv)
{
    return (padded_plane){conv->oh, conv->ow, conv->k, 1, 1, conv->oh + 2, conv->ow + 2};
}

void conv_direct_upsample_forward(float *restrict y, const float *restrict x,
                                  const float *restrict w, const float *restrict bias, float slope,
                                  const conv_geometry *conv, float *scratch)
{
    const padded_plane plane = make_input_plane(conv);
    const int64_t h = conv->h / 2, width = conv->w / 2, taps = 4 * conv->c;
    float *parities = scratch, *packed = parities + 16 * conv->c * conv->k;
    float *plane_memory = packed + 4 * conv_window_panels_size(taps, conv->k);
    // Weights of the four parities, packed once for all frames.
    const float *panels[4];
    conv_direct_upsample_parities(parities, w, conv->c * conv->k);
    for (int q = 0; q < 4; q++)
        panels[q] = conv_window_panels(packed + q * conv_window_panels_size(taps, conv->k),
                                       parities + q * taps * conv->k, taps, conv->k,
                                       2 * kernel_set_for(conv->k)->lanes);
    const gemm_tile job = {.runs = 2,
                           .length = 2 * conv->c,
                           .a_run = plane.wide * conv->c,
                           .a_step = 1,
                           .rows = h * width,
                           .line = width,
                           .a_line = plane.wide * conv->c,
                           .a_row = conv->c,
                           .c_line = 2 * conv->w * conv->k,
                           .c_row = 2 * conv->k};
    for (int64_t n = 0; n < conv->n; n++) {
        const float *in = conv_window_pad(plane_memory, x + n * h * width * conv->c, &plane);
        // Parity q writes every second row and column of y.
        for (int q = 0; q < 4; q++) {
            const int64_t row = q >> 1, column = q & 1;
            conv_window_correlate(y + ((n * conv->h + row) * conv->w + column) * conv->k,
                                  in + (row * plane.wide + column) * conv->c, panels[q], conv->k,
                                  bias, slope, job);
        }
    }
}

// dx[i] gets contributions from dy[2i-1], dy[2i], dy[2i+1] and dy[2i+2], with the taps of the
// parities: a 4x4 convolution of dy with stride 2.
void conv_direct_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                     const float *restrict w, const conv_geometry *conv,
                                     float *scratch)
{
    // Row a of the 4x4 kernel belongs to this parity and this tap.
    static const int parity[4] = {1, 0, 1, 0}, tap[4] = {1, 1, 0, 0};
    const padded_plane plane = make_output_plane(conv);
    const int64_t h = conv->h / 2, width = conv->w / 2, rows = 16 * conv->k,
                  size = conv->c * conv->k;
    float *parities = scratch, *transposed = parities + 16 * size, *packed = transposed + 16 * size;
    float *plane_memory = packed + conv_window_panels_size(rows, conv->c);
    conv_direct_upsample_parities(parities, w, size);
    for (int q = 0; q < 16; q++) {
        const int a = q >> 2, b = q & 3;
        const float *from = parities + (parity[a] * 8 + parity[b] * 4 + tap[a] * 2 + tap[b]) * size;
        conv_window_transpose(transposed + q * size, conv->c, from, conv->k, conv->c, conv->k);
    }
    const float *panels =
        conv_window_panels(packed, transposed, rows, conv->c, 2 * kernel_set_for(conv->c)->lanes);
    const gemm_tile job = {.runs = 4,
                           .length = 4 * conv->k,
                           .a_run = plane.wide * conv->k,
                           .a_step = 1,
                           .rows = h * width,
                           .line = width,
                           .a_line = 2 * plane.wide * conv->k,
                           .a_row = 2 * conv->k,
                           .c_line = width * conv->c,
                           .c_row = conv->c};
    for (int64_t n = 0; n < conv->n; n++) {
        const float *in =
            conv_window_pad(plane_memory, dy + n * conv->oh * conv->ow * conv->k, &plane);
        conv_window_correlate(dx + n * h * width * conv->c, in, panels, conv->c, NULL, 1.0f, job);
    }
}

void conv_direct_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                       const float *restrict dy, bool accumulate,
                                       const conv_geometry *conv, float *scratch)
{
    const padded_plane plane = make_input_plane(conv);
    const int64_t h = conv->h / 2, width = conv->w / 2, size = conv->c * conv->k,
                  line = plane.wide * conv->c;
    float *parities = scratch, *plane_memory = scratch + 16 * size;
    memset(parities, 0, (size_t)(16 * size) * sizeof *parities);
    for (int64_t n = 0; n < conv->n; n++) {
        const float *in = conv_window_pad(plane_memory, x + n * h * width * conv->c, &plane);
        for (int q = 0; q < 8; q++) { // parity of row, of column, tap of row
            const int64_t row = q >> 2, column = q >> 1 & 1, t = q & 1;
            const pixel_runs window = {in + (row + t) * line + column * conv->c, line, conv->c,
                                       2 * conv->c};
            const pixel_runs grad = {dy + ((n * conv->h + row) * conv->w + column) * conv->k,
                                     2 * conv->w * conv->k, 2 * conv->k, conv->k};
            conv_window_grad_weights(parities + q * 2 * size, &window, &grad, h, width);
        }
    }
    // Each of the nine taps gets the gradients of all parities that it is part of.
    if (!accumulate) memset(dw, 0, (size_t)(9 * size) * sizeof *dw);
    conv_direct_upsample_fold(dw, parities, size);
}

int64_t conv_direct_upsample_scratch(const conv_geometry *conv)
{
    const padded_plane input = make_input_plane(conv), output = make_output_plane(conv);
    const int64_t size = 16 * conv->c * conv->k;
    return 2 * size +
           4 * conv_window_panels_size(4 * conv_window_max(conv->c, conv->k),
                                       conv_window_max(conv->c, conv->k)) +
           conv_window_max(conv_window_plane_size(&input), conv_window_plane_size(&output));
}
