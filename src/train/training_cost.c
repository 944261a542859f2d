// SPDX-License-Identifier: MIT
// What a training will take: sizes from the model as it is built, time from a few steps of a small
// batch, memory from the plans of its programs.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/json_tree.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "plumb/dataset.h"
#include "train/options.h"
#include "train/step_time.h"
#include "train/training.h"

// The program itself, OpenBLAS and what is small.
#define OTHER_BYTES 5e7

// Whether the options or the settings name a world or a file.
static bool sets_data(const plumb_training_options *opt)
{
    bool found = opt->world || opt->data;
    for (int64_t i = 0; i < opt->set_count && !found; i++)
        found = !strncmp(opt->set[i], "world=", 6) || !strncmp(opt->set[i], "data=", 5);
    return found;
}

// Memory of one replica: its programs, and of stages that follow each other the largest.
static double sum_programs(const json_tree *t)
{
    double sum = 0.0;
    for (const json_tree *c = t->child; c; c = c->next) {
        const bool program =
            c->key && (!strcmp(c->key, "block_bytes") || !strcmp(c->key, "ready_bytes") ||
                       !strcmp(c->key, "scratch_bytes"));
        const double more = program ? c->number : sum_programs(c);
        if (t->key && !strcmp(t->key, "stages")) sum = fmax(sum, more);
        else sum += more;
    }
    return sum;
}

// Sizes of the model, by its own record.
static plumb_status measure_model(plumb_training_cost *out, double *replica_bytes, arena *mem,
                                  const trainable_model *model)
{
    const char *text;
    const json_tree *tree;
    *replica_bytes = 0.0;
    out->parameters = model->parameter_count;
    out->replicas = model->replicas;
    if (!model->record_cost) return PLUMB_OK;
    plumb_record *record = plumb_record_create();
    if (!record) return PLUMB_EMEMORY;
    model->record_cost(model->context, record);
    plumb_status st = plumb_record_to_json(&text, record);
    if (!st) st = json_tree_read(&tree, mem, text, strlen(text), "the plan");
    if (!st) *replica_bytes = sum_programs(tree);
    plumb_record_free(record);
    return st;
}

// Core seconds of a step at the longest horizon. A clip per shard is timed, and scaled to the
// batch. NaN if the settings do not allow a step of such data.
static double time_step(const run_request *request)
{
    arena mem = {0};
    run_config small;
    char shards[40];
    double seconds = (double)NAN;
    int64_t latents, batch = 0;
    plumb_status st = run_config_resolve(&small, &mem, request, NULL);
    if (!st && small.data.world[0]) st = settings_set(&small.all, "trajectories=4");
    if (!st) {
        (void)(settings_set(&small.all, "curriculum_targets=") ||
               settings_set(&small.all, "curriculum_deadlines="));
        batch = small.training.batch;
        snprintf(shards, sizeof shards, "batch=%lld", (long long)small.training.replicas);
        st = settings_set(&small.all, shards);
    }
    if (!st) st = step_time_measure(&seconds, &latents, &small, &mem);
    if (st) status_log("no step could be timed: %s", plumb_last_error());
    const double scale = (double)batch / (double)(st ? 1 : small.training.replicas);
    arena_clear(&mem);
    return st || !isfinite(seconds) ? (double)NAN : seconds * scale;
}

// Number and length of the training videos. Of a file that cannot be read twice they stay 0.
static void count_videos(plumb_training_cost *out, const run_config_data *data)
{
    out->videos = data->trajectories;
    out->frames = data->frames;
    if (data->world[0]) return;
    plumb_dataset *dataset;
    plumb_array frames;
    out->videos = out->frames = 0;
    if (plumb_dataset_open(&dataset, data->data, NULL)) return;
    const int64_t count = plumb_dataset_item_count(dataset);
    if (count > 0 && !plumb_dataset_read_field(&frames, dataset, 0, "frames") && frames.ndim) {
        out->videos = data->trajectories && data->trajectories < count ? data->trajectories : count;
        out->frames = frames.shape[0];
    }
    plumb_dataset_close(dataset);
}

static void fill_record(plumb_record *record, const plumb_training_cost *cost)
{
    plumb_record_set_string(record, "data", cost->data);
    plumb_record_set_int(record, "training_steps", cost->steps);
    plumb_record_set_int(record, "batch", cost->batch);
    plumb_record_set_double(record, "step_core_seconds", cost->step_core_seconds);
    plumb_record_set_double(record, "seconds", cost->seconds);
    plumb_record_set_double(record, "bytes", cost->bytes);
}

plumb_status plumb_training_estimate(plumb_training_cost *cost, plumb_record *record,
                                     const plumb_training_options *options)
{
    REQUIRE_ARGUMENT(options);
    plumb_training_options opt = plumb_training_defaults();
    plumb_training_cost found = {0};
    arena mem = {0};
    run_config config;
    video_set videos = {0};
    trainable_model model = {0};
    double replica_bytes = 0.0;
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_training_options");
    if (st) return st;
    run_request request = training_request(&opt);
    // Sizes are enough for a plan: settings need not fit the data.
    request.skip_check = true;
    const bool named = sets_data(&opt);
    if (!named) request.world = "mass-spring"; // any world: only the frame size matters
    st = run_config_resolve(&config, &mem, &request, NULL);
    if (!st) st = run_config_video_shape(&videos, &config);
    if (!st)
        st = config.model->create(&model, &mem, config.model_settings, &config.training, &videos);
    const bool created = !st;
    if (!st) st = measure_model(&found, &replica_bytes, &mem, &model);
    if (!st && record) {
        plumb_record_set_string(record, "model", config.model->name);
        plumb_record_set_string(record, "preset", settings_preset_name(config.preset));
        if (model.record_cost) model.record_cost(model.context, record);
    }
    if (created && model.destroy) model.destroy(model.context);
    if (!st) {
        const run_config_data *data = &config.data;
        const int threads = opt.threads ? opt.threads : parallel_threads();
        snprintf(found.model, sizeof found.model, "%s", config.model->name);
        snprintf(found.preset, sizeof found.preset, "%s", settings_preset_name(config.preset));
        snprintf(found.data, sizeof found.data, "%s",
                 !named           ? ""
                 : data->world[0] ? data->world
                                  : data->data);
        found.steps = config.training.steps;
        found.batch = config.training.batch;
        count_videos(&found, data);
        found.height = videos.height, found.width = videos.width, found.channels = videos.channels;
        found.video_bytes = (double)(found.videos * found.frames) *
                            (double)(videos.height * videos.width * videos.channels);
        const double validated = (double)(config.training.validation_clips * videos.steps) *
                                 (double)(videos.height * videos.width * videos.channels);
        // Values, two moments of Adam, and a gradient of each replica.
        found.bytes = OTHER_BYTES + found.video_bytes + validated +
                      (double)found.replicas * replica_bytes +
                      4.0 * (double)found.parameters * (double)(3 + found.replicas);
        found.step_core_seconds = time_step(&request);
        // No more threads than shards.
        found.threads = threads < found.replicas ? threads : (int)found.replicas;
        found.seconds = found.step_core_seconds * (double)found.steps / (double)found.threads;
        if (record) fill_record(record, &found);
        if (cost) *cost = found;
    }
    arena_clear(&mem);
    return st;
}

plumb_status plumb_training_plan(plumb_record *record, const plumb_training_options *options)
{
    REQUIRE_ARGUMENT(record);
    return plumb_training_estimate(NULL, record, options);
}
