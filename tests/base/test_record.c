// SPDX-License-Identifier: MIT
#include "plumb/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

static const char *json(plumb_record *record)
{
    const char *text;
    CHECK_OK(plumb_record_to_json(&text, record));
    return text;
}

TEST(an_empty_record_is_an_empty_object)
{
    plumb_record *r = plumb_record_create();
    CHECK_TEXT(json(r), "{}");
    plumb_record_free(r);
    plumb_record_free(NULL);
}

TEST(keys_keep_their_order_and_brackets_close)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_string(r, "b", "x");
    plumb_record_set_int(r, "a", -3);
    plumb_record_set_bool(r, "yes", true);
    plumb_record_set_null(r, "none");
    plumb_record_begin_object(r, "inside");
    plumb_record_set_ints(r, "list", (int64_t[]){1, 2}, 2);
    plumb_record_set_doubles(r, "empty", NULL, 0);
    plumb_record_end(r);
    plumb_record_begin_array(r, "items");
    for (int i = 0; i < 2; i++) {
        plumb_record_begin_object(r, NULL);
        plumb_record_set_int(r, "i", i);
        plumb_record_end(r);
    }
    // Asked for in the middle, the record is whole, and can still grow.
    CHECK_TEXT(json(r), "{\"b\": \"x\", \"a\": -3, \"yes\": true, \"none\": null, "
                        "\"inside\": {\"list\": [1, 2], \"empty\": []}, "
                        "\"items\": [{\"i\": 0}, {\"i\": 1}]}");
    plumb_record_end(r);
    plumb_record_set_int(r, "last", 1);
    CHECK(strstr(json(r), "}], \"last\": 1}") != NULL);
    plumb_record_free(r);
}

TEST(numbers_read_back_to_the_same_bits_and_are_short)
{
    const double values[] = {0.1,  1.0 / 3.0, 1e-300,       5e-324, 1.7976931348623157e308,
                             -0.0, 1e22,      123456789.125};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        plumb_record *r = plumb_record_create();
        plumb_record_set_double(r, "x", values[i]);
        const double back = strtod(json(r) + strlen("{\"x\": "), NULL);
        CHECK(memcmp(&back, &values[i], sizeof back) == 0);
        plumb_record_free(r);
    }
    plumb_record *r = plumb_record_create();
    plumb_record_set_double(r, "x", 0.1);
    CHECK_TEXT(json(r), "{\"x\": 0.1}");
    plumb_record_free(r);
}

TEST(what_json_does_not_have_becomes_null)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_doubles(r, "x", (double[]){(double)NAN, (double)INFINITY, -(double)INFINITY},
                             3);
    CHECK_TEXT(json(r), "{\"x\": [null, null, null]}");
    plumb_record_free(r);
}

TEST(quotes_and_control_bytes_are_escaped)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_string(r, "a\"b", "line\nback\\slash\t");
    CHECK_TEXT(json(r), "{\"a\\\"b\": \"line\\u000aback\\\\slash\\u0009\"}");
    plumb_record_free(r);
}

TEST(brackets_too_deep_are_refused_not_overrun)
{
    plumb_record *r = plumb_record_create();
    for (int i = 0; i < 100; i++) plumb_record_begin_object(r, "deeper");
    const char *text;
    CHECK(plumb_record_to_json(&text, r) != PLUMB_OK);
    plumb_record_free(r);
}

TEST(saved_records_are_one_a_line_and_appear_whole_or_not_at_all)
{
    char dir[] = "/tmp/plumb-record-XXXXXX";
    CHECK(mkdtemp(dir) != NULL);
    char path[64];
    snprintf(path, sizeof path, "%s/out.jsonl", dir);
    plumb_record *r[2] = {plumb_record_create(), plumb_record_create()};
    plumb_record_set_int(r[1], "i", 1);
    CHECK_OK(plumb_record_write_lines(path, r, 2));
    char text[64] = "";
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    CHECK(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    CHECK_TEXT(text, "{}\n{\"i\": 1}\n");

    // A record that cannot be written leaves the old file, and nothing beside it.
    for (int i = 0; i < 100; i++) plumb_record_begin_object(r[1], "deeper");
    CHECK(plumb_record_write_lines(path, r, 2) != PLUMB_OK);
    f = fopen(path, "r");
    CHECK(f != NULL);
    fclose(f);
    CHECK_EQUAL(unlink(path), 0);
    CHECK_EQUAL(rmdir(dir), 0); // empty, or this fails
    CHECK_FAILS(plumb_record_write_lines("/no/such/place/x", r, 1), PLUMB_EFILE,
                "/no/such/place/x");
    plumb_record_free(r[0]);
    plumb_record_free(r[1]);
}

TEST(an_interval_is_a_pair_or_null)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_interval(r, "a", (plumb_interval){0.25, 0.5});
    plumb_record_set_interval(r, "b", (plumb_interval){(double)NAN, (double)NAN});
    plumb_record_set_interval(r, "c", (plumb_interval){0.0, (double)INFINITY});
    CHECK_TEXT(json(r), "{\"a\": [0.25, 0.5], \"b\": null, \"c\": null}");
    plumb_record_free(r);
}

TEST(a_text_that_is_not_utf8_becomes_json_all_the_same)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_string(r, "path", "caf\xe9/\xff\xc3\xa9\xe2\x82\xac\xc3");
    plumb_record_set_string(r, "b\xfe", NULL);
    CHECK_TEXT(json(r),
               "{\"path\": \"caf\xef\xbf\xbd/\xef\xbf\xbd\xc3\xa9\xe2\x82\xac\xef\xbf\xbd\", "
               "\"b\xef\xbf\xbd\": null}");
    plumb_record_free(r);
}
