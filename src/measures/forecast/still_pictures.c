// SPDX-License-Identifier: MIT
// Errors of pictures that never move, in parallel over trajectories. Nothing is widened or copied:
// a prediction of 1000 equal frames is one frame.
#include "measures/forecast/still_pictures.h"

#include <math.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "measures/forecast/pixels.h"

const double *still_pictures_mean_frame(arena *mem, const plumb_array *truth)
{
    const int64_t frame = truth->shape[2] * truth->shape[3] * truth->shape[4];
    const int64_t count = truth->shape[0] * truth->shape[1];
    double *mean = ARENA_ALLOC(mem, double, frame);
    const arena_mark mark = arena_get_mark(mem);
    double *one = ARENA_ALLOC(mem, double, frame);
    if (!mean || !one) return NULL;
    for (int64_t k = 0; k < count; k++) {
        plumb_array_to_double(one, truth, k * frame, frame);
        for (int64_t i = 0; i < frame; i++) mean[i] += one[i];
    }
    for (int64_t i = 0; i < frame; i++) mean[i] /= (double)count;
    arena_rewind(mem, mark);
    return mean;
}

// The parallel pass.
typedef struct still_scan {
    pixels truth, mean_frame;
    forecast_plan plan;
    int64_t frame;  // pixels
    int64_t copied; // the truth frame that is copied
    still_pictures errors;
} still_scan;

static plumb_status scan_trajectory(void *context, int64_t item, int worker)
{
    (void)worker;
    const still_scan *scan = context;
    const int64_t steps = scan->truth.array->shape[1], frame = scan->frame;
    const forecast_window vpt = scan->plan.vpt;
    for (int64_t t = 0; t < vpt.count; t++) {
        bool black;
        const int64_t x = (item * steps + scan->plan.first + vpt.first + t) * frame;
        scan->errors.mean[item * vpt.count + t] =
            pixels_error(&black, scan->truth, x, scan->mean_frame, 0, frame);
        if (scan->errors.copy)
            scan->errors.copy[item * vpt.count + t] = pixels_error(
                &black, scan->truth, x, scan->truth, (item * steps + scan->copied) * frame, frame);
    }
    return PLUMB_OK;
}

plumb_status still_pictures_compute(still_pictures *out, arena *mem,
                                    const frame_errors_source *from, const frame_errors *table,
                                    const double *mean_frame)
{
    const plumb_array *truth = from->truth;
    const forecast_window vpt = table->plan.vpt;
    const int64_t frame = truth->shape[2] * truth->shape[3] * truth->shape[4];
    const plumb_array mean = plumb_array_view((void *)mean_frame, PLUMB_FLOAT64, 1, &frame);
    // Both sides are in the units of the truth: the error is a ratio.
    still_scan scan = {.truth = {truth, 1.0},
                       .mean_frame = {&mean, 1.0},
                       .plan = table->plan,
                       .frame = frame,
                       .copied = table->plan.first +
                                 (from->backward ? vpt.first + vpt.count : vpt.first - 1)};
    scan.errors.mean = ARENA_ALLOC(mem, double, (table->trajectories * vpt.count));
    if (!scan.errors.mean) return PLUMB_EMEMORY;
    if (scan.copied >= 0 && scan.copied < truth->shape[1]) {
        scan.errors.copy = ARENA_ALLOC(mem, double, (table->trajectories * vpt.count));
        if (!scan.errors.copy) return PLUMB_EMEMORY;
    }
    const plumb_status st =
        parallel_for(table->trajectories, from->opt->threads, scan_trajectory, &scan);
    if (!st) *out = scan.errors;
    return st;
}

double still_pictures_mean_error(const double *errors, int64_t count)
{
    double sum = 0.0;
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(errors[i])) {
            sum += errors[i];
            n++;
        }
    return n ? sum / (double)n : (double)NAN;
}
