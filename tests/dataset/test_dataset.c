// SPDX-License-Identifier: MIT
// Datasets are written item by item and read back from every format. Records that contradict
// features.txt are rejected.
#define _GNU_SOURCE
#include "plumb/dataset.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "dataset/dm_hamiltonian.h"
#include "dataset/features_txt.h"
#include "dataset/writer.h"
#include "io/hdf5/client.h"
#include "io/png.h"
#include "io/tf_example.h"
#include "io/tfrecord.h"
#include "support/test.h"

#undef fail // cmocka has a macro of this name

static char folder[64];

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    if (!folder[0]) {
        strcpy(folder, "/tmp/plumb-dataset-XXXXXX");
        CHECK(mkdtemp(folder));
    }
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int files_left(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) count += e->d_name[0] != '.';
    if (dir) closedir(dir);
    return count;
}

static void empty_folder(void)
{
    in_folder("");
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.') unlink(in_folder(e->d_name));
    if (dir) closedir(dir);
}

// ---- writing and reading back ----

enum { ITEMS = 5, STEPS = 3, FIELDS = 9 };
static uint8_t frames[ITEMS][STEPS][4][4][3];
static double state[ITEMS][STEPS][2], mass[ITEMS];
static float pair[ITEMS][3];
static int64_t color[ITEMS][1];
static int16_t small[ITEMS][2];
static uint8_t flag[ITEMS];
static uint8_t world[4] = {'m', 'd', '-', '4'};
static int64_t upright = 1;

static void fill(writer_field field[FIELDS])
{
    for (size_t i = 0; i < sizeof frames; i++) ((uint8_t *)frames)[i] = (uint8_t)(i * 31);
    for (int i = 0; i < ITEMS; i++) {
        for (int k = 0; k < 6; k++) (&state[i][0][0])[k] = 1.0 / (i + k + 1) - 0.3;
        for (int k = 0; k < 3; k++) pair[i][k] = (float)i + 0.5f * (float)k;
        mass[i] = 0.1 * i;
        color[i][0] = i - 2;
        small[i][0] = (int16_t)(i - 300);
        small[i][1] = INT16_MAX;
        flag[i] = (uint8_t)(i % 2);
    }
#define ROW(n, type, ndim, ...) \
    (writer_field){.name = n, .array = plumb_array_view(NULL, type, ndim, (int64_t[]){__VA_ARGS__})}
    field[0] = ROW("frames", PLUMB_UINT8, 4, STEPS, 4, 4, 3);
    field[1] = ROW("state", PLUMB_FLOAT64, 2, STEPS, 2);
    field[2] = ROW("m", PLUMB_FLOAT64, 0, 0);
    field[3] = ROW("odd", PLUMB_FLOAT32, 1, 3);
    field[4] = ROW("color_index", PLUMB_INT64, 1, 1);
    field[5] = ROW("small", PLUMB_INT16, 1, 2);
    field[6] = ROW("flag", PLUMB_BOOL, 0, 0);
    field[7] = ROW("world", PLUMB_UINT8, 1, 4);
    field[7].shared = true;
    field[7].array.data = world;
    field[8] = ROW("upright", PLUMB_INT64, 0, 0);
    field[8].shared = true;
    field[8].array.data = &upright;
}

static plumb_status write_items(const char *path, int items, const plumb_dataset_write_options *opt)
{
    writer_field field[FIELDS];
    fill(field);
    dataset_writer *w;
    plumb_status st = writer_open(&w, path, field, FIELDS, ITEMS, opt);
    if (st) return st;
    buffer packed = {0};
    for (int i = 0; i < items && !st; i++) {
        const void *data[FIELDS] = {frames[i], state[i], &mass[i], pair[i], color[i],
                                    small[i],  &flag[i], NULL,     NULL};
        st = writer_pack(&packed, w, data);
        if (!st) st = writer_append(w, data, &packed);
    }
    buffer_clear(&packed);
    if (st || items < ITEMS) writer_discard(w);
    else st = writer_commit(w);
    return st;
}

static void check_field(plumb_dataset *d, int64_t item, const char *name, plumb_dtype dtype,
                        int ndim, const void *data, size_t bytes)
{
    plumb_array a;
    CHECK_OK(plumb_dataset_read_field(&a, d, item, name));
    CHECK_EQUAL(a.dtype, dtype);
    CHECK_EQUAL(a.ndim, ndim);
    CHECK_EQUAL((size_t)plumb_array_count(&a) * plumb_dtype_size(a.dtype), bytes);
    CHECK(!memcmp(a.data, data, bytes));
}

static void check_items(const char *path)
{
    plumb_dataset *d;
    plumb_array a;
    CHECK_OK(plumb_dataset_open(&d, path, NULL));
    CHECK_EQUAL(plumb_dataset_item_count(d), ITEMS);
    CHECK_EQUAL(plumb_dataset_field_count(d), FIELDS);
    static const int order[] = {0, 4, 2, 2, 1, 3, 0};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        const int i = order[k];
        check_field(d, i, "frames", PLUMB_UINT8, 4, frames[i], sizeof frames[i]);
        check_field(d, i, "state", PLUMB_FLOAT64, 2, state[i], sizeof state[i]);
        check_field(d, i, "m", PLUMB_FLOAT64, 0, &mass[i], 8);
        check_field(d, i, "odd", PLUMB_FLOAT32, 1, pair[i], sizeof pair[i]);
        check_field(d, i, "color_index", PLUMB_INT64, 1, color[i], 8);
        check_field(d, i, "small", PLUMB_INT16, 1, small[i], sizeof small[i]);
        check_field(d, i, "flag", PLUMB_BOOL, 0, &flag[i], 1);
        check_field(d, i, "world", PLUMB_UINT8, 1, world, 4);
        check_field(d, i, "upright", PLUMB_INT64, 0, &upright, 8);
    }
    char name[64];
    CHECK_TEXT(plumb_dataset_world_name(name, d), "md-4");
    CHECK(plumb_dataset_is_shared(d, "world") && plumb_dataset_is_shared(d, "upright"));
    CHECK(!plumb_dataset_is_shared(d, "m") && !plumb_dataset_has_field(d, "absent"));
    CHECK_FAILS(plumb_dataset_read_field(&a, d, 0, "absent"), PLUMB_EFILE, "no array \"absent\"");
    CHECK_FAILS(plumb_dataset_read_field(&a, d, ITEMS, "m"), PLUMB_EVALUE, "only 0 to 4");
    CHECK_FAILS(plumb_dataset_read_field(&a, d, -1, "m"), PLUMB_EVALUE, "no item -1");
    plumb_dataset_close(d);
}

TEST(every_kind_of_file_gives_back_every_bit)
{
    static const char *const names[] = {"x.npz", "x.tfrecord", "x.h5", "x.hdf5"};
    for (int i = 0; i < (hdf5_client_available() ? 4 : 2); i++)
        for (int compress = 0; compress < 2; compress++) {
            plumb_dataset_write_options opt = plumb_dataset_write_defaults();
            opt.compress = compress;
            empty_folder();
            CHECK_OK(write_items(in_folder(names[i]), ITEMS, &opt));
            check_items(in_folder(names[i]));
            CHECK_EQUAL(files_left(), i == 1 ? 2 : 1);
        }
}

TEST(conversions_keep_every_bit_whatever_the_way)
{
    static const char *const way[] = {"a.npz", "b.tfrecord", "c.npz",
                                      "d.h5",  "e.tfrecord", "f.npz"};
    const int last = hdf5_client_available() ? 6 : 3;
    empty_folder();
    CHECK_OK(write_items(in_folder(way[0]), ITEMS, NULL));
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.replace = true; // HDF5 lists in another order, so features.txt says the same otherwise
    for (int i = 1; i < last; i++) {
        int64_t records;
        opt.compress = i % 2;
        CHECK_OK(
            plumb_dataset_convert(&records, in_folder(way[i]), in_folder(way[i - 1]), NULL, &opt));
        CHECK_EQUAL(records, ITEMS);
        check_items(in_folder(way[i]));
    }
}

TEST(a_writer_that_gives_up_leaves_nothing)
{
    static const char *const names[] = {"x.npz", "x.tfrecord", "x.h5"};
    for (int i = 0; i < (hdf5_client_available() ? 3 : 2); i++)
        for (int compress = 0; compress < 2; compress++) {
            plumb_dataset_write_options opt = plumb_dataset_write_defaults();
            opt.compress = compress;
            empty_folder();
            CHECK_OK(write_items(in_folder(names[i]), 3, &opt));
            CHECK_EQUAL(files_left(), 0);
        }
}

TEST(a_file_that_is_there_is_overwritten_only_on_request)
{
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    empty_folder();
    CHECK_OK(write_items(in_folder("x.npz"), ITEMS, &opt));
    CHECK_FAILS(write_items(in_folder("x.npz"), ITEMS, &opt), PLUMB_EFILE, "is there already");
    opt.replace = true;
    CHECK_OK(write_items(in_folder("x.npz"), ITEMS, &opt));
    opt.replace = false;
    CHECK_OK(write_items(in_folder("a.tfrecord"), ITEMS, &opt));
    CHECK_OK(write_items(in_folder("b.tfrecord"), ITEMS, &opt)); // the same list of features
    opt.published = true;
    CHECK_FAILS(write_items(in_folder("c.tfrecord"), ITEMS, &opt), PLUMB_EFILE,
                "describes other records");
    CHECK_EQUAL(files_left(), 4);
    CHECK_FAILS(write_items(in_folder("x.txt"), ITEMS, &opt), PLUMB_EFILE, "ends in none of");
    CHECK_FAILS(write_items(in_folder("no/x.npz"), ITEMS, &opt), PLUMB_EFILE, "cannot be written");
}

TEST(published_records_have_what_the_published_files_have_and_no_more)
{
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.published = opt.narrow = true;
    empty_folder();
    CHECK_OK(write_items(in_folder("x.tfrecord"), ITEMS, &opt));
    char text[256] = "";
    FILE *f = fopen(in_folder("features.txt"), "r");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    CHECK_TEXT(text, "image, (3, 4, 4, 3), uint8\nx, (3, 2), float32\nother/m, (1,), float32\n"
                     "other/color_index, (1, 1), int64\n");
    plumb_dataset *d;
    plumb_array a;
    CHECK_OK(plumb_dataset_open(&d, in_folder("x.tfrecord"), NULL));
    CHECK_OK(plumb_dataset_read_field(&a, d, 4, "state"));
    CHECK_EQUAL(a.dtype, PLUMB_FLOAT32);
    for (int i = 0; i < 6; i++) CHECK(((float *)a.data)[i] == (float)(&state[4][0][0])[i]);
    plumb_dataset_close(d);
}

// ---- features.txt ----

static plumb_status parse(const char *text)
{
    arena mem = {0};
    feature_specs list;
    const plumb_status st = features_txt_parse(&list, &mem, text, strlen(text), "f.txt");
    arena_clear(&mem);
    return st;
}

TEST(lists_of_features_are_read_as_published_writers_leave_them)
{
    arena mem = {0};
    feature_specs list;
    const char *text = "x, (10, 2), float64\r\nother/m, (1,), float32\n\nk, (), int64\n"
                       "i, (2,), <class 'jax.numpy.int64'>";
    CHECK_OK(features_txt_parse(&list, &mem, text, strlen(text), "f.txt"));
    CHECK_EQUAL(list.count, 4);
    CHECK(list.spec[0].ndim == 2 && list.spec[0].shape[1] == 2 &&
          list.spec[0].dtype == PLUMB_FLOAT64);
    CHECK(list.spec[1].ndim == 1 && list.spec[1].shape[0] == 1 &&
          list.spec[1].dtype == PLUMB_FLOAT32);
    CHECK(list.spec[2].ndim == 0 && list.spec[3].dtype == PLUMB_INT64);
    arena_clear(&mem);
    CHECK_FAILS(parse(""), PLUMB_EFORMAT, "names no feature");
    CHECK_FAILS(parse("x\n"), PLUMB_EFORMAT, "line 1: no key and shape");
    CHECK_FAILS(parse("\n\nx, (1, float64\n"), PLUMB_EFORMAT, "line 3: no type");
    CHECK_FAILS(parse("x, (1,), complex64\n"), PLUMB_EFORMAT, "the type is unknown");
    CHECK_FAILS(parse("x, (-1,), float64\n"), PLUMB_EFORMAT, "the shape is none");
    CHECK_FAILS(parse("x, (99999999999999999999,), float64\n"), PLUMB_EFORMAT, "the shape is none");
    CHECK_FAILS(parse("x, (4294967296, 4294967296), float64\n"), PLUMB_EFORMAT,
                "the shape is none");
    CHECK_FAILS(parse("x, (1,), int64\nx, (1,), int64\n"), PLUMB_EFORMAT, "stands there twice");
}

TEST(published_folders_have_the_names_of_worlds)
{
    char name[64];
    dm_hamiltonian_world(name, "pendulum_colors_dt_0_05");
    CHECK_TEXT(name, "pendulum+c");
    dm_hamiltonian_world(name, "double_pendulum_colors_friction");
    CHECK_TEXT(name, "double-pendulum+c-friction");
    dm_hamiltonian_world(name, "rock_paper_scissors_long_trajectory");
    CHECK_TEXT(name, "rock-paper-scissors");
    dm_hamiltonian_world(name, "lj_16");
    CHECK_TEXT(name, "md-16");
}

// ---- records that are not what the list says ----

static void save_record(const char *list, buffer *rows)
{
    buffer example = {0};
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    tf_example_finish(&example, rows);
    tfrecord_frame(head, tail, example.data, example.size);
    FILE *f = fopen(in_folder("x.tfrecord"), "wb");
    CHECK(f);
    fwrite(head, 1, sizeof head, f);
    fwrite(example.data, 1, example.size, f);
    fwrite(tail, 1, sizeof tail, f);
    fclose(f);
    f = fopen(in_folder("features.txt"), "wb");
    CHECK(f);
    fputs(list, f);
    fclose(f);
    buffer_clear(&example);
    buffer_clear(rows);
}

static plumb_status read_record(plumb_array *a, const char *name, plumb_dataset **d)
{
    CHECK_OK(plumb_dataset_open(d, in_folder("x.tfrecord"), NULL));
    return plumb_dataset_read_field(a, *d, 0, name);
}

static void refused(const char *list, buffer *rows, const char *name, const char *words)
{
    plumb_dataset *d;
    plumb_array a;
    save_record(list, rows);
    CHECK_FAILS(read_record(&a, name, &d), PLUMB_EFORMAT, words);
    CHECK(strstr(plumb_last_error(), "x.tfrecord: record 0"));
    plumb_dataset_close(d);
}

TEST(a_record_that_is_not_what_the_list_says_is_refused_in_one_line)
{
    buffer r = {0}, png = {0};
    const int64_t values[] = {1, 2, 300};
    const float floats[] = {1.5f, 2.5f};
    empty_folder();
    tf_example_put_integers(&r, "y", values, 3);
    refused("x, (3,), int64\n", &r, "state", "record 0 has no feature \"x\"");
    tf_example_put_integers(&r, "x", values, 3);
    refused("x, (4,), int64\n", &r, "state", "\"x\" has 3 integers, wanted 4");
    tf_example_put_integers(&r, "x", values, 3);
    refused("x, (4,), float32\n", &r, "state", "\"x\" has 3 integers, wanted 2");
    tf_example_put_integers(&r, "x", values, 3);
    refused("x, (3,), int8\n", &r, "state", "outside the range");
    tf_example_put_integers(&r, "x", values, 3);
    refused("x, (3,), bool\n", &r, "state", "outside the range");
    tf_example_put_floats(&r, "x", floats, 2);
    refused("x, (3,), float64\n", &r, "state", "\"x\" has 2 floats, wanted 3");
    tf_example_put_floats(&r, "x", floats, 2);
    refused("x, (2,), int64\n", &r, "state", "holds floats, wanted integers");
    tf_example_put_bytes(&r, "image", "png?", 4);
    refused("image, (1, 2, 2, 3), uint8\n", &r, "frames", "damaged PNG");
    tf_example_put_bytes(&r, "image", "png?", 4);
    refused("image, (1000, 1000, 900, 3), uint8\n", &r, "frames", "cannot hold");
    tf_example_put_bytes(&r, "image", "png?", 4);
    refused("image, (100000, 1000, 900, 3), uint8\n", &r, "frames", "so many rows");
    const uint8_t pixels[24] = {0};
    CHECK_OK(png_write(&png, pixels, (png_shape){2, 4, 3, 0}, PNG_USE_VIDEO));
    tf_example_put_bytes(&r, "image", png.data, png.size);
    refused("image, (3, 2, 2, 3), uint8\n", &r, "frames", "the PNG is 2 x 4, wanted 2 x 6");
    tf_example_put_integers(&r, "x", values, 3);
    r.size -= 2;
    r.data[1] -= 2; // the entry ends inside its list
    refused("x, (3,), int64\n", &r, "state", "damaged protobuf");
    buffer_clear(&png);
    empty_folder();
    rmdir(folder);
    folder[0] = 0;
}

TEST(lists_of_floats_and_bytes_are_taken_too)
{
    buffer r = {0};
    plumb_dataset *d;
    plumb_array a;
    const float floats[] = {1.5f, 2.5f};
    empty_folder();
    tf_example_put_floats(&r, "x", floats, 2);
    tf_example_put_bytes(&r, "raw", "abc", 3);
    save_record("x, (2,), float64\nraw, (3,), uint8\n", &r);
    CHECK_OK(read_record(&a, "state", &d));
    CHECK(((double *)a.data)[1] == 2.5);
    CHECK_OK(plumb_dataset_read_field(&a, d, 0, "raw"));
    CHECK(!memcmp(a.data, "abc", 3));
    plumb_dataset_close(d);
    CHECK_FAILS(plumb_dataset_open(&d, folder, NULL), PLUMB_EFILE, "neither train.tfrecord nor");
    rename(in_folder("x.tfrecord"), in_folder("test.tfrecord"));
    CHECK_FAILS(plumb_dataset_open(&d, folder, "train"), PLUMB_EFILE, "no train.tfrecord");
    CHECK_OK(plumb_dataset_open(&d, folder, NULL));
    plumb_dataset_close(d);
    CHECK_FAILS(plumb_dataset_open(&d, in_folder("test.tfrecord"), "test"), PLUMB_EVALUE,
                "for a folder");
    unlink(in_folder("features.txt"));
    CHECK_FAILS(plumb_dataset_open(&d, folder, NULL), PLUMB_EFILE, "is not beside it");
    empty_folder();
    rmdir(folder);
    folder[0] = 0;
}
