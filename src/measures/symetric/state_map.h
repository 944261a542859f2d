// SPDX-License-Identifier: MIT
// The map F of a fit by polynomials, kept in the result so that it can be applied to other latents.
#ifndef MEASURES_SYMETRIC_STATE_MAP_H
#define MEASURES_SYMETRIC_STATE_MAP_H

#include "measures/symetric/batch.h"

/// One fit: standardise the latents used, take the polynomial, undo the standardisation of the
/// truth.
typedef struct state_map {
    int64_t latent_dims, targets;             // 2m, 2n
    int64_t dims;                             // latents used
    const int64_t *used;                      // (dims) which
    const double *latent_mean, *latent_scale; // (dims)
    const double *truth_mean, *truth_scale;   // (targets)
    poly poly;
    const lasso_fit *fit; // (targets)
} state_map;

/// Copies the map of a batch into `mem`. Fails with PLUMB_EMEMORY.
plumb_status state_map_copy(state_map *out, arena *mem, const symetric_batch *batch,
                            const symetric_batch_input *in);

#endif
