// SPDX-License-Identifier: MIT
// .npz files written by hand and by plumb.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/fixtures.h"
#include "io/zip_directory.h"
#include "plumb/file.h"
#include "support/test.h"

static char path[] = "/tmp/plumb-npz-XXXXXX.npz";

static const char *fresh(void)
{
    strcpy(path, "/tmp/plumb-npz-XXXXXX.npz");
    const int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    return path;
}

static void payload(forge *f, unsigned char last)
{
    forge_npy(f, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }\n", 4);
    f->b[f->n - 1] = last;
}

// Reads `key` and returns its last byte.
static int last_of(const char *key)
{
    plumb_file *file;
    plumb_array a;
    CHECK_OK(plumb_file_open(&file, path));
    CHECK_OK(plumb_file_read_array(&a, file, key));
    CHECK_EQUAL(plumb_array_count(&a), 4);
    const int last = ((unsigned char *)a.data)[3];
    plumb_file_close(file);
    return last;
}

TEST(stored_and_zip64_members_are_read)
{
    forge x = {0}, y = {0}, f = {0};
    payload(&x, 7);
    payload(&y, 9);
    forge_member members[2] = {forge_stored("x.npy", &x), forge_stored("sub/y.npy", &y)};
    members[1].zip64 = true;
    forge_zip(&f, members, 2, (forge_end){.zip64 = true});
    assert_true(forge_save(&f, fresh()));
    CHECK_EQUAL(last_of("x"), 7);
    CHECK_EQUAL(last_of("sub/y"), 9);
    unlink(path);
    forge_clear(&x);
    forge_clear(&y);
    forge_clear(&f);
}

TEST(a_data_descriptor_behind_the_member_is_understood)
{
    forge x = {0}, body = {0}, f = {0};
    payload(&x, 7);
    forge_member m = forge_stored("x.npy", &x);
    const uint32_t crc = m.crc;
    m.flags = 8;
    m.crc = 0;
    m.size = m.packed = 0;
    // The local header says nothing; what it would have said follows the data.
    forge_local(&f, &m);
    forge_put(&f, x.b, x.n);
    forge_put(&f, "PK\7\10", 4);
    forge_number(&f, crc, 4);
    forge_number(&f, x.n, 4);
    forge_number(&f, x.n, 4);
    const size_t start = f.n;
    m.crc = crc;
    m.size = m.packed = x.n;
    forge_entry(&f, &m, 0);
    const size_t size = f.n - start;
    forge_put(&f, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    forge_number(&f, size, 4);
    forge_number(&f, start, 4);
    forge_number(&f, 0, 2);
    assert_true(forge_save(&f, fresh()));
    CHECK_EQUAL(last_of("x"), 7);
    unlink(path);
    forge_clear(&x);
    forge_clear(&body);
    forge_clear(&f);
}

TEST(a_comment_at_the_end_is_no_obstacle)
{
    forge x = {0}, f = {0};
    payload(&x, 3);
    const forge_member m = forge_stored("x.npy", &x);
    forge_zip(&f, &m, 1, (forge_end){0});
    f.b[f.n - 2] = 5;
    forge_put(&f, "hello", 5);
    assert_true(forge_save(&f, fresh()));
    CHECK_EQUAL(last_of("x"), 3);
    unlink(path);
    forge_clear(&x);
    forge_clear(&f);
}

TEST(members_that_are_not_arrays_are_left_alone)
{
    forge x = {0}, f = {0};
    payload(&x, 7);
    const forge_member members[3] = {forge_stored("notes.txt", &x), forge_stored("x.npy", &x),
                                     forge_stored(".npy", &x)};
    forge_zip(&f, members, 3, (forge_end){0});
    assert_true(forge_save(&f, fresh()));
    plumb_file *file;
    CHECK_OK(plumb_file_open(&file, path));
    CHECK_EQUAL(plumb_file_array_count(file), 1);
    CHECK_TEXT(plumb_file_array_name(file, 0), "x");
    plumb_file_close(file);
    unlink(path);
    forge_clear(&x);
    forge_clear(&f);
}

TEST(an_npz_cut_anywhere_is_refused)
{
    forge x = {0}, f = {0};
    payload(&x, 7);
    const forge_member members[2] = {forge_stored("x.npy", &x), forge_stored("y.npy", &x)};
    forge_zip(&f, members, 2, (forge_end){.zip64 = true});
    const size_t whole = f.n;
    fresh();
    for (f.n = 0; f.n < whole; f.n++) {
        assert_true(forge_save(&f, path));
        plumb_file *file;
        CHECK_FAILS(plumb_file_open(&file, path), PLUMB_EFORMAT, path);
    }
    unlink(path);
    forge_clear(&x);
    forge_clear(&f);
}

// One flipped bit anywhere: refused, or harmless; never something else than 4 bytes.
TEST(no_flipped_bit_does_harm)
{
    forge x = {0}, f = {0};
    payload(&x, 7);
    const forge_member m = forge_stored("x.npy", &x);
    forge_zip(&f, &m, 1, (forge_end){0});
    fresh();
    int wrong = 0;
    for (size_t bit = 0; bit < 8 * f.n; bit++) {
        f.b[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(forge_save(&f, path));
        f.b[bit / 8] ^= (unsigned char)(1 << bit % 8);
        plumb_file *file;
        plumb_array a;
        if (plumb_file_open(&file, path)) continue;
        if (!plumb_file_read_array(&a, file, plumb_file_array_name(file, 0)))
            wrong += memcmp(a.data, "\0\0\0\7", 4) != 0;
        plumb_file_close(file);
    }
    CHECK_EQUAL(wrong, 0);
    unlink(path);
    forge_clear(&x);
    forge_clear(&f);
}

TEST(equal_arrays_make_equal_files)
{
    double numbers[100];
    for (int i = 0; i < 100; i++) numbers[i] = i;
    const int64_t shape[] = {100};
    const plumb_named_array a = {"x", plumb_array_view(numbers, PLUMB_FLOAT64, 1, shape)};
    char *text[2];
    long size[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(plumb_file_write(fresh(), &a, 1, true));
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        text[i] = calloc(1, 10000);
        size[i] = (long)fread(text[i], 1, 10000, f);
        fclose(f);
        unlink(path);
    }
    CHECK_EQUAL(size[0], size[1]);
    CHECK(memcmp(text[0], text[1], (size_t)size[0]) == 0);
    free(text[0]);
    free(text[1]);
}
