// SPDX-License-Identifier: MIT
// Closed loops of states of a world.
#include "worlds/loop.h"

#include <math.h>

#include "base/status.h"

enum { ITEMS = 3, HALVINGS = 12 };

// The size of a loop over the distance between two items, to begin with.
static const double first_size = 0.4;
// The energy along a loop may be outside of that of its items by this many times its range.
static const double energy_margin = 1.0;

void world_loop_state(double *state, const world_loop *loop, const plumb_world *world, int64_t at,
                      int64_t states)
{
    const double angle = 6.283185307179586 * (double)at / (double)states;
    for (int64_t i = 0; i < 2 * world->info.n; i++)
        state[i] = loop->centre[i] + cos(angle) * loop->first[i] + sin(angle) * loop->second[i];
}

// Is every state of the loop one of the world, with an energy between low and high?
static bool is_possible(const world_loop *loop, double *state, const plumb_world *world,
                        int64_t states, double low, double high)
{
    const int64_t d = 2 * world->info.n;
    for (int64_t at = 0; at < states; at++) {
        double energy = (double)NAN;
        world_loop_state(state, loop, world, at, states);
        for (int64_t i = 0; i < d && world->interior; i++)
            if (!(state[i] > 0.0)) return false;
        const plumb_world_item item = {.energy = &energy};
        if (plumb_world_simulate_from(&item, world, state, loop->parameters, 1, NULL)) return false;
        if (!(energy >= low && energy <= high)) return false;
    }
    return true;
}

plumb_status world_loop_make(world_loop *out, arena *mem, const plumb_world *world, uint64_t seed,
                             int64_t index, int64_t states)
{
    const int64_t d = 2 * world->info.n;
    double *state[ITEMS], energy[ITEMS], low = (double)INFINITY, high = -(double)INFINITY;
    double *scratch = ARENA_ALLOC(mem, double, d);
    double *parameters = ARENA_ALLOC(mem, double, (world->info.parameter_total + 1));
    *out = (world_loop){.parameters = ARENA_ALLOC(mem, double, (world->info.parameter_total + 1))};
    if (!scratch || !parameters || !out->parameters) return PLUMB_EMEMORY;
    for (int i = 0; i < ITEMS; i++) {
        state[i] = ARENA_ALLOC(mem, double, d);
        if (!state[i]) return PLUMB_EMEMORY;
        const plumb_world_item item = {.state = state[i],
                                       .parameters = i ? parameters : out->parameters,
                                       .energy = &energy[i]};
        const plumb_status st =
            plumb_world_simulate(&item, world, seed, index * ITEMS + i, 1, NULL);
        if (st) return st;
        low = fmin(low, energy[i]), high = fmax(high, energy[i]);
    }
    const double margin = energy_margin * fmax(high - low, 0.1 * fmax(fabs(high), fabs(low)));
    for (int64_t i = 0; i < d; i++) {
        state[1][i] = first_size * (state[1][i] - state[0][i]);
        state[2][i] = first_size * (state[2][i] - state[0][i]);
    }
    out->centre = state[0], out->first = state[1], out->second = state[2];
    for (int halving = 0; halving < HALVINGS; halving++) {
        if (is_possible(out, scratch, world, states, low - margin, high + margin)) return PLUMB_OK;
        for (int64_t i = 0; i < d; i++) out->first[i] *= 0.5, out->second[i] *= 0.5;
    }
    return fail(PLUMB_EVALUE, "%s: no loop of states was found", world->info.name);
}
