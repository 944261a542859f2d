// SPDX-License-Identifier: MIT
#include "models/plato/plato.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

plumb_status plato_check(const plato_config *c)
{
    if (c->height % 16 || c->width % 16 || c->height < 16 || c->width < 16)
        return fail(PLUMB_ESHAPE, "frames of %lld x %lld; PLATO needs multiples of 16",
                    (long long)c->height, (long long)c->width);
    if (c->length < 2)
        return fail(PLUMB_EVALUE, "length=%lld; a clip has at least 2 frames",
                    (long long)c->length);
    return PLUMB_OK;
}

void plato_pack_input(float *out, const uint8_t *frame, const uint8_t *mask, const plato_config *c)
{
    int64_t pixels = c->height * c->width, last = c->slots - 1;
    memset(out, 0, (size_t)(c->slots * pixels * 4) * sizeof *out);
    for (int64_t i = 0; i < pixels; i++) {
        int64_t slot = mask[i] < last ? mask[i] : last;
        float *to = out + (slot * pixels + i) * 4;
        for (int k = 0; k < 3; k++) to[k] = (float)frame[3 * i + k] / 255.0f;
        to[3] = 1.0f;
    }
}

void plato_coordinates(float *out, const plato_config *c)
{
    for (int64_t y = 0; y < c->height; y++)
        for (int64_t x = 0; x < c->width; x++) {
            *out++ = 2.0f * (float)x / (float)(c->width - 1) - 1.0f;
            *out++ = 2.0f * (float)y / (float)(c->height - 1) - 1.0f;
        }
}

// ---- layers ----

// Weights and biases begin uniform, over the root of the inputs.
static graph_node *weights(network_builder *n, const char *name, const char *what, int rank,
                           const int64_t *size)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, what);
    return network_param(n, full, rank, size, PARAM_INIT_UNIFORM, 0.0);
}

static graph_node *bias(network_builder *n, const char *name, const char *what, int64_t out,
                        int64_t inputs)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, what);
    return network_param(n, full, 1, &out, PARAM_INIT_UNIFORM, (double)inputs);
}

static graph_node *conv(network_builder *n, const char *part, int which, graph_node *x, int64_t out,
                        int64_t kernel, int stride)
{
    char name[48];
    snprintf(name, sizeof name, "%s%d", part, which);
    int64_t in = x->shape.size[3];
    graph_node *w = weights(n, name, "w", 4, (int64_t[]){kernel, kernel, in, out});
    graph_node *b = bias(n, name, "b", out, kernel * kernel * in);
    return op_bias(n->g, op_conv(n->g, x, w, stride, OP_CENTRED), b);
}

static graph_node *dense(network_builder *n, const char *name, graph_node *x, int64_t out)
{
    int64_t in = x->shape.size[1];
    graph_node *w = weights(n, name, "w", 2, (int64_t[]){in, out});
    return op_dense(n->g, x, w, bias(n, name, "b", out, in));
}

static graph_node *relu(network_builder *n, graph_node *x)
{
    return op_leaky_relu(n->g, x, 0.0);
}

static graph_node *reshape2(network_builder *n, graph_node *x, int64_t rows, int64_t columns)
{
    return op_reshape(n->g, x, 2, (int64_t[]){rows, columns});
}

// ---- perception ----

plato_codes plato_encode(network_builder *n, const plato_config *c, graph_node *seen)
{
    graph_node *x = seen;
    for (int i = 0; i < PLATO_BLOCKS; i++)
        x = relu(n, conv(n, "encoder", i, x, c->encoder[i], 3, 2));
    int64_t items = x->shape.size[0];
    x = reshape2(n, x, items, shape_count(&x->shape) / (items ? items : 1));
    x = dense(n, "codes", relu(n, dense(n, "dense", x, c->dense)), 2 * c->code);
    return (plato_codes){op_slice(n->g, x, 1, 0, c->code), op_slice(n->g, x, 1, c->code, c->code)};
}

// log of the sum of exponentials, two at a time: log(e^a + e^b) = a + softplus(b - a).
static graph_node *log_sum(graph *g, graph_node *const *x, int64_t count)
{
    graph_node *sum = x[0];
    for (int64_t k = 1; k < count; k++)
        sum = op_add(g, sum, op_softplus(g, op_subtract(g, x[k], sum)));
    return sum;
}

// Slot k of (frames, slots, rest), as (frames, rest).
static graph_node *slot_of(network_builder *n, graph_node *x, int64_t k)
{
    const int64_t *s = x->shape.size;
    return reshape2(n, op_slice(n->g, x, 1, k, 1), s[0], s[2]);
}

plato_image plato_decode(network_builder *n, const plato_config *c, graph_node *code,
                         graph_node *places)
{
    graph *g = n->g;
    int64_t items = code->shape.size[0], size[] = {c->height, c->width};
    int64_t frames = items / c->slots, pixels = c->height * c->width;
    graph_node *both[] = {op_broadcast(g, code, 1, 2, size), op_broadcast(g, places, 0, 1, &items)};
    graph_node *x = op_concat(g, both, 2, 3);
    for (int i = 0; i < 4; i++) x = relu(n, conv(n, "decoder", i, x, c->decoder, 3, 1));
    x = conv(n, "decoder", 4, x, 4, 1, 1);
    plato_image p = {.colour = op_slice(g, x, 3, 0, 3)};
    graph_node *logit =
        op_reshape(g, op_slice(g, x, 3, 3, 1), 3, (int64_t[]){frames, c->slots, pixels});
    p.share = ARENA_ALLOC(graph_memory(g), graph_node *, c->slots);
    if (!p.share) {
        graph_error(g, PLUMB_EMEMORY);
        return p;
    }
    for (int64_t k = 0; k < c->slots; k++) p.share[k] = slot_of(n, logit, k);
    graph_node *all = log_sum(g, p.share, c->slots);
    for (int64_t k = 0; k < c->slots; k++) p.share[k] = op_subtract(g, p.share[k], all);
    return p;
}

graph_node *plato_compose(network_builder *n, const plato_config *c, plato_image p)
{
    graph *g = n->g;
    int64_t frames = p.colour->shape.size[0] / c->slots, pixels = c->height * c->width, three = 3;
    graph_node *colour = op_reshape(g, p.colour, 3, (int64_t[]){frames, c->slots, 3 * pixels});
    graph_node *sum = NULL;
    for (int64_t k = 0; p.share && k < c->slots; k++) {
        graph_node *slot = op_reshape(g, slot_of(n, colour, k), 3, (int64_t[]){frames, pixels, 3});
        graph_node *share = op_broadcast(g, op_exp(g, p.share[k]), 2, 1, &three);
        graph_node *part = op_multiply(g, share, slot);
        sum = sum ? op_add(g, sum, part) : part;
    }
    return sum ? sum : p.colour;
}

// Numbers per frame: x (frames * slots, ..), summed over slots and all the rest.
static graph_node *per_frame(network_builder *n, const plato_config *c, graph_node *x)
{
    int64_t frames = x->shape.size[0] / c->slots;
    return op_sum(n->g, reshape2(n, x, frames, shape_count(&x->shape) / (frames ? frames : 1)), 1,
                  1);
}

static void add_losses(plato_perception *k, const plato_config *c)
{
    network_builder *n = &k->net;
    graph *g = n->g;
    const int64_t *s = k->seen->shape.size;
    int64_t slots = c->slots, frames = s[0] / slots, pixels = s[1] * s[2], three = 3;
    // Every slot is compared with the picture where its mask is.
    graph_node *mask = op_reshape(g, op_slice(g, k->seen, 3, 3, 1), 3, s);
    graph_node *picture = op_reshape(g, op_broadcast(g, k->picture, 1, 1, &slots), 4,
                                     (int64_t[]){s[0], s[1], s[2], 3});
    graph_node *square = op_square(g, op_subtract(g, k->decoded.colour, picture));
    double level = 3.0 * (log(c->sigma) + 0.5 * log(2.0 * 3.14159265358979323846));
    graph_node *far = op_scale(g, op_multiply(g, square, op_broadcast(g, mask, 3, 1, &three)),
                               0.5 / (c->sigma * c->sigma));
    k->error = op_add(g, per_frame(n, c, far), op_scale(g, per_frame(n, c, mask), level));

    graph_node *m = k->codes.mean, *v = k->codes.log_variance;
    graph_node *kl =
        op_add_scalar(g, op_subtract(g, op_add(g, op_square(g, m), op_exp(g, v)), v), -1.0);
    k->divergence = op_scale(g, per_frame(n, c, kl), 0.5);

    graph_node *truth = op_reshape(g, mask, 3, (int64_t[]){frames, slots, pixels}), *cross = NULL;
    for (int64_t i = 0; k->decoded.share && i < slots; i++) {
        graph_node *part = op_multiply(g, slot_of(n, truth, i), k->decoded.share[i]);
        cross = cross ? op_add(g, cross, part) : part;
    }
    if (cross) k->masks = op_scale(g, op_sum(g, cross, 1, 1), -1.0);
}

static graph_node **gradients(network_builder *n, graph_node *const *y, graph_node *const *seed,
                              int ys)
{
    graph_node **d = ARENA_ALLOC(graph_memory(n->g), graph_node *, n->leaves);
    if (!d) graph_error(n->g, PLUMB_EMEMORY);
    else network_gradients(n, d, y, seed, ys);
    return d;
}

plumb_status plato_perception_build(plato_perception *out, params *p, const plato_config *c,
                                    int64_t frames, int64_t batch)
{
    plato_perception k = {.net = {.params = p}};
    plumb_status st = plato_check(c);
    if (!st) st = graph_create(&k.net.g);
    if (st) return st;
    graph *g = k.net.g;
    int64_t items = frames * c->slots;
    k.seen = op_input(g, "seen", 0, 4, (int64_t[]){items, c->height, c->width, 4});
    k.picture = op_input(g, "picture", 0, 4, (int64_t[]){frames, c->height, c->width, 3});
    k.noise = op_input(g, "noise", 0, 2, (int64_t[]){items, c->code});
    k.places = op_input(g, "places", 0, 3, (int64_t[]){c->height, c->width, 2});
    k.codes = plato_encode(&k.net, c, k.seen);
    graph_node *spread = op_exp(g, op_scale(g, k.codes.log_variance, 0.5));
    graph_node *code = op_add(g, k.codes.mean, op_multiply(g, spread, k.noise));
    k.decoded = plato_decode(&k.net, c, code, k.places);
    add_losses(&k, c);
    if (batch && !graph_status(g)) {
        double share = 1.0 / (double)batch;
        graph_node *y[] = {k.error, k.divergence, k.masks}, *seed[3];
        double weight[] = {share, c->beta * share, c->gamma * share};
        for (int i = 0; i < 3; i++) seed[i] = op_constant(g, weight[i], &y[i]->shape);
        k.gradient = gradients(&k.net, y, seed, 3);
    }
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = k;
    return st;
}

// ---- dynamics ----

// A network of pairs: from(own) + to(other), then two layers more; GELU after each. own and other
// are (items, slots, ..) each; the result (items, slots, slots, units).
static graph_node *pairs(network_builder *n, const plato_config *c, const char *name,
                         graph_node *own, graph_node *other, int64_t items)
{
    graph *g = n->g;
    char layer[3][32];
    for (int i = 0; i < 3; i++) snprintf(layer[i], sizeof layer[i], "%s%d", name, i);
    int64_t K = c->slots, U = c->units, a = own->shape.size[1], b = other->shape.size[1];
    // The first layer of the two side by side is one of each, and cheaper before they are paired.
    graph_node *w = weights(n, layer[0], "w", 2, (int64_t[]){a + b, U});
    graph_node *from = op_matmul(g, own, op_slice(g, w, 0, 0, a), false, false);
    graph_node *to = op_matmul(g, other, op_slice(g, w, 0, a, b), false, false);
    int64_t three[] = {items, K, U};
    from = op_broadcast(g, op_reshape(g, from, 3, three), 2, 1, &K);
    to = op_broadcast(g, op_reshape(g, to, 3, three), 1, 1, &K);
    graph_node *x = op_bias(g, op_add(g, from, to), bias(n, layer[0], "b", U, a + b));
    x = reshape2(n, op_gelu(g, x), items * K * K, U);
    for (int i = 1; i < 3; i++) x = op_gelu(g, dense(n, layer[i], x, U));
    return op_reshape(g, x, 4, (int64_t[]){items, K, K, U});
}

// (items, slots, slots, units) -> (items * slots, 2 units): sum and maximum over the other slot.
static graph_node *gather(network_builder *n, const plato_config *c, graph_node *e, int64_t items)
{
    graph *g = n->g;
    int64_t rows = items * c->slots, U = c->units;
    graph_node *most = NULL;
    for (int64_t j = 0; j < c->slots; j++) {
        graph_node *one = reshape2(n, op_slice(g, e, 2, j, 1), rows, U);
        most = most ? op_maximum(g, most, one) : one;
    }
    return op_concat(g, (graph_node *[]){reshape2(n, op_sum(g, e, 2, 1), rows, U), most}, 2, 1);
}

typedef struct memory {
    graph_node *seen, *h, *c; // seen: the buffer before its squashing
} memory;

// One frame: its codes join the buffer, slots look at each other, each goes one step.
static memory advance(network_builder *n, const plato_config *c, memory m, graph_node *code,
                      int64_t t, int64_t items)
{
    graph *g = n->g;
    int64_t H = c->hidden, D = c->code, all = c->length * D, G = 4 * H;
    int64_t in = c->buffer + 2 * c->units;
    graph_node *w = weights(n, "buffer", "w", 2, (int64_t[]){all, c->buffer});
    // Frames that are not there yet are zeros, so each frame only adds its part.
    m.seen = op_add(g, m.seen, op_matmul(g, code, op_slice(g, w, 0, t * D, D), false, false));
    graph_node *b = op_elu(g, op_bias(g, m.seen, bias(n, "buffer", "b", c->buffer, all)));
    graph_node *e =
        op_add(g, pairs(n, c, "state", m.h, m.h, items), pairs(n, c, "seen", m.h, b, items));
    graph_node *x = op_concat(g, (graph_node *[]){b, gather(n, c, e, items)}, 2, 1);
    graph_node *from_x =
        op_matmul(g, x, weights(n, "lstm", "w", 2, (int64_t[]){in, G}), false, false);
    graph_node *from_h =
        op_matmul(g, m.h, weights(n, "lstm", "u", 2, (int64_t[]){H, G}), false, false);
    // Two biases, as the usual implementation has: together they learn twice as fast.
    graph_node *gates = op_add(g, op_bias(g, from_x, bias(n, "lstm", "b", G, H)),
                               op_bias(g, from_h, bias(n, "lstm", "c", G, H)));
    graph_node *part[4];
    for (int i = 0; i < 4; i++) part[i] = op_slice(g, gates, 1, i * H, H);
    m.c = op_add(g, op_multiply(g, op_sigmoid(g, part[1]), m.c),
                 op_multiply(g, op_sigmoid(g, part[0]), op_tanh(g, part[2])));
    m.h = op_multiply(g, op_sigmoid(g, part[3]), op_tanh(g, m.c));
    return m;
}

plumb_status plato_dynamics_build(plato_dynamics *out, params *p, const plato_config *c,
                                  int64_t items, int64_t batch)
{
    plato_dynamics k = {.net = {.params = p}};
    plumb_status st = plato_check(c);
    if (!st) st = graph_create(&k.net.g);
    if (st) return st;
    graph *g = k.net.g;
    int64_t rows = items * c->slots, D = c->code, steps = c->length - 1;
    graph_node **error = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    k.prediction = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    if (!error || !k.prediction) {
        graph_free(g);
        return PLUMB_EMEMORY;
    }
    k.codes = op_input(g, "codes", 0, 3, (int64_t[]){rows, c->length, D});
    tensor_shape buffer = {2, {rows, c->buffer}}, hidden = {2, {rows, c->hidden}};
    memory m = {op_constant(g, 0.0, &buffer), op_constant(g, 0.0, &hidden),
                op_constant(g, 0.0, &hidden)};
    for (int64_t t = 0; t < steps; t++) {
        graph_node *now = reshape2(&k.net, op_slice(g, k.codes, 1, t, 1), rows, D);
        graph_node *next = reshape2(&k.net, op_slice(g, k.codes, 1, t + 1, 1), rows, D);
        m = advance(&k.net, c, m, now, t, items);
        graph_node *said = dense(&k.net, "head", m.h, D);
        k.prediction[t] = c->residual ? op_add(g, now, said) : said;
        graph_node *e = op_square(g, op_subtract(g, k.prediction[t], next));
        error[t] = op_reshape(g, per_frame(&k.net, c, e), 2, (int64_t[]){1, items});
    }
    k.hidden = m.h;
    k.error = op_concat(g, error, (int)steps, 0);
    if (batch && !graph_status(g)) {
        double numbers = (double)(batch * steps * c->slots * D);
        graph_node *seed = op_constant(g, 1.0 / numbers, &k.error->shape);
        k.gradient = gradients(&k.net, &k.error, &seed, 1);
    }
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = k;
    return st;
}
