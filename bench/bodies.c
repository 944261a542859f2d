// SPDX-License-Identifier: MIT
// A training step of `bodies` (loss and all gradients), or the search for objects in frames, on one
// core: CPU seconds. bench/bodies compiles and runs it; see there.
//
//     bodies points|box|chain|perception SECONDS
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dataset/video_load.h"
#include "models/bodies/clip.h"
#include "models/bodies/perception.h"

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(plumb_status st)
{
    if (!st) return;
    fprintf(stderr, "bench-bodies: %s\n", plumb_last_error());
    exit(1);
}

typedef struct step_case {
    const char *name;
    bodies_settings settings;
    int batch;
} step_case;

// The sizes of the presets, at their longest horizon.
static const step_case cases[] = {
    {"points",
     {.objects = 2,
      .window = 9,
      .degree = 3,
      .horizons = "30",
      .pair = PAIR_LINEAR,
      .masses = MASSES_FREE,
      .width = 64,
      .nodes = 64,
      .grid_nodes = 24,
      .dt = 0.1,
      .substeps = 1},
     64},
    {"box",
     {.objects = 4,
      .periodic = true,
      .window = 9,
      .degree = 3,
      .horizons = "30",
      .pair = PAIR_LOG,
      .masses = MASSES_FREE,
      .width = 32,
      .nodes = 64,
      .grid_nodes = 24,
      .dt = 0.1,
      .substeps = 2},
     24},
    {"chain",
     {.structure = BODIES_CHAIN,
      .objects = 2,
      .window = 5,
      .degree = 4,
      .horizons = "25",
      .masses = MASSES_FREE,
      .width = 32,
      .nodes = 64,
      .grid_nodes = 24,
      .dt = 0.1,
      .substeps = 1},
     32},
};

// Objects on circles; what the tracks are does not change the time.
static double *make_tracks(arena *mem, const bodies_config *config, int64_t length)
{
    const int K = config->objects;
    double *xy = ARENA_ALLOC(mem, double, length * 2 * K);
    for (int64_t t = 0; t < length; t++)
        for (int k = 0; k < K; k++) {
            const double angle = 1.6 * k + 0.05 * (double)t,
                         radius = config->chain ? 0.3 * (k + 1) : 0.5;
            xy[(t * K + k) * 2] = radius * sin(angle);
            xy[(t * K + k) * 2 + 1] = -radius * cos(angle);
        }
    return xy;
}

static double time_step(const step_case *c, double seconds)
{
    const video_set frames = {.height = 32, .width = 32, .channels = 3};
    arena mem = {0};
    params layout_params = {0};
    bodies_config config;
    bodies_layout layout;
    bodies_law law;
    window_weights weights;
    clip_memory memory;
    check(bodies_settings_config(&config, &c->settings, &frames));
    check(bodies_layout_build(&layout, &layout_params, &config, &frames));
    float *parameters = ARENA_ALLOC(&mem, float, layout_params.size);
    float *gradient = ARENA_ALLOC(&mem, float, layout_params.size);
    params_init_values(&layout_params, parameters, 1);
    parameters[layout.range] = 0.3f;
    parameters[layout.range + 1] = 1.0f;
    for (int k = 0; k < config.objects && config.chain; k++)
        parameters[layout.rows + ROW_LENGTH + k] = (float)log(0.3);
    const int64_t length = bodies_clip_length(&config, 0);
    double *xy = make_tracks(&mem, &config, length), radius[SPRITES_MAX];
    for (int k = 0; k < SPRITES_MAX; k++) radius[k] = 1.0;
    check(bodies_law_alloc(&law, &mem, &config, &layout, parameters));
    check(clip_alloc(&memory, &mem, &config, length, NULL));
    clip_find_weights(&weights, &config);
    double best = 1e9, error, loss = 0.0;
    const double begun = cpu_seconds();
    while (cpu_seconds() - begun < seconds) {
        const double start = cpu_seconds();
        clip_sums sums = {0};
        memset(gradient, 0, (size_t)layout_params.size * sizeof *gradient);
        bodies_law_fill(&law, parameters);
        for (int b = 0; b < c->batch; b++)
            loss += clip_add_gradient(&error,
                                      &(clip_task){.law = &law,
                                                   .weights = &weights,
                                                   .parameters = parameters,
                                                   .weight = 1.0 / c->batch,
                                                   .sums = &sums,
                                                   .gradient = gradient,
                                                   .memory = &memory},
                                      &(bodies_clip){.xy = xy, .length = length, .radius = radius});
        bodies_law_add_gradient(&law, gradient);
        clip_add_sums(gradient, &sums, &law);
        best = fmin(best, cpu_seconds() - start);
    }
    if (!isfinite(loss)) fprintf(stderr, "bench-bodies: the loss is not finite\n");
    params_clear(&layout_params);
    arena_clear(&mem);
    return best;
}

// Seconds per thousand frames of two-body; sprites are learnt before.
static double time_perception(double seconds)
{
    enum { VIDEOS = 20, FRAMES = 50 };
    arena mem = {0};
    video_set videos;
    perception seen;
    track_set tracks;
    video_request request = {
        .seed = 1, .count = VIDEOS, .steps = FRAMES, .image = 32, .threads = 1};
    check(plumb_world_find(&request.world, "two-body"));
    check(video_load_world(&videos, &mem, &request));
    const perception_options options = {.objects = 2, .colours = 2, .seed = 1, .threads = 1};
    check(perception_learn(&seen, &mem, &videos, &options));
    double best = 1e9;
    const double begun = cpu_seconds();
    while (cpu_seconds() - begun < seconds) {
        const double start = cpu_seconds();
        const arena_mark mark = arena_get_mark(&mem);
        check(perception_track(&tracks, &mem, &seen, &videos, 1));
        arena_rewind(&mem, mark);
        best = fmin(best, (cpu_seconds() - start) * 1000.0 / (VIDEOS * FRAMES));
    }
    arena_clear(&mem);
    return best;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 2 ? atof(argv[2]) : 2.0;
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(argv[1], cases[i].name)) {
            printf("{\"cpu\": %.9f}\n", time_step(&cases[i], seconds));
            return 0;
        }
    if (argc > 1 && !strcmp(argv[1], "perception")) {
        printf("{\"cpu\": %.9f}\n", time_perception(seconds));
        return 0;
    }
    fprintf(stderr, "usage: bench-bodies points|box|chain|perception SECONDS\n");
    return 2;
}
