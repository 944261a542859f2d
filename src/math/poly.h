// SPDX-License-Identifier: MIT
// Monomials of degree 1 .. order in `dims` variables, by degree, then lexicographic with
// repetition: x0, x1, x0x0, x0x1, x1x1, ... (no constant).
//
// Of degree k, the monomials that start with variable i are x_i times a run of those of degree k-1:
// the ones whose first variable is >= i, which lie together at the end. So a polynomial expansion
// is a few products of whole runs, and its top degree never has to be stored.
#ifndef MATH_POLY_H
#define MATH_POLY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"

enum { POLY_MAX_ORDER = 8 };

typedef struct poly {
    int64_t dims;
    int order;
    int64_t count; // monomials
    int64_t
        first[POLY_MAX_ORDER + 2]; // first[k]: the first one of degree k; first[order+1] = count
    int64_t *run[POLY_MAX_ORDER +
                 1]; // run[k][i]: where in degree k variable i starts to lead; (dims + 1)
} poly;

/// C(dims + order, order) - 1, or -1 if that is more than can be counted.
int64_t poly_count(int64_t dims, int order);

plumb_status poly_init(poly *out, arena *mem, int64_t dims, int order);

/// The variables of a monomial in rising order, with repetition; returns its degree.
int poly_variables(int64_t variables[POLY_MAX_ORDER], const poly *basis, int64_t monomial);

/// The other way round: which monomial has these variables, in rising order; degree at least 1.
int64_t poly_index(const poly *basis, const int64_t *variables, int degree);

/// Adds weight * d(monomial)/dx_v to gradient[v] at the point x (dims).
void poly_gradient(double *gradient, const poly *basis, int64_t monomial, double weight,
                   const double *x);

/// Columns of all monomials up to `degree`: out (.., stride), from x (dims, stride).
void poly_expand(double *out, const poly *basis, int degree, const double *x, int64_t stride,
                 int64_t n);

#endif
