// SPDX-License-Identifier: MIT
#include "models/hgn/hgn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/hgn/autoregressive.h"
#include "models/hgn/dynamics.h"
#include "models/hgn/lagrangian.h"

const char *const hgn_split_names[HGN_SPLITS] = {"overlap_by_one", "no_overlap",
                                                 "include_inference"};
const char *const hgn_objective_names[HGN_OBJECTIVES] = {"elbo", "geco", "plain"};

static int64_t map_size(const hgn_config *c)
{
    return c->image >> c->decoder_blocks;
}

tensor_shape hgn_state_shape(const hgn_config *c, int64_t items)
{
    int64_t m = map_size(c), n = c->latent / 2;
    return c->maps ? (tensor_shape){4, {items, m, m, n}} : (tensor_shape){2, {items, n}};
}

tensor_shape hgn_decoder_input_shape(const hgn_config *c, int64_t items)
{
    tensor_shape s = hgn_state_shape(c, items);
    s.size[s.rank - 1] *= 1 + c->angles + c->whole;
    return s;
}

static graph_node *input_like(graph *g, const char *name, int stage, const tensor_shape *s)
{
    return op_input(g, name, stage, s->rank, s->size);
}

static graph_node *standardised(network_builder *n, graph_node *frames)
{
    graph *g = n->g;
    graph_node *mean = network_param(n, "film.mean", 0, NULL, PARAM_INIT_FIXED, 0.0);
    graph_node *deviation = network_param(n, "film.deviation", 0, NULL, PARAM_INIT_FIXED, 1.0);
    graph_node *less = op_subtract(g, frames, op_broadcast_like(g, mean, frames));
    return op_divide(g, less, op_broadcast_like(g, deviation, frames));
}

// Less its mean over an item, over its deviation there: (batch, height, width, frames).
static graph_node *level(graph *g, graph_node *x)
{
    const int64_t *s = x->shape.size;
    const double share = 1.0 / (double)(s[1] * s[2] * s[3]);
    graph_node *mean = op_scale(g, op_sum(g, x, 1, 3), share);
    graph_node *less = op_subtract(g, x, op_broadcast(g, mean, 1, 3, s + 1));
    graph_node *variance = op_scale(g, op_sum(g, op_square(g, less), 1, 3), share);
    graph_node *deviation = op_sqrt(g, op_add_scalar(g, variance, 1e-6));
    return op_divide(g, less, op_broadcast(g, deviation, 1, 3, s + 1));
}

// The mean over the channels of each frame, whose contrast is the same in all colours.
static graph_node *grey(graph *g, graph_node *x, int64_t channels)
{
    const int64_t *s = x->shape.size, frames = s[3] / channels;
    graph_node *apart = op_reshape(g, x, 5, (int64_t[]){s[0], s[1], s[2], frames, channels});
    return level(g, op_scale(g, op_sum(g, apart, 4, 1), 1.0 / (double)channels));
}

// x and |x|, both over 1 + |x|: what a thing does to a picture has another sign and strength in
// another colour; where it is has not. With hues only the mean of |x| over each frame's colours is
// given back, and all of it, times the hue, is set apart.
static graph_node *with_sizes(network_builder *n, const hgn_config *c, graph_node *x,
                              graph_node **hued)
{
    graph *g = n->g;
    graph_node *above = network_activate(n, x, ACT_RELU);
    graph_node *size = op_subtract(g, op_scale(g, above, 2.0), x);
    graph_node *most = op_add_scalar(g, size, 1.0);
    graph_node *part[] = {op_divide(g, x, most), op_divide(g, size, most)};
    graph_node *both = op_concat(g, part, 2, x->shape.rank - 1);
    if (!c->hues) return both;
    graph_node *hue = network_param(n, "hue", 0, NULL, PARAM_INIT_FIXED, 1.0);
    *hued = op_multiply(g, both, op_broadcast_like(g, hue, both));
    return grey(g, part[1], c->channels);
}

// What colours add to the first layer: nothing at first, so that they disturb nothing when they
// come.
static graph_node *colours(network_builder *n, graph_node *hued, const hgn_block *block,
                           int64_t out)
{
    const int64_t size[] = {block->kernel[0], block->kernel[0], hued->shape.size[3], out};
    graph_node *w = network_param(n, "enc.colours.w", 4, size, PARAM_INIT_VALUE, 0.0);
    return op_conv(n->g, hued, w, 2, block->padding[0]);
}

static graph_node *encoder(network_builder *n, const hgn_config *c, graph_node *x, graph_node *hued,
                           int64_t out)
{
    const int64_t channels = c->angles ? 2 * c->latent : out; // the cosines come of the last layer
    for (int b = 0; b < c->encoder_blocks; b++) {
        const hgn_block *block = &c->encoder[b];
        for (int i = 0; i < block->layers; i++) {
            char name[64];
            bool last = b == c->encoder_blocks - 1 && i == block->layers - 1;
            snprintf(name, sizeof name, "enc.block%d.conv%d", b, i);
            x = network_conv(n, name, x, last ? channels : block->width[i], block->kernel[i],
                             i ? 1 : 2, block->padding[i]);
            if (hued) x = op_add(n->g, x, colours(n, hued, block, x->shape.size[3]));
            hued = NULL;
            if (!last) x = network_activate(n, x, c->encoder_act);
        }
    }
    if (c->maps) return x;
    int64_t flat = x->shape.size[1] * x->shape.size[2] * x->shape.size[3];
    x = op_reshape(n->g, x, 2, (int64_t[]){x->shape.size[0], flat});
    return network_dense(n, "enc.proj", x, out);
}

// Of what moves as it is without colours, of what stands still as it is with them: (batch, numbers
// of every pair, one kind after the other).
static graph_node *apart(graph *g, graph_node *without, graph_node *with, int64_t pairs)
{
    const int64_t kinds = without->shape.size[1] / pairs;
    graph_node *share = op_broadcast(g, energy_scales(g, pairs), 0, 1, &kinds);
    share = op_reshape(g, share, 1, (int64_t[]){kinds * pairs});
    share = op_broadcast(g, share, 0, 1, with->shape.size);
    return op_add(g, with, op_multiply(g, share, op_subtract(g, without, with)));
}

graph_node *hgn_encoder(network_builder *n, const hgn_config *c, graph_node *x, int64_t out)
{
    graph_node *hued = NULL;
    if (c->standard) x = standardised(n, x);
    if (c->sizes) x = with_sizes(n, c, x, &hued);
    graph_node *y = encoder(n, c, x, hued, out);
    if (!hued || c->kinetic != ENERGY_GRADED_MASSES || c->maps || c->angles) return y;
    return apart(n->g, encoder(n, c, x, NULL, out), y, c->latent / 2);
}

static graph_node *transform(network_builder *n, const hgn_config *c, graph_node *z)
{
    for (int i = 0; i < c->transform_layers; i++) {
        char name[64];
        bool last = i == c->transform_layers - 1;
        int64_t width = last ? c->latent : c->transform_width;
        snprintf(name, sizeof name, "lt.%s%d", c->maps ? "conv" : "ff", i);
        z = c->maps ? network_conv(n, name, z, width, 3, 1, OP_SAME)
                    : network_dense(n, name, z, width);
        if (!last) z = network_activate(n, z, c->encoder_act);
    }
    return z;
}

// Abscissa and ordinate of every pixel, from -1 to 1: (pixels, 2).
static graph_node *places(graph *g, int64_t size)
{
    graph_node **x = ARENA_ALLOC(graph_memory(g), graph_node *, size);
    if (!x) return graph_error(g, PLUMB_EMEMORY);
    for (int64_t i = 0; i < size; i++)
        x[i] = op_constant(g, (double)(2 * i + 1) / (double)size - 1.0, &(tensor_shape){1, {1}});
    graph_node *line = op_concat(g, x, (int)size, 0);
    graph_node *column =
        op_reshape(g, op_broadcast(g, line, 0, 1, &size), 2, (int64_t[]){size * size, 1});
    graph_node *row =
        op_reshape(g, op_broadcast(g, line, 1, 1, &size), 2, (int64_t[]){size * size, 1});
    return op_concat(g, (graph_node *[]){column, row}, 2, 1);
}

// One network for all pixels, which sees where a pixel is and what is seen of the state. Things
// that move are the same function of place minus position: it has not to be learnt at every place.
static graph_node *pixel_decoder(network_builder *n, const hgn_config *c, graph_node *q)
{
    graph *g = n->g;
    int64_t items = q->shape.size[0], pixels = c->image * c->image, width = c->decoder_width[0];
    int64_t flat[] = {items * pixels, width};
    graph_node *x =
        op_broadcast(g, network_dense(n, "dec.place", places(g, c->image), width), 0, 1, &items);
    x = op_reshape(g, x, 2, flat);
    for (int i = 0; i < c->decoder_depth + 1; i++) {
        char name[64];
        snprintf(name, sizeof name, "dec.pixel%d", i);
        if (i) x = network_dense(n, name, x, width);
        snprintf(name, sizeof name, "dec.state%d", i);
        graph_node *state = op_broadcast(g, network_dense(n, name, q, width), 1, 1, &pixels);
        x = network_activate(n, op_add(g, x, op_reshape(g, state, 2, flat)), c->decoder_act);
    }
    x = network_activate(n, network_dense(n, "dec.colour", x, c->channels), ACT_SIGMOID);
    return op_reshape(g, x, 4, (int64_t[]){items, c->image, c->image, c->channels});
}

static graph_node *decoder(network_builder *n, const hgn_config *c, graph_node *q)
{
    if (c->pixels) return pixel_decoder(n, c, q);
    graph *g = n->g;
    int64_t m = map_size(c), items = q->shape.size[0], start = c->decoder_start;
    graph_node *x = q;
    if (!c->maps) {
        x = network_dense(n, "dec.proj", q, m * m * start);
        x = op_reshape(g, x, 4, (int64_t[]){items, m, m, start});
    }
    graph_node *h = network_param(n, "dec.h", 3, (int64_t[]){m, m, 2}, PARAM_INIT_VALUE, 1.0);
    x = op_concat(g, (graph_node *[]){op_broadcast(g, h, 0, 1, &items), x}, 2, 3);
    for (int b = 0; b < c->decoder_blocks; b++) {
        bool last = b == c->decoder_blocks - 1;
        for (int i = 0; i < c->decoder_depth + last; i++) {
            char name[64];
            bool end = last && i == c->decoder_depth;
            int64_t width = end ? c->channels : c->decoder_width[b];
            snprintf(name, sizeof name, "dec.block%d.conv%d", b, i);
            x = i ? network_conv(n, name, x, width, 3, 1, OP_SAME)
                  : network_upconv(n, name, x, width);
            x = network_activate(n, x, end ? ACT_SIGMOID : c->decoder_act);
        }
    }
    return x;
}

// The sum of (e^2s + m^2 - 1)/2 - s.
graph_node *hgn_kl(graph *g, graph_node *loc, graph_node *log_scale, graph_node *keep)
{
    graph_node *spread = op_exp(g, op_scale(g, log_scale, 2.0));
    graph_node *half =
        op_scale(g, op_add_scalar(g, op_add(g, spread, op_square(g, loc)), -1.0), 0.5);
    graph_node *kl = op_subtract(g, half, log_scale);
    return op_sum_per_item(g, keep ? op_multiply(g, kl, keep) : kl);
}

graph_node *hgn_stack_times(graph *g, graph_node *const *x, int64_t count)
{
    graph_node **row = ARENA_ALLOC(graph_memory(g), graph_node *, count);
    if (!row) return graph_error(g, PLUMB_EMEMORY);
    for (int64_t t = 0; t < count; t++) {
        int64_t size[GRAPH_MAX_RANK] = {1};
        memcpy(size + 1, x[t]->shape.size, (size_t)x[t]->shape.rank * sizeof *size);
        row[t] = op_reshape(g, x[t], x[t]->shape.rank + 1, size);
    }
    return op_concat(g, row, (int)count, 0);
}

typedef struct path {
    graph_node **q, **p;
    int64_t count;
} path;

// n steps of sign dt from `at`, which is not among them.
static phase_state follow(path *out, const hgn_config *c, network_builder *n, phase_state at,
                          double dt, graph_node *sign, graph_node *keep, graph_node *radius,
                          int64_t steps)
{
    state_dynamics m = dynamics_make(c, n, keep, radius);
    for (int64_t t = 0; t < steps && !graph_status(n->g); t++) {
        at = dynamics_step(&m, at, dt, sign);
        out->q[out->count] = at.q;
        out->p[out->count++] = at.p;
    }
    return at;
}

static void reverse(graph_node **x, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        graph_node *t = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = t;
    }
}

static plumb_status roll(path *out, const hgn_config *c, network_builder *n, phase_state z0,
                         graph_node *sign, graph_node *keep, graph_node *radius, int64_t back,
                         int64_t forward, bool now)
{
    out->q = ARENA_ALLOC(graph_memory(n->g), graph_node *, (back + forward + 1));
    out->p = ARENA_ALLOC(graph_memory(n->g), graph_node *, (back + forward + 1));
    if (!out->q || !out->p) return PLUMB_EMEMORY;
    follow(out, c, n, z0, -c->dt, sign, keep, radius, back);
    reverse(out->q, back);
    reverse(out->p, back);
    if (now) {
        out->q[out->count] = z0.q;
        out->p[out->count++] = z0.p;
    }
    follow(out, c, n, z0, c->dt, sign, keep, radius, forward);
    return graph_status(n->g);
}

static graph_node *spread_over(graph *g, graph_node *each, const tensor_shape *like)
{
    return op_broadcast(g, each, 1, like->rank - 1, like->size + 1);
}

// Energies of all states, (times * batch): a check, not a part of the loss.
static graph_node *energies(const hgn_config *c, network_builder *n, graph_node *q, graph_node *p,
                            graph_node *radius)
{
    tensor_shape s = hgn_state_shape(c, q->shape.size[0] * q->shape.size[1]);
    state_dynamics m =
        dynamics_make(c, n, NULL, radius ? op_reshape(n->g, radius, s.rank, s.size) : NULL);
    phase_state all = {op_reshape(n->g, q, s.rank, s.size), op_reshape(n->g, p, s.rank, s.size)};
    return dynamics_energy(&m, all);
}

// 1 where a pair of latents is in use, of the state's shape: what the model has settled on, and
// what the item may use. NULL if all are.
static graph_node *pairs_in_use(network_builder *n, const hgn_config *c, graph_node *item,
                                const tensor_shape *state)
{
    if (!c->chooses) return item;
    int64_t pairs = c->latent / 2;
    graph_node *settled = network_param(n, "keep", 1, &pairs, PARAM_INIT_FIXED, 1.0);
    settled = op_broadcast(n->g, settled, 0, 1, state->size);
    return item ? op_multiply(n->g, settled, item) : settled;
}

// A circle has a hole, and a map that does not go round it yet must cross it: there the angle
// jumps. So at first cosine and sine are r / sqrt(r^2 + soft^2) long, r the length of what the
// encoder gives, which is smooth; `soft` falls to 0 in training. Pairs that are not in use have
// length 0.
static graph_node *radius_of(network_builder *n, const hgn_config *c, graph_node *sine,
                             graph_node *cosine, graph_node *in_use)
{
    graph *g = n->g;
    if (!c->angles) return NULL;
    graph_node *soft = network_param(n, "soft", 0, NULL, PARAM_INIT_FIXED, 0.0);
    graph_node *square = op_add(g, op_square(g, sine), op_square(g, cosine));
    graph_node *sum = op_add(g, square, op_broadcast_like(g, op_square(g, soft), square));
    graph_node *share = op_divide(g, op_add_scalar(g, square, 1e-12), op_add_scalar(g, sum, 1e-12));
    graph_node *radius = op_sqrt(g, share);
    return in_use ? op_multiply(g, radius, in_use) : radius;
}

// What the decoder sees of all states, (times, batch, ..).
static graph_node *seen_of(graph *g, const hgn_config *c, graph_node *q, graph_node *p,
                           graph_node *radius)
{
    graph_node *place = c->angles ? energy_embed_angles(g, q, radius) : q;
    return c->whole ? op_concat(g, (graph_node *[]){place, p}, 2, 2) : place;
}

static plumb_status describe_roll(hgn_rollout_graph *r, const hgn_config *c, int64_t batch,
                                  int64_t back, int64_t forward, bool now, bool keep, bool train)
{
    network_builder *n = &r->net;
    graph *g = n->g;
    int64_t L = c->latent, m = map_size(c);
    tensor_shape state =
        c->maps ? (tensor_shape){4, {batch, m, m, L}} : (tensor_shape){2, {batch, L}};
    tensor_shape half = hgn_state_shape(c, batch);
    int last = state.rank - 1;
    r->frames = op_input(g, "frames", 0, 4,
                         (int64_t[]){batch, c->image, c->image, c->window * c->channels});
    r->noise = input_like(g, "noise", 0, &state);
    if (c->both_ways) r->sign = op_input(g, "sign", 0, 1, &batch);
    if (keep) r->keep = op_input(g, "keep", 0, 2, (int64_t[]){batch, L / 2});

    graph_node *code = hgn_encoder(n, c, r->frames, 2 * L + (c->angles ? L / 2 : 0));
    graph_node *loc = op_slice(g, code, last, 0, L), *log_scale = op_slice(g, code, last, L, L);
    if (c->bound > 0.0) // else one odd film and exp() are enough to end a run
        log_scale = op_scale(g, op_tanh(g, op_scale(g, log_scale, 1.0 / c->bound)), c->bound);
    if (c->spread > 0.0) log_scale = op_add_scalar(g, log_scale, log(c->spread));
    graph_node *centre = loc; // from the prior's; on a circle no place is nearer than another
    graph_node *in_use = pairs_in_use(n, c, r->keep, &half), *radius = NULL;
    if (c->angles) {
        graph_node *sine = op_slice(g, loc, 1, 0, L / 2), *p = op_slice(g, loc, 1, L / 2, L / 2);
        graph_node *cosine = op_slice(g, code, 1, 2 * L, L / 2), *q = op_atan2(g, sine, cosine);
        radius = radius_of(n, c, sine, cosine, in_use);
        loc = op_concat(g, (graph_node *[]){q, p}, 2, 1);
        centre = op_concat(g, (graph_node *[]){op_zeros_like(g, q), p}, 2, 1);
    }
    graph_node *z = op_add(g, loc, op_multiply(g, op_exp(g, log_scale), r->noise));
    graph_node *mask = in_use ? op_concat(g, (graph_node *[]){in_use, in_use}, 2, 1) : NULL;
    if (mask) z = op_multiply(g, z, mask);
    graph_node *z0 = transform(n, c, z);
    phase_state start = {op_slice(g, z0, last, 0, L / 2), op_slice(g, z0, last, L / 2, L / 2)};
    graph_node *sign = r->sign ? spread_over(g, r->sign, &half) : NULL;
    path way = {0};
    plumb_status st = roll(&way, c, n, start, sign, in_use, radius, back, forward, now);
    if (st) return st;
    r->times = way.count;

    graph_node *kl = hgn_kl(g, centre, log_scale, mask);
    graph_node *q = hgn_stack_times(g, way.q, way.count), *p = hgn_stack_times(g, way.p, way.count);
    if (radius) radius = op_broadcast(g, radius, 0, 1, &way.count);
    graph_node *seen = seen_of(g, c, q, p, radius);
    graph_node *outputs[HGN_ROLL_OUTPUTS] = {[HGN_Q] = q,
                                             [HGN_P] = p,
                                             [HGN_KL] = kl,
                                             [HGN_LOC] = loc,
                                             [HGN_Z0] = z0,
                                             [HGN_LOG_SCALE] = log_scale,
                                             [HGN_ENERGY] = energies(c, n, q, p, radius),
                                             [HGN_DECODER_INPUT] = seen};
    r->output = ARENA_ALLOC(graph_memory(g), graph_node *, (HGN_ROLL_OUTPUTS + n->leaves));
    if (!r->output) return PLUMB_EMEMORY;
    memcpy(r->output, outputs, sizeof outputs);
    r->outputs = HGN_ROLL_OUTPUTS;
    if (!train) return graph_status(g);
    r->dq = input_like(g, "dq", 1, &seen->shape);
    r->kl_weight = op_input(g, "kl_weight", 1, 0, NULL);
    graph_node *seeds[] = {r->dq, op_broadcast_like(g, r->kl_weight, kl)};
    r->outputs +=
        network_gradients(n, r->output + HGN_ROLL_OUTPUTS, (graph_node *[]){seen, kl}, seeds, 2);
    return graph_status(g);
}

plumb_status hgn_rollout_build(hgn_rollout_graph *out, params *p, const hgn_config *c,
                               int64_t batch, int64_t back, int64_t forward, bool now, bool keep,
                               bool train)
{
    *out = (hgn_rollout_graph){.net = {.params = p}};
    plumb_status st = graph_create(&out->net.g);
    if (!st)
        st = c->dynamics == HGN_RECURRENT
                 ? autoregressive_build(out, c, batch, forward, train)
                 : describe_roll(out, c, batch, back, forward, now, keep, train);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}

static plumb_status describe_decode(hgn_decode *d, const hgn_config *c, int64_t count, bool train)
{
    network_builder *n = &d->net;
    graph *g = n->g;
    tensor_shape seen = hgn_decoder_input_shape(c, count);
    d->q = input_like(g, "q", 0, &seen);
    graph_node *frames = decoder(n, c, d->q);
    d->output = ARENA_ALLOC(graph_memory(g), graph_node *, (HGN_DECODE_OUTPUTS + n->leaves));
    if (!d->output) return PLUMB_EMEMORY;
    d->output[d->outputs++] = frames;
    if (!train) return graph_status(g);
    d->target = input_like(g, "target", 0, &frames->shape);
    d->weight = op_input(g, "weight", 0, 1, &count);
    graph_node *l2 = op_sum_per_item(g, op_square(g, op_subtract(g, frames, d->target)));
    d->output[d->outputs++] = l2;
    graph_gradient(g, &d->output[d->outputs++], &d->q, 1, &l2, &d->weight, 1);
    d->outputs += network_gradients(n, d->output + HGN_DECODE_OUTPUTS, &l2, &d->weight, 1);
    return graph_status(g);
}

plumb_status hgn_decode_build(hgn_decode *out, params *p, const hgn_config *c, int64_t count,
                              bool train)
{
    *out = (hgn_decode){.net = {.params = p}};
    plumb_status st = graph_create(&out->net.g);
    if (!st) st = describe_decode(out, c, count, train);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}

plumb_status hgn_advance_build(hgn_advance *out, params *p, const hgn_config *c, int64_t batch,
                               int64_t steps)
{
    *out = (hgn_advance){.net = {.params = p}};
    plumb_status st = graph_create(&out->net.g);
    if (st) return st;
    graph *g = out->net.g;
    tensor_shape s = hgn_state_shape(c, batch);
    out->q = input_like(g, "q", 0, &s);
    out->p = input_like(g, "p", 0, &s);
    out->sign = op_input(g, "sign", 0, 1, &batch);
    path way = {.q = ARENA_ALLOC(graph_memory(g), graph_node *, steps),
                .p = ARENA_ALLOC(graph_memory(g), graph_node *, steps)};
    st = way.q && way.p ? PLUMB_OK : PLUMB_EMEMORY;
    if (!st) {
        graph_node *in_use = pairs_in_use(&out->net, c, NULL, &s);
        follow(&way, c, &out->net, (phase_state){out->q, out->p}, c->dt,
               spread_over(g, out->sign, &s), in_use, in_use, steps);
        out->output[0] = hgn_stack_times(g, way.q, way.count);
        out->output[1] = hgn_stack_times(g, way.p, way.count);
        st = graph_status(g);
    }
    if (st) {
        graph_free(g);
        out->net.g = NULL;
    }
    return st;
}

plumb_status hgn_momenta_build(hgn_momenta *out, params *p, const hgn_config *c, int64_t count)
{
    *out = (hgn_momenta){.net = {.params = p}};
    plumb_status st = graph_create(&out->net.g);
    if (st) return st;
    tensor_shape s = hgn_state_shape(c, count);
    out->q = input_like(out->net.g, "q", 0, &s);
    out->v = input_like(out->net.g, "v", 0, &s);
    state_dynamics m = dynamics_make(c, &out->net, pairs_in_use(&out->net, c, NULL, &s), NULL);
    out->output = lagrangian_momenta(&m.e, (phase_state){out->q, out->v});
    st = graph_status(out->net.g);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}
