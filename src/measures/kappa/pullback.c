// SPDX-License-Identifier: MIT
// The latent form pulled back to the true phase space: O = J^T A J, with J the Jacobian of the map
// G from truth to latents. O comes from the fit of G to all trajectories. The fits to the two
// halves give O1 and O2, whose difference shows how well the data determine O.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "measures/kappa/kappa.h"

// Angles are also tried as sine and cosine if more than this is unexplained without.
static const double exact_fit = 1e-4;
// Above the first value Gaussian kernels are tried; they must leave less than the second times it.
static const double poor_fit = 0.05, clear_gain = 0.5;
// A latent that is constant along trajectories and less unexplained than this is conserved: a
// function of the state.
static const double conserved = 0.1;

// ---- inputs and outputs of G ----

static plumb_status inputs_init(map_inputs *in, arena *mem, const kappa_work *work,
                                const kappa_latent *l, bool circular)
{
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const int64_t max_dims = 2 * t->dims + rows->latent_dims;
    in->x = ARENA_ALLOC(mem, double, (rows->rows * max_dims));
    in->slope = ARENA_ALLOC(mem, double, (rows->rows * max_dims));
    in->base = ARENA_ALLOC(mem, int64_t, max_dims);
    if (!in->x || !in->slope || !in->base) return PLUMB_EMEMORY;
    in->dims = 0;
    for (int64_t i = 0; i < t->dims; i++) {
        in->base[in->dims++] = i;
        if (circular && t->per_radian[i] > 0.0) in->base[in->dims++] = i;
    }
    for (int64_t i = 0; i < rows->latent_dims; i++)
        if (l->constant[i]) in->base[in->dims++] = -1 - i;
    for (int64_t r = 0; r < rows->rows; r++)
        for (int64_t k = 0; k < in->dims; k++) {
            const int64_t i = in->base[k], at = r * in->dims + k;
            if (i < 0) {
                in->x[at] = l->y[r * rows->latent_dims - 1 - i];
                continue;
            }
            const double w = t->w[r * t->dims + i];
            if (circular && t->per_radian[i] > 0.0) {
                const bool cosine = k && in->base[k - 1] == i;
                const double angle = w / t->per_radian[i];
                in->x[at] = cosine ? cos(angle) : sin(angle);
                in->slope[at] = (cosine ? -sin(angle) : cos(angle)) / t->per_radian[i];
            } else {
                in->x[at] = w;
                in->slope[at] = 1.0;
            }
        }
    return PLUMB_OK;
}

// Scales inputs to mean 0 and deviation 1, and their slopes with them.
static void standardise_inputs(map_inputs *in, int64_t rows)
{
    for (int64_t k = 0; k < in->dims; k++) {
        double mean = 0.0, square = 0.0;
        for (int64_t r = 0; r < rows; r++) mean += in->x[r * in->dims + k] / (double)rows;
        for (int64_t r = 0; r < rows; r++) {
            const double by = in->x[r * in->dims + k] - mean;
            square += by * by / (double)rows;
        }
        const double scale = square > 0.0 ? 1.0 / sqrt(square) : 1.0;
        for (int64_t r = 0; r < rows; r++) {
            in->x[r * in->dims + k] = (in->x[r * in->dims + k] - mean) * scale;
            in->slope[r * in->dims + k] *= scale;
        }
    }
}

static plumb_status outputs_init(map_outputs *o, arena *mem, const kappa_rows *rows,
                                 const kappa_latent *l)
{
    *o = (map_outputs){.which = ARENA_ALLOC(mem, int64_t, rows->latent_dims)};
    o->y = ARENA_ALLOC(mem, double, (rows->rows * rows->latent_dims));
    if (!o->which || !o->y) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows->latent_dims; i++)
        if (l->varies[i] && !l->constant[i] && !l->unpaired[i]) {
            o->which[o->count++] = i;
            o->weight += l->deviation[i] * l->deviation[i];
        }
    for (int64_t r = 0; r < rows->rows; r++)
        for (int64_t k = 0; k < o->count; k++)
            o->y[r * o->count + k] = l->y[r * rows->latent_dims + o->which[k]];
    return PLUMB_OK;
}

// Unexplained share of all outputs, weighted by variance.
static double sum_unexplained(const kernel_fit *fit, const map_outputs *o, const kappa_latent *l)
{
    double sum = 0.0;
    for (int64_t k = 0; k < o->count; k++) {
        const double sd = l->deviation[o->which[k]];
        sum += fit->choice[k].unexplained * sd * sd / o->weight;
    }
    return sum;
}

// Chooses the fit of G for the outputs g->out. `l` says which latents are constant.
static plumb_status choose_map(latent_map *g, arena *mem, const kappa_work *work,
                               const kappa_latent *l, kernel_fit_kind kind, bool circular)
{
    const kappa_rows *rows = &work->rows;
    plumb_status st = inputs_init(&g->in, mem, work, l, circular);
    if (st) return st;
    standardise_inputs(&g->in, rows->rows);
    int64_t true_dims = 0;
    while (true_dims < g->in.dims && g->in.base[true_dims] >= 0) true_dims++;
    g->request = (kernel_fit_input){.x = g->in.x,
                                    .y = g->out.y,
                                    .rows = rows->rows,
                                    .first_half_rows = rows->first_half_rows,
                                    .dims = g->in.dims,
                                    .unpenalised_dims = true_dims,
                                    .outputs = g->out.count,
                                    .search_stride = rows->search_stride,
                                    .centres = work->opt->centres,
                                    .max_terms = 250,
                                    .max_order = 5,
                                    .kind = kind};
    st = kernel_fit_choose(&g->fit, mem, &g->request);
    if (!st) g->unexplained = sum_unexplained(&g->fit, &g->out, l);
    return st;
}

// A latent may be constant along each trajectory because it is a conserved quantity, which is a
// function of the state. Then it is an output of G, not an input.
static plumb_status release_conserved(kappa_work *work)
{
    arena *mem = work->mem;
    const kappa_rows *rows = &work->rows;
    kappa_latent *l = &work->latent;
    kappa_latent only = *l;
    only.varies = ARENA_ALLOC(mem, bool, rows->latent_dims);
    only.constant = ARENA_ALLOC(mem, bool, rows->latent_dims); // none is an input
    only.unpaired = only.constant;
    if (!only.varies || !only.constant) return PLUMB_EMEMORY;
    memcpy(only.varies, l->constant, (size_t)rows->latent_dims * sizeof *only.varies);
    latent_map g;
    plumb_status st = outputs_init(&g.out, mem, rows, &only);
    if (st || !g.out.count) return st;
    st = choose_map(&g, mem, work, &only, (kernel_fit_kind)work->opt->estimator, false);
    for (int64_t k = 0; !st && k < g.out.count; k++)
        if (g.fit.choice[k].unexplained < conserved) l->constant[g.out.which[k]] = false;
    return st;
}

// The partner of a constant c drifts by the integral of -dH/dc, which is no function of the state.
// At fixed c the two span no area, so it is not fitted.
static void mark_unpaired(kappa_latent *l, int64_t m)
{
    for (int64_t i = 0; i < 2 * m; i++) l->unpaired[i] = l->constant[i < m ? i + m : i - m];
}

// Chooses between plain coordinates, sines and cosines of angles, and Gaussian kernels; then fits.
static plumb_status fit_map(latent_map *g, arena *mem, const kappa_work *work)
{
    const kappa_truth *t = &work->truth;
    const kappa_latent *l = &work->latent;
    const kernel_fit_kind kind = (kernel_fit_kind)work->opt->estimator;
    plumb_status st = choose_map(g, mem, work, l, kind, false);
    bool has_angle = false;
    for (int64_t i = 0; i < t->dims; i++) has_angle = has_angle || t->per_radian[i] > 0.0;
    if (!st && has_angle && g->unexplained > exact_fit) {
        latent_map circle = *g;
        st = choose_map(&circle, mem, work, l, kind, true);
        if (!st && circle.unexplained < g->unexplained) *g = circle;
    }
    if (!st && kind == KERNEL_FIT_NETWORK && g->unexplained > poor_fit) {
        latent_map gaussian = *g;
        st = choose_map(&gaussian, mem, work, l, KERNEL_FIT_GAUSSIAN, false);
        if (!st && gaussian.unexplained < clear_gain * g->unexplained) *g = gaussian;
    }
    if (!st) st = kernel_fit_solve(&g->fit, mem, &g->request);
    return st;
}

// ---- the form ----

// The chain rule adds the slopes of the inputs to the Jacobian of the fit.
void kappa_map_slopes(double *J, const double *jacobian, int64_t row, const kappa_work *work)
{
    const latent_map *g = &work->map;
    const int64_t form = work->truth.form_dims;
    const kappa_latent *l = &work->latent;
    memset(J, 0, (size_t)(work->rows.latent_dims * form) * sizeof *J);
    for (int64_t k = 0; k < g->out.count; k++) {
        const int64_t i = g->out.which[k];
        const double scale = l->deviation[i] / l->max_deviation;
        for (int64_t v = 0; v < g->in.dims; v++) {
            const int64_t b = g->in.base[v];
            if (b >= 0 && b < form)
                J[i * form + b] +=
                    scale * jacobian[k * g->in.dims + v] * g->in.slope[row * g->in.dims + v];
        }
    }
}

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
            for (int64_t j = 0; j < size; j++)
                diff2 += (omega[j] - omega[size + j]) * (omega[j] - omega[size + j]);
        }
        out->halves_diff2[k] = diff2 * (double)rows->steps / (double)steps;
    }
    return PLUMB_OK;
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
        out->unexplained[i] = c->unexplained;
        out->missed +=
            c->unexplained * c->smooth_share * l->deviation[i] * l->deviation[i] / g->out.weight;
    }
}

static plumb_status form_init(kappa_pullback_form *out, const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const int64_t form = work->truth.form_dims;
    *out = (kappa_pullback_form){0};
    out->unexplained = ARENA_ALLOC(work->mem, double, rows->latent_dims);
    double **sums[] = {&out->dot, &out->form_norm2, &out->true_norm2, &out->halves_diff2};
    for (int i = 0; i < 4; i++) {
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
    plumb_status st = form_init(&work->form, work);
    if (!st) st = release_conserved(work);
    if (!st) mark_unpaired(&work->latent, work->rows.latent_dims / 2);
    latent_map *g = &work->map;
    if (!st) st = outputs_init(&g->out, work->mem, &work->rows, &work->latent);
    if (st) return st;
    if (!g->out.count) return PLUMB_OK; // nothing moves: the form is 0
    arena scratch = {0};
    st = fit_map(g, &work->map_memory, work);
    if (!st) note_unexplained(work, g);
    if (!st) st = sum_form(work, &scratch, g);
    if (!st) st = compare_halves(work, &scratch, g);
    arena_clear(&scratch);
    return st;
}
