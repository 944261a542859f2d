// SPDX-License-Identifier: MIT
// Two ways to hold motion fixed. Matching: only tuples count whose possible and impossible clips
// differ little in every number of motion. Adjusting: the difference of scores is regressed on the
// differences of motion, and its motion part is subtracted, for all tuples.
#include "measures/surprise/motion_control.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "measures/surprise/tuple_metrics.h"

enum { SIZE = MOTION_CONTROL_MAX + 1 };

// Differences closer than this share of the deviation between clips count as matched. 0.2 is the
// usual caliper of matching.
static const double caliper = 0.2;

static double subtract_sums(const double *x, int64_t stride)
{
    return (x[2 * stride] + x[3 * stride]) - (x[0] + x[stride]);
}

// Standard deviation of one number over all clips.
static double compute_deviation(const motion_control_task *task, int64_t number)
{
    const int64_t n = 4 * task->tuples;
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) mean += task->motion[i * task->numbers + number] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double off = task->motion[i * task->numbers + number] - mean;
        square += off * off / (double)n;
    }
    return sqrt(square);
}

// Solves a x = b of size n by elimination; columns without a pivot get 0.
static void solve_equations(double *x, double a[SIZE][SIZE], double *b, int64_t n)
{
    bool used[SIZE] = {false};
    double scale = 0.0;
    for (int64_t i = 0; i < n; i++) scale = fmax(scale, fabs(a[i][i]));
    for (int64_t k = 0; k < n; k++) {
        // The matrix is symmetric and not negative, so pivots on the diagonal are enough.
        if (!(a[k][k] > 1e-12 * scale)) continue;
        used[k] = true;
        for (int64_t i = 0; i < n; i++) {
            if (i == k) continue;
            const double by = a[i][k] / a[k][k];
            for (int64_t j = 0; j < n; j++) a[i][j] -= by * a[k][j];
            b[i] -= by * b[k];
        }
    }
    for (int64_t k = 0; k < n; k++) x[k] = used[k] ? b[k] / a[k][k] : 0.0;
}

// A difference that is no more than rounding counts as none.
static bool is_positive(double value, double scale)
{
    return value > 1e-12 * scale;
}

plumb_status motion_control_measure(plumb_surprise_motion *out, arena *mem,
                                    const motion_control_task *task)
{
    const int64_t n = task->tuples, m = task->numbers;
    const arena_mark mark = arena_get_mark(mem);
    double *x = ARENA_ALLOC(mem, double, n *(m + 1)); // differences, and 1 for the constant
    double *y = ARENA_ALLOC(mem, double, n);
    if (!x || !y) return PLUMB_EMEMORY;
    plumb_surprise_motion found = {.measured = true, .tuples = n};
    double a[SIZE][SIZE] = {{0}}, b[SIZE] = {0}, weight[SIZE], scale = 0.0, deviation[SIZE];
    for (int64_t j = 0; j < m; j++) deviation[j] = compute_deviation(task, j);
    for (int64_t i = 0; i < n; i++) {
        bool matched = true;
        y[i] = subtract_sums(task->score + 4 * i, 1);
        scale = fmax(scale, fabs(y[i]));
        for (int64_t j = 0; j < m; j++) {
            // In deviations, half of the sum: that of one clip.
            const double off = 0.5 * subtract_sums(task->motion + 4 * i * m + j, m);
            x[i * (m + 1) + j] = deviation[j] > 0.0 ? off / deviation[j] : 0.0;
            matched = matched && fabs(x[i * (m + 1) + j]) <= caliper;
        }
        x[i * (m + 1) + m] = 1.0;
        found.matched += matched;
        found.matched_right += matched && tuple_metrics_right(task->score + 4 * i);
        for (int64_t j = 0; j <= m; j++) {
            b[j] += x[i * (m + 1) + j] * y[i];
            for (int64_t k = 0; k <= m; k++) a[j][k] += x[i * (m + 1) + j] * x[i * (m + 1) + k];
        }
    }
    solve_equations(weight, a, b, m + 1);
    int64_t adjusted = 0, alone = 0;
    for (int64_t i = 0; i < n; i++) {
        double motion = 0.0;
        for (int64_t j = 0; j < m; j++) motion += weight[j] * x[i * (m + 1) + j];
        adjusted += is_positive(y[i] - motion, scale);
        alone += is_positive(motion, scale);
    }
    found.adjusted_accuracy = (double)adjusted / (double)n;
    found.alone_accuracy = (double)alone / (double)n;
    found.matched_accuracy =
        found.matched ? (double)found.matched_right / (double)found.matched : (double)NAN;
    if (found.matched)
        found.matched_wilson = tuple_metrics_wilson(found.matched_right, found.matched);
    else found.matched_wilson = (plumb_interval){(double)NAN, (double)NAN};
    *out = found;
    arena_rewind(mem, mark);
    return PLUMB_OK;
}
