// SPDX-License-Identifier: MIT
#include "base/parallel_for.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "support/test.h"

enum { ITEMS = 1000 };
static _Atomic int done[ITEMS];
static _Atomic int worst_worker;

static plumb_status work(void *context, int64_t item, int worker)
{
    atomic_fetch_add(&done[item], *(const int *)context);
    if (worker > atomic_load(&worst_worker)) atomic_store(&worst_worker, worker);
    return PLUMB_OK;
}

TEST(every_item_is_done_once_by_any_number_of_threads)
{
    int one = 1, rounds = 0;
    for (int threads = 0; threads < 9; threads++) {
        CHECK_OK(parallel_for(ITEMS, threads, work, &one));
        rounds++;
        for (int i = 0; i < ITEMS; i++) CHECK_EQUAL(atomic_load(&done[i]), rounds);
    }
    CHECK(atomic_load(&worst_worker) < 9 || parallel_threads() > 8);
    CHECK_OK(parallel_for(0, 4, work, &one)); // nothing to do
    CHECK_OK(parallel_for(3, 1000000, work, &one));
}

TEST(the_environment_sets_the_number_of_threads_and_nonsense_does_not)
{
    unsetenv("PLUMB_THREADS");
    const int cores = parallel_threads();
    CHECK(cores >= 1);
    setenv("PLUMB_THREADS", "3", 1);
    CHECK_EQUAL(parallel_threads(), 3);
    const char *const nonsense[] = {"", "0", "-1", "3x", "many", NULL};
    for (int i = 0; nonsense[i]; i++) {
        setenv("PLUMB_THREADS", nonsense[i], 1);
        CHECK_EQUAL(parallel_threads(), cores);
    }
    setenv("PLUMB_THREADS", "100000", 1);
    CHECK_EQUAL(parallel_threads(), PARALLEL_MAX_THREADS);
    unsetenv("PLUMB_THREADS");
}

static plumb_status fail_at_some(void *context, int64_t index, int worker)
{
    (void)worker;
    const int64_t *bad = context;
    atomic_fetch_add(&done[index], 1);
    if (index == bad[0] || index == bad[1])
        return fail(PLUMB_ENUMERIC, "task %lld failed", (long long)index);
    return PLUMB_OK;
}

TEST(the_failure_of_the_lowest_index_is_reported_whatever_the_threads)
{
    int64_t bad[2] = {700, 41};
    for (int threads = 1; threads < 9; threads++) {
        for (int i = 0; i < ITEMS; i++) atomic_store(&done[i], 0);
        CHECK_FAILS(parallel_for(ITEMS, threads, fail_at_some, bad), PLUMB_ENUMERIC,
                    "task 41 failed");
        for (int i = 0; i <= 41; i++) CHECK_EQUAL(atomic_load(&done[i]), 1);
        CHECK_EQUAL(atomic_load(&done[ITEMS - 1]), 0); // nothing starts after a failure
    }
}

static plumb_status stop_at_ten(void *context, int64_t index, int worker)
{
    (void)context;
    (void)worker;
    atomic_fetch_add(&done[index], 1);
    if (index == 10) plumb_set_stop(true);
    return PLUMB_OK;
}

TEST(a_stop_is_noticed_before_the_next_task)
{
    for (int i = 0; i < ITEMS; i++) atomic_store(&done[i], 0);
    CHECK_FAILS(parallel_for(ITEMS, 1, stop_at_ten, NULL), PLUMB_ESTOPPED, "stopped");
    plumb_set_stop(false);
    CHECK_EQUAL(atomic_load(&done[10]), 1);
    CHECK_EQUAL(atomic_load(&done[11]), 0);
}

static double last_progress;

static void keep_progress(void *context, double fraction)
{
    CHECK(fraction >= *(double *)context);
    *(double *)context = last_progress = fraction;
}

TEST(progress_rises_to_the_end_of_its_share)
{
    int one = 1;
    double seen = 0.0;
    plumb_set_progress(keep_progress, &seen);
    CHECK_OK(parallel_for_progress(100, 1, work, &one, 0.25, 0.5));
    plumb_set_progress(NULL, NULL);
    CHECK_NEAR(last_progress, 0.75, 1e-12);
}
