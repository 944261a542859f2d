// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static char text[4096];

// On the heap and of the exact size, so that AddressSanitizer sees a step beyond the end.
static char *heap;
static json open_text(const char *source)
{
    free(heap);
    const size_t size = strlen(source);
    heap = malloc(size ? size : 1);
    CHECK(heap);
    memcpy(heap, source, size);
    return json_begin(heap, size, "x.json");
}

TEST(values_come_in_order)
{
    json j = open_text(" {\"a\": 1, \"b\":[-2.5e3, 7 ,true,null], \"c\" : {}, \"d\":\"x\"} \n");
    json_object(&j);
    CHECK_TEXT(json_key(&j), "a");
    CHECK_EQUAL(json_int(&j), 1);
    CHECK_TEXT(json_key(&j), "b");
    json_array(&j);
    CHECK(json_next(&j));
    CHECK(json_double(&j) == -2500.0);
    CHECK(json_next(&j));
    CHECK(json_double(&j) == 7.0);
    CHECK(json_next(&j));
    CHECK(json_bool(&j));
    CHECK(json_next(&j));
    CHECK_EQUAL(json_peek(&j), JSON_NULL);
    json_skip(&j, NULL, NULL);
    CHECK(!json_next(&j));
    CHECK_TEXT(json_key(&j), "c");
    json_object(&j);
    CHECK(!json_key(&j));
    CHECK_TEXT(json_key(&j), "d");
    CHECK_TEXT(json_string(&j), "x");
    CHECK(!json_key(&j));
    CHECK_OK(json_end(&j));
}

TEST(texts_are_unescaped)
{
    json j = open_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\xc3\xa9\"");
    CHECK_TEXT(json_string(&j), "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
    CHECK_OK(json_end(&j));
}

TEST(what_is_skipped_is_given_as_it_stands)
{
    json j = open_text("{\"a\": [1, {\"b\\n\": \"\\u0041\"}, -0.5E-7] , \"z\": 3}");
    const char *from;
    size_t size;
    json_object(&j);
    json_key(&j);
    json_skip(&j, &from, &size);
    CHECK_EQUAL(size, 31);
    CHECK(!memcmp(from, "[1, {\"b\\n\": \"\\u0041\"}, -0.5E-7]", 31));
    CHECK_TEXT(json_key(&j), "z");
    CHECK_EQUAL(json_int(&j), 3);
    CHECK(!json_key(&j));
    CHECK_OK(json_end(&j));
}

TEST(what_is_not_json_is_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{,}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "0x10",
        "NaN",
        "Infinity",
        "tru",
        "nul",
        "truee",
        "1 1",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\x01\"",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xe2\x82\"",
        "\"\xf4\x90\x80\x80\"",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
        "11111111111111111111111111111111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json j = open_text(bad[i]);
        json_skip(&j, NULL, NULL);
        CHECK_FAILS(json_end(&j), PLUMB_EFORMAT, "x.json: ");
    }
    static const char *const good[] = {"0", "-0", "[]", "{}", "1e5", "\"\"", "[[],{}]", "null"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        json j = open_text(good[i]);
        json_skip(&j, NULL, NULL);
        CHECK_OK(json_end(&j));
    }
}

TEST(the_wrong_kind_is_refused_and_stays_refused)
{
    json j = open_text("{\"a\": 1.5, \"b\": 9223372036854775808}");
    json_object(&j);
    json_key(&j);
    CHECK_EQUAL(json_int(&j), 0);
    CHECK(!json_key(&j) && !json_string(&j) && !json_next(&j) && json_double(&j) == 0.0);
    CHECK_FAILS(json_end(&j), PLUMB_EFORMAT, "whole");
    j = open_text("9223372036854775808");
    json_int(&j);
    CHECK_FAILS(json_end(&j), PLUMB_EFORMAT, "64 bits");
    j = open_text("1e999");
    json_double(&j);
    CHECK_FAILS(json_end(&j), PLUMB_EFORMAT, "too large");
    j = open_text("[]");
    json_object(&j);
    CHECK_FAILS(json_end(&j), PLUMB_EFORMAT, "object");
}

TEST(every_cut_is_refused)
{
    static const char whole[] =
        "{\"a\": [1, -2.5e3, \"x\\u00e9\", true, null], \"b\": {\"c\": \"d\"}}";
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        memcpy(text, whole, n);
        text[n] = 0;
        json j = open_text(text);
        json_skip(&j, NULL, NULL);
        CHECK(json_end(&j) == PLUMB_EFORMAT);
    }
}
