// SPDX-License-Identifier: MIT
// Convolutions of every geometry as they stand: a frame is copied into a plane with zeros around
// it, and then the pixels under a window's row are one contiguous run of a matrix product.
#ifndef ENGINE_KERNELS_CONV_DIRECT_H
#define ENGINE_KERNELS_CONV_DIRECT_H

#include "engine/kernels/conv.h"

void conv_direct_forward(float *restrict y, const float *restrict x, const float *restrict w,
                         const float *restrict bias, float slope, const conv_geometry *g,
                         float *scratch);
void conv_direct_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                            const conv_geometry *g, float *scratch);
void conv_direct_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                              bool accumulate, const conv_geometry *g, float *scratch);
int64_t conv_direct_scratch(const conv_geometry *g);

/// After nearest upsampling: the four parities of y are four 2x2 convolutions of x, whose weights
/// are sums of the nine. `parities` [2][2][2][2][c][k]: row and column parity, then the taps.
void conv_direct_upsample_parities(float *restrict parities, const float *restrict w, int64_t size);
/// Its transpose: adds the gradients of the four to those of the nine.
void conv_direct_upsample_fold(float *restrict dw, const float *restrict parities, int64_t size);

void conv_direct_upsample_forward(float *restrict y, const float *restrict x,
                                  const float *restrict w, const float *restrict bias, float slope,
                                  const conv_geometry *g, float *scratch);
void conv_direct_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                     const float *restrict w, const conv_geometry *g,
                                     float *scratch);
void conv_direct_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                       const float *restrict dy, bool accumulate,
                                       const conv_geometry *g, float *scratch);
int64_t conv_direct_upsample_scratch(const conv_geometry *g);

#endif
