// SPDX-License-Identifier: MIT
// Tuples, uniformity and the counter-example against SciPy and scikit-learn (README.md beside the
// cases): numbers 1e-12, p-values 1e-6 relative, those below 1e-200 only below 1e-100.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"
#include "measures/surprise/counterexample.h"
#include "measures/surprise/input.h"
#include "measures/surprise/scorers.h"
#include "measures/surprise/tuple_metrics.h"
#include "measures/surprise/uniformity.h"

static int check_p(plumb_file *file, const char *path, const char *name, double got)
{
    const double want = golden_scalar(file, name, (double)NAN);
    if (want < 1e-200) {
        if (got < 1e-100) return 0;
        printf("%s: %s is %g, wanted below 1e-100\n", path, name, got);
        return 1;
    }
    return golden_near(path, name, 0, got, want, 0.0, 1e-6);
}

static int check_scalar(plumb_file *file, const char *path, const char *scorer, const char *name,
                        double got)
{
    char full[96];
    snprintf(full, sizeof full, "%s/%s", scorer, name);
    if (strstr(name, "_p")) {
        if (!strcmp(name, "acc_pairwise4"))
            return golden_near(path, full, 0, got, golden_scalar(file, full, (double)NAN), 1e-12,
                               0);
        return check_p(file, path, full, got);
    }
    return golden_near(path, full, 0, got, golden_scalar(file, full, (double)NAN), 1e-12, 1e-12);
}

static int check_scorer(plumb_file *file, const char *path, const char *scorer,
                        const plumb_surprise_score *s)
{
    const plumb_surprise_metrics *m = &s->all;
    const int64_t n = m->tuples;
    char name[64];
    double *diff = malloc((size_t)n * 8 + 8), *rel = malloc((size_t)n * 8 + 8);
    for (int64_t i = 0; i < n; i++) {
        double p, q;
        tuple_metrics_sums(&p, &q, s->score + 4 * i);
        diff[i] = q - p;
        rel[i] = tuple_metrics_relative(s->score + 4 * i);
    }
    snprintf(name, sizeof name, "%s/diff", scorer);
    int failures = golden_same(file, path, name, diff, n, 1e-12, 1e-12);
    snprintf(name, sizeof name, "%s/rel", scorer);
    failures += golden_same(file, path, name, rel, n, 1e-12, 1e-12);
    snprintf(name, sizeof name, "%s/wilson95", scorer);
    const double wilson[2] = {m->accuracy_wilson.low, m->accuracy_wilson.high};
    failures += golden_same(file, path, name, wilson, 2, 1e-12, 1e-12);
    failures += check_scalar(file, path, scorer, "accuracy", m->accuracy);
    failures += check_scalar(file, path, scorer, "mean_rel", m->relative_surprise);
    failures += check_scalar(file, path, scorer, "mean_diff", m->difference);
    failures += check_scalar(file, path, scorer, "acc_pairwise4", m->pairwise);
    failures += check_scalar(file, path, scorer, "acc_matched_start", m->matched);
    failures += check_scalar(file, path, scorer, "auroc", m->auroc);
    failures += check_scalar(file, path, scorer, "binom_p_greater", m->chance_p);
    failures += check_scalar(file, path, scorer, "ttest_t", m->t);
    failures += check_scalar(file, path, scorer, "ttest_p", m->t_p);
    free(diff);
    free(rel);
    return failures;
}

// possible (n, 2, width) and impossible beside each other: (n, 4, width)
static double *beside(const double *possible, const double *impossible, int64_t n, int64_t width)
{
    double *out = malloc((size_t)(n * 4 * width + 1) * sizeof *out);
    for (int64_t i = 0; out && i < n; i++) {
        memcpy(out + i * 4 * width, possible + i * 2 * width, (size_t)(2 * width) * sizeof *out);
        memcpy(out + (i * 4 + 2) * width, impossible + i * 2 * width,
               (size_t)(2 * width) * sizeof *out);
    }
    return out;
}

int golden_tuples(plumb_file *file, const char *path)
{
    plumb_array shape;
    int64_t count = 0;
    if (plumb_file_read_array(&shape, file, "pos_frame") || shape.ndim != 3) return 1;
    const int64_t n = shape.shape[0], frames = shape.shape[2];
    double *pf = golden_read(&count, file, "pos_frame");
    double *qf = golden_read(&count, file, "imp_frame");
    double *pr = golden_read(&count, file, "r_pos"), *qr = golden_read(&count, file, "r_imp");
    if (!pf || !qf || !pr || !qr) return 1;
    double *frame = beside(pf, qf, n, frames), *r = beside(pr, qr, n, 1);
    plumb_array surprise = plumb_array_view(frame, PLUMB_FLOAT64, 3, (int64_t[]){n, 4, frames});
    plumb_array voe = plumb_array_view(r, PLUMB_FLOAT64, 2, (int64_t[]){n, 4});
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.frames = PLUMB_SURPRISE_FRAMES_SUM;
    // r is given, and naive is the scorer that takes it as it is.
    opt.gammas[PLUMB_SCORER_NAIVE] = golden_scalar(file, "gamma", 0.01);
    const plumb_surprise_input in = {
        .size = sizeof in, .surprise = &surprise, .surprise_naive = &voe};
    plumb_surprise result;
    int failures = 1;
    if (plumb_surprise_measure(&result, &in, &opt)) {
        printf("%s: %s\n", path, plumb_last_error());
    } else {
        failures = check_scorer(file, path, "vanilla", &result.scorers[PLUMB_SCORER_PLAIN]);
        failures += check_scorer(file, path, "knn", &result.scorers[PLUMB_SCORER_NAIVE]);
        plumb_surprise_clear(&result);
    }
    free(pf);
    free(qf);
    free(pr);
    free(qr);
    free(frame);
    free(r);
    return failures;
}

int golden_uniformity(plumb_file *file, const char *path)
{
    plumb_array obs, test;
    if (plumb_file_read_array(&obs, file, "obs") || plumb_file_read_array(&test, file, "test"))
        return 1;
    int64_t count = 0;
    double *seen = golden_read(&count, file, "obs"), *asked = golden_read(&count, file, "test");
    const int64_t n = obs.shape[0], m = test.shape[0], d = obs.shape[1];
    double *r = malloc((size_t)m * 8 + 8);
    int64_t *sizes = malloc((size_t)m * 8 + 8);
    for (int64_t i = 0; i < n; i++) surprise_input_normalise(seen + i * d, d);
    for (int64_t i = 0; i < m; i++) surprise_input_normalise(asked + i * d, d), sizes[i] = n;
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = (int64_t)golden_scalar(file, "k", 0);
    const scorer_task task = {.observed = seen,
                              .observed_count = n,
                              .queries = asked,
                              .query_count = m,
                              .dims = d,
                              .opt = &opt};
    arena mem = {0};
    plumb_surprise_uniformity u;
    int failures = 1;
    if (!scorer_knn(r, &mem, &task) && !uniformity_measure(&u, &mem, r, sizes, m, opt.k, d)) {
        failures = golden_same(file, path, "r", r, m, 1e-12, 1e-12);
        for (int64_t i = 0; i < m; i++) r[i] = uniformity_cap(r[i], d);
        failures += golden_same(file, path, "cap", r, m, 1e-13, 1e-10);
        failures += golden_near(path, "ks_D", 0, u.paper.statistic,
                                golden_scalar(file, "ks_D", (double)NAN), 1e-12, 0.0);
        failures += check_p(file, path, "ks_p", u.paper.p);
        double bins[20];
        for (int i = 0; i < 20; i++) bins[i] = (double)u.histogram[i];
        failures += golden_same(file, path, "chi2_hist", bins, 20, 0.0, 0.0);
        failures += golden_near(path, "chi2", 0, u.paper_chi.statistic,
                                golden_scalar(file, "chi2", (double)NAN), 1e-12, 1e-12);
        failures += check_p(file, path, "chi2_p", u.paper_chi.p);
        failures += golden_near(path, "beta_ks_D", 0, u.exact.statistic,
                                golden_scalar(file, "beta_ks_D", (double)NAN), 1e-12, 0.0);
        failures += check_p(file, path, "beta_ks_p", u.exact.p);
    }
    arena_clear(&mem);
    free(seen);
    free(asked);
    free(r);
    free(sizes);
    return failures;
}

int golden_example(plumb_file *file, const char *path)
{
    static const struct {
        const char *name;
        double deviation;
    } readings[] = {{"var0p001", 0.031622776601683794}, {"std0p001", 0.001}};
    int64_t n = 0;
    double *x = golden_read(&n, file, "x"), *ratio = malloc((size_t)(n + 1) * 8);
    int failures = !x || !ratio;
    for (int i = 0; i < 2 && !failures; i++) {
        char name[64];
        const plumb_surprise_counterexample e =
            plumb_surprise_counterexample_compute(readings[i].deviation);
        for (int64_t j = 0; j < n; j++)
            ratio[j] = counterexample_log_ratio(x[j], readings[i].deviation);
        snprintf(name, sizeof name, "%s/log_LR", readings[i].name);
        failures += golden_same(file, path, name, ratio, n, 1e-12, 1e-12);
        for (int64_t j = 0; j < n; j++) ratio[j] = 1.0 / (1.0 + exp(-ratio[j]));
        snprintf(name, sizeof name, "%s/posterior_p0p5", readings[i].name);
        failures += golden_same(file, path, name, ratio, n, 1e-300, 1e-9);
        snprintf(name, sizeof name, "%s/x_where_LR_is_1", readings[i].name);
        failures +=
            golden_near(path, name, 0, e.even, golden_scalar(file, name, (double)NAN), 0.0, 1e-12);
        if (x[0] == 0.0)
            failures +=
                golden_near(path, "x = 0", 0, e.surprise[0], 0.91893853320467274, 1e-15, 0.0);
    }
    // The annulus of Theorem 2: chi-square probabilities by SciPy.
    int64_t count = 0;
    double *dims = golden_read(&count, file, "annulus_d");
    double *found = malloc((size_t)(3 * count + 1) * sizeof *found);
    failures += !dims || !found || !count;
    for (int64_t j = 0; dims && found && j < count; j++) {
        const plumb_surprise_annulus a = plumb_surprise_annulus_compute((int64_t)dims[j]);
        found[j] = a.mean_norm;
        found[count + j] = a.within_1;
        found[2 * count + j] = a.within_3;
    }
    if (dims && found) {
        failures += golden_same(file, path, "annulus_mean_norm", found, count, 0.0, 1e-12);
        failures +=
            golden_same(file, path, "annulus_prob_within_1", found + count, count, 1e-12, 0);
        failures +=
            golden_same(file, path, "annulus_prob_within_3", found + 2 * count, count, 1e-12, 0);
    }
    free(dims);
    free(found);
    free(x);
    free(ratio);
    return failures;
}
