// SPDX-License-Identifier: MIT
// Every setting of every run is set, in memory, as training would set it; and of each kind of run
// one model is made. What training would refuse is refused here, with the line that asks for it.
#define _GNU_SOURCE
#include "sweep/study_check.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "dataset/video_load.h"
#include "evaluate/options.h"
#include "measures/kappa/options.h"
#include "measures/surprise/options.h"
#include "measures/symetric/options.h"

// ---- evaluation ----

static plumb_status hash_options(char out[33], const study_file *s)
{
    buffer b = {0};
    const plumb_evaluation_options *e = &s->evaluate;
    buffer_printf(&b, "%lld %lld %lld %lld %d %lld ", (long long)e->forecast_videos,
                  (long long)e->forecast_steps, (long long)e->phase_trajectories,
                  (long long)e->first, (int)e->network, (long long)s->symetric.network_updates);
    buffer_printf(&b, "%lld %lld %lld", (long long)e->tuples, (long long)e->free_clips,
                  (long long)s->surprise.k);
    if (s->kappa.symplectic) buffer_printf(&b, " symplectic");
    if (!b.failed) hash_bytes(out, b.data, b.size);
    const plumb_status st = b.failed ? fail(PLUMB_EMEMORY, "no memory for a study") : PLUMB_OK;
    buffer_clear(&b);
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
    {"updates", &symetric_option_table, "network_updates", AT(symetric)},
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
    if (node && node->kind != YAML_MAP && node->text[0])
        return fail(PLUMB_EFORMAT, "%s:%d: \"evaluate\" takes a map", study->path, node->line);
    for (const yaml *child = node ? node->child : NULL; child; child = child->next) {
        plumb_status st = study_check_key(study, child, names, "evaluate");
        int i = 0;
        while (!st && strcmp(names[i], child->key)) i++;
        if (!st) st = read_evaluate_key(study, child, &evaluate_keys[i]);
        if (st) return st;
    }
    return hash_options(study->options, study);
}

// ---- runs ----

static plumb_status at_line(plumb_status st, const study_file *s, int line)
{
    if (!st || st == PLUMB_EMEMORY || st == PLUMB_ESTOPPED) return st;
    return fail(PLUMB_EFORMAT, "%s:%d: %s", s->path, line, plumb_last_error());
}

// "name=value" of a setting, in `mem`.
static plumb_status join_setting(const char **out, arena *mem, const study_file *s,
                                 const study_setting *setting)
{
    if (!strcmp(setting->name, "world") || !strcmp(setting->name, "data"))
        return fail(PLUMB_EFORMAT, "%s:%d: \"%s\" stands beside \"set\", not in it", s->path,
                    setting->line, setting->name);
    if (strchr(setting->name, '='))
        return fail(PLUMB_EFORMAT, "%s:%d: \"%.60s\": a name has no \"=\"", s->path, setting->line,
                    setting->name);
    const size_t size = strlen(setting->name) + strlen(setting->value) + 2;
    char *text = ARENA_ALLOC(mem, char, (int64_t)size);
    if (!text) return PLUMB_EMEMORY;
    snprintf(text, size, "%s=%s", setting->name, setting->value);
    *out = text;
    return PLUMB_OK;
}

// The line of the study file that a failed part of a request comes from.
static int find_line(const study_run *run, int64_t failed_at)
{
    switch (failed_at) {
    case RUN_REQUEST_MODEL: return run->model_line;
    case RUN_REQUEST_PRESET: return run->preset_line;
    case RUN_REQUEST_DATA: return run->where_line;
    case RUN_REQUEST_WHOLE: return run->line;
    default: return run->set[failed_at].line;
    }
}

plumb_status study_file_run_config(run_config *out, arena *mem, const study_file *s,
                                   const study_run *run)
{
    const char **set = ARENA_ALLOC(mem, const char *, (run->sets + 1));
    plumb_status st = set ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t i = 0; i < run->sets && !st; i++) st = join_setting(&set[i], mem, s, &run->set[i]);
    if (st) return st;
    const run_request request = {.model = run->model,
                                 .preset = run->preset,
                                 .world = run->data ? NULL : run->world,
                                 .data = run->data,
                                 .set = set,
                                 .set_count = run->sets,
                                 .steps = -1};
    int64_t failed_at = RUN_REQUEST_WHOLE;
    st = run_config_resolve(out, mem, &request, &failed_at);
    return at_line(st, s, find_line(run, failed_at));
}

plumb_status study_file_cost_class(char out[33], const run_config *r)
{
    video_set film;
    plumb_status st = run_config_video_shape(&film, r);
    if (st) return st;
    buffer b = {0};
    char text[600];
    buffer_printf(&b, "%s %lld %lld %lld %lld %lld\n", r->model->name, (long long)film.height,
                  (long long)film.width, (long long)film.channels, (long long)r->training.batch,
                  (long long)r->training.replicas);
    const struct settings_part *own = &r->all.part[2];
    for (const setting_spec *row = own->row; row->name; row++)
        buffer_printf(&b, "%s=%s\n", row->name,
                      settings_format(text, sizeof text, row, own->values));
    if (b.failed) st = fail(PLUMB_EMEMORY, "no memory for a study");
    else hash_bytes(out, b.data, b.size);
    buffer_clear(&b);
    return st;
}

static plumb_status make_model(const run_config *r, arena *mem)
{
    video_set film;
    trainable_model t;
    plumb_status st = run_config_video_shape(&film, r);
    if (!st) st = r->model->create(&t, mem, r->model_settings, &r->training, &film);
    if (!st && t.destroy) t.destroy(t.context);
    return st;
}

plumb_status study_check_runs(study_file *s)
{
    typedef char identity[33];
    identity *seen = ARENA_ALLOC(&s->mem, identity, s->count);
    int64_t kinds = 0;
    plumb_status st = seen ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->count && !st; i++) {
        const study_run *run = &s->run[i];
        arena mem = {0};
        run_config r;
        const plumb_world *world = NULL;
        st = status_check_stop();
        if (!st) st = study_file_run_config(&r, &mem, s, run);
        if (!st && run->world)
            st = at_line(plumb_world_find(&world, run->world), s, run->where_line);
        if (!st && world && r.model->needs_masks && !video_has_masks(world))
            st = fail(PLUMB_EFORMAT,
                      "%s:%d: %s needs object masks, and %s has none; the rooms have them", s->path,
                      run->where_line, run->model, run->world);
        if (!st) st = at_line(study_file_cost_class(seen[kinds], &r), s, run->where_line);
        int64_t k = 0;
        while (!st && k < kinds && strcmp(seen[k], seen[kinds])) k++;
        if (!st && k == kinds) {
            kinds++;
            st = at_line(make_model(&r, &mem), s, run->line);
        }
        arena_clear(&mem);
    }
    return st;
}
