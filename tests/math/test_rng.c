// SPDX-License-Identifier: MIT
#include "math/rng.h"

#include <string.h>

#include "support/test.h"

static void check_philox(uint32_t counter, const uint32_t *counters, uint32_t key,
                         const uint32_t *keys, const uint32_t want[4])
{
    const uint32_t same[4] = {counter, counter, counter, counter};
    const uint32_t same_key[2] = {key, key};
    uint32_t got[4];
    rng_philox(got, counters ? counters : same, keys ? keys : same_key);
    for (int i = 0; i < 4; i++) CHECK_EQUAL(got[i], want[i]);
}

// The three known answers of philox4x32, 10 rounds, in Random123's kat_vectors.
TEST(philox_gives_its_published_answers)
{
    check_philox(0, NULL, 0, NULL, (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    check_philox(0xffffffff, NULL, 0xffffffff, NULL,
                 (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_philox(0, (uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0,
                 (uint32_t[]){0xa4093822, 0x299f31d0},
                 (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(words_are_philox_of_seed_stream_and_counter)
{
    rng r = rng_at(0x299f31d0a4093822, 0x0370734413198a2e);
    r.counter = 2 * 0x05a308d3243f6a88;
    uint32_t four[4];
    rng_philox(four, (uint32_t[]){0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344},
               (uint32_t[]){0xa4093822, 0x299f31d0});
    CHECK(rng_bits(&r) == (four[0] | (uint64_t)four[1] << 32));
    CHECK(rng_bits(&r) == (four[2] | (uint64_t)four[3] << 32));
}

TEST(a_word_does_not_depend_on_what_was_drawn_before)
{
    rng r = rng_at(7, 3);
    uint64_t words[9];
    for (int i = 0; i < 9; i++) words[i] = rng_bits(&r);
    for (int i = 8; i >= 0; i--) {
        rng fresh = rng_at(7, 3);
        fresh.counter = (uint64_t)i;
        CHECK(rng_bits(&fresh) == words[i]);
        r.counter = (uint64_t)i; // the same generator, moved back
        CHECK(rng_bits(&r) == words[i]);
    }
}

TEST(seeds_and_streams_differ)
{
    rng a = rng_at(1, 0), b = rng_at(0, 1), c = rng_at(1, 1);
    const uint64_t x = rng_bits(&a), y = rng_bits(&b), z = rng_bits(&c);
    CHECK(x != y && y != z && x != z);
}

TEST(uniforms_fill_the_unit_interval_evenly)
{
    rng r = rng_at(5, 0);
    enum { N = 200000, BINS = 20 };
    int64_t bins[BINS] = {0};
    double sum = 0.0, lagged = 0.0, before = 0.5;
    for (int i = 0; i < N; i++) {
        const double u = rng_uniform(&r);
        CHECK(u >= 0.0 && u < 1.0);
        bins[(int)(u * BINS)]++;
        sum += u;
        lagged += (u - 0.5) * (before - 0.5);
        before = u;
    }
    double chi2 = 0.0;
    const double expected = (double)N / BINS;
    for (int i = 0; i < BINS; i++)
        chi2 += ((double)bins[i] - expected) * ((double)bins[i] - expected) / expected;
    CHECK(chi2 < 43.8); // 19 degrees of freedom, p = 0.001
    CHECK_NEAR(sum / N, 0.5, 4.0 * 0.2887 / sqrt(N));
    CHECK_NEAR(12.0 * lagged / N, 0.0, 4.0 / sqrt(N));
}

TEST(integers_below_n_are_equally_likely)
{
    rng r = rng_at(6, 0);
    enum { N = 70000 };
    int64_t bins[7] = {0};
    for (int i = 0; i < N; i++) {
        const int64_t x = rng_below(&r, 7);
        CHECK(x >= 0 && x < 7);
        bins[x]++;
    }
    double chi2 = 0.0;
    for (int i = 0; i < 7; i++) chi2 += ((double)bins[i] - 1e4) * ((double)bins[i] - 1e4) / 1e4;
    CHECK(chi2 < 22.5); // 6 degrees of freedom, p = 0.001
    for (int i = 0; i < 10; i++) CHECK_EQUAL(rng_below(&r, 1), 0);
}

TEST(integers_below_a_large_n_have_no_modulo_bias)
{
    // 2^64 words are 8/3 of n: taken modulo n, two thirds of the range would come up half as often
    // again as the last one.
    rng r = rng_at(6, 1);
    const int64_t n = INT64_C(3) << 61;
    int64_t thirds[3] = {0};
    for (int i = 0; i < 30000; i++) thirds[rng_below(&r, n) / (n / 3)]++;
    for (int i = 0; i < 3; i++) CHECK_NEAR((double)thirds[i], 1e4, 4.0 * 82.0);
}

TEST(normals_have_the_moments_of_a_normal)
{
    rng r = rng_at(8, 0);
    enum { N = 200000 };
    double sum[4] = {0};
    int64_t beyond = 0;
    for (int i = 0; i < N; i++) {
        const double x = rng_normal(&r);
        CHECK(isfinite(x));
        double power = 1.0;
        for (int k = 0; k < 4; k++) sum[k] += power *= x;
        if (fabs(x) > 1.959963985) beyond++;
    }
    CHECK_NEAR(sum[0] / N, 0.0, 4.0 / sqrt(N));
    CHECK_NEAR(sum[1] / N, 1.0, 4.0 * sqrt(2.0 / N));
    CHECK_NEAR(sum[2] / N, 0.0, 4.0 * sqrt(15.0 / N));
    CHECK_NEAR(sum[3] / N, 3.0, 4.0 * sqrt(96.0 / N));
    CHECK_NEAR((double)beyond / N, 0.05, 4.0 * sqrt(0.05 * 0.95 / N));
}

TEST(distinct_numbers_are_distinct_and_in_range)
{
    rng r = rng_at(9, 0);
    for (int64_t n = 0; n <= 12; n++)
        for (int64_t k = 0; k <= n; k++) {
            int64_t out[12];
            rng_distinct(out, &r, k, n);
            unsigned seen = 0;
            for (int64_t i = 0; i < k; i++) {
                CHECK(out[i] >= 0 && out[i] < n);
                CHECK(!(seen & 1u << out[i]));
                seen |= 1u << out[i];
            }
        }
}

static void check_orders_equally_likely(int64_t k, int64_t n, int64_t orders, double bar)
{
    rng r = rng_at(10, (uint64_t)k);
    int64_t seen[64] = {0};
    const int64_t draws = 2000 * orders;
    for (int64_t i = 0; i < draws; i++) {
        int64_t out[4];
        rng_distinct(out, &r, k, n);
        int64_t code = 0;
        for (int64_t j = 0; j < k; j++) code = code * n + out[j];
        seen[code]++;
    }
    double chi2 = 0.0;
    int64_t found = 0;
    for (int i = 0; i < 64; i++) {
        if (!seen[i]) continue;
        found++;
        chi2 += ((double)seen[i] - 2000.0) * ((double)seen[i] - 2000.0) / 2000.0;
    }
    CHECK_EQUAL(found, orders);
    CHECK(chi2 < bar);
}

TEST(distinct_numbers_come_in_every_order_equally)
{
    check_orders_equally_likely(2, 4, 12, 31.3); // p = 0.001 with 11 degrees of freedom
    check_orders_equally_likely(3, 4, 24, 49.7); // 23
    check_orders_equally_likely(3, 3, 6, 20.5);  // 5
}

TEST(a_resample_draws_n_items_and_each_is_equally_likely)
{
    enum { N = 7, ROUNDS = 20000 };
    rng r = rng_at(5, 9);
    double sums[N] = {0}, squares = 0.0;
    for (int round = 0; round < ROUNDS; round++) {
        double times[N], total = 0.0;
        rng_resample(times, &r, N);
        for (int i = 0; i < N; i++) {
            total += times[i];
            sums[i] += times[i];
            squares += times[i] * times[i];
        }
        CHECK_NEAR(total, N, 0.0);
    }
    // Each count is binomial(N, 1/N): mean 1, variance 1 - 1/N; five standard errors.
    for (int i = 0; i < N; i++) CHECK_NEAR(sums[i] / ROUNDS, 1.0, 5 * sqrt(0.857 / ROUNDS));
    CHECK_NEAR(squares / (N * ROUNDS), 2.0 - 1.0 / N, 0.05);
}
