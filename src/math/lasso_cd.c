// SPDX-License-Identifier: MIT
// Two ways to know x_j . r at each visit, same iterates:
// - with a Gram matrix: keep g = X^T r whole; a weight that changes costs one pass over g;
// - without: keep r, and take the features in blocks of sixteen, whose x_j . r come from one
// product.
//   A block of zeros need not be looked at while |x_j . r_old| + |x_j| |r - r_old| <= a for all of
//   it, since the weights would stay zero; |r - r_old| is bounded by the path length of r.
#include "math/lasso_cd.h"

#include <math.h>
#include <string.h>

#include "math/vector.h"

plumb_status lasso_target_init(lasso_target *out, arena *mem, const poly_design *d, const double *y)
{
    double *centred = ARENA_ALLOC(mem, double, d->stride);
    double *c = ARENA_ALLOC(mem, double, d->poly->count);
    if (!centred || !c) return PLUMB_EMEMORY;
    double sum = 0.0;
    for (int64_t i = 0; i < d->rows; i++) sum += y[i];
    const double mean = sum / (double)d->rows;
    double left = 0.0; // what rounding leaves of the mean goes in a second step
    for (int64_t i = 0; i < d->rows; i++) left += centred[i] = y[i] - mean;
    left /= (double)d->rows;
    for (int64_t i = 0; i < d->rows; i++) centred[i] -= left;

    const arena_mark mark = arena_get_mark(mem);
    double *scratch = ARENA_ALLOC(mem, double, poly_design_scratch(d));
    if (!scratch) return PLUMB_EMEMORY;
    poly_design_correlate(c, d, centred, scratch);
    arena_rewind(mem, mark);
    *out = (lasso_target){d, centred, mean + left, vector_dot(centred, centred, d->stride), c};
    return PLUMB_OK;
}

plumb_status lasso_fit_pack(lasso_fit *out, arena *mem, const lasso_target *t,
                            const double *weights)
{
    const int64_t features = t->design->poly->count;
    int64_t count = 0;
    for (int64_t j = 0; j < features; j++) count += weights[j] != 0.0;
    int64_t *index = ARENA_ALLOC(mem, int64_t, count);
    double *value = ARENA_ALLOC(mem, double, count);
    if (!index || !value) return PLUMB_EMEMORY;
    double intercept = t->mean;
    count = 0;
    for (int64_t j = 0; j < features; j++) {
        if (weights[j] == 0.0) continue;
        index[count] = j;
        value[count++] = weights[j];
        intercept -= weights[j] * t->design->mean[j];
    }
    out->count = count;
    out->features = index;
    out->weights = value;
    out->intercept = intercept;
    return PLUMB_OK;
}

typedef struct walk {
    const lasso_target *t;
    const poly_design *d;
    double a;
    double *w;        // (count)
    double *g;        // (count) X^T r: exact with a Gram matrix, else as last looked at
    double *drift_at; // (count) path length of r when it was; without a Gram matrix only
    double *norm;     // (count) |x_j|
    double *r, *z;    // (stride) residual; residual times the leading variable
    int64_t z_leader; // the leading variable z was made with; -1: z is stale
    double drift;     // path length of r so far
    double largest_change, largest_weight;
} walk;

static double soft(double t, double a)
{
    return t > a ? t - a : t < -a ? t + a : 0.0;
}

// Takes the new weight and returns its change.
static double visit(walk *k, int64_t j, double correlation)
{
    const double norm2 = k->d->norm2[j], old = k->w[j];
    const double fresh = soft(correlation + norm2 * old, k->a) / norm2;
    k->w[j] = fresh;
    const double change = fresh - old;
    if (fabs(change) > k->largest_change) k->largest_change = fabs(change);
    if (fabs(fresh) > k->largest_weight) k->largest_weight = fabs(fresh);
    return change;
}

static void sweep_gram(walk *k)
{
    const int64_t count = k->d->poly->count, wide = k->d->gram_stride;
    for (int64_t j = 0; j < count; j++) {
        if (k->d->norm2[j] == 0.0) continue;
        if (k->w[j] == 0.0 && fabs(k->g[j]) <= k->a) continue;
        const double change = visit(k, j, k->g[j]);
        if (change == 0.0) continue;
        const double *restrict column = k->d->gram + j * wide;
        double *restrict g = k->g;
        if (wide > 32) vector_axpy(g, -change, column, wide);
        else // a call costs more than it saves
            for (int64_t i = 0; i < wide; i++) g[i] -= change * column[i];
    }
}

// x_j . r of a whole block into `g`. z = r times the leader is kept while neither changes.
static void correlate_block(walk *k, const poly_design_block *b, double *g)
{
    const int64_t n = k->d->stride;
    if (b->leader < 0) {
        vector_dots(g, b->columns, n, b->count, k->r, n);
        return;
    }
    if (k->z_leader != b->leader) vector_product(k->z, k->d->x + b->leader * n, k->r, n);
    k->z_leader = b->leader;
    vector_dots(g, b->columns, n, b->count, k->z, n);
}

// r -= change * centred column of feature i of the block, but for the constant part.
static void step_residual(walk *k, const poly_design_block *b, int64_t i, double change)
{
    const int64_t n = k->d->stride;
    const double *column = b->columns + i * n;
    if (b->leader < 0) vector_axpy(k->r, -change, column, n);
    else vector_axpy_product(k->r, -change, column, k->d->x + b->leader * n, n);
}

// Inside a block the correlations follow each change through the block's own Gram matrix; the
// residual takes all of the block's changes at its end.
static void sweep_block(walk *k, const poly_design_block *b)
{
    double g[POLY_DESIGN_BLOCK] = {0}, shift = 0.0;
    correlate_block(k, b, g);
    bool changed = false;
    for (int64_t i = 0; i < b->count; i++) {
        const int64_t j = b->first + i;
        k->g[j] = g[i];
        k->drift_at[j] = k->drift;
        if (k->d->norm2[j] == 0.0 || (k->w[j] == 0.0 && fabs(g[i]) <= k->a)) continue;
        const double change = visit(k, j, g[i]);
        if (change == 0.0) continue;
        changed = true;
        for (int64_t l = 0; l < POLY_DESIGN_BLOCK; l++) g[l] -= change * b->gram[i][l];
        k->drift += fabs(change) * k->norm[j];
        shift += change * k->d->mean[j];
        step_residual(k, b, i, change);
    }
    if (!changed) return;
    k->z_leader = -1;
    if (shift != 0.0)
        for (int64_t i = 0; i < k->d->rows; i++) k->r[i] += shift;
}

static double bound(const walk *k, int64_t j)
{
    return fabs(k->g[j]) + k->norm[j] * (k->drift - k->drift_at[j]);
}

static bool asleep(const walk *k, const poly_design_block *b)
{
    const double limit = k->a * (1.0 - 1e-12);
    for (int64_t j = b->first; j < b->first + b->count; j++)
        if (k->w[j] != 0.0 || bound(k, j) > limit) return false;
    return true;
}

static void sweep_residual(walk *k)
{
    for (int64_t i = 0; i < k->d->block_count; i++)
        if (!asleep(k, &k->d->blocks[i])) sweep_block(k, &k->d->blocks[i]);
}

// max_j |x_j . r|, looking only at features whose bound exceeds the largest seen so far.
static double largest_correlation(walk *k)
{
    const poly_design *d = k->d;
    const poly *p = d->poly;
    double largest = 0.0;
    if (d->gram) {
        for (int64_t j = 0; j < p->count; j++) largest = fmax(largest, fabs(k->g[j]));
        return largest;
    }
    for (int64_t i = 0; i < d->block_count; i++) {
        const poly_design_block *b = &d->blocks[i];
        double most = 0.0, g[POLY_DESIGN_BLOCK];
        for (int64_t j = b->first; j < b->first + b->count; j++) most = fmax(most, bound(k, j));
        if (most <= largest) continue;
        correlate_block(k, b, g);
        for (int64_t l = 0; l < b->count; l++) {
            k->g[b->first + l] = g[l];
            k->drift_at[b->first + l] = k->drift;
            largest = fmax(largest, fabs(g[l]));
        }
    }
    return largest;
}

static double duality_gap(walk *k)
{
    const lasso_target *t = k->t;
    const int64_t count = k->d->poly->count;
    const double u = largest_correlation(k);
    double l1 = 0.0, rr, ry;
    for (int64_t j = 0; j < count; j++) l1 += fabs(k->w[j]);
    if (k->d->gram) {
        double wc = 0.0, wg = 0.0;
        for (int64_t j = 0; j < count; j++) {
            wc += k->w[j] * t->c[j];
            wg += k->w[j] * k->g[j];
        }
        ry = t->yy - wc;
        rr = ry - wg;
    } else {
        rr = vector_dot(k->r, k->r, k->d->stride);
        ry = vector_dot(k->r, t->y, k->d->stride);
    }
    const double s = u > k->a ? k->a / u : 1.0;
    return 0.5 * (1.0 + s * s) * rr + k->a * l1 - s * ry;
}

static plumb_status walk_init(walk *k, arena *mem, const lasso_target *t, double a)
{
    const poly_design *d = t->design;
    const int64_t count = d->poly->count;
    *k = (walk){.t = t, .d = d, .a = a, .z_leader = -1};
    k->w = ARENA_ALLOC(mem, double, count);
    k->g = ARENA_ALLOC(mem, double, vector_padded(count));
    if (!k->w || !k->g) return PLUMB_EMEMORY;
    memcpy(k->g, t->c, (size_t)count * sizeof *k->g);
    if (d->gram) return PLUMB_OK;
    k->drift_at = ARENA_ALLOC(mem, double, count);
    k->norm = ARENA_ALLOC(mem, double, count);
    k->r = ARENA_ALLOC(mem, double, d->stride);
    k->z = ARENA_ALLOC(mem, double, d->stride);
    if (!k->drift_at || !k->norm || !k->r || !k->z) return PLUMB_EMEMORY;
    for (int64_t j = 0; j < count; j++) k->norm[j] = sqrt(d->norm2[j]);
    memcpy(k->r, t->y, (size_t)d->stride * sizeof *k->r);
    return PLUMB_OK;
}

plumb_status lasso_coordinate_descent_solve(lasso_fit *out, arena *mem, arena *scratch,
                                            const lasso_target *t, double a, int64_t max_sweeps,
                                            double tolerance)
{
    const arena_mark mark = arena_get_mark(scratch);
    walk k;
    plumb_status st = walk_init(&k, scratch, t, a);
    if (st) return st;
    *out = (lasso_fit){0};
    for (int64_t sweep = 0; sweep < max_sweeps && !out->converged && !st; sweep++) {
        k.largest_change = k.largest_weight = 0.0;
        if (k.d->gram) sweep_gram(&k);
        else sweep_residual(&k);
        out->sweeps = sweep + 1;
        if (k.largest_weight == 0.0 || k.largest_change / k.largest_weight < tolerance ||
            sweep == max_sweeps - 1)
            out->converged = duality_gap(&k) < tolerance * t->yy;
        st = status_check_stop();
    }
    if (!st) st = lasso_fit_pack(out, mem, t, k.w);
    arena_rewind(scratch, mark);
    return st;
}
