// SPDX-License-Identifier: MIT
// Checks a study before anything runs. The settings of every run are resolved in memory as training
// would resolve them, and one model of each cost class is created. So errors that training would
// find after hours are found at once, with their line.
#define _GNU_SOURCE
#include "sweep/study_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/spelling.h"
#include "dataset/video_load.h"
#include "evaluate/options.h"
#include "measures/forecast/options.h"
#include "measures/kappa/options.h"
#include "measures/surprise/options.h"
#include "measures/symetric/options.h"
#include "sweep/study_run.h"

// ---- keys and numbers ----

plumb_status study_check_key(const study_file *study, const yaml *node, const char *const *keys,
                             const char *where)
{
    for (int i = 0; keys[i]; i++)
        if (!strcmp(keys[i], node->key)) return PLUMB_OK;
    const char *best = spelling_nearest(node->key, keys);
    return fail(PLUMB_EFORMAT, "%s:%d: there is no \"%.64s\" in %s; the nearest is \"%s\"",
                study->path, node->line, node->key, where, best ? best : "");
}

plumb_status study_check_whole(int64_t *out, const study_file *study, const yaml *node, int64_t low,
                               int64_t high)
{
    char *end;
    const long long value = node->kind == YAML_VALUE ? strtoll(node->text, &end, 10) : 0;
    if (node->kind != YAML_VALUE || end == node->text || *end || value < low || value > high)
        return fail(PLUMB_EFORMAT,
                    "%s:%d: \"%.64s\" takes a whole number from %lld to %lld, not \"%.64s\"",
                    study->path, node->line, node->key ? node->key : "it", (long long)low,
                    (long long)high, node->kind == YAML_VALUE ? node->text : "a list or a map");
    *out = value;
    return PLUMB_OK;
}

// ---- evaluation ----

enum { OLD_DEFAULT_K = 50 };

// Hashes the options that decide an evaluation. A run whose results have another hash is evaluated
// again, so this text must not change.
static plumb_status hash_options(char out[33], const study_file *study)
{
    buffer text = {0};
    const plumb_evaluation_options *options = &study->evaluate;
    buffer_printf(&text, "%lld %lld %lld %lld %d %lld ", (long long)options->forecast_videos,
                  (long long)options->forecast_steps, (long long)options->phase_trajectories,
                  (long long)options->first, (int)options->network,
                  (long long)study->symetric.network_updates);
    buffer_printf(&text, "%lld %lld %lld", (long long)options->tuples,
                  (long long)options->free_clips,
                  (long long)(study->surprise.k ? study->surprise.k : OLD_DEFAULT_K));
    // 50 was the default; it is written where it is a choice.
    if (study->surprise.k == OLD_DEFAULT_K) buffer_printf(&text, " k");
    if (study->kappa.symplectic) buffer_printf(&text, " symplectic");
    // What came later is named only where it is not the default.
    const plumb_symetric_options symetric = plumb_symetric_defaults();
    if (study->forecast.average != PLUMB_FORECAST_AVERAGE_MEAN) buffer_printf(&text, " median");
    if (study->symetric.mode != symetric.mode) buffer_printf(&text, " reference");
    if (study->symetric.mask != symetric.mask)
        buffer_printf(&text, " mask %d", (int)study->symetric.mask);
    if (study->symetric.points != symetric.points)
        buffer_printf(&text, " points %lld", (long long)study->symetric.points);
    if (study->evaluate.protocol) buffer_printf(&text, " protocol %d", (int)options->protocol);
    if (options->network_trajectories)
        buffer_printf(&text, " network %lld", (long long)options->network_trajectories);
    if (!text.failed) hash_bytes(out, text.data, text.size);
    const plumb_status st =
        text.failed ? fail(PLUMB_EMEMORY, "out of memory for a study") : PLUMB_OK;
    buffer_clear(&text);
    return st;
}

// A key of the block "evaluate": the member of an options struct that it sets. Its type, range and
// default are those of the table.
typedef struct evaluate_key {
    const char *name;
    const option_table *table;
    const char *member;
    size_t offset; // of the options struct in study_file
} evaluate_key;

// clang-format off
#define AT(member) offsetof(study_file, member)
static const evaluate_key evaluate_keys[] = {
    {"count", &evaluation_option_table, "forecast_videos", AT(evaluate)},
    {"steps", &evaluation_option_table, "forecast_steps", AT(evaluate)},
    {"measured", &evaluation_option_table, "phase_trajectories", AT(evaluate)},
    {"first", &evaluation_option_table, "first", AT(evaluate)},
    {"average", &forecast_option_table, "average", AT(forecast)},
    {"mode", &symetric_option_table, "mode", AT(symetric)},
    {"mask", &symetric_option_table, "mask", AT(symetric)},
    {"points", &symetric_option_table, "points", AT(symetric)},
    {"protocol", &evaluation_option_table, "protocol", AT(evaluate)},
    {"updates", &symetric_option_table, "network_updates", AT(symetric)},
    {"network_trajectories", &evaluation_option_table, "network_trajectories", AT(evaluate)},
    {"tuples", &evaluation_option_table, "tuples", AT(evaluate)},
    {"films", &evaluation_option_table, "free_clips", AT(evaluate)},
    {"k", &surprise_option_table, "k", AT(surprise)},
    {"symplectic", &kappa_option_table, "symplectic", AT(kappa)},
    {"method", NULL, NULL, 0}, // "both" or "pr": evaluate.network
};
#undef AT
// clang-format on
enum { EVALUATE_KEYS = sizeof evaluate_keys / sizeof *evaluate_keys };

static plumb_status read_method(study_file *study, const yaml *node)
{
    const bool both = node->kind == YAML_VALUE && !strcmp(node->text, "both");
    if (!both && (node->kind != YAML_VALUE || strcmp(node->text, "pr")))
        return fail(PLUMB_EFORMAT, "%s:%d: \"method\" takes both or pr, not \"%.64s\"", study->path,
                    node->line, node->text);
    study->evaluate.network = both;
    return PLUMB_OK;
}

static plumb_status read_evaluate_key(study_file *study, const yaml *node, const evaluate_key *key)
{
    if (!key->table) return read_method(study, node);
    const option_spec *spec = key->table->specs;
    while (strcmp(spec->name, key->member)) spec++;
    char error[600];
    const char *text = node->kind == YAML_VALUE ? node->text : "a list or a map";
    if (option_store((char *)study + key->offset, spec, text, error, sizeof error)) return PLUMB_OK;
    return fail(PLUMB_EFORMAT, "%s:%d: \"%s\" %s", study->path, node->line, key->name, error);
}

plumb_status study_check_evaluate(study_file *study, const yaml *node)
{
    const char *names[EVALUATE_KEYS + 1] = {0};
    for (int i = 0; i < EVALUATE_KEYS; i++) names[i] = evaluate_keys[i].name;
    if (node && !yaml_is_map(node))
        return fail(PLUMB_EFORMAT, "%s:%d: \"evaluate\" takes a map", study->path, node->line);
    study->forecast.average = PLUMB_FORECAST_AVERAGE_MEAN;
    // A protocol stands for other keys, so these are read a second time.
    for (int pass = 0; pass < 2; pass++) {
        for (const yaml *child = node ? node->child : NULL; child; child = child->next) {
            plumb_status st = study_check_key(study, child, names, "evaluate");
            int i = 0;
            while (!st && strcmp(names[i], child->key)) i++;
            if (!st) st = read_evaluate_key(study, child, &evaluate_keys[i]);
            if (st) return st;
        }
        if (pass || !study->evaluate.protocol) continue;
        const plumb_status st = plumb_evaluation_set_protocol(
            &study->evaluate, &study->symetric, &study->forecast, study->evaluate.protocol);
        if (st) return st;
    }
    return hash_options(study->options_hash, study);
}

// ---- runs ----

// Creates the model of a run and destroys it: its constructor checks what a single setting cannot
// show.
static plumb_status try_model(const run_config *config, arena *mem)
{
    video_set videos;
    trainable_model model;
    plumb_status st = run_config_video_shape(&videos, config);
    if (!st)
        st = config->model->create(&model, mem, config->model_settings, &config->training, &videos);
    if (!st && model.destroy) model.destroy(model.context);
    return st;
}

// Resolves a run and checks that its world exists and has what the model needs.
static plumb_status check_run(run_config *config, arena *mem, const study_file *study,
                              const study_run *run)
{
    const plumb_world *world = NULL;
    plumb_status st = study_run_resolve(config, mem, study, run);
    if (!st && run->world)
        st = study_run_add_line(plumb_world_find(&world, run->world), study, run->data_line);
    if (!st && world && config->model->needs_masks && !video_has_masks(world))
        st = fail(PLUMB_EFORMAT,
                  "%s:%d: %s needs object masks, and %s has none; the rooms have them", study->path,
                  run->data_line, run->model, run->world);
    return st;
}

plumb_status study_check_runs(study_file *study)
{
    typedef char cost_class[33];
    cost_class *seen = ARENA_ALLOC(&study->mem, cost_class, study->run_count);
    int64_t seen_count = 0;
    plumb_status st = seen ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t i = 0; i < study->run_count && !st; i++) {
        const study_run *run = &study->runs[i];
        arena mem = {0};
        run_config config;
        st = status_check_stop();
        if (!st) st = check_run(&config, &mem, study, run);
        if (!st)
            st = study_run_add_line(study_run_cost_class(seen[seen_count], &config), study,
                                    run->data_line);
        // One model per cost class is enough: the others differ in seeds, worlds and rates.
        int64_t same = 0;
        while (!st && same < seen_count && strcmp(seen[same], seen[seen_count])) same++;
        if (!st && same == seen_count) {
            seen_count++;
            st = study_run_add_line(try_model(&config, &mem), study, run->line);
        }
        arena_clear(&mem);
    }
    return st;
}
