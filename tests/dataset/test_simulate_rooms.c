// SPDX-License-Identifier: MIT
// Simulated rooms have the same bytes for any number of threads, and survive a round trip through
// the layout of Physical Concepts bit by bit.
#define _GNU_SOURCE
#include <sys/stat.h>

#include "dataset/dataset.h"
#include "evaluate/probe_fixtures.h"
#include "support/simulate.h"

static char folder[] = "/tmp/plumb-simulate-rooms-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    static bool made; // a name can end in X
    if (!made) CHECK(mkdtemp(folder));
    made = true;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static unsigned char *whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    CHECK(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*size + 1);
    CHECK(fread(bytes, 1, *size, f) == *size);
    fclose(f);
    return bytes;
}

static void same_files(const char *a, const char *b)
{
    size_t n, m;
    unsigned char *x = whole(a, &n), *y = whole(b, &m);
    CHECK_EQUAL(n, m);
    CHECK(!memcmp(x, y, n));
    free(x);
    free(y);
}

static const plumb_world *room(const char *name)
{
    const plumb_world *found = NULL;
    CHECK_OK(plumb_world_find(&found, name));
    return found;
}

// Every field that both have is the same in items a + i and b + i.
static void same_items(const char *x, int64_t a, const char *y, int64_t b, int64_t count,
                       int64_t fields)
{
    plumb_dataset *p = NULL, *q = NULL;
    CHECK_OK(plumb_dataset_open(&p, x, NULL));
    CHECK_OK(plumb_dataset_open(&q, y, NULL));
    int64_t compared = 0;
    for (int64_t f = 0; f < plumb_dataset_field_count(p); f++) {
        const char *name = plumb_dataset_field_name(p, f);
        if (!plumb_dataset_has_field(q, name) || plumb_dataset_is_shared(p, name)) continue;
        compared++;
        for (int64_t i = 0; i < count; i++) {
            plumb_array u, v;
            CHECK_OK(plumb_dataset_read_field(&u, p, a + i, name));
            CHECK_OK(plumb_dataset_read_field(&v, q, b + i, name));
            CHECK_EQUAL(u.dtype, v.dtype);
            CHECK_EQUAL(plumb_array_count(&u), plumb_array_count(&v));
            CHECK(
                !memcmp(u.data, v.data, (size_t)plumb_array_count(&u) * plumb_dtype_size(u.dtype)));
        }
    }
    CHECK_EQUAL(compared, fields);
    plumb_dataset_close(p);
    plumb_dataset_close(q);
}

TEST(threads_change_no_byte_of_a_file)
{
    for (int64_t i = 0; i < plumb_world_count(); i++) {
        const plumb_world *r = plumb_world_at(i);
        if (plumb_world_get_info(r)->kind == PLUMB_WORLD_TRAJECTORY) continue;
        const char *one = in_folder("one.npz"), *many = in_folder("many.npz");
        CHECK_OK(write_room(
            one, r, (room_file){.count = 7, .seed = 4, .first = 2, .image = 32, .threads = 1},
            NULL));
        CHECK_OK(write_room(
            many, r, (room_file){.count = 7, .seed = 4, .first = 2, .image = 32, .threads = 5},
            NULL));
        same_files(one, many);
        unlink(one);
        unlink(many);
    }
}

TEST(a_file_that_begins_later_has_the_same_items)
{
    const char *all = in_folder("all.npz"), *part = in_folder("part.npz");
    CHECK_OK(write_room(all, room("rooms/solidity"),
                        (room_file){.count = 6, .seed = 4, .image = 16, .threads = 2}, NULL));
    CHECK_OK(write_room(part, room("rooms/solidity"),
                        (room_file){.count = 2, .seed = 4, .first = 3, .image = 16, .threads = 2},
                        NULL));
    same_items(all, 3, part, 0, 2, 6);
    unlink(all);
    unlink(part);
}

static void round_trip(const char *name, const char *sub, int64_t fields)
{
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.published = true;
    char path[256], shard[512];
    snprintf(path, sizeof path, "%s", in_folder(sub));
    mkdir(path, 0777);
    snprintf(shard, sizeof shard, "%s/data.tfrecord-00000-of-00001", path);
    const char *npz = in_folder("x.npz"), *back = in_folder("back.npz");
    CHECK_OK(write_room(npz, room(name),
                        (room_file){.count = 3, .seed = 1, .image = 32, .threads = 1}, NULL));
    CHECK_OK(write_room(shard, room(name),
                        (room_file){.count = 3, .seed = 1, .image = 32, .threads = 1}, &opt));
    same_items(npz, 0, shard, 0, 3, fields);
    same_items(npz, 0, path, 0, 3, fields); // the folder
    int64_t records = 0;
    CHECK_OK(plumb_dataset_convert(&records, back, path, NULL, NULL));
    CHECK_EQUAL(records, 3);
    same_items(npz, 0, back, 0, 3, fields);
    char world[64];
    plumb_dataset *d = NULL;
    CHECK_OK(plumb_dataset_open(&d, back, NULL));
    CHECK_TEXT(plumb_dataset_world_name(world, d), name);
    plumb_dataset_close(d);
    unlink(npz);
    unlink(back);
    unlink(shard);
    rmdir(path);
}

TEST(physical_concepts_and_back)
{
    round_trip("rooms/freeform", "freeform", 3);
    round_trip("rooms/object-persistence", "object_persistence", 4); // with concept
}

// Without --published a .tfrecord has all fields, and features.txt beside it.
TEST(plumbs_own_records_have_everything)
{
    const char *npz = in_folder("y.npz"), *records = in_folder("y.tfrecord");
    CHECK_OK(write_room(npz, room("rooms/solidity"),
                        (room_file){.count = 2, .seed = 1, .image = 16, .threads = 1}, NULL));
    CHECK_OK(write_room(records, room("rooms/solidity"),
                        (room_file){.count = 2, .seed = 1, .image = 16, .threads = 1}, NULL));
    same_items(npz, 0, records, 0, 2, 6);
    unlink(npz);
    unlink(records);
    unlink(in_folder("features.txt"));
}

TEST(shards_are_one_row_and_empty_ones_are_no_fault)
{
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.published = true;
    char path[256], shard[3][512];
    snprintf(path, sizeof path, "%s", in_folder("solidity"));
    mkdir(path, 0777);
    for (int i = 0; i < 3; i++)
        snprintf(shard[i], sizeof shard[i], "%s/data.tfrecord-0000%d-of-00003", path, i);
    CHECK_OK(write_room(shard[0], room("rooms/solidity"),
                        (room_file){.count = 2, .seed = 1, .image = 16, .threads = 1}, &opt));
    CHECK_OK(write_room(shard[2], room("rooms/solidity"),
                        (room_file){.count = 3, .seed = 1, .first = 2, .image = 16, .threads = 1},
                        &opt));
    FILE *empty = fopen(shard[1], "wb");
    CHECK(empty);
    fclose(empty);
    const char *npz = in_folder("z.npz");
    CHECK_OK(write_room(npz, room("rooms/solidity"),
                        (room_file){.count = 5, .seed = 1, .image = 16, .threads = 1}, NULL));
    same_items(npz, 0, path, 0, 5, 4);
    plumb_dataset *d = NULL;
    plumb_array a;
    CHECK_OK(plumb_dataset_open(&d, path, NULL));
    CHECK_EQUAL(dataset_shard_count(d), 3);
    CHECK_EQUAL(plumb_dataset_item_count(d), 5);
    plumb_dataset_close(d);
    CHECK_OK(plumb_dataset_open(&d, shard[1], NULL));
    CHECK_EQUAL(plumb_dataset_item_count(d), 0);
    CHECK_FAILS(plumb_dataset_read_field(&a, d, 0, "frames"), PLUMB_EFORMAT, "holds no record");
    plumb_dataset_close(d);
    unlink(npz);
    for (int i = 0; i < 3; i++) unlink(shard[i]);
    rmdir(path);
}

TEST(what_cannot_be_written_is_refused_and_leaves_nothing)
{
    const plumb_world *r = room("rooms/solidity");
    const char *path = in_folder("none.npz");
    CHECK_FAILS(
        write_room(path, r, (room_file){.count = 0, .seed = 1, .image = 16, .threads = 1}, NULL),
        PLUMB_EVALUE, "count is 0");
    CHECK_FAILS(
        write_room(path, r,
                   (room_file){.count = 1, .seed = 1, .first = -1, .image = 16, .threads = 1},
                   NULL),
        PLUMB_EVALUE, "first is -1");
    CHECK_FAILS(
        write_room(path, r, (room_file){.count = 1, .seed = 1, .image = 17, .threads = 1}, NULL),
        PLUMB_EVALUE, "image is 17");
    CHECK_FAILS(write_room(in_folder("x.txt"), r,
                           (room_file){.count = 1, .seed = 1, .image = 16, .threads = 1}, NULL),
                PLUMB_EFILE, "ends in none");
    CHECK_FAILS(write_room(in_folder("x.tfrecord-00000-of-00001"), r,
                           (room_file){.count = 1, .seed = 1, .image = 16, .threads = 1}, NULL),
                PLUMB_EFILE, "ends in none");
    CHECK(access(path, F_OK));
    CHECK(!rmdir(folder));
}
