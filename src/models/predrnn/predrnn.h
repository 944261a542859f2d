// SPDX-License-Identifier: MIT
// PredRNN [Wang17] and its second version [Wang23]: layers of ST-LSTM cells that predict the next
// frame of a film. A cell has a memory of its own, c, which stays in its layer, and shares one, m,
// which climbs through the layers and returns to the lowest one at the next frame.
//
// Frames are cut into patches first: every patch x patch block becomes one place with so many more
// channels, so that the network works on a small map.
#ifndef MODELS_PREDRNN_PREDRNN_H
#define MODELS_PREDRNN_PREDRNN_H

#include "engine/program.h"
#include "models/params.h"

enum { PREDRNN_LAYERS = 16 }; // at most

typedef enum predrnn_sampling {
    PREDRNN_TEACHER,   // every step sees the true frame
    PREDRNN_SCHEDULED, // after `given` frames it may see its own prediction
    PREDRNN_REVERSE,   // after the first frame it may
    PREDRNN_SAMPLINGS
} predrnn_sampling;

typedef struct predrnn_config {
    int64_t height, width, channels; // of a frame
    int64_t patch;
    int64_t layers, hidden, kernel;
    bool layer_norm;
    bool residual;   // what is predicted is the change from the frame that is seen; not published
    double decouple; // weight of the decoupling loss; 0: the first version
    int64_t length;  // frames of a clip in training
    predrnn_sampling sampling;
    int64_t given; // frames that are always seen, of PREDRNN_SCHEDULED
} predrnn_config;

/// Sizes that fit each other? Fails with PLUMB_EVALUE or PLUMB_ESHAPE, naming what does not.
plumb_status predrnn_check(const predrnn_config *c);

/// (items, height / patch, width / patch, patch * patch * channels).
tensor_shape predrnn_frame(const predrnn_config *c, int64_t items);
tensor_shape predrnn_map(const predrnn_config *c,
                         int64_t items); ///< the same with `hidden` channels

/// One frame of bytes / 255 in patches, and back. Channels: row in the block, column, colour.
void predrnn_patch(float *out, const uint8_t *frame, const predrnn_config *c);
void predrnn_unpatch(float *out, const float *patched, const predrnn_config *c);

/// What a cell keeps from frame to frame; NULL where it is still zero. `dc` and `dm` are what was
/// added to the memories.
typedef struct predrnn_state {
    graph_node *h, *c, *m;
    graph_node *dc, *dm;
} predrnn_state;
/// The cell of layer `layer`, fed `x`.
predrnn_state predrnn_cell(network_builder *n, const predrnn_config *c, int64_t layer,
                           graph_node *x, predrnn_state before);

/// A clip of `length` frames, and in training the gradients.
typedef struct predrnn_clip {
    network_builder net;
    graph_node **frame; // (length) inputs, in patches
    graph_node *mask;   // (length - 1, items): 1 where step t sees the true frame; NULL if always
    graph_node **prediction; // (length - 1): frames 1 ..
    predrnn_state *state;    // (length - 1, layers)
    graph_node *error;       // (length - 1, items): squared, summed over a frame
    graph_node
        *decoupling; // (items): mean over layers, times and channels; NULL in the first version
    graph_node **gradient; // one per leaf of the net
} predrnn_clip;
/// Gradients are of mean squared error + decouple * decoupling over a batch of `batch` clips, of
/// which these are `items`; 0: no gradients.
plumb_status predrnn_clip_build(predrnn_clip *out, params *p, const predrnn_config *c,
                                int64_t items, int64_t batch);

/// One frame more: from a frame and a state to the next frame and state.
typedef struct predrnn_step {
    network_builder net;
    graph_node *frame;
    graph_node **h, **c, *m; // states of the layers; NULL in the step that starts from nothing
    graph_node *prediction;
    predrnn_state *after; // (layers)
} predrnn_step;
plumb_status predrnn_step_build(predrnn_step *out, params *p, const predrnn_config *c,
                                int64_t items, bool first);

#endif
