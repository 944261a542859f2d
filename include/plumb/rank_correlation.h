// SPDX-License-Identifier: MIT
// Which measure to trust: over many models, does one number foretell another? Spearman's rank
// correlation, over all of them and over the best.
#ifndef PLUMB_RANK_CORRELATION_H
#define PLUMB_RANK_CORRELATION_H

#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plumb_rank_correlation_options {
    size_t size;
    /// Share of the models with the greatest outcome that is looked at, with all that are as good
    /// as the last of them; 1, all.
    double top;
    int64_t resamples; ///< of the bootstrap, 2000; 0: no interval
    uint64_t seed;     ///< 1
} plumb_rank_correlation_options;
/// Sets the first `size` bytes of `options` to the defaults. plumb_rank_correlation_defaults()
/// calls it.
PLUMB_API void plumb_rank_correlation_options_init(plumb_rank_correlation_options *options,
                                                   size_t size);

/// The defaults.
static inline plumb_rank_correlation_options plumb_rank_correlation_defaults(void)
{
    plumb_rank_correlation_options options;
    plumb_rank_correlation_options_init(&options, sizeof options);
    return options;
}

/// What was found. Plain numbers: copy them, print them, keep them.
typedef struct plumb_rank_correlation {
    double rho;            ///< from -1 to 1; equal numbers share their mean rank
    plumb_interval rho_ci; ///< 95 %, by drawing models with replacement; NaN: too few, or none
    double p;              ///< of so much correlation or more by chance, both sides, by Student's t
    int64_t n;             ///< models
} plumb_rank_correlation;

/// Does `measure` foretell `outcome`? Models of which either is not finite are left out. `opt` may
/// be NULL. Fails with PLUMB_ENUMERIC if fewer than three models are left or one of the two does
/// not vary among them, PLUMB_EVALUE if `top` is not within (0, 1].
PLUMB_API plumb_status plumb_rank_correlation_measure(plumb_rank_correlation *out,
                                                      const double *measure, const double *outcome,
                                                      int64_t count,
                                                      const plumb_rank_correlation_options *opt);

#ifdef __cplusplus
}
#endif
#endif
