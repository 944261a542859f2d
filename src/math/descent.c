// SPDX-License-Identifier: MIT
// Two ways to know x_j . r at each visit, same iterates:
// - with a Gram matrix: keep g = X^T r whole; a weight that changes costs one pass over g;
// - without: keep r; a feature at zero need not be looked at while |x_j . r_old| + |x_j| |r - r_old|
//   <= a, since its weight would stay zero. |r - r_old| is bounded by the path length of r.
#include "math/descent.h"

#include <math.h>
#include <string.h>

#include "math/vector.h"

plumb_status lasso_target_init(lasso_target *out, arena *mem, const design *d, const double *y)
{
    double *centred = ARENA_NEW(mem, double, d->stride);
    double *c = ARENA_NEW(mem, double, d->poly->count);
    if (!centred || !c) return PLUMB_EMEMORY;
    double sum = 0.0;
    for (int64_t i = 0; i < d->rows; i++) sum += y[i];
    const double mean = sum / (double)d->rows;
    double left = 0.0; // what rounding leaves of the mean goes in a second step
    for (int64_t i = 0; i < d->rows; i++) left += centred[i] = y[i] - mean;
    left /= (double)d->rows;
    for (int64_t i = 0; i < d->rows; i++) centred[i] -= left;

    const arena_mark mark = arena_here(mem);
    double *scratch = ARENA_NEW(mem, double, design_scratch(d));
    if (!scratch) return PLUMB_EMEMORY;
    design_correlate(c, d, centred, scratch);
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
    int64_t *index = ARENA_NEW(mem, int64_t, count);
    double *value = ARENA_NEW(mem, double, count);
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
    const design *d;
    double a;
    double *w;         // (count)
    double *g;         // (count) X^T r: exact with a Gram matrix, else as last looked at
    double *drift_at;  // (count) path length of r when it was; without a Gram matrix only
    double *norm;      // (count) |x_j|
    double *r, *z;     // (stride) residual; residual times the leading variable
    double drift;      // path length of r so far
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
    const int64_t count = k->d->poly->count, padded = count / VECTOR_PAD * VECTOR_PAD;
    for (int64_t j = 0; j < count; j++) {
        if (k->d->norm2[j] == 0.0) continue;
        if (k->w[j] == 0.0 && fabs(k->g[j]) <= k->a) continue;
        const double change = visit(k, j, k->g[j]);
        if (change == 0.0) continue;
        const double *column = k->d->gram + j * count;
        vector_axpy(k->g, -change, column, padded);
        for (int64_t i = padded; i < count; i++) k->g[i] -= change * column[i];
    }
}

static bool asleep(const walk *k, int64_t j)
{
    return k->w[j] == 0.0 &&
           fabs(k->g[j]) + k->norm[j] * (k->drift - k->drift_at[j]) <= k->a * (1.0 - 1e-12);
}

// One feature: `column` is x_j, or x_j = column * lead and z = r * lead.
static void visit_residual(walk *k, int64_t j, const double *column, const double *lead)
{
    const int64_t n = k->d->stride;
    k->g[j] = vector_dot(column, lead ? k->z : k->r, n);
    k->drift_at[j] = k->drift;
    if (k->w[j] == 0.0 && fabs(k->g[j]) <= k->a) return;
    const double change = visit(k, j, k->g[j]);
    if (change == 0.0) return;
    // The column is centred by taking change * mean back; r stays orthogonal to the constant.
    if (lead)
        vector_axpy_product(k->r, -change, column, lead, n);
    else
        vector_axpy(k->r, -change, column, n);
    const double shift = change * k->d->mean[j];
    if (shift != 0.0)
        for (int64_t i = 0; i < k->d->rows; i++) k->r[i] += shift;
    if (lead) vector_product(k->z, lead, k->r, n);
    k->drift += fabs(change) * k->norm[j];
}

static void sweep_residual(walk *k)
{
    const design *d = k->d;
    const poly *p = d->poly;
    for (int64_t j = 0; j < d->stored_count; j++)
        if (d->norm2[j] != 0.0 && !asleep(k, j))
            visit_residual(k, j, d->stored + j * d->stride, NULL);
    if (d->low == p->order) return;
    const int64_t top = p->first[p->order], below = p->first[p->order - 1];
    for (int64_t i = 0; i < p->dims; i++) {
        const int64_t start = p->run[p->order][i], end = p->run[p->order][i + 1];
        const double *lead = d->x + i * d->stride;
        const double *column = d->stored + (below + p->run[p->order - 1][i]) * d->stride;
        bool fresh = false; // z belongs to this leader and this r
        for (int64_t f = start; f < end; f++, column += d->stride) {
            if (d->norm2[top + f] == 0.0 || asleep(k, top + f)) continue;
            if (!fresh) vector_product(k->z, lead, k->r, d->stride);
            fresh = true;
            visit_residual(k, top + f, column, lead);
        }
    }
}

// max_j |x_j . r|, looking only at features whose bound exceeds the largest seen so far.
static double largest_correlation(walk *k)
{
    const design *d = k->d;
    const poly *p = d->poly;
    double largest = 0.0;
    if (d->gram) {
        for (int64_t j = 0; j < p->count; j++) largest = fmax(largest, fabs(k->g[j]));
        return largest;
    }
    const int64_t top = d->low == p->order ? p->count : p->first[p->order];
    for (int64_t j = 0; j < top; j++) {
        if (fabs(k->g[j]) + k->norm[j] * (k->drift - k->drift_at[j]) <= largest) continue;
        k->g[j] = vector_dot(d->stored + j * d->stride, k->r, d->stride);
        k->drift_at[j] = k->drift;
        largest = fmax(largest, fabs(k->g[j]));
    }
    if (top == p->count) return largest;
    for (int64_t i = 0; i < p->dims; i++) {
        const int64_t start = p->run[p->order][i], end = p->run[p->order][i + 1];
        const double *column =
            d->stored + (p->first[p->order - 1] + p->run[p->order - 1][i]) * d->stride;
        bool fresh = false;
        for (int64_t j = top + start; j < top + end; j++, column += d->stride) {
            if (fabs(k->g[j]) + k->norm[j] * (k->drift - k->drift_at[j]) <= largest) continue;
            if (!fresh) vector_product(k->z, d->x + i * d->stride, k->r, d->stride);
            fresh = true;
            k->g[j] = vector_dot(column, k->z, d->stride);
            k->drift_at[j] = k->drift;
            largest = fmax(largest, fabs(k->g[j]));
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
    const design *d = t->design;
    const int64_t count = d->poly->count;
    *k = (walk){.t = t, .d = d, .a = a};
    k->w = ARENA_NEW(mem, double, count);
    k->g = ARENA_NEW(mem, double, count);
    if (!k->w || !k->g) return PLUMB_EMEMORY;
    memcpy(k->g, t->c, (size_t)count * sizeof *k->g);
    if (d->gram) return PLUMB_OK;
    k->drift_at = ARENA_NEW(mem, double, count);
    k->norm = ARENA_NEW(mem, double, count);
    k->r = ARENA_NEW(mem, double, d->stride);
    k->z = ARENA_NEW(mem, double, d->stride);
    if (!k->drift_at || !k->norm || !k->r || !k->z) return PLUMB_EMEMORY;
    for (int64_t j = 0; j < count; j++) k->norm[j] = sqrt(d->norm2[j]);
    memcpy(k->r, t->y, (size_t)d->stride * sizeof *k->r);
    return PLUMB_OK;
}

plumb_status descent_solve(lasso_fit *out, arena *mem, arena *scratch, const lasso_target *t,
                           double a, int64_t max_sweeps, double tolerance)
{
    const arena_mark mark = arena_here(scratch);
    walk k;
    plumb_status st = walk_init(&k, scratch, t, a);
    if (st) return st;
    *out = (lasso_fit){0};
    for (int64_t sweep = 0; sweep < max_sweeps && !out->converged; sweep++) {
        k.largest_change = k.largest_weight = 0.0;
        if (k.d->gram)
            sweep_gram(&k);
        else
            sweep_residual(&k);
        out->sweeps = sweep + 1;
        if (k.largest_weight == 0.0 || k.largest_change / k.largest_weight < tolerance ||
            sweep == max_sweeps - 1)
            out->converged = duality_gap(&k) < tolerance * t->yy;
    }
    st = lasso_fit_pack(out, mem, t, k.w);
    arena_rewind(scratch, mark);
    return st;
}
