// SPDX-License-Identifier: MIT
// Random numbers that are a function of (seed, stream, counter): the same on every machine, in
// whatever order and on whichever thread they are asked for.
#ifndef MATH_RNG_H
#define MATH_RNG_H

#include <stdint.h>

/// A plain struct: copy it to replay. Make it with rng_at; `counter` may be moved at will.
typedef struct rng {
    uint64_t seed;
    uint64_t stream;
    uint64_t counter; ///< how many 64-bit words have been drawn
    uint64_t words[2];
    uint64_t held; ///< 1 + the block that `words` is; 0 none
} rng;

/// The start of a stream. Different streams of one seed are independent.
rng rng_at(uint64_t seed, uint64_t stream);

/// 64 bits; moves the counter by one.
uint64_t rng_bits(rng *r);

/// In [0, 1), a multiple of 2^-53; one word.
double rng_uniform(rng *r);

/// One of 0 .. n-1, each exactly as likely; n at least 1. One word, rarely more.
int64_t rng_below(rng *r, int64_t n);

/// Mean 0, variance 1; two words.
double rng_normal(rng *r);

/// k distinct ones of 0 .. n-1 in random order; 0 <= k <= n. Time goes with k squared, except for
/// k = n, a shuffle of all.
void rng_distinct(int64_t *out, rng *r, int64_t k, int64_t n);

/// A bootstrap resample: times[i] is how often i came up in n draws of 0 .. n-1 with replacement,
/// each exactly as likely. n below 2^32; two draws a word.
void rng_resample(double *times, rng *r, int64_t n);

/// Philox-4x32-10 itself, for the test of its known answers.
void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
