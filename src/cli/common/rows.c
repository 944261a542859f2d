// SPDX-License-Identifier: MIT
// The layouts in which people keep trajectories: (trajectories, steps, d), flat rows of episodes,
// one long orbit. All become one of two, without a copy.
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

const char *const cli_align_words[] = {"none", "start", "end", NULL};

void cli_rows_free(cli_rows *rows)
{
    free(rows->memory);
    rows->memory = NULL;
}

// Memory for `count` offsets and lengths. False, with a message, if there is none.
static bool allocate_pieces(cli_rows *rows, const cli_command *command, int64_t count)
{
    rows->memory = calloc((size_t)(2 * count) + 1, sizeof *rows->memory);
    if (!rows->memory) {
        cli_error(command, EXIT_FAILED, "out of memory");
        return false;
    }
    rows->offsets = plumb_array_view(rows->memory, PLUMB_INT64, 1, &count);
    rows->lengths = plumb_array_view(rows->memory + count, PLUMB_INT64, 1, &count);
    return true;
}

static int64_t read_index(const plumb_array *array, int64_t at)
{
    double value;
    plumb_array_to_double(&value, array, at, 1);
    return value >= 0.0 && value < 9e15 ? (int64_t)value : -1;
}

// ep_len and ep_offset; without the latter episodes follow each other.
static int read_episodes(cli_rows *out, const cli_command *command, plumb_file *file)
{
    plumb_array lengths, offsets;
    const bool given = plumb_file_has_array(file, "ep_offset");
    if (plumb_file_read_array(&lengths, file, "ep_len") ||
        (given && plumb_file_read_array(&offsets, file, "ep_offset")))
        return cli_last_error(command);
    const int64_t count = plumb_array_count(&lengths);
    if (given && plumb_array_count(&offsets) != count)
        return cli_error(command, EXIT_FAILED, "ep_len has %lld values and ep_offset %lld",
                         (long long)count, (long long)plumb_array_count(&offsets));
    if (!allocate_pieces(out, command, count)) return EXIT_FAILED;
    int64_t *offset = out->memory, *length = out->memory + count, next = 0;
    for (int64_t i = 0; i < count; i++) {
        length[i] = read_index(&lengths, i);
        offset[i] = given ? read_index(&offsets, i) : next;
        if (length[i] < 1 || offset[i] < 0 || offset[i] > out->rows - length[i])
            return cli_error(command, EXIT_FAILED,
                             "ep_len, ep_offset: episode %lld has rows %lld to %lld of %lld",
                             (long long)i, (long long)offset[i], (long long)(offset[i] + length[i]),
                             (long long)out->rows);
        next = offset[i] + length[i];
    }
    out->flat = true;
    return EXIT_DONE;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A column "trajectory": rows of one trajectory follow each other.
static int read_numbers(cli_rows *out, const cli_command *command, plumb_file *file)
{
    plumb_array number;
    if (plumb_file_read_array(&number, file, "trajectory")) return cli_last_error(command);
    if (plumb_array_count(&number) != out->rows)
        return cli_error(command, EXIT_FAILED, "trajectory has %lld values for %lld rows",
                         (long long)plumb_array_count(&number), (long long)out->rows);
    int64_t count = 0;
    double before = 0.0, value = 0.0;
    for (int64_t i = 0; i < out->rows; i++, before = value) {
        plumb_array_to_double(&value, &number, i, 1);
        count += i == 0 || value != before;
    }
    if (!allocate_pieces(out, command, count)) return EXIT_FAILED;
    int64_t *offset = out->memory, *length = out->memory + count, at = -1;
    for (int64_t i = 0; i < out->rows; i++, before = value) {
        plumb_array_to_double(&value, &number, i, 1);
        if (i == 0 || value != before) offset[++at] = i;
        length[at]++;
    }
    // A number that comes back later would be two trajectories.
    double *sorted = malloc((size_t)(count + 1) * sizeof *sorted);
    if (!sorted) return cli_error(command, EXIT_FAILED, "out of memory");
    for (int64_t i = 0; i < count; i++) plumb_array_to_double(sorted + i, &number, offset[i], 1);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_numbers);
    for (int64_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1]) {
            const double twice = sorted[i];
            free(sorted);
            return cli_error(command, EXIT_FAILED,
                             "trajectory %.0f has rows in several places: sort the rows by "
                             "trajectory",
                             twice);
        }
    free(sorted);
    out->flat = true;
    return EXIT_DONE;
}

int cli_rows_take_lengths(cli_rows *out, const cli_command *command, const plumb_array *lengths)
{
    if (lengths && plumb_array_count(lengths) != out->trajectories)
        return cli_error(command, EXIT_FAILED, "length has %lld values for %lld trajectories",
                         (long long)plumb_array_count(lengths), (long long)out->trajectories);
    if (!allocate_pieces(out, command, out->trajectories)) return EXIT_FAILED;
    for (int64_t i = 0; i < out->trajectories; i++) {
        const int64_t length = lengths ? read_index(lengths, i) : out->steps;
        if (length < 1 || length > out->steps)
            return cli_error(command, EXIT_FAILED,
                             "length: trajectory %lld has %lld steps; there are %lld", (long long)i,
                             (long long)length, (long long)out->steps);
        out->memory[i] = i * out->steps;
        out->memory[out->trajectories + i] = length;
    }
    out->flat = true;
    return EXIT_DONE;
}

// Cuts each piece into pieces of `cut` steps; what is left of it is not used.
static int cut_pieces(cli_rows *out, const cli_command *command, int64_t cut)
{
    cli_rows whole = *out;
    const int64_t wholes = plumb_array_count(&whole.lengths);
    const int64_t *offset = whole.memory, *length = whole.memory + wholes;
    int64_t count = 0, longest = 0;
    for (int64_t i = 0; i < wholes; i++) {
        count += length[i] / cut;
        if (length[i] > longest) longest = length[i];
    }
    if (!count)
        return cli_error(command, EXIT_USAGE, "--cut %lld: the longest trajectory has %lld steps",
                         (long long)cut, (long long)longest);
    if (!allocate_pieces(out, command, count)) {
        out->memory = whole.memory;
        return EXIT_FAILED;
    }
    for (int64_t i = 0, at = 0; i < wholes; i++)
        for (int64_t k = 0; k < length[i] / cut; k++, at++) {
            out->memory[at] = offset[i] + k * cut;
            out->memory[count + at] = cut;
        }
    cli_rows_free(&whole);
    return EXIT_DONE;
}

void cli_rows_shape(plumb_array *array, const cli_rows *rows)
{
    // (trajectories, steps, k, 1)
    while (array->ndim > 3 && array->ndim < 5 && array->shape[array->ndim - 1] == 1) array->ndim--;
    if (!rows->flat || array->ndim < 2 || array->shape[0] != rows->trajectories ||
        array->shape[1] != rows->steps || rows->trajectories == rows->rows)
        return;
    array->shape[0] = rows->rows;
    for (int k = 1; k + 1 < array->ndim; k++) array->shape[k] = array->shape[k + 1];
    array->ndim--;
}

bool cli_rows_read_lengths(plumb_array *out, plumb_file *file)
{
    static const char *const names[] = {"length", "lengths"};
    for (int i = 0; i < 2; i++)
        if (plumb_file_has_array(file, names[i]))
            return !plumb_file_read_array(out, file, names[i]);
    return false;
}

// The division that the file says; `flat` stays false for (trajectories, steps, ...).
static int find_pieces(cli_rows *out, plumb_array *latent, const char *name,
                       const cli_command *command, plumb_file *file, bool may_cut)
{
    char shape[200];
    plumb_array_shape_string(shape, sizeof shape, latent);
    const bool episodes = plumb_file_has_array(file, "ep_len");
    const bool numbered = !episodes && plumb_file_has_array(file, "trajectory");
    while (latent->ndim > 2 + (!episodes && !numbered) && latent->shape[latent->ndim - 1] == 1)
        latent->ndim--;
    if (latent->ndim < 1 || latent->ndim > 3)
        return cli_error(command, EXIT_FAILED,
                         "%s has shape %s; wanted (trajectories, steps, d), or (rows, d) with "
                         "ep_len and ep_offset, a column \"trajectory\" or --cut N",
                         name, shape);
    *out = (cli_rows){.rows = latent->shape[0], .trajectories = 1, .steps = latent->shape[0]};
    if (latent->ndim == 1) {
        latent->shape[1] = 1;
        latent->ndim = 2;
    }
    if (episodes || numbered) {
        if (latent->ndim != 2)
            return cli_error(command, EXIT_FAILED, "%s has shape %s; with %s it must be (rows, d)",
                             name, shape, episodes ? "ep_len" : "a column \"trajectory\"");
        return episodes ? read_episodes(out, command, file) : read_numbers(out, command, file);
    }
    if (latent->ndim == 2 && !may_cut)
        return cli_error(
            command, EXIT_FAILED,
            "%s has shape %s; wanted (trajectories, steps, d). If it is one "
            "trajectory (steps, d), --cut 60 cuts it into pieces of 60 steps; if it is "
            "rows of many, ep_len and ep_offset or a column \"trajectory\" must say "
            "which. Of one number per step, (trajectories, steps, 1)",
            name, shape);
    if (latent->ndim == 3) {
        out->trajectories = latent->shape[0];
        out->steps = latent->shape[1];
        out->rows = out->trajectories * out->steps;
    }
    return EXIT_DONE;
}

int cli_rows_find(cli_rows *out, plumb_array *latent, const char *name, const cli_command *command,
                  plumb_file *file, int64_t cut)
{
    plumb_array lengths;
    if (cut < 0)
        return cli_error(command, EXIT_USAGE, "--cut takes a number of steps from 1 on, not %lld",
                         (long long)cut);
    int code = find_pieces(out, latent, name, command, file, cut > 0);
    if (code != EXIT_DONE || !cut) return code;
    if (!out->flat) {
        const bool given = latent->ndim == 3 && cli_rows_read_lengths(&lengths, file);
        code = cli_rows_take_lengths(out, command, given ? &lengths : NULL);
    }
    if (code == EXIT_DONE) code = cut_pieces(out, command, cut);
    if (code == EXIT_DONE) cli_rows_shape(latent, out);
    return code;
}

bool cli_crop_steps(plumb_array *array, const cli_command *command, int64_t steps, cli_align align)
{
    const int64_t have = array->shape[1];
    size_t size = plumb_dtype_size(array->dtype);
    for (int k = 2; k < array->ndim; k++) size *= (size_t)array->shape[k];
    const size_t piece = size * (size_t)steps;
    char *copy = malloc(piece * (size_t)array->shape[0] + 1);
    if (!copy) {
        cli_error(command, EXIT_FAILED, "out of memory");
        return false;
    }
    const int64_t first = align == CLI_ALIGN_END ? have - steps : 0;
    for (int64_t i = 0; i < array->shape[0]; i++)
        memcpy(copy + (size_t)i * piece, (char *)array->data + (size_t)(i * have + first) * size,
               piece);
    array->data = copy;
    array->shape[1] = steps;
    return true;
}
