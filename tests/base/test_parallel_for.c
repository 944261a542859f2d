// SPDX-License-Identifier: MIT
#include "base/parallel_for.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "support/test.h"

enum { ITEMS = 1000 };
static _Atomic int done[ITEMS];
static _Atomic int worst_worker;

static void work(void *context, int64_t item, int worker)
{
    atomic_fetch_add(&done[item], *(const int *)context);
    if (worker > atomic_load(&worst_worker)) atomic_store(&worst_worker, worker);
}

TEST(every_item_is_done_once_by_any_number_of_threads)
{
    int one = 1, rounds = 0;
    for (int threads = 0; threads < 9; threads++) {
        parallel_for(ITEMS, threads, work, &one);
        rounds++;
        for (int i = 0; i < ITEMS; i++) CHECK_EQUAL(atomic_load(&done[i]), rounds);
    }
    CHECK(atomic_load(&worst_worker) < 9 || parallel_threads() > 8);
    parallel_for(0, 4, work, &one); // nothing to do is done at once
    parallel_for(3, 1000000, work, &one);
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
