// SPDX-License-Identifier: MIT
#include "worlds/molecules/lennard_jones.h"

#include <stdlib.h>

#include "worlds/world_fixtures.h"

static const lennard_jones *const models[] = {&lennard_jones_gas, &lennard_jones_liquid};

TEST(forces_are_the_slope_of_the_potential)
{
    for (int m = 0; m < 2; m++) {
        rng r = rng_at(1, 0), heat = rng_at(1, 1);
        lennard_jones_box box;
        lennard_jones_random_start(&box, models[m], &r);
        lennard_jones_thermostat(&box, models[m], 0.002, 2000, &heat);
        for (int i = 0; i < models[m]->count; i++)
            for (int k = 0; k < 2; k++) {
                const double h = 1e-6, q = box.q[k][i];
                box.q[k][i] = q + h;
                const double up = lennard_jones_potential(&box, models[m]);
                box.q[k][i] = q - h;
                const double down = lennard_jones_potential(&box, models[m]);
                box.q[k][i] = q;
                CHECK_NEAR(box.f[k][i], (down - up) / (2.0 * h),
                           1e-6 * fmax(1.0, fabs(box.f[k][i])));
            }
    }
}

TEST(every_instruction_set_gives_the_same_bits)
{
    for (int m = 0; m < 2; m++) {
        lennard_jones_box box[2];
        static const char *const sets[] = {"portable", "avx2"};
        for (int s = 0; s < 2; s++) {
            if (!lennard_jones_select(sets[s])) return;
            rng r = rng_at(1, 0), heat = rng_at(1, 1);
            lennard_jones_random_start(&box[s], models[m], &r);
            lennard_jones_thermostat(&box[s], models[m], 0.002, 1000, &heat);
            lennard_jones_move(&box[s], models[m], 0.002, 1000);
        }
        CHECK(!memcmp(&box[0], &box[1], sizeof box[0]));
    }
}

TEST(forces_do_not_know_in_which_image_a_particle_is)
{
    rng r = rng_at(2, 0);
    lennard_jones_box here, away;
    lennard_jones_random_start(&here, &lennard_jones_liquid, &r);
    away = here;
    away.q[0][3] += 3.0 * lennard_jones_liquid.side;
    away.q[1][3] -= 2.0 * lennard_jones_liquid.side;
    lennard_jones_force(&away, &lennard_jones_liquid);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 2; k++)
            CHECK_NEAR(away.f[k][i], here.f[k][i], 1e-11 * fmax(1.0, fabs(here.f[k][i])));
}

// The constants mean_energy: under the thermostat the box has the energy it is later given, and
// the temperature it should, 2N - 2 degrees of freedom. Bars are five standard errors.
TEST(the_thermostat_keeps_temperature_and_mean_energy)
{
    static const double bars[2][2] = {{0.2, 0.05}, {0.4, 0.02}}; // energy, temperature
    for (int m = 0; m < 2; m++) {
        const lennard_jones *model = models[m];
        rng r = rng_at(3, 0), heat = rng_at(3, 1);
        lennard_jones_box box;
        double energy = 0.0, kinetic = 0.0, drift = 0.0;
        lennard_jones_random_start(&box, model, &r);
        lennard_jones_thermostat(&box, model, 0.002, 10000, &heat);
        const int64_t samples = m == 0 ? 10000 : 2000;
        for (int64_t s = 0; s < samples; s++) {
            lennard_jones_thermostat(&box, model, 0.002, 100, &heat);
            const double k = lennard_jones_kinetic(&box, model);
            energy += k + lennard_jones_potential(&box, model);
            kinetic += k;
        }
        for (int i = 0; i < model->count; i++) drift += box.v[0][i];
        CHECK_NEAR(energy / (double)samples, model->mean_energy, bars[m][0]);
        CHECK_NEAR(kinetic / (double)samples / (model->count - 1), model->temperature, bars[m][1]);
        CHECK_NEAR(drift, 0.0, 1e-12);
    }
}

TEST(items_start_at_the_mean_energy_near_their_temperature)
{
    static const int64_t items[2] = {200, 20};
    static const double want[2] = {0.978, 0.498}, bar[2] = {0.05, 0.06};
    for (int m = 0; m < 2; m++) {
        const plumb_world *world = walk_world(m == 0 ? "md-4" : "md-16");
        const int64_t n = plumb_world_get_info(world)->n;
        const double half = 0.5 * models[m]->side;
        double kinetic = 0.0;
        for (int64_t i = 0; i < items[m]; i++) {
            double x[WALK_NUMBERS], energy, total[2] = {0.0};
            const plumb_world_item out = {.state = x, .energy = &energy};
            CHECK_OK(plumb_world_simulate(&out, world, 1, i, 1, NULL));
            CHECK_NEAR(energy, models[m]->mean_energy, 2e-3 * fabs(models[m]->mean_energy));
            for (int64_t k = 0; k < n; k++) {
                CHECK(x[k] >= -half && x[k] < half);
                total[k % 2] += x[n + k];
                kinetic += 0.5 * x[n + k] * x[n + k];
            }
            CHECK_NEAR(total[0], 0.0, 1e-12);
            CHECK_NEAR(total[1], 0.0, 1e-12);
        }
        // below the thermostat's: at fixed energy, not at fixed temperature
        CHECK_NEAR(kinetic / (double)items[m] / (models[m]->count - 1), want[m], bar[m]);
    }
}

TEST(published_positions_are_wrapped_and_canonical_ones_run_on)
{
    enum { FRAMES = 600 };
    static double state[FRAMES * 16], canonical[FRAMES * 16];
    const plumb_world *world = walk_world("md-4");
    bool left = false;
    const plumb_world_item out = {.state = state, .canonical = canonical};
    CHECK_OK(plumb_world_simulate(&out, world, 1, 0, FRAMES, NULL));
    for (int t = 0; t < FRAMES; t++)
        for (int i = 0; i < 8; i++) {
            CHECK(state[16 * t + i] >= -5.0 && state[16 * t + i] < 5.0);
            CHECK_NEAR(remainder(state[16 * t + i] - canonical[16 * t + i], 10.0), 0.0, 1e-12);
            left |= fabs(canonical[16 * t + i]) > 5.0;
            if (t > 0) CHECK(fabs(canonical[16 * t + i] - canonical[16 * t - 16 + i]) < 0.2);
        }
    CHECK(left);
}

TEST(the_edge_of_the_box_belongs_to_its_left)
{
    double start[16] = {5.0, -5.0, 15.0, 4.9999999999, -2.0, -2.0, 2.0, 2.5}, state[16];
    const plumb_world *world = walk_world("md-4");
    const plumb_world_item out = {.state = state};
    CHECK_OK(plumb_world_simulate_from(&out, world, start, NULL, 1, NULL));
    CHECK_NEAR(state[0], -5.0, 0.0);
    CHECK_NEAR(state[1], -5.0, 0.0);
    CHECK_NEAR(state[2], -5.0, 0.0);
    CHECK_NEAR(state[3], 4.9999999999, 0.0);
}
