// SPDX-License-Identifier: MIT
// One run of a study. Its state is stored only in its directory: config.json, the checkpoint, and
// results.json with the sections train, evaluate and sweep. So after any kill the next process sees
// what is left to do.
#define _GNU_SOURCE
#include "sweep/run_task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/json.h"
#include "sweep/earlier_records.h"
#include "sweep/results_file.h"
#include "sweep/study_run.h"
#include "train/run_dir.h"
#include "train/training.h"

typedef char filename[4096];

static plumb_status make_path(filename name, const char *folder, const char *run)
{
    // The limit leaves room for the file names that are appended to it.
    if (snprintf(name, sizeof(filename), "%s/%s", folder, run) >= 3700)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", folder);
    return PLUMB_OK;
}

// ---- state of a run ----

// What results.json holds. `train` and `evaluate` point into `text`.
typedef struct run_results {
    char *text;
    int64_t steps;                // training steps done; -1 if unknown
    bool finished;                // training is complete
    const char *train, *evaluate; // the sections as JSON, or NULL
    size_t train_size, evaluate_size;
    char options[33]; // hash of the options of the evaluation
    bool failed;      // the run failed for good
} run_results;

// Reads the section "train".
static void read_train(run_results *results, json *in)
{
    json_object(in);
    for (const char *key; (key = json_key(in));) {
        if (!strcmp(key, "finished")) results->finished = json_bool(in);
        else if (!strcmp(key, "steps")) results->steps = json_int(in);
        else json_skip(in, NULL, NULL);
    }
}

// Reads the section "sweep".
static void read_sweep(run_results *results, json *in)
{
    json_object(in);
    for (const char *key; (key = json_key(in));) {
        if (!strcmp(key, "options")) {
            const char *text = json_string(in);
            if (text) snprintf(results->options, sizeof results->options, "%.32s", text);
        } else {
            results->failed = results->failed || !strcmp(key, "failed");
            json_skip(in, NULL, NULL);
        }
    }
}

// A file that cannot be read counts as absent; the next step reports the error if it matters.
static plumb_status read_results(run_results *out, arena *mem, const char *path)
{
    filename name;
    char *text;
    size_t size;
    *out = (run_results){.steps = -1};
    snprintf(name, sizeof name, "%.3800s/results.json", path);
    const plumb_status st = run_dir_read_results(&text, &size, mem, path);
    if (st == PLUMB_EMEMORY) return st;
    if (st || !text) return PLUMB_OK;
    out->text = arena_alloc(mem, (int64_t)size + 1, 1); // the reader changes its text
    if (!out->text) return PLUMB_EMEMORY;
    memcpy(out->text, text, size);
    json in = json_begin(text, size, name);
    json_object(&in);
    for (const char *key; (key = json_key(&in));) {
        const char *start = NULL;
        size_t length = 0;
        json_skip(&in, &start, &length);
        if (in.st) break;
        const char *kept = out->text + (start - text);
        json inner = json_begin((char *)(uintptr_t)start, length, name);
        if (!strcmp(key, "train")) {
            out->train = kept, out->train_size = length;
            read_train(out, &inner);
        } else if (!strcmp(key, "evaluate")) {
            out->evaluate = kept, out->evaluate_size = length;
        } else if (!strcmp(key, "sweep")) {
            read_sweep(out, &inner);
        }
    }
    if (json_end(&in)) *out = (run_results){.steps = -1};
    return PLUMB_OK;
}

// Fails with PLUMB_EVALUE, naming the first difference, if the existing run has other settings than
// the study asks for.
static plumb_status compare_configs(const run_config *existing, const run_config *wanted,
                                    const char *path)
{
    char old[600], new[600];
    static const char advice[] = "choose another directory, or remove that directory";
    if (strcmp(existing->model->name, wanted->model->name))
        return fail(PLUMB_EVALUE, "%s: is a run of %s, but the study asks for %s; %s", path,
                    existing->model->name, wanted->model->name, advice);
    for (int part = 0; part < wanted->all.count; part++)
        for (const setting_spec *spec = wanted->all.part[part].row; spec->option.name; spec++) {
            // With a decaying rate the number of steps changes the whole training.
            const bool steps = !strcmp(spec->option.name, "steps") && wanted->training.decay;
            if (spec->rule == SETTING_FREE) continue;
            if (spec->rule == SETTING_MAY_CHANGE && !steps) continue;
            settings_format(old, sizeof old, spec, existing->all.part[part].values);
            settings_format(new, sizeof new, spec, wanted->all.part[part].values);
            if (strcmp(old, new))
                return fail(PLUMB_EVALUE,
                            "%s: was started with %s=%.60s, but the study has %.60s; %s", path,
                            spec->option.name, old, new, advice);
        }
    return PLUMB_OK;
}

typedef struct run_state {
    bool config;         // config.json exists
    run_config wanted;   // what the study asks for
    run_results results; // of the existing run
} run_state;

// Finds out how far a run is, and compares its settings with those of the study.
static plumb_status inspect_run(run_state *out, arena *mem, const study_file *study,
                                const study_run *run, const char *path)
{
    filename name;
    char *text;
    size_t size;
    run_config existing;
    *out = (run_state){0};
    plumb_status st = study_run_resolve(&out->wanted, mem, study, run);
    if (st) return st;
    snprintf(name, sizeof name, "%.3800s/config.json", path);
    out->config = !access(name, F_OK);
    if (out->config) st = run_dir_read_config(&text, &size, mem, path);
    if (!st && out->config) st = run_config_parse(&existing, mem, text, size, name);
    if (!st && out->config) st = compare_configs(&existing, &out->wanted, path);
    if (!st && out->config) st = read_results(&out->results, mem, path);
    return st;
}

// All steps that the study asks for are done.
static bool is_trained(const run_state *state)
{
    return state->config && state->results.finished &&
           state->results.steps >= state->wanted.training.steps;
}

// The run is trained, and was evaluated with the options of the study.
static bool is_evaluated(const run_state *state, const study_file *study)
{
    return is_trained(state) && state->results.evaluate &&
           !strcmp(state->results.options, study->options_hash);
}

plumb_status run_task_state(plumb_sweep_state *state, const study_file *study, const study_run *run,
                            const char *folder)
{
    filename path;
    arena mem = {0};
    run_state found;
    if (earlier_records_find(study, run)) {
        *state = PLUMB_SWEEP_STATE_DONE;
        return PLUMB_OK;
    }
    plumb_status st = make_path(path, folder, run->name);
    if (!st) st = inspect_run(&found, &mem, study, run, path);
    // The order matters: a failed run that was repeated with success is done.
    if (!st)
        *state = is_evaluated(&found, study)            ? PLUMB_SWEEP_STATE_DONE
                 : found.config && found.results.failed ? PLUMB_SWEEP_STATE_FAILED
                 : found.config || !access(path, F_OK)  ? PLUMB_SWEEP_STATE_INTERRUPTED
                                                        : PLUMB_SWEEP_STATE_NEW;
    arena_clear(&mem);
    return st;
}

// ---- the line of a run in results.jsonl ----

// NaN comes again with the same seed, so it is final. A full disk may not.
static bool is_final(plumb_status st)
{
    return st == PLUMB_ENUMERIC;
}

// Writes what identifies a run: names and settings.
static void record_run(plumb_record *record, const study_file *study, const study_run *run)
{
    plumb_record_set_string(record, "run", run->name);
    plumb_record_set_string(record, "study", study->name);
    plumb_record_set_string(record, "model", run->model);
    plumb_record_set_string(record, run->world ? "world" : "data",
                            run->world ? run->world : run->data);
    plumb_record_set_string(record, "preset", run->preset ? run->preset : "cpu");
    plumb_record_begin_object(record, "set");
    for (int64_t i = 0; i < run->setting_count; i++) {
        const char *name = run->settings[i].name, *value = run->settings[i].value;
        run_config_use_new_names(run->model, &name, &value);
        plumb_record_set_string(record, name, value);
    }
    plumb_record_end(record);
}

plumb_status run_task_append_result(const study_file *study, const study_run *run,
                                    const char *folder, const char *why, plumb_status status)
{
    filename path;
    arena mem = {0};
    run_results existing = {0};
    const char *head, *earlier = why ? NULL : earlier_records_find(study, run);
    if (earlier) return results_file_append(folder, earlier);
    plumb_record *record = plumb_record_create();
    buffer line = {0};
    plumb_status st = record ? make_path(path, folder, run->name) : PLUMB_EMEMORY;
    if (!st) st = read_results(&existing, &mem, path);
    if (!st) {
        record_run(record, study, run);
        if (why) {
            plumb_record_set_string(record, "failed", why);
            plumb_record_set_bool(record, "final", is_final(status));
        }
        plumb_record_set_string(record, "options", study->options_hash);
        plumb_record_set_string(record, "version", plumb_version());
        st = plumb_record_to_json(&head, record);
    }
    if (!st) {
        buffer_put(&line, head, strlen(head) - 1);
        if (existing.train)
            buffer_printf(&line, ", \"train\": %.*s", (int)existing.train_size, existing.train);
        if (existing.evaluate && !why)
            buffer_printf(&line, ", \"evaluate\": %.*s", (int)existing.evaluate_size,
                          existing.evaluate);
        buffer_put(&line, "}", 2);
        st = line.failed ? fail(PLUMB_EMEMORY, "out of memory for a line of results")
                         : results_file_append(folder, (const char *)line.data);
    }
    plumb_record_free(record);
    buffer_clear(&line);
    arena_clear(&mem);
    return st;
}

// Writes the section "sweep" of results.json: the hash of the options of the evaluation, or why the
// run failed for good.
static plumb_status write_mark(const study_file *study, const char *path, const char *failed)
{
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "out of memory for results.json");
    if (failed) plumb_record_set_string(record, "failed", failed);
    else plumb_record_set_string(record, "options", study->options_hash);
    const plumb_status st = run_dir_write_results(path, "sweep", record);
    plumb_record_free(record);
    return st;
}

// ---- training and evaluation ----

// Evaluates a trained run, saves the result, and marks it with the hash of its options.
static plumb_status evaluate_run(const study_file *study, const char *path, int threads)
{
    plumb_evaluation result;
    plumb_evaluation_options opt = study->evaluate;
    opt.symetric = &study->symetric;
    opt.forecast = &study->forecast;
    opt.kappa = &study->kappa;
    opt.surprise = &study->surprise;
    opt.threads = threads;
    plumb_status st = plumb_evaluation_measure(&result, path, &opt);
    if (st) return st;
    st = plumb_evaluation_save(path, &result, &opt);
    plumb_evaluation_clear(&result);
    return st ? st : write_mark(study, path, NULL);
}

// Locks a run for training and evaluation. `busy` is set if another process has the lock. File
// systems without locks count as free.
static plumb_status lock_run(int *out, bool *busy, const char *folder, const char *run)
{
    filename name;
    *busy = false;
    snprintf(name, sizeof name, "%.3600s/.sweep", folder);
    if (mkdir(name, 0777) && errno != EEXIST)
        return fail(PLUMB_EFILE, "%s: cannot be created: %s", name, strerror(errno));
    snprintf(name, sizeof name, "%.3600s/.sweep/%s", folder, run);
    *out = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*out < 0) return fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    *busy = flock(*out, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    return PLUMB_OK;
}

// Does what is left of a run. Training resumes from the last checkpoint.
static plumb_status finish_run(const study_file *study, const study_run *run, const char *folder,
                               const char *path, int threads)
{
    arena mem = {0};
    run_state found;
    plumb_status st = inspect_run(&found, &mem, study, run, path);
    plumb_training result;
    if (!st && !is_trained(&found))
        st = training_run(&result, &found.wanted, path, found.config ? RUN_DIR_RESUME : RUN_DIR_NEW,
                          threads);
    if (!st && !is_evaluated(&found, study)) st = evaluate_run(study, path, threads);
    if (!st) st = run_task_append_result(study, run, folder, NULL, PLUMB_OK);
    arena_clear(&mem);
    return st;
}

plumb_status run_task_run(plumb_sweep_state *state, const study_file *study, const study_run *run,
                          const char *folder, int threads)
{
    filename path;
    bool busy = false;
    int lock = -1;
    plumb_status st = make_path(path, folder, run->name);
    if (!st) st = lock_run(&lock, &busy, folder, run->name);
    // Another process that runs the same study has this run.
    if (!st && busy) *state = PLUMB_SWEEP_STATE_BUSY;
    else {
        if (!st) st = finish_run(study, run, folder, path, threads);
        *state = !st                    ? PLUMB_SWEEP_STATE_DONE
                 : st == PLUMB_ESTOPPED ? PLUMB_SWEEP_STATE_STOPPED
                                        : PLUMB_SWEEP_STATE_FAILED;
    }
    if (*state == PLUMB_SWEEP_STATE_FAILED) {
        // The calls below replace the last message.
        char why[1024];
        snprintf(why, sizeof why, "%s", plumb_last_error());
        if (is_final(st) && !access(path, F_OK)) write_mark(study, path, why);
        run_task_append_result(study, run, folder, why, st);
        fail(st, "%s", why);
    }
    if (lock >= 0) close(lock);
    return st;
}
