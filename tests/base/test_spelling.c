// SPDX-License-Identifier: MIT
#include "base/spelling.h"

#include "support/test.h"

TEST(letters_added_lost_changed_and_exchanged_count_one)
{
    CHECK_EQUAL(spelling_distance("rate", "rate"), 0);
    CHECK_EQUAL(spelling_distance("rate", "raten"), 1);
    CHECK_EQUAL(spelling_distance("rate", "rte"), 1);
    CHECK_EQUAL(spelling_distance("rate", "rare"), 1);
    CHECK_EQUAL(spelling_distance("rate", "raet"), 1);
    CHECK_EQUAL(spelling_distance("", "abc"), 3);
    CHECK(spelling_distance("a word that is far longer than any setting", "a") > 32);
}

TEST(the_nearer_wins)
{
    CHECK_TEXT(spelling_closer("chanels", "channels", "kernels"), "channels");
    CHECK_TEXT(spelling_closer("chanels", "kernels", "channels"), "channels");
    CHECK_TEXT(spelling_closer("x", "a", "b"), "a");
    CHECK_TEXT(spelling_closer("x", "a", (const char *)0), "a");
}

TEST(the_nearest_of_a_list_is_the_first_of_equals)
{
    const char *const words[] = {"kernels", "channels", "chanells", NULL};
    const char *const none[] = {NULL};
    CHECK_TEXT(spelling_nearest("chanels", words), "channels");
    CHECK_TEXT(spelling_nearest("", words), "kernels");
    CHECK(!spelling_nearest("x", none));
}

TEST(a_suggestion_is_near_or_there_is_none)
{
    const char *const words[] = {"on", "off", "measure", NULL};
    CHECK_TEXT(spelling_suggest("no", words), "on");
    CHECK_TEXT(spelling_suggest("maesrue", words), "measure");
    CHECK(!spelling_suggest("train", words));
    CHECK(!spelling_suggest("xy", words));
    CHECK(!spelling_suggest("a word that is far longer than any option", words));
}

TEST(a_list_joins_its_last_two_with_or)
{
    const char *const three[] = {"a", "b", "c", NULL}, *const one[] = {"a", NULL};
    char text[32], tight[4];
    CHECK_TEXT(spelling_list(text, sizeof text, three), "a, b or c");
    CHECK_TEXT(spelling_list(text, sizeof text, one), "a");
    CHECK_TEXT(spelling_list(tight, sizeof tight, three), "a, ");
}
