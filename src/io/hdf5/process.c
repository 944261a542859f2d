// SPDX-License-Identifier: MIT
// Starts the helper with posix_spawn, not fork: the host program may have threads, and a forked
// copy could wait for ever on a lock of one of them. A pipe that only the child holds open shows
// when it has ended.
#define _GNU_SOURCE
#include "io/hdf5/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/hdf5/protocol.h"

// ---- finding the helper ----

// Joins folder and rest into `path`. True if it is an executable file.
static bool find_program(char *path, size_t size, const char *folder, const char *rest)
{
    const int length = snprintf(path, size, "%s%s", folder, rest);
    return length > 0 && (size_t)length < size && access(path, X_OK) == 0;
}

// Looks near a file of the installation: for PREFIX/lib/libplumb.so that is
// PREFIX/libexec/plumb/plumb-h5.
static bool find_near(char *path, size_t size, const char *file)
{
    char folder[4096];
    if ((size_t)snprintf(folder, sizeof folder, "%s", file) >= sizeof folder) return false;
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    *slash = 0;
    // As installed; then the usual layouts: Debian's lib has one folder more, for the machine.
    static const char *const places[] = {"/" PLUMB_LIB_TO_LIBEXEC "/plumb-h5",
                                         "/../libexec/plumb/plumb-h5",
                                         "/../../libexec/plumb/plumb-h5", "/plumb-h5"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (find_program(path, size, folder, places[i])) return true;
    return false;
}

bool hdf5_process_find(char *path, size_t size)
{
    const char *override = secure_getenv("PLUMB_H5");
    if (override) return find_program(path, size, override, "");
    static const char here; // an address in this library
    Dl_info library;
    if (dladdr(&here, &library) && library.dli_fname && find_near(path, size, library.dli_fname))
        return true;
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = 0;
        if (find_near(path, size, program)) return true;
    }
    // A program that is linked with the static library may be anywhere.
    return find_program(path, size, "/usr/local/libexec/plumb", "/plumb-h5") ||
           find_program(path, size, "/usr/libexec/plumb", "/plumb-h5");
}

plumb_status hdf5_process_memory(int *out, const char *path)
{
    *out = memfd_create("plumb-h5", MFD_CLOEXEC);
    return *out >= 0 ? PLUMB_OK
                     : fail(PLUMB_EMEMORY, "%s: no shared memory: %s", path, strerror(errno));
}

// ---- running the helper ----

// Environment of the helper. Locking is off because reading needs none and some network file
// systems reject it. Plugins are off because they are code.
static void make_environment(char *out[8], char (*storage)[4200])
{
    static const char *const passed[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"};
    static char locking[] = "HDF5_USE_FILE_LOCKING=FALSE", plugins[] = "HDF5_PLUGIN_PRELOAD=::";
    int n = 0;
    out[n++] = locking;
    out[n++] = plugins;
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(passed[i]);
        if (value && (size_t)snprintf(storage[i], sizeof storage[i], "%s=%s", passed[i], value) <
                         sizeof storage[i])
            out[n++] = storage[i];
    }
    out[n] = NULL;
}

// Starts the helper with the three descriptors as 3, 4 and 5 and no other.
static int spawn_helper(pid_t *child, const char *program, const char *verb, const char *name,
                        const int from[3])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = 0;
    for (int i = 0; i < 3; i++)
        error |=
            posix_spawn_file_actions_addopen(&files, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
    for (int i = 0; i < 3; i++)
        error |= posix_spawn_file_actions_adddup2(&files, from[i], HDF5_PROTOCOL_FILE + i);
    char storage[3][4200], *environment[8];
    make_environment(environment, storage);
    char *const arguments[] = {(char[]){"plumb-h5"}, (char *)(uintptr_t)verb,
                               (char *)(uintptr_t)name, NULL};
    if (!error) error = posix_spawn(child, program, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

// True if the pipe closed within `seconds`, false if not or on a request to stop.
static bool wait_for_pipe(int alive, double seconds)
{
    const double end = clock_now() + seconds;
    for (;;) {
        const double left = end - clock_now();
        if (left <= 0) return false;
        struct pollfd poll_entry = {.fd = alive, .events = POLLIN};
        const int ready = poll(&poll_entry, 1, left > 0.2 ? 200 : (int)(left * 1000) + 1);
        if (ready > 0) return true;
        if ((ready < 0 && errno != EINTR) || status_stopped()) return false;
    }
}

// Waits for the end of the helper, kills it if it is late, and turns its exit status into ours.
static plumb_status wait_for_helper(pid_t child, int alive, double seconds, const char *role,
                                    const char *path)
{
    const bool late = !wait_for_pipe(alive, seconds);
    if (late) kill(child, SIGKILL);
    int exit_status = 0;
    pid_t got;
    do got = waitpid(child, &exit_status, 0);
    while (got < 0 && errno == EINTR);
    if (status_stopped()) return status_check_stop();
    if (late)
        return fail(PLUMB_EFORMAT, "%s: %s gave up (not done after %.0f s)", path, role, seconds);
    if (got < 0) return PLUMB_OK; // the host ignores SIGCHLD; the reply shows the result
    if (WIFSIGNALED(exit_status)) {
        const int signal = WTERMSIG(exit_status);
        return fail(PLUMB_EFORMAT, "%s: %s gave up (%s)", path, role,
                    signal == SIGXCPU || signal == SIGPROF ? "took too long"
                    : signal == SIGXFSZ                    ? "had too much to say"
                                                           : strsignal(signal));
    }
    if (WEXITSTATUS(exit_status))
        return fail(PLUMB_EFORMAT, "%s: %s gave up (exit %d)", path, role,
                    WEXITSTATUS(exit_status));
    return PLUMB_OK;
}

plumb_status hdf5_process_run(const char *verb, const char *name, int file, int memory,
                              double seconds, const char *path)
{
    const bool reads = !strcmp(verb, "list") || !strcmp(verb, "read");
    const char *role = reads ? "the HDF5 reader" : "the HDF5 writer";
    char program[4096];
    if (!hdf5_process_find(program, sizeof program))
        return fail(PLUMB_EMISSING,
                    "%s: HDF5 is not in this build: the program plumb-h5 is not "
                    "there; build plumb with libhdf5-dev, or say where it is in PLUMB_H5",
                    path);
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC)) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    // Numbers from 16 on cannot collide with those that the child uses.
    const int high[3] = {fcntl(file, F_DUPFD_CLOEXEC, 16), fcntl(memory, F_DUPFD_CLOEXEC, 16),
                         fcntl(pipes[1], F_DUPFD_CLOEXEC, 16)};
    close(pipes[1]);
    pid_t child = -1;
    const int error = high[0] < 0 || high[1] < 0 || high[2] < 0
                          ? EMFILE
                          : spawn_helper(&child, program, verb, name, high);
    for (int i = 0; i < 3; i++)
        if (high[i] >= 0) close(high[i]);
    const plumb_status st = error
                                ? fail(error == ENOMEM ? PLUMB_EMEMORY : PLUMB_EMISSING,
                                       "%s: %s does not start: %s", path, program, strerror(error))
                                : wait_for_helper(child, pipes[0], seconds, role, path);
    close(pipes[0]);
    return st;
}
