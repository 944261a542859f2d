// SPDX-License-Identifier: MIT
// One body for the loop, compiled once per instruction set. There are no fused multiply-adds, and
// division and square root are correctly rounded everywhere, so all sets give the same bits.
#include "engine/adam.h"

#include <assert.h>
#include <math.h>

#include "base/cpu.h"

// What the loop needs, in float.
typedef struct adam_constants {
    float scale, rate, epsilon;
    float keep1, take1;             // beta1 and 1 - beta1
    float keep2, take2;             // beta2 and 1 - beta2
    float weight_sum1, weight_sum2; // 1 - beta1^time and 1 - beta2^time
} adam_constants;

typedef struct adam_kernels {
    void (*step)(float *restrict value, float *restrict m, float *restrict v,
                 const float *restrict gradient, int64_t count, const adam_constants *constants);
} adam_kernels;

#define SET portable
#define TARGET
#include "engine/adam_template.h"

#if defined(__x86_64__)
#define SET avx2
#define TARGET __attribute__((target("avx2")))
#include "engine/adam_template.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#include "engine/adam_template.h"
#endif

static const cpu_variant variants[] = {CPU_AVX512(avx512) CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(adam_kernels, variants, portable);

bool adam_select(const char *set)
{
    return choose_kernels(set);
}

// 1 - beta^time: the sum of the weights of all gradients so far, by which the means are divided.
static double sum_of_weights(double beta, int64_t time)
{
    return 1.0 - pow(beta, (double)time);
}

void adam_step(float *restrict value, float *restrict m, float *restrict v,
               const float *restrict gradient, int64_t count, const adam_update *update)
{
    assert(update->time >= 1);
    const adam_options *options = update->options;
    const adam_constants constants = {
        .scale = (float)update->scale,
        .rate = (float)update->rate,
        .epsilon = (float)options->epsilon,
        .keep1 = (float)options->beta1,
        .take1 = (float)(1.0 - options->beta1),
        .keep2 = (float)options->beta2,
        .take2 = (float)(1.0 - options->beta2),
        .weight_sum1 = (float)sum_of_weights(options->beta1, update->time),
        .weight_sum2 = (float)sum_of_weights(options->beta2, update->time),
    };
    chosen->step(value, m, v, gradient, count, &constants);
}

void adam_step_reference(double *restrict value, double *restrict m, double *restrict v,
                         const double *restrict gradient, int64_t count, const adam_update *update)
{
    assert(update->time >= 1);
    const double beta1 = update->options->beta1, beta2 = update->options->beta2;
    const double first = sum_of_weights(beta1, update->time);
    const double second = sum_of_weights(beta2, update->time);
    const double rate = update->rate, epsilon = update->options->epsilon;
    // m and v are running means of g and g^2; divided by their weight sums they are unbiased. value
    // -= rate m^ / (sqrt(v^) + epsilon) [Kingma15, algorithm 1].
    for (int64_t i = 0; i < count; i++) {
        const double g = gradient[i] * update->scale;
        m[i] = beta1 * m[i] + (1.0 - beta1) * g;
        v[i] = beta2 * v[i] + (1.0 - beta2) * (g * g);
        value[i] -= rate * (m[i] / first) / (sqrt(v[i] / second) + epsilon);
    }
}

// Gradients are multiplied by it, so that their norm is at most `clip`; 0 clips nothing.
double adam_clip_factor(double norm, double clip)
{
    return clip > 0.0 && norm > clip ? clip / norm : 1.0;
}

double adam_schedule_rate(const adam_schedule *schedule, int64_t step)
{
    const double rate = schedule->rate, last = schedule->last;
    // Linear rise.
    if (step < schedule->warmup) return rate * (double)(step + 1) / (double)schedule->warmup;
    if (schedule->decay == ADAM_CONSTANT) return rate;

    // Held until the fall begins.
    double start = schedule->hold * (double)schedule->steps;
    if (start < (double)schedule->warmup) start = (double)schedule->warmup;
    if ((double)step < start) return rate;

    // Half a cosine from 1 to `last`.
    const double length = (double)schedule->steps - start;
    double progress = length > 0.0 ? ((double)step - start) / length : 1.0;
    if (progress > 1.0) progress = 1.0;
    return rate * (last + (1.0 - last) * 0.5 * (1.0 + cos(0x1.921fb54442d18p+1 * progress)));
}
