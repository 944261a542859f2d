// SPDX-License-Identifier: MIT
// Point masses in the plane: H = sum |p_k|^2 / (2 m_k) + strength sum_pairs U(|q_i - q_j|) + sum_k
// (stiffness |d_k|^2 / 2 + V(d_k)), d_k = q_k - centre; in an open plane or a periodic box.
// Leapfrog steps, and the gradient of a loss of the positions through them.
#ifndef MODELS_BODIES_POINTS_H
#define MODELS_BODIES_POINTS_H

#include "models/bodies/plane.h"
#include "models/bodies/radial.h"

enum { POINTS_MAX = 16 };

typedef struct points_law {
    int count;
    double box;                 ///< side of a periodic box; 0: an open plane
    radial_table *pair;         ///< U; NULL: no forces between points
    plane_table *field;         ///< V; NULL: no forces from outside
    double stiffness;           ///< of a spring to the centre
    double dt;                  ///< time of a frame
    int substeps;               ///< leapfrog steps of a frame
    bool still[2 * POINTS_MAX]; ///< coordinates that never change; they have no momentum
} points_law;

/// What may differ from trajectory to trajectory.
typedef struct points_constants {
    double mass[POINTS_MAX];
    double centre[2];
    double strength;
} points_constants;

/// Derivatives of the loss by everything but the tables, which hold their own seeds.
typedef struct points_seed {
    double q[2 * POINTS_MAX], p[2 * POINTS_MAX]; ///< at the start
    points_constants constants;
    double stiffness;
} points_seed;

/// Positions of a rollout after every substep, the start included.
typedef struct points_path {
    int64_t frames;
    double *q; ///< (1 + frames * substeps, count, 2)
} points_path;

/// Rolls out `frames` frames from (q, p), in steps of `direction` (1 or -1). `path` may be NULL.
/// `q_out` and `p_out` (frames, count, 2) are the states after each frame; either may be NULL.
typedef struct points_rollout {
    const double *q, *p;
    int64_t frames;
    int direction;
    points_path *path;
    double *q_out, *p_out;
} points_rollout;
void points_roll(const points_law *law, const points_constants *constants,
                 const points_rollout *rollout);

/// Adds the derivatives of a loss to `seed` and to the seeds of the tables, given by_q (frames,
/// count, 2), its derivatives by the positions after each frame.
void points_add_seed(points_seed *seed, const points_law *law, const points_constants *constants,
                     const points_path *path, int direction, const double *by_q);

/// H of a state.
double points_energy(const points_law *law, const points_constants *constants, const double *q,
                     const double *p);

#endif
