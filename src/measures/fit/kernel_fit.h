// SPDX-License-Identifier: MIT
// Smooth maps fitted to scattered states, with their Jacobians in closed form.
//
// For each output by itself the fit is chosen that predicts trajectories it has not seen best:
// nothing but the mean, a polynomial, or a line plus a kernel at a few hundred centres. The kernel
// is that of a network with one endless hidden layer of sigmoids [Williams98]: like a network it
// stays calm away from the data, where polynomials explode and Gaussian bumps fall silent.
#ifndef MEASURES_FIT_KERNEL_FIT_H
#define MEASURES_FIT_KERNEL_FIT_H

#include "base/arena.h"
#include "math/poly.h"
#include "plumb/kappa.h"

typedef struct kernel_fit_input {
    const double
        *x; // (rows, dims) mean 0, deviation 1; one half of the trajectories, then the other
    const double *y;     // (rows, outputs) mean 0, mean square 1
    int64_t rows, first; // all; of the first half
    int64_t dims, outputs;
    int64_t thin; // the search takes every so manieth row
    int64_t centres;
    int64_t most_terms; // of a polynomial
    int most_order;
    // Lines in the first so many inputs are free; if that is not all, the others and all
    // polynomials are fitted with a ridge, as a kernel is.
    int64_t firm;
    double enough; // the search ends where no output leaves more than this; 0 where all is exact
    plumb_kappa_estimator family;
} kernel_fit_input;

typedef struct kernel_fit_choice {
    bool kernel;
    int order;           // of a polynomial; 0 the mean alone
    double scale, ridge; // of a kernel
    double left;         // share of the variance of unseen trajectories that is not explained
    double smooth;       // share of that which does not jump from row to row: it is no noise
} kernel_fit_choice;

enum { KERNEL_FIT_ALL, KERNEL_FIT_FIRST, KERNEL_FIT_SECOND, KERNEL_FIT_FITS };

typedef struct kernel_fit {
    int64_t dims, outputs, centres;
    plumb_kappa_estimator family;
    int64_t firm;
    double enough;
    double *centre;            // (centres, dims)
    poly poly;                 // of the highest order tried
    kernel_fit_choice *choice; // (outputs)
    int64_t stride;
    double *weight[KERNEL_FIT_FITS]; // (outputs, stride): to all rows, to either half
} kernel_fit;

/// Chooses. Fails with PLUMB_EMEMORY, or PLUMB_EMISSING without OpenBLAS.
plumb_status kernel_fit_choose(kernel_fit *out, arena *mem, const kernel_fit_input *in);

/// Then fits what was chosen to all rows, and to either half.
plumb_status kernel_fit_solve(kernel_fit *fit, arena *mem, const kernel_fit_input *in);

/// out (rows, outputs, dims) = dy/dx at x (rows, dims), of one of the fits.
plumb_status kernel_fit_jacobian(double *out, const kernel_fit *fit, arena *mem, int which,
                                 const double *x, int64_t rows);

#endif
