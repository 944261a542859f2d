// SPDX-License-Identifier: MIT
// Studies: many models trained and judged by one call. A study file says which; every run becomes
// an ordinary run directory, and one line in results.jsonl.
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

/// A study that was read and checked.
typedef struct plumb_sweep plumb_sweep;

/// Reads a study file and checks all of it: unknown keys, values that cannot be, settings that do
/// not go together. Fails with PLUMB_EFORMAT and "file:line: ..", naming the nearest right word;
/// PLUMB_EMISSING where there is no libyaml.
PLUMB_API plumb_status plumb_sweep_open(plumb_sweep **out, const char *study);
/// NULL is allowed.
PLUMB_API void plumb_sweep_close(plumb_sweep *sweep);

PLUMB_API const char *plumb_sweep_name(const plumb_sweep *sweep);  ///< of the study
PLUMB_API int64_t plumb_sweep_run_count(const plumb_sweep *sweep); ///< of its runs
/// The name of a run, which is that of its directory.
PLUMB_API const char *plumb_sweep_run_name(const plumb_sweep *sweep, int64_t index);

/// How far a run is.
typedef enum plumb_sweep_state {
    PLUMB_SWEEP_STATE_NEW,     ///< nothing is there
    PLUMB_SWEEP_STATE_BROKEN,  ///< begun and not ended: it goes on where it was
    PLUMB_SWEEP_STATE_DONE,    ///< trained and judged
    PLUMB_SWEEP_STATE_FAILED,  ///< failed, and would again
    PLUMB_SWEEP_STATE_RUNNING, ///< now, here
    PLUMB_SWEEP_STATE_STOPPED, ///< by plumb_set_stop, saved
    PLUMB_SWEEP_STATE_BUSY,    ///< another process is at it
} plumb_sweep_state;
PLUMB_API const char *plumb_sweep_state_name(plumb_sweep_state state);

/// How far a run in the directory `out` is. Fails with PLUMB_EVALUE if it was begun with other
/// settings than the study's.
PLUMB_API plumb_status plumb_sweep_run_state(plumb_sweep_state *state, const plumb_sweep *sweep,
                                             const char *out, int64_t index);

/// Something happened to a run.
typedef struct plumb_sweep_progress {
    const char *run;
    plumb_sweep_state state;
    const char *why;          ///< of a failure, else ""
    double seconds;           ///< it took, when it is over
    int64_t done, failed, of; ///< of all runs that are this call's to do
    int rank;                 ///< of the process, under MPI
} plumb_sweep_progress;

typedef struct plumb_sweep_options {
    size_t size;
    const char *out; ///< the directory of all runs; made if it is not there
    int workers;     ///< runs at a time, each a process of its own; 1
    int threads;     ///< of each; 0: the cores shared out among the workers. Changes no result
    bool retry;      ///< also runs that failed for good
    /// Only the runs whose number leaves the remainder `task` when divided by `tasks`: how the
    /// tasks of a job array share a study. 0 of 1.
    int64_t task, tasks;
    void (*progress)(void *context, const plumb_sweep_progress *progress); ///< NULL: silent
    void *context;
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

typedef struct plumb_sweep_result {
    int64_t runs;    ///< that were this call's to do
    int64_t done;    ///< of them, by this call
    int64_t skipped; ///< done before
    int64_t failed;  ///< now or before; their reasons are in results.jsonl
    int64_t left;    ///< stopped, or at work in another process
    double seconds;
} plumb_sweep_result;

/// Trains and judges every run that is not done yet. Under mpirun, once plumb_distributed_init was
/// called, the runs are handed to whichever rank is idle, and rank 0 has the result. A run that
/// fails, or dies, stops no other: it is recorded with its reason. Fails with PLUMB_ESTOPPED, all
/// runs saved, after plumb_set_stop; PLUMB_EFILE if `out` cannot be written; PLUMB_EVALUE if a run
/// there was begun with other settings. Forks: do not call it while other threads hold locks.
PLUMB_API plumb_status plumb_sweep_run(plumb_sweep_result *out, const plumb_sweep *sweep,
                                       const plumb_sweep_options *opt);

/// What a study would cost, by a short timing of every kind of run on this machine.
typedef struct plumb_sweep_cost {
    int64_t runs, left; ///< in all, and to be done
    int64_t kinds;      ///< of different cost, that were timed
    int threads;        ///< of each run
    double core_seconds;
    double seconds;    ///< with so many workers, on idle cores
    char without[128]; ///< what is not counted
} plumb_sweep_cost;

/// Times it, and nothing is trained. `record` may be NULL: runs (name, state, train_seconds,
/// judge_seconds, of a core) and what `out` has. Uses out, workers, threads, task, tasks and retry
/// of `opt`. A model whose horizon grows is timed at the longest.
PLUMB_API plumb_status plumb_sweep_estimate(plumb_sweep_cost *out, plumb_record *record,
                                            const plumb_sweep *sweep,
                                            const plumb_sweep_options *opt);

/// Writes a job array for Slurm to `path`: each task calls `program` sweep `study` --out ...
/// --array, saves and is queued again when its time is up. `tasks` shares, each with `cores` cores
/// and `minutes` of time.
PLUMB_API plumb_status plumb_sweep_write_slurm(const char *path, const plumb_sweep *sweep,
                                               const char *program, const plumb_sweep_options *opt,
                                               int64_t tasks, int cores, int64_t minutes);

#ifdef __cplusplus
}
#endif
#endif
