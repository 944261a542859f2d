// SPDX-License-Identifier: MIT
// kappa from the sums over trajectories, its interval, and the verdict in words.
#include "measures/kappa/kappa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "math/eigen.h"
#include "math/rng.h"
#include "math/stats.h"

enum { STREAM_KAPPA = 21 };

// --- the number ---------------------------------------------------------------------------------

typedef struct sums {
    double along, norm, area, apart;
} sums;

static sums sums_of(const kappa_pullback_form *f, const double *times, int64_t trajectories)
{
    sums s = {0};
    for (int64_t k = 0; k < trajectories; k++) {
        const double t = times ? times[k] : 1.0;
        s.along += t * f->along[k];
        s.norm += t * f->norm[k];
        s.area += t * f->area[k];
        s.apart += t * f->apart[k];
    }
    return s;
}

// <O,A>^2 / (|A|^2 |O|^2). Errors of the fit add to |O|^2: two fits to independent halves differ by
// twice the variance of either, and that of the fit to all is half of it, so a quarter of |O1 -
// O2|^2 is taken away, but never more than half of |O|^2.
static double kappa_of(sums s)
{
    const double norm = fmax(s.norm - 0.25 * s.apart, 0.5 * s.norm);
    if (!(norm > 0.0) || !(s.area > 0.0)) return 0.0;
    return fmin(s.along * s.along / (s.area * norm), 1.0);
}

static double relative_error(sums s)
{
    return s.norm > 0.0 ? 0.25 * s.apart / s.norm : 0.0;
}

// How far the fit itself may be off, from how far the halves are apart: found by planting, so that
// the interval holds the true kappa in 19 of 20 cases. The second term is for what both halves
// miss.
static double fit_margin(sums s)
{
    return 2.0 * relative_error(s) + 0.12 * sqrt(relative_error(s));
}

static plumb_status interval(plumb_interval *out, arena *mem, const kappa_pullback_form *f,
                             int64_t trajectories, const plumb_kappa_options *opt)
{
    out->low = out->high = (double)NAN;
    if (!opt->resamples) return PLUMB_OK;
    double *times = ARENA_ALLOC(mem, double, trajectories);
    double *draws = ARENA_ALLOC(mem, double, opt->resamples);
    if (!times || !draws) return PLUMB_EMEMORY;
    rng r = rng_at(opt->seed, STREAM_KAPPA);
    for (int64_t i = 0; i < opt->resamples; i++) {
        rng_resample(times, &r, trajectories);
        draws[i] = kappa_of(sums_of(f, times, trajectories));
    }
    const sums all = sums_of(f, NULL, trajectories);
    const double kappa = kappa_of(all), margin = fit_margin(all);
    const plumb_interval middle = stats_interval_95(draws, opt->resamples);
    out->low = fmax(fmin(middle.low, kappa) - margin, 0.0);
    out->high = fmin(fmax(middle.high, kappa) + margin, 1.0);
    return PLUMB_OK;
}

// Singular values of the mean form over |c|.
static plumb_status spread_of_form(plumb_kappa *out, arena *mem, const kappa_pullback_form *f,
                                   int64_t size)
{
    double *square = ARENA_ALLOC(mem, double, (size * size));
    double *values = ARENA_ALLOC(mem, double, size);
    double *vectors = ARENA_ALLOC(mem, double, (size * size));
    if (!square || !values || !vectors) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++)
            for (int64_t k = 0; k < size; k++)
                square[i * size + j] += f->mean[k * size + i] * f->mean[k * size + j];
    const plumb_status st = eigen_symmetric(values, vectors, mem, square, size);
    if (st) return st;
    out->form_low = sqrt(fmax(values[size - 1], 0.0)) / fabs(out->c);
    out->form_high = sqrt(fmax(values[0], 0.0)) / fabs(out->c);
    return PLUMB_OK;
}

static plumb_status list_items(plumb_kappa *out, arena *keep, const kappa_rows *rows,
                               const kappa_pullback_form *f, double c)
{
    plumb_kappa_item *items = ARENA_ALLOC(keep, plumb_kappa_item, rows->trajectories);
    if (!items) return PLUMB_EMEMORY;
    double all = 0.0;
    for (int64_t k = 0; k < rows->trajectories; k++) {
        items[k].trajectory = rows->trajectory[k];
        items[k].kappa = kappa_of((sums){f->along[k], f->norm[k], f->area[k], f->apart[k]});
        items[k].lost = fmax(f->norm[k] - 2.0 * c * f->along[k] + c * c * f->area[k], 0.0);
        all += items[k].lost;
    }
    for (int64_t k = 0; k < rows->trajectories; k++)
        items[k].lost = all > 0.0 ? items[k].lost / all : 0.0;
    // Back into the order of the arrays: the halves were every second trajectory.
    const int64_t half = (rows->trajectories + 1) / 2;
    plumb_kappa_item *sorted = ARENA_ALLOC(keep, plumb_kappa_item, rows->trajectories);
    if (!sorted) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < rows->trajectories; k++)
        sorted[k] = items[k % 2 ? half + k / 2 : k / 2];
    out->items = sorted;
    return PLUMB_OK;
}

static plumb_status numbers(plumb_kappa *out, arena *keep, arena *mem, const kappa_rows *rows,
                            const kappa_truth *t, const kappa_latent *l,
                            const kappa_pullback_form *f, const plumb_kappa_options *opt)
{
    const sums s = sums_of(f, NULL, rows->trajectories);
    out->kappa = kappa_of(s);
    out->form_error = relative_error(s);
    out->r2_latent = f->r2;
    out->r2_local = f->local;
    const double c = s.area > 0.0 ? s.along / s.area : 0.0;
    out->c = c * l->largest * l->largest;
    plumb_status st = interval(&out->kappa_ci, mem, f, rows->trajectories, opt);
    if (st) return st;
    out->c = c;
    st = spread_of_form(out, mem, f, t->form);
    out->c = c * l->largest * l->largest;
    if (!st) st = list_items(out, keep, rows, f, c);
    if (st || !f->pairs) return st;
    const int64_t count = rows->n2 / 2 * (rows->m2 / 2);
    double *pairs = ARENA_ALLOC(keep, double, count);
    if (!pairs) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) pairs[i] = c != 0.0 ? f->pairs[i] / c : 0.0;
    out->pairs = pairs;
    return PLUMB_OK;
}

// --- the verdict --------------------------------------------------------------------------------

// More motion that is neither explained nor noise than this could hide what is wrong.
static const double most_missed = 0.05;
// With more error than this what is taken away for it decides.
static const double most_error = 0.1;
// Latents that hold this much of the state may hold all of it behind a map that is hard to fit.
static const double most_of_state = 0.85;
// A form this small beside what it could be is none: only the fit's error is left of it.
static const double no_area = 1e-3;

// A latent that moves smoothly, is no function of the state, and has a partner that is one: what
// area the two span cannot be seen from the state. Noise is not smooth, and spans none.
static bool escapes(const kappa_rows *rows, const kappa_latent *l, const kappa_pullback_form *f)
{
    const int64_t m = rows->m2 / 2;
    for (int64_t i = 0; i < rows->m2; i++) {
        const int64_t partner = i < m ? i + m : i - m;
        if (!l->alive[i] || l->constant[i] || l->idle[i] || f->left[i] < 0.5) continue;
        if (!l->alive[partner]) continue;
        double step = 0.0, square = 0.0;
        for (int64_t k = 0; k < rows->trajectories; k++)
            for (int64_t t = 0; t < rows->steps; t++) {
                const double *y = l->y + (k * rows->steps + t) * rows->m2 + i;
                square += *y * *y;
                if (t) step += (*y - y[-rows->m2]) * (*y - y[-rows->m2]);
            }
        if (step < 0.5 * 2.0 * square) return true; // white noise: step = 2 square
    }
    return false;
}

// A fit that is not sure of itself where it matters: then a map that is symplectic by design is
// asked as well.
static bool unsure(const plumb_kappa *r, const plumb_kappa_options *o)
{
    const bool high = r->kappa > o->kappa_bar;
    return r->r2_state > o->r2_bar && r->kappa > 0.1 && r->form_error > (high ? most_error : 0.005);
}

// What the free fit alone says.
static int judge(char *text, size_t size, const plumb_kappa *r, bool escaped, double missed,
                 const plumb_kappa_options *o)
{
    // A canonical map can be inverted everywhere. Where it is hard to fit backward, that the
    // latents follow from the state with little noise is enough.
    const double held = r->kappa > o->kappa_bar ? fmax(r->r2_state, r->r2_local) : r->r2_state;
    if (held > most_of_state && r->form_error > most_error) {
        snprintf(text, size,
                 "not determined: kappa %.4f, but the fits to two halves of the trajectories "
                 "differ in %.2g of the form; more trajectories would tell",
                 r->kappa, 4.0 * r->form_error);
        return PLUMB_VERDICT_NOT_DETERMINED;
    }
    if (!(held > o->r2_bar)) {
        snprintf(text, size,
                 "held-out R2 %.4f is not above %g: the latents do not hold the true state",
                 r->r2_state, o->r2_bar);
        return PLUMB_VERDICT_NOT_LEARNT;
    }
    if (r->kappa > o->kappa_bar && missed > most_missed) {
        snprintf(text, size,
                 "not determined: the map to the latents is too bent for so few trajectories: %.2g "
                 "of their motion is neither explained by the state nor noise",
                 missed);
        return PLUMB_VERDICT_NOT_DETERMINED;
    }
    if (r->kappa > o->kappa_bar) {
        snprintf(text, size,
                 "kappa %.4f is above %g and held-out R2 %.4f above %g: the latents are the true "
                 "phase space in other canonical coordinates",
                 r->kappa, o->kappa_bar, held, o->r2_bar);
        return PLUMB_VERDICT_LEARNT;
    }
    if (escaped) {
        snprintf(text, size,
                 "not determined: some latents move in ways that are no single-valued function of "
                 "the true state (R2 %.4f), so the area they span cannot be seen",
                 r->r2_latent);
        return PLUMB_VERDICT_NOT_DETERMINED;
    }
    if (unsure(r, o) && r->kappa + 6.0 * r->form_error > o->kappa_bar) {
        snprintf(text, size,
                 "not determined: kappa %.4f, but the fits to two halves of the trajectories "
                 "differ in %.2g of the form; more trajectories would tell",
                 r->kappa, 4.0 * r->form_error);
        return PLUMB_VERDICT_NOT_DETERMINED;
    }
    snprintf(text, size,
             "kappa %.4f is not above %g: the latents hold the true state, but do not keep its "
             "symplectic form",
             r->kappa, o->kappa_bar);
    return PLUMB_VERDICT_NOT_LEARNT;
}

// What the training of that map may leave open of a model that it could fit.
static const double untrained = 0.002;

// If the map symplectic by design predicts unseen trajectories as well as the free one, it is the
// better estimate of the two, and its kappa is 1; if far worse, the form is not kept.
static int second_opinion(char *text, size_t size, plumb_kappa *r, double free_r2, int verdict)
{
    const double left = 1.0 - r->symplectic_r2, free_left = 1.0 - free_r2;
    if (left <= free_left) {
        snprintf(text, size,
                 "a map symplectic by design predicts unseen latents better than a free one does "
                 "(R2 %.4f, %.4f), whose kappa is %.4f: the latents are the true phase space in "
                 "other canonical coordinates",
                 r->symplectic_r2, free_r2, r->kappa);
        r->kappa = r->kappa_ci.high = 1.0;
        return PLUMB_VERDICT_LEARNT;
    }
    if (left > 2.0 * free_left + untrained && r->form_error < most_error) {
        snprintf(text, size,
                 "kappa %.4f, and a map symplectic by design predicts unseen latents worse than a "
                 "free one does (R2 %.4f, %.4f): the latents hold the true state, but do not keep "
                 "its symplectic form",
                 r->kappa, r->symplectic_r2, free_r2);
        return PLUMB_VERDICT_NOT_LEARNT;
    }
    return verdict;
}

static plumb_status decide(plumb_kappa *out, arena *keep, arena *mem, const kappa_rows *rows,
                           const kappa_truth *t, const kappa_latent *l,
                           const kappa_pullback_form *f, const plumb_kappa_options *opt)
{
    char text[500];
    const bool escaped = escapes(rows, l, f);
    double free_r2 = (double)NAN;
    out->canonical = judge(text, sizeof text, out, escaped, f->missed, opt);
    const bool ask = unsure(out, opt) && !escaped;
    if (ask || opt->symplectic) {
        const plumb_status st =
            kappa_symplectic_map(&out->symplectic_r2, &free_r2, mem, rows, t, l, f, out->c, opt);
        if (st) return st;
    }
    if (ask && !isnan(free_r2))
        out->canonical = second_opinion(text, sizeof text, out, free_r2, out->canonical);
    // A right map may be sheared until hardly any area is left to see, so this comes last.
    if (out->canonical == PLUMB_VERDICT_NOT_DETERMINED && !escaped &&
        out->kappa <= opt->kappa_bar && f->span < no_area) {
        snprintf(
            text, sizeof text,
            "kappa %.4f: the latents hold the true state, but positions and momenta that belong "
            "together say the same, and span no area",
            out->kappa);
        out->canonical = PLUMB_VERDICT_NOT_LEARNT;
    }
    out->why = arena_strdup(keep, text);
    return out->why ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status measure(plumb_kappa *out, arena *keep, arena *mem, const plumb_array *latent,
                            const plumb_array *momenta, const plumb_array *truth,
                            const plumb_kappa_options *opt)
{
    kappa_rows rows;
    kappa_truth t;
    kappa_latent l;
    kappa_pullback_form f;
    plumb_status st = kappa_input_read(&rows, mem, latent, momenta, truth, opt);
    if (!st) st = kappa_reduce_truth(&t, mem, &rows, opt);
    if (!st) st = kappa_input_latents(&l, mem, &rows);
    if (!st) st = kappa_pullback(&f, mem, &rows, &t, &l, opt);
    if (!st) st = kappa_state_r2(&out->r2_state, mem, &rows, &t, &l, f.left, opt);
    if (!st) st = numbers(out, keep, mem, &rows, &t, &l, &f, opt);
    if (!st) st = decide(out, keep, mem, &rows, &t, &l, &f, opt);
    if (st) return st;
    out->reduced = *t.note ? arena_strdup(keep, t.note) : NULL;
    if (*t.note && !out->reduced) return PLUMB_EMEMORY;
    out->n = rows.n2 / 2, out->m = rows.m2 / 2, out->n_used = t.form / 2;
    out->trajectories = rows.trajectories, out->dropped = rows.dropped;
    out->steps = truth->shape[1];
    return PLUMB_OK;
}

plumb_status plumb_kappa_measure(plumb_kappa *out, const plumb_array *latent,
                                 const plumb_array *momenta, const plumb_array *truth,
                                 const plumb_kappa_options *options)
{
    const double started = clock_now();
    plumb_kappa_options opt = plumb_kappa_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_kappa_options");
    if (st) return st;
    plumb_kappa result = {.measured = true, .symplectic_r2 = (double)NAN};
    arena scratch = {0}, *keep = result_begin(&result.memory);
    st = keep ? measure(&result, keep, &scratch, latent, momenta, truth, &opt) : PLUMB_EMEMORY;
    arena_clear(&scratch);
    st = result_end(st, &result.memory);
    if (st) return st;
    const plumb_array *inputs[] = {latent, truth};
    hash_arrays(result.input_hash, inputs, 2);
    result.seconds = clock_now() - started;
    *out = result;
    return PLUMB_OK;
}

plumb_status kappa_set_unmeasured(plumb_kappa *out, const char *why)
{
    plumb_kappa result = {.canonical = PLUMB_VERDICT_NOT_DETERMINED};
    arena *keep = result_begin(&result.memory);
    if (keep) result.why = arena_strdup(keep, why);
    const plumb_status st = result_end(result.why ? PLUMB_OK : PLUMB_EMEMORY, &result.memory);
    if (!st) *out = result;
    return st;
}

void plumb_kappa_clear(plumb_kappa *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
