// SPDX-License-Identifier: MIT
// Which way each convolution goes: by Winograd's algorithm where that is faster, else directly.
#include "engine/kernels/conv.h"

#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_winograd.h"

// Its tiles of 4x4 results must not lie idle, and the transformed weights must be used often
// enough.
static bool tiles_fit(int64_t n, int64_t h, int64_t w, int64_t enough)
{
    const int64_t tiles = (h + 3) / 4 * ((w + 3) / 4);
    return n * tiles >= enough && 2 * 16 * tiles <= 3 * h * w;
}

// From `in` channels to `out`: the transforms must be little beside the products.
static bool suits(const conv_geometry *g, int64_t h, int64_t w, int64_t in, int64_t out)
{
    return g->kh == 3 && g->kw == 3 && g->stride == 1 && in >= 8 && out >= 12 &&
           tiles_fit(g->n, h, w, 8);
}

static bool suits_weights(const conv_geometry *g)
{
    return g->kh == 3 && g->kw == 3 && g->stride == 1 && g->c >= 8 && g->k >= 8 &&
           tiles_fit(g->n, g->oh, g->ow, 8);
}

static bool suits_up(const conv_geometry *g, int64_t in, int64_t out)
{
    return in >= 8 && out >= 12 && tiles_fit(g->n, g->h / 2, g->w / 2, 16);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool by_winograd(const conv_geometry *g, conv_pass way)
{
    return way == CONV_PASS_FORWARD ? suits(g, g->oh, g->ow, g->c, g->k)
                                    : suits(g, g->h, g->w, g->k, g->c);
}

int64_t conv_packed_size(const conv_geometry *g, conv_pass way)
{
    return by_winograd(g, way) ? conv_winograd_packed_size(g, way) : 0;
}

void conv_pack_weights(float *restrict ready, const float *restrict w, const conv_geometry *g,
                       conv_pass way, float *scratch)
{
    conv_winograd_pack_weights(ready, w, g, way, scratch);
}

void conv_forward_packed(float *restrict y, const float *restrict x, const float *restrict ready,
                         const float *restrict bias, float slope, const conv_geometry *g,
                         float *scratch)
{
    conv_winograd_forward(y, x, ready, bias, slope, g, scratch);
}

void conv_grad_input_packed(float *restrict dx, const float *restrict dy,
                            const float *restrict ready, const conv_geometry *g, float *scratch)
{
    conv_winograd_grad_input(dx, dy, ready, g, scratch);
}

void conv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                  const float *restrict bias, float slope, const conv_geometry *g, float *scratch)
{
    const int64_t size = conv_packed_size(g, CONV_PASS_FORWARD);
    if (!size) {
        conv_direct_forward(y, x, w, bias, slope, g, scratch);
        return;
    }
    conv_winograd_pack_weights(scratch, w, g, CONV_PASS_FORWARD, scratch + size);
    conv_winograd_forward(y, x, scratch, bias, slope, g, scratch + size);
}

void conv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                     const conv_geometry *g, float *scratch)
{
    const int64_t size = conv_packed_size(g, CONV_PASS_GRAD_INPUT);
    if (!size) {
        conv_direct_grad_input(dx, dy, w, g, scratch);
        return;
    }
    conv_winograd_pack_weights(scratch, w, g, CONV_PASS_GRAD_INPUT, scratch + size);
    conv_winograd_grad_input(dx, dy, scratch, g, scratch + size);
}

void conv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                       bool accumulate, const conv_geometry *g, float *scratch)
{
    if (suits_weights(g)) conv_winograd_grad_weights(dw, x, dy, accumulate, g, scratch);
    else conv_direct_grad_weights(dw, x, dy, accumulate, g, scratch);
}

void upconv_forward(float *restrict y, const float *restrict x, const float *restrict w,
                    const float *restrict bias, float slope, const conv_geometry *g, float *scratch)
{
    if (suits_up(g, g->c, g->k)) conv_winograd_upsample_forward(y, x, w, bias, slope, g, scratch);
    else conv_direct_upsample_forward(y, x, w, bias, slope, g, scratch);
}

void upconv_grad_input(float *restrict dx, const float *restrict dy, const float *restrict w,
                       const conv_geometry *g, float *scratch)
{
    if (suits_up(g, g->k, g->c)) conv_winograd_upsample_grad_input(dx, dy, w, g, scratch);
    else conv_direct_upsample_grad_input(dx, dy, w, g, scratch);
}

void upconv_grad_weights(float *restrict dw, const float *restrict x, const float *restrict dy,
                         bool accumulate, const conv_geometry *g, float *scratch)
{
    if (suits_up(g, g->c, g->k + 4))
        conv_winograd_upsample_grad_weights(dw, x, dy, accumulate, g, scratch);
    else conv_direct_upsample_grad_weights(dw, x, dy, accumulate, g, scratch);
}

int64_t conv_scratch(const conv_geometry *g)
{
    const bool winograd = g->kh == 3 && g->kw == 3 && g->stride == 1;
    return most(conv_direct_scratch(g), winograd ? conv_winograd_scratch(g) : 0);
}

int64_t upconv_scratch(const conv_geometry *g)
{
    return most(conv_direct_upsample_scratch(g), conv_winograd_upsample_scratch(g));
}
