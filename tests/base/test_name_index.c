// SPDX-License-Identifier: MIT
// An index finds each of its names, and no other.
#include "base/name_index.h"
#include "support/test.h"

TEST(names_are_found_at_their_place)
{
    static const char *const names[] = {"q", "p", "frames", "", "p", "state"};
    arena mem = {0};
    name_index index;
    CHECK_OK(name_index_create(&index, &mem, names, 6));
    CHECK_EQUAL(name_index_find(&index, "q"), 0);
    CHECK_EQUAL(name_index_find(&index, "p"), 1); // the first of two
    CHECK_EQUAL(name_index_find(&index, "frames"), 2);
    CHECK_EQUAL(name_index_find(&index, ""), 3);
    CHECK_EQUAL(name_index_find(&index, "state"), 5);
    CHECK_EQUAL(name_index_find(&index, "stat"), -1);
    CHECK_EQUAL(name_index_find(&index, "statE"), -1);
    CHECK_EQUAL(name_index_find(&index, "zzz"), -1);
    arena_clear(&mem);
}

TEST(an_empty_list_holds_nothing)
{
    arena mem = {0};
    name_index index;
    CHECK_OK(name_index_create(&index, &mem, NULL, 0));
    CHECK_EQUAL(name_index_find(&index, "p"), -1);
    arena_clear(&mem);
}
