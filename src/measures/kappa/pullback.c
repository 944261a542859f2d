// SPDX-License-Identifier: MIT
// The latent form pulled back to the true phase space: O = J^T A J, with J the Jacobian of the map
// G from truth to latents. O comes from the fit of G to all trajectories. The fits to the two
// halves give O1 and O2, whose difference shows how well the data determine O.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "measures/kappa/kappa.h"

// ---- the form ----

// omega (form, form) = J^T A J = sum over pairs k of q_k p_k^T - p_k q_k^T, with the rows of J.
static void pull_back(double *omega, const double *J, int64_t m, int64_t form)
{
    memset(omega, 0, (size_t)(form * form) * sizeof *omega);
    for (int64_t k = 0; k < m; k++) {
        const double *q = J + k * form, *p = J + (m + k) * form;
        for (int64_t a = 0; a < form; a++) {
            const double qa = q[a], pa = p[a];
            if (qa == 0.0 && pa == 0.0) continue;
            double *row = omega + a * form;
            for (int64_t b = 0; b < form; b++) row[b] += qa * p[b] - pa * q[b];
        }
    }
}

// Adds <O, A>, |O|^2 and |A|^2 of one row to its trajectory, and O to the mean.
static void add_row(kappa_pullback_form *out, const kappa_truth *t, const double *omega,
                    int64_t trajectory, int64_t row, double share)
{
    const int64_t size = t->form_dims * t->form_dims;
    const double *true_form = t->true_form + row * t->form_stride;
    double dot = 0.0, norm2 = 0.0, true_norm2 = 0.0;
    for (int64_t i = 0; i < size; i++) {
        dot += omega[i] * true_form[i];
        norm2 += omega[i] * omega[i];
        true_norm2 += true_form[i] * true_form[i];
        out->mean[i] += omega[i] * share;
    }
    out->dot[trajectory] += dot;
    out->form_norm2[trajectory] += norm2;
    out->true_norm2[trajectory] += true_norm2;
}

// pairs (n, m) += O on true pair i, from latent pair k alone.
static void add_pairs(double *pairs, const double *J, int64_t m, int64_t form, double share)
{
    const int64_t n = form / 2;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++) {
            const double *q = J + k * form, *p = J + (m + k) * form;
            pairs[i * m + k] += share * (q[i] * p[i + n] - p[i] * q[i + n]);
        }
}

// |O|^2 if the slopes of each latent pair were orthogonal: sum over pairs of 2 |q_k|^2 |p_k|^2.
static double max_form_norm2(const double *J, int64_t m, int64_t form)
{
    double sum = 0.0;
    for (int64_t k = 0; k < m; k++) {
        double q = 0.0, p = 0.0;
        for (int64_t a = 0; a < form; a++) {
            q += J[k * form + a] * J[k * form + a];
            p += J[(m + k) * form + a] * J[(m + k) * form + a];
        }
        sum += 2.0 * q * p;
    }
    return sum;
}

enum { CHUNK = 600 };

// How well the latents of one row determine the state, to first order. N is the unexplained
// variance of each latent, V the variance of the truth. The covariance of the state given the
// latents is C = (J^T N^-1 J + V^-1)^-1; returns the mean over coordinates of 1 - C / V.
static double compute_local_r2(double *scratch, const double *J, const kappa_work *work,
                               const double *noise)
{
    const kappa_truth *t = &work->truth;
    const kappa_latent *l = &work->latent;
    const int64_t latent_dims = work->rows.latent_dims;
    const int64_t d = t->form_dims;
    double *precision = scratch, *inverse = scratch + d * d;
    memset(scratch, 0, (size_t)(2 * d * d) * sizeof *scratch);
    for (int64_t i = 0; i < latent_dims; i++) {
        const double scale = l->deviation[i] / l->max_deviation;
        if (!(scale > 0.0) || l->constant[i]) continue;
        const double weight = 1.0 / (scale * scale * fmax(noise[i], 1e-10));
        for (int64_t a = 0; a < d; a++)
            for (int64_t b = 0; b < d; b++)
                precision[a * d + b] += weight * J[i * d + a] * J[i * d + b];
    }
    // In units of the deviation of the truth, so that V is 1.
    for (int64_t a = 0; a < d; a++)
        for (int64_t b = 0; b < d; b++) precision[a * d + b] *= t->deviation[a] * t->deviation[b];
    for (int64_t a = 0; a < d; a++) precision[a * d + a] += 1.0, inverse[a * d + a] = 1.0;
    if (!cholesky_factor(precision, d)) return 0.0;
    cholesky_solve(inverse, precision, d, d);
    double unexplained = 0.0;
    for (int64_t a = 0; a < d; a++) unexplained += inverse[a * d + a] / (double)d;
    return 1.0 - unexplained;
}

// Pulls the form back at every row and adds up what kappa needs.
static plumb_status sum_form(kappa_work *work, arena *mem, const latent_map *g)
{
    kappa_pullback_form *out = &work->form;
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const int64_t wide = g->out.count * g->in.dims, m = rows->latent_dims / 2;
    double *jacobian = ARENA_ALLOC(mem, double, (CHUNK * wide));
    double *J = ARENA_ALLOC(mem, double, (rows->latent_dims * t->form_dims));
    double *omega = ARENA_ALLOC(mem, double, (t->form_dims * t->form_dims));
    double *scratch = ARENA_ALLOC(mem, double, (2 * t->form_dims * t->form_dims));
    if (!jacobian || !J || !omega || !scratch) return PLUMB_EMEMORY;
    const double share = 1.0 / (double)rows->rows;
    double max_norm2 = 0.0, norm2 = 0.0;
    enum { EVERY = 11 }; // every Nth row suffices for local_r2, which varies slowly
    const int64_t local_rows = (rows->rows + EVERY - 1) / EVERY;
    for (int64_t at = 0; at < rows->rows; at += CHUNK) {
        const int64_t some = rows->rows - at < CHUNK ? rows->rows - at : CHUNK;
        const plumb_status st = kernel_fit_jacobian(jacobian, &g->fit, mem, KERNEL_FIT_ALL,
                                                    g->in.x + at * g->in.dims, some);
        if (st) return st;
        for (int64_t r = at; r < at + some; r++) {
            kappa_map_slopes(J, jacobian + (r - at) * wide, r, work);
            pull_back(omega, J, m, t->form_dims);
            if (out->pairs) add_pairs(out->pairs, J, m, t->form_dims, share);
            max_norm2 += max_form_norm2(J, m, t->form_dims);
            add_row(out, t, omega, r / rows->steps, r, share);
            if (r % EVERY == 0)
                out->local_r2 +=
                    compute_local_r2(scratch, J, work, out->unexplained) / (double)local_rows;
        }
    }
    for (int64_t k = 0; k < rows->trajectories; k++) norm2 += out->form_norm2[k];
    out->relative_area = max_norm2 > 0.0 ? norm2 / max_norm2 : 0.0;
    return PLUMB_OK;
}

// |O1 - O2|^2 of the fits to the two halves, summed over each trajectory. It is an error estimate,
// so every third step suffices, scaled up to all steps.
static plumb_status compare_halves(kappa_work *work, arena *mem, const latent_map *g)
{
    kappa_pullback_form *out = &work->form;
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    enum { EVERY = 3 };
    const int64_t wide = g->out.count * g->in.dims, size = t->form_dims * t->form_dims,
                  d = g->in.dims;
    const int64_t steps = (rows->steps + EVERY - 1) / EVERY;
    double *x = ARENA_ALLOC(mem, double, (steps * d)),
           *omega = ARENA_ALLOC(mem, double, (2 * size));
    double *jacobian = ARENA_ALLOC(mem, double, (2 * steps * wide));
    double *J = ARENA_ALLOC(mem, double, (rows->latent_dims * t->form_dims));
    if (!x || !omega || !jacobian || !J) return PLUMB_EMEMORY;
    double dot[2] = {0}, true_norm2 = 0.0;
    for (int64_t k = 0; k < rows->trajectories; k++) {
        for (int64_t i = 0; i < steps; i++)
            memcpy(x + i * d, g->in.x + (k * rows->steps + i * EVERY) * d, (size_t)d * sizeof *x);
        for (int w = 0; w < 2; w++) {
            const plumb_status st = kernel_fit_jacobian(jacobian + w * steps * wide, &g->fit, mem,
                                                        KERNEL_FIT_FIRST + w, x, steps);
            if (st) return st;
        }
        double diff2 = 0.0;
        for (int64_t i = 0; i < steps; i++) {
            for (int w = 0; w < 2; w++) {
                kappa_map_slopes(J, jacobian + (w * steps + i) * wide, k * rows->steps + i * EVERY,
                                 work);
                pull_back(omega + w * size, J, rows->latent_dims / 2, t->form_dims);
            }
            const double *true_form = t->true_form + (k * rows->steps + i * EVERY) * t->form_stride;
            for (int64_t j = 0; j < size; j++) {
                diff2 += (omega[j] - omega[size + j]) * (omega[j] - omega[size + j]);
                dot[0] += omega[j] * true_form[j];
                dot[1] += omega[size + j] * true_form[j];
                true_norm2 += true_form[j] * true_form[j];
            }
        }
        out->halves_diff2[k] = diff2 * (double)rows->steps / (double)steps;
    }
    for (int w = 0; w < 2; w++) out->half_c[w] = true_norm2 > 0.0 ? dot[w] / true_norm2 : 0.0;
    return PLUMB_OK;
}

// kappa of a simpler fit, from every third row: how far it is from that of the fit shows the error
// that both halves share.
static plumb_status measure_coarse_fit(kappa_work *work, arena *mem, const latent_map *g)
{
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    enum { EVERY = 3 };
    const int64_t wide = g->out.count * g->in.dims, d = g->in.dims;
    const int64_t some = (rows->rows + EVERY - 1) / EVERY;
    kernel_fit coarse;
    plumb_status st = kernel_fit_coarsen(&coarse, mem, &g->fit, &g->request);
    double *x = ARENA_ALLOC(mem, double, (CHUNK * d));
    double *jacobian = ARENA_ALLOC(mem, double, (CHUNK * wide));
    double *J = ARENA_ALLOC(mem, double, (rows->latent_dims * t->form_dims));
    double *omega = ARENA_ALLOC(mem, double, (t->form_dims * t->form_dims));
    if (!st && (!x || !jacobian || !J || !omega)) st = PLUMB_EMEMORY;
    double dot = 0.0, norm2 = 0.0, true_norm2 = 0.0;
    for (int64_t at = 0; at < some && !st; at += CHUNK) {
        const int64_t count = some - at < CHUNK ? some - at : CHUNK;
        for (int64_t i = 0; i < count; i++)
            memcpy(x + i * d, g->in.x + (at + i) * EVERY * d, (size_t)d * sizeof *x);
        st = kernel_fit_jacobian(jacobian, &coarse, mem, KERNEL_FIT_ALL, x, count);
        for (int64_t i = 0; i < count && !st; i++) {
            const int64_t r = (at + i) * EVERY;
            kappa_map_slopes(J, jacobian + i * wide, r, work);
            pull_back(omega, J, rows->latent_dims / 2, t->form_dims);
            const double *true_form = t->true_form + r * t->form_stride;
            for (int64_t j = 0; j < t->form_dims * t->form_dims; j++) {
                dot += omega[j] * true_form[j];
                norm2 += omega[j] * omega[j];
                true_norm2 += true_form[j] * true_form[j];
            }
        }
    }
    work->form.coarse_kappa =
        norm2 > 0.0 && true_norm2 > 0.0 ? fmin(dot * dot / (norm2 * true_norm2), 1.0) : 0.0;
    return st;
}

// The unexplained variance of G, and how much of it is smooth in time and therefore no noise.
static void note_unexplained(kappa_work *work, const latent_map *g)
{
    kappa_pullback_form *out = &work->form;
    const kappa_latent *l = &work->latent;
    out->r2 = 1.0 - g->unexplained;
    for (int64_t k = 0; k < g->out.count; k++) {
        const int64_t i = g->out.which[k];
        const kernel_fit_choice *c = &g->fit.choice[k];
        const double share = g->out.role[k] == OUTPUT_VALUE ? 1.0 : 0.5;
        out->unexplained[i] += share * c->unexplained;
        out->missed += share * c->unexplained * c->smooth_share * l->deviation[i] *
                       l->deviation[i] / g->out.weight;
    }
}

static plumb_status form_init(kappa_pullback_form *out, const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const int64_t form = work->truth.form_dims;
    *out = (kappa_pullback_form){.resolution = (double)NAN};
    out->unexplained = ARENA_ALLOC(work->mem, double, rows->latent_dims);
    double **sums[] = {&out->dot, &out->form_norm2, &out->true_norm2, &out->halves_diff2,
                       &out->residual2};
    for (int i = 0; i < 5; i++) {
        *sums[i] = ARENA_ALLOC(work->mem, double, rows->trajectories);
        if (!*sums[i]) return PLUMB_EMEMORY;
    }
    out->mean = ARENA_ALLOC(work->mem, double, (form * form));
    if (work->truth.is_plain) {
        out->pairs =
            ARENA_ALLOC(work->mem, double, (rows->truth_dims / 2 * (rows->latent_dims / 2)));
        if (!out->pairs) return PLUMB_EMEMORY;
    }
    return out->unexplained && out->mean ? PLUMB_OK : PLUMB_EMEMORY;
}

plumb_status kappa_pullback(kappa_work *work)
{
    const latent_map *g = &work->map;
    plumb_status st = form_init(&work->form, work);
    if (st || !g->out.count) return st; // nothing moves: the form is 0
    st = kappa_find_surface(work);
    if (!st && work->surface.codim) st = kappa_map_refit(work);
    note_unexplained(work, g);
    arena scratch = {0};
    if (!st) st = sum_form(work, &scratch, g);
    if (!st) st = compare_halves(work, &scratch, g);
    if (!st && !work->is_area_only) st = measure_coarse_fit(work, &scratch, g);
    if (!st && !work->is_area_only) st = kappa_missed_slopes(work);
    arena_clear(&scratch);
    return st;
}
