// SPDX-License-Identifier: MIT
// Densities of impossible clips against scikit-learn's and PyOD's (README.md beside the cases has
// the tolerances): distances 1e-12, Mahalanobis and PCA 1e-8 relative, SVM decisions 1e-6 when
// solved to 1e-8, forests of our own random numbers within five standard deviations.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden/golden.h"
#include "measures/surprise/input.h"
#include "measures/surprise/isolation_forest.h"
#include "measures/surprise/one_class_svm.h"
#include "measures/surprise/principal_axes.h"
#include "measures/surprise/scorers.h"

typedef struct points {
    double *seen, *asked;
    int64_t seen_count, asked_count, dims;
} points;

// obs (N, d) and test (M, d), at unit length if asked for.
static bool read_points(points *p, plumb_file *file, bool unit)
{
    plumb_array obs;
    int64_t n = 0, m = 0;
    if (plumb_file_read_array(&obs, file, "obs") || obs.ndim != 2) return false;
    p->seen = golden_read(&n, file, "obs");
    p->asked = golden_read(&m, file, "test");
    if (!p->seen || !p->asked) return false;
    p->dims = obs.shape[1];
    p->seen_count = n / p->dims;
    p->asked_count = m / p->dims;
    for (int64_t i = 0; unit && i < p->seen_count; i++)
        surprise_input_normalise(p->seen + i * p->dims, p->dims);
    for (int64_t i = 0; unit && i < p->asked_count; i++)
        surprise_input_normalise(p->asked + i * p->dims, p->dims);
    return true;
}

static void points_free(points *p)
{
    free(p->seen);
    free(p->asked);
}

static scorer_task task_of(const points *p, const plumb_surprise_options *opt)
{
    return (scorer_task){.observed = p->seen,
                         .observed_count = p->seen_count,
                         .queries = p->asked,
                         .query_count = p->asked_count,
                         .dims = p->dims,
                         .opt = opt};
}

// ---- neighbours ----

// rk (M, ks) against the array `name`.
static int check_neighbours(plumb_file *file, const char *path, const char *name, const points *p,
                            const double *ks, int64_t count)
{
    int64_t wanted = 0;
    double *want = golden_read(&wanted, file, name), *r = malloc((size_t)p->asked_count * 8 + 8);
    int failures = !want || wanted != p->asked_count * count;
    for (int64_t j = 0; j < count && !failures; j++) {
        plumb_surprise_options opt = plumb_surprise_defaults();
        opt.k = (int64_t)ks[j];
        const scorer_task task = task_of(p, &opt);
        arena mem = {0};
        if (scorer_knn(r, &mem, &task)) {
            printf("%s: %s\n", path, plumb_last_error());
            failures++;
        }
        for (int64_t i = 0; i < p->asked_count; i++)
            failures +=
                golden_near(path, name, i * count + j, r[i], want[i * count + j], 1e-12, 1e-12);
        arena_clear(&mem);
    }
    free(want);
    free(r);
    return failures;
}

static int check_refused(plumb_file *file, const char *path, const points *p)
{
    int64_t count = 0;
    double *ks = golden_read(&count, file, "k_must_fail");
    double *r = malloc((size_t)p->asked_count * 8 + 8);
    int failures = 0;
    for (int64_t i = 0; ks && i < count; i++) {
        plumb_surprise_options opt = plumb_surprise_defaults();
        opt.k = (int64_t)ks[i];
        const scorer_task task = task_of(p, &opt);
        arena mem = {0};
        if (scorer_knn(r, &mem, &task) != PLUMB_EVALUE) {
            printf("%s: k = %g was not refused\n", path, ks[i]);
            failures++;
        }
        arena_clear(&mem);
    }
    free(ks);
    free(r);
    return failures;
}

// The whole measure, where the test clips make up tuples.
static int check_scores(plumb_file *file, const char *path, const double *ks, int64_t count)
{
    plumb_array feature, observation, surprise, voe;
    if (!plumb_file_has_array(file, "surprise_knn")) return 0;
    if (plumb_file_read_array(&feature, file, "test") ||
        plumb_file_read_array(&observation, file, "obs") ||
        plumb_file_read_array(&surprise, file, "surprise") ||
        plumb_file_read_array(&voe, file, "surprise_voe_model"))
        return 1;
    const int64_t tuples = feature.shape[0] / 4;
    if (tuples < 1 || feature.shape[0] % 4) return 0;
    feature =
        plumb_array_view(feature.data, feature.dtype, 3, (int64_t[]){tuples, 4, feature.shape[1]});
    surprise = plumb_array_view(surprise.data, surprise.dtype, 2, (int64_t[]){tuples, 4});
    voe = plumb_array_view(voe.data, voe.dtype, 2, (int64_t[]){tuples, 4});
    int64_t wanted = 0;
    double *want = golden_read(&wanted, file, "surprise_knn");
    int failures = !want || wanted != 4 * tuples * count;
    for (int64_t j = 0; j < count && !failures; j++) {
        plumb_surprise_options opt = plumb_surprise_defaults();
        opt.k = (int64_t)ks[j];
        opt.gamma = golden_scalar(file, "gamma", 0.01);
        opt.gammas[PLUMB_SCORER_NAIVE] = golden_scalar(file, "gamma_naive", 1.0);
        opt.scorers[PLUMB_SCORER_KNN] = opt.scorers[PLUMB_SCORER_NAIVE] = true;
        const plumb_surprise_input in = {.size = sizeof in,
                                         .surprise = &surprise,
                                         .feature = &feature,
                                         .observation = &observation,
                                         .surprise_naive = &voe};
        plumb_surprise result;
        if (plumb_surprise_measure(&result, &in, &opt)) {
            printf("%s: %s\n", path, plumb_last_error());
            failures++;
            break;
        }
        for (int64_t i = 0; i < 4 * tuples; i++)
            failures += golden_near(path, "surprise_knn", i * count + j,
                                    result.scorers[PLUMB_SCORER_KNN].score[i], want[i * count + j],
                                    1e-12, 1e-12);
        failures += golden_same(file, path, "surprise_naive",
                                result.scorers[PLUMB_SCORER_NAIVE].score, 4 * tuples, 1e-12, 1e-12);
        plumb_surprise_clear(&result);
    }
    free(want);
    return failures;
}

int golden_neighbours(plumb_file *file, const char *path)
{
    points unit = {0}, raw = {0};
    int64_t count = 0;
    double *ks = golden_read(&count, file, "ks");
    int failures = !ks || !read_points(&unit, file, true) || !read_points(&raw, file, false);
    if (!failures) {
        failures += golden_same(file, path, "obs_unit", unit.seen, unit.seen_count * unit.dims,
                                1e-15, 1e-14);
        failures += check_neighbours(file, path, "rk_unit", &unit, ks, count);
        if (plumb_file_has_array(file, "rk_raw"))
            failures += check_neighbours(file, path, "rk_raw", &raw, ks, count);
        failures += check_refused(file, path, &unit);
        failures += check_scores(file, path, ks, count);
    }
    points_free(&unit);
    points_free(&raw);
    free(ks);
    return failures;
}

// ---- everything else that says how strange a point is ----

static int check_density(plumb_file *file, const char *path, const char *name,
                         scorer_function *measure, const points *p)
{
    double *r = malloc((size_t)p->asked_count * 8 + 8);
    plumb_surprise_options opt = plumb_surprise_defaults();
    opt.k = (int64_t)golden_scalar(file, "knn_k", 50);
    const scorer_task task = task_of(p, &opt);
    arena mem = {0};
    int failures = 1;
    if (measure(r, &mem, &task)) printf("%s: %s\n", path, plumb_last_error());
    else failures = golden_same(file, path, name, r, p->asked_count, 1e-12, 1e-8);
    arena_clear(&mem);
    free(r);
    return failures;
}

static int check_shyu(plumb_file *file, const char *path, const points *p)
{
    const int64_t m = p->asked_count;
    double *major = malloc((size_t)m * 8 + 8), *minor = malloc((size_t)m * 8 + 8);
    arena mem = {0};
    pca_axes s;
    int failures = 1;
    if (!pca_axes_fit(&s, &mem, p->seen, p->seen_count, p->dims, (double)(p->seen_count - 1),
                      true) &&
        !principal_axes_shyu(major, minor, &mem, &s, p->asked, m, 1)) {
        failures = golden_same(file, path, "pca_corr_eigvals", s.values, p->dims, 1e-12, 1e-8);
        failures += golden_same(file, path, "pca_shyu_major", major, m, 1e-12, 1e-8);
        failures += golden_same(file, path, "pca_shyu_minor", minor, m, 1e-12, 1e-8);
    }
    // PyOD's, with the axes and shares that are stored.
    int64_t n = 0;
    double *axes = golden_read(&n, file, "pca_pyod_components");
    double *shares = golden_read(&n, file, "pca_pyod_evr");
    double *x = malloc((size_t)p->dims * 8 + 8);
    for (int64_t i = 0; i < m && !failures; i++) {
        for (int64_t j = 0; j < p->dims; j++)
            x[j] = (p->asked[i * p->dims + j] - s.mean[j]) / s.scale[j];
        major[i] = principal_axes_pyod(x, axes, p->dims, shares, p->dims);
    }
    if (!failures) failures += golden_same(file, path, "pca_pyod", major, m, 1e-12, 1e-10);
    free(axes);
    free(shares);
    free(x);
    free(major);
    free(minor);
    arena_clear(&mem);
    return failures;
}

static int check_svm(plumb_file *file, const char *path, const points *p)
{
    static const struct {
        const char *name;
        bool linear;
        double nu;
    } cases[] = {{"ocsvm_rbf_nu50", false, 0.5},
                 {"ocsvm_rbf_nu10", false, 0.1},
                 {"ocsvm_linear_nu30", true, 0.3}};
    if (one_class_svm_load()) {
        printf("%s: %s: not judged\n", path, plumb_last_error());
        return 0;
    }
    double *decision = malloc((size_t)p->asked_count * 8 + 8);
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_decision", cases[i].name);
        if (!plumb_file_has_array(file, name)) continue;
        for (int loose = 0; loose < 2; loose++) {
            const one_class_svm_settings settings = {
                .linear = cases[i].linear, .nu = cases[i].nu, .tolerance = loose ? 1e-3 : 1e-8};
            arena mem = {0};
            double rho = 0.0, most = 0.0;
            if (one_class_svm_decide(decision, &rho, &mem,
                                     &(one_class_svm_points){p->seen, p->seen_count, p->asked,
                                                             p->asked_count, p->dims},
                                     &settings)) {
                printf("%s: %s\n", path, plumb_last_error());
                failures++;
            }
            for (int64_t j = 0; j < p->asked_count; j++) most = fmax(most, fabs(decision[j]));
            failures += golden_same(file, path, name, decision, p->asked_count,
                                    loose ? 5e-3 * most : 1e-6, 0.0);
            if (!loose) {
                char other[64];
                snprintf(other, sizeof other, "%s_rho", cases[i].name);
                failures += golden_same(file, path, other, &rho, 1, 1e-6, 0.0);
            }
            arena_clear(&mem);
        }
    }
    free(decision);
    return failures;
}

// P(labelled points are stranger than others), ties half.
static double separation(const double *r, const double *label, int64_t n)
{
    double won = 0.0, pairs = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (label[i] == 0.0 || label[j] != 0.0) continue;
            pairs += 1.0;
            won += r[i] > r[j] ? 1.0 : r[i] == r[j] ? 0.5 : 0.0;
        }
    return won / pairs;
}

static int check_own_forest(plumb_file *file, const char *path, const points *p)
{
    int64_t n = 0, seeds = 0, labels = 0;
    double *mean = golden_read(&n, file, "iforest_score_mean");
    double *spread = golden_read(&n, file, "iforest_score_std");
    double *auroc = golden_read(&seeds, file, "iforest_auroc");
    double *label = golden_read(&labels, file, "label");
    double *r = malloc((size_t)p->asked_count * 8 + 8);
    int failures = !mean || !spread || !auroc || !label || n != p->asked_count;
    for (uint64_t seed = 1; seed <= 5 && !failures; seed++) {
        plumb_surprise_options opt = plumb_surprise_defaults();
        opt.seed = seed;
        opt.sample = (int64_t)golden_scalar(file, "iforest_max_samples", 256);
        opt.trees = (int64_t)golden_scalar(file, "iforest_n_estimators", 100);
        const scorer_task task = task_of(p, &opt);
        arena mem = {0};
        if (scorer_iforest(r, &mem, &task)) failures++;
        arena_clear(&mem);
        for (int64_t i = 0; i < n; i++)
            failures +=
                golden_near(path, "iforest_score_mean", i, r[i], mean[i], 5.0 * spread[i], 0.0);
        double low = 1.0, high = 0.0;
        for (int64_t i = 0; i < seeds; i++) low = fmin(low, auroc[i]), high = fmax(high, auroc[i]);
        const double own = separation(r, label, n);
        if (own < low - 0.02 || own > high + 0.02) {
            printf("%s: AUROC of the forest is %g, wanted %g to %g\n", path, own, low, high);
            failures++;
        }
    }
    free(mean);
    free(spread);
    free(auroc);
    free(label);
    free(r);
    return failures;
}

int golden_outliers(plumb_file *file, const char *path)
{
    points p = {0};
    if (!read_points(&p, file, golden_scalar(file, "normalise", 0) != 0.0)) return 1;
    int failures = check_density(file, path, "maha_sq", scorer_mahalanobis, &p);
    if (plumb_file_has_array(file, "pca_recon_sq"))
        failures += check_density(file, path, "pca_recon_sq", scorer_pca, &p);
    if (plumb_file_has_array(file, "knn_r"))
        failures += check_density(file, path, "knn_r", scorer_knn, &p);
    if (plumb_file_has_array(file, "pca_shyu_major")) failures += check_shyu(file, path, &p);
    failures += check_svm(file, path, &p);
    if (plumb_file_has_array(file, "iforest_score_mean"))
        failures += check_own_forest(file, path, &p);
    points_free(&p);
    return failures;
}

// ---- trees that are given ----

static int32_t *read_ints(plumb_file *file, int64_t tree, const char *what)
{
    char name[64];
    int64_t n = 0;
    snprintf(name, sizeof name, "tree%lld/%s", (long long)tree, what);
    double *x = golden_read(&n, file, name);
    int32_t *out = malloc((size_t)(n + 1) * sizeof *out);
    for (int64_t i = 0; x && out && i < n; i++) out[i] = (int32_t)x[i];
    free(x);
    return out;
}

int golden_forest(plumb_file *file, const char *path)
{
    points p = {0};
    if (!read_points(&p, file, false)) return 1;
    const int64_t trees = (int64_t)golden_scalar(file, "n_trees", 0), m = p.asked_count;
    double *sum = calloc((size_t)m + 1, sizeof *sum), *one = calloc((size_t)m + 1, sizeof *one);
    int failures = trees < 1;
    for (int64_t t = 0; t < trees; t++) {
        char name[64];
        int64_t n = 0;
        snprintf(name, sizeof name, "tree%lld/threshold", (long long)t);
        double *threshold = golden_read(&n, file, name);
        int32_t *left = read_ints(file, t, "left"), *right = read_ints(file, t, "right");
        int32_t *feature = read_ints(file, t, "feature"), *size = read_ints(file, t, "n");
        const isolation_tree tree = {left, right, feature, threshold, size};
        for (int64_t i = 0; i < m; i++)
            sum[i] += one[i] = isolation_forest_path(&tree, p.asked + i * p.dims);
        snprintf(name, sizeof name, "tree%lld/path", (long long)t);
        failures += golden_same(file, path, name, one, m, 1e-12, 1e-12);
        free(threshold);
        free(left);
        free(right);
        free(feature);
        free(size);
    }
    const int64_t sample = (int64_t)golden_scalar(file, "max_samples", 256);
    for (int64_t i = 0; i < m; i++) sum[i] = isolation_forest_score(sum[i] / (double)trees, sample);
    failures += golden_same(file, path, "score", sum, m, 1e-12, 1e-12);
    free(sum);
    free(one);
    points_free(&p);
    return failures;
}
