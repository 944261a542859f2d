// SPDX-License-Identifier: MIT
// The latent form pulled back to the true phase space, O = J^T A J with J the slope of the map from
// truth to latents: once from the fit to all trajectories, once from the fit to either half, whose
// difference tells how well the data determine it.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "measures/kappa/kappa.h"

// A circle is tried where a line leaves more than this.
static const double good_enough = 1e-4;
// Above this another kernel is tried, which must leave so much less.
static const double too_bent = 0.05, far_better = 0.5;
// What is constant along trajectories and leaves less than this open is a function of the state.
static const double conserved = 0.1;

// Inputs of the map: true coordinates, an angle perhaps as sine and cosine, and what is constant.
typedef struct inputs {
    int64_t dims;
    double *x;     // (rows, dims)
    int64_t *base; // (dims) the true coordinate it belongs to, -1 none
    double *slope; // (rows, dims) d input / d coordinate
} inputs;

static plumb_status inputs_init(inputs *in, arena *mem, const kappa_rows *rows,
                                const kappa_truth *t, const kappa_latent *l, bool round)
{
    const int64_t most = 2 * t->dims + rows->m2;
    in->x = ARENA_ALLOC(mem, double, (rows->rows * most));
    in->slope = ARENA_ALLOC(mem, double, (rows->rows * most));
    in->base = ARENA_ALLOC(mem, int64_t, most);
    if (!in->x || !in->slope || !in->base) return PLUMB_EMEMORY;
    in->dims = 0;
    for (int64_t i = 0; i < t->dims; i++) {
        in->base[in->dims++] = i;
        if (round && t->turn[i] > 0.0) in->base[in->dims++] = i;
    }
    for (int64_t i = 0; i < rows->m2; i++)
        if (l->constant[i]) in->base[in->dims++] = -1 - i;
    for (int64_t r = 0; r < rows->rows; r++)
        for (int64_t k = 0; k < in->dims; k++) {
            const int64_t i = in->base[k], at = r * in->dims + k;
            if (i < 0) {
                in->x[at] = l->y[r * rows->m2 - 1 - i];
                continue;
            }
            const double w = t->w[r * t->dims + i];
            if (round && t->turn[i] > 0.0) {
                const bool cosine = k && in->base[k - 1] == i;
                const double angle = w / t->turn[i];
                in->x[at] = cosine ? cos(angle) : sin(angle);
                in->slope[at] = (cosine ? -sin(angle) : cos(angle)) / t->turn[i];
            } else {
                in->x[at] = w;
                in->slope[at] = 1.0;
            }
        }
    return PLUMB_OK;
}

// Mean 0 and deviation 1, the slopes with them.
static void standardise(inputs *in, int64_t rows)
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

// What the map is fitted to: latents that move.
typedef struct outputs {
    int64_t count;
    int64_t *which; // (count)
    double *y;      // (rows, count)
    double weight;  // sum of their variances
} outputs;

static plumb_status outputs_init(outputs *o, arena *mem, const kappa_rows *rows,
                                 const kappa_latent *l)
{
    *o = (outputs){.which = ARENA_ALLOC(mem, int64_t, rows->m2)};
    o->y = ARENA_ALLOC(mem, double, (rows->rows * rows->m2));
    if (!o->which || !o->y) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows->m2; i++)
        if (l->alive[i] && !l->constant[i] && !l->idle[i]) {
            o->which[o->count++] = i;
            o->weight += l->deviation[i] * l->deviation[i];
        }
    for (int64_t r = 0; r < rows->rows; r++)
        for (int64_t k = 0; k < o->count; k++)
            o->y[r * o->count + k] = l->y[r * rows->m2 + o->which[k]];
    return PLUMB_OK;
}

static double total_left(const kernel_fit *fit, const outputs *o, const kappa_latent *l)
{
    double left = 0.0;
    for (int64_t k = 0; k < o->count; k++) {
        const double sd = l->deviation[o->which[k]];
        left += fit->choice[k].left * sd * sd / o->weight;
    }
    return left;
}

typedef struct map {
    inputs in;
    outputs out;
    kernel_fit fit;
    kernel_fit_input how;
    double left;
} map;

static plumb_status choose_map(map *g, arena *mem, const kappa_rows *rows, const kappa_truth *t,
                               const kappa_latent *l, const plumb_kappa_options *opt, bool round)
{
    plumb_status st = inputs_init(&g->in, mem, rows, t, l, round);
    if (st) return st;
    standardise(&g->in, rows->rows);
    int64_t firm = 0;
    while (firm < g->in.dims && g->in.base[firm] >= 0) firm++;
    g->how = (kernel_fit_input){.x = g->in.x,
                                .y = g->out.y,
                                .rows = rows->rows,
                                .first = rows->first,
                                .dims = g->in.dims,
                                .firm = firm,
                                .outputs = g->out.count,
                                .thin = rows->thin,
                                .centres = opt->centres,
                                .most_terms = 250,
                                .most_order = 5,
                                .family = opt->estimator};
    st = kernel_fit_choose(&g->fit, mem, &g->how);
    if (!st) g->left = total_left(&g->fit, &g->out, l);
    return st;
}

// A latent may be constant along each trajectory because it is a conserved quantity, a function of
// the state like any other: then it is no parameter.
static plumb_status release_conserved(kappa_latent *l, arena *mem, const kappa_rows *rows,
                                      const kappa_truth *t, const plumb_kappa_options *opt)
{
    kappa_latent only = *l;
    only.alive = ARENA_ALLOC(mem, bool, rows->m2);
    only.constant = ARENA_ALLOC(mem, bool, rows->m2); // as if there were none
    only.idle = only.constant;
    if (!only.alive || !only.constant) return PLUMB_EMEMORY;
    memcpy(only.alive, l->constant, (size_t)rows->m2 * sizeof *only.alive);
    map g;
    plumb_status st = outputs_init(&g.out, mem, rows, &only);
    if (st || !g.out.count) return st;
    st = choose_map(&g, mem, rows, t, &only, opt, false);
    for (int64_t k = 0; !st && k < g.out.count; k++)
        if (g.fit.choice[k].left < conserved) l->constant[g.out.which[k]] = false;
    return st;
}

// The partner of a constant c drifts as -dH/dc adds up, which the state does not tell, nor has to.
static void set_idle(kappa_latent *l, int64_t m)
{
    for (int64_t i = 0; i < 2 * m; i++) l->idle[i] = l->constant[i < m ? i + m : i - m];
}

// Of maps that a network with one layer hardly follows, bumps may follow more.
static plumb_status fit_map(map *g, arena *mem, const kappa_rows *rows, const kappa_truth *t,
                            const kappa_latent *l, const plumb_kappa_options *opt)
{
    plumb_status st = choose_map(g, mem, rows, t, l, opt, false);
    bool turns = false;
    for (int64_t i = 0; i < t->dims; i++) turns = turns || t->turn[i] > 0.0;
    if (!st && turns && g->left > good_enough) {
        map circle = *g;
        st = choose_map(&circle, mem, rows, t, l, opt, true);
        if (!st && circle.left < g->left) *g = circle;
    }
    if (!st && opt->estimator == PLUMB_KAPPA_ESTIMATOR_NETWORK && g->left > too_bent) {
        plumb_kappa_options bumps = *opt;
        map other = *g;
        bumps.estimator = PLUMB_KAPPA_ESTIMATOR_GAUSSIAN;
        st = choose_map(&other, mem, rows, t, l, &bumps, false);
        if (!st && other.left < far_better * g->left) *g = other;
    }
    if (!st) st = kernel_fit_solve(&g->fit, mem, &g->how);
    return st;
}

// --- the form -----------------------------------------------------------------------------------

// J (2m, form): slopes of all latents, in units of the largest deviation, at one row.
static void slopes(double *J, const map *g, const double *jacobian, int64_t row, int64_t form,
                   const kappa_latent *l, int64_t m2)
{
    memset(J, 0, (size_t)(m2 * form) * sizeof *J);
    for (int64_t k = 0; k < g->out.count; k++) {
        const int64_t i = g->out.which[k];
        const double scale = l->deviation[i] / l->largest;
        for (int64_t v = 0; v < g->in.dims; v++) {
            const int64_t b = g->in.base[v];
            if (b >= 0 && b < form)
                J[i * form + b] +=
                    scale * jacobian[k * g->in.dims + v] * g->in.slope[row * g->in.dims + v];
        }
    }
}

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

static void add_row(kappa_pullback_form *out, const kappa_truth *t, const double *omega,
                    int64_t trajectory, int64_t row, double share)
{
    const int64_t size = t->form * t->form;
    const double *area = t->area + row * t->area_stride;
    double along = 0.0, norm = 0.0, true_norm = 0.0;
    for (int64_t i = 0; i < size; i++) {
        along += omega[i] * area[i];
        norm += omega[i] * omega[i];
        true_norm += area[i] * area[i];
        out->mean[i] += omega[i] * share;
    }
    out->along[trajectory] += along;
    out->norm[trajectory] += norm;
    out->area[trajectory] += true_norm;
}

static void add_pairs(double *pairs, const double *J, int64_t m, int64_t form, double share)
{
    const int64_t n = form / 2;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++) {
            const double *q = J + k * form, *p = J + (m + k) * form;
            pairs[i * m + k] += share * (q[i] * p[i + n] - p[i] * q[i + n]);
        }
}

// The square of the form that latents with these slopes would have, were the slopes of each pair at
// right angles.
static double widest(const double *J, int64_t m, int64_t form)
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

// How well the latents of one row tell the state, to first order: with N the variance of each
// latent that the state does not explain and V that of the truth, the state is left open by (J^T
// N^-1 J + V^-1)^-1. The mean over coordinates of 1 - that / V.
static double told(double *work, const double *J, const kappa_truth *t, const kappa_latent *l,
                   const double *noise, int64_t m2)
{
    const int64_t d = t->form;
    double *precision = work, *inverse = work + d * d;
    memset(work, 0, (size_t)(2 * d * d) * sizeof *work);
    for (int64_t i = 0; i < m2; i++) {
        const double scale = l->deviation[i] / l->largest;
        if (!(scale > 0.0) || l->constant[i]) continue;
        const double weight = 1.0 / (scale * scale * fmax(noise[i], 1e-10));
        for (int64_t a = 0; a < d; a++)
            for (int64_t b = 0; b < d; b++)
                precision[a * d + b] += weight * J[i * d + a] * J[i * d + b];
    }
    // In units of the truth's deviation, so that V is 1.
    for (int64_t a = 0; a < d; a++)
        for (int64_t b = 0; b < d; b++) precision[a * d + b] *= t->deviation[a] * t->deviation[b];
    for (int64_t a = 0; a < d; a++) precision[a * d + a] += 1.0, inverse[a * d + a] = 1.0;
    if (!cholesky_factor(precision, d)) return 0.0;
    cholesky_solve(inverse, precision, d, d);
    double open = 0.0;
    for (int64_t a = 0; a < d; a++) open += inverse[a * d + a] / (double)d;
    return 1.0 - open;
}

static plumb_status sum_form(kappa_pullback_form *out, arena *mem, const kappa_rows *rows,
                             const kappa_truth *t, const kappa_latent *l, const map *g)
{
    const int64_t wide = g->out.count * g->in.dims, m = rows->m2 / 2;
    double *jacobian = ARENA_ALLOC(mem, double, (CHUNK * wide));
    double *J = ARENA_ALLOC(mem, double, (rows->m2 * t->form));
    double *omega = ARENA_ALLOC(mem, double, (t->form * t->form));
    double *work = ARENA_ALLOC(mem, double, (2 * t->form * t->form));
    if (!jacobian || !J || !omega || !work) return PLUMB_EMEMORY;
    const double share = 1.0 / (double)rows->rows;
    double wide_form = 0.0, norm = 0.0;
    enum { EVERY = 11 }; // rows for the last sum: a mean of smooth numbers
    const int64_t told_rows = (rows->rows + EVERY - 1) / EVERY;
    for (int64_t at = 0; at < rows->rows; at += CHUNK) {
        const int64_t some = rows->rows - at < CHUNK ? rows->rows - at : CHUNK;
        const plumb_status st = kernel_fit_jacobian(jacobian, &g->fit, mem, KERNEL_FIT_ALL,
                                                    g->in.x + at * g->in.dims, some);
        if (st) return st;
        for (int64_t r = at; r < at + some; r++) {
            slopes(J, g, jacobian + (r - at) * wide, r, t->form, l, rows->m2);
            pull_back(omega, J, m, t->form);
            if (out->pairs) add_pairs(out->pairs, J, m, t->form, share);
            wide_form += widest(J, m, t->form);
            add_row(out, t, omega, r / rows->steps, r, share);
            if (r % EVERY == 0)
                out->local += told(work, J, t, l, out->left, rows->m2) / (double)told_rows;
        }
    }
    for (int64_t k = 0; k < rows->trajectories; k++) norm += out->norm[k];
    out->span = wide_form > 0.0 ? norm / wide_form : 0.0;
    return PLUMB_OK;
}

// |O1 - O2|^2 of the fits to either half, summed over each trajectory; at every third step, times
// what is left out, for it is an error only.
static plumb_status compare_halves(kappa_pullback_form *out, arena *mem, const kappa_rows *rows,
                                   const kappa_truth *t, const kappa_latent *l, const map *g)
{
    enum { EVERY = 3 };
    const int64_t wide = g->out.count * g->in.dims, size = t->form * t->form, d = g->in.dims;
    const int64_t steps = (rows->steps + EVERY - 1) / EVERY;
    double *x = ARENA_ALLOC(mem, double, (steps * d)),
           *omega = ARENA_ALLOC(mem, double, (2 * size));
    double *jacobian = ARENA_ALLOC(mem, double, (2 * steps * wide));
    double *J = ARENA_ALLOC(mem, double, (rows->m2 * t->form));
    if (!x || !omega || !jacobian || !J) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < rows->trajectories; k++) {
        for (int64_t i = 0; i < steps; i++)
            memcpy(x + i * d, g->in.x + (k * rows->steps + i * EVERY) * d, (size_t)d * sizeof *x);
        for (int w = 0; w < 2; w++) {
            const plumb_status st = kernel_fit_jacobian(jacobian + w * steps * wide, &g->fit, mem,
                                                        KERNEL_FIT_FIRST + w, x, steps);
            if (st) return st;
        }
        double apart = 0.0;
        for (int64_t i = 0; i < steps; i++) {
            for (int w = 0; w < 2; w++) {
                slopes(J, g, jacobian + (w * steps + i) * wide, k * rows->steps + i * EVERY,
                       t->form, l, rows->m2);
                pull_back(omega + w * size, J, rows->m2 / 2, t->form);
            }
            for (int64_t j = 0; j < size; j++)
                apart += (omega[j] - omega[size + j]) * (omega[j] - omega[size + j]);
        }
        out->apart[k] = apart * (double)rows->steps / (double)steps;
    }
    return PLUMB_OK;
}

static void note_misses(kappa_pullback_form *out, const kappa_latent *l, const map *g)
{
    out->r2 = 1.0 - g->left;
    for (int64_t k = 0; k < g->out.count; k++) {
        const int64_t i = g->out.which[k];
        const kernel_fit_choice *c = &g->fit.choice[k];
        out->left[i] = c->left;
        out->missed += c->left * c->smooth * l->deviation[i] * l->deviation[i] / g->out.weight;
    }
}

plumb_status kappa_pullback(kappa_pullback_form *out, arena *mem, const kappa_rows *rows,
                            const kappa_truth *truth, kappa_latent *latent,
                            const plumb_kappa_options *opt)
{
    *out = (kappa_pullback_form){0};
    out->left = ARENA_ALLOC(mem, double, rows->m2);
    double **sums[] = {&out->along, &out->norm, &out->area, &out->apart};
    for (int i = 0; i < 4; i++) {
        *sums[i] = ARENA_ALLOC(mem, double, rows->trajectories);
        if (!*sums[i]) return PLUMB_EMEMORY;
    }
    out->mean = ARENA_ALLOC(mem, double, (truth->form * truth->form));
    if (truth->plain) {
        out->pairs = ARENA_ALLOC(mem, double, (rows->n2 / 2 * (rows->m2 / 2)));
        if (!out->pairs) return PLUMB_EMEMORY;
    }
    if (!out->left || !out->mean) return PLUMB_EMEMORY;
    plumb_status st = release_conserved(latent, mem, rows, truth, opt);
    if (!st) set_idle(latent, rows->m2 / 2);
    map g;
    if (!st) st = outputs_init(&g.out, mem, rows, latent);
    if (st) return st;
    if (!g.out.count) return PLUMB_OK; // nothing moves: no form at all
    arena scratch = {0};
    st = fit_map(&g, &scratch, rows, truth, latent, opt);
    if (!st) note_misses(out, latent, &g);
    if (!st) st = sum_form(out, &scratch, rows, truth, latent, &g);
    if (!st) st = compare_halves(out, &scratch, rows, truth, latent, &g);
    arena_clear(&scratch);
    return st;
}
