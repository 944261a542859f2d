// SPDX-License-Identifier: MIT
// PredRNN [Wang17] and its second version [Wang23]: ST-LSTM layers that predict the next frame of
// a video. A layer has a memory c, which stays in it, and a memory m, which goes up through the
// layers and returns to the lowest one at the next frame.
//
// Frames are cut into patches first: every patch x patch block becomes one pixel with patch * patch
// times the channels, so the network works on a small map.
#ifndef MODELS_PREDRNN_PREDRNN_H
#define MODELS_PREDRNN_PREDRNN_H

#include "engine/program.h"
#include "models/params.h"

enum { PREDRNN_MAX_LAYERS = 16 };

/// Which frames a step takes as input in training.
typedef enum predrnn_sampling {
    PREDRNN_TEACHER,   ///< always the true frame
    PREDRNN_SCHEDULED, ///< after `input_frames` it may be its own prediction
    PREDRNN_REVERSE,   ///< after the first frame it may
} predrnn_sampling;

typedef struct predrnn_config {
    int64_t height, width, channels; ///< of a frame
    int64_t patch;                   ///< pixels on a side of a patch
    int64_t layers, hidden, kernel;  ///< ST-LSTM layers, their channels, size of convolutions
    bool layer_norm;                 ///< after each convolution
    bool residual;            ///< predicts the change from the input frame; not in the papers
    double decoupling_weight; ///< of the decoupling loss; 0: the first version
    int64_t clip_length;      ///< frames of a training clip
    predrnn_sampling sampling;
    int64_t input_frames; ///< of PREDRNN_SCHEDULED: frames that are always the true ones
} predrnn_config;

/// Checks that sizes fit each other. Fails with PLUMB_EVALUE or PLUMB_ESHAPE.
plumb_status predrnn_check(const predrnn_config *config);

/// Shape of `items` frames in patches: (items, height / patch, width / patch, patch * patch *
/// channels).
tensor_shape predrnn_frame(const predrnn_config *config, int64_t items);
/// The same with `hidden` channels: the maps of a layer.
tensor_shape predrnn_map(const predrnn_config *config, int64_t items);

/// Bytes / 255 of one frame in patches, and back. Channels: row in the patch, column, colour.
void predrnn_patch(float *out, const uint8_t *frame, const predrnn_config *config);
void predrnn_unpatch(float *out, const float *patched, const predrnn_config *config);

/// State of a layer; NULL where it is still zero. `dc` and `dm` are what the last frame added to
/// the memories.
typedef struct predrnn_state {
    graph_node *h, *c, *m;
    graph_node *dc, *dm;
} predrnn_state;
/// The state of layer `index` after input `x`.
predrnn_state predrnn_layer(network_builder *net, const predrnn_config *config, int64_t index,
                            graph_node *x, predrnn_state before);

/// The graph of a clip of `clip_length` frames, and in training the gradients.
typedef struct predrnn_clip {
    network_builder net;
    graph_node **frame; ///< (clip_length) inputs, in patches
    graph_node
        *mask; ///< input (clip_length - 1, items): 1 where step t takes the true frame; or NULL
    graph_node **prediction; ///< (clip_length - 1): frames 1, 2, ..
    predrnn_state *state;    ///< (clip_length - 1, layers)
    graph_node *error;       ///< (clip_length - 1, items): squared, summed over a frame
    graph_node *decoupling;  ///< (items): mean over layers, times, channels; NULL: first version
    graph_node **gradient;   ///< one per leaf of the net
} predrnn_clip;
/// Gradients of mean squared error + decoupling_weight * decoupling over a batch of `batch` clips,
/// `items` of which are here. `batch` 0: no gradients.
plumb_status predrnn_clip_build(predrnn_clip *out, params *layout, const predrnn_config *config,
                                int64_t items, int64_t batch);

/// One step of a rollout: from a frame and a state to the next frame and state.
typedef struct predrnn_step {
    network_builder net;
    graph_node *frame;
    graph_node **h, **c, *m; ///< inputs, states of the layers; NULL in the first step
    graph_node *prediction;
    predrnn_state *after; ///< (layers)
} predrnn_step;
plumb_status predrnn_step_build(predrnn_step *out, params *layout, const predrnn_config *config,
                                int64_t items, bool first);

#endif
