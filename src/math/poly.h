// SPDX-License-Identifier: MIT
// Monomials of degree 1 .. order in `dims` variables, by degree, then lexicographic with
// repetition: x0, x1, x0x0, x0x1, x1x1, ... (no constant).
//
// Among the monomials of degree k, those that start with variable i are x_i times the monomials of
// degree k-1 whose first variable is >= i, which are contiguous at the end of their degree ("a
// run"). So a polynomial expansion is a few products of whole runs, and its top degree need not be
// stored.
#ifndef MATH_POLY_H
#define MATH_POLY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

enum { POLY_MAX_ORDER = 8 };

typedef struct poly {
    int64_t dims;  ///< Variables.
    int order;     ///< Highest degree, 1 to POLY_MAX_ORDER.
    int64_t count; ///< Monomials.
    /// first[k] is the index of the first monomial of degree k; first[order + 1] = count.
    int64_t first[POLY_MAX_ORDER + 2];
    /// run[k][i], (dims + 1): offset within degree k of the first monomial that starts with
    /// variable i.
    int64_t *run[POLY_MAX_ORDER + 1];
} poly;

/// Number of monomials: C(dims + order, order) - 1, or -1 if it overflows.
int64_t poly_count(int64_t dims, int order);

/// The tables live in `mem`. Fails with PLUMB_EMEMORY.
plumb_status poly_init(poly *out, arena *mem, int64_t dims, int order);

/// The variables of a monomial, rising, with repetition. Returns its degree.
int poly_variables(int64_t variables[POLY_MAX_ORDER], const poly *basis, int64_t monomial);

/// The index of the monomial with these variables, which must be rising; degree >= 1.
int64_t poly_index(const poly *basis, const int64_t *variables, int degree);

/// Adds weight * d(monomial)/dx_v to gradient[v] at the point x (dims).
void poly_gradient(double *gradient, const poly *basis, int64_t monomial, double weight,
                   const double *x);

/// Values of all monomials up to `degree` at n points: out (monomials, stride), from x (dims,
/// stride), which may be the start of `out`. n is a multiple of VECTOR_PAD.
void poly_expand(double *out, const poly *basis, int degree, const double *x, int64_t stride,
                 int64_t n);

#endif
