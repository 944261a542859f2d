// SPDX-License-Identifier: MIT
// Fits of outputs by ridge regression on features: monomials, or 1, x and a kernel at centres. The
// search computes features once per scale, normal equations once per half, and one Cholesky factor
// per ridge. All products are done by OpenBLAS.
#include "measures/fit/kernel_fit.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/arcsine.h"
#include "math/blas.h"
#include "math/cholesky.h"

// Almost none; it keeps the Cholesky factor of exact fits from failing.
static const double least_ridge = 1e-13;
static const double ridges[] = {1e-13, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2};
// For lines in constants, of which there are as many examples as trajectories, not rows.
static const double line_ridges[] = {1e-13, 1e-4, 1e-3, 1e-2, 1e-1};
static const double network_scales[] = {1.0, 5.0, 25.0, 100.0};
static const double gaussian_scales[] = {0.4, 0.6, 1.0, 1.7, 3.0, 6.0};
// A fit with less unexplained variance is exact: states are given in single precision.
static const double exact = 1e-10;
// A simpler fit stays unless the next one has less than this share of its unexplained variance.
static const double preference = 0.99;

// A fit must leave less than this unexplained to replace the mean: a tenth of the variance may be
// explained by chance, and random slopes would make area out of nothing.
static const double chance_limit = 0.9;

enum {
    SHRINKING = (int)(sizeof ridges / sizeof *ridges),
    RIDGES = SHRINKING - 1, // the last is for lines that are shrunk
    LINE_RIDGES = (int)(sizeof line_ridges / sizeof *line_ridges)
};

// Kernel: 1, x, centres. Polynomial: 1 and the monomials up to the order.
static int64_t feature_count(const kernel_fit *f, const kernel_fit_choice *c)
{
    if (c->kernel) return 1 + f->dims + f->centres;
    return 1 + (c->order ? f->poly.first[c->order + 1] : 0);
}

// ---- features ----

// 1, x and all monomials up to `order` of one point.
static void expand_monomials(double *out, const poly *p, int order, const double *x)
{
    out[0] = 1.0;
    if (order < 1) return;
    double *f = out + 1;
    memcpy(f, x, (size_t)p->dims * sizeof *f);
    // Monomials of degree k are x_i times the monomials of degree k - 1 whose variables are >= i.
    for (int k = 2; k <= order; k++)
        for (int64_t i = 0; i < p->dims; i++) {
            const double *from = f + p->first[k - 1] + p->run[k - 1][i];
            double *to = f + p->first[k] + p->run[k][i];
            const int64_t length = p->run[k][i + 1] - p->run[k][i];
            for (int64_t j = 0; j < length; j++) to[j] = x[i] * from[j];
        }
}

static double square_norm(const double *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

// cc (centres): what the kernel needs of each centre at one scale: |c|^2, or 1 / sqrt(1 + s (1 +
// |c|^2)).
static void prepare_centres(double *cc, const kernel_fit *f, double scale)
{
    const double s = 2.0 * scale / (double)f->dims;
    for (int64_t j = 0; j < f->centres; j++) {
        cc[j] = square_norm(f->centre + j * f->dims, f->dims);
        if (f->kind != KERNEL_FIT_GAUSSIAN) cc[j] = 1.0 / sqrt(1.0 + s * (1.0 + cc[j]));
    }
}

// k becomes the kernel of a point with |x|^2 = xx at each centre, whose products with it k holds;
// a and b, unless NULL, such that the kernel's gradient is a c + b x.
static void kernel_row(double *restrict k, double *restrict a, double *restrict b,
                       const kernel_fit *f, double scale, double xx, const double *restrict cc)
{
    const int64_t n = f->centres;
    if (f->kind == KERNEL_FIT_GAUSSIAN) {
        const double inverse = 1.0 / (scale * scale);
        for (int64_t j = 0; j < n; j++) {
            const double value = exp(-0.5 * inverse * fmax(xx + cc[j] - 2.0 * k[j], 0.0));
            if (a) a[j] = value * inverse, b[j] = -value * inverse;
            k[j] = value;
        }
        return;
    }
    // asin(t), t = s (1 + c.x) / sqrt((1 + s (1 + |x|^2)) (1 + s (1 + |c|^2))) < 1 [Williams98]
    const double s = 2.0 * scale / (double)f->dims, scale_x = 1.0 + s * (1.0 + xx);
    const double size = s / sqrt(scale_x);
    for (int64_t j = 0; j < n; j++) k[j] = (1.0 + k[j]) * (size * cc[j]);
    if (a)
        for (int64_t j = 0; j < n; j++) {
            const double slope = 1.0 / sqrt(fmax(1.0 - k[j] * k[j], 1e-12));
            a[j] = size * cc[j] * slope;
            b[j] = -k[j] * s / scale_x * slope;
        }
    else arcsine_all(k, n);
}

// out (rows, count) for a choice; cc (centres) is scratch, filled here.
static void fill_features(double *out, double *cc, const kernel_fit *f, const kernel_fit_choice *c,
                          const double *x, int64_t rows)
{
    const int64_t count = feature_count(f, c), d = f->dims;
    if (!c->kernel) {
        for (int64_t r = 0; r < rows; r++)
            expand_monomials(out + r * count, &f->poly, c->order, x + r * d);
        return;
    }
    prepare_centres(cc, f, c->scale);
    // x C^T (rows, centres) in one product, then the kernel in place, row by row.
    blas_gemm(out + 1 + d, count, x, d, false, f->centre, d, true, rows, f->centres, d, 1.0, 0.0);
    for (int64_t r = 0; r < rows; r++) {
        double *row = out + r * count;
        row[0] = 1.0;
        memcpy(row + 1, x + r * d, (size_t)d * sizeof *row);
        kernel_row(row + 1 + d, NULL, NULL, f, c->scale, square_norm(x + r * d, d), cc);
    }
}

// Farthest-point sampling: the first centre is the row nearest to 0, each next one the row farthest
// from all before it. So the centres cover the data evenly, edges included.
static plumb_status place_centres(kernel_fit *f, arena *mem, const double *x, int64_t rows)
{
    const int64_t d = f->dims;
    if (f->centres > rows) f->centres = rows;
    f->centre = ARENA_ALLOC(mem, double, (f->centres * d));
    double *distance2 = ARENA_ALLOC(mem, double, rows);
    if (!f->centre || !distance2) return PLUMB_EMEMORY;
    int64_t next = 0;
    for (int64_t r = 0; r < rows; r++) {
        distance2[r] = (double)INFINITY;
        if (square_norm(x + r * d, d) < square_norm(x + next * d, d)) next = r;
    }
    int64_t count = 0;
    while (count < f->centres) {
        double *c = f->centre + count++ * d;
        memcpy(c, x + next * d, (size_t)d * sizeof *c);
        int64_t farthest = 0;
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0.0;
            for (int64_t i = 0; i < d; i++) {
                const double by = x[r * d + i] - c[i];
                sum += by * by;
            }
            if (sum < distance2[r]) distance2[r] = sum;
            if (distance2[r] > distance2[farthest]) farthest = r;
        }
        if (distance2[farthest] <= 1e-12) break; // all other rows are repeats
        next = farthest;
    }
    f->centres = count;
    return PLUMB_OK;
}

// ---- the search ----

// The rows of the search, and its normal equations.
typedef struct fit_search {
    const double *x, *y; // every Nth row
    int64_t rows, first_half_rows, outputs;
    double *features, *cc;
    double *gram[2], *right[2]; // X^T X and X^T y of each half
    double *factor, *weights, *residual;
    double *total; // (outputs) of y^2
} fit_search;

// The search takes every Nth row of each half; the final fits take all rows.
static plumb_status search_init(fit_search *s, arena *mem, const kernel_fit_input *in,
                                int64_t widest)
{
    const int64_t thin = in->search_stride > 1 ? in->search_stride : 1, most = in->rows / thin + 2;
    double *x = ARENA_ALLOC(mem, double, (most * in->dims));
    double *y = ARENA_ALLOC(mem, double, (most * in->outputs));
    *s = (fit_search){.x = x, .y = y, .outputs = in->outputs};
    s->features = ARENA_ALLOC(mem, double, (most * widest));
    s->cc = ARENA_ALLOC(mem, double, widest);
    for (int h = 0; h < 2; h++) {
        s->gram[h] = ARENA_ALLOC(mem, double, (widest * widest));
        s->right[h] = ARENA_ALLOC(mem, double, (widest * in->outputs));
        if (!s->gram[h] || !s->right[h]) return PLUMB_EMEMORY;
    }
    s->factor = ARENA_ALLOC(mem, double, (widest * widest));
    s->weights = ARENA_ALLOC(mem, double, (widest * in->outputs));
    s->residual = ARENA_ALLOC(mem, double, (most * in->outputs));
    s->total = ARENA_ALLOC(mem, double, in->outputs);
    if (!x || !y || !s->features || !s->cc || !s->factor || !s->weights || !s->residual ||
        !s->total)
        return PLUMB_EMEMORY;
    for (int64_t r = 0; r < in->rows; r++) {
        if ((r < in->first_half_rows ? r : r - in->first_half_rows) % thin) continue;
        memcpy(x + s->rows * in->dims, in->x + r * in->dims, (size_t)in->dims * sizeof *x);
        memcpy(y + s->rows * in->outputs, in->y + r * in->outputs, (size_t)in->outputs * sizeof *y);
        for (int64_t o = 0; o < in->outputs; o++)
            s->total[o] += in->y[r * in->outputs + o] * in->y[r * in->outputs + o];
        s->rows++;
        if (r < in->first_half_rows) s->first_half_rows++;
    }
    return PLUMB_OK;
}

static bool has_penalised_lines(const kernel_fit *f)
{
    return f->unpenalised_dims < f->dims;
}

// out: Cholesky factor of X^T X + rows * ridge. The constant and the unpenalised lines have almost
// no ridge.
static bool factor_gram(double *out, const double *gram, const kernel_fit *f,
                        const kernel_fit_choice *c, double rows)
{
    const int64_t n = feature_count(f, c);
    memcpy(out, gram, (size_t)(n * n) * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        const bool unpenalised =
            i <= f->unpenalised_dims || (!c->kernel && !has_penalised_lines(f));
        out[i * n + i] += rows * (unpenalised ? least_ridge : c->ridge);
    }
    return cholesky_factor(out, n);
}

// Fits one half and adds to `residual2` (2, outputs) the squared residuals on the other half, and
// the squared differences of these from row to row.
static bool score_half(double *residual2, fit_search *s, const kernel_fit *f,
                       const kernel_fit_choice *c, int half)
{
    const int64_t n = feature_count(f, c), o = s->outputs;
    const int64_t fitted = half ? s->rows - s->first_half_rows : s->first_half_rows,
                  other = s->rows - fitted;
    const int64_t at = half ? 0 : s->first_half_rows;
    // Weights of this half: (X^T X + rows ridge) w = X^T y.
    if (!factor_gram(s->factor, s->gram[half], f, c, (double)fitted)) return false;
    memcpy(s->weights, s->right[half], (size_t)(n * o) * sizeof *s->weights);
    cholesky_solve(s->weights, s->factor, n, o);
    // Residuals y - X w on the other half.
    memcpy(s->residual, s->y + at * o, (size_t)(other * o) * sizeof *s->residual);
    blas_gemm(s->residual, o, s->features + at * n, n, false, s->weights, o, false, other, o, n,
              -1.0, 1.0);
    for (int64_t r = 0; r < other; r++) {
        const double *now = s->residual + r * o, *before = r ? now - o : now;
        for (int64_t k = 0; k < o; k++) {
            residual2[k] += now[k] * now[k];
            residual2[o + k] += (now[k] - before[k]) * (now[k] - before[k]);
        }
    }
    return true;
}

// Tries one kind of features with some ridges. True if every output reaches the target error.
static bool try_features(kernel_fit *f, fit_search *s, double *residual2, kernel_fit_choice c,
                         const double *ridge, int count)
{
    const int64_t n = feature_count(f, &c), o = s->outputs;
    fill_features(s->features, s->cc, f, &c, s->x, s->rows);
    for (int h = 0; h < 2; h++) {
        const int64_t at = h ? s->first_half_rows : 0,
                      rows = h ? s->rows - s->first_half_rows : s->first_half_rows;
        blas_gram(s->gram[h], n, s->features + at * n, n, rows, n);
        blas_gemm(s->right[h], o, s->features + at * n, n, true, s->y + at * o, o, false, n, o,
                  rows, 1.0, 0.0);
    }
    for (int i = 0; i < count; i++) {
        c.ridge = ridge[i];
        memset(residual2, 0, (size_t)(2 * o) * sizeof *residual2);
        if (!score_half(residual2, s, f, &c, 0) || !score_half(residual2, s, f, &c, 1)) continue;
        for (int64_t k = 0; k < o; k++) {
            // smooth_share estimates the autocorrelation of the residual from row to row: noise has
            // 0.
            c.unexplained = residual2[k] / s->total[k];
            c.smooth_share =
                residual2[k] > 0.0 ? fmax(1.0 - 0.5 * residual2[o + k] / residual2[k], 0.0) : 0.0;
            const bool mean_only = !f->choice[k].kernel && !f->choice[k].order;
            const double limit =
                mean_only ? fmin(f->choice[k].unexplained, chance_limit) : f->choice[k].unexplained;
            if (c.unexplained < limit * preference - least_ridge) f->choice[k] = c;
        }
    }
    bool done = true;
    for (int64_t k = 0; k < o; k++) done = done && f->choice[k].unexplained < f->target_error;
    return done;
}

// Has some output chosen this scale?
static bool is_scale_chosen(const kernel_fit *f, double scale)
{
    for (int64_t k = 0; k < f->outputs; k++)
        if (f->choice[k].kernel && f->choice[k].scale == scale) return true;
    return false;
}

// From the middle scale outwards, to each side as long as some output improves.
static plumb_status choose_kernel(kernel_fit *f, fit_search *s, double *residual2)
{
    const bool gaussian = f->kind == KERNEL_FIT_GAUSSIAN;
    const double *scales = gaussian ? gaussian_scales : network_scales;
    const int count = gaussian ? (int)(sizeof gaussian_scales / sizeof *gaussian_scales)
                               : (int)(sizeof network_scales / sizeof *network_scales);
    const int middle = (count - 1) / 2;
    for (int step = -1; step <= 1; step += 2)
        for (int i = step < 0 ? middle : middle + 1; i >= 0 && i < count; i += step) {
            const plumb_status st = status_check_stop();
            if (st) return st;
            if (i != middle && i != middle + 1 && i != middle - 1 &&
                !is_scale_chosen(f, scales[i - step]))
                break;
            if (try_features(f, s, residual2,
                             (kernel_fit_choice){.kernel = true, .scale = scales[i]}, ridges,
                             has_penalised_lines(f) ? SHRINKING : RIDGES))
                return PLUMB_OK;
        }
    return PLUMB_OK;
}

// From the mean over low orders to kernels: simple features first, stop when all outputs are exact.
static plumb_status choose_features(kernel_fit *f, arena *mem, fit_search *s)
{
    double *residual2 = ARENA_ALLOC(mem, double, (2 * s->outputs));
    if (!residual2) return PLUMB_EMEMORY;
    for (int order = 0; order <= f->poly.order; order++)
        if (try_features(f, s, residual2, (kernel_fit_choice){.order = order},
                         has_penalised_lines(f) ? line_ridges : &least_ridge,
                         has_penalised_lines(f) ? LINE_RIDGES : 1))
            return PLUMB_OK;
    return f->centres ? choose_kernel(f, s, residual2) : PLUMB_OK;
}

plumb_status kernel_fit_choose(kernel_fit *out, arena *mem, const kernel_fit_input *in)
{
    plumb_status st = blas_library_load();
    if (st) return st;
    kernel_fit f = {.dims = in->dims,
                    .outputs = in->outputs,
                    .kind = in->kind,
                    .unpenalised_dims = in->unpenalised_dims};
    f.target_error = fmax(in->target_error, exact);
    f.centres = in->kind == KERNEL_FIT_POLYNOMIAL ? 0 : in->centres;
    // The highest order that has at most max_terms monomials.
    int order = 1;
    while (order < in->max_order && poly_count(in->dims, order + 1) <= in->max_terms) order++;
    st = poly_init(&f.poly, mem, in->dims, order);
    f.choice = ARENA_ALLOC(mem, kernel_fit_choice, in->outputs);
    if (st || !f.choice) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < in->outputs; k++) f.choice[k].unexplained = 1.0;
    f.stride =
        1 + f.dims + f.centres > 1 + f.poly.count ? 1 + f.dims + f.centres : 1 + f.poly.count;

    arena scratch = {0};
    fit_search s;
    st = search_init(&s, &scratch, in, f.stride);
    if (!st && f.centres) st = place_centres(&f, mem, s.x, s.rows);
    if (!st) st = choose_features(&f, &scratch, &s);
    arena_clear(&scratch);
    if (!st) *out = f;
    return st;
}

// ---- the final fits ----

static bool same_features(const kernel_fit_choice *a, const kernel_fit_choice *b)
{
    return a->kernel == b->kernel && a->order == b->order && a->scale == b->scale;
}

// members: the outputs with the features of output k. Returns their number; 0 if an earlier output
// has these features.
static int64_t find_group(int64_t *members, const kernel_fit *f, int64_t k)
{
    int64_t count = 0;
    for (int64_t i = 0; i < f->outputs; i++) {
        if (!same_features(&f->choice[i], &f->choice[k])) continue;
        if (i < k) return 0;
        members[count++] = i;
    }
    return count;
}

// Normal equations of outputs that share their features.
typedef struct normal {
    int64_t n, count;
    const int64_t *members;
    double *gram[KERNEL_FIT_FITS], *right[KERNEL_FIT_FITS]; // right (n, count)
    double rows[KERNEL_FIT_FITS];
    double *lower, *some; // scratch (n, n), (n, count)
} normal;

// X^T X and X^T y of both halves; those of all rows are their sum.
static plumb_status normal_init(normal *e, arena *mem, const kernel_fit *f,
                                const kernel_fit_input *in, const int64_t *members, int64_t count)
{
    const kernel_fit_choice *c = &f->choice[members[0]];
    const int64_t n = feature_count(f, c), rows = in->rows;
    *e = (normal){.n = n, .count = count, .members = members};
    double *features = ARENA_ALLOC(mem, double, (rows * n));
    double *cc = ARENA_ALLOC(mem, double, (f->centres + 1));
    double *y = ARENA_ALLOC(mem, double, (rows * count));
    e->lower = ARENA_ALLOC(mem, double, (n * n));
    e->some = ARENA_ALLOC(mem, double, (n * count));
    for (int w = 0; w < KERNEL_FIT_FITS; w++) {
        e->gram[w] = ARENA_ALLOC(mem, double, (n * n));
        e->right[w] = ARENA_ALLOC(mem, double, (n * count));
        if (!e->gram[w] || !e->right[w]) return PLUMB_EMEMORY;
    }
    if (!features || !cc || !y || !e->lower || !e->some) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < count; i++) y[r * count + i] = in->y[r * in->outputs + members[i]];
    fill_features(features, cc, f, c, in->x, rows);
    for (int h = KERNEL_FIT_FIRST; h <= KERNEL_FIT_SECOND; h++) {
        const int64_t at = h == KERNEL_FIT_FIRST ? 0 : in->first_half_rows;
        const int64_t some =
            h == KERNEL_FIT_FIRST ? in->first_half_rows : rows - in->first_half_rows;
        e->rows[h] = (double)some;
        blas_gram(e->gram[h], n, features + at * n, n, some, n);
        blas_gemm(e->right[h], count, features + at * n, n, true, y + at * count, count, false, n,
                  count, some, 1.0, 0.0);
    }
    e->rows[0] = (double)rows;
    for (int64_t i = 0; i < n * n; i++) e->gram[0][i] = e->gram[1][i] + e->gram[2][i];
    for (int64_t i = 0; i < n * count; i++) e->right[0][i] = e->right[1][i] + e->right[2][i];
    return PLUMB_OK;
}

// Solves for the members that have the ridge of member `first`, the first of these.
static plumb_status solve_ridge(kernel_fit *f, normal *e, int64_t first)
{
    const int64_t n = e->n;
    const kernel_fit_choice c = f->choice[e->members[first]];
    int64_t count = 0;
    for (int64_t i = first; i < e->count; i++) count += f->choice[e->members[i]].ridge == c.ridge;
    for (int w = 0; w < KERNEL_FIT_FITS; w++) {
        double rows = e->rows[w];
        while (!factor_gram(e->lower, e->gram[w], f, &c, rows)) { // rounding: a larger ridge
            rows *= 10.0;
            if (!(rows < 1e12 * e->rows[w]))
                return fail(PLUMB_ENUMERIC,
                            "the normal equations of a fit are not positive definite");
        }
        for (int64_t i = first, k = 0; i < e->count; i++) {
            if (f->choice[e->members[i]].ridge != c.ridge) continue;
            for (int64_t j = 0; j < n; j++) e->some[j * count + k] = e->right[w][j * e->count + i];
            k++;
        }
        cholesky_solve(e->some, e->lower, n, count);
        for (int64_t i = first, k = 0; i < e->count; i++) {
            if (f->choice[e->members[i]].ridge != c.ridge) continue;
            for (int64_t j = 0; j < n; j++)
                f->weight[w][e->members[i] * f->stride + j] = e->some[j * count + k];
            k++;
        }
    }
    return PLUMB_OK;
}

// One factorisation for each ridge among the members.
static plumb_status solve_group(kernel_fit *f, arena *mem, const kernel_fit_input *in,
                                const int64_t *members, int64_t count)
{
    normal e;
    plumb_status st = normal_init(&e, mem, f, in, members, count);
    for (int64_t i = 0; i < count && !st; i++) {
        bool solved = false;
        for (int64_t j = 0; j < i; j++)
            solved = solved || f->choice[members[j]].ridge == f->choice[members[i]].ridge;
        if (!solved) st = solve_ridge(f, &e, i);
    }
    return st;
}

plumb_status kernel_fit_solve(kernel_fit *fit, arena *mem, const kernel_fit_input *in)
{
    for (int w = 0; w < KERNEL_FIT_FITS; w++) {
        fit->weight[w] = ARENA_ALLOC(mem, double, (fit->outputs * fit->stride));
        if (!fit->weight[w]) return PLUMB_EMEMORY;
    }
    arena scratch = {0};
    plumb_status st = PLUMB_OK;
    int64_t *members = ARENA_ALLOC(&scratch, int64_t, fit->outputs);
    if (!members) st = PLUMB_EMEMORY;
    for (int64_t k = 0; k < fit->outputs && !st; k++) {
        const int64_t count = find_group(members, fit, k);
        if (!count || (!fit->choice[k].kernel && !fit->choice[k].order)) continue;
        const arena_mark mark = arena_get_mark(&scratch);
        st = solve_group(fit, &scratch, in, members, count);
        arena_rewind(&scratch, mark);
        if (!st) st = status_check_stop();
    }
    arena_clear(&scratch);
    return st;
}

plumb_status kernel_fit_coarsen(kernel_fit *out, arena *mem, const kernel_fit *fit,
                                const kernel_fit_input *in)
{
    const double exact_polynomial = 1e-6;
    *out = *fit;
    out->centres = fit->centres / 2; // they are in an order in which the first half covers the data
    out->choice = ARENA_ALLOC(mem, kernel_fit_choice, fit->outputs);
    if (!out->choice) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < fit->outputs; k++) {
        out->choice[k] = fit->choice[k];
        if (!fit->choice[k].kernel && fit->choice[k].order > 1 &&
            fit->choice[k].unexplained > exact_polynomial)
            out->choice[k].order--;
    }
    return kernel_fit_solve(out, mem, in);
}

// ---- values ----

plumb_status kernel_fit_values(double *out, const kernel_fit *fit, arena *mem, int which,
                               const double *x, int64_t rows)
{
    const arena_mark mark = arena_get_mark(mem);
    int64_t *members = ARENA_ALLOC(mem, int64_t, fit->outputs);
    double *cc = ARENA_ALLOC(mem, double, (fit->centres + 1));
    if (!members || !cc) return PLUMB_EMEMORY;
    memset(out, 0, (size_t)(rows * fit->outputs) * sizeof *out);
    for (int64_t k = 0; k < fit->outputs; k++) {
        const int64_t count = find_group(members, fit, k);
        if (!count || (!fit->choice[k].kernel && !fit->choice[k].order)) continue;
        const arena_mark here = arena_get_mark(mem);
        const int64_t n = feature_count(fit, &fit->choice[k]);
        double *features = ARENA_ALLOC(mem, double, (rows * n));
        double *weights = ARENA_ALLOC(mem, double, (n * count));
        double *values = ARENA_ALLOC(mem, double, (rows * count));
        if (!features || !weights || !values) return PLUMB_EMEMORY;
        fill_features(features, cc, fit, &fit->choice[k], x, rows);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < n; j++)
                weights[j * count + i] = fit->weight[which][members[i] * fit->stride + j];
        blas_gemm(values, count, features, n, false, weights, count, false, rows, count, n, 1.0,
                  0.0);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < count; i++)
                out[r * fit->outputs + members[i]] = values[r * count + i];
        arena_rewind(mem, here);
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// ---- Jacobians ----

// to (features of one order less, count * dims): the coefficients of all derivatives.
static void differentiate_monomials(double *to, const kernel_fit *f, int which,
                                    const int64_t *members, int64_t count)
{
    const int order = f->choice[members[0]].order;
    const int64_t d = f->dims, terms = f->poly.first[order + 1];
    for (int64_t m = 0; m < terms; m++) {
        int64_t v[POLY_MAX_ORDER], rest[POLY_MAX_ORDER];
        // d/dx_v of a product: leave one factor v out; the other factors name a monomial of lower
        // order.
        const int degree = poly_variables(v, &f->poly, m);
        for (int skip = 0; skip < degree; skip++) {
            int residual2 = 0;
            for (int i = 0; i < degree; i++)
                if (i != skip) rest[residual2++] = v[i];
            const int64_t row = residual2 ? 1 + poly_index(&f->poly, rest, residual2) : 0;
            for (int64_t i = 0; i < count; i++)
                to[(row * count + i) * d + v[skip]] +=
                    f->weight[which][members[i] * f->stride + 1 + m];
        }
    }
}

// Outputs that share their features, and where their Jacobian is wanted.
typedef struct jacobian_task {
    const kernel_fit *fit;
    int which;              // of the three fits
    const int64_t *members; // (count) outputs
    int64_t count;
    const double *x; // (rows, dims)
    int64_t rows;
} jacobian_task;

// out (rows, count, dims): features of one order less times the coefficients of the derivatives.
static plumb_status differentiate_polynomial(double *out, arena *mem, const jacobian_task *task)
{
    const kernel_fit *f = task->fit;
    const int64_t rows = task->rows, wide = task->count * f->dims;
    const kernel_fit_choice lower = {.order = f->choice[task->members[0]].order - 1};
    const int64_t n = feature_count(f, &lower);
    double *features = ARENA_ALLOC(mem, double, (rows * n));
    double *slopes = ARENA_ALLOC(mem, double, (n * wide));
    if (!features || !slopes) return PLUMB_EMEMORY;
    differentiate_monomials(slopes, f, task->which, task->members, task->count);
    fill_features(features, NULL, f, &lower, task->x, rows);
    blas_gemm(out, wide, features, n, false, slopes, wide, false, rows, wide, n, 1.0, 0.0);
    return PLUMB_OK;
}

// out (rows, count, dims): the line, plus the sum over centres c of weight (a c + b x).
static plumb_status differentiate_kernel(double *out, arena *mem, const jacobian_task *task)
{
    const kernel_fit *f = task->fit;
    const int64_t *members = task->members;
    const double *x = task->x, *weights = f->weight[task->which];
    const int64_t count = task->count, rows = task->rows;
    const int64_t d = f->dims, n = f->centres, wide = count * d;
    double *k = ARENA_ALLOC(mem, double, (rows * n)), *a = ARENA_ALLOC(mem, double, (rows * n));
    double *b = ARENA_ALLOC(mem, double, (rows * n)), *cc = ARENA_ALLOC(mem, double, n);
    double *w = ARENA_ALLOC(mem, double, (n * count)), *wc = ARENA_ALLOC(mem, double, (n * wide));
    double *along_x = ARENA_ALLOC(mem, double, (rows * count));
    if (!k || !a || !b || !cc || !w || !wc || !along_x) return PLUMB_EMEMORY;
    prepare_centres(cc, f, f->choice[members[0]].scale);
    // w (centres, count), and wc (centres, count, dims) = weight * centre.
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < count; i++) {
            const double weight = weights[members[i] * f->stride + 1 + d + j];
            w[j * count + i] = weight;
            for (int64_t v = 0; v < d; v++)
                wc[j * wide + i * d + v] = weight * f->centre[j * d + v];
        }
    // sum_j w_j (a_j c_j + b_j x) = A (w c) + (B w) x, as two matrix products.
    blas_gemm(k, n, x, d, false, f->centre, d, true, rows, n, d, 1.0, 0.0);
    for (int64_t r = 0; r < rows; r++)
        kernel_row(k + r * n, a + r * n, b + r * n, f, f->choice[members[0]].scale,
                   square_norm(x + r * d, d), cc);
    blas_gemm(out, wide, a, n, false, wc, wide, false, rows, wide, n, 1.0, 0.0);
    blas_gemm(along_x, count, b, n, false, w, count, false, rows, count, n, 1.0, 0.0);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < count; i++)
            for (int64_t v = 0; v < d; v++)
                out[r * wide + i * d + v] +=
                    along_x[r * count + i] * x[r * d + v] + weights[members[i] * f->stride + 1 + v];
    return PLUMB_OK;
}

// Group after group of outputs with the same features.
static plumb_status compute_jacobian(double *out, const kernel_fit *f, arena *mem, int which,
                                     const double *x, int64_t rows)
{
    const int64_t d = f->dims;
    int64_t *members = ARENA_ALLOC(mem, int64_t, f->outputs);
    double *part = ARENA_ALLOC(mem, double, (rows * f->outputs * d));
    if (!members || !part) return PLUMB_EMEMORY;
    memset(out, 0, (size_t)(rows * f->outputs * d) * sizeof *out);
    for (int64_t k = 0; k < f->outputs; k++) {
        const int64_t count = find_group(members, f, k);
        if (!count || (!f->choice[k].kernel && !f->choice[k].order)) continue;
        const jacobian_task task = {f, which, members, count, x, rows};
        const plumb_status st = f->choice[k].kernel ? differentiate_kernel(part, mem, &task)
                                                    : differentiate_polynomial(part, mem, &task);
        if (st) return st;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < count; i++)
                memcpy(out + (r * f->outputs + members[i]) * d, part + (r * count + i) * d,
                       (size_t)d * sizeof *out);
    }
    return PLUMB_OK;
}

plumb_status kernel_fit_jacobian(double *out, const kernel_fit *fit, arena *mem, int which,
                                 const double *x, int64_t rows)
{
    const arena_mark mark = arena_get_mark(mem);
    const plumb_status st = compute_jacobian(out, fit, mem, which, x, rows);
    arena_rewind(mem, mark);
    return st;
}
