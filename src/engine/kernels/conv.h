// SPDX-License-Identifier: MIT
// Convolutions in float (cross-correlations, no flip) and their two transposes, images NHWC,
// weights [kh][kw][c][k], in the widest instructions this processor has.
//
// One thread, no allocation, the same bits on every run. The judges in double are the definition.
#ifndef ENGINE_KERNELS_CONV_H
#define ENGINE_KERNELS_CONV_H

#include <stdbool.h>
#include <stdint.h>

/// What is read beyond the edges of x is zero, on all four sides: `top` and `left` say how many
/// zeros come before the first row and column, and oh and ow how far the windows go.
typedef struct conv_geometry {
    int64_t n, h, w, c; ///< x (n, h, w, c)
    int64_t oh, ow, k;  ///< y (n, oh, ow, k)
    int64_t kh, kw;     ///< weights (kh, kw, c, k)
    int64_t stride;     ///< of both axes
    int64_t top, left;  ///< zeros before the first row and column
} conv_geometry;

/// y = leaky(conv(x, w) + bias), where leaky(v) is v if v > 0 and slope * v otherwise: slope 1 for
/// none, 0 for a ReLU. `bias` (k) may be NULL.
void conv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                  const float *restrict bias, float slope, const conv_geometry *g, float *scratch);
/// dx such that <dx, x> = <dy, conv(x, w)> for every x.
void conv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                     const conv_geometry *g, float *scratch);
/// dw such that <dw, w> = <dy, conv(x, w)> for every w; added to dw if `accumulate`.
void conv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                       bool accumulate, const conv_geometry *g, float *scratch);
/// Floats of scratch, enough for any of these.
int64_t conv_scratch(const conv_geometry *g);

/// Weights made ready once for many calls, which then give the same bits sooner.
typedef enum conv_pass { CONV_PASS_FORWARD, CONV_PASS_GRAD_INPUT } conv_pass;
/// Floats; 0 where nothing is gained, and the calls below are not to be made.
int64_t conv_packed_size(const conv_geometry *g, conv_pass way);
void conv_pack_weights(float *restrict ready, const float *restrict w, const conv_geometry *g,
                       conv_pass way, float *scratch);
void conv_forward_packed(float *restrict y, const float *restrict x, const float *restrict ready,
                         const float *restrict bias, float slope, const conv_geometry *g,
                         float *scratch);
void conv_grad_input_packed(float *restrict dx, const float *restrict dy,
                            const float *restrict ready, const conv_geometry *g, float *scratch);

/// Nearest upsampling by two, then a 3x3 convolution of stride 1 that keeps the size, without ever
/// making the upsampled map. The geometry is that of the convolution: h = oh and w = ow are the
/// upsampled size, kh = kw = 3, stride = top = left = 1; x and dx are (n, h/2, w/2, c).
void upconv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                    const float *restrict bias, float slope, const conv_geometry *g,
                    float *scratch);
void upconv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                       const conv_geometry *g, float *scratch);
void upconv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                         bool accumulate, const conv_geometry *g, float *scratch);
int64_t upconv_scratch(const conv_geometry *g);

void conv_forward_reference(double *restrict y, const double *restrict x, const double *restrict w,
                            const double *restrict bias, double slope, const conv_geometry *g);
void conv_grad_input_reference(double *restrict dx, const double *restrict dy,
                               const double *restrict w, const conv_geometry *g);
void conv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                 const double *restrict dy, bool accumulate,
                                 const conv_geometry *g);
void upconv_forward_reference(double *restrict y, const double *restrict x,
                              const double *restrict w, const double *restrict bias, double slope,
                              const conv_geometry *g);
void upconv_grad_input_reference(double *restrict dx, const double *restrict dy,
                                 const double *restrict w, const conv_geometry *g);
void upconv_grad_weights_reference(double *restrict dw, const double *restrict x,
                                   const double *restrict dy, bool accumulate,
                                   const conv_geometry *g);

#endif
