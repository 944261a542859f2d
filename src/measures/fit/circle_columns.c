// SPDX-License-Identifier: MIT
// Recognises cosines and sines by the sum of their squares.
#include "measures/fit/circle_columns.h"

#include <math.h>

// The squared radius may differ from its mean by this share: learnt circles are not exact.
static const double tolerance = 0.01;
// Each of the two must move by this share of the radius.
static const double least_motion = 0.05;

int64_t circle_column(circle_order order, int64_t n, int64_t i, int part)
{
    return order == CIRCLE_BY_PAIR ? 2 * i + part : i + part * n;
}

// Is angle i a circle? Some thousand rows suffice.
static bool is_circle(const plumb_array *array, circle_order order, int64_t i)
{
    enum { MAX_ROWS = 4000 };
    const int64_t wide = array->shape[2], rows = array->shape[0] * array->shape[1];
    const int64_t stride = (rows + MAX_ROWS - 1) / MAX_ROWS;
    double low = (double)INFINITY, high = 0.0, least[2] = {low, low}, most[2] = {-low, -low};
    for (int64_t r = 0; r < rows; r += stride) {
        double square = 0.0;
        for (int part = 0; part < 2; part++) {
            double v;
            plumb_array_to_double(&v, array, r * wide + circle_column(order, wide / 3, i, part), 1);
            if (!isfinite(v)) return false;
            square += v * v;
            least[part] = fmin(least[part], v), most[part] = fmax(most[part], v);
        }
        low = fmin(low, square), high = fmax(high, square);
    }
    const double motion = least_motion * sqrt(fmax(high, 0.0));
    return high > 0.0 && high - low < 2.0 * tolerance * high && most[0] - least[0] > motion &&
           most[1] - least[1] > motion;
}

circle_order circle_columns_find(const plumb_array *array)
{
    if (array->ndim != 3 || array->shape[2] < 3 || array->shape[2] % 3) return CIRCLE_NONE;
    for (circle_order order = CIRCLE_BY_PAIR; order <= CIRCLE_BY_KIND; order++) {
        bool all = true;
        for (int64_t i = 0; i < array->shape[2] / 3 && all; i++) all = is_circle(array, order, i);
        if (all) return order;
    }
    return CIRCLE_NONE;
}
