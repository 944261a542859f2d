// SPDX-License-Identifier: MIT
// Do the latents hold the state? Held-out R2 of a map from latents to truth. Here any invertible
// change of a latent is welcome, so heavy tails may be drawn in, and latents that are noise left
// out.
#include <math.h>
#include <string.h>

#include "math/pca.h"
#include "math/vector.h"
#include "measures/fit/polynomial_fit.h"
#include "measures/kappa/kappa.h"

// Below this another way of putting the latents in is tried.
static const double good_enough = 0.97;

typedef struct targets {
    int64_t count;
    double *y;      // (rows, count)
    int64_t *base;  // (count) which true coordinate
    bool *circular; // (count) its sine or cosine
} targets;

static void add_target(targets *y, int64_t rows, int64_t base, bool circular, const double *values)
{
    double mean = 0.0, square = 0.0;
    for (int64_t r = 0; r < rows; r++) mean += values[r] / (double)rows;
    for (int64_t r = 0; r < rows; r++)
        square += (values[r] - mean) * (values[r] - mean) / (double)rows;
    double *to = y->y + y->count * rows; // columns for now
    for (int64_t r = 0; r < rows; r++) to[r] = (values[r] - mean) / sqrt(square);
    y->base[y->count] = base;
    y->circular[y->count++] = circular;
}

static plumb_status targets_init(targets *y, arena *mem, const kappa_rows *rows,
                                 const kappa_truth *t, bool round)
{
    const int64_t all = rows->rows, most = 3 * t->form;
    *y = (targets){.y = ARENA_ALLOC(mem, double, (all * most))};
    y->base = ARENA_ALLOC(mem, int64_t, most);
    y->circular = ARENA_ALLOC(mem, bool, most);
    double *values = ARENA_ALLOC(mem, double, all),
           *turned = ARENA_ALLOC(mem, double, (all * most));
    if (!y->y || !y->base || !y->circular || !values || !turned) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < t->form; i++) {
        for (int64_t r = 0; r < all; r++) values[r] = t->w[r * t->dims + i];
        add_target(y, all, i, false, values);
        for (int way = 0; way < 2 && round && t->turn[i] > 0.0; way++) {
            for (int64_t r = 0; r < all; r++) {
                const double angle = t->w[r * t->dims + i] / t->turn[i];
                values[r] = way ? cos(angle) : sin(angle);
            }
            add_target(y, all, i, true, values);
        }
    }
    for (int64_t k = 0; k < y->count; k++)
        for (int64_t r = 0; r < all; r++) turned[r * y->count + k] = y->y[k * all + r];
    y->y = turned;
    return PLUMB_OK;
}

// x (rows, kept) from the latents wanted; `drawn` takes their tails in. Their number.
static int64_t put_in(double *x, const kappa_rows *rows, const kappa_latent *l, const bool *wanted,
                      bool drawn)
{
    int64_t kept = 0, at = 0;
    for (int64_t i = 0; i < rows->m2; i++) kept += wanted[i];
    for (int64_t i = 0; i < rows->m2; i++) {
        if (!wanted[i]) continue;
        double mean = 0.0, square = 0.0;
        const double all = (double)rows->rows;
        for (int64_t r = 0; r < rows->rows; r++) {
            const double y = l->y[r * rows->m2 + i];
            x[r * kept + at] = drawn ? asinh(4.0 * y) : y;
            mean += x[r * kept + at] / all;
        }
        for (int64_t r = 0; r < rows->rows; r++) {
            x[r * kept + at] -= mean;
            square += x[r * kept + at] * x[r * kept + at] / all;
        }
        for (int64_t r = 0; r < rows->rows; r++) x[r * kept + at] /= sqrt(square);
        at++;
    }
    return kept;
}

// Of more than a fit can take, the first principal components, as large as they are. Their number.
static plumb_status fewer(int64_t *dims, double *x, arena *mem, int64_t rows)
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

// A coordinate counts by its value, or by its sine and cosine, whichever is better known; left
// (targets) is the share that is not.
static double mean_r2(const double *left, const targets *y, int64_t form)
{
    double sum = 0.0;
    for (int64_t i = 0; i < form; i++) {
        double line = 0.0, circle = 0.0;
        for (int64_t k = 0; k < y->count; k++) {
            if (y->base[k] != i) continue;
            if (y->circular[k]) circle += 0.5 * (1.0 - left[k]);
            else line = 1.0 - left[k];
        }
        sum += fmax(line, circle) / (double)form;
    }
    return sum;
}

static plumb_status attempt(double *r2, arena *mem, const kappa_rows *rows, const kappa_truth *t,
                            const kappa_latent *l, const targets *y, const bool *wanted, bool drawn,
                            const plumb_kappa_options *opt)
{
    const arena_mark mark = arena_get_mark(mem);
    double *x = ARENA_ALLOC(mem, double, (rows->rows * rows->m2));
    if (!x) return PLUMB_EMEMORY;
    int64_t dims = put_in(x, rows, l, wanted, drawn);
    kernel_fit fit;
    plumb_status st = fewer(&dims, x, mem, rows->rows);
    if (!st && dims) {
        st = kernel_fit_choose(&fit, mem,
                               &(kernel_fit_input){.x = x,
                                                   .y = y->y,
                                                   .rows = rows->rows,
                                                   .first = rows->first,
                                                   .dims = dims,
                                                   .outputs = y->count,
                                                   .thin = rows->thin,
                                                   .centres = opt->state_centres,
                                                   .most_terms = 100,
                                                   .most_order = 3,
                                                   .enough = 0.005,
                                                   .family = opt->estimator});
        double *left = ARENA_ALLOC(mem, double, y->count);
        if (!st && !left) st = PLUMB_EMEMORY;
        for (int64_t k = 0; k < y->count && !st; k++) left[k] = fit.choice[k].left;
        if (!st) *r2 = fmax(*r2, mean_r2(left, y, t->form));
    }
    arena_rewind(mem, mark);
    return st;
}

// What a fit to the other half misses. The two halves may cut a trajectory, which then does not
// count.
static void heldout_left(double *left, const polynomial_fit *fit, const polynomial_fit_problem *p,
                         const kappa_rows *rows)
{
    const bool cut = rows->first != polynomial_fit_half(rows->rows);
    for (int64_t k = 0; k < p->targets; k++) {
        double missed = 0.0, all = 0.0;
        for (int64_t r = 0; r < rows->rows; r++) {
            if (cut && r >= rows->first - rows->steps && r < rows->first) continue;
            const double e = fit->heldout[k * p->stride + r], v = p->y[k * p->stride + r];
            missed += e * e;
            all += v * v;
        }
        left[k] = missed / all;
    }
}

// Constants that each trajectory has for itself are as many examples as there are trajectories, and
// where the state hangs on a few of many latents only a sparse fit finds them.
static plumb_status attempt_sparse(double *r2, arena *mem, const kappa_rows *rows,
                                   const kappa_truth *t, const kappa_latent *l, const targets *y)
{
    enum { ALPHAS = 10 };
    const arena_mark mark = arena_get_mark(mem);
    const int64_t all = rows->rows, stride = vector_padded(all);
    double alphas[ALPHAS];
    plumb_symetric_options opt = plumb_symetric_defaults();
    opt.r2_bar = good_enough;
    for (int i = 0; i < ALPHAS; i++) alphas[i] = pow(10.0, -5.0 + 0.5 * i);
    polynomial_fit fit;
    polynomial_fit_problem p = {.targets = y->count,
                                .rows = all,
                                .stride = stride,
                                .alphas = alphas,
                                .alpha_count = ALPHAS,
                                .threads = 1,
                                .opt = &opt};
    double *flat = ARENA_ALLOC(mem, double, (all * rows->m2)),
           *left = ARENA_ALLOC(mem, double, y->count);
    double *x = ARENA_ALLOC(mem, double, (rows->m2 * stride));
    double *to = ARENA_ALLOC(mem, double, (y->count * stride));
    if (!flat || !left || !x || !to) return PLUMB_EMEMORY;
    p.dims = put_in(flat, rows, l, l->alive, false);
    for (int64_t r = 0; r < all; r++) {
        for (int64_t i = 0; i < p.dims; i++) x[i * stride + r] = flat[r * p.dims + i];
        for (int64_t k = 0; k < y->count; k++) to[k * stride + r] = y->y[r * y->count + k];
    }
    p.x = x;
    p.y = to;
    p.max_order = poly_count(p.dims, 2) <= 600 ? 2 : 1;
    plumb_status st = p.dims ? polynomial_fit_search(&fit, mem, &p) : PLUMB_OK;
    if (!st && p.dims) {
        heldout_left(left, &fit, &p, rows);
        *r2 = fmax(*r2, mean_r2(left, y, t->form));
    }
    arena_rewind(mem, mark);
    return st;
}

// With coordinates as they are, or angles by sine and cosine as well.
static plumb_status attempts(double *r2, arena *mem, const kappa_rows *rows, const kappa_truth *t,
                             const kappa_latent *l, const double *left, bool round,
                             const plumb_kappa_options *opt)
{
    targets y;
    bool *some = ARENA_ALLOC(mem, bool, rows->m2), fewer = false;
    plumb_status st = targets_init(&y, mem, rows, t, round);
    if (st || !some) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows->m2; i++) {
        some[i] = l->alive[i] && left[i] < 0.5;
        fewer = fewer || (l->alive[i] && !some[i]);
    }
    st = attempt(r2, mem, rows, t, l, &y, l->alive, false, opt);
    if (!st && *r2 < good_enough) st = attempt(r2, mem, rows, t, l, &y, l->alive, true, opt);
    if (!st && *r2 < good_enough && fewer) st = attempt(r2, mem, rows, t, l, &y, some, false, opt);
    if (!st && *r2 < good_enough) st = attempt_sparse(r2, mem, rows, t, l, &y);
    return st;
}

plumb_status kappa_state_r2(double *r2, arena *mem, const kappa_rows *rows,
                            const kappa_truth *truth, const kappa_latent *latent,
                            const double *left, const plumb_kappa_options *opt)
{
    bool turns = false;
    for (int64_t i = 0; i < truth->form; i++) turns = turns || truth->turn[i] > 0.0;
    *r2 = 0.0;
    plumb_status st = attempts(r2, mem, rows, truth, latent, left, false, opt);
    if (!st && *r2 < good_enough && turns)
        st = attempts(r2, mem, rows, truth, latent, left, true, opt);
    return st;
}
