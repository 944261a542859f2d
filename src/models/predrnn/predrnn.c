// SPDX-License-Identifier: MIT
// PredRNN: ST-LSTM layers, clips and their losses. Parameters have the names of the published code
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

// ---- frames in patches ----

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

// A patch is p rows of p pixels; its values become the channels of one place of the map.
void predrnn_patch(float *out, const uint8_t *frame, const predrnn_config *config)
{
    int64_t p = config->patch, row = p * config->channels;
    float value[256]; // of a byte: a division for each pixel takes longer
    for (int k = 0; k < 256; k++) value[k] = (float)k / 255.0f;
    for (int64_t i = 0; i < config->height / p; i++)
        for (int64_t j = 0; j < config->width / p; j++)
            for (int64_t a = 0; a < p; a++) {
                const uint8_t *from =
                    frame + ((i * p + a) * config->width + j * p) * config->channels;
                for (int64_t k = 0; k < row; k++) *out++ = value[from[k]];
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

// ---- the gates of a layer ----

// Gates of a layer before their activation, (items, height, width, hidden) each: i, f, g and o of
// the memory c, and i', f', g' of the memory m.
typedef struct gates {
    graph_node *i, *f, *g, *o, *i2, *f2, *g2;
} gates;

// A layer under construction.
typedef struct layer_builder {
    network_builder *net;
    const predrnn_config *config;
    char prefix[32]; // of its parameters, "cell0."; "" for those that all layers share
} layer_builder;

// Weights (kernel, kernel, in, out), drawn as PyTorch draws them.
static graph_node *conv_weights(const layer_builder *layer, const char *name, int64_t kernel,
                                int64_t in, int64_t out)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", layer->prefix, name);
    return network_param(layer->net, full, 4, (int64_t[]){kernel, kernel, in, out},
                         PARAM_INIT_UNIFORM, 0.0);
}

// Channels which * hidden to (which + 1) * hidden - 1.
static graph_node *channel_part(const layer_builder *layer, graph_node *all, int64_t which)
{
    const int64_t hidden = layer->config->hidden;
    return op_slice(layer->net->g, all, 3, which * hidden, hidden);
}

// One convolution of the channels of x and y together. `y` NULL is zero: then the weights of y are
// left out of the sum.
static graph_node *joined_conv(const layer_builder *layer, const char *name, graph_node *x,
                               graph_node *y, int64_t out)
{
    graph *g = layer->net->g;
    int64_t in = x->shape.size[3], hidden = layer->config->hidden;
    graph_node *w = conv_weights(layer, name, layer->config->kernel, in + hidden, out);
    if (!y) return op_conv(g, x, op_slice(g, w, 2, 0, in), 1, OP_SAME);
    return op_conv(g, op_concat(g, (graph_node *[]){x, y}, 2, 3), w, 1, OP_SAME);
}

// (i, f, g, o) = W_c * (x, h) and (i', f', g') = W_m * (x, m), without biases [Wang23, code].
static gates joined_gates(const layer_builder *layer, graph_node *x, predrnn_state s)
{
    const int64_t H = layer->config->hidden;
    graph_node *of_c = joined_conv(layer, "conv_c", x, s.h, 4 * H);
    graph_node *of_m = joined_conv(layer, "conv_m", x, s.m, 3 * H);
    return (gates){channel_part(layer, of_c, 0), channel_part(layer, of_c, 1),
                   channel_part(layer, of_c, 2), channel_part(layer, of_c, 3),
                   channel_part(layer, of_m, 0), channel_part(layer, of_m, 1),
                   channel_part(layer, of_m, 2)};
}

// A convolution from `in` to `out` channels and its layer norm over a whole map. `x` NULL is zero:
// the norm of zero is zero, so only the bias is left, once per item.
static graph_node *normed_conv(const layer_builder *layer, const char *name, graph_node *x,
                               int64_t items, int64_t in, int64_t out)
{
    char full[80];
    graph *g = layer->net->g;
    tensor_shape map = predrnn_map(layer->config, items);
    int64_t size[] = {map.size[1], map.size[2], out};
    snprintf(full, sizeof full, "%s%s.gain", layer->prefix, name);
    graph_node *w = conv_weights(layer, name, layer->config->kernel, in, out);
    graph_node *gain = network_param(layer->net, full, 3, size, PARAM_INIT_VALUE, 1.0);
    snprintf(full, sizeof full, "%s%s.bias", layer->prefix, name);
    graph_node *bias = network_param(layer->net, full, 3, size, PARAM_INIT_VALUE, 0.0);
    if (!x) return op_broadcast(g, bias, 0, 1, &items);
    return op_layer_norm(g, op_conv(g, x, w, 1, OP_SAME), gain, bias, 1e-5);
}

// The same with layer norm: x, h and m have a convolution each, and their parts are added. Channels
// of x are i, f, g, i', f', g', o; of h i, f, g, o; of m i', f', g' [Wang23, code].
static gates normed_gates(const layer_builder *layer, graph_node *x, predrnn_state s)
{
    graph *g = layer->net->g;
    int64_t H = layer->config->hidden, items = x->shape.size[0];
    graph_node *nx = normed_conv(layer, "conv_x", x, items, x->shape.size[3], 7 * H);
    graph_node *nh = normed_conv(layer, "conv_h", s.h, items, H, 4 * H);
    graph_node *nm = normed_conv(layer, "conv_m", s.m, items, H, 3 * H);
    graph_node *sum[7];
    for (int k = 0; k < 3; k++) {
        sum[k] = op_add(g, channel_part(layer, nx, k), channel_part(layer, nh, k));
        sum[3 + k] = op_add(g, channel_part(layer, nx, 3 + k), channel_part(layer, nm, k));
    }
    sum[6] = op_add(g, channel_part(layer, nx, 6), channel_part(layer, nh, 3));
    return (gates){sum[0], sum[1], sum[2], sum[6], sum[3], sum[4], sum[5]};
}

// ---- a layer ----

// sigmoid(f + 1) memory + sigmoid(i) tanh(g). The 1 makes it forget little at first. A memory of
// NULL is zero.
static graph_node *update_memory(graph *g, graph_node **added, graph_node *i, graph_node *f,
                                 graph_node *v, graph_node *memory)
{
    *added = op_multiply(g, op_sigmoid(g, i), op_tanh(g, v));
    if (!memory) return *added;
    return op_add(g, op_multiply(g, op_sigmoid(g, op_add_scalar(g, f, 1.0)), memory), *added);
}

// The ST-LSTM of one layer [Wang17]:
//     c = f c + i g,  m = f' m + i' g',  h = sigmoid(o + W_o * (c, m)) tanh(W_1 * (c, m)).
predrnn_state predrnn_layer(network_builder *net, const predrnn_config *config, int64_t index,
                            graph_node *x, predrnn_state before)
{
    layer_builder layer = {.net = net, .config = config};
    graph *g = net->g;
    int64_t H = config->hidden;
    snprintf(layer.prefix, sizeof layer.prefix, "cell%lld.", (long long)index);
    gates t =
        config->layer_norm ? normed_gates(&layer, x, before) : joined_gates(&layer, x, before);
    // The same update for both memories. What was added is kept for the decoupling loss.
    predrnn_state s;
    s.c = update_memory(g, &s.dc, t.i, t.f, t.g, before.c);
    s.m = update_memory(g, &s.dm, t.i2, t.f2, t.g2, before.m);
    // The output gate sees both memories, and so does the output, by a 1x1 convolution.
    graph_node *both = op_concat(g, (graph_node *[]){s.c, s.m}, 2, 3);
    graph_node *o = config->layer_norm
                        ? normed_conv(&layer, "conv_o", both, x->shape.size[0], 2 * H, H)
                        : op_conv(g, both, conv_weights(&layer, "conv_o", config->kernel, 2 * H, H),
                                  1, OP_SAME);
    graph_node *output =
        op_conv(g, both, conv_weights(&layer, "conv_last", 1, 2 * H, H), 1, OP_SAME);
    s.h = op_multiply(g, op_sigmoid(g, op_add(g, t.o, o)), op_tanh(g, output));
    return s;
}

// All layers at one time. `state` is that of the time before on entry, and of this time on return.
// Returns the predicted next frame, in patches.
static graph_node *run_layers(network_builder *net, const predrnn_config *config,
                              predrnn_state *state, graph_node *x)
{
    // m goes from the top layer of the time before to the lowest layer, then up through all layers.
    graph_node *m = state[config->layers - 1].m, *input = x;
    for (int64_t l = 0; l < config->layers; l++) {
        state[l].m = m;
        state[l] = predrnn_layer(net, config, l, x, state[l]);
        m = state[l].m;
        x = state[l].h;
    }
    // h of the top layer gives the frame, or with `residual` the change from the input frame.
    const layer_builder shared = {.net = net, .config = config};
    tensor_shape out = predrnn_frame(config, 1);
    graph_node *w = conv_weights(&shared, "conv_last", 1, config->hidden, out.size[3]);
    graph_node *y = op_conv(net->g, x, w, 1, OP_SAME);
    return config->residual ? op_add(net->g, y, input) : y;
}

// ---- a clip ----

// Input of step t: the true frame, or where the mask is 0 the prediction of it.
static graph_node *input_frame(graph *g, const predrnn_clip *clip, const predrnn_config *config,
                               int64_t t)
{
    // The first frame has no prediction; scheduled sampling begins after the input frames.
    int64_t from = config->sampling == PREDRNN_SCHEDULED ? config->input_frames : 1;
    if (config->sampling == PREDRNN_TEACHER || t < from) return clip->frame[t];
    const tensor_shape *s = &clip->frame[t]->shape;
    // predicted + u (true - predicted), with one number u per item, 0 or 1.
    graph_node *u = op_reshape(g, op_slice(g, clip->mask, 0, t, 1), 1, s->size);
    u = op_broadcast(g, u, 1, 3, s->size + 1);
    graph_node *predicted = clip->prediction[t - 1];
    return op_add(g, predicted, op_multiply(g, u, op_subtract(g, clip->frame[t], predicted)));
}

// Decoupling loss [Wang23]: |cos| between what was added to c and to m, over pixels, after one
// shared 1x1 convolution; summed over channels.
static graph_node *memory_overlap(network_builder *net, const predrnn_config *config,
                                  predrnn_state s)
{
    graph *g = net->g;
    const layer_builder shared = {.net = net, .config = config};
    graph_node *w = conv_weights(&shared, "adapter", 1, config->hidden, config->hidden);
    graph_node *a = op_conv(g, s.dc, w, 1, OP_SAME), *b = op_conv(g, s.dm, w, 1, OP_SAME);
    // cos = <a, b> / (|a| |b|) per item and channel. 1e-24 keeps the root away from 0.
    graph_node *ab = op_sum(g, op_multiply(g, a, b), 1, 2);
    graph_node *aa = op_add_scalar(g, op_sum(g, op_square(g, a), 1, 2), 1e-24);
    graph_node *bb = op_add_scalar(g, op_sum(g, op_square(g, b), 1, 2), 1e-24);
    graph_node *cosine = op_divide(g, ab, op_multiply(g, op_sqrt(g, aa), op_sqrt(g, bb)));
    // |x| = relu(x) + relu(-x).
    graph_node *size =
        op_add(g, op_leaky_relu(g, cosine, 0.0), op_leaky_relu(g, op_scale(g, cosine, -1.0), 0.0));
    return op_sum(g, size, 1, 1);
}

// Runs the layers from frame to frame, the same parameters at all times. States begin at zero.
static void unroll_clip(predrnn_clip *clip, const predrnn_config *config)
{
    network_builder *net = &clip->net;
    predrnn_state none[PREDRNN_MAX_LAYERS] = {0};
    const predrnn_state *before = none;
    for (int64_t t = 0; t + 1 < config->clip_length; t++) {
        predrnn_state *now = clip->state + t * config->layers;
        memcpy(now, before, (size_t)config->layers * sizeof *now);
        clip->prediction[t] = run_layers(net, config, now, input_frame(net->g, clip, config, t));
        before = now;
    }
}

// Squared error of each predicted frame, and the mean decoupling loss over times, layers and
// channels.
static void add_losses(predrnn_clip *clip, const predrnn_config *config, graph_node **error,
                       int64_t items)
{
    graph *g = clip->net.g;
    int64_t steps = config->clip_length - 1;
    for (int64_t t = 0; t < steps; t++) {
        graph_node *e = op_sum_per_item(
            g, op_square(g, op_subtract(g, clip->prediction[t], clip->frame[t + 1])));
        error[t] = op_reshape(g, e, 2, (int64_t[]){1, items});
    }
    clip->error = op_concat(g, error, (int)steps, 0);
    if (config->decoupling_weight <= 0.0) return;
    graph_node *sum = memory_overlap(&clip->net, config, clip->state[0]);
    for (int64_t i = 1; i < steps * config->layers; i++)
        sum = op_add(g, sum, memory_overlap(&clip->net, config, clip->state[i]));
    clip->decoupling = op_scale(g, sum, 1.0 / (double)(steps * config->layers * config->hidden));
}

// Gradients of mean squared error + decoupling_weight * decoupling: the seeds are the weights of
// the single errors in the loss of the whole batch.
static void add_gradients(predrnn_clip *clip, const predrnn_config *config, int64_t batch)
{
    graph *g = clip->net.g;
    tensor_shape frame = predrnn_frame(config, 1);
    double pixels = (double)shape_count(&frame), steps = (double)(config->clip_length - 1);
    graph_node *y[2] = {clip->error, clip->decoupling}, *seed[2];
    int ys = clip->decoupling ? 2 : 1;
    seed[0] = op_constant(g, 1.0 / ((double)batch * steps * pixels), &clip->error->shape);
    if (ys == 2)
        seed[1] =
            op_constant(g, config->decoupling_weight / (double)batch, &clip->decoupling->shape);
    clip->gradient = ARENA_ALLOC(graph_memory(g), graph_node *, clip->net.leaf_count);
    if (!clip->gradient) graph_error(g, PLUMB_EMEMORY);
    else network_gradients(&clip->net, clip->gradient, y, seed, ys);
}

plumb_status predrnn_clip_build(predrnn_clip *out, params *layout, const predrnn_config *config,
                                int64_t items, int64_t batch)
{
    predrnn_clip clip = {.net = {.params = layout}};
    plumb_status st = predrnn_check(config);
    if (!st) st = graph_create(&clip.net.g);
    if (st) return st;
    graph *g = clip.net.g;
    int64_t steps = config->clip_length - 1;
    tensor_shape f = predrnn_frame(config, items);
    graph_node **error = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    clip.frame = ARENA_ALLOC(graph_memory(g), graph_node *, config->clip_length);
    clip.prediction = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    clip.state = ARENA_ALLOC(graph_memory(g), predrnn_state, (steps * config->layers));
    if (!error || !clip.frame || !clip.prediction || !clip.state) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    // Inputs: all true frames, and where sampling is random the mask of each step.
    for (int64_t t = 0; t < config->clip_length; t++)
        clip.frame[t] = op_input(g, "frame", 0, f.rank, f.size);
    if (config->sampling != PREDRNN_TEACHER)
        clip.mask = op_input(g, "mask", 0, 2, (int64_t[]){steps, items});
    unroll_clip(&clip, config);
    add_losses(&clip, config, error, items);
    if (batch) add_gradients(&clip, config, batch);
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = clip;
    return st;
}

plumb_status predrnn_step_build(predrnn_step *out, params *layout, const predrnn_config *config,
                                int64_t items, bool first)
{
    predrnn_step step = {.net = {.params = layout}};
    plumb_status st = predrnn_check(config);
    if (!st) st = graph_create(&step.net.g);
    if (st) return st;
    graph *g = step.net.g;
    tensor_shape f = predrnn_frame(config, items), map = predrnn_map(config, items);
    step.h = ARENA_ALLOC(graph_memory(g), graph_node *, config->layers);
    step.c = ARENA_ALLOC(graph_memory(g), graph_node *, config->layers);
    step.after = ARENA_ALLOC(graph_memory(g), predrnn_state, config->layers);
    if (!step.h || !step.c || !step.after) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    // Inputs: the frame and, after the first step, h and c of every layer and m of the top layer.
    step.frame = op_input(g, "frame", 0, f.rank, f.size);
    if (!first) step.m = op_input(g, "m", 0, map.rank, map.size);
    for (int64_t l = 0; l < config->layers; l++) {
        step.h[l] = first ? NULL : op_input(g, "h", 0, map.rank, map.size);
        step.c[l] = first ? NULL : op_input(g, "c", 0, map.rank, map.size);
        step.after[l] = (predrnn_state){.h = step.h[l], .c = step.c[l], .m = step.m};
    }
    step.prediction = run_layers(&step.net, config, step.after, step.frame);
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = step;
    return st;
}
