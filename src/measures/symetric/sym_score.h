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

/// The size of the problem and two options of plumb_symetric_options.
typedef struct sym_score_input {
    int64_t points; // Jacobians
    int64_t n, m;   // degrees of freedom of the truth and of the latents
    double shift;   // added to every entry of J
    plumb_symetric_scale scale;
} sym_score_input;

/// jacobians (points, 2n, 2m), q first then p on both axes; they are shifted in place.
/// `out->score` and `out->rho` (points) are given by the caller. `scratch` has 2 (2n)^2 points
/// doubles; its second half becomes Q = A^ A^^T.
void sym_score_compute(sym_score *out, double *jacobians, const sym_score_input *in,
                       double *scratch);

#endif
