// SPDX-License-Identifier: MIT
// Deals trajectories to folds.
#ifndef MEASURES_PROBE_SPLIT_H
#define MEASURES_PROBE_SPLIT_H

#include "measures/probe/readout.h"

/// Deals `n` trajectories to `folds`, at most n, in random order; every fold is tested. *order
/// becomes that order: trajectory order[k] is number k / folds of fold k % folds. Fails with
/// PLUMB_EMEMORY.
plumb_status probe_split_deal(probe_split *out, int64_t **order, arena *mem, int64_t n,
                              int64_t folds, uint64_t seed);

#endif
