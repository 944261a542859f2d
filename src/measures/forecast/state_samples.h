// SPDX-License-Identifier: MIT
// Scores of predictions that are samples of a distribution.
#ifndef MEASURES_FORECAST_STATE_SAMPLES_H
#define MEASURES_FORECAST_STATE_SAMPLES_H

#include "base/arena.h"
#include "measures/forecast/states.h"

/// The continuous ranked probability score and the energy score [Gneiting07]; NaN with one sample.
plumb_status state_samples_measure(double *crps, double *energy_score, arena *mem,
                                   const state_table *t);

#endif
