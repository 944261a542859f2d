// SPDX-License-Identifier: MIT
// A map that is symplectic by design, fitted from truth to latents: shears p += dV/dq and q +=
// dU/dp in turn [Jin20], each V a quadratic form plus ridge functions, on the truth padded with
// pairs that begin at 0; then one scale. Whatever its weights, it keeps the form; so how well it
// predicts trajectories it has not seen answers both questions at once.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/rng.h"
#include "measures/symplectic/canonical.h"

enum { LAYERS = 8, UNITS = 16, BATCH = 64, STREAM_SHEARS = 22 };

// Latents that are noise are not asked of it.
static const double noise_bar = 0.5;
static const double first_rate = 0.02;

typedef struct shears {
    int64_t m;                            // pairs, padding included
    int64_t theta;                        // parameters: latents constant along a trajectory
    int64_t inputs;                       // numbers of a row: 2m and theta
    int64_t layer;                        // weights of a layer
    int64_t weights;                      // of all, with the scale and the 2m offsets at the end
    double *w, *gradient, *mean, *square; // (weights)
    const double *x;                      // (rows, inputs)
    const double *y;                      // (rows, 2m)
    const double *ask;                    // (2m) 1 if a latent counts
    double *state;                        // ((LAYERS + 1), 2m) of one row
    double *hidden;                       // (LAYERS, UNITS)
} shears;

// A layer: B (m, m), then for each unit a, b, w (m), u (theta).
static const double *unit_at(const shears *s, const double *w, int layer, int64_t j)
{
    return w + layer * s->layer + s->m * s->m + j * (2 + s->m + s->theta);
}

static void forward(shears *s, const double *x)
{
    const int64_t m = s->m;
    const double *theta = x + 2 * m;
    memcpy(s->state, x, (size_t)(2 * m) * sizeof *x);
    for (int l = 0; l < LAYERS; l++) {
        const double *from = s->state + l * 2 * m, *B = s->w + l * s->layer;
        double *to = s->state + (l + 1) * 2 * m;
        memcpy(to, from, (size_t)(2 * m) * sizeof *to);
        const double *src = from + (l % 2 ? m : 0);
        double *dst = to + (l % 2 ? 0 : m);
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < m; k++) dst[i] += (B[i * m + k] + B[k * m + i]) * src[k];
        for (int64_t j = 0; j < UNITS; j++) {
            const double *u = unit_at(s, s->w, l, j);
            double z = u[1];
            for (int64_t i = 0; i < m; i++) z += u[2 + i] * src[i];
            for (int64_t i = 0; i < s->theta; i++) z += u[2 + m + i] * theta[i];
            const double t = s->hidden[l * UNITS + j] = tanh(z);
            for (int64_t i = 0; i < m; i++) dst[i] += u[0] * t * u[2 + i];
        }
    }
}

// Squared error of one row; g (2m) becomes half its gradient by the last state, times the scale.
static double error_of(const shears *s, double *g, const double *y)
{
    const int64_t d = 2 * s->m;
    const double scale = s->w[s->weights - 1 - d], *offset = s->w + s->weights - d;
    const double *out = s->state + LAYERS * d;
    double sum = 0.0;
    for (int64_t i = 0; i < d; i++) {
        const double by = s->ask[i] * (scale * out[i] + offset[i] - y[i]);
        sum += by * by;
        if (g) g[i] = by;
    }
    return sum;
}

// Adds the gradient of half the squared error of one row.
static void backward(shears *s, double *g, const double *x)
{
    const int64_t m = s->m, d = 2 * m;
    const double *theta = x + d, *last = s->state + LAYERS * d;
    double *tail = s->gradient + s->weights - 1 - d;
    const double scale = s->w[s->weights - 1 - d];
    for (int64_t i = 0; i < d; i++) {
        tail[0] += g[i] * last[i];
        tail[1 + i] += g[i];
        g[i] *= scale;
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
        const double *src = s->state + l * d + (l % 2 ? m : 0), *B = s->w + l * s->layer;
        const double *up = g + (l % 2 ? 0 : m);
        double *down = g + (l % 2 ? m : 0), *dB = s->gradient + l * s->layer;
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < m; k++) {
                down[k] += (B[i * m + k] + B[k * m + i]) * up[i];
                dB[i * m + k] += up[i] * src[k] + up[k] * src[i];
            }
        for (int64_t j = 0; j < UNITS; j++) {
            const double *u = unit_at(s, s->w, l, j);
            double *du = s->gradient + (u - s->w);
            const double t = s->hidden[l * UNITS + j];
            double along = 0.0;
            for (int64_t i = 0; i < m; i++) along += u[2 + i] * up[i];
            const double slope = u[0] * (1.0 - t * t) * along;
            du[0] += t * along;
            du[1] += slope;
            for (int64_t i = 0; i < m; i++) {
                du[2 + i] += u[0] * t * up[i] + slope * src[i];
                down[i] += slope * u[2 + i];
            }
            for (int64_t i = 0; i < s->theta; i++) du[2 + m + i] += slope * theta[i];
        }
    }
}

// Adam [Kingma15].
static void step(shears *s, int64_t number, double rate)
{
    const double fade1 = 1.0 - pow(0.9, (double)number), fade2 = 1.0 - pow(0.999, (double)number);
    for (int64_t i = 0; i < s->weights; i++) {
        const double g = s->gradient[i];
        s->mean[i] += 0.1 * (g - s->mean[i]);
        s->square[i] += 0.001 * (g * g - s->square[i]);
        s->w[i] -= rate * (s->mean[i] / fade1) / (sqrt(s->square[i] / fade2) + 1e-8);
        s->gradient[i] = 0.0;
    }
}

// Trains on rows first .. first+count-1.
static plumb_status train(shears *s, double *g, int64_t first, int64_t count, int64_t steps,
                          rng *random)
{
    for (int64_t n = 1; n <= steps; n++) {
        for (int64_t b = 0; b < BATCH; b++) {
            const int64_t r = first + rng_below(random, count);
            forward(s, s->x + r * s->inputs);
            error_of(s, g, s->y + r * 2 * s->m);
            backward(s, g, s->x + r * s->inputs);
        }
        for (int64_t i = 0; i < s->weights; i++) s->gradient[i] /= BATCH;
        const double done = (double)n / (double)steps;
        step(s, n, first_rate * (0.5 + 0.5 * cos(3.141592653589793 * done)) + 1e-5);
        if (n % 64 == 0 && status_check_stop()) return PLUMB_ESTOPPED;
    }
    return PLUMB_OK;
}

static void start(shears *s, rng *random)
{
    memset(s->w, 0, (size_t)s->weights * sizeof *s->w);
    for (int l = 0; l < LAYERS; l++)
        for (int64_t j = 0; j < UNITS; j++) {
            double *u = s->w + (unit_at(s, s->w, l, j) - s->w);
            u[0] = 0.05 * rng_normal(random);
            for (int64_t i = 1; i < 2 + s->m + s->theta; i++)
                u[i] = rng_normal(random) / (i == 1 ? 1.0 : sqrt((double)(s->m + s->theta)));
        }
    s->w[s->weights - 1 - 2 * s->m] = 1.0;
    memset(s->mean, 0, (size_t)s->weights * sizeof *s->mean);
    memset(s->square, 0, (size_t)s->weights * sizeof *s->square);
    memset(s->gradient, 0, (size_t)s->weights * sizeof *s->gradient);
}

// --- what goes in -------------------------------------------------------------------------------

static plumb_status shears_init(shears *s, arena *mem, const canonical_rows *rows,
                                const canonical_truth *t, const canonical_latent *l,
                                const canonical_form *f, double sign)
{
    const int64_t n = t->form / 2, m = rows->m2 / 2, all = rows->rows;
    *s = (shears){.m = n > m ? n : m};
    for (int64_t i = 0; i < rows->m2; i++) s->theta += l->constant[i];
    s->inputs = 2 * s->m + s->theta;
    s->layer = s->m * s->m + UNITS * (2 + s->m + s->theta);
    s->weights = LAYERS * s->layer + 1 + 2 * s->m;
    double **room[] = {&s->w, &s->gradient, &s->mean, &s->square};
    for (int i = 0; i < 4; i++)
        if (!(*room[i] = ARENA_NEW(mem, double, s->weights))) return PLUMB_EMEMORY;
    double *x = ARENA_NEW(mem, double, (all * s->inputs)),
           *y = ARENA_NEW(mem, double, (all * 2 * s->m));
    double *ask = ARENA_NEW(mem, double, (2 * s->m));
    s->state = ARENA_NEW(mem, double, ((LAYERS + 1) * 2 * s->m));
    s->hidden = ARENA_NEW(mem, double, (LAYERS * UNITS));
    if (!x || !y || !ask || !s->state || !s->hidden) return PLUMB_EMEMORY;
    double size = 0.0;
    for (int64_t i = 0; i < t->form; i++) size = fmax(size, t->deviation[i]);
    for (int64_t r = 0; r < all; r++) {
        double *to = x + r * s->inputs;
        for (int64_t i = 0; i < n; i++) {
            to[i] = t->w[r * t->dims + i] / size;
            to[s->m + i] = sign * t->w[r * t->dims + n + i] / size;
        }
        for (int64_t i = 0, k = 2 * s->m; i < rows->m2; i++) {
            if (l->constant[i]) to[k++] = l->y[r * rows->m2 + i];
            else
                y[r * 2 * s->m + (i < m ? i : s->m + i - m)] =
                    l->y[r * rows->m2 + i] * l->deviation[i] / l->largest;
        }
    }
    for (int64_t i = 0; i < rows->m2; i++)
        ask[i < m ? i : s->m + i - m] = !l->constant[i] && f->left[i] < noise_bar ? 1.0 : 0.0;
    s->x = x, s->y = y, s->ask = ask;
    return PLUMB_OK;
}

// What the free map left open of the same latents.
static double left_by_free_map(const canonical_rows *rows, const canonical_latent *l,
                               const canonical_form *f)
{
    double left = 0.0, total = 0.0;
    for (int64_t i = 0; i < rows->m2; i++) {
        if (l->constant[i] || f->left[i] >= noise_bar) continue;
        left += f->left[i] * l->deviation[i] * l->deviation[i];
        total += l->deviation[i] * l->deviation[i];
    }
    return total > 0.0 ? left / total : 0.0;
}

plumb_status canonical_shears(double *r2, double *free_r2, arena *mem, const canonical_rows *rows,
                              const canonical_truth *truth, const canonical_latent *latent,
                              const canonical_form *form, double sign,
                              const plumb_canonical_options *opt)
{
    enum { STEPS = 3000 };
    *r2 = *free_r2 = (double)NAN;
    // The padded start wants pairs of their own; on mixed or curved coordinates there are none.
    if (!truth->plain || !(latent->largest > 0.0)) return PLUMB_OK;
    shears s;
    plumb_status st = shears_init(&s, mem, rows, truth, latent, form, sign < 0.0 ? -1.0 : 1.0);
    double *g = st ? NULL : ARENA_NEW(mem, double, (2 * s.m));
    if (st || !g) return PLUMB_EMEMORY;
    double missed = 0.0, total = 0.0;
    for (int half = 0; half < 2 && !st; half++) {
        const int64_t fitted = half ? rows->first : 0;
        const int64_t count = half ? rows->rows - rows->first : rows->first;
        rng random = rng_at(opt->seed, STREAM_SHEARS);
        start(&s, &random);
        st = train(&s, g, fitted, count, STEPS, &random);
        for (int64_t r = half ? 0 : rows->first; r < (half ? rows->first : rows->rows); r++) {
            forward(&s, s.x + r * s.inputs);
            missed += error_of(&s, NULL, s.y + r * 2 * s.m);
            for (int64_t i = 0; i < 2 * s.m; i++)
                total += s.ask[i] * s.y[r * 2 * s.m + i] * s.y[r * 2 * s.m + i];
        }
    }
    if (st || !(total > 0.0)) return st;
    *r2 = fmax(1.0 - missed / total, 0.0);
    *free_r2 = 1.0 - left_by_free_map(rows, latent, form);
    return PLUMB_OK;
}
