// SPDX-License-Identifier: MIT
// Smooth maps fitted to scattered states, with their Jacobians in closed form.
//
// Each output has its own fit, the one that best predicts held-out trajectories: the mean alone, a
// polynomial, or a line plus a kernel at a few hundred centres. The kernel is that of a network
// with one infinite hidden layer of sigmoids [Williams98]. Like a network it extrapolates smoothly,
// where polynomials grow without bound and Gaussians fall to zero.
#ifndef MEASURES_FIT_KERNEL_FIT_H
#define MEASURES_FIT_KERNEL_FIT_H

#include "base/arena.h"
#include "math/poly.h"
#include "plumb/status.h"

/// What is fitted beside the mean.
typedef enum kernel_fit_kind {
    KERNEL_FIT_NETWORK,    ///< a polynomial, or a line plus the kernel of an infinite network
    KERNEL_FIT_GAUSSIAN,   ///< a polynomial, or a line plus Gaussian kernels
    KERNEL_FIT_POLYNOMIAL, ///< polynomials alone
} kernel_fit_kind;

typedef struct kernel_fit_input {
    const double
        *x; // (rows, dims) mean 0, deviation 1; one half of the trajectories, then the other
    const double *y; // (rows, outputs) mean 0, mean square 1
    int64_t rows, first_half_rows;
    int64_t dims, outputs;
    int64_t search_stride; // the search takes every Nth row
    int64_t centres;       // of the kernel
    int64_t max_terms;     // of a polynomial
    int max_order;
    // Lines in the first unpenalised_dims inputs have no ridge. If these are not all inputs, the
    // other lines and all polynomials have one, as the kernel has.
    int64_t unpenalised_dims;
    double target_error; // the search ends when no output has more unexplained; 0: exact fits only
    kernel_fit_kind kind;
} kernel_fit_input;

typedef struct kernel_fit_choice {
    bool kernel;         // a line plus a kernel; else a polynomial
    int order;           // of the polynomial; 0: the mean alone
    double scale, ridge; // of the kernel
    double unexplained;  // share of the variance of held-out trajectories
    double smooth_share; // share of that which is smooth from row to row, so that it is no noise
} kernel_fit_choice;

enum { KERNEL_FIT_ALL, KERNEL_FIT_FIRST, KERNEL_FIT_SECOND, KERNEL_FIT_FITS };

typedef struct kernel_fit {
    int64_t dims, outputs, centres;
    kernel_fit_kind kind;
    int64_t unpenalised_dims;
    double target_error;
    double *centre;                  // (centres, dims)
    poly poly;                       // of the highest order tried
    kernel_fit_choice *choice;       // (outputs)
    int64_t stride;                  // of `weight`: the most features of a choice
    double *weight[KERNEL_FIT_FITS]; // (outputs, stride): fitted to all rows, to each half
} kernel_fit;

/// Chooses the fit of each output. Fails with PLUMB_EMEMORY, or PLUMB_EMISSING without OpenBLAS.
plumb_status kernel_fit_choose(kernel_fit *out, arena *mem, const kernel_fit_input *in);

/// Then fits what was chosen to all rows, and to each half.
plumb_status kernel_fit_solve(kernel_fit *fit, arena *mem, const kernel_fit_input *in);

/// A simpler fit of the same kind, for the error of the fit: half the centres, polynomials of one
/// order less unless they are exact.
plumb_status kernel_fit_coarsen(kernel_fit *out, arena *mem, const kernel_fit *fit,
                                const kernel_fit_input *in);

/// out (rows, outputs) = y at x (rows, dims), of one of the fits (KERNEL_FIT_ALL ...).
plumb_status kernel_fit_values(double *out, const kernel_fit *fit, arena *mem, int which,
                               const double *x, int64_t rows);

/// out (rows, outputs, dims) = dy/dx at x (rows, dims), of one of the fits (KERNEL_FIT_ALL ...).
plumb_status kernel_fit_jacobian(double *out, const kernel_fit *fit, arena *mem, int which,
                                 const double *x, int64_t rows);

#endif
