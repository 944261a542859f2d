// SPDX-License-Identifier: MIT
// Zero-sum games of two learning players. The learning dynamics is Hamiltonian [Hofbauer96].
#include "worlds/games/game.h"

#include <math.h>
#include <string.h>

// Uniform point of the simplex: the k gaps between k - 1 sorted uniform numbers.
static void sample_simplex(double *out, rng *random, int64_t k)
{
    double cuts[GAME_MAX_STRATEGIES + 1] = {0.0};
    for (int64_t i = 1; i < k; i++) {
        const double u = rng_uniform(random);
        int64_t j = i;
        for (; j > 1 && cuts[j - 1] > u; j--) cuts[j] = cuts[j - 1];
        cuts[j] = u;
    }
    cuts[k] = 1.0;
    for (int64_t i = 0; i < k; i++) out[i] = cuts[i + 1] - cuts[i];
}

plumb_status game_sample_start(double *x, double *parameters, const plumb_world *world,
                               const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)parameters, (void)plan;
    const int64_t k = world->info.n;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    double smallest;
    do { // a probability of exactly zero, once in 2^53, would never change
        sample_simplex(x, &state_rng, k);
        sample_simplex(x + k, &state_rng, k);
        smallest = 1.0;
        for (int64_t i = 0; i < 2 * k; i++) smallest = fmin(smallest, x[i]);
    } while (!(smallest > 0.0));
    return PLUMB_OK;
}

void game_compute_derivative(double *out, const plumb_world *world, const double *x,
                             const double *parameters)
{
    (void)parameters;
    const double *payoff = world->model, *y = x + world->info.n;
    const int64_t k = world->info.n;
    double first_payoff[GAME_MAX_STRATEGIES], second_payoff[GAME_MAX_STRATEGIES], value = 0.0;
    // (A y)_i, (A^T x)_i and the value x.A y of the game.
    for (int64_t i = 0; i < k; i++) {
        first_payoff[i] = second_payoff[i] = 0.0;
        for (int64_t j = 0; j < k; j++) {
            first_payoff[i] += payoff[i * k + j] * y[j];
            second_payoff[i] += payoff[j * k + i] * x[j];
        }
        value += x[i] * first_payoff[i];
    }
    for (int64_t i = 0; i < k; i++) {
        out[i] = x[i] * (first_payoff[i] - value);
        out[k + i] = y[i] * (value - second_payoff[i]);
    }
}

// H = -(sum ln x + sum ln y) / k.
double game_compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)parameters;
    double sum = 0.0;
    for (int64_t i = 0; i < 2 * world->info.n; i++) sum += log(x[i]);
    return -sum / (double)world->info.n;
}

void game_prepare_style(void *storage, const plumb_world *world, const double *parameters,
                        const world_plan *plan)
{
    (void)parameters;
    const int64_t k = world->info.n;
    *(game_style *)storage = (game_style){plan->image, k, (plan->image + k - 1) / k};
}

void game_render_frame(uint8_t *frame, const void *storage, const double *x)
{
    const game_style *style = storage;
    const size_t line = (size_t)(3 * style->size);
    for (int64_t row = 0; row < style->size; row++) {
        uint8_t *out = frame + row * (int64_t)line;
        if (row % style->block) { // copy of the row above
            memcpy(out, out - line, line);
            continue;
        }
        for (int64_t j = 0; j * style->block < style->size; j++) {
            const double v = 255.0 * (x[row / style->block] * x[style->k + j]);
            const int64_t end =
                (j + 1) * style->block < style->size ? (j + 1) * style->block : style->size;
            const uint8_t grey = v >= 255.0 ? 255 : v > 0.0 ? (uint8_t)v : 0;
            memset(out + 3 * j * style->block, grey, (size_t)(3 * (end - j * style->block)));
        }
    }
}
