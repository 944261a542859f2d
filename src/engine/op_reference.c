// SPDX-License-Identifier: MIT
// Operations on graph nodes in double, in plain loops. Elementwise operations are in op_table.c,
// batches of small matrices in op_batched.c.
#include "engine/op_reference.h"

#include <string.h>

#include "engine/kernels/conv.h"
#include "engine/kernels/gemm.h"
#include "engine/op_layout.h"

void op_reference_constant(double *out, const graph_node *node, const double *const *in)
{
    (void)in;
    for (int64_t i = 0; i < shape_count(&node->shape); i++) out[i] = node->attr.value;
}

// Sum of all inputs, in their order.
void op_reference_add_n(double *out, const graph_node *node, const double *const *in)
{
    for (int64_t i = 0; i < shape_count(&node->shape); i++) {
        out[i] = 0.0;
        for (int j = 0; j < node->inputs; j++) out[i] += in[j][i];
    }
}

// (m, k) times (k, n); the inner size k is an axis of the first input.
void op_reference_matmul(double *out, const graph_node *node, const double *const *in)
{
    int64_t k = node->in[0]->shape.size[!node->attr.ta];
    gemm_reference(out, in[0], in[1], node->shape.size[0], node->shape.size[1], k, node->attr.ta,
                   node->attr.tb, false);
}

// ---- convolutions ----

void op_reference_conv(double *out, const graph_node *node, const double *const *in)
{
    conv_forward_reference(out, in[0], in[1], NULL, 1.0, &node->attr.conv);
}

void op_reference_conv_grad_input(double *out, const graph_node *node, const double *const *in)
{
    conv_grad_input_reference(out, in[0], in[1], &node->attr.conv);
}

void op_reference_conv_grad_weights(double *out, const graph_node *node, const double *const *in)
{
    conv_grad_weights_reference(out, in[0], in[1], false, &node->attr.conv);
}

void op_reference_upconv(double *out, const graph_node *node, const double *const *in)
{
    upconv_forward_reference(out, in[0], in[1], NULL, 1.0, &node->attr.conv);
}

void op_reference_upconv_grad_input(double *out, const graph_node *node, const double *const *in)
{
    upconv_grad_input_reference(out, in[0], in[1], &node->attr.conv);
}

void op_reference_upconv_grad_weights(double *out, const graph_node *node, const double *const *in)
{
    upconv_grad_weights_reference(out, in[0], in[1], false, &node->attr.conv);
}

// (n, h/2, w/2, c) -> (n, h, w, c): pixel (y, x) is input pixel (y/2, x/2).
void op_reference_upsample(double *out, const graph_node *node, const double *const *in)
{
    const int64_t *size = node->shape.size;
    for (int64_t i = 0; i < size[0]; i++)
        for (int64_t y = 0; y < size[1]; y++)
            for (int64_t x = 0; x < size[2]; x++)
                for (int64_t c = 0; c < size[3]; c++)
                    *out++ =
                        in[0][((i * (size[1] / 2) + y / 2) * (size[2] / 2) + x / 2) * size[3] + c];
}

// (n, h, w, c) -> (n, h/2, w/2, c): sums of 2x2 pixels.
void op_reference_sum_pool2(double *out, const graph_node *node, const double *const *in)
{
    const int64_t *size = node->in[0]->shape.size;
    memset(out, 0, (size_t)shape_count(&node->shape) * sizeof *out);
    for (int64_t i = 0; i < size[0]; i++)
        for (int64_t y = 0; y < size[1]; y++)
            for (int64_t x = 0; x < size[2]; x++)
                for (int64_t c = 0; c < size[3]; c++)
                    out[((i * (size[1] / 2) + y / 2) * (size[2] / 2) + x / 2) * size[3] + c] +=
                        in[0][((i * size[1] + y) * size[2] + x) * size[3] + c];
}

void op_reference_reshape(double *out, const graph_node *node, const double *const *in)
{
    memcpy(out, in[0], (size_t)shape_count(&node->shape) * sizeof *out);
}

// Below: o, m and i are indices before, along and after the axis.
void op_reference_slice(double *out, const graph_node *node, const double *const *in)
{
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, 1);
    int64_t whole = node->in[0]->shape.size[node->attr.axis];
    for (int64_t o = 0; o < layout.outer; o++)
        for (int64_t m = 0; m < layout.middle; m++)
            for (int64_t i = 0; i < layout.inner; i++)
                *out++ = in[0][(o * whole + node->attr.start + m) * layout.inner + i];
}

// Zero outside start .. start+part-1.
void op_reference_pad_slice(double *out, const graph_node *node, const double *const *in)
{
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, 1);
    int64_t part = node->in[0]->shape.size[node->attr.axis], start = node->attr.start;
    for (int64_t o = 0; o < layout.outer; o++)
        for (int64_t m = 0; m < layout.middle; m++)
            for (int64_t i = 0; i < layout.inner; i++)
                *out++ = m >= start && m < start + part
                             ? in[0][(o * part + m - start) * layout.inner + i]
                             : 0.0;
}

// The inputs one after the other along the axis.
void op_reference_concat(double *out, const graph_node *node, const double *const *in)
{
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, 1);
    for (int64_t o = 0; o < layout.outer; o++)
        for (int j = 0; j < node->inputs; j++) {
            int64_t part = node->in[j]->shape.size[node->attr.axis] * layout.inner;
            for (int64_t i = 0; i < part; i++) *out++ = in[j][o * part + i];
        }
}

// The same for every index m of the new axes.
void op_reference_broadcast(double *out, const graph_node *node, const double *const *in)
{
    op_layout layout = op_layout_along(&node->shape, node->attr.axis, node->attr.axes);
    for (int64_t o = 0; o < layout.outer; o++)
        for (int64_t m = 0; m < layout.middle; m++)
            for (int64_t i = 0; i < layout.inner; i++) *out++ = in[0][o * layout.inner + i];
}

// Sum over m, in order.
void op_reference_sum(double *out, const graph_node *node, const double *const *in)
{
    op_layout layout = op_layout_along(&node->in[0]->shape, node->attr.axis, node->attr.axes);
    for (int64_t o = 0; o < layout.outer; o++)
        for (int64_t i = 0; i < layout.inner; i++) {
            double sum = 0.0;
            for (int64_t m = 0; m < layout.middle; m++)
                sum += in[0][(o * layout.middle + m) * layout.inner + i];
            *out++ = sum;
        }
}
