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

// Scales one column to mean 0 and population deviation 1, both over rows from .. rows-1. NaN is
// left out of both, then set to the mean. A column is constant by the rule of the StandardScaler of
// scikit-learn; it is then divided by 1.
static void standardise_column(double *x, int64_t from, int64_t rows, double *mean_out,
                               double *scale_out)
{
    double sum = 0.0;
    int64_t n = 0;
    for (int64_t i = from; i < rows; i++)
        if (!isnan(x[i])) {
            sum += x[i];
            n++;
        }
    // Two passes with the correction of the rounding error of the mean [Pedregosa11].
    const double mean = n ? sum / (double)n : 0.0;
    double squares = 0.0, left = 0.0;
    for (int64_t i = from; i < rows; i++)
        if (!isnan(x[i])) {
            const double e = x[i] - mean;
            left += e;
            squares += e * e;
        }
    const double count = n ? (double)n : 1.0;
    const double variance = (squares - left * left / count) / count;
    // A variance within its own rounding error counts as zero.
    const double eps = 2.220446049250313e-16;
    const double noise = count * mean * eps;
    const bool constant = variance <= count * eps * variance + noise * noise;
    const double scale = constant || !(variance > 0.0) ? 1.0 : sqrt(variance);
    for (int64_t i = 0; i < rows; i++) {
        const double z = isnan(x[i]) ? 0.0 : (x[i] - mean) / scale;
        x[i] = z > max_value ? max_value : z < -max_value ? -max_value : z;
    }
    *mean_out = mean;
    *scale_out = scale;
}

// Where columns come from: an array (trajectories, steps, dims), of which some dims are used.
typedef struct column_source {
    const plumb_array *array;
    int64_t steps, dims;
    const int64_t *used; // (used_count), or NULL: all
    int64_t used_count;
} column_source;

// Columns (used_count, stride), standardised; mean and scale (used_count) are what was taken out.
static double *make_columns(arena *mem, const symetric_batch_input *in, const column_source *source,
                            const row_range *range, double *mean, double *scale)
{
    const int64_t dims = source->dims, stride = range->stride;
    double *columns = ARENA_ALLOC(mem, double, (source->used_count * stride));
    const arena_mark mark = arena_get_mark(mem);
    double *rows = ARENA_ALLOC(mem, double, (in->steps * dims));
    if (!columns || !rows) return NULL;
    // (steps, dims) of a trajectory become `steps` entries of each column.
    for (int64_t k = 0; k < range->count; k++) {
        plumb_array_to_double(rows, source->array,
                              in->kept[range->first + k] * source->steps * dims, in->steps * dims);
        for (int64_t j = 0; j < source->used_count; j++) {
            double *to = columns + j * stride + k * in->steps;
            const double *column = rows + (source->used ? source->used[j] : j);
            for (int64_t s = 0; s < in->steps; s++) to[s] = column[s * dims];
        }
    }
    arena_rewind(mem, mark);
    for (int64_t j = 0; j < source->used_count; j++)
        standardise_column(columns + j * stride, range->from * in->steps, range->count * in->steps,
                           &mean[j], &scale[j]);
    return columns;
}

plumb_status symetric_batch_columns(double **x, double **y, symetric_batch *out, arena *mem,
                                    const symetric_batch_input *in, const row_range *range)
{
    out->latent_mean = ARENA_ALLOC(mem, double, out->dims);
    out->latent_scale = ARENA_ALLOC(mem, double, out->dims);
    out->truth_mean = ARENA_ALLOC(mem, double, in->targets);
    out->truth_scale = ARENA_ALLOC(mem, double, in->targets);
    if (!out->latent_mean || !out->latent_scale || !out->truth_mean || !out->truth_scale)
        return PLUMB_EMEMORY;
    const column_source latent = {in->latent, in->latent_steps, in->latent_dims, out->used,
                                  out->dims};
    const column_source truth = {in->truth, in->steps, in->targets, NULL, in->targets};
    *x = make_columns(mem, in, &latent, range, out->latent_mean, out->latent_scale);
    *y = make_columns(mem, in, &truth, range, out->truth_mean, out->truth_scale);
    return *x && *y ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- Jacobians and Sym ----

// The polynomial fit of a batch and the rows it was made on.
typedef struct fitted_batch {
    const symetric_batch *batch;
    const symetric_batch_input *in;
    const double *x; // (dims, stride)
    int64_t stride, first;
    double *point; // (dims) scratch
} fitted_batch;

// j (targets, dims): J of F at one row of x. Weights with |w| <= weight_tolerance are left out
// [Higgins21, code].
static void compute_jacobian(double *j, const fitted_batch *fitted, int64_t row)
{
    const polynomial_fit *fit = &fitted->batch->fit;
    const int64_t dims = fitted->batch->dims, targets = fitted->in->targets;
    for (int64_t i = 0; i < dims; i++) fitted->point[i] = fitted->x[i * fitted->stride + row];
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
    double *x, *y;
    const row_range range = {.first = first, .count = count, .stride = stride};
    st = symetric_batch_columns(&x, &y, out, mem, in, &range);
    if (st) return st;

    const polynomial_fit_problem problem = {
        .x = x,
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
    const fitted_batch fit = {out, in, x, stride, first, ARENA_ALLOC(mem, double, out->dims)};
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
