// SPDX-License-Identifier: MIT
// A host program, such as Python with Debian's NumPy, has loaded OpenBLAS before and given it
// several threads. plumb's products run in one thread all the same, and the host's number is not
// changed.
#define _GNU_SOURCE
#include "math/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/test.h"

enum { SIZE = 400, SMALL = 24, THREADS = 4, CALLS = 300 };

typedef int get_function(void);

// The number of threads of the host's OpenBLAS, which it loads with two; 0 without OpenBLAS.
static int host_threads(void)
{
    static get_function *get;
    if (!get) {
        setenv("OPENBLAS_NUM_THREADS", "2", 1);
        void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        if (!library) return 0;
        void *found = dlsym(library, "openblas_get_num_threads");
        if (!found) return 0;
        memcpy(&get, &found, sizeof found);
    }
    return get();
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// OpenBLAS' own threads look for work for a while before they sleep.
static void wait_until_threads_sleep(void)
{
    for (int i = 0; i < 200; i++) {
        const double before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        if (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - before < 0.001) return;
    }
}

TEST(products_run_in_the_thread_that_calls_them)
{
    if (host_threads() != 2) skip(); // one core
    CHECK_OK(blas_library_load());
    wait_until_threads_sleep();
    double *a = calloc((size_t)3 * SIZE * SIZE, sizeof *a), *g = a + SIZE * SIZE;
    CHECK(a);
    const double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 10; i++) {
        blas_gemm(g, SIZE, a, SIZE, false, a, SIZE, true, SIZE, SIZE, SIZE, 1.0, 0.0);
        blas_gram(g, SIZE, a, SIZE, SIZE, SIZE);
        blas_gram_add(g, SIZE, a, SIZE, SIZE, SIZE);
    }
    const double mine = seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread;
    const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process;
    CHECK(all < 1.25 * mine);
    CHECK_EQUAL(host_threads(), 2);
    free(a);
}

static void *multiply(void *unused)
{
    double a[SMALL * SMALL] = {0}, c[SMALL * SMALL];
    for (int i = 0; i < CALLS; i++)
        blas_gemm(c, SMALL, a, SMALL, false, a, SMALL, false, SMALL, SMALL, SMALL, 1.0, 0.0);
    return unused;
}

TEST(products_in_many_threads_leave_the_hosts_number_as_it_was)
{
    if (host_threads() != 2) skip();
    CHECK_OK(blas_library_load());
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&thread[i], NULL, multiply, NULL));
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    CHECK_EQUAL(host_threads(), 2);
}
