// SPDX-License-Identifier: MIT
// What the motion looks like: distributions and spectra of the columns, phase, range, and how the
// error grows.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "measures/dynamics/dynamics.h"

enum { MAX_SPECTRUM = 1024 };

static const double full_turn = 6.283185307179586;

static const double *get_column(const dynamics_states *s, const double *states, int64_t trajectory,
                                int64_t step, int64_t c)
{
    return states + (trajectory * s->steps + step) * s->dims + c;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// ---- distributions ----

// Sorted values of a column in the last half. False if one is not finite.
static bool sort_values(double *out, const dynamics_states *s, const double *states, int64_t c)
{
    int64_t count = 0;
    const int64_t first = s->context + (s->steps - s->context) / 2;
    for (int64_t i = 0; i < s->trajectories; i++)
        for (int64_t t = first; t < s->steps; t++) {
            out[count] = *get_column(s, states, i, t, c);
            if (!isfinite(out[count++])) return false;
        }
    qsort(out, (size_t)count, sizeof *out, compare_numbers);
    return true;
}

// Mean over columns of the Wasserstein distance: that of the sorted values.
static double compare_values(const dynamics_states *s, const double *states, double *a, double *b)
{
    const int64_t first = s->context + (s->steps - s->context) / 2;
    const int64_t count = s->trajectories * (s->steps - first);
    double sum = 0.0;
    int64_t columns = 0;
    for (int64_t c = 0; c < s->dims; c++) {
        if (s->deviation[c] <= 0.0) continue;
        if (!sort_values(a, s, states, c)) return (double)INFINITY;
        sort_values(b, s, s->truth, c);
        double distance = 0.0;
        for (int64_t k = 0; k < count; k++) distance += fabs(a[k] - b[k]) / (double)count;
        sum += distance / s->deviation[c];
        columns++;
    }
    return sum / (double)columns;
}

// ---- spectra ----

// A frequency, bin / length, in some steps. cosine, sine (length) of a full turn.
typedef struct fourier_window {
    int64_t first, length, bin;
    const double *cosine, *sine;
} fourier_window;

// The window of all bins of `length` steps. False if out of memory.
static bool make_window(fourier_window *out, arena *mem, int64_t length)
{
    double *cosine = ARENA_ALLOC(mem, double, length + 1);
    double *sine = ARENA_ALLOC(mem, double, length + 1);
    *out = (fourier_window){.length = length, .cosine = cosine, .sine = sine};
    for (int64_t k = 0; cosine && sine && k < length; k++) {
        cosine[k] = cos(full_turn * (double)k / (double)length);
        sine[k] = sin(full_turn * (double)k / (double)length);
    }
    return cosine && sine;
}

// Fourier coefficient of a column, the mean taken out.
static void transform_bin(double out[2], const dynamics_states *s, const double *states,
                          int64_t trajectory, int64_t c, const fourier_window *w)
{
    const int64_t first = w->first, length = w->length;
    double mean = 0.0;
    for (int64_t t = 0; t < length; t++)
        mean += *get_column(s, states, trajectory, first + t, c) / (double)length;
    out[0] = out[1] = 0.0;
    for (int64_t t = 0, at = 0; t < length; t++) {
        const double x = *get_column(s, states, trajectory, first + t, c) - mean;
        out[0] += x * w->cosine[at];
        out[1] -= x * w->sine[at];
        at += w->bin;
        if (at >= length) at -= length;
    }
}

// Power of bins 1 .. length/2 of a column over all trajectories, summing to 1. False if it cannot.
static bool measure_spectrum(double *power, const dynamics_states *s, const double *states,
                             int64_t c, fourier_window w)
{
    const int64_t length = w.length;
    double total = 0.0;
    w.first = s->context;
    for (int64_t bin = 1; bin <= length / 2; bin++) {
        power[bin] = 0.0;
        for (int64_t i = 0; i < s->trajectories; i++) {
            double z[2];
            w.bin = bin;
            transform_bin(z, s, states, i, c, &w);
            power[bin] += z[0] * z[0] + z[1] * z[1];
        }
        total += power[bin];
    }
    if (!isfinite(total) || !(total > 0.0)) return false;
    for (int64_t bin = 1; bin <= length / 2; bin++) power[bin] /= total;
    return true;
}

// Mean over columns of half the sum of differences.
static double compare_spectra(const dynamics_states *s, const double *states, double *a, double *b,
                              const fourier_window *w)
{
    const int64_t length = w->length;
    double sum = 0.0;
    int64_t columns = 0;
    for (int64_t c = 0; c < s->dims; c++) {
        if (s->deviation[c] <= 0.0 || !measure_spectrum(b, s, s->truth, c, *w)) continue;
        double distance = 1.0;
        if (measure_spectrum(a, s, states, c, *w)) {
            distance = 0.0;
            for (int64_t bin = 1; bin <= length / 2; bin++) distance += 0.5 * fabs(a[bin] - b[bin]);
        }
        sum += distance;
        columns++;
    }
    return columns ? sum / (double)columns : (double)NAN;
}

// ---- phase ----

static double wrap_angle(double angle)
{
    return remainder(angle, full_turn);
}

// The phase of the rollout against the truth in one window.
static double compare_phase(const dynamics_states *s, int64_t trajectory, int64_t c,
                            const fourier_window *w)
{
    double p[2], x[2];
    transform_bin(p, s, s->rollout, trajectory, c, w);
    transform_bin(x, s, s->truth, trajectory, c, w);
    return atan2(p[1] * x[0] - p[0] * x[1], p[0] * x[0] + p[1] * x[1]);
}

// Change of the phase between the two halves, radians per step. NaN if no column has a frequency
// with a fifth of its power.
static double measure_phase(const dynamics_states *s, double *power, fourier_window w)
{
    const int64_t half = (s->steps - s->context) / 2, length = w.length;
    double best = 0.2;
    int64_t column = -1, bin = 0;
    for (int64_t c = 0; c < s->dims; c++) {
        if (s->deviation[c] <= 0.0 || !measure_spectrum(power, s, s->truth, c, w)) continue;
        for (int64_t k = 1; k <= length / 2; k++)
            if (power[k] > best) best = power[k], column = c, bin = k;
    }
    if (column < 0) return (double)NAN;
    double sum = 0.0;
    fourier_window first = w, second = w;
    first.bin = second.bin = bin;
    first.first = s->context;
    second.first = s->context + half;
    for (int64_t i = 0; i < s->trajectories; i++) {
        const double early = compare_phase(s, i, column, &first);
        const double late = compare_phase(s, i, column, &second);
        sum += fabs(wrap_angle(late - early)) / (double)half;
    }
    return sum / (double)s->trajectories;
}

// ---- range and growth ----

// Mean over trajectories of the variance of a column in the last third.
static double measure_variance(const dynamics_states *s, const double *states, int64_t c)
{
    const int64_t third = (s->steps - s->context) / 3, first = s->steps - third;
    double sum = 0.0;
    for (int64_t i = 0; i < s->trajectories; i++) {
        double mean = 0.0, square = 0.0;
        for (int64_t t = first; t < s->steps; t++)
            mean += *get_column(s, states, i, t, c) / (double)third;
        for (int64_t t = first; t < s->steps; t++) {
            const double x = *get_column(s, states, i, t, c) - mean;
            square += x * x;
        }
        sum += isfinite(square) ? square / (double)third : (double)INFINITY;
    }
    return sum / (double)s->trajectories;
}

static double measure_range(const dynamics_states *s)
{
    double rollout = 0.0, truth = 0.0;
    for (int64_t c = 0; c < s->dims; c++) {
        if (s->deviation[c] <= 0.0) continue;
        const double scale = s->deviation[c] * s->deviation[c];
        rollout += measure_variance(s, s->rollout, c) / scale;
        truth += measure_variance(s, s->truth, c) / scale;
    }
    return truth > 0.0 ? sqrt(rollout / truth) : (double)NAN;
}

// Slope of the mean over trajectories of the log of the error, over the steps in which it grows: up
// to the first whose mean square is above 0.5 deviations. (The log of the mean would grow faster:
// the worst trajectories rule it.) NaN with fewer than five steps.
static double measure_growth(const plumb_state_forecast *motion)
{
    double n = 0.0, t1 = 0.0, t2 = 0.0, y1 = 0.0, ty = 0.0;
    for (int64_t t = 0; t < motion->scored && motion->step_vrmse[t] <= 0.5; t++) {
        double y = 0.0;
        for (int64_t i = 0; i < motion->trajectories; i++)
            y += log(motion->errors[i * motion->scored + t]) / (double)motion->trajectories;
        if (!isfinite(y)) continue;
        const double x = (double)t;
        n += 1.0, t1 += x, t2 += x * x, y1 += y, ty += x * y;
    }
    return n < 5.0 ? (double)NAN : (n * ty - t1 * y1) / (n * t2 - t1 * t1);
}

plumb_status dynamics_compare_motion(plumb_dynamics *out, arena *mem, const dynamics_states *s)
{
    const int64_t rows = s->trajectories * s->steps + MAX_SPECTRUM + 2;
    double *a = ARENA_ALLOC(mem, double, rows), *b = ARENA_ALLOC(mem, double, rows);
    const int64_t scored = s->steps - s->context, half = scored / 2;
    fourier_window all, part;
    if (!a || !b || !make_window(&all, mem, scored < MAX_SPECTRUM ? scored : MAX_SPECTRUM) ||
        !make_window(&part, mem, half < MAX_SPECTRUM ? half : MAX_SPECTRUM))
        return PLUMB_EMEMORY;
    out->histogram = compare_values(s, s->rollout, a, b);
    out->histogram_floor = compare_values(s, s->encoded, a, b);
    plumb_status st = status_check_stop();
    if (st) return st;
    out->spectrum = compare_spectra(s, s->rollout, a, b, &all);
    out->spectrum_floor = compare_spectra(s, s->encoded, a, b, &all);
    st = status_check_stop();
    if (st) return st;
    out->phase_rate = measure_phase(s, a, part);
    out->range = measure_range(s);
    out->growth = measure_growth(&out->motion);
    const double exponent = out->motion.lyapunov.exponent;
    // Below this an estimate cannot be told from 0.
    out->growth_lyapunov = exponent > 0.005 && out->motion.lyapunov.ci.low > 0.0
                               ? out->growth / exponent
                               : (double)NAN;
    return PLUMB_OK;
}
