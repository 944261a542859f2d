// SPDX-License-Identifier: MIT
// Conserved quantities as quadratic functions of the state: the energy by regression, and the one
// that varies least within trajectories compared with all variance. Both are functions found from
// the truth and then applied to the readouts.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "math/eigen.h"
#include "measures/dynamics/dynamics.h"

enum { MAX_QUADRATIC = 12, MAX_SQUARES = 64 };

// Products of states, centred by the truth.
typedef struct product_set {
    const dynamics_states *s;
    int64_t count;
    bool mixed;   // products of two, not squares alone
    double *mean; // (count) over the truth
} product_set;

// out (count) = the features of a state.
static void get_products(double *out, const product_set *set, const double *state)
{
    const dynamics_states *s = set->s;
    double z[MAX_SQUARES];
    int64_t k = 0;
    for (int64_t i = 0; i < s->dims; i++) {
        z[i] = s->deviation[i] > 0.0 ? (state[i] - s->mean[i]) / s->deviation[i] : 0.0;
        out[k++] = z[i];
    }
    for (int64_t i = 0; i < s->dims; i++)
        for (int64_t j = i; j < (set->mixed ? s->dims : i + 1); j++) out[k++] = z[i] * z[j];
    for (int64_t f = 0; set->mean && f < set->count; f++) out[f] -= set->mean[f];
}

// How many features the trajectories can bear: at most half as many as trajectories.
static bool choose_products(product_set *set, const dynamics_states *s)
{
    const int64_t d = s->dims;
    *set = (product_set){.s = s, .count = d + d * (d + 1) / 2, .mixed = true};
    if (d <= MAX_QUADRATIC && 2 * set->count <= s->trajectories) return true;
    *set = (product_set){.s = s, .count = 2 * d};
    return d <= MAX_SQUARES && 2 * set->count <= s->trajectories;
}

// Covariances over all rows of the truth, and within trajectories; and with `energy`.
typedef struct product_sums {
    double *all, *within; // (count, count)
    double *with_energy;  // (count)
    double *row, *own_mean;
    double energy_mean, energy_variance;
} product_sums;

static void add_outer(double *to, const double *x, int64_t n, double weight)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) to[i * n + j] += weight * x[i] * x[j];
}

static void fill_upper(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
}

static void sum_products(product_sums *sums, const product_set *set, const double *energy)
{
    const dynamics_states *s = set->s;
    const double rows = (double)(s->trajectories * s->steps);
    for (int64_t i = 0; energy && i < s->trajectories * s->steps; i++)
        sums->energy_mean += energy[i] / rows;
    for (int64_t i = 0; i < s->trajectories; i++) {
        memset(sums->own_mean, 0, (size_t)set->count * sizeof(double));
        for (int64_t t = 0; t < s->steps; t++) {
            const int64_t at = i * s->steps + t;
            get_products(sums->row, set, s->truth + at * s->dims);
            add_outer(sums->all, sums->row, set->count, 1.0 / rows);
            const double e = energy ? energy[at] - sums->energy_mean : 0.0;
            sums->energy_variance += e * e / rows;
            for (int64_t f = 0; f < set->count; f++) {
                sums->own_mean[f] += sums->row[f] / (double)s->steps;
                sums->with_energy[f] += e * sums->row[f] / rows;
            }
        }
        for (int64_t t = 0; t < s->steps; t++) {
            get_products(sums->row, set, s->truth + (i * s->steps + t) * s->dims);
            for (int64_t f = 0; f < set->count; f++) sums->row[f] -= sums->own_mean[f];
            add_outer(sums->within, sums->row, set->count, 1.0 / rows);
        }
    }
    fill_upper(sums->all, set->count);
    fill_upper(sums->within, set->count);
}

// weight (count) of the combination with the least variance within. Returns its share.
static plumb_status find_least(double *share, double *weight, arena *mem, const product_set *set,
                               const product_sums *sums)
{
    const int64_t n = set->count;
    double *values = ARENA_ALLOC(mem, double, n), *vectors = ARENA_ALLOC(mem, double, n *n);
    double *white = ARENA_ALLOC(mem, double, n *n), *inner = ARENA_ALLOC(mem, double, n *n);
    if (!values || !vectors || !white || !inner) return PLUMB_EMEMORY;
    plumb_status st = eigen_symmetric(values, vectors, mem, sums->all, n);
    if (st) return st;
    // Directions without variance are no quantities.
    int64_t kept = 0;
    while (kept < n && values[kept] > 1e-9 * values[0]) kept++;
    for (int64_t a = 0; a < kept; a++)
        for (int64_t i = 0; i < n; i++) white[a * n + i] = vectors[a * n + i] / sqrt(values[a]);
    for (int64_t a = 0; a < kept; a++)
        for (int64_t b = 0; b < kept; b++) {
            double sum = 0.0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++)
                    sum += white[a * n + i] * sums->within[i * n + j] * white[b * n + j];
            inner[a * kept + b] = sum;
        }
    st = eigen_symmetric(values, vectors, mem, inner, kept);
    if (st) return st;
    *share = fmax(0.0, values[kept - 1]);
    for (int64_t i = 0; i < n; i++) {
        weight[i] = 0.0;
        for (int64_t a = 0; a < kept; a++)
            weight[i] += vectors[(kept - 1) * kept + a] * white[a * n + i];
    }
    return PLUMB_OK;
}

// The value of a combination, mean over steps first .. end-1 of a trajectory.
static double average_combination(const product_set *set, const double *states, int64_t trajectory,
                                  int64_t first, int64_t end, const double *weight, double *row)
{
    double sum = 0.0;
    for (int64_t t = first; t < end; t++) {
        get_products(row, set, states + (trajectory * set->s->steps + t) * set->s->dims);
        for (int64_t f = 0; f < set->count; f++) sum += weight[f] * row[f];
    }
    return sum / (double)(end - first);
}

// Root of the mean square change between the first and the last third, and the mean change.
static double measure_change(double *trend, const product_set *set, const double *states,
                             const double *weight, double *row)
{
    const dynamics_states *s = set->s;
    const int64_t third = (s->steps - s->context) / 3;
    double square = 0.0;
    *trend = 0.0;
    for (int64_t i = 0; i < s->trajectories; i++) {
        const double first =
            average_combination(set, states, i, s->context, s->context + third, weight, row);
        const double last =
            average_combination(set, states, i, s->steps - third, s->steps, weight, row);
        const double change = isfinite(last - first) ? last - first : (double)INFINITY;
        square += change * change / (double)s->trajectories;
        *trend += change / (double)s->trajectories;
    }
    return sqrt(square);
}

// The deviation between trajectories of their means in the truth.
static double measure_spread(const product_set *set, const double *weight, double *row)
{
    const dynamics_states *s = set->s;
    double sum = 0.0, square = 0.0;
    for (int64_t i = 0; i < s->trajectories; i++) {
        const double mean = average_combination(set, s->truth, i, 0, s->steps, weight, row);
        sum += mean;
        square += mean * mean;
    }
    const double n = (double)s->trajectories;
    return sqrt(fmax(0.0, square / n - sum / n * (sum / n)));
}

static void measure_quantity(plumb_dynamics_conserved *out, const product_set *set,
                             const double *weight, double *row)
{
    const dynamics_states *s = set->s;
    const double spread = measure_spread(set, weight, row);
    double ignored, trend;
    if (!(spread > 0.0)) return;
    out->measured = true;
    out->truth = measure_change(&ignored, set, s->truth, weight, row) / spread;
    out->encoded = measure_change(&ignored, set, s->encoded, weight, row) / spread;
    out->rollout = measure_change(&trend, set, s->rollout, weight, row) / spread;
    out->trend = trend / spread;
}

// The energy as a combination; false if it is not one, to a tenth of its variance.
static bool fit_energy(double *weight, const product_set *set, const product_sums *sums,
                       double *matrix)
{
    const int64_t n = set->count;
    memcpy(matrix, sums->all, (size_t)(n * n) * sizeof *matrix);
    for (int64_t i = 0; i < n; i++) matrix[i * n + i] += 1e-9 * (1.0 + sums->all[i * n + i]);
    memcpy(weight, sums->with_energy, (size_t)n * sizeof *weight);
    if (!cholesky_small_factor(matrix, n, 0.0)) return false;
    cholesky_small_solve(weight, matrix, n, 1);
    double explained = 0.0;
    for (int64_t i = 0; i < n; i++) explained += weight[i] * sums->with_energy[i];
    return explained > 0.9 * sums->energy_variance;
}

plumb_status dynamics_find_conserved(plumb_dynamics *out, arena *mem, const dynamics_states *s,
                                     const double *energy)
{
    const double nan = (double)NAN;
    const plumb_dynamics_conserved none = {false, nan, nan, nan, nan, nan};
    out->energy = out->found = none;
    product_set set;
    if (!choose_products(&set, s)) return PLUMB_OK;
    const int64_t n = set.count;
    product_sums sums = {.all = ARENA_ALLOC(mem, double, n *n),
                         .within = ARENA_ALLOC(mem, double, n *n),
                         .with_energy = ARENA_ALLOC(mem, double, n),
                         .row = ARENA_ALLOC(mem, double, n),
                         .own_mean = ARENA_ALLOC(mem, double, n)};
    double *mean = ARENA_ALLOC(mem, double, n), *weight = ARENA_ALLOC(mem, double, n);
    double *matrix = ARENA_ALLOC(mem, double, n *n);
    if (!sums.all || !sums.within || !sums.with_energy || !sums.row || !sums.own_mean || !mean ||
        !weight || !matrix)
        return PLUMB_EMEMORY;
    const double rows = (double)(s->trajectories * s->steps);
    for (int64_t i = 0; i < s->trajectories * s->steps; i++) {
        get_products(sums.row, &set, s->truth + i * s->dims);
        for (int64_t f = 0; f < n; f++) mean[f] += sums.row[f] / rows;
    }
    set.mean = mean;
    sum_products(&sums, &set, energy);
    double share;
    const plumb_status st = find_least(&share, weight, mem, &set, &sums);
    if (st) return st;
    out->found.share = share;
    if (share < 0.1) measure_quantity(&out->found, &set, weight, sums.row);
    if (energy && sums.energy_variance > 0.0 && fit_energy(weight, &set, &sums, matrix))
        measure_quantity(&out->energy, &set, weight, sums.row);
    return PLUMB_OK;
}
