// SPDX-License-Identifier: MIT
// Direct convolutions of any geometry: a frame is copied into a plane with zeros around it; then
// the pixels under one row of a window are contiguous, and the convolution is a matrix product.
#ifndef ENGINE_KERNELS_CONV_DIRECT_H
#define ENGINE_KERNELS_CONV_DIRECT_H

#include "engine/kernels/conv.h"

void conv_direct_forward(float *restrict y, const float *restrict x, const float *restrict w,
                         const float *restrict bias, float slope, const conv_geometry *conv,
                         float *scratch);
void conv_direct_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                            const conv_geometry *conv, float *scratch);
void conv_direct_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                              bool accumulate, const conv_geometry *conv, float *scratch);
int64_t conv_direct_scratch(const conv_geometry *conv);

/// Weights of a 3x3 convolution after nearest-neighbour upsampling: each of the four parities of y
/// (even or odd row and column) is a 2x2 convolution of x, whose weights are sums of the nine.
/// `parities` (2, 2, 2, 2, c, k): parity of row and column, then tap of row and column; size = c k.
void conv_direct_upsample_parities(float *restrict parities, const float *restrict w, int64_t size);
/// The transpose: adds the gradients of the parities' weights to those of the nine.
void conv_direct_upsample_fold(float *restrict dw, const float *restrict parities, int64_t size);

void conv_direct_upsample_forward(float *restrict y, const float *restrict x,
                                  const float *restrict w, const float *restrict bias, float slope,
                                  const conv_geometry *conv, float *scratch);
void conv_direct_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                     const float *restrict w, const conv_geometry *conv,
                                     float *scratch);
void conv_direct_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                       const float *restrict dy, bool accumulate,
                                       const conv_geometry *conv, float *scratch);
int64_t conv_direct_upsample_scratch(const conv_geometry *conv);

#endif
