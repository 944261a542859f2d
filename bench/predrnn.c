// SPDX-License-Identifier: MIT
// Seconds of a PredRNN training step, without the optimiser, and of watching a clip, on one core.
// bench/predrnn compiles and runs it; see there.
//     predrnn train|watch IMAGE PATCH LAYERS HIDDEN KERNEL BATCH ROUNDS [plan]
#define _GNU_SOURCE
#include "models/predrnn/predrnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/fused_loop.h"
#include "engine/kernels/kernel_set.h"
#include "models/model_build.h"
#include "models/predrnn/predict.h"

enum { LENGTH = 15, CHANNELS = 3 };

static int64_t frame_of(const predrnn_config *c)
{
    return c->height * c->width * c->channels;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void line(void *to, const char *text)
{
    (void)to;
    fprintf(stderr, "%s\n", text);
}

static void check(plumb_status st)
{
    if (!st) return;
    fprintf(stderr, "%s\n", plumb_last_error());
    exit(1);
}

static uint8_t *make_clips(const predrnn_config *c, int64_t clips)
{
    const int64_t bytes = clips * LENGTH * frame_of(c);
    uint8_t *x = malloc((size_t)bytes);
    if (!x) abort();
    uint32_t s = 1;
    for (int64_t i = 0; i < bytes; i++) {
        s = s * 1664525u + 1013904223u;
        x[i] = (uint8_t)(s >> 24);
    }
    return x;
}

static double train(const predrnn_config *c, int64_t batch, int rounds, bool plan)
{
    params p = {0};
    predrnn_clip k;
    graph_program *ready;
    program_instance *i;
    check(predrnn_clip_build(&k, &p, c, batch, batch));
    int leaves = k.net.leaf_count;
    graph_node **output = malloc((size_t)(leaves + 1) * sizeof *output);
    float *value = calloc((size_t)p.size, sizeof *value), *sum = calloc((size_t)p.size, 4);
    uint8_t *clips = make_clips(c, batch);
    if (!output || !value || !sum) abort();
    output[0] = k.error;
    memcpy(output + 1, k.gradient, (size_t)leaves * sizeof *output);
    check(program_build(&ready, k.net.g, output, leaves + 1, PROGRAM_FAST));
    params_init_values(&p, value, 1);
    check(model_build_instance(&i, ready, &k.net, value));
    program_statistics r = program_stats(ready);
    fprintf(stderr, "%d nodes, %d steps, %d fused loops of %d, %.1f MB, %.1f GFLOP\n", r.nodes,
            r.steps, r.fused_loops, r.fused_ops, (double)r.block_bytes * 1e-6, r.flops * 1e-9);
    if (plan) program_print(ready, line, NULL);
    const int64_t frame = frame_of(c);
    double best = 1e30;
    for (int round = 0; round < rounds; round++) {
        double from = now();
        for (int64_t b = 0; b < batch; b++)
            for (int64_t t = 0; t < LENGTH; t++)
                predrnn_patch(instance_input(i, k.frame[t]) + b * frame,
                              clips + (b * LENGTH + t) * frame, c);
        instance_run(i, 0);
        model_build_add_gradient(sum, i, &k.net, 1);
        double took = now() - from;
        best = took < best ? took : best;
    }
    free(output), free(value), free(sum), free(clips);
    instance_free(i), program_free(ready), graph_free(k.net.g), params_clear(&p);
    return best;
}

static double watch(const predrnn_config *c, int64_t batch, int rounds)
{
    params p = {0};
    predrnn_step k;
    check(predrnn_step_build(&k, &p, c, 1, false));
    float *value = calloc((size_t)p.size, sizeof *value);
    double *error = calloc((size_t)(batch * LENGTH), sizeof *error), best = 1e30;
    uint8_t *clips = make_clips(c, batch);
    if (!value || !error) abort();
    params_init_values(&p, value, 1);
    model_predict_job job = {
        .frames = clips, .count = batch, .steps = LENGTH, .threads = 1, .error = error};
    for (int round = 0; round < rounds; round++) {
        double from = now();
        check(predrnn_predict_clips(c, &p, value, &job));
        double took = now() - from;
        best = took < best ? took : best;
    }
    free(value), free(error), free(clips);
    graph_free(k.net.g), params_clear(&p);
    return best;
}

int main(int count, char **word)
{
    if (count < 9) return 2;
    // BENCH_INSTRUCTIONS=avx2: how fast it would be on a lesser processor.
    const char *set = getenv("BENCH_INSTRUCTIONS");
    if (set && (!kernel_set_select(set) || !fused_loop_select(set))) return 2;
    predrnn_config c = {.height = atoi(word[2]),
                        .width = atoi(word[2]),
                        .channels = CHANNELS,
                        .patch = atoi(word[3]),
                        .layers = atoi(word[4]),
                        .hidden = atoi(word[5]),
                        .kernel = atoi(word[6]),
                        .clip_length = LENGTH};
    int64_t batch = atoi(word[7]);
    int rounds = atoi(word[8]);
    double seconds =
        !strcmp(word[1], "train") ? train(&c, batch, rounds, count > 9) : watch(&c, batch, rounds);
    printf("{\"cpu\": %.6f}\n", seconds);
    return 0;
}
