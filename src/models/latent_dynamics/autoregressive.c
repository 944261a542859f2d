// SPDX-License-Identifier: MIT
// AR: recurrent cores over encoded frames, as a training graph and as one step of a rollout.
#include "models/latent_dynamics/autoregressive.h"

#include <stdio.h>
#include <string.h>

#include "models/latent_dynamics/encoder.h"

// State of a stack of cores: the output h of each, and the memory c of an LSTM.
typedef struct core_state {
    graph_node *h[ENERGY_MAX_LAYERS], *c[ENERGY_MAX_LAYERS];
} core_state;

// Units of a core; the last one gives the latents.
static int64_t core_width(const hgn_config *config, int core)
{
    return core == config->energy.layers - 1 ? config->latent : config->energy.width[core];
}

// h = relu(x W + b + h U + d).
static graph_node *vanilla_core(network_builder *net, const char *name, graph_node *x,
                                graph_node *h, int64_t width)
{
    char input[80], recurrent[80];
    snprintf(input, sizeof input, "%s.input", name);
    snprintf(recurrent, sizeof recurrent, "%s.recurrent", name);
    // The order of these two is the order of the parameters.
    graph_node *from_h = network_dense(net, recurrent, h, width);
    graph_node *from_x = network_dense(net, input, x, width);
    return op_leaky_relu(net->g, op_add(net->g, from_x, from_h), 0.0);
}

// Gates i, g, f, o of (x, h); c = sigmoid(f + 1) c + sigmoid(i) tanh(g). The 1 makes it forget
// little at first.
static graph_node *lstm_core(network_builder *net, const char *name, graph_node *x, graph_node *h,
                             graph_node **c, int64_t width)
{
    graph *g = net->g;
    graph_node *gates =
                   network_dense(net, name, op_concat(g, (graph_node *[]){x, h}, 2, 1), 4 * width),
               *part[4];
    for (int i = 0; i < 4; i++) part[i] = op_slice(g, gates, 1, i * width, width);
    graph_node *forget = op_sigmoid(g, op_add_scalar(g, part[2], 1.0));
    graph_node *added = op_multiply(g, op_sigmoid(g, part[0]), op_tanh(g, part[1]));
    *c = op_add(g, op_multiply(g, forget, *c), added);
    return op_multiply(g, op_sigmoid(g, part[3]), op_tanh(g, *c));
}

// z, r = sigmoid of (x, h); a = tanh(x A + (r h) B + b); h = (1 - z) h + z a.
static graph_node *gru_core(network_builder *net, const char *name, graph_node *x, graph_node *h,
                            int64_t width)
{
    graph *g = net->g;
    char gates[80], candidate[80];
    snprintf(gates, sizeof gates, "%s.gates", name);
    snprintf(candidate, sizeof candidate, "%s.candidate", name);
    graph_node *zr =
        network_dense(net, gates, op_concat(g, (graph_node *[]){x, h}, 2, 1), 2 * width);
    graph_node *z = op_sigmoid(g, op_slice(g, zr, 1, 0, width));
    graph_node *r = op_sigmoid(g, op_slice(g, zr, 1, width, width));
    graph_node *reset = op_concat(g, (graph_node *[]){x, op_multiply(g, r, h)}, 2, 1);
    graph_node *a = op_tanh(g, network_dense(net, candidate, reset, width));
    return op_add(g, h, op_multiply(g, z, op_subtract(g, a, h)));
}

// One step of the whole stack; returns the last core's output. Activations are between cores.
static graph_node *run_cores(network_builder *net, const hgn_config *config, core_state *state,
                             graph_node *x)
{
    for (int i = 0; i < config->energy.layers; i++) {
        char name[64];
        int64_t width = core_width(config, i);
        snprintf(name, sizeof name, "core%d", i);
        graph_node *h = state->h[i];
        x = config->recurrent_core == HGN_LSTM  ? lstm_core(net, name, x, h, &state->c[i], width)
            : config->recurrent_core == HGN_GRU ? gru_core(net, name, x, h, width)
                                                : vanilla_core(net, name, x, h, width);
        state->h[i] = x;
        if (i < config->energy.layers - 1) x = network_activate(net, x, config->energy.act);
    }
    return x;
}

// States before the first frame: zero, (batch, units) each.
static core_state zero_state(graph *g, const hgn_config *config, int64_t batch)
{
    core_state state = {0};
    for (int i = 0; i < config->energy.layers; i++)
        state.h[i] = state.c[i] =
            op_constant(g, 0.0, &(tensor_shape){2, {batch, core_width(config, i)}});
    return state;
}

plumb_status autoregressive_build(hgn_rollout_graph *out, const hgn_config *config, int64_t batch,
                                  int64_t steps, bool train)
{
    network_builder *net = &out->net;
    graph *g = net->g;
    out->frames =
        op_input(g, "frames", 0, 4,
                 (int64_t[]){steps * batch, config->height, config->width, config->channels});
    // All frames are encoded in one batch: (steps * batch, latent), time first.
    graph_node *code = hgn_encoder(net, config, out->frames, config->latent);
    graph_node **z = ARENA_ALLOC(graph_memory(g), graph_node *, steps);
    if (!z) return PLUMB_EMEMORY;
    // The cores advance from frame to frame. Their output at time t predicts frame t + 1.
    core_state state = zero_state(g, config, batch);
    for (int64_t t = 0; t < steps; t++)
        z[t] = run_cores(net, config, &state, op_slice(g, code, 0, t * batch, batch));
    graph_node *decoded = hgn_stack_times(g, z, steps);
    out->times = steps;
    out->outputs =
        ARENA_ALLOC(graph_memory(g), graph_node *, (HGN_ROLLOUT_OUTPUTS + net->leaf_count));
    if (!out->outputs) return PLUMB_EMEMORY;
    // There is no posterior and no energy: these outputs are zero.
    for (int i = 0; i < HGN_ROLLOUT_OUTPUTS; i++)
        out->outputs[i] = op_constant(g, 0.0, &(tensor_shape){1, {batch}});
    out->outputs[HGN_DECODER_INPUT] = decoded;
    out->output_count = HGN_ROLLOUT_OUTPUTS;
    if (!train) return graph_status(g);
    // Gradients of the parameters from those of the decoder input.
    out->dq = op_input(g, "dq", 1, 3, decoded->shape.size);
    out->output_count +=
        network_gradients(net, out->outputs + HGN_ROLLOUT_OUTPUTS, &decoded, &out->dq, 1);
    return graph_status(g);
}

// The state of all cores as one row of values, and back.
static core_state unpack_state(graph *g, const hgn_config *config, graph_node *row)
{
    core_state state = {0};
    int64_t at = 0;
    for (int i = 0; i < config->energy.layers; i++) {
        state.h[i] = op_slice(g, row, 1, at, core_width(config, i));
        at += core_width(config, i);
        if (config->recurrent_core != HGN_LSTM) continue;
        state.c[i] = op_slice(g, row, 1, at, core_width(config, i));
        at += core_width(config, i);
    }
    return state;
}

// Core after core: h, then c of an LSTM.
static graph_node *pack_state(graph *g, const hgn_config *config, const core_state *state)
{
    graph_node *part[2 * ENERGY_MAX_LAYERS];
    int parts = 0;
    for (int i = 0; i < config->energy.layers; i++) {
        part[parts++] = state->h[i];
        if (config->recurrent_core == HGN_LSTM) part[parts++] = state->c[i];
    }
    return op_concat(g, part, parts, 1);
}

plumb_status autoregressive_step_build(autoregressive_step *out, params *layout,
                                       const hgn_config *config)
{
    *out = (autoregressive_step){.net = {.params = layout}};
    plumb_status st = graph_create(&out->net.g);
    if (st) return st;
    graph *g = out->net.g;
    for (int i = 0; i < config->energy.layers; i++)
        out->state_size += core_width(config, i) * (config->recurrent_core == HGN_LSTM ? 2 : 1);
    out->frame =
        op_input(g, "frame", 0, 4, (int64_t[]){1, config->height, config->width, config->channels});
    // One step: (frame, state) to (latents, next state), for one video.
    out->state = op_input(g, "state", 0, 2, (int64_t[]){1, out->state_size});
    core_state state = unpack_state(g, config, out->state);
    out->outputs[0] = run_cores(&out->net, config, &state,
                                hgn_encoder(&out->net, config, out->frame, config->latent));
    out->outputs[1] = pack_state(g, config, &state);
    st = graph_status(g);
    if (st) {
        graph_free(g);
        out->net.g = NULL;
    }
    return st;
}
