// SPDX-License-Identifier: MIT
// The parts of a direct convolution: a frame padded with zeros, weights in panels, windows of a
// plane times weights, and the gradient of that by the weights.
#ifndef ENGINE_KERNELS_CONV_WINDOW_H
#define ENGINE_KERNELS_CONV_WINDOW_H

#include <stdint.h>

#include "engine/kernels/kernel_set.h"

/// A frame with zeros around it.
typedef struct padded_plane {
    int64_t h, w, c;    ///< Of the frame.
    int64_t top, left;  ///< Zeros before it.
    int64_t high, wide; ///< Of the plane.
} padded_plane;

static inline int64_t conv_window_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t conv_window_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/// to (columns, rows) = the transpose of from (rows, columns). The rows of `from` lie `line` apart,
/// those of `to` lie `wide` apart.
void conv_window_transpose(float *restrict to, int64_t wide, const float *restrict from,
                           int64_t line, int64_t rows, int64_t columns);

int64_t conv_window_plane_size(const padded_plane *plane);
/// The frame itself if it needs no zeros, else a copy in `memory`. Rows and columns that no window
/// reaches are left out.
const float *conv_window_pad(float *memory, const float *frame, const padded_plane *plane);

/// Copies a matrix (rows, columns) into panels of `wide` columns, each of which is contiguous.
/// Returns b itself if one panel is enough.
const float *conv_window_panels(float *memory, const float *b, int64_t rows, int64_t columns,
                                int64_t wide);
int64_t conv_window_panels_size(int64_t rows, int64_t columns);

/// out = windows of the plane `in` times weights in panels. `job` has rows, runs and distances; the
/// panels decide the rest.
void conv_window_correlate(float *out, const float *in, const float *weights, int64_t columns,
                           const float *bias, float slope, gemm_tile job);

/// For every pixel of an image a run of `length` floats, which begins at that pixel.
typedef struct pixel_runs {
    const float *first;  ///< The run of the first pixel.
    int64_t line, pixel; ///< Floats from line to line and from pixel to pixel.
    int64_t length;      ///< Floats of a run.
} pixel_runs;

/// dw (in.length, dy.length) += sum over (high, wide) pixels of (the run of `in`) times (the run of
/// `dy`), an outer product.
void conv_window_grad_weights(float *dw, const pixel_runs *in, const pixel_runs *dy, int64_t high,
                              int64_t wide);

#endif
