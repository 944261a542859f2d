// SPDX-License-Identifier: MIT
// How the cover of an object falls off from its centre: a sum of cubic splines, by least squares on
// pictures.
#include <math.h>
#include <string.h>

#include "math/cholesky.h"
#include "models/bodies/learn_job.h"

void perception_start_profiles(float *weights, perception *seen)
{
    sprite_scene *scene = &seen->scene;
    const int64_t side = scene->height < scene->width ? scene->height : scene->width;
    double reach = 0.0;
    for (int k = 0; k < scene->count; k++)
        reach = fmax(reach, 1.3 * scene->sprites[k].radius + 8.0 / scene->edge);
    reach = fmin(reach, 0.5 * (double)side);
    scene->profile = weights;
    scene->profile_step = (double)(float)(reach / (PROFILE_NODES - 3));
    for (int k = 0; k < scene->count; k++) {
        float *row = weights + k * PROFILE_NODES;
        memset(row, 0, PROFILE_NODES * sizeof *row);
        for (int j = 1; j < PROFILE_NODES - 3; j++) {
            const double depth = scene->sprites[k].radius - (j - 1) * scene->profile_step;
            row[j] = (float)(1.0 / (1.0 + exp(-scene->edge * depth)));
        }
        row[0] = row[2];
    }
}

// The radius of the disc that covers as much.
static double find_radius(const float *weights, double step)
{
    double sum = 0.0, slope;
    for (int i = 0; i < 10 * PROFILE_NODES; i++) {
        const double d = 0.1 * (i + 0.5);
        sum += 0.2 * d * sprites_profile_cover(&slope, weights, 1.0, d);
    }
    return step * sqrt(fmax(sum, 0.0));
}

// The largest cover becomes 1: how much of a contrast is colour and how much is cover cannot be
// seen.
static void normalise_cover(float *weights, sprite *look, const perception *seen)
{
    double most = 0.0, slope;
    for (int i = 0; i < 4 * PROFILE_NODES; i++)
        most = fmax(most, sprites_profile_cover(&slope, weights, 1.0, 0.25 * i));
    if (!(most > 0.1)) return;
    for (int i = 0; i < PROFILE_NODES; i++) weights[i] = (float)((double)weights[i] / most);
    for (int64_t i = 0; i < seen->scene.channels; i++)
        look->colour[i] = seen->mean[i] + most * (look->colour[i] - seen->mean[i]);
}

// Weights by least squares, with a little smoothness. The three at the end stay 0.
static void solve_profile(float *weights, const profile_sums *sums)
{
    enum { FREE = PROFILE_NODES - 4 };
    static const double second[3] = {1.0, -2.0, 1.0};
    double a[FREE * FREE], b[FREE], trace = 0.0;
    for (int i = 0; i < FREE; i++) trace += sums->normal[i + 1][i + 1] / FREE;
    for (int i = 0; i < FREE; i++) {
        b[i] = sums->right[i + 1];
        for (int j = 0; j < FREE; j++) a[i * FREE + j] = sums->normal[i + 1][j + 1];
        a[i * FREE + i] += 1e-6 * trace;
    }
    for (int n = 0; n + 2 < FREE; n++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                a[(n + i) * FREE + n + j] += 1e-4 * trace * second[i] * second[j];
    if (!cholesky_small_factor(a, FREE, 0.0)) return;
    cholesky_small_solve(b, a, FREE, 1);
    for (int i = 0; i < FREE; i++) weights[i + 1] = (float)b[i];
    weights[0] = weights[2];
}

static void add_profile_sums(profile_sums *to, const profile_sums *from)
{
    for (int i = 0; i < PROFILE_NODES; i++) {
        to->right[i] += from->right[i];
        for (int j = 0; j < PROFILE_NODES; j++) to->normal[i][j] += from->normal[i][j];
    }
}

void perception_step_profiles(float *weights, perception *seen, profile_sums *sums)
{
    sprite_scene *scene = &seen->scene;
    for (int k = 0; k < scene->count; k++) {
        float *row = weights + k * PROFILE_NODES;
        // Objects of one colour look the same.
        if (k && seen->colour_of[k] == seen->colour_of[k - 1]) {
            memcpy(row, row - PROFILE_NODES, PROFILE_NODES * sizeof *row);
            scene->sprites[k] = scene->sprites[k - 1];
            continue;
        }
        for (int i = k + 1; i < scene->count && seen->colour_of[i] == seen->colour_of[k]; i++)
            add_profile_sums(&sums[k], &sums[i]);
        solve_profile(row, &sums[k]);
        normalise_cover(row, &scene->sprites[k], seen);
        scene->sprites[k].radius = find_radius(row, scene->profile_step);
    }
}
