// SPDX-License-Identifier: MIT
// Wrapper of OpenBLAS, loaded at run time. If the kernels that it chose are too old for the
// processor, it is unloaded, given the right ones through its environment, and loaded again.
#define _GNU_SOURCE
#include "math/blas.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

// Values of cblas.h, which never change.
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, UPPER = 121 };
typedef void gemm_function(int, int, int, int, int, int, double, const double *, int,
                           const double *, int, double, double *, int);
typedef void syrk_function(int, int, int, int, int, double, const double *, int, double, double *,
                           int);
typedef char *text_function(void);
typedef int get_threads_function(void);
typedef void set_threads_function(int);

static struct {
    void *library;
    gemm_function *gemm;
    syrk_function *syrk;
    get_threads_function *get_threads; // NULL if the host program has not loaded it before
    set_threads_function *set_threads;
    const char *kernel;
    const char *wanted_kernel;
    char version[64];
} blas = {.kernel = "none"};

// The kernels that should be used instead, or NULL if these are right. A name that is not in the
// list is unknown, perhaps newer than the list, and is left alone.
static const char *better_kernel(const char *kernel)
{
    static const char *const old[] = {
        "Katmai",      "Coppermine",   "Northwood",  "Prescott", "Banias",      "Atom",
        "Core2",       "Penryn",       "Dunnington", "Nehalem",  "Sandybridge", "Athlon",
        "Opteron",     "Opteron_SSE3", "Barcelona",  "Bobcat",   "Bulldozer",   "Piledriver",
        "Steamroller", "Nano",         NULL};
    if (!cpu_has("avx2")) return NULL;
    for (int i = 0; old[i]; i++)
        if (!strcmp(kernel, old[i])) return cpu_has("avx512") ? "SkylakeX" : "Haswell";
    return NULL;
}

// dlsym() returns functions as data pointers.
static bool find_symbol(void *function, const char *name)
{
    void *found = dlsym(blas.library, name);
    memcpy(function, &found, sizeof found);
    return found;
}

// Loads the library and its functions; remembers the names of its kernels and version.
static bool open_library(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    text_function *corename, *config;
    for (int i = 0; names[i] && !blas.library; i++)
        blas.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!blas.library) return false;
    if (!find_symbol(&blas.gemm, "cblas_dgemm") || !find_symbol(&blas.syrk, "cblas_dsyrk") ||
        !find_symbol(&corename, "openblas_get_corename") ||
        !find_symbol(&config, "openblas_get_config")) {
        dlclose(blas.library);
        blas.library = NULL;
        return false;
    }
    if (!find_symbol(&blas.get_threads, "openblas_get_num_threads") ||
        !find_symbol(&blas.set_threads, "openblas_set_num_threads") || blas.get_threads() == 1)
        blas.get_threads = NULL;
    blas.kernel = corename();
    // The first two words: OpenBLAS 0.3.21
    const char *text = config(), *space = strchr(text, ' ');
    const size_t length = space ? (size_t)(space + 1 - text) + strcspn(space + 1, " ") : 0;
    snprintf(blas.version, sizeof blas.version, "%.*s", (int)length, text);
    return true;
}

static void close_library(void)
{
    dlclose(blas.library);
    blas.library = NULL;
    blas.kernel = "none";
}

// An environment variable that was replaced for a while.
typedef struct environment_variable {
    const char *name;
    char *old_value; // NULL: it was not set
} environment_variable;

static environment_variable replace_variable(const char *name, const char *value)
{
    const char *before = getenv(name);
    const environment_variable v = {name, before ? strdup(before) : NULL};
    setenv(name, value, 1);
    return v;
}

static void restore_variable(environment_variable v)
{
    if (v.old_value) setenv(v.name, v.old_value, 1);
    else unsetenv(v.name);
    free(v.old_value);
}

// Where the host program has loaded OpenBLAS before, as Python does with Debian's NumPy, it has the
// threads of the host. These would wait for each other in every small product, and the bits would
// depend on their number. So the number is 1 while plumb computes, and what it was afterwards.
static struct {
    pthread_mutex_t lock;
    int users, threads;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

// In a child only the thread that forked goes on; another one may have held the lock.
static void forget_other_threads(void)
{
    pthread_mutex_init(&host.lock, NULL);
    host.users = 0;
}

// Runs once.
static void load_library(void)
{
    // One thread: the bits of its results depend on its number of threads.
    const environment_variable threads = replace_variable("OPENBLAS_NUM_THREADS", "1");
    if (open_library()) {
        const char *better = better_kernel(blas.kernel);
        if (better) {
            const environment_variable coretype = replace_variable("OPENBLAS_CORETYPE", better);
            close_library();
            if (open_library()) blas.wanted_kernel = better_kernel(blas.kernel);
            restore_variable(coretype);
        }
    }
    restore_variable(threads);
    if (blas.get_threads) pthread_atfork(NULL, NULL, forget_other_threads);
}

static void load_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_library);
}

plumb_status blas_library_load(void)
{
    load_once();
    if (blas.library) return PLUMB_OK;
    return fail(PLUMB_EMISSING, "OpenBLAS is not on this machine; install libopenblas0");
}

static void begin_one_thread(void)
{
    if (!blas.get_threads) return;
    pthread_mutex_lock(&host.lock);
    if (host.users++ == 0) {
        host.threads = blas.get_threads();
        if (host.threads != 1) blas.set_threads(1);
    }
    pthread_mutex_unlock(&host.lock);
}

static void end_one_thread(void)
{
    if (!blas.get_threads) return;
    pthread_mutex_lock(&host.lock);
    if (--host.users == 0 && host.threads != 1) blas.set_threads(host.threads);
    pthread_mutex_unlock(&host.lock);
}

void blas_gemm(double *c, int64_t ldc, const double *a, int64_t lda, bool transpose_a,
               const double *b, int64_t ldb, bool transpose_b, int64_t m, int64_t n, int64_t k,
               double alpha, double beta)
{
    assert(blas.gemm);
    begin_one_thread();
    blas.gemm(ROW_MAJOR, transpose_a ? TRANSPOSE : NO_TRANSPOSE,
              transpose_b ? TRANSPOSE : NO_TRANSPOSE, (int)m, (int)n, (int)k, alpha, a, (int)lda, b,
              (int)ldb, beta, c, (int)ldc);
    end_one_thread();
}

void blas_gram(double *g, int64_t ldg, const double *a, int64_t lda, int64_t rows, int64_t n)
{
    assert(blas.syrk);
    begin_one_thread();
    blas.syrk(ROW_MAJOR, UPPER, TRANSPOSE, (int)n, (int)rows, 1.0, a, (int)lda, 0.0, g, (int)ldg);
    end_one_thread();
    // syrk fills the upper triangle only.
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = 0; j < i; j++) g[i * ldg + j] = g[j * ldg + i];
}

void blas_gram_add(double *g, int64_t ldg, const double *a, int64_t lda, int64_t rows, int64_t n)
{
    assert(blas.syrk);
    begin_one_thread();
    blas.syrk(ROW_MAJOR, UPPER, TRANSPOSE, (int)n, (int)rows, 1.0, a, (int)lda, 1.0, g, (int)ldg);
    end_one_thread();
}

const char *blas_kernel(void)
{
    load_once();
    return blas.kernel;
}

const char *blas_version(void)
{
    load_once();
    return blas.version;
}

const char *blas_wanted_kernel(void)
{
    load_once();
    return blas.wanted_kernel;
}
