// SPDX-License-Identifier: MIT
#include "math/lasso_path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/vector.h"

// A pivot below this share of the column's own length counts as linear dependence.
static const double RANK = 1e-14;
// How far |x_j . r| may exceed a before feature j is let in.
static const double SLACK = 1e-11;

struct lasso_active_set {
    const lasso_target *t;
    const poly_design *d;
    arena *mem;
    // the working set
    int64_t count, capacity, stride; // stride: row length of gram, a multiple of VECTOR_PAD
    int64_t *feature;                // (capacity) rising only when it is the whole design
    bool *within;                    // (design count) is in the working set; NULL: all are
    double *columns;                 // (capacity, design stride) centred; NULL with a Gram matrix
    double *gram;                    // (capacity, stride); the design's own if it has one
    double *c, *w, *g;               // (stride) X^T y, weights, X^T r
    double *norm;                    // (stride) |x_j|
    int8_t *sign;                    // (capacity) of active weights, else 0
    bool *blocked;                   // (capacity) came in and left at once
    // the active set, in the order of its factor
    int64_t active, factor_capacity;
    int64_t *order; // (factor_capacity) places in the working set
    double *factor; // (factor_capacity, factor_capacity) lower triangle, rows
    double *step, *row;
    // the whole design
    double *all, *r, *scratch; // (design count), (design stride), for products
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static plumb_status reserve_factor(lasso_active_set *s, int64_t capacity)
{
    int64_t *order = ARENA_ALLOC(s->mem, int64_t, capacity);
    double *factor = ARENA_ALLOC(s->mem, double, (capacity * capacity));
    double *step = ARENA_ALLOC(s->mem, double, capacity);
    double *row = ARENA_ALLOC(s->mem, double, capacity);
    if (!order || !factor || !step || !row) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->active; i++) {
        order[i] = s->order[i];
        memcpy(factor + i * capacity, s->factor + i * s->factor_capacity,
               (size_t)(i + 1) * sizeof *factor);
    }
    s->order = order;
    s->factor = factor;
    s->step = step;
    s->row = row;
    s->factor_capacity = capacity;
    return PLUMB_OK;
}

static void *grown(arena *mem, const void *old, int64_t count, int64_t capacity, size_t size)
{
    void *fresh = arena_alloc(mem, capacity, size);
    if (fresh && old) memcpy(fresh, old, (size_t)count * size);
    return fresh;
}

static plumb_status reserve(lasso_active_set *s, int64_t capacity)
{
    const int64_t old_stride = s->stride, stride = vector_padded(capacity);
    double *gram = NULL;
    if (!s->d->gram) {
        gram = ARENA_ALLOC(s->mem, double, (capacity * stride));
        if (!gram) return PLUMB_EMEMORY;
        for (int64_t i = 0; i < s->count; i++)
            memcpy(gram + i * stride, s->gram + i * old_stride, (size_t)s->count * sizeof *gram);
        s->columns = grown(s->mem, s->columns, s->count * s->d->stride, capacity * s->d->stride,
                           sizeof *s->columns);
        if (!s->columns) return PLUMB_EMEMORY;
    }
    s->gram = gram;
    s->feature = grown(s->mem, s->feature, s->count, capacity, sizeof *s->feature);
    s->c = grown(s->mem, s->c, s->count, stride, sizeof *s->c);
    s->w = grown(s->mem, s->w, s->count, stride, sizeof *s->w);
    s->g = grown(s->mem, s->g, s->count, stride, sizeof *s->g);
    s->norm = grown(s->mem, s->norm, s->count, stride, sizeof *s->norm);
    s->sign = grown(s->mem, s->sign, s->count, capacity, sizeof *s->sign);
    s->blocked = grown(s->mem, s->blocked, s->count, capacity, sizeof *s->blocked);
    if (!s->feature || !s->c || !s->w || !s->g || !s->norm || !s->sign || !s->blocked)
        return PLUMB_EMEMORY;
    s->capacity = capacity;
    s->stride = stride;
    return PLUMB_OK;
}

static void take_in(lasso_active_set *s, int64_t feature)
{
    const int64_t place = s->count++;
    s->feature[place] = feature;
    s->c[place] = s->t->c[feature];
    s->g[place] = s->all[feature];
    s->w[place] = 0.0;
    s->norm[place] = sqrt(s->d->norm2[feature]);
    s->sign[place] = 0;
    s->blocked[place] = false;
}

// With a Gram matrix the working set is the whole design.
static plumb_status take_all(lasso_active_set *s)
{
    const int64_t count = s->d->poly->count;
    const plumb_status st = reserve(s, count);
    if (st) return st;
    s->gram = s->d->gram;
    for (int64_t i = 0; i < count; i++) take_in(s, i);
    return PLUMB_OK;
}

plumb_status lasso_active_set_create(lasso_active_set **out, arena *mem, const lasso_target *t)
{
    lasso_active_set *s = ARENA_ALLOC(mem, lasso_active_set, 1);
    if (!s) return PLUMB_EMEMORY;
    s->t = t;
    s->d = t->design;
    s->mem = mem;
    const int64_t count = s->d->poly->count;
    s->all = ARENA_ALLOC(mem, double, count);
    s->r = ARENA_ALLOC(mem, double, s->d->stride);
    s->scratch = ARENA_ALLOC(mem, double, poly_design_scratch(s->d));
    if (!s->all || !s->r || !s->scratch) return PLUMB_EMEMORY;
    memcpy(s->all, t->c, (size_t)count * sizeof *s->all);
    plumb_status st = reserve_factor(s, least(64, count + 1));
    if (st) return st;
    if (s->d->gram) {
        st = take_all(s);
    } else {
        s->within = ARENA_ALLOC(mem, bool, count);
        st = s->within ? reserve(s, least(128, count)) : PLUMB_EMEMORY;
    }
    *out = s;
    return st;
}

// --- the factor of the active set ----------------------------------------------------------------

// Whole groups of VECTOR_PAD by the vector loops, the rest one by one.
static void solve_lower(const lasso_active_set *s, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double *l = s->factor + i * s->factor_capacity;
        const int64_t whole = i / VECTOR_PAD * VECTOR_PAD;
        double sum = b[i] - vector_dot(l, b, whole);
        for (int64_t j = whole; j < i; j++) sum -= l[j] * b[j];
        b[i] = sum / l[i];
    }
}

static void solve_upper(const lasso_active_set *s, double *b, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        const double *l = s->factor + i * s->factor_capacity;
        const int64_t whole = i / VECTOR_PAD * VECTOR_PAD;
        const double x = b[i] /= l[i];
        vector_axpy(b, -x, l, whole);
        for (int64_t j = whole; j < i; j++) b[j] -= l[j] * x;
    }
}

// Appends a feature; false if its column depends on those already there. Leaves L v = G_Aj in row.
static bool factor_append(lasso_active_set *s, int64_t place)
{
    const int64_t n = s->active;
    const double *gram = s->gram + place * s->stride;
    for (int64_t i = 0; i < n; i++) s->row[i] = gram[s->order[i]];
    solve_lower(s, s->row, n);
    double pivot = gram[place];
    for (int64_t i = 0; i < n; i++) pivot -= s->row[i] * s->row[i];
    if (!(pivot > RANK * gram[place])) return false;
    double *l = s->factor + n * s->factor_capacity;
    memcpy(l, s->row, (size_t)n * sizeof *l);
    l[n] = sqrt(pivot);
    s->order[n] = place;
    s->active++;
    return true;
}

// Removes entry k: rows below move up, and rotations make the factor triangular again. Row by row,
// each row takes the rotations of those above it and makes its own.
static void factor_remove(lasso_active_set *s, int64_t k)
{
    const int64_t m = s->factor_capacity;
    double *cosine = s->row, *sine = s->step; // scratch here
    s->active--;
    for (int64_t i = k; i < s->active; i++) {
        double *l = s->factor + i * m;
        s->order[i] = s->order[i + 1];
        memcpy(l, l + m, (size_t)(i + 2) * sizeof *l);
        for (int64_t j = k; j < i; j++) {
            const double u = l[j], v = l[j + 1];
            l[j] = cosine[j] * u + sine[j] * v;
            l[j + 1] = cosine[j] * v - sine[j] * u;
        }
        const double length = hypot(l[i], l[i + 1]);
        cosine[i] = l[i] / length;
        sine[i] = l[i + 1] / length;
        l[i] = length;
        l[i + 1] = 0.0;
    }
}

// --- steps on the working set --------------------------------------------------------------------

static void move(lasso_active_set *s, int64_t place, double change)
{
    s->w[place] += change;
    vector_axpy(s->g, -change, s->gram + place * s->stride, s->stride);
}

static void leave(lasso_active_set *s, int64_t k)
{
    const int64_t place = s->order[k];
    s->w[place] = 0.0;
    s->sign[place] = 0;
    factor_remove(s, k);
}

// The share of `step` at which the first active weight reaches zero, and which one; 1 if none does.
static double first_zero(const lasso_active_set *s, int64_t *which)
{
    double share = 1.0;
    *which = -1;
    for (int64_t k = 0; k < s->active; k++) {
        const int64_t place = s->order[k];
        const double w = s->w[place], sign = s->sign[place];
        if (sign * (w + s->step[k]) > 0.0 || sign * s->step[k] >= 0.0) continue;
        const double at = w == 0.0 ? 0.0 : -w / s->step[k];
        if (at < share) {
            share = at;
            *which = k;
        }
    }
    return share;
}

// To the optimum of the active set with its signs, letting go of weights that reach zero.
// Returns whether anything moved.
static bool settle(lasso_active_set *s, double a)
{
    bool moved = false;
    for (int round = 0; round < 6 && s->active;) {
        double worst = 0.0;
        for (int64_t k = 0; k < s->active; k++) {
            const int64_t place = s->order[k];
            s->step[k] = s->g[place] - a * s->sign[place];
            worst = fmax(worst, fabs(s->step[k]));
        }
        if (worst <= 1e-14 * a) break;
        solve_lower(s, s->step, s->active);
        solve_upper(s, s->step, s->active);
        int64_t which;
        const double share = first_zero(s, &which);
        if (share > 0.0)
            for (int64_t k = 0; k < s->active; k++) move(s, s->order[k], share * s->step[k]);
        moved |= share > 0.0;
        if (which >= 0) {
            leave(s, which);
        } else {
            round++; // again with the true gradient: iterative refinement
            if (worst <= SLACK * a) break;
        }
    }
    return moved;
}

// Feature j depends on the active ones: x_j = X_A v. Weight moves over to it without changing the
// residual until one of the others is used up; false if none ever is, and j must stay out.
static bool exchange(lasso_active_set *s, int64_t place, int8_t sign)
{
    solve_upper(s, s->row, s->active); // row = v
    double most = (double)INFINITY;
    int64_t which = -1;
    for (int64_t k = 0; k < s->active; k++) {
        const double rate = -sign * s->row[k], w = s->w[s->order[k]];
        if (rate * w >= 0.0) continue;
        const double at = -w / rate;
        if (at < most) {
            most = at;
            which = k;
        }
    }
    if (which < 0) return false;
    for (int64_t k = 0; k < s->active; k++) move(s, s->order[k], -sign * s->row[k] * most);
    move(s, place, sign * most);
    leave(s, which);
    return true;
}

static plumb_status reserve_entry(lasso_active_set *s)
{
    return s->active + 1 < s->factor_capacity ? PLUMB_OK
                                              : reserve_factor(s, 2 * s->factor_capacity);
}

static plumb_status enter(lasso_active_set *s, int64_t place)
{
    const int8_t sign = s->g[place] > 0.0 ? 1 : -1;
    while (!factor_append(s, place)) {
        if (!s->active || !exchange(s, place, sign)) {
            s->blocked[place] = true;
            return PLUMB_OK;
        }
    }
    s->sign[place] = sign;
    return PLUMB_OK;
}

// How far an inactive feature violates |g| <= a; at most 0 if it does not.
static double violation(const lasso_active_set *s, int64_t i, double a, double noise)
{
    if (s->sign[i] || s->blocked[i] || s->norm[i] == 0.0) return 0.0;
    return fabs(s->g[i]) - a - SLACK * a - noise * s->norm[i];
}

// Lets in the features that violate most, at most `limit` of them, all within half of the worst; of
// equal ones the first, so that of two equal columns the first is used. A column that depends on
// the active ones comes in alone, by exchange. Returns how many came, 0 if nothing violates.
static plumb_status enter_worst(int64_t *entered, lasso_active_set *s, double a, int64_t limit)
{
    const double noise = 1e-15 * sqrt(s->t->yy);
    double worst = 0.0;
    *entered = 0;
    for (int64_t i = 0; i < s->count; i++) worst = fmax(worst, violation(s, i, a, noise));
    if (!(worst > 0.0)) return PLUMB_OK;
    const double least_worst = limit > 1 ? 0.5 * worst : worst * (1.0 - 1e-9);
    int64_t dependent = -1;
    for (int64_t i = 0; i < s->count && *entered < limit; i++) {
        if (!(violation(s, i, a, noise) >= least_worst)) continue;
        const plumb_status st = reserve_entry(s);
        if (st) return st;
        if (!factor_append(s, i)) {
            if (dependent < 0) dependent = i;
            continue;
        }
        s->sign[i] = s->g[i] > 0.0 ? 1 : -1;
        ++*entered;
    }
    if (*entered || dependent < 0) return PLUMB_OK;
    *entered = 1;
    return enter(s, dependent);
}

// Features come in several at a time while most of them stay, else one at a time: then each step is
// sure to go down.
static plumb_status solve_within(lasso_active_set *s, double a)
{
    memset(s->blocked, 0, (size_t)s->count * sizeof *s->blocked);
    settle(s, a);
    int64_t limit = 1;
    for (int64_t rounds = 1000 + 50 * s->count; rounds > 0; rounds--) {
        const int64_t before = s->active;
        int64_t entered;
        plumb_status st = enter_worst(&entered, s, a, limit);
        if (!st) st = status_check_stop();
        if (st || !entered) return st;
        const int64_t last = s->active ? s->order[s->active - 1] : -1;
        const bool moved = settle(s, a);
        if (!moved && entered == 1 && last >= 0 && !s->sign[last]) s->blocked[last] = true;
        const bool most_stay = s->active - before > entered / 2;
        limit = most_stay && moved ? least(2 * limit, 8 + s->active / 4) : 1;
    }
    return PLUMB_OK;
}

// --- the whole design ----------------------------------------------------------------------------

static void refresh_with_gram(lasso_active_set *s)
{
    memcpy(s->g, s->c, (size_t)s->count * sizeof *s->g);
    for (int64_t k = 0; k < s->active; k++)
        vector_axpy(s->g, -s->w[s->order[k]], s->gram + s->order[k] * s->stride, s->stride);
}

// The residual, and X^T r of everything, from scratch.
static void refresh(lasso_active_set *s)
{
    if (s->d->gram) {
        refresh_with_gram(s);
        return;
    }
    memcpy(s->r, s->t->y, (size_t)s->d->stride * sizeof *s->r);
    for (int64_t k = 0; k < s->active; k++)
        vector_axpy(s->r, -s->w[s->order[k]], s->columns + s->order[k] * s->d->stride,
                    s->d->stride);
    poly_design_correlate(s->all, s->d, s->r, s->scratch);
    for (int64_t i = 0; i < s->count; i++) s->g[i] = s->all[s->feature[i]];
}

typedef struct candidate {
    double by;
    int64_t feature;
} candidate;

static int more_violated_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->by != y->by) return x->by < y->by ? 1 : -1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

static plumb_status extend_gram(lasso_active_set *s, int64_t from)
{
    const int64_t n = s->d->stride;
    for (int64_t i = from; i < s->count; i++)
        poly_design_column(s->columns + i * n, s->d, s->feature[i]);
    vector_products(s->gram + from * s->stride, s->stride, s->columns + from * n, n,
                    s->count - from, s->columns, n, s->count, n);
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = from; j < s->count; j++)
            s->gram[i * s->stride + j] = s->gram[j * s->stride + i];
    return PLUMB_OK;
}

// Lets in the features outside the working set that violate most; *added says how many.
static plumb_status widen(int64_t *added, lasso_active_set *s, double a)
{
    *added = 0;
    if (!s->within) return PLUMB_OK;
    const int64_t count = s->d->poly->count;
    const double noise = 1e-15 * sqrt(s->t->yy);
    int64_t found = 0;
    for (int64_t f = 0; f < count; f++)
        found +=
            !s->within[f] && fabs(s->all[f]) > a * (1.0 + SLACK) + noise * sqrt(s->d->norm2[f]);
    if (!found) return PLUMB_OK;
    candidate *list = malloc((size_t)found * sizeof *list);
    if (!list) return fail(PLUMB_EMEMORY, "no memory for %lld features", (long long)found);
    int64_t n = 0;
    for (int64_t f = 0; f < count; f++)
        if (!s->within[f] && fabs(s->all[f]) > a * (1.0 + SLACK) + noise * sqrt(s->d->norm2[f]))
            list[n++] = (candidate){fabs(s->all[f]), f};
    qsort(list, (size_t)n, sizeof *list, more_violated_first);
    n = least(n, s->count / 2 > 32 ? s->count / 2 : 32);
    plumb_status st = PLUMB_OK;
    if (s->count + n > s->capacity) {
        int64_t capacity = 2 * s->capacity;
        while (capacity < s->count + n) capacity *= 2;
        st = reserve(s, capacity);
    }
    const int64_t from = s->count;
    for (int64_t i = 0; i < n && !st; i++) {
        s->within[list[i].feature] = true;
        take_in(s, list[i].feature);
    }
    free(list);
    *added = n;
    return st ? st : extend_gram(s, from);
}

static double relative_gap(const lasso_active_set *s, double a)
{
    double u = 0.0, l1 = 0.0, wc = 0.0, wg = 0.0, rr, ry;
    for (int64_t i = 0; i < s->count; i++) {
        u = fmax(u, fabs(s->g[i]));
        l1 += fabs(s->w[i]);
        wc += s->w[i] * s->c[i];
        wg += s->w[i] * s->g[i];
    }
    if (s->d->gram) {
        ry = s->t->yy - wc;
        rr = ry - wg;
    } else {
        for (int64_t f = 0; f < s->d->poly->count; f++) u = fmax(u, fabs(s->all[f]));
        rr = vector_dot(s->r, s->r, s->d->stride);
        ry = vector_dot(s->r, s->t->y, s->d->stride);
    }
    const double scale = u > a ? a / u : 1.0;
    return (0.5 * (1.0 + scale * scale) * rr + a * l1 - scale * ry) / s->t->yy;
}

// Weights of opposite sign on columns that are nearly alike cancel, and x_j . r is then no better
// known than to rounding times what cancelled. Where every optimality condition holds within that,
// no double is closer to the optimum, even if the gap cannot show it.
static bool exact_to_rounding(const lasso_active_set *s, double a)
{
    double cancelled = sqrt(s->t->yy);
    for (int64_t k = 0; k < s->active; k++)
        cancelled += fabs(s->w[s->order[k]]) * s->norm[s->order[k]];
    const double noise = 16.0 * 2.220446049250313e-16 * cancelled;
    for (int64_t i = 0; i < s->count; i++) {
        const double off = s->sign[i] ? fabs(s->g[i] - a * s->sign[i]) : fabs(s->g[i]) - a;
        if (off > noise * s->norm[i]) return false;
    }
    for (int64_t f = 0; s->within && f < s->d->poly->count; f++)
        if (fabs(s->all[f]) - a > noise * sqrt(s->d->norm2[f])) return false;
    return true;
}

static plumb_status pack(lasso_fit *out, arena *mem, const lasso_active_set *s)
{
    double *dense = s->scratch; // large enough: poly_design_scratch() counts the features in
    memset(dense, 0, (size_t)s->d->poly->count * sizeof *dense);
    for (int64_t k = 0; k < s->active; k++) dense[s->feature[s->order[k]]] = s->w[s->order[k]];
    return lasso_fit_pack(out, mem, s->t, dense);
}

plumb_status lasso_active_set_solve(lasso_fit *out, arena *mem, lasso_active_set *s, double a,
                                    double gap)
{
    *out = (lasso_fit){.converged = true};
    if (s->t->yy > 0.0) {
        out->converged = false;
        if (s->within) refresh(s);
        for (int round = 0; round < 200; round++) {
            int64_t added = 0;
            plumb_status st = widen(&added, s, a);
            if (!st) st = solve_within(s, a);
            if (!st) st = status_check_stop();
            if (st) return st;
            refresh(s);
            out->sweeps++;
            out->converged = relative_gap(s, a) <= gap || exact_to_rounding(s, a);
            if (out->converged || (!added && round >= 3)) break;
        }
    }
    return pack(out, mem, s);
}
