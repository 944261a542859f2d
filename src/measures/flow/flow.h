// SPDX-License-Identifier: MIT
// The parts of the measure of the flow, and what they pass on.
#ifndef MEASURES_FLOW_FLOW_H
#define MEASURES_FLOW_FLOW_H

#include "base/arena.h"
#include "plumb/flow.h"

/// The context of one call.
typedef struct flow_work {
    arena *mem;
    const plumb_flow_options *opt;
    plumb_flow_input in;
    int64_t *trajectory; // (trajectories) those that are used
    int64_t trajectories;
    int64_t steps;       // that latents and truth have in common
    bool driven;         // an action that is not 0 was given
    int64_t latent_dims; // 2m
    bool *moves;         // (2m) latents that move along trajectories
    bool *varies;        // (2m) latents that differ at all
    bool *readable;      // (2m) latents that differ and are no noise
    bool *constant;      // (2m) latents that differ, but only between trajectories
    int64_t constants;   // their number
    bool *paired;        // (2m) both latents of the pair move, and one of them smoothly
} flow_work;

/// A choice of steps and columns of an array.
typedef struct flow_slice {
    int64_t first, stride, count; // steps
    const bool *columns;          // NULL: all
} flow_slice;

/// Copies the slice of the trajectories in use: out (trajectories, count, columns). Returns NULL if
/// out of memory.
double *flow_copy(const flow_work *work, const plumb_array *from, const flow_slice *slice);

/// Chooses trajectories and finds which latents move.
plumb_status flow_input_read(flow_work *work);

/// Area and volume of the map z(t) -> z(t + lag): kappa, area_rate, volume_rate, lag.
plumb_status flow_measure_rates(plumb_flow *out, const flow_work *work);

/// The area against the truth: area_change.
plumb_status flow_measure_area_change(plumb_flow *out, const flow_work *work);

/// The energy read from the latents against the true one: energy_change.
plumb_status flow_measure_energy(plumb_flow *out, const flow_work *work);

/// The speed of the model's time: clock, r2, r2_clock.
plumb_status flow_measure_clock(plumb_flow *out, const flow_work *work);

/// The verdict and its sentence.
plumb_status flow_decide(plumb_flow *out, arena *keep, const flow_work *work);

/// A bootstrap over trajectories: `statistic` of how often each counts.
typedef double flow_statistic(const void *context, const double *times);
plumb_status flow_interval(plumb_interval *out, const flow_work *work, flow_statistic *statistic,
                           const void *context);

#endif
