// SPDX-License-Identifier: MIT
// SyMetric by polynomials, step by step, against the published code's own output (prefixes B_:
// batches of five, A_: all trajectories in one fit), and in converged mode against the exact
// values. Tolerances are those of README.md beside the cases: order, penalty, mask and sweeps
// exact; R2 1e-10, weights 1e-9, cross-validation 1e-9 of max(1, |cv|), Sym 1e-10 + 1e-7 |Sym|;
// exact values 1e-8 for R2 and 1e-6 for Sym.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"
#include "measures/symetric/symetric.h"

typedef struct polynomial_case {
    plumb_file *file;
    const char *path;
    char prefix;
    bool ill_posed;
    plumb_array latent, truth, variance, points;
    bool has_variance;
    plumb_symetric_options opt;
    int failures;
} polynomial_case;

static const char *key(const polynomial_case *c, const char *name)
{
    static char text[64];
    snprintf(text, sizeof text, "%c_%s", c->prefix, name);
    return text;
}

// The array PREFIX_name, which must hold `count` numbers; NULL (a failure) if it does not.
static double *expected(polynomial_case *c, const char *name, int64_t count)
{
    int64_t found = 0;
    double *values = golden_read(&found, c->file, key(c, name));
    if (values && found == count) return values;
    printf("%s: %s holds %lld numbers, wanted %lld\n", c->path, key(c, name), (long long)found,
           (long long)count);
    c->failures++;
    free(values);
    return NULL;
}

static void near(polynomial_case *c, const char *what, int64_t index, double got, double want,
                 double absolute, double relative)
{
    c->failures += golden_near(c->path, what, index, got, want, absolute, relative);
}

// One number a batch.
static void compare_batches(polynomial_case *c, const symetric_work *work, const char *name,
                            double (*of)(const symetric_batch *), double absolute, double relative)
{
    double *want = expected(c, name, work->count);
    for (int64_t b = 0; want && b < work->count; b++)
        if (!isnan(want[b]))
            near(c, key(c, name), b, of(&work->batches[b]), want[b], absolute, relative);
    free(want);
}

static double order_of(const symetric_batch *b)
{
    return b->numbers.order;
}
static double alpha_of(const symetric_batch *b)
{
    return b->numbers.alpha;
}
static double alpha_index_of(const symetric_batch *b)
{
    return b->numbers.alpha_index;
}
static double features_of(const symetric_batch *b)
{
    return (double)b->numbers.features;
}
static double r2_of(const symetric_batch *b)
{
    return b->numbers.r2;
}
static double sym_of(const symetric_batch *b)
{
    return b->numbers.sym;
}
static double symetric_of(const symetric_batch *b)
{
    return b->numbers.symetric ? 1.0 : 0.0;
}

static void compare_standardising(polynomial_case *c, const symetric_batch_input *in,
                                  const symetric_work *work)
{
    double *mask = expected(c, "mask", work->count * in->latent_dims);
    for (int64_t b = 0; mask && b < work->count; b++) {
        int64_t next = 0;
        const symetric_batch *got = &work->batches[b];
        for (int64_t i = 0; i < in->latent_dims; i++) {
            const bool used = next < got->dims && got->used[next] == i;
            next += used;
            near(c, "mask", b * in->latent_dims + i, used, mask[b * in->latent_dims + i], 0.0, 0.0);
        }
    }
    free(mask);
    const struct {
        const char *name;
        bool latent, scale;
    } rows[] = {{"gt_mean", false, false},
                {"gt_scale", false, true},
                {"lat_mean", true, false},
                {"lat_scale", true, true}};
    for (int r = 0; r < 4; r++) {
        const int64_t width = rows[r].latent ? work->batches[0].dims : in->targets;
        double *want = expected(c, rows[r].name, work->count * width);
        for (int64_t i = 0; want && i < work->count * width; i++) {
            const symetric_batch *b = &work->batches[i / width];
            const double *got = rows[r].latent ? (rows[r].scale ? b->latent_scale : b->latent_mean)
                                               : (rows[r].scale ? b->truth_scale : b->truth_mean);
            if (isnan(want[i])) continue;
            near(c, rows[r].name, i, got[i % width], want[i], 1e-12, 1e-12);
        }
        free(want);
    }
}

static void compare_search(polynomial_case *c, const symetric_work *work)
{
    enum { ORDERS = 5 };
    const int64_t alphas = c->opt.alphas;
    double *cv = expected(c, "cv", work->count * ORDERS * 2 * alphas);
    double *r2 = expected(c, "rsq_by_order", work->count * ORDERS);
    double *index = expected(c, "alpha_index_by_order", work->count * ORDERS);
    for (int64_t b = 0; cv && r2 && index && b < work->count; b++) {
        const polynomial_fit *fit = &work->batches[b].fit;
        for (int o = 0; o < ORDERS; o++) {
            const int64_t at = b * ORDERS + o;
            near(c, "rsq_by_order", at, fit->r2_by_order[o + 1], r2[at], 1e-10, 0.0);
            near(c, "alpha_index_by_order", at, fit->alpha_by_order[o + 1], index[at], 0.0, 0.0);
            if (!fit->cv_by_order[o + 1]) continue;
            for (int64_t i = 0; i < 2 * alphas; i++)
                near(c, "cv", at * 2 * alphas + i, fit->cv_by_order[o + 1][i],
                     cv[at * 2 * alphas + i], 1e-9, 1e-9);
        }
    }
    free(cv);
    free(r2);
    free(index);
}

static void compare_weights(polynomial_case *c, const symetric_batch_input *in,
                            const symetric_work *work)
{
    double *sweeps = expected(c, "n_iter", work->count * in->targets);
    for (int64_t b = 0; b < work->count; b++) {
        const symetric_batch *got = &work->batches[b];
        char name[32];
        snprintf(name, sizeof name, "coef_%02d", (int)b);
        double *want = expected(c, name, in->targets * got->fit.poly.count);
        snprintf(name, sizeof name, "intercept_%02d", (int)b);
        double *intercept = expected(c, name, in->targets);
        for (int64_t t = 0; want && intercept && t < in->targets; t++) {
            const lasso_fit *fit = &got->fit.full[t];
            if (sweeps)
                near(c, "n_iter", b * in->targets + t, (double)fit->sweeps,
                     sweeps[b * in->targets + t], 0.0, 0.0);
            near(c, "intercept", t, fit->intercept, intercept[t], 1e-9, 0.0);
            int64_t next = 0;
            for (int64_t f = 0; f < got->fit.poly.count; f++) {
                const bool there = next < fit->count && fit->features[next] == f;
                near(c, "coef", t * got->fit.poly.count + f, there ? fit->weights[next] : 0.0,
                     want[t * got->fit.poly.count + f], 1e-9, 0.0);
                next += there;
            }
        }
        free(want);
        free(intercept);
    }
    free(sweeps);
}

static void compare_points(polynomial_case *c, const symetric_batch_input *in,
                           const symetric_work *work)
{
    const int64_t points = in->points, size = work->size;
    double *scores = expected(c, "scores", work->count * size * points);
    double *norm = expected(c, "norm", work->count * size);
    double *sym = expected(c, "sym_traj", work->count * size);
    for (int64_t i = 0; scores && norm && sym && i < work->count * size; i++) {
        const sym_score *s = &work->batches[i / size].sym[i % size];
        near(c, "norm", i, s->norm, norm[i], 1e-10, 1e-7);
        near(c, "sym_traj", i, s->sym, sym[i], 1e-10, 1e-7);
        for (int64_t p = 0; p < points; p++)
            near(c, "scores", i * points + p, s->score[p], scores[i * points + p], 1e-10, 1e-7);
    }
    free(scores);
    free(norm);
    free(sym);
    const int64_t entries = 3 * in->targets * work->batches[0].dims;
    double *jacobian = expected(c, "jac_first3", work->count * entries);
    for (int64_t i = 0; jacobian && i < work->count * entries; i++)
        near(c, "jac_first3", i, work->batches[i / entries].jacobian[i % entries] - c->opt.shift,
             jacobian[i], 1e-8, 1e-8);
    free(jacobian);
}

// The golden medians are over other points than the drawn ones, which only a linear map forgives.
static void compare_rho(polynomial_case *c, const symetric_work *work)
{
    double *want = expected(c, "ahat_rel", work->count);
    for (int64_t b = 0; want && b < work->count; b++)
        if (work->batches[b].numbers.order == 1)
            near(c, "ahat_rel", b, work->batches[b].numbers.rho, want[b], 1e-9, 1e-6);
    free(want);
}

static void compare_reference(polynomial_case *c, const symetric_batch_input *in,
                              const symetric_work *work)
{
    compare_batches(c, work, "order", order_of, 0.0, 0.0);
    compare_batches(c, work, "alpha_index", alpha_index_of, 0.0, 0.0);
    compare_batches(c, work, "alpha", alpha_of, 0.0, 1e-12);
    compare_batches(c, work, "n_features", features_of, 0.0, 0.0);
    compare_batches(c, work, "rsq", r2_of, 1e-10, 0.0);
    compare_standardising(c, in, work);
    compare_search(c, work);
    compare_weights(c, in, work);
    if (c->ill_posed) return;
    compare_batches(c, work, "sym", sym_of, 1e-10, 1e-7);
    compare_batches(c, work, "symetric", symetric_of, 0.0, 0.0);
    compare_points(c, in, work);
    if (c->prefix == 'B' && plumb_file_has_array(c->file, "B_ahat_rel")) compare_rho(c, work);
}

// Where a fit of the exact values stayed unconverged they are NaN, and nothing is compared.
static void compare_exact(polynomial_case *c, const symetric_work *work)
{
    compare_batches(c, work, "exact_order", order_of, 0.0, 0.0);
    compare_batches(c, work, "exact_alpha", alpha_of, 0.0, 1e-12);
    compare_batches(c, work, "exact_rsq", r2_of, 1e-8, 0.0);
    if (c->ill_posed) return;
    compare_batches(c, work, "exact_sym", sym_of, 1e-6, 0.0);
    double *want = expected(c, "exact_symetric", work->count);
    for (int64_t b = 0; want && b < work->count; b++) {
        const plumb_symetric_batch *got = &work->batches[b].numbers;
        // The exact values keep the published verdict on degenerate maps; plumb's default refuses
        // them.
        if (!isnan(want[b]))
            near(c, "exact_symetric", b, got->symetric, got->degenerate ? 0.0 : want[b], 0.0, 0.0);
    }
    free(want);
}

// The points of all trajectories of the file; those beyond the batches evaluated are never used.
static bool read_points(polynomial_case *c)
{
    plumb_array given;
    if (plumb_file_read_array(&given, c->file, key(c, "eval_idx")) || given.ndim != 3) return false;
    const int64_t trajectories = c->truth.shape[0], points = given.shape[2];
    const int64_t shape[2] = {trajectories, points};
    double *all = calloc((size_t)(trajectories * points + 1), sizeof *all);
    if (!all || given.shape[0] * given.shape[1] > trajectories) {
        free(all);
        return false;
    }
    plumb_array_to_double(all, &given, 0, plumb_array_count(&given));
    c->points = plumb_array_view(all, PLUMB_FLOAT64, 2, shape);
    return true;
}

static void run_mode(polynomial_case *c, plumb_symetric_mode mode)
{
    c->opt.mode = mode;
    c->opt.nonfinite = PLUMB_SYMETRIC_NONFINITE_MEAN;
    symetric_work work = {0};
    symetric_batch_input in;
    int64_t dropped;
    plumb_status st = symetric_input(&in, &dropped, &work, &c->latent, &c->truth,
                                     c->has_variance ? &c->variance : NULL, &c->opt);
    if (!st) st = symetric_batches(&work, &in);
    if (st) {
        printf("%s: %s\n", c->path, plumb_last_error());
        c->failures++;
    } else if (mode == PLUMB_SYMETRIC_MODE_REFERENCE) {
        compare_reference(c, &in, &work);
    } else {
        compare_exact(c, &work);
    }
    symetric_work_clear(&work);
}

int golden_polynomial(plumb_file *file, const char *path)
{
    polynomial_case c = {.file = file, .path = path};
    if (plumb_file_read_array(&c.latent, file, "in_latent") ||
        plumb_file_read_array(&c.truth, file, "in_gt")) {
        printf("%s: %s\n", path, plumb_last_error());
        return 1;
    }
    c.has_variance = plumb_file_has_array(file, "in_posterior_var");
    if (c.has_variance && plumb_file_read_array(&c.variance, file, "in_posterior_var")) return 1;
    c.ill_posed = golden_scalar(file, "cfg_sym_ill_posed", 0.0) != 0.0;
    int64_t alphas = 0;
    double *alpha = golden_read(&alphas, file, "cfg_alphas");
    if (!alpha) return 1;
    for (const char *prefix = "BA"; *prefix; prefix++) {
        c.prefix = *prefix;
        if (!plumb_file_has_array(file, key(&c, "rsq"))) continue;
        c.opt = plumb_symetric_defaults();
        c.opt.alphas = alphas;
        c.opt.alpha_min = alpha[0];
        c.opt.alpha_max = alpha[alphas - 1];
        c.opt.batch = c.prefix == 'B' ? 5 : 0;
        c.opt.max_batches = c.prefix == 'B' ? (int64_t)golden_scalar(file, "cfg_n_batches", 0) : 0;
        if (!read_points(&c)) {
            printf("%s: %s is missing or misshapen\n", path, key(&c, "eval_idx"));
            c.failures++;
            continue;
        }
        c.opt.eval_index = &c.points;
        run_mode(&c, PLUMB_SYMETRIC_MODE_REFERENCE);
        if (plumb_file_has_array(file, key(&c, "exact_rsq")))
            run_mode(&c, PLUMB_SYMETRIC_MODE_CONVERGED);
        free(c.points.data);
    }
    free(alpha);
    return c.failures;
}
