// SPDX-License-Identifier: MIT
// The table of operations, and for each the rule that checks its inputs and gives its output's
// shape.
#include "engine/op_table.h"

#include <math.h>

#include "engine/op_batched.h"
#include "engine/op_fast.h"
#include "engine/op_gradient.h"
#include "engine/op_reference.h"

// ---- shapes ----

// Elementwise: all inputs have the same shape, and so has the output.
static plumb_status infer_same(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr;
    for (int i = 1; i < inputs; i++)
        if (!shape_equal(&in[0]->shape, &in[i]->shape)) {
            char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
            return fail(PLUMB_ESHAPE, "inputs are %s and %s; they must be equal",
                        shape_format(a, &in[0]->shape), shape_format(b, &in[i]->shape));
        }
    *out = in[0]->shape;
    return PLUMB_OK;
}

// Leaves and constants: the caller gives the shape.
static plumb_status infer_given(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)out, (void)attr, (void)in, (void)inputs;
    return PLUMB_OK;
}

// Slices, padded slices and broadcasts: the caller gives the shape; check that it is possible.
static plumb_status infer_slice(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    int axis = attr->axis;
    if (axis < 0 || axis >= x->rank || attr->start < 0 || out->size[axis] < 0 ||
        attr->start > x->size[axis] - out->size[axis])
        return fail(PLUMB_ESHAPE, "%s has no %lld elements from %lld on along axis %d",
                    shape_format(a, x),
                    (long long)(axis < 0 || axis >= x->rank ? 0 : out->size[axis]),
                    (long long)attr->start, axis);
    return PLUMB_OK;
}

static plumb_status infer_pad_slice(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                    int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    int axis = attr->axis;
    if (axis < 0 || axis >= x->rank || attr->start < 0 ||
        attr->start > out->size[axis] - x->size[axis])
        return fail(PLUMB_ESHAPE, "%s does not fit from %lld on along axis %d", shape_format(a, x),
                    (long long)attr->start, axis);
    return PLUMB_OK;
}

static plumb_status infer_broadcast(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                    int inputs)
{
    (void)out, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    if (attr->axis < 0 || attr->axis > x->rank || attr->axes < 1 ||
        x->rank + attr->axes > GRAPH_MAX_RANK)
        return fail(PLUMB_ESHAPE, "%s cannot be broadcast over %d more axes before axis %d",
                    shape_format(a, x), attr->axes, attr->axis);
    return PLUMB_OK;
}

// (m, k) times (k, n) is (m, n), each possibly stored transposed.
static plumb_status infer_matmul(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                 int inputs)
{
    (void)inputs;
    const tensor_shape *a = &in[0]->shape, *b = &in[1]->shape;
    char ta[SHAPE_TEXT_SIZE], tb[SHAPE_TEXT_SIZE];
    if (a->rank != 2 || b->rank != 2 || a->size[!attr->ta] != b->size[attr->tb])
        return fail(PLUMB_ESHAPE, "%s%s times %s%s is not a product of matrices",
                    shape_format(ta, a), attr->ta ? "'" : "", shape_format(tb, b),
                    attr->tb ? "'" : "");
    *out = (tensor_shape){2, {a->size[attr->ta], b->size[!attr->tb]}};
    return PLUMB_OK;
}

// The convolution's geometry is complete; see make_convolution() in op_build.c.
static plumb_status infer_conv(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape, *w = &in[1]->shape;
    const conv_geometry *conv = &attr->conv;
    char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
    if (x->rank != 4 || w->rank != 4 || x->size[3] != w->size[2] || conv->oh < 1 || conv->ow < 1)
        return fail(PLUMB_ESHAPE, "images %s cannot be convolved with weights %s",
                    shape_format(a, x), shape_format(b, w));
    *out = (tensor_shape){4, {conv->n, conv->oh, conv->ow, conv->k}};
    return PLUMB_OK;
}

// The shape of the input that the convolution had.
static plumb_status infer_conv_grad_input(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                          int inputs)
{
    (void)in, (void)inputs;
    const conv_geometry *conv = &attr->conv;
    *out = (tensor_shape){4, {conv->n, conv->h, conv->w, conv->c}};
    return PLUMB_OK;
}

// That of the input before the upsampling: half as high and wide.
static plumb_status infer_upconv_grad_input(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                            int inputs)
{
    (void)in, (void)inputs;
    const conv_geometry *conv = &attr->conv;
    *out = (tensor_shape){4, {conv->n, conv->h / 2, conv->w / 2, conv->c}};
    return PLUMB_OK;
}

// The shape of the weights.
static plumb_status infer_conv_grad_weights(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                            int inputs)
{
    (void)in, (void)inputs;
    const conv_geometry *conv = &attr->conv;
    *out = (tensor_shape){4, {conv->kh, conv->kw, conv->c, conv->k}};
    return PLUMB_OK;
}

// An upconv's geometry is that of the convolution after the upsampling.
#define infer_upconv infer_conv
#define infer_upconv_grad_weights infer_conv_grad_weights

static plumb_status infer_upsample(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                   int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    if (x->rank != 4) return fail(PLUMB_ESHAPE, "%s is not a set of images", shape_format(a, x));
    *out = (tensor_shape){4, {x->size[0], 2 * x->size[1], 2 * x->size[2], x->size[3]}};
    return PLUMB_OK;
}

static plumb_status infer_sum_pool2(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                    int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    if (x->rank != 4 || x->size[1] % 2 || x->size[2] % 2)
        return fail(PLUMB_ESHAPE, "%s is not a set of images of even size", shape_format(a, x));
    *out = (tensor_shape){4, {x->size[0], x->size[1] / 2, x->size[2] / 2, x->size[3]}};
    return PLUMB_OK;
}

// The caller gives the shape; it must have as many elements.
static plumb_status infer_reshape(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                  int inputs)
{
    (void)attr, (void)inputs;
    char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
    if (shape_count(out) != shape_count(&in[0]->shape))
        return fail(PLUMB_ESHAPE, "%s cannot be reshaped to %s", shape_format(a, &in[0]->shape),
                    shape_format(b, out));
    return PLUMB_OK;
}

// All sizes agree but that of the axis, which is their sum.
static plumb_status infer_concat(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                 int inputs)
{
    *out = in[0]->shape;
    for (int i = 1; i < inputs; i++) {
        const tensor_shape *shape = &in[i]->shape;
        bool fits = shape->rank == out->rank && attr->axis < shape->rank;
        for (int j = 0; fits && j < shape->rank; j++)
            if (j != attr->axis && shape->size[j] != out->size[j]) fits = false;
        char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
        if (!fits)
            return fail(PLUMB_ESHAPE, "%s and %s cannot be joined along axis %d",
                        shape_format(a, &in[0]->shape), shape_format(b, shape), attr->axis);
        out->size[attr->axis] += shape->size[attr->axis];
    }
    return PLUMB_OK;
}

// The axes that are summed over disappear.
static plumb_status infer_sum(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    if (attr->axis < 0 || attr->axes < 1 || attr->axis + attr->axes > x->rank)
        return fail(PLUMB_ESHAPE, "%s has no axes %d to %d to sum over", shape_format(a, x),
                    attr->axis, attr->axis + attr->axes - 1);
    out->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (i < attr->axis || i >= attr->axis + attr->axes) out->size[out->rank++] = x->size[i];
    return PLUMB_OK;
}

// As infer_matmul(), with the same number of items in front.
static plumb_status infer_batch_matmul(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                       int inputs)
{
    (void)inputs;
    const tensor_shape *a = &in[0]->shape, *b = &in[1]->shape;
    char ta[SHAPE_TEXT_SIZE], tb[SHAPE_TEXT_SIZE];
    if (a->rank != 3 || b->rank != 3 || a->size[0] != b->size[0] ||
        a->size[attr->ta ? 1 : 2] != b->size[attr->tb ? 2 : 1])
        return fail(PLUMB_ESHAPE, "%s%s times %s%s is not a batch of matrix products",
                    shape_format(ta, a), attr->ta ? "'" : "", shape_format(tb, b),
                    attr->tb ? "'" : "");
    *out = (tensor_shape){3, {a->size[0], a->size[attr->ta ? 2 : 1], b->size[attr->tb ? 1 : 2]}};
    return PLUMB_OK;
}

// Square matrices (items, n, n) and right sides (items, n).
static plumb_status infer_batch_solve(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                      int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *a = &in[0]->shape, *b = &in[1]->shape;
    char ta[SHAPE_TEXT_SIZE], tb[SHAPE_TEXT_SIZE];
    if (a->rank != 3 || b->rank != 2 || a->size[0] != b->size[0] || a->size[1] != a->size[2] ||
        a->size[1] != b->size[1] || a->size[1] > OP_MAX_SOLVE_SIZE)
        return fail(PLUMB_ESHAPE, "%s and %s are not a batch of systems of at most %d equations",
                    shape_format(ta, a), shape_format(tb, b), OP_MAX_SOLVE_SIZE);
    *out = *b;
    return PLUMB_OK;
}

// The caller gives the shape (items, n, n).
static plumb_status infer_fill_upper(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                     int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    int64_t n = out->size[1];
    char a[SHAPE_TEXT_SIZE];
    if (x->rank != 2 || x->size[1] != n * (n + 1) / 2)
        return fail(PLUMB_ESHAPE, "%s is not a batch of upper triangles of %lld rows",
                    shape_format(a, x), (long long)n);
    return PLUMB_OK;
}

static plumb_status infer_take_upper(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                     int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[SHAPE_TEXT_SIZE];
    if (x->rank != 3 || x->size[1] != x->size[2])
        return fail(PLUMB_ESHAPE, "%s is not a batch of square matrices", shape_format(a, x));
    *out = (tensor_shape){2, {x->size[0], x->size[1] * (x->size[1] + 1) / 2}};
    return PLUMB_OK;
}

// ---- elementwise operations: one element in double ----

#define SCALAR(name, expression)                                      \
    static double scalar_##name(const op_attr *attr, const double *x) \
    {                                                                 \
        (void)attr;                                                   \
        return expression;                                            \
    }

// 1 / (1 + e^-x) without overflow.
static double sigmoid_of(double x)
{
    return x >= 0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}

SCALAR(add, x[0] + x[1])
SCALAR(subtract, x[0] - x[1])
SCALAR(multiply, x[0] * x[1])
SCALAR(divide, x[0] / x[1])
SCALAR(scale, attr->value *x[0])
SCALAR(add_scalar, attr->value + x[0])
SCALAR(exp, exp(x[0]))
SCALAR(log, log(x[0]))
SCALAR(sqrt, sqrt(x[0]))
SCALAR(reciprocal, 1.0 / x[0])
SCALAR(sin, sin(x[0]))
SCALAR(cos, cos(x[0]))
SCALAR(tanh, tanh(x[0]))
SCALAR(sigmoid, sigmoid_of(x[0]))
// log(1 + e^x). The textbook form overflows; this one does not.
SCALAR(softplus, fmax(x[0], 0.0) + log1p(exp(-fabs(x[0]))))
// Inputs x and s = sigmoid(x): swish x s, and its first and second derivative by x.
SCALAR(swish, x[0] * x[1])
SCALAR(swish_grad, x[1] * (1.0 + x[0] * (1.0 - x[1])))
SCALAR(swish_grad2, x[1] * (1.0 - x[1]) * (2.0 + x[0] * (1.0 - 2.0 * x[1])))
SCALAR(erf, erf(x[0]))
SCALAR(atan2, atan2(x[0], x[1]))
SCALAR(leaky_relu, x[0] >= 0 ? x[0] : attr->value * x[0])
// At exactly 0 a leaky ReLU has slope 1 and a ReLU slope 0, as in JAX.
SCALAR(leaky_relu_grad, x[0] > 0 || (x[0] == 0 && attr->value > 0) ? 1.0 : attr->value)

// ---- cost: a multiplication and an addition count as two ----

static double matmul_flops(const graph_node *node)
{
    const tensor_shape *a = &node->in[0]->shape;
    return 2.0 * (double)shape_count(&node->shape) * (double)a->size[!node->attr.ta];
}

static double batch_matmul_flops(const graph_node *node)
{
    const tensor_shape *a = &node->in[0]->shape;
    return 2.0 * (double)shape_count(&node->shape) * (double)a->size[node->attr.ta ? 1 : 2];
}

static double conv_flops(const graph_node *node)
{
    const conv_geometry *conv = &node->attr.conv;
    return 2.0 * (double)(conv->n * conv->oh * conv->ow * conv->k) *
           (double)(conv->kh * conv->kw * conv->c);
}

// clang-format off
#define ELEMENTWISE(n, f) .inputs = n, .infer_shape = infer_same, .gradient = op_gradient_##f, .scalar = scalar_##f
#define KERNEL(n, f)      .inputs = n, .infer_shape = infer_##f, .gradient = op_gradient_##f, .reference = op_reference_##f, .fast = op_fast_##f
static const op_kind_info table[OP_KIND_COUNT] = {
    [OP_LEAF]                = {"leaf",                .inputs = 0, .infer_shape = infer_given},
    [OP_CONSTANT]            = {"constant",            .inputs = 0, .infer_shape = infer_given,
                                .reference = op_reference_constant, .fast = op_fast_constant},
    [OP_ADD]                 = {"add",                 ELEMENTWISE(2, add)},
    [OP_SUBTRACT]            = {"subtract",            ELEMENTWISE(2, subtract)},
    [OP_MULTIPLY]            = {"multiply",            ELEMENTWISE(2, multiply)},
    [OP_DIVIDE]              = {"divide",              ELEMENTWISE(2, divide)},
    [OP_SCALE]               = {"scale",               ELEMENTWISE(1, scale)},
    [OP_ADD_SCALAR]          = {"add_scalar",          ELEMENTWISE(1, add_scalar)},
    [OP_EXP]                 = {"exp",                 ELEMENTWISE(1, exp)},
    [OP_LOG]                 = {"log",                 ELEMENTWISE(1, log)},
    [OP_SQRT]                = {"sqrt",                ELEMENTWISE(1, sqrt)},
    [OP_RECIPROCAL]          = {"reciprocal",          ELEMENTWISE(1, reciprocal)},
    [OP_SIN]                 = {"sin",                 ELEMENTWISE(1, sin)},
    [OP_COS]                 = {"cos",                 ELEMENTWISE(1, cos)},
    [OP_TANH]                = {"tanh",                ELEMENTWISE(1, tanh)},
    [OP_SIGMOID]             = {"sigmoid",             ELEMENTWISE(1, sigmoid)},
    [OP_SOFTPLUS]            = {"softplus",            ELEMENTWISE(1, softplus)},
    [OP_SWISH]               = {"swish",               ELEMENTWISE(2, swish)},
    [OP_SWISH_GRAD]          = {"swish_grad",          ELEMENTWISE(2, swish_grad)},
    [OP_SWISH_GRAD2]         = {"swish_grad2",         ELEMENTWISE(2, swish_grad2)},
    [OP_ERF]                 = {"erf",                 ELEMENTWISE(1, erf)},
    [OP_ATAN2]               = {"atan2",               ELEMENTWISE(2, atan2)},
    [OP_LEAKY_RELU]          = {"leaky_relu",          ELEMENTWISE(1, leaky_relu)},
    [OP_LEAKY_RELU_GRAD]     = {"leaky_relu_grad",     ELEMENTWISE(1, leaky_relu_grad)},
    [OP_ADD_N]               = {"add_n",               .inputs = -1, .infer_shape = infer_same,
                                .gradient = op_gradient_add_n, .reference = op_reference_add_n},
    [OP_MATMUL]              = {"matmul",              KERNEL(2, matmul), .scratch = op_fast_matmul_scratch,
                                .accumulates = true, .flops = matmul_flops},
    [OP_CONV]                = {"conv",                KERNEL(2, conv), .scratch = op_fast_conv_scratch,
                                .flops = conv_flops},
    [OP_CONV_GRAD_INPUT]     = {"conv_grad_input",     KERNEL(2, conv_grad_input), .scratch = op_fast_conv_scratch,
                                .flops = conv_flops},
    [OP_CONV_GRAD_WEIGHTS]   = {"conv_grad_weights",   KERNEL(2, conv_grad_weights), .scratch = op_fast_conv_scratch,
                                .accumulates = true, .flops = conv_flops},
    [OP_UPCONV]              = {"upconv",              KERNEL(2, upconv), .scratch = op_fast_upconv_scratch,
                                .flops = conv_flops},
    [OP_UPCONV_GRAD_INPUT]   = {"upconv_grad_input",   KERNEL(2, upconv_grad_input), .scratch = op_fast_upconv_scratch,
                                .flops = conv_flops},
    [OP_UPCONV_GRAD_WEIGHTS] = {"upconv_grad_weights", KERNEL(2, upconv_grad_weights), .scratch = op_fast_upconv_scratch,
                                .accumulates = true, .flops = conv_flops},
    [OP_UPSAMPLE]            = {"upsample",            KERNEL(1, upsample)},
    [OP_SUM_POOL2]           = {"sum_pool2",           KERNEL(1, sum_pool2)},
    [OP_BATCH_MATMUL]        = {"batch_matmul",        KERNEL(2, batch_matmul), .scratch = op_fast_batch_matmul_scratch,
                                .flops = batch_matmul_flops},
    [OP_BATCH_SOLVE]         = {"batch_solve",         KERNEL(2, batch_solve)},
    [OP_FILL_UPPER]          = {"fill_upper",          KERNEL(1, fill_upper)},
    [OP_TAKE_UPPER]          = {"take_upper",          KERNEL(1, take_upper)},
    [OP_RESHAPE]             = {"reshape",             KERNEL(1, reshape)},
    [OP_SLICE]               = {"slice",               KERNEL(1, slice)},
    [OP_PAD_SLICE]           = {"pad_slice",           KERNEL(1, pad_slice)},
    [OP_CONCAT]              = {"concat",              KERNEL(-1, concat)},
    [OP_BROADCAST]           = {"broadcast",           KERNEL(1, broadcast)},
    [OP_SUM]                 = {"sum",                 KERNEL(1, sum), .accumulates = true},
};
// clang-format on

const op_kind_info *op_info(op_kind op)
{
    return &table[op];
}

bool op_elementwise(op_kind op)
{
    return table[op].scalar != NULL;
}

plumb_status op_infer_shape(tensor_shape *out, op_attr *attr, op_kind op, int inputs,
                            graph_node *const *in)
{
    const op_kind_info *info = &table[op];
    if (info->inputs >= 0 ? inputs != info->inputs : inputs < 1)
        return fail(PLUMB_ESHAPE, "%s needs %d inputs, got %d", info->name, info->inputs, inputs);
    plumb_status st = info->infer_shape(out, attr, in, inputs);
    if (st) return st;
    for (int i = 0; i < out->rank; i++)
        if (out->size[i] < 0 || out->size[i] > INT64_C(1) << 40)
            return fail(PLUMB_ESHAPE, "%s: an axis has size %lld", info->name,
                        (long long)out->size[i]);
    return PLUMB_OK;
}
