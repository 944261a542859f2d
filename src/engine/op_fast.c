// SPDX-License-Identifier: MIT
// Operations on graph nodes in float: adapters from nodes to the kernels of engine/kernels, and
// copies.
#include "engine/op_fast.h"

#include <string.h>

#include "engine/copy_floats.h"
#include "engine/fused_loop.h"
#include "engine/kernels/conv.h"
#include "engine/kernels/gemm.h"
#include "engine/op_layout.h"
#include "engine/plan.h"

static void clear_floats(float *out, int64_t count)
{
    memset(out, 0, (size_t)count * sizeof *out);
}

// The constant, once per element.
void op_fast_constant(float *out, const graph_node *node, const float *const *in, bool accumulate,
                      float *scratch)
{
    (void)in, (void)accumulate, (void)scratch;
    for (int64_t i = 0; i < shape_count(&node->shape); i++) out[i] = (float)node->attr.value;
}

// Length of the sums of a matrix product.
static int64_t inner_size(const graph_node *node)
{
    return node->in[0]->shape.size[!node->attr.ta];
}

// (m, k) times (k, n), either stored transposed.
void op_fast_matmul(float *out, const graph_node *node, const float *const *in, bool accumulate,
                    float *scratch)
{
    gemm_float(out, in[0], in[1], node->shape.size[0], node->shape.size[1], inner_size(node),
               node->attr.ta, node->attr.tb, accumulate, scratch);
}

int64_t op_fast_matmul_scratch(const graph_node *node)
{
    return gemm_scratch(node->shape.size[0], node->shape.size[1], inner_size(node), node->attr.ta,
                        node->attr.tb);
}

// Few columns are computed as dot products, and a short sum gains nothing.
int64_t op_fast_matmul_packed_size(const graph_node *node)
{
    const int64_t n = node->shape.size[1], k = inner_size(node);
    return node->attr.ta || n < 8 || k < 8 ? 0 : gemm_packed_size(n, k);
}

void op_fast_matmul_pack(float *packed, const graph_node *node, const float *b)
{
    gemm_pack(packed, b, node->shape.size[1], inner_size(node), node->attr.tb);
}

void op_fast_matmul_packed(float *out, const graph_node *node, const float *a, const float *packed,
                           bool accumulate)
{
    gemm_float_packed(out, a, packed, node->shape.size[0], node->shape.size[1], inner_size(node),
                      accumulate);
}

static gemm_sum_sizes get_sum_sizes(const graph_node *node)
{
    return (gemm_sum_sizes){node->shape.size[0], node->shape.size[1], inner_size(node)};
}

void op_fast_matmul_sum(float *out, const graph_node *node, const float *const *in, int parts,
                        bool accumulate, float *scratch)
{
    const gemm_sum_sizes size = get_sum_sizes(node);
    const float *a[PLAN_MAX_PARTS], *b[PLAN_MAX_PARTS];
    for (int i = 0; i < parts; i++) a[i] = in[2 * i], b[i] = in[2 * i + 1];
    gemm_float_sum(out, a, b, parts, &size, accumulate, scratch);
}

int64_t op_fast_matmul_sum_scratch(const graph_node *node, int parts)
{
    const gemm_sum_sizes size = get_sum_sizes(node);
    return gemm_sum_scratch(parts, &size);
}

int64_t op_fast_conv_scratch(const graph_node *node)
{
    return conv_scratch(&node->attr.conv);
}

int64_t op_fast_upconv_scratch(const graph_node *node)
{
    return upconv_scratch(&node->attr.conv);
}

// ---- convolutions: in[0] and in[1] in the order of the kernel ----

// Only without bias and leaky ReLU; with them instance.c calls the kernel itself.
void op_fast_conv(float *out, const graph_node *node, const float *const *in, bool accumulate,
                  float *scratch)
{
    (void)accumulate;
    conv_forward(out, in[0], in[1], NULL, 1.0f, &node->attr.conv, scratch);
}

// dx from dy and w.
void op_fast_conv_grad_input(float *out, const graph_node *node, const float *const *in,
                             bool accumulate, float *scratch)
{
    (void)accumulate;
    conv_grad_input(out, in[0], in[1], &node->attr.conv, scratch);
}

// dw from x and dy.
void op_fast_conv_grad_weights(float *out, const graph_node *node, const float *const *in,
                               bool accumulate, float *scratch)
{
    conv_grad_weights(out, in[0], in[1], accumulate, &node->attr.conv, scratch);
}

void op_fast_upconv(float *out, const graph_node *node, const float *const *in, bool accumulate,
                    float *scratch)
{
    (void)accumulate;
    upconv_forward(out, in[0], in[1], NULL, 1.0f, &node->attr.conv, scratch);
}

void op_fast_upconv_grad_input(float *out, const graph_node *node, const float *const *in,
                               bool accumulate, float *scratch)
{
    (void)accumulate;
    upconv_grad_input(out, in[0], in[1], &node->attr.conv, scratch);
}

void op_fast_upconv_grad_weights(float *out, const graph_node *node, const float *const *in,
                                 bool accumulate, float *scratch)
{
    upconv_grad_weights(out, in[0], in[1], accumulate, &node->attr.conv, scratch);
}

// One row of pixels is doubled across, then copied down.
void op_fast_upsample(float *out, const graph_node *node, const float *const *in, bool accumulate,
                      float *scratch)
{
    (void)accumulate, (void)scratch;
    const int64_t *size = node->shape.size;
    int64_t c = size[3], row = size[2] * c;
    for (int64_t y = 0; y < size[0] * size[1] / 2; y++) {
        float *first = out + 2 * y * row;
        for (int64_t x = 0; x < size[2] / 2; x++) {
            copy_floats(first + 2 * x * c, in[0] + (y * (size[2] / 2) + x) * c, c);
            copy_floats(first + (2 * x + 1) * c, in[0] + (y * (size[2] / 2) + x) * c, c);
        }
        copy_floats(first + row, first, row);
    }
}

// Sums of 2x2 pixels, in pairs: (left + right) of the upper row plus that of the lower.
void op_fast_sum_pool2(float *out, const graph_node *node, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    const int64_t *size = node->shape.size;
    int64_t c = size[3], row = 2 * size[2] * c;
    for (int64_t y = 0; y < size[0] * size[1]; y++)
        for (int64_t x = 0; x < size[2]; x++) {
            const float *a = in[0] + 2 * y * row + 2 * x * c;
            for (int64_t i = 0; i < c; i++)
                *out++ = (a[i] + a[c + i]) + (a[row + i] + a[row + c + i]);
        }
}

void op_fast_reshape(float *out, const graph_node *node, const float *const *in, bool accumulate,
                     float *scratch)
{
    (void)accumulate, (void)scratch;
    copy_floats(out, in[0], shape_count(&node->shape));
}

// ---- axes: one copy per contiguous run ----

// Rows of `part` elements out of rows of `whole`.
void op_fast_slice(float *out, const graph_node *node, const float *const *in, bool accumulate,
                   float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, 1);
    int64_t whole = node->in[0]->shape.size[node->attr.axis] * layout.inner,
            part = layout.middle * layout.inner;
    for (int64_t o = 0; o < layout.outer; o++)
        copy_floats(out + o * part, in[0] + o * whole + node->attr.start * layout.inner, part);
}

// Rows of `part` elements into rows of `whole`, with zeros before and after.
void op_fast_pad_slice(float *out, const graph_node *node, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, 1);
    int64_t whole = layout.middle * layout.inner,
            part = node->in[0]->shape.size[node->attr.axis] * layout.inner;
    int64_t before = node->attr.start * layout.inner;
    for (int64_t o = 0; o < layout.outer; o++, out += whole) {
        clear_floats(out, before);
        copy_floats(out + before, in[0] + o * part, part);
        clear_floats(out + before + part, whole - before - part);
    }
}

// For every index before the axis, the rows of all inputs one after the other.
void op_fast_concat(float *out, const graph_node *node, const float *const *in, bool accumulate,
                    float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, 1);
    const int64_t whole = layout.middle * layout.inner;
    for (int j = 0; j < node->inputs; j++) {
        const int64_t part = node->in[j]->shape.size[node->attr.axis] * layout.inner;
        for (int64_t o = 0; o < layout.outer; o++)
            copy_floats(out + o * whole, in[j] + o * part, part);
        out += part;
    }
}

// Every run of `inner` elements, `middle` times.
void op_fast_broadcast(float *out, const graph_node *node, const float *const *in, bool accumulate,
                       float *scratch)
{
    (void)accumulate, (void)scratch;
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, node->attr.axes);
    for (int64_t o = 0; o < layout.outer; o++)
        for (int64_t m = 0; m < layout.middle; m++, out += layout.inner)
            if (layout.inner == 1) *out = in[0][o];
            else copy_floats(out, in[0] + o * layout.inner, layout.inner);
}

// Over all axes up to the last: one long sum. Otherwise: sum of the rows of a matrix.
void op_fast_sum(float *out, const graph_node *node, const float *const *in, bool accumulate,
                 float *scratch)
{
    (void)scratch;
    op_layout layout = op_layout_along(&node->in[0]->shape, node->attr.axis, node->attr.axes);
    for (int64_t o = 0; o < layout.outer; o++) {
        const float *x = in[0] + o * layout.middle * layout.inner;
        float *y = out + o * layout.inner;
        if (layout.inner == 1) {
            float sum = fused_loop_sum(x, layout.middle);
            *y = accumulate ? *y + sum : sum;
            continue;
        }
        if (!accumulate) clear_floats(y, layout.inner);
        fused_loop_sum_rows(y, x, layout.middle, layout.inner);
    }
}
