// SPDX-License-Identifier: MIT
// What a study will cost, by a short timing: of each kind of run a few steps, of each world a
// trajectory, and a small evaluation of a model that has learnt nothing. Measured in seconds of a
// core, not of the clock, so that what else the machine is doing does not count.
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/parallel_for.h"
#include "sweep/run_task.h"
#include "sweep/sweep.h"
#include "train/trainer.h"
#include "train/training.h"

enum { STEPS = 4, FILMS = 2, FRAMES = 60, MEASURED = 8, MOST_LATENTS = 64 };

typedef struct kind_cost {
    char kind[33];
    double step;  // seconds of a core
    double frame; // of an evaluation, a frame; NaN: not known
} kind_cost;

typedef struct world_cost {
    const char *world;
    double frame; // of film
} world_cost;

typedef struct costing {
    arena mem;
    const study_file *study;
    kind_cost *kind;
    world_cost *world;
    int64_t kinds, worlds;
} costing;

static double core_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- steps ----

typedef struct stopwatch {
    double last, least;
    int steps;
} stopwatch;

static void on_step(void *context, const trainer_progress *report)
{
    (void)report;
    stopwatch *w = context;
    const double now = core_time();
    if (w->steps++) w->least = fmin(w->least, now - w->last);
    w->last = now;
}

// The least of three steps behind the first, in which memory is touched for the first time.
static plumb_status time_steps(double *out, int64_t *latents, const run_config *r, arena *mem)
{
    video_set film;
    trainable_model t;
    const training_settings *s = &r->training;
    stopwatch w = {.least = INFINITY};
    const trainer_options opt = {.adam = {s->beta1, s->beta2, s->epsilon},
                                 .schedule = {.rate = s->learning_rate, .steps = STEPS},
                                 .clip = s->clip_norm,
                                 .log = s->log_steps,
                                 .threads = 1,
                                 .report = on_step,
                                 .context = &w};
    trainer_result result;
    plumb_status st = run_config_load_video(&film, mem, r, 1);
    if (!st) st = r->model->create(&t, mem, r->model_settings, s, &film);
    if (st) return st;
    st = trainer_run(&result, &t, NULL, &opt);
    if (t.destroy) t.destroy(t.context);
    *out = w.least;
    *latents = t.dynamics ? t.dynamics->latents : 0;
    return st;
}

// ---- evaluations ----

static void remove_folder(const char *path)
{
    char name[4400];
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        unlink(name);
    }
    if (d) closedir(d);
    rmdir(path);
}

static int64_t frames_of(const plumb_evaluation_options *o)
{
    return 2 * o->forecast_videos * (o->forecast_steps + 64) +
           o->phase_trajectories * 60; // forward and backward
}

// Not of models with very many latents: all of them take part in the measures until training has
// settled which it needs, and that would be no short timing.
static plumb_status time_evaluation(double *frame, const study_file *study, const study_run *run,
                                    arena *mem)
{
    char path[4096];
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.3000s/plumb-plan-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(path)) return fail(PLUMB_EFILE, "%s: cannot be made", path);
    run_config config;
    plumb_training trained;
    plumb_status st = study_file_run_config(&config, mem, study, run);
    if (!st) st = settings_set(&config.all, run->data ? "trajectories=0" : "trajectories=1");
    if (!st) st = settings_set(&config.all, "steps=0");
    if (!st) st = training_run(&trained, &config, path, RUN_DIR_NEW, 1);
    plumb_evaluation_kind kind = PLUMB_EVALUATION_DYNAMICS;
    if (!st) st = plumb_evaluation_find_kind(&kind, path);
    *frame = (double)NAN;
    if (!st && kind == PLUMB_EVALUATION_DYNAMICS) {
        plumb_evaluation result;
        plumb_evaluation_options e = plumb_evaluation_defaults();
        plumb_symetric_options symetric = plumb_symetric_defaults();
        symetric.max_order = 1; // untrained latents would make it try every order, which takes long
        e.forecast_videos = FILMS, e.forecast_steps = FRAMES, e.phase_trajectories = MEASURED;
        e.threads = 1;
        e.network = false;
        e.symetric = &symetric;
        const double begun = core_time();
        st = plumb_evaluation_measure(&result, path, &e);
        if (!st) *frame = (core_time() - begun) / (double)frames_of(&e);
        if (!st) plumb_evaluation_clear(&result);
        // It has learnt nothing yet, and need not be fit to be judged: then that is not known.
        if (st != PLUMB_EMEMORY && st != PLUMB_ESTOPPED) st = PLUMB_OK;
    }
    remove_folder(path);
    return st;
}

// ---- kinds and worlds ----

static plumb_status cost_of_kind(const kind_cost **out, costing *c, const run_config *r,
                                 const study_run *run)
{
    kind_cost *k = &c->kind[c->kinds];
    plumb_status st = study_file_cost_class(k->kind, r);
    if (st) return st;
    for (*out = c->kind; *out < k; ++*out)
        if (!strcmp((*out)->kind, k->kind)) return PLUMB_OK;
    arena mem = {0};
    run_config few;
    status_log("timing %s", run->name);
    st = study_file_run_config(&few, &mem, c->study, run);
    if (!st && run->world) st = settings_set(&few.all, "trajectories=4");
    // A model whose horizon grows is timed at the longest.
    if (!st)
        (void)(settings_set(&few.all, "curriculum_targets=") ||
               settings_set(&few.all, "curriculum_deadlines="));
    int64_t latents = 0;
    k->frame = (double)NAN;
    if (!st) st = time_steps(&k->step, &latents, &few, &mem);
    if (!st && latents <= MOST_LATENTS) st = time_evaluation(&k->frame, c->study, run, &mem);
    arena_clear(&mem);
    if (!st) c->kinds++;
    return st;
}

static plumb_status cost_of_world(double *frame, costing *c, const study_run *run)
{
    *frame = 0.0;
    if (!run->world) return PLUMB_OK;
    for (int64_t i = 0; i < c->worlds; i++)
        if (!strcmp(c->world[i].world, run->world)) {
            *frame = c->world[i].frame;
            return PLUMB_OK;
        }
    arena mem = {0};
    run_config few;
    video_set film;
    plumb_status st = study_file_run_config(&few, &mem, c->study, run);
    if (!st) st = settings_set(&few.all, "trajectories=1");
    const double begun = core_time();
    if (!st) st = run_config_load_video(&film, &mem, &few, 1);
    if (!st) {
        *frame = (core_time() - begun) / (double)film.steps;
        c->world[c->worlds++] = (world_cost){run->world, *frame};
    }
    arena_clear(&mem);
    return st;
}

static plumb_status cost_of_run(double *train, double *judge, costing *c, const study_run *run)
{
    arena mem = {0};
    run_config r;
    double frame;
    const kind_cost *k = NULL;
    plumb_status st = study_file_run_config(&r, &mem, c->study, run);
    if (!st) st = cost_of_kind(&k, c, &r, run);
    if (!st) st = cost_of_world(&frame, c, run);
    if (!st) {
        *train = (double)r.training.steps * k->step +
                 frame * (double)r.data.trajectories * (double)r.data.frames;
        *judge = k->frame * (double)frames_of(&c->study->evaluate);
    }
    arena_clear(&mem);
    return st;
}

static void record_run(plumb_record *record, const char *name, plumb_sweep_state state,
                       double train, double judge)
{
    if (!record) return;
    plumb_record_begin_object(record, NULL);
    plumb_record_set_string(record, "name", name);
    plumb_record_set_string(record, "state", plumb_sweep_state_name(state));
    plumb_record_set_double(record, "train_seconds", train);
    plumb_record_set_double(record, "judge_seconds", judge);
    plumb_record_end(record);
}

static void record_cost(plumb_record *record, const plumb_sweep_cost *c, int workers)
{
    if (!record) return;
    plumb_record_set_int(record, "count", c->runs);
    plumb_record_set_int(record, "left", c->left);
    plumb_record_set_int(record, "kinds", c->kinds);
    plumb_record_set_int(record, "workers", workers);
    plumb_record_set_int(record, "threads", c->threads);
    plumb_record_set_double(record, "core_seconds", c->core_seconds);
    plumb_record_set_double(record, "seconds", c->seconds);
    plumb_record_set_string(record, "without", c->without);
}

// Runs that are to be done, and what each costs.
static plumb_status add_up(plumb_sweep_cost *out, bool *films, costing *c, plumb_record *record,
                           const plumb_sweep_options *opt)
{
    const study_file *f = c->study;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < f->count && !st; i++) {
        plumb_sweep_state state;
        double train = 0.0, judge = 0.0;
        if (i % opt->tasks != opt->task) continue;
        st = status_check_stop();
        if (!st) st = run_task_state(&state, f, &f->run[i], opt->out);
        const bool runs = !st && state != PLUMB_SWEEP_STATE_DONE &&
                          (state != PLUMB_SWEEP_STATE_FAILED || opt->retry);
        if (runs) st = cost_of_run(&train, &judge, c, &f->run[i]);
        if (st) break;
        status_progress((double)(i + 1) / (double)f->count);
        record_run(record, f->run[i].name, state, train, judge);
        out->runs++;
        out->left += runs;
        *films = *films || isnan(judge);
        out->core_seconds += train + (isnan(judge) ? 0.0 : judge);
    }
    return st;
}

plumb_status plumb_sweep_estimate(plumb_sweep_cost *out, plumb_record *record, const plumb_sweep *s,
                                  const plumb_sweep_options *opt)
{
    plumb_status st = sweep_check(opt);
    if (st) return st;
    const study_file *f = &s->study;
    costing c = {.study = f};
    plumb_sweep_cost cost = {.threads = sweep_threads(opt)};
    bool films = false;
    c.kind = ARENA_ALLOC(&c.mem, kind_cost, f->count + 1);
    c.world = ARENA_ALLOC(&c.mem, world_cost, f->count + 1);
    if (!c.kind || !c.world) st = PLUMB_EMEMORY;
    if (record) plumb_record_set_string(record, "study", f->name);
    if (record) plumb_record_begin_array(record, "runs");
    if (!st) st = add_up(&cost, &films, &c, record, opt);
    if (record) plumb_record_end(record);
    arena_clear(&c.mem);
    if (st) return st;
    const int cores = parallel_threads(), busy = opt->workers * cost.threads;
    cost.kinds = c.kinds;
    cost.seconds = cost.core_seconds / (double)(busy < cores ? busy : cores);
    snprintf(cost.without, sizeof cost.without, "%s",
             films ? "the judging of some: of films, of more than 64 latents"
             : f->evaluate.network
                 ? "the network of the phase-space measures, whose size depends on "
                   "what is learnt"
                 : "");
    record_cost(record, &cost, opt->workers);
    *out = cost;
    return PLUMB_OK;
}
