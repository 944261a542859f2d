// SPDX-License-Identifier: MIT
// The figures of [Higgins21], from records and arrays whose answer is known.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plumb/report.h"
#include "support/test.h"

enum { COUNT = 12, STEPS = 30, PAIRS = 3, LATENTS = 2 * PAIRS, SIZE = 4 };

static int64_t count_of(const char *text, const char *word)
{
    int64_t n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
    return n;
}

TEST(the_spring_has_kappa_1_and_needs_no_model)
{
    plumb_report *r;
    const char *svg;
    CHECK_OK(plumb_report_create(&r));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "paper-1"));
    assert_true(strstr(svg, "kappa of the map between them: 1.000") || strstr(svg, "not measured"));
    assert_non_null(strstr(svg, ">action J<"));
    assert_int_equal(plumb_report_figure_svg(&svg, r, "paper-2a"), PLUMB_EVALUE);
    plumb_report_free(r);
}

TEST(models_are_ranked_by_vpt_and_averaged_over_the_best_of_each_world)
{
    static const struct {
        const char *model, *world;
        int forward, backward, symetric;
    } models[] = {{"hgn++", "mass-spring", 900, 800, 1},
                  {"hgn++", "mass-spring", 400, 300, 1}, // not the best
                  {"hgn++", "pendulum", 100, 50, 0},
                  {"hgn", "pendulum", 20, 4, 0}};
    plumb_report *r;
    const char *svg;
    CHECK_OK(plumb_report_create(&r));
    for (int i = 0; i < 4; i++) {
        char name[16], text[400];
        snprintf(name, sizeof name, "m%d", i);
        snprintf(
            text, sizeof text,
            "{\"evaluate\": {\"model\": \"%s\", \"world\": \"%s\", \"vpt_forward\": 1, \"pr\": "
            "{\"r2\": 0.5, \"sym\": 1, \"symetric\": %d}, \"forecast\": {\"vpt\": %d, "
            "\"vpt_forward\": %d, \"vpt_backward\": %d}}}",
            models[i].model, models[i].world, models[i].symetric,
            (models[i].forward + models[i].backward) / 2, models[i].forward, models[i].backward);
        CHECK_OK(plumb_report_add_record(r, name, text));
    }
    CHECK_OK(plumb_report_figure_svg(&svg, r, "paper-2a"));
    assert_non_null(strstr(svg, "hgn++, best of each of 2 worlds: VPT forward 500, backward 425"));
    assert_non_null(strstr(svg, "(paper, 13 worlds: 267 and 178)"));
    assert_non_null(strstr(svg, "hgn, best of each of 1 world: VPT forward 20, backward 4"));
    // Green discs: one in the legend, and the two that pass.
    assert_int_equal(count_of(svg, "fill=\"#3c8d63\""), 3);
    plumb_report_free(r);
}

TEST(routes_say_how_many_trajectories_each_needs)
{
    plumb_report *r;
    const char *svg;
    CHECK_OK(plumb_report_create(&r));
    for (int i = 0; i < 4; i++) {
        // Polynomials pass from 20 trajectories on; the network overfits below 64.
        const int count = 10 << i;
        char name[8], text[400];
        snprintf(name, sizeof name, "m%d", i);
        snprintf(text, sizeof text,
                 "{\"method\": \"pr\", \"r2\": 1, \"r2_heldout\": %d, \"sym\": 0.01, "
                 "\"symetric\": %d, \"trajectories\": %d, \"mlp\": {\"r2\": %d, \"r2_train\": 1, "
                 "\"r2_heldout\": %d, \"sym\": 0.01, \"symetric\": %d, \"train_trajectories\": "
                 "%d}}",
                 i > 0, i > 0, count, i > 2, i > 2, i > 2, 4 * count / 5);
        CHECK_OK(plumb_report_add_record(r, name, text));
        // One number of trajectories is no figure.
        if (!i) assert_int_equal(plumb_report_figure_svg(&svg, r, "routes"), PLUMB_EVALUE);
    }
    CHECK_OK(plumb_report_figure_svg(&svg, r, "routes"));
    assert_non_null(strstr(svg, "polynomials: SyMetric is 1 from 20 trajectories on"));
    assert_non_null(strstr(svg, "network: SyMetric is 1 from 64 trajectories on"));
    plumb_report_free(r);
}

// A model with a pair that moves and latents q1 and q2 that are constants; p1 and p2 say nothing.
static plumb_report *moving_model(void)
{
    static double latent[COUNT][STEPS][LATENTS], truth[COUNT][STEPS][2], parameters[COUNT][5],
        variance[COUNT][LATENTS];
    static float moved[LATENTS][3][20][LATENTS], drawn[LATENTS][3][5][SIZE][SIZE][1];
    static uint8_t frames[COUNT][STEPS][SIZE][SIZE][1];
    for (int i = 0; i < COUNT; i++) {
        // Constants of mass-spring+c: k, m, two offsets, the color.
        parameters[i][0] = 2;
        parameters[i][1] = 1 + 0.1 * i;
        parameters[i][2] = sin(9.1 * i);
        parameters[i][3] = cos(5.3 * i);
        parameters[i][4] = i % 3;
        for (int k = 0; k < LATENTS; k++) variance[i][k] = k > PAIRS ? 1 : 0.01;
        for (int t = 0; t < STEPS; t++) {
            const double angle = 0.3 * t + i, radius = 1 + 0.05 * i;
            truth[i][t][0] = radius * cos(angle), truth[i][t][1] = -radius * sin(angle);
            latent[i][t][0] = truth[i][t][0], latent[i][t][PAIRS] = truth[i][t][1];
            latent[i][t][1] = -parameters[i][1];             // the mass, reversed
            latent[i][t][2] = parameters[i][4] == 1 ? 5 : 0; // the color, which is no order
        }
    }
    memset(frames, 128, sizeof frames);
    plumb_report *r;
#define VIEW(array, type, ...)                                                        \
    plumb_array_view(array, type, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                     (int64_t[]){__VA_ARGS__})
    const plumb_named_array arrays[] = {
        {"latent", VIEW(latent, PLUMB_FLOAT64, COUNT, STEPS, LATENTS)},
        {"truth", VIEW(truth, PLUMB_FLOAT64, COUNT, STEPS, 2)},
        {"variance", VIEW(variance, PLUMB_FLOAT64, COUNT, LATENTS)},
        {"frames", VIEW(frames, PLUMB_UINT8, COUNT, STEPS, SIZE, SIZE, 1)},
        {"prediction", VIEW(frames, PLUMB_UINT8, COUNT, STEPS, SIZE, SIZE, 1)},
        {"parameters", VIEW(parameters, PLUMB_FLOAT64, COUNT, 5)},
        {"traversal_states", VIEW(moved, PLUMB_FLOAT32, LATENTS, 3, 20, LATENTS)},
        {"traversal_frames", VIEW(drawn, PLUMB_FLOAT32, LATENTS, 3, 5, SIZE, SIZE, 1)},
    };
#undef VIEW
    CHECK_OK(plumb_report_create(&r));
    CHECK_OK(plumb_report_add_record(
        r, "m",
        "{\"evaluate\": {\"world\": \"mass-spring+c\", \"vpt_forward\": 1, \"pr\": {\"r2\": 1, "
        "\"sym\": 0, \"symetric\": 1, \"order\": 1}}}"));
    CHECK_OK(plumb_report_add_arrays(r, "m", arrays, 8));
    return r;
}

TEST(four_videos_have_rows_over_time_and_strips_of_frames)
{
    const char *svg;
    plumb_report *r = moving_model();
    CHECK_OK(plumb_report_figure_svg(&svg, r, "paper-2b"));
    assert_non_null(strstr(svg, ">q, 3<"));
    assert_null(strstr(svg, ">p, 0<"));
    assert_non_null(strstr(svg, "1 of 2 coordinates of 4 of 12 videos"));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "paper-3d"));
    assert_non_null(strstr(svg, ">q, 3<"));
    assert_non_null(strstr(svg, ">p, 3<"));
    CHECK_OK(plumb_report_figure_svg(&svg, r, "paper-3abc"));
    // The pair as a cloud, the two constants as points.
    assert_non_null(strstr(svg, ">p0<"));
    assert_non_null(strstr(svg, ">q1<"));
    assert_non_null(strstr(svg, ">q2<"));
    assert_null(strstr(svg, ">p1<"));
    assert_non_null(strstr(svg, ">model 3<"));
    assert_non_null(strstr(svg, ">29<")); // the last frame
    for (int64_t i = 0; i < plumb_report_figure_count(r); i++)
        assert_null(strstr(plumb_report_figure_name(r, i), "paper"));
    plumb_report_free(r);
}

TEST(a_constant_latent_is_named_by_its_constant)
{
    const char *svg;
    plumb_report *r = moving_model();
    CHECK_OK(plumb_report_figure_svg(&svg, r, "paper-3e"));
    assert_non_null(strstr(svg, ">q0 = -2<"));
    assert_non_null(strstr(svg, ">p0 = 2<"));
    assert_null(strstr(svg, ">p1 = 2<")); // it says nothing
    // k never changes and is left out. The mass and the color are 1.00; q0 moves and has no row.
    assert_null(strstr(svg, ">k<"));
    assert_non_null(strstr(svg, ">color_index<"));
    assert_int_equal(count_of(svg, ">1.00<"), 2);
    plumb_report_free(r);
}
