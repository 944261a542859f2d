// SPDX-License-Identifier: MIT
// Estimates the cost of a study by short timings: a few training steps and a small evaluation of an
// untrained model for each cost class of runs, and one trajectory for each world. Times are
// processor time, not wall-clock time, so that other work on the machine does not count.
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/clock.h"
#include "base/parallel_for.h"
#include "sweep/run_task.h"
#include "sweep/study_run.h"
#include "sweep/sweep.h"
#include "train/step_time.h"
#include "train/training.h"

// Sizes of the short timings. Models with more latents are not evaluated.
enum { TIMED_VIDEOS = 2, TIMED_FRAMES = 60, TIMED_TRAJECTORIES = 8, MAX_LATENTS = 64 };

typedef struct class_cost {
    char name[33]; // by study_run_cost_class()
    double step;   // core seconds per training step
    double frame;  // core seconds per frame of an evaluation; NaN: unknown
} class_cost;

typedef struct world_cost {
    const char *world;
    double frame; // core seconds to simulate a frame
} world_cost;

typedef struct cost_table {
    arena mem;
    const study_file *study;
    class_cost *classes; // timed so far
    world_cost *worlds;
    int64_t class_count, world_count;
} cost_table;

// ---- evaluations ----

// Removes a directory and the files in it.
static void remove_folder(const char *path)
{
    char name[4400];
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        unlink(name);
    }
    if (directory) closedir(directory);
    rmdir(path);
}

// Frames that an evaluation predicts.
static int64_t count_frames(const plumb_evaluation_options *options)
{
    return 2 * options->forecast_videos * (options->forecast_steps + 64) +
           options->phase_trajectories * 60; // forward and backward
}

// Times a small evaluation of an untrained model, in a temporary directory. Models with very many
// latents are left out: before training all latents take part in the measures, which takes long.
static plumb_status time_evaluation(double *frame, const study_file *study, const study_run *run,
                                    arena *mem)
{
    char path[4096];
    const char *place = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.3000s/plumb-plan-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(path)) return fail(PLUMB_EFILE, "%s: cannot be created", path);
    run_config config;
    plumb_training trained;
    plumb_status st = study_run_resolve(&config, mem, study, run);
    if (!st) st = settings_set(&config.all, run->data ? "trajectories=0" : "trajectories=1");
    if (!st) st = settings_set(&config.all, "steps=0");
    if (!st) st = training_run(&trained, &config, path, RUN_DIR_NEW, 1);
    plumb_evaluation_kind kind = PLUMB_EVALUATION_DYNAMICS;
    if (!st) st = plumb_evaluation_find_kind(&kind, path);
    *frame = (double)NAN;
    if (!st && kind == PLUMB_EVALUATION_DYNAMICS) {
        plumb_evaluation result;
        plumb_evaluation_options options = plumb_evaluation_defaults();
        plumb_symetric_options symetric = plumb_symetric_defaults();
        symetric.max_order = 1; // untrained latents would make it try every order
        options.forecast_videos = TIMED_VIDEOS, options.forecast_steps = TIMED_FRAMES,
        options.phase_trajectories = TIMED_TRAJECTORIES;
        options.threads = 1;
        options.network = false;
        options.symetric = &symetric;
        const double started = clock_core_seconds();
        st = plumb_evaluation_measure(&result, path, &options);
        if (!st) *frame = (clock_core_seconds() - started) / (double)count_frames(&options);
        if (!st) plumb_evaluation_clear(&result);
        // A measure may be undefined for an untrained model. Then the cost stays unknown.
        if (st != PLUMB_EMEMORY && st != PLUMB_ESTOPPED) st = PLUMB_OK;
    }
    remove_folder(path);
    return st;
}

// ---- cost classes, worlds and runs ----

// The cost of the class of a run, timed the first time it is asked for.
static plumb_status get_class_cost(const class_cost **out, cost_table *table,
                                   const run_config *config, const study_run *run)
{
    class_cost *class = &table->classes[table->class_count];
    plumb_status st = study_run_cost_class(class->name, config);
    if (st) return st;
    for (*out = table->classes; *out < class; ++*out)
        if (!strcmp((*out)->name, class->name)) return PLUMB_OK;
    arena mem = {0};
    run_config small;
    status_log("timing %s", run->name);
    st = study_run_resolve(&small, &mem, table->study, run);
    if (!st && run->world) st = settings_set(&small.all, "trajectories=4");
    // A model whose horizon grows is timed at the longest.
    if (!st)
        (void)(settings_set(&small.all, "curriculum_targets=") ||
               settings_set(&small.all, "curriculum_deadlines="));
    int64_t latents = 0;
    class->frame = (double)NAN;
    if (!st) st = step_time_measure(&class->step, &latents, &small, &mem);
    if (!st && latents <= MAX_LATENTS) st = time_evaluation(&class->frame, table->study, run, &mem);
    arena_clear(&mem);
    if (!st) table->class_count++;
    return st;
}

// The cost of a frame of the world of a run, timed the first time it is asked for.
static plumb_status get_world_cost(double *frame, cost_table *table, const study_run *run)
{
    *frame = 0.0;
    if (!run->world) return PLUMB_OK;
    for (int64_t i = 0; i < table->world_count; i++)
        if (!strcmp(table->worlds[i].world, run->world)) {
            *frame = table->worlds[i].frame;
            return PLUMB_OK;
        }
    arena mem = {0};
    run_config small;
    video_set videos;
    plumb_status st = study_run_resolve(&small, &mem, table->study, run);
    if (!st) st = settings_set(&small.all, "trajectories=1");
    const double started = clock_core_seconds();
    if (!st) st = run_config_load_video(&videos, &mem, &small, NULL, 1);
    if (!st) {
        *frame = (clock_core_seconds() - started) / (double)videos.steps;
        table->worlds[table->world_count++] = (world_cost){run->world, *frame};
    }
    arena_clear(&mem);
    return st;
}

// Core seconds of training, with its data, and of evaluating a run.
static plumb_status get_run_cost(double *train, double *evaluate, cost_table *table,
                                 const study_run *run)
{
    arena mem = {0};
    run_config config;
    double frame;
    const class_cost *class = NULL;
    plumb_status st = study_run_resolve(&config, &mem, table->study, run);
    if (!st) st = get_class_cost(&class, table, &config, run);
    if (!st) st = get_world_cost(&frame, table, run);
    if (!st) {
        *train = (double)config.training.steps * class->step +
                 frame * (double)config.data.trajectories * (double)config.data.frames;
        *evaluate = class->frame * (double)count_frames(&table->study->evaluate);
    }
    arena_clear(&mem);
    return st;
}

// One run as an object; the keys are part of the contract.
static void record_run(plumb_record *record, const char *name, plumb_sweep_state state,
                       double train, double evaluate)
{
    if (!record) return;
    plumb_record_begin_object(record, NULL);
    plumb_record_set_string(record, "name", name);
    plumb_record_set_string(record, "state", plumb_sweep_state_name(state));
    plumb_record_set_double(record, "train_seconds", train);
    plumb_record_set_double(record, "judge_seconds", evaluate);
    plumb_record_end(record);
}

static void record_cost(plumb_record *record, const plumb_sweep_cost *cost, int workers)
{
    if (!record) return;
    plumb_record_set_int(record, "count", cost->runs);
    plumb_record_set_int(record, "left", cost->left);
    plumb_record_set_int(record, "kinds", cost->kinds);
    plumb_record_set_int(record, "workers", workers);
    plumb_record_set_int(record, "threads", cost->threads);
    plumb_record_set_double(record, "core_seconds", cost->core_seconds);
    plumb_record_set_double(record, "seconds", cost->seconds);
    plumb_record_set_string(record, "without", cost->not_counted);
}

// Adds up the runs of this task that are to be done. `incomplete` is set if the cost of an
// evaluation is unknown.
static plumb_status sum_costs(plumb_sweep_cost *out, bool *incomplete, cost_table *table,
                              plumb_record *record, const plumb_sweep_options *opt)
{
    const study_file *study = table->study;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < study->run_count && !st; i++) {
        plumb_sweep_state state;
        double train = 0.0, evaluate = 0.0;
        if (i % opt->tasks != opt->task) continue;
        st = status_check_stop();
        if (!st) st = run_task_state(&state, study, &study->runs[i], opt->out);
        const bool runs = !st && state != PLUMB_SWEEP_STATE_DONE &&
                          (state != PLUMB_SWEEP_STATE_FAILED || opt->retry);
        if (runs) st = get_run_cost(&train, &evaluate, table, &study->runs[i]);
        if (st) break;
        status_progress((double)(i + 1) / (double)study->run_count);
        record_run(record, study->runs[i].name, state, train, evaluate);
        out->runs++;
        out->left += runs;
        *incomplete = *incomplete || isnan(evaluate);
        out->core_seconds += train + (isnan(evaluate) ? 0.0 : evaluate);
    }
    return st;
}

plumb_status plumb_sweep_estimate(plumb_sweep_cost *out, plumb_record *record,
                                  const plumb_sweep *sweep, const plumb_sweep_options *options)
{
    REQUIRE_ARGUMENT(sweep);
    REQUIRE_ARGUMENT(options);
    plumb_sweep_options resolved, *opt = &resolved;
    plumb_status st = sweep_resolve_options(&resolved, options);
    if (st) return st;
    const study_file *study = &sweep->study;
    cost_table table = {.study = study};
    plumb_sweep_cost cost = {.threads = sweep_threads(opt)};
    bool incomplete = false;
    table.classes = ARENA_ALLOC(&table.mem, class_cost, study->run_count + 1);
    table.worlds = ARENA_ALLOC(&table.mem, world_cost, study->run_count + 1);
    if (!table.classes || !table.worlds) st = PLUMB_EMEMORY;
    if (record) plumb_record_set_string(record, "study", study->name);
    if (record) plumb_record_begin_array(record, "runs");
    if (!st) st = sum_costs(&cost, &incomplete, &table, record, opt);
    if (record) plumb_record_end(record);
    arena_clear(&table.mem);
    if (st) return st;
    const int cores = parallel_threads(), busy = opt->workers * cost.threads;
    cost.kinds = table.class_count;
    // More threads than cores do not make it faster.
    cost.seconds = cost.core_seconds / (double)(busy < cores ? busy : cores);
    snprintf(cost.not_counted, sizeof cost.not_counted, "%s",
             incomplete
                 ? "the evaluation of some runs: of video models, and with more than 64 latents"
             : study->evaluate.network
                 ? "the network of the phase-space measures, whose size depends on the latents"
                 : "");
    record_cost(record, &cost, opt->workers);
    *out = cost;
    return PLUMB_OK;
}
