// SPDX-License-Identifier: MIT
// The active-set Lasso solver: a Cholesky factor of the active features' Gram matrix that grows and
// shrinks by one feature at a time, steps on the working set, and checks of the whole design.
#include "math/lasso_active_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/vector.h"

// A squared pivot below this share of the column's squared length counts as linear dependence.
static const double MIN_PIVOT = 1e-14;
// Feature j enters when |x_j . r| exceeds a by more than this share of a.
static const double SLACK = 1e-11;

struct lasso_active_set {
    const lasso_target *target;
    const poly_design *design;
    arena *memory;
    // The working set.
    int64_t count, capacity, stride; // stride: row length of gram, a multiple of VECTOR_PAD
    int64_t *feature;                // (capacity) rising only when it is the whole design
    bool *in_working_set;            // (design count); NULL: all features are
    double *columns;                 // (capacity, design stride) centred; NULL with a Gram matrix
    double *gram;                    // (capacity, stride); that of the design if it has one
    double *c, *w, *g;               // (stride) X^T y, weights, X^T r
    double *norm;                    // (stride) |x_j|
    int8_t *sign;                    // (capacity) -1 or 1 of active weights, else 0
    bool *blocked;                   // (capacity) it entered and left at once: not tried again
    // The active set, in the order of the rows of its factor.
    int64_t active, factor_capacity;
    int64_t *order; // (factor_capacity) places in the working set
    double *factor; // (factor_capacity, factor_capacity) L with L L^T = Gram matrix
    double *step, *row;
    // The whole design.
    double *all, *r, *scratch; // X^T r (design count), residual (design stride)
};

static int64_t min_count(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static plumb_status reserve_factor(lasso_active_set *set, int64_t capacity)
{
    int64_t *order = ARENA_ALLOC(set->memory, int64_t, capacity);
    double *factor = ARENA_ALLOC(set->memory, double, (capacity * capacity));
    double *step = ARENA_ALLOC(set->memory, double, capacity);
    double *row = ARENA_ALLOC(set->memory, double, capacity);
    if (!order || !factor || !step || !row) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < set->active; i++) {
        order[i] = set->order[i];
        memcpy(factor + i * capacity, set->factor + i * set->factor_capacity,
               (size_t)(i + 1) * sizeof *factor);
    }
    set->order = order;
    set->factor = factor;
    set->step = step;
    set->row = row;
    set->factor_capacity = capacity;
    return PLUMB_OK;
}

static void *grow_array(arena *mem, const void *old, int64_t count, int64_t capacity, size_t size)
{
    void *fresh = arena_alloc(mem, capacity, size);
    if (fresh && old) memcpy(fresh, old, (size_t)count * size);
    return fresh;
}

static plumb_status reserve_features(lasso_active_set *set, int64_t capacity)
{
    const int64_t old_stride = set->stride, stride = vector_padded(capacity);
    double *gram = NULL;
    if (!set->design->gram) {
        gram = ARENA_ALLOC(set->memory, double, (capacity * stride));
        if (!gram) return PLUMB_EMEMORY;
        for (int64_t i = 0; i < set->count; i++)
            memcpy(gram + i * stride, set->gram + i * old_stride,
                   (size_t)set->count * sizeof *gram);
        set->columns = grow_array(set->memory, set->columns, set->count * set->design->stride,
                                  capacity * set->design->stride, sizeof *set->columns);
        if (!set->columns) return PLUMB_EMEMORY;
    }
    set->gram = gram;
    set->feature =
        grow_array(set->memory, set->feature, set->count, capacity, sizeof *set->feature);
    set->c = grow_array(set->memory, set->c, set->count, stride, sizeof *set->c);
    set->w = grow_array(set->memory, set->w, set->count, stride, sizeof *set->w);
    set->g = grow_array(set->memory, set->g, set->count, stride, sizeof *set->g);
    set->norm = grow_array(set->memory, set->norm, set->count, stride, sizeof *set->norm);
    set->sign = grow_array(set->memory, set->sign, set->count, capacity, sizeof *set->sign);
    set->blocked =
        grow_array(set->memory, set->blocked, set->count, capacity, sizeof *set->blocked);
    if (!set->feature || !set->c || !set->w || !set->g || !set->norm || !set->sign || !set->blocked)
        return PLUMB_EMEMORY;
    set->capacity = capacity;
    set->stride = stride;
    return PLUMB_OK;
}

static void add_feature(lasso_active_set *set, int64_t feature)
{
    const int64_t place = set->count++;
    set->feature[place] = feature;
    set->c[place] = set->target->c[feature];
    set->g[place] = set->all[feature];
    set->w[place] = 0.0;
    set->norm[place] = sqrt(set->design->norm2[feature]);
    set->sign[place] = 0;
    set->blocked[place] = false;
}

// With a Gram matrix of the design the working set is the whole design.
static plumb_status add_all_features(lasso_active_set *set)
{
    const int64_t count = set->design->poly->count;
    const plumb_status st = reserve_features(set, count);
    if (st) return st;
    set->gram = set->design->gram;
    for (int64_t i = 0; i < count; i++) add_feature(set, i);
    return PLUMB_OK;
}

plumb_status lasso_active_set_create(lasso_active_set **out, arena *mem, const lasso_target *target)
{
    lasso_active_set *set = ARENA_ALLOC(mem, lasso_active_set, 1);
    if (!set) return PLUMB_EMEMORY;
    set->target = target;
    set->design = target->design;
    set->memory = mem;
    const int64_t count = set->design->poly->count;
    set->all = ARENA_ALLOC(mem, double, count);
    set->r = ARENA_ALLOC(mem, double, set->design->stride);
    set->scratch = ARENA_ALLOC(mem, double, poly_design_scratch(set->design));
    if (!set->all || !set->r || !set->scratch) return PLUMB_EMEMORY;
    memcpy(set->all, target->c, (size_t)count * sizeof *set->all);
    plumb_status st = reserve_factor(set, min_count(64, count + 1));
    if (st) return st;
    if (set->design->gram) {
        st = add_all_features(set);
    } else {
        set->in_working_set = ARENA_ALLOC(mem, bool, count);
        st = set->in_working_set ? reserve_features(set, min_count(128, count)) : PLUMB_EMEMORY;
    }
    *out = set;
    return st;
}

// ---- the factor of the active set ----

// b = L^-1 b. Full groups of VECTOR_PAD by the vector loops, the rest one by one.
static void solve_lower(const lasso_active_set *set, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double *l = set->factor + i * set->factor_capacity;
        const int64_t whole = i / VECTOR_PAD * VECTOR_PAD;
        double sum = b[i] - vector_dot(l, b, whole);
        for (int64_t j = whole; j < i; j++) sum -= l[j] * b[j];
        b[i] = sum / l[i];
    }
}

// b = L^-T b.
static void solve_upper(const lasso_active_set *set, double *b, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        const double *l = set->factor + i * set->factor_capacity;
        const int64_t whole = i / VECTOR_PAD * VECTOR_PAD;
        const double x = b[i] /= l[i];
        vector_axpy(b, -x, l, whole);
        for (int64_t j = whole; j < i; j++) b[j] -= l[j] * x;
    }
}

// Appends a feature to the factor. False if its column is a linear combination of the active ones.
// `row` then holds the solution of L row = G_Aj.
static bool factor_append(lasso_active_set *set, int64_t place)
{
    const int64_t n = set->active;
    const double *gram = set->gram + place * set->stride;
    for (int64_t i = 0; i < n; i++) set->row[i] = gram[set->order[i]];
    solve_lower(set, set->row, n);
    double pivot = gram[place];
    for (int64_t i = 0; i < n; i++) pivot -= set->row[i] * set->row[i];
    if (!(pivot > MIN_PIVOT * gram[place])) return false;
    double *l = set->factor + n * set->factor_capacity;
    memcpy(l, set->row, (size_t)n * sizeof *l);
    l[n] = sqrt(pivot);
    set->order[n] = place;
    set->active++;
    return true;
}

// Removes row k of the factor [Golub13, sec. 6.5]: the rows below move up, and Givens rotations
// make the factor triangular again. Each row applies the rotations of the rows above it and makes
// its own.
static void factor_remove(lasso_active_set *set, int64_t k)
{
    const int64_t stride = set->factor_capacity;
    double *cosine = set->row, *sine = set->step; // scratch here
    set->active--;
    for (int64_t i = k; i < set->active; i++) {
        double *l = set->factor + i * stride;
        set->order[i] = set->order[i + 1];
        memcpy(l, l + stride, (size_t)(i + 2) * sizeof *l);
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

// ---- steps on the working set ----

// w += change, and g = X^T r follows.
static void move_weight(lasso_active_set *set, int64_t place, double change)
{
    set->w[place] += change;
    vector_axpy(set->g, -change, set->gram + place * set->stride, set->stride);
}

static void leave_active_set(lasso_active_set *set, int64_t k)
{
    const int64_t place = set->order[k];
    set->w[place] = 0.0;
    set->sign[place] = 0;
    factor_remove(set, k);
}

// The share of `step` at which the first active weight reaches zero, and which one; 1 if none does.
static double first_zero(const lasso_active_set *set, int64_t *which)
{
    double share = 1.0;
    *which = -1;
    for (int64_t k = 0; k < set->active; k++) {
        const int64_t place = set->order[k];
        const double w = set->w[place], sign = set->sign[place];
        if (sign * (w + set->step[k]) > 0.0 || sign * set->step[k] >= 0.0) continue;
        const double at = w == 0.0 ? 0.0 : -w / set->step[k];
        if (at < share) {
            share = at;
            *which = k;
        }
    }
    return share;
}

// Moves to the optimum of the active set for its signs: step = Gram^-1 (g - a sign). Weights that
// reach zero leave. Returns whether anything moved.
static bool minimise_on_active_set(lasso_active_set *set, double a)
{
    bool moved = false;
    for (int round = 0; round < 6 && set->active;) {
        double worst = 0.0;
        for (int64_t k = 0; k < set->active; k++) {
            const int64_t place = set->order[k];
            set->step[k] = set->g[place] - a * set->sign[place];
            worst = fmax(worst, fabs(set->step[k]));
        }
        if (worst <= 1e-14 * a) break;
        solve_lower(set, set->step, set->active);
        solve_upper(set, set->step, set->active);
        int64_t which;
        const double share = first_zero(set, &which);
        if (share > 0.0)
            for (int64_t k = 0; k < set->active; k++)
                move_weight(set, set->order[k], share * set->step[k]);
        moved |= share > 0.0;
        if (which >= 0) {
            leave_active_set(set, which);
        } else {
            round++; // again with the new gradient: iterative refinement
            if (worst <= SLACK * a) break;
        }
    }
    return moved;
}

// Feature j is a combination of the active ones, x_j = X_A v. Moves weight over to it, which does
// not change the residual, until another weight is zero and leaves. False if none ever is: j stays
// out.
static bool exchange_dependent(lasso_active_set *set, int64_t place, int8_t sign)
{
    solve_upper(set, set->row, set->active); // row = v
    double amount = (double)INFINITY;
    int64_t which = -1;
    for (int64_t k = 0; k < set->active; k++) {
        const double rate = -sign * set->row[k], w = set->w[set->order[k]];
        if (rate * w >= 0.0) continue;
        const double at = -w / rate;
        if (at < amount) {
            amount = at;
            which = k;
        }
    }
    if (which < 0) return false;
    for (int64_t k = 0; k < set->active; k++)
        move_weight(set, set->order[k], -sign * set->row[k] * amount);
    move_weight(set, place, sign * amount);
    leave_active_set(set, which);
    return true;
}

static plumb_status reserve_entry(lasso_active_set *set)
{
    return set->active + 1 < set->factor_capacity ? PLUMB_OK
                                                  : reserve_factor(set, 2 * set->factor_capacity);
}

// Lets in a feature that depends on the active ones, by exchanges.
static plumb_status enter_dependent(lasso_active_set *set, int64_t place)
{
    const int8_t sign = set->g[place] > 0.0 ? 1 : -1;
    while (!factor_append(set, place)) {
        if (!set->active || !exchange_dependent(set, place, sign)) {
            set->blocked[place] = true;
            return PLUMB_OK;
        }
    }
    set->sign[place] = sign;
    return PLUMB_OK;
}

// How far an inactive feature violates |g| <= a; 0 or less if it does not.
static double violation_of(const lasso_active_set *set, int64_t i, double a, double noise)
{
    if (set->sign[i] || set->blocked[i] || set->norm[i] == 0.0) return 0.0;
    return fabs(set->g[i]) - a - SLACK * a - noise * set->norm[i];
}

// Lets in the features that violate most: at most `limit`, and all by at least half of the largest
// violation. Of equal columns the first is used. A column that depends on the active ones comes in
// alone, by exchange. *entered is the number of features that came in.
static plumb_status enter_worst(int64_t *entered, lasso_active_set *set, double a, int64_t limit)
{
    const double noise = 1e-15 * sqrt(set->target->yy);
    double worst = 0.0;
    *entered = 0;
    for (int64_t i = 0; i < set->count; i++) worst = fmax(worst, violation_of(set, i, a, noise));
    if (!(worst > 0.0)) return PLUMB_OK;
    const double least_worst = limit > 1 ? 0.5 * worst : worst * (1.0 - 1e-9);
    int64_t dependent = -1;
    for (int64_t i = 0; i < set->count && *entered < limit; i++) {
        if (!(violation_of(set, i, a, noise) >= least_worst)) continue;
        const plumb_status st = reserve_entry(set);
        if (st) return st;
        if (!factor_append(set, i)) {
            if (dependent < 0) dependent = i;
            continue;
        }
        set->sign[i] = set->g[i] > 0.0 ? 1 : -1;
        ++*entered;
    }
    if (*entered || dependent < 0) return PLUMB_OK;
    *entered = 1;
    return enter_dependent(set, dependent);
}

// The optimum on the working set. Several features enter at a time while most of them stay, else
// one at a time: then every step decreases the objective.
static plumb_status solve_within(lasso_active_set *set, double a)
{
    memset(set->blocked, 0, (size_t)set->count * sizeof *set->blocked);
    minimise_on_active_set(set, a);
    int64_t limit = 1;
    for (int64_t rounds = 1000 + 50 * set->count; rounds > 0; rounds--) {
        const int64_t before = set->active;
        int64_t entered;
        plumb_status st = enter_worst(&entered, set, a, limit);
        if (!st) st = status_check_stop();
        if (st || !entered) return st;
        const int64_t last = set->active ? set->order[set->active - 1] : -1;
        const bool moved = minimise_on_active_set(set, a);
        if (!moved && entered == 1 && last >= 0 && !set->sign[last]) set->blocked[last] = true;
        const bool most_stay = set->active - before > entered / 2;
        limit = most_stay && moved ? min_count(2 * limit, 8 + set->active / 4) : 1;
    }
    return PLUMB_OK;
}

// ---- the whole design ----

// g = c - gram w, without the rounding of all moves so far.
static void refresh_with_gram(lasso_active_set *set)
{
    memcpy(set->g, set->c, (size_t)set->count * sizeof *set->g);
    for (int64_t k = 0; k < set->active; k++)
        vector_axpy(set->g, -set->w[set->order[k]], set->gram + set->order[k] * set->stride,
                    set->stride);
}

// Computes the residual, and X^T r of all features, from scratch.
static void refresh_correlations(lasso_active_set *set)
{
    if (set->design->gram) {
        refresh_with_gram(set);
        return;
    }
    memcpy(set->r, set->target->y, (size_t)set->design->stride * sizeof *set->r);
    for (int64_t k = 0; k < set->active; k++)
        vector_axpy(set->r, -set->w[set->order[k]],
                    set->columns + set->order[k] * set->design->stride, set->design->stride);
    poly_design_correlate(set->all, set->design, set->r, set->scratch);
    for (int64_t i = 0; i < set->count; i++) set->g[i] = set->all[set->feature[i]];
}

typedef struct violating_feature {
    double violation;
    int64_t feature;
} violating_feature;

static int compare_violation(const void *a, const void *b)
{
    const violating_feature *x = a, *y = b;
    if (x->violation != y->violation) return x->violation < y->violation ? 1 : -1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

// Columns and rows of the Gram matrix for the features from place `from` on.
static plumb_status extend_gram(lasso_active_set *set, int64_t from)
{
    const int64_t n = set->design->stride;
    for (int64_t i = from; i < set->count; i++)
        poly_design_column(set->columns + i * n, set->design, set->feature[i]);
    vector_products(set->gram + from * set->stride, set->stride,
                    (vector_rows){set->columns + from * n, set->count - from, n},
                    (vector_rows){set->columns, set->count, n}, n);
    for (int64_t i = 0; i < set->count; i++)
        for (int64_t j = from; j < set->count; j++)
            set->gram[i * set->stride + j] = set->gram[j * set->stride + i];
    return PLUMB_OK;
}

// Adds the features outside the working set that violate |x_j . r| <= a most. *added is their
// number.
static plumb_status extend_working_set(int64_t *added, lasso_active_set *set, double a)
{
    *added = 0;
    if (!set->in_working_set) return PLUMB_OK;
    const int64_t count = set->design->poly->count;
    const double noise = 1e-15 * sqrt(set->target->yy);
    int64_t found = 0;
    for (int64_t j = 0; j < count; j++)
        found += !set->in_working_set[j] &&
                 fabs(set->all[j]) > a * (1.0 + SLACK) + noise * sqrt(set->design->norm2[j]);
    if (!found) return PLUMB_OK;
    violating_feature *candidates = malloc((size_t)found * sizeof *candidates);
    if (!candidates) return fail(PLUMB_EMEMORY, "no memory for %lld features", (long long)found);
    int64_t count_added = 0;
    for (int64_t j = 0; j < count; j++)
        if (!set->in_working_set[j] &&
            fabs(set->all[j]) > a * (1.0 + SLACK) + noise * sqrt(set->design->norm2[j]))
            candidates[count_added++] = (violating_feature){fabs(set->all[j]), j};
    qsort(candidates, (size_t)count_added, sizeof *candidates, compare_violation);
    count_added = min_count(count_added, set->count / 2 > 32 ? set->count / 2 : 32);
    plumb_status st = PLUMB_OK;
    if (set->count + count_added > set->capacity) {
        int64_t capacity = 2 * set->capacity;
        while (capacity < set->count + count_added) capacity *= 2;
        st = reserve_features(set, capacity);
    }
    const int64_t from = set->count;
    for (int64_t i = 0; i < count_added && !st; i++) {
        set->in_working_set[candidates[i].feature] = true;
        add_feature(set, candidates[i].feature);
    }
    free(candidates);
    *added = count_added;
    return st ? st : extend_gram(set, from);
}

// Duality gap over |y|^2; see lasso_coordinate_descent.c.
static double relative_gap(const lasso_active_set *set, double a)
{
    double largest = 0.0, l1 = 0.0, wc = 0.0, wg = 0.0, rr, ry;
    for (int64_t i = 0; i < set->count; i++) {
        largest = fmax(largest, fabs(set->g[i]));
        l1 += fabs(set->w[i]);
        wc += set->w[i] * set->c[i];
        wg += set->w[i] * set->g[i];
    }
    if (set->design->gram) {
        ry = set->target->yy - wc;
        rr = ry - wg;
    } else {
        for (int64_t j = 0; j < set->design->poly->count; j++)
            largest = fmax(largest, fabs(set->all[j]));
        rr = vector_dot(set->r, set->r, set->design->stride);
        ry = vector_dot(set->r, set->target->y, set->design->stride);
    }
    const double scale = largest > a ? a / largest : 1.0;
    return (0.5 * (1.0 + scale * scale) * rr + a * l1 - scale * ry) / set->target->yy;
}

// Weights of opposite sign on nearly equal columns cancel; x_j . r is then known only to rounding
// times what cancelled. If every optimality condition holds within that, no double is closer to the
// optimum, even if the gap cannot show it.
static bool exact_to_rounding(const lasso_active_set *set, double a)
{
    double cancelled = sqrt(set->target->yy);
    for (int64_t k = 0; k < set->active; k++)
        cancelled += fabs(set->w[set->order[k]]) * set->norm[set->order[k]];
    const double noise = 16.0 * 2.220446049250313e-16 * cancelled;
    for (int64_t i = 0; i < set->count; i++) {
        const double off = set->sign[i] ? fabs(set->g[i] - a * set->sign[i]) : fabs(set->g[i]) - a;
        if (off > noise * set->norm[i]) return false;
    }
    for (int64_t j = 0; set->in_working_set && j < set->design->poly->count; j++)
        if (fabs(set->all[j]) - a > noise * sqrt(set->design->norm2[j])) return false;
    return true;
}

static plumb_status pack_fit(lasso_fit *out, arena *mem, const lasso_active_set *set)
{
    double *dense =
        set->scratch; // large enough: poly_design_scratch() includes one double per feature
    memset(dense, 0, (size_t)set->design->poly->count * sizeof *dense);
    for (int64_t k = 0; k < set->active; k++)
        dense[set->feature[set->order[k]]] = set->w[set->order[k]];
    return lasso_fit_pack(out, mem, set->target, dense);
}

plumb_status lasso_active_set_solve(lasso_fit *out, arena *mem, lasso_active_set *set, double a,
                                    double gap)
{
    *out = (lasso_fit){.converged = true};
    if (set->target->yy > 0.0) {
        out->converged = false;
        if (set->in_working_set) refresh_correlations(set);
        for (int round = 0; round < 200; round++) {
            int64_t added = 0;
            plumb_status st = extend_working_set(&added, set, a);
            if (!st) st = solve_within(set, a);
            if (!st) st = status_check_stop();
            if (st) return st;
            refresh_correlations(set);
            out->sweeps++;
            out->converged = relative_gap(set, a) <= gap || exact_to_rounding(set, a);
            if (out->converged || (!added && round >= 3)) break;
        }
    }
    return pack_fit(out, mem, set);
}
