// SPDX-License-Identifier: MIT
#include "models/hgn/autoregressive.h"

#include <stdio.h>
#include <string.h>

// What a stack of cores remembers: an LSTM's cell beside every output.
typedef struct memory {
    graph_node *h[ENERGY_LAYERS], *cell[ENERGY_LAYERS];
} memory;

static int64_t width_of(const hgn_config *c, int core)
{
    return core == c->energy.layers - 1 ? c->latent : c->energy.width[core];
}

// relu(x W + b + h U + d), both with a bias.
static graph_node *vanilla(network_builder *n, const char *name, graph_node *x, graph_node *h,
                           int64_t width)
{
    char in[80], again[80];
    snprintf(in, sizeof in, "%s.in", name);
    snprintf(again, sizeof again, "%s.again", name);
    graph_node *sum =
        op_add(n->g, network_dense(n, in, x, width), network_dense(n, again, h, width));
    return op_leaky_relu(n->g, sum, 0.0);
}

// Gates i, g, f, o of (x, h); a cell forgets little at first: f + 1.
static graph_node *lstm(network_builder *n, const char *name, graph_node *x, graph_node *h,
                        graph_node **cell, int64_t width)
{
    graph *g = n->g;
    graph_node *gates =
                   network_dense(n, name, op_concat(g, (graph_node *[]){x, h}, 2, 1), 4 * width),
               *part[4];
    for (int i = 0; i < 4; i++) part[i] = op_slice(g, gates, 1, i * width, width);
    graph_node *forget = op_sigmoid(g, op_add_scalar(g, part[2], 1.0));
    graph_node *fresh = op_multiply(g, op_sigmoid(g, part[0]), op_tanh(g, part[1]));
    *cell = op_add(g, op_multiply(g, forget, *cell), fresh);
    return op_multiply(g, op_sigmoid(g, part[3]), op_tanh(g, *cell));
}

// z, r = sigmoid of (x, h); a = tanh(x A + (r h) B + b); (1 - z) h + z a.
static graph_node *gru(network_builder *n, const char *name, graph_node *x, graph_node *h,
                       int64_t width)
{
    graph *g = n->g;
    char gates[80], fresh[80];
    snprintf(gates, sizeof gates, "%s.gates", name);
    snprintf(fresh, sizeof fresh, "%s.fresh", name);
    graph_node *zr = network_dense(n, gates, op_concat(g, (graph_node *[]){x, h}, 2, 1), 2 * width);
    graph_node *z = op_sigmoid(g, op_slice(g, zr, 1, 0, width));
    graph_node *r = op_sigmoid(g, op_slice(g, zr, 1, width, width));
    graph_node *kept = op_concat(g, (graph_node *[]){x, op_multiply(g, r, h)}, 2, 1);
    graph_node *a = op_tanh(g, network_dense(n, fresh, kept, width));
    return op_add(g, h, op_multiply(g, z, op_subtract(g, a, h)));
}

// One step of the whole stack: the last core's output. Activations stand between cores.
static graph_node *cores(network_builder *n, const hgn_config *c, memory *m, graph_node *x)
{
    for (int i = 0; i < c->energy.layers; i++) {
        char name[64];
        int64_t width = width_of(c, i);
        snprintf(name, sizeof name, "core%d", i);
        graph_node *h = m->h[i];
        x = c->core == HGN_LSTM  ? lstm(n, name, x, h, &m->cell[i], width)
            : c->core == HGN_GRU ? gru(n, name, x, h, width)
                                 : vanilla(n, name, x, h, width);
        m->h[i] = x;
        if (i < c->energy.layers - 1) x = network_activate(n, x, c->energy.act);
    }
    return x;
}

static memory blank(graph *g, const hgn_config *c, int64_t batch)
{
    memory m = {0};
    for (int i = 0; i < c->energy.layers; i++)
        m.h[i] = m.cell[i] = op_constant(g, 0.0, &(tensor_shape){2, {batch, width_of(c, i)}});
    return m;
}

plumb_status autoregressive_build(hgn_rollout_graph *r, const hgn_config *c, int64_t batch,
                                  int64_t steps, bool train)
{
    network_builder *n = &r->net;
    graph *g = n->g;
    r->frames =
        op_input(g, "frames", 0, 4, (int64_t[]){steps * batch, c->image, c->image, c->channels});
    graph_node *code = hgn_encoder(n, c, r->frames, c->latent);
    graph_node **z = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    if (!z) return PLUMB_EMEMORY;
    memory m = blank(g, c, batch);
    for (int64_t t = 0; t < steps; t++)
        z[t] = cores(n, c, &m, op_slice(g, code, 0, t * batch, batch));
    graph_node *seen = hgn_stack_times(g, z, steps);
    r->times = steps;
    r->output = ARENA_ALLOC(graph_memory(g), graph_node *, (HGN_ROLL_OUTPUTS + n->leaves));
    if (!r->output) return PLUMB_EMEMORY;
    for (int i = 0; i < HGN_ROLL_OUTPUTS; i++)
        r->output[i] = op_constant(g, 0.0, &(tensor_shape){1, {batch}});
    r->output[HGN_DECODER_INPUT] = seen;
    r->outputs = HGN_ROLL_OUTPUTS;
    if (!train) return graph_status(g);
    r->dq = op_input(g, "dq", 1, 3, seen->shape.size);
    r->outputs += network_gradients(n, r->output + HGN_ROLL_OUTPUTS, &seen, &r->dq, 1);
    return graph_status(g);
}

// The memory as one row of numbers, and back.
static memory unpack(graph *g, const hgn_config *c, graph_node *row)
{
    memory m = {0};
    int64_t at = 0;
    for (int i = 0; i < c->energy.layers; i++) {
        m.h[i] = op_slice(g, row, 1, at, width_of(c, i));
        at += width_of(c, i);
        if (c->core != HGN_LSTM) continue;
        m.cell[i] = op_slice(g, row, 1, at, width_of(c, i));
        at += width_of(c, i);
    }
    return m;
}

static graph_node *pack(graph *g, const hgn_config *c, const memory *m)
{
    graph_node *part[2 * ENERGY_LAYERS];
    int parts = 0;
    for (int i = 0; i < c->energy.layers; i++) {
        part[parts++] = m->h[i];
        if (c->core == HGN_LSTM) part[parts++] = m->cell[i];
    }
    return op_concat(g, part, parts, 1);
}

plumb_status autoregressive_step_build(autoregressive_step *out, params *p, const hgn_config *c)
{
    *out = (autoregressive_step){.net = {.params = p}};
    plumb_status st = graph_create(&out->net.g);
    if (st) return st;
    graph *g = out->net.g;
    for (int i = 0; i < c->energy.layers; i++)
        out->numbers += width_of(c, i) * (c->core == HGN_LSTM ? 2 : 1);
    out->frame = op_input(g, "frame", 0, 4, (int64_t[]){1, c->image, c->image, c->channels});
    out->memory = op_input(g, "memory", 0, 2, (int64_t[]){1, out->numbers});
    memory m = unpack(g, c, out->memory);
    out->output[0] = cores(&out->net, c, &m, hgn_encoder(&out->net, c, out->frame, c->latent));
    out->output[1] = pack(g, c, &m);
    st = graph_status(g);
    if (st) {
        graph_free(g);
        out->net.g = NULL;
    }
    return st;
}
