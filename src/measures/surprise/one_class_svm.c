// SPDX-License-Identifier: MIT
// The door to libsvm [Chang11]. It is loaded when it is first asked for, so that whoever never asks
// does not pay for it.
//
// libsvm keeps points as lists of (index, value), which makes its kernels slow on features that are
// all there. So the kernel matrix is computed here, in the loops of math/vector.h, and handed over
// as a precomputed one as long as it fits; and decisions are computed here too.
#define _GNU_SOURCE
#include "measures/surprise/one_class_svm.h"

#include <dlfcn.h>
#include <libsvm/svm.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/vector.h"
#include "measures/surprise/scorers.h"

enum { TILE = 64, MOST_PRECOMPUTED = 8000 };

static struct {
    void *handle;
    void (*quiet)(void (*)(const char *));
    const char *(*check)(const struct svm_problem *, const struct svm_parameter *);
    struct svm_model *(*train)(const struct svm_problem *, const struct svm_parameter *);
    void (*release)(struct svm_model **);
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void say_nothing(const char *text)
{
    (void)text;
}

static void load(void)
{
    static const char *const names[] = {"libsvm.so.3", "libsvm.so.4", "libsvm.so.2", "libsvm.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib.handle; i++)
        lib.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib.handle) return;
    *(void **)&lib.quiet = dlsym(lib.handle, "svm_set_print_string_function");
    *(void **)&lib.check = dlsym(lib.handle, "svm_check_parameter");
    *(void **)&lib.train = dlsym(lib.handle, "svm_train");
    *(void **)&lib.release = dlsym(lib.handle, "svm_free_and_destroy_model");
    if (lib.quiet) lib.quiet(say_nothing);
}

plumb_status one_class_svm_load(void)
{
    pthread_once(&once, load);
    if (lib.quiet && lib.check && lib.train && lib.release) return PLUMB_OK;
    return fail(PLUMB_EMISSING, "the scorer ocsvm needs libsvm: install libsvm3");
}

// ---- kernels ----

typedef struct kernels {
    const double *seen, *asked; // padded rows, `width` apart
    double *seen_norm, *asked_norm;
    int64_t seen_count, asked_count, width;
    bool linear;
    double gamma;
    double **tile; // per worker: (TILE, TILE)
    struct svm_node **node;
    const double *alpha; // of the support vectors, which `seen` then holds
    double rho, *decision;
} kernels;

static double *padded(arena *mem, const double *rows, int64_t count, int64_t dims, int64_t width)
{
    double *out = ARENA_ALLOC(mem, double, count *width);
    for (int64_t i = 0; out && i < count; i++)
        memcpy(out + i * width, rows + i * dims, (size_t)dims * sizeof *out);
    return out;
}

static double *norms(arena *mem, const double *rows, int64_t count, int64_t width)
{
    double *out = ARENA_ALLOC(mem, double, count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = vector_dot(rows + i * width, rows + i * width, width);
    return out;
}

static double kernel(const kernels *k, double product, double a, double b)
{
    if (k->linear) return product;
    return exp(-k->gamma * fmax(a + b - 2.0 * product, 0.0));
}

// Rows item*TILE .. of the matrix, up to the diagonal; the other half is its mirror image.
static plumb_status fill_matrix(void *context, int64_t item, int worker)
{
    const kernels *k = context;
    const int64_t i = item * TILE, n = k->seen_count, high = n - i < TILE ? n - i : TILE;
    double *tile = k->tile[worker];
    for (int64_t j = 0; j <= i; j += TILE) {
        const int64_t wide = n - j < TILE ? n - j : TILE;
        vector_products(tile, TILE, k->seen + i * k->width, k->width, high, k->seen + j * k->width,
                        k->width, wide, k->width);
        for (int64_t a = 0; a < high; a++)
            for (int64_t b = 0; b < wide && j + b <= i + a; b++) {
                const double value =
                    i + a == j + b && !k->linear
                        ? 1.0
                        : kernel(k, tile[a * TILE + b], k->seen_norm[i + a], k->seen_norm[j + b]);
                k->node[i + a][j + b + 1].value = k->node[j + b][i + a + 1].value = value;
            }
    }
    return PLUMB_OK;
}

static plumb_status decide(void *context, int64_t item, int worker)
{
    const kernels *k = context;
    const int64_t i = item * TILE, left = k->asked_count - i, high = left < TILE ? left : TILE;
    double *tile = k->tile[worker];
    for (int64_t a = 0; a < high; a++) k->decision[i + a] = 0.0;
    for (int64_t j = 0; j < k->seen_count; j += TILE) {
        const int64_t wide = k->seen_count - j < TILE ? k->seen_count - j : TILE;
        vector_products(tile, TILE, k->asked + i * k->width, k->width, high, k->seen + j * k->width,
                        k->width, wide, k->width);
        for (int64_t a = 0; a < high; a++)
            for (int64_t b = 0; b < wide; b++)
                k->decision[i + a] +=
                    k->alpha[j + b] *
                    kernel(k, tile[a * TILE + b], k->asked_norm[i + a], k->seen_norm[j + b]);
    }
    for (int64_t a = 0; a < high; a++) k->decision[i + a] -= k->rho;
    return PLUMB_OK;
}

// ---- training ----

static plumb_status describe(struct svm_problem *problem, arena *mem, kernels *k,
                             const double *seen, int64_t dims, bool precomputed, int threads)
{
    const int64_t n = k->seen_count, length = precomputed ? n + 2 : dims + 1;
    problem->l = (int)n;
    problem->x = ARENA_ALLOC(mem, struct svm_node *, n);
    problem->y = ARENA_ALLOC(mem, double, n);
    struct svm_node *nodes = ARENA_ALLOC(mem, struct svm_node, n * length);
    if (!problem->x || !problem->y || !nodes) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        struct svm_node *node = problem->x[i] = nodes + i * length;
        for (int64_t j = 0; j < length - 1; j++) {
            node[j].index = (int)(precomputed ? j : j + 1);
            if (!precomputed) node[j].value = seen[i * dims + j];
        }
        if (precomputed) node[0].value = (double)(i + 1); // its serial number, from 1
        node[length - 1].index = -1;
    }
    k->node = problem->x;
    return precomputed ? parallel_for((n + TILE - 1) / TILE, threads, fill_matrix, k) : PLUMB_OK;
}

static double variance(const double *x, int64_t count)
{
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < count; i++) mean += x[i];
    mean /= (double)count;
    for (int64_t i = 0; i < count; i++) square += (x[i] - mean) * (x[i] - mean);
    return square / (double)count;
}

static plumb_status solve(double *decision, double *rho, arena *mem, const double *seen, kernels *k,
                          int64_t dims, const one_class_svm_settings *settings, int threads)
{
    const int64_t n = k->seen_count;
    const bool precomputed = n <= MOST_PRECOMPUTED;
    struct svm_problem problem;
    plumb_status st = describe(&problem, mem, k, seen, dims, precomputed, threads);
    if (st) return st;
    const struct svm_parameter parameter = {.svm_type = ONE_CLASS,
                                            .kernel_type = precomputed        ? PRECOMPUTED
                                                           : settings->linear ? LINEAR
                                                                              : RBF,
                                            .gamma = k->gamma,
                                            .cache_size = 200.0,
                                            .eps = settings->tolerance,
                                            .nu = settings->nu,
                                            .shrinking = 1};
    const char *wrong = lib.check(&problem, &parameter);
    if (wrong) return fail(PLUMB_EVALUE, "libsvm: %s", wrong);
    struct svm_model *model = lib.train(&problem, &parameter);
    if (!model) return fail(PLUMB_EMEMORY, "libsvm gives no model");

    // Only the support vectors matter from here on.
    double *rows = ARENA_ALLOC(mem, double, model->l * k->width);
    double *alpha = ARENA_ALLOC(mem, double, model->l);
    if (rows && alpha) {
        for (int64_t i = 0; i < model->l; i++) {
            const int64_t from = model->sv_indices[i] - 1;
            alpha[i] = model->sv_coef[0][i];
            memcpy(rows + i * k->width, k->seen + from * k->width, (size_t)k->width * sizeof *rows);
        }
        k->seen = rows;
        k->seen_count = model->l;
        k->alpha = alpha;
        k->rho = model->rho[0];
        k->decision = decision;
        k->seen_norm = norms(mem, rows, model->l, k->width);
    }
    if (rho) *rho = model->rho[0];
    lib.release(&model);
    if (!rows || !alpha || !k->seen_norm) return PLUMB_EMEMORY;
    return parallel_for((k->asked_count + TILE - 1) / TILE, threads, decide, k);
}

static plumb_status prepare(double *decision, double *rho, arena *mem, const double *seen,
                            int64_t seen_count, const double *asked, int64_t asked_count,
                            int64_t dims, const one_class_svm_settings *settings)
{
    const int64_t width = vector_padded(dims);
    const int threads = settings->threads > 0 ? settings->threads : parallel_threads();
    kernels k = {.seen_count = seen_count,
                 .asked_count = asked_count,
                 .width = width,
                 .linear = settings->linear,
                 .gamma = settings->width};
    if (k.gamma <= 0.0) {
        const double spread = variance(seen, seen_count * dims);
        k.gamma = spread > 0.0 ? 1.0 / ((double)dims * spread) : 1.0;
    }
    k.seen = padded(mem, seen, seen_count, dims, width);
    k.asked = padded(mem, asked, asked_count, dims, width);
    k.tile = ARENA_ALLOC(mem, double *, threads);
    if (!k.seen || !k.asked || !k.tile) return PLUMB_EMEMORY;
    k.seen_norm = norms(mem, k.seen, seen_count, width);
    k.asked_norm = norms(mem, k.asked, asked_count, width);
    if (!k.seen_norm || !k.asked_norm) return PLUMB_EMEMORY;
    for (int i = 0; i < threads; i++)
        if (!(k.tile[i] = ARENA_ALLOC(mem, double, TILE *TILE))) return PLUMB_EMEMORY;
    return solve(decision, rho, mem, seen, &k, dims, settings, threads);
}

plumb_status one_class_svm_decide(double *decision, double *rho, arena *mem, const double *seen,
                                  int64_t seen_count, const double *asked, int64_t asked_count,
                                  int64_t dims, const one_class_svm_settings *settings)
{
    plumb_status st = one_class_svm_load();
    if (st) return st;
    // libsvm counts in int and does not check what it allocates.
    if (seen_count > 200000 || dims > 100000 || seen_count * dims > INT32_MAX / 4)
        return fail(PLUMB_EVALUE, "%lld observed clips of %lld dimensions are too many for libsvm",
                    (long long)seen_count, (long long)dims);
    if (!(settings->nu > 0.0) || settings->nu > 1.0)
        return fail(PLUMB_EVALUE, "nu is %g; it must be above 0 and at most 1", settings->nu);
    const arena_mark mark = arena_get_mark(mem);
    st = prepare(decision, rho, mem, seen, seen_count, asked, asked_count, dims, settings);
    arena_rewind(mem, mark);
    return st;
}

plumb_status scorer_ocsvm(double *r, arena *mem, const scorer_task *task)
{
    const one_class_svm_settings settings = {
        .nu = task->opt->nu, .tolerance = task->opt->tolerance, .threads = task->opt->threads};
    const plumb_status st =
        one_class_svm_decide(r, NULL, mem, task->observed, task->seen_count, task->queries,
                             task->asked_count, task->dims, &settings);
    for (int64_t i = 0; !st && i < task->asked_count; i++) r[i] = -r[i];
    return st;
}
