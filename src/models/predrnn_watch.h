// SPDX-License-Identifier: MIT
// A PredRNN watching clips: what it expects of every frame before it is shown.
#ifndef MODELS_PREDRNN_WATCH_H
#define MODELS_PREDRNN_WATCH_H

#include "models/predrnn.h"
#include "models/trainee.h"

/// The features of a clip: the greatest value of each channel of the top layer's h when the last
/// frame is asked for [Lin23].
plumb_status predrnn_watch(const predrnn_config *c, params *p, const float *value,
                           const trainee_watch *job);

#endif
