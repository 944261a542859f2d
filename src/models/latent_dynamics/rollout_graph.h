// SPDX-License-Identifier: MIT
// Graphs of the HGN family around a state: frames to a posterior, a sample and its rollout; some
// steps from a given state; momenta of a Lagrangian model.
//
// A training step runs in three parts, so that its memory does not grow with the decoded frames.
// The rollout runs forward. Frames are decoded in groups, each forward and backward at once, which
// leaves the gradient by its state. The rollout runs backward from these gradients.
#ifndef MODELS_LATENT_DYNAMICS_ROLLOUT_GRAPH_H
#define MODELS_LATENT_DYNAMICS_ROLLOUT_GRAPH_H

#include "engine/program.h"
#include "models/latent_dynamics/config.h"

/// Outputs of the rollout graph, in this order.
enum {
    HGN_Q,             ///< (times, batch, ..)
    HGN_P,             ///< (times, batch, ..)
    HGN_KL,            ///< (batch), KL divergence of the posterior from the prior
    HGN_LOC,           ///< mean of the posterior
    HGN_LOG_SCALE,     ///< log of its standard deviation
    HGN_Z0,            ///< the state that is rolled out
    HGN_ENERGY,        ///< (times * batch), for checks; zeros without hgn_rollout_spec.energies
    HGN_DECODER_INPUT, ///< (times, batch, ..)
    HGN_STATE_ERROR,   ///< (batch), see hgn_config.state_weight; zeros without it
    HGN_ROLLOUT_OUTPUTS
};
typedef struct hgn_rollout_graph {
    network_builder net;
    graph_node *frames;       ///< input (batch, height, width, window * channels)
    graph_node *far_frames;   ///< input like frames, of the far end of the clip; or NULL
    graph_node *noise;        ///< input of the state's shape, standard normal
    graph_node *sign;         ///< input (batch), +1 or -1; only with HGN_FORWARD_BACKWARD
    graph_node *pair_mask;    ///< input (batch, pairs), 1 for pairs in use; NULL: all are
    graph_node *dq;           ///< stage 1: d loss / d HGN_DECODER_INPUT
    graph_node *kl_weight;    ///< stage 1: weight of the KL divergence in the loss
    graph_node *state_weight; ///< stage 1: weight of HGN_STATE_ERROR; or NULL
    graph_node **outputs;     ///< HGN_ROLLOUT_OUTPUTS of them, then a gradient per leaf of the net
    int output_count;
    int64_t times; ///< states of a rollout
} hgn_rollout_graph;

typedef struct hgn_rollout_spec {
    int64_t batch;             ///< items
    int64_t backward, forward; ///< steps to either side of the inferred state
    bool decode_start;         ///< the inferred state is one of the outputs
    bool masked;               ///< items have a pair mask
    bool train;                ///< adds stage 1 with the gradients
    bool energies;             ///< computes HGN_ENERGY
} hgn_rollout_spec;
plumb_status hgn_rollout_build(hgn_rollout_graph *out, params *layout, const hgn_config *config,
                               const hgn_rollout_spec *spec);

/// `steps` steps of dt times sign from a given state, for rollouts of any length.
typedef struct hgn_advance_graph {
    network_builder net;
    graph_node *q, *p;      ///< inputs of the state's shape
    graph_node *sign;       ///< input (batch), +1 or -1
    graph_node *outputs[2]; ///< q and p, (steps, batch, ..) each
} hgn_advance_graph;
plumb_status hgn_advance_build(hgn_advance_graph *out, params *layout, const hgn_config *config,
                               int64_t batch, int64_t steps);

/// Momenta dL/dv of states (q, v) of a Lagrangian model.
typedef struct hgn_momenta_graph {
    network_builder net;
    graph_node *q, *v; ///< inputs (count, ..)
    graph_node *output;
} hgn_momenta_graph;
plumb_status hgn_momenta_build(hgn_momenta_graph *out, params *layout, const hgn_config *config,
                               int64_t count);

/// Stacks states of many times: (times, items, ..).
graph_node *hgn_stack_times(graph *g, graph_node *const *x, int64_t count);

/// KL divergence of N(loc, exp(log_scale)^2) from N(0, 1) per item. `mask` weighs the dimensions;
/// may be NULL.
graph_node *hgn_kl(graph *g, graph_node *loc, graph_node *log_scale, graph_node *mask);

#endif
