// SPDX-License-Identifier: MIT
// Things that move, and latents made of their states by maps whose merit is known.
#ifndef TESTS_MEASURES_FIXTURES_H
#define TESTS_MEASURES_FIXTURES_H

#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "plumb/symetric.h"
#include "support/test.h"

typedef struct forged {
    double *latent_data, *truth_data;
    plumb_array latent, truth; // (trajectories, steps, 2m), (trajectories, steps, 2n)
} forged;

/// Writes latent (2m) from truth (2n) at `step`; `noise` is there to draw from.
typedef void forge_map(double *latent, const double *truth, int64_t step, rng *noise);

static inline double *forge_room(int64_t count)
{
    double *x = malloc((size_t)count * sizeof *x);
    assert_non_null(x);
    return x;
}

/// n oscillators of different frequency, q = r cos, p = -r sin, r from 0.1 to 1.
static inline void forge_springs(double *truth, int64_t n, int64_t trajectories, int64_t steps)
{
    rng r = rng_at(17, 0);
    for (int64_t k = 0; k < trajectories; k++)
        for (int64_t i = 0; i < n; i++) {
            const double radius = 0.1 + 0.9 * rng_uniform(&r), phase = 6.2831853 * rng_uniform(&r);
            for (int64_t s = 0; s < steps; s++) {
                double *state = truth + (k * steps + s) * 2 * n;
                const double angle = phase + 0.1 * (1.0 + 0.618 * (double)i) * (double)s;
                state[i] = radius * cos(angle);
                state[n + i] = -radius * sin(angle);
            }
        }
}

/// A pendulum, n = 1, swinging wide: leapfrog in small steps.
static inline void forge_pendulum(double *truth, int64_t trajectories, int64_t steps)
{
    rng r = rng_at(18, 0);
    for (int64_t k = 0; k < trajectories; k++) {
        double q = 1.2 + rng_uniform(&r), p = 0.0;
        for (int64_t s = 0; s < steps; s++) {
            truth[(k * steps + s) * 2] = q;
            truth[(k * steps + s) * 2 + 1] = p;
            for (int i = 0; i < 20; i++) {
                p -= 0.005 * 3.0 * sin(q);
                q += 0.01 * p;
                p -= 0.005 * 3.0 * sin(q);
            }
        }
    }
}

/// n > 0: springs; n = 0: the pendulum. m pairs of latents.
static inline forged forge(int64_t n, int64_t m, int64_t trajectories, int64_t steps,
                           forge_map *map)
{
    const bool pendulum = n == 0;
    if (pendulum) n = 1;
    const int64_t rows = trajectories * steps;
    forged f = {forge_room(rows * 2 * m), forge_room(rows * 2 * n), {0}, {0}};
    if (pendulum) forge_pendulum(f.truth_data, trajectories, steps);
    else forge_springs(f.truth_data, n, trajectories, steps);
    rng noise = rng_at(19, 0);
    for (int64_t i = 0; i < rows; i++)
        map(f.latent_data + i * 2 * m, f.truth_data + i * 2 * n, i % steps, &noise);
    f.latent =
        plumb_array_view(f.latent_data, PLUMB_FLOAT64, 3, (int64_t[]){trajectories, steps, 2 * m});
    f.truth =
        plumb_array_view(f.truth_data, PLUMB_FLOAT64, 3, (int64_t[]){trajectories, steps, 2 * n});
    return f;
}

static inline void forged_free(forged *f)
{
    free(f->latent_data);
    free(f->truth_data);
}

// --- right ---------------------------------------------------------------------------------------

static inline void map_rotation(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = 0.8 * s[0] + 0.6 * s[1];
    z[1] = -0.6 * s[0] + 0.8 * s[1];
}

/// m = 4: the rotation in the first pair, noise in the other three.
static inline void map_padded(double *z, const double *s, int64_t step, rng *noise)
{
    double pair[2];
    map_rotation(pair, s, step, noise);
    for (int i = 0; i < 8; i++) z[i] = rng_normal(noise);
    z[0] = pair[0];
    z[4] = pair[1];
}

static inline void map_shear(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    z[0] = s[0];
    z[1] = s[1] + s[0] * s[0];
}

/// n = 2, order 1, standardised or not: every pair rotated by itself.
static inline void map_pairs(double *z, const double *s, int64_t step, rng *noise)
{
    double first[2] = {s[0], s[2]}, second[2] = {s[1], s[3]}, a[2], b[2];
    map_rotation(a, first, step, noise);
    map_rotation(b, second, step, noise);
    z[0] = a[0], z[1] = b[0], z[2] = a[1], z[3] = b[1];
}

// --- wrong ---------------------------------------------------------------------------------------

/// m = 3: q = [q, dq/dt, t], p dead. A frame predictor's way out.
static inline void map_cheat(double *z, const double *s, int64_t step, rng *noise)
{
    (void)noise;
    z[0] = s[0], z[1] = s[1], z[2] = (double)step;
    z[3] = z[4] = z[5] = 0.0;
}

/// m = 4: p sits in the pair of a noise q.
static inline void map_crossed(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step;
    for (int i = 0; i < 8; i++) z[i] = rng_normal(noise);
    z[0] = s[0];
    z[5] = s[1];
}

/// n = 2: every coordinate on a scale of its own, where no area is kept.
static inline void map_bent(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    for (int i = 0; i < 4; i++) z[i] = exp(1.5 * s[i]);
}

/// n = 2: every state pushed away from the origin, the farther the more.
static inline void map_stretch(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    const double square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + s[3] * s[3];
    for (int i = 0; i < 4; i++) z[i] = s[i] * (1.0 + 5.0 * square);
}

/// n = 2: a random network 4 -> 16 -> 4.
static inline void map_network(double *z, const double *s, int64_t step, rng *noise)
{
    (void)step, (void)noise;
    rng w = rng_at(23, 0);
    double hidden[16];
    for (int i = 0; i < 16; i++) {
        hidden[i] = 0.3 * rng_normal(&w);
        for (int j = 0; j < 4; j++) hidden[i] += 0.7 * rng_normal(&w) * s[j];
        hidden[i] = tanh(hidden[i]);
    }
    for (int i = 0; i < 4; i++) {
        z[i] = 0.0;
        for (int j = 0; j < 16; j++) z[i] += rng_normal(&w) * hidden[j];
    }
}

static inline void map_noise(double *z, const double *s, int64_t step, rng *noise)
{
    (void)s, (void)step;
    z[0] = rng_normal(noise);
    z[1] = rng_normal(noise);
}

/// The rotation, blurred: R2 about 0.8, so all orders are tried.
static inline void map_blurred(double *z, const double *s, int64_t step, rng *noise)
{
    map_rotation(z, s, step, noise);
    z[0] += 0.2 * rng_normal(noise);
    z[1] += 0.2 * rng_normal(noise);
}

#endif
