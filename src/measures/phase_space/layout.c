// SPDX-License-Identifier: MIT
// Rearranges arrays of states to positions first, then momenta.
#include "measures/phase_space/layout.h"

#include <math.h>

#include "base/status.h"
#include "measures/fit/circle_columns.h"
#include "measures/fit/layout_columns.h"
#include "measures/kappa/lagrangian_momenta.h"

static const double turn = 6.283185307179586;

static plumb_status check_columns(const plumb_array *array, const char *name, bool circle)
{
    char shape[256];
    if (array->ndim == 3 && array->shape[2] > 0 && array->shape[2] % (circle ? 3 : 2) == 0)
        return PLUMB_OK;
    return fail(PLUMB_ESHAPE, "%s is %s; this layout needs (trajectories, steps, %s)", name,
                plumb_array_shape_string(shape, sizeof shape, array), circle ? "3n" : "2n");
}

static plumb_status permute_columns(plumb_array *out, arena *mem, const plumb_array *array,
                                    plumb_layout layout)
{
    const int64_t columns = array->shape[array->ndim - 1];
    double *to = ARENA_ALLOC(mem, double, plumb_array_count(array));
    if (!to) return PLUMB_EMEMORY;
    *out = plumb_array_view(to, PLUMB_FLOAT64, array->ndim, array->shape);
    const int64_t rows = plumb_array_count(array) / (columns ? columns : 1);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < columns; i++)
            plumb_array_to_double(to + r * columns + i, array,
                                  r * columns + layout_column(layout, i, columns), 1);
    return PLUMB_OK;
}

// (cosines and sines, momenta) to (angles, momenta); angles continue along a trajectory.
static plumb_status find_angles(plumb_array *out, arena *mem, const plumb_array *array,
                                const char *name)
{
    const int64_t n = array->shape[2] / 3, steps = array->shape[1];
    const circle_order order = circle_columns_find(array);
    if (order == CIRCLE_NONE)
        return fail(PLUMB_ENUMERIC,
                    "%s is not (cos, sin, momenta): the squares of the first %lld columns, two by "
                    "two, do not add up to a constant",
                    name, (long long)(2 * n));
    const int64_t shape[3] = {array->shape[0], steps, 2 * n};
    double *to = ARENA_ALLOC(mem, double, (shape[0] * steps * 2 * n));
    if (!to) return PLUMB_EMEMORY;
    *out = plumb_array_view(to, PLUMB_FLOAT64, 3, shape);
    for (int64_t r = 0; r < shape[0] * steps; r++)
        for (int64_t i = 0; i < n; i++) {
            double cosine, sine, *angle = to + r * 2 * n + i;
            const int64_t at = r * 3 * n;
            plumb_array_to_double(&cosine, array, at + circle_column(order, n, i, 0), 1);
            plumb_array_to_double(&sine, array, at + circle_column(order, n, i, 1), 1);
            plumb_array_to_double(angle + n, array, at + 2 * n + i, 1);
            *angle = atan2(sine, cosine);
            if (r % steps) *angle += turn * nearbyint((angle[-2 * n] - *angle) / turn);
        }
    return PLUMB_OK;
}

// (positions, velocities) to (positions, momenta).
static plumb_status replace_velocities(plumb_array *out, arena *mem, const plumb_array *array)
{
    const int64_t m = array->shape[2] / 2, rows = array->shape[0] * array->shape[1];
    double *momenta = ARENA_ALLOC(mem, double, (rows * m));
    double *to = ARENA_ALLOC(mem, double, (rows * 2 * m));
    if (!momenta || !to) return PLUMB_EMEMORY;
    const plumb_status st = kappa_fit_momenta(momenta, array);
    if (st) return st;
    for (int64_t r = 0; r < rows; r++) {
        plumb_array_to_double(to + r * 2 * m, array, r * 2 * m, m);
        for (int64_t i = 0; i < m; i++) to[r * 2 * m + m + i] = momenta[r * m + i];
    }
    *out = plumb_array_view(to, PLUMB_FLOAT64, 3, array->shape);
    return PLUMB_OK;
}

plumb_status layout_apply(plumb_array *out, arena *mem, const plumb_array *array,
                          plumb_layout layout, const char *name)
{
    *out = *array;
    if (layout == PLUMB_LAYOUT_POSITIONS_FIRST) return PLUMB_OK;
    const plumb_status st = check_columns(array, name, layout == PLUMB_LAYOUT_CIRCLE);
    if (st) return st;
    if (layout == PLUMB_LAYOUT_CIRCLE) return find_angles(out, mem, array, name);
    if (layout == PLUMB_LAYOUT_VELOCITIES) return replace_velocities(out, mem, array);
    return permute_columns(out, mem, array, layout);
}

plumb_status layout_apply_variance(plumb_array *out, arena *mem, const plumb_array *variance,
                                   plumb_layout layout)
{
    *out = *variance;
    if (layout == PLUMB_LAYOUT_CIRCLE)
        return fail(PLUMB_EVALUE, "a variance of the latents has no meaning for angles that are "
                                  "computed from (cos, sin)");
    if (layout == PLUMB_LAYOUT_POSITIONS_FIRST || layout == PLUMB_LAYOUT_VELOCITIES ||
        variance->ndim < 2)
        return PLUMB_OK; // a wrong shape is left to the measure
    return permute_columns(out, mem, variance, layout);
}
