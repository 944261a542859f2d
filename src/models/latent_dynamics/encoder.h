// SPDX-License-Identifier: MIT
// Encoder of the HGN family: frames to the parameters of a posterior.
#ifndef MODELS_LATENT_DYNAMICS_ENCODER_H
#define MODELS_LATENT_DYNAMICS_ENCODER_H

#include "models/latent_dynamics/config.h"

/// frames (items, image, image, window * channels) to `out` values per item, or as many channels of
/// a map.
graph_node *hgn_encoder(network_builder *net, const hgn_config *config, graph_node *frames,
                        int64_t out);

/// Network from a posterior sample to the first state [Toth20]; `z` itself without layers.
graph_node *hgn_latent_transform(network_builder *net, const hgn_config *config, graph_node *z);

/// Bytes / 255 of `count` frames, side by side in the channels: (image, image, count * channels),
/// time outermost in the channels.
void hgn_pack_window(float *out, const uint8_t *frames, const hgn_config *config, int64_t count);

#endif
