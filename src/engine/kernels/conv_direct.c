// SPDX-License-Identifier: MIT
#include "engine/kernels/conv_direct.h"

#include <string.h>

#include "engine/kernels/conv_window.h"

static padded_plane plane_of_x(const conv_geometry *g)
{
    return (padded_plane){g->h,
                          g->w,
                          g->c,
                          g->top,
                          g->left,
                          (g->oh - 1) * g->stride + g->kh,
                          (g->ow - 1) * g->stride + g->kw};
}

static bool by_dots(const conv_geometry *g)
{
    return g->k <= 4 && g->kw * g->c >= 16;
}

void conv_direct_forward(float *restrict y, const float *restrict x, const float *restrict w,
                         const float *restrict bias, float slope, const conv_geometry *g,
                         float *scratch)
{
    const padded_plane p = plane_of_x(g);
    const int64_t rows = g->kh * g->kw * g->c;
    const kernel_set *set = kernel_set_for(by_dots(g) ? g->kw * g->c : g->k);
    gemm_tile job = {.runs = g->kh,
                     .length = g->kw * g->c,
                     .a_run = p.wide * g->c,
                     .a_step = 1,
                     .rows = g->oh * g->ow,
                     .line = g->ow,
                     .a_line = g->stride * p.wide * g->c,
                     .a_row = g->stride * g->c,
                     .c_line = g->ow * g->k,
                     .c_row = g->k};
    float *room = scratch + conv_window_panels_size(rows, g->k);
    const float *packed = w;
    if (by_dots(g)) {
        conv_window_transpose(scratch, rows, w, g->k, rows, g->k);
        job.columns = g->k;
        job.b_run = job.length;
        job.b_step = rows;
        job.bias = bias;
        job.slope = slope;
    } else packed = conv_window_panels(scratch, w, rows, g->k, 2 * set->lanes);
    for (int64_t n = 0; n < g->n; n++) {
        const float *in = conv_window_pad(room, x + n * g->h * g->w * g->c, &p);
        float *out = y + n * g->oh * g->ow * g->k;
        if (by_dots(g)) set->dots(out, in, scratch, &job);
        else conv_window_correlate(out, in, packed, g->k, bias, slope, job);
    }
}

// The pixels of dx whose window positions leave the same remainder see the same taps of the kernel,
// every stride-th one, and are a convolution of dy with them, flipped and transposed.
typedef struct phase {
    int64_t taps, first;  // how many, and the smallest of them
    int64_t start, count; // the first window position u, and how many
    int64_t pixel;        // where the first one lies in dx
} phase;

static phase phase_of(int64_t remainder, int64_t kernel, int64_t stride, int64_t before,
                      int64_t size)
{
    phase f = {.first = remainder};
    f.taps = remainder < kernel ? (kernel - remainder + stride - 1) / stride : 0;
    f.start = (before - remainder + stride - 1) / stride; // before - remainder > -stride
    f.pixel = remainder + stride * f.start - before;
    f.count = f.pixel < size ? (size - f.pixel + stride - 1) / stride : 0;
    return f;
}

static padded_plane plane_of_dy(const conv_geometry *g)
{
    const int64_t top = (g->kh + g->stride - 1) / g->stride - 1;
    const int64_t left = (g->kw + g->stride - 1) / g->stride - 1;
    return (padded_plane){g->oh,
                          g->ow,
                          g->k,
                          top,
                          left,
                          top + (g->h - 1 + g->top) / g->stride + 1,
                          left + (g->w - 1 + g->left) / g->stride + 1};
}

// Weights of one pair of phases, flipped and transposed, in panels over c.
static void transpose_taps(float *to, const float *w, const phase *a, const phase *b, int64_t wide,
                           const conv_geometry *g)
{
    for (int64_t at = 0; at < g->c; at += wide) {
        const int64_t step = conv_window_min(wide, g->c), count = conv_window_min(wide, g->c - at);
        for (int64_t i = a->taps - 1; i >= 0; i--)
            for (int64_t j = b->taps - 1; j >= 0; j--) {
                const int64_t row = a->first + i * g->stride, column = b->first + j * g->stride;
                const float *from = w + ((row * g->kw + column) * g->c + at) * g->k;
                conv_window_transpose(to, step, from, g->k, count, g->k);
                to += g->k * step;
            }
    }
}

static void data_phase(float *dx, const float *in, const float *packed, const phase *a,
                       const phase *b, const padded_plane *p, const conv_geometry *g)
{
    if (a->taps * b->taps * a->count * b->count == 0) return;
    const gemm_tile job = {.runs = a->taps,
                           .length = b->taps * g->k,
                           .a_run = p->wide * g->k,
                           .a_step = 1,
                           .rows = a->count * b->count,
                           .line = b->count,
                           .a_line = p->wide * g->k,
                           .a_row = g->k,
                           .c_line = g->stride * g->w * g->c,
                           .c_row = g->stride * g->c};
    const int64_t row = a->start - a->taps + 1 + p->top, column = b->start - b->taps + 1 + p->left;
    conv_window_correlate(dx + (a->pixel * g->w + b->pixel) * g->c,
                          in + (row * p->wide + column) * g->k, packed, g->c, NULL, 1.0f, job);
}

void conv_direct_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                            const conv_geometry *g, float *scratch)
{
    const padded_plane p = plane_of_dy(g);
    const int64_t wide = 2 * kernel_set_for(g->c)->lanes, size = g->h * g->w * g->c;
    const int64_t phases = g->stride * g->stride;
    float *room = scratch + conv_window_panels_size(g->kh * g->kw * g->k, g->c);
    float *packed = scratch;
    if (g->kh < g->stride || g->kw < g->stride) memset(dx, 0, (size_t)(g->n * size) * sizeof *dx);
    for (int64_t remainder = 0; remainder < phases; remainder++) {
        const phase a = phase_of(remainder / g->stride, g->kh, g->stride, g->top, g->h);
        const phase b = phase_of(remainder % g->stride, g->kw, g->stride, g->left, g->w);
        transpose_taps(packed, w, &a, &b, wide, g);
        packed += conv_window_panels_size(a.taps * b.taps * g->k, g->c);
    }
    for (int64_t n = 0; n < g->n; n++) {
        const float *in = conv_window_pad(room, dy + n * g->oh * g->ow * g->k, &p);
        packed = scratch;
        for (int64_t remainder = 0; remainder < phases; remainder++) {
            const phase a = phase_of(remainder / g->stride, g->kh, g->stride, g->top, g->h);
            const phase b = phase_of(remainder % g->stride, g->kw, g->stride, g->left, g->w);
            data_phase(dx + n * size, in, packed, &a, &b, &p, g);
            packed += conv_window_panels_size(a.taps * b.taps * g->k, g->c);
        }
    }
}

void conv_direct_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                              bool accumulate, const conv_geometry *g, float *scratch)
{
    const padded_plane p = plane_of_x(g);
    const int64_t rows = g->kw * g->c, size = g->kh * rows * g->k;
    const int64_t line = g->stride * p.wide * g->c, pixel = g->stride * g->c;
    const bool turned = by_dots(g); // few results: dw^T has more to fill a register with
    float *sum = turned ? scratch : dw,
          *room = scratch + conv_window_panels_size(g->kh * rows, g->k);
    if (turned || !accumulate) memset(sum, 0, (size_t)size * sizeof *sum);
    for (int64_t n = 0; n < g->n; n++) {
        const float *in = conv_window_pad(room, x + n * g->h * g->w * g->c, &p);
        const float *from = dy + n * g->oh * g->ow * g->k;
        for (int64_t a = 0; a < g->kh; a++) {
            float *to = sum + a * rows * g->k;
            const float *under = in + a * p.wide * g->c;
            if (turned)
                conv_window_gather(to, g->k, from, g->ow * g->k, g->k, under, line, pixel, rows,
                                   g->oh, g->ow);
            else
                conv_window_gather(to, rows, under, line, pixel, from, g->ow * g->k, g->k, g->k,
                                   g->oh, g->ow);
        }
    }
    if (!turned) return;
    for (int64_t a = 0; a < g->kh; a++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < g->k; j++) {
                float *to = dw + (a * rows + i) * g->k + j;
                *to = (accumulate ? *to : 0.0f) + sum[(a * g->k + j) * rows + i];
            }
}

int64_t conv_direct_scratch(const conv_geometry *g)
{
    const padded_plane x = plane_of_x(g), dy = plane_of_dy(g);
    const int64_t taps = g->kh * g->kw;
    return conv_window_max(conv_window_panels_size(taps * g->c, g->k) + conv_window_plane_size(&x),
                           conv_window_panels_size(taps * g->k, g->c) +
                               conv_window_plane_size(&dy));
}
