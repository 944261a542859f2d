// SPDX-License-Identifier: MIT
// HGN and HGN++ [Toth20, Higgins21]: frames -> posterior of (q, p) -> a rollout under a learnt
// energy -> frames from q alone.
//
// A training step is cut in three, so that its memory does not grow with the frames: the rollout
// runs forwards; frames are decoded in groups, forwards and backwards at once, each leaving the
// gradient by its q; the rollout runs backwards from those.
#ifndef MODELS_HGN_HGN_H
#define MODELS_HGN_HGN_H

#include "engine/program.h"
#include "models/hgn/energy.h"

enum { HGN_BLOCKS = 6, HGN_DEPTH = 4 };

typedef enum hgn_split { HGN_OVERLAP, HGN_NO_OVERLAP, HGN_INCLUDE, HGN_SPLITS } hgn_split;
extern const char
    *const hgn_split_names[HGN_SPLITS]; ///< overlap_by_one, no_overlap, include_inference
typedef enum hgn_objective { HGN_ELBO, HGN_GECO, HGN_PLAIN, HGN_OBJECTIVES } hgn_objective;
extern const char *const hgn_objective_names[HGN_OBJECTIVES];

/// What moves the state: an energy, a Lagrangian, a field dz/dt = f(z), a map z -> f(z), or a
/// recurrent net that is shown frame after frame (models/hgn/autoregressive.h).
typedef enum hgn_dynamics {
    HGN_HAMILTONIAN,
    HGN_LAGRANGIAN,
    HGN_FIELD,
    HGN_MAP,
    HGN_RECURRENT
} hgn_dynamics;
typedef enum hgn_core { HGN_VANILLA, HGN_LSTM, HGN_GRU } hgn_core;

/// Convolutions of one block; the first one halves the image.
typedef struct hgn_block {
    int layers;
    int64_t width[HGN_DEPTH], kernel[HGN_DEPTH];
    op_padding padding[HGN_DEPTH];
} hgn_block;

typedef struct hgn_config {
    int64_t image, channels; // frames (image, image, channels)
    int64_t window;          // frames the encoder sees
    int64_t targets;         // frames to be predicted beside or after them
    hgn_split split;
    bool both_ways; // half of the batch runs backwards
    int64_t latent; // q and p together
    bool maps;      // a state is a map of channels, not a vector
    double spread;  // of the posterior before training, times what it would be; 0: as it is
    double bound;   // of its log deviation, smoothly; 0: none
    bool standard;  // the encoder sees frames less the films' mean, over their deviation
    bool sizes;     // and their absolute values
    bool hues;      // of all these no colours, as far as a parameter "hue" is below 1
    bool angles;    // positions are angles: what follows sees their cosines and sines
    bool whole;     // the decoder sees q and p, not q alone
    bool chooses;   // a parameter "keep", 1 or 0 a pair, says which pairs are in use

    int encoder_blocks;
    hgn_block encoder[HGN_BLOCKS]; // the last layer of the last block gives 2 latent channels
    activation encoder_act;
    int transform_layers; // 0: none
    int64_t transform_width;

    hgn_dynamics dynamics;
    bool residual; // of a map: z -> z + f(z)
    hgn_core core; // of a recurrent net
    energy_form potential, kinetic;
    bool base;         // the energies are added to those of springs
    energy_net energy; // the nets of the dynamics, whatever they are
    const char *integrator;
    double dt;
    int parts; // of a step

    bool pixels; // the decoder is a network of a pixel's place and the state, not convolutions
    int decoder_blocks;
    int64_t decoder_width[HGN_BLOCKS], decoder_depth;
    int64_t decoder_start; // channels of the map the latents are projected to
    activation decoder_act;

    hgn_objective objective;
    double beta;         // of the ELBO
    double kappa, alpha; // GECO: tolerance, and memory of the moving average
} hgn_config;

/// The published models: HGN++ and HGN, for images of 32x32x3.
hgn_config hgn_config_plus_plus(void);
hgn_config hgn_config_original(void);
/// Sizes that fit each other? Fails with PLUMB_EVALUE, naming the one that does not.
plumb_status hgn_config_check(const hgn_config *c);

/// Which frames, counted in a clip of `length` frames [Higgins21, code].
typedef struct hgn_frame_plan {
    int64_t length;
    int64_t at;            // of the inferred state within the window
    int64_t back, forward; // steps either way
    bool now;              // is the inferred state itself decoded?
    int64_t first_target, targets;
} hgn_frame_plan;
hgn_frame_plan hgn_frame_plan_make(const hgn_config *c);

/// frames (batch, image, image, window * channels), time outermost in the channels.
typedef struct hgn_inference {
    graph_node *frames;
    graph_node *loc, *log_scale;
} hgn_inference;

/// The rollout and the gradient through it; outputs in this order.
enum {
    HGN_Q,
    HGN_P,
    HGN_KL,
    HGN_LOC,
    HGN_LOG_SCALE,
    HGN_Z0,
    HGN_ENERGY,
    HGN_DECODER_INPUT, // what the decoder is given
    HGN_ROLL_OUTPUTS
};
typedef struct hgn_rollout_graph {
    network_builder net;
    graph_node *frames, *noise;
    graph_node *sign; // (batch), +1 or -1; only where `both_ways`
    graph_node *keep; // (batch, pairs), which pairs are in use; NULL where all are
    graph_node *dq,
        *kl_weight;      // second stage: d loss / d seen (times, batch, ..), and the weight of KL
    graph_node **output; // HGN_ROLL_OUTPUTS of them, then a gradient per leaf of the net
    int outputs;
    int64_t times;
} hgn_rollout_graph;
/// `back` and `forward` steps; `train` adds the second stage and the gradients.
plumb_status hgn_rollout_build(hgn_rollout_graph *out, params *p, const hgn_config *c,
                               int64_t batch, int64_t back, int64_t forward, bool now, bool keep,
                               bool train);

/// Frames from positions; and in training their error and its gradients.
enum { HGN_FRAMES, HGN_L2, HGN_DQ, HGN_DECODE_OUTPUTS };
typedef struct hgn_decode {
    network_builder net;
    graph_node *q, *target,
        *weight;         // what is seen (count, ..), (count, image, image, channels), (count)
    graph_node **output; // frames; in training also l2, dq, then a gradient per leaf
    int outputs;
} hgn_decode;
plumb_status hgn_decode_build(hgn_decode *out, params *p, const hgn_config *c, int64_t count,
                              bool train);

/// A state after `steps` steps of dt times sign, for rollouts of any length.
typedef struct hgn_advance {
    network_builder net;
    graph_node *q, *p, *sign;
    graph_node *output[2]; // (steps, batch, ..) each
} hgn_advance;
plumb_status hgn_advance_build(hgn_advance *out, params *p, const hgn_config *c, int64_t batch,
                               int64_t steps);

/// Momenta dL/dv of states (q, v) of a Lagrangian model.
typedef struct hgn_momenta {
    network_builder net;
    graph_node *q, *v; // (count, ..)
    graph_node *output;
} hgn_momenta;
plumb_status hgn_momenta_build(hgn_momenta *out, params *p, const hgn_config *c, int64_t count);

/// Frames to `out` numbers an item, or as many channels of a map.
graph_node *hgn_encoder(network_builder *n, const hgn_config *c, graph_node *frames, int64_t out);
/// States of many times, one below the other: (times, items, ..).
graph_node *hgn_stack_times(graph *g, graph_node *const *x, int64_t count);

/// KL of N(loc, exp(log_scale)^2) from N(0, 1) per item; `keep` weighs its places, or is NULL.
graph_node *hgn_kl(graph *g, graph_node *loc, graph_node *log_scale, graph_node *keep);

/// The numbers of a state's q: one vector, or a map.
tensor_shape hgn_state_shape(const hgn_config *c, int64_t items);
/// What the decoder is given of a state: q, or its cosines and sines, and p if it sees that.
tensor_shape hgn_decoder_input_shape(const hgn_config *c, int64_t items);
/// Can it be run into the past?
bool hgn_config_reversible(const hgn_config *c);
/// The first frame of a film it can tell of.
int64_t hgn_first_step(const hgn_config *c);

#endif
