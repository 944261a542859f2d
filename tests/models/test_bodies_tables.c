// SPDX-License-Identifier: MIT
#include <string.h>

#include "math/rng.h"
#include "models/bodies/plane.h"
#include "models/bodies/radial.h"
#include "support/test.h"

static void fill_random(float *x, int64_t n, uint64_t stream)
{
    rng r = rng_at(5, stream);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(0.4 * rng_normal(&r));
}

// ---- networks ----

TEST(jets_are_derivatives_of_the_network)
{
    const jets_shape shape = {2, 8};
    float w[120];
    CHECK(jets_parameter_count(&shape) <= 120);
    fill_random(w, 120, 1);
    // Features are linear in (a, b), with one mixed term.
    const double base[2] = {0.3, -0.7}, a[2] = {1.1, 0.2}, b[2] = {-0.4, 0.9}, ab[2] = {0.5, 0.3};
    double out[4], h = 1e-3, corner[2][2];
    double f[8] = {base[0], base[1], a[0], a[1], b[0], b[1], ab[0], ab[1]};
    jets_reference(out, &shape, w, f);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const double s = i ? h : -h, t = k ? h : -h;
            double at[8] = {0}, value[4];
            for (int c = 0; c < 2; c++) at[c] = base[c] + s * a[c] + t * b[c] + s * t * ab[c];
            jets_reference(value, &shape, w, at);
            corner[i][k] = value[0];
        }
    CHECK_NEAR(out[JET_AB],
               (corner[1][1] - corner[1][0] - corner[0][1] + corner[0][0]) / (4 * h * h), 1e-5);
    CHECK_NEAR(out[JET_A], (corner[1][1] + corner[1][0] - corner[0][1] - corner[0][0]) / (4 * h),
               1e-5);
    CHECK_NEAR(out[JET_B], (corner[1][1] + corner[0][1] - corner[1][0] - corner[0][0]) / (4 * h),
               1e-5);
}

enum { POINTS = 3, WIDTH = 8, FEATURES = 2, WEIGHTS = 16 + 8 + 64 + 8 + 8 };

static double weigh_output(const jets_network *net, const float *w)
{
    double sum = 0.0, out[4];
    for (int n = 0; n < POINTS; n++) {
        jets_reference(out, &net->shape, w, net->features + n * 4 * FEATURES);
        for (int part = 0; part < 4; part++) sum += out[part] * net->output_seed[n * 4 + part];
    }
    return sum;
}

TEST(the_fast_network_and_its_gradient_agree_with_the_reference)
{
    arena mem = {0};
    jets_network net;
    const jets_shape shape = {FEATURES, WIDTH};
    float w[WEIGHTS], gradient[WEIGHTS];
    CHECK_EQUAL(jets_parameter_count(&shape), WEIGHTS);
    fill_random(w, WEIGHTS, 2);
    for (int set = 0; set < 2; set++) {
        if (!jets_select(set ? "avx2" : "portable")) continue;
        CHECK_OK(jets_alloc(&net, &mem, &shape, POINTS));
        rng r = rng_at(1, 7);
        for (int i = 0; i < POINTS * 4 * FEATURES; i++) net.features[i] = rng_normal(&r);
        for (int i = 0; i < POINTS * 4; i++) net.output_seed[i] = rng_normal(&r);
        jets_run(&net, w);
        for (int n = 0; n < POINTS; n++) {
            double out[4];
            jets_reference(out, &shape, w, net.features + n * 4 * FEATURES);
            for (int part = 0; part < 4; part++)
                CHECK_NEAR(net.output[n * 4 + part], out[part], 1e-13);
        }
        memset(gradient, 0, sizeof gradient);
        jets_add_gradient(&net, gradient);
        for (int i = 0; i < WEIGHTS; i++) {
            const float keep = w[i];
            w[i] = keep + 1e-3f;
            const double high = weigh_output(&net, w), up = (double)w[i];
            w[i] = keep - 1e-3f;
            const double low = weigh_output(&net, w), span = up - (double)w[i];
            w[i] = keep;
            CHECK_NEAR((double)gradient[i], (high - low) / span, 2e-5);
        }
    }
    jets_select(NULL);
    arena_clear(&mem);
}

TEST(both_instruction_sets_give_the_same_bits)
{
    arena mem = {0};
    jets_network net;
    const jets_shape shape = {FEATURES, WIDTH};
    float w[WEIGHTS], gradient[2][WEIGHTS] = {{0}};
    fill_random(w, WEIGHTS, 3);
    CHECK_OK(jets_alloc(&net, &mem, &shape, POINTS));
    rng r = rng_at(1, 8);
    for (int i = 0; i < POINTS * 4 * FEATURES; i++) net.features[i] = rng_normal(&r);
    for (int i = 0; i < POINTS * 4; i++) net.output_seed[i] = rng_normal(&r);
    for (int set = 0; set < 2; set++) {
        jets_select(set ? "avx2" : "portable");
        jets_run(&net, w);
        jets_add_gradient(&net, gradient[set]);
    }
    CHECK(!memcmp(gradient[0], gradient[1], sizeof gradient[0]));
    jets_select(NULL);
    arena_clear(&mem);
}

// ---- tables ----

static void check_radial(radial_form form)
{
    arena mem = {0};
    radial_table table;
    float w[WEIGHTS], gradient[WEIGHTS] = {0};
    const radial_spec spec = {.form = form,
                              .low = 0.4,
                              .high = 1.6,
                              .cut = form == RADIAL_LOG ? 1.7 : 0.0,
                              .nodes = 24,
                              .width = WIDTH};
    fill_random(w, WEIGHTS, 4);
    CHECK_OK(radial_alloc(&table, &mem, &spec));
    radial_fill(&table, w);
    // Inside, at a node, and beyond both ends.
    const double places[] = {0.5, 0.93, table.first + 7 * table.step, 1.52, 0.1, 2.9};
    double seeds[6];
    for (int i = 0; i < 6; i++) {
        const double h = 1e-5;
        double r = places[i], force, slope, high, low, ignored;
        if (form == RADIAL_LOG && i == 2) r = exp(r);
        radial_force(&force, &slope, &table, r);
        radial_force(&high, &ignored, &table, r + h);
        radial_force(&low, &ignored, &table, r - h);
        CHECK_NEAR(slope, (high - low) / (2 * h), 1e-3 * (1 + fabs(slope)));
        CHECK_NEAR(force, (radial_energy(&table, r + h) - radial_energy(&table, r - h)) / (2 * h),
                   1e-7 * (1.0 + fabs(force)));
        seeds[i] = cos(3.0 * i);
        radial_add_seed(&table, r, seeds[i]);
    }
    // Between nodes the cubic is near the network itself.
    double out[4], force, slope, f[8] = {0};
    radial_force(&force, &slope, &table, 0.93);
    if (form == RADIAL_LINEAR) {
        f[0] = 4.0 * (0.93 - 0.4) / 1.2 - 2.0;
        f[1] = f[2] = 4.0 / 1.2;
        const jets_shape shape = radial_shape(&spec);
        jets_reference(out, &shape, w, f);
        CHECK_NEAR(force, out[JET_A], 1e-5);
    }
    radial_add_gradient(&table, gradient);
    const jets_shape shape = radial_shape(&spec);
    for (int k = 0; k < jets_parameter_count(&shape); k++) {
        const float keep = w[k];
        double sum[2] = {0}, at[2];
        for (int side = 0; side < 2; side++) {
            w[k] = keep + (side ? 1e-3f : -1e-3f);
            at[side] = (double)w[k];
            radial_fill(&table, w);
            for (int i = 0; i < 6; i++) {
                double r = places[i];
                if (form == RADIAL_LOG && i == 2) r = exp(r);
                radial_force(&force, &slope, &table, r);
                sum[side] += seeds[i] * force;
            }
        }
        w[k] = keep;
        CHECK_NEAR((double)gradient[k], (sum[1] - sum[0]) / (at[1] - at[0]),
                   1e-4 * (1.0 + fabs((double)gradient[k])));
    }
    arena_clear(&mem);
}

TEST(a_radial_force_is_the_derivative_of_its_energy_and_has_the_right_gradient)
{
    check_radial(RADIAL_LINEAR);
    check_radial(RADIAL_INVERSE);
    check_radial(RADIAL_LOG);
}

TEST(beyond_the_cut_there_is_no_force)
{
    arena mem = {0};
    radial_table table;
    float w[WEIGHTS];
    double force, slope;
    const radial_spec spec = {
        .form = RADIAL_LOG, .low = 0.2, .high = 1.4, .cut = 1.0, .nodes = 24, .width = WIDTH};
    fill_random(w, WEIGHTS, 4);
    CHECK_OK(radial_alloc(&table, &mem, &spec));
    radial_fill(&table, w);
    radial_force(&force, &slope, &table, 1.01);
    CHECK(force == 0.0 && slope == 0.0 && radial_energy(&table, 1.01) == 0.0);
    radial_force(&force, &slope, &table, 0.99);
    CHECK(force != 0.0);
    arena_clear(&mem);
}

TEST(a_plane_potential_has_the_right_derivatives_and_gradient)
{
    arena mem = {0};
    plane_table table;
    float w[WEIGHTS], gradient[WEIGHTS] = {0};
    const plane_spec spec = {.half = 1.2, .nodes = 12, .width = WIDTH};
    fill_random(w, WEIGHTS, 6);
    CHECK_OK(plane_alloc(&table, &mem, &spec));
    plane_fill(&table, w);
    const double places[][2] = {{0.11, -0.42}, {0.9, 1.1}, {1.25, -1.27}, {-0.6, 0.6}};
    double seed[4][2];
    for (int i = 0; i < 4; i++) {
        const double h = 1e-5, x = places[i][0], y = places[i][1];
        plane_jet at, right, left, up, down;
        plane_evaluate(&at, &table, x, y);
        plane_evaluate(&right, &table, x + h, y);
        plane_evaluate(&left, &table, x - h, y);
        plane_evaluate(&up, &table, x, y + h);
        plane_evaluate(&down, &table, x, y - h);
        CHECK_NEAR(at.x, (right.v - left.v) / (2 * h), 1e-8);
        CHECK_NEAR(at.y, (up.v - down.v) / (2 * h), 1e-8);
        CHECK_NEAR(at.xx, (right.x - left.x) / (2 * h), 1e-6);
        CHECK_NEAR(at.xy, (up.x - down.x) / (2 * h), 1e-6);
        CHECK_NEAR(at.yy, (up.y - down.y) / (2 * h), 1e-6);
        seed[i][0] = sin(2.0 * i + 1.0);
        seed[i][1] = cos(3.0 * i);
        plane_add_seed(&table, x, y, seed[i][0], seed[i][1]);
    }
    plane_add_gradient(&table, gradient);
    for (int k = 0; k < WEIGHTS; k++) {
        const float keep = w[k];
        double sum[2] = {0}, at[2];
        for (int side = 0; side < 2; side++) {
            w[k] = keep + (side ? 1e-3f : -1e-3f);
            at[side] = (double)w[k];
            plane_fill(&table, w);
            for (int i = 0; i < 4; i++) {
                plane_jet jet;
                plane_evaluate(&jet, &table, places[i][0], places[i][1]);
                sum[side] += seed[i][0] * jet.x + seed[i][1] * jet.y;
            }
        }
        w[k] = keep;
        CHECK_NEAR((double)gradient[k], (sum[1] - sum[0]) / (at[1] - at[0]), 2e-4);
    }
    arena_clear(&mem);
}

TEST(far_beyond_the_grid_the_force_is_constant)
{
    arena mem = {0};
    plane_table table;
    float w[WEIGHTS];
    plane_jet near, far;
    const plane_spec spec = {.half = 1.0, .nodes = 8, .width = WIDTH};
    fill_random(w, WEIGHTS, 6);
    CHECK_OK(plane_alloc(&table, &mem, &spec));
    plane_fill(&table, w);
    plane_evaluate(&near, &table, 50.0, 0.0);
    plane_evaluate(&far, &table, 1e9, 0.0);
    CHECK(near.x == far.x && isfinite(near.x));
    plane_evaluate(&far, &table, (double)NAN, 0.0);
    CHECK(isfinite(far.x));
    arena_clear(&mem);
}
