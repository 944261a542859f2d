// SPDX-License-Identifier: MIT
// Measures arrays with default options, by every measure that applies to them, and adds the records
// to a report.
#include "report/measure_arrays.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/status.h"
#include "plumb/dynamics.h"
#include "plumb/evaluation.h"
#include "plumb/probe.h"
#include "plumb/surprise.h"
#include "plumb/world.h"
#include "report/report_model.h"
#include "report/state_readout.h"

// Adds a record to the report and frees it.
static plumb_status add_and_free_record(plumb_report *report, const char *name,
                                        plumb_record *record)
{
    const char *text;
    plumb_status st = record ? plumb_record_to_json(&text, record)
                             : fail(PLUMB_EMEMORY, "out of memory for a record");
    if (!st) st = plumb_report_add_record(report, name, text);
    plumb_record_free(record);
    return st;
}

const plumb_array *measure_find_array(const plumb_named_array *arrays, int64_t count,
                                      const char *name, int ndim)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(arrays[i].name, name) && (!ndim || arrays[i].array.ndim == ndim))
            return &arrays[i].array;
    return NULL;
}

plumb_phase_space_input measure_find_phase_space(const plumb_named_array *arrays, int64_t count)
{
    return (plumb_phase_space_input){.size = sizeof(plumb_phase_space_input),
                                     .latent = measure_find_array(arrays, count, "latent", 3),
                                     .variance = measure_find_array(arrays, count, "variance", 0),
                                     .momenta = measure_find_array(arrays, count, "momenta", 3),
                                     .truth = measure_find_array(arrays, count, "truth", 3),
                                     .canonical = measure_find_array(arrays, count, "canonical", 3),
                                     .energy = measure_find_array(arrays, count, "energy", 2),
                                     .action = measure_find_array(arrays, count, "action", 3)};
}

// out (trajectories, k): the array "constants", or those with the names of constants of a world;
// ndim 0 if there are none. In the memory of `mem`.
static plumb_status find_constants(plumb_array *out, arena *mem, const plumb_named_array *arrays,
                                   int64_t count, int64_t trajectories)
{
    enum { MAX_VALUES = 8 };
    const plumb_array *together = measure_find_array(arrays, count, "constants", 2);
    const char *name = together ? "constants" : plumb_world_constant_name(0);
    double *all = NULL;
    int64_t wide = 0;
    for (int64_t i = 1; name; name = together ? NULL : plumb_world_constant_name(i++)) {
        const plumb_array *found = measure_find_array(arrays, count, name, 0);
        if (!found || found->ndim < 1 || found->ndim > 2 || found->shape[0] != trajectories)
            continue;
        const int64_t more = found->ndim == 2 ? found->shape[1] : 1;
        if (more < 1 || more > MAX_VALUES) continue;
        double *joined = ARENA_ALLOC(mem, double, (trajectories * (wide + more)));
        if (!joined) return PLUMB_EMEMORY;
        for (int64_t k = 0; k < trajectories; k++) {
            double *to = joined + k * (wide + more);
            for (int64_t j = 0; j < wide; j++) to[j] = all[k * wide + j];
            plumb_array_to_double(to + wide, found, k * more, more);
        }
        all = joined, wide += more;
    }
    if (wide) *out = plumb_array_view(all, PLUMB_FLOAT64, 2, (int64_t[]){trajectories, wide});
    return PLUMB_OK;
}

// Measures SyMetric and kappa, if the arrays for them exist. The map of SyMetric is kept for the
// figures.
static plumb_status measure_phase_space(plumb_report *report, const char *name,
                                        const plumb_named_array *arrays, int64_t count, int threads)
{
    plumb_phase_space result;
    plumb_phase_space_options options = plumb_phase_space_defaults();
    options.threads = threads;
    plumb_phase_space_input in = measure_find_phase_space(arrays, count);
    // Other files may have an array of that name and another shape.
    if (in.energy && in.truth &&
        (in.energy->shape[0] != in.truth->shape[0] || in.energy->shape[1] < in.truth->shape[1]))
        in.energy = NULL;
    if (in.action && in.truth &&
        (in.action->shape[0] != in.truth->shape[0] || in.action->shape[1] < in.truth->shape[1] - 1))
        in.action = NULL;
    // An odd number of latents or states is no phase space.
    if (!in.latent || !in.truth || in.latent->shape[2] % 2 || in.truth->shape[2] % 2)
        return PLUMB_OK;
    arena mem = {0};
    plumb_array constants = {0};
    plumb_kappa_options kappa = plumb_kappa_defaults();
    plumb_status st = find_constants(&constants, &mem, arrays, count, in.truth->shape[0]);
    if (constants.ndim) kappa.constants = &constants;
    options.kappa = &kappa;
    if (!st) st = plumb_phase_space_measure(&result, &in, &options);
    arena_clear(&mem);
    if (st) return st;
    options.kappa = NULL; // its constants are gone
    plumb_record *record = plumb_record_create();
    if (record) plumb_phase_space_record(record, &result, &options);
    st = add_and_free_record(report, name, record);
    report_model *model = st ? NULL : report_model_find(report, name);
    if (!st)
        st = model ? state_readout_set(model, &report->mem, &result.polynomial) : PLUMB_EMEMORY;
    plumb_phase_space_clear(&result);
    return st;
}

// Measures MSE and VPT, if the arrays for them exist.
static plumb_status measure_forecast(plumb_report *report, const char *name,
                                     const plumb_named_array *arrays, int64_t count, int threads)
{
    plumb_forecast result;
    plumb_forecast_options options = plumb_forecast_defaults();
    options.threads = threads;
    // The mean over trajectories, as in the paper.
    options.average = PLUMB_FORECAST_AVERAGE_MEAN;
    // (trajectories, steps, height, width, channels)
    const plumb_array *truth = measure_find_array(arrays, count, "frames", 5),
                      *prediction = measure_find_array(arrays, count, "prediction", 5);
    if (!truth) truth = measure_find_array(arrays, count, "truth", 5);
    if (!truth || !prediction) return PLUMB_OK;
    // Short videos: the first half counts as what the model was trained on.
    if (truth->shape[1] <= options.split) options.split = truth->shape[1] / 2;
    plumb_status st = plumb_forecast_measure(&result, prediction, NULL, truth, NULL, &options);
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_forecast_record(record, &result, &options);
    plumb_forecast_clear(&result);
    return add_and_free_record(report, name, record);
}

// Arrays of latents of any kind: all have the trajectories and steps of `truth`.
typedef struct readout_arrays {
    const plumb_array *latent, *encoded, *truth, *energy, *action; // NULL: there is none
} readout_arrays;

static readout_arrays find_readout(const plumb_named_array *arrays, int64_t count)
{
    readout_arrays in = {measure_find_array(arrays, count, "latent", 3),
                         measure_find_array(arrays, count, "encoded", 3),
                         measure_find_array(arrays, count, "truth", 3),
                         measure_find_array(arrays, count, "energy", 2),
                         measure_find_array(arrays, count, "action", 3)};
    // Other files may have an array of that name and another shape.
    if (in.energy && in.truth &&
        (in.energy->shape[0] != in.truth->shape[0] || in.energy->shape[1] != in.truth->shape[1]))
        in.energy = NULL;
    if (in.action && in.truth &&
        (in.action->shape[0] != in.truth->shape[0] || in.action->shape[1] != in.truth->shape[1]))
        in.action = NULL;
    return in;
}

// Replaces an array (trajectories, steps, ...) by a copy from step `first` on.
static plumb_status drop_steps(plumb_array *array, arena *mem, int64_t first)
{
    return array_copy_steps(array, mem, array, first, array->shape[1] - first);
}

// The first step with a number: before it no state can be inferred.
static int64_t find_first_encoded(const plumb_array *encoded)
{
    int64_t t = 0;
    double value = (double)NAN;
    for (; t < encoded->shape[1] && isnan(value); t++)
        plumb_array_to_double(&value, encoded, t * encoded->shape[2], 1);
    return t ? t - 1 : 0;
}

// What can be read out of the latents, those encoded from true frames if there are any.
static plumb_status measure_probe(plumb_report *report, const char *name, const readout_arrays *in,
                                  int threads)
{
    arena mem = {0};
    plumb_array latent = in->encoded ? *in->encoded : *in->latent, truth = *in->truth, energy,
                action;
    const int64_t first = in->encoded ? find_first_encoded(in->encoded) : 0;
    plumb_probe result;
    plumb_probe_options options = plumb_probe_defaults();
    options.threads = threads;
    plumb_status st = PLUMB_OK;
    if (in->energy) energy = *in->energy;
    if (first) st = drop_steps(&latent, &mem, first);
    if (!st && first) st = drop_steps(&truth, &mem, first);
    if (!st && first && in->energy) st = drop_steps(&energy, &mem, first);
    if (in->action) action = *in->action;
    if (!st && first && in->action) st = drop_steps(&action, &mem, first);
    const plumb_probe_target targets[] = {{.name = "truth", .array = &truth},
                                          {.name = "energy", .array = &energy}};
    const plumb_probe_input input = {.size = sizeof input,
                                     .latent = &latent,
                                     .targets = targets,
                                     .target_count = in->energy ? 2 : 1,
                                     .action = in->action ? &action : NULL};
    if (!st) st = plumb_probe_measure(&result, &input, &options);
    arena_clear(&mem);
    // Too few trajectories, or gaps: then the page is about the rest.
    if (st == PLUMB_EVALUE || st == PLUMB_ENUMERIC || st == PLUMB_ESHAPE) return PLUMB_OK;
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_probe_record(record, &result, &options);
    plumb_probe_clear(&result);
    return add_and_free_record(report, name, record);
}

// How the model's own rollouts move.
static plumb_status measure_motion(plumb_report *report, const char *name, const readout_arrays *in,
                                   int threads)
{
    plumb_dynamics result;
    plumb_dynamics_options options = plumb_dynamics_defaults();
    options.threads = threads;
    const plumb_dynamics_input input = {.size = sizeof input,
                                        .latent = in->latent,
                                        .encoded = in->encoded,
                                        .truth = in->truth,
                                        .energy = in->energy,
                                        .action = in->action};
    const plumb_status st = plumb_dynamics_measure(&result, &input, &options);
    if (st == PLUMB_EVALUE || st == PLUMB_ENUMERIC || st == PLUMB_ESHAPE) return PLUMB_OK;
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_dynamics_record(record, &result, &options);
    plumb_dynamics_clear(&result);
    return add_and_free_record(report, name, record);
}

// Measures predicted states, if the arrays for them exist.
static plumb_status measure_states(plumb_report *report, const char *name,
                                   const plumb_named_array *arrays, int64_t count, int threads)
{
    const plumb_array *truth = measure_find_array(arrays, count, "truth", 3),
                      *prediction = measure_find_array(arrays, count, "prediction", 3);
    if (!truth || !prediction) return PLUMB_OK;
    plumb_state_forecast result;
    plumb_state_forecast_options options = plumb_state_forecast_defaults();
    options.threads = threads;
    const plumb_state_forecast_input in = {
        .size = sizeof in, .prediction = prediction, .truth = truth};
    const plumb_status st = plumb_state_forecast_measure(&result, &in, &options);
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_state_forecast_record(record, &result, &options);
    plumb_state_forecast_clear(&result);
    return add_and_free_record(report, name, record);
}

// Measures surprise, if the arrays for it exist.
static plumb_status measure_surprise(plumb_report *report, const char *name,
                                     const plumb_named_array *arrays, int64_t count, int threads)
{
    plumb_surprise result;
    plumb_surprise_options options = plumb_surprise_defaults();
    options.threads = threads;
    plumb_surprise_input in = {
        .size = sizeof in,
        .surprise = measure_find_array(arrays, count, "surprise", 0),
        .prediction = measure_find_array(arrays, count, "prediction", 6),
        .feature = measure_find_array(arrays, count, "feature", 0),
        .observation = measure_find_array(arrays, count, "observation", 0),
        .surprise_naive = measure_find_array(arrays, count, "surprise_voe", 0),
        .concepts = measure_find_array(arrays, count, "concept", 0),
        .error_unit = measure_find_array(arrays, count, "unit", 0),
        .motion = measure_find_array(arrays, count, "motion", 0),
        .observation_concepts = measure_find_array(arrays, count, "observation_concept", 0)};
    // Six axes: (tuples, 4, frames, height, width, channels). Stored surprise is preferred.
    if (!in.surprise) in.truth = measure_find_array(arrays, count, "truth", 6);
    if (in.surprise) in.prediction = NULL;
    if (!in.surprise && !(in.truth && in.prediction)) return PLUMB_OK;
    plumb_status st = plumb_surprise_measure(&result, &in, &options);
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (record) plumb_surprise_record(record, &result, &options);
    if (!in.surprise && result.frames) { // surprise per frame, for the figure
        const plumb_named_array moments = {
            "surprise", plumb_array_view((void *)result.frame_surprise, PLUMB_FLOAT64, 3,
                                         (int64_t[]){result.tested, 4, result.frames})};
        st = report_model_add_arrays(report, name, &moments, 1);
    }
    plumb_surprise_clear(&result);
    if (!st) return add_and_free_record(report, name, record);
    plumb_record_free(record);
    return st;
}

plumb_status measure_arrays(plumb_report *report, const char *name, const plumb_named_array *arrays,
                            int64_t count, int threads)
{
    const readout_arrays readout = find_readout(arrays, count);
    plumb_status st = measure_phase_space(report, name, arrays, count, threads);
    if (!st && readout.latent && readout.truth) st = measure_probe(report, name, &readout, threads);
    if (!st && readout.latent && readout.truth && readout.encoded)
        st = measure_motion(report, name, &readout, threads);
    if (!st) st = measure_states(report, name, arrays, count, threads);
    if (!st) st = measure_forecast(report, name, arrays, count, threads);
    return st ? st : measure_surprise(report, name, arrays, count, threads);
}
