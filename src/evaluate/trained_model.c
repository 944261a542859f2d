// SPDX-License-Identifier: MIT
// Opens a run for evaluation: reads config.json, creates the model and loads its weights.
// On failure the caller still closes it: what was created so far is freed there.
#include "evaluate/trained_model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "train/checkpoint.h"

// The shape of the training videos: from the weights, else from the world or the file of the run,
// else from the file it is evaluated on. A wrong guess is found when the weights are loaded.
static plumb_status find_shape(trained_model *out, const char *data)
{
    run_config *config = &out->config;
    int64_t shape[3];
    if (checkpoint_find_frames(shape, out->run)) {
        out->shape = (video_set){.count = 1,
                                 .steps = run_config_clip_length(config),
                                 .height = shape[0],
                                 .width = shape[1],
                                 .channels = shape[2]};
        return PLUMB_OK;
    }
    const char *trained_on = config->data.data;
    if (trained_on[0] && access(trained_on, F_OK) && data) config->data.data = data;
    const plumb_status st = run_config_video_shape(&out->shape, config);
    config->data.data = trained_on;
    return st;
}

plumb_status trained_model_open(trained_model *out, const char *run, const char *data)
{
    *out = (trained_model){0};
    out->run = arena_strdup(&out->mem, run);
    if (!out->run) return PLUMB_EMEMORY;
    char *text, path[4096];
    run_config_hashes hashes;
    size_t size;
    snprintf(path, sizeof path, "%s/config.json", run);
    plumb_status st = run_dir_read_config(&text, &size, &out->mem, run);
    if (!st) st = run_config_parse(&out->config, &out->mem, text, size, path);
    // The weights hold the hash of the settings they were trained with.
    if (!st) st = run_config_list_hashes(&hashes, &out->config);
    if (!st) st = find_shape(out, data);
    if (st) return st;
    st = out->config.model->create(&out->model, &out->mem, out->config.model_settings,
                                   &out->config.training, &out->shape);
    out->created = !st;
    checkpoint_origin origin;
    if (!st) st = checkpoint_load_weights(&out->model, &origin, run, &hashes);
    if (st) return st;
    out->training_steps = origin.step;
    memcpy(out->data_hash, origin.data_hash, sizeof out->data_hash);
    return PLUMB_OK;
}

plumb_status trained_model_use_best(trained_model *trained)
{
    run_config_hashes hashes;
    checkpoint_origin origin;
    plumb_status st = run_config_list_hashes(&hashes, &trained->config);
    if (!st)
        st = checkpoint_load_file(&trained->model, &origin, trained->run, &hashes, RUN_DIR_BEST);
    if (!st) trained->training_steps = origin.step;
    return st;
}

// Only for models with a phase space.
plumb_status trained_model_open_dynamics(trained_model *out, const char *run, const char *data)
{
    const plumb_status st = trained_model_open(out, run, data);
    if (st || out->model.dynamics) return st;
    return fail(PLUMB_EVALUE, "%s: %s has no phase space", run, out->config.model->name);
}

// Only for models that predict clips.
plumb_status trained_model_open_video(trained_model *out, const char *run)
{
    const plumb_status st = trained_model_open(out, run, NULL);
    if (st || out->model.video) return st;
    return fail(PLUMB_EVALUE, "%s: %s is not a video model", run, out->config.model->name);
}

void trained_model_close(trained_model *trained)
{
    if (trained->created && trained->model.destroy) trained->model.destroy(trained->model.context);
    arena_clear(&trained->mem);
    *trained = (trained_model){0};
}
