// SPDX-License-Identifier: MIT
// Taylor's method [Jorba05]: expand to order 22, go as far as the last terms stay below rounding,
// expand again. Between, the series itself is the answer at any time. What rounding takes from the
// state is carried along [Kahan65].
#include "math/taylor.h"

#include <math.h>

// What the first term left out may be, against 1 or against the unknown itself.
static const double tolerance = 0x1p-56;

static double magnitude(const taylor_solution *it, int term)
{
    double largest = 0.0;
    for (int i = 0; i < it->n; i++) {
        double size = fabs(it->x[i][term]);
        if (it->relative) size /= fabs(it->x[i][0]) + 1e-300;
        if (!(size <= largest)) largest = size; // a NaN stays
    }
    return largest;
}

// Two terms are asked, for one of them may vanish by symmetry.
static void expand(taylor_solution *it)
{
    it->series(it->x, it->system);
    const double last = magnitude(it, TAYLOR_ORDER), before = magnitude(it, TAYLOR_ORDER - 1);
    double step = pow(tolerance / last, 1.0 / TAYLOR_ORDER);
    step = fmin(step, pow(tolerance / before, 1.0 / (TAYLOR_ORDER - 1)));
    // At rest, or not a number: a long step. Falling apart: go on, and let it show. Steps are
    // multiples of 2^-20, so that times add up without rounding.
    step = !(step < 1e3) ? 1e3 : floor(step * 0x1p20) * 0x1p-20;
    it->step = it->sign * fmax(step, 0x1p-20);
}

void taylor_start(taylor_solution *it, taylor_series *series, const void *system, int n,
                  const double *x0, bool backward, bool relative)
{
    *it = (taylor_solution){.series = series,
                            .system = system,
                            .n = n,
                            .relative = relative,
                            .sign = backward ? -1.0 : 1.0};
    for (int i = 0; i < n; i++) it->x[i][0] = x0[i];
    expand(it);
}

// The sum of all terms but the first.
static double change(const double *x, double h)
{
    double sum = x[TAYLOR_ORDER];
    for (int k = TAYLOR_ORDER - 1; k > 0; k--) sum = sum * h + x[k];
    return sum * h;
}

void taylor_evaluate(double *x, taylor_solution *it, double t)
{
    while (fabs(t - it->t) > fabs(it->step)) {
        for (int i = 0; i < it->n; i++) {
            const double add = change(it->x[i], it->step) + it->rest[i];
            const double sum = it->x[i][0] + add;
            it->rest[i] = add - (sum - it->x[i][0]);
            it->x[i][0] = sum;
        }
        it->t += it->step;
        expand(it);
    }
    for (int i = 0; i < it->n; i++)
        x[i] = it->x[i][0] + (change(it->x[i], t - it->t) + it->rest[i]);
}
