// SPDX-License-Identifier: MIT
// AR [Higgins21, code]: every frame encoded by itself, a stack of recurrent cores, every output
// decoded to the next frame. Trained on true frames; left alone it is shown its own.
#ifndef MODELS_HGN_AUTOREGRESSIVE_H
#define MODELS_HGN_AUTOREGRESSIVE_H

#include "models/hgn/hgn.h"

/// The roll of `steps` true frames: frames (steps * batch, image, image, channels), time outermost;
/// HGN_DECODER_INPUT is what is decoded to the frames after them, (steps, batch, latent). There is
/// no noise and no divergence: the outputs beside HGN_DECODER_INPUT are zeros.
plumb_status autoregressive_build(hgn_rollout_graph *r, const hgn_config *c, int64_t batch,
                                  int64_t steps, bool train);

/// One frame on, for rollouts of any length: the memory of the cores is an input and an output.
typedef struct autoregressive_step {
    network_builder net;
    graph_node *frame;  // (1, image, image, channels)
    graph_node *memory; // (1, numbers)
    int64_t numbers;
    graph_node *output[2]; // what is decoded, (1, latent); the memory then
} autoregressive_step;
plumb_status autoregressive_step_build(autoregressive_step *out, params *p, const hgn_config *c);

#endif
