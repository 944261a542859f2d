// SPDX-License-Identifier: MIT
// Targets and fits of the Lasso solvers.
#include "math/lasso.h"

#include "math/vector.h"

// centred (rows) = y - mean(y). Returns the mean.
static double centre(double *centred, const double *y, int64_t rows)
{
    double sum = 0.0;
    for (int64_t i = 0; i < rows; i++) sum += y[i];
    const double mean = sum / (double)rows;
    double rest = 0.0; // what rounding left of the mean is subtracted in a second step
    for (int64_t i = 0; i < rows; i++) rest += centred[i] = y[i] - mean;
    rest /= (double)rows;
    for (int64_t i = 0; i < rows; i++) centred[i] -= rest;
    return mean + rest;
}

plumb_status lasso_targets_init(lasso_target *out, arena *mem, const poly_design *design,
                                const double *y, int64_t stride, int64_t count)
{
    const int64_t features = design->poly->count;
    double *centred = ARENA_ALLOC(mem, double, (count * design->stride));
    double *c = ARENA_ALLOC(mem, double, (count * features));
    if (!centred || !c) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < count; t++) {
        double *to = centred + t * design->stride;
        const double mean = centre(to, y + t * stride, design->rows);
        out[t] =
            (lasso_target){design, to, mean, vector_dot(to, to, design->stride), c + t * features};
    }
    // c = X^T y.
    const arena_mark mark = arena_get_mark(mem);
    double *scratch = ARENA_ALLOC(mem, double, poly_design_scratch(design));
    if (!scratch) return PLUMB_EMEMORY;
    poly_design_correlate_all(c, design, centred, count, scratch);
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

plumb_status lasso_target_init(lasso_target *out, arena *mem, const poly_design *design,
                               const double *y)
{
    return lasso_targets_init(out, mem, design, y, 0, 1);
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
