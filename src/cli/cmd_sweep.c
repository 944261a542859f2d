// SPDX-License-Identifier: MIT
// plumb sweep: trains and evaluates the models of a study file, on one machine, under MPI, or as a
// Slurm job array.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/command.h"

typedef struct sweep_command {
    plumb_sweep_options sweep;
    bool plan, slurm, array;
    cli_format format;
    int64_t tasks, minutes;
    int cores;
    const char *done;
} sweep_command;

// clang-format off
#define AT(member) .offset = offsetof(sweep_command, member)
static const cli_option command_options[] = {
    {.name = "out", .letter = 'o', FROM(sweep_options, sweep, "out"), .value = "DIR"},
    {.name = "workers", .letter = 'w', FROM(sweep_options, sweep, "workers")},
    {.name = "threads", FROM(sweep_options, sweep, "threads")},
    {.name = "plan", .kind = OPTION_BOOL, AT(plan),
     .help = "print what would run and what it would cost, by a short timing, and run nothing"},
    {.name = "retry", FROM(sweep_options, sweep, "retry")},
    {.name = "done", .kind = OPTION_STRING, AT(done), .value = "F",
     .help = "records of an earlier sweep, its results.jsonl: their runs are done, and are copied to DIR"},
    {.name = "slurm", .group = "Slurm", .kind = OPTION_BOOL, AT(slurm),
     .help = "write a job array to DIR/sweep.slurm, and run nothing"},
    {.name = "tasks", .kind = OPTION_INT64, AT(tasks), .value = "N",
     .help = "with --slurm: tasks of the array; 0: one per run"},
    {.name = "cores", .kind = OPTION_INT, AT(cores), .help = "with --slurm: cores per task"},
    {.name = "minutes", .kind = OPTION_INT64, AT(minutes), .value = "M",
     .help = "with --slurm: time per task, after which it is queued again"},
    {.name = "array", .kind = OPTION_BOOL, AT(array),
     .help = "run the share of this task of a job array, by SLURM_ARRAY_TASK_ID"},
    CLI_FORMAT_OPTIONS,
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

// One line when a run begins and one when it ends.
static void show_progress(void *context, const plumb_sweep_progress *progress)
{
    (void)context;
    char text[32], where[32] = "";
    if (plumb_distributed_size() > 1) snprintf(where, sizeof where, " on rank %d", progress->rank);
    if (progress->state == PLUMB_SWEEP_STATE_RUNNING) {
        fprintf(stderr, "sweep: %s: begins%s\n", progress->run, where);
        return;
    }
    fprintf(stderr, "sweep: %lld of %lld: %s: %s after %s%s%s\n",
            (long long)(progress->done + progress->failed), (long long)progress->total,
            progress->run, plumb_sweep_state_name(progress->state),
            table_duration(text, sizeof text, progress->seconds), progress->why[0] ? ": " : "",
            progress->why);
}

// ---- Slurm ----

// A whole number from an environment variable; `fallback` if it is not set, -1 if it is invalid.
static int64_t read_variable(const char *name, int64_t fallback)
{
    const char *text = getenv(name);
    if (!text) return fallback;
    char *end;
    const long long value = strtoll(text, &end, 10);
    return end == text || *end || value < 0 ? -1 : value;
}

// --array: the task of this process, from the variables that Slurm sets.
static int set_array_task(sweep_command *cmd)
{
    const int64_t id = read_variable("SLURM_ARRAY_TASK_ID", -2),
                  first = read_variable("SLURM_ARRAY_TASK_MIN", 0),
                  count = read_variable("SLURM_ARRAY_TASK_COUNT", 1);
    if (id == -2)
        return cli_error(&cmd_sweep, EXIT_USAGE,
                         "--array is for tasks of a job array, but SLURM_ARRAY_TASK_ID is not set");
    if (id < 0 || first < 0 || count < 1 || id < first || id - first >= count)
        return cli_error(&cmd_sweep, EXIT_USAGE,
                         "SLURM_ARRAY_TASK_ID is %s, but there are %lld tasks from %lld on",
                         getenv("SLURM_ARRAY_TASK_ID"), (long long)count, (long long)first);
    cmd->sweep.task = id - first;
    cmd->sweep.tasks = count;
    return EXIT_DONE;
}

// Context of cli_print() for all outputs of this command.
typedef struct sweep_output {
    const sweep_command *cmd;
    const plumb_sweep *sweep;
    const plumb_sweep_result *result;
    const char *script;
} sweep_output;

// The text output of --slurm.
static void print_script(const void *context)
{
    printf("%s: submit it with sbatch\n", ((const sweep_output *)context)->script);
}

// The record of --slurm --json.
static void fill_script_record(plumb_record *record, const void *context)
{
    const sweep_output *output = context;
    plumb_record_set_string(record, "study", plumb_sweep_name(output->sweep));
    plumb_record_set_int(record, "runs", plumb_sweep_run_count(output->sweep));
    plumb_record_set_string(record, "script", output->script);
}

// --slurm: writes the script of a job array.
static int write_script(const sweep_command *cmd, const plumb_sweep *sweep)
{
    const cli_command *c = &cmd_sweep;
    char program[4096], path[4200];
    // The job calls this very program, by its absolute path.
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return cli_error(c, EXIT_FAILED, "the path of this program cannot be found");
    program[length] = 0;
    mkdir(cmd->sweep.out, 0777);
    snprintf(path, sizeof path, "%.4000s/sweep.slurm", cmd->sweep.out);
    plumb_sweep_options options = cmd->sweep;
    // By default the cores of a task are divided among its workers.
    if (!options.threads)
        options.threads = cmd->cores / options.workers > 1 ? cmd->cores / options.workers : 1;
    const int64_t tasks = cmd->tasks > 0 ? cmd->tasks : plumb_sweep_run_count(sweep);
    const plumb_status st =
        plumb_sweep_write_slurm(path, sweep, program, &options, tasks, cmd->cores, cmd->minutes);
    if (st) return cli_status_error(c, st);
    const sweep_output output = {cmd, sweep, NULL, path};
    return cli_print(c, cmd->format, fill_script_record, print_script, &output);
}

// ---- the plan ----

// One line per run with its state, then the total.
static void print_cost(const sweep_command *cmd, const plumb_sweep *sweep,
                       const plumb_sweep_cost *cost)
{
    char core[32], wall[32];
    for (int64_t i = 0; i < plumb_sweep_run_count(sweep); i++) {
        plumb_sweep_state state = PLUMB_SWEEP_STATE_NEW;
        if (plumb_sweep_run_state(&state, sweep, cmd->sweep.out, i)) break;
        printf("%-8s %s\n", plumb_sweep_state_name(state), plumb_sweep_run_name(sweep, i));
    }
    putchar('\n');
    table_paragraph("%lld of %lld runs are left, of %lld kinds: %s of processor time, %s here with "
                    "--workers %d and %d threads each",
                    (long long)cost->left, (long long)cost->runs, (long long)cost->kinds,
                    table_duration(core, sizeof core, cost->core_seconds),
                    table_duration(wall, sizeof wall, cost->seconds), cmd->sweep.workers,
                    cost->threads);
    if (cost->not_counted[0]) table_paragraph("not counted: %s", cost->not_counted);
}

// --plan: what would run, and its estimated cost.
static int print_plan(const sweep_command *cmd, const plumb_sweep *sweep)
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
    else if (cmd->format) code = cli_print_as(c, record, cmd->format);
    else print_cost(cmd, sweep, &cost);
    plumb_record_free(record);
    return code;
}

// ---- the study ----

// The text output of a finished study: one line.
static void print_summary(const void *context)
{
    const sweep_output *output = context;
    const plumb_sweep_result *result = output->result;
    char text[32];
    printf("%s: %lld runs: %lld done, %lld done before, %lld failed, %lld left, %s\n",
           output->cmd->sweep.out, (long long)result->runs, (long long)result->done,
           (long long)result->skipped, (long long)result->failed, (long long)result->left,
           table_duration(text, sizeof text, result->seconds));
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const sweep_output *output = context;
    const plumb_sweep_result *result = output->result;
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/results.jsonl", output->cmd->sweep.out);
    plumb_record_set_string(record, "study", plumb_sweep_name(output->sweep));
    plumb_record_set_string(record, "out", output->cmd->sweep.out);
    plumb_record_set_string(record, "results", path);
    plumb_record_set_int(record, "runs", result->runs);
    plumb_record_set_int(record, "done", result->done);
    plumb_record_set_int(record, "skipped", result->skipped);
    plumb_record_set_int(record, "failed", result->failed);
    plumb_record_set_int(record, "left", result->left);
    plumb_record_set_double(record, "seconds", result->seconds);
    plumb_record_set_int(record, "restarts", read_variable("SLURM_RESTART_COUNT", 0));
    plumb_record_set_string(record, "version", plumb_version());
}

// Runs the study, or the share of this task, with one line on stderr per run that begins or ends.
static int run_study(sweep_command *cmd, const plumb_sweep *sweep)
{
    const cli_command *c = &cmd_sweep;
    const int64_t restarts = read_variable("SLURM_RESTART_COUNT", 0);
    plumb_sweep_result result;
    if (cmd->array)
        fprintf(stderr, "sweep: task %lld of %lld, start %lld\n", (long long)cmd->sweep.task,
                (long long)cmd->sweep.tasks, (long long)restarts + 1);
    cmd->sweep.progress = show_progress;
    const plumb_status st = plumb_sweep_run(&result, sweep, &cmd->sweep);
    if (plumb_distributed_rank()) return st ? EXIT_FAILED : EXIT_DONE; // rank 0 prints for all
    if (st) return cli_status_error(c, st);
    const sweep_output output = {cmd, sweep, &result, NULL};
    const int code = cli_print(c, cmd->format, fill_record, print_summary, &output);
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
    int code = cmd->array ? set_array_task(cmd) : EXIT_DONE;
    if (code) return code;
    plumb_sweep *sweep = NULL;
    signals_begin_resumable();
    // --plan and --slurm run in one process, so MPI is not started for them.
    const bool ranks = !cmd->plan && !cmd->slurm;
    if (ranks && plumb_distributed_init()) return signals_end(cli_last_error(c));
    if (!plumb_distributed_rank()) cli_show_log(c); // old names of settings
    if (plumb_sweep_open(&sweep, file[0]))
        code = plumb_distributed_rank() ? EXIT_FAILED : cli_last_error(c);
    if (sweep && cmd->done && plumb_sweep_add_records(sweep, cmd->done)) {
        code = plumb_distributed_rank() ? EXIT_FAILED : cli_last_error(c);
        plumb_sweep_close(sweep);
        sweep = NULL;
    }
    // From here on show_progress() writes to stderr.
    plumb_set_log(NULL, NULL);
    if (sweep)
        code = cmd->slurm  ? write_script(cmd, sweep)
               : cmd->plan ? print_plan(cmd, sweep)
                           : run_study(cmd, sweep);
    plumb_sweep_close(sweep);
    if (ranks) plumb_distributed_finalize(false);
    return signals_end(code);
}

const cli_command cmd_sweep = {
    .name = "sweep",
    .summary = "train and evaluate the models of a study file",
    .usage = "STUDY.yaml --out DIR [options]",
    .text =
        "Trains and evaluates every run of a study: grids, lists and random draws over models, "
        "worlds, settings and seeds. The file is checked before anything runs. Every run is an "
        "ordinary run directory in DIR and one line of DIR/results.jsonl, which plumb report "
        "reads.\n\n"
        "Finished runs are skipped; stopped and killed runs resume. A run that fails is recorded "
        "with its reason and does not stop the others; then the exit code is 1. SIGTERM and "
        "SIGUSR1 save and stop with exit code 75: the same command resumes. mpirun -n R plumb "
        "sweep distributes the runs over R processes.\n\n"
        "A study can be continued on another machine from its records alone: --done F takes the "
        "results.jsonl of the earlier sweep.",
    .example = "plumb sweep study.yaml --out runs --workers 2",
    .options = command_options,
    .options_size = sizeof(sweep_command),
    .defaults = defaults,
    .run = run,
};
