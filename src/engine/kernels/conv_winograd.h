// SPDX-License-Identifier: MIT
// Convolutions by Winograd's algorithm [Lavin16]: 4x4 results of a 3x3 convolution from 36
// multiplications instead of 144, of a 2x2 convolution from 25 instead of 64.
#ifndef ENGINE_KERNELS_CONV_WINOGRAD_H
#define ENGINE_KERNELS_CONV_WINOGRAD_H

#include "engine/kernels/conv.h"

/// The transformed weights ("packed"), made once for many calls; size in floats.
int64_t conv_winograd_packed_size(const conv_geometry *conv, conv_pass pass);
void conv_winograd_pack_weights(float *restrict packed, const float *restrict w,
                                const conv_geometry *conv, conv_pass pass, float *scratch);
void conv_winograd_forward(float *restrict y, const float *restrict x, const float *restrict packed,
                           const float *restrict bias, float slope, const conv_geometry *conv,
                           float *scratch);
void conv_winograd_grad_input(float *restrict dx, const float *restrict dy,
                              const float *restrict packed, const conv_geometry *conv,
                              float *scratch);
void conv_winograd_grad_weights(float *restrict dw, const float *restrict x,
                                const float *restrict dy, bool accumulate,
                                const conv_geometry *conv, float *scratch);
int64_t conv_winograd_scratch(const conv_geometry *conv);

/// The same after nearest-neighbour upsampling, by the four 2x2 convolutions of conv_direct.h.
void conv_winograd_upsample_forward(float *restrict y, const float *restrict x,
                                    const float *restrict w, const float *restrict bias,
                                    float slope, const conv_geometry *conv, float *scratch);
void conv_winograd_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                       const float *restrict w, const conv_geometry *conv,
                                       float *scratch);
void conv_winograd_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                         const float *restrict dy, bool accumulate,
                                         const conv_geometry *conv, float *scratch);
int64_t conv_winograd_upsample_scratch(const conv_geometry *conv);

#endif
