// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "plumb/status.h"
#include "support/test.h"

TEST(memory_is_zeroed_and_aligned_even_where_it_was_used_before)
{
    arena mem = {0};
    const arena_mark mark = arena_get_mark(&mem);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            unsigned char *place = arena_alloc(&mem, 1 + i * 37, 1);
            CHECK(place != NULL);
            CHECK_EQUAL((uintptr_t)place % 64, 0);
            for (int k = 0; k < 1 + i * 37; k++) CHECK_EQUAL(place[k], 0);
            memset(place, 0xee, (size_t)(1 + i * 37));
        }
        arena_rewind(&mem, mark);
    }
    arena_clear(&mem);
}

TEST(a_rewind_keeps_what_was_there_before_the_mark)
{
    arena mem = {0};
    int64_t *kept = ARENA_ALLOC(&mem, int64_t, 1000);
    for (int64_t i = 0; i < 1000; i++) kept[i] = i;
    const arena_mark mark = arena_get_mark(&mem);
    const size_t before = arena_size(&mem);
    CHECK(arena_alloc(&mem, 1 << 22, 1) != NULL); // a block of its own
    CHECK(arena_size(&mem) > before);
    arena_rewind(&mem, mark);
    CHECK_EQUAL(arena_size(&mem), before);
    for (int64_t i = 0; i < 1000; i++) CHECK_EQUAL(kept[i], i);
    arena_clear(&mem);
    CHECK_EQUAL(arena_size(&mem), 0);
}

TEST(what_cannot_be_had_is_refused_with_a_message)
{
    arena mem = {0};
    CHECK(arena_alloc(&mem, -1, 8) == NULL);
    CHECK(arena_alloc(&mem, INT64_MAX, 8) == NULL);
    CHECK(strstr(plumb_last_error(), "more than memory can hold") != NULL);
    CHECK(arena_alloc(&mem, 0, 8) != NULL); // nothing is a valid amount
    CHECK_TEXT(arena_strdup(&mem, "words"), "words");
    arena_clear(&mem);
    arena_clear(&mem); // twice does no harm
}
