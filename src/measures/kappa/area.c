// SPDX-License-Identifier: MIT
// The stages of kappa up to the form, without the test of the state and without a verdict.
#include "measures/kappa/area.h"

#include <math.h>
#include <string.h>

#include "measures/kappa/kappa.h"

// A surface that leaves less than this of the form has no area.
static const double min_form_share = 0.01;

// log |det A| of A (d, d), which is overwritten: Gaussian elimination with partial pivoting.
static double log_determinant(double *a, int64_t d)
{
    double sum = 0.0;
    for (int64_t k = 0; k < d; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < d; i++)
            if (fabs(a[i * d + k]) > fabs(a[pivot * d + k])) pivot = i;
        if (a[pivot * d + k] == 0.0) return -(double)INFINITY;
        for (int64_t j = 0; j < d && pivot != k; j++) {
            const double swap = a[k * d + j];
            a[k * d + j] = a[pivot * d + j], a[pivot * d + j] = swap;
        }
        sum += log(fabs(a[k * d + k]));
        for (int64_t i = k + 1; i < d; i++) {
            const double by = a[i * d + k] / a[k * d + k];
            for (int64_t j = k + 1; j < d; j++) a[i * d + j] -= by * a[k * d + j];
        }
    }
    return sum;
}

// Mean of log |det J| over every third row, in units of the arrays. NaN unless each latent and each
// true coordinate moves.
static plumb_status measure_volume(double *out, kappa_work *work, double scale)
{
    enum { EVERY = 3 };
    const latent_map *g = &work->map;
    const kappa_rows *rows = &work->rows;
    const int64_t d = work->truth.form_dims, wide = g->out.count * g->in.dims;
    *out = (double)NAN;
    bool is_square = work->truth.is_plain && !work->surface.codim && rows->latent_dims == d;
    for (int64_t i = 0; i < rows->latent_dims; i++)
        is_square = is_square && work->latent.varies[i] && !work->latent.constant[i] &&
                    !work->latent.unpaired[i];
    if (!is_square) return PLUMB_OK;
    const arena_mark mark = arena_get_mark(work->mem);
    double *jacobian = ARENA_ALLOC(work->mem, double, wide);
    double *J = ARENA_ALLOC(work->mem, double, (rows->latent_dims * d));
    plumb_status st = jacobian && J ? PLUMB_OK : PLUMB_EMEMORY;
    double sum = 0.0, count = 0.0;
    for (int64_t r = 0; r < rows->rows && !st; r += EVERY, count += 1.0) {
        const arena_mark inner = arena_get_mark(work->mem);
        st = kernel_fit_jacobian(jacobian, &g->fit, work->mem, KERNEL_FIT_ALL,
                                 g->in.x + r * g->in.dims, 1);
        if (!st) kappa_map_slopes(J, jacobian, r, work);
        if (!st) sum += log_determinant(J, d);
        arena_rewind(work->mem, inner);
    }
    if (!st) *out = sum / count + (double)d * log(scale);
    arena_rewind(work->mem, mark);
    return st;
}

// The sums of the form, in units of the arrays: O has the factor scale^2.
static plumb_status fill_area(kappa_area *out, arena *mem, const kappa_work *work, double scale)
{
    const kappa_pullback_form *f = &work->form;
    const int64_t count = work->rows.trajectories;
    out->dot = ARENA_ALLOC(mem, double, out->trajectories);
    out->true_norm2 = ARENA_ALLOC(mem, double, out->trajectories);
    if (!out->dot || !out->true_norm2) return PLUMB_EMEMORY;
    double dot = 0.0, form2 = 0.0, true2 = 0.0, halves2 = 0.0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t trajectory = work->rows.trajectory[k];
        out->dot[trajectory] = f->dot[k] * scale * scale;
        out->true_norm2[trajectory] = f->true_norm2[k];
        dot += f->dot[k], form2 += f->form_norm2[k], true2 += f->true_norm2[k];
        halves2 += f->halves_diff2[k];
    }
    if (!(form2 > 0.0) || !(true2 > 0.0) || work->surface.form_share < min_form_share)
        return PLUMB_OK;
    out->is_determined = true;
    out->c = dot / true2 * scale * scale;
    out->c_error = 0.5 * fabs(f->half_c[0] - f->half_c[1]) * scale * scale;
    out->kappa = fmin(dot * dot / (true2 * fmax(form2 - 0.25 * halves2, 0.5 * form2)), 1.0);
    out->form_error = 0.25 * halves2 / form2;
    out->r2 = f->r2;
    return PLUMB_OK;
}

// The known inputs of the rows in use.
static plumb_status read_known(kappa_work *work, const plumb_array *known, int64_t steps)
{
    kappa_rows *rows = &work->rows;
    const int64_t wide = known->shape[2];
    rows->known_input = ARENA_ALLOC(work->mem, double, (rows->rows * wide + 1));
    if (!rows->known_input) return PLUMB_EMEMORY;
    rows->known = wide;
    for (int64_t r = 0; r < rows->rows; r++) {
        // As copy_steps() of input.c takes them.
        const int64_t t = r % rows->steps * steps / rows->steps;
        const int64_t from = rows->trajectory[r / rows->steps] * steps + t;
        plumb_array_to_double(rows->known_input + r * wide, known, from * wide, wide);
    }
    return PLUMB_OK;
}

plumb_status kappa_area_stages(kappa_work *work, const plumb_array *from, const plumb_array *to,
                               const plumb_array *known)
{
    plumb_status st = kappa_input_read(work, to, NULL, from);
    if (!st && known) st = read_known(work, known, from->shape[1]);
    if (!st) st = kappa_reduce_truth(work);
    if (!st) st = kappa_input_latents(work);
    if (!st) st = kappa_measure_thickness(work);
    if (!st) st = kappa_find_latent_angles(work);
    if (!st) st = kappa_map_fit(work);
    if (!st) st = kappa_pullback(work);
    return st;
}

plumb_status kappa_measure_area(kappa_area *out, arena *mem, const plumb_array *from,
                                const plumb_array *to, const plumb_array *known,
                                const plumb_kappa_options *options)
{
    arena scratch = {0};
    kappa_work work = {.mem = &scratch, .keep = &scratch, .opt = options, .is_area_only = true};
    *out = (kappa_area){.trajectories = from->shape[0], .log_volume = (double)NAN};
    plumb_status st = kappa_area_stages(&work, from, to, known);
    const double scale = work.latent.max_deviation * (work.rows.latent_unit / work.rows.truth_unit);
    if (!st) st = fill_area(out, mem, &work, scale);
    if (!st && out->is_determined) st = measure_volume(&out->log_volume, &work, scale);
    arena_clear(&scratch);
    arena_clear(&work.map_memory);
    return st;
}
