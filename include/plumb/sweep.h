// SPDX-License-Identifier: MIT
// Sweeps: many models trained and evaluated by one call. A study file lists them; every run becomes
// an ordinary run directory and one line of results.jsonl.
//
//     plumb_sweep *sweep;
//     plumb_sweep_options opt = plumb_sweep_defaults();
//     plumb_sweep_result result;
//     opt.out = "runs";
//     if (plumb_sweep_open(&sweep, "study.yaml") || plumb_sweep_run(&result, sweep, &opt))
//         puts(plumb_last_error());
//     plumb_sweep_close(sweep);
#ifndef PLUMB_SWEEP_H
#define PLUMB_SWEEP_H

#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A study file that was read and checked.
typedef struct plumb_sweep plumb_sweep;

/// Reads a study file and checks all of it: unknown keys, values out of range, settings that
/// conflict. Fails with PLUMB_EFORMAT and "file:line: ..", naming the nearest valid word;
/// PLUMB_EMISSING if libyaml is not installed.
PLUMB_API plumb_status plumb_sweep_open(plumb_sweep **out, const char *study);
/// Reads the results.jsonl of an earlier sweep of this study. Its finished runs count as done, also
/// if their directories are gone, and plumb_sweep_run() copies their lines. Lines of other runs and
/// of failures are skipped. Fails with PLUMB_EVALUE if a line has other settings than the study.
PLUMB_API plumb_status plumb_sweep_add_records(plumb_sweep *sweep, const char *path);
/// May be NULL: sweep.
PLUMB_API void plumb_sweep_close(plumb_sweep *sweep);

PLUMB_API const char *plumb_sweep_name(const plumb_sweep *sweep);  ///< Name of the study.
PLUMB_API int64_t plumb_sweep_run_count(const plumb_sweep *sweep); ///< Number of runs.
/// Name of run `index`, which is also the name of its directory.
PLUMB_API const char *plumb_sweep_run_name(const plumb_sweep *sweep, int64_t index);

/// State of a run.
typedef enum plumb_sweep_state {
    PLUMB_SWEEP_STATE_NEW,         ///< Not started.
    PLUMB_SWEEP_STATE_INTERRUPTED, ///< Started and not finished: it resumes from its checkpoint.
    PLUMB_SWEEP_STATE_DONE,        ///< Trained and evaluated.
    PLUMB_SWEEP_STATE_FAILED,      ///< Failed, and would fail again, for example by NaN.
    PLUMB_SWEEP_STATE_RUNNING,     ///< Running now, in this call.
    PLUMB_SWEEP_STATE_STOPPED,     ///< Stopped by plumb_set_stop() and saved.
    PLUMB_SWEEP_STATE_BUSY,        ///< Running in another process.
} plumb_sweep_state;
/// The word of a state in JSON: "new", "broken" (interrupted), "done", "failed", "running",
/// "stopped" or "busy".
PLUMB_API const char *plumb_sweep_state_name(plumb_sweep_state state);

/// Gets the state of run `index` in the directory `out`. Fails with PLUMB_EVALUE if the run was
/// started with other settings than those of the study.
PLUMB_API plumb_status plumb_sweep_run_state(plumb_sweep_state *state, const plumb_sweep *sweep,
                                             const char *out, int64_t index);

/// A run has begun or ended. Valid during the call only.
typedef struct plumb_sweep_progress {
    const char *run;         ///< Name of the run.
    plumb_sweep_state state; ///< Its state now.
    const char *why;         ///< Reason of a failure, else "".
    double seconds;          ///< Time it took; 0 if it has just begun.
    int64_t done;            ///< Runs that are done, of `total`.
    int64_t failed;          ///< Runs that failed, of `total`.
    int64_t total;           ///< Runs that belong to this call.
    int rank;                ///< MPI rank that runs it; 0 without MPI.
} plumb_sweep_progress;

/// The options. Take them from plumb_sweep_defaults() and change what you need.
typedef struct plumb_sweep_options {
    size_t size;     ///< sizeof(plumb_sweep_options)
    const char *out; ///< Directory of all runs, created if it does not exist. Required.
    int workers;     ///< Runs at a time, each in its own process, 1 to 256. Default 1.
    int threads;     ///< Threads per run; 0 (default): the cores divided by the workers. Does not
                     ///< affect the result.
    bool retry;      ///< Also repeat runs that failed for good. Default false.
    int64_t
        task; ///< Only runs whose index is `task` modulo `tasks` belong to this call. Default 0.
    int64_t tasks; ///< Number of tasks of a job array that share the study, at least 1. Default 1.
    /// Called when a run begins and when it ends, on the caller's thread. May be NULL. Default
    /// NULL.
    void (*progress)(void *context, const plumb_sweep_progress *progress);
    void *context; ///< First argument of `progress`. May be NULL. Default NULL.
} plumb_sweep_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_sweep_defaults() calls it.
PLUMB_API void plumb_sweep_options_init(plumb_sweep_options *options, size_t size);

/// The defaults.
static inline plumb_sweep_options plumb_sweep_defaults(void)
{
    plumb_sweep_options options;
    plumb_sweep_options_init(&options, sizeof options);
    return options;
}

/// Result of plumb_sweep_run(). All numbers are of the runs that belong to the call.
typedef struct plumb_sweep_result {
    int64_t runs;    ///< Runs in all.
    int64_t done;    ///< Finished by this call.
    int64_t skipped; ///< Finished before.
    int64_t failed;  ///< Failed now or before; results.jsonl has the reasons.
    int64_t left;    ///< Stopped, or running in another process.
    double seconds;  ///< Wall-clock time of the call.
} plumb_sweep_result;

/// Trains and evaluates every run that is not done yet. Under mpirun, after
/// plumb_distributed_init(), the runs are given to idle ranks, and rank 0 has the result. A run
/// that fails or crashes does not stop the others: it is recorded with its reason. Fails with
/// PLUMB_ESTOPPED, all runs saved, after plumb_set_stop(); PLUMB_EFILE if `out` cannot be written;
/// PLUMB_EVALUE for invalid options, and if a run was started with other settings. Forks: do not
/// call it while other threads hold locks.
PLUMB_API plumb_status plumb_sweep_run(plumb_sweep_result *out, const plumb_sweep *sweep,
                                       const plumb_sweep_options *opt);

/// Estimated cost of a study.
typedef struct plumb_sweep_cost {
    int64_t runs;          ///< Runs that belong to the call.
    int64_t left;          ///< Of them, runs that are not done yet.
    int64_t kinds;         ///< Runs of different cost, each of which was timed.
    int threads;           ///< Threads per run.
    double core_seconds;   ///< Processor time of all runs that are left.
    double seconds;        ///< Wall-clock time on idle cores.
    char not_counted[128]; ///< What the estimate leaves out, or "".
} plumb_sweep_cost;

/// Estimates the cost of a study by a short timing of every kind of run on this machine, and trains
/// nothing. Uses out, workers, threads, task, tasks and retry of `opt`. A model whose prediction
/// horizon grows is timed at the longest. May be NULL: record, into which the runs (name, state,
/// train_seconds, judge_seconds, in core seconds) and the members of `out` are written.
PLUMB_API plumb_status plumb_sweep_estimate(plumb_sweep_cost *out, plumb_record *record,
                                            const plumb_sweep *sweep,
                                            const plumb_sweep_options *opt);

/// Writes the script of a Slurm job array to `path`: each task calls `program` sweep STUDY --out
/// ...
/// --array, saves and is queued again when its time is up. The array has `tasks` tasks (at least
/// 1), each with `cores` cores (at least 1) and a limit of `minutes` (at least 5).
PLUMB_API plumb_status plumb_sweep_write_slurm(const char *path, const plumb_sweep *sweep,
                                               const char *program, const plumb_sweep_options *opt,
                                               int64_t tasks, int cores, int64_t minutes);

#ifdef __cplusplus
}
#endif
#endif
