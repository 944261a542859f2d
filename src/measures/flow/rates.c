// SPDX-License-Identifier: MIT
// How the flow of the latents changes areas, per step. The map z(t) -> z(t + lag) is fitted for a
// lag and for its double. Noise in z(t) makes both areas too small by the same factor, so the rate
// is taken from their ratio: rate^lag = c(2 lag) / c(lag).
#include <math.h>

#include "measures/flow/flow.h"
#include "measures/kappa/area.h"

// Starts of the map per trajectory, at most; rows of the fit, at most.
enum { MAX_STARTS = 60, MAX_ROWS = 5000, CENTRES = 200 };
// With more latents that move, or more inputs from actions, the map is not fitted.
enum { MAX_LATENTS = 16, MAX_KNOWN = 8, MAX_PARTS = 4 };

// A map with a larger error than the first value is fitted again with a shorter lag. With a larger
// one than the second, or a lower kappa than the third, its area says nothing.
static const double good_error = 0.002, max_error = 0.05, min_kappa = 0.9;
// What the errors of the fits, and what kappa lacks of 1, add to the interval.
static const double margin_fit = 4.0, margin_kappa = 0.5;

typedef struct lag_pair {
    int64_t lag;
    kappa_area one, two; // of the lag, and of its double
} lag_pair;

// log of the rate, with trajectory k counted times[k] times; NULL: once.
static double compute_log_rate(const void *context, const double *times)
{
    const lag_pair *p = context;
    double dot[2] = {0}, norm2[2] = {0};
    for (int64_t k = 0; k < p->one.trajectories; k++) {
        const double t = times ? times[k] : 1.0;
        dot[0] += t * p->one.dot[k], norm2[0] += t * p->one.true_norm2[k];
        dot[1] += t * p->two.dot[k], norm2[1] += t * p->two.true_norm2[k];
    }
    const double ratio = dot[1] / norm2[1] / (dot[0] / norm2[0]);
    return ratio > 0.0 ? log(ratio) / (double)p->lag : (double)NAN;
}

// Half the width that the errors of the two fits add to the interval of the log of the rate.
static double compute_fit_margin(const lag_pair *p)
{
    const double one = p->one.c_error / fabs(p->one.c), two = p->two.c_error / fabs(p->two.c);
    const double lacking = 1.0 - fmin(p->one.kappa, p->two.kappa);
    return (margin_fit * sqrt(one * one + two * two) + margin_kappa * lacking) / (double)p->lag;
}

// What drives the system between the ends of the map, as inputs of it: means of the action over as
// many parts of that time as there is room for. `ends` says how many starts there are.
static plumb_status list_actions(plumb_array *out, const flow_work *work, const plumb_array *ends,
                                 int64_t stride, int64_t lag)
{
    const plumb_array *action = work->in.action;
    const int64_t wide = action->shape[2], starts = ends->shape[1];
    int64_t parts = MAX_KNOWN / wide;
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    if (parts > lag) parts = lag;
    double *all = ARENA_ALLOC(work->mem, double, (work->trajectories * starts * parts * wide)), *to;
    double *row = ARENA_ALLOC(work->mem, double, wide);
    if (!all || !row) return PLUMB_EMEMORY;
    to = all;
    for (int64_t k = 0; k < work->trajectories; k++)
        for (int64_t s = 0; s < starts; s++)
            for (int64_t part = 0; part < parts; part++, to += wide) {
                const int64_t first = part * lag / parts, end = (part + 1) * lag / parts;
                for (int64_t i = 0; i < wide; i++) to[i] = 0.0;
                for (int64_t t = first; t < end; t++) {
                    const int64_t step = work->trajectory[k] * action->shape[1] + s * stride + t;
                    plumb_array_to_double(row, action, step * wide, wide);
                    for (int64_t i = 0; i < wide; i++) to[i] += row[i] / (double)(end - first);
                }
            }
    *out = plumb_array_view(all, PLUMB_FLOAT64, 3,
                            (int64_t[]){work->trajectories, starts, parts * wide});
    return PLUMB_OK;
}

static plumb_status fit_lag(lag_pair *out, const flow_work *work, const plumb_array *array,
                            const bool *columns, int64_t lag)
{
    int64_t dims = 0;
    for (int64_t i = 0; i < array->shape[2]; i++) dims += !columns || columns[i];
    const int64_t room = work->steps - 2 * lag;
    int64_t starts = MAX_ROWS / work->trajectories;
    if (starts > MAX_STARTS) starts = MAX_STARTS;
    if (starts < 2) starts = 2;
    if (starts > room) starts = room;
    const int64_t stride = room / starts;
    plumb_array ends[3];
    for (int i = 0; i < 3; i++) {
        double *values = flow_copy(
            work, array,
            &(flow_slice){.first = i * lag, .stride = stride, .count = starts, .columns = columns});
        if (!values) return PLUMB_EMEMORY;
        ends[i] = plumb_array_view(values, PLUMB_FLOAT64, 3,
                                   (int64_t[]){work->trajectories, starts, dims});
    }
    plumb_kappa_options opt = plumb_kappa_defaults();
    opt.centres = CENTRES;
    plumb_array constants;
    if (columns && work->constants) {
        const flow_slice slice = {.stride = 1, .count = 1, .columns = work->constant};
        double *values = flow_copy(work, array, &slice);
        if (!values) return PLUMB_EMEMORY;
        constants = plumb_array_view(values, PLUMB_FLOAT64, 2,
                                     (int64_t[]){work->trajectories, work->constants});
        opt.constants = &constants;
    }
    out->lag = lag;
    plumb_array known;
    plumb_status st = PLUMB_OK;
    for (int i = 1; i < 3 && !st; i++) {
        if (work->driven) st = list_actions(&known, work, &ends[0], stride, i * lag);
        if (!st)
            st = kappa_measure_area(i == 1 ? &out->one : &out->two, work->mem, &ends[0], &ends[i],
                                    work->driven ? &known : NULL, &opt);
    }
    return st;
}

static bool is_usable(const lag_pair *p)
{
    return p->one.is_determined && p->two.is_determined && p->one.c * p->two.c > 0.0 &&
           p->one.kappa > min_kappa && p->two.kappa > min_kappa && p->two.form_error < max_error;
}

// The longest lag whose map is fitted well: a twelfth of the trajectory, then shorter ones.
static plumb_status choose_lag(lag_pair *out, bool *found, const flow_work *work,
                               const plumb_array *array, const bool *columns)
{
    int64_t lag = work->opt->lag > 0 ? work->opt->lag : work->steps / 12;
    if (lag < 1) lag = 1;
    *found = false;
    for (; lag >= 1 && work->steps > 2 * lag + 1; lag /= 2) {
        lag_pair p;
        const plumb_status st = fit_lag(&p, work, array, columns, lag);
        if (st) return st;
        if (is_usable(&p) && (!*found || compute_fit_margin(&p) < compute_fit_margin(out)))
            *out = p, *found = true;
        if (work->opt->lag > 0 || (*found && out->two.form_error < good_error)) break;
    }
    return PLUMB_OK;
}

plumb_status flow_measure_rates(plumb_flow *out, const flow_work *work)
{
    lag_pair p;
    bool found = false;
    int64_t latents = 0;
    for (int64_t i = 0; i < work->latent_dims; i++) latents += work->paired[i];
    if (!latents || latents > MAX_LATENTS) return PLUMB_OK;
    if (work->driven && work->in.action->shape[2] > MAX_KNOWN) return PLUMB_OK;
    plumb_status st = choose_lag(&p, &found, work, work->in.latent, work->paired);
    if (st || !found) return st;
    const double rate = compute_log_rate(&p, NULL), margin = compute_fit_margin(&p);
    plumb_interval draws;
    st = flow_interval(&draws, work, compute_log_rate, &p);
    if (st) return st;
    out->lag = p.lag;
    out->kappa = p.one.kappa;
    out->area_rate = exp(rate);
    out->area_rate_ci.low = exp(fmin(draws.low, rate) - margin);
    out->area_rate_ci.high = exp(fmax(draws.high, rate) + margin);
    out->volume_rate = exp((p.two.log_volume - p.one.log_volume) / (double)p.lag);
    // The same of the truth, by the same lag.
    if (!work->in.truth) return PLUMB_OK;
    lag_pair t;
    st = fit_lag(&t, work, work->in.truth, NULL, p.lag);
    if (!st && is_usable(&t)) out->true_area_rate = exp(compute_log_rate(&t, NULL));
    return st;
}
