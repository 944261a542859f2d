// SPDX-License-Identifier: MIT
// Targets that a world supplies, computed from its true states and constants.
#include "cli/cmd_probe_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Constants of all trajectories (trajectories, total), or NULL if the file has none. False, with a
// message, on failure.
static bool read_constants(double **out, const plumb_world_info *info, int64_t trajectories,
                           plumb_file *file)
{
    *out = calloc((size_t)(trajectories * info->parameter_total) + 1, sizeof(double));
    if (!*out) {
        cli_error(&cmd_probe, EXIT_FAILED, "out of memory");
        return false;
    }
    plumb_array array;
    const int64_t total = info->parameter_total;
    if (plumb_file_has_array(file, "parameters")) {
        if (plumb_file_read_array(&array, file, "parameters")) {
            cli_last_error(&cmd_probe);
            return false;
        }
        if (plumb_array_count(&array) != trajectories * total) {
            char shape[200];
            cli_error(&cmd_probe, EXIT_FAILED, "parameters has shape %s, %s needs (%lld, %lld)",
                      plumb_array_shape_string(shape, sizeof shape, &array), info->name,
                      (long long)trajectories, (long long)total);
            return false;
        }
        plumb_array_to_double(*out, &array, 0, trajectories * total);
        return true;
    }
    // A dataset has them one by one, and all of them.
    for (int64_t k = 0, at = 0; k < info->parameter_count; at += info->parameters[k++].count) {
        const plumb_world_parameter *parameter = &info->parameters[k];
        if (!plumb_file_has_array(file, parameter->name)) {
            free(*out);
            *out = NULL;
            return true;
        }
        if (plumb_file_read_array(&array, file, parameter->name)) {
            cli_last_error(&cmd_probe);
            return false;
        }
        if (plumb_array_count(&array) != trajectories * parameter->count) {
            cli_error(&cmd_probe, EXIT_FAILED, "%s has %lld values, %s needs %lld", parameter->name,
                      (long long)plumb_array_count(&array), info->name,
                      (long long)(trajectories * parameter->count));
            return false;
        }
        for (int64_t i = 0; i < trajectories; i++)
            plumb_array_to_double(*out + i * total + at, &array, i * parameter->count,
                                  parameter->count);
    }
    return true;
}

// Adds an array of doubles, zeroed. NULL, with a message, if out of memory.
static double *add_array(probe_world *to, const char *name, int ndim, const int64_t *shape)
{
    plumb_array array = plumb_array_view(NULL, PLUMB_FLOAT64, ndim, shape);
    array.data = calloc((size_t)plumb_array_count(&array) + 1, sizeof(double));
    if (!array.data) {
        cli_error(&cmd_probe, EXIT_FAILED, "out of memory");
        return NULL;
    }
    to->name[to->count] = name;
    to->array[to->count++] = array;
    return array.data;
}

// Constants that differ between trajectories, without the colours, which are integers.
static bool add_constants(probe_world *to, const double *constants, int64_t trajectories)
{
    const plumb_world_info *info = to->info;
    const int64_t total = info->parameter_total;
    for (int64_t k = 0, at = 0; k < info->parameter_count; at += info->parameters[k++].count) {
        const plumb_world_parameter *parameter = &info->parameters[k];
        bool differ = false;
        for (int64_t i = 1; i < trajectories && !differ; i++)
            differ = memcmp(constants + at, constants + i * total + at,
                            (size_t)parameter->count * sizeof *constants);
        if (!differ || parameter->integer || to->count == PROBE_WORLD_MAX) continue;
        double *out =
            add_array(to, parameter->name, 2, (int64_t[]){trajectories, parameter->count});
        if (!out) return false;
        for (int64_t i = 0; i < trajectories; i++)
            memcpy(out + i * parameter->count, constants + i * total + at,
                   (size_t)parameter->count * sizeof *out);
    }
    return true;
}

// One quantity of all states. Steps after the end of a trajectory stay NaN.
static int add_quantity(probe_world *to, const plumb_world *world, int64_t index,
                        const plumb_array *truth, const double *constants)
{
    plumb_world_quantity quantity;
    plumb_world_quantity_at(&quantity, world, index);
    const int64_t steps = truth->shape[1], size = truth->shape[2], columns = quantity.columns;
    const int64_t shape[] = {truth->shape[0], steps, columns};
    to->columns[to->count] = quantity.column_names;
    double *out = add_array(to, quantity.name, 3, shape);
    if (!out) return EXIT_FAILED;
    double state[256];
    for (int64_t row = 0; row < truth->shape[0] * steps; row++) {
        bool known = true;
        plumb_array_to_double(state, truth, row * size, size);
        for (int64_t i = 0; i < size; i++) known = known && !isnan(state[i]);
        for (int64_t c = 0; c < columns; c++) out[row * columns + c] = (double)NAN;
        const double *known_constants =
            constants ? constants + row / steps * to->info->parameter_total : NULL;
        if (known && plumb_world_quantity_compute(out + row * columns, world, index, state, 1,
                                                  known_constants))
            return cli_error(&cmd_probe, EXIT_FAILED, "trajectory %lld, step %lld: %s",
                             (long long)(row / steps), (long long)(row % steps),
                             plumb_last_error());
    }
    return EXIT_DONE;
}

int probe_world_read(probe_world *out, const char *name, const plumb_array *truth, plumb_file *file)
{
    const plumb_world *world;
    if (plumb_world_find(&world, name))
        return cli_error(&cmd_probe, EXIT_USAGE, "--world: %s", plumb_last_error());
    out->info = plumb_world_get_info(world);
    char shape[200];
    if (!plumb_world_quantity_count(world))
        return cli_error(&cmd_probe, EXIT_USAGE, "--world: %s has no states", name);
    if (truth->ndim != 3 || truth->shape[2] != 2 * out->info->n)
        return cli_error(&cmd_probe, EXIT_FAILED,
                         "the true states have shape %s; states of %s are (trajectories, steps, "
                         "%lld)",
                         plumb_array_shape_string(shape, sizeof shape, truth), name,
                         (long long)(2 * out->info->n));
    double *constants;
    if (!read_constants(&constants, out->info, truth->shape[0], file)) {
        free(constants);
        return EXIT_FAILED;
    }
    int code = EXIT_DONE;
    for (int64_t k = 0; code == EXIT_DONE && k < plumb_world_quantity_count(world); k++)
        code = add_quantity(out, world, k, truth, constants);
    if (code == EXIT_DONE && constants && !add_constants(out, constants, truth->shape[0]))
        code = EXIT_FAILED;
    free(constants);
    return code;
}

void probe_world_free(probe_world *targets)
{
    for (int i = 0; i < targets->count; i++) free(targets->array[i].data);
}
