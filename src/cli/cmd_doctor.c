// SPDX-License-Identifier: MIT
// plumb doctor: what this build and this machine can do, and what to do where something is off.
#include <stdio.h>

#include "cli/common/command.h"

typedef struct settings {
    bool json;
} settings;

static const cli_option rows[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .offset = offsetof(settings, json),
     .help = "one line of JSON"},
    {0},
};

static void line(const char *part, const char *found, const char *verdict)
{
    printf("  %-13s %-26s %s\n", part, found, verdict);
}

// Returns how many things are off.
static int table(void)
{
    char text[96];
    int off = 0;
    const char *instructions = plumb_system_instructions();
    const char *remedy = plumb_system_blas_fix();
    const int threads = plumb_system_threads(), cores = plumb_system_cores();

    printf("plumb %s on this machine\n\n", plumb_version());
    snprintf(text, sizeof text, "%s, %s", plumb_system_compiler(), plumb_system_build_type());
    line("build", text, "fine");
    line("instructions", instructions,
         instructions[0] == 'p' ? "fine, but newer processors are faster" : "fine");
    snprintf(text, sizeof text, "%d for %d core%s", threads, cores, cores == 1 ? "" : "s");
    line("threads", text, threads == cores ? "fine" : "as PLUMB_THREADS says");
    snprintf(text, sizeof text, "%s, %s", plumb_system_blas(), plumb_system_blas_version());
    line("BLAS kernels", text, remedy ? "SLOW" : "fine");
    line("HDF5", plumb_file_hdf5() ? "yes" : "no", plumb_file_hdf5() ? "fine" : "MISSING");
    const bool svm = plumb_scorer_available(PLUMB_SCORER_OCSVM);
    line("libsvm", svm ? "yes" : "no", svm ? "fine" : "MISSING");
    line("MPI", plumb_distributed_available() ? "yes" : "not in this build",
         plumb_distributed_available() ? "loaded under mpirun" : "only mpirun needs it");
    line("oneDNN", "not in this build", "nothing here needs it");
    putchar('\n');

    if (remedy && ++off)
        printf(
            "OpenBLAS was loaded before plumb could mend its choice of kernels, which are far "
            "older "
            "than\n"
            "this processor and several times slower. Set OPENBLAS_CORETYPE=%s, or install a newer "
            "OpenBLAS.\n",
            remedy);
    if (!plumb_file_hdf5() && ++off)
        puts("Files that end in .h5 cannot be read or written. Install libhdf5-dev and build "
             "again, or\n"
             "keep the helper plumb-h5 where plumb was installed. .npy and .npz work without it.");
    if (!svm && ++off)
        puts("The scorer ocsvm of plumb surprise is left out. Install libsvm-dev and build again.");
    return off;
}

static int run(void *given, int files, char **file)
{
    const settings *s = given;
    if (files) return cli_error(&cmd_doctor, EXIT_USAGE, "takes no files, not \"%s\"", file[0]);
    if (!s->json) {
        if (!table()) puts("All is well.");
        return EXIT_DONE;
    }
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_doctor, EXIT_FAILED, "no memory");
    plumb_system_record(record);
    const int code = cli_print_record(&cmd_doctor, record);
    plumb_record_free(record);
    return code;
}

const cli_command cmd_doctor = {
    .name = "doctor",
    .summary = "what this build and this machine can do",
    .usage = "[--json]",
    .text = "Prints the instruction set, the threads, the kernels OpenBLAS chose and the optional "
            "parts\n"
            "of this build, and says what to do where something is off.",
    .example = "plumb doctor",
    .options = rows,
    .settings_size = sizeof(settings),
    .run = run,
};
