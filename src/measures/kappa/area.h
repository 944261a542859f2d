// SPDX-License-Identifier: MIT
// The area of a map between two arrays, without a verdict: what the measure of the flow needs.
#ifndef MEASURES_KAPPA_AREA_H
#define MEASURES_KAPPA_AREA_H

#include "base/arena.h"
#include "plumb/kappa.h"

/// The map from one array to another: its pulled back form O = c A, per trajectory.
typedef struct kappa_area {
    int64_t trajectories; // of the arrays
    double *dot;          // (trajectories) <O, A>, in units of the arrays; 0 if left out
    double *true_norm2;   // (trajectories) |A|^2; 0 if left out
    double c;             // sum of dot over sum of true_norm2
    double c_error;       // half the difference between the c of the fits to two halves
    double kappa;         // of the map
    double form_error;    // share of |O|^2 that is error of the fit
    double r2;            // of the map
    double log_volume;    // mean of log |det J|; NaN if the map is not square
    bool is_determined;   // false: the states lie on a surface without area, or nothing moves
} kappa_area;

/// Fits the map from `from` to `to`, both (trajectories, steps, 2n) with q first. Fails as
/// plumb_kappa_measure() does.
plumb_status kappa_measure_area(kappa_area *out, arena *mem, const plumb_array *from,
                                const plumb_array *to, const plumb_kappa_options *options);

#endif
