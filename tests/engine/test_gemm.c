// SPDX-License-Identifier: MIT
// The fast products against the reference, in every instruction set this processor has.
#include "engine/kernels/gemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/simd16_fixture.h"
#include "math/rng.h"
#include "support/test.h"

static const int64_t sizes[][3] = {
    // m, n, k
    {1, 1, 1},     {1, 1, 0},      {3, 5, 0},      {1, 250, 250}, {2, 250, 250}, {16, 64, 64},
    {32, 250, 16}, {32, 250, 250}, {250, 250, 32}, {250, 250, 3}, {16, 250, 2},  {32, 1, 250},
    {250, 1, 32},  {7, 33, 9},     {33, 7, 65},    {13, 17, 31},  {64, 3, 40},   {5, 2, 300},
    {60, 40, 700}, {97, 300, 290}, {48, 520, 260}, {50, 49, 1},   {6, 16, 8},    {12, 32, 5},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static double max_error(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool accumulate)
{
    const int64_t need = gemm_scratch(m, n, k, ta, tb);
    float *a = malloc((size_t)(m * k + 1) * 4), *b = malloc((size_t)(k * n + 1) * 4);
    float *c = malloc((size_t)(m * n) * 4), *again = malloc((size_t)(m * n) * 4);
    float *scratch = malloc((size_t)(need + 1) * 4);
    double *da = malloc((size_t)(m * k + 1) * 8), *db = malloc((size_t)(k * n + 1) * 8);
    double *dc = malloc((size_t)(m * n) * 8);
    CHECK(a && b && c && again && scratch && da && db && dc);
    rng r = rng_at(7, (uint64_t)(m * 1000003 + n * 1009 + k));
    for (int64_t i = 0; i < m * k; i++) da[i] = a[i] = (float)rng_normal(&r);
    for (int64_t i = 0; i < k * n; i++) db[i] = b[i] = (float)rng_normal(&r);
    for (int64_t i = 0; i < m * n; i++) {
        again[i] = c[i] = accumulate ? (float)rng_normal(&r) : NAN;
        dc[i] = (double)c[i];
    }
    for (int64_t i = 0; i < need; i++) scratch[i] = NAN;
    gemm_reference(dc, da, db, m, n, k, ta, tb, accumulate);
    gemm_float(c, a, b, m, n, k, ta, tb, accumulate, need ? scratch : NULL);
    gemm_float(again, a, b, m, n, k, ta, tb, accumulate, need ? scratch : NULL);
    CHECK(memcmp(c, again, (size_t)(m * n) * 4) == 0);
    double off = 0.0;
    for (int64_t i = 0; i < m * n; i++)
        off = isfinite(c[i]) ? fmax(off, fabs((double)c[i] - dc[i])) : (double)INFINITY;
    free(a), free(b), free(c), free(again), free(scratch), free(da), free(db), free(dc);
    return off / sqrt((double)k + 1.0);
}

TEST(every_instruction_set_agrees_with_the_reference)
{
    char best[16];
    snprintf(best, sizeof best, "%s", kernel_set_instructions());
    for (int s = 0; wide_choose(s); s++)
        for (int i = 0; i < SIZES; i++)
            for (int form = 0; form < 8; form++) {
                const int64_t *m = sizes[i];
                const double off = max_error(m[0], m[1], m[2], form & 1, form & 2, form & 4);
                if (!(off < 3e-6))
                    print_error("%s: (%lld, %lld, %lld) form %d is off by %g\n",
                                kernel_set_instructions(), (long long)m[0], (long long)m[1],
                                (long long)m[2], form, off);
                CHECK(off < 3e-6);
            }
    CHECK(kernel_set_select(best));
}

TEST(an_unknown_instruction_set_is_rejected)
{
    CHECK(!kernel_set_select("abacus"));
}
