// SPDX-License-Identifier: MIT
// A map that is symplectic by design, fitted from truth to latents: shears p += dV/dq and q +=
// dU/dp in turn [Jin20], each V a quadratic form plus ridge functions, on the truth padded with
// pairs that begin at 0; then one scale. Whatever its weights, it keeps the form; so how well it
// predicts trajectories it has not seen answers both questions at once.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/rng.h"
#include "measures/kappa/kappa.h"

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
    // Of the rows at hand, one number of all of them after the other: columns of BATCH.
    double *state;  // (LAYERS + 1, 2m, BATCH)
    double *param;  // (theta, BATCH)
    double *target; // (2m, BATCH)
    double *hidden; // (LAYERS, UNITS, BATCH)
    double *g;      // (2m, BATCH) gradient by the state
} shears;

static void take_row(shears *s, int64_t at, int64_t row)
{
    const int64_t d = 2 * s->m;
    for (int64_t i = 0; i < d; i++) {
        s->state[i * BATCH + at] = s->x[row * s->inputs + i];
        s->target[i * BATCH + at] = s->y[row * d + i];
    }
    for (int64_t i = 0; i < s->theta; i++) s->param[i * BATCH + at] = s->x[row * s->inputs + d + i];
}

// A layer: B (m, m), then for each unit a, b, w (m), u (theta).
static int64_t unit_at(const shears *s, int layer, int64_t j)
{
    return layer * s->layer + s->m * s->m + j * (2 + s->m + s->theta);
}

static void add(double *restrict y, double a, const double *restrict x)
{
    for (int i = 0; i < BATCH; i++) y[i] += a * x[i];
}

static double dot(const double *restrict a, const double *restrict b)
{
    double sum[4] = {0.0};
    for (int i = 0; i < BATCH; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The unit is z / sqrt(1 + z^2), which takes no transcendental function.
static void forward(shears *s)
{
    const int64_t m = s->m, wide = 2 * m * BATCH;
    double z[BATCH];
    for (int l = 0; l < LAYERS; l++) {
        const double *from = s->state + l * wide, *B = s->w + l * s->layer;
        double *to = s->state + (l + 1) * wide;
        memcpy(to, from, (size_t)wide * sizeof *to);
        const double *src = from + (l % 2 ? m * BATCH : 0);
        double *dst = to + (l % 2 ? 0 : m * BATCH);
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < m; k++)
                add(dst + i * BATCH, B[i * m + k] + B[k * m + i], src + k * BATCH);
        for (int64_t j = 0; j < UNITS; j++) {
            const double *u = s->w + unit_at(s, l, j);
            double *t = s->hidden + (l * UNITS + j) * BATCH;
            for (int i = 0; i < BATCH; i++) z[i] = u[1];
            for (int64_t i = 0; i < m; i++) add(z, u[2 + i], src + i * BATCH);
            for (int64_t i = 0; i < s->theta; i++) add(z, u[2 + m + i], s->param + i * BATCH);
            for (int i = 0; i < BATCH; i++) t[i] = z[i] / sqrt(1.0 + z[i] * z[i]);
            for (int64_t i = 0; i < m; i++) add(dst + i * BATCH, u[0] * u[2 + i], t);
        }
    }
}

// Squared error of the first `count` rows at hand; g becomes half its gradient by the output.
static double error_of(shears *s, int64_t count)
{
    const int64_t d = 2 * s->m;
    const double scale = s->w[s->weights - 1 - d], *offset = s->w + s->weights - d;
    const double *out = s->state + LAYERS * d * BATCH;
    double sum = 0.0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t k = 0; k < count; k++) {
            const int64_t at = i * BATCH + k;
            const double by = s->ask[i] * (scale * out[at] + offset[i] - s->target[at]);
            sum += by * by;
            s->g[at] = by;
        }
    return sum;
}

static void backward_unit(shears *s, const double *up, double *down, const double *src, int l,
                          int64_t j)
{
    const int64_t m = s->m, at = unit_at(s, l, j);
    const double *u = s->w + at, *t = s->hidden + (l * UNITS + j) * BATCH;
    double *du = s->gradient + at, along[BATCH] = {0.0}, slope[BATCH];
    for (int64_t i = 0; i < m; i++) add(along, u[2 + i], up + i * BATCH);
    du[0] += dot(t, along);
    for (int i = 0; i < BATCH; i++) {
        const double w = 1.0 - t[i] * t[i];
        slope[i] = u[0] * w * sqrt(w) * along[i];
        du[1] += slope[i];
    }
    for (int64_t i = 0; i < m; i++) {
        du[2 + i] += u[0] * dot(t, up + i * BATCH) + dot(slope, src + i * BATCH);
        add(down + i * BATCH, u[2 + i], slope);
    }
    for (int64_t i = 0; i < s->theta; i++) du[2 + m + i] += dot(slope, s->param + i * BATCH);
}

// Adds the gradient of half the squared error of the rows at hand.
static void backward(shears *s)
{
    const int64_t m = s->m, d = 2 * m;
    const double *last = s->state + LAYERS * d * BATCH, scale = s->w[s->weights - 1 - d];
    double *tail = s->gradient + s->weights - 1 - d;
    for (int64_t i = 0; i < d; i++) {
        double *g = s->g + i * BATCH;
        tail[0] += dot(g, last + i * BATCH);
        for (int k = 0; k < BATCH; k++) {
            tail[1 + i] += g[k];
            g[k] *= scale;
        }
    }
    for (int l = LAYERS - 1; l >= 0; l--) {
        const double *src = s->state + (l * d + (l % 2 ? m : 0)) * BATCH, *B = s->w + l * s->layer;
        const double *up = s->g + (l % 2 ? 0 : m * BATCH);
        double *down = s->g + (l % 2 ? m * BATCH : 0), *dB = s->gradient + l * s->layer;
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < m; k++) {
                const double both = dot(up + i * BATCH, src + k * BATCH);
                add(down + k * BATCH, B[i * m + k] + B[k * m + i], up + i * BATCH);
                dB[i * m + k] += both;
                dB[k * m + i] += both;
            }
        for (int64_t j = 0; j < UNITS; j++) backward_unit(s, up, down, src, l, j);
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
static plumb_status train(shears *s, int64_t first, int64_t count, int64_t steps, rng *random)
{
    for (int64_t n = 1; n <= steps; n++) {
        for (int64_t b = 0; b < BATCH; b++) take_row(s, b, first + rng_below(random, count));
        forward(s);
        error_of(s, BATCH);
        backward(s);
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
            double *u = s->w + unit_at(s, l, j);
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

static plumb_status shears_init(shears *s, arena *mem, const kappa_rows *rows, const kappa_truth *t,
                                const kappa_latent *l, const kappa_pullback_form *f, double sign)
{
    const int64_t n = t->form / 2, m = rows->m2 / 2, all = rows->rows;
    *s = (shears){.m = n > m ? n : m};
    for (int64_t i = 0; i < rows->m2; i++) s->theta += l->constant[i];
    s->inputs = 2 * s->m + s->theta;
    s->layer = s->m * s->m + UNITS * (2 + s->m + s->theta);
    s->weights = LAYERS * s->layer + 1 + 2 * s->m;
    double **room[] = {&s->w, &s->gradient, &s->mean, &s->square};
    for (int i = 0; i < 4; i++)
        if (!(*room[i] = ARENA_ALLOC(mem, double, s->weights))) return PLUMB_EMEMORY;
    double *x = ARENA_ALLOC(mem, double, (all * s->inputs)),
           *y = ARENA_ALLOC(mem, double, (all * 2 * s->m));
    double *ask = ARENA_ALLOC(mem, double, (2 * s->m));
    s->state = ARENA_ALLOC(mem, double, ((LAYERS + 1) * 2 * s->m * BATCH));
    s->param = ARENA_ALLOC(mem, double, (s->theta * BATCH));
    s->target = ARENA_ALLOC(mem, double, (2 * s->m * BATCH));
    s->hidden = ARENA_ALLOC(mem, double, (LAYERS * UNITS * BATCH));
    s->g = ARENA_ALLOC(mem, double, (2 * s->m * BATCH));
    if (!x || !y || !ask || !s->state || !s->param || !s->target || !s->hidden || !s->g)
        return PLUMB_EMEMORY;
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
        ask[i < m ? i : s->m + i - m] =
            !l->constant[i] && !l->idle[i] && f->left[i] < noise_bar ? 1.0 : 0.0;
    s->x = x, s->y = y, s->ask = ask;
    return PLUMB_OK;
}

// What the free map left open of the same latents.
static double left_by_free_map(const kappa_rows *rows, const kappa_latent *l,
                               const kappa_pullback_form *f)
{
    double left = 0.0, total = 0.0;
    for (int64_t i = 0; i < rows->m2; i++) {
        if (l->constant[i] || l->idle[i] || f->left[i] >= noise_bar) continue;
        left += f->left[i] * l->deviation[i] * l->deviation[i];
        total += l->deviation[i] * l->deviation[i];
    }
    return total > 0.0 ? left / total : 0.0;
}

plumb_status kappa_symplectic_map(double *r2, double *free_r2, arena *mem, const kappa_rows *rows,
                                  const kappa_truth *truth, const kappa_latent *latent,
                                  const kappa_pullback_form *form, double sign,
                                  const plumb_kappa_options *opt)
{
    enum { STEPS = 3000 };
    *r2 = *free_r2 = (double)NAN;
    // The padded start wants pairs of their own; on mixed or curved coordinates there are none.
    if (!truth->plain || !(latent->largest > 0.0)) return PLUMB_OK;
    shears s;
    plumb_status st = shears_init(&s, mem, rows, truth, latent, form, sign < 0.0 ? -1.0 : 1.0);
    double missed = 0.0, total = 0.0;
    for (int half = 0; half < 2 && !st; half++) {
        const int64_t fitted = half ? rows->first : 0;
        const int64_t count = half ? rows->rows - rows->first : rows->first;
        rng random = rng_at(opt->seed, STREAM_SHEARS);
        start(&s, &random);
        st = train(&s, fitted, count, STEPS, &random);
        const int64_t from = half ? 0 : rows->first, to = half ? rows->first : rows->rows;
        for (int64_t r = from; r < to && !st; r += BATCH) {
            const int64_t some = to - r < BATCH ? to - r : BATCH;
            for (int64_t b = 0; b < some; b++) take_row(&s, b, r + b);
            forward(&s);
            missed += error_of(&s, some);
        }
        for (int64_t i = from * 2 * s.m; i < to * 2 * s.m && !st; i++)
            total += s.ask[i % (2 * s.m)] * s.y[i] * s.y[i];
    }
    if (st || !(total > 0.0)) return st;
    *r2 = fmax(1.0 - missed / total, 0.0);
    *free_r2 = 1.0 - left_by_free_map(rows, latent, form);
    return PLUMB_OK;
}
