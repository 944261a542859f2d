// SPDX-License-Identifier: MIT
// The names of parameters are those of the published code, but the convolutions of x and h that
// make the gates of c are one, and so are those of x and m: "conv_c" takes (x, h) to i, f, g, o,
// "conv_m" takes (x, m) to i', f', g'. Only where each is normalised by itself they are apart.
#include "models/predrnn/predrnn.h"

#include <stdio.h>
#include <string.h>

plumb_status predrnn_check(const predrnn_config *c)
{
    if (c->height % c->patch || c->width % c->patch)
        return fail(PLUMB_ESHAPE, "frames of %lld x %lld cannot be cut into patches of %lld",
                    (long long)c->height, (long long)c->width, (long long)c->patch);
    if (c->kernel % 2 == 0)
        return fail(PLUMB_EVALUE, "kernel=%lld; want an odd one", (long long)c->kernel);
    if (c->layers < 1 || c->layers > PREDRNN_LAYERS)
        return fail(PLUMB_EVALUE, "layers=%lld; want 1 to %d", (long long)c->layers,
                    PREDRNN_LAYERS);
    if (c->length < 2)
        return fail(PLUMB_EVALUE, "length=%lld; a clip has at least 2 frames",
                    (long long)c->length);
    if (c->sampling == PREDRNN_SCHEDULED && (c->given < 1 || c->given >= c->length))
        return fail(PLUMB_EVALUE, "given=%lld; want 1 to %lld, less than the frames of a clip",
                    (long long)c->given, (long long)(c->length - 1));
    return PLUMB_OK;
}

tensor_shape predrnn_frame(const predrnn_config *c, int64_t items)
{
    int64_t p = c->patch;
    return (tensor_shape){4, {items, c->height / p, c->width / p, p * p * c->channels}};
}

tensor_shape predrnn_map(const predrnn_config *c, int64_t items)
{
    return (tensor_shape){4, {items, c->height / c->patch, c->width / c->patch, c->hidden}};
}

void predrnn_patch(float *out, const uint8_t *frame, const predrnn_config *c)
{
    int64_t p = c->patch, row = p * c->channels;
    for (int64_t i = 0; i < c->height / p; i++)
        for (int64_t j = 0; j < c->width / p; j++)
            for (int64_t a = 0; a < p; a++) {
                const uint8_t *from = frame + ((i * p + a) * c->width + j * p) * c->channels;
                for (int64_t k = 0; k < row; k++) *out++ = (float)from[k] / 255.0f;
            }
}

void predrnn_unpatch(float *out, const float *patched, const predrnn_config *c)
{
    int64_t p = c->patch, row = p * c->channels;
    for (int64_t i = 0; i < c->height / p; i++)
        for (int64_t j = 0; j < c->width / p; j++)
            for (int64_t a = 0; a < p; a++, patched += row)
                memcpy(out + ((i * p + a) * c->width + j * p) * c->channels, patched,
                       (size_t)row * sizeof *out);
}

// The gates of a cell before their squashing, x's and h's or m's parts added.
typedef struct gates {
    graph_node *i, *f, *g, *o, *i2, *f2, *g2;
} gates;

static graph_node *weights(network_builder *n, const char *cell, const char *name, int64_t kernel,
                           int64_t in, int64_t out)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", cell, name);
    return network_param(n, full, 4, (int64_t[]){kernel, kernel, in, out}, PARAM_INIT_UNIFORM, 0.0);
}

static graph_node *part(network_builder *n, graph_node *all, int64_t width, int64_t which)
{
    return op_slice(n->g, all, 3, which * width, width);
}

// One convolution of (x, y) side by side; of x alone where y is zero.
static graph_node *joined(network_builder *n, const char *cell, const char *name, int64_t kernel,
                          graph_node *x, graph_node *y, int64_t hidden, int64_t out)
{
    int64_t in = x->shape.size[3];
    graph_node *w = weights(n, cell, name, kernel, in + hidden, out);
    if (!y) return op_conv(n->g, x, op_slice(n->g, w, 2, 0, in), 1, OP_SAME);
    return op_conv(n->g, op_concat(n->g, (graph_node *[]){x, y}, 2, 3), w, 1, OP_SAME);
}

static gates joined_gates(network_builder *n, const predrnn_config *c, const char *cell,
                          graph_node *x, predrnn_state s)
{
    int64_t H = c->hidden;
    graph_node *own = joined(n, cell, "conv_c", c->kernel, x, s.h, H, 4 * H);
    graph_node *shared = joined(n, cell, "conv_m", c->kernel, x, s.m, H, 3 * H);
    return (gates){part(n, own, H, 0),   part(n, own, H, 1),    part(n, own, H, 2),
                   part(n, own, H, 3),   part(n, shared, H, 0), part(n, shared, H, 1),
                   part(n, shared, H, 2)};
}

// A convolution and its layer norm; of zeros only the bias is left.
static graph_node *normed(network_builder *n, const predrnn_config *c, const char *cell,
                          const char *name, graph_node *x, int64_t items, int64_t in, int64_t out)
{
    char full[80];
    tensor_shape map = predrnn_map(c, items);
    int64_t size[] = {map.size[1], map.size[2], out};
    snprintf(full, sizeof full, "%s%s.gain", cell, name);
    graph_node *w = weights(n, cell, name, c->kernel, in, out);
    graph_node *gain = network_param(n, full, 3, size, PARAM_INIT_VALUE, 1.0);
    snprintf(full, sizeof full, "%s%s.bias", cell, name);
    graph_node *bias = network_param(n, full, 3, size, PARAM_INIT_VALUE, 0.0);
    if (!x) return op_broadcast(n->g, bias, 0, 1, &items);
    return op_layer_norm(n->g, op_conv(n->g, x, w, 1, OP_SAME), gain, bias, 1e-5);
}

static gates normed_gates(network_builder *n, const predrnn_config *c, const char *cell,
                          graph_node *x, predrnn_state s)
{
    int64_t H = c->hidden, items = x->shape.size[0];
    graph_node *nx = normed(n, c, cell, "conv_x", x, items, x->shape.size[3], 7 * H);
    graph_node *nh = normed(n, c, cell, "conv_h", s.h, items, H, 4 * H);
    graph_node *nm = normed(n, c, cell, "conv_m", s.m, items, H, 3 * H);
    graph_node *sum[7];
    for (int k = 0; k < 3; k++) {
        sum[k] = op_add(n->g, part(n, nx, H, k), part(n, nh, H, k));
        sum[3 + k] = op_add(n->g, part(n, nx, H, 3 + k), part(n, nm, H, k));
    }
    sum[6] = op_add(n->g, part(n, nx, H, 6), part(n, nh, H, 3));
    return (gates){sum[0], sum[1], sum[2], sum[6], sum[3], sum[4], sum[5]};
}

// f * memory + i * g, the forget gate one towards keeping; a memory of NULL is zero.
static graph_node *remember(graph *g, graph_node **added, graph_node *i, graph_node *f,
                            graph_node *v, graph_node *memory)
{
    *added = op_multiply(g, op_sigmoid(g, i), op_tanh(g, v));
    if (!memory) return *added;
    return op_add(g, op_multiply(g, op_sigmoid(g, op_add_scalar(g, f, 1.0)), memory), *added);
}

// The ST-LSTM cell [Wang17].
predrnn_state predrnn_cell(network_builder *n, const predrnn_config *c, int64_t layer,
                           graph_node *x, predrnn_state before)
{
    char cell[32];
    graph *g = n->g;
    int64_t H = c->hidden;
    snprintf(cell, sizeof cell, "cell%lld.", (long long)layer);
    gates t =
        c->layer_norm ? normed_gates(n, c, cell, x, before) : joined_gates(n, c, cell, x, before);
    predrnn_state s;
    s.c = remember(g, &s.dc, t.i, t.f, t.g, before.c);
    s.m = remember(g, &s.dm, t.i2, t.f2, t.g2, before.m);
    graph_node *both = op_concat(g, (graph_node *[]){s.c, s.m}, 2, 3);
    graph_node *o =
        c->layer_norm
            ? normed(n, c, cell, "conv_o", both, x->shape.size[0], 2 * H, H)
            : op_conv(g, both, weights(n, cell, "conv_o", c->kernel, 2 * H, H), 1, OP_SAME);
    graph_node *seen = op_conv(g, both, weights(n, cell, "conv_last", 1, 2 * H, H), 1, OP_SAME);
    s.h = op_multiply(g, op_sigmoid(g, op_add(g, t.o, o)), op_tanh(g, seen));
    return s;
}

// All layers at one time: `state` is the last time's on entry; m is handed on. Returns the frame.
static graph_node *climb(network_builder *n, const predrnn_config *c, predrnn_state *state,
                         graph_node *x)
{
    graph_node *m = state[c->layers - 1].m, *seen = x;
    for (int64_t l = 0; l < c->layers; l++) {
        state[l].m = m;
        state[l] = predrnn_cell(n, c, l, x, state[l]);
        m = state[l].m;
        x = state[l].h;
    }
    tensor_shape out = predrnn_frame(c, 1);
    graph_node *w = weights(n, "", "conv_last", 1, c->hidden, out.size[3]);
    graph_node *y = op_conv(n->g, x, w, 1, OP_SAME);
    return c->residual ? op_add(n->g, y, seen) : y;
}

// What step t sees: the true frame, or where the mask is 0 what was predicted for it.
static graph_node *mixed(graph *g, const predrnn_clip *k, const predrnn_config *c, int64_t t)
{
    int64_t from = c->sampling == PREDRNN_SCHEDULED ? c->given : 1;
    if (c->sampling == PREDRNN_TEACHER || t < from) return k->frame[t];
    const tensor_shape *s = &k->frame[t]->shape;
    graph_node *u = op_reshape(g, op_slice(g, k->mask, 0, t, 1), 1, s->size);
    u = op_broadcast(g, u, 1, 3, s->size + 1);
    graph_node *own = k->prediction[t - 1];
    return op_add(g, own, op_multiply(g, u, op_subtract(g, k->frame[t], own)));
}

// |cos| between what was added to c and to m, over places, after one shared 1x1 convolution
// [Wang23]; summed over channels.
static graph_node *overlap(network_builder *n, const predrnn_config *c, predrnn_state s)
{
    graph *g = n->g;
    graph_node *w = weights(n, "", "adapter", 1, c->hidden, c->hidden);
    graph_node *a = op_conv(g, s.dc, w, 1, OP_SAME), *b = op_conv(g, s.dm, w, 1, OP_SAME);
    graph_node *ab = op_sum(g, op_multiply(g, a, b), 1, 2);
    graph_node *aa = op_add_scalar(g, op_sum(g, op_square(g, a), 1, 2), 1e-24);
    graph_node *bb = op_add_scalar(g, op_sum(g, op_square(g, b), 1, 2), 1e-24);
    graph_node *cosine = op_divide(g, ab, op_multiply(g, op_sqrt(g, aa), op_sqrt(g, bb)));
    graph_node *size =
        op_add(g, op_leaky_relu(g, cosine, 0.0), op_leaky_relu(g, op_scale(g, cosine, -1.0), 0.0));
    return op_sum(g, size, 1, 1);
}

static void roll(predrnn_clip *k, const predrnn_config *c)
{
    network_builder *n = &k->net;
    predrnn_state none[PREDRNN_LAYERS] = {0};
    const predrnn_state *before = none;
    for (int64_t t = 0; t + 1 < c->length; t++) {
        predrnn_state *now = k->state + t * c->layers;
        memcpy(now, before, (size_t)c->layers * sizeof *now);
        k->prediction[t] = climb(n, c, now, mixed(n->g, k, c, t));
        before = now;
    }
}

static void add_losses(predrnn_clip *k, const predrnn_config *c, graph_node **error, int64_t items)
{
    graph *g = k->net.g;
    int64_t steps = c->length - 1;
    for (int64_t t = 0; t < steps; t++) {
        graph_node *e =
            op_sum_per_item(g, op_square(g, op_subtract(g, k->prediction[t], k->frame[t + 1])));
        error[t] = op_reshape(g, e, 2, (int64_t[]){1, items});
    }
    k->error = op_concat(g, error, (int)steps, 0);
    if (c->decouple <= 0.0) return;
    graph_node *sum = overlap(&k->net, c, k->state[0]);
    for (int64_t i = 1; i < steps * c->layers; i++)
        sum = op_add(g, sum, overlap(&k->net, c, k->state[i]));
    k->decoupling = op_scale(g, sum, 1.0 / (double)(steps * c->layers * c->hidden));
}

static void add_gradients(predrnn_clip *k, const predrnn_config *c, int64_t batch)
{
    graph *g = k->net.g;
    tensor_shape frame = predrnn_frame(c, 1);
    double pixels = (double)shape_count(&frame), steps = (double)(c->length - 1);
    graph_node *y[2] = {k->error, k->decoupling}, *seed[2];
    int ys = k->decoupling ? 2 : 1;
    seed[0] = op_constant(g, 1.0 / ((double)batch * steps * pixels), &k->error->shape);
    if (ys == 2) seed[1] = op_constant(g, c->decouple / (double)batch, &k->decoupling->shape);
    k->gradient = ARENA_ALLOC(graph_memory(g), graph_node *, k->net.leaves);
    if (!k->gradient) graph_error(g, PLUMB_EMEMORY);
    else network_gradients(&k->net, k->gradient, y, seed, ys);
}

plumb_status predrnn_clip_build(predrnn_clip *out, params *p, const predrnn_config *c,
                                int64_t items, int64_t batch)
{
    predrnn_clip k = {.net = {.params = p}};
    plumb_status st = predrnn_check(c);
    if (!st) st = graph_create(&k.net.g);
    if (st) return st;
    graph *g = k.net.g;
    int64_t steps = c->length - 1;
    tensor_shape f = predrnn_frame(c, items);
    graph_node **error = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    k.frame = ARENA_ALLOC(graph_memory(g), graph_node *, c->length);
    k.prediction = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    k.state = ARENA_ALLOC(graph_memory(g), predrnn_state, (steps * c->layers));
    if (!error || !k.frame || !k.prediction || !k.state) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    for (int64_t t = 0; t < c->length; t++) k.frame[t] = op_input(g, "frame", 0, f.rank, f.size);
    if (c->sampling != PREDRNN_TEACHER)
        k.mask = op_input(g, "mask", 0, 2, (int64_t[]){steps, items});
    roll(&k, c);
    add_losses(&k, c, error, items);
    if (batch) add_gradients(&k, c, batch);
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = k;
    return st;
}

plumb_status predrnn_step_build(predrnn_step *out, params *p, const predrnn_config *c,
                                int64_t items, bool first)
{
    predrnn_step k = {.net = {.params = p}};
    plumb_status st = predrnn_check(c);
    if (!st) st = graph_create(&k.net.g);
    if (st) return st;
    graph *g = k.net.g;
    tensor_shape f = predrnn_frame(c, items), map = predrnn_map(c, items);
    k.h = ARENA_ALLOC(graph_memory(g), graph_node *, c->layers);
    k.c = ARENA_ALLOC(graph_memory(g), graph_node *, c->layers);
    k.after = ARENA_ALLOC(graph_memory(g), predrnn_state, c->layers);
    if (!k.h || !k.c || !k.after) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    k.frame = op_input(g, "frame", 0, f.rank, f.size);
    if (!first) k.m = op_input(g, "m", 0, map.rank, map.size);
    for (int64_t l = 0; l < c->layers; l++) {
        k.h[l] = first ? NULL : op_input(g, "h", 0, map.rank, map.size);
        k.c[l] = first ? NULL : op_input(g, "c", 0, map.rank, map.size);
        k.after[l] = (predrnn_state){.h = k.h[l], .c = k.c[l], .m = k.m};
    }
    k.prediction = climb(&k.net, c, k.after, k.frame);
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = k;
    return st;
}
