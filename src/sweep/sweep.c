// SPDX-License-Identifier: MIT
// Runs a study. Each run is done in a forked process, so that a crash ends only this run. A
// process, or under MPI each rank, keeps `workers` child processes running and polls a hundred
// times a second. Rank 0 has the list of pending runs; the other ranks request runs from it and
// send it the outcomes. Children send no messages: they write their outcome to shared memory.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
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

#include "base/argument.h"
#include "base/clock.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "distributed/comm.h"
#include "plumb/sweep.h"
#include "sweep/earlier_records.h"
#include "sweep/options.h"
#include "sweep/results_file.h"
#include "sweep/run_task.h"
#include "sweep/sweep.h"

plumb_status plumb_sweep_open(plumb_sweep **out, const char *study)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(study);
    plumb_sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep) return fail(PLUMB_EMEMORY, "out of memory for a study");
    const plumb_status st = study_file_open(&sweep->study, study);
    if (st) free(sweep);
    else *out = sweep;
    return st;
}

plumb_status plumb_sweep_add_records(plumb_sweep *sweep, const char *path)
{
    REQUIRE_ARGUMENT(sweep);
    REQUIRE_ARGUMENT(path);
    return earlier_records_add(&sweep->study, path);
}

void plumb_sweep_close(plumb_sweep *sweep)
{
    if (!sweep) return;
    study_file_clear(&sweep->study);
    free(sweep);
}

const char *plumb_sweep_name(const plumb_sweep *sweep)
{
    if (!sweep) return NULL;
    return sweep->study.name;
}

int64_t plumb_sweep_run_count(const plumb_sweep *sweep)
{
    if (!sweep) return 0;
    return sweep->study.run_count;
}

const char *plumb_sweep_run_name(const plumb_sweep *sweep, int64_t index)
{
    if (!sweep) return NULL;
    return sweep->study.runs[index].name;
}

const char *plumb_sweep_state_name(plumb_sweep_state state)
{
    static const char *const names[] = {"new",     "broken",  "done", "failed",
                                        "running", "stopped", "busy"};
    return names[state];
}

plumb_status plumb_sweep_run_state(plumb_sweep_state *state, const plumb_sweep *sweep,
                                   const char *out, int64_t index)
{
    REQUIRE_ARGUMENT(state);
    REQUIRE_ARGUMENT(sweep);
    REQUIRE_ARGUMENT(out);
    if (index < 0 || index >= sweep->study.run_count)
        return fail(PLUMB_EVALUE, "index is %lld; the study has %lld runs", (long long)index,
                    (long long)sweep->study.run_count);
    return run_task_state(state, &sweep->study, &sweep->study.runs[index], out);
}

plumb_status sweep_resolve_options(plumb_sweep_options *options, const plumb_sweep_options *given)
{
    *options = plumb_sweep_defaults();
    plumb_status st = options_resolve(options, sizeof *options, given, "plumb_sweep_options");
    if (!st) st = options_check_ranges(&sweep_option_table, options);
    if (st) return st;
    if (options->task >= options->tasks)
        return fail(PLUMB_EVALUE, "task is %lld; it must be below tasks, which is %lld",
                    (long long)options->task, (long long)options->tasks);
    if (!options->out || !options->out[0])
        return fail(PLUMB_EVALUE, "out is missing: no directory for the runs");
    return PLUMB_OK;
}

int sweep_threads(const plumb_sweep_options *options)
{
    if (options->threads) return options->threads;
    const int each = parallel_threads() / (options->workers * comm_local_size());
    return each > 1 ? each : 1;
}

// ---- pending runs ----

// The outcome of a run, in memory shared with a child; also the message between ranks.
typedef struct sweep_outcome {
    int32_t kind;   // of the message, see below
    int32_t state;  // a plumb_sweep_state; -1: the child has not written it
    int64_t index;  // of the run
    double seconds; // it took
    char why[600];  // reason of a failure, or ""
} sweep_outcome;

// To rank 0: a request for a run, the outcome of a run, and "this rank is finished". From rank 0: a
// run, or "no run is left".
enum { MESSAGE_REQUEST = 1, MESSAGE_RESULT, MESSAGE_LEAVE, MESSAGE_RUN, MESSAGE_NO_RUN };

typedef struct worker {
    pid_t pid;              // of the child; 0: idle
    int64_t index;          // of its run
    double started;         // by clock_now()
    sweep_outcome *outcome; // shared with the child
} worker;

typedef struct sweep_job {
    const study_file *study;
    const plumb_sweep_options *opt;
    int threads;      // of each run
    worker *worker;   // (opt->workers)
    int running;      // children
    int64_t *pending; // rank 0: indices of the runs to do
    int64_t pending_count, next_pending;
    int ranks_left;    // rank 0: ranks that have finished
    bool requested;    // other ranks: a request to rank 0 is not answered yet
    bool no_more_runs; // all runs are started
    bool stop_sent;    // the children got SIGTERM
    plumb_sweep_result result;
} sweep_job;

static void report_progress(sweep_job *job, int64_t index, plumb_sweep_state state, const char *why,
                            double seconds, int rank)
{
    if (!job->opt->progress) return;
    const plumb_sweep_progress progress = {.run = job->study->runs[index].name,
                                           .state = state,
                                           .why = why,
                                           .seconds = seconds,
                                           .done = job->result.done + job->result.skipped,
                                           .failed = job->result.failed,
                                           .total = job->result.runs,
                                           .rank = rank};
    job->opt->progress(job->opt->context, &progress);
}

// A task of a job array does every opt->tasks-th run.
static bool is_ours(const plumb_sweep_options *options, int64_t index)
{
    return index % options->tasks == options->task;
}

// Lists the runs that are not done. A run that is done but has no line in results.jsonl, because of
// a kill between the two, gets its line now.
static plumb_status list_runs(sweep_job *job, arena *mem)
{
    results_file_names finished;
    const study_file *study = job->study;
    plumb_status st = results_file_finished(&finished, mem, job->opt->out);
    job->pending = ARENA_ALLOC(mem, int64_t, study->run_count);
    if (!job->pending) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < study->run_count && !st; i++) {
        plumb_sweep_state state;
        if (!is_ours(job->opt, i)) continue;
        job->result.runs++;
        st = run_task_state(&state, study, &study->runs[i], job->opt->out);
        if (st) break;
        if (state == PLUMB_SWEEP_STATE_DONE) {
            job->result.skipped++;
            if (!results_file_has(&finished, study->runs[i].name))
                st = run_task_append_result(study, &study->runs[i], job->opt->out, NULL, PLUMB_OK);
        } else if (state == PLUMB_SWEEP_STATE_FAILED && !job->opt->retry) {
            job->result.failed++;
        } else {
            job->pending[job->pending_count++] = i;
        }
    }
    return st;
}

// ---- children ----

enum { GRACE_SECONDS = 20 };

// A thread of the child: when the parent has died it asks the run to save and stop, and ends the
// process after a while if the run does not. Files are written atomically, so nothing is lost. The
// signal of PR_SET_PDEATHSIG does the same sooner, but may be ignored.
static void *watch_parent(void *parent)
{
    while (getppid() == *(const pid_t *)parent)
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    plumb_set_stop(true);
    sleep(GRACE_SECONDS);
    _exit(1);
}

// The child process: does the run and writes its outcome.
static void run_child(const sweep_job *job, const worker *child, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM); // without its parent it saves and stops
    if (getppid() != parent) _exit(1);
    pthread_t watcher;
    pthread_create(&watcher, NULL, watch_parent, &parent);
    comm_detach();
    plumb_set_progress(NULL, NULL);
    plumb_set_log(NULL, NULL);
    plumb_sweep_state state = PLUMB_SWEEP_STATE_FAILED;
    const plumb_status st = run_task_run(&state, job->study, &job->study->runs[child->index],
                                         job->opt->out, job->threads);
    child->outcome->state = (int32_t)state;
    if (st) snprintf(child->outcome->why, sizeof child->outcome->why, "%s", plumb_last_error());
    _exit(0);
}

// Forks a child for a run.
static plumb_status start_child(sweep_job *job, worker *child, int64_t index)
{
    *child->outcome = (sweep_outcome){.kind = MESSAGE_RESULT, .state = -1, .index = index};
    child->index = index;
    child->started = clock_now();
    const pid_t parent = getpid();
    child->pid = fork();
    if (child->pid < 0) {
        child->pid = 0;
        return fail(PLUMB_EMEMORY, "a process for %s cannot be started: %s",
                    job->study->runs[index].name, strerror(errno));
    }
    if (!child->pid) run_child(job, child, parent);
    job->running++;
    return PLUMB_OK;
}

// A child that ended without an outcome: records the run as failed. It is tried again next time.
static void record_dead_child(const sweep_job *job, worker *child, int exit_status)
{
    sweep_outcome *outcome = child->outcome;
    outcome->state = PLUMB_SWEEP_STATE_FAILED;
    if (exit_status < 0)
        snprintf(outcome->why, sizeof outcome->why,
                 "its process ended, and because SIGCHLD is ignored nobody knows how");
    else if (WIFSIGNALED(exit_status))
        snprintf(outcome->why, sizeof outcome->why, "its process was ended by signal %d (%s)%s",
                 WTERMSIG(exit_status), strsignal(WTERMSIG(exit_status)),
                 WTERMSIG(exit_status) == SIGKILL ? ": perhaps there was not enough memory" : "");
    else
        snprintf(outcome->why, sizeof outcome->why, "its process ended with code %d",
                 WEXITSTATUS(exit_status));
    if (status_stopped()) outcome->state = PLUMB_SWEEP_STATE_STOPPED;
    else
        run_task_append_result(job->study, &job->study->runs[outcome->index], job->opt->out,
                               outcome->why, PLUMB_OK);
}

// A worker without a child, or NULL.
static worker *find_idle_worker(const sweep_job *job)
{
    for (int i = 0; i < job->opt->workers; i++)
        if (!job->worker[i].pid) return &job->worker[i];
    return NULL;
}

// Rank 0: adds the outcome of a run to the result.
static void count_outcome(sweep_job *job, const sweep_outcome *outcome, int rank)
{
    if (outcome->state == PLUMB_SWEEP_STATE_DONE) job->result.done++;
    else if (outcome->state == PLUMB_SWEEP_STATE_FAILED) job->result.failed++;
    else job->result.left++;
    report_progress(job, outcome->index, (plumb_sweep_state)outcome->state, outcome->why,
                    outcome->seconds, rank);
}

// True if the child has ended. *exit_status is -1 if it is unknown: where SIGCHLD is ignored, which
// survives exec, the kernel removes a child that ends and waitpid fails.
static bool has_ended(int *exit_status, pid_t pid, int options)
{
    pid_t got;
    do got = waitpid(pid, exit_status, options);
    while (got < 0 && errno == EINTR && !(options & WNOHANG));
    if (got < 0 && errno == ECHILD) *exit_status = -1;
    return got == pid || (got < 0 && errno == ECHILD);
}

// Collects children that have ended. Rank 0 counts the outcome, other ranks send it to rank 0.
static plumb_status collect_children(sweep_job *job)
{
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < job->opt->workers && !st; i++) {
        worker *child = &job->worker[i];
        int exit_status;
        if (!child->pid || !has_ended(&exit_status, child->pid, WNOHANG)) continue;
        child->pid = 0;
        job->running--;
        child->outcome->seconds = clock_now() - child->started;
        if (child->outcome->state < 0) record_dead_child(job, child, exit_status);
        if (!comm_rank()) count_outcome(job, child->outcome, 0);
        else st = comm_send(0, child->outcome, sizeof *child->outcome);
    }
    return st;
}

// Asks all children to save and stop, once.
static void stop_children(sweep_job *job)
{
    if (job->stop_sent) return;
    job->stop_sent = true;
    for (int i = 0; i < job->opt->workers; i++)
        if (job->worker[i].pid) kill(job->worker[i].pid, SIGTERM);
}

// ---- ranks ----

// Rank 0: takes the next pending run; -1 if there is none, or a stop was requested.
static int64_t take_next_run(sweep_job *job)
{
    return job->next_pending < job->pending_count && !status_stopped()
               ? job->pending[job->next_pending++]
               : -1;
}

// Rank 0: answers the messages of the other ranks.
static plumb_status serve_ranks(sweep_job *job)
{
    for (;;) {
        int from;
        sweep_outcome outcome;
        plumb_status st = comm_try_receive(&from, &outcome, sizeof outcome);
        if (st || from < 0) return st;
        if (outcome.kind == MESSAGE_LEAVE) job->ranks_left++;
        else if (outcome.kind == MESSAGE_RESULT) count_outcome(job, &outcome, from);
        else {
            const int64_t index = take_next_run(job);
            const sweep_outcome message = {.kind = index < 0 ? MESSAGE_NO_RUN : MESSAGE_RUN,
                                           .index = index};
            st = comm_send(from, &message, sizeof message);
            if (index >= 0) report_progress(job, index, PLUMB_SWEEP_STATE_RUNNING, "", 0, from);
            if (st) return st;
        }
    }
}

// Gets a run for an idle worker. `*index` is -1 if there is none at present; if there will be none,
// `no_more_runs` is set.
static plumb_status request_run(int64_t *index, sweep_job *job)
{
    *index = -1;
    if (!comm_rank()) {
        *index = take_next_run(job);
        job->no_more_runs = *index < 0;
        if (*index >= 0) report_progress(job, *index, PLUMB_SWEEP_STATE_RUNNING, "", 0, 0);
        return PLUMB_OK;
    }
    sweep_outcome message = {.kind = MESSAGE_REQUEST};
    plumb_status st = PLUMB_OK;
    if (!job->requested) st = comm_send(0, &message, sizeof message);
    job->requested = true;
    int from = -1;
    if (!st) st = comm_try_receive(&from, &message, sizeof message);
    if (st || from < 0) return st;
    job->requested = false;
    job->no_more_runs = message.kind == MESSAGE_NO_RUN;
    *index = job->no_more_runs ? -1 : message.index;
    return PLUMB_OK;
}

// Starts a run on every idle worker.
static plumb_status start_runs(sweep_job *job)
{
    for (worker *child; !job->no_more_runs && (child = find_idle_worker(job));) {
        int64_t index;
        plumb_status st = request_run(&index, job);
        if (st || index < 0) return st;
        st = start_child(job, child, index);
        if (st) return st;
    }
    return PLUMB_OK;
}

// Nothing is running, and on rank 0 all other ranks have finished.
static bool is_finished(const sweep_job *job)
{
    return job->no_more_runs && !job->running &&
           (comm_rank() || job->ranks_left == comm_size() - 1);
}

// Runs everything: the main loop of each rank.
static plumb_status run_all(sweep_job *job)
{
    plumb_status st = PLUMB_OK;
    while (!st && !is_finished(job)) {
        if (status_stopped()) stop_children(job);
        if (!comm_rank()) st = serve_ranks(job);
        if (!st) st = collect_children(job);
        if (!st) st = start_runs(job);
        if (status_stopped()) stop_children(job);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    const sweep_outcome leave = {.kind = MESSAGE_LEAVE};
    if (!st && comm_rank()) st = comm_send(0, &leave, sizeof leave);
    while (st && job->running) { // after an error, wait for all children
        stop_children(job);
        int exit_status;
        for (int i = 0; i < job->opt->workers; i++)
            if (job->worker[i].pid && has_ended(&exit_status, job->worker[i].pid, 0))
                job->worker[i].pid = 0, job->running--;
    }
    return st;
}

// Creates the directory of the study, or checks that it can be written.
static plumb_status create_folder(const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) && errno != EEXIST)
        return fail(PLUMB_EFILE, "%s: cannot be created: %s", path, strerror(errno));
    if (stat(path, &about) || !S_ISDIR(about.st_mode))
        return fail(PLUMB_EFILE, "%s: is not a directory", path);
    if (access(path, W_OK)) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    return PLUMB_OK;
}

plumb_status plumb_sweep_run(plumb_sweep_result *out, const plumb_sweep *sweep,
                             const plumb_sweep_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(sweep);
    REQUIRE_ARGUMENT(options);
    plumb_sweep_options resolved, *opt = &resolved;
    plumb_status st = sweep_resolve_options(&resolved, options);
    if (st) return st;
    const double started = clock_now();
    arena mem = {0};
    const size_t shared_size = (size_t)opt->workers * sizeof(sweep_outcome);
    sweep_job job = {.study = &sweep->study, .opt = opt, .threads = sweep_threads(opt)};
    if (!comm_rank()) st = create_folder(opt->out);
    if (!st && !comm_rank()) st = list_runs(&job, &mem);
    st = comm_all_ok(st);
    sweep_outcome *outcome =
        st ? MAP_FAILED
           : mmap(NULL, shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!st && outcome == MAP_FAILED)
        st = fail(PLUMB_EMEMORY, "out of memory for %d workers", opt->workers);
    job.worker = ARENA_ALLOC(&mem, worker, opt->workers);
    if (!st && !job.worker) st = PLUMB_EMEMORY;
    for (int i = 0; i < opt->workers && !st; i++) job.worker[i].outcome = &outcome[i];
    if (!st) st = run_all(&job);
    if (outcome != MAP_FAILED) munmap(outcome, shared_size);
    job.result.left += job.pending_count - job.next_pending;
    job.result.seconds = clock_now() - started;
    arena_clear(&mem);
    if (st) return st;
    *out = job.result;
    if (status_stopped() && job.result.left)
        return fail(PLUMB_ESTOPPED, "stopped with %lld of %lld runs left; the same command resumes",
                    (long long)job.result.left, (long long)job.result.runs);
    return PLUMB_OK;
}
