// SPDX-License-Identifier: MIT
// The two loops that every direct convolution is made of: windows of a plane times weights, and its
// transpose in the weights.
#ifndef ENGINE_KERNELS_CONV_WINDOW_H
#define ENGINE_KERNELS_CONV_WINDOW_H

#include <stdint.h>

#include "engine/kernels/kernel_set.h"

/// A frame with zeros around it.
typedef struct padded_plane {
    int64_t h, w, c;    ///< the frame
    int64_t top, left;  ///< zeros before it
    int64_t high, wide; ///< the whole
} padded_plane;

static inline int64_t conv_window_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t conv_window_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/// to (columns, rows) = the transpose of from (rows, columns), whose rows lie `line` apart; those
/// of `to` lie `wide` apart.
void conv_window_transpose(float *restrict to, int64_t wide, const float *restrict from,
                           int64_t line, int64_t rows, int64_t columns);

int64_t conv_window_plane_size(const padded_plane *p);
/// The frame itself if it needs no zeros, else a copy in `room`; rows and columns that no window
/// reaches are left out.
const float *conv_window_pad(float *room, const float *frame, const padded_plane *p);

/// A matrix (rows, columns) in panels of `wide` columns, so that a panel is read from end to end.
/// One panel stays where it is.
const float *conv_window_panels(float *room, const float *b, int64_t rows, int64_t columns,
                                int64_t wide);
int64_t conv_window_panels_size(int64_t rows, int64_t columns);

/// Windows of a plane times weights in panels; `job` says where, but for what the panels decide.
void conv_window_correlate(float *out, const float *in, const float *weights, int64_t columns,
                           const float *bias, float slope, gemm_tile job);

/// dw (rows, columns) += the run of `rows` floats under each of (high, wide) pixels, times that
/// pixel of dy.
void conv_window_gather(float *dw, int64_t rows, const float *in, int64_t in_line, int64_t in_pixel,
                        const float *dy, int64_t dy_line, int64_t dy_pixel, int64_t columns,
                        int64_t high, int64_t wide);

#endif
