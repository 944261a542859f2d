// SPDX-License-Identifier: MIT
// Do the latents hold the state? Held-out R2 of a map from latents to truth. Any invertible change
// of a latent is allowed here, so heavy tails may be compressed and noisy latents left out. Several
// ways are tried until one is good enough; the best counts.
#include <math.h>
#include <string.h>

#include "math/pca.h"
#include "math/vector.h"
#include "measures/fit/polynomial_fit.h"
#include "measures/kappa/kappa.h"

// R2 below this: another way of preparing the latents is tried.
static const double good_enough = 0.97;
// The search for a fit ends when no target has more unexplained variance than this.
static const double target_error = 0.005;
// Latents that the state explains less than this are left out in one of the tries.
static const double noise_limit = 0.5;

// The true coordinates as targets, angles also by sine and cosine.
typedef struct target_set {
    int64_t count;
    double *y;      // (rows, count)
    int64_t *base;  // (count) which true coordinate
    bool *circular; // (count) its sine or cosine
} target_set;

// Appends one target, standardised.
static void add_target(target_set *y, int64_t rows, int64_t base, bool circular,
                       const double *values)
{
    double mean = 0.0, square = 0.0;
    for (int64_t r = 0; r < rows; r++) mean += values[r] / (double)rows;
    for (int64_t r = 0; r < rows; r++)
        square += (values[r] - mean) * (values[r] - mean) / (double)rows;
    double *to = y->y + y->count * rows; // columns here, rows at the end
    for (int64_t r = 0; r < rows; r++) to[r] = (values[r] - mean) / sqrt(square);
    y->base[y->count] = base;
    y->circular[y->count++] = circular;
}

static plumb_status targets_init(target_set *y, arena *mem, const kappa_work *work, bool circular)
{
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const int64_t all = rows->rows, max_count = 3 * t->form_dims;
    *y = (target_set){.y = ARENA_ALLOC(mem, double, (all * max_count))};
    y->base = ARENA_ALLOC(mem, int64_t, max_count);
    y->circular = ARENA_ALLOC(mem, bool, max_count);
    double *values = ARENA_ALLOC(mem, double, all),
           *by_row = ARENA_ALLOC(mem, double, (all * max_count));
    if (!y->y || !y->base || !y->circular || !values || !by_row) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < t->form_dims; i++) {
        for (int64_t r = 0; r < all; r++) values[r] = t->w[r * t->dims + i];
        add_target(y, all, i, false, values);
        for (int cosine = 0; cosine < 2 && circular && t->per_radian[i] > 0.0; cosine++) {
            for (int64_t r = 0; r < all; r++) {
                const double angle = t->w[r * t->dims + i] / t->per_radian[i];
                values[r] = cosine ? cos(angle) : sin(angle);
            }
            add_target(y, all, i, true, values);
        }
    }
    for (int64_t k = 0; k < y->count; k++)
        for (int64_t r = 0; r < all; r++) by_row[r * y->count + k] = y->y[k * all + r];
    y->y = by_row;
    return PLUMB_OK;
}

// Standardises column `at` of x (rows, columns).
static void standardise_column(double *x, int64_t rows, int64_t columns, int64_t at)
{
    double mean = 0.0, square = 0.0;
    for (int64_t r = 0; r < rows; r++) mean += x[r * columns + at] / (double)rows;
    for (int64_t r = 0; r < rows; r++) {
        x[r * columns + at] -= mean;
        square += x[r * columns + at] * x[r * columns + at] / (double)rows;
    }
    const double scale = square > 0.0 ? 1.0 / sqrt(square) : 0.0;
    for (int64_t r = 0; r < rows; r++) x[r * columns + at] *= scale;
}

// x (rows, kept) from the latents `used`, standardised; `compressed` takes asinh(4 y) of them
// first. A latent that is an angle becomes its sine and its cosine. Returns kept; x has room for
// twice the latents.
static int64_t prepare_latents(double *x, const kappa_work *work, const bool *used, bool compressed)
{
    const kappa_rows *rows = &work->rows;
    const kappa_latent *l = &work->latent;
    int64_t kept = 0, at = 0;
    for (int64_t i = 0; i < rows->latent_dims; i++)
        kept += !used[i] ? 0 : l->period[i] > 0.0 ? 2 : 1;
    for (int64_t i = 0; i < rows->latent_dims; i++) {
        if (!used[i]) continue;
        const int64_t columns = l->period[i] > 0.0 ? 2 : 1;
        for (int64_t r = 0; r < rows->rows; r++) {
            const double y = l->y[r * rows->latent_dims + i];
            double *to = x + r * kept + at;
            if (columns == 1) to[0] = compressed ? asinh(4.0 * y) : y;
            else {
                const double angle = kappa_latent_angle(work, r, i);
                to[0] = sin(angle), to[1] = cos(angle);
            }
        }
        for (int64_t k = 0; k < columns; k++) standardise_column(x, rows->rows, kept, at + k);
        at += columns;
    }
    return kept;
}

// x (rows, *dims) becomes its first principal components, unscaled, if it has more columns than a
// fit can take.
static plumb_status reduce_dims(int64_t *dims, double *x, arena *mem, int64_t rows)
{
    if (*dims <= PCA_MAX_COMPONENTS) return PLUMB_OK;
    const int64_t all = *dims;
    pca_components parts;
    double *columns = ARENA_ALLOC(mem, double, (all * rows));
    if (!columns) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < all; i++) columns[i * rows + r] = x[r * all + i];
    const pca_variables variables = {columns, all, rows, 0, rows};
    plumb_status st = pca_components_fit(&parts, &columns, mem, &variables, PCA_MAX_COMPONENTS);
    if (st) return st;
    *dims = parts.count;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < *dims; i++)
            x[r * *dims + i] = columns[i * rows + r] * parts.deviation[i] / parts.deviation[0];
    return PLUMB_OK;
}

// The best R2 so far: the mean over coordinates, and of each.
typedef struct state_fit {
    double mean;
    double *coordinate; // (form_dims)
} state_fit;

// Raises *best to the R2 of a fit, if it is better. A coordinate counts by its value or by its sine
// and cosine, whichever is better explained. unexplained (targets) is the share of the variance.
static void keep_best(state_fit *best, double *r2, const double *unexplained, const target_set *y,
                      int64_t form)
{
    double sum = 0.0;
    for (int64_t i = 0; i < form; i++) {
        double line = 0.0, circle = 0.0;
        for (int64_t k = 0; k < y->count; k++) {
            if (y->base[k] != i) continue;
            if (y->circular[k]) circle += 0.5 * (1.0 - unexplained[k]);
            else line = 1.0 - unexplained[k];
        }
        r2[i] = fmax(line, circle);
        sum += r2[i] / (double)form;
    }
    if (!(sum > best->mean)) return;
    best->mean = sum;
    memcpy(best->coordinate, r2, (size_t)form * sizeof *r2);
}

// Raises *best to the R2 of a kernel fit from the latents `used`, if it is better.
static plumb_status try_kernel_fit(state_fit *best, const kappa_work *work, const target_set *y,
                                   const bool *used, bool compressed)
{
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const arena_mark mark = arena_get_mark(mem);
    double *x = ARENA_ALLOC(mem, double, (rows->rows * 2 * rows->latent_dims));
    if (!x) return PLUMB_EMEMORY;
    int64_t dims = prepare_latents(x, work, used, compressed);
    kernel_fit fit;
    plumb_status st = reduce_dims(&dims, x, mem, rows->rows);
    if (!st && dims) {
        st = kernel_fit_choose(&fit, mem,
                               &(kernel_fit_input){.x = x,
                                                   .y = y->y,
                                                   .rows = rows->rows,
                                                   .first_half_rows = rows->first_half_rows,
                                                   .dims = dims,
                                                   .outputs = y->count,
                                                   .search_stride = rows->search_stride,
                                                   .centres = work->opt->state_centres,
                                                   .max_terms = 100,
                                                   .max_order = 3,
                                                   .target_error = target_error,
                                                   .kind = (kernel_fit_kind)work->opt->estimator});
        double *unexplained = ARENA_ALLOC(mem, double, y->count);
        double *r2 = ARENA_ALLOC(mem, double, t->form_dims);
        if (!st && (!unexplained || !r2)) st = PLUMB_EMEMORY;
        for (int64_t k = 0; k < y->count && !st; k++) unexplained[k] = fit.choice[k].unexplained;
        if (!st) keep_best(best, r2, unexplained, y, t->form_dims);
    }
    arena_rewind(mem, mark);
    return st;
}

// unexplained (targets): of each half by the fit to the other half. A trajectory that the border
// between the halves cuts does not count.
static void compute_heldout(double *unexplained, const polynomial_fit *fit,
                            const polynomial_fit_problem *p, const kappa_rows *rows)
{
    const bool cut = rows->first_half_rows != polynomial_fit_half(rows->rows);
    for (int64_t k = 0; k < p->targets; k++) {
        double missed = 0.0, all = 0.0;
        for (int64_t r = 0; r < rows->rows; r++) {
            if (cut && r >= rows->first_half_rows - rows->steps && r < rows->first_half_rows)
                continue;
            const double e = fit->heldout[k * p->stride + r], v = p->y[k * p->stride + r];
            missed += e * e;
            all += v * v;
        }
        unexplained[k] = missed / all;
    }
}

// Raises *best to the R2 of a Lasso of order one or two, if it is better. If the state depends on a
// few of many latents, or on constants with as few examples as trajectories, only a sparse fit
// works.
static plumb_status try_sparse_fit(state_fit *best, const kappa_work *work, const target_set *y)
{
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    enum { ALPHAS = 10 };
    const arena_mark mark = arena_get_mark(mem);
    const int64_t all = rows->rows, stride = vector_padded(all);
    double alphas[ALPHAS];
    for (int i = 0; i < ALPHAS; i++) alphas[i] = pow(10.0, -5.0 + 0.5 * i);
    polynomial_fit fit;
    polynomial_fit_problem p = {.targets = y->count,
                                .rows = all,
                                .stride = stride,
                                .alphas = alphas,
                                .alpha_count = ALPHAS,
                                .threads = 1,
                                .r2_bar = good_enough,
                                .gap = 1e-11};
    double *flat = ARENA_ALLOC(mem, double, (all * 2 * rows->latent_dims)),
           *unexplained = ARENA_ALLOC(mem, double, y->count),
           *r2 = ARENA_ALLOC(mem, double, t->form_dims);
    double *x = ARENA_ALLOC(mem, double, (2 * rows->latent_dims * stride));
    double *to = ARENA_ALLOC(mem, double, (y->count * stride));
    if (!flat || !unexplained || !r2 || !x || !to) return PLUMB_EMEMORY;
    p.dims = prepare_latents(flat, work, work->latent.varies, false);
    for (int64_t r = 0; r < all; r++) {
        for (int64_t i = 0; i < p.dims; i++) x[i * stride + r] = flat[r * p.dims + i];
        for (int64_t k = 0; k < y->count; k++) to[k * stride + r] = y->y[r * y->count + k];
    }
    p.x = x;
    p.y = to;
    p.max_order = poly_count(p.dims, 2) <= 600 ? 2 : 1;
    plumb_status st = p.dims ? polynomial_fit_search(&fit, mem, &p) : PLUMB_OK;
    if (!st && p.dims) {
        compute_heldout(unexplained, &fit, &p, rows);
        keep_best(best, r2, unexplained, y, t->form_dims);
    }
    arena_rewind(mem, mark);
    return st;
}

// All tries, with angles also by sine and cosine if `circular`.
static plumb_status try_all(state_fit *best, const kappa_work *work, bool circular)
{
    const kappa_rows *rows = &work->rows;
    const bool *varies = work->latent.varies;
    target_set y;
    bool *explained = ARENA_ALLOC(work->mem, bool, rows->latent_dims), some_noise = false;
    plumb_status st = targets_init(&y, work->mem, work, circular);
    if (st || !explained) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows->latent_dims; i++) {
        explained[i] = varies[i] && work->form.unexplained[i] < noise_limit;
        some_noise = some_noise || (varies[i] && !explained[i]);
    }
    st = try_kernel_fit(best, work, &y, varies, false);
    if (!st && best->mean < good_enough) st = try_kernel_fit(best, work, &y, varies, true);
    if (!st && best->mean < good_enough && some_noise)
        st = try_kernel_fit(best, work, &y, explained, false);
    if (!st && best->mean < good_enough) st = try_sparse_fit(best, work, &y);
    return st;
}

plumb_status kappa_state_r2(plumb_kappa *out, const kappa_work *work)
{
    const kappa_truth *t = &work->truth;
    bool has_angle = false;
    for (int64_t i = 0; i < t->form_dims; i++) has_angle = has_angle || t->per_radian[i] > 0.0;
    state_fit best = {.coordinate = ARENA_ALLOC(work->keep, double, t->form_dims)};
    if (!best.coordinate) return PLUMB_EMEMORY;
    plumb_status st = try_all(&best, work, false);
    if (!st && best.mean < good_enough && has_angle) st = try_all(&best, work, true);
    out->r2_state = best.mean;
    out->r2_coordinates = t->is_plain ? best.coordinate : NULL;
    return st;
}
