// SPDX-License-Identifier: MIT
// What a run of a study trains: its settings, resolved as `plumb train` resolves them. An error
// names the line of the study file that asks for the setting.
#include "sweep/study_run.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"

plumb_status study_run_add_line(plumb_status st, const study_file *study, int line)
{
    if (!st || st == PLUMB_EMEMORY || st == PLUMB_ESTOPPED) return st;
    return fail(PLUMB_EFORMAT, "%s:%d: %s", study->path, line, plumb_last_error());
}

// Joins a setting to "name=value", in `mem`.
static plumb_status join_setting(const char **out, arena *mem, const study_file *study,
                                 const study_setting *setting)
{
    if (!strcmp(setting->name, "world") || !strcmp(setting->name, "data"))
        return fail(PLUMB_EFORMAT, "%s:%d: \"%s\" belongs beside \"set\", not in it", study->path,
                    setting->line, setting->name);
    if (strchr(setting->name, '='))
        return fail(PLUMB_EFORMAT, "%s:%d: the name \"%.60s\" must not contain \"=\"", study->path,
                    setting->line, setting->name);
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
    case RUN_REQUEST_DATA: return run->data_line;
    case RUN_REQUEST_WHOLE: return run->line;
    default: return run->settings[failed_at].line;
    }
}

plumb_status study_run_resolve(run_config *out, arena *mem, const study_file *study,
                               const study_run *run)
{
    const char **set = ARENA_ALLOC(mem, const char *, (run->setting_count + 1));
    plumb_status st = set ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t i = 0; i < run->setting_count && !st; i++)
        st = join_setting(&set[i], mem, study, &run->settings[i]);
    if (st) return st;
    const run_request request = {.model = run->model,
                                 .preset = run->preset,
                                 .world = run->data ? NULL : run->world,
                                 .data = run->data,
                                 .set = set,
                                 .set_count = run->setting_count,
                                 .steps = -1};
    int64_t failed_at = RUN_REQUEST_WHOLE;
    st = run_config_resolve(out, mem, &request, &failed_at);
    return study_run_add_line(st, study, find_line(run, failed_at));
}

// Runs with the same text take the same time per step: part 2 of the settings are those of the
// model.
plumb_status study_run_cost_class(char out[33], const run_config *config)
{
    video_set videos;
    plumb_status st = run_config_video_shape(&videos, config);
    if (st) return st;
    buffer text = {0};
    char value[600];
    buffer_printf(&text, "%s %lld %lld %lld %lld %lld\n", config->model->name,
                  (long long)videos.height, (long long)videos.width, (long long)videos.channels,
                  (long long)config->training.batch, (long long)config->training.replicas);
    const struct settings_part *part = &config->all.part[2];
    for (const setting_spec *spec = part->row; spec->option.name; spec++)
        buffer_printf(&text, "%s=%s\n", spec->option.name,
                      settings_format(value, sizeof value, spec, part->values));
    if (text.failed) st = fail(PLUMB_EMEMORY, "out of memory for a study");
    else hash_bytes(out, text.data, text.size);
    buffer_clear(&text);
    return st;
}
