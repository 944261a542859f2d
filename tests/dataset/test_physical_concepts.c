// SPDX-License-Identifier: MIT
// Records of Physical Concepts: valid ones are read exactly, invalid ones are rejected with a
// message that names the fault.
#define _GNU_SOURCE
#include "dataset/physical_concepts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/tf_example.h"
#include "io/tfrecord.h"
#include "io/tfrecord_shards.h"
#include "plumb/dataset.h"
#include "support/test.h"

enum { STEPS = 3, SIZE = 4, PIXELS = STEPS * SIZE * SIZE };

static uint8_t frames[4 * 3 * PIXELS], mask[4 * PIXELS];
static float pose[4 * STEPS * PHYSICAL_CONCEPTS_POSE];

static void fill(void)
{
    for (size_t i = 0; i < sizeof frames; i++) frames[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = (uint8_t)(i % 5);
    for (size_t i = 0; i < sizeof pose / sizeof *pose; i++) pose[i] = (float)i * 0.5f;
}

static buffer record(bool probe)
{
    const physical_concepts_layout p = {.probe = probe, .steps = STEPS, .size = SIZE};
    buffer rows = {0}, example = {0};
    fill();
    physical_concepts_append(&rows, &p, frames, mask, pose);
    tf_example_finish(&example, &rows);
    buffer_clear(&rows);
    return example;
}

static void check_read(bool probe)
{
    buffer example = record(probe), out = {0};
    physical_concepts_layout p;
    bool is = false;
    CHECK_OK(physical_concepts_detect(&p, &is, example.data, example.size, "x"));
    CHECK(is);
    CHECK_EQUAL(p.probe, probe);
    CHECK_EQUAL(p.steps, STEPS);
    CHECK_EQUAL(p.size, SIZE);
    const size_t clips = probe ? 4 : 1;
    const void *const want[] = {frames, mask, pose};
    const size_t bytes[] = {clips * 3 * PIXELS, clips * PIXELS,
                            clips * STEPS * PHYSICAL_CONCEPTS_POSE * sizeof(float)};
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++) {
        CHECK_OK(physical_concepts_read(&out, &p, k, example.data, example.size, "x"));
        CHECK_EQUAL(out.size, bytes[k]);
        CHECK(!memcmp(out.data, want[k], bytes[k]));
        const plumb_array a = physical_concepts_array(&p, k);
        CHECK_EQUAL((size_t)plumb_array_count(&a) * plumb_dtype_size(a.dtype), bytes[k]);
    }
    CHECK_TEXT(physical_concepts_name(2), "camera_pose");
    buffer_clear(&out);
    buffer_clear(&example);
}

TEST(a_clip_and_a_probe_are_read_as_they_are)
{
    check_read(false);
    check_read(true);
}

// An Example of these features with these sizes.
static plumb_status look(size_t image, size_t masks, int64_t numbers, bool with_pose)
{
    buffer rows = {0}, example = {0};
    static uint8_t bytes[4096];
    static float reals[256];
    physical_concepts_layout p;
    bool is = false;
    tf_example_put_bytes(&rows, "image", bytes, image);
    tf_example_put_bytes(&rows, "mask", bytes, masks);
    if (with_pose) tf_example_put_floats(&rows, "camera_pose", reals, numbers);
    tf_example_finish(&example, &rows);
    const plumb_status st =
        physical_concepts_detect(&p, &is, example.data, example.size, "f: record 7");
    buffer_clear(&rows);
    buffer_clear(&example);
    return st;
}

TEST(sizes_that_fit_no_clip_are_refused)
{
    CHECK_OK(look(3 * PIXELS, PIXELS, 6 * STEPS, true));
    CHECK_FAILS(look(3 * PIXELS, PIXELS, 6 * STEPS, false), PLUMB_EFORMAT,
                "f: record 7 has no feature \"camera_pose\"");
    CHECK_FAILS(look(3 * PIXELS - 1, PIXELS, 6 * STEPS, true), PLUMB_EFORMAT, "no clip of square");
    CHECK_FAILS(look(3 * PIXELS, PIXELS - 1, 6 * STEPS, true), PLUMB_EFORMAT, "f: record 7");
    CHECK_FAILS(look(3 * PIXELS, PIXELS, 6 * STEPS - 1, true), PLUMB_EFORMAT, "no clip");
    CHECK_FAILS(look(0, 0, 0, true), PLUMB_EFORMAT, "no clip");
    CHECK_FAILS(look(0, 0, 6, true), PLUMB_EFORMAT, "no clip");
}

TEST(a_record_unlike_the_first_is_refused)
{
    buffer example = record(true), out = {0};
    const physical_concepts_layout other = {.probe = true, .steps = STEPS, .size = SIZE + 1};
    const physical_concepts_layout clip = {.steps = STEPS, .size = SIZE};
    CHECK_FAILS(physical_concepts_read(&out, &other, 0, example.data, example.size, "f: record 2"),
                PLUMB_EFORMAT, "f: record 2: \"possible_image\" has 288 bytes, wanted 450");
    CHECK_FAILS(physical_concepts_read(&out, &clip, 1, example.data, example.size, "f: record 2"),
                PLUMB_EFORMAT, "f: record 2 has no feature \"mask\"");
    buffer_clear(&out);
    buffer_clear(&example);
}

TEST(kinds_that_are_wrong_are_refused)
{
    buffer rows = {0}, example = {0};
    physical_concepts_layout p;
    bool is = false;
    const int64_t numbers[3] = {1, 2, 3};
    tf_example_put_integers(&rows, "image", numbers, 3);
    tf_example_put_bytes(&rows, "mask", "abc", 3);
    tf_example_finish(&example, &rows);
    CHECK_FAILS(physical_concepts_detect(&p, &is, example.data, example.size, "x"), PLUMB_EFORMAT,
                "not a list of bytes");
    buffer_reset(&rows);
    tf_example_put_bytes(&rows, "picture", "abc", 3);
    tf_example_finish(&example, &rows);
    CHECK_OK(physical_concepts_detect(&p, &is, example.data, example.size, "x"));
    CHECK(!is);
    buffer_clear(&rows);
    buffer_clear(&example);
}

// Any byte of a file wrong, or any number of them missing: an error, and it names the record.
TEST(damage_is_named)
{
    buffer one = record(false), whole = {0};
    char folder[] = "/tmp/plumb-physical-XXXXXX", path[64];
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    CHECK(mkdtemp(folder)); // where no features.txt lies about
    snprintf(path, sizeof path, "%s/x.tfrecord", folder);
    tfrecord_frame(head, tail, one.data, one.size);
    for (int i = 0; i < 2; i++) {
        buffer_put(&whole, head, sizeof head);
        buffer_put(&whole, one.data, one.size);
        buffer_put(&whole, tail, sizeof tail);
    }
    for (size_t at = 0; at < whole.size; at += 37) {
        for (int cut = 0; cut < 2; cut++) {
            FILE *f = fopen(path, "wb");
            whole.data[at] ^= 4;
            fwrite(whole.data, 1, cut ? at : whole.size, f);
            whole.data[at] ^= 4;
            fclose(f);
            plumb_dataset *d = NULL;
            plumb_array a;
            plumb_status st = plumb_dataset_open(&d, path, NULL);
            for (int64_t i = 0; !st && i < 2; i++) st = plumb_dataset_read_field(&a, d, i, "mask");
            plumb_dataset_close(d);
            // A file cut between records is shorter, and nothing shows.
            if (cut && at == 0) continue;
            CHECK(st);
            if (cut && at == whole.size / 2) continue;
            CHECK(strstr(plumb_last_error(), "record "));
        }
    }
    unlink(path);
    rmdir(folder);
    buffer_clear(&whole);
    buffer_clear(&one);
}

TEST(names_of_shards_and_worlds)
{
    CHECK(tfrecord_shards_is_name("a/data.tfrecord-00003-of-00020"));
    CHECK(!tfrecord_shards_is_name("data.tfrecord"));
    CHECK(!tfrecord_shards_is_name("data.tfrecord-0003-of-00020"));
    CHECK(!tfrecord_shards_is_name("data.tfrecord-0000x-of-00020"));
    CHECK(!tfrecord_shards_is_name(".tfrecord-00000-of-00001"));
    char world[64], concept[32];
    physical_concepts_world(world, concept,
                            "x/probes/directional_inertia/data.tfrecord-00000-of-00020");
    CHECK_TEXT(world, "rooms/directional-inertia");
    CHECK_TEXT(concept, "directional_inertia");
    physical_concepts_world(world, concept, "/y/freeform/test/data.tfrecord-00000-of-00010");
    CHECK_TEXT(world, "rooms/freeform");
    CHECK_TEXT(concept, "");
    physical_concepts_world(world, NULL, "somewhere/solidity_else/x.tfrecord");
    CHECK_TEXT(world, "");
}
