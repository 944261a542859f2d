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
    int64_t points;       // Jacobians
    int64_t n;            // degrees of freedom of the truth
    int64_t columns;      // of J: latents that the map takes
    int64_t pairs;        // latent pairs of which both are columns
    const int64_t *q, *p; // (pairs) their columns. A latent without its partner adds nothing to A^:
                          // the column of the partner is 0
    double shift;         // added to every entry of J
    plumb_symetric_scale scale;
} sym_score_input;

/// jacobians (points, 2n, columns), q first then p on the first axis; they are shifted in place.
/// `out->score` and `out->rho` (points) are given by the caller. `scratch` has 2 (2n)^2 points
/// doubles; its second half becomes Q = A^ A^^T.
void sym_score_compute(sym_score *out, double *jacobians, const sym_score_input *in,
                       double *scratch);

#endif
