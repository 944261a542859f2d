// SPDX-License-Identifier: MIT
// Two ways to know x_j . r when feature j is visited, with the same iterates:
// - With a Gram matrix: keep g = X^T r for all features. A weight that changes costs one pass over
// g.
// - Without: keep r, and take the features in blocks of 16, whose x_j . r come from one product. A
//   block whose weights are all zero is skipped while |x_j . r_old| + |x_j| |r - r_old| <= a for
//   all its features: their weights would stay zero. |r - r_old| is at most the path length of r.
#include "math/lasso_coordinate_descent.h"

#include <math.h>
#include <string.h>

#include "math/vector.h"

// State of one solve; letters as in math/lasso.h.
typedef struct coordinate_descent {
    const lasso_target *target;
    const poly_design *design;
    double a;
    double *w;              // (count)
    double *g;              // (count) X^T r: current with a Gram matrix, else as last computed
    double *path_length_at; // (count) path_length when g[j] was computed; without a Gram matrix
    double *norm;           // (count) |x_j|
    double *r, *z;          // (stride) residual; residual times a leading variable
    int64_t z_leader;       // the variable z was made with; -1: z is out of date
    double path_length;     // sum of the lengths of all changes of r so far
    double largest_change, largest_weight;
} coordinate_descent;

// S(x, a) = sign(x) max(|x| - a, 0) [Friedman10, eq. 6]
static double soft_threshold(double x, double a)
{
    return x > a ? x - a : x < -a ? x + a : 0.0;
}

// Minimises over w_j alone: w_j = S(x_j . r + |x_j|^2 w_j, a) / |x_j|^2. Returns its change.
static double visit_feature(coordinate_descent *descent, int64_t j, double correlation)
{
    const double norm2 = descent->design->norm2[j], old = descent->w[j];
    const double fresh = soft_threshold(correlation + norm2 * old, descent->a) / norm2;
    descent->w[j] = fresh;
    const double change = fresh - old;
    if (fabs(change) > descent->largest_change) descent->largest_change = fabs(change);
    if (fabs(fresh) > descent->largest_weight) descent->largest_weight = fabs(fresh);
    return change;
}

// One sweep with a Gram matrix: g follows every change, g -= change * gram[j].
static void sweep_gram(coordinate_descent *descent)
{
    const int64_t count = descent->design->poly->count, wide = descent->design->gram_stride;
    for (int64_t j = 0; j < count; j++) {
        if (descent->design->norm2[j] == 0.0) continue;
        if (descent->w[j] == 0.0 && fabs(descent->g[j]) <= descent->a) continue;
        const double change = visit_feature(descent, j, descent->g[j]);
        if (change == 0.0) continue;
        const double *restrict column = descent->design->gram + j * wide;
        double *restrict g = descent->g;
        if (wide > 32) vector_axpy(g, -change, column, wide);
        else // a call would cost more than it saves
            for (int64_t i = 0; i < wide; i++) g[i] -= change * column[i];
    }
}

// g = x_j . r for all features of a block. z = r times the leading variable is kept for the next
// block with the same one.
static void correlate_block(coordinate_descent *descent, const poly_design_block *block, double *g)
{
    const int64_t n = descent->design->stride;
    if (block->leader < 0) {
        vector_dots(g, block->columns, n, block->count, descent->r, n);
        return;
    }
    if (descent->z_leader != block->leader)
        vector_product(descent->z, descent->design->x + block->leader * descent->design->x_stride,
                       descent->r, n);
    descent->z_leader = block->leader;
    vector_dots(g, block->columns, n, block->count, descent->z, n);
}

// r -= change * column of feature i of the block, before centring.
static void step_residual(coordinate_descent *descent, const poly_design_block *block, int64_t i,
                          double change)
{
    const int64_t n = descent->design->stride;
    const double *column = block->columns + i * n;
    if (block->leader < 0) vector_axpy(descent->r, -change, column, n);
    else
        vector_axpy_product(descent->r, -change, column,
                            descent->design->x + block->leader * descent->design->x_stride, n);
}

// One block without a Gram matrix of all features: inside it the correlations follow each change
// through the block's own small Gram matrix. The columns' means are taken off r at the end.
static void sweep_block(coordinate_descent *descent, const poly_design_block *block)
{
    double g[POLY_DESIGN_BLOCK] = {0}, shift = 0.0;
    correlate_block(descent, block, g);
    bool changed = false;
    for (int64_t i = 0; i < block->count; i++) {
        const int64_t j = block->first + i;
        descent->g[j] = g[i];
        descent->path_length_at[j] = descent->path_length;
        if (descent->design->norm2[j] == 0.0 || (descent->w[j] == 0.0 && fabs(g[i]) <= descent->a))
            continue;
        const double change = visit_feature(descent, j, g[i]);
        if (change == 0.0) continue;
        changed = true;
        for (int64_t l = 0; l < POLY_DESIGN_BLOCK; l++) g[l] -= change * block->gram[i][l];
        descent->path_length += fabs(change) * descent->norm[j];
        shift += change * descent->design->mean[j];
        step_residual(descent, block, i, change);
    }
    if (!changed) return;
    descent->z_leader = -1;
    if (shift != 0.0)
        for (int64_t i = 0; i < descent->design->rows; i++) descent->r[i] += shift;
}

// An upper bound of |x_j . r| from its last computed value.
static double correlation_bound(const coordinate_descent *descent, int64_t j)
{
    return fabs(descent->g[j]) +
           descent->norm[j] * (descent->path_length - descent->path_length_at[j]);
}

// All weights of the block are zero and stay zero.
static bool can_skip_block(const coordinate_descent *descent, const poly_design_block *block)
{
    const double limit = descent->a * (1.0 - 1e-12);
    for (int64_t j = block->first; j < block->first + block->count; j++)
        if (descent->w[j] != 0.0 || correlation_bound(descent, j) > limit) return false;
    return true;
}

static void sweep_residual(coordinate_descent *descent)
{
    for (int64_t i = 0; i < descent->design->block_count; i++)
        if (!can_skip_block(descent, &descent->design->blocks[i]))
            sweep_block(descent, &descent->design->blocks[i]);
}

// max_j |x_j . r|. Computes only blocks whose bound exceeds the largest value found so far.
static double largest_correlation(coordinate_descent *descent)
{
    const poly_design *design = descent->design;
    const int64_t count = design->poly->count;
    double largest = 0.0;
    if (design->gram) {
        for (int64_t j = 0; j < count; j++) largest = fmax(largest, fabs(descent->g[j]));
        return largest;
    }
    for (int64_t i = 0; i < design->block_count; i++) {
        const poly_design_block *block = &design->blocks[i];
        double bound = 0.0, g[POLY_DESIGN_BLOCK];
        for (int64_t j = block->first; j < block->first + block->count; j++)
            bound = fmax(bound, correlation_bound(descent, j));
        if (bound <= largest) continue;
        correlate_block(descent, block, g);
        for (int64_t l = 0; l < block->count; l++) {
            descent->g[block->first + l] = g[l];
            descent->path_length_at[block->first + l] = descent->path_length;
            largest = fmax(largest, fabs(g[l]));
        }
    }
    return largest;
}

// Duality gap of the Lasso, with the dual point scale * r, scale = min(1, a / max |x_j .
// r|).
static double duality_gap(coordinate_descent *descent)
{
    const lasso_target *target = descent->target;
    const int64_t count = descent->design->poly->count;
    const double largest = largest_correlation(descent);
    double l1 = 0.0, rr, ry;
    for (int64_t j = 0; j < count; j++) l1 += fabs(descent->w[j]);
    // r.r and r.y, from g = c - gram w if there is a Gram matrix.
    if (descent->design->gram) {
        double wc = 0.0, wg = 0.0;
        for (int64_t j = 0; j < count; j++) {
            wc += descent->w[j] * target->c[j];
            wg += descent->w[j] * descent->g[j];
        }
        ry = target->yy - wc;
        rr = ry - wg;
    } else {
        rr = vector_dot(descent->r, descent->r, descent->design->stride);
        ry = vector_dot(descent->r, target->y, descent->design->stride);
    }
    const double scale = largest > descent->a ? descent->a / largest : 1.0;
    return 0.5 * (1.0 + scale * scale) * rr + descent->a * l1 - scale * ry;
}

static plumb_status init_descent(coordinate_descent *descent, arena *mem,
                                 const lasso_target *target, double a)
{
    const poly_design *design = target->design;
    const int64_t count = design->poly->count;
    *descent = (coordinate_descent){.target = target, .design = design, .a = a, .z_leader = -1};
    descent->w = ARENA_ALLOC(mem, double, count);
    descent->g = ARENA_ALLOC(mem, double, vector_padded(count));
    if (!descent->w || !descent->g) return PLUMB_EMEMORY;
    memcpy(descent->g, target->c, (size_t)count * sizeof *descent->g);
    if (design->gram) return PLUMB_OK;
    descent->path_length_at = ARENA_ALLOC(mem, double, count);
    descent->norm = ARENA_ALLOC(mem, double, count);
    descent->r = ARENA_ALLOC(mem, double, design->stride);
    descent->z = ARENA_ALLOC(mem, double, design->stride);
    if (!descent->path_length_at || !descent->norm || !descent->r || !descent->z)
        return PLUMB_EMEMORY;
    for (int64_t j = 0; j < count; j++) descent->norm[j] = sqrt(design->norm2[j]);
    memcpy(descent->r, target->y, (size_t)design->stride * sizeof *descent->r);
    return PLUMB_OK;
}

plumb_status lasso_coordinate_descent_solve(lasso_fit *out, arena *mem, arena *scratch,
                                            const lasso_target *target, double a,
                                            int64_t max_sweeps, double tolerance)
{
    const arena_mark mark = arena_get_mark(scratch);
    coordinate_descent descent;
    plumb_status st = init_descent(&descent, scratch, target, a);
    if (st) return st;
    *out = (lasso_fit){0};
    // As scikit-learn: the gap is checked only when the weights hardly change, or at the end.
    for (int64_t sweep = 0; sweep < max_sweeps && !out->converged && !st; sweep++) {
        descent.largest_change = descent.largest_weight = 0.0;
        if (descent.design->gram) sweep_gram(&descent);
        else sweep_residual(&descent);
        out->sweeps = sweep + 1;
        if (descent.largest_weight == 0.0 ||
            descent.largest_change / descent.largest_weight < tolerance || sweep == max_sweeps - 1)
            out->converged = duality_gap(&descent) < tolerance * target->yy;
        st = status_check_stop();
    }
    if (!st) st = lasso_fit_pack(out, mem, target, descent.w);
    arena_rewind(scratch, mark);
    return st;
}
