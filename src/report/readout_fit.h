// SPDX-License-Identifier: MIT
// A least-squares map from latents to the true state, for figures only: a polynomial of the order
// that SyMetric chose.
#ifndef REPORT_READOUT_FIT_H
#define REPORT_READOUT_FIT_H

#include "report/report_model.h"

/// Predicts the true states from the latents, (count, steps, states), by a fit on the first `steps`
/// frames of every trajectory. NULL if out of memory, or if the fit is singular.
double *readout_fit_predict(arena *mem, const report_model *model, int64_t steps);

#endif
