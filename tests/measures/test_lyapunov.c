// SPDX-License-Identifier: MIT
// Known Lyapunov exponents: the Lorenz system, a spring, and a double pendulum by pairs of
// trajectories that start very close.
#include <stdlib.h>

#include "measures/fixtures.h"
#include "measures/forecast/lyapunov.h"
#include "plumb/world.h"

static void lorenz(double d[3], const double x[3])
{
    d[0] = 10.0 * (x[1] - x[0]);
    d[1] = x[0] * (28.0 - x[2]) - x[1];
    d[2] = x[0] * x[1] - 8.0 / 3.0 * x[2];
}

static void walk(double x[3], double dt)
{
    double k[4][3], y[3];
    for (int s = 0; s < 4; s++) {
        const double by = s == 0 ? 0.0 : s == 3 ? dt : 0.5 * dt;
        for (int i = 0; i < 3; i++) y[i] = x[i] + (s ? by * k[s - 1][i] : 0.0);
        lorenz(k[s], y);
    }
    for (int i = 0; i < 3; i++)
        x[i] += dt / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
}

TEST(the_exponent_of_the_lorenz_system_is_found)
{
    enum { COUNT = 40, LONG = 400 };
    double *x = forge_room(COUNT * LONG * 3);
    rng r = rng_at(2, 0);
    for (int k = 0; k < COUNT; k++) {
        double s[3] = {rng_normal(&r), rng_normal(&r), 20.0 + rng_normal(&r)};
        for (int i = 0; i < 2000; i++) walk(s, 0.01);
        for (int t = 0; t < LONG; t++) {
            memcpy(x + (k * LONG + t) * 3, s, sizeof s);
            for (int i = 0; i < 4; i++) walk(s, 0.01);
        }
    }
    const plumb_array state = plumb_array_view(x, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, LONG, 3});
    plumb_lyapunov found;
    CHECK_OK(lyapunov_estimate(&found, &state));
    CHECK_NEAR(found.exponent / 0.04, 0.906, 0.18);
    CHECK(found.ci.low < found.exponent && found.exponent < found.ci.high && found.ci.low > 0.0);
    free(x);
}

TEST(springs_are_not_chaotic)
{
    enum { COUNT = 40, LONG = 200 };
    double *x = forge_room(COUNT * LONG * 4);
    forge_springs(x, 2, COUNT, LONG);
    const plumb_array state = plumb_array_view(x, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, LONG, 4});
    plumb_lyapunov found;
    CHECK_OK(lyapunov_estimate(&found, &state));
    CHECK(fabs(found.exponent) < 0.002);
    free(x);
}

// Mean growth of the distance of twins over the frames, per frame.
static double by_twins(const plumb_world *world, int64_t count, int64_t steps)
{
    double *a = forge_room(steps * 4), *b = forge_room(steps * 4), sum = 0.0;
    double parameters[64];
    for (int64_t k = 0; k < count; k++) {
        CHECK_OK(plumb_world_simulate(&(plumb_world_item){.state = a, .parameters = parameters},
                                      world, 4, k, steps, NULL));
        double start[4];
        memcpy(start, a, sizeof start);
        start[0] += 1e-9;
        CHECK_OK(plumb_world_simulate_from(&(plumb_world_item){.state = b}, world, start,
                                           parameters, steps, NULL));
        double end = 0.0;
        for (int i = 0; i < 4; i++) {
            const double by = a[(steps - 1) * 4 + i] - b[(steps - 1) * 4 + i];
            end += by * by;
        }
        sum += (0.5 * log(end) - log(1e-9)) / (double)(steps - 1);
    }
    free(a);
    free(b);
    return sum / (double)count;
}

TEST(the_double_pendulum_agrees_with_its_twins)
{
    enum { COUNT = 150, LONG = 200 };
    const plumb_world *world;
    CHECK_OK(plumb_world_find(&world, "double-pendulum"));
    double *x = forge_room(COUNT * LONG * 4);
    for (int64_t k = 0; k < COUNT; k++)
        CHECK_OK(plumb_world_simulate(&(plumb_world_item){.state = x + k * LONG * 4}, world, 4, k,
                                      LONG, NULL));
    const plumb_array state = plumb_array_view(x, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, LONG, 4});
    plumb_lyapunov found;
    CHECK_OK(lyapunov_estimate(&found, &state));
    const double twins = by_twins(world, 30, LONG);
    print_message("per frame: %g by neighbours [%g, %g], %g by twins\n", found.exponent,
                  found.ci.low, found.ci.high, twins);
    CHECK(found.exponent > 0.5 * twins && found.exponent < 2.0 * twins);
    free(x);
}

TEST(what_has_no_exponent_is_refused)
{
    static double x[8 * 16 * 2];
    plumb_array state = plumb_array_view(x, PLUMB_FLOAT64, 3, (int64_t[]){8, 16, 2});
    plumb_lyapunov found = {.exponent = 7.0};
    CHECK_FAILS(lyapunov_estimate(&found, &state), PLUMB_ENUMERIC, "constant");
    state.shape[1] = 3;
    CHECK_FAILS(lyapunov_estimate(&found, &state), PLUMB_ESHAPE, "16 steps");
    CHECK_NEAR(found.exponent, 7.0, 0.0);
}
