// SPDX-License-Identifier: MIT
// Joins the parts: settings to a recipe, the recipe to film and a model, both to the trainer.
#define _GNU_SOURCE
#include "plumb/train.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/options_struct.h"
#include "base/status.h"
#include "dataset/video_load.h"
#include "distributed/comm.h"
#include "train/run_config.h"
#include "train/run_dir.h"
#include "train/trainer.h"

enum { SAVE_SECONDS = 60 };

typedef struct training_job {
    const plumb_training_options *opt;
    arena mem;
    run_config recipe;
    run_dir run;
    bool opened;
    bool changed; // config.json is to be written
    video_set film;
    trainable_model trainee;
    bool created;
} training_job;

void plumb_training_options_init(plumb_training_options *options, size_t size)
{
    const plumb_training_options defaults = {.size = sizeof(plumb_training_options), .steps = -1};
    options_init(options, size, &defaults, sizeof defaults);
}

// ---- settings ----

typedef plumb_status apply(training_job *j, const char *assignment);

static plumb_status apply_new(training_job *j, const char *assignment)
{
    return settings_set(&j->recipe.all, assignment);
}

static plumb_status apply_resumed(training_job *j, const char *assignment)
{
    const int64_t steps = j->recipe.training.steps;
    const plumb_status st = settings_check_resumed(&j->recipe.all, assignment, j->opt->out);
    if (st) return st;
    j->changed = true;
    if (j->recipe.training.decay && j->recipe.training.steps != steps)
        return fail(PLUMB_EVALUE,
                    "%s: was begun with steps=%lld, over which its rate falls; leave that out, or "
                    "begin anew with --force",
                    j->opt->out, (long long)steps);
    return PLUMB_OK;
}

// What the options say, as assignments.
static plumb_status apply_options(training_job *j, apply *to)
{
    const plumb_training_options *o = j->opt;
    char text[600];
    plumb_status st = PLUMB_OK;
    const struct {
        const char *name, *value;
    } words[] = {{"world", o->world}, {"data", o->data}};
    for (int i = 0; i < 2 && !st; i++) {
        if (!words[i].value) continue;
        if ((size_t)snprintf(text, sizeof text, "%s=%s", words[i].name, words[i].value) >=
            sizeof text)
            return fail(PLUMB_EVALUE, "%.80s...: the name is too long", words[i].value);
        st = to(j, text);
    }
    if (!st && o->steps >= 0) {
        snprintf(text, sizeof text, "steps=%lld", (long long)o->steps);
        st = to(j, text);
    }
    for (int64_t i = 0; i < o->set_count && !st; i++) st = to(j, o->set[i]);
    return st;
}

static plumb_status check_ranks(const training_job *j)
{
    const long long replicas = j->recipe.training.replicas;
    if (replicas >= comm_size()) return PLUMB_OK;
    return fail(PLUMB_EVALUE,
                "replicas=%lld and %d ranks: some would have nothing to do; --set replicas=%d, or "
                "fewer ranks",
                replicas, comm_size(), comm_size());
}

static plumb_status begin(training_job *j)
{
    const plumb_training_options *o = j->opt;
    settings_preset preset = SETTINGS_CPU;
    const plumb_world *world;
    if (!o->model) return fail(PLUMB_EVALUE, "no model is given");
    plumb_status st = o->preset ? settings_find_preset(&preset, o->preset) : PLUMB_OK;
    if (!st) st = run_config_init(&j->recipe, &j->mem, o->model, preset);
    // A file has as many trajectories as it has.
    if (!st && o->data) st = settings_set(&j->recipe.all, "trajectories=0");
    if (!st) st = apply_options(j, apply_new);
    if (!st) st = run_config_check(&j->recipe);
    if (!st) st = check_ranks(j);
    // A wrong name is better refused before there is a directory.
    if (!st && j->recipe.data.world[0]) st = plumb_world_find(&world, j->recipe.data.world);
    if (!st && !comm_rank()) {
        st = run_dir_open(&j->run, o->out, o->force ? RUN_DIR_FORCE : RUN_DIR_NEW);
        j->opened = !st;
    }
    j->changed = true;
    return st;
}

static plumb_status resume(training_job *j)
{
    const plumb_training_options *o = j->opt;
    char *text, name[4096];
    size_t size;
    plumb_status st = PLUMB_OK;
    if (comm_rank()) snprintf(j->run.path, sizeof j->run.path, "%s", o->out); // rank 0 has the lock
    else st = run_dir_open(&j->run, o->out, RUN_DIR_RESUME);
    if (st) return st;
    j->opened = !comm_rank();
    snprintf(name, sizeof name, "%s/config.json", j->run.path);
    st = run_dir_read_config(&text, &size, &j->mem, j->run.path);
    if (!st) st = run_config_parse(&j->recipe, &j->mem, text, size, name);
    if (st == PLUMB_EFORMAT)
        st =
            fail(st, "%s; put the right file back, or begin anew with --force", plumb_last_error());
    if (st) return st;
    if (o->model && strcmp(o->model, j->recipe.model->name))
        return fail(PLUMB_EVALUE, "%s: is a run of %s, not of %s", o->out, j->recipe.model->name,
                    o->model);
    settings_preset preset;
    st = o->preset ? settings_find_preset(&preset, o->preset) : PLUMB_OK;
    if (!st && o->preset && preset != j->recipe.preset)
        st = fail(PLUMB_EVALUE, "%s: was begun with the preset %s, not %s", o->out,
                  settings_preset_name(j->recipe.preset), o->preset);
    if (!st) st = apply_options(j, apply_resumed);
    if (!st) st = run_config_check(&j->recipe);
    return st ? st : check_ranks(j);
}

// ---- the run ----

static plumb_status make_model(training_job *j)
{
    plumb_status st = run_config_load_video(&j->film, &j->mem, &j->recipe, j->opt->threads);
    if (st) return st;
    video_hash(j->run.film, &j->film);
    st =
        j->recipe.model->create(&j->trainee, &j->mem, j->recipe.own, &j->recipe.training, &j->film);
    j->created = !st;
    if (st) return st;
    const trainable_model *t = &j->trainee;
    assert(t->parameter_count > 0 && t->term_count > 0 &&
           t->replicas == j->recipe.training.replicas);
    (void)t;
    return run_config_hash(j->run.identity, &j->recipe);
}

static plumb_status write_config(training_job *j)
{
    if (!j->changed || comm_rank()) return PLUMB_OK;
    plumb_status st = j->opt->resume ? PLUMB_OK : run_dir_remove_files(&j->run);
    plumb_record *config = plumb_record_create();
    if (!config) return fail(PLUMB_EMEMORY, "no memory for config.json");
    run_config_record(config, &j->recipe);
    if (!st) st = run_dir_write_config(&j->run, config);
    plumb_record_free(config);
    return st;
}

static plumb_status write_results(const training_job *j, const plumb_training *r)
{
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "no memory for results.json");
    plumb_record_set_string(record, "model", r->model);
    plumb_record_set_int(record, "steps", r->steps);
    plumb_record_set_bool(record, "finished", r->finished);
    plumb_record_set_double(record, "loss", r->loss);
    plumb_record_set_double(record, "seconds", r->seconds);
    plumb_record_set_string(record, "data", j->run.film);
    plumb_record_set_string(record, "version", plumb_version());
    const plumb_status st = run_dir_write_results(j->run.path, "train", record);
    plumb_record_free(record);
    return st;
}

static void pass_on(void *context, const trainer_progress *r)
{
    const plumb_training_options *o = context;
    const plumb_training_progress p = {.step = r->step,
                                       .steps = r->steps,
                                       .loss = r->loss,
                                       .pace = r->pace,
                                       .seconds = r->seconds,
                                       .left = r->left};
    o->progress(o->context, &p);
}

static plumb_status train(plumb_training *out, training_job *j)
{
    const training_settings *s = &j->recipe.training;
    const trainer_options opt = {
        .adam = {s->beta1, s->beta2, s->epsilon},
        .schedule = {.rate = s->rate,
                     .steps = s->steps,
                     .warmup = s->warmup,
                     .decay = (adam_decay)s->decay,
                     .hold = s->hold,
                     .last = s->last},
        .clip = s->clip,
        .log = s->log,
        .save = s->save,
        .save_seconds = SAVE_SECONDS,
        .seconds = 60.0 * j->opt->minutes,
        .threads = j->opt->threads,
        .report = j->opt->progress ? pass_on : NULL,
        .context = (void *)(uintptr_t)j->opt,
    };
    trainer_result r;
    plumb_status st = trainer_run(&r, &j->trainee, comm_rank() ? NULL : &j->run, &opt);
    if (st) return st;
    plumb_training result = {
        .steps = r.step, .finished = r.finished, .loss = r.loss, .seconds = r.seconds};
    snprintf(result.model, sizeof result.model, "%s", j->recipe.model->name);
    if (!comm_rank()) st = write_results(j, &result);
    if (!st) *out = result;
    return st;
}

plumb_status plumb_training_run(plumb_training *out, const plumb_training_options *options)
{
    plumb_training_options full = plumb_training_defaults(), *opt = &full;
    plumb_status st = options_resolve(&full, sizeof full, options, "plumb_training_options");
    if (st) return st;
    if (!opt->out || !opt->out[0]) return fail(PLUMB_EVALUE, "no run directory is given");
    if (opt->resume && opt->force)
        return fail(PLUMB_EVALUE, "to go on with a run and to overwrite it cannot both be had");
    if (!(opt->minutes >= 0.0) || isinf(opt->minutes))
        return fail(PLUMB_EVALUE, "minutes is %g, wanted a number from 0 on", opt->minutes);
    training_job j = {.opt = opt, .run.lock = -1};
    // Ranks that are one training go together from step to step: what fails for one fails for all.
    st = comm_all_ok(opt->resume ? resume(&j) : begin(&j));
    if (!st) st = comm_all_ok(make_model(&j));
    if (!st) st = comm_all_ok(write_config(&j));
    if (!st) st = train(out, &j);
    if (j.created && j.trainee.destroy) j.trainee.destroy(j.trainee.context);
    if (j.opened) run_dir_close(&j.run);
    arena_clear(&j.mem);
    return st;
}

// ---- what it would cost ----

plumb_status plumb_training_plan(plumb_record *record, const plumb_training_options *options)
{
    plumb_training_options full = plumb_training_defaults(), *opt = &full;
    plumb_status st = options_resolve(&full, sizeof full, options, "plumb_training_options");
    if (st) return st;
    training_job j = {.opt = opt, .run.lock = -1};
    settings_preset preset = SETTINGS_CPU;
    st = opt->model ? PLUMB_OK : fail(PLUMB_EVALUE, "no model is given");
    if (!st && opt->preset) st = settings_find_preset(&preset, opt->preset);
    if (!st) st = run_config_init(&j.recipe, &j.mem, opt->model, preset);
    if (!st) st = apply_options(&j, apply_new);
    if (!st && !j.recipe.data.world[0] && !j.recipe.data.data[0])
        st = settings_set(&j.recipe.all, "world=mass-spring");
    if (!st) st = run_config_video_shape(&j.film, &j.recipe);
    if (!st)
        st = j.recipe.model->create(&j.trainee, &j.mem, j.recipe.own, &j.recipe.training, &j.film);
    j.created = !st;
    if (!st) {
        plumb_record_set_string(record, "model", j.recipe.model->name);
        plumb_record_set_string(record, "preset", settings_preset_name(preset));
        if (j.trainee.record_cost) j.trainee.record_cost(j.trainee.context, record);
    }
    if (j.created && j.trainee.destroy) j.trainee.destroy(j.trainee.context);
    arena_clear(&j.mem);
    return st;
}

// ---- lists ----

int64_t plumb_model_count(void)
{
    return registry_count();
}

const char *plumb_model_name(int64_t index)
{
    return registry_at(index)->name;
}

const char *plumb_model_summary(int64_t index)
{
    return registry_at(index)->summary;
}

static void describe(plumb_model_setting *out, const setting_spec *row)
{
    size_t used = 0;
    *out = (plumb_model_setting){0};
    snprintf(out->name, sizeof out->name, "%s", row->name);
    snprintf(out->help, sizeof out->help, "%s", row->help);
    switch (row->kind) {
    case SETTINGS_FLAG: snprintf(out->takes, sizeof out->takes, "on|off"); break;
    case SETTINGS_TEXT: snprintf(out->takes, sizeof out->takes, "a text"); break;
    case SETTINGS_CHOICE:
        for (int i = 0; row->choices[i] && used < sizeof out->takes; i++)
            used += (size_t)snprintf(out->takes + used, sizeof out->takes - used, "%s%s",
                                     i ? "|" : "", row->choices[i]);
        break;
    default:
        snprintf(out->takes, sizeof out->takes, "a %snumber from %g to %g",
                 row->kind == SETTINGS_INTEGER ? "whole " : "", row->low, row->high);
    }
}

plumb_status plumb_model_setting_at(plumb_model_setting *out, bool *there, const char *model,
                                    int64_t index)
{
    arena mem = {0};
    plumb_status st = PLUMB_OK;
    *there = false;
    for (int preset = 0; preset < SETTINGS_PRESETS && !st; preset++) {
        run_config r;
        st = run_config_init(&r, &mem, model, (settings_preset)preset);
        int64_t at = 0;
        for (int p = 0; p < r.all.count && !st; p++)
            for (const setting_spec *row = r.all.part[p].row; row->name; row++) {
                if (at++ != index) continue;
                char *const places[] = {out->paper, out->cpu, out->tiny};
                if (!*there) describe(out, row);
                *there = true;
                settings_format(places[preset], sizeof out->paper, row, r.all.part[p].values);
            }
    }
    arena_clear(&mem);
    return st;
}
