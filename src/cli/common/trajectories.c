// SPDX-License-Identifier: MIT
// Brings arrays with a value per step to (trajectories, steps, ...), whatever layout they have.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

void cli_trajectories_add(cli_trajectories *all, const char *name, plumb_array *array, int axes)
{
    if (all->count == CLI_MAX_TRAJECTORY_ARRAYS) return;
    all->name[all->count] = name;
    all->axes[all->count] = axes;
    all->array[all->count++] = array;
}

// Is the last step NaN in all trajectories of an action (trajectories, steps, a)?
static bool ends_in_nan(const plumb_array *action)
{
    const int64_t steps = action->shape[1], wide = action->shape[2];
    double value;
    for (int64_t i = 0; i < action->shape[0]; i++)
        for (int64_t k = 0; k < wide; k++) {
            plumb_array_to_double(&value, action, ((i + 1) * steps - 1) * wide + k, 1);
            if (!isnan(value)) return false;
        }
    return action->shape[0] * wide > 0;
}

// Copies `kept` steps of an action (trajectories, at least `kept` steps, a) and adds one of zeros.
static int end_in_zeros(plumb_array *action, void **copy, const cli_command *command, int64_t kept)
{
    const int64_t count = action->shape[0], steps = action->shape[1];
    const size_t row = plumb_dtype_size(action->dtype) * (size_t)action->shape[2];
    char *to = calloc((size_t)(count * (kept + 1)) + 1, row ? row : 1);
    if (!to) return cli_error(command, EXIT_FAILED, "out of memory");
    for (int64_t i = 0; i < count; i++)
        memcpy(to + (size_t)(i * (kept + 1)) * row,
               (const char *)action->data + (size_t)(i * steps) * row, (size_t)kept * row);
    action->data = *copy = to;
    action->shape[1] = kept + 1;
    return EXIT_DONE;
}

int cli_action_shape(plumb_array *action, void **copy, const cli_command *command,
                     int64_t trajectories, int64_t steps)
{
    const int64_t rows = trajectories * steps, first = action->ndim ? action->shape[0] : -1;
    const bool each = action->ndim >= 2 && first == trajectories &&
                      (action->shape[1] == steps || action->shape[1] == steps - 1);
    *copy = NULL;
    if ((action->ndim == 1 && first == rows) || (action->ndim == 2 && first != rows && each))
        action->shape[action->ndim++] = 1;
    const bool flat = action->ndim == 2 && first == rows;
    // Another number of steps is for --align.
    if (!flat && (action->ndim != 3 || first != trajectories)) {
        char shape[200];
        return cli_error(command, EXIT_FAILED,
                         "action has shape %s; beside %lld trajectories of %lld steps it must be "
                         "(trajectories, steps, a), or (rows, a) beside rows",
                         plumb_array_shape_string(shape, sizeof shape, action),
                         (long long)trajectories, (long long)steps);
    }
    if (flat || !each) return EXIT_DONE;
    // The action of the last step leads nowhere.
    if (action->shape[1] < steps) return end_in_zeros(action, copy, command, steps - 1);
    return ends_in_nan(action) ? end_in_zeros(action, copy, command, steps - 1) : EXIT_DONE;
}

int cli_trajectories_add_action(cli_trajectories *all, bool *found, plumb_array *action,
                                const cli_command *command, plumb_file *file)
{
    const plumb_array *latent = all->array[0];
    const bool each = latent->ndim == 3;
    *found = file && plumb_file_has_array(file, "action");
    if (!*found) return EXIT_DONE;
    if (plumb_file_read_array(action, file, "action")) return cli_last_error(command);
    void *copy;
    const int code = cli_action_shape(action, &copy, command, each ? latent->shape[0] : 1,
                                      each ? latent->shape[1] : latent->shape[0]);
    if (copy) all->memory[all->copies++] = copy;
    cli_trajectories_add(all, "action", action, 3);
    return code;
}

void cli_trajectories_free(cli_trajectories *all)
{
    for (int i = 0; i < all->copies; i++) free(all->memory[i]);
    all->copies = 0;
}

// Copies the first `steps` rows of each piece of an array (rows, ...).
static int stack_pieces(cli_trajectories *all, plumb_array *array, const cli_command *command,
                        const cli_rows *rows, int64_t steps)
{
    const int64_t count = plumb_array_count(&rows->lengths);
    const int64_t *offset = rows->offsets.data;
    size_t row = plumb_dtype_size(array->dtype);
    for (int k = 1; k < array->ndim; k++) row *= (size_t)array->shape[k];
    char *copy = malloc((size_t)(count * steps) * row + 1);
    if (!copy) return cli_error(command, EXIT_FAILED, "out of memory");
    for (int64_t i = 0; i < count; i++)
        memcpy(copy + (size_t)(i * steps) * row,
               (const char *)array->data + (size_t)offset[i] * row, (size_t)steps * row);
    all->memory[all->copies++] = array->data = copy;
    for (int k = array->ndim; k > 1; k--) array->shape[k] = array->shape[k - 1];
    array->shape[0] = count;
    array->shape[1] = steps;
    array->ndim++;
    return EXIT_DONE;
}

// Repeats what a trajectory has once for each piece that was cut from it.
static int repeat_rows(cli_trajectories *all, plumb_array *array, const cli_command *command,
                       const cli_rows *rows)
{
    const int64_t count = plumb_array_count(&rows->lengths);
    const int64_t *offset = rows->offsets.data;
    size_t row = plumb_dtype_size(array->dtype);
    for (int k = 1; k < array->ndim; k++) row *= (size_t)array->shape[k];
    char *copy = malloc((size_t)count * row + 1);
    if (!copy) return cli_error(command, EXIT_FAILED, "out of memory");
    for (int64_t i = 0; i < count; i++)
        memcpy(copy + (size_t)i * row,
               (const char *)array->data + (size_t)(offset[i] / rows->steps) * row, row);
    all->memory[all->copies++] = array->data = copy;
    array->shape[0] = count;
    return EXIT_DONE;
}

// The steps that all pieces have.
static int find_steps(int64_t *out, const cli_command *command, const cli_rows *rows)
{
    const int64_t count = plumb_array_count(&rows->lengths);
    const int64_t *length = rows->lengths.data;
    int64_t least = length[0], most = length[0];
    for (int64_t i = 1; i < count; i++) {
        if (length[i] < least) least = length[i];
        if (length[i] > most) most = length[i];
    }
    *out = least;
    if (2 * least < most)
        return cli_error(command, EXIT_FAILED,
                         "trajectories have %lld to %lld steps, and all must have as many: --cut N "
                         "takes pieces of N steps of each, and leaves out those that are shorter",
                         (long long)least, (long long)most);
    if (least < most)
        cli_error(command, EXIT_DONE,
                  "trajectories have %lld to %lld steps: the first %lld of each count",
                  (long long)least, (long long)most, (long long)least);
    return EXIT_DONE;
}

// Drops last axes of 1 beyond `axes`.
static void drop_last_axes(plumb_array *array, int axes)
{
    while (array->ndim > axes && array->ndim > 1 && array->shape[array->ndim - 1] == 1)
        array->ndim--;
}

static int stack_all(cli_trajectories *all, const cli_command *command, cli_rows *rows)
{
    int64_t steps;
    int code = find_steps(&steps, command, rows);
    const int64_t pieces = plumb_array_count(&rows->lengths);
    for (int i = 0; code == EXIT_DONE && i < all->count; i++) {
        plumb_array *array = all->array[i];
        if (array->ndim >= all->axes[i]) cli_rows_shape(array, rows);
        if (!array->ndim) continue;
        if (array->shape[0] == rows->rows) drop_last_axes(array, all->axes[i] - 1);
        if (array->shape[0] == rows->rows && array->ndim < all->axes[i])
            code = stack_pieces(all, array, command, rows, steps);
        else if (array->shape[0] == rows->trajectories && pieces != rows->trajectories)
            code = repeat_rows(all, array, command, rows);
        else if (array->shape[0] != pieces)
            code = cli_error(command, EXIT_FAILED, "%s has %lld rows, %s %lld", all->name[i],
                             (long long)array->shape[0], all->name[0], (long long)rows->rows);
    }
    return code;
}

// Crops arrays to the steps that all have.
static int align_all(cli_trajectories *all, const cli_command *command, cli_align align)
{
    const int64_t have = all->array[0]->shape[1];
    int64_t least = have;
    for (int i = 1; i < all->count; i++) {
        const plumb_array *array = all->array[i];
        if (array->ndim != all->axes[i] || array->shape[0] != all->array[0]->shape[0] ||
            array->shape[1] == have)
            continue;
        if (!align)
            return cli_error(command, EXIT_FAILED,
                             "%s has %lld steps and %s %lld: --align start takes the first steps "
                             "of the longer one, --align end the last",
                             all->name[0], (long long)have, all->name[i],
                             (long long)array->shape[1]);
        if (array->shape[1] < least) least = array->shape[1];
    }
    for (int i = 0; i < all->count; i++) {
        plumb_array *array = all->array[i];
        if (array->ndim != all->axes[i] || array->shape[1] <= least) continue;
        if (!cli_crop_steps(array, command, least, align)) return EXIT_FAILED;
        all->memory[all->copies++] = array->data;
    }
    return EXIT_DONE;
}

int cli_trajectories_shape(cli_trajectories *all, const cli_command *command, plumb_file *file,
                           int64_t cut, cli_align align)
{
    cli_rows rows = {0};
    plumb_array lengths;
    int code = cli_rows_find(&rows, all->array[0], all->name[0], command, file, cut);
    if (code == EXIT_DONE && !rows.flat && cli_rows_read_lengths(&lengths, file))
        code = cli_rows_take_lengths(&rows, command, &lengths);
    if (code == EXIT_DONE && rows.flat) {
        cli_rows_shape(all->array[0], &rows);
        code = stack_all(all, command, &rows);
    } else if (code == EXIT_DONE) {
        for (int i = 0; i < all->count; i++) drop_last_axes(all->array[i], all->axes[i]);
    }
    cli_rows_free(&rows);
    return code == EXIT_DONE ? align_all(all, command, align) : code;
}
