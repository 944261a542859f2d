// SPDX-License-Identifier: MIT
#include "base/thread_team.h"

#include <string.h>

#include "support/test.h"

enum { THINGS = 100, ROUNDS = 2000 };
static int64_t done[THINGS];

static plumb_status work(void *context, int worker, int workers)
{
    int64_t size;
    const int64_t first = thread_team_split(&size, THINGS, worker, workers);
    for (int64_t i = first; i < first + size; i++) done[i] += *(const int *)context;
    return PLUMB_OK;
}

TEST(every_round_is_whole_before_the_next)
{
    for (int threads = 1; threads <= 5; threads++) {
        thread_team *c;
        CHECK_OK(thread_team_create(&c, threads));
        CHECK(thread_team_size(c) >= 1 && thread_team_size(c) <= threads);
        memset(done, 0, sizeof done);
        int64_t want = 0;
        for (int round = 0; round < ROUNDS; round++) {
            int add = round;
            CHECK_OK(thread_team_run(c, work, &add));
            want += round;
            if (round % 100) continue;
            for (int i = 0; i < THINGS; i++) CHECK_EQUAL(done[i], want);
        }
        thread_team_free(c);
    }
    thread_team_free(NULL);
}

static plumb_status fail_from_one_on(void *context, int worker, int workers)
{
    (void)context;
    (void)workers;
    return worker ? fail(PLUMB_ENUMERIC, "worker %d failed", worker) : PLUMB_OK;
}

TEST(the_failure_of_the_lowest_worker_is_reported_and_does_not_stay)
{
    thread_team *c;
    CHECK_OK(thread_team_create(&c, 4));
    int add = 1;
    if (thread_team_size(c) > 1)
        CHECK_FAILS(thread_team_run(c, fail_from_one_on, NULL), PLUMB_ENUMERIC, "worker 1 failed");
    CHECK_OK(thread_team_run(c, work, &add));
    thread_team_free(c);
}

TEST(shares_are_fair_and_whole)
{
    for (int64_t count = 0; count < 20; count++)
        for (int workers = 1; workers < 9; workers++) {
            int64_t next = 0;
            for (int w = 0; w < workers; w++) {
                int64_t size;
                CHECK_EQUAL(thread_team_split(&size, count, w, workers), next);
                CHECK(size >= count / workers && size <= count / workers + 1);
                next += size;
            }
            CHECK_EQUAL(next, count);
        }
}
