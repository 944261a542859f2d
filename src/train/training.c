// SPDX-License-Identifier: MIT
// plumb_training_run(): from a request to a configuration, from the configuration to videos and a
// model, and both to the trainer.
#define _GNU_SOURCE
#include "train/training.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/cost.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "base/text.h"
#include "dataset/video_load.h"
#include "distributed/comm.h"
#include "plumb/world.h"
#include "train/checkpoint.h"
#include "train/input_dependence.h"
#include "train/options.h"
#include "train/trainer.h"
#include "train/validation.h"

enum { CHECKPOINT_SECONDS = 60 };

typedef struct training_job {
    plumb_training_options opt;
    arena mem;
    run_config resolved;      // if this call resolved it
    const run_config *config; // what is trained
    run_dir run;
    bool opened;       // `run` must be closed
    bool resumed;      // the run existed
    bool write_config; // config.json must be written
    video_set videos;
    video_set validation; // clips outside the training range; none: count is 0
    trainable_model model;
    bool created;     // `model` must be destroyed
    int64_t reports;  // of progress
    bool announced;   // how long it will take
    char chosen[600]; // what was found in the videos before training; may be empty
} training_job;

// ---- the configuration ----

// Each rank needs at least one replica.
static plumb_status check_ranks(const run_config *config)
{
    const long long replicas = config->training.replicas;
    if (replicas >= comm_size()) return PLUMB_OK;
    return fail(PLUMB_EVALUE,
                "replicas=%lld and %d ranks: some would have nothing to do; set replicas=%d, or "
                "fewer ranks",
                replicas, comm_size(), comm_size());
}

// Rank 0 opens and locks the directory.
static plumb_status open_dir(training_job *job, const char *path, run_dir_mode mode)
{
    if (comm_rank()) {
        snprintf(job->run.path, sizeof job->run.path, "%s", path);
        return PLUMB_OK;
    }
    const plumb_status st = run_dir_open(&job->run, path, mode);
    job->opened = !st;
    return st;
}

// "MODEL-WORLD", or "MODEL-STEM" for a file of data. Slashes in the name of a world become dashes.
static plumb_status make_default_dir(training_job *job)
{
    const run_config *config = job->config;
    // The name of the world, or of the file without its directory.
    const char *from = config->data.world;
    if (!from[0]) {
        const char *slash = strrchr(config->data.data, '/');
        from = slash ? slash + 1 : config->data.data;
    }
    const size_t size = strlen(config->model->name) + strlen(from) + 2;
    char *name = ARENA_ALLOC(&job->mem, char, (int64_t)size);
    if (!name) return PLUMB_EMEMORY;
    snprintf(name, size, "%s-%s", config->model->name, from);
    if (!config->data.world[0]) {
        // Without the extension.
        char *dot = strrchr(name, '.');
        if (dot && dot > name + strlen(config->model->name) + 1) *dot = 0;
    }
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '-';
    job->opt.out = name;
    if (!comm_rank()) status_log("writing the run to %s", name);
    return PLUMB_OK;
}

// A new run: resolve and check all settings before a directory is created.
static plumb_status start_new(training_job *job)
{
    const plumb_training_options *opt = &job->opt;
    const run_request request = training_request(opt);
    const plumb_world *world;
    job->config = &job->resolved;
    job->write_config = true;
    plumb_status st = run_config_resolve(&job->resolved, &job->mem, &request, NULL);
    if (!st) st = check_ranks(job->config);
    // A wrong name is reported before a directory is created.
    if (!st && job->config->data.world[0]) st = plumb_world_find(&world, job->config->data.world);
    if (!st && !opt->out) st = make_default_dir(job);
    return st ? st : open_dir(job, opt->out, opt->force ? RUN_DIR_FORCE : RUN_DIR_NEW);
}

// Applies an assignment to the configuration of an existing run; fails if it would change it.
static plumb_status apply_resumed(training_job *job, const char *assignment)
{
    training_settings *training = &job->resolved.training;
    const int64_t steps = training->steps;
    const plumb_status st = settings_check_resumed(&job->resolved.all, assignment, job->opt.out);
    if (st) return st;
    job->write_config = true;
    // The rate of every step depends on their number, so that the run would be another one.
    if (training->decay && training->steps != steps)
        return fail(PLUMB_EVALUE,
                    "%s: was started with steps=%lld, over which its learning rate falls; leave "
                    "that out, or start again with the option force",
                    job->opt.out, (long long)steps);
    return PLUMB_OK;
}

// name=value from its two parts.
static plumb_status apply_pair(training_job *job, const char *name, const char *value)
{
    const size_t size = strlen(name) + strlen(value) + 2;
    char *text = ARENA_ALLOC(&job->mem, char, (int64_t)size);
    if (!text) return PLUMB_EMEMORY;
    snprintf(text, size, "%s=%s", name, value);
    return apply_resumed(job, text);
}

// Applies the options to the configuration of an existing run.
static plumb_status apply_options(training_job *job)
{
    const plumb_training_options *opt = &job->opt;
    char steps[32];
    plumb_status st = opt->world ? apply_pair(job, "world", opt->world) : PLUMB_OK;
    if (!st && opt->data) st = apply_pair(job, "data", opt->data);
    snprintf(steps, sizeof steps, "%lld", (long long)opt->steps);
    if (!st && opt->steps >= 0) st = apply_pair(job, "steps", steps);
    int64_t failed_at;
    if (!st) st = settings_check_names(&job->resolved.all, opt->set, opt->set_count, &failed_at);
    for (int64_t i = 0; i < opt->set_count && !st; i++) st = apply_resumed(job, opt->set[i]);
    // A path that was given here is relative to this directory, one of an old run too, if at all.
    return st ? st : run_config_use_absolute_path(&job->resolved, &job->mem);
}

// The configuration of the run that is resumed.
static plumb_status read_config(training_job *job)
{
    char *text;
    run_dir_filename name;
    size_t size;
    run_dir_file(name, job->run.path, "config.json");
    plumb_status st = run_dir_read_config(&text, &size, &job->mem, job->run.path);
    if (!st) st = run_config_parse(&job->resolved, &job->mem, text, size, name);
    if (st == PLUMB_EFORMAT)
        st = fail(st, "%s; restore the right file, or start again with the option force",
                  plumb_last_error());
    return st;
}

// A resumed run: settings come from config.json, and options may only change some of them.
static plumb_status resume_existing(training_job *job)
{
    const plumb_training_options *opt = &job->opt;
    settings_preset preset;
    job->config = &job->resolved;
    job->resumed = true;
    plumb_status st = open_dir(job, opt->out, RUN_DIR_RESUME);
    if (!st) st = read_config(job);
    if (st) return st;
    // With the new names, and with what is used.
    job->write_config = job->resolved.all.renamed.count > 0 || job->resolved.corrected;
    if (opt->model && strcmp(opt->model, job->config->model->name))
        return fail(PLUMB_EVALUE, "%s: is a run of %s, not of %s", opt->out,
                    job->config->model->name, opt->model);
    // Model and preset may be repeated, but not changed.
    st = opt->preset ? settings_find_preset(&preset, opt->preset) : PLUMB_OK;
    if (!st && opt->preset && preset != job->config->preset)
        st = fail(PLUMB_EVALUE, "%s: was started with the preset %s, not %s", opt->out,
                  settings_preset_name(job->config->preset), opt->preset);
    if (!st) st = apply_options(job);
    if (!st) st = run_config_check(job->config);
    return st ? st : check_ranks(job->config);
}

// ---- the run ----

// Videos, model with its initial parameters, and the hashes that checkpoints carry.
static plumb_status create_model(training_job *job)
{
    plumb_status st = run_config_load_video(&job->videos, &job->mem, job->config, job->run.path,
                                            job->opt.threads);
    if (st) return st;
    job->videos.threads = job->opt.threads;
    if (!comm_rank())
        st = validation_load(&job->validation, &job->mem, job->config, job->opt.threads);
    if (st) return st;
    video_hash(job->run.data_hash, &job->videos);
    job->run.frame_shape[0] = job->videos.height;
    job->run.frame_shape[1] = job->videos.width;
    job->run.frame_shape[2] = job->videos.channels;
    if (job->config->model->choose)
        st =
            job->config->model->choose(job->chosen, sizeof job->chosen, job->config->model_settings,
                                       &job->config->training, &job->videos);
    if (st) return st;
    if (job->chosen[0] && !comm_rank()) status_log("%s: %s", job->run.path, job->chosen);
    st = job->config->model->create(&job->model, &job->mem, job->config->model_settings,
                                    &job->config->training, &job->videos);
    job->created = !st;
    if (st) return st;
    const trainable_model *model = &job->model;
    assert(model->parameter_count > 0 && model->term_count > 0 &&
           model->replicas == job->config->training.replicas);
    (void)model;
    return run_config_list_hashes(&job->run.config_hashes, job->config);
}

// Rank 0 writes config.json. A run that is overwritten loses its files first.
static plumb_status write_config(training_job *job)
{
    if (!job->write_config || comm_rank()) return PLUMB_OK;
    plumb_status st = job->resumed ? PLUMB_OK : run_dir_remove_files(&job->run);
    plumb_record *config = plumb_record_create();
    if (!config) return fail(PLUMB_EMEMORY, "out of memory for config.json");
    run_config_record(config, job->config);
    if (!st) st = run_dir_write_config(&job->run, config);
    plumb_record_free(config);
    return st;
}

// The section "train" of results.json.
static plumb_status write_results(const training_job *job, const plumb_training *r)
{
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "out of memory for results.json");
    plumb_record_set_string(record, "model", r->model);
    plumb_record_set_int(record, "steps", r->steps);
    plumb_record_set_bool(record, "finished", r->finished);
    plumb_record_set_double(record, "loss", r->loss);
    plumb_record_set_double(record, "seconds", r->seconds);
    plumb_record_set_double(record, "best_validation", r->best_validation);
    if (isfinite(r->best_validation)) plumb_record_set_int(record, "best_step", r->best_step);
    else plumb_record_set_null(record, "best_step");
    plumb_record_set_double(record, "input_dependence", r->input_dependence);
    if (job->chosen[0]) plumb_record_set_string(record, "chosen", job->chosen);
    if (r->warning[0]) plumb_record_set_string(record, "warning", r->warning);
    else plumb_record_set_null(record, "warning");
    plumb_record_set_string(record, "data", job->run.data_hash);
    plumb_record_set_string(record, "version", plumb_version());
    const plumb_status st = run_dir_write_results(job->run.path, "train", record);
    plumb_record_free(record);
    return st;
}

// Says in words if the model predicts the same frames whatever its input is. Only rank 0 looks: all
// ranks have the same parameters.
static plumb_status check_prediction(plumb_training *r, const training_job *job)
{
    r->input_dependence = (double)NAN;
    if (!r->steps) return PLUMB_OK;
    const plumb_status st = input_dependence_measure(
        &r->input_dependence, &job->model, &job->videos, run_config_clip_length(job->config),
        (uint64_t)job->config->training.seed, job->opt.threads);
    // The training is done and saved; a stop is too late to matter.
    if (st && st != PLUMB_ESTOPPED) return st;
    if (st || !input_dependence_is_low(r->input_dependence, r->steps)) return PLUMB_OK;
    text_format(
        r->warning, sizeof r->warning,
        "the prediction does not depend on the input: it varies %.2g times as much as the "
        "true frames, so the model learnt nothing; try another seed, or a lower learning_rate",
        r->input_dependence);
    status_log("%s: %s", r->run, r->warning);
    return PLUMB_OK;
}

// Progress of the trainer in the struct of the public API.
static void forward_progress(void *context, const trainer_progress *r)
{
    enum { SURE_STEPS = 5 };
    training_job *job = context;
    const plumb_training_options *opt = &job->opt;
    // As soon as the speed is known.
    if (!job->announced && ++job->reports >= SURE_STEPS && !comm_rank()) {
        job->announced = true;
        cost_log(r->seconds_left, cost_peak_bytes());
    }
    if (!opt->progress) return;
    const plumb_training_progress p = {.step = r->step,
                                       .steps = r->steps,
                                       .loss = r->loss,
                                       .steps_per_second = r->steps_per_second,
                                       .seconds = r->seconds,
                                       .seconds_left = r->seconds_left};
    opt->progress(opt->context, &p);
}

static plumb_status measure_validation(void *context, double *loss)
{
    const training_job *job = context;
    return validation_measure(loss, &job->model, &job->validation,
                              run_config_clip_length(job->config), job->opt.threads);
}

// Settings become options of the trainer.
static plumb_status run_trainer(plumb_training *out, training_job *job)
{
    const training_settings *training = &job->config->training;
    const trainer_options opt = {
        .adam = {training->beta1, training->beta2, training->epsilon},
        .schedule = {.rate = training->learning_rate,
                     .steps = training->steps,
                     .warmup = training->warmup,
                     .decay = (adam_decay)training->decay,
                     .hold = training->decay_start,
                     .last = training->final_rate},
        .clip_norm = training->clip_norm,
        .log_steps = training->log_steps,
        .checkpoint_steps = training->checkpoint_steps,
        .checkpoint_seconds = CHECKPOINT_SECONDS,
        .seconds = 60.0 * job->opt.minutes,
        .threads = job->opt.threads,
        .validate = job->validation.count ? measure_validation : NULL,
        .validate_context = job,
        .validation_steps = training->validation_steps,
        .report = forward_progress,
        .context = job,
    };
    // Ranks other than 0 train without a run directory.
    trainer_result r;
    plumb_status st = trainer_run(&r, &job->model, comm_rank() ? NULL : &job->run, &opt);
    if (st) return st;
    plumb_training result = {.steps = r.step,
                             .finished = r.finished,
                             .loss = r.loss,
                             .seconds = r.seconds,
                             .best_validation = r.best_validation,
                             .best_step = r.best_step};
    snprintf(result.model, sizeof result.model, "%s", job->config->model->name);
    snprintf(result.run, sizeof result.run, "%s", job->run.path);
    if (!comm_rank()) st = check_prediction(&result, job);
    if (!comm_rank() && !st) st = write_results(job, &result);
    if (!st) *out = result;
    return st;
}

static void destroy_model(training_job *job)
{
    if (job->created && job->model.destroy) job->model.destroy(job->model.context);
}

// Trains a job whose configuration is known, unless `st` is a failure. Ranks of one training go
// from step to step together: what fails for one fails for all.
static plumb_status finish_job(plumb_training *out, training_job *job, plumb_status st)
{
    st = comm_all_ok(st);
    if (!st) st = comm_all_ok(create_model(job));
    if (!st) st = comm_all_ok(write_config(job));
    if (!st) st = run_trainer(out, job);
    destroy_model(job);
    video_memory_clear(&job->videos);
    if (job->opened) run_dir_close(&job->run);
    arena_clear(&job->mem);
    return st;
}

plumb_status training_run(plumb_training *result, const run_config *config, const char *out,
                          run_dir_mode mode, int threads)
{
    training_job job = {.opt = plumb_training_defaults(),
                        .config = config,
                        .run.lock = -1,
                        .resumed = mode == RUN_DIR_RESUME,
                        .write_config = true};
    job.opt.threads = threads;
    plumb_status st = check_ranks(config);
    if (!st) st = open_dir(&job, out, mode);
    return finish_job(result, &job, st);
}

plumb_status plumb_training_run(plumb_training *out, const plumb_training_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(options);
    training_job job = {.opt = plumb_training_defaults(), .run.lock = -1};
    plumb_training_options *opt = &job.opt;
    plumb_status st = options_resolve(opt, sizeof *opt, options, "plumb_training_options");
    if (!st) st = options_check_ranges(&training_option_table, opt);
    if (st) return st;
    // Options that contradict each other.
    if (opt->out && !opt->out[0]) return fail(PLUMB_EVALUE, "out is empty");
    if (opt->resume && !opt->out)
        return fail(PLUMB_EVALUE, "out is missing: which run is to be resumed?");
    if (opt->resume && opt->force) return fail(PLUMB_EVALUE, "resume conflicts with force");
    return finish_job(out, &job, opt->resume ? resume_existing(&job) : start_new(&job));
}
