// SPDX-License-Identifier: MIT
// Films told by AR.
#ifndef MODELS_HGN_AUTOREGRESSIVE_ROLLOUT_H
#define MODELS_HGN_AUTOREGRESSIVE_ROLLOUT_H

#include "models/hgn/autoregressive.h"
#include "models/model.h"

/// Shown the true frames of its window and then its own [Higgins21, code]. What it tells of frame t
/// is what it expected before it came, from frame 1 on. There is no posterior: all variances are 0.
plumb_status autoregressive_rollout(const hgn_config *c, params *p, const float *value,
                                    const model_rollout_job *job);

#endif
