// SPDX-License-Identifier: MIT
// Functions of an open dataset that are not public.
#ifndef DATASET_DATASET_H
#define DATASET_DATASET_H

#include "plumb/dataset.h"

/// Number of files; more than 1 only for a folder of shards.
int64_t dataset_shard_count(const plumb_dataset *dataset);

#endif
