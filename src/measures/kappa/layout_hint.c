// SPDX-License-Identifier: MIT
// Are the arrays read as they were meant? Where a model is not learnt although its latents hold the
// state, other layouts are tried with the slopes of the fit that exists: pairs that stand together,
// (q1, p1, q2, p2), in the latents, the truth or both. Velocities in the place of momenta are known
// by the motion, cosines and sines by their squares, and exchanged arrays by their dimensions. The
// hint does not change the verdict.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "measures/fit/circle_columns.h"
#include "measures/kappa/kappa.h"

// kappa of another layout must be higher than that of the given one by this.
static const double clear_gain = 0.1;
// The second half is a velocity if this share of its square is the rate of the first half, ...
static const double velocity_share = 0.99;
// ... with the same time step for all pairs, up to this factor.
static const double same_step = 1.1;

// Entry (i, j) of a form of n pairs, positions first or interleaved.
static double form_entry(bool interleaved, int64_t n, int64_t i, int64_t j)
{
    if (interleaved) return i / 2 != j / 2 ? 0.0 : (double)(j - i);
    return j == i + n ? 1.0 : i == j + n ? -1.0 : 0.0;
}

// factor (2n): from the balanced coordinates of positions first to those of interleaved pairs.
// False if a coordinate does not vary.
static bool rebalance(double *factor, const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const int64_t d = rows->truth_dims;
    double *given = ARENA_ALLOC(work->mem, double, d); // deviation as given
    if (!given) return false;
    for (int64_t i = 0; i < d; i++) {
        double mean = 0.0, square = 0.0;
        for (int64_t r = 0; r < rows->rows; r++)
            mean += rows->truth[r * d + i] / (double)rows->rows;
        for (int64_t r = 0; r < rows->rows; r++) {
            const double by = rows->truth[r * d + i] - mean;
            square += by * by / (double)rows->rows;
        }
        given[i] = sqrt(square);
        if (!(given[i] > 0.0) || !(work->truth.deviation[i] > 0.0)) return false;
    }
    // In a pair both have the deviation sqrt(sd q sd p).
    for (int64_t i = 0; i < d; i++)
        factor[i] = work->truth.deviation[i] / sqrt(given[i] * given[i ^ 1]);
    return true;
}

// kappa with each layout of the latents and of the truth: kappa[latent][truth], 1 for interleaved.
static plumb_status try_pairings(double kappa[2][2], const kappa_work *work)
{
    const latent_map *g = &work->map;
    const int64_t form = work->truth.form_dims, size = form * form, m2 = work->rows.latent_dims;
    enum { EVERY = 7 }; // some rows suffice
    arena mem = {0};
    const int64_t wide = g->out.count * g->in.dims;
    double *jacobian = ARENA_ALLOC(&mem, double, wide);
    double *J = ARENA_ALLOC(&mem, double, (m2 * form));
    double *factor = ARENA_ALLOC(&mem, double, form);
    double *omega = ARENA_ALLOC(&mem, double, size);
    plumb_status st = jacobian && J && factor && omega ? PLUMB_OK : PLUMB_EMEMORY;
    double dot[2][2] = {{0}}, norm2[2][2] = {{0}}, true_norm2[2] = {0};
    const bool varies = !st && rebalance(factor, work);
    for (int64_t r = 0; r < work->rows.rows && !st && varies; r += EVERY) {
        st = kernel_fit_jacobian(jacobian, &g->fit, &mem, KERNEL_FIT_ALL, g->in.x + r * g->in.dims,
                                 1);
        if (st) break;
        kappa_map_slopes(J, jacobian, r, work);
        for (int l = 0; l < 2; l++) {
            memset(omega, 0, (size_t)size * sizeof *omega);
            for (int64_t k = 0; k < m2 / 2; k++) {
                const double *q = J + (l ? 2 * k : k) * form;
                const double *p = J + (l ? 2 * k + 1 : k + m2 / 2) * form;
                for (int64_t a = 0; a < form; a++)
                    for (int64_t b = 0; b < form; b++)
                        omega[a * form + b] += q[a] * p[b] - p[a] * q[b];
            }
            for (int t = 0; t < 2; t++)
                for (int64_t a = 0; a < form; a++)
                    for (int64_t b = 0; b < form; b++) {
                        const double by = t ? factor[a] * factor[b] : 1.0;
                        const double entry = form_entry(t, form / 2, a, b);
                        dot[l][t] += omega[a * form + b] * by * entry;
                        norm2[l][t] += omega[a * form + b] * omega[a * form + b] * by * by;
                        if (!l) true_norm2[t] += entry * entry;
                    }
        }
    }
    for (int l = 0; l < 2; l++)
        for (int t = 0; t < 2; t++)
            kappa[l][t] = norm2[l][t] > 0.0
                              ? fmin(dot[l][t] * dot[l][t] / (norm2[l][t] * true_norm2[t]), 1.0)
                              : 0.0;
    arena_clear(&mem);
    return st;
}

// Is the second half of the columns the rate of change of the first? *step: the time step.
static bool has_velocities(const double *values, const kappa_rows *rows, int64_t columns)
{
    const int64_t m = columns / 2;
    double first_step = 0.0;
    if (rows->is_thinned || rows->steps < 5) return false;
    for (int64_t i = 0; i < m; i++) {
        double product = 0.0, rate2 = 0.0, velocity2 = 0.0;
        for (int64_t r = 1; r + 1 < rows->rows; r++) {
            if (r % rows->steps == 0 || r % rows->steps == rows->steps - 1) continue;
            const double rate =
                0.5 * (values[(r + 1) * columns + i] - values[(r - 1) * columns + i]);
            const double velocity = values[r * columns + m + i];
            product += rate * velocity, rate2 += rate * rate, velocity2 += velocity * velocity;
        }
        if (!(rate2 > 0.0) || !(velocity2 > 0.0)) return false;
        const double step = product / velocity2;
        if (!(step > 0.0) || product * product < velocity_share * rate2 * velocity2) return false;
        if (i && !(step < same_step * first_step && first_step < same_step * step)) return false;
        if (!i) first_step = step;
    }
    return true;
}

// The best other layout of pairs, if it makes the model learnt.
static plumb_status find_pairing(char *text, size_t size, const plumb_kappa *r,
                                 const kappa_work *work)
{
    static const char *const which[2][2] = {{"", "truth_layout"},
                                            {"layout", "layout and truth_layout"}};
    double kappa[2][2];
    const plumb_status st = try_pairings(kappa, work);
    double best = fmax(work->opt->kappa_bar, r->kappa + clear_gain);
    for (int l = 0; l < 2 && !st; l++)
        for (int t = 0; t < 2; t++) {
            if ((!l && !t) || !(kappa[l][t] > best)) continue;
            best = kappa[l][t];
            text_format(
                text, size,
                "with %s read as (q1, p1, q2, p2) kappa is %.4f: is that the layout? (option "
                "%s: interleaved)",
                l && t ? "latents and truth"
                : l    ? "the latents"
                       : "the truth",
                best, which[l][t]);
        }
    return st;
}

plumb_status kappa_find_hint(plumb_kappa *out, kappa_work *work, const plumb_array *latent,
                             const plumb_array *truth)
{
    char text[300] = "";
    plumb_status st = PLUMB_OK;
    const bool holds = out->r2_state > work->opt->r2_bar,
               low = !(out->kappa > work->opt->kappa_bar);
    const bool plain = work->truth.is_plain && work->map.out.count > 0;
    if (out->canonical == PLUMB_VERDICT_LEARNT) return PLUMB_OK;
    if (holds && low && plain && (out->n > 1 || out->m > 1))
        st = find_pairing(text, sizeof text, out, work);
    if (!st && !*text && circle_columns_find(latent) != CIRCLE_NONE)
        text_format(text, sizeof text,
                    "the latents look like (cos, sin, p) (option layout: circle)");
    if (!st && !*text && circle_columns_find(truth) != CIRCLE_NONE)
        text_format(text, sizeof text,
                    "the true states look like (cos, sin, p) (option truth_layout: circle)");
    if (!st && !*text && holds && truth->shape[2] > latent->shape[2])
        text_format(text, sizeof text,
                    "the truth has %lld columns and follows from %lld latents: were latent and "
                    "truth exchanged?",
                    (long long)truth->shape[2], (long long)latent->shape[2]);
    // Where kappa cannot be measured, other momenta would not change that.
    if (!st && !*text && holds && low && isfinite(out->kappa) &&
        has_velocities(work->rows.latent, &work->rows, work->rows.latent_dims))
        text_format(text, sizeof text,
                    "the second half of the latents is the velocity of the first: are they (q, "
                    "velocity) of a Lagrangian model? (option layout: velocities)");
    if (st || !*text) return st;
    char why[1100];
    text_format(why, sizeof why, "%s; %s", out->why, text);
    out->hint = arena_strdup(work->keep, text);
    out->why = arena_strdup(work->keep, why);
    return out->hint && out->why ? PLUMB_OK : PLUMB_EMEMORY;
}
