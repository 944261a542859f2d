// SPDX-License-Identifier: MIT
// PLATO [Piloto22], a model that takes object masks as input. A variational autoencoder
// (perception) gives every object a code. A recurrent network (dynamics), one copy per object,
// predicts the codes of the next frame from the codes of all objects so far.
//
// The authors published no code; sizes and details follow the paper.
#ifndef MODELS_PLATO_PLATO_H
#define MODELS_PLATO_PLATO_H

#include "engine/program.h"
#include "models/params.h"

enum { PLATO_BLOCKS = 4 };

typedef struct plato_config {
    int64_t height, width;                  ///< of a frame, 2 or more; 3 channels
    int64_t slots;                          ///< objects, the background included
    int64_t code_size;                      ///< dimension of the code of an object
    int64_t encoder_channels[PLATO_BLOCKS]; ///< of its convolutions
    int64_t dense_units;                    ///< between convolutions and code
    int64_t decoder_channels;
    double sigma;       ///< standard deviation of a pixel
    double beta;        ///< weight of the KL divergence
    double mask_weight; ///< weight of the mask loss
    int64_t clip_length;
    int64_t buffer_units, interaction_units, hidden; ///< object buffer, pair networks, LSTM
    bool residual; ///< predicts the change from the last codes; not in the paper
} plato_config;

plumb_status plato_check(const plato_config *config);

/// Input of the encoder for a frame: (slots, height, width, 4), the image within the object's mask,
/// and the mask. Object numbers beyond the slots belong to the last slot.
void plato_pack_input(float *out, const uint8_t *frame, const uint8_t *mask,
                      const plato_config *config);
/// Coordinates of pixels from -1 to 1, (height, width, 2): column, row.
void plato_coordinates(float *out, const plato_config *config);

/// masked (frames * slots, height, width, 4) -> mean and logarithm of the variance, (frames *
/// slots, code_size) each.
typedef struct plato_codes {
    graph_node *mean, *log_variance;
} plato_codes;
plato_codes plato_encode(network_builder *net, const plato_config *config, graph_node *masked);

/// code (frames * slots, code_size) -> colours (frames * slots, height, width, 3), and the
/// logarithm of the share of each slot in a pixel, one node per slot of (frames, height * width).
typedef struct plato_image {
    graph_node *colour;
    graph_node **log_share;
} plato_image;
plato_image plato_decode(network_builder *net, const plato_config *config, graph_node *code,
                         graph_node *coordinates);
/// The image of all slots together, (frames, height * width, 3).
graph_node *plato_compose(network_builder *net, const plato_config *config, plato_image p);

/// Perception in training, on single frames.
typedef struct plato_perception {
    network_builder net;
    graph_node *masked, *image, *noise, *coordinates; ///< inputs; image (frames, height, width, 3)
    graph_node *error, *kl,
        *mask_loss; ///< (frames) each; loss = error + beta kl + mask_weight mask_loss
    plato_codes codes;
    plato_image decoded;
    graph_node **gradient; ///< one per leaf of the net
} plato_perception;
/// Gradients of the mean over `batch` frames, of which these are `frames`; 0: none.
plumb_status plato_perception_build(plato_perception *out, params *layout,
                                    const plato_config *config, int64_t frames, int64_t batch);

/// The dynamics of `items` clips, given the codes of all their frames.
typedef struct plato_dynamics {
    network_builder net;
    graph_node *codes;       ///< input (items * slots, clip_length, code_size)
    graph_node **prediction; ///< (clip_length - 1): codes of frames 1, 2, ..
    graph_node *hidden;      ///< last LSTM state, (items * slots, hidden)
    graph_node *error;       ///< (clip_length - 1, items): squared, summed
    graph_node **gradient;
} plato_dynamics;
plumb_status plato_dynamics_build(plato_dynamics *out, params *layout, const plato_config *config,
                                  int64_t items, int64_t batch);

#endif
