// SPDX-License-Identifier: MIT
// Direct convolutions. Forward: windows of the padded input times the weights. Gradient by the
// input: one convolution of dy for each phase of the stride. Gradient by the weights: outer
// products of the pixels under each window with dy.
#include "engine/kernels/conv_direct.h"

#include <string.h>

#include "engine/kernels/conv_window.h"

// The input with zeros around it, just as large as the windows need. Layout (h, w, c).
static padded_plane make_input_plane(const conv_geometry *conv)
{
    return (padded_plane){conv->h,
                          conv->w,
                          conv->c,
                          conv->top,
                          conv->left,
                          (conv->oh - 1) * conv->stride + conv->kh,
                          (conv->ow - 1) * conv->stride + conv->kw};
}

// Few output channels: dot products fill a register better than columns of the weights do.
static bool uses_dot_products(const conv_geometry *conv)
{
    return conv->k <= 4 && conv->kw * conv->c >= 16;
}

void conv_direct_forward(float *restrict y, const float *restrict x, const float *restrict w,
                         const float *restrict bias, float slope, const conv_geometry *conv,
                         float *scratch)
{
    const padded_plane plane = make_input_plane(conv);
    const int64_t rows = conv->kh * conv->kw * conv->c;
    const kernel_set *set = kernel_set_for(uses_dot_products(conv) ? conv->kw * conv->c : conv->k);
    // A window is kh runs of kw * c contiguous floats: the convolution is a matrix product that
    // reads the image in place.
    gemm_tile job = {.runs = conv->kh,
                     .length = conv->kw * conv->c,
                     .a_run = plane.wide * conv->c,
                     .a_step = 1,
                     .rows = conv->oh * conv->ow,
                     .line = conv->ow,
                     .a_line = conv->stride * plane.wide * conv->c,
                     .a_row = conv->stride * conv->c,
                     .c_line = conv->ow * conv->k,
                     .c_row = conv->k};
    float *plane_memory = scratch + conv_window_panels_size(rows, conv->k);
    const float *packed = w;
    // Weights (k, rows) for dot products, or in panels of two registers of output channels.
    if (uses_dot_products(conv)) {
        conv_window_transpose(scratch, rows, w, conv->k, rows, conv->k);
        job.columns = conv->k;
        job.b_run = job.length;
        job.b_step = rows;
        job.bias = bias;
        job.slope = slope;
    } else packed = conv_window_panels(scratch, w, rows, conv->k, 2 * set->lanes);
    for (int64_t n = 0; n < conv->n; n++) {
        const float *in =
            conv_window_pad(plane_memory, x + n * conv->h * conv->w * conv->c, &plane);
        float *out = y + n * conv->oh * conv->ow * conv->k;
        if (uses_dot_products(conv)) set->gemm_dot(out, in, scratch, &job);
        else conv_window_correlate(out, in, packed, conv->k, bias, slope, job);
    }
}

// Along one axis: pixels of dx whose position has the same remainder modulo the stride are reached
// by the same taps of the kernel, every stride-th one. These pixels are a convolution of dy with
// those taps, flipped and transposed.
typedef struct stride_phase {
    int64_t taps, first;  // Number of taps, and the smallest of them.
    int64_t start, count; // First window position, and number of pixels.
    int64_t pixel;        // Index of the first pixel in dx.
} stride_phase;

static stride_phase find_phase(int64_t remainder, int64_t kernel, int64_t stride, int64_t before,
                               int64_t size)
{
    stride_phase found = {.first = remainder};
    found.taps = remainder < kernel ? (kernel - remainder + stride - 1) / stride : 0;
    found.start = (before - remainder + stride - 1) / stride; // before - remainder > -stride
    found.pixel = remainder + stride * found.start - before;
    found.count = found.pixel < size ? (size - found.pixel + stride - 1) / stride : 0;
    return found;
}

// dy with zeros around it, for the phase that has the most taps.
static padded_plane make_output_plane(const conv_geometry *conv)
{
    const int64_t top = (conv->kh + conv->stride - 1) / conv->stride - 1;
    const int64_t left = (conv->kw + conv->stride - 1) / conv->stride - 1;
    return (padded_plane){conv->oh,
                          conv->ow,
                          conv->k,
                          top,
                          left,
                          top + (conv->h - 1 + conv->top) / conv->stride + 1,
                          left + (conv->w - 1 + conv->left) / conv->stride + 1};
}

// The taps of one pair of phases (row and column), flipped and transposed, in panels over c.
static void transpose_taps(float *to, const float *w, const stride_phase *a, const stride_phase *b,
                           int64_t wide, const conv_geometry *conv)
{
    for (int64_t at = 0; at < conv->c; at += wide) {
        const int64_t step = conv_window_min(wide, conv->c),
                      count = conv_window_min(wide, conv->c - at);
        for (int64_t i = a->taps - 1; i >= 0; i--)
            for (int64_t j = b->taps - 1; j >= 0; j--) {
                const int64_t row = a->first + i * conv->stride,
                              column = b->first + j * conv->stride;
                const float *from = w + ((row * conv->kw + column) * conv->c + at) * conv->k;
                conv_window_transpose(to, step, from, conv->k, count, conv->k);
                to += conv->k * step;
            }
    }
}

// The pixels of dx in one pair of phases.
static void run_phase(float *dx, const float *in, const float *packed, const stride_phase *a,
                      const stride_phase *b, const padded_plane *plane, const conv_geometry *conv)
{
    if (a->taps * b->taps * a->count * b->count == 0) return;
    const gemm_tile job = {.runs = a->taps,
                           .length = b->taps * conv->k,
                           .a_run = plane->wide * conv->k,
                           .a_step = 1,
                           .rows = a->count * b->count,
                           .line = b->count,
                           .a_line = plane->wide * conv->k,
                           .a_row = conv->k,
                           .c_line = conv->stride * conv->w * conv->c,
                           .c_row = conv->stride * conv->c};
    // The first window begins taps - 1 pixels before its last tap.
    const int64_t row = a->start - a->taps + 1 + plane->top,
                  column = b->start - b->taps + 1 + plane->left;
    conv_window_correlate(dx + (a->pixel * conv->w + b->pixel) * conv->c,
                          in + (row * plane->wide + column) * conv->k, packed, conv->c, NULL, 1.0f,
                          job);
}

void conv_direct_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                            const conv_geometry *conv, float *scratch)
{
    const padded_plane plane = make_output_plane(conv);
    const int64_t wide = 2 * kernel_set_for(conv->c)->lanes, size = conv->h * conv->w * conv->c;
    const int64_t phases = conv->stride * conv->stride;
    float *plane_memory = scratch + conv_window_panels_size(conv->kh * conv->kw * conv->k, conv->c);
    float *packed = scratch;
    // Pixels between the windows get no gradient.
    if (conv->kh < conv->stride || conv->kw < conv->stride)
        memset(dx, 0, (size_t)(conv->n * size) * sizeof *dx);
    for (int64_t remainder = 0; remainder < phases; remainder++) {
        const stride_phase a =
            find_phase(remainder / conv->stride, conv->kh, conv->stride, conv->top, conv->h);
        const stride_phase b =
            find_phase(remainder % conv->stride, conv->kw, conv->stride, conv->left, conv->w);
        transpose_taps(packed, w, &a, &b, wide, conv);
        packed += conv_window_panels_size(a.taps * b.taps * conv->k, conv->c);
    }
    for (int64_t n = 0; n < conv->n; n++) {
        const float *in =
            conv_window_pad(plane_memory, dy + n * conv->oh * conv->ow * conv->k, &plane);
        packed = scratch;
        for (int64_t remainder = 0; remainder < phases; remainder++) {
            const stride_phase a =
                find_phase(remainder / conv->stride, conv->kh, conv->stride, conv->top, conv->h);
            const stride_phase b =
                find_phase(remainder % conv->stride, conv->kw, conv->stride, conv->left, conv->w);
            run_phase(dx + n * size, in, packed, &a, &b, &plane, conv);
            packed += conv_window_panels_size(a.taps * b.taps * conv->k, conv->c);
        }
    }
}

void conv_direct_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                              bool accumulate, const conv_geometry *conv, float *scratch)
{
    const padded_plane plane = make_input_plane(conv);
    const int64_t rows = conv->kw * conv->c, size = conv->kh * rows * conv->k;
    const int64_t line = conv->stride * plane.wide * conv->c, pixel = conv->stride * conv->c;
    const bool transposed = uses_dot_products(conv); // then dw^T fills registers better
    float *sum = transposed ? scratch : dw,
          *plane_memory = scratch + conv_window_panels_size(conv->kh * rows, conv->k);
    if (transposed || !accumulate) memset(sum, 0, (size_t)size * sizeof *sum);
    for (int64_t n = 0; n < conv->n; n++) {
        const float *in =
            conv_window_pad(plane_memory, x + n * conv->h * conv->w * conv->c, &plane);
        const float *from = dy + n * conv->oh * conv->ow * conv->k;
        // Row a of the kernel: dw[a] += sum over windows of (pixels under row a)^T dy.
        for (int64_t a = 0; a < conv->kh; a++) {
            float *to = sum + a * rows * conv->k;
            const pixel_runs window = {in + a * plane.wide * conv->c, line, pixel, rows};
            const pixel_runs grad = {from, conv->ow * conv->k, conv->k, conv->k};
            if (transposed) conv_window_grad_weights(to, &grad, &window, conv->oh, conv->ow);
            else conv_window_grad_weights(to, &window, &grad, conv->oh, conv->ow);
        }
    }
    if (!transposed) return;
    // Transpose the sums into dw.
    for (int64_t a = 0; a < conv->kh; a++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < conv->k; j++) {
                float *to = dw + (a * rows + i) * conv->k + j;
                *to = (accumulate ? *to : 0.0f) + sum[(a * conv->k + j) * rows + i];
            }
}

int64_t conv_direct_scratch(const conv_geometry *conv)
{
    const padded_plane input = make_input_plane(conv), output = make_output_plane(conv);
    const int64_t taps = conv->kh * conv->kw;
    return conv_window_max(
        conv_window_panels_size(taps * conv->c, conv->k) + conv_window_plane_size(&input),
        conv_window_panels_size(taps * conv->k, conv->c) + conv_window_plane_size(&output));
}
