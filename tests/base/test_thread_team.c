// SPDX-License-Identifier: MIT
#include "base/thread_team.h"

#include <string.h>

#include "support/test.h"

enum { THINGS = 100, ROUNDS = 2000 };
static int64_t done[THINGS];

static void work(void *context, int worker, int workers)
{
    int64_t size;
    const int64_t first = thread_team_split(&size, THINGS, worker, workers);
    for (int64_t i = first; i < first + size; i++) done[i] += *(const int *)context;
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
            thread_team_run(c, work, &add);
            want += round;
            if (round % 100) continue;
            for (int i = 0; i < THINGS; i++) CHECK_EQUAL(done[i], want);
        }
        thread_team_free(c);
    }
    thread_team_free(NULL);
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
