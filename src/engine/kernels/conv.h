// SPDX-License-Identifier: MIT
// Convolutions in float (cross-correlations, no flip) and their two gradients, with the best
// instructions of this processor. Images are (n, h, w, c), weights (kh, kw, c, k).
//
// One thread, no allocation. Every run gives the same bits. The references in double are the
// definition. `scratch` holds conv_scratch() or upconv_scratch() floats.
#ifndef ENGINE_KERNELS_CONV_H
#define ENGINE_KERNELS_CONV_H

#include <stdbool.h>
#include <stdint.h>

/// The shape of a convolution. Pixels outside x count as zero on all four sides: `top` and `left`
/// say how many zeros come before the first row and column; oh and ow say how far the windows go.
typedef struct conv_geometry {
    int64_t n, h, w, c; ///< x (n, h, w, c)
    int64_t oh, ow, k;  ///< y (n, oh, ow, k)
    int64_t kh, kw;     ///< weights (kh, kw, c, k)
    int64_t stride;     ///< Of both axes.
    int64_t top, left;  ///< Zeros before the first row and column.
} conv_geometry;

/// y = leaky(conv(x, w) + bias), where leaky(v) is v if v > 0 and slope * v otherwise: slope 1 does
/// nothing, slope 0 is a ReLU. `bias` (k) may be NULL.
void conv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                  const float *restrict bias, float slope, const conv_geometry *conv,
                  float *scratch);
/// Gradient by x: dx such that <dx, x> = <dy, conv(x, w)> for every x.
void conv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                     const conv_geometry *conv, float *scratch);
/// Gradient by w: dw such that <dw, w> = <dy, conv(x, w)> for every w; added to dw if `accumulate`.
void conv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                       bool accumulate, const conv_geometry *conv, float *scratch);
/// Floats of scratch memory that any of these need.
int64_t conv_scratch(const conv_geometry *conv);

/// A pass whose weights can be packed once for many calls. The calls then give the same bits
/// sooner.
typedef enum conv_pass { CONV_PASS_FORWARD, CONV_PASS_GRAD_INPUT } conv_pass;
/// Floats of packed weights. 0: packing gains nothing, and the functions below must not be called.
int64_t conv_packed_size(const conv_geometry *conv, conv_pass pass);
void conv_pack_weights(float *restrict packed, const float *restrict w, const conv_geometry *conv,
                       conv_pass pass, float *scratch);
void conv_forward_packed(float *restrict y, const float *restrict x, const float *restrict packed,
                         const float *restrict bias, float slope, const conv_geometry *conv,
                         float *scratch);
void conv_grad_input_packed(float *restrict dx, const float *restrict dy,
                            const float *restrict packed, const conv_geometry *conv,
                            float *scratch);

/// Nearest upsampling by two, then a 3x3 convolution of stride 1 that keeps the size, without ever
/// making the upsampled image. The geometry is that of the convolution: h = oh and w = ow are the
/// upsampled size, kh = kw = 3, stride = top = left = 1; x and dx are (n, h/2, w/2, c).
void upconv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                    const float *restrict bias, float slope, const conv_geometry *conv,
                    float *scratch);
void upconv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                       const conv_geometry *conv, float *scratch);
void upconv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                         bool accumulate, const conv_geometry *conv, float *scratch);
int64_t upconv_scratch(const conv_geometry *conv);

// The definitions, in double.
void conv_forward_reference(double *restrict y, const double *restrict x, const double *restrict w,
                            const double *restrict bias, double slope, const conv_geometry *conv);
void conv_grad_input_reference(double *restrict dx, const double *restrict dy,
                               const double *restrict w, const conv_geometry *conv);
void conv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                 const double *restrict dy, bool accumulate,
                                 const conv_geometry *conv);
void upconv_forward_reference(double *restrict y, const double *restrict x,
                              const double *restrict w, const double *restrict bias, double slope,
                              const conv_geometry *conv);
void upconv_grad_input_reference(double *restrict dx, const double *restrict dy,
                                 const double *restrict w, const conv_geometry *conv);
void upconv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                   const double *restrict dy, bool accumulate,
                                   const conv_geometry *conv);

#endif
