// SPDX-License-Identifier: MIT
#include "base/spelling.h"

#include "support/test.h"

TEST(letters_added_lost_changed_and_exchanged_count_one)
{
    CHECK_EQUAL(words_distance("rate", "rate"), 0);
    CHECK_EQUAL(words_distance("rate", "raten"), 1);
    CHECK_EQUAL(words_distance("rate", "rte"), 1);
    CHECK_EQUAL(words_distance("rate", "rare"), 1);
    CHECK_EQUAL(words_distance("rate", "raet"), 1);
    CHECK_EQUAL(words_distance("", "abc"), 3);
    CHECK(words_distance("a word that is far longer than any setting", "a") > 32);
}

TEST(the_nearer_wins)
{
    CHECK_TEXT(words_nearer("chanels", "channels", "kernels"), "channels");
    CHECK_TEXT(words_nearer("chanels", "kernels", "channels"), "channels");
    CHECK_TEXT(words_nearer("x", "a", "b"), "a");
    CHECK_TEXT(words_nearer("x", "a", (const char *)0), "a");
}
