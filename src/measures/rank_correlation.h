// SPDX-License-Identifier: MIT
// Spearman's rank correlation of two numbers over many models: does a measure predict an outcome?
#ifndef MEASURES_RANK_CORRELATION_H
#define MEASURES_RANK_CORRELATION_H

#include "plumb/record.h"

typedef struct rank_correlation_options {
    /// Share of the models with the greatest outcome that counts, in (0, 1]. Models with the same
    /// outcome as the last of them count too. 1: all models.
    double top;
    int64_t resamples; ///< Bootstrap draws. 0: no interval.
    uint64_t seed;     ///< Of the bootstrap.
} rank_correlation_options;

typedef struct rank_correlation {
    double rho;            ///< -1 to 1; equal values share their mean rank
    plumb_interval rho_ci; ///< 95 %, bootstrap over models; NaN: too few models, or no draws
    double p;              ///< two-sided p-value; exact up to nine models, else by Student's t
    int64_t n;             ///< models that counted
} rank_correlation;

/// All models, 2000 resamples, seed 1.
rank_correlation_options rank_correlation_defaults(void);

/// Correlates `measure` (count) with `outcome` (count). Models of which either is NaN or infinite
/// are left out. Fails with PLUMB_ENUMERIC if fewer than three models are left or one of the two is
/// constant among them, PLUMB_EVALUE if an option is invalid. On failure `out` is unchanged.
plumb_status rank_correlation_measure(rank_correlation *out, const double *measure,
                                      const double *outcome, int64_t count,
                                      const rank_correlation_options *options);

#endif
