// SPDX-License-Identifier: MIT
// Every run is done in a forked process of its own, so that one that crashes takes nothing with it.
// A process, or under MPI each rank, keeps `workers` of them busy and looks around a hundred times
// a second; rank 0 has the list and hands runs to the ranks that ask. The children send no
// messages.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "distributed/comm.h"
#include "plumb/sweep.h"
#include "sweep/options.h"
#include "sweep/results_file.h"
#include "sweep/run_task.h"
#include "sweep/sweep.h"

plumb_status plumb_sweep_open(plumb_sweep **out, const char *study)
{
    plumb_sweep *s = calloc(1, sizeof *s);
    if (!s) return fail(PLUMB_EMEMORY, "no memory for a study");
    const plumb_status st = study_file_open(&s->study, study);
    if (st) free(s);
    else *out = s;
    return st;
}

void plumb_sweep_close(plumb_sweep *s)
{
    if (!s) return;
    study_file_clear(&s->study);
    free(s);
}

const char *plumb_sweep_name(const plumb_sweep *s)
{
    return s->study.name;
}

int64_t plumb_sweep_run_count(const plumb_sweep *s)
{
    return s->study.count;
}

const char *plumb_sweep_run_name(const plumb_sweep *s, int64_t index)
{
    return s->study.run[index].name;
}

const char *plumb_sweep_state_name(plumb_sweep_state state)
{
    static const char *const names[] = {"new",     "broken",  "done", "failed",
                                        "running", "stopped", "busy"};
    return names[state];
}

plumb_status plumb_sweep_run_state(plumb_sweep_state *state, const plumb_sweep *s, const char *out,
                                   int64_t index)
{
    return run_task_state(state, &s->study, &s->study.run[index], out);
}

plumb_status sweep_check(const plumb_sweep_options *o)
{
    const plumb_status st = options_check_ranges(&sweep_option_table, o);
    if (st) return st;
    if (o->task >= o->tasks)
        return fail(PLUMB_EVALUE, "task is %lld; it must be below tasks, which is %lld",
                    (long long)o->task, (long long)o->tasks);
    if (!o->out || !o->out[0])
        return fail(PLUMB_EVALUE, "out is missing: no directory for the runs");
    return PLUMB_OK;
}

int sweep_threads(const plumb_sweep_options *o)
{
    if (o->threads) return o->threads;
    const int each = parallel_threads() / (o->workers * comm_local_size());
    return each > 1 ? each : 1;
}

// ---- what is to be done ----

// What a child, or a rank, has to say of a run.
typedef struct sweep_outcome {
    int32_t kind; // of a message
    int32_t state;
    int64_t index;
    double seconds;
    char why[600];
} sweep_outcome;

enum { ASK = 1, OVER, BYE, WORK, NONE };

typedef struct worker {
    pid_t pid; // 0: idle
    int64_t index;
    double started;
    sweep_outcome *said; // shared with the child
} worker;

typedef struct sweep_job {
    const study_file *study;
    const plumb_sweep_options *opt;
    int threads;
    worker *worker;
    int running;
    int64_t *todo, count, next; // rank 0's
    int left_ranks;             // that said goodbye
    bool asked, dry, told;
    plumb_sweep_result result;
} sweep_job;

static void tell(sweep_job *j, int64_t index, plumb_sweep_state state, const char *why,
                 double seconds, int rank)
{
    if (!j->opt->progress) return;
    const plumb_sweep_progress p = {.run = j->study->run[index].name,
                                    .state = state,
                                    .why = why,
                                    .seconds = seconds,
                                    .done = j->result.done + j->result.skipped,
                                    .failed = j->result.failed,
                                    .of = j->result.runs,
                                    .rank = rank};
    j->opt->progress(j->opt->context, &p);
}

static bool is_ours(const plumb_sweep_options *o, int64_t index)
{
    return index % o->tasks == o->task;
}

// Looks at every run. One that is done and has no line, because a kill came between, gets it now.
static plumb_status survey(sweep_job *j, arena *mem)
{
    results_file_names lines;
    const study_file *s = j->study;
    plumb_status st = results_file_finished(&lines, mem, j->opt->out);
    j->todo = ARENA_ALLOC(mem, int64_t, s->count);
    if (!j->todo) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->count && !st; i++) {
        plumb_sweep_state state;
        if (!is_ours(j->opt, i)) continue;
        j->result.runs++;
        st = run_task_state(&state, s, &s->run[i], j->opt->out);
        if (st) break;
        if (state == PLUMB_SWEEP_STATE_DONE) {
            j->result.skipped++;
            if (!results_file_has(&lines, s->run[i].name))
                st = run_task_append_result(s, &s->run[i], j->opt->out, NULL, PLUMB_OK);
        } else if (state == PLUMB_SWEEP_STATE_FAILED && !j->opt->retry) {
            j->result.failed++;
        } else {
            j->todo[j->count++] = i;
        }
    }
    return st;
}

// ---- children ----

// Runs in the child, which shares nothing with us but the outcome.
static void be_child(const sweep_job *j, const worker *w, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM); // who is orphaned saves and leaves
    if (getppid() != parent) _exit(1);
    comm_detach();
    plumb_set_progress(NULL, NULL);
    plumb_set_log(NULL, NULL);
    plumb_sweep_state state = PLUMB_SWEEP_STATE_FAILED;
    const plumb_status st =
        run_task_run(&state, j->study, &j->study->run[w->index], j->opt->out, j->threads);
    w->said->state = (int32_t)state;
    if (st) snprintf(w->said->why, sizeof w->said->why, "%s", plumb_last_error());
    _exit(0);
}

static plumb_status start(sweep_job *j, worker *w, int64_t index)
{
    *w->said = (sweep_outcome){.kind = OVER, .state = -1, .index = index};
    w->index = index;
    w->started = clock_now();
    const pid_t parent = getpid();
    w->pid = fork();
    if (w->pid < 0) {
        w->pid = 0;
        return fail(PLUMB_EMEMORY, "a process for %s cannot be started: %s",
                    j->study->run[index].name, strerror(errno));
    }
    if (!w->pid) be_child(j, w, parent);
    j->running++;
    return PLUMB_OK;
}

// A child that died without a word: its run is recorded by us, and tried again next time.
static void bury(const sweep_job *j, worker *w, int how)
{
    sweep_outcome *o = w->said;
    o->state = PLUMB_SWEEP_STATE_FAILED;
    if (WIFSIGNALED(how))
        snprintf(o->why, sizeof o->why, "its process was ended by signal %d (%s)%s", WTERMSIG(how),
                 strsignal(WTERMSIG(how)),
                 WTERMSIG(how) == SIGKILL ? ": perhaps there was not enough memory" : "");
    else snprintf(o->why, sizeof o->why, "its process ended with code %d", WEXITSTATUS(how));
    if (status_stopped()) o->state = PLUMB_SWEEP_STATE_STOPPED;
    else run_task_append_result(j->study, &j->study->run[o->index], j->opt->out, o->why, PLUMB_OK);
}

static worker *idle(const sweep_job *j)
{
    for (int i = 0; i < j->opt->workers; i++)
        if (!j->worker[i].pid) return &j->worker[i];
    return NULL;
}

static void account(sweep_job *j, const sweep_outcome *o, int rank)
{
    if (o->state == PLUMB_SWEEP_STATE_DONE) j->result.done++;
    else if (o->state == PLUMB_SWEEP_STATE_FAILED) j->result.failed++;
    else j->result.left++;
    tell(j, o->index, (plumb_sweep_state)o->state, o->why, o->seconds, rank);
}

static plumb_status reap(sweep_job *j)
{
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < j->opt->workers && !st; i++) {
        worker *w = &j->worker[i];
        int how;
        if (!w->pid || waitpid(w->pid, &how, WNOHANG) != w->pid) continue;
        w->pid = 0;
        j->running--;
        w->said->seconds = clock_now() - w->started;
        if (w->said->state < 0) bury(j, w, how);
        if (!comm_rank()) account(j, w->said, 0);
        else st = comm_send(0, w->said, sizeof *w->said);
    }
    return st;
}

static void stop_children(sweep_job *j)
{
    if (j->told) return;
    j->told = true;
    for (int i = 0; i < j->opt->workers; i++)
        if (j->worker[i].pid) kill(j->worker[i].pid, SIGTERM);
}

// ---- ranks ----

static int64_t next_run(sweep_job *j)
{
    return j->next < j->count && !status_stopped() ? j->todo[j->next++] : -1;
}

// Rank 0 hears what others ask for and have done.
static plumb_status serve(sweep_job *j)
{
    for (;;) {
        int from;
        sweep_outcome said;
        plumb_status st = comm_try_receive(&from, &said, sizeof said);
        if (st || from < 0) return st;
        if (said.kind == BYE) j->left_ranks++;
        else if (said.kind == OVER) account(j, &said, from);
        else {
            const int64_t index = next_run(j);
            const sweep_outcome work = {.kind = index < 0 ? NONE : WORK, .index = index};
            st = comm_send(from, &work, sizeof work);
            if (index >= 0) tell(j, index, PLUMB_SWEEP_STATE_RUNNING, "", 0, from);
            if (st) return st;
        }
    }
}

// A run for an idle worker, if there is one: -1 none now, and `dry` none any more.
static plumb_status fetch(int64_t *index, sweep_job *j)
{
    *index = -1;
    if (!comm_rank()) {
        *index = next_run(j);
        j->dry = *index < 0;
        if (*index >= 0) tell(j, *index, PLUMB_SWEEP_STATE_RUNNING, "", 0, 0);
        return PLUMB_OK;
    }
    sweep_outcome work = {.kind = ASK};
    plumb_status st = PLUMB_OK;
    if (!j->asked) st = comm_send(0, &work, sizeof work);
    j->asked = true;
    int from = -1;
    if (!st) st = comm_try_receive(&from, &work, sizeof work);
    if (st || from < 0) return st;
    j->asked = false;
    j->dry = work.kind == NONE;
    *index = j->dry ? -1 : work.index;
    return PLUMB_OK;
}

static plumb_status feed(sweep_job *j)
{
    for (worker *w; !j->dry && (w = idle(j));) {
        int64_t index;
        plumb_status st = fetch(&index, j);
        if (st || index < 0) return st;
        st = start(j, w, index);
        if (st) return st;
    }
    return PLUMB_OK;
}

static bool is_over(const sweep_job *j)
{
    return j->dry && !j->running && (comm_rank() || j->left_ranks == comm_size() - 1);
}

static plumb_status keep_busy(sweep_job *j)
{
    plumb_status st = PLUMB_OK;
    while (!st && !is_over(j)) {
        if (status_stopped()) stop_children(j);
        if (!comm_rank()) st = serve(j);
        if (!st) st = reap(j);
        if (!st) st = feed(j);
        if (status_stopped()) stop_children(j);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    const sweep_outcome bye = {.kind = BYE};
    if (!st && comm_rank()) st = comm_send(0, &bye, sizeof bye);
    while (st && j->running) { // nobody is left behind
        stop_children(j);
        for (int i = 0; i < j->opt->workers; i++)
            if (j->worker[i].pid && waitpid(j->worker[i].pid, NULL, 0) > 0)
                j->worker[i].pid = 0, j->running--;
    }
    return st;
}

static plumb_status make_folder(const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) && errno != EEXIST)
        return fail(PLUMB_EFILE, "%s: cannot be made: %s", path, strerror(errno));
    if (stat(path, &about) || !S_ISDIR(about.st_mode))
        return fail(PLUMB_EFILE, "%s: is not a directory", path);
    if (access(path, W_OK)) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    return PLUMB_OK;
}

plumb_status plumb_sweep_run(plumb_sweep_result *out, const plumb_sweep *s,
                             const plumb_sweep_options *options)
{
    plumb_sweep_options full = plumb_sweep_defaults(), *opt = &full;
    plumb_status st = options_resolve(&full, sizeof full, options, "plumb_sweep_options");
    if (!st) st = sweep_check(opt);
    if (st) return st;
    const double begun = clock_now();
    arena mem = {0};
    const size_t room = (size_t)opt->workers * sizeof(sweep_outcome);
    sweep_job j = {.study = &s->study, .opt = opt, .threads = sweep_threads(opt)};
    if (!comm_rank()) st = make_folder(opt->out);
    if (!st && !comm_rank()) st = survey(&j, &mem);
    st = comm_all_ok(st);
    sweep_outcome *said =
        st ? MAP_FAILED
           : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!st && said == MAP_FAILED)
        st = fail(PLUMB_EMEMORY, "no memory for %d workers", opt->workers);
    j.worker = ARENA_ALLOC(&mem, worker, opt->workers);
    if (!st && !j.worker) st = PLUMB_EMEMORY;
    for (int i = 0; i < opt->workers && !st; i++) j.worker[i].said = &said[i];
    if (!st) st = keep_busy(&j);
    if (said != MAP_FAILED) munmap(said, room);
    j.result.left += j.count - j.next;
    j.result.seconds = clock_now() - begun;
    arena_clear(&mem);
    if (st) return st;
    *out = j.result;
    if (status_stopped() && j.result.left)
        return fail(PLUMB_ESTOPPED,
                    "stopped with %lld of %lld runs to do; the same command goes on",
                    (long long)j.result.left, (long long)j.result.runs);
    return PLUMB_OK;
}
