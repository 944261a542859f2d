// SPDX-License-Identifier: MIT
// What the latents say about the truth: its energy, and how fast the model's time runs.
#include "measures/flow/readout.h"

#include <math.h>

#include "math/pca.h"

enum { MAX_INPUTS = 12, CENTRES = 150, SEARCH_ROWS = 1500, MAX_STEPS = 40, WINDOW_STEPS = 24 };

// Principal components hold this share of the variance.
static const double kept_variance = 0.99999;
// The energy is read late in this share of the states at least.
static const double min_seen = 0.5;
// A quantity that is read with a lower R2 is not known.
static const double min_r2 = 0.9;

// ---- fit ----

// Mean and deviation of columns (rows, wide).
static void standardise(double *mean, double *scale, const double *x, int64_t rows, int64_t wide)
{
    for (int64_t i = 0; i < wide; i++) {
        double sum = 0.0, square = 0.0;
        for (int64_t r = 0; r < rows; r++) sum += x[r * wide + i];
        mean[i] = sum / (double)rows;
        for (int64_t r = 0; r < rows; r++)
            square += (x[r * wide + i] - mean[i]) * (x[r * wide + i] - mean[i]);
        scale[i] = square > 0.0 ? sqrt(square / (double)rows) : 1.0;
    }
}

// Inputs of the fit from latents: standardised, or principal components of that.
static void project(double *out, const flow_readout *r, const double *x, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < r->dims; i++) {
            double sum = 0.0;
            for (int64_t c = r->axes ? 0 : i; c < (r->axes ? r->columns : i + 1); c++)
                sum += (x[row * r->columns + c] - r->mean[c]) / r->scale[c] *
                       (r->axes ? r->axes[i * r->columns + c] : 1.0);
            out[row * r->dims + i] = sum;
        }
}

// r->axes: principal components, if there are too many latents for a fit.
static plumb_status find_axes(flow_readout *r, arena *mem, const double *x, int64_t rows)
{
    r->dims = r->columns;
    if (r->columns <= MAX_INPUTS) return PLUMB_OK;
    pca_axes found;
    const plumb_status st = pca_axes_fit(&found, mem, x, rows, r->columns, (double)rows, true);
    if (st) return st;
    r->dims = pca_axes_leading(&found, kept_variance);
    if (r->dims > MAX_INPUTS) r->dims = MAX_INPUTS;
    r->axes = ARENA_ALLOC(mem, double, (r->dims * r->columns));
    if (!r->axes) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < r->dims; i++)
        for (int64_t c = 0; c < r->columns; c++)
            r->axes[i * r->columns + c] = found.axes[i * found.width + c] / sqrt(found.largest);
    return PLUMB_OK;
}

plumb_status flow_readout_fit(flow_readout *out, const flow_work *work, const double *x,
                              const double *y, int64_t columns, int64_t outputs, int64_t steps)
{
    arena *mem = work->mem;
    const int64_t rows = work->trajectories * steps;
    *out = (flow_readout){.columns = columns, .outputs = outputs};
    out->mean = ARENA_ALLOC(mem, double, columns);
    out->scale = ARENA_ALLOC(mem, double, columns);
    out->y_mean = ARENA_ALLOC(mem, double, outputs);
    out->y_scale = ARENA_ALLOC(mem, double, outputs);
    if (!out->mean || !out->scale || !out->y_mean || !out->y_scale) return PLUMB_EMEMORY;
    standardise(out->mean, out->scale, x, rows, columns);
    standardise(out->y_mean, out->y_scale, y, rows, outputs);
    plumb_status st = find_axes(out, mem, x, rows);
    if (st) return st;
    double *inputs = ARENA_ALLOC(mem, double, (rows * out->dims));
    double *targets = ARENA_ALLOC(mem, double, (rows * outputs));
    if (!inputs || !targets) return PLUMB_EMEMORY;
    project(inputs, out, x, rows);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < outputs; k++)
            targets[r * outputs + k] = (y[r * outputs + k] - out->y_mean[k]) / out->y_scale[k];
    const kernel_fit_input in = {.x = inputs,
                                 .y = targets,
                                 .rows = rows,
                                 .first_half_rows = (work->trajectories + 1) / 2 * steps,
                                 .dims = out->dims,
                                 .unpenalised_dims = out->dims,
                                 .outputs = outputs,
                                 .search_stride = (rows + SEARCH_ROWS - 1) / SEARCH_ROWS,
                                 .centres = CENTRES,
                                 .max_terms = 100,
                                 .max_order = 4,
                                 .kind = KERNEL_FIT_NETWORK};
    st = kernel_fit_choose(&out->fit, mem, &in);
    return st ? st : kernel_fit_solve(&out->fit, mem, &in);
}

plumb_status flow_readout_values(double *out, const flow_work *work, const flow_readout *readout,
                                 const double *x, int64_t steps)
{
    const int64_t rows = work->trajectories * steps, first = (work->trajectories + 1) / 2 * steps;
    double *inputs = ARENA_ALLOC(work->mem, double, (rows * readout->dims));
    if (!inputs) return PLUMB_EMEMORY;
    project(inputs, readout, x, rows);
    plumb_status st =
        kernel_fit_values(out, &readout->fit, work->mem, KERNEL_FIT_SECOND, inputs, first);
    if (!st)
        st = kernel_fit_values(out + first * readout->outputs, &readout->fit, work->mem,
                               KERNEL_FIT_FIRST, inputs + first * readout->dims, rows - first);
    for (int64_t r = 0; r < rows && !st; r++)
        for (int64_t k = 0; k < readout->outputs; k++)
            out[r * readout->outputs + k] =
                out[r * readout->outputs + k] * readout->y_scale[k] + readout->y_mean[k];
    return st;
}

static int64_t count_columns(const flow_work *work)
{
    int64_t count = 0;
    for (int64_t i = 0; i < work->latent_dims; i++) count += work->readable[i];
    return count;
}

// ---- energy ----

// Per trajectory: the energy read from the latents less the true one, early and late.
typedef struct energy_sums {
    int64_t trajectories;
    double *early, *late; // (trajectories) means
    double *size;         // (trajectories) mean true energy above the least of all
    double stretch;
} energy_sums;

static double compute_energy_change(const void *context, const double *times)
{
    const energy_sums *s = context;
    double change = 0.0, size = 0.0;
    for (int64_t k = 0; k < s->trajectories; k++) {
        const double t = times ? times[k] : 1.0;
        if (isnan(s->late[k])) continue;
        change += t * (s->late[k] - s->early[k]);
        size += t * s->size[k];
    }
    return size > 0.0 ? change / size * s->stretch : (double)NAN;
}

// excess (trajectories) = mean of read - truth over the rows in `seen`, NaN if there are none;
// NULL: all rows.
static void average_excess(double *excess, const double *read, const double *truth,
                           const bool *seen, int64_t trajectories, int64_t steps)
{
    for (int64_t k = 0; k < trajectories; k++) {
        double sum = 0.0, count = 0.0;
        for (int64_t r = k * steps; r < (k + 1) * steps; r++)
            if (!seen || seen[r]) sum += read[r] - truth[r], count += 1.0;
        excess[k] = sum / count;
    }
}

// seen (rows): rows of `late` whose latents lie within the range of those of `early`, with a small
// margin. Elsewhere the readout only extrapolates. Returns their share.
static double find_seen(bool *seen, const double *early, const double *late, int64_t rows,
                        int64_t columns)
{
    const double margin = 0.05;
    int64_t count = 0;
    for (int64_t r = 0; r < rows; r++) seen[r] = true;
    for (int64_t i = 0; i < columns; i++) {
        double low = (double)INFINITY, high = -low;
        for (int64_t r = 0; r < rows; r++) {
            low = fmin(low, early[r * columns + i]);
            high = fmax(high, early[r * columns + i]);
        }
        const double by = margin * (high - low);
        for (int64_t r = 0; r < rows; r++)
            seen[r] =
                seen[r] && late[r * columns + i] >= low - by && late[r * columns + i] <= high + by;
    }
    for (int64_t r = 0; r < rows; r++) count += seen[r];
    return (double)count / (double)rows;
}

static double compute_r2(const double *read, const double *truth, int64_t rows)
{
    double mean = 0.0, missed = 0.0, all = 0.0;
    for (int64_t r = 0; r < rows; r++) mean += truth[r] / (double)rows;
    for (int64_t r = 0; r < rows; r++) {
        missed += (read[r] - truth[r]) * (read[r] - truth[r]);
        all += (truth[r] - mean) * (truth[r] - mean);
    }
    return all > 0.0 ? 1.0 - missed / all : 0.0;
}

// The map from latents to energy is fitted to the first eighth of the steps, in which a model that
// loses energy loses little, and read in the last eighth too.
plumb_status flow_measure_energy(plumb_flow *out, const flow_work *work)
{
    const int64_t count = work->trajectories, width = work->steps / 8 > 3 ? work->steps / 8 : 3,
                  columns = count_columns(work);
    const int64_t stride = (width + WINDOW_STEPS - 1) / WINDOW_STEPS;
    const int64_t steps = (width - 1) / stride + 1, rows = count * steps;
    if (!columns) return PLUMB_OK;
    double *x[2], *energy[2], *read[2];
    for (int w = 0; w < 2; w++) {
        flow_slice slice = {.first = w ? work->steps - width : 0, .stride = stride, .count = steps};
        energy[w] = flow_copy(work, work->in.energy, &slice);
        slice.columns = work->readable;
        x[w] = flow_copy(work, work->in.latent, &slice);
        read[w] = ARENA_ALLOC(work->mem, double, rows);
        if (!x[w] || !energy[w] || !read[w]) return PLUMB_EMEMORY;
    }
    energy_sums s = {.trajectories = count,
                     .stretch = (double)(work->steps - 1) / (double)(work->steps - width)};
    s.early = ARENA_ALLOC(work->mem, double, count);
    s.late = ARENA_ALLOC(work->mem, double, count);
    s.size = ARENA_ALLOC(work->mem, double, count);
    bool *seen = ARENA_ALLOC(work->mem, bool, rows);
    if (!s.early || !s.late || !s.size || !seen) return PLUMB_EMEMORY;
    if (find_seen(seen, x[0], x[1], rows, columns) < min_seen) return PLUMB_OK;
    flow_readout readout;
    plumb_status st = flow_readout_fit(&readout, work, x[0], energy[0], columns, 1, steps);
    for (int w = 0; w < 2 && !st; w++)
        st = flow_readout_values(read[w], work, &readout, x[w], steps);
    if (st || compute_r2(read[0], energy[0], rows) < min_r2) return st;
    double least = (double)INFINITY;
    for (int64_t r = 0; r < rows; r++) least = fmin(least, fmin(energy[0][r], energy[1][r]));
    average_excess(s.early, read[0], energy[0], NULL, count, steps);
    average_excess(s.late, read[1], energy[1], seen, count, steps);
    for (int64_t k = 0; k < count; k++)
        for (int64_t t = 0; t < steps; t++)
            s.size[k] += (energy[0][k * steps + t] - least) / (double)steps;
    out->energy_change = compute_energy_change(&s, NULL);
    return flow_interval(&out->energy_change_ci, work, compute_energy_change, &s);
}

// ---- clock ----

// Per trajectory, of the residuals e of the state and the rate v = (t - mean t) ds/dt.
typedef struct clock_sums {
    int64_t trajectories;
    double *product, *square; // (trajectories) sums of e v, of v v
} clock_sums;

static double compute_clock(const void *context, const double *times)
{
    const clock_sums *s = context;
    double product = 0.0, square = 0.0;
    for (int64_t k = 0; k < s->trajectories; k++) {
        const double t = times ? times[k] : 1.0;
        product += t * s->product[k];
        square += t * s->square[k];
    }
    return square > 0.0 ? 1.0 + product / square : (double)NAN;
}

// If the model's time runs by a factor 1 + e, the state read at step t is s(t) + e t ds/dt. The
// readout, fitted to all steps, takes up the mean of that; what is left grows with t - mean t.
plumb_status flow_measure_clock(plumb_flow *out, const flow_work *work)
{
    const plumb_array *truth = work->in.truth;
    const int64_t count = work->trajectories, columns = count_columns(work), d = truth->shape[2];
    const int64_t stride = (work->steps - 2 + MAX_STEPS - 1) / MAX_STEPS;
    const int64_t steps = (work->steps - 3) / stride + 1, rows = count * steps;
    if (!columns) return PLUMB_OK;
    double *s[3]; // before, at and after each step
    for (int i = 0; i < 3; i++) {
        s[i] = flow_copy(work, truth, &(flow_slice){.first = i, .stride = stride, .count = steps});
        if (!s[i]) return PLUMB_EMEMORY;
    }
    const double *x = flow_copy(
        work, work->in.latent,
        &(flow_slice){.first = 1, .stride = stride, .count = steps, .columns = work->readable});
    double *read = ARENA_ALLOC(work->mem, double, (rows * d));
    clock_sums sums = {.trajectories = count, .product = ARENA_ALLOC(work->mem, double, count)};
    sums.square = ARENA_ALLOC(work->mem, double, count);
    if (!x || !read || !sums.product || !sums.square) return PLUMB_EMEMORY;
    flow_readout readout;
    plumb_status st = flow_readout_fit(&readout, work, x, s[1], columns, d, steps);
    if (!st) st = flow_readout_values(read, work, &readout, x, steps);
    if (st) return st;
    const double middle = 0.5 * (double)((steps - 1) * stride);
    double missed = 0.0, left = 0.0, all = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        // The second pass takes away what the clock explains.
        const double fast = pass ? compute_clock(&sums, NULL) - 1.0 : 0.0;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < d; i++) {
                const double unit2 = readout.y_scale[i] * readout.y_scale[i];
                const double at = s[1][r * d + i], error = read[r * d + i] - at;
                const double v = 0.5 * (s[2][r * d + i] - s[0][r * d + i]) *
                                 ((double)(r % steps * stride) - middle);
                if (pass) {
                    left += (error - fast * v) * (error - fast * v) / unit2;
                    continue;
                }
                sums.product[r / steps] += error * v / unit2;
                sums.square[r / steps] += v * v / unit2;
                missed += error * error / unit2;
                all += (at - readout.y_mean[i]) * (at - readout.y_mean[i]) / unit2;
            }
    }
    out->r2 = all > 0.0 ? 1.0 - missed / all : (double)NAN;
    if (!(out->r2 > 0.5)) return PLUMB_OK;
    out->r2_clock = 1.0 - left / all;
    out->clock = compute_clock(&sums, NULL);
    return flow_interval(&out->clock_ci, work, compute_clock, &sums);
}
