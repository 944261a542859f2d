// SPDX-License-Identifier: MIT
// Writes the script of a Slurm job array. Slurm sends a signal before the time limit; plumb then
// saves and exits with code 75 (EX_TEMPFAIL), and the script puts itself into the queue again.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argument.h"
#include "base/output_file.h"
#include "base/status.h"
#include "sweep/sweep.h"

// Prints a text in single quotes for the shell.
static void print_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        if (*text == '\'') fputs("'\\''", to);
        else fputc(*text, to);
    fputc('\'', to);
}

// Prints a text in a comment: a control character, which could end the line, becomes '?'.
static void print_comment(FILE *to, const char *text)
{
    for (; *text; text++) fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, to);
}

// Prints an absolute path, so that the script can be submitted from any directory.
static void print_path(FILE *to, const char *path)
{
    char *absolute = realpath(path, NULL), here[4096];
    if (absolute) print_quoted(to, absolute);
    else if (path[0] == '/' || !getcwd(here, sizeof here)) print_quoted(to, path);
    else {
        char joined[8400];
        snprintf(joined, sizeof joined, "%s/%s", here, path);
        print_quoted(to, joined);
    }
    free(absolute);
}

// The requests to Slurm: array, cores, time, and a signal 120 s before the end.
static void write_head(FILE *to, const study_file *study, int64_t tasks, int cores, int64_t minutes)
{
    fputs("#!/bin/bash\n# ", to);
    print_comment(to, study->name);
    fprintf(to, ": %lld runs by %lld tasks. Submit it with sbatch; submitted again, it\n",
            (long long)study->run_count, (long long)tasks);
    fputs("# resumes. Add what your cluster needs: an account, a partition, memory.\n", to);
    fprintf(to, "#SBATCH --job-name=plumb\n#SBATCH --array=0-%lld\n#SBATCH --ntasks=1\n",
            (long long)tasks - 1);
    fprintf(to, "#SBATCH --cpus-per-task=%d\n#SBATCH --time=%lld\n", cores, (long long)minutes);
    fputs("#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --output=plumb-%A_%a.log\n", to);
    fputs("#SBATCH --signal=B:USR1@120\n\n", to);
}

// The commands of a task: run its share in the background, pass signals on, queue again on exit 75.
static void write_body(FILE *to, const study_file *study, const char *program,
                       const plumb_sweep_options *options)
{
    fputs("echo \"task $SLURM_ARRAY_TASK_ID, start ${SLURM_RESTART_COUNT:-0}\"\n", to);
    print_path(to, program);
    fputs(" sweep ", to);
    print_path(to, study->path);
    fputs(" --out ", to);
    print_path(to, options->out);
    if (study->records_path) {
        fputs(" --done ", to);
        print_path(to, study->records_path);
    }
    fprintf(to, " --array --workers %d --threads %d%s &\nchild=$!\n", options->workers,
            options->threads, options->retry ? " --retry" : "");
    fputs("# The shell gets the signals of the batch step and passes them on; the program saves "
          "and stops.\n"
          "trap 'kill -USR1 $child' USR1\ntrap 'kill -TERM $child' TERM\n"
          "wait $child\ncode=$?\n"
          "while kill -0 $child 2>/dev/null; do wait $child; code=$?; done\n"
          "# 75: stopped and saved, runs are left.\n"
          "if [ $code = 75 ]; then\n"
          "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\" && exit 0\n"
          "fi\nexit $code\n",
          to);
}

plumb_status plumb_sweep_write_slurm(const char *path, const plumb_sweep *sweep,
                                     const char *program, const plumb_sweep_options *given,
                                     int64_t tasks, int cores, int64_t minutes)
{
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(sweep);
    REQUIRE_ARGUMENT(program);
    REQUIRE_ARGUMENT(given);
    plumb_sweep_options options;
    plumb_status st = sweep_resolve_options(&options, given);
    if (st) return st;
    if (tasks < 1 || cores < 1 || minutes < 5)
        return fail(PLUMB_EVALUE,
                    "tasks is %lld, cores %d, minutes %lld; they must be at least 1, 1 and 5",
                    (long long)tasks, cores, (long long)minutes);
    // No task without a run.
    if (tasks > sweep->study.run_count) tasks = sweep->study.run_count;
    output_file out;
    st = output_file_open(&out, path);
    if (st) return st;
    write_head(out.stream, &sweep->study, tasks, cores, minutes);
    write_body(out.stream, &sweep->study, program, &options);
    fchmod(fileno(out.stream), 0755);
    return output_file_commit(&out);
}
