// SPDX-License-Identifier: MIT
// plumb_evaluation_measure(): opens a run, evaluates its model by its kind, records the result.
// The kind decides which measures apply: those of dynamics models or those of video models.
#include "plumb/evaluation.h"

#include <stdio.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/result.h"
#include "base/status.h"
#include "evaluate/evaluate.h"
#include "evaluate/match.h"
#include "evaluate/options.h"
#include "train/run_dir.h"

// ---- options ----

// Resolves the options and all nested ones. The number of threads is passed down.
static plumb_status resolve_options(evaluation_config *out, const plumb_evaluation_options *options)
{
    *out = (evaluation_config){.all = plumb_evaluation_defaults(),
                               .symetric = plumb_symetric_defaults(),
                               .kappa = plumb_kappa_defaults(),
                               .forecast = plumb_forecast_defaults(),
                               .surprise = plumb_surprise_defaults()};
    // VPTs are averaged over all videos.
    out->forecast.average = PLUMB_FORECAST_AVERAGE_MEAN;
    plumb_evaluation_options *all = &out->all;
    plumb_status st = options_resolve(all, sizeof *all, options, "plumb_evaluation_options");
    if (!st)
        st = options_resolve(&out->symetric, sizeof out->symetric, all->symetric,
                             "plumb_symetric_options");
    if (!st)
        st = options_resolve(&out->kappa, sizeof out->kappa, all->kappa, "plumb_kappa_options");
    if (!st)
        st = options_resolve(&out->forecast, sizeof out->forecast, all->forecast,
                             "plumb_forecast_options");
    if (!st)
        st = options_resolve(&out->surprise, sizeof out->surprise, all->surprise,
                             "plumb_surprise_options");
    if (st) return st;
    // 0 threads means all cores.
    if (!all->threads) all->threads = parallel_threads();
    out->symetric.threads = out->forecast.threads = out->surprise.threads = all->threads;
    return PLUMB_OK;
}

// ---- evaluation ----

plumb_status plumb_evaluation_find_kind(plumb_evaluation_kind *kind, const char *run)
{
    REQUIRE_ARGUMENT(kind);
    REQUIRE_ARGUMENT(run);
    arena mem = {0};
    run_config config;
    char *text, path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/config.json", run);
    plumb_status st = run_dir_read_config(&text, &size, &mem, run);
    if (!st) st = run_config_parse(&config, &mem, text, size, path);
    if (!st) *kind = config.model->video ? PLUMB_EVALUATION_VIDEO : PLUMB_EVALUATION_DYNAMICS;
    arena_clear(&mem);
    return st;
}

// Evaluates the model by its kind.
static plumb_status evaluate_model(plumb_evaluation *out, arena *keep, trained_model *trained,
                                   const evaluation_config *config)
{
    const run_config_data *data = &trained->config.data;
    snprintf(out->model, sizeof out->model, "%s", trained->model.name);
    out->training_steps = trained->training_steps;
    if (trained->model.video) {
        out->kind = PLUMB_EVALUATION_VIDEO;
        if (config->all.data)
            return fail(PLUMB_EVALUE,
                        "a video model is evaluated by the option probes, not by data");
        snprintf(out->world, sizeof out->world, "%s", data->world[0] ? data->world : data->data);
        return evaluate_video(&out->video, keep, trained, config);
    }
    out->kind = PLUMB_EVALUATION_DYNAMICS;
    snprintf(out->world, sizeof out->world, "%s",
             config->all.world ? config->all.world : data->world);
    if (config->all.data && !config->all.allow_training_data) {
        const plumb_status st = match_unseen(trained, config->all.data);
        if (st) return st;
    }
    return evaluate_dynamics(&out->dynamics, trained, config);
}

plumb_status plumb_evaluation_measure(plumb_evaluation *result, const char *run,
                                      const plumb_evaluation_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(run);
    // The time includes loading and simulation.
    const double started = clock_now();
    evaluation_config config;
    plumb_status st = resolve_options(&config, options);
    if (!st) st = options_check_ranges(&evaluation_option_table, &config.all);
    if (st) return st;
    // On failure the result of the caller is unchanged.
    plumb_evaluation found = {0};
    trained_model trained = {0};
    arena *keep = result_begin(&found.memory);
    // A file of the evaluation, of data or of probes.
    const char *file = config.all.data          ? config.all.data
                       : config.all.probe_count ? config.all.probes[0]
                                                : NULL;
    st = keep ? trained_model_open(&trained, run, file) : PLUMB_EMEMORY;
    if (!st && config.all.best) st = trained_model_use_best(&trained);
    if (!st) st = evaluate_model(&found, keep, &trained, &config);
    // The result has its own memory, so the model can be closed.
    trained_model_close(&trained);
    if (st) {
        plumb_evaluation_clear(&found);
        return st;
    }
    found.seconds = clock_now() - started;
    *result = found;
    return PLUMB_OK;
}

void plumb_evaluation_clear(plumb_evaluation *result)
{
    if (!result) return;
    evaluate_dynamics_clear(&result->dynamics);
    evaluate_video_clear(&result->video);
    result_clear(result, sizeof *result, result->memory);
}

// ---- records ----

void plumb_evaluation_record(plumb_record *record, const plumb_evaluation *result,
                             const plumb_evaluation_options *options)
{
    if (!record || !result) return;
    evaluation_config config;
    if (resolve_options(&config, options)) return;
    plumb_record_set_string(record, "model", result->model);
    plumb_record_set_string(record, "world", result->world);
    plumb_record_set_int(record, "steps", result->training_steps);
    if (result->kind == PLUMB_EVALUATION_VIDEO)
        evaluate_video_record(record, &result->video, &config);
    else {
        evaluate_dynamics_record(record, &result->dynamics, &config);
        // A file of test data is no world of the table.
        evaluate_dynamics_record_published(record, config.all.data ? "" : result->world);
    }
    plumb_record_set_double(record, "seconds", result->seconds);
}

plumb_status plumb_evaluation_save(const char *run, const plumb_evaluation *result,
                                   const plumb_evaluation_options *options)
{
    REQUIRE_ARGUMENT(run);
    REQUIRE_ARGUMENT(result);
    plumb_evaluation_options resolved = plumb_evaluation_defaults();
    plumb_status st =
        options_resolve(&resolved, sizeof resolved, options, "plumb_evaluation_options");
    if (st) return st;
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "out of memory for results.json");
    plumb_evaluation_record(record, result, &resolved);
    st = run_dir_write_results(run, "evaluate", record);
    plumb_record_free(record);
    return st;
}
