// SPDX-License-Identifier: MIT
#include "measures/probe/hint.h"

#include <math.h>

static const double full_turn = 6.283185307179586;

// All values are within a turn, some steps are nearly one, and none is about half of one.
static bool is_wrapped(const probe_data *data, int64_t c)
{
    enum { MIN_JUMPS = 2 };
    const probe_column *column = &data->column[c];
    double low = (double)INFINITY, high = -low;
    int64_t jumps = 0;
    if (!column->per_step || column->part != PROBE_VALUE || !(column->scale > 0.0)) return false;
    for (int64_t i = 0; i < data->trajectories; i++)
        for (int64_t t = 0; t < data->length[i]; t++) {
            const double *y = data->y + (data->start[i] + t) * data->columns + c;
            low = fmin(low, *y), high = fmax(high, *y);
            if (!t) continue;
            const double step = fabs(*y - y[-data->columns]) / column->scale;
            if (step > 0.75 * full_turn) jumps++;
            else if (step > 0.4 * full_turn) return false;
        }
    return jumps >= MIN_JUMPS && (high - low) / column->scale <= 1.001 * full_turn;
}

const probe_column *probe_find_wrapped_angle(const probe_data *data)
{
    for (int64_t c = 0; c < data->columns; c++)
        if (is_wrapped(data, c)) return &data->column[c];
    return NULL;
}
