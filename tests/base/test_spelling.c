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
