// SPDX-License-Identifier: MIT
// Principal components of many latents: what a fit that cannot take them all sees in their place.
#ifndef MEASURES_FIT_PRINCIPAL_COMPONENTS_H
#define MEASURES_FIT_PRINCIPAL_COMPONENTS_H

#include "base/arena.h"
#include "base/status.h"

typedef struct principal_components {
    int64_t count, dims;
    double *axes;      // (count, dims): component = axes . latents
    double *deviation; // (count) of each before it was scaled to 1
} principal_components;

/// Fits see so many of more latents: what 16 pairs have.
enum { PRINCIPAL_COMPONENTS_MAX = 32 };

/// The first `most` components of the columns x (dims, stride), found in rows first .. end-1, where
/// each of them has deviation 1; fewer if the columns span less. *x becomes (count, stride).
plumb_status principal_components_fit(principal_components *out, double **x, arena *mem,
                                      int64_t dims, int64_t stride, int64_t first, int64_t end,
                                      int64_t most);

/// Slopes by latents, j (rows, dims), from those by components, inner (rows, count).
void principal_components_chain(double *j, const principal_components *c, const double *inner,
                                int64_t rows);

#endif
