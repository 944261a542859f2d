// SPDX-License-Identifier: MIT
#include "io/tf_example.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static plumb_status find(tf_feature *out, const void *data, size_t size, const char *key)
{
    tf_example_reader walk = tf_example_begin(data, size);
    for (;;) {
        bool there;
        const plumb_status st = tf_example_next(&there, out, &walk, "x");
        if (st) return st;
        if (!there) return PLUMB_EFILE;
        if (out->key.size == strlen(key) && !memcmp(out->key.at, key, out->key.size))
            return PLUMB_OK;
    }
}

static void make(buffer *out)
{
    buffer rows = {0};
    const int64_t integers[] = {0, 1, -1, 127, 128, INT64_MIN, INT64_MAX};
    const float floats[] = {1.5f, -2.0f, 0.0f};
    tf_example_put_integers(&rows, "i", integers, 7);
    tf_example_put_floats(&rows, "f", floats, 3);
    tf_example_put_bytes(&rows, "b", "bytes", 5);
    tf_example_put_integers(&rows, "none", NULL, 0);
    tf_example_finish(out, &rows);
    CHECK(!out->failed);
    buffer_clear(&rows);
}

TEST(what_is_written_is_read)
{
    buffer b = {0};
    tf_feature f;
    int64_t count, integers[7];
    float floats[3];
    make(&b);
    CHECK_OK(find(&f, b.data, b.size, "i"));
    CHECK_EQUAL(f.kind, TF_INTEGERS);
    CHECK_OK(tf_example_count(&count, &f, "x"));
    CHECK_EQUAL(count, 7);
    CHECK_OK(tf_example_integers(integers, &f, "x"));
    CHECK(integers[2] == -1 && integers[4] == 128 && integers[5] == INT64_MIN);
    CHECK(integers[6] == INT64_MAX);
    CHECK_OK(find(&f, b.data, b.size, "f"));
    CHECK_OK(tf_example_count(&count, &f, "x"));
    CHECK_EQUAL(count, 3);
    CHECK_OK(tf_example_floats(floats, &f, "x"));
    CHECK(floats[0] == 1.5f && floats[1] == -2.0f);
    CHECK_OK(find(&f, b.data, b.size, "b"));
    tf_span span;
    CHECK_OK(tf_example_bytes(&span, &f, 0, "x"));
    CHECK(span.size == 5 && !memcmp(span.at, "bytes", 5));
    CHECK_FAILS(tf_example_bytes(&span, &f, 1, "x"), PLUMB_EFORMAT, "shorter");
    CHECK_OK(find(&f, b.data, b.size, "none"));
    CHECK_OK(tf_example_count(&count, &f, "x"));
    CHECK_EQUAL(count, 0);
    CHECK_EQUAL(find(&f, b.data, b.size, "absent"), PLUMB_EFILE);
    buffer_clear(&b);
}

TEST(the_bytes_are_those_of_the_published_writer)
{
    // A feature of a published file: other/color_index = [3].
    static const unsigned char published[] = {
        0x0a, 0x1c, 0x0a, 0x1a, 0x0a, 0x11, 'o', 't', 'h',  'e',  'r',  '/',  'c',  'o',  'l',
        'o',  'r',  '_',  'i',  'n',  'd',  'e', 'x', 0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0x03};
    buffer rows = {0}, b = {0};
    tf_example_put_integers(&rows, "other/color_index", (int64_t[]){3}, 1);
    tf_example_finish(&b, &rows);
    CHECK_EQUAL(b.size, sizeof published);
    CHECK(!memcmp(b.data, published, b.size));
    buffer_clear(&rows);
    buffer_clear(&b);
}

TEST(integers_one_by_one_and_unknown_fields_are_read_too)
{
    tf_feature f;
    int64_t count, values[2];
    // Unknown: field 7 a varint, field 11 of a length, field 10 of 4 bytes, field 9 of 8 bytes.
    static const unsigned char good[] = {0x38, 0x05, 0x0a, 0x0f, 0x0a, 0x0d, 0x0a, 0x01, 'k',  0x12,
                                         0x08, 0x1a, 0x06, 0x08, 0x01, 0x0a, 0x02, 0x96, 0x01, 0x5a,
                                         0x02, 9,    9,    0x55, 1,    2,    3,    4,    0x49, 1,
                                         2,    3,    4,    5,    6,    7,    8};
    CHECK_OK(find(&f, good, sizeof good, "k"));
    CHECK_OK(tf_example_count(&count, &f, "x"));
    CHECK_EQUAL(count, 2);
    CHECK_OK(tf_example_integers(values, &f, "x"));
    CHECK(values[0] == 1 && values[1] == 150);
    static const unsigned char other[] = {0x09, 1, 2, 3, 4, 5, 6, 7, 8};
    CHECK_FAILS(find(&f, other, sizeof other, "k"), PLUMB_EFORMAT, "it is not an Example");
}

TEST(every_prefix_is_refused_or_ends_early_and_nothing_beyond_is_touched)
{
    buffer b = {0};
    make(&b);
    for (size_t n = 0; n < b.size; n++) {
        // On the heap and cut to size, so that AddressSanitizer sees a step beyond the end.
        unsigned char *cut = malloc(n ? n : 1);
        CHECK(cut);
        memcpy(cut, b.data, n);
        tf_example_reader walk = tf_example_begin(cut, n);
        bool there;
        tf_feature f;
        plumb_status st;
        while (!(st = tf_example_next(&there, &f, &walk, "x")) && there) {}
        CHECK(n == 0 ? !st : st == PLUMB_EFORMAT);
        free(cut);
    }
    buffer_clear(&b);
}

TEST(nonsense_is_refused_in_words)
{
    tf_feature f;
    int64_t count;
    static const unsigned char group[] = {0x0b};
    CHECK_FAILS(find(&f, group, 1, "k"), PLUMB_EFORMAT, "unknown kind");
    static const unsigned char zero[] = {0x02, 0x00};
    CHECK_FAILS(find(&f, zero, 2, "k"), PLUMB_EFORMAT, "no number");
    static const unsigned char wide[] = {0x38, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2};
    CHECK_FAILS(find(&f, wide, sizeof wide, "k"), PLUMB_EFORMAT, "does not end");
    static const unsigned char huge[] = {0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
    CHECK_FAILS(find(&f, huge, sizeof huge, "k"), PLUMB_EFORMAT, "longer than what it is in");
    static const unsigned char keyless[] = {0x0a, 0x04, 0x0a, 0x02, 0x12, 0x00};
    CHECK_FAILS(find(&f, keyless, sizeof keyless, "k"), PLUMB_EFORMAT, "no key");
    static const unsigned char twice[] = {0x0a, 0x0b, 0x0a, 0x09, 0x0a, 0x01, 'k',
                                          0x12, 0x04, 0x1a, 0x00, 0x12, 0x00};
    CHECK_FAILS(find(&f, twice, sizeof twice, "k"), PLUMB_EFORMAT, "two lists");
    // Floats of five bytes.
    static const unsigned char odd[] = {0x0a, 0x0e, 0x0a, 0x0c, 0x0a, 0x01, 'k', 0x12,
                                        0x07, 0x12, 0x05, 0x0a, 0x03, 1,    2,   3};
    CHECK_OK(find(&f, odd, sizeof odd, "k"));
    CHECK_FAILS(tf_example_count(&count, &f, "x"), PLUMB_EFORMAT, "a float is not one");
}
