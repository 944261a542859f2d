// SPDX-License-Identifier: MIT
// What tests of worlds share: worlds by name, and the way back from minimal canonical coordinates
// to a published state, which plumb itself never goes.
#ifndef TESTS_WORLDS_WORLD_FIXTURES_H
#define TESTS_WORLDS_WORLD_FIXTURES_H

#include <string.h>

#include "plumb/world.h"
#include "support/test.h"

enum { WALK_NUMBERS = 64, WALK_PARAMETERS = 128 };

static inline const plumb_world *walk_world(const char *name)
{
    const plumb_world *world = NULL;
    CHECK_OK(plumb_world_find(&world, name));
    return world;
}

/// Number of worlds with trajectories; they are the first of the table.
static inline int64_t walk_count(void)
{
    int64_t count = 0;
    while (plumb_world_get_info(plumb_world_at(count))->kind == PLUMB_WORLD_TRAJECTORY) count++;
    return count;
}

static inline bool walk_is(const plumb_world *world, const char *prefix)
{
    return !strncmp(plumb_world_get_info(world)->name, prefix, strlen(prefix));
}

/// Does it conserve energy?
static inline bool walk_hamiltonian(const plumb_world *world)
{
    return plumb_world_get_info(world)->reversible;
}

/// State and parameters of an item at its beginning.
static inline void walk_begin(double *state, double *parameters, const plumb_world *world,
                              uint64_t seed, int64_t item)
{
    const plumb_world_item out = {.state = state, .parameters = parameters};
    CHECK_OK(plumb_world_simulate(&out, world, seed, item, 1, NULL));
}

/// The state `frames` frames of dt (negative: backward) on.
static inline void walk_on(double *to, const plumb_world *world, const double *state,
                           const double *parameters, double dt, int64_t frames)
{
    plumb_world_options opt = plumb_world_defaults();
    opt.dt = fabs(dt);
    opt.backward = dt < 0.0;
    opt.first = frames;
    const plumb_world_item out = {.state = to};
    CHECK_OK(plumb_world_simulate_from(&out, world, state, parameters, 1, &opt));
}

static inline void walk_canonical(double *out, const plumb_world *world, const double *state,
                                  const double *parameters)
{
    const plumb_world_item to = {.canonical = out};
    CHECK_OK(plumb_world_simulate_from(&to, world, state, parameters, 1, NULL));
}

static inline double walk_energy(const plumb_world *world, const double *state,
                                 const double *parameters)
{
    double energy = 0.0;
    const plumb_world_item to = {.energy = &energy};
    CHECK_OK(plumb_world_simulate_from(&to, world, state, parameters, 1, NULL));
    return energy;
}

static inline void walk_softmax(double *x, const double *u, int k)
{
    double sum = 0.0;
    for (int i = 0; i < k; i++) sum += x[i] = exp(i < k - 1 ? u[i] : 0.0);
    for (int i = 0; i < k; i++) x[i] /= sum;
}

/// The published state with these minimal canonical coordinates; what they leave open is that of
/// `like`.
static inline void walk_lift(double *state, const plumb_world *world, const double *z,
                             const double *like, const double *par)
{
    const plumb_world_info *facts = plumb_world_get_info(world);
    memcpy(state, like, (size_t)(2 * facts->n) * sizeof *state);
    if (walk_is(world, "two-body")) {
        const double m1 = par[0], m2 = par[1], M = m1 + m2;
        for (int i = 0; i < 2; i++) {
            const double center = (m1 * like[i] + m2 * like[2 + i]) / M;
            state[i] = center + m2 / M * z[i];
            state[2 + i] = center - m1 / M * z[i];
            state[4 + i] = z[2 + i];
            state[6 + i] = -z[2 + i];
        }
    } else if (walk_is(world, "matching-pennies")) {
        const double u = z[0], v = 4.0 * z[1];
        walk_softmax(state, &u, 2);
        walk_softmax(state + 2, &v, 2);
    } else if (walk_is(world, "rock-paper-scissors")) {
        const double u[2] = {z[0], z[1]}, v[2] = {3.0 * z[3], -3.0 * z[2]};
        walk_softmax(state, u, 3);
        walk_softmax(state + 3, v, 3);
    } else if (walk_is(world, "room-circle")) {
        const double w = par[2], r = sqrt(z[1] / w);
        state[0] = r * cos(z[0]);
        state[1] = r * sin(z[0]);
        state[3] = -w * state[1];
        state[4] = w * state[0];
    } else if (walk_is(world, "room-spiral")) {
        const double r = sin(z[0]), dr = cos(z[0]) * z[2], c = cos(z[1]), s = sin(z[1]);
        const double lifted[6] = {
            r * c, r * s, cos(z[0]), dr * c - r * z[3] * s, dr * s + r * z[3] * c, -r * z[2]};
        memcpy(state, lifted, sizeof lifted);
    } else {
        memcpy(state, z, (size_t)(2 * facts->n) * sizeof *state);
    }
}

#endif
