// SPDX-License-Identifier: MIT
// AR [Higgins21, code]: every frame is encoded by itself, a stack of recurrent cores follows, and
// every output is decoded to the next frame. Trained on true frames; in a rollout it takes its own
// predictions as input.
#ifndef MODELS_LATENT_DYNAMICS_AUTOREGRESSIVE_H
#define MODELS_LATENT_DYNAMICS_AUTOREGRESSIVE_H

#include "models/latent_dynamics/rollout_graph.h"

/// The rollout graph for `steps` true frames. Its input is (steps * batch, height, width,
/// channels), time outermost. HGN_DECODER_INPUT, (steps, batch, latent), is decoded to the frames
/// after them. There is no noise and no KL divergence: the other outputs are zeros.
plumb_status autoregressive_build(hgn_rollout_graph *out, const hgn_config *config, int64_t batch,
                                  int64_t steps, bool train);

/// One frame further, for rollouts of any length. The state of the cores is an input and an output.
typedef struct autoregressive_step {
    network_builder net;
    graph_node *frame;      ///< input (1, height, width, channels)
    graph_node *state;      ///< input (1, state_size)
    int64_t state_size;     ///< values of the state of all cores
    graph_node *outputs[2]; ///< what is decoded, (1, latent); the new state
} autoregressive_step;
plumb_status autoregressive_step_build(autoregressive_step *out, params *layout,
                                       const hgn_config *config);

#endif
