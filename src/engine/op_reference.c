// SPDX-License-Identifier: MIT
#include "engine/op_reference.h"

#include <string.h>

#include "engine/kernels/conv.h"
#include "engine/kernels/gemm.h"
#include "engine/op_layout.h"

void op_reference_constant(double *out, const graph_node *n, const double *const *in)
{
    (void)in;
    for (int64_t i = 0; i < shape_count(&n->shape); i++) out[i] = n->attr.value;
}

void op_reference_add_n(double *out, const graph_node *n, const double *const *in)
{
    for (int64_t i = 0; i < shape_count(&n->shape); i++) {
        out[i] = 0.0;
        for (int j = 0; j < n->inputs; j++) out[i] += in[j][i];
    }
}

void op_reference_matmul(double *out, const graph_node *n, const double *const *in)
{
    int64_t k = n->in[0]->shape.size[!n->attr.ta];
    gemm_reference(out, in[0], in[1], n->shape.size[0], n->shape.size[1], k, n->attr.ta, n->attr.tb,
                   false);
}

void op_reference_conv(double *out, const graph_node *n, const double *const *in)
{
    conv_forward_reference(out, in[0], in[1], NULL, 1.0, &n->attr.conv);
}

void op_reference_conv_grad_input(double *out, const graph_node *n, const double *const *in)
{
    conv_grad_input_reference(out, in[0], in[1], &n->attr.conv);
}

void op_reference_conv_grad_weights(double *out, const graph_node *n, const double *const *in)
{
    conv_grad_weights_reference(out, in[0], in[1], false, &n->attr.conv);
}

void op_reference_upconv(double *out, const graph_node *n, const double *const *in)
{
    upconv_forward_reference(out, in[0], in[1], NULL, 1.0, &n->attr.conv);
}

void op_reference_upconv_grad_input(double *out, const graph_node *n, const double *const *in)
{
    upconv_grad_input_reference(out, in[0], in[1], &n->attr.conv);
}

void op_reference_upconv_grad_weights(double *out, const graph_node *n, const double *const *in)
{
    upconv_grad_weights_reference(out, in[0], in[1], false, &n->attr.conv);
}

void op_reference_upsample(double *out, const graph_node *n, const double *const *in)
{
    const int64_t *s = n->shape.size;
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t y = 0; y < s[1]; y++)
            for (int64_t x = 0; x < s[2]; x++)
                for (int64_t c = 0; c < s[3]; c++)
                    *out++ = in[0][((i * (s[1] / 2) + y / 2) * (s[2] / 2) + x / 2) * s[3] + c];
}

void op_reference_sum_pool2(double *out, const graph_node *n, const double *const *in)
{
    const int64_t *s = n->in[0]->shape.size;
    memset(out, 0, (size_t)shape_count(&n->shape) * sizeof *out);
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t y = 0; y < s[1]; y++)
            for (int64_t x = 0; x < s[2]; x++)
                for (int64_t c = 0; c < s[3]; c++)
                    out[((i * (s[1] / 2) + y / 2) * (s[2] / 2) + x / 2) * s[3] + c] +=
                        in[0][((i * s[1] + y) * s[2] + x) * s[3] + c];
}

void op_reference_reshape(double *out, const graph_node *n, const double *const *in)
{
    memcpy(out, in[0], (size_t)shape_count(&n->shape) * sizeof *out);
}

void op_reference_slice(double *out, const graph_node *n, const double *const *in)
{
    op_layout l = op_layout_along(&n->shape, n->attr.axis, 1);
    int64_t whole = n->in[0]->shape.size[n->attr.axis];
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t m = 0; m < l.middle; m++)
            for (int64_t i = 0; i < l.inner; i++)
                *out++ = in[0][(o * whole + n->attr.start + m) * l.inner + i];
}

void op_reference_pad_slice(double *out, const graph_node *n, const double *const *in)
{
    op_layout l = op_layout_along(&n->shape, n->attr.axis, 1);
    int64_t part = n->in[0]->shape.size[n->attr.axis], start = n->attr.start;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t m = 0; m < l.middle; m++)
            for (int64_t i = 0; i < l.inner; i++)
                *out++ = m >= start && m < start + part
                             ? in[0][(o * part + m - start) * l.inner + i]
                             : 0.0;
}

void op_reference_concat(double *out, const graph_node *n, const double *const *in)
{
    op_layout l = op_layout_along(&n->shape, n->attr.axis, 1);
    for (int64_t o = 0; o < l.outer; o++)
        for (int j = 0; j < n->inputs; j++) {
            int64_t part = n->in[j]->shape.size[n->attr.axis] * l.inner;
            for (int64_t i = 0; i < part; i++) *out++ = in[j][o * part + i];
        }
}

void op_reference_broadcast(double *out, const graph_node *n, const double *const *in)
{
    op_layout l = op_layout_along(&n->shape, n->attr.axis, n->attr.axes);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t m = 0; m < l.middle; m++)
            for (int64_t i = 0; i < l.inner; i++) *out++ = in[0][o * l.inner + i];
}

void op_reference_sum(double *out, const graph_node *n, const double *const *in)
{
    op_layout l = op_layout_along(&n->in[0]->shape, n->attr.axis, n->attr.axes);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++) {
            double sum = 0.0;
            for (int64_t m = 0; m < l.middle; m++) sum += in[0][(o * l.middle + m) * l.inner + i];
            *out++ = sum;
        }
}

void op_reference_transpose(double *out, const graph_node *n, const double *const *in)
{
    int64_t rows = n->shape.size[0], columns = n->shape.size[1];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) out[r * columns + c] = in[0][c * rows + r];
}
