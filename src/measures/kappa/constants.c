// SPDX-License-Identifier: MIT
// kappa where constants differ between trajectories (masses, lengths). One c for all rejects models
// that are right for each trajectory: with velocities in place of momenta c is 1 / mass. A free c
// for each trajectory accepts a wrong model whose c depends on the energy. So c is a smooth
// function of the constants: a polynomial, whose order is chosen by leaving trajectories out.
#include <math.h>
#include <string.h>

#include "math/cholesky.h"
#include "math/poly.h"
#include "measures/kappa/kappa.h"

enum { MAX_ORDER = 3 };

// A higher order must leave less than this share of the squared errors of c.
static const double better = 0.9;
// Trajectories per term of the polynomial.
static const int64_t min_trajectories = 5;

typedef struct constant_fit {
    int64_t trajectories, constants, terms;
    double *theta;     // (trajectories, constants) mean 0, deviation 1
    double *c;         // (trajectories) <O, A> / |A|^2
    double *weight;    // (trajectories) |A|^2
    double *feature;   // (trajectories, terms)
    double *factor;    // (terms, terms)
    double *solution;  // (terms, trajectories): of (X^T W X) u = x
    double *predicted; // (trajectories) c of each by the others
} constant_fit;

// theta: the constants of each trajectory, those that are latents and those that were given. A
// latent counts by its mean.
static plumb_status collect_constants(constant_fit *fit, const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const kappa_latent *l = &work->latent;
    const int64_t all = rows->trajectories;
    for (int64_t i = 0; i < rows->latent_dims; i++) fit->constants += l->constant[i];
    fit->constants += rows->constants;
    fit->theta = ARENA_ALLOC(work->mem, double, (all * fit->constants + 1));
    if (!fit->theta) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < all; k++) {
        double *to = fit->theta + k * fit->constants;
        for (int64_t i = 0; i < rows->latent_dims; i++) {
            if (!l->constant[i]) continue;
            for (int64_t t = 0; t < rows->steps; t++)
                *to += l->y[(k * rows->steps + t) * rows->latent_dims + i] / (double)rows->steps;
            to++;
        }
        for (int64_t i = 0; i < rows->constants; i++)
            *to++ = rows->constant[k * rows->constants + i];
    }
    for (int64_t i = 0; i < fit->constants; i++) {
        double mean = 0.0, square = 0.0;
        for (int64_t k = 0; k < all; k++) mean += fit->theta[k * fit->constants + i] / (double)all;
        for (int64_t k = 0; k < all; k++) {
            fit->theta[k * fit->constants + i] -= mean;
            square += fit->theta[k * fit->constants + i] * fit->theta[k * fit->constants + i];
        }
        const double scale = square > 0.0 ? sqrt((double)all / square) : 0.0;
        for (int64_t k = 0; k < all; k++) fit->theta[k * fit->constants + i] *= scale;
    }
    return PLUMB_OK;
}

// predicted: weighted least squares with `terms` terms, each trajectory by the others: with the
// leverage h of a trajectory, its error is (c - fit) / (1 - h). Returns the sum of their squares.
static double leave_one_out(constant_fit *fit, int64_t terms)
{
    const int64_t all = fit->trajectories;
    memset(fit->factor, 0, (size_t)(terms * terms) * sizeof *fit->factor);
    for (int64_t k = 0; k < all; k++)
        for (int64_t i = 0; i < terms; i++)
            for (int64_t j = 0; j < terms; j++)
                fit->factor[i * terms + j] += fit->weight[k] * fit->feature[k * fit->terms + i] *
                                              fit->feature[k * fit->terms + j];
    double trace = 0.0;
    for (int64_t i = 0; i < terms; i++) trace += fit->factor[i * terms + i];
    for (int64_t i = 0; i < terms; i++) fit->factor[i * terms + i] += 1e-9 * trace;
    if (!cholesky_factor(fit->factor, terms)) return (double)INFINITY;
    for (int64_t k = 0; k < all; k++)
        for (int64_t i = 0; i < terms; i++)
            fit->solution[i * all + k] = fit->feature[k * fit->terms + i];
    cholesky_solve(fit->solution, fit->factor, terms, all);
    double errors = 0.0;
    for (int64_t k = 0; k < all; k++) {
        double value = 0.0, leverage = 0.0;
        for (int64_t i = 0; i < terms; i++)
            leverage +=
                fit->weight[k] * fit->feature[k * fit->terms + i] * fit->solution[i * all + k];
        for (int64_t j = 0; j < all; j++) {
            double hat = 0.0;
            for (int64_t i = 0; i < terms; i++)
                hat += fit->feature[j * fit->terms + i] * fit->solution[i * all + k];
            value += fit->weight[j] * hat * fit->c[j];
        }
        const double error = (fit->c[k] - value) / fmax(1.0 - leverage, 1e-3);
        fit->predicted[k] = fit->c[k] - error;
        errors += fit->weight[k] * error * error;
    }
    return errors;
}

static plumb_status fit_init(constant_fit *fit, const kappa_work *work)
{
    const kappa_pullback_form *form = &work->form;
    arena *mem = work->mem;
    const int64_t all = work->rows.trajectories;
    int order = MAX_ORDER;
    while (order > 0 && min_trajectories * (1 + poly_count(fit->constants, order)) > all) order--;
    if (!order) return PLUMB_OK;
    poly basis;
    plumb_status st = poly_init(&basis, mem, fit->constants, order);
    if (st) return st;
    fit->terms = 1 + basis.count;
    fit->c = ARENA_ALLOC(mem, double, all);
    fit->weight = ARENA_ALLOC(mem, double, all);
    fit->predicted = ARENA_ALLOC(mem, double, all);
    fit->feature = ARENA_ALLOC(mem, double, (all * fit->terms));
    fit->factor = ARENA_ALLOC(mem, double, (fit->terms * fit->terms));
    fit->solution = ARENA_ALLOC(mem, double, (fit->terms * all));
    if (!fit->c || !fit->weight || !fit->predicted || !fit->feature || !fit->factor ||
        !fit->solution)
        return PLUMB_EMEMORY;
    for (int64_t k = 0; k < all; k++) {
        fit->weight[k] = form->true_norm2[k];
        fit->c[k] = form->true_norm2[k] > 0.0 ? form->dot[k] / form->true_norm2[k] : 0.0;
        fit->feature[k * fit->terms] = 1.0;
        for (int64_t j = 0; j < basis.count; j++) {
            int64_t v[POLY_MAX_ORDER];
            const int degree = poly_variables(v, &basis, j);
            double product = 1.0;
            for (int i = 0; i < degree; i++) product *= fit->theta[k * fit->constants + v[i]];
            fit->feature[k * fit->terms + 1 + j] = product;
        }
    }
    return PLUMB_OK;
}

plumb_status kappa_fit_constants(kappa_work *work)
{
    constant_fit fit = {.trajectories = work->rows.trajectories};
    work->form.c_by_constants = NULL;
    plumb_status st = collect_constants(&fit, work);
    work->form.has_constants = fit.constants > 0;
    if (st || !fit.constants) return st;
    st = fit_init(&fit, work);
    if (st || !fit.terms) return st;
    double *best = ARENA_ALLOC(work->mem, double, fit.trajectories);
    if (!best) return PLUMB_EMEMORY;
    double least = leave_one_out(&fit, 1);
    memcpy(best, fit.predicted, (size_t)fit.trajectories * sizeof *best);
    for (int order = 1; order <= MAX_ORDER; order++) {
        const int64_t terms = 1 + poly_count(fit.constants, order);
        if (terms > fit.terms) break;
        const double errors = leave_one_out(&fit, terms);
        if (!(errors < better * least)) continue;
        least = errors;
        work->form.c_by_constants = best;
        memcpy(best, fit.predicted, (size_t)fit.trajectories * sizeof *best);
    }
    return PLUMB_OK;
}
