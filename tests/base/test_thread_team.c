// SPDX-License-Identifier: MIT
#include "base/thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "support/test.h"

enum { THINGS = 100, ROUNDS = 2000 };
static int64_t done[THINGS];

static plumb_status work(void *context, int share, int shares)
{
    int64_t size;
    const int64_t first = thread_team_split(&size, THINGS, share, shares);
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
            CHECK_OK(thread_team_run(c, work, &add, 1 + round % 7));
            want += round;
            if (round % 100) continue;
            for (int i = 0; i < THINGS; i++) CHECK_EQUAL(done[i], want);
        }
        thread_team_free(c);
    }
    thread_team_free(NULL);
}

static plumb_status fail_from_one_on(void *context, int share, int shares)
{
    (void)context;
    (void)shares;
    return share ? fail(PLUMB_ENUMERIC, "share %d failed", share) : PLUMB_OK;
}

TEST(the_failure_of_the_lowest_share_is_reported_and_does_not_stay)
{
    thread_team *c;
    CHECK_OK(thread_team_create(&c, 4));
    int add = 1;
    CHECK_FAILS(thread_team_run(c, fail_from_one_on, NULL, 4), PLUMB_ENUMERIC, "share 1 failed");
    CHECK_OK(thread_team_run(c, work, &add, 4));
    thread_team_free(c);
}

// Shares that take long, with one thread of the team held up: the others do its work.
typedef struct held_up {
    _Atomic int by_thread, by_caller;
    pthread_t caller;
} held_up;

static plumb_status work_while_one_waits(void *context, int share, int shares)
{
    held_up *h = context;
    (void)share;
    if (pthread_equal(pthread_self(), h->caller)) {
        atomic_fetch_add(&h->by_caller, 1);
        return PLUMB_OK;
    }
    // A thread that has a share keeps it until the caller has done all the others.
    atomic_fetch_add(&h->by_thread, 1);
    while (atomic_load(&h->by_caller) < shares - 1) sched_yield();
    return PLUMB_OK;
}

TEST(a_thread_that_is_late_is_not_waited_for)
{
    enum { SHARES = 20 };
    thread_team *c;
    CHECK_OK(thread_team_create(&c, 2));
    for (int round = 0; round < 200; round++) {
        held_up h = {.caller = pthread_self()};
        CHECK_OK(thread_team_run(c, work_while_one_waits, &h, SHARES));
        // With fixed shares the caller would have half of them, and the other thread would wait
        // forever.
        CHECK_EQUAL(atomic_load(&h.by_thread) + atomic_load(&h.by_caller), SHARES);
        CHECK(atomic_load(&h.by_caller) >= SHARES - 1);
    }
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
