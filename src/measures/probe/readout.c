// SPDX-License-Identifier: MIT
// Ridge regression by normal equations. x and y are centred and x is divided by its deviation, both
// in the rows of the fit; with the correlations R of x and the covariances r of x and y the readout
// b of a penalty is the solution of (R + penalty I) b = r.
#include "measures/probe/readout.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/blas.h"
#include "math/cholesky.h"

// Sums over the rows of a fold.
typedef struct fold_moments {
    double rows;
    double *x, *y, *yy; // (dims), (columns), (columns)
    double *xx, *xy;    // (dims, dims), (dims, columns)
} fold_moments;

// Memory of one thread.
typedef struct fit_work {
    double *matrix;              // (dims, dims)
    double *readout, *product;   // (dims, columns)
    double *mean, *inverse;      // (dims), 1 / deviation or 0
    double *y_mean, *y_variance; // (columns)
} fit_work;

typedef struct engine {
    const probe_readout_input *in;
    const probe_features *features;
    const probe_data *data;
    const probe_split *split;
    int64_t dims, columns, targets;
    int64_t *target_of; // (columns)
    int slices;         // parts of a fold that are summed apart
    int threads;
    fold_moments *moments;          // (folds, slices); then the first of each fold has all
    int64_t *member, *member_first; // trajectories fitted to, by fold; (folds + 1)
    fit_work *work;                 // (threads)
    double *rows, *y, *scratch;     // (threads) chunks
    int64_t scratch_size;
    double *left_out;                 // (folds, folds, penalties, columns)
    int *chosen;                      // (folds, targets) penalty
    double *coefficients, *intercept; // (folds, dims, columns), (folds, columns)
    double *fitted_variance;          // (folds, columns)
    probe_readout *out;
} engine;

// ---- rows ----

// y (count, columns): the targets of some rows, then those of the shuffles.
static void get_targets(double *out, const engine *e, int64_t trajectory, int64_t first,
                        int64_t count)
{
    const probe_data *data = e->data;
    const size_t size = (size_t)data->columns * sizeof *out;
    for (int64_t r = 0; r < count; r++) {
        const int64_t step = (first + r) * e->features->stride;
        double *row = out + r * e->columns;
        memcpy(row, data->y + (data->start[trajectory] + step) * data->columns, size);
        for (int64_t s = 0; s < e->in->shuffles; s++) {
            const int64_t other = data->partner[s * data->trajectories + trajectory];
            // A shorter trajectory starts again.
            const int64_t from = data->start[other] + step % data->length[other];
            memcpy(row + (s + 1) * data->columns, data->y + from * data->columns, size);
        }
    }
}

// Adds rows x (count, dims) and y (count, columns).
static void add_rows(fold_moments *sum, const engine *e, const double *x, const double *y,
                     int64_t count)
{
    sum->rows += (double)count;
    for (int64_t r = 0; r < count; r++) {
        for (int64_t i = 0; i < e->dims; i++) sum->x[i] += x[r * e->dims + i];
        for (int64_t c = 0; c < e->columns; c++) {
            const double value = y[r * e->columns + c];
            sum->y[c] += value;
            sum->yy[c] += value * value;
        }
    }
    blas_gram_add(sum->xx, e->dims, x, e->dims, count, e->dims);
    blas_gemm(sum->xy, e->columns, x, e->dims, true, y, e->columns, false, e->dims, e->columns,
              count, 1.0, 1.0);
}

// Sums a slice of a fold. Short trajectories share a chunk.
static plumb_status sum_slice(void *context, int64_t index, int worker)
{
    const engine *e = context;
    const int64_t fold = index / e->slices, slice = index % e->slices;
    const int64_t begin = e->member_first[fold], n = e->member_first[fold + 1] - begin;
    double *x = e->rows + worker * PROBE_CHUNK * e->dims;
    double *y = e->y + worker * PROBE_CHUNK * e->columns;
    double *scratch = e->scratch + worker * e->scratch_size;
    int64_t filled = 0;
    for (int64_t k = slice * n / e->slices; k < (slice + 1) * n / e->slices; k++) {
        const int64_t trajectory = e->member[begin + k];
        const int64_t all = probe_features_row_count(e->features, trajectory);
        for (int64_t first = 0; first < all;) {
            int64_t count = all - first;
            if (count > PROBE_CHUNK - filled) count = PROBE_CHUNK - filled;
            probe_features_get(x + filled * e->dims, e->features, trajectory, first, count,
                               scratch);
            get_targets(y + filled * e->columns, e, trajectory, first, count);
            first += count;
            filled += count;
            if (filled < PROBE_CHUNK) continue;
            add_rows(&e->moments[index], e, x, y, filled);
            filled = 0;
        }
    }
    if (filled) add_rows(&e->moments[index], e, x, y, filled);
    return PLUMB_OK;
}

static void add_array(double *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

// Adds the slices of a fold in their order and fills the lower triangle of x x^T.
static plumb_status join_slices(void *context, int64_t fold, int worker)
{
    (void)worker;
    const engine *e = context;
    fold_moments *all = &e->moments[fold * e->slices];
    for (int s = 1; s < e->slices; s++) {
        const fold_moments *one = all + s;
        all->rows += one->rows;
        add_array(all->x, one->x, e->dims);
        add_array(all->y, one->y, e->columns);
        add_array(all->yy, one->yy, e->columns);
        add_array(all->xy, one->xy, e->dims * e->columns);
        add_array(all->xx, one->xx, e->dims * e->dims);
    }
    for (int64_t i = 1; i < e->dims; i++)
        for (int64_t j = 0; j < i; j++) all->xx[i * e->dims + j] = all->xx[j * e->dims + i];
    return PLUMB_OK;
}

// ---- one fit ----

// The means and deviations of the folds other than a and b, and their number of rows.
static double set_means(fit_work *work, const engine *e, int64_t a, int64_t b)
{
    double rows = 0.0;
    memset(work->mean, 0, (size_t)e->dims * sizeof(double));
    memset(work->inverse, 0, (size_t)e->dims * sizeof(double));
    memset(work->y_mean, 0, (size_t)e->columns * sizeof(double));
    memset(work->y_variance, 0, (size_t)e->columns * sizeof(double));
    for (int64_t f = 0; f < e->split->folds; f++) {
        if (f == a || f == b) continue;
        const fold_moments *fold = &e->moments[f * e->slices];
        rows += fold->rows;
        add_array(work->mean, fold->x, e->dims);
        add_array(work->y_mean, fold->y, e->columns);
        add_array(work->y_variance, fold->yy, e->columns);
        for (int64_t i = 0; i < e->dims; i++) work->inverse[i] += fold->xx[i * (e->dims + 1)];
    }
    for (int64_t i = 0; i < e->dims; i++) {
        work->mean[i] /= rows;
        const double square = work->inverse[i] / rows;
        const double variance = square - work->mean[i] * work->mean[i];
        // A number that changes only in the rows left out cannot be used.
        work->inverse[i] = variance > 1e-12 * fmax(square, 1e-12) ? 1.0 / sqrt(variance) : 0.0;
    }
    for (int64_t c = 0; c < e->columns; c++) {
        work->y_mean[c] /= rows;
        const double variance = work->y_variance[c] / rows - work->y_mean[c] * work->y_mean[c];
        work->y_variance[c] = fmax(variance, 0.0);
    }
    return rows;
}

// The lower triangle of R + penalty I.
static void set_matrix(fit_work *work, const engine *e, int64_t a, int64_t b, double rows,
                       double penalty)
{
    const int64_t n = e->dims;
    const double by_rows = 1.0 / rows;
    for (int64_t i = 0; i < n; i++) {
        double *row = work->matrix + i * n;
        memset(row, 0, (size_t)n * sizeof *row);
        for (int64_t f = 0; f < e->split->folds; f++)
            if (f != a && f != b) add_array(row, e->moments[f * e->slices].xx + i * n, i + 1);
        for (int64_t j = 0; j <= i; j++) {
            const double covariance = row[j] * by_rows - work->mean[i] * work->mean[j];
            row[j] = covariance * work->inverse[i] * work->inverse[j];
        }
        row[i] = 1.0 + penalty;
    }
}

// The columns of r that `wanted` names (NULL: all), side by side.
static void set_right_side(fit_work *work, const engine *e, int64_t a, int64_t b, double rows,
                           const int64_t *wanted, int64_t count)
{
    for (int64_t i = 0; i < e->dims; i++)
        for (int64_t k = 0; k < count; k++) {
            const int64_t c = wanted ? wanted[k] : k;
            double sum = 0.0;
            for (int64_t f = 0; f < e->split->folds; f++)
                if (f != a && f != b) sum += e->moments[f * e->slices].xy[i * e->columns + c];
            const double covariance = sum / rows - work->mean[i] * work->y_mean[c];
            work->readout[i * count + k] = covariance * work->inverse[i];
        }
}

// work->readout (dims, count) = readouts of x, not divided by its deviation, fitted to the folds
// other than a and b. False if the penalty is too small for rounding.
static bool fit_readout(fit_work *work, const engine *e, int64_t a, int64_t b, double penalty,
                        const int64_t *wanted, int64_t count)
{
    const double rows = set_means(work, e, a, b);
    set_matrix(work, e, a, b, rows, penalty);
    if (!cholesky_factor(work->matrix, e->dims)) return false;
    set_right_side(work, e, a, b, rows, wanted, count);
    cholesky_solve(work->readout, work->matrix, e->dims, count);
    for (int64_t i = 0; i < e->dims; i++)
        for (int64_t k = 0; k < count; k++) work->readout[i * count + k] *= work->inverse[i];
    return true;
}

// errors (columns) = sum over a fold of (y - readout)^2, from its moments.
static void sum_errors(double *errors, fit_work *work, const engine *e, int64_t fold)
{
    const fold_moments *m = &e->moments[fold * e->slices];
    const int64_t n = e->dims, k = e->columns;
    blas_gemm(work->product, k, m->xx, n, false, work->readout, k, false, n, k, n, 1.0, 0.0);
    for (int64_t c = 0; c < k; c++) {
        double offset = work->y_mean[c], at_x = 0.0, with_y = 0.0, square = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double b = work->readout[i * k + c];
            offset -= b * work->mean[i];
            at_x += b * m->x[i];
            with_y += b * m->xy[i * k + c];
            square += b * work->product[i * k + c];
        }
        errors[c] = m->yy[c] - 2.0 * (offset * m->y[c] + with_y) + m->rows * offset * offset +
                    2.0 * offset * at_x + square;
    }
}

// ---- the choice of a penalty ----

// Pairs of folds that are left out together: the first is tested, the second decides; if it is
// tested too, also the other way round.
static bool next_pair(const probe_split *split, int64_t *a, int64_t *b)
{
    for (;;) {
        if (++*b >= split->folds) {
            *b = 0;
            if (++*a >= split->folds) return false;
        }
        if (*a == *b || !split->tested[*a]) continue;
        if (split->tested[*b] && *b < *a) continue;
        return true;
    }
}

static double *get_left_out(const engine *e, int64_t tested, int64_t decides, int64_t penalty)
{
    return e->left_out +
           ((tested * e->split->folds + decides) * e->in->penalties + penalty) * e->columns;
}

// Errors on two folds of the fit without them, by one penalty.
static plumb_status leave_pair_out(void *context, int64_t index, int worker)
{
    const engine *e = context;
    const int64_t penalty = index % e->in->penalties;
    int64_t a = 0, b = -1;
    for (int64_t k = index / e->in->penalties; k >= 0; k--) next_pair(e->split, &a, &b);
    fit_work *work = &e->work[worker];
    double *first = get_left_out(e, a, b, penalty);
    double *second = e->split->tested[b] ? get_left_out(e, b, a, penalty) : NULL;
    const bool done = fit_readout(work, e, a, b, e->in->penalty[penalty], NULL, e->columns);
    if (done) sum_errors(first, work, e, b);
    if (done && second) sum_errors(second, work, e, a);
    for (int64_t c = 0; !done && c < e->columns; c++) {
        first[c] = (double)INFINITY;
        if (second) second[c] = (double)INFINITY;
    }
    return PLUMB_OK;
}

// The penalty of each target: the largest whose error is the smallest, up to rounding.
static void choose_penalties(const engine *e, int64_t tested, double *error)
{
    const int64_t penalties = e->in->penalties;
    double rows = 0.0;
    for (int64_t f = 0; f < e->split->folds; f++)
        if (f != tested) rows += e->moments[f * e->slices].rows;
    for (int64_t target = 0, c = 0; target < e->targets; target++) {
        int64_t next = c;
        while (next < e->columns && e->target_of[next] == target) next++;
        double least = (double)INFINITY;
        for (int64_t p = 0; p < penalties; p++) {
            error[p] = 0.0;
            for (int64_t f = 0; f < e->split->folds; f++)
                for (int64_t k = c; f != tested && k < next; k++)
                    error[p] += get_left_out(e, tested, f, p)[k];
            if (error[p] < least) least = error[p];
        }
        int64_t best = penalties - 1;
        while (best > 0 && !(error[best] <= least + 1e-9 * fabs(least) + 1e-15 * rows)) best--;
        const int64_t at = tested * e->targets + target;
        e->chosen[at] = (int)best;
        e->out->penalty[at] = e->in->penalty[best];
        e->out->left_out_error[at] = error[best] / rows;
        c = next;
    }
}

// ---- readouts and predictions ----

// The readouts of a tested fold that chose one penalty.
static plumb_status fit_chosen(void *context, int64_t index, int worker)
{
    const engine *e = context;
    const int64_t fold = index / e->in->penalties, penalty = index % e->in->penalties;
    if (!e->split->tested[fold]) return PLUMB_OK;
    fit_work *work = &e->work[worker];
    int64_t wanted_count = 0;
    int64_t wanted[PROBE_CHUNK];
    // A few columns at a time; more than one round is rare.
    for (int64_t c = 0; c < e->columns; c++) {
        if (e->chosen[fold * e->targets + e->target_of[c]] == penalty) wanted[wanted_count++] = c;
        if (!wanted_count || (wanted_count < PROBE_CHUNK && c + 1 < e->columns)) continue;
        double value = e->in->penalty[penalty];
        while (!fit_readout(work, e, fold, fold, value, wanted, wanted_count)) {
            value *= 10.0;
            if (!(value < 1e15))
                return fail(PLUMB_ENUMERIC, "no penalty makes the readout of fold %lld possible",
                            (long long)fold);
        }
        for (int64_t k = 0; k < wanted_count; k++) {
            double offset = work->y_mean[wanted[k]];
            for (int64_t i = 0; i < e->dims; i++) {
                const double b = work->readout[i * wanted_count + k];
                e->coefficients[(fold * e->dims + i) * e->columns + wanted[k]] = b;
                offset -= b * work->mean[i];
            }
            e->intercept[fold * e->columns + wanted[k]] = offset;
            e->fitted_variance[fold * e->columns + wanted[k]] = work->y_variance[wanted[k]];
        }
        wanted_count = 0;
    }
    return PLUMB_OK;
}

// out (count, columns of the targets) = readouts in the units of the targets.
static void copy_units(double *out, const engine *e, const double *readout, int64_t fold,
                       int64_t count)
{
    const int64_t k = e->columns, columns = e->data->columns;
    for (int64_t r = 0; out && r < count; r++)
        for (int64_t c = 0; c < columns; c++) {
            const probe_column *column = &e->data->column[c];
            const double p = readout[r * k + c] + e->intercept[fold * k + c];
            out[r * columns + c] = column->mean + (column->constant ? 0.0 : p / column->scale);
        }
}

// Reads out the other rows of a trajectory.
static void predict_other(const engine *e, int64_t index, int worker)
{
    const int64_t fold = e->split->fold[index], k = e->columns;
    double *x = e->rows + worker * PROBE_CHUNK * e->dims;
    double *scratch = e->scratch + worker * e->scratch_size;
    double *readout = e->work[worker].product;
    const int64_t all = probe_features_row_count(e->in->other, index);
    for (int64_t first = 0; first < all; first += PROBE_CHUNK) {
        const int64_t count = all - first < PROBE_CHUNK ? all - first : PROBE_CHUNK;
        probe_features_get(x, e->in->other, index, first, count, scratch);
        blas_gemm(readout, k, x, e->dims, false, e->coefficients + fold * e->dims * k, k, false,
                  count, k, e->dims, 1.0, 0.0);
        copy_units(e->in->other_predicted + (e->data->start[index] + first) * e->data->columns, e,
                   readout, fold, count);
    }
}

// Predicts a trajectory and adds up its sums.
static plumb_status predict_trajectory(void *context, int64_t index, int worker)
{
    const engine *e = context;
    const int64_t fold = e->split->fold[index], k = e->columns;
    if (!e->split->tested[fold]) return PLUMB_OK;
    double *x = e->rows + worker * PROBE_CHUNK * e->dims;
    double *y = e->y + worker * PROBE_CHUNK * k;
    double *scratch = e->scratch + worker * e->scratch_size;
    double *readout = e->work[worker].product; // (PROBE_CHUNK, columns)
    probe_sums *sums = e->out->sums + index * k;
    const int64_t all = probe_features_row_count(e->features, index);
    for (int64_t first = 0; first < all; first += PROBE_CHUNK) {
        const int64_t count = all - first < PROBE_CHUNK ? all - first : PROBE_CHUNK;
        probe_features_get(x, e->features, index, first, count, scratch);
        get_targets(y, e, index, first, count);
        blas_gemm(readout, k, x, e->dims, false, e->coefficients + fold * e->dims * k, k, false,
                  count, k, e->dims, 1.0, 0.0);
        if (e->in->predicted)
            copy_units(e->in->predicted + (e->data->start[index] + first) * e->data->columns, e,
                       readout, fold, count);
        for (int64_t r = 0; r < count; r++)
            for (int64_t c = 0; c < k; c++) {
                const double target = y[r * k + c];
                const double p = readout[r * k + c] + e->intercept[fold * k + c];
                probe_sums *sum = &sums[c];
                sum->rows += 1.0;
                sum->y += target;
                sum->yy += target * target;
                sum->p += p;
                sum->pp += p * p;
                sum->yp += target * p;
                sum->error += (target - p) * (target - p);
            }
    }
    for (int64_t c = 0; c < k; c++) {
        const double variance = e->fitted_variance[fold * k + c];
        sums[c].relative = variance > 0.0 ? sums[c].error / variance : (double)NAN;
    }
    if (e->in->other && e->in->other_predicted) predict_other(e, index, worker);
    return PLUMB_OK;
}

// ---- memory ----

static plumb_status allocate_moments(engine *e, arena *mem)
{
    const int64_t blocks = e->split->folds * e->slices;
    e->moments = ARENA_ALLOC(mem, fold_moments, blocks);
    if (!e->moments) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < blocks; i++) {
        fold_moments *m = &e->moments[i];
        m->x = ARENA_ALLOC(mem, double, e->dims);
        m->y = ARENA_ALLOC(mem, double, e->columns);
        m->yy = ARENA_ALLOC(mem, double, e->columns);
        m->xx = ARENA_ALLOC(mem, double, e->dims * e->dims);
        m->xy = ARENA_ALLOC(mem, double, e->dims * e->columns);
        if (!m->x || !m->y || !m->yy || !m->xx || !m->xy) return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

static plumb_status allocate_work(engine *e, arena *mem)
{
    const int64_t rows = e->dims > PROBE_CHUNK ? e->dims : PROBE_CHUNK;
    e->work = ARENA_ALLOC(mem, fit_work, e->threads);
    if (!e->work) return PLUMB_EMEMORY;
    for (int i = 0; i < e->threads; i++) {
        fit_work *w = &e->work[i];
        w->matrix = ARENA_ALLOC(mem, double, e->dims * e->dims);
        w->readout = ARENA_ALLOC(mem, double, e->dims * e->columns);
        w->product = ARENA_ALLOC(mem, double, rows * e->columns);
        w->mean = ARENA_ALLOC(mem, double, e->dims);
        w->inverse = ARENA_ALLOC(mem, double, e->dims);
        w->y_mean = ARENA_ALLOC(mem, double, e->columns);
        w->y_variance = ARENA_ALLOC(mem, double, e->columns);
        if (!w->matrix || !w->readout || !w->product || !w->mean || !w->inverse || !w->y_mean ||
            !w->y_variance)
            return PLUMB_EMEMORY;
    }
    e->scratch_size = probe_features_scratch(e->features);
    e->rows = ARENA_ALLOC(mem, double, e->threads *PROBE_CHUNK * e->dims);
    e->y = ARENA_ALLOC(mem, double, e->threads *PROBE_CHUNK * e->columns);
    e->scratch = ARENA_ALLOC(mem, double, e->threads * e->scratch_size);
    return e->rows && e->y && e->scratch ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status allocate_fits(engine *e, arena *mem)
{
    const int64_t folds = e->split->folds;
    e->left_out = ARENA_ALLOC(mem, double, folds *folds * e->in->penalties * e->columns);
    e->chosen = ARENA_ALLOC(mem, int, folds * e->targets);
    e->coefficients = ARENA_ALLOC(mem, double, folds * e->dims * e->columns);
    e->intercept = ARENA_ALLOC(mem, double, folds * e->columns);
    e->fitted_variance = ARENA_ALLOC(mem, double, folds * e->columns);
    e->target_of = ARENA_ALLOC(mem, int64_t, e->columns);
    if (!e->left_out || !e->chosen || !e->coefficients || !e->intercept || !e->fitted_variance ||
        !e->target_of)
        return PLUMB_EMEMORY;
    for (int64_t c = 0; c < e->columns; c++)
        e->target_of[c] =
            c / e->data->columns * e->data->targets + e->data->column[c % e->data->columns].target;
    return PLUMB_OK;
}

// Lists the trajectories that are fitted to by fold, in the order of their numbers.
static plumb_status list_members(engine *e, arena *mem)
{
    const probe_split *split = e->split;
    e->member = ARENA_ALLOC(mem, int64_t, e->data->trajectories);
    e->member_first = ARENA_ALLOC(mem, int64_t, split->folds + 1);
    if (!e->member || !e->member_first) return PLUMB_EMEMORY;
    int64_t count = 0;
    for (int f = 0; f < split->folds; f++) {
        e->member_first[f] = count;
        for (int64_t i = 0; i < e->data->trajectories; i++)
            if (split->fold[i] == f && (!split->fitted || split->fitted[i])) e->member[count++] = i;
    }
    e->member_first[split->folds] = count;
    return PLUMB_OK;
}

static plumb_status allocate_all(engine *e, probe_readout *out, arena *mem)
{
    out->sums = ARENA_ALLOC(mem, probe_sums, e->data->trajectories * e->columns);
    out->penalty = ARENA_ALLOC(mem, double, e->split->folds * e->targets);
    out->left_out_error = ARENA_ALLOC(mem, double, e->split->folds * e->targets);
    return out->sums && out->penalty && out->left_out_error ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- all of it ----

static plumb_status run_engine(engine *e, arena *mem)
{
    const double from = e->in->progress, share = e->in->share;
    plumb_status st = list_members(e, mem);
    if (!st) st = allocate_moments(e, mem);
    if (!st) st = allocate_work(e, mem);
    if (!st) st = allocate_fits(e, mem);
    if (st) return st;
    st = parallel_for_progress(e->split->folds * e->slices, e->threads, sum_slice, e, from,
                               0.4 * share);
    if (!st) st = parallel_for(e->split->folds, e->threads, join_slices, e);
    int64_t pairs = 0, a = 0, b = -1;
    while (next_pair(e->split, &a, &b)) pairs++;
    if (!st)
        st = parallel_for_progress(pairs * e->in->penalties, e->threads, leave_pair_out, e,
                                   from + 0.4 * share, 0.3 * share);
    double *error = ARENA_ALLOC(mem, double, e->in->penalties);
    if (!st && !error) st = PLUMB_EMEMORY;
    for (int f = 0; !st && f < e->split->folds; f++)
        if (e->split->tested[f]) choose_penalties(e, f, error);
    if (!st) st = parallel_for(e->split->folds * e->in->penalties, e->threads, fit_chosen, e);
    if (!st)
        st = parallel_for_progress(e->data->trajectories, e->threads, predict_trajectory, e,
                                   from + 0.7 * share, 0.3 * share);
    return st;
}

// More parts than folds keep more than a few threads busy, where matrices are small.
static int count_slices(int64_t dims)
{
    return dims <= 512 ? 4 : 1;
}

// Threads may have at most about 2 GB together.
static int limit_threads(int threads, int64_t dims, int64_t columns)
{
    const double most = 2.5e8 / ((double)dims * (double)(dims + 4 * columns) + 1.0);
    return threads <= most ? threads : most < 1.0 ? 1 : (int)most;
}

double probe_readout_flops(double rows, int64_t dims, int64_t columns, int folds, int64_t penalties)
{
    const double d = (double)dims, pairs = 0.5 * folds * (folds - 1);
    // Most folds choose one of a few penalties.
    const double fits = pairs * (double)penalties + 2.0 * folds;
    return rows * d * (d + 4.0 * (double)columns) + fits * d * d * (d / 3.0 + 8.0);
}

double probe_readout_bytes(int *threads, int64_t dims, int64_t columns, int folds)
{
    *threads = limit_threads(*threads, dims, columns);
    const double matrices = (double)folds * count_slices(dims) + (double)*threads;
    return 8.0 * matrices * (double)dims * (double)(dims + 2 * columns);
}

plumb_status probe_readout_run(probe_readout *out, arena *mem, const probe_readout_input *in)
{
    const probe_data *data = in->features->data;
    assert(in->split->folds <= PROBE_MAX_FOLDS);
    engine e = {.in = in,
                .features = in->features,
                .data = data,
                .split = in->split,
                .dims = in->features->dims,
                .columns = data->columns * (1 + in->shuffles),
                .targets = data->targets * (1 + in->shuffles),
                .threads = data->threads ? data->threads : parallel_threads(),
                .out = out};
    e.slices = count_slices(e.dims);
    e.threads = limit_threads(e.threads, e.dims, e.columns);
    *out = (probe_readout){.columns = e.columns, .targets = e.targets, .split = in->split};
    plumb_status st = allocate_all(&e, out, mem);
    if (st) return st;
    const arena_mark mark = arena_get_mark(mem);
    st = run_engine(&e, mem);
    arena_rewind(mem, mark);
    return st;
}
