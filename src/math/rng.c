// SPDX-License-Identifier: MIT
// Wrapper of Random123 [Salmon11]: Philox-4x32-10 with the seed as its key, and the stream and the
// number of the block as its 128-bit counter. A block is two words of 64 bits.
#include "math/rng.h"

#include <Random123/philox.h>
#include <assert.h>
#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    philox4x32_ctr_t c;
    philox4x32_key_t k;
    memcpy(c.v, counter, sizeof c.v);
    memcpy(k.v, key, sizeof k.v);
    c = philox4x32(c, k);
    memcpy(out, c.v, sizeof c.v);
}

rng rng_at(uint64_t seed, uint64_t stream)
{
    return (rng){.seed = seed, .stream = stream};
}

uint64_t rng_bits(rng *r)
{
    // A new block of two words, unless the last one is still valid.
    const uint64_t block = r->counter / 2;
    if (r->held != block + 1) {
        const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)r->stream,
                                     (uint32_t)(r->stream >> 32)};
        const uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)};
        uint32_t four[4];
        rng_philox(four, counter, key);
        for (int i = 0; i < 2; i++) r->words[i] = four[2 * i] | (uint64_t)four[2 * i + 1] << 32;
        r->held = block + 1;
    }
    return r->words[r->counter++ % 2];
}

double rng_uniform(rng *r)
{
    return (double)(rng_bits(r) >> 11) * 0x1p-53;
}

// The high half of word * n is the result. The few words whose low half is below 2^64 mod n would
// make some results more likely; they are drawn again [Lemire19].
int64_t rng_below(rng *r, int64_t n)
{
    assert(n > 0);
    const uint64_t bound = (uint64_t)n;
    wide product = (wide)rng_bits(r) * bound;
    if ((uint64_t)product < bound) {
        const uint64_t remainder = (0 - bound) % bound;
        while ((uint64_t)product < remainder) product = (wide)rng_bits(r) * bound;
    }
    return (int64_t)(product >> 64);
}

void rng_resample(double *times, rng *r, int64_t n)
{
    assert(n > 0 && n < (int64_t)1 << 32);
    memset(times, 0, (size_t)n * sizeof *times);
    const uint64_t bound = (uint64_t)n, remainder = ((uint64_t)1 << 32) % bound;
    for (int64_t drawn = 0; drawn < n;) {
        const uint64_t word = rng_bits(r);
        for (int half = 0; half < 2 && drawn < n; half++) {
            const uint64_t product = (half ? word >> 32 : word & UINT32_MAX) * bound;
            if ((uint32_t)product < remainder) continue; // rejected, as in rng_below()
            times[product >> 32] += 1.0;
            drawn++;
        }
    }
}

// Box-Muller. The second normal is discarded, so that every normal is a function of its counter.
double rng_normal(rng *r)
{
    const double radius = sqrt(-2.0 * log(1.0 - rng_uniform(r)));
    return radius * cos(0x1.921fb54442d18p+2 * rng_uniform(r));
}

// Fisher-Yates shuffle of 0 .. n-1, from the inside out.
static void shuffle_all(int64_t *out, rng *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = rng_below(r, i + 1);
        out[i] = out[j];
        out[j] = i;
    }
}

void rng_distinct(int64_t *out, rng *r, int64_t k, int64_t n)
{
    assert(k >= 0 && k <= n);
    if (k == n) {
        shuffle_all(out, r, n);
        return;
    }
    // Floyd's Algorithm P [Bentley87], which needs no memory besides the result. A new number goes
    // to the front; if it is in the list already, the largest candidate goes behind it.
    for (int64_t count = 0; count < k; count++) {
        const int64_t last = n - k + count;
        const int64_t pick = rng_below(r, last + 1);
        int64_t place = 0;
        while (place < count && out[place] != pick) place++;
        const int64_t at = place == count ? 0 : place + 1;
        memmove(out + at + 1, out + at, (size_t)(count - at) * sizeof *out);
        out[at] = place == count ? pick : last;
    }
}
