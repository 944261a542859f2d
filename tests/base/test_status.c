// SPDX-License-Identifier: MIT
#include "base/status.h"

#include <string.h>

#include "support/test.h"

#undef fail // cmocka has a macro of this name

TEST(a_failure_returns_its_code_and_leaves_its_message)
{
    CHECK_EQUAL(fail(PLUMB_EFORMAT, "%s: found %d", "x.npy", 7), PLUMB_EFORMAT);
    CHECK_TEXT(plumb_last_error(), "x.npy: found 7");
}

TEST(a_message_can_be_put_around_the_one_before)
{
    fail(PLUMB_EVALUE, "inner");
    fail(PLUMB_EVALUE, "outer: %s", plumb_last_error());
    CHECK_TEXT(plumb_last_error(), "outer: inner");
}

TEST(a_message_is_one_line_whatever_a_file_put_into_a_name)
{
    fail(PLUMB_EFILE, "a\nb\x1b[2Jc");
    CHECK_TEXT(plumb_last_error(), "a?b?[2Jc");
    char large[5000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    fail(PLUMB_EFILE, "%s", large);
    CHECK(strlen(plumb_last_error()) < 1024);
}

TEST(every_code_has_a_text_and_strange_ones_have_one_too)
{
    CHECK_TEXT(plumb_status_string(PLUMB_OK), "done");
    CHECK_TEXT(plumb_status_string((plumb_status)12345), "unknown status");
    CHECK_TEXT(plumb_status_string((plumb_status)-1), "unknown status");
}

static char heard[64];
static double reached;

static void hear(void *context, const char *line)
{
    strncat(heard, (const char *)context, sizeof heard - strlen(heard) - 1);
    strncat(heard, line, sizeof heard - strlen(heard) - 1);
}

static void see(void *context, double fraction)
{
    (void)context;
    reached = fraction;
}

TEST(the_log_is_silent_until_somebody_listens)
{
    status_log("nobody hears %d", 1);
    plumb_set_log(hear, "> ");
    status_log("said %d", 2);
    plumb_set_log(NULL, NULL);
    status_log("nobody hears %d", 3);
    CHECK_TEXT(heard, "> said 2");
    status_progress(0.5);
    plumb_set_progress(see, NULL);
    status_progress(0.25);
    plumb_set_progress(NULL, NULL);
    status_progress(0.75);
    CHECK_NEAR(reached, 0.25, 0);
}
