// SPDX-License-Identifier: MIT
// Runs fused loops: for each block of 256 elements, loads the operands into registers of 256
// floats, then runs the instructions one after the other. The loops over a register are compiled
// once per instruction set (fused_loop_template.h).
#include "engine/fused_loop.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "engine/copy_floats.h"

typedef struct fused_kernels {
    void (*run_instruction)(op_kind op, float *out, const float *a, const float *b, float value,
                            int64_t n);
    float (*sum)(const float *x, int64_t n);
    void (*sum_rows)(float *y, const float *x, int64_t rows, int64_t columns);
} fused_kernels;

#define SET portable
#define TARGET
#define WIDTH 4
#define FMA(a, b, c) ((a) * (b) + (c))
#include "engine/fused_loop_template.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define SET avx2
#define TARGET __attribute__((target("avx2,fma")))
#define WIDTH 8
#define FMA(a, b, c) ((V)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define LEAST(a, b) ((V)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define GREATEST(a, b) ((V)_mm256_max_ps((__m256)(a), (__m256)(b)))
#include "engine/fused_loop_template.h"

// 1 / x by an estimate of 14 bits and a step of Newton's method; a division takes five times as
// long.
__attribute__((target("avx512f"))) static inline __m512 reciprocal_of_sixteen(__m512 x)
{
    const __m512 r = _mm512_rcp14_ps(x);
    return _mm512_fmadd_ps(r, _mm512_fnmadd_ps(x, r, _mm512_set1_ps(1.0f)), r);
}

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define WIDTH 16
#define FMA(a, b, c) ((V)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define LEAST(a, b) ((V)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define GREATEST(a, b) ((V)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define RECIPROCAL(x) ((V)reciprocal_of_sixteen((__m512)(x)))
#define TIMES_POWER(p, n) ((V)_mm512_scalef_ps((__m512)(p), (__m512)(n)))
#include "engine/fused_loop_template.h"
#endif

static const cpu_variant variants[] = {CPU_AVX512(avx512) CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(fused_kernels, variants, portable);

bool fused_loop_select(const char *set)
{
    return choose_kernels(set);
}

float fused_loop_sum(const float *x, int64_t n)
{
    return chosen->sum(x, n);
}

void fused_loop_sum_rows(float *y, const float *x, int64_t rows, int64_t columns)
{
    chosen->sum_rows(y, x, rows, columns);
}

int64_t fused_loop_scratch(const fused_loop *loop)
{
    return (int64_t)loop->registers * FUSED_BLOCK;
}

// ---- operands ----

static void fill_register(float *out, float value, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = value;
}

// Copies elements start .. start+n-1 of a broadcast operand, run by run.
static void copy_broadcast(float *out, const float *in, const fused_operand *operand, int64_t start,
                           int64_t n)
{
    const int64_t middle = operand->middle, inner = operand->inner;
    while (n) {
        int64_t item = start / (middle * inner), i = start % inner, run;
        // One value repeated, or a run of `inner` values repeated.
        if (inner == 1) {
            run = (item + 1) * middle - start;
            run = run < n ? run : n;
            fill_register(out, in[item], run);
        } else {
            run = inner - i < n ? inner - i : n;
            copy_floats(out, in + item * inner + i, run);
        }
        out += run, start += run, n -= run;
    }
}

// Copies elements start .. start+n-1 of a slice, run by run.
static void copy_slice(float *out, const float *in, const fused_operand *operand, int64_t start,
                       int64_t n)
{
    const int64_t part = operand->part;
    int64_t row = start / part, i = start % part;
    const float *from = in + row * operand->whole + operand->start;
    for (; n; from += operand->whole, i = 0) {
        const int64_t run = part - i < n ? part - i : n;
        copy_floats(out, from + i, run);
        out += run, n -= run;
    }
}

// Makes the operand's register hold elements start .. start+n-1. Where these are contiguous in the
// operand's memory the register points there and nothing is copied.
static void load_operand(float **reg, const fused_operand *operand, const float *in, int64_t start,
                         int64_t n)
{
    const int64_t middle = operand->middle, inner = operand->inner, part = operand->part;
    switch (operand->view) {
    case FUSED_FULL: reg[operand->reg] = (float *)in + start; break; // read only
    case FUSED_BROADCAST:
        if (start % inner + n <= inner)
            reg[operand->reg] = (float *)in + start / (middle * inner) * inner + start % inner;
        else copy_broadcast(reg[operand->reg], in, operand, start, n);
        break;
    case FUSED_SLICE:
        if (start % part + n <= part)
            reg[operand->reg] =
                (float *)in + start / part * operand->whole + operand->start + start % part;
        else copy_slice(reg[operand->reg], in, operand, start, n);
        break;
    case FUSED_SCALAR: fill_register(reg[operand->reg], operand->number, n); break;
    }
}

// Asks for the next block of memory, which is mostly not in the near caches: a rollout has gone
// through all its weights since it was written.
static void prefetch_block(const float *at, int64_t left)
{
    for (int64_t i = 0; i < FUSED_BLOCK && i < left; i += 16) __builtin_prefetch(at + i);
}

void fused_loop_run(const fused_loop *loop, float *const *out, const float *const *in,
                    float *scratch)
{
    // Blocks are so small that all registers of a loop stay in the first cache.
    float *reg[FUSED_MAX_REGISTERS];
    for (int64_t start = 0; start < loop->count; start += FUSED_BLOCK) {
        int64_t n = loop->count - start < FUSED_BLOCK ? loop->count - start : FUSED_BLOCK;
        // Registers are in scratch, unless they are an operand's or a result's own memory.
        for (int r = 0; r < loop->registers; r++) reg[r] = scratch + r * FUSED_BLOCK;
        for (int i = 0; i < loop->reads; i++) load_operand(reg, &loop->read[i], in[i], start, n);
        const int64_t next = start + n, left = loop->count - next;
        for (int i = 0; i < loop->reads && left; i++)
            if (loop->read[i].view == FUSED_FULL) prefetch_block(in[i] + next, left);
        for (int j = 0; j < loop->writes && left; j++) prefetch_block(out[j] + next, left);
        // Results that are stored are computed in place.
        for (int j = 0; j < loop->writes; j++) reg[loop->write[j]] = out[j] + start;
        for (int i = 0; i < loop->codes; i++) {
            const fused_instruction *code = &loop->code[i];
            chosen->run_instruction(code->op, reg[code->out], reg[code->a], reg[code->b],
                                    code->value, n);
        }
    }
}
