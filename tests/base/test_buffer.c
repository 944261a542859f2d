// SPDX-License-Identifier: MIT
#include "base/buffer.h"

#include <stdint.h>
#include <string.h>

#include "base/status.h"
#include "support/test.h"

TEST(bytes_and_text_of_any_length_are_kept)
{
    buffer b = {0};
    for (int i = 0; i < 1000; i++) buffer_printf(&b, "%d,", i % 10);
    CHECK_EQUAL(b.size, 2000);
    char large[3000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    buffer_printf(&b, "<%s>", large);
    CHECK_EQUAL(b.size, 2000 + 3001);
    CHECK(b.data[2000] == '<' && b.data[5000] == '>' && b.data[4999] == 'x');
    buffer_put(&b, NULL, 0);
    buffer_reset(&b);
    CHECK_EQUAL(b.size, 0);
    CHECK(buffer_grow(&b, 0));
    buffer_clear(&b);
    CHECK(!b.data);
}

TEST(a_size_beyond_all_memory_is_remembered_as_broken)
{
    buffer b = {0};
    buffer_put(&b, "abc", 3);
    CHECK(!buffer_grow(&b, SIZE_MAX - 1));
    CHECK(b.failed && b.size == 3);
    buffer_put(&b, "abc", 3); // nothing is put any more
    CHECK_EQUAL(b.size, 3);
    buffer_clear(&b);
}

TEST(a_request_to_stop_stays_until_it_is_taken_back)
{
    CHECK_OK(status_check_stop());
    plumb_set_stop(true);
    CHECK(status_stopped());
    CHECK_FAILS(status_check_stop(), PLUMB_ESTOPPED, "stopped");
    CHECK_FAILS(status_check_stop(), PLUMB_ESTOPPED, "stopped");
    plumb_set_stop(false);
    CHECK_OK(status_check_stop());
}
