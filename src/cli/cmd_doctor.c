// SPDX-License-Identifier: MIT
// plumb doctor: reports what this build and this machine can do, and how to fix what is missing.
// The table and the record show the same plumb_system_info.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct doctor_command {
    cli_format format;
} doctor_command;

// clang-format off
#define AT(member) .offset = offsetof(doctor_command, member)
static const cli_option command_options[] = {
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

// One row: a part of the build, what was found, and whether that is good.
static void print_part(const char *part, const char *found, const char *assessment)
{
    printf("  %-13s %-26s %s\n", part, found, assessment);
}

// The table of parts.
static void print_info(const plumb_system_info *info)
{
    char text[96];
    printf("plumb %s on this machine\n\n", plumb_version());
    snprintf(text, sizeof text, "%s, %s", info->compiler, info->build_type);
    print_part("build", text, "fine");
    // The names are "avx512", "avx2" and "portable": only the last starts with p.
    print_part("instructions", info->instructions,
               info->instructions[0] == 'p' ? "fine; newer processors are faster" : "fine");
    snprintf(text, sizeof text, "%d for %d core%s", info->threads, info->cores,
             info->cores == 1 ? "" : "s");
    print_part("threads", text, info->threads == info->cores ? "fine" : "set by PLUMB_THREADS");
    snprintf(text, sizeof text, "%s, %s", info->blas, info->blas_version);
    print_part("BLAS kernels", text, info->blas_fix ? "SLOW" : "fine");
    print_part("HDF5", info->hdf5 ? "yes" : "no", info->hdf5 ? "fine" : "MISSING");
    print_part("libsvm", info->libsvm ? "yes" : "no", info->libsvm ? "fine" : "MISSING");
    print_part("MPI", info->mpi ? "yes" : "not in this build",
               info->mpi ? "loaded under mpirun" : "only mpirun needs it");
    print_part("oneDNN", "not in this build", "not needed");
    putchar('\n');
}

// Prints how to fix each problem. Returns their number.
static int print_problems(const plumb_system_info *info)
{
    // `++problems` is never 0, so each condition also counts.
    int problems = 0;
    if (info->blas_fix && ++problems)
        printf(
            "OpenBLAS was loaded before plumb could choose its kernels. They are far older than\n"
            "this processor and several times slower. Set OPENBLAS_CORETYPE=%s, or install a\n"
            "newer OpenBLAS.\n",
            info->blas_fix);
    if (!info->hdf5 && ++problems)
        puts("Files that end in .h5 cannot be read or written. Install libhdf5-dev and build\n"
             "again, or keep the helper plumb-h5 where plumb was installed. .npy and .npz work\n"
             "without it.");
    if (!info->libsvm && ++problems)
        puts("The scorer ocsvm of plumb surprise is left out. Install libsvm-dev and build again.");
    return problems;
}

// Text output.
static void print_report(const void *context)
{
    const plumb_system_info *info = context;
    print_info(info);
    if (!print_problems(info)) puts("No problem was found.");
}

// JSON output.
static void fill_record(plumb_record *record, const void *context)
{
    (void)context;
    plumb_system_record(record);
}

static int run(void *given, int files, char **file)
{
    const doctor_command *cmd = given;
    if (files) return cli_error(&cmd_doctor, EXIT_USAGE, "takes no files, not \"%s\"", file[0]);
    plumb_system_info info;
    plumb_system_get_info(&info);
    return cli_print(&cmd_doctor, cmd->format, fill_record, print_report, &info);
}

const cli_command cmd_doctor = {
    .name = "doctor",
    .summary = "what this build and this machine can do",
    .usage = "[--format FORMAT]",
    .text =
        "Prints the instruction set, the threads, the kernels of OpenBLAS and the optional parts "
        "of this build, and how to fix what is missing.",
    .example = "plumb doctor",
    .options = command_options,
    .options_size = sizeof(doctor_command),
    .run = run,
};
