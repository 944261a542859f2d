// SPDX-License-Identifier: MIT
// A chain of masses on links, hung from a pivot: mass k is at x_k = x_(k-1) + l_k (sin q_k, -cos
// q_k). The kinetic energy is that of the masses, p M(q)^-1 p / 2, with M_ij = l_i l_j cos(q_i -
// q_j) sum of m_k over k >= i, j. The potential is strength sum_k m_k (g_k . d_k + W_k(d_k)), d_k =
// x_k - pivot. Runge-Kutta steps of order 4, and the gradient of a loss of the angles and of the
// constants through them.
#ifndef MODELS_BODIES_CHAIN_H
#define MODELS_BODIES_CHAIN_H

#include "models/bodies/plane.h"

enum { CHAIN_MAX = 4 };

typedef struct chain_law {
    int count;                     ///< links
    plane_table *field[CHAIN_MAX]; ///< W_k
    double gravity[CHAIN_MAX][2];  ///< g_k
    double dt;                     ///< time of a frame
    int substeps;                  ///< Runge-Kutta steps of a frame
} chain_law;

/// What may differ from trajectory to trajectory.
typedef struct chain_constants {
    double mass[CHAIN_MAX], length[CHAIN_MAX];
    double pivot[2];
    double strength;
} chain_constants;

/// Derivatives of the loss by everything but the grids, which hold their own seeds.
typedef struct chain_seed {
    double q[CHAIN_MAX], p[CHAIN_MAX]; ///< at the start
    chain_constants constants;
    double gravity[CHAIN_MAX][2];
} chain_seed;

/// What one evaluation of Hamilton's equations computes and their adjoint needs.
typedef struct chain_state {
    double carried[CHAIN_MAX];
    double A[CHAIN_MAX][CHAIN_MAX]; ///< couplings
    double c[CHAIN_MAX][CHAIN_MAX], s[CHAIN_MAX][CHAIN_MAX];
    double inverse[CHAIN_MAX][CHAIN_MAX]; ///< of M
    double v[CHAIN_MAX];                  ///< velocities, M^-1 p
    double d[CHAIN_MAX][2];               ///< places from the pivot
    double tangent[CHAIN_MAX][2];         ///< (cos q, sin q)
    plane_jet W[CHAIN_MAX];
    double pull[CHAIN_MAX][2]; ///< sum of m (g + dW) over the masses that a link carries
} chain_state;

/// The four stages of a Runge-Kutta step.
typedef struct chain_step {
    chain_state at[4];
    double dq[4][CHAIN_MAX], dp[4][CHAIN_MAX];
} chain_step;

typedef struct chain_rollout {
    const double *q, *p; ///< (count) at the start
    int64_t frames;
    int direction;    ///< 1 or -1
    chain_step *path; ///< (frames * substeps), for chain_add_seed(); may be NULL
    double *q_out;    ///< (frames, count); may be NULL
    double *p_out;    ///< (frames, count); may be NULL
} chain_rollout;
void chain_roll(const chain_law *law, const chain_constants *constants,
                const chain_rollout *rollout);

/// Adds the derivatives of a loss to `seed` and to the seeds of the grids, given by_q (frames,
/// count), its derivatives by the angles after each frame. `path` is that of a rollout.
void chain_add_seed(chain_seed *seed, const chain_law *law, const chain_constants *constants,
                    const chain_step *path, int64_t frames, int direction, const double *by_q);

/// Places (count, 2) of the masses.
void chain_places(double *xy, int count, const chain_constants *constants, const double *q);
/// Adds to the seeds of q (count) and of the constants, given those of the places.
void chain_add_places_seed(double *by_q, chain_constants *by_constants, int count,
                           const chain_constants *constants, const double *q, const double *by_xy);

/// p = M(q) v.
void chain_momenta(double *p, int count, const chain_constants *constants, const double *q,
                   const double *v);
/// Adds to the seeds of q, v (count) and of the constants, given those of p.
typedef struct chain_momenta_seed {
    const double *q, *v, *by_p;
    double *by_q, *by_v;
    chain_constants *by_constants;
} chain_momenta_seed;
void chain_add_momenta_seed(const chain_momenta_seed *seed, int count,
                            const chain_constants *constants);

/// H of a state.
double chain_energy(const chain_law *law, const chain_constants *constants, const double *q,
                    const double *p);

#endif
