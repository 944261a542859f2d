// SPDX-License-Identifier: MIT
#include "io/tfrecord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/fixtures.h"
#include "support/test.h"

static const char *path(void)
{
    static char name[64];
    snprintf(name, sizeof name, "/tmp/plumb-test-tfrecord-%d", (int)getpid());
    return name;
}

static void put_record(forge *f, const void *data, size_t size)
{
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    tfrecord_frame(head, tail, data, size);
    forge_put(f, head, sizeof head);
    forge_put(f, data, size);
    forge_put(f, tail, sizeof tail);
}

static void put_three(forge *f)
{
    put_record(f, "first", 5);
    put_record(f, "", 0);
    put_record(f, "the third record", 16);
}

static bool to_forge(void *context, const void *data, size_t bytes)
{
    forge_put(context, data, bytes);
    return true;
}

static void gzip(forge *out, const unsigned char *data, size_t size)
{
    deflate_writer *sink;
    CHECK_OK(deflate_create(&sink, DEFLATE_GZIP, to_forge, out, "x"));
    CHECK_OK(deflate_write(sink, data, size));
    CHECK_OK(deflate_finish(sink));
    deflate_free(sink);
}

static plumb_status open_forged(tfrecord *out, const forge *f)
{
    CHECK(forge_save(f, path()));
    return tfrecord_open(out, path());
}

static void check_three(tfrecord *file)
{
    const unsigned char *data;
    size_t size;
    static const char *const wanted[] = {"first", "", "the third record"};
    static const int64_t order[] = {0, 1, 2, 2, 0, 1, 0};
    CHECK_EQUAL(file->count, 3);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        CHECK_OK(tfrecord_read(&data, &size, file, order[i]));
        CHECK_EQUAL(size, strlen(wanted[order[i]]));
        CHECK(!memcmp(data, wanted[order[i]], size));
    }
}

TEST(the_checksum_has_its_known_value)
{
    CHECK_EQUAL(tfrecord_crc("123456789", 9), 0xe3069283u);
    CHECK_EQUAL(tfrecord_crc_reference("123456789", 9), 0xe3069283u);
    // The masked sum of an empty record, as every TFRecord file of one has it.
    unsigned char head[12], tail[4];
    tfrecord_frame(head, tail, "", 0);
    CHECK(!memcmp(head, "\0\0\0\0\0\0\0\0\x29\x03\x98\x07", 12));
    CHECK(!memcmp(tail, "\xd8\xea\x82\xa2", 4));
}

TEST(the_instruction_and_the_table_agree_at_every_length_and_place)
{
    unsigned char bytes[300];
    for (int i = 0; i < 300; i++) bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t from = 0; from < 9; from++)
        for (size_t size = 0; size + from <= sizeof bytes; size++)
            CHECK_EQUAL(tfrecord_crc(bytes + from, size),
                        tfrecord_crc_reference(bytes + from, size));
}

TEST(records_come_back_in_any_order)
{
    forge f = {0};
    tfrecord file;
    put_three(&f);
    CHECK_OK(open_forged(&file, &f));
    check_three(&file);
    tfrecord_close(&file);
    forge_clear(&f);
}

TEST(gzip_files_are_read_like_plain_ones_also_in_several_members)
{
    forge f = {0}, packed = {0};
    tfrecord file;
    put_three(&f);
    gzip(&packed, f.b, f.n);
    CHECK_OK(open_forged(&file, &packed));
    CHECK(file.reader);
    check_three(&file);
    tfrecord_close(&file);
    forge_clear(&packed);
    for (size_t i = 0; i < f.n; i += 7) gzip(&packed, f.b + i, f.n - i < 7 ? f.n - i : 7);
    CHECK_OK(open_forged(&file, &packed));
    check_three(&file);
    tfrecord_close(&file);
    forge_clear(&packed);
    forge_clear(&f);
}

TEST(a_bit_that_fell_over_is_found_and_its_record_named)
{
    forge f = {0};
    put_three(&f);
    const size_t starts[] = {0, 21, 37, f.n};
    for (size_t i = 0; i < f.n; i++) {
        int record = 0;
        while (i >= starts[record + 1]) record++;
        const bool in_head = i - starts[record] < TFRECORD_HEAD;
        char words[64];
        snprintf(words, sizeof words, in_head ? "record %d" : "record %d: the checksum of the data",
                 record);
        f.b[i] ^= 0x10;
        tfrecord file;
        const unsigned char *data;
        size_t size;
        const plumb_status st = open_forged(&file, &f);
        if (in_head) CHECK_FAILS(st, PLUMB_EFORMAT, words);
        else {
            CHECK_OK(st);
            CHECK_FAILS(tfrecord_read(&data, &size, &file, record), PLUMB_EFORMAT, words);
            // The others are still there.
            CHECK_OK(tfrecord_read(&data, &size, &file, record ? 0 : 2));
            tfrecord_close(&file);
        }
        f.b[i] ^= 0x10;
    }
    forge_clear(&f);
}

TEST(a_file_that_was_cut_anywhere_is_refused)
{
    forge f = {0}, packed = {0};
    put_three(&f);
    gzip(&packed, f.b, f.n);
    tfrecord file;
    for (size_t n = 1; n < f.n; n++) {
        const forge cut = {.b = f.b, .n = n};
        const plumb_status st = open_forged(&file, &cut);
        if (n == 21 || n == 37) { // between records nothing shows
            CHECK_OK(st);
            tfrecord_close(&file);
        } else CHECK_FAILS(st, PLUMB_EFORMAT, "cut short");
    }
    for (size_t n = 3; n < packed.n; n++) {
        const forge cut = {.b = packed.b, .n = n};
        CHECK_FAILS(open_forged(&file, &cut), PLUMB_EFORMAT, "cut short");
    }
    const forge none = {0};
    CHECK_OK(open_forged(&file, &none)); // an empty shard is a shard
    CHECK_EQUAL(file.count, 0);
    tfrecord_close(&file);
    CHECK_FAILS(tfrecord_open(&file, "/tmp"), PLUMB_EFILE, "a directory");
    forge_put(&packed, "junk", 4);
    CHECK_FAILS(open_forged(&file, &packed), PLUMB_EFORMAT, "in record 3");
    forge_clear(&packed);
    forge_clear(&f);
}

TEST(a_length_that_lies_costs_nothing)
{
    unsigned char head[TFRECORD_HEAD] = {0};
    head[3] = 0x7f; // 2 GB, with a sum that is right
    const uint32_t sum = tfrecord_masked_crc(head, 8);
    for (int i = 0; i < 4; i++) head[8 + i] = (unsigned char)(sum >> 8 * i);
    forge f = {0}, packed = {0};
    forge_put(&f, head, sizeof head);
    tfrecord file;
    CHECK_FAILS(open_forged(&file, &f), PLUMB_EFORMAT, "are promised");
    gzip(&packed, f.b, f.n);
    CHECK_FAILS(open_forged(&file, &packed), PLUMB_EFORMAT, "record 0 is cut short");
    head[4] = 1;
    const uint32_t more = tfrecord_masked_crc(head, 8);
    for (int i = 0; i < 4; i++) head[8 + i] = (unsigned char)(more >> 8 * i);
    memcpy(f.b, head, sizeof head);
    CHECK_FAILS(open_forged(&file, &f), PLUMB_EFORMAT, "more than a record can be");
    forge_clear(&packed);
    forge_clear(&f);
    unlink(path());
}
