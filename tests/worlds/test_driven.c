// SPDX-License-Identifier: MIT
// The driven world: a torque that is known, held from frame to frame, moves a pendulum.
#include <string.h>

#include "worlds/world_fixtures.h"

enum { FRAMES = 200, TOTAL = 15, TORQUE = 6, SINES = 3 };

typedef struct driven_run {
    double state[FRAMES * 2], derivative[FRAMES * 2], energy[FRAMES], action[FRAMES];
    double parameters[TOTAL];
} driven_run;

static void run_driven(driven_run *out, int64_t item)
{
    const plumb_world_item to = {.state = out->state,
                                 .derivative = out->derivative,
                                 .energy = out->energy,
                                 .action = out->action,
                                 .parameters = out->parameters};
    CHECK_OK(plumb_world_simulate(&to, walk_world("pendulum-torque"), 5, item, FRAMES, NULL));
}

// m = 0.5, l = 1, g = 3: dq/dt = 2 p, dp/dt = -1.5 sin q + torque.
static void step_reference(double x[2], double torque, double dt, int parts)
{
    const double h = dt / parts;
    for (int i = 0; i < parts; i++) {
        double k[4][2], at[2] = {x[0], x[1]};
        for (int s = 0; s < 4; s++) {
            k[s][0] = 2.0 * at[1];
            k[s][1] = -1.5 * sin(at[0]) + torque;
            const double by = s < 2 ? 0.5 * h : h;
            for (int c = 0; c < 2 && s < 3; c++) at[c] = x[c] + by * k[s][c];
        }
        for (int c = 0; c < 2; c++)
            x[c] += h / 6.0 * (k[0][c] + 2.0 * k[1][c] + 2.0 * k[2][c] + k[3][c]);
    }
}

TEST(a_driven_pendulum_moves_as_its_actions_say)
{
    static driven_run run;
    for (int64_t item = 0; item < 5; item++) {
        run_driven(&run, item);
        for (int t = 0; t + 1 < FRAMES; t++) {
            double x[2] = {run.state[2 * t], run.state[2 * t + 1]};
            step_reference(x, run.action[t], 0.05, 50);
            CHECK_NEAR(run.state[2 * t + 2], x[0], 1e-10);
            CHECK_NEAR(run.state[2 * t + 3], x[1], 1e-10);
        }
    }
}

// The work of a torque that is held is torque times angle.
TEST(its_energy_changes_by_the_work_of_the_torque)
{
    static driven_run run;
    double largest = 0.0;
    run_driven(&run, 3);
    for (int t = 0; t + 1 < FRAMES; t++) {
        const double work = run.action[t] * (run.state[2 * t + 2] - run.state[2 * t]);
        CHECK_NEAR(run.energy[t + 1] - run.energy[t], work, 1e-12);
        largest = fmax(largest, fabs(run.energy[t] - run.energy[0]));
    }
    CHECK(largest > 0.2); // of about 1
}

TEST(its_derivative_has_the_action_and_its_force_has_not)
{
    static driven_run run;
    const plumb_world *world = walk_world("pendulum-torque");
    run_driven(&run, 1);
    for (int t = 0; t < FRAMES; t++) {
        double force;
        const double pull = -1.5 * sin(run.state[2 * t]);
        CHECK_OK(
            plumb_world_quantity_compute(&force, world, 1, run.state + 2 * t, 1, run.parameters));
        CHECK_NEAR(force, pull, 1e-13);
        CHECK_NEAR(run.derivative[2 * t], 2.0 * run.state[2 * t + 1], 1e-13);
        CHECK_NEAR(run.derivative[2 * t + 1], pull + run.action[t], 1e-13);
    }
}

TEST(without_a_torque_it_is_the_pendulum)
{
    static double driven[FRAMES * 2], free_state[FRAMES * 2];
    static driven_run run;
    run_driven(&run, 2);
    for (int i = 0; i < SINES; i++) run.parameters[TORQUE + 3 * i] = 0.0;
    const plumb_world_item a = {.state = driven}, b = {.state = free_state};
    CHECK_OK(plumb_world_simulate_from(&a, walk_world("pendulum-torque"), run.state, run.parameters,
                                       FRAMES, NULL));
    CHECK_OK(plumb_world_simulate_from(&b, walk_world("pendulum"), run.state, run.parameters,
                                       FRAMES, NULL));
    for (int i = 0; i < FRAMES * 2; i++) CHECK_NEAR(driven[i], free_state[i], 1e-11);
}

TEST(torques_differ_between_items_and_stay_in_their_range)
{
    static driven_run one, two;
    run_driven(&one, 0), run_driven(&two, 1);
    double low = 1e300, high = -1e300;
    for (int t = 0; t < FRAMES; t++)
        low = fmin(low, one.action[t]), high = fmax(high, one.action[t]);
    CHECK(low < -0.2 && high > 0.2 && low > -1.8 && high < 1.8);
    CHECK(memcmp(one.action, two.action, sizeof one.action) != 0);
}

TEST(what_an_action_per_frame_does_not_allow_is_refused)
{
    const plumb_world *world = walk_world("pendulum-torque");
    plumb_world_options opt = plumb_world_defaults();
    opt.backward = true;
    CHECK_FAILS(plumb_world_check_options(world, 5, &opt), PLUMB_EVALUE, "backward in time");
    opt = plumb_world_defaults();
    opt.stride = 2;
    CHECK_FAILS(plumb_world_check_options(world, 5, &opt), PLUMB_EVALUE, "stride is 2");
    opt.stride = 1;
    CHECK_OK(plumb_world_check_options(world, 5, &opt));
}

TEST(no_other_world_has_actions)
{
    double action[4] = {7.0, 7.0, 7.0, 7.0};
    for (int64_t w = 0; w < plumb_world_count(); w++) {
        const plumb_world *world = plumb_world_at(w);
        const plumb_world_info *info = plumb_world_get_info(world);
        const bool driven = !strcmp(info->name, "pendulum-torque");
        CHECK_EQUAL(info->actions, driven ? 1 : 0);
        if (driven || info->kind != PLUMB_WORLD_TRAJECTORY) continue;
        const plumb_world_item out = {.action = action};
        CHECK_OK(plumb_world_simulate(&out, world, 1, 0, 3, NULL));
        CHECK(action[0] == 7.0);
    }
}
