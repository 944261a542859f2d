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

/// Fits the map from `from` to `to`, both (trajectories, steps, 2n) with q first. `known` is
/// (trajectories, steps, k): inputs of the map that are held fixed where its form is taken, as
/// actions are. Fails as plumb_kappa_measure() does. May be NULL: known.
plumb_status kappa_measure_area(kappa_area *out, arena *mem, const plumb_array *from,
                                const plumb_array *to, const plumb_array *known,
                                const plumb_kappa_options *options);

/// How a map may change with time.
typedef enum kappa_windows_kind {
    KAPPA_WINDOWS_LINEAR, ///< the same map at all times, then a linear map for each window
    KAPPA_WINDOWS_FREE,   ///< in any way
    KAPPA_WINDOWS_KINDS,
} kappa_windows_kind;

/// The area of a map that may change with time. The trajectories are cut into windows; one map is
/// fitted to all of them, with the time of the window as a constant. Its form at two times is
/// compared at the same states.
typedef struct kappa_windows {
    int64_t trajectories, windows;
    // (2 kinds, 3 fits, windows - 1, 2, trajectories) <O, A> of the states of windows w and w + 1,
    // at the time of w and at that of w + 1; the fits are KERNEL_FIT_ALL, _FIRST and _SECOND; of
    // KAPPA_WINDOWS_FREE there is only the first, the others are 0
    double *dot;
    double least_kappa; // of the windows
    double form_error;  // share of |O|^2 that is error of the fit
    double r2;          // of the map
    bool is_determined; // false: the states lie on a surface without area, or nothing moves
} kappa_windows;

/// Where window `window` of trajectory `trajectory` stands in the arrays of
/// kappa_measure_windows(), so that the halves of the fit hold whole trajectories.
static inline int64_t kappa_window_index(int64_t trajectory, int64_t window, int64_t windows)
{
    return (trajectory / 2 * windows + window) * 2 + trajectory % 2;
}

/// Fits the map from `from` to `to`, both (trajectories * windows, steps, 2n) in the order of
/// kappa_window_index(), of an even number of trajectories. The first of options->constants is the
/// time of the window. Fails as plumb_kappa_measure() does.
plumb_status kappa_measure_windows(kappa_windows *out, arena *mem, int64_t windows,
                                   const plumb_array *from, const plumb_array *to,
                                   const plumb_kappa_options *options);

#endif
