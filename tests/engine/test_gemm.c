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

static float *random_floats(int64_t n, uint64_t stream)
{
    float *x = malloc((size_t)(n + 1) * sizeof *x);
    CHECK(x != NULL);
    rng r = rng_at(8, stream);
    for (int64_t i = 0; i < n; i++) x[i] = (float)rng_normal(&r);
    return x;
}

static double *doubles_of(const float *x, int64_t n)
{
    double *y = malloc((size_t)(n + 1) * sizeof *y);
    CHECK(y != NULL);
    for (int64_t i = 0; i < n; i++) y[i] = (double)x[i];
    return y;
}

// The largest difference between c (m, n) and the sum of `parts` products, of a (parts k, m) or, if
// not ta, (m, k), and b.
static double off_by(const float *c, const double *start, const float *a, const float *b, bool ta,
                     bool tb, const int64_t *size, bool accumulate)
{
    const int64_t m = size[0], n = size[1], k = size[2];
    double *da = doubles_of(a, m * k), *db = doubles_of(b, k * n),
           *want = malloc(8 * (size_t)(m * n));
    double off = 0.0;
    CHECK(want != NULL);
    memcpy(want, start, 8 * (size_t)(m * n));
    gemm_reference(want, da, db, m, n, k, ta, tb, accumulate);
    for (int64_t i = 0; i < m * n; i++)
        off = isfinite(c[i]) ? fmax(off, fabs((double)c[i] - want[i])) : (double)INFINITY;
    free(da), free(db), free(want);
    return off / sqrt((double)k + 1.0);
}

// With weights packed ahead, which must not write past the columns of C either.
static double packed_error(const int64_t *size, bool tb, bool accumulate)
{
    const int64_t m = size[0], n = size[1], k = size[2], guard = 7;
    float *a = random_floats(m * k, 1), *b = random_floats(k * n, 2),
          *c = random_floats(m * n + guard, 3), *packed = random_floats(gemm_packed_size(n, k), 4);
    float after[7];
    memcpy(after, c + m * n, sizeof after);
    double *start = doubles_of(c, m * n);
    gemm_pack(packed, b, n, k, tb);
    gemm_float_packed(c, a, packed, m, n, k, accumulate);
    CHECK(!memcmp(after, c + m * n, sizeof after));
    const double off = off_by(c, start, a, b, false, tb, size, accumulate);
    free(a), free(b), free(c), free(packed), free(start);
    return off;
}

TEST(products_with_packed_weights_agree_with_the_reference)
{
    char best[16];
    snprintf(best, sizeof best, "%s", kernel_set_instructions());
    for (int s = 0; wide_choose(s); s++) {
        // Every number of rows of a tile, and several tiles; columns that fill panels or do not.
        for (int64_t m = 1; m <= 40; m++)
            for (int form = 0; form < 4; form++) {
                const int64_t shape[][3] = {{m, 64, 19}, {m, 250, 16}, {m, 9, 33}, {m, 55, 1}};
                for (int i = 0; i < 4; i++)
                    CHECK(packed_error(shape[i], form & 1, form & 2) < 3e-6);
            }
        for (int i = 0; i < SIZES; i++)
            for (int form = 0; form < 4; form++) {
                // gemm_float() cuts sums at 256 terms; these are not cut, and round more.
                const double most = 4e-6 * fmax(1.0, sqrt((double)sizes[i][2] / 256.0));
                const double off = packed_error(sizes[i], form & 1, form & 2);
                if (!(off < most))
                    print_error("%s: size %d form %d is off by %g\n", kernel_set_instructions(), i,
                                form, off);
                CHECK(off < most);
            }
    }
    CHECK(kernel_set_select(best));
}

// Parts lie apart in memory, as values of a program do.
static double sum_error(int parts, int64_t m, int64_t n, int64_t k, bool accumulate)
{
    float *a = random_floats(parts * k * m, 5), *b = random_floats(parts * k * n, 6),
          *c = random_floats(m * n, 7);
    const float *apart[64], *bpart[64];
    for (int i = 0; i < parts; i++) {
        apart[i] = memcpy(malloc((size_t)(k * m) * 4 + 4), a + i * k * m, (size_t)(k * m) * 4);
        bpart[i] = memcpy(malloc((size_t)(k * n) * 4 + 4), b + i * k * n, (size_t)(k * n) * 4);
    }
    double *start = doubles_of(c, m * n);
    const gemm_sum_sizes size = {m, n, k};
    float *scratch = random_floats(gemm_sum_scratch(parts, &size), 8);
    gemm_float_sum(c, apart, bpart, parts, &size, accumulate, scratch);
    const double off =
        off_by(c, start, a, b, true, false, (int64_t[]){m, n, parts * k}, accumulate);
    for (int i = 0; i < parts; i++) free((float *)apart[i]), free((float *)bpart[i]);
    free(a), free(b), free(c), free(start), free(scratch);
    return off;
}

TEST(a_sum_of_products_agrees_with_the_reference)
{
    char best[16];
    snprintf(best, sizeof best, "%s", kernel_set_instructions());
    for (int s = 0; wide_choose(s); s++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            CHECK(sum_error(1, 5, 7, 3, accumulate) < 3e-6);
            CHECK(sum_error(2, 250, 250, 32, accumulate) < 3e-6);
            CHECK(sum_error(64, 33, 70, 1, accumulate) < 3e-6);
            CHECK(sum_error(8, 16, 250, 8, accumulate) < 3e-6);
            CHECK(sum_error(3, 100, 5, 16, accumulate) < 3e-6);
        }
    CHECK(kernel_set_select(best));
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
