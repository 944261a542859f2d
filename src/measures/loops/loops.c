// SPDX-License-Identifier: MIT
// Actions of closed loops of states, in latent space and in truth.
#include "plumb/loops.h"

#include <math.h>

#include "base/argument.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "math/rng.h"
#include "math/stats.h"
#include "measures/loops/options.h"

enum { MIN_STATES = 8, STREAM_LOOPS = 24 };

static const double pi = 3.141592653589793;

// ---- input ----

// (items, dims) or (items, steps, dims): the number of coordinates, or 0.
static int64_t count_coordinates(const plumb_array *states)
{
    const int64_t d = states->ndim == 2 || states->ndim == 3 ? states->shape[states->ndim - 1] : 0;
    return d >= 2 && d % 2 == 0 ? d : 0;
}

static plumb_status check_states(const plumb_array *states, const char *name,
                                 const plumb_array *loop)
{
    char text[256];
    if (count_coordinates(states) && states->shape[0] == loop->shape[0] &&
        (states->ndim == 2 || states->shape[1] > 0))
        return PLUMB_OK;
    return fail(PLUMB_ESHAPE,
                "%s is %s for %lld items of loops; expected (items, 2n) or (items, steps, 2n)",
                name, plumb_array_shape_string(text, sizeof text, states),
                (long long)loop->shape[0]);
}

// out (items, dims): the first step of each item.
static plumb_status read_states(double **out, arena *mem, const plumb_array *states,
                                const char *name)
{
    const int64_t items = states->shape[0], d = count_coordinates(states);
    const int64_t stride = states->ndim == 3 ? states->shape[1] * d : d;
    *out = ARENA_ALLOC(mem, double, (items * d));
    if (!*out) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < items; k++) {
        plumb_array_to_double(*out + k * d, states, k * stride, d);
        for (int64_t i = 0; i < d; i++)
            if (!isfinite((*out)[k * d + i]))
                return array_reject_nonfinite(states, name, 1, k * stride + i, " or more");
    }
    return PLUMB_OK;
}

// end (loops): the first item after each loop.
static plumb_status find_ends(int64_t **end, int64_t *loops, arena *mem, const plumb_array *loop)
{
    const int64_t items = loop->shape[0];
    double *number = ARENA_ALLOC(mem, double, items);
    *end = ARENA_ALLOC(mem, int64_t, items);
    if (!number || !*end) return PLUMB_EMEMORY;
    plumb_array_to_double(number, loop, 0, items);
    *loops = 0;
    for (int64_t k = 1; k <= items; k++)
        if (k == items || number[k] != number[k - 1]) {
            const int64_t length = k - (*loops ? (*end)[*loops - 1] : 0);
            if (length < MIN_STATES)
                return fail(PLUMB_EVALUE, "loop %lld has %lld states in a row; at least %d",
                            (long long)number[k - 1], (long long)length, MIN_STATES);
            (*end)[(*loops)++] = k;
        }
    return PLUMB_OK;
}

// ---- actions ----

// The derivative by the angle at state j of a band-limited periodic function with value 1 at state
// k and 0 at the others.
static double differentiate(int64_t j, int64_t k, int64_t states)
{
    if (j == k) return 0.0;
    const double half = pi * (double)(j - k) / (double)states;
    const double sign = (j - k) % 2 ? -1.0 : 1.0;
    return 0.5 * sign * (states % 2 ? 1.0 / sin(half) : 1.0 / tan(half));
}

// The integral of p dq around a loop of `states` rows of x (states, dims). The first state is
// subtracted, which changes nothing but the rounding.
static double compute_action(const double *x, int64_t states, int64_t dims)
{
    const int64_t n = dims / 2;
    double sum = 0.0;
    for (int64_t j = 0; j < states; j++)
        for (int64_t k = 0; k < states; k++) {
            double product = 0.0;
            for (int64_t i = 0; i < n; i++)
                product += (x[j * dims + n + i] - x[n + i]) * (x[k * dims + i] - x[i]);
            sum += product * differentiate(j, k, states);
        }
    return sum * 2.0 * pi / (double)states;
}

// ---- scores ----

typedef struct action_sums {
    double product, latent2, true2;
} action_sums;

static action_sums add_loops(const plumb_loops *r, const double *times)
{
    action_sums s = {0};
    for (int64_t k = 0; k < r->loops; k++) {
        const double t = times ? times[k] : 1.0;
        s.product += t * r->latent_action[k] * r->true_action[k];
        s.latent2 += t * r->latent_action[k] * r->latent_action[k];
        s.true2 += t * r->true_action[k] * r->true_action[k];
    }
    return s;
}

static double compute_cosine(action_sums s)
{
    return s.latent2 > 0.0 && s.true2 > 0.0 ? s.product / sqrt(s.latent2 * s.true2) : 0.0;
}

static plumb_status compute_intervals(plumb_loops *out, arena *mem, const plumb_loops_options *opt)
{
    const double nan = (double)NAN;
    out->cosine_ci = out->slope_ci = (plumb_interval){nan, nan};
    if (!opt->resamples) return PLUMB_OK;
    double *times = ARENA_ALLOC(mem, double, out->loops);
    double *cosine = ARENA_ALLOC(mem, double, opt->resamples);
    double *slope = ARENA_ALLOC(mem, double, opt->resamples);
    if (!times || !cosine || !slope) return PLUMB_EMEMORY;
    rng r = rng_at(opt->seed, STREAM_LOOPS);
    int64_t count = 0;
    for (int64_t i = 0; i < opt->resamples; i++) {
        rng_resample(times, &r, out->loops);
        const action_sums s = add_loops(out, times);
        if (!(s.true2 > 0.0)) continue;
        cosine[count] = compute_cosine(s), slope[count++] = s.product / s.true2;
    }
    if (!count) return PLUMB_OK;
    out->cosine_ci = stats_interval_95(cosine, count);
    out->slope_ci = stats_interval_95(slope, count);
    return PLUMB_OK;
}

static plumb_status measure_loops(plumb_loops *out, arena *keep, arena *mem,
                                  const plumb_array *states[2], const plumb_array *loop,
                                  const plumb_loops_options *opt)
{
    static const char *const names[] = {"latent", "truth"};
    double *x[2], *action[2];
    int64_t *end;
    plumb_status st = find_ends(&end, &out->loops, mem, loop);
    for (int i = 0; i < 2 && !st; i++) {
        st = read_states(&x[i], mem, states[i], names[i]);
        action[i] = ARENA_ALLOC(keep, double, out->loops);
        if (!st && !action[i]) st = PLUMB_EMEMORY;
    }
    if (st) return st;
    out->states = loop->shape[0];
    for (int64_t k = 0; k < out->loops && !st; k++) {
        const int64_t first = k ? end[k - 1] : 0, length = end[k] - first;
        if (length < out->states) out->states = length;
        for (int i = 0; i < 2; i++) {
            const int64_t d = count_coordinates(states[i]);
            action[i][k] = compute_action(x[i] + first * d, length, d);
        }
        st = status_check_stop();
    }
    if (st) return st;
    out->latent_action = action[0], out->true_action = action[1];
    const action_sums s = add_loops(out, NULL);
    if (!(s.true2 > 0.0)) return fail(PLUMB_ENUMERIC, "no loop of the truth has an action");
    out->cosine = compute_cosine(s);
    out->slope = s.product / s.true2;
    return compute_intervals(out, mem, opt);
}

plumb_status plumb_loops_measure(plumb_loops *result, const plumb_array *latent,
                                 const plumb_array *truth, const plumb_array *loop,
                                 const plumb_loops_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(latent);
    REQUIRE_ARGUMENT(truth);
    REQUIRE_ARGUMENT(loop);
    plumb_loops_options opt = plumb_loops_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_loops_options");
    if (!st) st = options_check_ranges(&loops_option_table, &opt);
    if (!st && (loop->ndim != 1 || loop->shape[0] < MIN_STATES))
        st = fail(PLUMB_ESHAPE, "loop must be (items,), with %d or more states of each loop",
                  MIN_STATES);
    if (!st) st = check_states(latent, "latent", loop);
    if (!st) st = check_states(truth, "truth", loop);
    if (st) return st;
    plumb_loops found = {0};
    arena scratch = {0}, *keep = result_begin(&found.memory);
    const plumb_array *states[] = {latent, truth};
    st = keep ? measure_loops(&found, keep, &scratch, states, loop, &opt) : PLUMB_EMEMORY;
    arena_clear(&scratch);
    st = result_end(st, &found.memory);
    if (!st) *result = found;
    return st;
}

void plumb_loops_clear(plumb_loops *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}

void plumb_loops_record(plumb_record *record, const plumb_loops *r)
{
    if (!record || !r) return;
    plumb_record_set_double(record, "loops_cosine", r->cosine);
    plumb_record_set_interval(record, "loops_cosine_ci", r->cosine_ci);
    plumb_record_set_double(record, "loops_slope", r->slope);
    plumb_record_set_interval(record, "loops_slope_ci", r->slope_ci);
    plumb_record_set_int(record, "loops", r->loops);
    plumb_record_set_int(record, "loop_states", r->states);
    plumb_record_set_doubles(record, "true_action", r->true_action, r->loops);
    plumb_record_set_doubles(record, "latent_action", r->latent_action, r->loops);
    plumb_record_set_int(record, "measure_version", PLUMB_LOOPS_VERSION);
}
