// SPDX-License-Identifier: MIT
// Taylor's method [Jorba05]: expand the solution to order 22, step as far as the last terms stay
// below rounding, expand again. Between steps the series gives the state at any time. The rounding
// error of the state is carried along by compensated summation [Kahan65].
#include "math/taylor.h"

#include <math.h>

#include "base/status.h"

// Bound of the last terms, relative to 1 or to the unknown itself.
static const double tolerance = 0x1p-56;

// The largest of all unknowns' coefficients of this term.
static double largest_coefficient(const taylor_solution *solution, int term)
{
    double largest = 0.0;
    for (int i = 0; i < solution->n; i++) {
        double size = fabs(solution->x[i][term]);
        if (solution->relative) size /= fabs(solution->x[i][0]) + 1e-300;
        if (!(size <= largest)) largest = size; // a NaN stays
    }
    return largest;
}

// Expands the series at the current state and chooses the step: last term * step^order = tolerance.
// Two terms are used, because one of them may vanish by symmetry.
static void expand_series(taylor_solution *solution)
{
    solution->series(solution->x, solution->system);
    const double last = largest_coefficient(solution, TAYLOR_ORDER),
                 before = largest_coefficient(solution, TAYLOR_ORDER - 1);
    double step = pow(tolerance / last, 1.0 / TAYLOR_ORDER);
    step = fmin(step, pow(tolerance / before, 1.0 / (TAYLOR_ORDER - 1)));
    // At rest, or NaN: a step of 1000. Steps are multiples of 2^-20, so that times add up without
    // rounding; a solution that diverges gets the smallest step and becomes infinite or NaN.
    step = !(step < 1e3) ? 1e3 : floor(step * 0x1p20) * 0x1p-20;
    solution->step = solution->sign * fmax(step, 0x1p-20);
}

void taylor_start(taylor_solution *solution, taylor_series *series, const void *system, int n,
                  const double *x0, bool backward, bool relative)
{
    *solution = (taylor_solution){.series = series,
                                  .system = system,
                                  .n = n,
                                  .relative = relative,
                                  .sign = backward ? -1.0 : 1.0};
    for (int i = 0; i < n; i++) solution->x[i][0] = x0[i];
    expand_series(solution);
}

// The series at h without its first term, by Horner's rule.
static double sum_of_terms(const double *x, double h)
{
    double sum = x[TAYLOR_ORDER];
    for (int k = TAYLOR_ORDER - 1; k > 0; k--) sum = sum * h + x[k];
    return sum * h;
}

void taylor_evaluate(double *x, taylor_solution *solution, double t)
{
    // Whole steps, with the rounding error of each sum kept for the next. They may take hours: a
    // request to stop ends them, and the caller sees it too.
    for (uint32_t k = 1; fabs(t - solution->t) > fabs(solution->step); k++) {
        if (k % 256 == 0 && status_stopped()) break;
        for (int i = 0; i < solution->n; i++) {
            const double add = sum_of_terms(solution->x[i], solution->step) + solution->rounding[i];
            const double sum = solution->x[i][0] + add;
            solution->rounding[i] = add - (sum - solution->x[i][0]);
            solution->x[i][0] = sum;
        }
        solution->t += solution->step;
        expand_series(solution);
    }
    // The rest by the series.
    for (int i = 0; i < solution->n; i++)
        x[i] = solution->x[i][0] +
               (sum_of_terms(solution->x[i], t - solution->t) + solution->rounding[i]);
}
