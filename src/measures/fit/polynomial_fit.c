// SPDX-License-Identifier: MIT
// Lasso on monomials, one order after the other until R2 reaches its bar [Higgins21, section 4].
// Within an order the Lasso problems (half, target, and in reference mode penalty) are independent
// tasks of the threads; the result is bit-identical on any number of them.
#include "measures/fit/polynomial_fit.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "math/lasso_active_set.h"
#include "math/lasso_coordinate_descent.h"
#include "math/vector.h"

enum {
    GRAM_ALWAYS = 384, // features up to which converged mode always uses a Gram matrix
    GRAM_MAX = 2048,   // features up to which it does so if there are twice as many rows
};

// One order being tried.
typedef struct order_attempt {
    const polynomial_fit_problem *problem;
    poly poly;
    poly_design half[2], full;
    lasso_target *target[3]; // (targets) on each half and on all rows
    lasso_fit *fits;         // (2, targets, alphas)
    double *scores;          // (2, targets, alphas)
    lasso_fit *final;        // (targets)
    int alpha_index;
    arena *keep, *scratch; // one per worker
} order_attempt;

static bool is_reference(const order_attempt *a)
{
    return a->problem->coordinate_descent;
}

// A Gram matrix X^T X costs features^2 but makes each sweep independent of the rows.
static poly_design_kind choose_design(const order_attempt *a, int64_t rows)
{
    const int64_t count = a->poly.count;
    if (is_reference(a))
        return count <= rows && count <= GRAM_MAX ? POLY_DESIGN_GRAM : POLY_DESIGN_STORED;
    return count <= GRAM_ALWAYS || (count <= GRAM_MAX && 2 * count <= rows) ? POLY_DESIGN_GRAM
                                                                            : POLY_DESIGN_PLAIN;
}

// 1 - var(y - yhat) / var(y) on the other half; a constant target has 1 or 0.
static double score_heldout(const lasso_target *test, const lasso_fit *fit, double *scratch)
{
    const poly_design *d = test->design;
    double left = 0.0;
    // By the Gram matrix: |y - X w|^2 = y.y + w.(G w - 2 c), c = X^T y. Rounding may make it
    // negative.
    if (d->gram) {
        left = test->yy;
        for (int64_t i = 0; i < fit->count; i++) {
            const int64_t f = fit->features[i];
            double inner = 0.0;
            for (int64_t j = 0; j < fit->count; j++)
                inner += d->gram[f * d->gram_stride + fit->features[j]] * fit->weights[j];
            left += fit->weights[i] * (inner - 2.0 * test->c[f]);
        }
        left = left > 0.0 ? left : 0.0;
    } else {
        poly_design_apply(scratch, d, fit->features, fit->weights, fit->count);
        for (int64_t i = 0; i < d->rows; i++) {
            const double e = test->y[i] - scratch[i];
            left += e * e;
        }
    }
    if (test->yy == 0.0) return left == 0.0 ? 1.0 : 0.0;
    return 1.0 - left / test->yy;
}

// The published solver: coordinate descent with a limit of sweeps [Friedman10], one penalty alone.
// scikit-learn scales the penalty by the number of rows.
static plumb_status solve_reference(order_attempt *a, lasso_fit *out, const lasso_target *t,
                                    int64_t alpha, int worker)
{
    const polynomial_fit_problem *p = a->problem;
    return lasso_coordinate_descent_solve(out, &a->keep[worker], &a->scratch[worker], t,
                                          p->alphas[alpha] * (double)t->design->rows, p->max_sweeps,
                                          p->tolerance);
}

// All penalties from the largest down to number `last`; fits[alpha] are filled in.
static plumb_status solve_path(order_attempt *a, lasso_fit *fits, const lasso_target *t,
                               int64_t last, int worker)
{
    const polynomial_fit_problem *p = a->problem;
    const arena_mark mark = arena_get_mark(&a->scratch[worker]);
    lasso_active_set *path;
    plumb_status st = lasso_active_set_create(&path, &a->scratch[worker], t);
    for (int64_t i = p->alpha_count - 1; i >= last && !st; i--) {
        st = status_check_stop();
        if (!st)
            st = lasso_active_set_solve(&fits[i], &a->keep[worker], path,
                                        p->alphas[i] * (double)t->design->rows, p->gap);
    }
    arena_rewind(&a->scratch[worker], mark);
    return st;
}

// A task of cross-validation: fit on one half, score on the other.
static plumb_status work_half(void *context, int64_t task, int worker)
{
    order_attempt *a = context;
    const polynomial_fit_problem *p = a->problem;
    // Reference mode has a task per penalty; converged mode follows the path of penalties in one
    // task.
    const int64_t per = is_reference(a) ? p->alpha_count : 1;
    const int64_t which = task / per;
    const int64_t half = which / p->targets, target = which % p->targets;
    const lasso_target *t = &a->target[half][target];
    lasso_fit *fits = a->fits + which * p->alpha_count;
    const int64_t first = is_reference(a) ? task % per : 0;
    const int64_t last = is_reference(a) ? first : p->alpha_count - 1;
    const plumb_status st = is_reference(a) ? solve_reference(a, &fits[first], t, first, worker)
                                            : solve_path(a, fits, t, 0, worker);
    if (st) return st;
    // Score on the half that was held out.
    const lasso_target *test = &a->target[1 - half][target];
    const arena_mark mark = arena_get_mark(&a->scratch[worker]);
    double *scratch = ARENA_ALLOC(&a->scratch[worker], double, test->design->stride);
    if (!scratch) return PLUMB_EMEMORY;
    for (int64_t i = first; i <= last; i++)
        a->scores[which * p->alpha_count + i] = score_heldout(test, &fits[i], scratch);
    arena_rewind(&a->scratch[worker], mark);
    return PLUMB_OK;
}

// A task of the refit on all rows, at the chosen alpha.
static plumb_status work_full(void *context, int64_t target, int worker)
{
    order_attempt *a = context;
    const lasso_target *t = &a->target[2][target];
    if (is_reference(a)) return solve_reference(a, &a->final[target], t, a->alpha_index, worker);
    lasso_fit *fits = ARENA_ALLOC(&a->keep[worker], lasso_fit, a->problem->alpha_count);
    const plumb_status st = fits ? solve_path(a, fits, t, a->alpha_index, worker) : PLUMB_EMEMORY;
    if (!st) a->final[target] = fits[a->alpha_index];
    return st;
}

static plumb_status run_tasks(order_attempt *a, int64_t tasks, parallel_task *work)
{
    // Threads do not pay off for work of less than a millisecond.
    const polynomial_fit_problem *p = a->problem;
    const bool small = (double)a->poly.count * (double)p->rows * (double)p->targets < 1e6;
    return parallel_for(tasks, small ? 1 : p->threads, work, a);
}

// Features and targets of a set of rows: 0 and 1 are the halves, 2 is all rows.
static plumb_status init_rows(order_attempt *a, arena *mem, int set, int64_t first, int64_t rows)
{
    const polynomial_fit_problem *p = a->problem;
    poly_design *d = set < 2 ? &a->half[set] : &a->full;
    const poly_rows of = {p->x, p->stride, first, rows, &p->source};
    const plumb_status st = poly_design_init(d, mem, &a->poly, &of, choose_design(a, rows));
    a->target[set] = ARENA_ALLOC(mem, lasso_target, p->targets);
    if (st || !a->target[set]) return st ? st : PLUMB_EMEMORY;
    return lasso_targets_init(a->target[set], mem, d, p->y + first, p->stride, p->targets);
}

// Mean over targets, then over halves; the first maximum wins, so ties go to the smaller alpha.
static int choose_alpha(const order_attempt *a, double *cv)
{
    const polynomial_fit_problem *p = a->problem;
    int best = 0;
    double highest = -(double)INFINITY;
    for (int64_t i = 0; i < p->alpha_count; i++) {
        for (int half = 0; half < 2; half++) {
            double sum = 0.0;
            for (int64_t t = 0; t < p->targets; t++)
                sum += a->scores[(half * p->targets + t) * p->alpha_count + i];
            cv[(1 - half) * p->alpha_count + i] = sum / (double)p->targets;
        }
        const double mean = (cv[i] + cv[p->alpha_count + i]) / 2.0;
        if (mean > highest) {
            highest = mean;
            best = (int)i;
        }
    }
    return best;
}

// R2 of a fit on its own rows: 1 - SSres/SStot or SSexplained/SStot. `residual` holds F(x) less its
// mean, and becomes y - F(x).
static double compute_r2(const lasso_target *t, double *residual, bool explained)
{
    double residual2 = 0.0, explained2 = 0.0;
    for (int64_t i = 0; i < t->design->rows; i++) {
        explained2 += residual[i] * residual[i];
        residual[i] = t->y[i] - residual[i];
        residual2 += residual[i] * residual[i];
    }
    if (t->yy == 0.0) return residual2 == 0.0 ? 1.0 : 0.0;
    return explained ? explained2 / t->yy : 1.0 - residual2 / t->yy;
}

// R2 of the final fits, mean over targets. `residual` (targets, stride) becomes y - F(x).
static plumb_status average_r2(double *r2, double *residual, order_attempt *a)
{
    const polynomial_fit_problem *p = a->problem;
    poly_sum *sums = ARENA_ALLOC(&a->scratch[0], poly_sum, p->targets);
    if (!sums) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < p->targets; t++) {
        const lasso_fit *fit = &a->final[t];
        sums[t] = (poly_sum){residual + t * p->stride, fit->features, fit->weights, fit->count};
    }
    const plumb_status st = poly_design_apply_all(sums, p->targets, &a->scratch[0], &a->full);
    double sum = 0.0;
    for (int64_t t = 0; t < p->targets && !st; t++)
        sum += compute_r2(&a->target[2][t], sums[t].y, p->explained_r2);
    *r2 = sum / (double)p->targets;
    return st;
}

// Out of the memory of a worker into that of the result.
static plumb_status copy_fit(lasso_fit *out, arena *mem, const lasso_fit *from)
{
    int64_t *features = ARENA_ALLOC(mem, int64_t, from->count);
    double *weights = ARENA_ALLOC(mem, double, from->count);
    if (!features || !weights) return PLUMB_EMEMORY;
    memcpy(features, from->features, (size_t)from->count * sizeof *features);
    memcpy(weights, from->weights, (size_t)from->count * sizeof *weights);
    *out = *from;
    out->features = features;
    out->weights = weights;
    return PLUMB_OK;
}

// out: y - F(x) on the rows of `d`, for a fit made on other rows; `applied` is F(x) less its mean
// on these.
static void compute_residual(double *out, const double *applied, const poly_design *d,
                             const lasso_fit *fit, const double *y)
{
    double shift = fit->intercept;
    for (int64_t i = 0; i < fit->count; i++) shift += fit->weights[i] * d->mean[fit->features[i]];
    for (int64_t i = 0; i < d->rows; i++) out[i] = y[i] - shift - applied[i];
}

// Residuals (targets, stride) of the rows outside a half by the fits on it.
static plumb_status compute_heldout(double *out, order_attempt *a, const lasso_fit *fits, int half)
{
    const polynomial_fit_problem *p = a->problem;
    const poly_design *other = &a->half[1 - half];
    const int64_t start = half ? 0 : a->half[0].rows;
    arena *mem = &a->scratch[0];
    const arena_mark mark = arena_get_mark(mem);
    poly_sum *sums = ARENA_ALLOC(mem, poly_sum, p->targets);
    double *applied = ARENA_ALLOC(mem, double, (p->targets * other->stride));
    if (!sums || !applied) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < p->targets; t++)
        sums[t] = (poly_sum){applied + t * other->stride, fits[t].features, fits[t].weights,
                             fits[t].count};
    const plumb_status st = poly_design_apply_all(sums, p->targets, mem, other);
    for (int64_t t = 0; t < p->targets && !st; t++)
        compute_residual(out + t * p->stride + start, sums[t].y, other, &fits[t],
                         p->y + t * p->stride + start);
    arena_rewind(mem, mark);
    return st;
}

// Keeps the final fits and the residuals of each row by the fit to the other half.
static plumb_status keep_results(polynomial_fit *out, arena *mem, order_attempt *a)
{
    const polynomial_fit_problem *p = a->problem;
    plumb_status st = PLUMB_OK;
    for (int64_t t = 0; t < p->targets && !st; t++) {
        st = copy_fit(&out->full[t], mem, &a->final[t]);
        for (int half = 0; half < 2 && !st; half++)
            st = copy_fit(&out->half[half][t], mem,
                          &a->fits[(half * p->targets + t) * p->alpha_count + a->alpha_index]);
    }
    for (int half = 0; half < 2 && !st; half++)
        st = compute_heldout(out->heldout, a, out->half[half], half);
    return st;
}

// Fits one order: cross-validates alpha on two halves, refits on all rows, computes R2.
static plumb_status try_order(polynomial_fit *out, arena *mem, arena *order_mem, order_attempt *a,
                              int order)
{
    const polynomial_fit_problem *p = a->problem;
    plumb_status st = poly_init(&a->poly, order_mem, p->dims, order);
    const int64_t half = polynomial_fit_half(p->rows);
    if (!st) st = init_rows(a, order_mem, 0, 0, half);
    if (!st) st = init_rows(a, order_mem, 1, half, p->rows - half);
    if (st) return st;
    const int64_t problems = 2 * p->targets * p->alpha_count;
    a->fits = ARENA_ALLOC(order_mem, lasso_fit, problems);
    a->scores = ARENA_ALLOC(order_mem, double, problems);
    a->final = ARENA_ALLOC(order_mem, lasso_fit, p->targets);
    double *cv = out->cv_by_order[order] = ARENA_ALLOC(mem, double, (2 * p->alpha_count));
    if (!a->fits || !a->scores || !a->final || !cv) return PLUMB_EMEMORY;

    // Cross-validation on two halves, then a refit on all rows.
    st = run_tasks(a, is_reference(a) ? problems : 2 * p->targets, work_half);
    if (st) return st;
    a->alpha_index = choose_alpha(a, cv);
    st = init_rows(a, order_mem, 2, 0, p->rows);
    if (!st) st = run_tasks(a, p->targets, work_full);
    if (st) return st;

    st = average_r2(&out->r2, out->residual, a);
    if (st) return st;
    out->order = order;
    out->alpha_index = a->alpha_index;
    out->r2_by_order[order] = out->r2;
    out->alpha_by_order[order] = a->alpha_index;
    for (int64_t i = 0; i < problems; i++) out->unconverged += !a->fits[i].converged;
    for (int64_t i = 0; i < p->targets; i++) out->unconverged += !a->final[i].converged;
    return keep_results(out, mem, a);
}

plumb_status polynomial_fit_search(polynomial_fit *out, arena *mem, const polynomial_fit_problem *p)
{
    *out = (polynomial_fit){0};
    for (int k = 0; k <= POLY_MAX_ORDER; k++) {
        out->r2_by_order[k] = (double)NAN;
        out->alpha_by_order[k] = -1;
    }
    out->full = ARENA_ALLOC(mem, lasso_fit, p->targets);
    out->half[0] = ARENA_ALLOC(mem, lasso_fit, p->targets);
    out->half[1] = ARENA_ALLOC(mem, lasso_fit, p->targets);
    out->residual = ARENA_ALLOC(mem, double, (p->targets * p->stride));
    out->heldout = ARENA_ALLOC(mem, double, (p->targets * p->stride));
    const int workers = p->threads > 0 ? p->threads : parallel_threads();
    arena *arenas = ARENA_ALLOC(mem, arena, (2 * workers));
    if (!out->full || !out->half[0] || !out->half[1] || !out->residual || !out->heldout || !arenas)
        return PLUMB_EMEMORY;

    plumb_status st = PLUMB_OK;
    for (int order = 1; order <= p->max_order && !st; order++) {
        // Memory of an order is freed before the next one, which needs more.
        arena order_mem = {0};
        order_attempt a = {.problem = p, .keep = arenas, .scratch = arenas + workers};
        st = try_order(out, mem, &order_mem, &a, order);
        arena_clear(&order_mem);
        for (int i = 0; i < 2 * workers; i++) arena_clear(&arenas[i]);
        if (!st && !(out->r2 < p->r2_bar)) break;
    }
    if (st) return st;
    return poly_init(&out->poly, mem, p->dims, out->order);
}
