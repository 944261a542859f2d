// SPDX-License-Identifier: MIT
// Quantities of states: those that a simulation gives too, and the elements of orbits.
#include <stdlib.h>

#include "worlds/world_fixtures.h"

enum { STEPS = 20 };

TEST(velocity_force_and_energy_are_those_of_the_simulation)
{
    for (int64_t w = 0; w < walk_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        const int64_t n = plumb_world_get_info(world)->n;
        if (plumb_world_get_info(world)->actions)
            continue; // its force has no action: test_driven.c
        double *state = calloc(STEPS * 2 * n, sizeof *state);
        double *derivative = calloc(STEPS * 2 * n, sizeof *derivative);
        double *out = calloc(STEPS * n, sizeof *out);
        double energy[STEPS], parameters[WALK_PARAMETERS];
        const plumb_world_item item = {
            .state = state, .derivative = derivative, .energy = energy, .parameters = parameters};
        CHECK_OK(plumb_world_simulate(&item, world, 3, 5, STEPS, NULL));
        for (int64_t k = 0; k < 2; k++) {
            plumb_world_quantity quantity;
            CHECK(plumb_world_quantity_at(&quantity, world, k));
            CHECK_TEXT(quantity.name, k ? "force" : "velocity");
            CHECK_EQUAL(quantity.columns, n);
            CHECK_OK(plumb_world_quantity_compute(out, world, k, state, STEPS, parameters));
            for (int64_t i = 0; i < STEPS * n; i++) {
                const double want = derivative[i / n * 2 * n + k * n + i % n];
                CHECK_NEAR(out[i], want, 1e-9 * (1.0 + fabs(want)));
            }
        }
        CHECK_OK(plumb_world_quantity_compute(out, world, 2, state, STEPS, parameters));
        for (int i = 0; i < STEPS; i++)
            CHECK_NEAR(out[i], energy[i], 1e-9 * (1.0 + fabs(energy[i])));
        free(state);
        free(derivative);
        free(out);
    }
}

TEST(elements_of_an_orbit_do_not_change)
{
    const plumb_world *world;
    CHECK_OK(plumb_world_find(&world, "two-body+c"));
    CHECK_EQUAL(plumb_world_quantity_count(world), 4);
    for (int item_number = 0; item_number < 20; item_number++) {
        double state[STEPS * 8], parameters[WALK_PARAMETERS], orbit[STEPS * 5];
        const plumb_world_item item = {.state = state, .parameters = parameters};
        CHECK_OK(plumb_world_simulate(&item, world, 1, item_number, STEPS, NULL));
        CHECK_OK(plumb_world_quantity_compute(orbit, world, 3, state, STEPS, parameters));
        for (int i = 5; i < STEPS * 5; i++) CHECK_NEAR(orbit[i], orbit[i % 5], 1e-9);
    }
}

TEST(elements_of_a_known_ellipse)
{
    // Masses 1 and 1, g 1: mu = 2. At the nearest point, at distance 1 on the x axis, with e = 0.5:
    // v = sqrt(mu (1 + e) / r), h = r v, a = r / (1 - e).
    const plumb_world *world;
    CHECK_OK(plumb_world_find(&world, "two-body"));
    const double v = sqrt(2.0 * 1.5);
    const double state[8] = {0.5, 0.0, -0.5, 0.0, 0.0, v / 2.0, 0.0, -v / 2.0};
    double orbit[5];
    CHECK_OK(plumb_world_quantity_compute(orbit, world, 3, state, 1, NULL));
    const double want[5] = {0.5, 0.5, 0.0, v, 0.5};
    for (int i = 0; i < 5; i++) CHECK_NEAR(orbit[i], want[i], 1e-14);
}

TEST(what_does_not_exist_is_refused)
{
    const plumb_world *spring, *room;
    plumb_world_quantity quantity;
    double out[8] = {0}, state[2] = {1.0, 0.0};
    CHECK_OK(plumb_world_find(&spring, "mass-spring"));
    CHECK_OK(plumb_world_find(&room, "rooms/solidity"));
    CHECK_EQUAL(plumb_world_quantity_count(room), 0);
    CHECK(!plumb_world_quantity_at(&quantity, spring, 3));
    CHECK(!plumb_world_quantity_at(&quantity, spring, -1));
    CHECK_FAILS(plumb_world_quantity_compute(out, spring, 3, state, 1, NULL), PLUMB_EVALUE,
                "no quantity 3");
    CHECK_FAILS(plumb_world_quantity_compute(out, spring, 0, NULL, 1, NULL), PLUMB_EVALUE,
                "state is NULL");
    state[0] = (double)NAN;
    CHECK_FAILS(plumb_world_quantity_compute(out, spring, 0, state, 1, NULL), PLUMB_EVALUE,
                "number 0 of the state");
}
