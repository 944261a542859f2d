// SPDX-License-Identifier: MIT
// From the sums of readouts to R2, r and NMSE with intervals.
#ifndef MEASURES_PROBE_SCORES_H
#define MEASURES_PROBE_SCORES_H

#include "measures/probe/readout.h"

/// Which targets belong together.
typedef struct probe_groups {
    int64_t count;
    const int64_t *group_of; ///< (targets) or -1
} probe_groups;

/// r2 (targets) of block `block` of the columns of a readout: 0 are the targets, 1 .. shuffles the
/// shuffled ones. NaN for constant targets.
void probe_scores_r2(double *r2, const probe_data *data, const probe_readout *readout,
                     int64_t block);

/// out (targets + groups): the scores of all targets, then of the groups. The penalty is the median
/// over tested folds. `mem` lends memory. Fails with PLUMB_EMEMORY, PLUMB_ESTOPPED.
plumb_status probe_scores_compute(plumb_probe_score *out, arena *mem, const probe_data *data,
                                  const probe_readout *readout, const probe_groups *groups,
                                  const plumb_probe_options *opt);

#endif
