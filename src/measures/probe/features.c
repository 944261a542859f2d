// SPDX-License-Identifier: MIT
// Rows of features. Random projections are sparse [Charikar02]: each input is added, with a random
// sign, to one random column. So they cost no more than reading the input.
#include "measures/probe/features.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "math/blas.h"
#include "math/rng.h"

enum { PROJECTION_STREAM = 0x70726f6a, CENTRE_STREAM = 0x63656e74 };
enum { MAX_PIXELS = 1024, SLICES = 16 };

int64_t probe_features_row_count(const probe_features *features, int64_t trajectory)
{
    return (features->data->length[trajectory] + features->stride - 1) / features->stride;
}

int64_t probe_features_scratch(const probe_features *features)
{
    const int64_t rows =
        features->kind == PROBE_KERNEL ? PROBE_CHUNK * features->latents->dims + PROBE_CHUNK : 0;
    return rows + features->inputs;
}

// ---- rows before shift and scale ----

// out (dims) = sum of the inputs of each column.
static void add_inputs(double *out, const probe_features *features, const double *input)
{
    memset(out, 0, (size_t)features->dims * sizeof *out);
    for (int64_t i = 0; i < features->inputs; i++)
        out[features->bucket[i]] += features->weight[i] * input[i];
}

static void get_plain(double *out, const probe_features *features, int64_t trajectory, int64_t step,
                      double *scratch)
{
    const probe_data *data = features->data;
    const int64_t row = data->row[trajectory] + step;
    switch (features->kind) {
    case PROBE_LATENT:
        plumb_array_to_double(out, data->latent, row * features->dims, features->dims);
        break;
    case PROBE_ACTION:
        plumb_array_to_double(out, data->action, row * features->dims, features->dims);
        break;
    case PROBE_PAST:
        // Before the first step there is only the first.
        for (int64_t k = 0; k < features->window; k++) {
            const int64_t at = step > k ? step - 1 - k : 0;
            plumb_array_to_double(scratch + k * data->dims, data->latent,
                                  (data->row[trajectory] + at) * data->dims, data->dims);
        }
        add_inputs(out, features, scratch);
        break;
    case PROBE_PROJECTION:
    case PROBE_PIXELS:
        plumb_array_to_double(scratch, data->frames, row * features->inputs, features->inputs);
        add_inputs(out, features, scratch);
        break;
    case PROBE_KERNEL: break;
    }
}

// out (count, dims) = the latents, then the kernels.
static void get_kernels(double *out, const probe_features *features, int64_t trajectory,
                        int64_t first, int64_t count, double *scratch)
{
    const int64_t dims = features->dims, latents = features->latents->dims;
    double *x = scratch, *square = scratch + PROBE_CHUNK * latents;
    probe_features_get(x, features->latents, trajectory, first, count, NULL);
    blas_gemm(out + latents, dims, x, latents, false, features->centre, latents, true, count,
              features->centres, latents, -2.0, 0.0);
    for (int64_t r = 0; r < count; r++) {
        square[r] = 0.0;
        for (int64_t i = 0; i < latents; i++) square[r] += x[r * latents + i] * x[r * latents + i];
        double *row = out + r * dims;
        memcpy(row, x + r * latents, (size_t)latents * sizeof *row);
        for (int64_t k = 0; k < features->centres; k++) {
            const double distance = row[latents + k] + square[r] + features->centre_square[k];
            row[latents + k] = exp(-features->sharpness * distance);
        }
    }
}

void probe_features_get(double *out, const probe_features *features, int64_t trajectory,
                        int64_t first, int64_t count, double *scratch)
{
    const int64_t dims = features->dims;
    if (features->kind == PROBE_KERNEL)
        get_kernels(out, features, trajectory, first, count, scratch);
    else
        for (int64_t r = 0; r < count; r++)
            get_plain(out + r * dims, features, trajectory, (first + r) * features->stride,
                      scratch);
    if (!features->scale) return;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < dims; i++)
            out[r * dims + i] = (out[r * dims + i] - features->shift[i]) * features->scale[i];
}

// ---- shift and scale ----

typedef struct moment_task {
    const probe_features *features;
    const double *origin;   // (dims) near the mean, so that squares lose no digits
    double *sum, *square;   // (SLICES, dims)
    double *rows, *scratch; // of each worker
    int64_t row_size, scratch_size;
} moment_task;

// Sums over a slice of the trajectories.
static plumb_status sum_slice(void *context, int64_t index, int worker)
{
    const moment_task *task = context;
    const probe_features *features = task->features;
    const int64_t dims = features->dims, n = features->data->trajectories;
    double *rows = task->rows + worker * task->row_size;
    double *scratch = task->scratch + worker * task->scratch_size;
    double *sum = task->sum + index * dims, *square = task->square + index * dims;
    for (int64_t i = index * n / SLICES; i < (index + 1) * n / SLICES; i++) {
        const int64_t all = probe_features_row_count(features, i);
        for (int64_t first = 0; first < all; first += PROBE_CHUNK) {
            const int64_t count = all - first < PROBE_CHUNK ? all - first : PROBE_CHUNK;
            probe_features_get(rows, features, i, first, count, scratch);
            for (int64_t r = 0; r < count; r++)
                for (int64_t k = 0; k < dims; k++) {
                    const double x = rows[r * dims + k] - task->origin[k];
                    sum[k] += x;
                    square[k] += x * x;
                }
        }
    }
    return PLUMB_OK;
}

static int64_t count_rows(const probe_features *features)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < features->data->trajectories; i++)
        rows += probe_features_row_count(features, i);
    return rows;
}

// Sets shift and scale from the sums of all slices.
static plumb_status set_scale(probe_features *features, double *shift, double *scale,
                              const moment_task *task)
{
    static const char *const names[] = {"latent", "latent", "latent", "frames", "frames", "action"};
    const double rows = (double)count_rows(features);
    const int64_t dims = features->dims;
    for (int64_t k = 0; k < dims; k++) {
        double sum = 0.0, square = 0.0;
        for (int64_t s = 0; s < SLICES; s++) {
            sum += task->sum[s * dims + k];
            square += task->square[s * dims + k];
        }
        const double mean = sum / rows, variance = square / rows - mean * mean;
        if (!isfinite(mean) || !isfinite(variance))
            return fail(PLUMB_ENUMERIC, "%s has NaN or infinity, or numbers too large to square",
                        names[features->kind]);
        shift[k] = task->origin[k] + mean;
        // Below the rounding of the values, the number is the same in all rows.
        const double deviation = sqrt(fmax(variance, 0.0));
        scale[k] = deviation > 1e-12 * fabs(shift[k]) && deviation > 0.0 ? 1.0 / deviation : 0.0;
    }
    features->shift = shift;
    features->scale = scale;
    return PLUMB_OK;
}

static plumb_status measure_scale(probe_features *features, arena *mem)
{
    const int threads = features->data->threads ? features->data->threads : parallel_threads();
    const int64_t dims = features->dims;
    double *shift = ARENA_ALLOC(mem, double, dims), *scale = ARENA_ALLOC(mem, double, dims);
    if (!shift || !scale) return PLUMB_EMEMORY;
    const arena_mark mark = arena_get_mark(mem);
    moment_task task = {.features = features,
                        .row_size = PROBE_CHUNK * dims,
                        .scratch_size = probe_features_scratch(features)};
    double *origin = ARENA_ALLOC(mem, double, dims);
    task.sum = ARENA_ALLOC(mem, double, SLICES *dims);
    task.square = ARENA_ALLOC(mem, double, SLICES *dims);
    task.rows = ARENA_ALLOC(mem, double, threads *task.row_size);
    task.scratch = ARENA_ALLOC(mem, double, threads *task.scratch_size);
    plumb_status st = PLUMB_EMEMORY;
    if (origin && task.sum && task.square && task.rows && task.scratch) {
        probe_features_get(origin, features, 0, 0, 1, task.scratch);
        task.origin = origin;
        st = parallel_for(SLICES, threads, sum_slice, &task);
        if (!st) st = set_scale(features, shift, scale, &task);
    }
    arena_rewind(mem, mark);
    return st;
}

// ---- kinds ----

static int64_t count_pixels(const plumb_array *frames)
{
    const int64_t *last = frames->shape + frames->ndim - 3;
    return last[0] * last[1] * last[2];
}

// Every input goes to a random column with a random sign.
static plumb_status draw_projection(probe_features *features, arena *mem, uint64_t seed)
{
    features->bucket = ARENA_ALLOC(mem, int64_t, features->inputs);
    features->weight = ARENA_ALLOC(mem, double, features->inputs);
    if (!features->bucket || !features->weight) return PLUMB_EMEMORY;
    rng random = rng_at(seed, PROJECTION_STREAM + (uint64_t)features->kind);
    for (int64_t i = 0; i < features->inputs; i++) {
        features->bucket[i] = rng_below(&random, features->dims);
        features->weight[i] = rng_below(&random, 2) ? 1.0 : -1.0;
    }
    return PLUMB_OK;
}

// Means over squares of pixels, the smallest that leave at most MAX_PIXELS numbers.
static plumb_status divide_pixels(probe_features *features, arena *mem)
{
    const plumb_array *frames = features->data->frames;
    const int64_t *last = frames->shape + frames->ndim - 3;
    const int64_t height = last[0], width = last[1], channels = last[2];
    int64_t side = 1, wide = width;
    for (;; side++) {
        wide = (width + side - 1) / side;
        features->dims = (height + side - 1) / side * wide * channels;
        if (features->dims <= MAX_PIXELS || (side >= width && side >= height)) break;
    }
    features->bucket = ARENA_ALLOC(mem, int64_t, features->inputs);
    features->weight = ARENA_ALLOC(mem, double, features->inputs);
    if (!features->bucket || !features->weight) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < features->inputs; i++) {
        const int64_t y = i / (width * channels), x = i / channels % width;
        features->bucket[i] = (y / side * wide + x / side) * channels + i % channels;
        features->weight[i] = 1.0 / (double)(side * side);
    }
    return PLUMB_OK;
}

plumb_status probe_features_create(probe_features *out, arena *mem, const probe_data *data,
                                   probe_features_kind kind, int64_t stride,
                                   const plumb_probe_options *opt)
{
    *out = (probe_features){.data = data, .kind = kind, .dims = data->dims, .stride = stride};
    plumb_status st = blas_library_load();
    if (st) return st;
    if (kind == PROBE_ACTION) out->dims = data->action->shape[data->action->ndim - 1];
    if (kind == PROBE_PAST) {
        out->window = opt->window;
        out->inputs = opt->window * data->dims;
    }
    if (kind == PROBE_PROJECTION || kind == PROBE_PIXELS) out->inputs = count_pixels(data->frames);
    if (kind == PROBE_PAST || kind == PROBE_PROJECTION) st = draw_projection(out, mem, opt->seed);
    if (kind == PROBE_PIXELS) st = divide_pixels(out, mem);
    return st ? st : measure_scale(out, mem);
}

// The row of this number among all trajectories.
static void get_row(double *out, const probe_features *features, int64_t row)
{
    int64_t trajectory = 0;
    while (row >= probe_features_row_count(features, trajectory))
        row -= probe_features_row_count(features, trajectory++);
    probe_features_get(out, features, trajectory, row, 1, NULL);
}

plumb_status probe_features_create_kernel(probe_features *out, arena *mem,
                                          const probe_features *latents, double scale,
                                          const plumb_probe_options *opt)
{
    // Enough rows per centre that the others are predicted, not remembered.
    const int64_t rows = count_rows(latents), most = rows / 8 < 1 ? 1 : rows / 8;
    const int64_t centres = opt->centres < most ? opt->centres : most;
    *out = (probe_features){.data = latents->data,
                            .kind = PROBE_KERNEL,
                            .dims = latents->dims + centres,
                            .stride = latents->stride,
                            .latents = latents,
                            .centres = centres};
    out->centre = ARENA_ALLOC(mem, double, centres * latents->dims);
    out->centre_square = ARENA_ALLOC(mem, double, centres);
    if (!out->centre || !out->centre_square) return PLUMB_EMEMORY;
    // One random row of each of `centres` equal ranges of rows.
    rng random = rng_at(opt->seed, CENTRE_STREAM);
    for (int64_t k = 0; k < centres; k++) {
        const int64_t first = k * rows / centres, next = (k + 1) * rows / centres;
        double *centre = out->centre + k * latents->dims;
        get_row(centre, latents, first + rng_below(&random, next - first));
        for (int64_t i = 0; i < latents->dims; i++) out->centre_square[k] += centre[i] * centre[i];
    }
    int64_t varying = 0;
    for (int64_t i = 0; i < latents->dims; i++) varying += latents->scale[i] > 0.0;
    out->sharpness = 0.5 * scale * scale / (double)(varying ? varying : 1);
    return measure_scale(out, mem);
}
