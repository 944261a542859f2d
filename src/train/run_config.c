// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "train/run_config.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/status.h"
#include "dataset/video_load.h"
#include "plumb/dataset.h"

static const char *const decays[] = {"constant", "cosine", NULL}; // as adam_decay

// clang-format off
#define AT(member) offsetof(run_config_data, member)
const setting_spec run_config_data_rows[] = {
    // name, kind, where, {paper, cpu, tiny}, from, to, choices, help
    {"world", SETTINGS_TEXT, AT(world), {""}, 0, 0, NULL, "the world that is watched; plumb worlds lists them", false},
    {"data", SETTINGS_TEXT, AT(data), {""}, 0, 0, NULL, "or a file of plumb simulate", true},
    {"trajectories", SETTINGS_INTEGER, AT(trajectories), {"1000", "200", "8"}, 0, 1e9, NULL,
     "how many there are to learn from; of a file 0 means all", false},
    {"frames", SETTINGS_INTEGER, AT(frames), {"256", "128", "24"}, 1, 1e6, NULL, "frames of each; a file has its own", false},
    {"data_seed", SETTINGS_INTEGER, AT(data_seed), {"1"}, 0, 9e18, NULL, "seed of the world", false},
    {"image", SETTINGS_INTEGER, AT(image), {"32"}, 0, 1024, NULL, "height and width of a frame; a file has its own", false},
    {0},
};
#undef AT
#define AT(member) offsetof(training_settings, member)
const setting_spec run_config_training_rows[] = {
    {"steps", SETTINGS_INTEGER, AT(steps), {"500000", "1500", "20"}, 0, 1e12, NULL, "updates of the parameters", true},
    {"batch", SETTINGS_INTEGER, AT(batch), {"128", "16", "4"}, 1, 65536, NULL, "clips a step", false},
    {"replicas", SETTINGS_INTEGER, AT(replicas), {"4", "2", "2"}, 1, 256, NULL,
     "shares the batch is cut into, each computed by one core; another number gives other bits", false},
    {"seed", SETTINGS_INTEGER, AT(seed), {"1"}, 0, 9e18, NULL, "of first parameters, clips and noise", false},
    {"rate", SETTINGS_REAL, AT(rate), {"1.5e-4", "2e-3", "2e-3"}, 0, 1e3, NULL, "learning rate", false},
    {"warmup", SETTINGS_INTEGER, AT(warmup), {"0", "100", "2"}, 0, 1e12, NULL, "steps over which the rate rises", false},
    {"decay", SETTINGS_CHOICE, AT(decay), {"constant", "cosine", "cosine"}, 0, 0, decays, "what the rate does then", false},
    {"hold", SETTINGS_REAL, AT(hold), {"0"}, 0, 1, NULL, "share of the steps before it falls", false},
    {"last", SETTINGS_REAL, AT(last), {"0.01"}, 0, 1, NULL, "what it falls to, as a share of itself", false},
    {"beta1", SETTINGS_REAL, AT(beta1), {"0.9"}, 0, 0.999999, NULL, "of Adam", false},
    {"beta2", SETTINGS_REAL, AT(beta2), {"0.999"}, 0, 0.99999999, NULL, "of Adam", false},
    {"epsilon", SETTINGS_REAL, AT(epsilon), {"1e-8"}, 1e-30, 1, NULL, "of Adam, outside the root", false},
    {"clip", SETTINGS_REAL, AT(clip), {"0", "1", "1"}, 0, 1e30, NULL, "longest gradient; 0: any", false},
    {"log", SETTINGS_INTEGER, AT(log), {"100", "10", "5"}, 1, 1e12, NULL, "steps a line of log.jsonl", false},
    {"save", SETTINGS_INTEGER, AT(save), {"1000", "250", "10"}, 0, 1e12, NULL,
     "steps a checkpoint; one comes every minute and at the end anyway", true},
    {0},
};
#undef AT
// clang-format on

static plumb_status attach(run_config *r, arena *mem, const char *model)
{
    *r = (run_config){0};
    plumb_status st = registry_find(&r->model, model);
    if (st) return st;
    r->own = arena_alloc(mem, 1, r->model->settings_size);
    if (!r->own) return PLUMB_EMEMORY;
    r->all = (settings){.mem = mem,
                        .count = 3,
                        .part = {{"data", run_config_data_rows, &r->data},
                                 {"training", run_config_training_rows, &r->training},
                                 {"settings", r->model->setting_specs, r->own}}};
    return PLUMB_OK;
}

plumb_status run_config_init(run_config *r, arena *mem, const char *model, settings_preset preset)
{
    plumb_status st = attach(r, mem, model);
    if (!st) st = settings_apply_preset(&r->all, preset);
    if (st) return st;
    r->preset = preset;
    for (const char *const *a = r->model->preset_changes[preset]; !st && a && *a; a++)
        st = settings_set(&r->all, *a);
    return st;
}

void run_config_record(plumb_record *record, const run_config *r)
{
    plumb_record_set_string(record, "plumb", plumb_version());
    plumb_record_set_string(record, "model", r->model->name);
    plumb_record_set_string(record, "preset", settings_preset_name(r->preset));
    settings_record(record, &r->all);
}

static plumb_status read_part(run_config *r, bool seen[3], json *j, const char *key)
{
    if (!r->model) return json_error(j, "no \"model\" before it");
    for (int p = 0; p < 3; p++) {
        if (strcmp(r->all.part[p].title, key)) continue;
        if (seen[p]) return json_error(j, "an object stands there twice");
        seen[p] = true;
        return settings_read(&r->all, p, j);
    }
    return fail(PLUMB_EFORMAT, "%s: \"%.64s\" is nothing that a run has", j->what, key);
}

plumb_status run_config_parse(run_config *r, arena *mem, char *text, size_t size, const char *path)
{
    static const char *const titles[] = {"data", "training", "settings"};
    bool seen[3] = {0};
    settings_preset preset = SETTINGS_PAPER;
    *r = (run_config){0};
    plumb_status st = PLUMB_OK;
    json j = json_begin(text, size, path);
    json_object(&j);
    for (const char *key; !st && (key = json_key(&j));) {
        if (!strcmp(key, "plumb")) {
            json_string(&j);
        } else if (!strcmp(key, "model") && !r->model) {
            const char *name = json_string(&j);
            if (name) st = attach(r, mem, name);
            if (st == PLUMB_EVALUE) st = fail(PLUMB_EFORMAT, "%s: %s", path, plumb_last_error());
        } else if (!strcmp(key, "preset")) {
            const char *name = json_string(&j);
            if (name && settings_find_preset(&preset, name))
                st = fail(PLUMB_EFORMAT, "%s: %s", path, plumb_last_error());
        } else {
            st = read_part(r, seen, &j, key);
        }
    }
    if (!st) st = json_end(&j);
    if (!st && !r->model) st = fail(PLUMB_EFORMAT, "%s: names no model; it is of no run", path);
    for (int p = 0; p < 3 && !st; p++)
        if (!seen[p]) st = fail(PLUMB_EFORMAT, "%s: has no \"%s\"", path, titles[p]);
    r->preset = preset;
    return st ? st : run_config_check(r);
}

plumb_status run_config_check(const run_config *r)
{
    const bool world = r->data.world[0], data = r->data.data[0];
    if (world == data)
        return fail(PLUMB_EVALUE, world ? "give a world or a file of data, not both"
                                        : "a world or a file of data must be given");
    if (world && r->data.trajectories < 1)
        return fail(PLUMB_EVALUE, "trajectories takes a whole number from 1 on for a world");
    if (r->training.replicas > r->training.batch)
        return fail(PLUMB_EVALUE, "replicas=%lld is more than batch=%lld: some would have no clip",
                    (long long)r->training.replicas, (long long)r->training.batch);
    const int64_t clip = r->model->clip_length ? r->model->clip_length(r->own) : 1;
    if (world && r->data.frames < clip)
        return fail(PLUMB_EVALUE, "frames=%lld is fewer than the %lld of a clip of this model",
                    (long long)r->data.frames, (long long)clip);
    // Rooms have a fixed length. A wrong name is an error of whoever loads the videos.
    const plumb_world *found;
    const int64_t fixed =
        world && !plumb_world_find(&found, r->data.world) ? plumb_world_get_info(found)->steps : 0;
    if (fixed && (clip > fixed || r->data.frames != fixed))
        return fail(PLUMB_EVALUE,
                    "%s has %lld frames a clip; frames=%lld and the %lld of this "
                    "model do not fit",
                    r->data.world, (long long)fixed, (long long)r->data.frames, (long long)clip);
    return PLUMB_OK;
}

plumb_status run_config_hash(char out[33], const run_config *r)
{
    buffer b = {0};
    char text[600];
    buffer_printf(&b, "%s\n", r->model->name);
    for (int p = 0; p < r->all.count; p++)
        for (const setting_spec *row = r->all.part[p].row; row->name; row++) {
            settings_format(text, sizeof text, row, r->all.part[p].values);
            // What older runs do not have is no part of what they are.
            const bool unknown =
                row->manner == SETTING_ADDED_LATER && !strcmp(row->value[SETTINGS_PAPER], text);
            if (row->manner == SETTING_MAY_CHANGE || unknown) continue;
            buffer_printf(&b, "%s=%s\n", row->name, text);
        }
    // The length of training shapes the rate only where it falls.
    if (r->training.decay) buffer_printf(&b, "steps=%lld\n", (long long)r->training.steps);
    if (b.failed) {
        buffer_clear(&b);
        return fail(PLUMB_EMEMORY, "no memory for the settings");
    }
    hash_bytes(out, b.data, b.size);
    buffer_clear(&b);
    return PLUMB_OK;
}

plumb_status run_config_load_video(video_set *out, arena *mem, const run_config *r, int threads)
{
    plumb_status st;
    if (r->data.world[0]) {
        video_request request = {.seed = (uint64_t)r->data.data_seed,
                                 .count = r->data.trajectories,
                                 .steps = r->data.frames,
                                 .image = r->data.image,
                                 .masks = r->model->needs_masks,
                                 .threads = threads};
        st = plumb_world_find(&request.world, r->data.world);
        if (!st && r->model->needs_masks && !video_has_masks(request.world))
            st = fail(PLUMB_EVALUE,
                      "%s must be shown objects, and %s has no masks of them; the rooms have",
                      r->model->name, r->data.world);
        if (!st) st = video_load_world(out, mem, &request);
    } else {
        st = video_load_file(out, mem, r->data.data, r->data.trajectories, r->model->needs_masks);
    }
    const int64_t clip = r->model->clip_length ? r->model->clip_length(r->own) : 1;
    if (!st && out->steps < clip)
        st = fail(PLUMB_ESHAPE, "%s: has %lld frames a trajectory, a clip of this model %lld",
                  r->data.data, (long long)out->steps, (long long)clip);
    return st;
}

plumb_status run_config_video_shape(video_set *out, const run_config *r)
{
    *out = (video_set){.count = 1,
                       .steps = r->model->clip_length ? r->model->clip_length(r->own) : 1,
                       .height = r->data.image,
                       .width = r->data.image,
                       .channels = 3};
    if (r->data.world[0]) {
        const plumb_world *world;
        const plumb_status st = plumb_world_find(&world, r->data.world);
        if (st) return st;
        const plumb_world_info *f = plumb_world_get_info(world);
        out->channels = f->channels;
        if (!r->data.image) out->height = f->height, out->width = f->width;
        return PLUMB_OK;
    }
    plumb_dataset *d;
    plumb_array a;
    plumb_status st = plumb_dataset_open(&d, r->data.data, NULL);
    if (st) return st;
    st = plumb_dataset_read_field(&a, d, 0, "frames");
    const int64_t *shape = a.shape + (!st && a.ndim == 5); // a tuple has an axis of clips
    if (!st) out->height = shape[1], out->width = shape[2], out->channels = shape[3];
    plumb_dataset_close(d);
    return st;
}
