// SPDX-License-Identifier: MIT
// Maps that are symplectic by design: shears p += dV/dq and q += dU/dp in turn [Jin20], each
// potential a quadratic form plus ridge functions, on coordinates padded with pairs that are 0;
// then one scale. Such a map keeps the form for any weights. One goes from truth to latents. It can
// be perfect although the latents hold nothing (momenta that are all 0 are no target), so a second
// one goes from latents to truth. Both can be perfect although the latents carry no area (the whole
// state in positions), so the area is compared too.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/rng.h"
#include "math/stats.h"
#include "measures/kappa/kappa.h"

enum { LAYERS = 8, RIDGES = 16, BATCH = 64, STREAM_SHEARS = 22 };

// A latent of which more than this is unexplained by G is noise, and is no target.
static const double noise_limit = 0.5;
static const double first_rate = 0.02;
// `symplectic` is at most this many times the share of the area that the latents carry.
static const double area_margin = 2.0;

typedef struct shear_map {
    int64_t m;                            // pairs, padding included
    int64_t theta;                        // parameters: latents constant along a trajectory
    int64_t inputs;                       // values per row: 2m and theta
    int64_t layer;                        // weights of a layer
    int64_t weights;                      // of all, with the scale and the 2m offsets at the end
    double *w, *gradient, *mean, *square; // (weights)
    double *x;                            // (rows, inputs)
    double *y;                            // (rows, 2m)
    double *is_target;                    // (2m) 1 if the latent is a target, else 0
    // The current batch, one column of BATCH values per coordinate.
    double *state;  // (LAYERS + 1, 2m, BATCH)
    double *param;  // (theta, BATCH)
    double *target; // (2m, BATCH)
    double *hidden; // (LAYERS, RIDGES, BATCH)
    double *g;      // (2m, BATCH) gradient by the state
} shear_map;

static void load_row(shear_map *map, int64_t at, int64_t row)
{
    const int64_t d = 2 * map->m;
    for (int64_t i = 0; i < d; i++) {
        map->state[i * BATCH + at] = map->x[row * map->inputs + i];
        map->target[i * BATCH + at] = map->y[row * d + i];
    }
    for (int64_t i = 0; i < map->theta; i++)
        map->param[i * BATCH + at] = map->x[row * map->inputs + d + i];
}

// Weights of a layer: B (m, m), then for each ridge function a, b, w (m), u (theta).
static int64_t ridge_offset(const shear_map *map, int layer, int64_t j)
{
    return layer * map->layer + map->m * map->m + j * (2 + map->m + map->theta);
}

// y += a x for one column.
static void add_scaled(double *restrict y, double a, const double *restrict x)
{
    for (int i = 0; i < BATCH; i++) y[i] += a * x[i];
}

static double dot_columns(const double *restrict a, const double *restrict b)
{
    double sum[4] = {0.0};
    for (int i = 0; i < BATCH; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Layer l: dst += (B + B^T) src + sum over ridges of a w s(z), z = b + w src + u theta, with
// s(z) = z / sqrt(1 + z^2), which needs no transcendental function. src is q in even layers (dst
// p), p in odd ones (dst q).
static void run_forward(shear_map *map)
{
    const int64_t m = map->m, wide = 2 * m * BATCH;
    double z[BATCH];
    for (int l = 0; l < LAYERS; l++) {
        const double *from = map->state + l * wide, *B = map->w + l * map->layer;
        double *to = map->state + (l + 1) * wide;
        memcpy(to, from, (size_t)wide * sizeof *to);
        const double *src = from + (l % 2 ? m * BATCH : 0);
        double *dst = to + (l % 2 ? 0 : m * BATCH);
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < m; k++)
                add_scaled(dst + i * BATCH, B[i * m + k] + B[k * m + i], src + k * BATCH);
        for (int64_t j = 0; j < RIDGES; j++) {
            const double *u = map->w + ridge_offset(map, l, j);
            double *t = map->hidden + (l * RIDGES + j) * BATCH;
            for (int i = 0; i < BATCH; i++) z[i] = u[1];
            for (int64_t i = 0; i < m; i++) add_scaled(z, u[2 + i], src + i * BATCH);
            for (int64_t i = 0; i < map->theta; i++)
                add_scaled(z, u[2 + m + i], map->param + i * BATCH);
            for (int i = 0; i < BATCH; i++) t[i] = z[i] / sqrt(1.0 + z[i] * z[i]);
            for (int64_t i = 0; i < m; i++) add_scaled(dst + i * BATCH, u[0] * u[2 + i], t);
        }
    }
}

// Squared error of the first `count` rows of the batch; g becomes half its gradient by the output.
static double compute_error(shear_map *map, int64_t count)
{
    const int64_t d = 2 * map->m;
    const double scale = map->w[map->weights - 1 - d], *offset = map->w + map->weights - d;
    const double *out = map->state + LAYERS * d * BATCH;
    double sum = 0.0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t k = 0; k < count; k++) {
            const int64_t at = i * BATCH + k;
            const double by = map->is_target[i] * (scale * out[at] + offset[i] - map->target[at]);
            sum += by * by;
            map->g[at] = by;
        }
    return sum;
}

// Gradient of one ridge function: s'(z) = (1 - s^2)^(3/2).
static void backward_ridge(shear_map *map, const double *up, double *down, const double *src, int l,
                           int64_t j)
{
    const int64_t m = map->m, at = ridge_offset(map, l, j);
    const double *u = map->w + at, *t = map->hidden + (l * RIDGES + j) * BATCH;
    double *du = map->gradient + at, along[BATCH] = {0.0}, slope[BATCH];
    for (int64_t i = 0; i < m; i++) add_scaled(along, u[2 + i], up + i * BATCH);
    du[0] += dot_columns(t, along);
    for (int i = 0; i < BATCH; i++) {
        const double w = 1.0 - t[i] * t[i];
        slope[i] = u[0] * w * sqrt(w) * along[i];
        du[1] += slope[i];
    }
    for (int64_t i = 0; i < m; i++) {
        du[2 + i] += u[0] * dot_columns(t, up + i * BATCH) + dot_columns(slope, src + i * BATCH);
        add_scaled(down + i * BATCH, u[2 + i], slope);
    }
    for (int64_t i = 0; i < map->theta; i++)
        du[2 + m + i] += dot_columns(slope, map->param + i * BATCH);
}

// Adds the gradient of half the squared error of the batch, layer by layer from the last.
static void run_backward(shear_map *map)
{
    const int64_t m = map->m, d = 2 * m;
    const double *last = map->state + LAYERS * d * BATCH, scale = map->w[map->weights - 1 - d];
    double *tail = map->gradient + map->weights - 1 - d;
    for (int64_t i = 0; i < d; i++) {
        double *g = map->g + i * BATCH;
        tail[0] += dot_columns(g, last + i * BATCH);
        for (int k = 0; k < BATCH; k++) {
            tail[1 + i] += g[k];
            g[k] *= scale;
        }
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
        const double *src = map->state + (l * d + (l % 2 ? m : 0)) * BATCH,
                     *B = map->w + l * map->layer;
        const double *up = map->g + (l % 2 ? 0 : m * BATCH);
        double *down = map->g + (l % 2 ? m * BATCH : 0), *dB = map->gradient + l * map->layer;
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < m; k++) {
                const double both = dot_columns(up + i * BATCH, src + k * BATCH);
                add_scaled(down + k * BATCH, B[i * m + k] + B[k * m + i], up + i * BATCH);
                dB[i * m + k] += both;
                dB[k * m + i] += both;
            }
        for (int64_t j = 0; j < RIDGES; j++) backward_ridge(map, up, down, src, l, j);
    }
}

// One step of Adam [Kingma15], with 0.9, 0.999 and 1e-8.
static void step_adam(shear_map *map, int64_t number, double rate)
{
    const double fade1 = 1.0 - pow(0.9, (double)number), fade2 = 1.0 - pow(0.999, (double)number);
    for (int64_t i = 0; i < map->weights; i++) {
        const double g = map->gradient[i];
        map->mean[i] += 0.1 * (g - map->mean[i]);
        map->square[i] += 0.001 * (g * g - map->square[i]);
        map->w[i] -= rate * (map->mean[i] / fade1) / (sqrt(map->square[i] / fade2) + 1e-8);
        map->gradient[i] = 0.0;
    }
}

// Trains on rows first .. first+count-1 in random batches; the rate falls along half a cosine.
static plumb_status train_map(shear_map *map, int64_t first, int64_t count, int64_t steps,
                              rng *random)
{
    for (int64_t n = 1; n <= steps; n++) {
        for (int64_t b = 0; b < BATCH; b++) load_row(map, b, first + rng_below(random, count));
        run_forward(map);
        compute_error(map, BATCH);
        run_backward(map);
        for (int64_t i = 0; i < map->weights; i++) map->gradient[i] /= BATCH;
        const double done = (double)n / (double)steps;
        step_adam(map, n, first_rate * (0.5 + 0.5 * cos(3.141592653589793 * done)) + 1e-5);
        if (n % 64 == 0 && status_check_stop()) return PLUMB_ESTOPPED;
    }
    return PLUMB_OK;
}

// First weights: normal ridge functions with small amplitude; the scale is 1, all else 0.
static void init_weights(shear_map *map, rng *random)
{
    memset(map->w, 0, (size_t)map->weights * sizeof *map->w);
    for (int l = 0; l < LAYERS; l++)
        for (int64_t j = 0; j < RIDGES; j++) {
            double *u = map->w + ridge_offset(map, l, j);
            u[0] = 0.05 * rng_normal(random);
            for (int64_t i = 1; i < 2 + map->m + map->theta; i++)
                u[i] = rng_normal(random) / (i == 1 ? 1.0 : sqrt((double)(map->m + map->theta)));
        }
    map->w[map->weights - 1 - 2 * map->m] = 1.0;
    memset(map->mean, 0, (size_t)map->weights * sizeof *map->mean);
    memset(map->square, 0, (size_t)map->weights * sizeof *map->square);
    memset(map->gradient, 0, (size_t)map->weights * sizeof *map->gradient);
}

// ---- data ----

typedef enum map_direction { TRUTH_TO_LATENTS, LATENTS_TO_TRUTH } map_direction;

static plumb_status allocate_map(shear_map *map, const kappa_work *work)
{
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    const int64_t n = work->truth.form_dims / 2, m = rows->latent_dims / 2;
    *map = (shear_map){.m = n > m ? n : m};
    for (int64_t i = 0; i < rows->latent_dims; i++) map->theta += work->latent.constant[i];
    map->inputs = 2 * map->m + map->theta;
    map->layer = map->m * map->m + RIDGES * (2 + map->m + map->theta);
    map->weights = LAYERS * map->layer + 1 + 2 * map->m;
    double **blocks[] = {&map->w, &map->gradient, &map->mean, &map->square};
    for (int i = 0; i < 4; i++)
        if (!(*blocks[i] = ARENA_ALLOC(mem, double, map->weights))) return PLUMB_EMEMORY;
    map->x = ARENA_ALLOC(mem, double, (rows->rows * map->inputs));
    map->y = ARENA_ALLOC(mem, double, (rows->rows * 2 * map->m));
    map->is_target = ARENA_ALLOC(mem, double, (2 * map->m));
    map->state = ARENA_ALLOC(mem, double, ((LAYERS + 1) * 2 * map->m * BATCH));
    map->param = ARENA_ALLOC(mem, double, (map->theta * BATCH));
    map->target = ARENA_ALLOC(mem, double, (2 * map->m * BATCH));
    map->hidden = ARENA_ALLOC(mem, double, (LAYERS * RIDGES * BATCH));
    map->g = ARENA_ALLOC(mem, double, (2 * map->m * BATCH));
    return map->x && map->y && map->is_target && map->state && map->param && map->target &&
                   map->hidden && map->g
               ? PLUMB_OK
               : PLUMB_EMEMORY;
}

// A latent that the maps use: it moves, its partner is no constant, and it is no noise.
static bool is_used(const kappa_work *work, int64_t i)
{
    return work->latent.varies[i] && !work->latent.constant[i] && !work->latent.unpaired[i] &&
           work->form.unexplained[i] < noise_limit;
}

// The largest deviation of the true coordinates.
static double find_size(const kappa_truth *t)
{
    double size = 0.0;
    for (int64_t i = 0; i < t->form_dims; i++) size = fmax(size, t->deviation[i]);
    return size;
}

// Truth and latents of a row as pairs of the map, each over its largest deviation. With sign -1 the
// true momenta change sign.
static void load_pairs(double *truth, double *latent, const shear_map *map, const kappa_work *work,
                       int64_t row, double sign)
{
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const kappa_latent *l = &work->latent;
    const int64_t n = t->form_dims / 2, m = rows->latent_dims / 2;
    const double size = find_size(t);
    for (int64_t i = 0; i < n; i++) {
        truth[i] = t->w[row * t->dims + i] / size;
        truth[map->m + i] = sign * t->w[row * t->dims + n + i] / size;
    }
    for (int64_t i = 0; i < rows->latent_dims; i++)
        if (!l->constant[i])
            latent[i < m ? i : map->m + i - m] =
                l->y[row * rows->latent_dims + i] * l->deviation[i] / l->max_deviation;
}

// x (rows, inputs), y (rows, 2m) and the targets of one direction. Latents that are constant along
// trajectories are further inputs. Noise is no input of the map from latents.
static plumb_status shear_map_init(shear_map *map, const kappa_work *work, double sign,
                                   map_direction direction)
{
    plumb_status st = allocate_map(map, work);
    if (st) return st;
    const kappa_rows *rows = &work->rows;
    const kappa_latent *l = &work->latent;
    const int64_t n = work->truth.form_dims / 2, m = rows->latent_dims / 2, d = 2 * map->m;
    for (int64_t r = 0; r < rows->rows; r++) {
        double *x = map->x + r * map->inputs, *y = map->y + r * d;
        if (direction == TRUTH_TO_LATENTS) load_pairs(x, y, map, work, r, sign);
        else load_pairs(y, x, map, work, r, sign);
        for (int64_t i = 0, k = d; i < rows->latent_dims; i++)
            if (l->constant[i]) x[k++] = l->y[r * rows->latent_dims + i];
    }
    for (int64_t i = 0; i < rows->latent_dims; i++) {
        const int64_t at = i < m ? i : map->m + i - m;
        const bool used = is_used(work, i);
        if (direction == TRUTH_TO_LATENTS) map->is_target[at] = used ? 1.0 : 0.0;
        else
            for (int64_t r = 0; r < rows->rows && !used; r++) map->x[r * map->inputs + at] = 0.0;
    }
    for (int64_t i = 0; direction == LATENTS_TO_TRUTH && i < n; i++)
        map->is_target[i] = map->is_target[map->m + i] = 1.0;
    return PLUMB_OK;
}

// The unexplained share of the same latents by G, weighted by variance.
static double unexplained_by_free_map(const kappa_work *work)
{
    const kappa_latent *l = &work->latent;
    double unexplained = 0.0, total = 0.0;
    for (int64_t i = 0; i < work->rows.latent_dims; i++) {
        if (!is_used(work, i)) continue;
        unexplained += work->form.unexplained[i] * l->deviation[i] * l->deviation[i];
        total += l->deviation[i] * l->deviation[i];
    }
    return total > 0.0 ? unexplained / total : 0.0;
}

// ---- score ----

// What one direction leaves of held-out trajectories, and what there is.
typedef struct heldout_sums {
    double *missed, *total; // (trajectories)
    int64_t trajectories;
    double area; // mean over the halves: the factor by which the map changes areas
} heldout_sums;

static double compute_r2(const heldout_sums *s, const double *times)
{
    double missed = 0.0, total = 0.0;
    for (int64_t k = 0; k < s->trajectories; k++) {
        const double t = times ? times[k] : 1.0;
        missed += t * s->missed[k], total += t * s->total[k];
    }
    return total > 0.0 ? fmax(1.0 - missed / total, 0.0) : 0.0;
}

// Adds the errors of rows from .. to-1 to their trajectories.
static void score_rows(heldout_sums *out, shear_map *map, const kappa_rows *rows, int64_t from,
                       int64_t to)
{
    const int64_t d = 2 * map->m;
    for (int64_t r = from; r < to; r += BATCH) {
        const int64_t some = to - r < BATCH ? to - r : BATCH;
        for (int64_t b = 0; b < some; b++) load_row(map, b, r + b);
        run_forward(map);
        compute_error(map, some);
        for (int64_t b = 0; b < some; b++)
            for (int64_t i = 0; i < d; i++) {
                const double y = map->is_target[i] * map->y[(r + b) * d + i];
                const double error = map->g[i * BATCH + b];
                out->missed[(r + b) / rows->steps] += error * error;
                out->total[(r + b) / rows->steps] += y * y;
            }
    }
}

// Trains on one half and scores on the other, both ways round.
static plumb_status score_direction(heldout_sums *out, const kappa_work *work, double sign,
                                    map_direction direction)
{
    enum { STEPS = 3000 };
    const kappa_rows *rows = &work->rows;
    const int64_t first = rows->first_half_rows;
    shear_map map;
    *out = (heldout_sums){.missed = ARENA_ALLOC(work->mem, double, rows->trajectories),
                          .total = ARENA_ALLOC(work->mem, double, rows->trajectories),
                          .trajectories = rows->trajectories};
    if (!out->missed || !out->total) return PLUMB_EMEMORY;
    plumb_status st = shear_map_init(&map, work, sign, direction);
    for (int half = 0; half < 2 && !st; half++) {
        rng random = rng_at(work->opt->seed, STREAM_SHEARS);
        init_weights(&map, &random);
        st = train_map(&map, half ? first : 0, half ? rows->rows - first : first, STEPS, &random);
        if (!st) score_rows(out, &map, rows, half ? 0 : first, half ? first : rows->rows);
        const double scale = map.w[map.weights - 1 - 2 * map.m];
        out->area += 0.5 * scale * scale;
    }
    return st;
}

// Shears need true pairs as given, and know no angles. NULL if the map can be fitted, else why not.
static const char *find_obstacle(const kappa_work *work)
{
    for (int64_t i = 0; i < work->rows.latent_dims; i++)
        if (work->latent.period[i] > 0.0)
            return "a latent is an angle, and a map symplectic by design knows none";
    if (!work->truth.is_plain)
        return "the true coordinates were reduced, and a map symplectic by design needs their "
               "pairs";
    return work->latent.max_deviation > 0.0 ? NULL : "the latents never change";
}

plumb_status kappa_symplectic_map(double *r2, double *free_r2, const kappa_work *work, double sign)
{
    *r2 = *free_r2 = (double)NAN;
    if (find_obstacle(work)) return PLUMB_OK;
    heldout_sums sums;
    const plumb_status st = score_direction(&sums, work, sign < 0.0 ? -1.0 : 1.0, TRUTH_TO_LATENTS);
    if (st) return st;
    *r2 = compute_r2(&sums, NULL);
    *free_r2 = 1.0 - unexplained_by_free_map(work);
    return PLUMB_OK;
}

// The area of the latents over the one that the map from truth to latents gives them. It is below 1
// where the map puts area into what is no target: a momentum that is 0, or a second position.
static double compute_carried_area(const plumb_kappa *result, const kappa_work *work,
                                   const heldout_sums *sums)
{
    // The map is for the truth over its size and the latents over theirs, c is not.
    const double size = find_size(&work->truth);
    const double scale =
        work->latent.max_deviation * work->rows.latent_unit / work->rows.truth_unit;
    return fabs(result->c) * size * size / (scale * scale * sums->area);
}

plumb_status kappa_measure_symplectic(plumb_kappa *out, const kappa_work *work)
{
    out->symplectic_why = find_obstacle(work);
    if (out->symplectic_why) return PLUMB_OK;
    heldout_sums sums[2];
    for (int i = 0; i < 2; i++) {
        const plumb_status st = score_direction(&sums[i], work, out->c < 0.0 ? -1.0 : 1.0,
                                                i ? LATENTS_TO_TRUTH : TRUTH_TO_LATENTS);
        if (st) return st;
    }
    const double most = area_margin * compute_carried_area(out, work, &sums[0]);
    out->symplectic_r2 = compute_r2(&sums[0], NULL);
    out->symplectic = fmin(fmin(out->symplectic_r2, compute_r2(&sums[1], NULL)), most);
    const int64_t trajectories = work->rows.trajectories, resamples = work->opt->resamples;
    if (!resamples) return PLUMB_OK;
    double *times = ARENA_ALLOC(work->mem, double, trajectories);
    double *draws = ARENA_ALLOC(work->mem, double, resamples);
    if (!times || !draws) return PLUMB_EMEMORY;
    rng random = rng_at(work->opt->seed, STREAM_SHEARS);
    for (int64_t i = 0; i < resamples; i++) {
        rng_resample(times, &random, trajectories);
        draws[i] = fmin(fmin(compute_r2(&sums[0], times), compute_r2(&sums[1], times)), most);
    }
    out->symplectic_ci = stats_interval_95(draws, resamples);
    return PLUMB_OK;
}
