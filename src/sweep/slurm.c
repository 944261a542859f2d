// SPDX-License-Identifier: MIT
// The script of a job array. It asks Slurm for a signal before the time is up, on which plumb saves
// and leaves with code 75 (EX_TEMPFAIL: try again), and has itself queued again then.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/status.h"
#include "sweep/sweep.h"

// In single quotes for a shell.
static void quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        if (*text == '\'') fputs("'\\''", to);
        else fputc(*text, to);
    fputc('\'', to);
}

// From the root, so that the script means the same wherever it is handed in.
static void put_path(FILE *to, const char *path)
{
    char *whole = realpath(path, NULL), here[4096];
    if (whole) quoted(to, whole);
    else if (path[0] == '/' || !getcwd(here, sizeof here)) quoted(to, path);
    else {
        char joined[8400];
        snprintf(joined, sizeof joined, "%s/%s", here, path);
        quoted(to, joined);
    }
    free(whole);
}

static void write_head(FILE *to, const study_file *s, int64_t tasks, int cores, int64_t minutes)
{
    fprintf(
        to,
        "#!/bin/bash\n# %s: %lld runs by %lld tasks. Hand it in with sbatch; again, it goes on\n",
        s->name, (long long)s->count, (long long)tasks);
    fputs("# with what is left. Add what your cluster wants: an account, a partition, memory.\n",
          to);
    fprintf(to, "#SBATCH --job-name=plumb\n#SBATCH --array=0-%lld\n#SBATCH --ntasks=1\n",
            (long long)tasks - 1);
    fprintf(to, "#SBATCH --cpus-per-task=%d\n#SBATCH --time=%lld\n", cores, (long long)minutes);
    fputs("#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --output=plumb-%A_%a.log\n", to);
    fputs("#SBATCH --signal=B:USR1@120\n\n", to);
}

static void write_body(FILE *to, const study_file *s, const char *program,
                       const plumb_sweep_options *opt)
{
    fputs("echo \"task $SLURM_ARRAY_TASK_ID, start ${SLURM_RESTART_COUNT:-0}\"\n", to);
    put_path(to, program);
    fputs(" sweep ", to);
    put_path(to, s->path);
    fputs(" --out ", to);
    put_path(to, opt->out);
    fprintf(to, " --array --workers %d --threads %d%s &\nchild=$!\n", opt->workers,
            opt->threads > 0 ? opt->threads : 0, opt->retry ? " --retry" : "");
    fputs("# The shell gets the signals of the batch step; the program saves and leaves.\n"
          "trap 'kill -USR1 $child' USR1\ntrap 'kill -TERM $child' TERM\n"
          "wait $child\ncode=$?\n"
          "while kill -0 $child 2>/dev/null; do wait $child; code=$?; done\n"
          "# 75: stopped and saved, there is more to do.\n"
          "if [ $code = 75 ]; then\n"
          "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\" && exit 0\n"
          "fi\nexit $code\n",
          to);
}

plumb_status plumb_sweep_write_slurm(const char *path, const plumb_sweep *s, const char *program,
                                     const plumb_sweep_options *opt, int64_t tasks, int cores,
                                     int64_t minutes)
{
    plumb_status st = sweep_check(opt);
    if (st) return st;
    if (tasks < 1 || cores < 1 || minutes < 5)
        return fail(PLUMB_EVALUE,
                    "%lld tasks of %d cores and %lld minutes; want 1, 1 and 5 at least",
                    (long long)tasks, cores, (long long)minutes);
    if (tasks > s->study.count) tasks = s->study.count;
    output_file out;
    st = output_file_open(&out, path);
    if (st) return st;
    write_head(out.stream, &s->study, tasks, cores, minutes);
    write_body(out.stream, &s->study, program, opt);
    fchmod(fileno(out.stream), 0755);
    return output_file_commit(&out);
}
