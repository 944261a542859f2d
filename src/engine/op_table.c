// SPDX-License-Identifier: MIT
// The table of operations, and what each wants of its inputs.
#include "engine/op.h"

#include <math.h>

#include "engine/op_batched.h"
#include "engine/op_fast.h"
#include "engine/op_gradient.h"
#include "engine/op_reference.h"

static plumb_status same(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr;
    for (int i = 1; i < inputs; i++)
        if (!shape_equal(&in[0]->shape, &in[i]->shape)) {
            char a[96], b[96];
            return fail(PLUMB_ESHAPE, "inputs are %s and %s; they must be equal",
                        shape_format(a, &in[0]->shape), shape_format(b, &in[i]->shape));
        }
    *out = in[0]->shape;
    return PLUMB_OK;
}

static plumb_status given(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)out, (void)attr, (void)in, (void)inputs;
    return PLUMB_OK;
}

// The shapes of these three are what the caller asks for; here it is checked that they can be.
static plumb_status part(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    int axis = attr->axis;
    if (axis < 0 || axis >= x->rank || attr->start < 0 || out->size[axis] < 0 ||
        attr->start > x->size[axis] - out->size[axis])
        return fail(PLUMB_ESHAPE, "%s has no %lld places from %lld on along axis %d",
                    shape_format(a, x),
                    (long long)(axis < 0 || axis >= x->rank ? 0 : out->size[axis]),
                    (long long)attr->start, axis);
    return PLUMB_OK;
}

static plumb_status hole(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    int axis = attr->axis;
    if (axis < 0 || axis >= x->rank || attr->start < 0 ||
        attr->start > out->size[axis] - x->size[axis])
        return fail(PLUMB_ESHAPE, "%s does not fit from %lld on along axis %d", shape_format(a, x),
                    (long long)attr->start, axis);
    return PLUMB_OK;
}

static plumb_status spread(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)out, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    if (attr->axis < 0 || attr->axis > x->rank || attr->axes < 1 ||
        x->rank + attr->axes > GRAPH_MAX_RANK)
        return fail(PLUMB_ESHAPE, "%s cannot be spread over %d more axes before axis %d",
                    shape_format(a, x), attr->axes, attr->axis);
    return PLUMB_OK;
}

static plumb_status matrices(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *a = &in[0]->shape, *b = &in[1]->shape;
    char ta[96], tb[96];
    if (a->rank != 2 || b->rank != 2 || a->size[!attr->ta] != b->size[attr->tb])
        return fail(PLUMB_ESHAPE, "%s%s times %s%s is not a product of matrices",
                    shape_format(ta, a), attr->ta ? "'" : "", shape_format(tb, b),
                    attr->tb ? "'" : "");
    *out = (tensor_shape){2, {a->size[attr->ta], b->size[!attr->tb]}};
    return PLUMB_OK;
}

static plumb_status turned(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    if (x->rank != 2) return fail(PLUMB_ESHAPE, "%s is not a matrix", shape_format(a, x));
    *out = (tensor_shape){2, {x->size[1], x->size[0]}};
    return PLUMB_OK;
}

static plumb_status images(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape, *w = &in[1]->shape;
    const conv_geometry *g = &attr->conv;
    char a[96], b[96];
    if (x->rank != 4 || w->rank != 4 || x->size[3] != w->size[2] || g->oh < 1 || g->ow < 1)
        return fail(PLUMB_ESHAPE, "images %s cannot be convolved with weights %s",
                    shape_format(a, x), shape_format(b, w));
    *out = (tensor_shape){4, {g->n, g->oh, g->ow, g->k}};
    return PLUMB_OK;
}

static plumb_status images_data(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)in, (void)inputs;
    const conv_geometry *g = &attr->conv;
    *out = (tensor_shape){4, {g->n, g->h, g->w, g->c}};
    return PLUMB_OK;
}

static plumb_status images_half_data(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                     int inputs)
{
    (void)in, (void)inputs;
    const conv_geometry *g = &attr->conv;
    *out = (tensor_shape){4, {g->n, g->h / 2, g->w / 2, g->c}};
    return PLUMB_OK;
}

static plumb_status images_weights(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                   int inputs)
{
    (void)in, (void)inputs;
    const conv_geometry *g = &attr->conv;
    *out = (tensor_shape){4, {g->kh, g->kw, g->c, g->k}};
    return PLUMB_OK;
}

static plumb_status twice(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    if (x->rank != 4) return fail(PLUMB_ESHAPE, "%s is not a set of images", shape_format(a, x));
    *out = (tensor_shape){4, {x->size[0], 2 * x->size[1], 2 * x->size[2], x->size[3]}};
    return PLUMB_OK;
}

static plumb_status half(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    if (x->rank != 4 || x->size[1] % 2 || x->size[2] % 2)
        return fail(PLUMB_ESHAPE, "%s is not a set of images of even size", shape_format(a, x));
    *out = (tensor_shape){4, {x->size[0], x->size[1] / 2, x->size[2] / 2, x->size[3]}};
    return PLUMB_OK;
}

static plumb_status same_count(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    char a[96], b[96];
    if (shape_count(out) != shape_count(&in[0]->shape))
        return fail(PLUMB_ESHAPE, "%s cannot be read as %s", shape_format(a, &in[0]->shape),
                    shape_format(b, out));
    return PLUMB_OK;
}

static plumb_status joined(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    *out = in[0]->shape;
    for (int i = 1; i < inputs; i++) {
        const tensor_shape *s = &in[i]->shape;
        bool fits = s->rank == out->rank && attr->axis < s->rank;
        for (int j = 0; fits && j < s->rank; j++)
            if (j != attr->axis && s->size[j] != out->size[j]) fits = false;
        char a[96], b[96];
        if (!fits)
            return fail(PLUMB_ESHAPE, "%s and %s cannot be joined along axis %d",
                        shape_format(a, &in[0]->shape), shape_format(b, s), attr->axis);
        out->size[attr->axis] += s->size[attr->axis];
    }
    return PLUMB_OK;
}

static plumb_status summed(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    if (attr->axis < 0 || attr->axes < 1 || attr->axis + attr->axes > x->rank)
        return fail(PLUMB_ESHAPE, "%s has no axes %d to %d to sum over", shape_format(a, x),
                    attr->axis, attr->axis + attr->axes - 1);
    out->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (i < attr->axis || i >= attr->axis + attr->axes) out->size[out->rank++] = x->size[i];
    return PLUMB_OK;
}

static plumb_status item_matrices(tensor_shape *out, op_attr *attr, graph_node *const *in,
                                  int inputs)
{
    (void)inputs;
    const tensor_shape *a = &in[0]->shape, *b = &in[1]->shape;
    char ta[96], tb[96];
    if (a->rank != 3 || b->rank != 3 || a->size[0] != b->size[0] ||
        a->size[attr->ta ? 1 : 2] != b->size[attr->tb ? 2 : 1])
        return fail(PLUMB_ESHAPE, "%s%s times %s%s is no product of matrices, one an item",
                    shape_format(ta, a), attr->ta ? "'" : "", shape_format(tb, b),
                    attr->tb ? "'" : "");
    *out = (tensor_shape){3, {a->size[0], a->size[attr->ta ? 2 : 1], b->size[attr->tb ? 1 : 2]}};
    return PLUMB_OK;
}

static plumb_status equations(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *a = &in[0]->shape, *b = &in[1]->shape;
    char ta[96], tb[96];
    if (a->rank != 3 || b->rank != 2 || a->size[0] != b->size[0] || a->size[1] != a->size[2] ||
        a->size[1] != b->size[1] || a->size[1] > OP_MAX_SOLVE_SIZE)
        return fail(PLUMB_ESHAPE, "%s and %s are no systems of up to %d equations",
                    shape_format(ta, a), shape_format(tb, b), OP_MAX_SOLVE_SIZE);
    *out = *b;
    return PLUMB_OK;
}

// Where the numbers of a triangle go is what the caller asks for.
static plumb_status triangle_in(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    int64_t n = out->size[1];
    char a[96];
    if (x->rank != 2 || x->size[1] != n * (n + 1) / 2)
        return fail(PLUMB_ESHAPE, "%s are no upper triangles of %lld rows", shape_format(a, x),
                    (long long)n);
    return PLUMB_OK;
}

static plumb_status triangle_of(tensor_shape *out, op_attr *attr, graph_node *const *in, int inputs)
{
    (void)attr, (void)inputs;
    const tensor_shape *x = &in[0]->shape;
    char a[96];
    if (x->rank != 3 || x->size[1] != x->size[2])
        return fail(PLUMB_ESHAPE, "%s are no square matrices, one an item", shape_format(a, x));
    *out = (tensor_shape){2, {x->size[0], x->size[1] * (x->size[1] + 1) / 2}};
    return PLUMB_OK;
}

#define SCALAR(name, expression)                                      \
    static double scalar_##name(const op_attr *attr, const double *x) \
    {                                                                 \
        (void)attr;                                                   \
        return expression;                                            \
    }

static double logistic(double x)
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
SCALAR(sigmoid, logistic(x[0]))
// The textbook form overflows; this one never does.
SCALAR(softplus, fmax(x[0], 0.0) + log1p(exp(-fabs(x[0]))))
// x and s = sigmoid(x): swish, and its first and second derivative [Higgins21, code].
SCALAR(swish, x[0] * x[1])
SCALAR(swish_grad, x[1] * (1.0 + x[0] * (1.0 - x[1])))
SCALAR(swish_grad2, x[1] * (1.0 - x[1]) * (2.0 + x[0] * (1.0 - 2.0 * x[1])))
SCALAR(erf, erf(x[0]))
SCALAR(atan2, atan2(x[0], x[1]))
SCALAR(leaky_relu, x[0] >= 0 ? x[0] : attr->value * x[0])
// At exactly 0 a leaky ReLU has slope 1, a ReLU slope 0, as JAX has them.
SCALAR(leaky_relu_grad, x[0] > 0 || (x[0] == 0 && attr->value > 0) ? 1.0 : attr->value)

static double product_flops(const graph_node *n)
{
    const tensor_shape *a = &n->in[0]->shape;
    return 2.0 * (double)shape_count(&n->shape) * (double)a->size[!n->attr.ta];
}

static double products_flops(const graph_node *n)
{
    const tensor_shape *a = &n->in[0]->shape;
    return 2.0 * (double)shape_count(&n->shape) * (double)a->size[n->attr.ta ? 1 : 2];
}

static double conv_flops(const graph_node *n)
{
    const conv_geometry *g = &n->attr.conv;
    return 2.0 * (double)(g->n * g->oh * g->ow * g->k) * (double)(g->kh * g->kw * g->c);
}

// clang-format off
#define SAME(n, f)      .inputs = n, .infer_shape = same, .gradient = op_gradient_##f, .scalar = scalar_##f
#define REST(f)         .gradient = op_gradient_##f, .reference = op_reference_##f, .fast = op_fast_##f
static const op_kind_info table[OP_KIND_COUNT] = {
    [OP_LEAF]            = {"leaf",           .inputs = 0, .infer_shape = given},
    [OP_CONSTANT]        = {"constant",       .inputs = 0, .infer_shape = given, .reference = op_reference_constant, .fast = op_fast_constant},
    [OP_ADD]             = {"add",            SAME(2, add)},
    [OP_SUBTRACT]        = {"subtract",       SAME(2, subtract)},
    [OP_MULTIPLY]        = {"multiply",       SAME(2, multiply)},
    [OP_DIVIDE]          = {"divide",         SAME(2, divide)},
    [OP_SCALE]           = {"scale",          SAME(1, scale)},
    [OP_ADD_SCALAR]      = {"shift",          SAME(1, add_scalar)},
    [OP_EXP]             = {"exp",            SAME(1, exp)},
    [OP_LOG]             = {"log",            SAME(1, log)},
    [OP_SQRT]            = {"sqrt",           SAME(1, sqrt)},
    [OP_RECIPROCAL]      = {"reciprocal",     SAME(1, reciprocal)},
    [OP_SIN]             = {"sin",            SAME(1, sin)},
    [OP_COS]             = {"cos",            SAME(1, cos)},
    [OP_TANH]            = {"tanh",           SAME(1, tanh)},
    [OP_SIGMOID]         = {"sigmoid",        SAME(1, sigmoid)},
    [OP_SOFTPLUS]        = {"softplus",       SAME(1, softplus)},
    [OP_SWISH]           = {"swish",          SAME(2, swish)},
    [OP_SWISH_GRAD]          = {"swish1",         SAME(2, swish_grad)},
    [OP_SWISH_GRAD2]          = {"swish2",         SAME(2, swish_grad2)},
    [OP_ERF]             = {"erf",            SAME(1, erf)},
    [OP_ATAN2]           = {"atan2",          SAME(2, atan2)},
    [OP_LEAKY_RELU]      = {"leaky",          SAME(1, leaky_relu)},
    [OP_LEAKY_RELU_GRAD] = {"step",           SAME(1, leaky_relu_grad)},
    [OP_ADD_N]           = {"total",          .inputs = -1, .infer_shape = same, .gradient = op_gradient_add_n, .reference = op_reference_add_n},
    [OP_MATMUL]          = {"matmul",         .inputs = 2, .infer_shape = matrices, REST(matmul),
                           .scratch = op_fast_matmul_scratch, .accumulates = true, .flops = product_flops},
    [OP_CONV]            = {"conv",           .inputs = 2, .infer_shape = images, REST(conv),
                           .scratch = op_fast_conv_scratch, .flops = conv_flops},
    [OP_CONV_GRAD_INPUT]       = {"conv_data",      .inputs = 2, .infer_shape = images_data, REST(conv_grad_input),
                           .scratch = op_fast_conv_scratch, .flops = conv_flops},
    [OP_CONV_GRAD_WEIGHTS]    = {"conv_weights",   .inputs = 2, .infer_shape = images_weights, REST(conv_grad_weights),
                           .scratch = op_fast_conv_scratch, .accumulates = true, .flops = conv_flops},
    [OP_UPCONV]          = {"upconv",         .inputs = 2, .infer_shape = images, REST(upconv),
                           .scratch = op_fast_upconv_scratch, .flops = conv_flops},
    [OP_UPCONV_GRAD_INPUT]     = {"upconv_data",    .inputs = 2, .infer_shape = images_half_data, REST(upconv_grad_input),
                           .scratch = op_fast_upconv_scratch, .flops = conv_flops},
    [OP_UPCONV_GRAD_WEIGHTS]  = {"upconv_weights", .inputs = 2, .infer_shape = images_weights, REST(upconv_grad_weights),
                           .scratch = op_fast_upconv_scratch, .accumulates = true, .flops = conv_flops},
    [OP_UPSAMPLE]        = {"upsample",       .inputs = 1, .infer_shape = twice, REST(upsample)},
    [OP_SUM_POOL2]       = {"downsum",        .inputs = 1, .infer_shape = half, REST(sum_pool2)},
    [OP_BATCH_MATMUL]    = {"products",       .inputs = 2, .infer_shape = item_matrices, REST(batch_matmul),
                           .scratch = op_fast_batch_matmul_scratch, .flops = products_flops},
    [OP_BATCH_SOLVE]     = {"solve",          .inputs = 2, .infer_shape = equations, REST(batch_solve)},
    [OP_FILL_UPPER]      = {"upper",          .inputs = 1, .infer_shape = triangle_in, REST(fill_upper)},
    [OP_TAKE_UPPER]      = {"triangle",       .inputs = 1, .infer_shape = triangle_of, REST(take_upper)},
    [OP_RESHAPE]         = {"reshape",        .inputs = 1, .infer_shape = same_count, REST(reshape)},
    [OP_SLICE]           = {"slice",          .inputs = 1, .infer_shape = part, REST(slice)},
    [OP_PAD_SLICE]       = {"embed",          .inputs = 1, .infer_shape = hole, REST(pad_slice)},
    [OP_CONCAT]          = {"concat",         .inputs = -1, .infer_shape = joined, REST(concat)},
    [OP_BROADCAST]       = {"broadcast",      .inputs = 1, .infer_shape = spread, REST(broadcast)},
    [OP_TRANSPOSE]       = {"transpose",      .inputs = 1, .infer_shape = turned, REST(transpose)},
    [OP_SUM]             = {"sum",            .inputs = 1, .infer_shape = summed, REST(sum), .accumulates = true},
};
// clang-format on

const op_kind_info *op_info(int op)
{
    return &table[op];
}

bool op_elementwise(int op)
{
    return table[op].scalar != NULL;
}

plumb_status op_shape(tensor_shape *out, op_attr *attr, int op, int inputs, graph_node *const *in)
{
    const op_kind_info *row = &table[op];
    if (row->inputs >= 0 ? inputs != row->inputs : inputs < 1)
        return fail(PLUMB_ESHAPE, "%s wants %d inputs, got %d", row->name, row->inputs, inputs);
    plumb_status st = row->infer_shape(out, attr, in, inputs);
    if (st) return st;
    for (int i = 0; i < out->rank; i++)
        if (out->size[i] < 0 || out->size[i] > INT64_C(1) << 40)
            return fail(PLUMB_ESHAPE, "%s: an axis of %lld", row->name, (long long)out->size[i]);
    return PLUMB_OK;
}
