// SPDX-License-Identifier: MIT
// The area of the map from truth to latents, as it changes with time. Two fits to different parts
// of the trajectories would each have errors of their own: the states differ, and so do the arcs
// that are seen. So one map is fitted to all windows, with the time of the window as an input, and
// its form at two times is compared at the same states.
//
// The ridge of the fit makes its dependence on time too small, most of all where the data are thin.
// So the fitted latents of each window are corrected by a linear map, regressed on trajectories
// that the fit has not seen. KAPPA_WINDOWS_LINEAR takes the fit in the middle of the trajectories
// and leaves all change with time to that map: what is wrong with the slopes of the fit is then the
// same at all times. KAPPA_WINDOWS_FREE takes the fit at the time of the window.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/cholesky.h"
#include "measures/kappa/area.h"
#include "measures/kappa/kappa.h"

enum { EVERY = 3 }; // every Nth row suffices for means
static const double min_form_share = 0.01;
// An output of which more than this is unexplained is noise, and has no correction.
static const double noise_limit = 0.5;
// Of the regression of the correction, per row: of the output itself, and of the others.
static const double own_ridge = 1e-6, other_ridge = 0.02;

// The input that is the time of the window, or -1.
static int64_t find_time(const map_inputs *in)
{
    for (int64_t k = 0; k < in->dims; k++)
        if (in->role[k] == INPUT_CONSTANT && in->base[k] == 0) return k;
    return -1;
}

// <O, A> with O = J^T A_m J, without O itself: A has one entry per pair of coordinates.
static double form_product(const double *J, const double *true_form, int64_t m, int64_t form)
{
    double sum = 0.0;
    for (int64_t k = 0; k < m; k++) {
        const double *q = J + k * form, *p = J + (m + k) * form;
        for (int64_t a = 0; a < form; a++)
            for (int64_t b = 0; b < form; b++)
                if (true_form[a * form + b] != 0.0)
                    sum += (q[a] * p[b] - p[a] * q[b]) * true_form[a * form + b];
    }
    return sum;
}

// ---- the correction ----

// What the corrections of all windows are made of.
typedef struct window_corrections {
    int64_t outputs, windows, time; // time: the input that is the time of the window
    double *value;                  // (windows) of that input
    // (2 kinds, 3 fits, windows, outputs, outputs): what is added to 1
    double *matrix;
} window_corrections;

// The correction of one window.
static double *correction_of(const window_corrections *c, kappa_windows_kind kind, int fit,
                             int64_t window)
{
    return c->matrix +
           ((kind * KERNEL_FIT_FITS + fit) * c->windows + window) * c->outputs * c->outputs;
}

// The window of a row, and the half of the fit that it belongs to.
static int64_t window_of(const kappa_work *work, int64_t row, int64_t windows)
{
    return work->rows.trajectory[row / work->rows.steps] / 2 % windows;
}

// matrix (outputs, outputs): regression of the residuals of a window on its fitted values, both
// less their means. Row i is that of output i. Outputs that nearly follow from others could stand
// in for output i itself, so they have the larger ridge. sums (outputs + 1, 2 outputs + 1):
// products of (1, y) with (1, y, e).
static bool solve_correction(double *matrix, double *scratch, const double *sums,
                             const kernel_fit_choice *choice, int64_t outputs)
{
    const int64_t wide = 2 * outputs + 1;
    const double count = sums[0];
    if (!(count > 0.0)) return true;
    for (int64_t i = 0; i < outputs; i++) {
        double *row = matrix + i * outputs;
        if (!(choice[i].unexplained < noise_limit)) continue;
        for (int64_t a = 0; a < outputs; a++) {
            const double *sum = sums + (a + 1) * wide;
            for (int64_t b = 0; b < outputs; b++)
                scratch[a * outputs + b] = sum[1 + b] - sum[0] * sums[1 + b] / count;
            scratch[a * outputs + a] += count * (a == i ? own_ridge : other_ridge);
            row[a] = sum[1 + outputs + i] - sum[0] * sums[1 + outputs + i] / count;
        }
        if (!cholesky_factor(scratch, outputs)) return false;
        cholesky_solve(row, scratch, outputs, 1);
    }
    return true;
}

// The rows of one half, by the fit to the other half, count for that fit and for the fit to all.
static plumb_status add_half(double *sums, kappa_work *work, const window_corrections *c,
                             kappa_windows_kind kind, int fit)
{
    const latent_map *g = &work->map;
    const int64_t half = work->rows.first_half_rows, k = c->outputs, wide = 2 * k + 1;
    const int64_t first = fit == KERNEL_FIT_SECOND ? 0 : half;
    const int64_t count = fit == KERNEL_FIT_SECOND ? half : work->rows.rows - half;
    const arena_mark mark = arena_get_mark(work->mem);
    double *x = ARENA_ALLOC(work->mem, double, (count * g->in.dims));
    double *y = ARENA_ALLOC(work->mem, double, (count * k));
    double *left = ARENA_ALLOC(work->mem, double, (1 + k));
    double *right = ARENA_ALLOC(work->mem, double, wide);
    plumb_status st = x && y && left && right ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t r = 0; r < count && !st; r++) {
        memcpy(x + r * g->in.dims, g->request.x + (first + r) * g->in.dims,
               (size_t)g->in.dims * sizeof *x);
        if (kind == KAPPA_WINDOWS_LINEAR) x[r * g->in.dims + c->time] = 0.0;
    }
    if (!st) st = kernel_fit_values(y, &g->fit, work->mem, fit, x, count);
    for (int64_t r = 0; r < count && !st; r++) {
        const int64_t w = window_of(work, first + r, c->windows);
        left[0] = right[0] = 1.0;
        for (int64_t i = 0; i < k; i++) {
            left[1 + i] = right[1 + i] = y[r * k + i];
            right[1 + k + i] = g->out.y[(first + r) * k + i] - y[r * k + i];
        }
        for (int both = 0; both < 2; both++) {
            double *to = sums + ((both ? fit : KERNEL_FIT_ALL) * c->windows + w) * (k + 1) * wide;
            for (int64_t i = 0; i <= k; i++)
                for (int64_t j = 0; j < wide; j++) to[i * wide + j] += left[i] * right[j];
        }
    }
    arena_rewind(work->mem, mark);
    return st;
}

// The corrections of one kind.
static plumb_status find_kind(window_corrections *out, kappa_work *work, kappa_windows_kind kind)
{
    const latent_map *g = &work->map;
    const int64_t k = g->out.count, all = KERNEL_FIT_FITS * out->windows;
    const int64_t size = (k + 1) * (2 * k + 1);
    const arena_mark mark = arena_get_mark(work->mem);
    double *sums = ARENA_ALLOC(work->mem, double, (all * size));
    double *square = ARENA_ALLOC(work->mem, double, (k * k));
    plumb_status st = sums && square ? PLUMB_OK : PLUMB_EMEMORY;
    if (!st) st = add_half(sums, work, out, kind, KERNEL_FIT_FIRST);
    if (!st) st = add_half(sums, work, out, kind, KERNEL_FIT_SECOND);
    for (int64_t i = 0; i < all && !st; i++)
        if (!solve_correction(correction_of(out, kind, 0, 0) + i * k * k, square, sums + i * size,
                              g->fit.choice, k))
            st = fail(PLUMB_ENUMERIC, "the latents of a window have no finite variance");
    arena_rewind(work->mem, mark);
    return st;
}

static plumb_status find_corrections(window_corrections *out, kappa_work *work, int64_t windows)
{
    const latent_map *g = &work->map;
    const int64_t k = g->out.count;
    *out = (window_corrections){.outputs = k, .windows = windows, .time = find_time(&g->in)};
    out->value = ARENA_ALLOC(work->mem, double, windows);
    out->matrix =
        ARENA_ALLOC(work->mem, double, (KAPPA_WINDOWS_KINDS * KERNEL_FIT_FITS * windows * k * k));
    if (!out->value || !out->matrix) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < work->rows.rows; r += work->rows.steps)
        out->value[window_of(work, r, windows)] = g->in.x[r * g->in.dims + out->time];
    plumb_status st = find_kind(out, work, KAPPA_WINDOWS_LINEAR);
    return st ? st : find_kind(out, work, KAPPA_WINDOWS_FREE);
}

// out (outputs, dims) = (1 + correction) jacobian.
static void correct_slopes(double *out, const double *jacobian, const double *matrix,
                           int64_t outputs, int64_t dims)
{
    memcpy(out, jacobian, (size_t)(outputs * dims) * sizeof *out);
    for (int64_t i = 0; i < outputs; i++)
        for (int64_t j = 0; j < outputs; j++) {
            const double by = matrix[i * outputs + j];
            for (int64_t d = 0; d < dims && by != 0.0; d++)
                out[i * dims + d] += by * jacobian[j * dims + d];
        }
}

// ---- the form at two times ----

// Some states of one window of a trajectory: `count`, EVERY rows apart.
typedef struct window_states {
    int64_t first, count; // the first row
    int64_t from, to;     // at the times of these windows, both included
    kappa_windows_kind kind;
    int fit;
} window_states;

// Adds <O, A> of the states at the time of one window to *before and *after, state by state. Either
// may be NULL.
static plumb_status add_products(double *before, double *after, kappa_work *work,
                                 const window_corrections *c, const window_states *at,
                                 double *jacobian, int64_t window)
{
    const latent_map *g = &work->map;
    const int64_t d = g->in.dims, wide = g->out.count * d, form = work->truth.form_dims;
    double *x = ARENA_ALLOC(work->mem, double, (at->count * d));
    double *corrected = ARENA_ALLOC(work->mem, double, wide);
    double *J = ARENA_ALLOC(work->mem, double, (work->rows.latent_dims * form));
    plumb_status st = x && J && corrected ? PLUMB_OK : PLUMB_EMEMORY;
    const bool linear = at->kind == KAPPA_WINDOWS_LINEAR;
    for (int64_t i = 0; i < at->count && !st; i++) {
        memcpy(x + i * d, g->in.x + (at->first + i * EVERY) * d, (size_t)d * sizeof *x);
        x[i * d + c->time] = linear ? 0.0 : c->value[window];
    }
    // The slopes of a linear kind are the same at all times.
    if (!st && (!linear || window == at->from))
        st = kernel_fit_jacobian(jacobian, &g->fit, work->mem, at->fit, x, at->count);
    const double *matrix = correction_of(c, at->kind, at->fit, window);
    for (int64_t i = 0; i < at->count && !st; i++) {
        const int64_t row = at->first + i * EVERY;
        correct_slopes(corrected, jacobian + i * wide, matrix, c->outputs, d);
        kappa_map_slopes(J, corrected, row, work);
        const double product =
            form_product(J, work->truth.true_form + row * work->truth.form_stride,
                         work->rows.latent_dims / 2, form);
        if (before) *before += product;
        if (after) *after += product;
    }
    return st;
}

// Adds <O, A> of the states at the times of their window and of those beside it to the pairs of
// windows that they belong to. `dot` (pairs, 2, trajectories) begins at the trajectory.
static plumb_status add_to_pairs(double *dot, kappa_work *work, const window_corrections *c,
                                 const window_states *at, int64_t trajectories)
{
    const arena_mark mark = arena_get_mark(work->mem);
    const int64_t size = at->count * work->map.out.count * work->map.in.dims;
    double *jacobian = ARENA_ALLOC(work->mem, double, size);
    plumb_status st = jacobian ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t w = at->from; w <= at->to && !st; w++) {
        // A window is the second one of the pair before it, and the first one of its own.
        double *before = w > at->from ? dot + ((w - 1) * 2 + 1) * trajectories : NULL;
        double *after = w < at->to ? dot + w * 2 * trajectories : NULL;
        const arena_mark used = arena_get_mark(work->mem);
        st = add_products(before, after, work, c, at, jacobian, w);
        arena_rewind(work->mem, used);
    }
    arena_rewind(work->mem, mark);
    return st;
}

// The sums of out->dot.
static plumb_status compare_windows(kappa_windows *out, kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const int64_t pairs = out->windows - 1;
    window_corrections c;
    plumb_status st = find_corrections(&c, work, out->windows);
    for (int64_t k = 0; k < rows->trajectories && !st; k++) {
        const int64_t index = rows->trajectory[k], window = index / 2 % out->windows;
        const int64_t trajectory = index / 2 / out->windows * 2 + index % 2;
        window_states at = {.first = k * rows->steps,
                            .count = (rows->steps + EVERY - 1) / EVERY,
                            .from = window > 0 ? window - 1 : 0,
                            .to = window < pairs ? window + 1 : pairs};
        for (int i = 0; i < KAPPA_WINDOWS_KINDS * KERNEL_FIT_FITS && !st; i++) {
            at.kind = (kappa_windows_kind)(i / KERNEL_FIT_FITS), at.fit = i % KERNEL_FIT_FITS;
            if (at.kind == KAPPA_WINDOWS_FREE && at.fit != KERNEL_FIT_ALL) continue;
            double *dot = out->dot + i * pairs * 2 * out->trajectories + trajectory;
            st = add_to_pairs(dot, work, &c, &at, out->trajectories);
        }
    }
    return st;
}

// kappa of each window, with a c of its own.
static plumb_status measure_windows(kappa_windows *out, const kappa_work *work)
{
    const kappa_pullback_form *f = &work->form;
    enum { SUMS = 3 };
    double *sum = ARENA_ALLOC(work->mem, double, (SUMS * out->windows)), form2 = 0.0, halves2 = 0.0;
    if (!sum) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < work->rows.trajectories; k++) {
        double *s = sum + SUMS * (work->rows.trajectory[k] / 2 % out->windows);
        s[0] += f->dot[k], s[1] += f->form_norm2[k], s[2] += f->true_norm2[k];
        form2 += f->form_norm2[k], halves2 += f->halves_diff2[k];
    }
    out->least_kappa = 1.0;
    for (int64_t w = 0; w < out->windows; w++) {
        const double *s = sum + SUMS * w, norm2 = s[1] * s[2];
        out->least_kappa = fmin(out->least_kappa, norm2 > 0.0 ? s[0] * s[0] / norm2 : 0.0);
    }
    if (!(form2 > 0.0) || work->surface.form_share < min_form_share) return PLUMB_OK;
    out->is_determined = true;
    out->form_error = 0.25 * halves2 / form2;
    out->r2 = f->r2;
    return PLUMB_OK;
}

plumb_status kappa_measure_windows(kappa_windows *out, arena *mem, int64_t windows,
                                   const plumb_array *from, const plumb_array *to,
                                   const plumb_kappa_options *options)
{
    arena scratch = {0};
    kappa_work work = {.mem = &scratch, .keep = &scratch, .opt = options, .is_area_only = true};
    *out = (kappa_windows){.trajectories = from->shape[0] / windows, .windows = windows};
    out->dot = ARENA_ALLOC(
        mem, double,
        (KAPPA_WINDOWS_KINDS * KERNEL_FIT_FITS * (windows - 1) * 2 * out->trajectories));
    plumb_status st = out->dot ? PLUMB_OK : PLUMB_EMEMORY;
    if (!st) st = kappa_area_stages(&work, from, to, NULL);
    if (!st && work.map.out.count) st = measure_windows(out, &work);
    if (!st && out->is_determined) st = compare_windows(out, &work);
    arena_clear(&scratch);
    arena_clear(&work.map_memory);
    return st;
}
