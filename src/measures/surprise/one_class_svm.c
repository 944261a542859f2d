// SPDX-License-Identifier: MIT
// One-class SVM by libsvm [Chang11], which is loaded at first use.
//
// libsvm stores points as lists of (index, value), which is slow for dense features. So the kernel
// matrix is computed here, by math/vector.h, and passed on as a precomputed one up to a size limit.
// Decisions are computed here too: sum of alpha K(observed, query) - rho.
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

// Up to MAX_PRECOMPUTED observed clips the kernel matrix takes at most 1 GB as svm_node.
enum { TILE = 64, MAX_PRECOMPUTED = 8000 };

static struct {
    void *handle;
    void (*quiet)(void (*)(const char *));
    const char *(*check)(const struct svm_problem *, const struct svm_parameter *);
    struct svm_model *(*train)(const struct svm_problem *, const struct svm_parameter *);
    void (*release)(struct svm_model **);
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void discard_text(const char *text)
{
    (void)text;
}

// libsvm is optional at run time: the first library name that loads is used.
static void load_library(void)
{
    static const char *const names[] = {"libsvm.so.3", "libsvm.so.4", "libsvm.so.2", "libsvm.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !lib.handle; i++)
        lib.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib.handle) return;
    *(void **)&lib.quiet = dlsym(lib.handle, "svm_set_print_string_function");
    *(void **)&lib.check = dlsym(lib.handle, "svm_check_parameter");
    *(void **)&lib.train = dlsym(lib.handle, "svm_train");
    *(void **)&lib.release = dlsym(lib.handle, "svm_free_and_destroy_model");
    if (lib.quiet) lib.quiet(discard_text);
}

plumb_status one_class_svm_load(void)
{
    pthread_once(&once, load_library);
    if (lib.quiet && lib.check && lib.train && lib.release) return PLUMB_OK;
    return fail(PLUMB_EMISSING, "the scorer ocsvm needs libsvm: install libsvm3");
}

// ---- kernels ----

typedef struct kernel_problem {
    const double *observed, *queries; // padded rows, `width` apart
    double *observed_norm, *query_norm;
    int64_t observed_count, query_count, width;
    int threads;
    bool linear;
    double gamma;
    double **tile; // per worker: (TILE, TILE)
    struct svm_node **node;
    const double *alpha; // of the support vectors, which `observed` then holds
    double rho, *decision;
} kernel_problem;

// Rows padded with zeros to `width`, as the vector kernels need them.
static double *pad_rows(arena *mem, const double *rows, int64_t count, int64_t dims, int64_t width)
{
    double *out = ARENA_ALLOC(mem, double, count *width);
    for (int64_t i = 0; out && i < count; i++)
        memcpy(out + i * width, rows + i * dims, (size_t)dims * sizeof *out);
    return out;
}

static double *compute_norms(arena *mem, const double *rows, int64_t count, int64_t width)
{
    double *out = ARENA_ALLOC(mem, double, count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = vector_dot(rows + i * width, rows + i * width, width);
    return out;
}

// The inner product, or exp(-gamma |a - b|^2) from it and the squared norms a, b.
static double evaluate_kernel(const kernel_problem *kernels, double product, double a, double b)
{
    if (kernels->linear) return product;
    return exp(-kernels->gamma * fmax(a + b - 2.0 * product, 0.0));
}

// Rows item*TILE .. of the matrix, up to the diagonal; the other half is its mirror image.
static plumb_status fill_matrix(void *context, int64_t item, int worker)
{
    const kernel_problem *kernels = context;
    const int64_t i = item * TILE, n = kernels->observed_count, high = n - i < TILE ? n - i : TILE;
    const int64_t width = kernels->width;
    double *tile = kernels->tile[worker];
    for (int64_t j = 0; j <= i; j += TILE) {
        const int64_t wide = n - j < TILE ? n - j : TILE;
        vector_products(tile, TILE, (vector_rows){kernels->observed + i * width, high, width},
                        (vector_rows){kernels->observed + j * width, wide, width}, width);
        for (int64_t a = 0; a < high; a++)
            for (int64_t b = 0; b < wide && j + b <= i + a; b++) {
                const double value = i + a == j + b && !kernels->linear
                                         ? 1.0
                                         : evaluate_kernel(kernels, tile[a * TILE + b],
                                                           kernels->observed_norm[i + a],
                                                           kernels->observed_norm[j + b]);
                kernels->node[i + a][j + b + 1].value = kernels->node[j + b][i + a + 1].value =
                    value;
            }
    }
    return PLUMB_OK;
}

// Decisions of TILE queries.
static plumb_status decide_tile(void *context, int64_t item, int worker)
{
    const kernel_problem *kernels = context;
    const int64_t i = item * TILE, left = kernels->query_count - i,
                  high = left < TILE ? left : TILE;
    const int64_t width = kernels->width;
    double *tile = kernels->tile[worker];
    for (int64_t a = 0; a < high; a++) kernels->decision[i + a] = 0.0;
    for (int64_t j = 0; j < kernels->observed_count; j += TILE) {
        const int64_t wide =
            kernels->observed_count - j < TILE ? kernels->observed_count - j : TILE;
        vector_products(tile, TILE, (vector_rows){kernels->queries + i * width, high, width},
                        (vector_rows){kernels->observed + j * width, wide, width}, width);
        for (int64_t a = 0; a < high; a++)
            for (int64_t b = 0; b < wide; b++)
                kernels->decision[i + a] +=
                    kernels->alpha[j + b] * evaluate_kernel(kernels, tile[a * TILE + b],
                                                            kernels->query_norm[i + a],
                                                            kernels->observed_norm[j + b]);
    }
    for (int64_t a = 0; a < high; a++) kernels->decision[i + a] -= kernels->rho;
    return PLUMB_OK;
}

// ---- training ----

// The problem as libsvm wants it: rows of (index, value), or rows of the kernel matrix.
static plumb_status build_problem(struct svm_problem *problem, arena *mem, kernel_problem *kernels,
                                  const one_class_svm_points *points, bool precomputed)
{
    const int64_t n = kernels->observed_count, dims = points->dims,
                  length = precomputed ? n + 2 : dims + 1;
    problem->l = (int)n;
    problem->x = ARENA_ALLOC(mem, struct svm_node *, n);
    problem->y = ARENA_ALLOC(mem, double, n);
    struct svm_node *nodes = ARENA_ALLOC(mem, struct svm_node, n * length);
    if (!problem->x || !problem->y || !nodes) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        struct svm_node *node = problem->x[i] = nodes + i * length;
        for (int64_t j = 0; j < length - 1; j++) {
            node[j].index = (int)(precomputed ? j : j + 1);
            if (!precomputed) node[j].value = points->observed[i * dims + j];
        }
        if (precomputed) node[0].value = (double)(i + 1); // its serial number, from 1
        node[length - 1].index = -1;
    }
    kernels->node = problem->x;
    return precomputed ? parallel_for((n + TILE - 1) / TILE, kernels->threads, fill_matrix, kernels)
                       : PLUMB_OK;
}

// Population variance of all entries.
static double compute_variance(const double *x, int64_t count)
{
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < count; i++) mean += x[i];
    mean /= (double)count;
    for (int64_t i = 0; i < count; i++) square += (x[i] - mean) * (x[i] - mean);
    return square / (double)count;
}

// Solves for alpha and rho, then computes all decisions.
static plumb_status solve_problem(double *decision, double *rho, arena *mem,
                                  kernel_problem *kernels, const one_class_svm_points *points,
                                  const one_class_svm_settings *settings)
{
    const int threads = kernels->threads;
    const int64_t n = kernels->observed_count;
    const bool precomputed = n <= MAX_PRECOMPUTED;
    struct svm_problem problem;
    plumb_status st = build_problem(&problem, mem, kernels, points, precomputed);
    if (st) return st;
    const struct svm_parameter parameter = {.svm_type = ONE_CLASS,
                                            .kernel_type = precomputed        ? PRECOMPUTED
                                                           : settings->linear ? LINEAR
                                                                              : RBF,
                                            .gamma = kernels->gamma,
                                            .cache_size = 200.0,
                                            .eps = settings->tolerance,
                                            .nu = settings->nu,
                                            .shrinking = 1};
    const char *wrong = lib.check(&problem, &parameter);
    if (wrong) return fail(PLUMB_EVALUE, "libsvm: %s", wrong);
    struct svm_model *model = lib.train(&problem, &parameter);
    if (!model) return fail(PLUMB_EMEMORY, "libsvm returned no model");

    // Decisions need only the support vectors.
    double *rows = ARENA_ALLOC(mem, double, model->l * kernels->width);
    double *alpha = ARENA_ALLOC(mem, double, model->l);
    if (rows && alpha) {
        for (int64_t i = 0; i < model->l; i++) {
            const int64_t from = model->sv_indices[i] - 1;
            alpha[i] = model->sv_coef[0][i];
            memcpy(rows + i * kernels->width, kernels->observed + from * kernels->width,
                   (size_t)kernels->width * sizeof *rows);
        }
        kernels->observed = rows;
        kernels->observed_count = model->l;
        kernels->alpha = alpha;
        kernels->rho = model->rho[0];
        kernels->decision = decision;
        kernels->observed_norm = compute_norms(mem, rows, model->l, kernels->width);
    }
    if (rho) *rho = model->rho[0];
    lib.release(&model);
    if (!rows || !alpha || !kernels->observed_norm) return PLUMB_EMEMORY;
    return parallel_for((kernels->query_count + TILE - 1) / TILE, threads, decide_tile, kernels);
}

static plumb_status prepare_kernels(double *decision, double *rho, arena *mem,
                                    const one_class_svm_points *points,
                                    const one_class_svm_settings *settings)
{
    const int64_t dims = points->dims, observed_count = points->observed_count;
    const int64_t query_count = points->query_count;
    const int64_t width = vector_padded(dims);
    const int threads = settings->threads > 0 ? settings->threads : parallel_threads();
    kernel_problem kernels = {.observed_count = observed_count,
                              .query_count = query_count,
                              .width = width,
                              .threads = threads,
                              .linear = settings->linear,
                              .gamma = settings->width};
    // Default width as in scikit-learn, gamma = 1 / (dims Var(X)) [Pedregosa11].
    if (kernels.gamma <= 0.0) {
        const double spread = compute_variance(points->observed, observed_count * dims);
        kernels.gamma = spread > 0.0 ? 1.0 / ((double)dims * spread) : 1.0;
    }
    kernels.observed = pad_rows(mem, points->observed, observed_count, dims, width);
    kernels.queries = pad_rows(mem, points->queries, query_count, dims, width);
    kernels.tile = ARENA_ALLOC(mem, double *, threads);
    if (!kernels.observed || !kernels.queries || !kernels.tile) return PLUMB_EMEMORY;
    kernels.observed_norm = compute_norms(mem, kernels.observed, observed_count, width);
    kernels.query_norm = compute_norms(mem, kernels.queries, query_count, width);
    if (!kernels.observed_norm || !kernels.query_norm) return PLUMB_EMEMORY;
    for (int i = 0; i < threads; i++)
        if (!(kernels.tile[i] = ARENA_ALLOC(mem, double, TILE *TILE))) return PLUMB_EMEMORY;
    return solve_problem(decision, rho, mem, &kernels, points, settings);
}

plumb_status one_class_svm_decide(double *decision, double *rho, arena *mem,
                                  const one_class_svm_points *points,
                                  const one_class_svm_settings *settings)
{
    const int64_t observed_count = points->observed_count, dims = points->dims;
    plumb_status st = one_class_svm_load();
    if (st) return st;
    // libsvm counts in int and does not check what it allocates.
    if (observed_count > 200000 || dims > 100000 || observed_count * dims > INT32_MAX / 4)
        return fail(PLUMB_EVALUE, "%lld observed clips of %lld dimensions are too many for libsvm",
                    (long long)observed_count, (long long)dims);
    if (!(settings->nu > 0.0) || settings->nu > 1.0)
        return fail(PLUMB_EVALUE, "nu is %g; it must be above 0 and at most 1", settings->nu);
    const arena_mark mark = arena_get_mark(mem);
    st = prepare_kernels(decision, rho, mem, points, settings);
    arena_rewind(mem, mark);
    return st;
}

// libsvm's decision is positive for inliers; r must grow with the distance, so the sign turns.
plumb_status scorer_ocsvm(double *r, arena *mem, const scorer_task *task)
{
    const one_class_svm_settings settings = {
        .nu = task->opt->nu, .tolerance = task->opt->tolerance, .threads = task->opt->threads};
    const one_class_svm_points points = {task->observed, task->observed_count, task->queries,
                                         task->query_count, task->dims};
    const plumb_status st = one_class_svm_decide(r, NULL, mem, &points, &settings);
    for (int64_t i = 0; !st && i < task->query_count; i++) r[i] = -r[i];
    return st;
}
