// SPDX-License-Identifier: MIT
// One training step of HGN++ (loss, all gradients, Adam) on one core: seconds, memory, arithmetic.
// bench/train compiles and runs it; see there.
//
//     train CHANNELS BATCH FRAMES SECONDS      FRAMES decoded of 60; 0 all
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "engine/adam.h"
#include "engine/fused_loop.h"
#include "engine/kernels/gemm.h"
#include "engine/kernels/kernel_set.h"
#include "math/rng.h"
#include "models/latent_dynamics/train_step.h"

static double seconds(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *zeros(int64_t count, size_t size)
{
    void *p = calloc((size_t)count, size);
    if (!p) abort();
    return p;
}

// GFLOP/s of a large product: what the machine can do at best by plain sums.
static double peak(void)
{
    enum { N = 768 };
    float *a = zeros(N * N, 4), *b = zeros(N * N, 4), *c = zeros(N * N, 4);
    float *scratch = zeros(gemm_scratch(N, N, N, false, false) + 1, 4);
    double best = 1e9;
    for (int i = 0; i < 10; i++) {
        double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
        gemm_float(c, a, b, N, N, N, false, false, false, scratch);
        double took = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun;
        best = took < best ? took : best;
    }
    free(a), free(b), free(c), free(scratch);
    return 2e-9 * N * N * N / best;
}

// A batch of noise: what is in the pictures does not change the time.
static hgn_item *draw_batch(int64_t batch, int64_t decoded, const hgn_config *c)
{
    int64_t length = hgn_frame_plan_make(c).length, frame = hgn_frame_size(c);
    hgn_item *item = zeros(batch, sizeof *item);
    rng r = rng_at(1, 1);
    for (int64_t b = 0; b < batch; b++) {
        uint8_t *clip = zeros(length * frame, 1);
        float *noise = zeros(c->latent, 4);
        int64_t *times = zeros(decoded, 8);
        double *weight = zeros(decoded, 8);
        for (int64_t i = 0; i < length * frame; i++) clip[i] = (uint8_t)rng_below(&r, 256);
        for (int64_t i = 0; i < c->latent; i++) noise[i] = (float)rng_normal(&r);
        for (int64_t j = 0; j < decoded; j++) {
            times[j] = j * 60 / decoded + rng_below(&r, 60 / decoded);
            weight[j] = 1.0 / (double)(batch * decoded * frame);
        }
        item[b] = (hgn_item){.clip = clip, .noise = noise, .times = times, .weight = weight};
    }
    return item;
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    // BENCH_INSTRUCTIONS=avx2: how fast it would be on a lesser processor.
    const char *set = getenv("BENCH_INSTRUCTIONS");
    if (set && (!kernel_set_select(set) || !fused_loop_select(set))) return 2;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);

    int64_t channels = atoll(argv[1]), batch = atoll(argv[2]), decoded = atoll(argv[3]);
    if (!decoded) decoded = 60;
    hgn_config c = hgn_config_plus_plus();
    for (int b = 0; b < 3; b++) {
        for (int i = 0; i < 3; i++) c.encoder[b].width[i] = channels;
        for (int i = 0; i < c.decoder_depth[b]; i++) c.decoder_width[b][i] = channels;
    }
    int64_t frames = batch * decoded, group = channels >= 64 ? 8 : channels >= 32 ? 16 : 32;
    if (group > frames) group = frames;
    params p = {0};
    hgn_step *step;
    hgn_replica *replica;
    double begun = seconds(CLOCK_MONOTONIC);
    if (hgn_step_create(
            &step, &p, &c,
            &(hgn_step_spec){
                .batch = batch, .decoded = decoded, .microbatch = group, .nested = false}))
        return 1;
    float *value = zeros(p.size, 4), *gradient = zeros(p.size, 4);
    float *m = zeros(p.size, 4), *v = zeros(p.size, 4);
    hgn_step_errors errors = {
        .kl_weight = 1e-6, .l2 = zeros(frames, 8), .kl = zeros(batch, 8), .state = zeros(batch, 8)};
    params_init_values(&p, value, 1);
    if (hgn_replica_create(&replica, step, value)) return 1;
    double built = seconds(CLOCK_MONOTONIC) - begun;
    hgn_item *item = draw_batch(batch, decoded, &c);
    const adam_options a = {0.9, 0.999, 1e-8};

    double best = 1e9, best_wall = 1e9, limit = atof(argv[4]), start = seconds(CLOCK_MONOTONIC);
    for (int64_t i = 1; i <= 3 || seconds(CLOCK_MONOTONIC) - start < limit; i++) {
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
        memset(gradient, 0, (size_t)p.size * sizeof *gradient);
        hgn_replica_run(replica, item, gradient, &errors);
        adam_step(value, m, v, gradient, p.size, &(adam_update){&a, 1.5e-4, 1.0, i});
        cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        wall = seconds(CLOCK_MONOTONIC) - wall;
        best = cpu < best ? cpu : best;
        best_wall = wall < best_wall ? wall : best_wall;
    }
    program_statistics roll = program_stats(hgn_step_rollout_program(step));
    program_statistics decode = program_stats(hgn_step_decoder_program(step));
    double work = 1e-9 * (roll.flops + decode.flops * (double)((frames + group - 1) / group));
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("{\"cpu\": %.6f, \"wall\": %.6f, \"build\": %.4f, \"gflop\": %.4f, \"peak\": %.2f, "
           "\"block_mib\": %.1f, \"rss_mib\": %.1f}\n",
           best, best_wall, built, work, peak(),
           (double)(roll.block_bytes + roll.scratch_bytes + decode.block_bytes +
                    decode.scratch_bytes) /
               1048576.0,
           (double)use.ru_maxrss / 1024.0);
    return 0;
}
