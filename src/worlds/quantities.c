// SPDX-License-Identifier: MIT
// Physical quantities of given states: velocities and forces from the derivative, the energy, and
// what a world adds.
#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "worlds/world.h"

enum { VELOCITY, FORCE, ENERGY, COMMON };

int64_t plumb_world_quantity_count(const plumb_world *world)
{
    if (!world || world->simulate_item) return 0;
    return world->quantity ? COMMON + 1 : COMMON;
}

bool plumb_world_quantity_at(plumb_world_quantity *out, const plumb_world *world, int64_t index)
{
    if (!out || index < 0 || index >= plumb_world_quantity_count(world)) return false;
    const plumb_world_quantity common[] = {
        {"velocity", world->info.n, NULL}, {"force", world->info.n, NULL}, {"energy", 1, NULL}};
    *out = index < COMMON ? common[index] : *world->quantity;
    return true;
}

plumb_status plumb_world_quantity_compute(double *out, const plumb_world *world, int64_t index,
                                          const double *state, int64_t count,
                                          const double *parameters)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(world);
    REQUIRE_ARGUMENT(state);
    plumb_world_quantity quantity;
    if (!plumb_world_quantity_at(&quantity, world, index))
        return fail(PLUMB_EVALUE, "%s has no quantity %lld", world->info.name, (long long)index);
    const int64_t n = world->info.n;
    double derivative[WORLD_MAX_STATE], energy, used[WORLD_MAX_PARAMETERS];
    // One frame from each state. That also checks states and parameters.
    const plumb_world_item item = {.derivative = derivative, .energy = &energy, .parameters = used};
    for (int64_t i = 0; i < count; i++) {
        const double *x = state + i * 2 * n;
        const plumb_status st = plumb_world_simulate_from(&item, world, x, parameters, 1, NULL);
        if (st) return st;
        // The force of the world itself, without an action.
        if (world->info.actions) world->compute_derivative(derivative, world, x, used);
        double *to = out + i * quantity.columns;
        if (index == ENERGY) *to = energy;
        else if (index < COMMON)
            memcpy(to, derivative + (index == FORCE ? n : 0), (size_t)n * sizeof *to);
        else world->compute_quantity(to, x, used);
    }
    return PLUMB_OK;
}
