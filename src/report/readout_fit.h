// SPDX-License-Identifier: MIT
// The map from latents to truth, for the eye alone: least squares on a polynomial of
// the order that the measure settled on.
#ifndef REPORT_READOUT_FIT_H
#define REPORT_READOUT_FIT_H

#include "report/report_model.h"

/// What the latents say of the truth, (count, steps, states), fitted on the first `steps` frames of
/// every trajectory; NULL if memory runs out or the fit has no answer.
double *readout_fit_predict(arena *mem, const report_model *s, int64_t steps);

#endif
