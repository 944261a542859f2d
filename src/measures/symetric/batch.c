// SPDX-License-Identifier: MIT
// One batch of SyMetric [Higgins21, section 4]: choose latents by their posterior variance or KL,
// standardise columns, fit F from latents to truth, take its Jacobian at some points, compute Sym.
#include "measures/symetric/batch.h"

#include <math.h>
#include <string.h>

#include "math/stats.h"
#include "math/vector.h"

// Standardised values are cut to +-max_value, as published.
static const double max_value = 999999.0;

// ---- which latents ----

// Mean over trajectories (and steps, if the array has them) of the posterior variance v of one
// latent, or of its KL divergence to the standard normal, (v + mean^2 - 1 - log v) / 2. Without an
// axis of steps the posterior is that of one step, `inferred_step`.
static double average_evidence(const symetric_batch_input *in, int64_t first, int64_t count,
                               int64_t latent)
{
    const plumb_array *variance = in->variance;
    const int64_t steps = variance->ndim == 3 ? variance->shape[1] : 1;
    double sum = 0.0;
    for (int64_t k = 0; k < count; k++)
        for (int64_t s = 0; s < steps; s++) {
            const int64_t row = in->kept[first + k];
            double value;
            plumb_array_to_double(&value, variance, (row * steps + s) * in->latent_dims + latent,
                                  1);
            if (in->opt->mask == PLUMB_SYMETRIC_MASK_KL) {
                double mean;
                const int64_t step = variance->ndim == 3 ? s : in->opt->inferred_step;
                plumb_array_to_double(&mean, in->latent,
                                      (row * in->latent_steps + step) * in->latent_dims + latent,
                                      1);
                value = 0.5 * (value + mean * mean - 1.0 - log(value));
            }
            sum += value;
        }
    return sum / (double)(count * steps);
}

// passes (2m): by variance a pair passes if its q or its p is below the bar, as in the published
// code; by KL each latent passes alone, as in the paper. Returns how many.
static int64_t apply_mask(bool *passes, const symetric_batch_input *in, int64_t first,
                          int64_t count)
{
    const int64_t m = in->latent_dims / 2;
    const bool kl = in->opt->mask == PLUMB_SYMETRIC_MASK_KL;
    for (int64_t i = 0; i < 2 * m; i++) {
        const double evidence = average_evidence(in, first, count, i);
        passes[i] = kl ? evidence >= in->opt->kl_bar : evidence < in->opt->variance_bar;
    }
    int64_t passed = 0;
    for (int64_t i = 0; i < m; i++) {
        if (!kl) passes[i] = passes[i + m] = passes[i] || passes[i + m];
        passed += passes[i] + passes[i + m];
    }
    return passed;
}

// The latents that pass the mask; if none does, all are used.
plumb_status symetric_batch_select_latents(symetric_batch *out, arena *mem,
                                           const symetric_batch_input *in, int64_t first,
                                           int64_t count)
{
    const int64_t m = in->latent_dims / 2;
    bool *passes = ARENA_ALLOC(mem, bool, (2 * m));
    int64_t *place = ARENA_ALLOC(mem, int64_t, (2 * m));
    out->used = ARENA_ALLOC(mem, int64_t, (2 * m));
    out->pair_q = ARENA_ALLOC(mem, int64_t, m);
    out->pair_p = ARENA_ALLOC(mem, int64_t, m);
    if (!passes || !place || !out->used || !out->pair_q || !out->pair_p) return PLUMB_EMEMORY;
    const bool masked = in->variance && in->opt->mask != PLUMB_SYMETRIC_MASK_NONE;
    out->informative = masked ? apply_mask(passes, in, first, count) : -1;
    // used: the latents that stay, and place: the column that each one gets, or -1.
    for (int64_t i = 0; i < 2 * m; i++) {
        place[i] = -1;
        if (!passes[i] && out->informative > 0) continue;
        place[i] = out->dims;
        out->used[out->dims++] = i;
    }
    for (int64_t i = 0; i < m; i++)
        if (place[i] >= 0 && place[m + i] >= 0) {
            out->pair_q[out->pairs] = place[i];
            out->pair_p[out->pairs++] = place[m + i];
        }
    return PLUMB_OK;
}

// ---- standardising ----

enum { TILE_ROWS = 8 };

// One row of the columns used (count), as it is in the array.
static void read_row(double *out, const symetric_columns *columns, int64_t row)
{
    const int64_t k = row / columns->steps, step = row % columns->steps;
    const int64_t at = (columns->kept[k] * columns->array_steps + step) * columns->dims;
    const bool is_whole = columns->count == columns->dims;
    plumb_array_to_double(is_whole ? out : columns->whole_row, columns->array, at, columns->dims);
    for (int64_t j = 0; j < columns->count && !is_whole; j++)
        out[j] = columns->whole_row[columns->used[j]];
}

// The population deviation of `count` values, from sums of (x - mean) and its square. A column is
// constant by the rule of the StandardScaler of scikit-learn; it is then divided by 1.
static double choose_scale(double count, double mean, double left, double squares)
{
    const double variance = (squares - left * left / count) / count;
    // A variance within its own rounding error counts as zero.
    const double eps = 2.220446049250313e-16;
    const double noise = count * mean * eps;
    const bool constant = variance <= count * eps * variance + noise * noise;
    return constant || !(variance > 0.0) ? 1.0 : sqrt(variance);
}

// Column by column over rows from .. rows-1: mean and scale, NaN left out. All columns at once, so
// that the array is read in its own order; every sum runs over the rows in order.
static plumb_status compute_scales(symetric_columns *out, arena *mem, int64_t from, int64_t rows)
{
    const int64_t count = out->count;
    const arena_mark mark = arena_get_mark(mem);
    double *sum = ARENA_ALLOC(mem, double, count), *n = ARENA_ALLOC(mem, double, count);
    double *left = ARENA_ALLOC(mem, double, count), *squares = ARENA_ALLOC(mem, double, count);
    double *row = ARENA_ALLOC(mem, double, count);
    if (!sum || !n || !left || !squares || !row) return PLUMB_EMEMORY;
    for (int64_t r = from; r < rows; r++) {
        read_row(row, out, r);
        for (int64_t j = 0; j < count; j++) {
            sum[j] += isnan(row[j]) ? 0.0 : row[j];
            n[j] += isnan(row[j]) ? 0.0 : 1.0;
        }
    }
    // Two passes with the correction of the rounding error of the mean [Pedregosa11].
    for (int64_t j = 0; j < count; j++) out->mean[j] = n[j] > 0.0 ? sum[j] / n[j] : 0.0;
    for (int64_t r = from; r < rows; r++) {
        read_row(row, out, r);
        for (int64_t j = 0; j < count; j++) {
            const double e = isnan(row[j]) ? 0.0 : row[j] - out->mean[j];
            left[j] += e;
            squares[j] += e * e;
        }
    }
    for (int64_t j = 0; j < count; j++)
        out->scale[j] = choose_scale(n[j] > 0.0 ? n[j] : 1.0, out->mean[j], left[j], squares[j]);
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// One row (count) to mean 0 and deviation 1; NaN becomes the mean.
static void standardise_row(double *out, const symetric_columns *columns, int64_t row)
{
    const double *restrict mean = columns->mean, *restrict scale = columns->scale;
    const int64_t count = columns->count;
    read_row(out, columns, row);
    // Every value takes the same steps, so that the compiler can take several at a time.
    for (int64_t j = 0; j < count; j++) {
        const double x = out[j], z = (x - mean[j]) / scale[j];
        const double least = z < -max_value ? -max_value : z;
        const double cut = least > max_value ? max_value : least;
        out[j] = x == x ? cut : 0.0;
    }
}

// A poly_source: some rows at a time, so that a column is written by whole cache lines.
static void fill_columns(double *out, int64_t stride, const void *context, int64_t first, int64_t n)
{
    const symetric_columns *columns = context;
    const int64_t count = columns->count;
    for (int64_t i = 0; i < n; i += TILE_ROWS) {
        const int64_t rows = i + TILE_ROWS <= n ? TILE_ROWS : n - i;
        for (int64_t r = 0; r < rows; r++)
            standardise_row(columns->tile + r * count, columns, first + i + r);
        for (int64_t j = 0; j < count; j++)
            for (int64_t r = 0; r < rows; r++)
                out[j * stride + i + r] = columns->tile[r * count + j];
    }
}

// Mean and scale of each column, and what fill_columns() needs.
static plumb_status columns_init(symetric_columns *out, arena *mem, const row_range *range)
{
    out->mean = ARENA_ALLOC(mem, double, out->count);
    out->scale = ARENA_ALLOC(mem, double, out->count);
    out->tile = ARENA_ALLOC(mem, double, (TILE_ROWS * out->count));
    out->whole_row = ARENA_ALLOC(mem, double, out->dims);
    if (!out->mean || !out->scale || !out->tile || !out->whole_row) return PLUMB_EMEMORY;
    return compute_scales(out, mem, range->from * out->steps, range->count * out->steps);
}

plumb_status symetric_batch_latents(symetric_columns *columns, symetric_batch *out, arena *mem,
                                    const symetric_batch_input *in, const row_range *range)
{
    *columns = (symetric_columns){.array = in->latent,
                                  .kept = in->kept + range->first,
                                  .steps = in->steps,
                                  .array_steps = in->latent_steps,
                                  .dims = in->latent_dims,
                                  .used = out->used,
                                  .count = out->dims};
    const plumb_status st = columns_init(columns, mem, range);
    out->latent_mean = columns->mean;
    out->latent_scale = columns->scale;
    return st;
}

// All rows as columns (count, stride), or NULL.
static double *make_columns(arena *mem, const symetric_columns *columns, const row_range *range)
{
    double *out = ARENA_ALLOC(mem, double, (columns->count * range->stride));
    if (out) fill_columns(out, range->stride, columns, 0, range->count * columns->steps);
    return out;
}

plumb_status symetric_batch_truth(double **y, symetric_batch *out, arena *mem,
                                  const symetric_batch_input *in, const row_range *range)
{
    symetric_columns columns = {.array = in->truth,
                                .kept = in->kept + range->first,
                                .steps = in->steps,
                                .array_steps = in->steps,
                                .dims = in->targets,
                                .count = in->targets};
    const plumb_status st = columns_init(&columns, mem, range);
    if (st) return st;
    out->truth_mean = columns.mean;
    out->truth_scale = columns.scale;
    *y = make_columns(mem, &columns, range);
    return *y ? PLUMB_OK : PLUMB_EMEMORY;
}

plumb_status symetric_batch_columns(double **x, double **y, symetric_batch *out, arena *mem,
                                    const symetric_batch_input *in, const row_range *range)
{
    symetric_columns latents;
    const plumb_status st = symetric_batch_latents(&latents, out, mem, in, range);
    if (st) return st;
    *x = make_columns(mem, &latents, range);
    return *x ? symetric_batch_truth(y, out, mem, in, range) : PLUMB_EMEMORY;
}

// ---- Jacobians and Sym ----

// The polynomial fit of a batch and the rows it was made on.
typedef struct fitted_batch {
    const symetric_batch *batch;
    const symetric_batch_input *in;
    const symetric_columns *latents;
    int64_t first;
    double *point; // (dims) scratch
} fitted_batch;

// j (targets, dims): J of F at one row of the latents. Weights with |w| <= weight_tolerance are
// left out [Higgins21, code].
static void compute_jacobian(double *j, const fitted_batch *fitted, int64_t row)
{
    const polynomial_fit *fit = &fitted->batch->fit;
    const int64_t dims = fitted->batch->dims, targets = fitted->in->targets;
    standardise_row(fitted->point, fitted->latents, row);
    memset(j, 0, (size_t)(targets * dims) * sizeof *j);
    for (int64_t t = 0; t < targets; t++)
        for (int64_t k = 0; k < fit->full[t].count; k++)
            if (fabs(fit->full[t].weights[k]) > fitted->in->opt->weight_tolerance)
                poly_gradient(j + t * dims, &fit->poly, fit->full[t].features[k],
                              fit->full[t].weights[k], fitted->point);
}

// Jacobians (points, targets, dims) of trajectory k of the batch.
static void fill_jacobians(double *j, const void *context, int64_t k)
{
    const fitted_batch *fitted = context;
    const symetric_batch_input *in = fitted->in;
    for (int64_t p = 0; p < in->points; p++)
        compute_jacobian(j + p * in->targets * fitted->batch->dims, fitted,
                         k * in->steps + in->eval_index[(fitted->first + k) * in->points + p]);
}

plumb_status symetric_batch_score(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                  int64_t count, symetric_jacobians *fill, const void *context)
{
    const int64_t points = in->points, size = in->targets * out->dims;
    out->jacobian = ARENA_ALLOC(mem, double, (points * size));
    out->sym = ARENA_ALLOC(mem, sym_score, count);
    double *scores = ARENA_ALLOC(mem, double, (count * points));
    double *rhos = ARENA_ALLOC(mem, double, (count * points));
    const arena_mark mark = arena_get_mark(mem);
    double *scratch = ARENA_ALLOC(mem, double, (2 * points * in->targets * in->targets));
    double *sorted = ARENA_ALLOC(mem, double, (count * points));
    double *others = ARENA_ALLOC(mem, double, (points * size));
    if (!others || !out->jacobian || !out->sym || !scores || !rhos || !scratch || !sorted)
        return PLUMB_EMEMORY;
    const sym_score_input problem = {.points = points,
                                     .n = in->targets / 2,
                                     .columns = out->dims,
                                     .pairs = out->pairs,
                                     .q = out->pair_q,
                                     .p = out->pair_p,
                                     .shift = in->opt->shift,
                                     .scale = in->opt->scale};
    double sum = 0.0;
    for (int64_t k = 0; k < count; k++) {
        double *j = k ? others : out->jacobian;
        fill(j, context, k);
        out->sym[k].score = scores + k * points;
        out->sym[k].rho = rhos + k * points;
        sym_score_compute(&out->sym[k], j, &problem, scratch);
        sum += out->sym[k].sym;
    }
    // The median of rho over all points of the batch tells whether the map is degenerate.
    memcpy(sorted, rhos, (size_t)(count * points) * sizeof *sorted);
    out->numbers.rho = stats_median(sorted, count * points);
    arena_rewind(mem, mark);
    // Sym of the batch is the mean over trajectories, cut at sym_cap as published.
    const double sym = sum / (double)count;
    out->numbers.sym = sym < in->opt->sym_cap ? sym : in->opt->sym_cap;
    return PLUMB_OK;
}

// ---- sums per trajectory ----

static double compute_heldout_r2(const symetric_batch *b, int64_t count, int64_t targets,
                                 int64_t steps);

plumb_status symetric_batch_sums(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                 const fit_residuals *residuals, int64_t count)
{
    const int64_t half = residuals->half, stride = residuals->stride;
    const int64_t entries = count * in->targets;
    out->residual2 = ARENA_ALLOC(mem, double, entries);
    out->sum = ARENA_ALLOC(mem, double, entries);
    out->square = ARENA_ALLOC(mem, double, entries);
    out->heldout2 = ARENA_ALLOC(mem, double, entries);
    if (!out->residual2 || !out->sum || !out->square || !out->heldout2) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < count; k++) {
        const int64_t start = k * in->steps, end = start + in->steps;
        // A trajectory that lies in both halves has residuals of two fits; it is left out.
        const bool cut = start < half && half < end;
        for (int64_t t = 0; t < in->targets; t++) {
            const int64_t entry = k * in->targets + t;
            for (int64_t i = start; i < end; i++) {
                const double r = residuals->residual[t * stride + i];
                const double v = residuals->y[t * stride + i];
                const double h = residuals->heldout[t * stride + i];
                out->residual2[entry] += r * r;
                out->heldout2[entry] += h * h;
                out->sum[entry] += v;
                out->square[entry] += v * v;
            }
            if (cut) out->heldout2[entry] = (double)NAN;
        }
    }
    out->r2_heldout = compute_heldout_r2(out, count, in->targets, in->steps);
    return PLUMB_OK;
}

// 1 - SSres/SStot over the whole trajectories of either half, mean over targets.
static double compute_heldout_r2(const symetric_batch *batch, int64_t count, int64_t targets,
                                 int64_t steps)
{
    double total = 0.0;
    for (int64_t t = 0; t < targets; t++) {
        double residual2 = 0.0, sum = 0.0, square = 0.0, n = 0.0;
        for (int64_t k = 0; k < count; k++) {
            const int64_t entry = k * targets + t;
            if (isnan(batch->heldout2[entry])) continue;
            residual2 += batch->heldout2[entry];
            sum += batch->sum[entry];
            square += batch->square[entry];
            n += (double)steps;
        }
        if (n == 0.0) return (double)NAN;
        const double total_square = square - sum * sum / n;
        total += total_square > 0.0 ? 1.0 - residual2 / total_square : residual2 == 0.0 ? 1.0 : 0.0;
    }
    return total / (double)targets;
}

plumb_status symetric_batch_measure(symetric_batch *out, arena *mem, const symetric_batch_input *in,
                                    int64_t first, int64_t count, int threads)
{
    const plumb_symetric_options *opt = in->opt;
    *out = (symetric_batch){.numbers = {.first = first, .trajectories = count}};
    plumb_status st = symetric_batch_select_latents(out, mem, in, first, count);
    if (st) return st;
    const int64_t rows = count * in->steps, stride = vector_padded(rows);
    symetric_columns latents;
    double *y;
    const row_range range = {.first = first, .count = count, .stride = stride};
    st = symetric_batch_latents(&latents, out, mem, in, &range);
    if (!st) st = symetric_batch_truth(&y, out, mem, in, &range);
    if (st) return st;

    const polynomial_fit_problem problem = {
        .source = {fill_columns, &latents},
        .y = y,
        .dims = out->dims,
        .targets = in->targets,
        .rows = rows,
        .stride = stride,
        .alphas = in->alphas,
        .alpha_count = opt->alphas,
        .max_order = symetric_batch_orders(out->dims, rows, opt),
        .threads = threads,
        .r2_bar = opt->r2_bar,
        .explained_r2 = opt->r2 == PLUMB_SYMETRIC_R2_EXPLAINED,
        .gap = opt->gap,
        .coordinate_descent = opt->mode == PLUMB_SYMETRIC_MODE_REFERENCE,
        .max_sweeps = opt->max_sweeps,
        .tolerance = opt->tolerance,
    };
    st = polynomial_fit_search(&out->fit, mem, &problem);
    const fitted_batch fit = {out, in, &latents, first, ARENA_ALLOC(mem, double, out->dims)};
    if (!st && !fit.point) st = PLUMB_EMEMORY;
    if (!st) st = symetric_batch_score(out, mem, in, count, fill_jacobians, &fit);
    if (!st)
        st = symetric_batch_sums(out, mem, in,
                                 &(fit_residuals){y, out->fit.residual, out->fit.heldout,
                                                  polynomial_fit_half(rows), stride},
                                 count);
    if (st) return st;

    // The numbers of the batch, and its verdict.
    plumb_symetric_batch *numbers = &out->numbers;
    numbers->order = out->fit.order;
    numbers->alpha_index = out->fit.alpha_index;
    numbers->alpha = in->alphas[numbers->alpha_index];
    numbers->features = out->fit.poly.count;
    for (int64_t t = 0; t < in->targets; t++) numbers->nonzero += out->fit.full[t].count;
    numbers->unconverged = out->fit.unconverged;
    numbers->r2 = out->fit.r2;
    symetric_batch_decide(numbers, opt);
    return PLUMB_OK;
}

// May converged mode try this order, by max_features and max_cells?
static bool is_affordable(int64_t dims, int order, int64_t rows, const plumb_symetric_options *opt)
{
    enum { FEW_FEATURES = 600 }; // take a second or two, whatever the rows
    const int64_t count = poly_count(dims, order);
    if (count >= 0 && (!opt->max_features || count <= opt->max_features))
        return count <= FEW_FEATURES || !opt->max_cells || count <= opt->max_cells / rows;
    return count >= 0 && !opt->max_features;
}

// The highest order that is tried: 1 for many latents, and in converged mode what is affordable.
int symetric_batch_orders(int64_t dims, int64_t rows, const plumb_symetric_options *opt)
{
    int order = dims > opt->order_one_above ? 1 : opt->max_order;
    if (opt->mode == PLUMB_SYMETRIC_MODE_CONVERGED)
        while (order > 1 && !is_affordable(dims, order, rows, opt)) order--;
    return order;
}

// R2 above its bar and Sym below its bar. A degenerate map fails in converged mode.
void symetric_batch_decide(plumb_symetric_batch *numbers, const plumb_symetric_options *opt)
{
    numbers->degenerate = numbers->rho < opt->degenerate_bar;
    numbers->symetric = numbers->r2 > opt->r2_bar && numbers->sym < opt->sym_bar &&
                        !(numbers->degenerate && opt->mode == PLUMB_SYMETRIC_MODE_CONVERGED);
}
