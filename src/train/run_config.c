// SPDX-License-Identifier: MIT
// Resolved configuration of a training run: tables of the shared settings, requests, config.json,
// the hash of a configuration, and the videos it asks for.
#define _GNU_SOURCE
#include "train/run_config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/text.h"
#include "dataset/video_load.h"
#include "plumb/dataset.h"

static const char *const storages[] = {"auto", "memory", "disk", NULL}; // as video_storage
static const char *const decays[] = {"constant", "cosine", NULL};       // as adam_decay

// clang-format off
#define AT(member) offsetof(run_config_data, member)
const setting_spec run_config_data_specs[] = {
    // {name, type, member, words, lowest, highest, help}, {paper, cpu, tiny}, rule
    {{"world", OPTION_STRING, AT(world), NULL, 0, 0,
      "world to train on; plumb worlds lists them", NULL}, {""}, SETTING_FIXED},
    {{"data", OPTION_STRING, AT(data), NULL, 0, 0,
      "file of plumb simulate to train on, in place of a world", NULL}, {""}, SETTING_MAY_CHANGE},
    {{"trajectories", OPTION_INT64, AT(trajectories), NULL, 0, 1e9,
      "training videos; for a file 0 means all", NULL}, {"1000", "200", "8"}, SETTING_FIXED},
    {{"frames", OPTION_INT64, AT(frames), NULL, 1, 1e6,
      "frames per video of a world; a file has its own", NULL}, {"256", "128", "24"}, SETTING_FIXED},
    {{"data_seed", OPTION_INT64, AT(data_seed), NULL, 0, 9e18, "seed of the world", NULL}, {"1"}, SETTING_FIXED},
    {{"image", OPTION_INT64, AT(image), NULL, 0, 1024,
      "height and width of a frame in pixels; 0: as the world draws it; a file has its own", NULL}, {"32"}, SETTING_FIXED},
    {{"resize", OPTION_INT64, AT(resize), NULL, 0, 1024,
      "larger side in pixels that frames of a file are resized to, by areas; never enlarged; 0: 64 if they are larger", NULL}, {"0"}, SETTING_ADDED_LATER},
    {{"storage", OPTION_ENUM, AT(storage), storages, 0, 0,
      "where training videos are: in memory, or in a temporary file of the run; auto: in memory if they take at most half of it; does not affect the result", NULL}, {"auto"}, SETTING_FREE},
    {.option = {0}},
};
#undef AT
#define AT(member) offsetof(training_settings, member)
const setting_spec run_config_training_specs[] = {
    {{"steps", OPTION_INT64, AT(steps), NULL, 0, 1e12,
      "parameter updates", NULL}, {"500000", "1500", "20"}, SETTING_MAY_CHANGE},
    {{"batch", OPTION_INT64, AT(batch), NULL, 1, 65536, "clips per step", NULL}, {"128", "16", "4"}, SETTING_FIXED},
    {{"replicas", OPTION_INT64, AT(replicas), NULL, 1, 256,
      "shards of the batch, computed in parallel; another number gives other rounding errors", NULL}, {"4", "2", "2"}, SETTING_FIXED},
    {{"seed", OPTION_INT64, AT(seed), NULL, 0, 9e18,
      "seed of initial parameters, clips and noise", NULL}, {"1"}, SETTING_FIXED},
    {{"learning_rate", OPTION_DOUBLE, AT(learning_rate), NULL, 0, 1e3,
      "learning rate of Adam", NULL}, {"1.5e-4", "2e-3", "2e-3"}, SETTING_FIXED},
    {{"warmup", OPTION_INT64, AT(warmup), NULL, 0, 1e12,
      "steps over which the learning rate rises from 0", NULL}, {"0", "100", "2"}, SETTING_FIXED},
    {{"decay", OPTION_ENUM, AT(decay), decays, 0, 0,
      "how the learning rate falls after that", NULL}, {"constant", "cosine", "cosine"}, SETTING_FIXED},
    {{"decay_start", OPTION_DOUBLE, AT(decay_start), NULL, 0, 1,
      "share of the steps after which the learning rate falls", NULL}, {"0"}, SETTING_FIXED},
    {{"final_rate", OPTION_DOUBLE, AT(final_rate), NULL, 0, 1,
      "learning rate at the end, as a share of learning_rate", NULL}, {"0.01"}, SETTING_FIXED},
    {{"beta1", OPTION_DOUBLE, AT(beta1), NULL, 0, 0.999999,
      "Adam's decay of the first moment", NULL}, {"0.9"}, SETTING_FIXED},
    {{"beta2", OPTION_DOUBLE, AT(beta2), NULL, 0, 0.99999999,
      "Adam's decay of the second moment", NULL}, {"0.999"}, SETTING_FIXED},
    {{"epsilon", OPTION_DOUBLE, AT(epsilon), NULL, 1e-30, 1,
      "Adam's epsilon, added to the square root", NULL}, {"1e-8"}, SETTING_FIXED},
    {{"clip_norm", OPTION_DOUBLE, AT(clip_norm), NULL, 0, 1e30,
      "largest norm of the gradient; 0: no limit", NULL}, {"0", "1", "1"}, SETTING_FIXED},
    {{"log_steps", OPTION_INT64, AT(log_steps), NULL, 1, 1e12,
      "steps per line of log.jsonl", NULL}, {"100", "10", "5"}, SETTING_FIXED},
    {{"checkpoint_steps", OPTION_INT64, AT(checkpoint_steps), NULL, 0, 1e12,
      "steps per checkpoint; one is also written every minute and at the end", NULL}, {"1000", "250", "10"}, SETTING_MAY_CHANGE},
    {{"validation_clips", OPTION_INT64, AT(validation_clips), NULL, 0, 1e6,
      "clips outside the training range whose error is logged; the weights with the least are kept as best.safetensors; 0: none", NULL}, {"512", "64", "0"}, SETTING_FREE},
    {{"validation_steps", OPTION_INT64, AT(validation_steps), NULL, 1, 1e12,
      "steps between these; at lines of the log", NULL}, {"1000", "500", "10"}, SETTING_FREE},
    {.option = {0}},
};
#undef AT
// clang-format on

// The tables of data, training and model, without a struct for the settings of the model.
static plumb_status find_tables(run_config *config, arena *mem, const char *model)
{
    *config = (run_config){0};
    const plumb_status st = registry_find(&config->model, model);
    if (st) return st;
    config->all = (settings){
        .mem = mem,
        .count = 3,
        .part = {{"data", run_config_data_specs, &config->data, NULL, NULL},
                 {"training", run_config_training_specs, &config->training, renames_training, NULL},
                 {"settings", config->model->setting_specs, NULL, config->model->renamed_settings,
                  config->model->implications}}};
    return PLUMB_OK;
}

// The same with a struct for them, which the tables fill.
static plumb_status attach_tables(run_config *config, arena *mem, const char *model)
{
    const plumb_status st = find_tables(config, mem, model);
    if (st) return st;
    config->model_settings = arena_alloc(mem, 1, config->model->settings_size);
    config->all.part[2].values = config->model_settings;
    return config->model_settings ? PLUMB_OK : PLUMB_EMEMORY;
}

void run_config_use_new_names(const char *model, const char **name, const char **value)
{
    run_config config;
    if (!find_tables(&config, NULL, model)) settings_use_new_names(&config.all, name, value);
}

plumb_status run_config_init(run_config *config, arena *mem, const char *model,
                             settings_preset preset)
{
    plumb_status st = attach_tables(config, mem, model);
    if (!st) st = settings_apply_preset(&config->all, preset);
    if (st) return st;
    config->preset = preset;
    // What the model changes beyond the columns of the preset.
    for (const char *const *a = config->model->preset_changes[preset]; !st && a && *a; a++)
        st = settings_set(&config->all, *a);
    return st;
}

// Sets "name=value" from its two parts.
static plumb_status set_text(run_config *config, const char *name, const char *value)
{
    buffer text = {0};
    buffer_printf(&text, "%s=%s", name, value);
    buffer_put(&text, "", 1);
    const plumb_status st = text.failed ? fail(PLUMB_EMEMORY, "out of memory for a setting")
                                        : settings_set(&config->all, (const char *)text.data);
    buffer_clear(&text);
    return st;
}

plumb_status run_config_use_absolute_path(run_config *config, arena *mem)
{
    const char *data = config->data.data;
    char folder[4096];
    if (!data[0] || data[0] == '/' || !getcwd(folder, sizeof folder)) return PLUMB_OK;
    const char *slash = strcmp(folder, "/") ? "/" : "";
    const size_t size = strlen(folder) + strlen(data) + 2;
    char *path = ARENA_ALLOC(mem, char, (int64_t)size);
    if (!path) return PLUMB_EMEMORY;
    snprintf(path, size, "%s%s%s", folder, slash, data);
    return set_text(config, "data", path);
}

plumb_status run_config_resolve(run_config *config, arena *mem, const run_request *request,
                                int64_t *failed_at)
{
    int64_t ignored, *at = failed_at ? failed_at : &ignored;
    settings_preset preset = SETTINGS_CPU;
    char number[32];
    // Preset, model, data, settings: later ones overwrite earlier ones.
    *at = RUN_REQUEST_PRESET;
    plumb_status st = request->preset ? settings_find_preset(&preset, request->preset) : PLUMB_OK;
    if (st) return st;
    *at = RUN_REQUEST_MODEL;
    st = request->model ? run_config_init(config, mem, request->model, preset)
                        : fail(PLUMB_EVALUE, "no model is given");
    if (st) return st;
    *at = RUN_REQUEST_DATA;
    if (request->data) config->data.trajectories = 0; // all of the file
    if (request->world) st = set_text(config, "world", request->world);
    if (!st && request->data) st = set_text(config, "data", request->data);
    if (st) return st;
    *at = RUN_REQUEST_WHOLE;
    // Settings in their order; a later one of the same name wins.
    snprintf(number, sizeof number, "%lld", (long long)request->steps);
    if (request->steps >= 0) st = set_text(config, "steps", number);
    if (!st) st = settings_check_names(&config->all, request->set, request->set_count, at);
    for (int64_t i = 0; i < request->set_count && !st; i++) {
        *at = i;
        st = settings_set(&config->all, request->set[i]);
    }
    if (!st) st = settings_check_implied(&config->all, request->set, request->set_count, at);
    if (!st) st = run_config_use_absolute_path(config, mem);
    if (st) return st;
    *at = RUN_REQUEST_WHOLE;
    return request->skip_check ? PLUMB_OK : run_config_check(config);
}

void run_config_record(plumb_record *record, const run_config *config)
{
    plumb_record_set_string(record, "plumb", plumb_version());
    plumb_record_set_string(record, "model", config->model->name);
    plumb_record_set_string(record, "preset", settings_preset_name(config->preset));
    settings_record(record, &config->all);
}

// One of the three objects of config.json; the model must be known before it.
static plumb_status read_part(run_config *config, bool seen[3], json *j, const char *key)
{
    if (!config->model) return json_error(j, "no \"model\" before it");
    // Objects may come in any order, each once.
    for (int p = 0; p < 3; p++) {
        if (strcmp(config->all.part[p].title, key)) continue;
        if (seen[p]) return json_error(j, "an object appears twice");
        seen[p] = true;
        return settings_read(&config->all, p, j);
    }
    return fail(PLUMB_EFORMAT, "%s: \"%.64s\" is not a key of a run", j->what, key);
}

plumb_status run_config_parse(run_config *config, arena *mem, char *text, size_t size,
                              const char *path)
{
    static const char *const titles[] = {"data", "training", "settings"};
    bool seen[3] = {0};
    settings_preset preset = SETTINGS_PAPER;
    *config = (run_config){0};
    plumb_status st = PLUMB_OK;
    json j = json_begin(text, size, path);
    json_object(&j);
    for (const char *key; !st && (key = json_key(&j));) {
        // The version is not checked: files of other versions are read if their settings are known.
        if (!strcmp(key, "plumb")) {
            json_string(&j);
        } else if (!strcmp(key, "model") && !config->model) {
            const char *name = json_string(&j);
            if (name) st = attach_tables(config, mem, name);
            if (st == PLUMB_EVALUE) st = fail(PLUMB_EFORMAT, "%s: %s", path, plumb_last_error());
        } else if (!strcmp(key, "preset")) {
            const char *name = json_string(&j);
            if (name && settings_find_preset(&preset, name))
                st = fail(PLUMB_EFORMAT, "%s: %s", path, plumb_last_error());
        } else {
            st = read_part(config, seen, &j, key);
        }
    }
    if (!st) st = json_end(&j);
    if (!st && !config->model)
        st = fail(PLUMB_EFORMAT, "%s: names no model, so it is not of a run", path);
    // All three must be there.
    for (int p = 0; p < 3 && !st; p++)
        if (!seen[p]) st = fail(PLUMB_EFORMAT, "%s: has no \"%s\"", path, titles[p]);
    config->preset = preset;
    // Older files have what the user gave, not what was used.
    if (!st) st = settings_set_implied(&config->all, &config->corrected);
    if (!st) settings_log_renamed(&config->all, path);
    return st ? st : run_config_check(config);
}

int64_t run_config_clip_length(const run_config *config)
{
    return config->model->clip_length ? config->model->clip_length(config->model_settings) : 1;
}

plumb_status run_config_check(const run_config *config)
{
    // A world or a file, not both.
    const bool world = config->data.world[0], data = config->data.data[0];
    if (world == data)
        return fail(PLUMB_EVALUE, world ? "a world and a file of data conflict; give one of them"
                                        : "a world or a file of data must be given");
    // config.json is JSON, which holds only UTF-8: the run could not find its data again.
    if (data && !text_is_utf8(config->data.data))
        return fail(PLUMB_EVALUE,
                    "%s: the path is not UTF-8; rename the file, or give a link to it",
                    config->data.data);
    if (world && config->data.trajectories < 1)
        return fail(PLUMB_EVALUE, "trajectories must be at least 1 for a world");
    // Every replica needs at least one clip.
    if (config->training.replicas > config->training.batch)
        return fail(PLUMB_EVALUE, "replicas=%lld is more than batch=%lld: some would have no clip",
                    (long long)config->training.replicas, (long long)config->training.batch);
    const int64_t clip = run_config_clip_length(config);
    // Videos must be at least as long as a clip.
    if (world && config->data.frames < clip)
        return fail(PLUMB_EVALUE, "frames=%lld is fewer than the %lld of a clip of this model",
                    (long long)config->data.frames, (long long)clip);
    // Rooms have a fixed length. A wrong name is an error of whoever loads the videos.
    const plumb_world *found;
    const int64_t fixed = world && !plumb_world_find(&found, config->data.world)
                              ? plumb_world_get_info(found)->steps
                              : 0;
    if (fixed && (clip > fixed || config->data.frames != fixed))
        return fail(PLUMB_EVALUE,
                    "%s has %lld frames per clip; frames=%lld and clips of %lld "
                    "frames do not fit",
                    config->data.world, (long long)fixed, (long long)config->data.frames,
                    (long long)clip);
    return PLUMB_OK;
}

// Hash of "name=value" lines. With `old_names` those of version 0.1.0. `changed` is written with
// the value `word`; may be NULL.
static plumb_status hash_settings(char out[33], const run_config *config, bool old_names,
                                  const setting_spec *changed, const char *word)
{
    buffer b = {0};
    char text[600];
    // One line per setting, in the order of the tables.
    buffer_printf(&b, "%s\n", config->model->name);
    for (int p = 0; p < config->all.count; p++)
        for (const setting_spec *row = config->all.part[p].row; row->option.name; row++) {
            settings_format(text, sizeof text, row, config->all.part[p].values);
            // A setting that older runs do not have must not change their hash.
            const bool unknown =
                row->rule == SETTING_ADDED_LATER && !strcmp(row->value[SETTINGS_PAPER], text);
            if (row->rule == SETTING_MAY_CHANGE || row->rule == SETTING_FREE || unknown) continue;
            const char *name = row->option.name;
            if (old_names) settings_format_old(text, sizeof text, &name, row, &config->all.part[p]);
            if (row == changed) snprintf(text, sizeof text, "%s", word);
            buffer_printf(&b, "%s=%s\n", name, text);
        }
    // The number of steps matters only if the learning rate depends on it.
    if (config->training.decay)
        buffer_printf(&b, "steps=%lld\n", (long long)config->training.steps);
    if (b.failed) {
        buffer_clear(&b);
        return fail(PLUMB_EMEMORY, "out of memory for the settings");
    }
    hash_bytes(out, b.data, b.size);
    buffer_clear(&b);
    return PLUMB_OK;
}

plumb_status run_config_hash(char out[33], const run_config *config)
{
    return hash_settings(out, config, false, NULL, NULL);
}

// Adds the hashes under the new and the old names.
static plumb_status add_hashes(run_config_hashes *out, const run_config *config,
                               const setting_spec *changed, const char *word)
{
    for (int old_names = 0; old_names < 2; old_names++) {
        if (out->count == RUN_CONFIG_MAX_HASHES)
            return fail(PLUMB_EVALUE, "%s has too many hashes", config->model->name);
        const plumb_status st =
            hash_settings(out->hash[out->count], config, old_names, changed, word);
        if (st) return st;
        out->count++;
    }
    return PLUMB_OK;
}

plumb_status run_config_list_hashes(run_config_hashes *out, const run_config *config)
{
    *out = (run_config_hashes){0};
    plumb_status st = add_hashes(out, config, NULL, NULL);
    // Version 0.1.0 hashed what the user gave where another setting decided: any word was possible.
    for (int p = 0; p < config->all.count; p++)
        for (const setting_spec *row = config->all.part[p].row; row->option.name; row++) {
            if (!settings_is_implied(&config->all.part[p], row)) continue;
            for (int i = 0; row->option.words[i] && !st; i++)
                st = add_hashes(out, config, row, row->option.words[i]);
        }
    return st;
}

// Videos of a world are simulated; those of a file are read.
plumb_status run_config_load_video(video_set *out, arena *mem, const run_config *config,
                                   const char *folder, int threads)
{
    plumb_status st;
    const video_place place = {(video_storage)config->data.storage, folder};
    if (config->data.world[0]) {
        // Training videos are the first `trajectories` of the seed.
        video_request request = {.seed = (uint64_t)config->data.data_seed,
                                 .count = config->data.trajectories,
                                 .steps = config->data.frames,
                                 .image = config->data.image,
                                 .masks = config->model->needs_masks,
                                 .threads = threads,
                                 .place = place};
        st = plumb_world_find(&request.world, config->data.world);
        if (!st && config->model->needs_masks && !video_has_masks(request.world))
            st = fail(PLUMB_EVALUE, "%s needs object masks, and %s has none; the rooms have them",
                      config->model->name, config->data.world);
        if (!st) st = video_load_world(out, mem, &request);
    } else {
        st = video_load_file(out, mem, config->data.data, config->data.trajectories,
                             config->model->needs_masks, &(frame_size){.side = config->data.resize},
                             &place);
    }
    const int64_t clip = run_config_clip_length(config);
    if (!st && out->steps < clip)
        st = fail(PLUMB_ESHAPE, "%s: has %lld frames per trajectory; a clip of this model has %lld",
                  config->data.data, (long long)out->steps, (long long)clip);
    return st;
}

plumb_status run_config_video_shape(video_set *out, const run_config *config)
{
    *out = (video_set){.count = 1,
                       .steps = run_config_clip_length(config),
                       .height = config->data.image,
                       .width = config->data.image,
                       .channels = 3};
    if (config->data.world[0]) {
        const plumb_world *world;
        const plumb_status st = plumb_world_find(&world, config->data.world);
        if (st) return st;
        // The world has the number of channels, and the image size if none is set.
        const plumb_world_info *f = plumb_world_get_info(world);
        out->channels = f->channels;
        if (!config->data.image) out->height = f->height, out->width = f->width;
        return PLUMB_OK;
    }
    // The first trajectory of the file has the shape of all.
    video_set found;
    const plumb_status st =
        video_read_shape(&found, config->data.data, &(frame_size){.side = config->data.resize});
    if (!st) out->height = found.height, out->width = found.width, out->channels = found.channels;
    return st;
}
