// SPDX-License-Identifier: MIT
// The parts of a direct convolution.
#include "engine/kernels/conv_window.h"

#include <string.h>

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
#if defined(__clang__) || __GNUC__ >= 12
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICK(a, b, i, j, k, l) \
    __builtin_shuffle(a, b, (int32_t __attribute__((vector_size(16)))){i, j, k, l})
#endif

// Transposes a square of four by four.
static void transpose_four(float *restrict to, int64_t wide, const float *restrict from,
                           int64_t line)
{
    const four a = *(const four *)from, b = *(const four *)(from + line);
    const four c = *(const four *)(from + 2 * line), d = *(const four *)(from + 3 * line);
    const four ab = PICK(a, b, 0, 4, 1, 5), cd = PICK(c, d, 0, 4, 1, 5);
    const four AB = PICK(a, b, 2, 6, 3, 7), CD = PICK(c, d, 2, 6, 3, 7);
    *(four *)to = PICK(ab, cd, 0, 1, 4, 5);
    *(four *)(to + wide) = PICK(ab, cd, 2, 3, 6, 7);
    *(four *)(to + 2 * wide) = PICK(AB, CD, 0, 1, 4, 5);
    *(four *)(to + 3 * wide) = PICK(AB, CD, 2, 3, 6, 7);
}

void conv_window_transpose(float *restrict to, int64_t wide, const float *restrict from,
                           int64_t line, int64_t rows, int64_t columns)
{
    // Squares of four, then what is left of the rows and of the columns.
    const int64_t down = rows / 4 * 4, across = columns / 4 * 4;
    for (int64_t j = 0; j < across; j += 4) {
        for (int64_t i = 0; i < down; i += 4)
            transpose_four(to + j * wide + i, wide, from + i * line + j, line);
        for (int64_t i = down; i < rows; i++)
            for (int64_t l = j; l < j + 4; l++) to[l * wide + i] = from[i * line + l];
    }
    for (int64_t j = across; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) to[j * wide + i] = from[i * line + j];
}

int64_t conv_window_plane_size(const padded_plane *plane)
{
    return plane->high * plane->wide * plane->c;
}

// Rows of zeros above and below, zeros left and right of each row of the frame.
const float *conv_window_pad(float *memory, const float *frame, const padded_plane *plane)
{
    if (!plane->top && !plane->left && plane->high <= plane->h && plane->wide == plane->w)
        return frame;
    const int64_t line = plane->wide * plane->c, before = plane->left * plane->c;
    const int64_t inside =
        conv_window_max(0, conv_window_min(plane->w, plane->wide - plane->left)) * plane->c;
    for (int64_t i = 0; i < plane->high; i++) {
        float *to = memory + i * line;
        const int64_t row = i - plane->top;
        if (row < 0 || row >= plane->h) {
            memset(to, 0, (size_t)line * sizeof *to);
            continue;
        }
        memset(to, 0, (size_t)before * sizeof *to);
        memcpy(to + before, frame + row * plane->w * plane->c, (size_t)inside * sizeof *to);
        memset(to + before + inside, 0, (size_t)(line - before - inside) * sizeof *to);
    }
    return memory;
}

// The last panel may be narrower; its rows still lie `wide` apart.
const float *conv_window_panels(float *memory, const float *b, int64_t rows, int64_t columns,
                                int64_t wide)
{
    if (columns <= wide) return b;
    for (int64_t at = 0; at < columns; at += wide, memory += rows * wide) {
        const int64_t count = conv_window_min(wide, columns - at);
        for (int64_t i = 0; i < rows; i++)
            memcpy(memory + i * wide, b + i * columns + at, (size_t)count * sizeof *memory);
    }
    return memory - (columns + wide - 1) / wide * rows * wide;
}

int64_t conv_window_panels_size(int64_t rows, int64_t columns)
{
    return rows * (columns + 64);
}

// A panel that does not fit in the second cache is processed one run at a time.
void conv_window_correlate(float *out, const float *in, const float *weights, int64_t columns,
                           const float *bias, float slope, gemm_tile job)
{
    enum { CACHED_FLOATS = 32 << 10 };
    const kernel_set *set = kernel_set_for(columns);
    const int64_t wide = 2 * set->lanes, rows = job.runs * job.length;
    const int64_t runs = job.runs, parts = rows * wide > CACHED_FLOATS ? runs : 1;
    // Bias and leaky ReLU are applied with the last part of the sum.
    job.b_step = conv_window_min(wide, columns);
    job.b_run = job.length * job.b_step;
    job.runs = runs / parts;
    for (int64_t at = 0; at < columns; at += wide)
        for (int64_t part = 0; part < parts; part++) {
            const bool last = part == parts - 1;
            job.columns = conv_window_min(wide, columns - at);
            job.accumulate = part > 0;
            job.bias = bias && last ? bias + at : NULL;
            job.slope = last ? slope : 1.0f;
            set->gemm(out + at, in + part * job.a_run,
                      weights + at / wide * rows * wide + part * job.b_run, &job);
        }
}

// A few lines of pixels at a time, so that they stay in the first cache.
void conv_window_grad_weights(float *dw, const pixel_runs *in, const pixel_runs *dy, int64_t high,
                              int64_t wide)
{
    enum { PIXELS = 128 };
    const kernel_set *set = kernel_set_for(dy->length);
    const int64_t lines = conv_window_max(1, PIXELS / wide);
    const int64_t panel = kernel_set_tile_registers(in->length) * set->lanes;
    gemm_tile job = {.length = wide,
                     .a_run = in->line,
                     .a_step = in->pixel,
                     .b_run = dy->line,
                     .b_step = dy->pixel,
                     .rows = in->length,
                     .line = in->length,
                     .a_row = 1,
                     .c_row = dy->length,
                     .accumulate = true,
                     .slope = 1.0f};
    for (int64_t i = 0; i < high; i += lines)
        for (int64_t at = 0; at < dy->length; at += panel) {
            job.runs = conv_window_min(lines, high - i);
            job.columns = conv_window_min(panel, dy->length - at);
            set->gemm_at(dw + at, in->first + i * in->line, dy->first + i * dy->line + at, &job);
        }
}
