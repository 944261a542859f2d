// SPDX-License-Identifier: MIT
// The true state read off the latents of a model by F, the map that SyMetric fits, for figures.
#ifndef REPORT_STATE_READOUT_H
#define REPORT_STATE_READOUT_H

#include "plumb/phase_space.h"
#include "report/report_model.h"

/// Applies the map of a measured result to the latents of `model` and stores the states in it, in
/// `mem`. Fails as plumb_symetric_predict() does.
plumb_status state_readout_set(report_model *model, arena *mem, const plumb_symetric *measured);

/// The same by a map that is fitted to the latents and states of `model` themselves. Stores nothing
/// where SyMetric is undefined.
plumb_status state_readout_fit(report_model *model, arena *mem);

#endif
