// SPDX-License-Identifier: MIT
// Random numbers as a function of (seed, stream, counter): the same on every machine, in any order
// and on any thread.
#ifndef MATH_RNG_H
#define MATH_RNG_H

#include <stdint.h>

/// A plain struct: copy it to repeat its numbers. Make it with rng_at(); `counter` may be set
/// freely.
typedef struct rng {
    uint64_t seed;
    uint64_t stream;
    uint64_t counter; ///< Number of 64-bit words drawn so far.
    uint64_t words[2];
    uint64_t held; ///< 1 + the number of the block that `words` holds; 0: none.
} rng;

/// The start of a stream. Different streams of one seed are independent.
rng rng_at(uint64_t seed, uint64_t stream);

/// 64 random bits; advances the counter by one.
uint64_t rng_bits(rng *r);

/// Uniform in [0, 1), a multiple of 2^-53. Uses one word.
double rng_uniform(rng *r);

/// One of 0 .. n-1, all exactly equally likely; n >= 1. Uses one word, rarely more.
int64_t rng_below(rng *r, int64_t n);

/// Normal with mean 0 and variance 1. Uses two words.
double rng_normal(rng *r);

/// k distinct numbers of 0 .. n-1 in random order; 0 <= k <= n. Takes time k^2, except for k = n,
/// which is a shuffle.
void rng_distinct(int64_t *out, rng *r, int64_t k, int64_t n);

/// A bootstrap resample: times[i] is how often i was drawn in n draws from 0 .. n-1 with
/// replacement, all exactly equally likely. n < 2^32. Uses one word per two draws.
void rng_resample(double *times, rng *r, int64_t n);

/// Philox-4x32-10 itself, for the test of its known answers.
void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
