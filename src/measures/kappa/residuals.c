// SPDX-License-Identifier: MIT
// Structure of the latents that is finer than the fit of G: a short wave of small amplitude leaves
// little unexplained, but its slopes are large and would change the form. What G leaves of held-out
// trajectories is noise or a wave. Noise is as different between near states as between distant
// ones; a wave is alike at near states and differs more and more with distance.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "measures/kappa/kappa.h"

enum { NEIGHBOURS = KAPPA_MAX_NEIGHBOURS, MAX_QUERIES = 1500 };

// An output with more unexplained than the first value is noise; with less than the second it is
// exact.
static const double noise_limit = 0.5, exact_limit = 1e-6;
// Residuals of nearest states that are correlated by less than this show no wave.
static const double min_correlation = 0.15;

// The growth of the latents, relative to their difference from the last neighbour, is at least
// this.
static const double min_growth = 0.2;

// e (rows, outputs): the residuals of each half by the fit to the other half.
static plumb_status compute_residuals(double *e, arena *mem, const kappa_work *work)
{
    const latent_map *g = &work->map;
    const kappa_rows *rows = &work->rows;
    const int64_t first = rows->first_half_rows, outputs = g->out.count;
    // The fits to data near a surface were made off it.
    const double *x = g->request.x;
    plumb_status st = kernel_fit_values(e, &g->fit, mem, KERNEL_FIT_SECOND, x, first);
    if (!st)
        st = kernel_fit_values(e + first * outputs, &g->fit, mem, KERNEL_FIT_FIRST,
                               x + first * g->in.dims, rows->rows - first);
    for (int64_t i = 0; i < rows->rows * outputs && !st; i++) e[i] = g->out.y[i] - e[i];
    return st;
}

static double square_difference(const double *v, int64_t outputs, int64_t k, int64_t a, int64_t b)
{
    const double by = v[a * outputs + k] - v[b * outputs + k];
    return by * by;
}

// The share of the squared slopes of output k, along trajectories, that is missed and no noise:
// over one and two steps the residuals of noise differ alike, D1 = D2, those of a missed slope like
// 1 : 4, so (D2 - D1) / 3 is its square.
static double missed_along(const double *e, const kappa_work *work, int64_t k)
{
    const kappa_rows *rows = &work->rows;
    const map_outputs *out = &work->map.out;
    double one = 0.0, two = 0.0, slope = 0.0, ones = 0.0, twos = 0.0;
    for (int64_t r = 0; r + 1 < rows->rows; r++) {
        const int64_t t = r % rows->steps;
        if (t + 1 >= rows->steps) continue;
        one += square_difference(e, out->count, k, r, r + 1), ones += 1.0;
        slope += square_difference(out->y, out->count, k, r, r + 1);
        if (t + 2 < rows->steps) two += square_difference(e, out->count, k, r, r + 2), twos += 1.0;
    }
    if (!(slope > 0.0) || !(twos > 0.0)) return 0.0;
    return fmax(two / twos - one / ones, 0.0) / 3.0 / (slope / ones);
}

// The same across trajectories: the growth of the difference of residuals from the nearest state to
// the last of NEIGHBOURS, over the growth of the difference of the latents.
static double missed_across(const double *e, const kappa_work *work, int64_t k,
                            const int64_t *neighbour, int64_t queries, int64_t stride)
{
    const map_outputs *out = &work->map.out;
    double near = 0.0, far = 0.0, near_y = 0.0, far_y = 0.0, square = 0.0;
    for (int64_t q = 0; q < queries; q++) {
        const int64_t row = q * stride, a = neighbour[q * NEIGHBOURS],
                      b = neighbour[q * NEIGHBOURS + NEIGHBOURS - 1];
        if (b == row) continue; // too few states
        near += square_difference(e, out->count, k, row, a);
        far += square_difference(e, out->count, k, row, b);
        near_y += square_difference(out->y, out->count, k, row, a);
        far_y += square_difference(out->y, out->count, k, row, b);
        square += e[row * out->count + k] * e[row * out->count + k] +
                  e[a * out->count + k] * e[a * out->count + k];
    }
    if (!(far_y > near_y) || !(square > 0.0) || 1.0 - near / square < min_correlation) return 0.0;
    // Where the last neighbour is hardly farther than the nearest, the growth is not known well.
    return fmin(fmax(far - near, 0.0) / fmax(far_y - near_y, min_growth * far_y), 1.0);
}

plumb_status kappa_missed_slopes(kappa_work *work)
{
    const latent_map *g = &work->map;
    const kappa_rows *rows = &work->rows;
    double worst = 0.0;
    for (int64_t k = 0; k < g->out.count; k++)
        if (g->fit.choice[k].unexplained < noise_limit)
            worst = fmax(worst, g->fit.choice[k].unexplained);
    work->form.missed_slope = 0.0;
    if (worst < exact_limit) return PLUMB_OK;
    const int64_t stride = (rows->rows + MAX_QUERIES - 1) / MAX_QUERIES;
    const int64_t queries = (rows->rows + stride - 1) / stride;
    arena mem = {0};
    double *e = ARENA_ALLOC(&mem, double, (rows->rows * g->out.count));
    int64_t *neighbour = ARENA_ALLOC(&mem, int64_t, (queries * NEIGHBOURS));
    plumb_status st = e && neighbour ? compute_residuals(e, &mem, work) : PLUMB_EMEMORY;
    for (int64_t q = 0; q < queries && !st; q++) {
        kappa_find_neighbours(neighbour + q * NEIGHBOURS, NEIGHBOURS, &g->in, rows, q * stride);
        if (q % 64 == 0) st = status_check_stop();
    }
    for (int64_t k = 0; k < g->out.count && !st; k++) {
        const double unexplained = g->fit.choice[k].unexplained;
        if (unexplained > noise_limit || unexplained < exact_limit) continue;
        for (int64_t r = 0; r < rows->rows; r++)
            work->form.residual2[r / rows->steps] +=
                e[r * g->out.count + k] * e[r * g->out.count + k];
        const double along = missed_along(e, work, k);
        const double across = missed_across(e, work, k, neighbour, queries, stride);
        work->form.missed_slope = fmax(work->form.missed_slope, fmax(along, across));
    }
    arena_clear(&mem);
    return st;
}
