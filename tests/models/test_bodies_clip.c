// SPDX-License-Identifier: MIT
// The gradient of a clip by every parameter, the state of a window, and inference.
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "math/rng.h"
#include "models/bodies/infer.h"
#include "models/bodies/tracks.h"
#include "support/test.h"

enum { LENGTH = 13, HORIZON = 4, PIXELS = 32, VALUES = PIXELS * PIXELS * 3 };

typedef struct bench {
    arena mem;
    params params;
    bodies_config config;
    bodies_layout layout;
    bodies_law law;
    window_weights weights;
    clip_memory memory;
    float *parameters, *gradient;
    double xy[LENGTH * 4], radius[2];
    sprite_scene scene;
    clip_frames drawn;
} bench;

static const bodies_settings small = {.structure = BODIES_POINTS,
                                      .objects = 2,
                                      .rows = 3,
                                      .window = 5,
                                      .degree = 3,
                                      .inference_frames = 11,
                                      .track_noise = 0.01,
                                      .horizons = "2,4",
                                      .horizons_end = 0.5,
                                      .pair = PAIR_INVERSE,
                                      .field = FIELD_ON,
                                      .masses = MASSES_FREE,
                                      .width = 8,
                                      .nodes = 16,
                                      .grid_nodes = 8,
                                      .output_scale = 0.5,
                                      .dt = 0.1,
                                      .substeps = 2};

// Two discs that overlap in some frames, the second in front, before a texture.
static void start_scene(bench *b)
{
    float *background = ARENA_ALLOC(&b->mem, float, VALUES);
    for (int i = 0; i < VALUES; i++) background[i] = (float)(0.4 + 0.1 * sin(0.7 * i));
    b->scene = (sprite_scene){.height = PIXELS,
                              .width = PIXELS,
                              .channels = 3,
                              .background = background,
                              .edge = 2.0,
                              .count = 2,
                              .sprites = {{.radius = 4.0, .colour = {1.0, 0.1, 0.2}, .depth = 1},
                                          {.radius = 5.0, .colour = {0.0, 0.9, 0.8}}}};
}

// Frames of objects at other places than the tracks say, but near them.
static void draw_tracks(bench *b)
{
    double picture[VALUES];
    uint8_t *frames = ARENA_ALLOC(&b->mem, uint8_t, LENGTH * VALUES);
    for (int t = 0; t < LENGTH; t++) {
        double xy[4];
        memcpy(xy, b->xy + 4 * t, sizeof xy);
        tracks_to_pixels(xy, &b->config);
        for (int i = 0; i < 4; i++) xy[i] += 0.3 * sin(2.0 * t + i);
        sprites_draw_reference(picture, &b->scene, xy);
        for (int i = 0; i < VALUES; i++)
            frames[t * VALUES + i] = (uint8_t)(255.0 * picture[i] + 0.5);
    }
    b->drawn = (clip_frames){
        .frames = frames,
        .scene = &b->scene,
        .scale = clip_find_scale(&b->scene, &b->config, b->xy, frames, &b->memory.sprites)};
}

// Random parameters, and tracks of two objects that turn about each other.
static void start_bench(bench *b, const bodies_settings *options)
{
    const video_set frames = {.height = 32, .width = 32, .channels = 3};
    *b = (bench){.radius = {2.0, 3.1}};
    CHECK_OK(bodies_settings_config(&b->config, options, &frames));
    CHECK_OK(bodies_layout_build(&b->layout, &b->params, &b->config, &frames));
    b->parameters = ARENA_ALLOC(&b->mem, float, b->params.size);
    b->gradient = ARENA_ALLOC(&b->mem, float, b->params.size);
    params_init_values(&b->params, b->parameters, 3);
    rng r = rng_at(4, 1);
    for (int64_t i = b->layout.log_mass; i < b->params.size; i++)
        b->parameters[i] += (float)(0.1 * rng_normal(&r));
    b->parameters[b->layout.range] = 0.4f;
    b->parameters[b->layout.range + 1] = 1.2f;
    b->parameters[b->layout.mean_size] = 2.4f;
    b->parameters[b->layout.half] = 1.3f;
    CHECK_OK(bodies_law_alloc(&b->law, &b->mem, &b->config, &b->layout, b->parameters));
    start_scene(b);
    CHECK_OK(clip_alloc(&b->memory, &b->mem, &b->config, LENGTH, &b->scene));
    clip_find_weights(&b->weights, &b->config);
    for (int t = 0; t < LENGTH; t++) {
        const double angle = 0.3 + 0.15 * t;
        b->xy[4 * t] = 0.4 * cos(angle) + 0.05;
        b->xy[4 * t + 1] = 0.4 * sin(angle) - 0.1;
        b->xy[4 * t + 2] = b->xy[4 * t] + 0.5 * cos(1.0 - 1.3 * angle);
        b->xy[4 * t + 3] = b->xy[4 * t + 1] + 0.5 * sin(1.0 - 1.3 * angle);
    }
}

static void stop_bench(bench *b)
{
    params_clear(&b->params);
    arena_clear(&b->mem);
}

static double run_clip(bench *b, float *gradient)
{
    clip_sums sums = {0};
    double error;
    memset(gradient, 0, (size_t)b->params.size * sizeof *gradient);
    bodies_law_fill(&b->law, b->parameters);
    double loss = clip_add_gradient(&error,
                                    &(clip_task){.law = &b->law,
                                                 .weights = &b->weights,
                                                 .parameters = b->parameters,
                                                 .weight = 1.0,
                                                 .sums = &sums,
                                                 .gradient = gradient,
                                                 .memory = &b->memory},
                                    &(bodies_clip){.xy = b->xy,
                                                   .length = LENGTH,
                                                   .radius = b->radius,
                                                   .row = b->config.rows - 1,
                                                   .drawn = b->drawn.frames ? &b->drawn : NULL});
    loss += 0.01 * bodies_law_add_penalty(&b->law, 0.01);
    bodies_law_add_gradient(&b->law, gradient);
    clip_add_sums(gradient, &sums, &b->law);
    return loss;
}

static void check_gradient(const bodies_settings *options, bool drawn)
{
    bench b;
    start_bench(&b, options);
    if (drawn) draw_tracks(&b);
    float *ignored = ARENA_ALLOC(&b.mem, float, b.params.size);
    run_clip(&b, b.gradient);
    int64_t changed = 0;
    for (int64_t i = b.layout.log_mass; i < b.params.size; i++) {
        const float keep = b.parameters[i];
        b.parameters[i] = keep + 1e-3f;
        const double high = run_clip(&b, ignored), up = (double)b.parameters[i];
        b.parameters[i] = keep - 1e-3f;
        const double low = run_clip(&b, ignored), down = (double)b.parameters[i];
        b.parameters[i] = keep;
        const double want = (high - low) / (up - down);
        changed += want != 0.0;
        CHECK_NEAR((double)b.gradient[i], want, 2e-3 * (0.1 + fabs(want)));
    }
    CHECK(changed > 100);
    stop_bench(&b);
}

TEST(the_gradient_of_points_is_that_of_differences)
{
    check_gradient(&small, false);
}

TEST(the_gradient_of_points_with_constants_is_that_of_differences)
{
    bodies_settings options = small;
    options.constants = true;
    options.masses = MASSES_BY_SIZE;
    check_gradient(&options, false);
}

TEST(the_gradient_of_a_chain_is_that_of_differences)
{
    bodies_settings options = small;
    options.structure = BODIES_CHAIN;
    check_gradient(&options, false);
    options.constants = true;
    options.masses = MASSES_BY_SIZE;
    check_gradient(&options, false);
}

TEST(the_gradient_of_drawn_frames_is_that_of_differences)
{
    bodies_settings options = small;
    check_gradient(&options, true);
    options.periodic = true;
    check_gradient(&options, true);
    options.periodic = false;
    options.structure = BODIES_CHAIN;
    options.constants = true;
    options.masses = MASSES_BY_SIZE;
    check_gradient(&options, true);
}

TEST(the_scale_makes_the_error_of_a_frame_that_of_its_places)
{
    // Objects that are 0.2 pixels away, each on one axis.
    bench b;
    start_bench(&b, &small);
    draw_tracks(&b);
    double picture[VALUES], at[4], moved[4], square = 0.0;
    const double *far = b.xy + 4 * 6; // no overlap
    uint8_t frame[VALUES];
    memcpy(at, far, sizeof at);
    tracks_to_pixels(at, &b.config);
    memcpy(moved, at, sizeof at);
    moved[0] += 0.2, moved[3] -= 0.2;
    sprites_draw_reference(picture, &b.scene, at);
    for (int i = 0; i < VALUES; i++) frame[i] = (uint8_t)(255.0 * picture[i] + 0.5);
    const double scale = clip_find_scale(&b.scene, &b.config, far, frame, &b.memory.sprites);
    float *drawn = ARENA_ALLOC(&b.mem, float, VALUES);
    square = VALUES * sprites_error(&b.scene, moved, frame, drawn, &b.memory.sprites);
    CHECK_NEAR(square / scale, 0.08, 0.02);
    stop_bench(&b);
}

TEST(the_window_gives_value_and_slope_of_a_polynomial)
{
    bench b;
    start_bench(&b, &small);
    double value = 0.0, slope = 0.0;
    for (int t = 0; t < 5; t++) {
        const double s = 0.1 * (t - 2), x = 2.0 - s + 3.0 * s * s - 4.0 * s * s * s;
        value += b.weights.value[t] * x;
        slope += b.weights.slope[t] * x;
    }
    CHECK_NEAR(value, 2.0, 1e-12);
    CHECK_NEAR(slope, -1.0, 1e-11);
    stop_bench(&b);
}

// A state that is rolled out with the model's own law is found again.
static void check_inference(const bodies_settings *options, bool backward, double tolerance)
{
    bench b;
    double q_out[LENGTH * 4], xy[LENGTH * 4], row[BODIES_MAX_CONSTANTS];
    bodies_constants constants;
    bodies_state state;
    infer_result found;
    start_bench(&b, options);
    bodies_law_fill(&b.law, b.parameters);
    bodies_read_row(row, &b.law, b.parameters, 0);
    bodies_find_constants(&constants, &b.law, b.parameters, row, b.radius);
    clip_find_state(&state, &b.law, &constants, &b.weights, b.xy);
    const int n = infer_state_size(&b.config);
    infer_places(xy, &b.law, &constants, state.q);
    infer_roll(q_out, NULL, &b.law, &constants, state.q, state.p, 10);
    for (int t = 0; t < 10; t++) infer_places(xy + 4 * (t + 1), &b.law, &constants, q_out + t * n);
    CHECK_OK(infer_state(
        &found, &b.law, &b.weights, b.parameters,
        &(infer_input){.xy = xy, .frames = 11, .radius = b.radius, .backward = backward}));
    CHECK_EQUAL(found.at, backward ? 8 : 2);
    double places[4];
    infer_places(places, &b.law, &found.constants, found.q);
    for (int i = 0; i < 4; i++) CHECK_NEAR(places[i], xy[found.at * 4 + i], tolerance);
    // Its rollout leads back to the first state.
    infer_roll(q_out, NULL, &b.law, &found.constants, found.q, found.p, -found.at);
    infer_places(places, &b.law, &found.constants, q_out + (found.at - 1) * n);
    for (int i = 0; i < 4; i++) CHECK_NEAR(places[i], xy[i], tolerance);
    stop_bench(&b);
}

TEST(inference_finds_the_state_that_made_the_tracks)
{
    bodies_settings options = small;
    check_inference(&options, false, 2e-6);
    check_inference(&options, true, 2e-6);
    options.structure = BODIES_CHAIN;
    check_inference(&options, false, 2e-6);
    check_inference(&options, true, 2e-6);
}

TEST(a_circle_and_the_inner_object_of_a_chain_are_found)
{
    double xy[40 * 4];
    for (int t = 0; t < 40; t++) {
        const double q = 0.8 * sin(0.2 * t), r = 1.3 * cos(0.31 * t);
        xy[4 * t + 2] = 0.1 + 0.5 * sin(q);
        xy[4 * t + 3] = -0.2 - 0.5 * cos(q);
        xy[4 * t] = xy[4 * t + 2] + 0.4 * sin(r);
        xy[4 * t + 1] = xy[4 * t + 3] - 0.4 * cos(r);
    }
    const track_circle circle = tracks_fit_circle(xy + 2, 40, 4);
    CHECK_NEAR(circle.x, 0.1, 1e-6);
    CHECK_NEAR(circle.y, -0.2, 1e-6);
    CHECK_NEAR(circle.radius, 0.5, 1e-6);
    CHECK(tracks_order_chain(xy, 40, NULL));
    CHECK(!tracks_order_chain(xy, 40, (double[]){0.1, -0.2}));
    CHECK_NEAR(hypot(xy[0] - 0.1, xy[1] + 0.2), 0.5, 1e-12);
}

TEST(settings_that_do_not_fit_together_are_refused)
{
    bodies_config config;
    const video_set frames = {.height = 32, .width = 32, .channels = 3};
    bodies_settings options = small;
    options.window = 4;
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "is even");
    options = small, options.degree = 5;
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "degree=5");
    options = small, options.horizons = "3,x";
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "horizons");
    options = small, options.colours = 1, options.constants = true;
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "fewer than");
    options = small, options.profile = PROFILE_LEARNT, options.constants = true;
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "profile");
    options = small, options.structure = BODIES_CHAIN, options.objects = 3;
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "chain");
    options = small, options.constants = true, options.inference_frames = 0;
    CHECK_FAILS(bodies_settings_config(&config, &options, &frames), PLUMB_EVALUE, "inference");
}
