// SPDX-License-Identifier: MIT
// PredRNN: ST-LSTM cells, clips and their losses. Parameters have the names of the published code
// [Wang23, code], but the convolutions of x and h that make the gates of c are one, and so are
// those of x and m: "conv_c" takes (x, h) to i, f, g, o, "conv_m" takes (x, m) to i', f', g'. With
// layer norm they are separate, because each is normalised by itself.
#include "models/predrnn/predrnn.h"

#include <stdio.h>
#include <string.h>

plumb_status predrnn_check(const predrnn_config *config)
{
    if (config->height % config->patch || config->width % config->patch)
        return fail(PLUMB_ESHAPE, "frames of %lld x %lld cannot be cut into patches of %lld",
                    (long long)config->height, (long long)config->width, (long long)config->patch);
    if (config->kernel % 2 == 0)
        return fail(PLUMB_EVALUE, "kernel=%lld; it must be odd", (long long)config->kernel);
    if (config->layers < 1 || config->layers > PREDRNN_MAX_LAYERS)
        return fail(PLUMB_EVALUE, "layers=%lld; it must be 1 to %d", (long long)config->layers,
                    PREDRNN_MAX_LAYERS);
    if (config->clip_length < 2)
        return fail(PLUMB_EVALUE, "clip_length=%lld; a clip has at least 2 frames",
                    (long long)config->clip_length);
    if (config->sampling == PREDRNN_SCHEDULED &&
        (config->input_frames < 1 || config->input_frames >= config->clip_length))
        return fail(PLUMB_EVALUE,
                    "input_frames=%lld; it must be 1 to %lld, less than the frames of a clip",
                    (long long)config->input_frames, (long long)(config->clip_length - 1));
    return PLUMB_OK;
}

tensor_shape predrnn_frame(const predrnn_config *config, int64_t items)
{
    int64_t p = config->patch;
    return (tensor_shape){4,
                          {items, config->height / p, config->width / p, p * p * config->channels}};
}

tensor_shape predrnn_map(const predrnn_config *config, int64_t items)
{
    return (tensor_shape){
        4, {items, config->height / config->patch, config->width / config->patch, config->hidden}};
}

void predrnn_patch(float *out, const uint8_t *frame, const predrnn_config *config)
{
    int64_t p = config->patch, row = p * config->channels;
    for (int64_t i = 0; i < config->height / p; i++)
        for (int64_t j = 0; j < config->width / p; j++)
            for (int64_t a = 0; a < p; a++) {
                const uint8_t *from =
                    frame + ((i * p + a) * config->width + j * p) * config->channels;
                for (int64_t k = 0; k < row; k++) *out++ = (float)from[k] / 255.0f;
            }
}

void predrnn_unpatch(float *out, const float *patched, const predrnn_config *config)
{
    int64_t p = config->patch, row = p * config->channels;
    for (int64_t i = 0; i < config->height / p; i++)
        for (int64_t j = 0; j < config->width / p; j++)
            for (int64_t a = 0; a < p; a++, patched += row)
                memcpy(out + ((i * p + a) * config->width + j * p) * config->channels, patched,
                       (size_t)row * sizeof *out);
}

// Gates of a cell before their activation: the parts of x and of h or m are added.
typedef struct gates {
    graph_node *i, *f, *g, *o, *i2, *f2, *g2;
} gates;

static graph_node *conv_weights(network_builder *n, const char *cell, const char *name,
                                int64_t kernel, int64_t in, int64_t out)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", cell, name);
    return network_param(n, full, 4, (int64_t[]){kernel, kernel, in, out}, PARAM_INIT_UNIFORM, 0.0);
}

static graph_node *channel_part(network_builder *n, graph_node *all, int64_t width, int64_t which)
{
    return op_slice(n->g, all, 3, which * width, width);
}

// One convolution of the channels of x and y together. `y` NULL is zero.
static graph_node *joined_conv(network_builder *n, const char *cell, const char *name,
                               int64_t kernel, graph_node *x, graph_node *y, int64_t hidden,
                               int64_t out)
{
    int64_t in = x->shape.size[3];
    graph_node *w = conv_weights(n, cell, name, kernel, in + hidden, out);
    if (!y) return op_conv(n->g, x, op_slice(n->g, w, 2, 0, in), 1, OP_SAME);
    return op_conv(n->g, op_concat(n->g, (graph_node *[]){x, y}, 2, 3), w, 1, OP_SAME);
}

static gates joined_gates(network_builder *n, const predrnn_config *config, const char *cell,
                          graph_node *x, predrnn_state s)
{
    int64_t H = config->hidden;
    graph_node *layer = joined_conv(n, cell, "conv_c", config->kernel, x, s.h, H, 4 * H);
    graph_node *shared = joined_conv(n, cell, "conv_m", config->kernel, x, s.m, H, 3 * H);
    return (gates){channel_part(n, layer, H, 0),  channel_part(n, layer, H, 1),
                   channel_part(n, layer, H, 2),  channel_part(n, layer, H, 3),
                   channel_part(n, shared, H, 0), channel_part(n, shared, H, 1),
                   channel_part(n, shared, H, 2)};
}

// A convolution and its layer norm. `x` NULL is zero: only the bias is left.
static graph_node *normed_conv(network_builder *n, const predrnn_config *config, const char *cell,
                               const char *name, graph_node *x, int64_t items, int64_t in,
                               int64_t out)
{
    char full[80];
    tensor_shape map = predrnn_map(config, items);
    int64_t size[] = {map.size[1], map.size[2], out};
    snprintf(full, sizeof full, "%s%s.gain", cell, name);
    graph_node *w = conv_weights(n, cell, name, config->kernel, in, out);
    graph_node *gain = network_param(n, full, 3, size, PARAM_INIT_VALUE, 1.0);
    snprintf(full, sizeof full, "%s%s.bias", cell, name);
    graph_node *bias = network_param(n, full, 3, size, PARAM_INIT_VALUE, 0.0);
    if (!x) return op_broadcast(n->g, bias, 0, 1, &items);
    return op_layer_norm(n->g, op_conv(n->g, x, w, 1, OP_SAME), gain, bias, 1e-5);
}

static gates normed_gates(network_builder *n, const predrnn_config *config, const char *cell,
                          graph_node *x, predrnn_state s)
{
    int64_t H = config->hidden, items = x->shape.size[0];
    graph_node *nx = normed_conv(n, config, cell, "conv_x", x, items, x->shape.size[3], 7 * H);
    graph_node *nh = normed_conv(n, config, cell, "conv_h", s.h, items, H, 4 * H);
    graph_node *nm = normed_conv(n, config, cell, "conv_m", s.m, items, H, 3 * H);
    graph_node *sum[7];
    for (int k = 0; k < 3; k++) {
        sum[k] = op_add(n->g, channel_part(n, nx, H, k), channel_part(n, nh, H, k));
        sum[3 + k] = op_add(n->g, channel_part(n, nx, H, 3 + k), channel_part(n, nm, H, k));
    }
    sum[6] = op_add(n->g, channel_part(n, nx, H, 6), channel_part(n, nh, H, 3));
    return (gates){sum[0], sum[1], sum[2], sum[6], sum[3], sum[4], sum[5]};
}

// sigmoid(f + 1) memory + sigmoid(i) tanh(g). The 1 makes it forget little at first. A memory of
// NULL is zero.
static graph_node *update_memory(graph *g, graph_node **added, graph_node *i, graph_node *f,
                                 graph_node *v, graph_node *memory)
{
    *added = op_multiply(g, op_sigmoid(g, i), op_tanh(g, v));
    if (!memory) return *added;
    return op_add(g, op_multiply(g, op_sigmoid(g, op_add_scalar(g, f, 1.0)), memory), *added);
}

// The ST-LSTM cell [Wang17].
predrnn_state predrnn_cell(network_builder *n, const predrnn_config *config, int64_t layer,
                           graph_node *x, predrnn_state before)
{
    char cell[32];
    graph *g = n->g;
    int64_t H = config->hidden;
    snprintf(cell, sizeof cell, "cell%lld.", (long long)layer);
    gates t = config->layer_norm ? normed_gates(n, config, cell, x, before)
                                 : joined_gates(n, config, cell, x, before);
    predrnn_state s;
    s.c = update_memory(g, &s.dc, t.i, t.f, t.g, before.c);
    s.m = update_memory(g, &s.dm, t.i2, t.f2, t.g2, before.m);
    graph_node *both = op_concat(g, (graph_node *[]){s.c, s.m}, 2, 3);
    graph_node *o =
        config->layer_norm
            ? normed_conv(n, config, cell, "conv_o", both, x->shape.size[0], 2 * H, H)
            : op_conv(g, both, conv_weights(n, cell, "conv_o", config->kernel, 2 * H, H), 1,
                      OP_SAME);
    graph_node *output =
        op_conv(g, both, conv_weights(n, cell, "conv_last", 1, 2 * H, H), 1, OP_SAME);
    s.h = op_multiply(g, op_sigmoid(g, op_add(g, t.o, o)), op_tanh(g, output));
    return s;
}

// All layers at one time. `state` is that of the time before on entry. Returns the predicted frame.
static graph_node *run_layers(network_builder *n, const predrnn_config *config,
                              predrnn_state *state, graph_node *x)
{
    graph_node *m = state[config->layers - 1].m, *input = x;
    for (int64_t l = 0; l < config->layers; l++) {
        state[l].m = m;
        state[l] = predrnn_cell(n, config, l, x, state[l]);
        m = state[l].m;
        x = state[l].h;
    }
    tensor_shape out = predrnn_frame(config, 1);
    graph_node *w = conv_weights(n, "", "conv_last", 1, config->hidden, out.size[3]);
    graph_node *y = op_conv(n->g, x, w, 1, OP_SAME);
    return config->residual ? op_add(n->g, y, input) : y;
}

// Input of step t: the true frame, or where the mask is 0 the prediction of it.
static graph_node *input_frame(graph *g, const predrnn_clip *k, const predrnn_config *config,
                               int64_t t)
{
    int64_t from = config->sampling == PREDRNN_SCHEDULED ? config->input_frames : 1;
    if (config->sampling == PREDRNN_TEACHER || t < from) return k->frame[t];
    const tensor_shape *s = &k->frame[t]->shape;
    graph_node *u = op_reshape(g, op_slice(g, k->mask, 0, t, 1), 1, s->size);
    u = op_broadcast(g, u, 1, 3, s->size + 1);
    graph_node *predicted = k->prediction[t - 1];
    return op_add(g, predicted, op_multiply(g, u, op_subtract(g, k->frame[t], predicted)));
}

// Decoupling loss [Wang23]: |cos| between what was added to c and to m, over pixels, after one
// shared 1x1 convolution; summed over channels.
static graph_node *memory_overlap(network_builder *n, const predrnn_config *config, predrnn_state s)
{
    graph *g = n->g;
    graph_node *w = conv_weights(n, "", "adapter", 1, config->hidden, config->hidden);
    graph_node *a = op_conv(g, s.dc, w, 1, OP_SAME), *b = op_conv(g, s.dm, w, 1, OP_SAME);
    graph_node *ab = op_sum(g, op_multiply(g, a, b), 1, 2);
    graph_node *aa = op_add_scalar(g, op_sum(g, op_square(g, a), 1, 2), 1e-24);
    graph_node *bb = op_add_scalar(g, op_sum(g, op_square(g, b), 1, 2), 1e-24);
    graph_node *cosine = op_divide(g, ab, op_multiply(g, op_sqrt(g, aa), op_sqrt(g, bb)));
    graph_node *size =
        op_add(g, op_leaky_relu(g, cosine, 0.0), op_leaky_relu(g, op_scale(g, cosine, -1.0), 0.0));
    return op_sum(g, size, 1, 1);
}

static void unroll_clip(predrnn_clip *k, const predrnn_config *config)
{
    network_builder *n = &k->net;
    predrnn_state none[PREDRNN_MAX_LAYERS] = {0};
    const predrnn_state *before = none;
    for (int64_t t = 0; t + 1 < config->clip_length; t++) {
        predrnn_state *now = k->state + t * config->layers;
        memcpy(now, before, (size_t)config->layers * sizeof *now);
        k->prediction[t] = run_layers(n, config, now, input_frame(n->g, k, config, t));
        before = now;
    }
}

static void add_losses(predrnn_clip *k, const predrnn_config *config, graph_node **error,
                       int64_t items)
{
    graph *g = k->net.g;
    int64_t steps = config->clip_length - 1;
    for (int64_t t = 0; t < steps; t++) {
        graph_node *e =
            op_sum_per_item(g, op_square(g, op_subtract(g, k->prediction[t], k->frame[t + 1])));
        error[t] = op_reshape(g, e, 2, (int64_t[]){1, items});
    }
    k->error = op_concat(g, error, (int)steps, 0);
    if (config->decoupling_weight <= 0.0) return;
    graph_node *sum = memory_overlap(&k->net, config, k->state[0]);
    for (int64_t i = 1; i < steps * config->layers; i++)
        sum = op_add(g, sum, memory_overlap(&k->net, config, k->state[i]));
    k->decoupling = op_scale(g, sum, 1.0 / (double)(steps * config->layers * config->hidden));
}

static void add_gradients(predrnn_clip *k, const predrnn_config *config, int64_t batch)
{
    graph *g = k->net.g;
    tensor_shape frame = predrnn_frame(config, 1);
    double pixels = (double)shape_count(&frame), steps = (double)(config->clip_length - 1);
    graph_node *y[2] = {k->error, k->decoupling}, *seed[2];
    int ys = k->decoupling ? 2 : 1;
    seed[0] = op_constant(g, 1.0 / ((double)batch * steps * pixels), &k->error->shape);
    if (ys == 2)
        seed[1] = op_constant(g, config->decoupling_weight / (double)batch, &k->decoupling->shape);
    k->gradient = ARENA_ALLOC(graph_memory(g), graph_node *, k->net.leaf_count);
    if (!k->gradient) graph_error(g, PLUMB_EMEMORY);
    else network_gradients(&k->net, k->gradient, y, seed, ys);
}

plumb_status predrnn_clip_build(predrnn_clip *out, params *layout, const predrnn_config *config,
                                int64_t items, int64_t batch)
{
    predrnn_clip k = {.net = {.params = layout}};
    plumb_status st = predrnn_check(config);
    if (!st) st = graph_create(&k.net.g);
    if (st) return st;
    graph *g = k.net.g;
    int64_t steps = config->clip_length - 1;
    tensor_shape f = predrnn_frame(config, items);
    graph_node **error = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    k.frame = ARENA_ALLOC(graph_memory(g), graph_node *, config->clip_length);
    k.prediction = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    k.state = ARENA_ALLOC(graph_memory(g), predrnn_state, (steps * config->layers));
    if (!error || !k.frame || !k.prediction || !k.state) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    for (int64_t t = 0; t < config->clip_length; t++)
        k.frame[t] = op_input(g, "frame", 0, f.rank, f.size);
    if (config->sampling != PREDRNN_TEACHER)
        k.mask = op_input(g, "mask", 0, 2, (int64_t[]){steps, items});
    unroll_clip(&k, config);
    add_losses(&k, config, error, items);
    if (batch) add_gradients(&k, config, batch);
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = k;
    return st;
}

plumb_status predrnn_step_build(predrnn_step *out, params *layout, const predrnn_config *config,
                                int64_t items, bool first)
{
    predrnn_step k = {.net = {.params = layout}};
    plumb_status st = predrnn_check(config);
    if (!st) st = graph_create(&k.net.g);
    if (st) return st;
    graph *g = k.net.g;
    tensor_shape f = predrnn_frame(config, items), map = predrnn_map(config, items);
    k.h = ARENA_ALLOC(graph_memory(g), graph_node *, config->layers);
    k.c = ARENA_ALLOC(graph_memory(g), graph_node *, config->layers);
    k.after = ARENA_ALLOC(graph_memory(g), predrnn_state, config->layers);
    if (!k.h || !k.c || !k.after) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    k.frame = op_input(g, "frame", 0, f.rank, f.size);
    if (!first) k.m = op_input(g, "m", 0, map.rank, map.size);
    for (int64_t l = 0; l < config->layers; l++) {
        k.h[l] = first ? NULL : op_input(g, "h", 0, map.rank, map.size);
        k.c[l] = first ? NULL : op_input(g, "c", 0, map.rank, map.size);
        k.after[l] = (predrnn_state){.h = k.h[l], .c = k.c[l], .m = k.m};
    }
    k.prediction = run_layers(&k.net, config, k.after, k.frame);
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = k;
    return st;
}
