// SPDX-License-Identifier: MIT
// Keeps the map F that the polynomial regression found, and applies it: plumb_symetric_predict().
#include "measures/symetric/state_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/array.h"

// A copy of `count` items, or NULL.
static void *copy_items(arena *mem, const void *items, int64_t count, size_t size)
{
    void *out = arena_alloc(mem, count ? count : 1, size);
    if (out && count) memcpy(out, items, (size_t)count * size);
    return out;
}

// The weights of each target.
static plumb_status copy_weights(lasso_fit *out, arena *mem, const lasso_fit *fit, int64_t targets)
{
    for (int64_t t = 0; t < targets; t++) {
        out[t] = fit[t];
        out[t].features = copy_items(mem, fit[t].features, fit[t].count, sizeof *fit[t].features);
        out[t].weights = copy_items(mem, fit[t].weights, fit[t].count, sizeof *fit[t].weights);
        if (!out[t].features || !out[t].weights) return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

plumb_status state_map_copy(state_map *out, arena *mem, const symetric_batch *batch,
                            const symetric_batch_input *in)
{
    const int64_t dims = batch->dims, targets = in->targets;
    lasso_fit *fit = ARENA_ALLOC(mem, lasso_fit, targets);
    *out = (state_map){
        .latent_dims = in->latent_dims,
        .targets = targets,
        .dims = dims,
        .used = copy_items(mem, batch->used, dims, sizeof *batch->used),
        .latent_mean = copy_items(mem, batch->latent_mean, dims, sizeof(double)),
        .latent_scale = copy_items(mem, batch->latent_scale, dims, sizeof(double)),
        .truth_mean = copy_items(mem, batch->truth_mean, targets, sizeof(double)),
        .truth_scale = copy_items(mem, batch->truth_scale, targets, sizeof(double)),
        .fit = fit,
    };
    if (!fit || !out->used || !out->latent_mean || !out->latent_scale || !out->truth_mean ||
        !out->truth_scale)
        return PLUMB_EMEMORY;
    plumb_status st = poly_init(&out->poly, mem, dims, batch->fit.order);
    if (!st) st = copy_weights(fit, mem, batch->fit.full, targets);
    return st;
}

// F at one point: out (targets) from z (dims), the standardised latents.
static void apply_map(double *out, const state_map *map, const double *z)
{
    for (int64_t t = 0; t < map->targets; t++) {
        const lasso_fit *fit = &map->fit[t];
        double sum = fit->intercept;
        for (int64_t k = 0; k < fit->count; k++) {
            int64_t variables[POLY_MAX_ORDER];
            const int degree = poly_variables(variables, &map->poly, fit->features[k]);
            double product = fit->weights[k];
            for (int i = 0; i < degree; i++) product *= z[variables[i]];
            sum += product;
        }
        out[t] = map->truth_mean[t] + map->truth_scale[t] * sum;
    }
}

plumb_status plumb_symetric_predict(double *out, const plumb_symetric *result, int64_t fit,
                                    const plumb_array *latent)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(latent);
    if (!result->maps)
        return fail(PLUMB_EVALUE, "the result has no polynomials: only method pr keeps its map");
    if (fit < 0 || fit >= result->batch_count)
        return fail(PLUMB_EVALUE, "fit is %lld; there are %lld", (long long)fit,
                    (long long)result->batch_count);
    const state_map *map = (const state_map *)result->maps + fit;
    if (latent->ndim != 3 || latent->shape[2] != map->latent_dims) {
        char shape[256];
        plumb_array_shape_string(shape, sizeof shape, latent);
        return fail(PLUMB_ESHAPE, "latent is %s; expected (trajectories, steps, %lld)", shape,
                    (long long)map->latent_dims);
    }
    const int64_t rows = latent->shape[0] * latent->shape[1];
    double *row = malloc((size_t)(map->latent_dims + map->dims) * sizeof *row);
    if (!row) return fail(PLUMB_EMEMORY, "out of memory for a row of latents");
    double *z = row + map->latent_dims;
    for (int64_t r = 0; r < rows; r++) {
        plumb_array_to_double(row, latent, r * map->latent_dims, map->latent_dims);
        for (int64_t i = 0; i < map->dims; i++)
            z[i] = (row[map->used[i]] - map->latent_mean[i]) / map->latent_scale[i];
        apply_map(out + r * map->targets, map, z);
    }
    free(row);
    return PLUMB_OK;
}
