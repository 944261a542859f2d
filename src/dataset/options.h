// SPDX-License-Identifier: MIT
// Options of writing and simulating datasets and of the data loader.
#ifndef DATASET_OPTIONS_H
#define DATASET_OPTIONS_H

#include "base/option.h"
#include "plumb/dataset.h"
#include "plumb/loader.h"

extern const option_table dataset_write_option_table, dataset_simulate_option_table,
    loader_option_table;

#endif
