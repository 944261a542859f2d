// SPDX-License-Identifier: MIT
// One body per loop, compiled once per instruction set. No fused multiply-adds, and division and
// root are exact everywhere, so all sets give the same bits.
#include "engine/adam.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"

typedef struct constants {
    float scale, keep1, take1, keep2, take2, first, second, rate, epsilon;
} constants;

typedef struct kernels {
    void (*step)(float *restrict, float *restrict, float *restrict, const float *restrict, int64_t,
                 const constants *);
    void (*add)(float *restrict, const float *restrict, int64_t);
    double (*squares)(const float *, int64_t);
} kernels;

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

static const cpu_variant sets[] = {CPU_AVX512(avx512) CPU_AVX2(avx2) CPU_PORTABLE(portable)};
static const kernels *chosen = &portable;

bool adam_select(const char *set)
{
    const cpu_variant *k = cpu_choose(sets, set);
    if (k) chosen = k->kernels;
    return k;
}

__attribute__((constructor)) static void choose(void)
{
    adam_select(NULL);
}

// 1 - beta^time, the sum of the weights so far.
static double weights(double beta, int64_t time)
{
    return 1.0 - pow(beta, (double)time);
}

void adam_step(float *restrict value, float *restrict m, float *restrict v,
               const float *restrict gradient, int64_t count, const adam *a, double rate,
               double scale, int64_t time)
{
    assert(time >= 1);
    const constants k = {
        .scale = (float)scale,
        .keep1 = (float)a->beta1,
        .take1 = (float)(1.0 - a->beta1),
        .keep2 = (float)a->beta2,
        .take2 = (float)(1.0 - a->beta2),
        .first = (float)weights(a->beta1, time),
        .second = (float)weights(a->beta2, time),
        .rate = (float)rate,
        .epsilon = (float)a->epsilon,
    };
    chosen->step(value, m, v, gradient, count, &k);
}

void adam_step_reference(double *restrict value, double *restrict m, double *restrict v,
                         const double *restrict gradient, int64_t count, const adam *a, double rate,
                         double scale, int64_t time)
{
    assert(time >= 1);
    const double first = weights(a->beta1, time), second = weights(a->beta2, time);
    for (int64_t i = 0; i < count; i++) {
        const double g = gradient[i] * scale;
        m[i] = a->beta1 * m[i] + (1.0 - a->beta1) * g;
        v[i] = a->beta2 * v[i] + (1.0 - a->beta2) * (g * g);
        value[i] -= rate * (m[i] / first) / (sqrt(v[i] / second) + a->epsilon);
    }
}

void adam_add(float *restrict sum, const float *restrict other, int64_t count)
{
    chosen->add(sum, other, count);
}

double adam_squares(const float *x, int64_t count)
{
    return chosen->squares(x, count);
}

double adam_clip_factor(double norm, double clip)
{
    return clip > 0.0 && norm > clip ? clip / norm : 1.0;
}

double adam_schedule_rate(const adam_schedule *s, int64_t step)
{
    if (step < s->warmup) return s->rate * (double)(step + 1) / (double)s->warmup;
    if (s->decay == ADAM_CONSTANT) return s->rate;
    double start = s->hold * (double)s->steps;
    if (start < (double)s->warmup) start = (double)s->warmup;
    if ((double)step < start) return s->rate;
    const double length = (double)s->steps - start;
    double way = length > 0.0 ? ((double)step - start) / length : 1.0;
    if (way > 1.0) way = 1.0;
    return s->rate * (s->last + (1.0 - s->last) * 0.5 * (1.0 + cos(0x1.921fb54442d18p+1 * way)));
}
