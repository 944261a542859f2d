// SPDX-License-Identifier: MIT
// kappa from the sums over trajectories, its interval, and what goes into the result beside it.
#include "measures/kappa/kappa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "math/eigen.h"
#include "math/rng.h"
#include "math/stats.h"

enum { STREAM_KAPPA = 21 };

// The interval is widened by 2 e + 0.12 sqrt(e), e the relative error of the form. Both factors
// were found on planted models, so that the interval covers the true kappa in 19 of 20 cases. The
// second term is for errors that both halves share.
static const double margin_linear = 2.0, margin_root = 0.12;
// A fit with twice the centres is nearer to the truth than this many times the difference.
static const double margin_coarse = 2.0;

// ---- kappa ----

// Sums over trajectories: <O, A>, |O|^2, |A|^2, |O1 - O2|^2.
typedef struct form_sums {
    double dot, form_norm2, true_norm2, halves_diff2;
} form_sums;

// `times` (trajectories): how often each trajectory counts; NULL: once. `c` (trajectories): the
// constant of each, by which its A is multiplied; NULL: one c for all.
static form_sums add_trajectories(const kappa_pullback_form *f, const double *times,
                                  const double *c, int64_t trajectories)
{
    form_sums s = {0};
    for (int64_t k = 0; k < trajectories; k++) {
        const double t = times ? times[k] : 1.0, a = c ? c[k] : 1.0;
        s.dot += t * a * f->dot[k];
        s.form_norm2 += t * f->form_norm2[k];
        s.true_norm2 += t * a * a * f->true_norm2[k];
        s.halves_diff2 += t * f->halves_diff2[k];
    }
    return s;
}

// kappa = <O,A>^2 / (|A|^2 |O|^2). Errors of the fit add to |O|^2: two fits to independent halves
// differ by twice the variance of either, and that of the fit to all is half of it, so a quarter of
// |O1 - O2|^2 is subtracted, but never more than half of |O|^2.
static double compute_kappa(form_sums s)
{
    const double norm2 = fmax(s.form_norm2 - 0.25 * s.halves_diff2, 0.5 * s.form_norm2);
    if (!(norm2 > 0.0) || !(s.true_norm2 > 0.0)) return 0.0;
    return fmin(s.dot * s.dot / (s.true_norm2 * norm2), 1.0);
}

// e = |O1 - O2|^2 / (4 |O|^2): the share of |O|^2 that is error of the fit.
static double compute_form_error(form_sums s)
{
    return s.form_norm2 > 0.0 ? 0.25 * s.halves_diff2 / s.form_norm2 : 0.0;
}

// The errors that a bootstrap over trajectories does not show: of the fit, from the difference of
// two halves; shared by both halves, from a simpler fit; and waves finer than the fit.
static double compute_margin(form_sums s, const kappa_pullback_form *f)
{
    return margin_linear * compute_form_error(s) + margin_root * sqrt(compute_form_error(s)) +
           margin_coarse * fabs(compute_kappa(s) - f->coarse_kappa) + f->missed_slope;
}

// 95 % percentile bootstrap over trajectories, with the fits held fixed, widened by the margin.
static plumb_status compute_interval(plumb_interval *out, const kappa_work *work, const double *c)
{
    const int64_t trajectories = work->rows.trajectories, resamples = work->opt->resamples;
    out->low = out->high = (double)NAN;
    if (!resamples) return PLUMB_OK;
    double *times = ARENA_ALLOC(work->mem, double, trajectories);
    double *draws = ARENA_ALLOC(work->mem, double, resamples);
    if (!times || !draws) return PLUMB_EMEMORY;
    rng r = rng_at(work->opt->seed, STREAM_KAPPA);
    for (int64_t i = 0; i < resamples; i++) {
        rng_resample(times, &r, trajectories);
        draws[i] = compute_kappa(add_trajectories(&work->form, times, c, trajectories));
    }
    const form_sums all = add_trajectories(&work->form, NULL, c, trajectories);
    const double kappa = compute_kappa(all), margin = compute_margin(all, &work->form);
    const plumb_interval middle = stats_interval_95(draws, resamples);
    out->low = fmax(fmin(middle.low, kappa) - margin, 0.0);
    out->high = fmin(fmax(middle.high, kappa) + margin, 1.0);
    return PLUMB_OK;
}

// ---- the form ----

// Least and greatest singular value of the mean of O, over |c|: roots of the eigenvalues of O^T O.
static plumb_status measure_singular_values(plumb_kappa *out, const kappa_work *work, double c)
{
    const int64_t size = work->truth.form_dims;
    const double *mean = work->form.mean;
    double *square = ARENA_ALLOC(work->mem, double, (size * size));
    double *values = ARENA_ALLOC(work->mem, double, size);
    double *vectors = ARENA_ALLOC(work->mem, double, (size * size));
    if (!square || !values || !vectors) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++)
            for (int64_t k = 0; k < size; k++)
                square[i * size + j] += mean[k * size + i] * mean[k * size + j];
    const plumb_status st = eigen_symmetric(values, vectors, work->mem, square, size);
    if (st) return st;
    out->form_low = sqrt(fmax(values[size - 1], 0.0)) / fabs(c);
    out->form_high = sqrt(fmax(values[0], 0.0)) / fabs(c);
    return PLUMB_OK;
}

// Per trajectory: kappa with its own c, and its share of sum |O - c A|^2.
// scale2: what brings the form to the units of the arrays.
static plumb_status list_items(plumb_kappa *out, const kappa_work *work, double c, double scale2)
{
    const kappa_pullback_form *f = &work->form;
    const int64_t trajectories = work->rows.trajectories;
    plumb_kappa_item *items = ARENA_ALLOC(work->keep, plumb_kappa_item, trajectories);
    if (!items) return PLUMB_EMEMORY;
    double all = 0.0;
    for (int64_t k = 0; k < trajectories; k++) {
        items[k].trajectory = work->rows.trajectory[k];
        items[k].kappa = compute_kappa(
            (form_sums){f->dot[k], f->form_norm2[k], f->true_norm2[k], f->halves_diff2[k]});
        items[k].lost =
            fmax(f->form_norm2[k] - 2.0 * c * f->dot[k] + c * c * f->true_norm2[k], 0.0);
        all += items[k].lost;
        items[k].dot = f->dot[k] * scale2, items[k].form_norm2 = f->form_norm2[k] * scale2 * scale2;
        items[k].true_norm2 = f->true_norm2[k];
        items[k].halves_diff2 = f->halves_diff2[k] * scale2 * scale2;
    }
    for (int64_t k = 0; k < trajectories; k++)
        items[k].lost = all > 0.0 ? items[k].lost / all : 0.0;
    // Back to the order of the arrays: the halves were every second trajectory.
    const int64_t half = (trajectories + 1) / 2;
    plumb_kappa_item *sorted = ARENA_ALLOC(work->keep, plumb_kappa_item, trajectories);
    if (!sorted) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < trajectories; k++) sorted[k] = items[k % 2 ? half + k / 2 : k / 2];
    out->items = sorted;
    return PLUMB_OK;
}

// pairs (n, m): the mean of O on each true pair by latent pair, over c.
static plumb_status list_pairs(plumb_kappa *out, const kappa_work *work, double c)
{
    const double *sums = work->form.pairs;
    if (!sums) return PLUMB_OK;
    const int64_t count = work->rows.truth_dims / 2 * (work->rows.latent_dims / 2);
    double *pairs = ARENA_ALLOC(work->keep, double, count);
    if (!pairs) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) pairs[i] = c != 0.0 ? sums[i] / c : 0.0;
    out->pairs = pairs;
    return PLUMB_OK;
}

// ---- all of it ----

static plumb_status fill_result(plumb_kappa *out, const kappa_work *work)
{
    const double *by_constants = work->form.c_by_constants;
    const form_sums s = add_trajectories(&work->form, NULL, NULL, work->rows.trajectories);
    const double scale =
        work->latent.max_deviation * (work->rows.latent_unit / work->rows.truth_unit);
    out->kappa = compute_kappa(s);
    out->form_error = compute_form_error(s);
    out->r2_latent = work->form.r2;
    out->r2_local = work->form.local_r2;
    out->resolution = work->form.resolution;
    // c = <O,A> / |A|^2 minimises |O - c A|^2. In units of the arrays it has `scale`
    // squared: the latents were divided by their unit and largest deviation, the truth by its unit.
    const double c = s.true_norm2 > 0.0 ? s.dot / s.true_norm2 : 0.0;
    out->c = c * scale * scale;
    plumb_status st = compute_interval(&out->kappa_ci, work, NULL);
    if (!st && by_constants) {
        out->kappa_constants = compute_kappa(
            add_trajectories(&work->form, NULL, by_constants, work->rows.trajectories));
        st = compute_interval(&out->kappa_constants_ci, work, by_constants);
    } else if (!st && work->form.has_constants) {
        // One c does as well.
        out->kappa_constants = out->kappa;
        out->kappa_constants_ci = out->kappa_ci;
    }
    if (!st) st = measure_singular_values(out, work, c);
    if (!st) st = list_items(out, work, c, scale * scale);
    return st ? st : list_pairs(out, work, c);
}

// After G has been fitted again: all that follows from it.
static plumb_status measure_again(plumb_kappa *out, kappa_work *work)
{
    const double first = out->kappa;
    plumb_status st = kappa_pullback(work);
    // Of the simpler fits, the one that is farther off gives the margin.
    const double found =
        compute_kappa(add_trajectories(&work->form, NULL, NULL, work->rows.trajectories));
    if (fabs(first - found) > fabs(work->form.coarse_kappa - found))
        work->form.coarse_kappa = first;
    if (!st) st = kappa_fit_constants(work);
    return st ? st : fill_result(out, work);
}

static plumb_status measure_kappa(plumb_kappa *out, kappa_work *work, const plumb_array *latent,
                                  const plumb_array *momenta, const plumb_array *truth)
{
    plumb_status st = kappa_input_read(work, latent, momenta, truth);
    if (!st) st = kappa_reduce_truth(work);
    if (!st) st = kappa_input_latents(work);
    if (!st) st = kappa_measure_thickness(work);
    if (!st) st = kappa_find_latent_angles(work);
    if (!st) st = kappa_map_fit(work);
    if (!st) st = kappa_pullback(work);
    if (!st) st = kappa_state_r2(out, work);
    if (!st) st = kappa_fit_constants(work);
    if (!st) st = fill_result(out, work);
    work->was_doubtful = !st && kappa_is_doubtful(out, work);
    bool enlarged = false;
    if (work->was_doubtful) st = kappa_map_enlarge(&enlarged, work);
    if (!st && enlarged) st = measure_again(out, work);
    out->diverged_count = work->rows.diverged_count;
    out->diverged = work->rows.diverged;
    out->n = work->rows.truth_dims / 2;
    out->m = work->rows.latent_dims / 2;
    if (!st) st = kappa_decide(out, work);
    if (!st) st = kappa_find_hint(out, work, latent, truth);
    if (st) return st;
    const char *note = work->truth.note;
    out->reduced = *note ? arena_strdup(work->keep, note) : NULL;
    if (*note && !out->reduced) return PLUMB_EMEMORY;
    out->n_used = (work->truth.form_dims - work->surface.codim) / 2;
    out->trajectories = work->rows.trajectories;
    out->dropped = work->rows.dropped;
    out->steps = truth->shape[1];
    return PLUMB_OK;
}

plumb_status plumb_kappa_measure(plumb_kappa *out, const plumb_array *latent,
                                 const plumb_array *momenta, const plumb_array *truth,
                                 const plumb_kappa_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(latent);
    REQUIRE_ARGUMENT(truth);
    const double started = clock_now();
    plumb_kappa_options opt = plumb_kappa_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_kappa_options");
    if (st) return st;
    const double nan = (double)NAN;
    plumb_kappa result = {.measured = true,
                          .kappa_constants = nan,
                          .kappa_constants_ci = {nan, nan},
                          .r2_nearest = nan,
                          .symplectic_r2 = nan,
                          .symplectic = nan,
                          .symplectic_ci = {nan, nan}};
    arena scratch = {0}, *keep = result_begin(&result.memory);
    kappa_work work = {.mem = &scratch, .keep = keep, .opt = &opt};
    st = keep ? measure_kappa(&result, &work, latent, momenta, truth) : PLUMB_EMEMORY;
    arena_clear(&scratch);
    arena_clear(&work.map_memory);
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
