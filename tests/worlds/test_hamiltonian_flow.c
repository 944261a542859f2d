// SPDX-License-Identifier: MIT
// Every world moves as its Hamiltonian says: energy stays, time runs back, the flow is symplectic
// in the canonical coordinates, those are canonical, and a second integrator agrees.
#include <stdlib.h>

#include "worlds/world_fixtures.h"

#define EACH_WORLD(world)                                     \
    for (int64_t index_ = 0; index_ < walk_count(); index_++) \
        for (const plumb_world *world = plumb_world_at(index_), *once_ = world; once_; once_ = NULL)

static bool chaotic(const plumb_world *world)
{
    return walk_is(world, "double-pendulum") || walk_is(world, "md-") ||
           walk_is(world, "henon-heiles");
}

TEST(energy_stays_for_a_thousand_frames)
{
    enum { FRAMES = 1001 };
    static double energy[FRAMES];
    EACH_WORLD(world)
    {
        if (!walk_hamiltonian(world)) continue;
        const bool verlet = walk_is(world, "md-");
        const double bar = verlet ? 2e-3 : 2e-12;
        for (int64_t item = 0; item < (verlet ? 2 : 20); item++) {
            const plumb_world_item out = {.energy = energy};
            CHECK_OK(plumb_world_simulate(&out, world, 3, item, FRAMES, NULL));
            const double size = fmax(1.0, fabs(energy[0]));
            for (int t = 0; t < FRAMES; t++) CHECK_NEAR(energy[t], energy[0], bar * size);
        }
    }
}

TEST(friction_takes_energy)
{
    enum { FRAMES = 400 };
    static double energy[FRAMES];
    EACH_WORLD(world)
    {
        if (walk_hamiltonian(world) || plumb_world_get_info(world)->actions) continue;
        for (int64_t item = 0; item < 20; item++) {
            const plumb_world_item out = {.energy = energy};
            CHECK_OK(plumb_world_simulate(&out, world, 3, item, FRAMES, NULL));
            for (int t = 1; t < FRAMES; t++) CHECK(energy[t] <= energy[t - 1] + 1e-14);
            CHECK(energy[FRAMES - 1] < energy[0] - 0.01);
        }
    }
}

// Closed forms hold for a hundred thousand frames: there and back again.
TEST(time_runs_back)
{
    EACH_WORLD(world)
    {
        if (!walk_hamiltonian(world)) continue;
        const plumb_world_info *facts = plumb_world_get_info(world);
        const int64_t frames = walk_is(world, "md-16")                 ? 30
                               : chaotic(world)                        ? 100
                               : walk_is(world, "rock-paper-scissors") ? 1000
                                                                       : 100000;
        for (int64_t item = 0; item < (walk_is(world, "md-") ? 2 : 10); item++) {
            double x[WALK_NUMBERS], y[WALK_NUMBERS], z[WALK_NUMBERS], par[WALK_PARAMETERS];
            walk_begin(x, par, world, 4, item);
            walk_on(y, world, x, par, facts->dt, frames);
            walk_on(z, world, y, par, -facts->dt, frames);
            for (int64_t i = 0; i < 2 * facts->n; i++) {
                double difference = z[i] - x[i];
                if (walk_is(world, "md-4") && i < facts->n)
                    difference = remainder(difference, 10.0);
                if (walk_is(world, "md-16") && i < facts->n)
                    difference = remainder(difference, 4.558423058385518);
                // A pendulum that has turned 1000 times has lost three digits of its angle.
                CHECK_NEAR(difference, 0.0, 1e-9 * fmax(1.0, fabs(y[0])));
            }
        }
    }
}

// J of the flow over some frames in canonical coordinates, by central differences.
static void jacobian(double *J, const plumb_world *world, const double *state, const double *par,
                     int64_t frames)
{
    const plumb_world_info *facts = plumb_world_get_info(world);
    const int64_t c2 = 2 * facts->canonical_n;
    double z[WALK_NUMBERS];
    walk_canonical(z, world, state, par);
    for (int64_t j = 0; j < c2; j++) {
        const double h = walk_is(world, "md-") // stiff
                             ? 1e-6
                             : 2e-5 * fmax(fabs(z[j]), walk_is(world, "room") ? 1e-2 : 1.0);
        double moved[2][WALK_NUMBERS];
        for (int side = 0; side < 2; side++) {
            double from[WALK_NUMBERS], start[WALK_NUMBERS];
            memcpy(start, z, sizeof start);
            start[j] += side ? h : -h;
            walk_lift(from, world, start, state, par);
            plumb_world_options opt = plumb_world_defaults();
            opt.first = frames;
            const plumb_world_item out = {.canonical = moved[side]};
            CHECK_OK(plumb_world_simulate_from(&out, world, from, par, 1, &opt));
        }
        for (int64_t i = 0; i < c2; i++) {
            double change = moved[1][i] - moved[0][i];
            if (i < facts->canonical_n && facts->angles[i] && fabs(change) > 3.0)
                change = remainder(change, 2.0 * 3.141592653589793);
            J[i * c2 + j] = change / (2.0 * h);
        }
    }
}

// The largest number of J^T A J - A, A = [[0, 1], [-1, 0]].
static double not_symplectic(const double *J, int64_t n)
{
    double worst = 0.0;
    for (int64_t a = 0; a < 2 * n; a++)
        for (int64_t b = 0; b < 2 * n; b++) {
            double sum = b == a + n ? -1.0 : b + n == a ? 1.0 : 0.0;
            for (int64_t k = 0; k < n; k++)
                sum += J[k * 2 * n + a] * J[(k + n) * 2 * n + b] -
                       J[(k + n) * 2 * n + a] * J[k * 2 * n + b];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

// Molecular forces jump at the cut-off, where differences see a step and no slope. How near to it
// a pair comes at any of 30 integration steps.
static double nearest_cut(const plumb_world *world, const double *state)
{
    static double q[31 * WALK_NUMBERS];
    const int64_t n = plumb_world_get_info(world)->n;
    const double side = walk_is(world, "md-4") ? 10.0 : 4.558423058385518;
    plumb_world_options opt = plumb_world_defaults();
    opt.stride = 1;
    const plumb_world_item out = {.canonical = q};
    CHECK_OK(plumb_world_simulate_from(&out, world, state, NULL, 31, &opt));
    double nearest = side;
    for (int t = 0; t < 31; t++)
        for (int64_t i = 0; i < n; i += 2)
            for (int64_t j = 0; j < i; j += 2) {
                const double *x = q + 2 * n * t;
                const double dx = remainder(x[i] - x[j], side);
                const double dy = remainder(x[i + 1] - x[j + 1], side);
                nearest = fmin(nearest, fabs(hypot(dx, dy) - 0.5 * side));
            }
    return nearest;
}

TEST(the_flow_is_symplectic)
{
    static double J[WALK_NUMBERS * WALK_NUMBERS];
    EACH_WORLD(world)
    {
        if (!walk_hamiltonian(world)) continue;
        const plumb_world_info *facts = plumb_world_get_info(world);
        const bool md = walk_is(world, "md-");
        int tested = 0;
        for (int64_t item = 0; item < 20 && tested < (md ? 1 : 5); item++) {
            double x[WALK_NUMBERS], par[WALK_PARAMETERS];
            walk_begin(x, par, world, 5, item);
            if (md && nearest_cut(world, x) < 1e-4) continue;
            tested++;
            jacobian(J, world, x, par, md ? 3 : 20);
            CHECK_NEAR(not_symplectic(J, facts->canonical_n), 0.0, 2e-7);
        }
        CHECK(tested > 0);
    }
}

// The same test catches a flow that is not.
TEST(friction_is_not_symplectic)
{
    double J[16], x[4], par[16];
    const plumb_world *world = walk_world("pendulum+c-friction");
    walk_begin(x, par, world, 5, 0);
    jacobian(J, world, x, par, 20);
    CHECK(not_symplectic(J, 1) > 1e-2);
}

// dQ/dt = dH/dP and dP/dt = -dH/dQ: rates from the flow, gradients from the energy.
TEST(canonical_coordinates_are_canonical)
{
    EACH_WORLD(world)
    {
        if (!walk_hamiltonian(world)) continue;
        const plumb_world_info *facts = plumb_world_get_info(world);
        const int64_t n = facts->canonical_n;
        for (int64_t item = 0; item < (walk_is(world, "md-") ? 1 : 10); item++) {
            double x[WALK_NUMBERS], par[WALK_PARAMETERS], z[WALK_NUMBERS];
            double y[WALK_NUMBERS], after[WALK_NUMBERS], before[WALK_NUMBERS];
            walk_begin(x, par, world, 6, item);
            walk_canonical(z, world, x, par);
            const double dt = walk_is(world, "room") ? 1e-2 : 1e-4;
            for (int side = 0; side < 2; side++) {
                plumb_world_options opt = plumb_world_defaults();
                opt.dt = dt;
                opt.first = 1;
                opt.backward = side;
                const plumb_world_item out = {.canonical = side ? before : after};
                CHECK_OK(plumb_world_simulate_from(&out, world, x, par, 1, &opt));
            }
            const double size = fmax(1e-3, fabs(walk_energy(world, x, par)));
            for (int64_t i = 0; i < 2 * n; i++) {
                const double h = 1e-4 * (walk_is(world, "room") ? 1e-2 : 1.0);
                double energy[2];
                for (int side = 0; side < 2; side++) {
                    memcpy(y, z, sizeof y);
                    y[i] += side ? h : -h;
                    double state[WALK_NUMBERS];
                    walk_lift(state, world, y, x, par);
                    energy[side] = walk_energy(world, state, par);
                }
                const double gradient = (energy[1] - energy[0]) / (2.0 * h);
                const int64_t other = i < n ? i + n : i - n;
                const double rate = (after[other] - before[other]) / (2.0 * dt);
                CHECK_NEAR(i < n ? -gradient : gradient, rate, 2e-5 * fmax(1.0, size));
            }
        }
    }
}

TEST(derivatives_are_those_of_the_motion)
{
    EACH_WORLD(world)
    {
        const plumb_world_info *facts = plumb_world_get_info(world);
        const double dt = 1e-4;
        if (facts->actions) continue; // it jumps from frame to frame: test_driven.c
        for (int64_t item = 0; item < (walk_is(world, "md-") ? 1 : 10); item++) {
            double rows[3 * WALK_NUMBERS], rates[3 * WALK_NUMBERS];
            double start[WALK_NUMBERS], par[WALK_PARAMETERS];
            walk_begin(start, par, world, 7, item);
            plumb_world_options opt = plumb_world_defaults();
            opt.dt = dt;
            opt.first = 50;
            const plumb_world_item three = {.state = rows, .derivative = rates};
            CHECK_OK(plumb_world_simulate_from(&three, world, start, par, 3, &opt));
            for (int64_t i = 0; i < 2 * facts->n; i++) {
                const double slope = (rows[4 * facts->n + i] - rows[i]) / (2.0 * dt);
                if (fabs(slope) > 1e3) continue; // a particle went round its box
                CHECK_NEAR(slope, rates[2 * facts->n + i],
                           (walk_is(world, "md-") ? 1e-3 : 1e-5) *
                               fmax(1.0, fabs(rates[2 * facts->n + i])));
            }
        }
    }
}

// Gragg's midpoint steps, extrapolated [Hairer93]: knows only the derivative.
static void reference_step(double *x, const plumb_world *world, const double *par, double h)
{
    enum { COLUMNS = 8 };
    const int64_t n2 = 2 * plumb_world_get_info(world)->n;
    double table[COLUMNS][WALK_NUMBERS];
    for (int k = 0; k < COLUMNS; k++) {
        const int parts = 2 * (k + 1);
        double a[WALK_NUMBERS], b[WALK_NUMBERS], rate[WALK_NUMBERS];
        const plumb_world_item out = {.derivative = rate};
        memcpy(a, x, sizeof a);
        CHECK_OK(plumb_world_simulate_from(&out, world, a, par, 1, NULL));
        for (int64_t i = 0; i < n2; i++) b[i] = a[i] + h / parts * rate[i];
        for (int s = 1; s < parts; s++) {
            CHECK_OK(plumb_world_simulate_from(&out, world, b, par, 1, NULL));
            for (int64_t i = 0; i < n2; i++) {
                const double next = a[i] + 2.0 * h / parts * rate[i];
                a[i] = b[i];
                b[i] = next;
            }
        }
        memcpy(table[k], b, sizeof b);
        for (int j = k - 1; j >= 0; j--) {
            const double ratio = (double)(k + 1) / (j + 1);
            for (int64_t i = 0; i < n2; i++)
                table[j][i] =
                    table[j + 1][i] + (table[j + 1][i] - table[j][i]) / (ratio * ratio - 1.0);
        }
    }
    memcpy(x, table[0], (size_t)n2 * sizeof *x);
}

TEST(a_second_integrator_agrees)
{
    EACH_WORLD(world)
    {
        if (walk_is(world, "md-")) continue; // Verlet is not the exact motion
        const plumb_world_info *facts = plumb_world_get_info(world);
        if (facts->actions) continue; // test_driven.c
        const int64_t frames = 40;
        const int parts = walk_is(world, "double-pendulum") || walk_is(world, "two-body") ? 4 : 2;
        for (int64_t item = 0; item < 3; item++) {
            double x[WALK_NUMBERS], y[WALK_NUMBERS], par[WALK_PARAMETERS];
            walk_begin(x, par, world, 8, item);
            walk_on(y, world, x, par, facts->dt, frames);
            for (int64_t t = 0; t < frames * parts; t++)
                reference_step(x, world, par, facts->dt / parts);
            for (int64_t i = 0; i < 2 * facts->n; i++) CHECK_NEAR(x[i], y[i], 1e-11);
        }
    }
}

TEST(a_turning_pendulum_goes_on_turning)
{
    enum { FRAMES = 20000 };
    static double state[2 * FRAMES];
    const plumb_world *world = walk_world("pendulum");
    const double par[6] = {0.5, 1.0, 3.0, 0.0, 0.0, 0.0};
    // Above the separatrix, H = 3, by much, by little, and by next to nothing
    static const double momentum[] = {3.0, 1.75, 1.7320509, 1.73205080756888};
    for (int k = 0; k < 4; k++)
        for (int back = -1; back <= 1; back += 2) {
            const double start[2] = {0.3 * back, back * sqrt(momentum[k] * momentum[k])};
            const plumb_world_item out = {.state = state};
            CHECK_OK(plumb_world_simulate_from(&out, world, start, par, FRAMES, NULL));
            if (walk_energy(world, start, par) <= 3.0) continue;
            for (int t = 1; t < FRAMES; t++) {
                CHECK(back * (state[2 * t] - state[2 * t - 2]) > 0.0);
                CHECK(fabs(state[2 * t] - state[2 * t - 2]) < 0.5);
            }
        }
}

TEST(a_pendulum_near_the_separatrix_is_still_exact)
{
    // On the separatrix q = 4 atan(e^(w t)) - pi from q = 0 at t = 0
    const plumb_world *world = walk_world("pendulum");
    const double par[6] = {0.5, 1.0, 3.0, 0.0, 0.0, 0.0}, w = sqrt(3.0);
    const double start[2] = {0.0, 2.0 * w * 0.5};
    double state[2 * 101];
    const plumb_world_item out = {.state = state};
    CHECK_OK(plumb_world_simulate_from(&out, world, start, par, 101, NULL));
    for (int t = 0; t <= 100; t++) {
        const double time = 0.05 * t;
        // an error of one rounding in p grows by e^(w t)
        CHECK_NEAR(state[2 * t], 4.0 * atan(exp(w * time)) - 3.141592653589793,
                   4e-16 * exp(w * time) + 4e-15);
    }
}

TEST(an_unbound_orbit_and_a_parabola)
{
    const plumb_world *world = walk_world("two-body");
    const double par[7] = {1.0, 1.0, 1.0};
    for (int k = 0; k < 3; k++) { // relative speed over that of escape: 1, 1 + 1e-9, 2
        const double speed = k == 0 ? 1.0 : k == 1 ? 1.0 + 1e-9 : 2.0;
        const double p = 0.5 * speed * sqrt(2.0 * 2.0 / 2.0);
        const double start[8] = {1.0, 0.0, -1.0, 0.0, 0.0, p, 0.0, -p};
        double far[8], back[8];
        walk_on(far, world, start, par, 0.05, 100000);
        CHECK(hypot(far[0] - far[2], far[1] - far[3]) > 100.0);
        CHECK_NEAR(walk_energy(world, far, par), walk_energy(world, start, par), 1e-13);
        walk_on(back, world, far, par, -0.05, 100000);
        for (int i = 0; i < 8; i++) CHECK_NEAR(back[i], start[i], 1e-7);
    }
}

// Frames show colours, not which body is the first of the state.
TEST(canonical_coordinates_of_two_bodies_are_told_by_colour)
{
    enum { MASS_1, MASS_2, G, COLOUR = 5 };
    const char *const names[] = {"two-body", "two-body+c"};
    for (int w = 0; w < 2; w++) {
        const plumb_world *world;
        int swapped = 0;
        CHECK_OK(plumb_world_find(&world, names[w]));
        for (int64_t item = 0; item < 40; item++) {
            double state[8], canonical[4], parameters[7];
            const plumb_world_item out = {
                .state = state, .canonical = canonical, .parameters = parameters};
            CHECK_OK(plumb_world_simulate(&out, world, 5, item, 1, NULL));
            const double m1 = parameters[MASS_1], m2 = parameters[MASS_2];
            const bool second = parameters[COLOUR] > parameters[COLOUR + 1];
            const double sign = second ? -1.0 : 1.0;
            swapped += second;
            for (int i = 0; i < 2; i++) {
                CHECK_NEAR(canonical[i], sign * (state[i] - state[2 + i]), 1e-15);
                CHECK_NEAR(canonical[2 + i],
                           sign * (m2 * state[4 + i] - m1 * state[6 + i]) / (m1 + m2), 1e-15);
            }
        }
        CHECK(swapped > 5 && swapped < 35);
    }
}
