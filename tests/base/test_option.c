// SPDX-License-Identifier: MIT
// One table per options struct: parsing, printing, ranges, messages.
#include "base/option.h"

#include <math.h>
#include <string.h>

#include "support/test.h"

typedef enum colour { RED, GREEN } colour;

typedef struct sample {
    bool flag;
    const char *text;
    int small;
    int64_t count;
    uint64_t seed;
    double rate;
    colour tint;
} sample;

static const char *const colours[] = {"red", "green", NULL};

#define MEMBER(member) .name = #member, .offset = offsetof(sample, member)
static const option_spec specs[] = {
    {MEMBER(flag), .kind = OPTION_BOOL},
    {MEMBER(text), .kind = OPTION_STRING},
    {MEMBER(small), .kind = OPTION_INT, .low = 1, .high = 8},
    {MEMBER(count), .kind = OPTION_INT64, .low = 0, .high = 1e15},
    {MEMBER(seed), .kind = OPTION_UINT64},
    {MEMBER(rate), .kind = OPTION_DOUBLE, .low = 0, .high = 1},
    {MEMBER(tint), .kind = OPTION_ENUM, .words = colours},
    {0},
};
enum { FLAG, TEXT, SMALL, COUNT, SEED, RATE, TINT };

static char error[200];

static void check_stored(sample *s, int which, const char *text)
{
    char back[64];
    CHECK(option_store(s, &specs[which], text, error, sizeof error));
    CHECK_TEXT(option_format(back, sizeof back, &specs[which], s), text);
}

static void check_rejected(int which, const char *text, const char *words)
{
    sample s = {0}, before = s;
    CHECK(!option_store(&s, &specs[which], text, error, sizeof error));
    if (!strstr(error, words)) fail_msg("\"%s\" does not say \"%s\"", error, words);
    CHECK(!memcmp(&s, &before, sizeof s));
}

TEST(a_value_is_printed_as_it_is_read)
{
    sample s = {0};
    check_stored(&s, FLAG, "on");
    check_stored(&s, FLAG, "off");
    check_stored(&s, TEXT, "a b");
    check_stored(&s, SMALL, "8");
    check_stored(&s, COUNT, "123456789012");
    check_stored(&s, SEED, "9223372036854775807");
    check_stored(&s, RATE, "0.1");
    check_stored(&s, TINT, "green");
    CHECK_EQUAL(s.tint, GREEN);
    CHECK_NEAR(s.rate, 0.1, 0.0);
}

TEST(what_does_not_fit_is_rejected_with_what_does_and_changes_nothing)
{
    check_rejected(FLAG, "maybe", "takes on or off, not \"maybe\"");
    check_rejected(SMALL, "9", "takes a whole number from 1 to 8, not \"9\"");
    check_rejected(SMALL, "3x", "whole number");
    check_rejected(SMALL, "4294967297", "whole number"); // not 1
    check_rejected(COUNT, "-1", "a whole number of at least 0");
    check_rejected(COUNT, "99999999999999999999", "whole number");
    check_rejected(SEED, "-1", "a whole number");
    check_rejected(RATE, "nan", "a number from 0 to 1");
    check_rejected(RATE, "1.5", "a number from 0 to 1");
    check_rejected(RATE, "", "a number");
    check_rejected(TINT, "gren", "takes red or green, not \"gren\"; did you mean green?");
}

TEST(ranges_of_a_struct_are_checked_and_the_member_is_named)
{
    sample s = {.small = 1};
    CHECK(!option_check(specs, &s, error, sizeof error));
    s.small = 0;
    CHECK(option_check(specs, &s, error, sizeof error) == &specs[SMALL]);
    CHECK_TEXT(error, "small is 0; it must be a whole number from 1 to 8");
    s.small = 1, s.rate = (double)NAN;
    CHECK(option_check(specs, &s, error, sizeof error) == &specs[RATE]);
    s.rate = 0.5, s.tint = (colour)2;
    CHECK(option_check(specs, &s, error, sizeof error) == &specs[TINT]);
    CHECK_TEXT(error, "tint is 2; it must be red or green");
    s.tint = (colour)-1;
    CHECK(option_check(specs, &s, error, sizeof error) == &specs[TINT]);
}

TEST(numbers_are_printed_with_as_few_digits_as_read_back)
{
    char text[40];
    CHECK_TEXT(option_format_number(text, sizeof text, 0.1), "0.1");
    CHECK_TEXT(option_format_number(text, sizeof text, 1e-11), "1e-11");
    CHECK_TEXT(option_format_number(text, sizeof text, 0.31622776601683794), "0.31622776601683794");
}
