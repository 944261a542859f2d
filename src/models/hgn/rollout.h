// SPDX-License-Identifier: MIT
// A trained HGN watches the beginning, or the end, of a film and tells the rest.
#ifndef MODELS_HGN_ROLLOUT_H
#define MODELS_HGN_ROLLOUT_H

#include "models/hgn/hgn.h"
#include "models/model.h"

/// The posterior mean of the window at one end of each film, rolled out to both ends of it
/// [Higgins21, code].
plumb_status hgn_rollout(const hgn_config *c, params *p, const float *value,
                         const model_rollout_job *job);

#endif
