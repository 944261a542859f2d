// SPDX-License-Identifier: MIT
// All that is known of a run is in its directory: config.json, the checkpoint, and results.json
// with the sections train, evaluate and sweep. So whoever comes later, after whatever kill, sees
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
#include "sweep/results_file.h"
#include "train/run_dir.h"
#include "train/training.h"

typedef char filename[4096];

static plumb_status path_of(filename name, const char *folder, const char *run)
{
    if (snprintf(name, sizeof(filename), "%s/%s", folder, run) >= 3700)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", folder);
    return PLUMB_OK;
}

// ---- how far it is ----

// What results.json says. Texts point into it.
typedef struct results {
    char *text;
    int64_t steps;
    bool finished;
    const char *train, *evaluate; // as they stand there, or NULL
    size_t train_size, evaluate_size;
    char options[33];
    bool failed;
} results;

static void read_train(results *r, json *j)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "finished")) r->finished = json_bool(j);
        else if (!strcmp(key, "steps")) r->steps = json_int(j);
        else json_skip(j, NULL, NULL);
    }
}

static void read_sweep(results *r, json *j)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "options")) {
            const char *text = json_string(j);
            if (text) snprintf(r->options, sizeof r->options, "%.32s", text);
        } else {
            r->failed = r->failed || !strcmp(key, "failed");
            json_skip(j, NULL, NULL);
        }
    }
}

// A file that cannot be read counts as none; what follows reports it if it matters.
static plumb_status read_results(results *out, arena *mem, const char *path)
{
    filename name;
    char *text;
    size_t size;
    *out = (results){.steps = -1};
    snprintf(name, sizeof name, "%.3800s/results.json", path);
    const plumb_status st = run_dir_read_results(&text, &size, mem, path);
    if (st == PLUMB_EMEMORY) return st;
    if (st || !text) return PLUMB_OK;
    out->text = arena_alloc(mem, (int64_t)size + 1, 1); // json changes what it reads
    if (!out->text) return PLUMB_EMEMORY;
    memcpy(out->text, text, size);
    json j = json_begin(text, size, name);
    json_object(&j);
    for (const char *key; (key = json_key(&j));) {
        const char *at = NULL;
        size_t length = 0;
        json_skip(&j, &at, &length);
        if (j.st) break;
        const char *own = out->text + (at - text);
        json inner = json_begin((char *)(uintptr_t)at, length, name);
        if (!strcmp(key, "train")) {
            out->train = own, out->train_size = length;
            read_train(out, &inner);
        } else if (!strcmp(key, "evaluate")) {
            out->evaluate = own, out->evaluate_size = length;
        } else if (!strcmp(key, "sweep")) {
            read_sweep(out, &inner);
        }
    }
    if (json_end(&j)) *out = (results){.steps = -1};
    return PLUMB_OK;
}

// The first setting of the run on the disk that is not the study's.
static plumb_status compare(const run_config *there, const run_config *here, const char *path)
{
    char old[600], new[600];
    static const char advice[] = "choose another --out, or remove that directory";
    if (strcmp(there->model->name, here->model->name))
        return fail(PLUMB_EVALUE, "%s: is a run of %s, and the study's is of %s; %s", path,
                    there->model->name, here->model->name, advice);
    for (int p = 0; p < here->all.count; p++)
        for (const setting_spec *row = here->all.part[p].row; row->name; row++) {
            const bool steps = !strcmp(row->name, "steps") && here->training.decay;
            if (row->manner == SETTING_MAY_CHANGE && !steps) continue;
            settings_format(old, sizeof old, row, there->all.part[p].values);
            settings_format(new, sizeof new, row, here->all.part[p].values);
            if (strcmp(old, new))
                return fail(PLUMB_EVALUE,
                            "%s: was begun with %s=%.60s, and the study has %.60s; %s", path,
                            row->name, old, new, advice);
        }
    return PLUMB_OK;
}

typedef struct run_state {
    bool config;       // config.json exists
    run_config wanted; // what the study asks for
    results results;
} run_state;

static plumb_status look(run_state *out, arena *mem, const study_file *s, const study_run *run,
                         const char *path)
{
    filename name;
    char *text;
    size_t size;
    run_config there;
    *out = (run_state){0};
    plumb_status st = study_file_run_config(&out->wanted, mem, s, run);
    if (st) return st;
    snprintf(name, sizeof name, "%.3800s/config.json", path);
    out->config = !access(name, F_OK);
    if (out->config) st = run_dir_read_config(&text, &size, mem, path);
    if (!st && out->config) st = run_config_parse(&there, mem, text, size, name);
    if (!st && out->config) st = compare(&there, &out->wanted, path);
    if (!st && out->config) st = read_results(&out->results, mem, path);
    return st;
}

static bool trained(const run_state *s)
{
    return s->config && s->results.finished && s->results.steps >= s->wanted.training.steps;
}

static bool judged(const run_state *at, const study_file *s)
{
    return trained(at) && at->results.evaluate && !strcmp(at->results.options, s->options);
}

plumb_status run_task_state(plumb_sweep_state *state, const study_file *s, const study_run *run,
                            const char *folder)
{
    filename path;
    arena mem = {0};
    run_state at;
    plumb_status st = path_of(path, folder, run->name);
    if (!st) st = look(&at, &mem, s, run, path);
    if (!st)
        *state = judged(&at, s)                     ? PLUMB_SWEEP_STATE_DONE
                 : at.config && at.results.failed   ? PLUMB_SWEEP_STATE_FAILED
                 : at.config || !access(path, F_OK) ? PLUMB_SWEEP_STATE_BROKEN
                                                    : PLUMB_SWEEP_STATE_NEW;
    arena_clear(&mem);
    return st;
}

// ---- its line ----

// Numbers that are none come again with the same seed; a full disk may not.
static bool is_final(plumb_status st)
{
    return st == PLUMB_ENUMERIC;
}

static void describe(plumb_record *r, const study_file *s, const study_run *run)
{
    plumb_record_set_string(r, "run", run->name);
    plumb_record_set_string(r, "study", s->name);
    plumb_record_set_string(r, "model", run->model);
    plumb_record_set_string(r, run->world ? "world" : "data", run->world ? run->world : run->data);
    plumb_record_set_string(r, "preset", run->preset ? run->preset : "cpu");
    plumb_record_begin_object(r, "set");
    for (int64_t i = 0; i < run->sets; i++) {
        const char *name = run->set[i].name, *value = run->set[i].value;
        run_config_use_new_names(run->model, &name, &value);
        plumb_record_set_string(r, name, value);
    }
    plumb_record_end(r);
}

plumb_status run_task_append_result(const study_file *s, const study_run *run, const char *folder,
                                    const char *why, plumb_status status)
{
    filename path;
    arena mem = {0};
    results had = {0};
    const char *head;
    plumb_record *r = plumb_record_create();
    buffer line = {0};
    plumb_status st = r ? path_of(path, folder, run->name) : PLUMB_EMEMORY;
    if (!st) st = read_results(&had, &mem, path);
    if (!st) {
        describe(r, s, run);
        if (why) {
            plumb_record_set_string(r, "failed", why);
            plumb_record_set_bool(r, "final", is_final(status));
        }
        plumb_record_set_string(r, "version", plumb_version());
        st = plumb_record_to_json(&head, r);
    }
    if (!st) {
        buffer_put(&line, head, strlen(head) - 1);
        if (had.train) buffer_printf(&line, ", \"train\": %.*s", (int)had.train_size, had.train);
        if (had.evaluate && !why)
            buffer_printf(&line, ", \"evaluate\": %.*s", (int)had.evaluate_size, had.evaluate);
        buffer_put(&line, "}", 2);
        st = line.failed ? fail(PLUMB_EMEMORY, "no memory for a line of results")
                         : results_file_append(folder, (const char *)line.data);
    }
    plumb_record_free(r);
    buffer_clear(&line);
    arena_clear(&mem);
    return st;
}

// The section "sweep" of results.json: judged by these options, or failed for good.
static plumb_status mark(const study_file *s, const char *path, const char *failed)
{
    plumb_record *r = plumb_record_create();
    if (!r) return fail(PLUMB_EMEMORY, "no memory for results.json");
    if (failed) plumb_record_set_string(r, "failed", failed);
    else plumb_record_set_string(r, "options", s->options);
    const plumb_status st = run_dir_write_results(path, "sweep", r);
    plumb_record_free(r);
    return st;
}

// ---- the rest of it ----

static plumb_status evaluate_run(const study_file *s, const char *path, int threads)
{
    plumb_evaluation result;
    plumb_evaluation_options opt = s->evaluate;
    opt.symetric = &s->symetric;
    opt.kappa = &s->kappa;
    opt.surprise = &s->surprise;
    opt.threads = threads;
    plumb_status st = plumb_evaluation_measure(&result, path, &opt);
    if (st) return st;
    st = plumb_evaluation_save(path, &result, &opt);
    plumb_evaluation_clear(&result);
    return st ? st : mark(s, path, NULL);
}

// A lock for all of the run, beside that of training. -1 where there are no locks.
static plumb_status claim(int *out, bool *busy, const char *folder, const char *run)
{
    filename name;
    *busy = false;
    snprintf(name, sizeof name, "%.3600s/.sweep", folder);
    if (mkdir(name, 0777) && errno != EEXIST)
        return fail(PLUMB_EFILE, "%s: cannot be made: %s", name, strerror(errno));
    snprintf(name, sizeof name, "%.3600s/.sweep/%s", folder, run);
    *out = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*out < 0) return fail(PLUMB_EFILE, "%s: %s", name, strerror(errno));
    *busy = flock(*out, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    return PLUMB_OK;
}

static plumb_status go_on(const study_file *s, const study_run *run, const char *folder,
                          const char *path, int threads)
{
    arena mem = {0};
    run_state at;
    plumb_status st = look(&at, &mem, s, run, path);
    plumb_training result;
    if (!st && !trained(&at))
        st = training_run(&result, &at.wanted, path, at.config ? RUN_DIR_RESUME : RUN_DIR_NEW,
                          threads);
    if (!st && !judged(&at, s)) st = evaluate_run(s, path, threads);
    if (!st) st = run_task_append_result(s, run, folder, NULL, PLUMB_OK);
    arena_clear(&mem);
    return st;
}

plumb_status run_task_run(plumb_sweep_state *state, const study_file *s, const study_run *run,
                          const char *folder, int threads)
{
    filename path;
    bool busy = false;
    int lock = -1;
    plumb_status st = path_of(path, folder, run->name);
    if (!st) st = claim(&lock, &busy, folder, run->name);
    if (!st && busy) *state = PLUMB_SWEEP_STATE_BUSY;
    else {
        if (!st) st = go_on(s, run, folder, path, threads);
        *state = !st                    ? PLUMB_SWEEP_STATE_DONE
                 : st == PLUMB_ESTOPPED ? PLUMB_SWEEP_STATE_STOPPED
                                        : PLUMB_SWEEP_STATE_FAILED;
    }
    if (*state == PLUMB_SWEEP_STATE_FAILED) {
        char why[1024];
        snprintf(why, sizeof why, "%s", plumb_last_error());
        if (is_final(st) && !access(path, F_OK)) mark(s, path, why);
        run_task_append_result(s, run, folder, why, st);
        fail(st, "%s", why);
    }
    if (lock >= 0) close(lock);
    return st;
}
