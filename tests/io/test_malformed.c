// SPDX-License-Identifier: MIT
// A table of malformed files. Each must be rejected with one line, within 100 ms, and with at most
// twice the size of the file plus 16 MiB of memory. Memory is measured in a separate process,
// relative to one that reads a small valid file. For HDF5 all memory of plumb-h5 counts.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/hdf5/client.h"
#include "io/malformed.h"
#include "plumb/file.h"
#include "support/test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static char folder[] = "/tmp/plumb-lies-XXXXXX";

typedef struct verdict {
    int status;
    double seconds, work; // by the clock, and of the processor for this
    long memory, helper;  // KiB: this process, and the programs it ran
    long said;            // bytes on stdout and stderr
    char message[1200];
} verdict;

static plumb_status read_all(const char *path)
{
    plumb_file *file;
    plumb_status st = plumb_file_open(&file, path);
    if (st) return st;
    for (int64_t i = 0; i < plumb_file_array_count(file) && !st; i++) {
        plumb_array array;
        st = plumb_file_read_array(&array, file, plumb_file_array_name(file, i));
    }
    plumb_file_close(file);
    return st;
}

static double seconds_of(const struct rusage *r)
{
    return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
           1e-6 * (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

static void read_here(verdict *v, const char *path)
{
    const int quiet = memfd_create("output", 0);
    const int saved[2] = {dup(1), dup(2)};
    dup2(quiet, 1);
    dup2(quiet, 2);
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    const double before = seconds_of(&self);
    const double start = clock_now();
    v->status = (int)read_all(path);
    v->seconds = clock_now() - start;
    fflush(stdout);
    dup2(saved[0], 1);
    dup2(saved[1], 2);
    v->said = lseek(quiet, 0, SEEK_END);
    snprintf(v->message, sizeof v->message, "%s", plumb_last_error());
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    v->work = seconds_of(&self) + seconds_of(&children) - before;
    v->memory = self.ru_maxrss;
    v->helper = children.ru_maxrss;
}

static verdict read_in_child(const char *path)
{
    verdict *v = mmap(NULL, sizeof *v, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(v != MAP_FAILED);
    v->status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        read_here(v, path);
        _exit(0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    if (!WIFEXITED(how) || WEXITSTATUS(how)) v->status = -2;
    const verdict result = *v;
    munmap(v, sizeof *v);
    return result;
}

static void path_of(char *path, size_t size, const char *claim, const char *suffix)
{
    const int n = snprintf(path, size, "%s/", folder);
    snprintf(path + n, size - (size_t)n, "%s%s", claim, suffix);
    for (char *c = path + n; *c; c++)
        if (*c == ' ') *c = '-';
}

static void begin(void)
{
    static bool begun;
    if (begun) return;
    begun = true;
    assert_non_null(mkdtemp(folder));
    npy(&payload, GOOD, 48);
}

// KiB of a process that reads a small honest file.
static long baseline(void)
{
    char path[256];
    forge f = {0};
    npy(&f, GOOD, 48);
    path_of(path, sizeof path, "honest", ".npy");
    assert_true(forge_save(&f, path));
    forge_clear(&f);
    const verdict v = read_in_child(path);
    assert_int_equal(v.status, 0);
    return v.memory;
}

// Returns what is wrong with the refusal, or NULL.
static const char *fault(const lie *l, const verdict *v, long base, int64_t size)
{
    if (v->status == -2) return "crashed";
    if (v->status == 0) return "was read";
    if (!v->message[0] || strchr(v->message, '\n')) return "gave not one line";
    if (!strstr(v->message, l->suffix)) return "gave no file name";
    if (!strstr(v->message, l->words)) return "gave other words";
    if (strncmp(v->message, "error", 5) == 0 || v->message[strlen(v->message) - 1] == '.')
        return "gave a message out of style";
    if (v->said) return "printed something";
    if (SANITIZED) return NULL;
    const long limit = 16 * 1024 + (long)(2 * size / 1024);
    if (v->memory - base + v->helper > limit) return "took too much memory";
    // Processor time, since the machine may be busy with other things, and much of it, since it may
    // be slow or emulated. What is caught is work that does not come from the bytes of the file.
    if (v->work > 1.0 + 5e-8 * (double)size) return "took too long";
    return NULL;
}

TEST(every_lie_is_refused_in_one_line_and_cheaply)
{
    begin();
    const long base = baseline();
    const bool h5 = hdf5_client_available();
    int bad = 0, files_read = 0;
    double slowest = 0;
    long largest = 0, largest_h5 = 0;
    for (int i = 0; i < LIES; i++) {
        const lie *l = &lies[i];
        if (l->suffix[1] == 'h' && !h5) continue;
        char path[256];
        path_of(path, sizeof path, l->claim, l->suffix);
        forge f = {0};
        l->make(&f);
        assert_true(forge_save(&f, path));
        const verdict v = read_in_child(path);
        const char *why = fault(l, &v, base, (int64_t)f.n);
        const long memory = v.memory - base + v.helper;
        print_message("  %-32s %-5s %6.1f ms %6ld KiB  %s\n", l->claim, l->suffix, 1e3 * v.seconds,
                      memory, v.status > 0 ? v.message + strlen(folder) + 1 : "");
        if (why) print_error("\"%s\" %s: %s\n", l->claim, why, v.message);
        bad += why != NULL;
        files_read++;
        if (v.seconds > slowest) slowest = v.seconds;
        if (v.helper > 0 && memory > largest_h5) largest_h5 = memory;
        if (v.helper == 0 && memory > largest) largest = memory;
        unlink(path);
        forge_clear(&f);
    }
    print_message("  %d lies: slowest %.1f ms, most memory %ld KiB, with plumb-h5 %ld KiB\n",
                  files_read, 1e3 * slowest, largest, largest_h5);
    CHECK_EQUAL(bad, 0);
    CHECK(files_read >= 45);
}

TEST(what_is_not_a_regular_file_is_refused_without_waiting)
{
    begin();
    char path[256];
    path_of(path, sizeof path, "directory", ".npy");
    mkdir(path, 0777);
    CHECK_FAILS(read_all(path), PLUMB_EFILE, "directory");
    rmdir(path);
    path_of(path, sizeof path, "fifo", ".npz");
    assert_int_equal(mkfifo(path, 0666), 0);
    CHECK_FAILS(read_all(path), PLUMB_EFILE, "regular file");
    unlink(path);
    path_of(path, sizeof path, "absent", ".h5");
    CHECK_FAILS(read_all(path), PLUMB_EFILE, "No such file");
    CHECK_FAILS(read_all("/dev/zero.npy"), PLUMB_EFILE, "");
    path_of(path, sizeof path, "letters", ".txt");
    CHECK_FAILS(read_all(path), PLUMB_EFILE, "No such file");
    FILE *letters = fopen(path, "w");
    assert_non_null(letters);
    fclose(letters);
    CHECK_FAILS(read_all(path), PLUMB_EFILE, "none of .npy");
    unlink(path);
    CHECK_FAILS(read_all(""), PLUMB_EFILE, "none of .npy");
    CHECK_FAILS(read_all(".npy"), PLUMB_EFILE, "No such file");
}

TEST(what_compresses_well_and_is_honest_loads)
{
    begin();
    char path[256];
    path_of(path, sizeof path, "zeros", ".npz");
    forge packed = {0}, f = {0};
    const uint64_t runs = 100000; // 26 MB in 25 kB
    const forge_member m = forge_deflated("x.npy", &packed, runs, true);
    forge_zip(&f, &m, 1, (forge_end){.zip64 = true});
    assert_true(forge_save(&f, path));
    plumb_file *file;
    plumb_array array;
    CHECK_OK(plumb_file_open(&file, path));
    CHECK_OK(plumb_file_read_array(&array, file, "x"));
    CHECK_EQUAL(array.shape[0], (int64_t)(1 + 258 * runs));
    const unsigned char *b = array.data;
    CHECK(b[0] == 0 && memcmp(b, b + 1, (size_t)array.shape[0] - 1) == 0);
    plumb_file_close(file);
    unlink(path);
    forge_clear(&packed);
    forge_clear(&f);
}

__attribute__((destructor)) static void tidy(void)
{
    char path[256];
    path_of(path, sizeof path, "honest", ".npy");
    unlink(path);
    rmdir(folder);
    forge_clear(&payload);
}
