// SPDX-License-Identifier: MIT
// Actions of loops that are known exactly, and of maps that keep them or do not.
#include "plumb/loops.h"

#include "measures/fixtures.h"

enum { LOOPS = 24, STATES = 32, ITEMS = LOOPS * STATES };

typedef void point_map(double *latent, const double *truth, int64_t n);

typedef struct loop_arrays {
    double *z, *s;
    int64_t *number;
    plumb_array latent, truth, loop;
} loop_arrays;

// Ellipses in random planes of 2n dimensions; action k is known: pi |first| |second| form.
static loop_arrays make_loops(int64_t n, point_map *map)
{
    const int64_t d = 2 * n;
    loop_arrays a = {.z = forge_room(ITEMS * d), .s = forge_room(ITEMS * d)};
    a.number = malloc(ITEMS * sizeof *a.number);
    assert_non_null(a.number);
    rng r = rng_at(41, 0);
    for (int64_t l = 0; l < LOOPS; l++) {
        double v[3][64];
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < d; k++) v[i][k] = (i ? 0.5 : 0.7) * rng_normal(&r);
        for (int64_t j = 0; j < STATES; j++) {
            const double angle = 6.283185307179586 * (double)j / STATES;
            double *s = a.s + (l * STATES + j) * d;
            for (int64_t k = 0; k < d; k++)
                s[k] = v[0][k] + cos(angle) * v[1][k] + sin(angle) * v[2][k];
            map(a.z + (l * STATES + j) * d, s, n);
            a.number[l * STATES + j] = l + 5;
        }
    }
    a.latent = plumb_array_view(a.z, PLUMB_FLOAT64, 2, (int64_t[]){ITEMS, d});
    a.truth = plumb_array_view(a.s, PLUMB_FLOAT64, 2, (int64_t[]){ITEMS, d});
    a.loop = plumb_array_view(a.number, PLUMB_INT64, 1, (int64_t[]){ITEMS});
    return a;
}

static void free_loops(loop_arrays *a)
{
    free(a->z), free(a->s), free(a->number);
}

// Two shears: p += dV(q), q += dU(p), then q scaled by 3.
static void bend_and_scale(double *z, const double *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        z[n + i] =
            s[n + i] + 0.3 * sin(s[i] + s[(i + 1) % n]) + 0.3 * sin(s[(i + n - 1) % n] + s[i]);
    for (int64_t i = 0; i < n; i++) z[i] = 3.0 * (s[i] + 0.2 * z[n + i] * z[n + i]);
}

// Every second momentum has the wrong sign.
static void mirror(double *z, const double *s, int64_t n)
{
    for (int64_t i = 0; i < 2 * n; i++) z[i] = i > n && i % 2 ? -s[i] : s[i];
}

static void copy(double *z, const double *s, int64_t n)
{
    memcpy(z, s, (size_t)(2 * n) * sizeof *z);
}

TEST(a_canonical_map_keeps_actions_in_sixteen_dimensions)
{
    for (int64_t n = 1; n <= 8; n += 7) {
        loop_arrays a = make_loops(n, bend_and_scale);
        plumb_loops r;
        CHECK_OK(plumb_loops_measure(&r, &a.latent, &a.truth, &a.loop, NULL));
        CHECK_NEAR(r.cosine, 1.0, 1e-6);
        CHECK_NEAR(r.slope, 3.0, 1e-4);
        CHECK_EQUAL(r.loops, LOOPS);
        CHECK_EQUAL(r.states, STATES);
        CHECK(r.cosine_ci.low <= r.cosine && r.slope_ci.low <= r.slope_ci.high);
        plumb_loops_clear(&r);
        CHECK(!r.true_action);
        free_loops(&a);
    }
}

TEST(a_map_with_wrong_signs_does_not)
{
    loop_arrays a = make_loops(8, mirror);
    plumb_loops r;
    CHECK_OK(plumb_loops_measure(&r, &a.latent, &a.truth, &a.loop, NULL));
    CHECK(fabs(r.cosine) < 0.7 && r.cosine_ci.high < 0.95);
    plumb_loops_clear(&r);
    free_loops(&a);
}

TEST(an_ellipse_has_its_area_for_odd_and_even_numbers_of_states)
{
    for (int64_t states = 9; states <= 10; states++) {
        double s[20];
        int64_t number[10] = {0};
        for (int64_t j = 0; j < states; j++) {
            const double angle = 6.283185307179586 * (double)j / (double)states;
            s[2 * j] = 4.0 + 2.0 * cos(angle), s[2 * j + 1] = 1.0 - 3.0 * sin(angle);
        }
        const plumb_array x = plumb_array_view(s, PLUMB_FLOAT64, 2, (int64_t[]){states, 2});
        const plumb_array loop = plumb_array_view(number, PLUMB_INT64, 1, &states);
        plumb_loops r;
        CHECK_OK(plumb_loops_measure(&r, &x, &x, &loop, NULL));
        CHECK_NEAR(r.true_action[0], 6.0 * 3.141592653589793, 1e-12);
        CHECK_NEAR(r.slope, 1.0, 1e-15);
        plumb_loops_clear(&r);
    }
}

TEST(what_is_no_loop_is_refused)
{
    loop_arrays a = make_loops(1, copy);
    plumb_loops r = {.loops = 77};
    a.number[STATES + 3] = 99;
    CHECK_FAILS(plumb_loops_measure(&r, &a.latent, &a.truth, &a.loop, NULL), PLUMB_EVALUE,
                "in a row");
    a.number[STATES + 3] = a.number[STATES];
    a.z[7] = (double)NAN;
    CHECK_FAILS(plumb_loops_measure(&r, &a.latent, &a.truth, &a.loop, NULL), PLUMB_ENUMERIC,
                "latent");
    a.z[7] = 0.0;
    const plumb_array odd = plumb_array_view(a.z, PLUMB_FLOAT64, 2, (int64_t[]){ITEMS, 1});
    CHECK_FAILS(plumb_loops_measure(&r, &odd, &a.truth, &a.loop, NULL), PLUMB_ESHAPE, "latent");
    for (int64_t i = 0; i < ITEMS * 2; i++) a.s[i] = 1.0;
    CHECK_FAILS(plumb_loops_measure(&r, &a.latent, &a.truth, &a.loop, NULL), PLUMB_ENUMERIC,
                "action");
    CHECK_EQUAL(r.loops, 77);
    free_loops(&a);
}
