// SPDX-License-Identifier: MIT
// A run is killed at every call that changes a file, at random ones of a run that writes a
// checkpoint after every step, and at a hundred other moments, and resumed until it is done. Its
// files have the same bytes as those of a run that was never killed.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plumb/training.h"
#include "train/toy_model.h"

// Behind the others: cmocka has a macro called fail.
#include "support/test.h"

// ---- the calls, in place of the C library's ----

static long calls, deadly = -1; // the process is killed at call number `deadly`
static bool after;              // after the call, not before it; a write is done half

static bool is_deadly_call(void)
{
    return deadly >= 0 && calls++ == deadly;
}

static void kill_self(void)
{
    kill(getpid(), SIGKILL);
}

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))
#define AROUND(call)                        \
    do {                                    \
        const bool now_ = is_deadly_call(); \
        if (now_ && !after) kill_self();    \
        call;                               \
        if (now_) kill_self();              \
    } while (0)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wpedantic"
#define SHOWN __attribute__((visibility("default")))
SHOWN int rename(const char *from, const char *to)
{
    int result;
    AROUND(result = REAL(int (*)(const char *, const char *), "rename")(from, to));
    return result;
}

SHOWN int mkostemp(char *name, int flags)
{
    int result;
    AROUND(result = REAL(int (*)(char *, int), "mkostemp")(name, flags));
    return result;
}

SHOWN int mkdir(const char *name, mode_t mode)
{
    int result;
    AROUND(result = REAL(int (*)(const char *, mode_t), "mkdir")(name, mode));
    return result;
}

SHOWN int unlink(const char *name)
{
    int result;
    AROUND(result = REAL(int (*)(const char *), "unlink")(name));
    return result;
}

SHOWN int fsync(int fd)
{
    int result;
    AROUND(result = REAL(int (*)(int), "fsync")(fd));
    return result;
}

SHOWN int ftruncate(int fd, off_t size)
{
    int result;
    AROUND(result = REAL(int (*)(int, off_t), "ftruncate")(fd, size));
    return result;
}

SHOWN int fflush(FILE *f)
{
    int result;
    AROUND(result = REAL(int (*)(FILE *), "fflush")(f));
    return result;
}

SHOWN ssize_t write(int fd, const void *data, size_t bytes)
{
    ssize_t (*real)(int, const void *, size_t) =
        REAL(ssize_t(*)(int, const void *, size_t), "write");
    if (is_deadly_call()) {
        if (after && real(fd, data, bytes / 2) < 0) kill_self();
        kill_self();
    }
    return real(fd, data, bytes);
}

SHOWN size_t fwrite(const void *data, size_t size, size_t count, FILE *f)
{
    size_t (*real)(const void *, size_t, size_t, FILE *) =
        REAL(size_t(*)(const void *, size_t, size_t, FILE *), "fwrite");
    if (is_deadly_call()) {
        if (after) real(data, size, count / 2, f);
        REAL(int (*)(FILE *), "fflush")(f);
        kill_self();
    }
    return real(data, size, count, f);
}
#pragma GCC diagnostic pop

// ---- runs ----

static char root[40];
static int64_t steps;    // of all runs of a test
static const char *save; // and how often they are saved

static plumb_status train_run(const char *name, bool resume, int threads, int pause)
{
    char out[100], slow[32];
    snprintf(out, sizeof out, "%s/%s", root, name);
    snprintf(slow, sizeof slow, "pause=%d", pause);
    const char *const set[] = {save, "log_steps=3", "batch=2", slow};
    plumb_training_options o = plumb_training_defaults();
    if (!resume) {
        o.model = "toy";
        o.world = "mass-spring";
        o.steps = steps;
    }
    o.out = out;
    o.set = set;
    o.set_count = 4;
    o.threads = threads;
    // A run without config.json is started again.
    char config[120];
    snprintf(config, sizeof config, "%s/config.json", out);
    o.resume = resume && !access(config, F_OK);
    if (resume && !o.resume) return train_run(name, false, threads, pause);
    plumb_training r;
    return plumb_training_run(&r, &o);
}

static void remove_run(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", root, name);
    DIR *d = opendir(path);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(path);
}

static size_t read_file(unsigned char *out, size_t room, const char *name, const char *file)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s/%s", root, name, file);
    FILE *f = fopen(path, "rb");
    CHECK(f);
    const size_t size = fread(out, 1, room, f);
    fclose(f);
    CHECK(size < room);
    return size;
}

// A log without its seconds, which are never the same.
static size_t strip_seconds(unsigned char *text, size_t size)
{
    size_t to = 0;
    for (size_t i = 0; i < size;) {
        if (!strncmp((char *)text + i, ", \"seconds\": ", 13))
            while (i < size && text[i] != '}') i++;
        else text[to++] = text[i++];
    }
    return to;
}

static bool is_same_file(const char *name, const char *file)
{
    static unsigned char a[1 << 18], b[1 << 18];
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    size_t na = read_file(a, sizeof a, "whole", file), nb = read_file(b, sizeof b, name, file);
    if (!strcmp(file, "log.jsonl")) na = strip_seconds(a, na), nb = strip_seconds(b, nb);
    if (strstr(file, "tfevents")) return na == nb; // the time is in it
    return na == nb && !memcmp(a, b, na);
}

static void check_same(const char *name, long moment)
{
    static const char *const files[] = {"weights.safetensors", "optimizer.safetensors", "log.jsonl",
                                        "config.json", "events.out.tfevents.plumb"};
    for (int i = 0; i < 5; i++) {
        if (is_same_file(name, files[i])) continue;
        print_error("killed at %ld: %s differs\n", moment, files[i]);
        _fail(__FILE__, __LINE__);
    }
    char path[200];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", root, name);
    DIR *d = opendir(path);
    for (struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    CHECK_EQUAL(count, 7); // no temporary file is left
}

// Trains in a child process; true if it was killed, false if it finished.
static bool was_killed(const char *name, bool resume, long at, bool behind, useconds_t time)
{
    fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        deadly = at;
        after = behind;
        calls = 0;
        _exit(train_run(name, resume, 1 + at % 2, time ? 300 : 0) ? 1 : 0);
    }
    if (time) {
        usleep(time);
        kill(child, SIGKILL);
    }
    int how;
    CHECK_EQUAL(waitpid(child, &how, 0), child);
    CHECK(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
    return WIFSIGNALED(how);
}

static void begin_runs(int64_t all, const char *saved)
{
    steps = all;
    save = saved;
    strcpy(root, "/tmp/plumb-kill-XXXXXX");
    CHECK(mkdtemp(root));
    CHECK_OK(train_run("whole", false, 1, 0));
}

static void end_runs(void)
{
    remove_run("whole");
    remove_run("cut");
    CHECK_EQUAL(rmdir(root), 0);
}

TEST(killed_at_every_call_it_resumes_to_the_same_bytes)
{
    begin_runs(7, "checkpoint_steps=4");
    int kills = 0;
    for (int behind = 0; behind < 2; behind++)
        for (long at = 0;; at++) {
            remove_run("cut");
            if (!was_killed("cut", false, at, behind, 0)) break;
            kills++;
            // The resumed run is killed too; the third one may finish.
            kills += was_killed("cut", true, at / 2, !behind, 0);
            CHECK(!was_killed("cut", true, -1, false, 0));
            check_same("cut", at);
        }
    print_message("  %d kills\n", kills);
    CHECK(kills > 200);
    end_runs();
}

TEST(killed_in_the_checkpoint_writer_again_and_again_it_resumes_to_the_same_bytes)
{
    begin_runs(12, "checkpoint_steps=1");
    const int enough = getenv("PLUMB_LONG") ? 1000 : 50;
    int kills = 0;
    for (int i = 0; kills < enough; i++) {
        rng r = rng_at(6, (uint64_t)i);
        remove_run("cut");
        bool resume = false;
        // About 40 calls a checkpoint; a resumed run makes a dozen before its first.
        for (int again = 0; again < 20; again++) {
            const long at = (long)rng_below(&r, 150);
            if (!was_killed("cut", resume, at, rng_below(&r, 2) == 1, 0)) break;
            kills++;
            resume = true;
        }
        CHECK(!was_killed("cut", true, -1, false, 0));
        check_same("cut", i);
    }
    print_message("  %d kills\n", kills);
    end_runs();
}

TEST(killed_a_hundred_times_anywhere_it_resumes_to_the_same_bytes)
{
    begin_runs(40, "checkpoint_steps=5");
    const int enough = getenv("PLUMB_LONG") ? 1000 : 100;
    int kills = 0;
    for (int i = 0; kills < enough && i < 10 * enough; i++) {
        rng r = rng_at(5, (uint64_t)i);
        remove_run("cut");
        bool resume = false;
        for (int again = 0; again < 5; again++) {
            if (!was_killed("cut", resume, -1, false, (useconds_t)(1000 + rng_below(&r, 60000))))
                break;
            kills++;
            resume = true;
        }
        CHECK(!was_killed("cut", true, -1, false, 0));
        check_same("cut", i);
    }
    print_message("  %d kills\n", kills);
    CHECK(kills >= enough);
    end_runs();
}
