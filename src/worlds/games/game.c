// SPDX-License-Identifier: MIT
// Learning in zero-sum games is Hamiltonian [Hofbauer96].
#include "worlds/games/game.h"

#include <math.h>
#include <string.h>

// Sort k - 1 uniforms and take the k gaps.
static void simplex(double *out, rng *r, int64_t k)
{
    double cut[GAME_MAX + 1] = {0.0};
    for (int64_t i = 1; i < k; i++) {
        const double u = rng_uniform(r);
        int64_t j = i;
        for (; j > 1 && cut[j - 1] > u; j--) cut[j] = cut[j - 1];
        cut[j] = u;
    }
    cut[k] = 1.0;
    for (int64_t i = 0; i < k; i++) out[i] = cut[i + 1] - cut[i];
}

plumb_status game_begin(double *x, double *parameters, const plumb_world *world,
                        const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)parameters, (void)plan;
    const int64_t k = world->info.n;
    rng state = world_rng(world, seed, item, WORLD_STREAM_STATE);
    double least;
    do { // a gap of exactly zero, once in 2^53, would be there for ever
        simplex(x, &state, k);
        simplex(x + k, &state, k);
        least = 1.0;
        for (int64_t i = 0; i < 2 * k; i++) least = fmin(least, x[i]);
    } while (!(least > 0.0));
    return PLUMB_OK;
}

void game_derivative(double *out, const plumb_world *world, const double *x,
                     const double *parameters)
{
    (void)parameters;
    const double *payoff = world->model, *y = x + world->info.n;
    const int64_t k = world->info.n;
    double mine[GAME_MAX], theirs[GAME_MAX], value = 0.0;
    for (int64_t i = 0; i < k; i++) {
        mine[i] = theirs[i] = 0.0;
        for (int64_t j = 0; j < k; j++) {
            mine[i] += payoff[i * k + j] * y[j];
            theirs[i] += payoff[j * k + i] * x[j];
        }
        value += x[i] * mine[i];
    }
    for (int64_t i = 0; i < k; i++) {
        out[i] = x[i] * (mine[i] - value);
        out[k + i] = y[i] * (value - theirs[i]);
    }
}

double game_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)parameters;
    double sum = 0.0;
    for (int64_t i = 0; i < 2 * world->info.n; i++) sum += log(x[i]);
    return -sum / (double)world->info.n;
}

void game_style(void *to, const plumb_world *world, const double *parameters,
                const world_plan *plan)
{
    (void)parameters;
    const int64_t k = world->info.n;
    *(game_picture *)to = (game_picture){plan->image, k, (plan->image + k - 1) / k};
}

void game_draw(uint8_t *frame, const void *from, const double *x)
{
    const game_picture *p = from;
    const size_t line = (size_t)(3 * p->size);
    for (int64_t r = 0; r < p->size; r++) {
        uint8_t *out = frame + r * (int64_t)line;
        if (r % p->block) { // as the row above
            memcpy(out, out - line, line);
            continue;
        }
        for (int64_t j = 0; j * p->block < p->size; j++) {
            const double v = 255.0 * (x[r / p->block] * x[p->k + j]);
            const int64_t end = (j + 1) * p->block < p->size ? (j + 1) * p->block : p->size;
            const uint8_t grey = v >= 255.0 ? 255 : v > 0.0 ? (uint8_t)v : 0;
            memset(out + 3 * j * p->block, grey, (size_t)(3 * (end - j * p->block)));
        }
    }
}
