// SPDX-License-Identifier: MIT
// Reads the input: shapes, the length of each trajectory, the targets as columns of doubles, and
// who gets whose targets in a shuffle.
#include "measures/probe/input.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "base/text.h"
#include "math/rng.h"

enum { SHUFFLE_STREAM = 0x73687566, MIN_TRAJECTORIES = 4, MAX_DIMS = 4096 };

// ---- shapes ----

// How an array gives a value to each step or trajectory. Fails with PLUMB_ESHAPE.
static plumb_status find_layout(int64_t *width, bool *per_step, const plumb_array *array,
                                const probe_data *data, const char *name)
{
    const int64_t n = data->trajectories, steps = data->steps, rows = data->flat_rows;
    const int ndim = array->ndim;
    const int64_t *shape = array->shape;
    *per_step = rows ? ndim > 0 && shape[0] == rows : ndim == 3 || (ndim == 2 && shape[1] == steps);
    const int axes = !*per_step || rows ? 1 : 2; // before the columns
    *width = ndim > axes ? shape[axes] : 1;
    bool fits = ndim >= axes && ndim <= axes + 1 && *width > 0;
    fits = fits && shape[0] == (*per_step && rows ? rows : n);
    if (fits && (axes == 1 || shape[1] == steps)) return PLUMB_OK;
    char text[200];
    plumb_array_shape_string(text, sizeof text, array);
    if (rows)
        return fail(PLUMB_ESHAPE,
                    "%s has shape %s; for %lld rows of %lld trajectories it must be (%lld, k) or "
                    "(%lld,), a value per row, or (%lld, k) or (%lld,), a value per trajectory",
                    name, text, (long long)rows, (long long)n, (long long)rows, (long long)rows,
                    (long long)n, (long long)n);
    return fail(PLUMB_ESHAPE,
                "%s has shape %s; for latents of %lld trajectories and %lld steps it must be "
                "(%lld, %lld, k) or (%lld, %lld), a value per step, or (%lld, k) or (%lld,), a "
                "value per trajectory",
                name, text, (long long)n, (long long)steps, (long long)n, (long long)steps,
                (long long)n, (long long)steps, (long long)n, (long long)n);
}

// frames and action have the first two axes of the latents, or its rows. `more` is the number of
// axes after them.
static plumb_status check_beside(const plumb_array *array, const probe_data *data, int more,
                                 const char *name, const char *wanted)
{
    if (!array) return PLUMB_OK;
    const int axes = data->flat_rows ? 1 : 2;
    bool fits = array->ndim == axes + more && plumb_array_count(array) > 0;
    for (int k = 0; fits && k < axes; k++) fits = array->shape[k] == data->latent->shape[k];
    if (fits) return PLUMB_OK;
    char text[200], other[200];
    return fail(PLUMB_ESHAPE, "%s has shape %s; beside latents %s it must be (%s, %s)", name,
                plumb_array_shape_string(text, sizeof text, array),
                plumb_array_shape_string(other, sizeof other, data->latent),
                data->flat_rows ? "rows" : "trajectories, steps", wanted);
}

static plumb_status check_latent(const plumb_array *latent, const plumb_array *offsets)
{
    char text[200];
    plumb_array_shape_string(text, sizeof text, latent);
    if (latent->ndim != (offsets ? 2 : 3))
        return fail(PLUMB_ESHAPE, "latent has shape %s; it must be %s", text,
                    offsets ? "(rows, d)" : "(trajectories, steps, d)");
    if (plumb_array_count(latent) == 0)
        return fail(PLUMB_ESHAPE, "latent has shape %s; it is empty", text);
    const int64_t n = offsets ? plumb_array_count(offsets) : latent->shape[0];
    if (n < MIN_TRAJECTORIES)
        return fail(PLUMB_EVALUE,
                    "there are %lld trajectories; a probe is tested on trajectories that it was "
                    "not fitted to and needs %d: cut long ones into pieces",
                    (long long)n, (int)MIN_TRAJECTORIES);
    return PLUMB_OK;
}

// The value of an array of whole numbers, from `low` to `high`.
static plumb_status read_whole(int64_t *out, const plumb_array *array, const char *name,
                               int64_t index, double low, double high)
{
    double given;
    plumb_array_to_double(&given, array, index, 1);
    if (!(given >= low && given <= high) || given != floor(given))
        return fail(PLUMB_EVALUE,
                    "%s: trajectory %lld has %g; it must be a whole number from %.0f to %.0f", name,
                    (long long)index, given, low, high);
    *out = (int64_t)given;
    return PLUMB_OK;
}

// Where each trajectory starts in the arrays, and with offsets the longest of them.
static plumb_status find_rows(probe_data *data, arena *mem, const plumb_array *lengths,
                              const plumb_array *offsets)
{
    int64_t *row = ARENA_ALLOC(mem, int64_t, data->trajectories);
    if (!row) return PLUMB_EMEMORY;
    data->row = row;
    for (int64_t i = 0; !offsets && i < data->trajectories; i++) row[i] = i * data->steps;
    if (!offsets) return PLUMB_OK;
    if (!lengths) return fail(PLUMB_EVALUE, "offsets are given without lengths");
    if (lengths->ndim != 1 || lengths->shape[0] != data->trajectories || offsets->ndim != 1) {
        char text[200], other[200];
        return fail(PLUMB_ESHAPE, "offsets has shape %s and lengths %s; both must be (n,)",
                    plumb_array_shape_string(text, sizeof text, offsets),
                    plumb_array_shape_string(other, sizeof other, lengths));
    }
    for (int64_t i = 0; i < data->trajectories; i++) {
        int64_t length = 0;
        plumb_status st = read_whole(&length, lengths, "lengths", i, 1, (double)data->flat_rows);
        if (!st)
            st = read_whole(&row[i], offsets, "offsets", i, 0, (double)(data->flat_rows - length));
        if (st) return st;
        if (length > data->steps) data->steps = length;
    }
    return PLUMB_OK;
}

// ---- lengths ----

typedef struct length_task {
    const probe_data *data;
    const plumb_array *lengths;
    int64_t *length;
    double *row; // (threads, dims)
} length_task;

// 0: all finite, 1: all NaN, 2: neither.
static int classify_row(const double *row, int64_t n)
{
    int64_t nans = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isinf(row[i])) return 2;
        nans += isnan(row[i]);
    }
    return nans == 0 ? 0 : nans == n ? 1 : 2;
}

// Steps after the last one that is not all NaN are padding; before it every number is finite.
static plumb_status find_length(void *context, int64_t index, int worker)
{
    const length_task *task = context;
    const probe_data *data = task->data;
    const int64_t dims = data->dims;
    double *row = task->row + worker * dims;
    int64_t length = data->steps;
    if (task->lengths) {
        const plumb_status st =
            read_whole(&length, task->lengths, "lengths", index, 1, (double)data->steps);
        if (st) return st;
    }
    bool padding = true;
    for (int64_t t = length - 1; t >= 0; t--) {
        plumb_array_to_double(row, data->latent, (data->row[index] + t) * dims, dims);
        const int kind = classify_row(row, dims);
        if (kind == 1 && padding) {
            length = t;
            continue;
        }
        padding = false;
        if (kind)
            return fail(PLUMB_ENUMERIC,
                        "latent has NaN or infinity in trajectory %lld, step %lld; only steps "
                        "after the end of a trajectory may be NaN, and then all their latents",
                        (long long)index, (long long)t);
    }
    if (!length)
        return fail(PLUMB_ENUMERIC, "latent: trajectory %lld is all NaN", (long long)index);
    task->length[index] = length;
    return PLUMB_OK;
}

static plumb_status find_lengths(probe_data *data, arena *mem, const plumb_array *lengths)
{
    const int threads = data->threads ? data->threads : parallel_threads();
    int64_t *length = ARENA_ALLOC(mem, int64_t, data->trajectories);
    int64_t *start = ARENA_ALLOC(mem, int64_t, data->trajectories);
    double *row = ARENA_ALLOC(mem, double, threads * data->dims);
    if (!length || !start || !row) return PLUMB_EMEMORY;
    if (lengths && (lengths->ndim != 1 || lengths->shape[0] != data->trajectories)) {
        char text[200];
        return fail(PLUMB_ESHAPE, "lengths has shape %s; it must be (%lld,)",
                    plumb_array_shape_string(text, sizeof text, lengths),
                    (long long)data->trajectories);
    }
    length_task task = {data, lengths, length, row};
    const plumb_status st = parallel_for(data->trajectories, threads, find_length, &task);
    for (int64_t i = 0; !st && i < data->trajectories; i++) {
        start[i] = data->rows;
        data->rows += length[i];
    }
    data->length = length;
    data->start = start;
    return st;
}

// ---- targets ----

// The name of column `index` of a target: its own, "energy", or "truth[1]".
static const char *name_column(arena *mem, const plumb_probe_target *target, int64_t width,
                               int64_t index)
{
    if (target->columns && target->columns[index]) return arena_strdup(mem, target->columns[index]);
    if (width == 1) return arena_strdup(mem, target->name);
    char text[300];
    text_format(text, sizeof text, "%s[%lld]", target->name, (long long)index);
    return arena_strdup(mem, text);
}

// Lists the columns of all targets; angles have two.
static plumb_status list_columns(probe_data *data, plumb_probe_line **lines, arena *mem,
                                 const plumb_probe_input *in)
{
    int64_t targets = 0;
    for (int64_t i = 0; i < in->target_count; i++) {
        int64_t width;
        bool per_step;
        const plumb_probe_target *target = &in->targets[i];
        if (!target->name || !target->array)
            return fail(PLUMB_EVALUE, "target %lld has no name or no array", (long long)i);
        const plumb_status st = find_layout(&width, &per_step, target->array, data, target->name);
        if (st) return st;
        targets += width;
    }
    data->column = ARENA_ALLOC(mem, probe_column, 2 * targets);
    *lines = ARENA_ALLOC(mem, plumb_probe_line, targets);
    if (!data->column || !*lines) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < in->target_count; i++) {
        const plumb_probe_target *target = &in->targets[i];
        const char *group = arena_strdup(mem, target->name);
        probe_column column = {.array = target->array};
        find_layout(&column.width, &column.per_step, target->array, data, target->name);
        for (int64_t k = 0; k < column.width; k++) {
            plumb_probe_line *line = &(*lines)[data->targets];
            line->name = name_column(mem, target, column.width, k);
            line->group = group;
            line->angle = target->angles && target->angles[k];
            if (!line->name || !group) return PLUMB_EMEMORY;
            column.index = k;
            column.target = data->targets++;
            column.part = line->angle ? PROBE_SINE : PROBE_VALUE;
            data->column[data->columns++] = column;
            if (!line->angle) continue;
            column.part = PROBE_COSINE;
            data->column[data->columns++] = column;
        }
    }
    return PLUMB_OK;
}

// The value of a column at a step.
static double read_value(const probe_column *column, const probe_data *data, int64_t trajectory,
                         int64_t step)
{
    const int64_t row = column->per_step ? data->row[trajectory] + step : trajectory;
    double value;
    plumb_array_to_double(&value, column->array, row * column->width + column->index, 1);
    if (column->part == PROBE_SINE) return sin(value);
    return column->part == PROBE_COSINE ? cos(value) : value;
}

typedef struct target_task {
    probe_data *data;
    const plumb_probe_line *lines;
} target_task;

// Reads one column, shifts it to mean 0 and scales it.
static plumb_status read_column(void *context, int64_t index, int worker)
{
    (void)worker;
    const target_task *task = context;
    probe_data *data = task->data;
    probe_column *column = &data->column[index];
    double sum = 0.0, square = 0.0, largest = 0.0;
    for (int64_t i = 0; i < data->trajectories; i++)
        for (int64_t t = 0; t < data->length[i]; t++) {
            const double value = read_value(column, data, i, t);
            if (!isfinite(value))
                return fail(PLUMB_ENUMERIC,
                            "target %s has NaN or infinity in trajectory %lld, step %lld; if the "
                            "trajectory ends there, its latents must be NaN from there on",
                            task->lines[column->target].name, (long long)i, (long long)t);
            data->y[(data->start[i] + t) * data->columns + index] = value;
            sum += value;
            largest = fmax(largest, fabs(value));
        }
    const double mean = sum / (double)data->rows;
    for (int64_t row = 0; row < data->rows; row++) {
        const double y = data->y[row * data->columns + index] - mean;
        square += y * y;
    }
    const double deviation = sqrt(square / (double)data->rows);
    if (!isfinite(mean) || !isfinite(deviation))
        return fail(PLUMB_ENUMERIC, "target %s: the sum of its squares overflows",
                    task->lines[column->target].name);
    // Below the rounding of the values it is the same everywhere.
    column->constant = deviation <= 1e-13 * largest;
    const double scale = column->constant              ? 0.0
                         : column->part == PROBE_VALUE ? 1.0 / deviation
                                                       : 1.0;
    column->mean = mean;
    column->scale = scale;
    for (int64_t row = 0; row < data->rows; row++) {
        double *y = &data->y[row * data->columns + index];
        *y = (*y - mean) * scale;
    }
    return PLUMB_OK;
}

static plumb_status read_targets(probe_data *data, plumb_probe_line *lines, arena *mem)
{
    data->y = ARENA_ALLOC(mem, double, data->rows * data->columns);
    if (!data->y) return PLUMB_EMEMORY;
    target_task task = {data, lines};
    const plumb_status st = parallel_for(data->columns, data->threads, read_column, &task);
    // An angle is constant if its sine and its cosine are.
    for (int64_t c = 0; c < data->columns; c++) lines[data->column[c].target].constant = true;
    for (int64_t c = 0; c < data->columns; c++)
        if (!data->column[c].constant) lines[data->column[c].target].constant = false;
    return st;
}

// Permutations of the trajectories.
static plumb_status draw_shuffles(probe_data *data, arena *mem, const plumb_probe_options *opt)
{
    data->shuffles = opt->controls ? opt->shuffles : 0;
    int64_t *partner = ARENA_ALLOC(mem, int64_t, data->shuffles * data->trajectories);
    if (!partner) return PLUMB_EMEMORY;
    rng random = rng_at(opt->seed, SHUFFLE_STREAM);
    for (int64_t s = 0; s < data->shuffles; s++)
        rng_distinct(partner + s * data->trajectories, &random, data->trajectories,
                     data->trajectories);
    data->partner = partner;
    return PLUMB_OK;
}

// The mean over each trajectory of the value that divides them.
static plumb_status read_division(probe_data *data, arena *mem, const plumb_array *array)
{
    if (!array) return PLUMB_OK;
    probe_column column = {.array = array};
    const plumb_status st = find_layout(&column.width, &column.per_step, array, data, "ood");
    if (st) return st;
    if (column.width != 1)
        return fail(PLUMB_ESHAPE, "ood has %lld columns; it must be one", (long long)column.width);
    double *mean = ARENA_ALLOC(mem, double, data->trajectories);
    if (!mean) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < data->trajectories; i++) {
        for (int64_t t = 0; t < data->length[i]; t++) mean[i] += read_value(&column, data, i, t);
        mean[i] /= (double)data->length[i];
        if (!isfinite(mean[i]))
            return fail(PLUMB_ENUMERIC, "ood has NaN or infinity in trajectory %lld", (long long)i);
    }
    data->ood = mean;
    return PLUMB_OK;
}

plumb_status probe_data_read(probe_data *out, plumb_probe_line **lines, arena *mem,
                             const plumb_probe_input *in, const plumb_probe_options *opt)
{
    const plumb_array *latent = in->latent;
    plumb_status st = check_latent(latent, in->offsets);
    if (st) return st;
    // The matrices of all folds are held: 1.3 GB at the limit.
    if (latent->shape[latent->ndim - 1] > MAX_DIMS)
        return fail(PLUMB_ESHAPE,
                    "latent has %lld numbers per step; a probe takes at most %d. Average features, "
                    "or take their first principal components",
                    (long long)latent->shape[latent->ndim - 1], (int)MAX_DIMS);
    if (in->target_count < 1 || !in->targets)
        return fail(PLUMB_EVALUE, "there is no target to read out of the latents");
    *out = (probe_data){.latent = latent,
                        .frames = in->frames,
                        .action = in->action,
                        .trajectories = latent->shape[0],
                        .steps = latent->shape[1],
                        .dims = latent->shape[latent->ndim - 1],
                        .threads = opt->threads};
    if (in->offsets) {
        out->flat_rows = latent->shape[0];
        out->trajectories = plumb_array_count(in->offsets);
        out->steps = 0;
    }
    st = check_beside(in->frames, out, 3, "frames", "height, width, channels");
    if (!st) st = check_beside(in->action, out, 1, "action", "a");
    if (!st) st = find_rows(out, mem, in->lengths, in->offsets);
    if (!st) st = find_lengths(out, mem, in->lengths);
    if (!st) st = list_columns(out, lines, mem, in);
    if (!st) st = read_targets(out, *lines, mem);
    if (!st) st = draw_shuffles(out, mem, opt);
    return st ? st : read_division(out, mem, in->ood);
}
