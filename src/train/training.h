// SPDX-License-Identifier: MIT
// Training of a resolved configuration, for callers within the library.
#ifndef TRAIN_TRAINING_H
#define TRAIN_TRAINING_H

#include "plumb/training.h"
#include "train/run_config.h"
#include "train/run_dir.h"

/// Trains `config` into the directory `out`. With RUN_DIR_RESUME the run there must have the same
/// settings but for those that may change. threads 0: all cores.
plumb_status training_run(plumb_training *result, const run_config *config, const char *out,
                          run_dir_mode mode, int threads);

/// The options of a call that are settings.
static inline run_request training_request(const plumb_training_options *opt)
{
    return (run_request){.model = opt->model,
                         .preset = opt->preset,
                         .world = opt->world,
                         .data = opt->data,
                         .set = opt->set,
                         .set_count = opt->set_count,
                         .steps = opt->steps};
}

#endif
