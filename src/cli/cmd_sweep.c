// SPDX-License-Identifier: MIT
// plumb sweep: a study of many models, on one machine, under MPI, or as a Slurm array.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/command.h"

typedef struct sweep_command {
    plumb_sweep_options sweep;
    bool plan, slurm, array, json;
    int64_t tasks, minutes;
    int cores;
} sweep_command;

// clang-format off
#define AT(member) .offset = offsetof(sweep_command, member)
static const cli_option rows[] = {
    {.name = "out", .letter = 'o', FROM(sweep_options, sweep, "out"), .value = "DIR"},
    {.name = "workers", .letter = 'w', FROM(sweep_options, sweep, "workers")},
    {.name = "threads", FROM(sweep_options, sweep, "threads")},
    {.name = "plan", .kind = OPTION_BOOL, AT(plan),
     .help = "print what would run and what it would cost, by a short timing, and run nothing"},
    {.name = "retry", FROM(sweep_options, sweep, "retry")},
    {.name = "slurm", .group = "Slurm", .kind = OPTION_BOOL, AT(slurm),
     .help = "write a job array to DIR/sweep.slurm, and run nothing"},
    {.name = "tasks", .kind = OPTION_INT64, AT(tasks), .value = "N",
     .help = "with --slurm: tasks of the array; 0: one per run"},
    {.name = "cores", .kind = OPTION_INT, AT(cores), .help = "with --slurm: cores per task"},
    {.name = "minutes", .kind = OPTION_INT64, AT(minutes), .value = "M",
     .help = "with --slurm: time per task, after which it is queued again"},
    {.name = "array", .kind = OPTION_BOOL, AT(array),
     .help = "run the share of this task of a job array, by SLURM_ARRAY_TASK_ID"},
    {.name = "json", .group = "output", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    sweep_command *cmd = given;
    cmd->sweep = plumb_sweep_defaults();
    cmd->cores = 2;
    cmd->minutes = 240;
}

static void progress(void *context, const plumb_sweep_progress *p)
{
    (void)context;
    char text[32], where[32] = "";
    if (plumb_distributed_size() > 1) snprintf(where, sizeof where, " on rank %d", p->rank);
    if (p->state == PLUMB_SWEEP_STATE_RUNNING) {
        fprintf(stderr, "sweep: %s: begins%s\n", p->run, where);
        return;
    }
    fprintf(stderr, "sweep: %lld of %lld: %s: %s after %s%s%s\n", (long long)(p->done + p->failed),
            (long long)p->total, p->run, plumb_sweep_state_name(p->state),
            table_duration(text, sizeof text, p->seconds), p->why[0] ? ": " : "", p->why);
}

// ---- Slurm ----

// The whole number of a variable of the environment, or `otherwise`; -1 if it is none.
static int64_t from_environment(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    if (!text) return otherwise;
    char *end;
    const long long value = strtoll(text, &end, 10);
    return end == text || *end || value < 0 ? -1 : value;
}

static int take_share(sweep_command *cmd)
{
    const int64_t id = from_environment("SLURM_ARRAY_TASK_ID", -2),
                  first = from_environment("SLURM_ARRAY_TASK_MIN", 0),
                  count = from_environment("SLURM_ARRAY_TASK_COUNT", 1);
    if (id == -2)
        return cli_error(&cmd_sweep, EXIT_USAGE,
                         "--array is for tasks of a job array, and SLURM_ARRAY_TASK_ID is not set");
    if (id < 0 || first < 0 || count < 1 || id < first || id - first >= count)
        return cli_error(&cmd_sweep, EXIT_USAGE,
                         "SLURM_ARRAY_TASK_ID=%s is none of %lld tasks from %lld on",
                         getenv("SLURM_ARRAY_TASK_ID"), (long long)count, (long long)first);
    cmd->sweep.task = id - first;
    cmd->sweep.tasks = count;
    return EXIT_DONE;
}

static int write_script(const sweep_command *cmd, const plumb_sweep *sweep)
{
    const cli_command *c = &cmd_sweep;
    char program[4096], path[4200];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return cli_error(c, EXIT_FAILED, "the path of this program is not to be had");
    program[length] = 0;
    mkdir(cmd->sweep.out, 0777);
    snprintf(path, sizeof path, "%.4000s/sweep.slurm", cmd->sweep.out);
    plumb_sweep_options o = cmd->sweep;
    if (!o.threads) o.threads = cmd->cores / o.workers > 1 ? cmd->cores / o.workers : 1;
    const plumb_status st = plumb_sweep_write_slurm(
        path, sweep, program, &o, cmd->tasks > 0 ? cmd->tasks : plumb_sweep_run_count(sweep),
        cmd->cores, cmd->minutes);
    if (st == PLUMB_EVALUE) return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
    if (st) return cli_last_error(c);
    if (!cmd->json) {
        printf("%s: hand it in with sbatch\n", path);
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(c, EXIT_FAILED, "out of memory");
    plumb_record_set_string(record, "study", plumb_sweep_name(sweep));
    plumb_record_set_int(record, "runs", plumb_sweep_run_count(sweep));
    plumb_record_set_string(record, "script", path);
    const int code = cli_print_record(c, record);
    plumb_record_free(record);
    return code;
}

// ---- the plan ----

static int tell_plan(const sweep_command *cmd, const plumb_sweep *sweep)
{
    const cli_command *c = &cmd_sweep;
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(c, EXIT_FAILED, "out of memory");
    progress_begin("sweep: timing");
    plumb_sweep_cost cost;
    const plumb_status st = plumb_sweep_estimate(&cost, record, sweep, &cmd->sweep);
    progress_end();
    int code = EXIT_DONE;
    if (st) code = cli_last_error(c);
    else if (cmd->json) code = cli_print_record(c, record);
    else {
        char core[32], wall[32];
        for (int64_t i = 0; i < plumb_sweep_run_count(sweep); i++) {
            plumb_sweep_state state = PLUMB_SWEEP_STATE_NEW;
            if (plumb_sweep_run_state(&state, sweep, cmd->sweep.out, i)) break;
            printf("%-8s %s\n", plumb_sweep_state_name(state), plumb_sweep_run_name(sweep, i));
        }
        printf("\n%lld of %lld runs are to do, of %lld kinds: %s of a core, %s here with --workers "
               "%d of %d threads\n",
               (long long)cost.left, (long long)cost.runs, (long long)cost.kinds,
               table_duration(core, sizeof core, cost.core_seconds),
               table_duration(wall, sizeof wall, cost.seconds), cmd->sweep.workers, cost.threads);
        if (cost.not_counted[0]) printf("not counted: %s\n", cost.not_counted);
    }
    plumb_record_free(record);
    return code;
}

// ---- the study ----

static int report(const sweep_command *cmd, const plumb_sweep *sweep, const plumb_sweep_result *r)
{
    const cli_command *c = &cmd_sweep;
    char text[32];
    if (!cmd->json) {
        printf("%s: %lld runs: %lld done, %lld done before, %lld failed, %lld left, %s\n",
               cmd->sweep.out, (long long)r->runs, (long long)r->done, (long long)r->skipped,
               (long long)r->failed, (long long)r->left,
               table_duration(text, sizeof text, r->seconds));
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(c, EXIT_FAILED, "out of memory");
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/results.jsonl", cmd->sweep.out);
    plumb_record_set_string(record, "study", plumb_sweep_name(sweep));
    plumb_record_set_string(record, "out", cmd->sweep.out);
    plumb_record_set_string(record, "results", path);
    plumb_record_set_int(record, "runs", r->runs);
    plumb_record_set_int(record, "done", r->done);
    plumb_record_set_int(record, "skipped", r->skipped);
    plumb_record_set_int(record, "failed", r->failed);
    plumb_record_set_int(record, "left", r->left);
    plumb_record_set_double(record, "seconds", r->seconds);
    plumb_record_set_int(record, "restarts", from_environment("SLURM_RESTART_COUNT", 0));
    plumb_record_set_string(record, "version", plumb_version());
    const int code = cli_print_record(c, record);
    plumb_record_free(record);
    return code;
}

static int sweep_all(sweep_command *cmd, const plumb_sweep *sweep)
{
    const cli_command *c = &cmd_sweep;
    const int64_t restarts = from_environment("SLURM_RESTART_COUNT", 0);
    plumb_sweep_result result;
    if (cmd->array)
        fprintf(stderr, "sweep: task %lld of %lld, start %lld\n", (long long)cmd->sweep.task,
                (long long)cmd->sweep.tasks, (long long)restarts + 1);
    cmd->sweep.progress = progress;
    const plumb_status st = plumb_sweep_run(&result, sweep, &cmd->sweep);
    if (plumb_distributed_rank()) return st ? EXIT_FAILED : EXIT_DONE; // rank 0 speaks for all
    if (st == PLUMB_EVALUE) return cli_error(c, EXIT_USAGE, "%s", plumb_last_error());
    if (st) return cli_last_error(c);
    const int code = report(cmd, sweep, &result);
    if (code || !result.failed) return code;
    return cli_error(c, EXIT_FAILED, "%lld of %lld runs failed; %s/results.jsonl has the reasons",
                     (long long)result.failed, (long long)result.runs, cmd->sweep.out);
}

static int run(void *given, int files, char **file)
{
    sweep_command *cmd = given;
    const cli_command *c = &cmd_sweep;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "takes one study file, not %d; see plumb sweep --help",
                         files);
    if (!cmd->sweep.out)
        return cli_error(c, EXIT_USAGE, "--out is missing; see plumb sweep --help");
    int code = cmd->array ? take_share(cmd) : EXIT_DONE;
    if (code) return code;
    plumb_sweep *sweep = NULL;
    signals_begin_resumable();
    const bool ranks = !cmd->plan && !cmd->slurm;
    if (ranks && plumb_distributed_init()) return signals_end(cli_last_error(c));
    if (!plumb_distributed_rank()) cli_show_log(c); // old names of settings
    if (plumb_sweep_open(&sweep, file[0]))
        code = plumb_distributed_rank() ? EXIT_FAILED : cli_last_error(c);
    plumb_set_log(NULL, NULL);
    if (sweep)
        code = cmd->slurm  ? write_script(cmd, sweep)
               : cmd->plan ? tell_plan(cmd, sweep)
                           : sweep_all(cmd, sweep);
    plumb_sweep_close(sweep);
    if (ranks) plumb_distributed_finalize(false);
    return signals_end(code);
}

const cli_command cmd_sweep = {
    .name = "sweep",
    .summary = "train and evaluate many models, as a study file says",
    .usage = "STUDY.yaml --out DIR [options]",
    .text =
        "Trains and evaluates every run of a study: grids, lists and random draws over models, "
        "worlds, settings and seeds. The file is checked before anything runs. Every run is an "
        "ordinary run directory in DIR and one line of DIR/results.jsonl, which plumb report "
        "reads.\n\n"
        "Finished runs are skipped, stopped or killed ones resume. A run that fails is recorded "
        "with "
        "its reason and does not stop the others; then the exit code is 1. SIGTERM and SIGUSR1 "
        "save "
        "and stop with exit code 75: the same command resumes. mpirun -n R plumb sweep gives the "
        "runs to R processes.",
    .example = "plumb sweep study.yaml --out runs --workers 2",
    .options = rows,
    .options_size = sizeof(sweep_command),
    .defaults = defaults,
    .run = run,
};
