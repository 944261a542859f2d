// SPDX-License-Identifier: MIT
// Configuration of HGN, HGN++ [Toth20, Higgins21] and the variants LGN, ODE, RGN and AR: sizes of
// the networks, form of the dynamics, objective, and which frames of a clip are used.
#ifndef MODELS_LATENT_DYNAMICS_CONFIG_H
#define MODELS_LATENT_DYNAMICS_CONFIG_H

#include "models/latent_dynamics/energy.h"

enum { HGN_MAX_BLOCKS = 6, HGN_MAX_DEPTH = 4, HGN_MAX_TRANSFORM = 16 };

/// Where the targets begin: overlap_by_one, no_overlap, include_inference.
typedef enum hgn_split { HGN_OVERLAP, HGN_NO_OVERLAP, HGN_INCLUDE, HGN_SPLITS } hgn_split;
extern const char *const hgn_split_names[HGN_SPLITS + 1]; ///< and NULL
typedef enum hgn_direction {
    HGN_FORWARD,
    HGN_FORWARD_BACKWARD, ///< half of the batch is rolled out backward in time
} hgn_direction;
/// A state is a vector, or a map of channels (height, width, channels).
typedef enum hgn_state_layout { HGN_STATE_VECTOR, HGN_STATE_MAP } hgn_state_layout;
/// What the decoder takes of a state: q alone, or q and p.
typedef enum hgn_decoder_input { HGN_DECODE_POSITIONS, HGN_DECODE_STATE } hgn_decoder_input;
typedef enum hgn_decoder_kind {
    HGN_DECODER_CONVOLUTIONS, ///< upsampling convolutions from a small map
    HGN_DECODER_PIXELS,       ///< one network for all pixels, of pixel coordinates and the state
    HGN_DECODER_BROADCAST,    ///< convolutions of the state, repeated at every pixel [Watters19]
} hgn_decoder_kind;
typedef enum hgn_objective { HGN_ELBO, HGN_GECO, HGN_MSE, HGN_OBJECTIVES } hgn_objective;

/// What advances the state.
typedef enum hgn_dynamics {
    HGN_HAMILTONIAN, ///< an energy H(q, p): HGN, HGN++
    HGN_LAGRANGIAN,  ///< a Lagrangian L(q, v): LGN
    HGN_FIELD,       ///< a field dz/dt = f(z): ODE
    HGN_MAP,         ///< a map z -> f(z): RGN
    HGN_RECURRENT,   ///< a recurrent network that takes frame after frame: AR
} hgn_dynamics;
typedef enum hgn_recurrent_core { HGN_VANILLA, HGN_LSTM, HGN_GRU } hgn_recurrent_core;

/// Convolutions of one encoder block; the first one has stride 2.
typedef struct hgn_block {
    int layers;
    int64_t width[HGN_MAX_DEPTH], kernel[HGN_MAX_DEPTH];
    op_padding padding[HGN_MAX_DEPTH];
} hgn_block;

typedef struct hgn_config {
    int64_t height, width, channels; ///< of a frame
    int64_t window;                  ///< input frames of the encoder
    int64_t targets;                 ///< frames to predict, besides or after the window; see split
    hgn_split split;
    hgn_direction direction;
    int64_t latent; ///< dimension of a state, q and p together; even
    hgn_state_layout state_layout;
    double initial_scale;    ///< factor of the posterior's deviation before training; 0: 1
    double log_scale_bound;  ///< smooth bound of its logarithm; 0: none
    bool standardise_frames; ///< the encoder takes (frames - mean) / std of the training videos
    bool add_magnitudes;     ///< and their absolute values
    bool colour_gate;        ///< with magnitudes: colours are scaled by a gate from 0 to 1
    bool angular_positions;  ///< q are angles; networks take their cosines and sines
    hgn_decoder_input decoder_input;
    bool nested_pairs; ///< a fixed parameter "pair_mask" (0 or 1 per pair) says which are in use

    int encoder_blocks;
    hgn_block encoder[HGN_MAX_BLOCKS]; ///< the last layer of the last block has 2 latent channels
    activation encoder_act;
    bool separate_encoders; ///< one network for the posterior of q, another for that of p
    int transform_layers;   ///< between the posterior sample and the first state; 0: none
    int64_t transform_width[HGN_MAX_TRANSFORM];

    hgn_dynamics dynamics;
    bool residual;                     ///< of a map: z -> z + f(z)
    hgn_recurrent_core recurrent_core; ///< of a recurrent network
    energy_form potential, kinetic;
    bool add_spring_energy; ///< |q|^2 / 2 and |p|^2 / 2 are added to the energies
    energy_net energy;      ///< layers of all networks of the dynamics
    const char *integrator;
    double dt;    ///< model time between frames
    int substeps; ///< integrator steps per frame

    hgn_decoder_kind decoder;
    int decoder_blocks;
    /// Layers of each block, the last layer of the last block, which gives the colours, not
    /// counted; and their channels.
    int decoder_depth[HGN_MAX_BLOCKS];
    int64_t decoder_width[HGN_MAX_BLOCKS][HGN_MAX_DEPTH];
    int64_t decoder_input_channels; ///< channels of the map that q is projected to
    activation decoder_act;
    int64_t decoder_kernel; ///< of all its convolutions; 0: 3
    bool scale_output; ///< fixed parameters "frames.low" and "frames.range" scale decoded pixels

    hgn_objective objective;
    double beta; ///< weight of the KL divergence in the ELBO
    /// Weight of the squared difference between the state that is rolled out to the far end of the
    /// clip and the one inferred there; 0: none.
    double state_weight;
    double geco_tolerance; ///< squared error per pixel that GECO asks for
    double geco_alpha;     ///< weight of the past in GECO's moving average, 0 to 1
} hgn_config;

/// The published models, for images of 32x32x3 [Higgins21].
hgn_config hgn_config_plus_plus(void);
hgn_config hgn_config_original(void);
/// Checks that sizes fit each other. Fails with PLUMB_EVALUE and names the one that does not.
plumb_status hgn_config_check(const hgn_config *config);

/// Which frames are used, counted within a clip of `length` frames [Higgins21, code].
typedef struct hgn_frame_plan {
    int64_t length;
    int64_t inferred;              ///< frame of the window whose state is inferred
    int64_t backward, forward;     ///< rollout steps to either side of it
    bool decode_start;             ///< the inferred state itself is decoded
    int64_t first_target, targets; ///< frames that are compared
} hgn_frame_plan;
hgn_frame_plan hgn_frame_plan_make(const hgn_config *config);
/// Index in the rollout of the state that the window at the far end of the clip infers.
int64_t hgn_frame_plan_end(const hgn_config *config);

/// Shape of q for `items` states: (items, n), or (items, height, width, n) for maps.
tensor_shape hgn_state_shape(const hgn_config *config, int64_t items);
/// Shape of what the decoder takes: q, or its cosines and sines; and p with HGN_DECODE_STATE.
tensor_shape hgn_decoder_input_shape(const hgn_config *config, int64_t items);
/// Values of a frame.
int64_t hgn_frame_size(const hgn_config *config);
/// Height and width of a state map: those of a frame, halved by every block of the decoder.
int64_t hgn_map_height(const hgn_config *config);
int64_t hgn_map_width(const hgn_config *config);
/// Whether it can be run backward in time.
bool hgn_config_reversible(const hgn_config *config);
/// The first frame of a video that it can predict.
int64_t hgn_first_step(const hgn_config *config);

#endif
