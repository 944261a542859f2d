// SPDX-License-Identifier: MIT
// Chooses the algorithm of each convolution: Winograd's where that is faster, else the direct one.
#include "engine/kernels/conv.h"

#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_winograd.h"

// Winograd's algorithm computes tiles of 4x4 results. Not too many of them may be outside the
// image, and there must be enough tiles to pay for the transform of the weights.
static bool tiles_fit(int64_t n, int64_t h, int64_t w, int64_t min_tiles)
{
    const int64_t tiles = (h + 3) / 4 * ((w + 3) / 4);
    return n * tiles >= min_tiles && 2 * 16 * tiles <= 3 * h * w;
}

// From `in` channels to `out`: enough of them that the transforms cost little against the products.
static bool winograd_suits(const conv_geometry *conv, int64_t h, int64_t w, int64_t in, int64_t out)
{
    return conv->kh == 3 && conv->kw == 3 && conv->stride == 1 && in >= 8 && out >= 12 &&
           tiles_fit(conv->n, h, w, 8);
}

// The gradient by the weights: both numbers of channels matter alike.
static bool winograd_suits_weights(const conv_geometry *conv)
{
    return conv->kh == 3 && conv->kw == 3 && conv->stride == 1 && conv->c >= 8 && conv->k >= 8 &&
           tiles_fit(conv->n, conv->oh, conv->ow, 8);
}

// After upsampling: tiles of the four 2x2 convolutions, which have half the height and width.
static bool winograd_suits_upsample(const conv_geometry *conv, int64_t in, int64_t out)
{
    return in >= 8 && out >= 12 && tiles_fit(conv->n, conv->h / 2, conv->w / 2, 16);
}

static int64_t max_size(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Forward reads c channels and writes k; the gradient by the input goes the other way.
static bool uses_winograd(const conv_geometry *conv, conv_pass pass)
{
    return pass == CONV_PASS_FORWARD ? winograd_suits(conv, conv->oh, conv->ow, conv->c, conv->k)
                                     : winograd_suits(conv, conv->h, conv->w, conv->k, conv->c);
}

// Only Winograd's algorithm has weights that are worth packing ahead.
int64_t conv_packed_size(const conv_geometry *conv, conv_pass pass)
{
    return uses_winograd(conv, pass) ? conv_winograd_packed_size(conv, pass) : 0;
}

void conv_pack_weights(float *restrict packed, const float *restrict w, const conv_geometry *conv,
                       conv_pass pass, float *scratch)
{
    conv_winograd_pack_weights(packed, w, conv, pass, scratch);
}

void conv_forward_packed(float *restrict y, const float *restrict x, const float *restrict packed,
                         const float *restrict bias, float slope, const conv_geometry *conv,
                         float *scratch)
{
    conv_winograd_forward(y, x, packed, bias, slope, conv, scratch);
}

void conv_grad_input_packed(float *restrict dx, const float *restrict dy,
                            const float *restrict packed, const conv_geometry *conv, float *scratch)
{
    conv_winograd_grad_input(dx, dy, packed, conv, scratch);
}

void conv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                  const float *restrict bias, float slope, const conv_geometry *conv,
                  float *scratch)
{
    const int64_t size = conv_packed_size(conv, CONV_PASS_FORWARD);
    if (!size) {
        conv_direct_forward(y, x, w, bias, slope, conv, scratch);
        return;
    }
    // Transformed weights first in scratch, then what the convolution itself needs.
    conv_winograd_pack_weights(scratch, w, conv, CONV_PASS_FORWARD, scratch + size);
    conv_winograd_forward(y, x, scratch, bias, slope, conv, scratch + size);
}

// Without weights packed ahead they are transformed here, at every call.
void conv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                     const conv_geometry *conv, float *scratch)
{
    const int64_t size = conv_packed_size(conv, CONV_PASS_GRAD_INPUT);
    if (!size) {
        conv_direct_grad_input(dx, dy, w, conv, scratch);
        return;
    }
    conv_winograd_pack_weights(scratch, w, conv, CONV_PASS_GRAD_INPUT, scratch + size);
    conv_winograd_grad_input(dx, dy, scratch, conv, scratch + size);
}

void conv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                       bool accumulate, const conv_geometry *conv, float *scratch)
{
    if (winograd_suits_weights(conv))
        conv_winograd_grad_weights(dw, x, dy, accumulate, conv, scratch);
    else conv_direct_grad_weights(dw, x, dy, accumulate, conv, scratch);
}

void upconv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                    const float *restrict bias, float slope, const conv_geometry *conv,
                    float *scratch)
{
    if (winograd_suits_upsample(conv, conv->c, conv->k))
        conv_winograd_upsample_forward(y, x, w, bias, slope, conv, scratch);
    else conv_direct_upsample_forward(y, x, w, bias, slope, conv, scratch);
}

void upconv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                       const conv_geometry *conv, float *scratch)
{
    if (winograd_suits_upsample(conv, conv->k, conv->c))
        conv_winograd_upsample_grad_input(dx, dy, w, conv, scratch);
    else conv_direct_upsample_grad_input(dx, dy, w, conv, scratch);
}

void upconv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                         bool accumulate, const conv_geometry *conv, float *scratch)
{
    // The gradient by the weights pays off with four channels fewer.
    if (winograd_suits_upsample(conv, conv->c, conv->k + 4))
        conv_winograd_upsample_grad_weights(dw, x, dy, accumulate, conv, scratch);
    else conv_direct_upsample_grad_weights(dw, x, dy, accumulate, conv, scratch);
}

// ---- scratch memory: enough for every pass, whichever algorithm it uses ----

int64_t conv_scratch(const conv_geometry *conv)
{
    const bool winograd = conv->kh == 3 && conv->kw == 3 && conv->stride == 1;
    return max_size(conv_direct_scratch(conv), winograd ? conv_winograd_scratch(conv) : 0);
}

int64_t upconv_scratch(const conv_geometry *conv)
{
    return max_size(conv_direct_upsample_scratch(conv), conv_winograd_upsample_scratch(conv));
}
