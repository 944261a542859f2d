// SPDX-License-Identifier: MIT
// Sym: how far a map is from symplectic, from its Jacobians at some points of a trajectory
// [Higgins21, section 4].
#ifndef MEASURES_SYMETRIC_SYM_SCORE_H
#define MEASURES_SYMETRIC_SYM_SCORE_H

#include "base/arena.h"
#include "plumb/symetric.h"

typedef struct sym_score {
    double sym;    // mean over the points
    double norm;   // mean over the points of max |A^ A^T|
    double *score; // (points)
    double *rho;   // (points) max |A^| / largest squared row norm of J
} sym_score;

/// jacobians (points, 2n, 2m), q first then p on both sides; they are shifted in place.
/// `out->score` and `out->rho` are the caller's, (points). `scratch` has 2 (2n)^2 points doubles.
void sym_score_compute(sym_score *out, double *jacobians, int64_t points, int64_t n, int64_t m,
                       double shift, plumb_symetric_scale scale, double *scratch);

#endif
