// SPDX-License-Identifier: MIT
// SyMetric's network: its training from given first values, update by update, and R2, Jacobians and
// Sym of what comes out. In double throughout every number is compared sharply, 1e-11 (a plain
// NumPy version agreed to 2e-15, and 400 updates pass errors on); as the measure trains, in float,
// to 2e-4, what roundings grow to on the way.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"
#include "measures/fit/mlp_fit.h"
#include "measures/symetric/sym_score.h"

typedef struct network_case {
    plumb_file *file;
    const char *path;
    int64_t rows, updates;
    double *x, *y, *first, *value, *told, *loss; // x, y, told: columns
    mlp_fit_shape shape;
    double tolerance;
    int failures;
} network_case;

// (rows, columns) as (columns, rows).
static double *columns_of(int64_t *columns, plumb_file *file, const char *name)
{
    plumb_array a;
    int64_t count = 0;
    if (plumb_file_read_array(&a, file, name) || a.ndim != 2) return NULL;
    double *rows = golden_read(&count, file, name);
    double *out = rows ? malloc((size_t)count * sizeof *out) : NULL;
    for (int64_t i = 0; out && i < count; i++)
        out[i % a.shape[1] * a.shape[0] + i / a.shape[1]] = rows[i];
    *columns = a.shape[1];
    free(rows);
    return out;
}

// w0, b0, w1, .. under PREFIX_ into one block, or compared with one.
static bool read_block(network_case *c)
{
    int64_t at = 0, size = mlp_fit_parameters(&c->shape);
    for (int i = 0; i < 2 * c->shape.layers; i++) {
        char name[32];
        int64_t count = 0;
        snprintf(name, sizeof name, "in_%c%d", i % 2 ? 'b' : 'w', i / 2);
        double *part = golden_read(&count, c->file, name);
        const bool fits = part && at + count <= size;
        if (fits) memcpy(c->first + at, part, (size_t)count * sizeof *part);
        at += count;
        free(part);
        if (!fits) return false;
    }
    return at == size;
}

static void same(network_case *c, const char *name, const double *got, int64_t count)
{
    c->failures += golden_same(c->file, c->path, name, got, count, c->tolerance, c->tolerance);
}

static void compare_block(network_case *c)
{
    const double *at = c->value;
    for (int i = 0; i < c->shape.layers; i++) {
        const int64_t in = i ? c->shape.width : c->shape.inputs;
        const int64_t out = i == c->shape.layers - 1 ? c->shape.outputs : c->shape.width;
        char name[32];
        snprintf(name, sizeof name, "exp_w%d", i);
        same(c, name, at, in * out);
        snprintf(name, sizeof name, "exp_b%d", i);
        same(c, name, at + in * out, out);
        at += (in + 1) * out;
    }
}

static void compare_r2(network_case *c)
{
    const int64_t n = c->rows;
    double r2 = 0.0;
    for (int64_t t = 0; t < c->shape.outputs; t++) {
        double sum = 0.0, square = 0.0, left = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double y = c->y[t * n + i], e = y - c->told[t * n + i];
            sum += y, square += y * y, left += e * e;
        }
        r2 += (1.0 - left / (square - sum * sum / (double)n)) / (double)c->shape.outputs;
    }
    same(c, "exp_r2", &r2, 1);
}

// The points of each trajectory by themselves, as the measure takes them.
static void compare_points(network_case *c)
{
    enum { MOST = 256, DIMS = 8 };
    int64_t count = 0;
    plumb_array index;
    double *at = golden_read(&count, c->file, "in_eval_idx");
    const bool there =
        at && !plumb_file_read_array(&index, c->file, "in_eval_idx") && index.ndim == 2;
    const int64_t points = there ? index.shape[1] : 0, in = c->shape.inputs, out = c->shape.outputs;
    if (!there || points > MOST || in > DIMS || out > DIMS) {
        printf("%s: in_eval_idx is missing or too large\n", c->path);
        c->failures++;
        free(at);
        return;
    }
    static double x[MOST * DIMS], j[MOST * DIMS * DIMS], rho[MOST], scratch[2 * MOST * DIMS * DIMS];
    const int64_t steps = c->rows / index.shape[0];
    double *scores = calloc((size_t)count, sizeof *scores), sym = 0.0;
    for (int64_t k = 0; scores && k < index.shape[0]; k++) {
        for (int64_t p = 0; p < points; p++)
            for (int64_t d = 0; d < in; d++)
                x[d * points + p] = c->x[d * c->rows + k * steps + (int64_t)at[k * points + p]];
        if (mlp_fit_jacobians(j, &c->shape, c->value, x, points)) c->failures++;
        if (k == 0) same(c, "exp_jac_first5", j, 5 * in * out);
        sym_score s = {.score = scores + k * points, .rho = rho};
        int64_t pair_q[DIMS], pair_p[DIMS];
        for (int64_t i = 0; i < in / 2; i++) pair_q[i] = i, pair_p[i] = in / 2 + i;
        sym_score_compute(&s, j,
                          &(sym_score_input){.points = points,
                                             .n = out / 2,
                                             .columns = in,
                                             .pairs = in / 2,
                                             .q = pair_q,
                                             .p = pair_p,
                                             .shift = 1e-6},
                          scratch);
        // The second half of the scratch is A^ A^T.
        if (k == 0) same(c, "exp_aat_first5", scratch + points * out * out, 5 * out * out);
        sym += s.sym / (double)index.shape[0];
    }
    same(c, "exp_scores", scores, count);
    same(c, "exp_sym", &sym, 1);
    free(scores);
    free(at);
}

static void run_form(network_case *c, program_form form, double tolerance)
{
    c->tolerance = tolerance;
    memcpy(c->value, c->first, (size_t)mlp_fit_parameters(&c->shape) * sizeof *c->value);
    const mlp_fit_training t = {
        .shape = c->shape,
        .x = c->x,
        .y = c->y,
        .rows = c->rows,
        .stride = c->rows,
        .batch = (int64_t)golden_scalar(c->file, "cfg_batch", 0.0),
        .rate = {.rate = golden_scalar(c->file, "cfg_lr", 0.0), .steps = c->updates},
        .ridge = golden_scalar(c->file, "cfg_ridge", 0.0),
        .form = form,
        .loss = c->loss,
    };
    plumb_status st = mlp_fit_train(c->value, &t);
    if (!st) st = mlp_fit_apply(c->told, &c->shape, c->value, c->x, c->rows, c->rows);
    if (st) {
        printf("%s: %s\n", c->path, plumb_last_error());
        c->failures++;
        return;
    }
    same(c, "exp_loss", c->loss, c->updates);
    compare_block(c);
    compare_r2(c);
    compare_points(c);
}

int golden_mlp(plumb_file *file, const char *path)
{
    network_case c = {.file = file, .path = path, .failures = 1};
    plumb_array x, w;
    c.updates = (int64_t)golden_scalar(file, "cfg_steps", 0.0);
    c.x = columns_of(&c.shape.inputs, file, "in_x");
    c.y = columns_of(&c.shape.outputs, file, "in_y");
    while (c.shape.layers < MLP_MAX_LAYERS) {
        char name[32];
        snprintf(name, sizeof name, "in_w%d", c.shape.layers);
        if (!plumb_file_has_array(file, name)) break;
        c.shape.layers++;
    }
    if (c.x && c.y && c.updates > 0 && c.updates < 1 << 20 && c.shape.layers > 1 &&
        !plumb_file_read_array(&x, file, "in_x") && !plumb_file_read_array(&w, file, "in_w0") &&
        w.ndim == 2) {
        c.rows = x.shape[0];
        c.shape.width = w.shape[1];
        const size_t size = (size_t)mlp_fit_parameters(&c.shape);
        c.first = calloc(2 * size, sizeof(double));
        c.told = calloc((size_t)(c.rows * c.shape.outputs), sizeof(double));
        c.loss = calloc((size_t)c.updates, sizeof(double));
        if (c.first && c.told && c.loss && read_block(&c)) {
            c.value = c.first + size;
            c.failures = 0;
            run_form(&c, PROGRAM_REFERENCE, 1e-11);
            run_form(&c, PROGRAM_FAST, 2e-4);
        }
    }
    if (!c.value) printf("%s: its arrays do not make a network\n", path);
    free(c.x), free(c.y), free(c.first), free(c.told), free(c.loss);
    return c.failures;
}
