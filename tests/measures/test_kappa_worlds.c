// SPDX-License-Identifier: MIT
// Every world of the paper: its true state, in minimal canonical coordinates and as published, and
// the same with a fault. bench/calibration --thirteen has images of them, and more faults.
#include "measures/fixtures.h"
#include "plumb/kappa.h"
#include "plumb/world.h"

enum { COUNT = 60, LONG = 40, PAPER = 13 };

static void fill(forged *f, const plumb_world *world, int64_t steps)
{
    const plumb_world_info *facts = plumb_world_get_info(world);
    const int64_t d = 2 * facts->canonical_n, rows = COUNT * steps;
    *f = (forged){forge_room(rows * d), forge_room(rows * d), {0}, {0}};
    for (int64_t k = 0; k < COUNT; k++)
        CHECK_OK(
            plumb_world_simulate(&(plumb_world_item){.canonical = f->truth_data + k * steps * d},
                                 world, 6, k, steps, NULL));
    memcpy(f->latent_data, f->truth_data, (size_t)(rows * d) * sizeof(double));
    f->latent = plumb_array_view(f->latent_data, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, steps, d});
    f->truth = plumb_array_view(f->truth_data, PLUMB_FLOAT64, 3, (int64_t[]){COUNT, steps, d});
}

static void check(forged *f, const char *world, const char *what, int wanted)
{
    plumb_kappa r;
    CHECK_OK(plumb_kappa_measure(&r, &f->latent, NULL, &f->truth, NULL));
    if (r.canonical != wanted) print_message("%s, %s: kappa %g, %s\n", world, what, r.kappa, r.why);
    CHECK_EQUAL(r.canonical, wanted);
    plumb_kappa_clear(&r);
}

TEST(the_true_state_of_every_world_is_right_and_with_a_fault_wrong)
{
    for (int64_t w = 0; w < PAPER; w++) {
        const plumb_world *world = plumb_world_at(w);
        const plumb_world_info *facts = plumb_world_get_info(world);
        const int64_t n = facts->canonical_n, rows = COUNT * LONG;
        forged f;
        fill(&f, world, LONG);
        check(&f, facts->name, "true state", PLUMB_VERDICT_LEARNT);
        // Circular orbits have one pair only, in which no fault of two can be planted.
        if (n > 1 && strcmp(facts->name, "two-body")) {
            for (int64_t r = 0; r < rows; r++) f.latent_data[r * 2 * n + n] *= -1.0;
            check(&f, facts->name, "one pair mirrored", PLUMB_VERDICT_NOT_LEARNT);
        }
        // Momenta that say what the positions say.
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < n; i++)
                f.latent_data[r * 2 * n + n + i] = 2.0 * f.latent_data[r * 2 * n + i];
        check(&f, facts->name, "dead momenta", PLUMB_VERDICT_NOT_LEARNT);
        forged_free(&f);
    }
}

TEST(chaos_in_short_windows_with_noise_is_judged_as_well)
{
    static const char *const names[] = {"double-pendulum", "double-pendulum+c", "md-4", "md-16"};
    enum { SHORT = 12 };
    for (size_t w = 0; w < sizeof names / sizeof *names; w++) {
        const plumb_world *world;
        CHECK_OK(plumb_world_find(&world, names[w]));
        const int64_t d = 2 * plumb_world_get_info(world)->canonical_n, n = d / 2;
        forged f;
        fill(&f, world, SHORT);
        rng r = rng_at(8, w);
        for (int64_t i = 0; i < COUNT * SHORT; i++)
            for (int64_t k = 0; k < n; k++) { // each pair turned, and 4 % of noise
                double *q = f.latent_data + i * d + k, *p = q + n;
                const double turned = 0.8 * *q + 0.6 * *p;
                *p = 0.8 * *p - 0.6 * *q + 0.04 * rng_normal(&r);
                *q = turned + 0.04 * rng_normal(&r);
            }
        check(&f, names[w], "turned, with noise", PLUMB_VERDICT_LEARNT);
        // A quarter of the pairs: of 32 one would cost less than a tenth of kappa.
        for (int64_t i = 0; i < COUNT * SHORT; i++)
            for (int64_t k = 0; k < (n + 3) / 4; k++) f.latent_data[i * d + k] *= -1.0;
        check(&f, names[w], "pairs mirrored, with noise", PLUMB_VERDICT_NOT_LEARNT);
        forged_free(&f);
    }
}
