// SPDX-License-Identifier: MIT
// Targets and fits of the Lasso solvers.
#include "math/lasso.h"

#include "math/vector.h"

plumb_status lasso_target_init(lasso_target *out, arena *mem, const poly_design *design,
                               const double *y)
{
    double *centred = ARENA_ALLOC(mem, double, design->stride);
    double *c = ARENA_ALLOC(mem, double, design->poly->count);
    if (!centred || !c) return PLUMB_EMEMORY;

    // Centre y.
    double sum = 0.0;
    for (int64_t i = 0; i < design->rows; i++) sum += y[i];
    const double mean = sum / (double)design->rows;
    double rest = 0.0; // what rounding left of the mean is subtracted in a second step
    for (int64_t i = 0; i < design->rows; i++) rest += centred[i] = y[i] - mean;
    rest /= (double)design->rows;
    for (int64_t i = 0; i < design->rows; i++) centred[i] -= rest;

    // c = X^T y.
    const arena_mark mark = arena_get_mark(mem);
    double *scratch = ARENA_ALLOC(mem, double, poly_design_scratch(design));
    if (!scratch) return PLUMB_EMEMORY;
    poly_design_correlate(c, design, centred, scratch);
    arena_rewind(mem, mark);
    *out = (lasso_target){design, centred, mean + rest,
                          vector_dot(centred, centred, design->stride), c};
    return PLUMB_OK;
}

plumb_status lasso_fit_pack(lasso_fit *out, arena *mem, const lasso_target *target,
                            const double *weights)
{
    const int64_t features = target->design->poly->count;
    int64_t count = 0;
    for (int64_t j = 0; j < features; j++) count += weights[j] != 0.0;
    int64_t *index = ARENA_ALLOC(mem, int64_t, count);
    double *value = ARENA_ALLOC(mem, double, count);
    if (!index || !value) return PLUMB_EMEMORY;
    // Columns are centred, so the intercept takes their means back.
    double intercept = target->mean;
    count = 0;
    for (int64_t j = 0; j < features; j++) {
        if (weights[j] == 0.0) continue;
        index[count] = j;
        value[count++] = weights[j];
        intercept -= weights[j] * target->design->mean[j];
    }
    out->count = count;
    out->features = index;
    out->weights = value;
    out->intercept = intercept;
    return PLUMB_OK;
}
