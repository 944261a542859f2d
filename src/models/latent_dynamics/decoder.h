// SPDX-License-Identifier: MIT
// Decoder of the HGN family: states to frames, and in training their error and its gradients.
#ifndef MODELS_LATENT_DYNAMICS_DECODER_H
#define MODELS_LATENT_DYNAMICS_DECODER_H

#include "dataset/video.h"
#include "models/latent_dynamics/config.h"

/// Outputs of the decoder graph, in this order; the last two in training only.
enum {
    HGN_FRAMES,    ///< (count, height, width, channels)
    HGN_L2,        ///< (count): squared error, summed over a frame
    HGN_DECODE_DQ, ///< gradient of the weighted error by the input
    HGN_DECODE_OUTPUTS
};
typedef struct hgn_decoder_graph {
    network_builder net;
    graph_node *q;        ///< input, of hgn_decoder_input_shape(count)
    graph_node *target;   ///< (count, height, width, channels); training only
    graph_node *weight;   ///< (count), of each frame's error; training only
    graph_node **outputs; ///< see above; in training then a gradient per leaf of the net
    int output_count;
} hgn_decoder_graph;

/// Builds the graph for `count` states. With `train` it has the error and its gradients.
plumb_status hgn_decoder_build(hgn_decoder_graph *out, params *layout, const hgn_config *config,
                               int64_t count, bool train);

/// With config->scale_output: if most pixels are black or white, sets the range of decoded pixels
/// so that black and white are well inside, and the bias so that frames begin with the mean colour.
void hgn_decoder_set_range(const hgn_config *config, const params *layout, float *parameters,
                           const video_set *videos);

#endif
