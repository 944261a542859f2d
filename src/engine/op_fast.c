// SPDX-License-Identifier: MIT
#include "engine/op_fast.h"

#include <string.h>

#include "engine/fused_loop.h"
#include "engine/kernels/conv.h"
#include "engine/kernels/gemm.h"
#include "engine/op_layout.h"

static void copy(float *out, const float *in, int64_t n)
{
    memcpy(out, in, (size_t)n * sizeof *out);
}

static void clear(float *out, int64_t n)
{
    memset(out, 0, (size_t)n * sizeof *out);
}

void op_fast_constant(float *out, const graph_node *n, const float *const *in, bool accumulate,
                      float *scratch)
{
    (void)in, (void)accumulate, (void)scratch;
    for (int64_t i = 0; i < shape_count(&n->shape); i++) out[i] = (float)n->attr.value;
}

static int64_t inner_of(const graph_node *n)
{
    return n->in[0]->shape.size[!n->attr.ta];
}

void op_fast_matmul(float *out, const graph_node *n, const float *const *in, bool accumulate,
                    float *scratch)
{
    gemm_float(out, in[0], in[1], n->shape.size[0], n->shape.size[1], inner_of(n), n->attr.ta,
               n->attr.tb, accumulate, scratch);
}

int64_t op_fast_matmul_scratch(const graph_node *n)
{
    return gemm_scratch(n->shape.size[0], n->shape.size[1], inner_of(n), n->attr.ta, n->attr.tb);
}

int64_t op_fast_conv_scratch(const graph_node *n)
{
    return conv_scratch(&n->attr.conv);
}

int64_t op_fast_upconv_scratch(const graph_node *n)
{
    return upconv_scratch(&n->attr.conv);
}

void op_fast_conv(float *out, const graph_node *n, const float *const *in, bool accumulate,
                  float *scratch)
{
    (void)accumulate;
    conv_forward(out, in[0], in[1], NULL, 1.0f, &n->attr.conv, scratch);
}

void op_fast_conv_grad_input(float *out, const graph_node *n, const float *const *in,
                             bool accumulate, float *scratch)
{
    (void)accumulate;
    conv_grad_input(out, in[0], in[1], &n->attr.conv, scratch);
}

void op_fast_conv_grad_weights(float *out, const graph_node *n, const float *const *in,
                               bool accumulate, float *scratch)
{
    conv_grad_weights(out, in[0], in[1], accumulate, &n->attr.conv, scratch);
}

void op_fast_upconv(float *out, const graph_node *n, const float *const *in, bool accumulate,
                    float *scratch)
{
    (void)accumulate;
    upconv_forward(out, in[0], in[1], NULL, 1.0f, &n->attr.conv, scratch);
}

void op_fast_upconv_grad_input(float *out, const graph_node *n, const float *const *in,
                               bool accumulate, float *scratch)
{
    (void)accumulate;
    upconv_grad_input(out, in[0], in[1], &n->attr.conv, scratch);
}

void op_fast_upconv_grad_weights(float *out, const graph_node *n, const float *const *in,
                                 bool accumulate, float *scratch)
{
    upconv_grad_weights(out, in[0], in[1], accumulate, &n->attr.conv, scratch);
}

void op_fast_upsample(float *out, const graph_node *n, const float *const *in, bool accumulate,
                      float *scratch)
{
    (void)accumulate, (void)scratch;
    const int64_t *s = n->shape.size;
    int64_t c = s[3], row = s[2] * c;
    for (int64_t y = 0; y < s[0] * s[1] / 2; y++) {
        float *first = out + 2 * y * row;
        for (int64_t x = 0; x < s[2] / 2; x++) {
            copy(first + 2 * x * c, in[0] + (y * (s[2] / 2) + x) * c, c);
            copy(first + (2 * x + 1) * c, in[0] + (y * (s[2] / 2) + x) * c, c);
        }
        copy(first + row, first, row);
    }
}

void op_fast_sum_pool2(float *out, const graph_node *n, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    const int64_t *s = n->shape.size;
    int64_t c = s[3], row = 2 * s[2] * c;
    for (int64_t y = 0; y < s[0] * s[1]; y++)
        for (int64_t x = 0; x < s[2]; x++) {
            const float *a = in[0] + 2 * y * row + 2 * x * c;
            for (int64_t i = 0; i < c; i++)
                *out++ = (a[i] + a[c + i]) + (a[row + i] + a[row + c + i]);
        }
}

void op_fast_reshape(float *out, const graph_node *n, const float *const *in, bool accumulate,
                     float *scratch)
{
    (void)accumulate, (void)scratch;
    copy(out, in[0], shape_count(&n->shape));
}

void op_fast_slice(float *out, const graph_node *n, const float *const *in, bool accumulate,
                   float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout l = op_layout_along(&n->shape, n->attr.axis, 1);
    int64_t whole = n->in[0]->shape.size[n->attr.axis] * l.inner, part = l.middle * l.inner;
    for (int64_t o = 0; o < l.outer; o++)
        copy(out + o * part, in[0] + o * whole + n->attr.start * l.inner, part);
}

void op_fast_pad_slice(float *out, const graph_node *n, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout l = op_layout_along(&n->shape, n->attr.axis, 1);
    int64_t whole = l.middle * l.inner, part = n->in[0]->shape.size[n->attr.axis] * l.inner;
    int64_t before = n->attr.start * l.inner;
    for (int64_t o = 0; o < l.outer; o++, out += whole) {
        clear(out, before);
        copy(out + before, in[0] + o * part, part);
        clear(out + before + part, whole - before - part);
    }
}

void op_fast_concat(float *out, const graph_node *n, const float *const *in, bool accumulate,
                    float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout l = op_layout_along(&n->shape, n->attr.axis, 1);
    for (int64_t o = 0; o < l.outer; o++)
        for (int j = 0; j < n->inputs; j++) {
            int64_t part = n->in[j]->shape.size[n->attr.axis] * l.inner;
            copy(out, in[j] + o * part, part);
            out += part;
        }
}

void op_fast_broadcast(float *out, const graph_node *n, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout l = op_layout_along(&n->shape, n->attr.axis, n->attr.axes);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t m = 0; m < l.middle; m++, out += l.inner)
            if (l.inner == 1) *out = in[0][o];
            else copy(out, in[0] + o * l.inner, l.inner);
}

void op_fast_sum(float *out, const graph_node *n, const float *const *in, bool accumulate,
                 float *scratch)
{
    (void)scratch;
    op_layout l = op_layout_along(&n->in[0]->shape, n->attr.axis, n->attr.axes);
    for (int64_t o = 0; o < l.outer; o++) {
        const float *x = in[0] + o * l.middle * l.inner;
        float *y = out + o * l.inner;
        if (l.inner == 1) {
            float sum = fused_loop_sum(x, l.middle);
            *y = accumulate ? *y + sum : sum;
            continue;
        }
        if (!accumulate) clear(y, l.inner);
        fused_loop_sum_rows(y, x, l.middle, l.inner);
    }
}

// In squares, so that both sides stay in the first cache.
void op_fast_transpose(float *out, const graph_node *n, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    enum { SIDE = 16 };
    int64_t rows = n->shape.size[0], columns = n->shape.size[1];
    for (int64_t r0 = 0; r0 < rows; r0 += SIDE)
        for (int64_t c0 = 0; c0 < columns; c0 += SIDE)
            for (int64_t r = r0; r < rows && r < r0 + SIDE; r++)
                for (int64_t c = c0; c < columns && c < c0 + SIDE; c++)
                    out[r * columns + c] = in[0][c * rows + r];
}
