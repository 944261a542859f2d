// SPDX-License-Identifier: MIT
// In which order an array of states has its positions and momenta.
#ifndef PLUMB_LAYOUT_H
#define PLUMB_LAYOUT_H

#ifdef __cplusplus
extern "C" {
#endif

/// The order of the columns of an array of states.
typedef enum plumb_layout {
    PLUMB_LAYOUT_POSITIONS_FIRST, ///< (q1, q2, ..., p1, p2, ...)
    PLUMB_LAYOUT_MOMENTA_FIRST,   ///< (p1, p2, ..., q1, q2, ...)
    PLUMB_LAYOUT_INTERLEAVED,     ///< (q1, p1, q2, p2, ...)
    /// (q1, q2, ..., v1, v2, ...): momenta are fitted to the motion, as with `fit_momenta`.
    PLUMB_LAYOUT_VELOCITIES,
    /// (trajectories, steps, 3n): (cos 1, sin 1, cos 2, sin 2, ..., p1, p2, ...), or all cosines
    /// first, then all sines. Angles continue along a trajectory.
    PLUMB_LAYOUT_CIRCLE,
} plumb_layout;

#ifdef __cplusplus
}
#endif

#endif
