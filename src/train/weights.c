// SPDX-License-Identifier: MIT
// Weights of other programs become a run, and a run a file that PyTorch loads. A state dict says
// what it is by its names and shapes; it needs no data and no log.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/name_index.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "io/safetensors.h"
#include "models/exchange.h"
#include "plumb/file.h"
#include "plumb/training.h"
#include "train/checkpoint.h"
#include "train/run_dir.h"

// Key in the metadata of an exported file: config.json of its run, as text.
#define CONFIG_KEY "plumb_config"

// ---- a state dict ----

typedef struct state_dict {
    const char *path;
    plumb_file *file;
    int64_t count;
    exchange_tensor *tensor; // names without what torch.save or a wrapper put before them
    const char **name;       // (count) in the file
    name_index names;
    int64_t longest; // numbers of the largest tensor
} state_dict;

// Checkpoints hold the state dict under a key of their own, and a parallel module puts "module."
// before each name: "net_param/module.cell_list.0.conv_x.0.weight".
static const char *strip_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    return !strncmp(name, "module.", 7) ? name + 7 : name;
}

static plumb_status list_tensors(state_dict *dict, arena *mem)
{
    const int64_t all = plumb_file_array_count(dict->file);
    dict->tensor = ARENA_ALLOC(mem, exchange_tensor, all);
    dict->name = ARENA_ALLOC(mem, const char *, all);
    const char **stripped = ARENA_ALLOC(mem, const char *, all);
    if (!dict->tensor || !dict->name || !stripped) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < all; i++) {
        plumb_array array;
        const char *name = plumb_file_array_name(dict->file, i);
        const plumb_status st = plumb_file_read_array(&array, dict->file, name);
        if (st) return st;
        if (array.ndim > 8) continue;
        exchange_tensor *tensor = &dict->tensor[dict->count];
        *tensor = (exchange_tensor){.name = strip_name(name), .rank = array.ndim};
        memcpy(tensor->shape, array.shape, (size_t)array.ndim * sizeof *array.shape);
        dict->name[dict->count] = name;
        stripped[dict->count++] = tensor->name;
        const int64_t count = exchange_count(tensor);
        dict->longest = count > dict->longest ? count : dict->longest;
    }
    return name_index_create(&dict->names, mem, stripped, dict->count);
}

static plumb_status open_dict(state_dict *dict, arena *mem, const char *path)
{
    *dict = (state_dict){.path = path};
    const plumb_status st = plumb_file_open(&dict->file, path);
    return st ? st : list_tensors(dict, mem);
}

static bool has_shape(const exchange_tensor *got, const exchange_tensor *wanted)
{
    return got->rank == wanted->rank &&
           !memcmp(got->shape, wanted->shape, (size_t)got->rank * sizeof *got->shape);
}

static plumb_status reject_shape(const state_dict *dict, const exchange_tensor *got,
                                 const exchange_tensor *wanted)
{
    char found[200], expected[200];
    const plumb_array a = plumb_array_view(NULL, PLUMB_FLOAT32, got->rank, got->shape),
                      b = plumb_array_view(NULL, PLUMB_FLOAT32, wanted->rank, wanted->shape);
    return fail(PLUMB_ESHAPE, "%s: %s is %s; these settings have %s", dict->path, wanted->name,
                plumb_array_shape_string(found, sizeof found, &a),
                plumb_array_shape_string(expected, sizeof expected, &b));
}

// Copies every tensor of the model, and fails if the file has others.
static plumb_status load_dict(trainable_model *model, arena *mem, const state_dict *dict,
                              const exchange_list *wanted)
{
    double *value = ARENA_ALLOC(mem, double, dict->longest + 1);
    bool *used = ARENA_ALLOC(mem, bool, dict->count + 1);
    if (!value || !used) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < wanted->count; i++) {
        const exchange_tensor *want = &wanted->at[i];
        const int64_t at = name_index_find(&dict->names, want->name);
        if (at < 0) return fail(PLUMB_EFORMAT, "%s: has no tensor \"%s\"", dict->path, want->name);
        if (!has_shape(&dict->tensor[at], want)) return reject_shape(dict, &dict->tensor[at], want);
        plumb_array array;
        const plumb_status st = plumb_file_read_array(&array, dict->file, dict->name[at]);
        if (st) return st;
        const int64_t count = exchange_count(want);
        plumb_array_to_double(value, &array, 0, count);
        for (int64_t k = 0; k < count; k++) {
            if (!isfinite((float)value[k]))
                return fail(PLUMB_ENUMERIC, "%s: %s has a value that is NaN or infinite",
                            dict->path, want->name);
            model->parameters[want->place[k]] = (float)value[k];
        }
        used[at] = true;
    }
    // Single numbers, such as the step of a checkpoint, may be left over.
    for (int64_t i = 0; i < dict->count; i++)
        if (!used[i] && dict->tensor[i].rank)
            return fail(PLUMB_EFORMAT,
                        "%s: has a tensor \"%s\" that %s with these settings has not", dict->path,
                        dict->tensor[i].name, model->name);
    return PLUMB_OK;
}

// ---- import ----

typedef struct import_job {
    arena mem;
    const plumb_training_options *opt;
    run_config config;
    state_dict dict;
    video_set shape;
    trainable_model model;
    bool created;
    run_dir run;
} import_job;

// Settings by the shapes of the state dict first, then those of the caller.
static plumb_status resolve_settings(import_job *job)
{
    const plumb_training_options *opt = job->opt;
    const registry_entry *entry;
    const char *const *guessed = NULL;
    int64_t count = 0;
    plumb_status st = registry_find(&entry, opt->model);
    if (!st && entry->guess_settings) {
        st = entry->guess_settings(&guessed, &count, &job->mem, job->dict.tensor, job->dict.count);
        if (st == PLUMB_EFORMAT) {
            char text[400];
            snprintf(text, sizeof text, "%s", plumb_last_error());
            st = fail(st, "%s: %s", job->dict.path, text);
        }
    }
    if (st) return st;
    const char **set = ARENA_ALLOC(&job->mem, const char *, count + opt->set_count + 1);
    if (!set) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) set[i] = guessed[i];
    for (int64_t i = 0; i < opt->set_count; i++) set[count + i] = opt->set[i];
    const run_request request = {.model = opt->model,
                                 .preset = opt->preset ? opt->preset : "paper",
                                 .world = opt->world,
                                 .data = opt->data,
                                 .set = set,
                                 .set_count = count + opt->set_count,
                                 .steps = -1};
    return run_config_resolve(&job->config, &job->mem, &request, NULL);
}

// What plumb exported carries the configuration of its run: those settings, then the caller's.
static plumb_status read_settings(bool *found, import_job *job)
{
    const plumb_training_options *opt = job->opt;
    const char *suffix = strrchr(job->dict.path, '.'), *config = NULL;
    safetensors file;
    *found = false;
    if (opt->preset || !suffix || strcmp(suffix, ".safetensors") != 0) return PLUMB_OK;
    plumb_status st = safetensors_begin(&file, &job->mem, job->dict.path);
    if (st) return st;
    if ((config = safetensors_metadata(&file, CONFIG_KEY))) {
        char *text = arena_strdup(&job->mem, config);
        st = text ? run_config_parse(&job->config, &job->mem, text, strlen(text), job->dict.path)
                  : PLUMB_EMEMORY;
    }
    safetensors_end(&file);
    if (st || !config) return st;
    if (strcmp(job->config.model->name, opt->model))
        return fail(PLUMB_EVALUE, "%s: has the weights of %s, not of %s", job->dict.path,
                    job->config.model->name, opt->model);
    if (opt->world) job->config.data.world = opt->world, job->config.data.data = "";
    if (opt->data) job->config.data.data = opt->data, job->config.data.world = "";
    for (int64_t i = 0; i < opt->set_count && !st; i++)
        st = settings_set(&job->config.all, opt->set[i]);
    *found = true;
    return st ? st : run_config_check(&job->config);
}

// The model with the settings, and the weights of the file in it.
static plumb_status create_model(import_job *job)
{
    plumb_status st = run_config_video_shape(&job->shape, &job->config);
    if (!st)
        st = job->config.model->create(&job->model, &job->mem, job->config.model_settings,
                                       &job->config.training, &job->shape);
    job->created = !st;
    exchange_list wanted;
    if (!st) st = exchange_list_model(&wanted, &job->mem, &job->model);
    if (!st) st = load_dict(&job->model, &job->mem, &job->dict, &wanted);
    return st;
}

// A run without a checkpoint: it can be evaluated, and not be resumed.
static plumb_status write_run(import_job *job)
{
    const plumb_training_options *opt = job->opt;
    run_dir *run = &job->run;
    plumb_status st = run_dir_open(run, opt->out, opt->force ? RUN_DIR_FORCE : RUN_DIR_NEW);
    if (!st) st = run_config_use_absolute_path(&job->config, &job->mem);
    if (!st) st = run_config_list_hashes(&run->config_hashes, &job->config);
    if (!st && opt->force) st = run_dir_remove_files(run);
    if (st) return st;
    run->frame_shape[0] = job->shape.height;
    run->frame_shape[1] = job->shape.width;
    run->frame_shape[2] = job->shape.channels;
    plumb_record *config = plumb_record_create();
    if (!config) return fail(PLUMB_EMEMORY, "out of memory for config.json");
    run_config_record(config, &job->config);
    st = run_dir_write_config(run, config);
    plumb_record_free(config);
    return st ? st : checkpoint_save_weights(run, &job->model, 0);
}

plumb_status plumb_weights_import(const char *file, const plumb_training_options *options)
{
    REQUIRE_ARGUMENT(file);
    REQUIRE_ARGUMENT(options);
    plumb_training_options opt = plumb_training_defaults();
    import_job job = {.opt = &opt, .run.lock = -1};
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_training_options");
    if (st) return st;
    if (!opt.model) return fail(PLUMB_EVALUE, "model is missing: whose weights are these?");
    if (!opt.out || !opt.out[0])
        return fail(PLUMB_EVALUE, "out is missing: where is the run to go?");
    const registry_entry *model;
    st = registry_find(&model, opt.model);
    if (!st) st = open_dict(&job.dict, &job.mem, file);
    bool found = false;
    if (!st) st = read_settings(&found, &job);
    if (!st && !found) st = resolve_settings(&job);
    if (!st) st = create_model(&job);
    if (!st) st = write_run(&job);
    if (job.created && job.model.destroy) job.model.destroy(job.model.context);
    if (job.run.lock >= 0) run_dir_close(&job.run);
    plumb_file_close(job.dict.file);
    arena_clear(&job.mem);
    return st;
}

// ---- export ----

static plumb_status read_run(import_job *job, const char *path)
{
    char *text, config_path[4096];
    size_t size;
    int64_t shape[3];
    run_config_hashes hashes;
    checkpoint_origin origin;
    snprintf(config_path, sizeof config_path, "%s/config.json", path);
    plumb_status st = run_dir_read_config(&text, &size, &job->mem, path);
    if (!st) st = run_config_parse(&job->config, &job->mem, text, size, config_path);
    if (!st) st = run_config_list_hashes(&hashes, &job->config);
    if (!st && checkpoint_find_frames(shape, path))
        job->shape = (video_set){.count = 1,
                                 .steps = run_config_clip_length(&job->config),
                                 .height = shape[0],
                                 .width = shape[1],
                                 .channels = shape[2]};
    else if (!st) st = run_config_video_shape(&job->shape, &job->config);
    if (!st)
        st = job->config.model->create(&job->model, &job->mem, job->config.model_settings,
                                       &job->config.training, &job->shape);
    job->created = !st;
    return st ? st : checkpoint_load_weights(&job->model, &origin, path, &hashes);
}

static plumb_status write_dict(import_job *job, const char *path)
{
    exchange_list list;
    plumb_status st = exchange_list_model(&list, &job->mem, &job->model);
    if (st) return st;
    plumb_named_array *arrays = ARENA_ALLOC(&job->mem, plumb_named_array, list.count);
    if (!arrays) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < list.count; i++) {
        const exchange_tensor *tensor = &list.at[i];
        const int64_t count = exchange_count(tensor);
        float *value = ARENA_ALLOC(&job->mem, float, count);
        if (!value) return PLUMB_EMEMORY;
        for (int64_t k = 0; k < count; k++) value[k] = job->model.parameters[tensor->place[k]];
        arrays[i] = (plumb_named_array){
            tensor->name, plumb_array_view(value, PLUMB_FLOAT32, tensor->rank, tensor->shape)};
    }
    const char *suffix = strrchr(path, '.');
    if (!suffix || strcmp(suffix, ".safetensors") != 0)
        return plumb_file_write(path, arrays, list.count, false);
    plumb_record *config = plumb_record_create();
    const char *text = NULL;
    if (!config) return fail(PLUMB_EMEMORY, "out of memory for the settings");
    run_config_record(config, &job->config);
    st = plumb_record_to_json(&text, config);
    const safetensors_metadata_entry metadata[] = {{CONFIG_KEY, text}};
    if (!st) st = safetensors_write(path, arrays, list.count, metadata, 1);
    plumb_record_free(config);
    return st;
}

plumb_status plumb_weights_export(const char *file, const char *run)
{
    REQUIRE_ARGUMENT(file);
    REQUIRE_ARGUMENT(run);
    import_job job = {.run.lock = -1};
    plumb_status st = read_run(&job, run);
    if (!st) st = write_dict(&job, file);
    if (!st && job.model.note_published) job.model.note_published(job.model.context, file);
    if (job.created && job.model.destroy) job.model.destroy(job.model.context);
    arena_clear(&job.mem);
    return st;
}
