// SPDX-License-Identifier: MIT
// The error of every frame of one direction, in parallel over trajectories. Arrays that cannot be
// compared are rejected.
#include "measures/forecast/frame_errors.h"

#include "base/array.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "measures/forecast/pixels.h"

// Frames are (trajectories, steps, height, width, channels). A model may predict fewer or more
// steps than the truth has.
plumb_status frame_errors_check_shape(const plumb_array *array, const plumb_array *truth,
                                      const char *name)
{
    char got[256], want[256];
    plumb_array_shape_string(got, sizeof got, array);
    if (array->ndim != 5)
        return fail(PLUMB_ESHAPE,
                    "%s is %s; expected 5 axes: trajectories, steps, height, width, channels", name,
                    got);
    for (int i = 0; i < 5; i++)
        if (array->shape[i] < 1) return fail(PLUMB_ESHAPE, "%s is %s, which is empty", name, got);
    for (int i = 0; i < 5; i++) {
        if (i == 1 || array->shape[i] == truth->shape[i]) continue;
        return fail(PLUMB_ESHAPE, "%s is %s and the truth %s; only the second axis may differ",
                    name, got, plumb_array_shape_string(want, sizeof want, truth));
    }
    return PLUMB_OK;
}

// The parallel pass over one prediction.
typedef struct frame_scan {
    pixels x, y;
    forecast_plan plan;
    int64_t frame; // pixels
    double *errors;
    bool *black;
    int64_t *bad[2], *where[2]; // not finite, per trajectory: in the truth, in the prediction
    bool truth_is_new;          // not checked for NaN yet
} frame_scan;

// One trajectory: counts NaN and infinity, then computes the error of each frame.
static plumb_status scan_trajectory(void *context, int64_t item, int worker)
{
    (void)worker;
    frame_scan *scan = context;
    const pixels sides[2] = {scan->x, scan->y};
    for (int i = scan->truth_is_new ? 0 : 1; i < 2; i++) {
        const int64_t count = sides[i].array->shape[1] * scan->frame;
        scan->bad[i][item] =
            pixels_not_finite(&scan->where[i][item], sides[i].array, item * count, count);
    }
    // The same frame may have another index in the prediction: plan.shift.
    const int64_t x_first = item * scan->x.array->shape[1] + scan->plan.first;
    const int64_t y_first = item * scan->y.array->shape[1] + scan->plan.first + scan->plan.shift;
    for (int64_t t = 0; t < scan->plan.count; t++) {
        const int64_t place = item * scan->plan.count + t;
        scan->errors[place] =
            pixels_error(&scan->black[place], scan->x, (x_first + t) * scan->frame, scan->y,
                         (y_first + t) * scan->frame, scan->frame);
    }
    return PLUMB_OK;
}

// The lowest trajectory with such a value is named, on any number of threads.
static plumb_status reject_nonfinite(const plumb_array *array, const char *name, const int64_t *bad,
                                     const int64_t *where)
{
    int64_t total = 0, first = -1;
    for (int64_t i = 0; i < array->shape[0]; i++) {
        if (bad[i] && first < 0) first = where[i];
        total += bad[i];
    }
    if (!total) return PLUMB_OK;
    return array_reject_nonfinite(array, name, total, first, "");
}

// Floats of 0 to 255 beside integer pixels are a common mistake: warn, do not fail.
static void warn_about_scale(const plumb_array *array, const plumb_array *other, const char *name)
{
    const bool mixed = plumb_dtype_size(array->dtype) > 1 && array->dtype != PLUMB_UINT16 &&
                       (other->dtype == PLUMB_UINT8 || other->dtype == PLUMB_UINT16);
    if (!mixed) return;
    const double greatest = pixels_greatest(array, 0, plumb_array_count(array) / array->shape[0]);
    if (greatest > 10.0)
        status_log("%s is %s with values up to %.4g beside %s frames, which are taken as 0 to 1; "
                   "divide it first if 255 is its white",
                   name, plumb_dtype_name(array->dtype), greatest, plumb_dtype_name(other->dtype));
}

plumb_status frame_errors_compute(frame_errors *out, arena *mem, const frame_errors_source *from)
{
    const plumb_array *truth = from->truth, *prediction = from->prediction;
    const char *name = from->backward ? "the backward prediction" : "the prediction";
    forecast_plan plan;
    plumb_status st = frame_errors_check_shape(prediction, truth, name);
    if (st) return st;
    st = forecast_protocol_plan(&plan, from->opt, truth->shape[1], prediction->shape[1],
                                from->backward);
    if (st) return st;

    const int64_t n = truth->shape[0];
    frame_scan scan = {.plan = plan,
                       .frame = truth->shape[2] * truth->shape[3] * truth->shape[4],
                       .truth_is_new = from->truth_is_new};
    if (!pixels_pair(&scan.x, &scan.y, truth, prediction))
        return fail(PLUMB_ESHAPE,
                    "the truth is %s and %s %s: types without a value of white; convert "
                    "both to one type, or to floats in 0 to 1",
                    plumb_dtype_name(truth->dtype), name, plumb_dtype_name(prediction->dtype));
    warn_about_scale(prediction, truth, name);
    warn_about_scale(truth, prediction, "the truth");

    // The product is at most the number of values of the truth.
    scan.errors = ARENA_ALLOC(mem, double, (n * plan.count));
    scan.black = ARENA_ALLOC(mem, bool, (n * plan.count));
    for (int i = 0; i < 2; i++) {
        scan.bad[i] = ARENA_ALLOC(mem, int64_t, n);
        scan.where[i] = ARENA_ALLOC(mem, int64_t, n);
        if (!scan.bad[i] || !scan.where[i]) return PLUMB_EMEMORY;
    }
    if (!scan.errors || !scan.black) return PLUMB_EMEMORY;
    st = parallel_for_progress(n, from->opt->threads, scan_trajectory, &scan, from->from,
                               from->share);
    if (!st) st = reject_nonfinite(truth, "the truth", scan.bad[0], scan.where[0]);
    if (!st) st = reject_nonfinite(prediction, name, scan.bad[1], scan.where[1]);
    if (st) return st;
    *out = (frame_errors){n, plan, scan.errors, scan.black};
    return PLUMB_OK;
}
