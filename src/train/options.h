// SPDX-License-Identifier: MIT
// Options of a training call. The settings of the model are in train/run_config.h.
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include "base/option.h"
#include "plumb/training.h"

extern const option_table training_option_table;

#endif
