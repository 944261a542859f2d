// SPDX-License-Identifier: MIT
// The largest Lyapunov exponent from trajectories alone [Rosenstein93]: states of different
// trajectories that are close, and how fast their distance grows on average.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "math/rng.h"
#include "math/stats.h"
#include "measures/forecast/lyapunov.h"

enum {
    REFERENCES = 6,
    MAX_WINDOW = 120,
    RESAMPLES = 500,
    STREAM_LYAPUNOV = 31,
    MAX_CANDIDATES = 40000
};
// The linear part of the curve ends when it has covered this share of its rise.
static const double linear_share = 0.6;

typedef struct state_set {
    int64_t trajectories, steps, dims, window;
    double *x; // (trajectories, steps, dims), deviation 1
} state_set;

// Scales every coordinate to deviation 1, so that none of them dominates the distance.
static plumb_status cloud_init(state_set *states, arena *mem, const plumb_array *state)
{
    char text[256];
    plumb_array_shape_string(text, sizeof text, state);
    if (state->ndim != 3 || state->shape[0] < 8 || state->shape[1] < 16 || state->shape[2] < 1)
        return fail(PLUMB_ESHAPE,
                    "state is %s; a Lyapunov exponent needs at least (8 trajectories, 16 steps, 1 "
                    "dimension)",
                    text);
    *states = (state_set){
        .trajectories = state->shape[0], .steps = state->shape[1], .dims = state->shape[2]};
    states->window = states->steps / 2 < MAX_WINDOW ? states->steps / 2 : MAX_WINDOW;
    const int64_t count = plumb_array_count(state), rows = count / states->dims;
    states->x = ARENA_ALLOC(mem, double, count);
    if (!states->x) return PLUMB_EMEMORY;
    plumb_array_to_double(states->x, state, 0, count);
    for (int64_t i = 0; i < states->dims; i++) {
        double mean = 0.0, square = 0.0;
        for (int64_t r = 0; r < rows; r++) mean += states->x[r * states->dims + i] / (double)rows;
        for (int64_t r = 0; r < rows; r++) {
            const double by = states->x[r * states->dims + i] - mean;
            square += by * by / (double)rows;
        }
        if (!isfinite(square)) return fail(PLUMB_ENUMERIC, "state has NaN or infinity");
        for (int64_t r = 0; r < rows; r++)
            states->x[r * states->dims + i] /= square > 0.0 ? sqrt(square) : 1.0;
    }
    return PLUMB_OK;
}

// Squared distance between state s of trajectory a and state t of trajectory b.
static double compute_distance2(const state_set *states, int64_t a, int64_t s, int64_t b, int64_t t)
{
    const double *x = states->x + (a * states->steps + s) * states->dims,
                 *y = states->x + (b * states->steps + t) * states->dims;
    double sum = 0.0;
    for (int64_t i = 0; i < states->dims; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}

// The curve of one reference: log distance from its nearest state of another trajectory, step by
// step. False if all other states are equal to it.
static bool follow_neighbour(double *curve, const state_set *states, int64_t k, int64_t s)
{
    const int64_t last = states->steps - states->window;
    // Every Nth state is a candidate, so that the cost stays bounded for large sets.
    const int64_t every = states->trajectories * last / MAX_CANDIDATES + 1;
    double nearest = (double)INFINITY;
    int64_t who = -1, when = 0;
    for (int64_t b = 0; b < states->trajectories; b++) {
        if (b == k) continue;
        for (int64_t t = b % every; t < last; t += every) {
            const double by = compute_distance2(states, k, s, b, t);
            if (by > 0.0 && by < nearest) nearest = by, who = b, when = t;
        }
    }
    if (who < 0) return false;
    for (int64_t i = 0; i < states->window; i++)
        curve[i] = 0.5 * log(fmax(compute_distance2(states, k, s + i, who, when + i), 1e-30));
    return true;
}

// Least-squares slope of the linear part of the mean curve; `end` is the log distance of unrelated
// states, where the growth saturates.
static double fit_slope(const double *mean, int64_t window, double end)
{
    int64_t n = window;
    for (int64_t i = 5; i < window; i++)
        if (mean[i] > mean[0] + linear_share * (end - mean[0])) {
            n = i + 1;
            break;
        }
    // Slope = (n sum(t y) - sum(t) sum(y)) / (n sum(t^2) - sum(t)^2), per step.
    double st = 0.0, sy = 0.0, stt = 0.0, sty = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double t = (double)i;
        st += t, sy += mean[i], stt += t * t, sty += t * mean[i];
    }
    return ((double)n * sty - st * sy) / ((double)n * stt - st * st);
}

static plumb_status estimate_exponent(plumb_lyapunov *out, arena *mem, const plumb_array *state)
{
    state_set states = {0};
    plumb_status st = cloud_init(&states, mem, state);
    if (st) return st;
    // One curve per trajectory, the mean over its reference states, so that the bootstrap draws
    // trajectories.
    double *curves = ARENA_ALLOC(mem, double, (states.trajectories * states.window));
    double *one = ARENA_ALLOC(mem, double, states.window),
           *mean = ARENA_ALLOC(mem, double, states.window);
    double *times = ARENA_ALLOC(mem, double, states.trajectories);
    double *draws = ARENA_ALLOC(mem, double, RESAMPLES);
    if (!curves || !one || !mean || !times || !draws) return PLUMB_EMEMORY;
    double end = 0.0;
    int64_t apart = 0;
    for (int64_t k = 0; k < states.trajectories; k++) {
        int64_t found = 0;
        for (int64_t r = 0; r < REFERENCES; r++) {
            if (!follow_neighbour(one, &states, k, r * (states.steps - states.window) / REFERENCES))
                continue;
            for (int64_t i = 0; i < states.window; i++) curves[k * states.window + i] += one[i];
            found++;
        }
        if (!found) return fail(PLUMB_ENUMERIC, "state is constant: it has no Lyapunov exponent");
        for (int64_t i = 0; i < states.window; i++) curves[k * states.window + i] /= (double)found;
        // Two unrelated trajectories at the last step: where the growth must end.
        const int64_t other = (k + states.trajectories / 2) % states.trajectories;
        const double by = compute_distance2(&states, k, states.steps - 1, other, states.steps - 1);
        if (by > 0.0) end += 0.5 * log(by), apart++;
    }
    end /= (double)(apart ? apart : 1);
    rng random = rng_at(1, STREAM_LYAPUNOV);
    // Draw -1 is the estimate itself, the others are the bootstrap.
    for (int64_t d = -1; d < RESAMPLES; d++) {
        if (d < 0)
            for (int64_t k = 0; k < states.trajectories; k++) times[k] = 1.0;
        else rng_resample(times, &random, states.trajectories);
        memset(mean, 0, (size_t)states.window * sizeof *mean);
        for (int64_t k = 0; k < states.trajectories; k++)
            for (int64_t i = 0; i < states.window && times[k] > 0.0; i++)
                mean[i] += times[k] * curves[k * states.window + i] / (double)states.trajectories;
        const double slope = fit_slope(mean, states.window, end);
        if (d < 0) out->exponent = slope;
        else draws[d] = slope;
    }
    out->ci = stats_interval_95(draws, RESAMPLES);
    return PLUMB_OK;
}

plumb_status lyapunov_estimate(plumb_lyapunov *out, const plumb_array *state)
{
    arena mem = {0};
    plumb_lyapunov found = {0};
    const plumb_status st = estimate_exponent(&found, &mem, state);
    arena_clear(&mem);
    if (!st) *out = found;
    return st;
}
