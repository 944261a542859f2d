// SPDX-License-Identifier: MIT
// The tape machine; its loops are compiled once per instruction set and chosen when the library is
// loaded.
#include "engine/fused_loop.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "engine/op.h"

typedef struct loops {
    void (*step)(int op, float *out, const float *a, const float *b, float value, int64_t n);
    float (*sum)(const float *x, int64_t n);
    void (*sum_rows)(float *y, const float *x, int64_t rows, int64_t columns);
    void (*add)(float *y, const float *x, int64_t n);
} loops;

#define SET portable
#define TARGET
#define WIDTH 4
#include "engine/fused_loop_template.h"

#if defined(__x86_64__)
#define SET avx2
#define TARGET __attribute__((target("avx2,fma")))
#define WIDTH 8
#include "engine/fused_loop_template.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define WIDTH 16
#include "engine/fused_loop_template.h"
#endif

static const cpu_variant sets[] = {CPU_AVX512(avx512) CPU_AVX2(avx2) CPU_PORTABLE(portable)};
static const loops *chosen = &portable;

bool fused_loop_select(const char *set)
{
    const cpu_variant *k = cpu_choose(sets, set);
    if (k) chosen = k->kernels;
    return k;
}

__attribute__((constructor)) static void choose(void)
{
    fused_loop_select(NULL);
}

float fused_loop_sum(const float *x, int64_t n)
{
    return chosen->sum(x, n);
}

void fused_loop_sum_rows(float *y, const float *x, int64_t rows, int64_t columns)
{
    chosen->sum_rows(y, x, rows, columns);
}

void fused_loop_add(float *y, const float *x, int64_t n)
{
    chosen->add(y, x, n);
}

int64_t fused_loop_scratch(const fused_loop *t)
{
    return (int64_t)t->registers * FUSED_BLOCK;
}

static void fill(float *out, float value, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = value;
}

// The n places from `start` on of a broadcast operand.
static void spread(float *out, const float *in, const fused_operand *v, int64_t start, int64_t n)
{
    while (n) {
        int64_t item = start / (v->middle * v->inner), i = start % v->inner, run;
        if (v->inner == 1) {
            run = (item + 1) * v->middle - start;
            run = run < n ? run : n;
            fill(out, in[item], run);
        } else {
            run = v->inner - i < n ? v->inner - i : n;
            memcpy(out, in + item * v->inner + i, (size_t)run * sizeof *out);
        }
        out += run, start += run, n -= run;
    }
}

static void cut(float *out, const float *in, const fused_operand *v, int64_t start, int64_t n)
{
    while (n) {
        int64_t row = start / v->part, i = start % v->part;
        int64_t run = v->part - i < n ? v->part - i : n;
        memcpy(out, in + row * v->whole + v->start + i, (size_t)run * sizeof *out);
        out += run, start += run, n -= run;
    }
}

static void load(float **reg, const fused_operand *v, const float *in, int64_t start, int64_t n)
{
    switch (v->view) {
    case FUSED_FULL: reg[v->reg] = (float *)in + start; break; // read only
    case FUSED_BROADCAST:
        // An operand with longer runs than the block is read where it is.
        if (start % v->inner + n <= v->inner)
            reg[v->reg] =
                (float *)in + start / (v->middle * v->inner) * v->inner + start % v->inner;
        else spread(reg[v->reg], in, v, start, n);
        break;
    case FUSED_SLICE:
        if (start % v->part + n <= v->part)
            reg[v->reg] = (float *)in + start / v->part * v->whole + v->start + start % v->part;
        else cut(reg[v->reg], in, v, start, n);
        break;
    case FUSED_SCALAR: fill(reg[v->reg], v->number, n); break;
    }
}

void fused_loop_run(const fused_loop *t, float *const *out, const float *const *in, float *scratch)
{
    float *reg[FUSED_MAX_REGISTERS];
    for (int64_t start = 0; start < t->count; start += FUSED_BLOCK) {
        int64_t n = t->count - start < FUSED_BLOCK ? t->count - start : FUSED_BLOCK;
        for (int r = 0; r < t->registers; r++) reg[r] = scratch + r * FUSED_BLOCK;
        for (int i = 0; i < t->reads; i++) load(reg, &t->read[i], in[i], start, n);
        for (int j = 0; j < t->writes; j++) reg[t->write[j]] = out[j] + start;
        for (int i = 0; i < t->codes; i++) {
            const fused_instruction *c = &t->code[i];
            chosen->step(c->op, reg[c->out], reg[c->a], reg[c->b], c->value, n);
        }
    }
}
