// SPDX-License-Identifier: MIT
// The wider loops must equal the portable ones bit for bit; a sum in long double checks the
// portable ones.
#include "math/vector.h"

#include <stdio.h>
#include <string.h>

#include "math/rng.h"
#include "support/test.h"

// The eight-wide loops once more, for whatever this compiler makes of them on this processor: their
// order of summing is tested also where AVX-512 is not there.
typedef struct vector_kernels {
    double (*dot)(const double *, const double *, int64_t);
    void (*dots)(double *restrict, const double *restrict, int64_t, int64_t, const double *restrict,
                 int64_t);
    void (*moments)(double *restrict, double *restrict, const double *restrict, int64_t, int64_t,
                    const double *restrict, int64_t);
    void (*axpy)(double *restrict, double, const double *restrict, int64_t);
    void (*axpy_product)(double *restrict, double, const double *restrict, const double *restrict,
                         int64_t);
    void (*product)(double *restrict, const double *restrict, const double *restrict, int64_t);
} vector_kernels;
#define SET eight_wide
#define TARGET
#define WIDTH 8
#include "math/vector_template.h"

enum { LONGEST = 6000, ROWS = 9, STRIDE = LONGEST + 8 };
static const int64_t lengths[] = {0, 8, 16, 24, 32, 40, 152, 304, 1000, LONGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
static const char *const sets[] = {"portable", "avx2", "avx512"};

static double rows[ROWS * STRIDE], z[STRIDE];

// Numbers of very different size, so that another order of summing shows in the last bits.
static void fill_random(void)
{
    rng r = rng_at(3, 0);
    for (int64_t i = 0; i < ROWS * STRIDE; i++)
        rows[i] = rng_normal(&r) * exp(3.0 * rng_normal(&r));
    for (int64_t i = 0; i < STRIDE; i++) z[i] = rng_normal(&r) * exp(3.0 * rng_normal(&r));
}

// Everything the six loops give for one length.
typedef struct results {
    double dot, dots[ROWS], sum[ROWS], square[ROWS];
    double axpy[STRIDE], axpy_product[STRIDE], product[STRIDE];
} results;

static const vector_kernels chosen = {vector_dot,  vector_dots,         vector_moments,
                                      vector_axpy, vector_axpy_product, vector_product};

static void run_kernels(results *out, const vector_kernels *k, int64_t n)
{
    memset(out, 0, sizeof *out);
    out->dot = k->dot(rows, z, n);
    k->dots(out->dots, rows, STRIDE, ROWS, z, n);
    for (int i = 0; i < ROWS; i++) out->sum[i] = out->square[i] = 0.1 * i; // they are added to
    k->moments(out->sum, out->square, rows, STRIDE, ROWS, z, n);
    memcpy(out->axpy, rows + STRIDE, sizeof out->axpy);
    k->axpy(out->axpy, -0.3, z, n);
    memcpy(out->axpy_product, rows + STRIDE, sizeof out->axpy_product);
    k->axpy_product(out->axpy_product, 1.7, z, rows, n);
    k->product(out->product, rows, z, n);
}

static void run_all(results *out, int64_t n)
{
    run_kernels(out, &chosen, n);
}

TEST(every_instruction_set_gives_the_bits_of_the_portable_one)
{
    static results portable, wide;
    const char *best = vector_instructions();
    fill_random();
    int compared = 0;
    for (int s = 0; s < 3; s++) {
        if (!vector_select(sets[s])) continue;
        CHECK_TEXT(vector_instructions(), sets[s]);
        for (int i = 0; i < LENGTHS; i++) {
            CHECK(vector_select("portable"));
            run_all(&portable, lengths[i]);
            CHECK(vector_select(sets[s]));
            run_all(&wide, lengths[i]);
            if (memcmp(&portable, &wide, sizeof wide))
                print_error("%s at length %lld\n", sets[s], (long long)lengths[i]);
            CHECK(memcmp(&portable, &wide, sizeof wide) == 0);
        }
        compared++;
    }
    CHECK(compared >= 1);
    CHECK(vector_select(best));
}

TEST(eight_wide_loops_give_the_bits_of_four_wide_ones)
{
    static results four, eight;
    const char *best = vector_instructions();
    fill_random();
    CHECK(vector_select("portable"));
    for (int i = 0; i < LENGTHS; i++) {
        run_all(&four, lengths[i]);
        run_kernels(&eight, &eight_wide, lengths[i]);
        CHECK(memcmp(&four, &eight, sizeof four) == 0);
    }
    CHECK(vector_select(best));
}

TEST(an_unknown_instruction_set_is_rejected_and_changes_nothing)
{
    const char *best = vector_instructions();
    CHECK(!vector_select("abacus"));
    CHECK(!vector_select(""));
    CHECK_TEXT(vector_instructions(), best);
}

// A sum of n products is off by no more than n/8 roundings of the sum of their sizes.
static void check_sum(double got, long double exact, long double sizes, int64_t n)
{
    CHECK_NEAR(got, (double)exact, 2.3e-16 * (double)(n / 8 + 8) * (double)sizes);
}

TEST(sums_agree_with_long_double)
{
    static results got;
    fill_random();
    for (int i = 0; i < LENGTHS; i++) {
        const int64_t n = lengths[i];
        run_all(&got, n);
        for (int k = 0; k < ROWS; k++) {
            long double dot = 0.0L, size = 0.0L, square = 0.0L;
            for (int64_t j = 0; j < n; j++) {
                const long double x = (long double)rows[k * STRIDE + j] * (long double)z[j];
                dot += x;
                size += fabsl(x);
                square += x * x;
            }
            const long double start = 0.1L * k;
            if (k == 0) check_sum(got.dot, dot, size, n);
            check_sum(got.dots[k], dot, size, n);
            check_sum(got.sum[k], start + dot, start + size, n);
            check_sum(got.square[k], start + square, start + square, n);
        }
    }
}

TEST(elementwise_loops_round_each_step_and_stop_at_the_end)
{
    static results got;
    fill_random();
    for (int i = 0; i < LENGTHS; i++) {
        const int64_t n = lengths[i];
        run_all(&got, n);
        for (int64_t j = 0; j < STRIDE; j++) {
            const double y = rows[STRIDE + j];
            const volatile double scaled = -0.3 * z[j], inner = z[j] * rows[j];
            const volatile double product = 1.7 * inner; // volatile: no fused multiply-add here
            CHECK_NEAR(got.axpy[j], j < n ? y + scaled : y, 0.0);
            CHECK_NEAR(got.axpy_product[j], j < n ? y + product : y, 0.0);
            CHECK_NEAR(got.product[j], j < n ? inner : 0.0, 0.0);
        }
    }
}

TEST(few_rows_give_the_same_bits_as_many)
{
    // Rows are taken four at a time; which of them go together must not matter.
    fill_random();
    double all[ROWS], one;
    vector_dots(all, rows, STRIDE, ROWS, z, 152);
    for (int k = 0; k < ROWS; k++) {
        vector_dots(&one, rows + k * STRIDE, STRIDE, 1, z, 152);
        CHECK(memcmp(&one, &all[k], sizeof one) == 0);
    }
    one = 7.0;
    vector_dots(&one, rows, STRIDE, 0, z, 152);
    CHECK_NEAR(one, 7.0, 0.0);
}

TEST(padding_goes_to_the_next_multiple_of_eight)
{
    const int64_t from[] = {0, 1, 7, 8, 9, 300}, to[] = {0, 8, 8, 8, 16, 304};
    for (int i = 0; i < 6; i++) CHECK_EQUAL(vector_padded(from[i]), to[i]);
}
