// SPDX-License-Identifier: MIT
// Which way each convolution goes.
#include "engine/kernels/conv.h"

#include "engine/kernels/direct.h"

void conv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                  const float *restrict bias, float slope, const conv_geometry *g, float *scratch)
{
    direct_forward(y, x, w, bias, slope, g, scratch);
}

void conv_data(float *restrict dx, const float *restrict dy, const float *restrict w,
               const conv_geometry *g, float *scratch)
{
    direct_data(dx, dy, w, g, scratch);
}

void conv_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                  bool accumulate, const conv_geometry *g, float *scratch)
{
    direct_weights(dw, x, dy, accumulate, g, scratch);
}

void upconv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                    const float *restrict bias, float slope, const conv_geometry *g, float *scratch)
{
    direct_up_forward(y, x, w, bias, slope, g, scratch);
}

void upconv_data(float *restrict dx, const float *restrict dy, const float *restrict w,
                 const conv_geometry *g, float *scratch)
{
    direct_up_data(dx, dy, w, g, scratch);
}

void upconv_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                    bool accumulate, const conv_geometry *g, float *scratch)
{
    direct_up_weights(dw, x, dy, accumulate, g, scratch);
}

int64_t conv_scratch(const conv_geometry *g)
{
    return direct_scratch(g);
}

int64_t upconv_scratch(const conv_geometry *g)
{
    return direct_up_scratch(g);
}
