// SPDX-License-Identifier: MIT
// PredRNN as the state dict of its published code [Wang23, code].
#ifndef MODELS_PREDRNN_PUBLISHED_H
#define MODELS_PREDRNN_PUBLISHED_H

#include "models/exchange.h"
#include "models/predrnn/predrnn.h"

/// All tensors of the published code for this configuration.
plumb_status predrnn_list_published(exchange_list *out, arena *mem, const predrnn_config *config,
                                    const params *layout);

/// The settings "name=value" that a state dict has by its shapes. `*set` lives in `mem`. Fails with
/// PLUMB_EFORMAT if it is not that of a PredRNN.
plumb_status predrnn_guess_settings(const char *const **set, int64_t *count, arena *mem,
                                    const exchange_tensor *tensors, int64_t tensor_count);

#endif
