// SPDX-License-Identifier: MIT
// Graphs of the HGN family around a state: the posterior of a window of frames, a sample of it, and
// its rollout under the learnt dynamics [Toth20, Higgins21].
#include "models/latent_dynamics/rollout_graph.h"

#include <math.h>
#include <string.h>

#include "models/latent_dynamics/autoregressive.h"
#include "models/latent_dynamics/dynamics.h"
#include "models/latent_dynamics/encoder.h"
#include "models/latent_dynamics/lagrangian.h"

static graph_node *input_like(graph *g, const char *name, int stage, const tensor_shape *shape)
{
    return op_input(g, name, stage, shape->rank, shape->size);
}

// ---- pieces ----

// KL = sum of (exp(2 s) + m^2 - 1) / 2 - s, with mean m and log deviation s.
graph_node *hgn_kl(graph *g, graph_node *loc, graph_node *log_scale, graph_node *mask)
{
    graph_node *variance = op_exp(g, op_scale(g, log_scale, 2.0));
    graph_node *half =
        op_scale(g, op_add_scalar(g, op_add(g, variance, op_square(g, loc)), -1.0), 0.5);
    graph_node *kl = op_subtract(g, half, log_scale);
    return op_sum_per_item(g, mask ? op_multiply(g, kl, mask) : kl);
}

// count nodes (batch, ..) -> (count, batch, ..).
graph_node *hgn_stack_times(graph *g, graph_node *const *x, int64_t count)
{
    graph_node **rows = ARENA_ALLOC(graph_memory(g), graph_node *, count);
    if (!rows) return graph_error(g, PLUMB_EMEMORY);
    for (int64_t t = 0; t < count; t++) {
        int64_t size[GRAPH_MAX_RANK] = {1};
        memcpy(size + 1, x[t]->shape.size, (size_t)x[t]->shape.rank * sizeof *size);
        rows[t] = op_reshape(g, x[t], x[t]->shape.rank + 1, size);
    }
    return op_concat(g, rows, (int)count, 0);
}

// One value per item, repeated over the state.
static graph_node *broadcast_items(graph *g, graph_node *each, const tensor_shape *like)
{
    return op_broadcast(g, each, 1, like->rank - 1, like->size + 1);
}

// 1 where a pair of latents is in use, of the state's shape: the pairs that the model has selected,
// times those that the item may use. NULL if all are.
static graph_node *used_pairs(network_builder *net, const hgn_config *config, graph_node *item_mask,
                              const tensor_shape *state)
{
    if (!config->nested_pairs) return item_mask;
    int64_t pairs = config->latent / 2;
    graph_node *selected = network_param(net, "pair_mask", 1, &pairs, PARAM_INIT_FIXED, 1.0);
    selected = op_broadcast(net->g, selected, 0, 1, state->size);
    return item_mask ? op_multiply(net->g, selected, item_mask) : selected;
}

// Length of the (cosine, sine) vectors of angles. The map from images to the circle is not
// continuous while it does not go round it: there the angle jumps. So at first the vectors are
// r / sqrt(r^2 + softness^2) long, r the length of the encoder's output, which is smooth. The
// softness falls to 0 in training. Unused pairs have length 0.
static graph_node *circle_radius(network_builder *net, const hgn_config *config, graph_node *sine,
                                 graph_node *cosine, graph_node *used)
{
    graph *g = net->g;
    if (!config->angular_positions) return NULL;
    graph_node *softness = network_param(net, "circle_softness", 0, NULL, PARAM_INIT_FIXED, 0.0);
    graph_node *square = op_add(g, op_square(g, sine), op_square(g, cosine));
    graph_node *sum = op_add(g, square, op_broadcast_like(g, op_square(g, softness), square));
    graph_node *share = op_divide(g, op_add_scalar(g, square, 1e-12), op_add_scalar(g, sum, 1e-12));
    graph_node *radius = op_sqrt(g, share);
    return used ? op_multiply(g, radius, used) : radius;
}

// What the decoder takes of all states, (times, batch, ..).
static graph_node *decoder_input(graph *g, const hgn_config *config, graph_node *q, graph_node *p,
                                 graph_node *radius)
{
    graph_node *positions = config->angular_positions ? energy_embed_angles(g, q, radius) : q;
    return config->decoder_input == HGN_DECODE_STATE
               ? op_concat(g, (graph_node *[]){positions, p}, 2, 2)
               : positions;
}

// ---- trajectories ----

typedef struct trajectory {
    graph_node **q, **p;
    int64_t count;
} trajectory;

// What moves a state: the dynamics, the sign of time per item (NULL: 1), the pairs in use (NULL:
// all) and the length of angle vectors (NULL: 1).
typedef struct rollout_motion {
    const hgn_config *config;
    network_builder *net;
    graph_node *sign, *used, *radius;
} rollout_motion;

// Appends `steps` steps of sign dt from `state`, which is not appended itself.
static void append_steps(trajectory *out, const rollout_motion *m, phase_state state, double dt,
                         int64_t steps)
{
    state_dynamics dynamics = dynamics_make(m->config, m->net, m->used, m->radius);
    for (int64_t t = 0; t < steps && !graph_status(m->net->g); t++) {
        state = dynamics_step(&dynamics, state, dt, m->sign);
        out->q[out->count] = state.q;
        out->p[out->count++] = state.p;
    }
}

static void reverse_order(graph_node **x, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++) {
        graph_node *t = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = t;
    }
}

// States in the order of time: those before z0, z0 itself if asked for, those after it.
static plumb_status follow_both_ways(trajectory *out, const rollout_motion *m, phase_state z0,
                                     const hgn_rollout_spec *spec)
{
    const int64_t count = spec->backward + spec->forward + 1;
    out->q = ARENA_ALLOC(graph_memory(m->net->g), graph_node *, count);
    out->p = ARENA_ALLOC(graph_memory(m->net->g), graph_node *, count);
    if (!out->q || !out->p) return PLUMB_EMEMORY;
    // Steps back from z0 come out in reverse order of time.
    append_steps(out, m, z0, -m->config->dt, spec->backward);
    reverse_order(out->q, spec->backward);
    reverse_order(out->p, spec->backward);
    if (spec->decode_start) {
        out->q[out->count] = z0.q;
        out->p[out->count++] = z0.p;
    }
    append_steps(out, m, z0, m->config->dt, spec->forward);
    return graph_status(m->net->g);
}

// Energies of all states, (times * batch): a check, not a part of the loss.
static graph_node *state_energies(const hgn_config *config, network_builder *net, graph_node *q,
                                  graph_node *p, graph_node *radius)
{
    tensor_shape s = hgn_state_shape(config, q->shape.size[0] * q->shape.size[1]);
    state_dynamics dynamics = dynamics_make(
        config, net, NULL, radius ? op_reshape(net->g, radius, s.rank, s.size) : NULL);
    phase_state all = {op_reshape(net->g, q, s.rank, s.size),
                       op_reshape(net->g, p, s.rank, s.size)};
    return dynamics_energy(&dynamics, all);
}

// ---- the rollout graph ----

// The posterior N(loc, exp(log_scale)^2) of a window.
typedef struct posterior {
    graph_node *loc, *log_scale;
    graph_node *kl_loc; // distance from the prior's mean; no angle is nearer to it than another
    graph_node *used;   // pairs in use, NULL: all
    graph_node *radius; // of angles, or NULL
} posterior;

static posterior infer_posterior(hgn_rollout_graph *r, const hgn_config *config, graph_node *frames,
                                 const tensor_shape *half, int last_axis)
{
    network_builder *net = &r->net;
    graph *g = net->g;
    int64_t L = config->latent;
    graph_node *code =
        hgn_encoder(net, config, frames, 2 * L + (config->angular_positions ? L / 2 : 0));
    // The encoder gives mean and log deviation of all latents, and for angles also cosines.
    posterior out = {.loc = op_slice(g, code, last_axis, 0, L)};
    graph_node *log_scale = op_slice(g, code, last_axis, L, L);
    // bound * tanh(s / bound): without it one unusual video can overflow exp() and end a run.
    const double bound = config->log_scale_bound;
    if (bound > 0.0)
        log_scale = op_scale(g, op_tanh(g, op_scale(g, log_scale, 1.0 / bound)), bound);
    if (config->initial_scale > 0.0)
        log_scale = op_add_scalar(g, log_scale, log(config->initial_scale));
    out.log_scale = log_scale;
    out.kl_loc = out.loc;
    out.used = used_pairs(net, config, r->pair_mask, half);
    if (config->angular_positions) {
        // The part of q is the sine; atan2 of sine and cosine is the mean angle.
        graph_node *sine = op_slice(g, out.loc, 1, 0, L / 2);
        graph_node *p = op_slice(g, out.loc, 1, L / 2, L / 2);
        graph_node *cosine = op_slice(g, code, 1, 2 * L, L / 2), *q = op_atan2(g, sine, cosine);
        out.radius = circle_radius(net, config, sine, cosine, out.used);
        out.loc = op_concat(g, (graph_node *[]){q, p}, 2, 1);
        out.kl_loc = op_concat(g, (graph_node *[]){op_zeros_like(g, q), p}, 2, 1);
    }
    return out;
}

// z = loc + exp(log_scale) noise, zero for unused pairs.
static graph_node *draw_sample(graph *g, const posterior *post, graph_node *noise, graph_node *mask)
{
    graph_node *z = op_add(g, post->loc, op_multiply(g, op_exp(g, post->log_scale), noise));
    return mask ? op_multiply(g, z, mask) : z;
}

// What two states are compared by: angles by their cosines and sines.
static graph_node *comparable(graph *g, const hgn_config *config, phase_state z)
{
    graph_node *part[] = {config->angular_positions ? energy_embed_angles(g, z.q, NULL) : z.q, z.p};
    return op_concat(g, part, 2, z.q->shape.rank - 1);
}

// Mean squared difference between the state that was rolled out to the far end of the clip and the
// posterior mean there. Both sides are trained.
static graph_node *state_error(hgn_rollout_graph *r, const hgn_config *config, phase_state rolled,
                               const tensor_shape *half, graph_node *mask)
{
    graph *g = r->net.g;
    const int64_t n = config->latent / 2;
    const int last = half->rank - 1;
    const posterior post = infer_posterior(r, config, r->far_frames, half, last);
    graph_node *z = mask ? op_multiply(g, post.loc, mask) : post.loc;
    z = hgn_latent_transform(&r->net, config, z);
    const phase_state inferred = {op_slice(g, z, last, 0, n), op_slice(g, z, last, n, n)};
    graph_node *difference =
        op_subtract(g, comparable(g, config, rolled), comparable(g, config, inferred));
    tensor_shape one = hgn_state_shape(config, 1);
    return op_scale(g, op_sum_per_item(g, op_square(g, difference)),
                    0.5 / (double)shape_count(&one));
}

static plumb_status build_rollout(hgn_rollout_graph *r, const hgn_config *config,
                                  const hgn_rollout_spec *spec)
{
    network_builder *net = &r->net;
    graph *g = net->g;
    int64_t L = config->latent, batch = spec->batch;
    tensor_shape half = hgn_state_shape(config, batch), state = half;
    int last = state.rank - 1;
    state.size[last] = L; // q and p
    // Inputs: frames of the window side by side as channels, noise, sign of time, pairs.
    r->frames = op_input(
        g, "frames", 0, 4,
        (int64_t[]){batch, config->height, config->width, config->window * config->channels});
    if (spec->train && config->state_weight > 0.0)
        r->far_frames = op_input(g, "far_frames", 0, 4, r->frames->shape.size);
    r->noise = input_like(g, "noise", 0, &state);
    if (config->direction == HGN_FORWARD_BACKWARD) r->sign = op_input(g, "sign", 0, 1, &batch);
    if (spec->masked) r->pair_mask = op_input(g, "pair_mask", 0, 2, (int64_t[]){batch, L / 2});

    // The posterior, a sample of it, and the first state.
    const posterior post = infer_posterior(r, config, r->frames, &half, last);
    graph_node *used = post.used;
    graph_node *mask = used ? op_concat(g, (graph_node *[]){used, used}, 2, 1) : NULL;
    graph_node *z0 = hgn_latent_transform(net, config, draw_sample(g, &post, r->noise, mask));
    phase_state start = {op_slice(g, z0, last, 0, L / 2), op_slice(g, z0, last, L / 2, L / 2)};

    // Its rollout.
    graph_node *radius = post.radius;
    const rollout_motion motion = {.config = config,
                                   .net = net,
                                   .sign = r->sign ? broadcast_items(g, r->sign, &half) : NULL,
                                   .used = used,
                                   .radius = radius};
    trajectory path = {0};
    plumb_status st = follow_both_ways(&path, &motion, start, spec);
    if (st) return st;
    r->times = path.count;

    // Outputs.
    graph_node *kl = hgn_kl(g, post.kl_loc, post.log_scale, mask);
    graph_node *q = hgn_stack_times(g, path.q, path.count);
    graph_node *p = hgn_stack_times(g, path.p, path.count);
    if (radius) radius = op_broadcast(g, radius, 0, 1, &path.count);
    graph_node *decoded = decoder_input(g, config, q, p, radius);
    graph_node *error = op_constant(g, 0.0, &(tensor_shape){1, {batch}});
    const int64_t end = hgn_frame_plan_end(config);
    if (r->far_frames)
        error = state_error(r, config, (phase_state){path.q[end], path.p[end]}, &half, mask);
    // Made in any case, so that the parameters are the same; computed only if it is an output.
    graph_node *energies = state_energies(config, net, q, p, radius);
    if (!spec->energies) energies = op_zeros_like(g, energies);
    graph_node *outputs[HGN_ROLLOUT_OUTPUTS] = {[HGN_Q] = q,
                                                [HGN_P] = p,
                                                [HGN_KL] = kl,
                                                [HGN_LOC] = post.loc,
                                                [HGN_Z0] = z0,
                                                [HGN_LOG_SCALE] = post.log_scale,
                                                [HGN_ENERGY] = energies,
                                                [HGN_DECODER_INPUT] = decoded,
                                                [HGN_STATE_ERROR] = error};
    r->outputs =
        ARENA_ALLOC(graph_memory(g), graph_node *, (HGN_ROLLOUT_OUTPUTS + net->leaf_count));
    if (!r->outputs) return PLUMB_EMEMORY;
    memcpy(r->outputs, outputs, sizeof outputs);
    r->output_count = HGN_ROLLOUT_OUTPUTS;
    if (!spec->train) return graph_status(g);

    // Stage 1: gradients from those of the decoder's input and the weight of the KL divergence.
    r->dq = input_like(g, "dq", 1, &decoded->shape);
    r->kl_weight = op_input(g, "kl_weight", 1, 0, NULL);
    graph_node *losses[] = {decoded, kl, error};
    graph_node *seeds[] = {r->dq, op_broadcast_like(g, r->kl_weight, kl), NULL};
    if (r->far_frames) {
        r->state_weight = op_input(g, "state_weight", 1, 0, NULL);
        seeds[2] = op_broadcast_like(g, r->state_weight, error);
    }
    r->output_count += network_gradients(net, r->outputs + HGN_ROLLOUT_OUTPUTS, losses, seeds,
                                         r->far_frames ? 3 : 2);
    return graph_status(g);
}

plumb_status hgn_rollout_build(hgn_rollout_graph *out, params *layout, const hgn_config *config,
                               const hgn_rollout_spec *spec)
{
    *out = (hgn_rollout_graph){.net = {.params = layout}};
    plumb_status st = graph_create(&out->net.g);
    if (!st)
        st = config->dynamics == HGN_RECURRENT
                 ? autoregressive_build(out, config, spec->batch, spec->forward, spec->train)
                 : build_rollout(out, config, spec);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}

// ---- steps from a given state ----

// `steps` states after a given one, (steps, batch, ..). The radius of used angles is 1.
static plumb_status build_advance(hgn_advance_graph *out, const hgn_config *config, int64_t batch,
                                  int64_t steps)
{
    graph *g = out->net.g;
    tensor_shape s = hgn_state_shape(config, batch);
    out->q = input_like(g, "q", 0, &s);
    out->p = input_like(g, "p", 0, &s);
    out->sign = op_input(g, "sign", 0, 1, &batch);
    trajectory path = {.q = ARENA_ALLOC(graph_memory(g), graph_node *, steps),
                       .p = ARENA_ALLOC(graph_memory(g), graph_node *, steps)};
    if (!path.q || !path.p) return PLUMB_EMEMORY;
    graph_node *used = used_pairs(&out->net, config, NULL, &s);
    const rollout_motion motion = {.config = config,
                                   .net = &out->net,
                                   .sign = broadcast_items(g, out->sign, &s),
                                   .used = used,
                                   .radius = used};
    append_steps(&path, &motion, (phase_state){out->q, out->p}, config->dt, steps);
    out->outputs[0] = hgn_stack_times(g, path.q, path.count);
    out->outputs[1] = hgn_stack_times(g, path.p, path.count);
    return graph_status(g);
}

plumb_status hgn_advance_build(hgn_advance_graph *out, params *layout, const hgn_config *config,
                               int64_t batch, int64_t steps)
{
    *out = (hgn_advance_graph){.net = {.params = layout}};
    plumb_status st = graph_create(&out->net.g);
    if (!st) st = build_advance(out, config, batch, steps);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}

// p = dL/dv of states (q, v) of a Lagrangian model.
plumb_status hgn_momenta_build(hgn_momenta_graph *out, params *layout, const hgn_config *config,
                               int64_t count)
{
    *out = (hgn_momenta_graph){.net = {.params = layout}};
    plumb_status st = graph_create(&out->net.g);
    if (st) return st;
    tensor_shape s = hgn_state_shape(config, count);
    out->q = input_like(out->net.g, "q", 0, &s);
    out->v = input_like(out->net.g, "v", 0, &s);
    state_dynamics dynamics =
        dynamics_make(config, &out->net, used_pairs(&out->net, config, NULL, &s), NULL);
    out->output = lagrangian_momenta(&dynamics.energy, (phase_state){out->q, out->v});
    st = graph_status(out->net.g);
    if (st) {
        graph_free(out->net.g);
        out->net.g = NULL;
    }
    return st;
}
