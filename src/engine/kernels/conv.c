// SPDX-License-Identifier: MIT
// Which way each convolution goes: by Winograd's algorithm where that is faster, else directly.
#include "engine/kernels/conv.h"

#include "engine/kernels/direct.h"
#include "engine/kernels/winograd.h"

void conv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                  const float *restrict bias, float slope, const conv_geometry *g, float *scratch)
{
    if (winograd_suits(g)) winograd_forward(y, x, w, bias, slope, g, scratch);
    else direct_forward(y, x, w, bias, slope, g, scratch);
}

void conv_data(float *restrict dx, const float *restrict dy, const float *restrict w,
               const conv_geometry *g, float *scratch)
{
    if (winograd_suits(g)) winograd_data(dx, dy, w, g, scratch);
    else direct_data(dx, dy, w, g, scratch);
}

void conv_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                  bool accumulate, const conv_geometry *g, float *scratch)
{
    if (winograd_suits(g)) winograd_weights(dw, x, dy, accumulate, g, scratch);
    else direct_weights(dw, x, dy, accumulate, g, scratch);
}

void upconv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                    const float *restrict bias, float slope, const conv_geometry *g, float *scratch)
{
    if (winograd_up_suits(g)) winograd_up_forward(y, x, w, bias, slope, g, scratch);
    else direct_up_forward(y, x, w, bias, slope, g, scratch);
}

void upconv_data(float *restrict dx, const float *restrict dy, const float *restrict w,
                 const conv_geometry *g, float *scratch)
{
    if (winograd_up_suits(g)) winograd_up_data(dx, dy, w, g, scratch);
    else direct_up_data(dx, dy, w, g, scratch);
}

void upconv_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                    bool accumulate, const conv_geometry *g, float *scratch)
{
    if (winograd_up_suits(g)) winograd_up_weights(dw, x, dy, accumulate, g, scratch);
    else direct_up_weights(dw, x, dy, accumulate, g, scratch);
}

int64_t conv_scratch(const conv_geometry *g)
{
    return winograd_suits(g) ? winograd_scratch(g) : direct_scratch(g);
}

int64_t upconv_scratch(const conv_geometry *g)
{
    return winograd_up_suits(g) ? winograd_up_scratch(g) : direct_up_scratch(g);
}
