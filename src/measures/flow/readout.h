// SPDX-License-Identifier: MIT
// A map from latents to quantities of the truth, fitted to some steps and read at others.
#ifndef MEASURES_FLOW_READOUT_H
#define MEASURES_FLOW_READOUT_H

#include "measures/fit/kernel_fit.h"
#include "measures/flow/flow.h"

typedef struct flow_readout {
    int64_t columns, dims; // of the latents; of the inputs of the fit
    int64_t outputs;
    double *mean, *scale; // (columns) of the latents
    double *axes;         // (dims, columns), or NULL if the inputs are the latents
    double *y_mean, *y_scale;
    kernel_fit fit;
} flow_readout;

/// Fits y (rows, outputs) as a function of x (rows, columns); rows are those of the trajectories in
/// use, `steps` of each.
plumb_status flow_readout_fit(flow_readout *out, const flow_work *work, const double *x,
                              const double *y, int64_t columns, int64_t outputs, int64_t steps);

/// out (rows, outputs): y of each trajectory by the fit to the half that it does not belong to.
plumb_status flow_readout_values(double *out, const flow_work *work, const flow_readout *readout,
                                 const double *x, int64_t steps);

#endif
