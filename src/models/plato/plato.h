// SPDX-License-Identifier: MIT
// PLATO [Piloto22], the model that is shown which pixels are which object: a variational
// autoencoder gives every object a code, and a recurrent network, one copy an object, predicts the
// codes of the next frame from all that it has seen of every object.
//
// The published model has no code; sizes and details follow what is public of it.
#ifndef MODELS_PLATO_PLATO_H
#define MODELS_PLATO_PLATO_H

#include "engine/program.h"
#include "models/params.h"

enum { PLATO_BLOCKS = 4 };

typedef struct plato_config {
    int64_t height, width;                         // of a frame, multiples of 16; 3 channels
    int64_t slots;                                 // objects, the ground among them
    int64_t code;                                  // numbers that tell of an object
    int64_t encoder[PLATO_BLOCKS], dense, decoder; // channels, units, channels
    double sigma, beta, gamma; // of a pixel; weights of the divergence and of the masks
    int64_t length;            // frames of a clip
    int64_t buffer, units, hidden;
    bool residual; // the change from the codes seen last is predicted; not published
} plato_config;

plumb_status plato_check(const plato_config *c);

/// What the encoder is shown of a frame: (slots, height, width, 4), the picture where the object is
/// and its mask. Numbers beyond the slots, should there be any, belong to the last one.
void plato_pack_input(float *out, const uint8_t *frame, const uint8_t *mask, const plato_config *c);
/// Places of pixels from -1 to 1, (height, width, 2): column, row.
void plato_coordinates(float *out, const plato_config *c);

/// seen (frames * slots, height, width, 4) -> mean and logarithm of the variance, (frames * slots,
/// code) each.
typedef struct plato_codes {
    graph_node *mean, *log_variance;
} plato_codes;
plato_codes plato_encode(network_builder *n, const plato_config *c, graph_node *seen);

/// code (frames * slots, code) -> colours (frames * slots, height, width, 3); which slot a pixel is
/// of, as logarithms of shares, one node a slot of (frames, height * width).
typedef struct plato_image {
    graph_node *colour;
    graph_node **share;
} plato_image;
plato_image plato_decode(network_builder *n, const plato_config *c, graph_node *code,
                         graph_node *places);
/// The picture of all slots together, (frames, height * width, 3).
graph_node *plato_compose(network_builder *n, const plato_config *c, plato_image p);

/// Perception in training, on single frames.
typedef struct plato_perception {
    network_builder net;
    graph_node *seen, *picture, *noise, *places; // picture (frames, height, width, 3)
    graph_node *error, *divergence, *masks; // (frames) each; the loss is error + beta d + gamma m
    plato_codes codes;
    plato_image decoded;
    graph_node **gradient; // one per leaf of the net
} plato_perception;
/// Gradients of the mean over `batch` frames, of which these are `frames`; 0: none.
plumb_status plato_perception_build(plato_perception *out, params *p, const plato_config *c,
                                    int64_t frames, int64_t batch);

/// The dynamics of `items` clips, given the codes of all their frames.
typedef struct plato_dynamics {
    network_builder net;
    graph_node *codes;       // (items * slots, length, code)
    graph_node **prediction; // (length - 1): codes of frames 1 .., (items * slots, code)
    graph_node *hidden;      // the last, (items * slots, hidden)
    graph_node *error;       // (length - 1, items): squared, summed over slots and code
    graph_node **gradient;
} plato_dynamics;
plumb_status plato_dynamics_build(plato_dynamics *out, params *p, const plato_config *c,
                                  int64_t items, int64_t batch);

#endif
