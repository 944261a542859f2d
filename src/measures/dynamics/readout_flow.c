// SPDX-License-Identifier: MIT
// The flow of the readout: its columns brought to positions first, then momenta, angles as angles.
#include <math.h>

#include "base/array.h"
#include "base/status.h"
#include "base/text.h"
#include "math/cholesky.h"
#include "measures/dynamics/dynamics.h"
#include "measures/fit/layout_columns.h"

static const double turn = 6.283185307179586;

// Where columns of the truth as given stand among those of the readout.
typedef struct phase_columns {
    int64_t count;     // columns of the truth as given; even
    int64_t *at;       // (count) first column of the readout, in the order of positions first
    bool *angle;       // (count) which are a sine and a cosine there
    double *previous;  // (count) scratch: the row before
    plumb_layout used; // the order of the given columns
} phase_columns;

static plumb_status find_columns(phase_columns *out, arena *mem, const dynamics_given *given)
{
    *out = (phase_columns){.count = given->columns,
                           .at = ARENA_ALLOC(mem, int64_t, given->columns),
                           .angle = ARENA_ALLOC(mem, bool, given->columns),
                           .previous = ARENA_ALLOC(mem, double, given->columns),
                           .used = given->layout};
    int64_t *start = ARENA_ALLOC(mem, int64_t, given->columns), next = 0;
    if (!out->at || !out->angle || !out->previous || !start) return PLUMB_EMEMORY;
    for (int64_t c = 0; c < given->columns; c++) {
        start[c] = next;
        next += given->angles && given->angles[c] ? 2 : 1;
    }
    for (int64_t i = 0; i < given->columns; i++) {
        const int64_t c = layout_column(given->layout, i, given->columns);
        out->at[i] = start[c];
        out->angle[i] = given->angles && given->angles[c];
    }
    return PLUMB_OK;
}

// The scored steps (trajectories, steps, count) of states. An angle continues along a trajectory.
// NULL if out of memory.
static double *copy_phase_space(arena *mem, const dynamics_states *s, const phase_columns *columns,
                                const double *from)
{
    const int64_t scored = s->steps - s->context;
    double *out = ARENA_ALLOC(mem, double, s->trajectories *scored * columns->count), *to = out;
    for (int64_t i = 0; out && i < s->trajectories; i++)
        for (int64_t t = 0; t < scored; t++) {
            const double *state = from + (i * s->steps + s->context + t) * s->dims;
            for (int64_t c = 0; c < columns->count; c++) {
                const double *x = state + columns->at[c];
                double value = *x;
                if (columns->angle[c]) {
                    value = isfinite(x[0]) && isfinite(x[1]) ? atan2(x[0], x[1]) : (double)NAN;
                    if (t) value += turn * nearbyint((columns->previous[c] - value) / turn);
                }
                *to++ = columns->previous[c] = value;
            }
        }
    return out;
}

// The scored steps of numbers (trajectories, steps). NULL if out of memory.
static double *copy_scored(arena *mem, const dynamics_states *s, const double *from)
{
    const int64_t scored = s->steps - s->context;
    double *out = ARENA_ALLOC(mem, double, s->trajectories *scored);
    for (int64_t i = 0; out && i < s->trajectories * scored; i++)
        out[i] = from[i / scored * s->steps + s->context + i % scored];
    return out;
}

// Regression of rates of change on momenta, for each layout that is tried.
typedef struct rate_fit {
    const double *truth; // (trajectories, steps, count)
    int64_t trajectories, steps, count;
    double *gram, *with_rate, *row; // (n + 1, n + 1), (n + 1), (n + 1)
} rate_fit;

// R2 of the rate of column `position` as a linear function of n columns.
static double fit_rate(const rate_fit *fit, int64_t position, const int64_t *momentum, int64_t n)
{
    const int64_t width = n + 1, rows = fit->trajectories * (fit->steps - 2);
    double mean = 0.0, square = 0.0;
    for (int64_t k = 0; k < width * width; k++) fit->gram[k] = 0.0;
    for (int64_t k = 0; k < width; k++) fit->with_rate[k] = 0.0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t step = r / (fit->steps - 2) * fit->steps + 1 + r % (fit->steps - 2);
        const double *state = fit->truth + step * fit->count;
        const double rate = 0.5 * (state[position + fit->count] - state[position - fit->count]);
        for (int64_t k = 0; k < n; k++) fit->row[k] = state[momentum[k]];
        fit->row[n] = 1.0;
        mean += rate / (double)rows;
        square += rate * rate / (double)rows;
        for (int64_t i = 0; i < width; i++) {
            fit->with_rate[i] += fit->row[i] * rate / (double)rows;
            for (int64_t j = 0; j <= i; j++)
                fit->gram[i * width + j] += fit->row[i] * fit->row[j] / (double)rows;
        }
    }
    for (int64_t i = 0; i < width; i++) fit->row[i] = fit->with_rate[i];
    if (!(square - mean * mean > 0.0) || !cholesky_small_factor(fit->gram, width, 0.0))
        return (double)NAN;
    cholesky_small_solve(fit->with_rate, fit->gram, width, 1);
    double explained = 0.0;
    for (int64_t i = 0; i < width; i++) explained += fit->row[i] * fit->with_rate[i];
    return (explained - mean * mean) / (square - mean * mean);
}

// The mean over positions of how well momenta explain their rates.
static double explain_rates(const rate_fit *fit, plumb_layout layout, int64_t *momentum)
{
    const int64_t n = fit->count / 2;
    double sum = 0.0;
    for (int64_t k = 0; k < n; k++) momentum[k] = layout_column(layout, n + k, fit->count);
    for (int64_t i = 0; i < n; i++)
        sum += fit_rate(fit, layout_column(layout, i, fit->count), momentum, n);
    return sum / (double)n;
}

// Is each rate of a position a function of the momenta only if pairs stand together?
static plumb_status notice_pairs(dynamics_states *s, arena *mem, const phase_columns *columns,
                                 const double *truth)
{
    enum { LARGEST = 64 };
    static const double well = 0.9, badly = 0.6;
    const int64_t n = columns->count / 2, scored = s->steps - s->context;
    if (columns->used != PLUMB_LAYOUT_POSITIONS_FIRST || n < 2 || n > LARGEST || scored < 3)
        return PLUMB_OK;
    const rate_fit fit = {.truth = truth,
                          .trajectories = s->trajectories,
                          .steps = scored,
                          .count = columns->count,
                          .gram = ARENA_ALLOC(mem, double, (n + 1) * (n + 1)),
                          .with_rate = ARENA_ALLOC(mem, double, n + 1),
                          .row = ARENA_ALLOC(mem, double, n + 1)};
    int64_t *momentum = ARENA_ALLOC(mem, int64_t, n);
    if (!fit.gram || !fit.with_rate || !fit.row || !momentum) return PLUMB_EMEMORY;
    s->interleaved = explain_rates(&fit, PLUMB_LAYOUT_INTERLEAVED, momentum) > well &&
                     explain_rates(&fit, PLUMB_LAYOUT_POSITIONS_FIRST, momentum) < badly;
    return PLUMB_OK;
}

plumb_status dynamics_check_layout(const plumb_dynamics_input *in, plumb_layout layout)
{
    const int64_t columns = in->truth->shape[2];
    if (layout == PLUMB_LAYOUT_POSITIONS_FIRST) return PLUMB_OK;
    if (layout == PLUMB_LAYOUT_VELOCITIES || layout == PLUMB_LAYOUT_CIRCLE)
        return fail(PLUMB_EVALUE,
                    "truth_layout %s is not for the dynamics; it takes positions-first, "
                    "momenta-first or interleaved, and angles are named",
                    layout_words[layout]);
    if (columns % 2 == 0) return PLUMB_OK;
    return fail(PLUMB_ESHAPE, "truth has %lld columns; truth_layout %s needs an even number",
                (long long)columns, layout_words[layout]);
}

plumb_status dynamics_measure_flow(plumb_flow *out, arena *mem, dynamics_states *s,
                                   const dynamics_given *given, const plumb_dynamics_options *opt)
{
    *out = (plumb_flow){0};
    if (given->columns % 2) return PLUMB_OK;
    phase_columns columns;
    plumb_status st = find_columns(&columns, mem, given);
    if (st) return st;
    const int64_t shape[] = {s->trajectories, s->steps - s->context, columns.count};
    double *rollout = copy_phase_space(mem, s, &columns, s->rollout);
    double *truth = copy_phase_space(mem, s, &columns, s->truth);
    double *energy = given->energy ? copy_scored(mem, s, given->energy) : NULL;
    if (!rollout || !truth || (given->energy && !energy)) return PLUMB_EMEMORY;
    const plumb_array latent = plumb_array_view(rollout, PLUMB_FLOAT64, 3, shape);
    const plumb_array state = plumb_array_view(truth, PLUMB_FLOAT64, 3, shape);
    const plumb_array kept = plumb_array_view(energy, PLUMB_FLOAT64, 2, shape);
    plumb_array driving;
    const plumb_array *action = given->action;
    if (action &&
        array_copy_steps(&driving, mem, action, s->context, action->shape[1] - s->context))
        return PLUMB_EMEMORY;
    const plumb_flow_input in = {.size = sizeof in,
                                 .latent = &latent,
                                 .truth = &state,
                                 .energy = energy ? &kept : NULL,
                                 .action = action ? &driving : NULL};
    plumb_flow_options options = plumb_flow_defaults();
    options.drop_nonfinite = true;
    options.resamples = opt->resamples;
    options.seed = opt->seed;
    st = notice_pairs(s, mem, &columns, truth);
    if (!st) st = plumb_flow_measure(out, &in, &options);
    return st == PLUMB_ESHAPE || st == PLUMB_ENUMERIC ? PLUMB_OK : st;
}
