// SPDX-License-Identifier: MIT
// The file API: every format keeps the values, arguments find their arrays, and files are written
// atomically.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/hdf5/client.h"
#include "plumb/file.h"
#include "support/test.h"

static char folder[] = "/tmp/plumb-file-XXXXXX";
static char path[256];

static const char *in_folder(const char *name)
{
    static bool made;
    if (!made) assert_non_null(mkdtemp(folder));
    made = true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static const char *const suffixes[] = {".npz", ".h5", ".hdf5", ".NPZ"};

static bool can(const char *suffix)
{
    return suffix[1] != 'h' || hdf5_client_available();
}

static unsigned char bytes[24 * 8];

static plumb_array sample(plumb_dtype dtype)
{
    static const int64_t shape[] = {2, 3, 4};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(dtype == PLUMB_BOOL ? i & 1 : 37 * i + 11);
    return plumb_array_view(bytes, dtype, 3, shape);
}

TEST(every_type_comes_back_from_every_format)
{
    for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes; s++)
        for (int type = 0; type <= PLUMB_BOOL; type++)
            for (int compress = 0; compress < 2; compress++) {
                if (!can(suffixes[s])) continue;
                char name[32];
                snprintf(name, sizeof name, "types%s", suffixes[s]);
                const plumb_named_array a = {"deep/in/it", sample((plumb_dtype)type)};
                CHECK_OK(plumb_file_write(in_folder(name), &a, 1, compress));
                plumb_file *file;
                plumb_array back;
                CHECK_OK(plumb_file_open(&file, path));
                CHECK_EQUAL(plumb_file_array_count(file), 1);
                CHECK(plumb_file_has_array(file, "deep/in/it"));
                CHECK_OK(plumb_file_read_array(&back, file, "deep/in/it"));
                CHECK_EQUAL(back.dtype, type);
                CHECK_EQUAL(back.ndim, 3);
                CHECK(memcmp(back.shape, a.array.shape, 3 * sizeof *back.shape) == 0);
                CHECK(memcmp(back.data, bytes, 24 * plumb_dtype_size(back.dtype)) == 0);
                CHECK_EQUAL((uintptr_t)back.data % 64, 0);
                plumb_file_close(file);
                unlink(path);
            }
}

TEST(scalars_and_empty_arrays_come_back)
{
    double one = 1.5;
    const int64_t none[] = {0, 3};
    const plumb_named_array arrays[] = {{"s", plumb_array_view(&one, PLUMB_FLOAT64, 0, NULL)},
                                        {"e", plumb_array_view(&one, PLUMB_FLOAT64, 2, none)}};
    for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes; s++)
        for (int compress = 0; compress < 2; compress++) {
            if (!can(suffixes[s])) continue;
            char name[32];
            snprintf(name, sizeof name, "small%s", suffixes[s]);
            CHECK_OK(plumb_file_write(in_folder(name), arrays, 2, compress));
            plumb_file *file;
            plumb_array back;
            CHECK_OK(plumb_file_open(&file, path));
            CHECK_OK(plumb_file_read_array(&back, file, "s"));
            CHECK_EQUAL(back.ndim, 0);
            CHECK_NEAR(*(double *)back.data, 1.5, 0);
            CHECK_OK(plumb_file_read_array(&back, file, "e"));
            CHECK_EQUAL(back.ndim, 2);
            CHECK_EQUAL(plumb_array_count(&back), 0);
            plumb_file_close(file);
            unlink(path);
        }
}

TEST(an_array_is_read_once)
{
    const plumb_named_array a = {"x", sample(PLUMB_FLOAT32)};
    CHECK_OK(plumb_file_write(in_folder("once.npz"), &a, 1, false));
    plumb_file *file;
    plumb_array first, second;
    CHECK_OK(plumb_file_open(&file, path));
    CHECK_OK(plumb_file_read_array(&first, file, "x"));
    CHECK_OK(plumb_file_read_array(&second, file, "x"));
    CHECK(first.data == second.data);
    plumb_file_close(file);
    unlink(path);
}

// Reads an argument and says how many axes it has, or minus the status.
static int axes(const char *argument, const char *fallback)
{
    plumb_file *file;
    plumb_array a;
    const plumb_status st = plumb_file_read_spec(&a, &file, argument, fallback);
    if (st) return -(int)st;
    const int ndim = a.ndim;
    plumb_file_close(file);
    return ndim;
}

TEST(an_argument_names_a_file_and_a_key)
{
    const plumb_array a = sample(PLUMB_FLOAT64);
    const plumb_array flat = plumb_array_view(bytes, PLUMB_FLOAT64, 1, (const int64_t[]){24});
    const plumb_named_array arrays[] = {{"a:b", a}, {"flat", flat}};
    char argument[400];

    CHECK_OK(plumb_file_write(in_folder("with:colon.npz"), arrays, 2, false));
    snprintf(argument, sizeof argument, "%s:a:b", path);
    CHECK_EQUAL(axes(argument, NULL), 3);
    snprintf(argument, sizeof argument, "%s:flat", path);
    CHECK_EQUAL(axes(argument, "a:b"), 1);
    CHECK_EQUAL(axes(path, "flat"), 1);
    CHECK_EQUAL(axes(path, "other"), -PLUMB_EFILE);
    CHECK(strstr(plumb_last_error(), "a:b, flat"));
    CHECK_EQUAL(axes(path, NULL), -PLUMB_EFILE);
    snprintf(argument, sizeof argument, "%s:nothing", path);
    CHECK_EQUAL(axes(argument, NULL), -PLUMB_EFILE);
    CHECK(strstr(plumb_last_error(), "has no array \"nothing\"; it has a:b, flat"));
    unlink(path);

    CHECK_OK(plumb_file_write(in_folder("x.npy"), arrays, 1, false));
    CHECK_EQUAL(axes(path, "whatever"), 3);
    snprintf(argument, sizeof argument, "%s:key", path);
    CHECK_EQUAL(axes(argument, NULL), -PLUMB_EFILE);
    unlink(path);

    if (!hdf5_client_available()) return;
    const plumb_named_array deep[] = {{"/g/a", a}, {"flat", flat}};
    CHECK_OK(plumb_file_write(in_folder("x.h5"), deep, 2, false));
    snprintf(argument, sizeof argument, "%s:/g/a", path);
    CHECK_EQUAL(axes(argument, NULL), 3);
    snprintf(argument, sizeof argument, "%s:g/a", path);
    CHECK_EQUAL(axes(argument, NULL), 3);
    CHECK_EQUAL(axes(path, "flat"), 1);
    unlink(path);
}

TEST(a_file_is_replaced_whole)
{
    static const char *const names[] = {"old.npy", "old.npz", "old.h5"};
    for (int i = 0; i < 3; i++) {
        if (!can(strchr(names[i], '.'))) continue;
        plumb_named_array a = {"x", sample(PLUMB_FLOAT64)};
        CHECK_OK(plumb_file_write(in_folder(names[i]), &a, 1, false));
        a.array.dtype = PLUMB_FLOAT32;
        CHECK_OK(plumb_file_write(path, &a, 1, true));
        CHECK_EQUAL(files_in_folder(), 1);
        plumb_file *file;
        plumb_array back;
        CHECK_OK(plumb_file_open(&file, path));
        CHECK_OK(plumb_file_read_array(&back, file, plumb_file_array_name(file, 0)));
        CHECK_EQUAL(back.dtype, PLUMB_FLOAT32);
        plumb_file_close(file);
        unlink(path);
    }
}

// In a child whose files may not grow beyond a few bytes, as on a full disk.
static int save_with_little_room(const char *name, const plumb_named_array *a, size_t room)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){room, room});
        const plumb_status st = plumb_file_write(name, a, 1, false);
        _exit(st ? strchr(plumb_last_error(), '\n') ? 100 : (int)st : 0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 101;
}

TEST(a_disk_that_is_full_leaves_the_old_file_and_no_half_one)
{
    static const char *const names[] = {"full.npy", "full.npz", "full.h5"};
    static double many[5000];
    const plumb_named_array large = {
        "x", plumb_array_view(many, PLUMB_FLOAT64, 1, (const int64_t[]){5000})};
    for (int i = 0; i < 3; i++) {
        if (!can(strchr(names[i], '.'))) continue;
        const plumb_named_array small = {"x", sample(PLUMB_FLOAT64)};
        CHECK_OK(plumb_file_write(in_folder(names[i]), &small, 1, false));
        static const size_t rooms[] = {0, 1, 100, 4000, 39000};
        for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
            const int code = save_with_little_room(path, &large, rooms[r]);
            CHECK(code > 0 && code < 100);
            CHECK_EQUAL(files_in_folder(), 1);
            plumb_file *file;
            plumb_array back;
            CHECK_OK(plumb_file_open(&file, path));
            CHECK_OK(plumb_file_read_array(&back, file, plumb_file_array_name(file, 0)));
            CHECK_EQUAL(plumb_array_count(&back), 24);
            plumb_file_close(file);
        }
        unlink(path);
    }
}

TEST(what_cannot_be_written_is_refused)
{
    const plumb_named_array a[] = {{"x", sample(PLUMB_FLOAT64)}, {"x", sample(PLUMB_FLOAT64)}};
    CHECK_FAILS(plumb_file_write(in_folder("two.npy"), a, 2, false), PLUMB_EVALUE, "one array");
    CHECK_FAILS(plumb_file_write(in_folder("none.npz"), a, 0, false), PLUMB_EVALUE, "no array");
    CHECK_FAILS(plumb_file_write(in_folder("twice.npz"), a, 2, false), PLUMB_EVALUE, "\"x\"");
    CHECK_FAILS(plumb_file_write(in_folder("x.txt"), a, 1, false), PLUMB_EFILE, "none of");
    CHECK_FAILS(plumb_file_write("/nowhere/x.npz", a, 1, false), PLUMB_EFILE, "/nowhere/x.npz");
    if (hdf5_client_available())
        CHECK_FAILS(plumb_file_write(in_folder("twice.h5"), a, 2, false), PLUMB_EFILE, "\"x\"");
    CHECK_EQUAL(files_in_folder(), 0);
}

TEST(a_build_without_hdf5_says_so_in_one_line)
{
    const plumb_named_array a = {"x", sample(PLUMB_FLOAT64)};
    if (hdf5_client_available()) CHECK_OK(plumb_file_write(in_folder("x.h5"), &a, 1, false));
    setenv("PLUMB_H5", "/nowhere/plumb-h5", 1);
    CHECK(!hdf5_client_available());
    plumb_file *file;
    if (access(path, F_OK) == 0)
        CHECK_FAILS(plumb_file_open(&file, path), PLUMB_EMISSING, "HDF5 is not in this build");
    CHECK_FAILS(plumb_file_write(in_folder("y.h5"), &a, 1, false), PLUMB_EMISSING, "plumb-h5");
    setenv("PLUMB_H5", "/bin/false", 1);
    CHECK_FAILS(plumb_file_write(in_folder("y.h5"), &a, 1, false), PLUMB_EFORMAT, "gave up");
    setenv("PLUMB_H5", "/bin/true", 1);
    CHECK_FAILS(plumb_file_write(in_folder("y.h5"), &a, 1, false), PLUMB_EFORMAT, "gave up");
    unsetenv("PLUMB_H5");
    unlink(in_folder("x.h5"));
    CHECK_EQUAL(files_in_folder(), 0);
}

TEST(no_descriptor_is_left_open)
{
    const int before = dup(0);
    close(before);
    const plumb_named_array a = {"x", sample(PLUMB_FLOAT64)};
    static const char *const names[] = {"fd.npy", "fd.npz", "fd.h5"};
    for (int i = 0; i < 3; i++) {
        if (!can(strchr(names[i], '.'))) continue;
        CHECK_OK(plumb_file_write(in_folder(names[i]), &a, 1, false));
        plumb_file *file;
        plumb_array back;
        CHECK_OK(plumb_file_open(&file, path));
        CHECK_OK(plumb_file_read_array(&back, file, plumb_file_array_name(file, 0)));
        plumb_file_close(file);
        assert_int_equal(truncate(path, 100), 0);
        CHECK(plumb_file_open(&file, path) != PLUMB_OK);
        unlink(path);
    }
    const int after = dup(0);
    close(after);
    CHECK_EQUAL(before, after);
}

__attribute__((destructor)) static void tidy(void)
{
    rmdir(folder);
}
