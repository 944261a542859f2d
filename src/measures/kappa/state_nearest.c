// SPDX-License-Identifier: MIT
// Do the latents hold the state? A second answer, for maps G from truth to latents whose inverse is
// hard to fit. The state s_j of a row is predicted from the row i of the other half of the
// trajectories whose latents are nearest, and from the slope J of G there:
//
//     s_j = s_i + (J^T N^-1 J + V^-1)^-1 J^T N^-1 (z_j - z_i)
//
// with N the unexplained variance of each latent and V that of the truth. If G is many-to-one, i
// often lies on another branch, and the prediction is far off: G may be invertible everywhere
// locally and have no inverse, as (r, angle) -> (r / sqrt 2, 2 angle).
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "measures/kappa/kappa.h"

enum { MAX_QUERIES = 1000 }; // rows that are predicted, of each half

// A latent of which more than this is unexplained is noise, and says nothing about distance.
static const double noise_limit = 0.5;
// Latents are near if their mean squared distance is below this, in units of their variance; states
// are distant if theirs is above the second value.
static const double near_latents = 0.02, distant_states = 0.5;
// Distant states with near latents, as a share of all rows with near latents, that prove a map
// many-to-one. Noise and rare failures stay below.
static const double many_share = 0.1;
// Rows with near latents, as a share of all queries, that are needed to tell.
static const double enough_near = 0.2;

typedef struct nearest_search {
    const kappa_work *work;
    double *z;      // (rows, dims) latents that say something, mean square 1
    int64_t dims;   // of z
    double *slope;  // (form_dims) of one output of G, by states in units of their deviation
    double *factor; // (form_dims, form_dims)
    double *step;   // (form_dims) predicted s_j - s_i in units of the deviation
    double *jacobian;
    double error2, total; // squared errors of all predictions, and what they would be without
    int64_t queries, near, distant;
} nearest_search;

// z: the latents that vary and are no noise. Constants count: they are part of what G depends on.
static plumb_status collect_latents(nearest_search *search, arena *mem)
{
    const kappa_work *work = search->work;
    const kappa_rows *rows = &work->rows;
    const int64_t all = rows->latent_dims;
    search->z = ARENA_ALLOC(mem, double, (rows->rows * 2 * all));
    bool *used = ARENA_ALLOC(mem, bool, all);
    if (!search->z || !used) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < all; i++) {
        used[i] = work->latent.varies[i] && work->form.unexplained[i] < noise_limit;
        search->dims += !used[i] ? 0 : work->latent.period[i] > 0.0 ? 2 : 1;
    }
    for (int64_t r = 0; r < rows->rows; r++) {
        double *z = search->z + r * search->dims;
        for (int64_t i = 0; i < all; i++) {
            if (!used[i]) continue;
            if (!(work->latent.period[i] > 0.0)) {
                *z++ = work->latent.y[r * all + i];
                continue;
            }
            // On a circle of mean square 1 in each direction.
            const double angle = kappa_latent_angle(work, r, i);
            *z++ = 1.4142135623730951 * sin(angle), *z++ = 1.4142135623730951 * cos(angle);
        }
    }
    return PLUMB_OK;
}

// The row of first .. end-1 whose latents are nearest to those of `row`; *distance2 is the mean
// over latents.
static int64_t find_nearest(double *distance2, const nearest_search *search, int64_t row,
                            int64_t first, int64_t end)
{
    const int64_t dims = search->dims;
    const double *to = search->z + row * dims;
    double least = (double)INFINITY;
    int64_t nearest = first;
    for (int64_t r = first; r < end; r++) {
        double sum = 0.0;
        for (int64_t k = 0; k < dims && sum < least; k++) {
            const double by = search->z[r * dims + k] - to[k];
            sum += by * by;
        }
        if (sum < least) least = sum, nearest = r;
    }
    *distance2 = least / (double)dims;
    return nearest;
}

// step: the prediction of s_j - s_i from the latents of rows i and j. False if it is undefined.
static bool predict_step(nearest_search *search, int64_t i, int64_t j)
{
    const kappa_work *work = search->work;
    const kappa_truth *truth = &work->truth;
    const latent_map *map = &work->map;
    const int64_t d = truth->form_dims;
    memset(search->factor, 0, (size_t)(d * d) * sizeof *search->factor);
    memset(search->step, 0, (size_t)d * sizeof *search->step);
    for (int64_t a = 0; a < d; a++) search->factor[a * d + a] = 1.0; // V^-1
    for (int64_t k = 0; k < map->out.count; k++) {
        const int64_t l = map->out.which[k];
        if (work->form.unexplained[l] >= noise_limit) continue;
        // z_j - z_i, without what constants and coordinates outside the form explain.
        double change = map->out.y[j * map->out.count + k] - map->out.y[i * map->out.count + k];
        for (int64_t v = 0; v < map->in.dims; v++)
            if (v >= map->in.true_dims || map->in.base[v] >= d)
                change -= search->jacobian[k * map->in.dims + v] *
                          (map->in.x[j * map->in.dims + v] - map->in.x[i * map->in.dims + v]);
        const double weight = 1.0 / fmax(map->fit.choice[k].unexplained, 1e-10);
        memset(search->slope, 0, (size_t)d * sizeof *search->slope);
        for (int64_t v = 0; v < map->in.true_dims; v++) {
            const int64_t a = map->in.base[v];
            if (a < d)
                search->slope[a] += search->jacobian[k * map->in.dims + v] *
                                    map->in.slope[i * map->in.dims + v] * truth->deviation[a];
        }
        for (int64_t a = 0; a < d; a++) {
            search->step[a] += weight * search->slope[a] * change;
            for (int64_t b = 0; b < d; b++)
                search->factor[a * d + b] += weight * search->slope[a] * search->slope[b];
        }
    }
    if (!cholesky_factor(search->factor, d)) return false;
    cholesky_solve(search->step, search->factor, d, 1);
    return true;
}

// The difference of two values of a true coordinate in units of its deviation. An angle has no
// turns.
static double state_difference(const kappa_truth *truth, double difference, int64_t coordinate)
{
    const double turn = 6.283185307179586 * truth->per_radian[coordinate];
    if (turn > 0.0) difference = remainder(difference, turn);
    return difference / truth->deviation[coordinate];
}

// Predicts row j from row i and adds up errors.
static void add_prediction(nearest_search *search, int64_t i, int64_t j, double distance2)
{
    const kappa_truth *truth = &search->work->truth;
    const int64_t d = truth->form_dims;
    const bool predicted = predict_step(search, i, j);
    double apart2 = 0.0;
    for (int64_t a = 0; a < d; a++) {
        const double by = truth->w[j * truth->dims + a] - truth->w[i * truth->dims + a];
        const double apart = state_difference(truth, by, a);
        const double error =
            predicted ? state_difference(truth, by - search->step[a] * truth->deviation[a], a)
                      : apart;
        // The variance of an angle without turns is at most that of a full circle.
        const double circle = 1.8137993642342178 * truth->per_radian[a] / truth->deviation[a];
        const double variance = circle > 0.0 ? fmin(circle * circle, 1.0) : 1.0;
        search->error2 += error * error / variance;
        search->total += 1.0;
        apart2 += apart * apart / variance / (double)d;
    }
    search->queries++;
    if (distance2 >= near_latents) return;
    search->near++;
    search->distant += apart2 > distant_states;
}

plumb_status kappa_nearest_r2(double *r2, bool *many_to_one, kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const latent_map *map = &work->map;
    const int64_t d = work->truth.form_dims, wide = map->out.count * map->in.dims;
    arena mem = {0};
    nearest_search search = {.work = work};
    search.slope = ARENA_ALLOC(&mem, double, d);
    search.factor = ARENA_ALLOC(&mem, double, (d * d));
    search.step = ARENA_ALLOC(&mem, double, d);
    search.jacobian = ARENA_ALLOC(&mem, double, wide);
    plumb_status st =
        search.slope && search.factor && search.step && search.jacobian ? PLUMB_OK : PLUMB_EMEMORY;
    if (!st) st = collect_latents(&search, &mem);
    for (int half = 0; half < 2 && !st && search.dims; half++) {
        // Neighbours and slopes are of one half, the rows to predict of the other.
        const int64_t first = half ? rows->first_half_rows : 0;
        const int64_t end = half ? rows->rows : rows->first_half_rows;
        const int64_t from = half ? 0 : rows->first_half_rows;
        const int64_t to = half ? rows->first_half_rows : rows->rows;
        const int64_t stride = (to - from + MAX_QUERIES - 1) / MAX_QUERIES;
        for (int64_t j = from; j < to && !st; j += stride) {
            double distance2;
            const int64_t i = find_nearest(&distance2, &search, j, first, end);
            st = kernel_fit_jacobian(search.jacobian, &map->fit, &mem, KERNEL_FIT_FIRST + half,
                                     map->in.x + i * map->in.dims, 1);
            if (!st) add_prediction(&search, i, j, distance2);
            if (!st) st = status_check_stop();
        }
    }
    arena_clear(&mem);
    if (st) return st;
    *r2 = search.total > 0.0 ? 1.0 - search.error2 / search.total : 0.0;
    *many_to_one = (double)search.near > enough_near * (double)search.queries &&
                   (double)search.distant > many_share * (double)search.near;
    return PLUMB_OK;
}
