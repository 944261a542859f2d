// SPDX-License-Identifier: MIT
// G, the map from true coordinates to latents: what goes in, what comes out, and which fit is used.
// True angles may enter as sine and cosine. Latents that are constant along trajectories, and
// constants that the caller gives, are inputs: the form is taken at fixed values of them. A latent
// that is an angle comes out as sine and cosine, because it jumps by a turn.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "measures/kappa/kappa.h"

// Angles are also tried as sine and cosine if more than this is unexplained without.
static const double exact_fit = 1e-4;
// Above the first value Gaussian kernels are tried; they must leave less than the second times it.
static const double poor_fit = 0.05, clear_gain = 0.5;
// With constants as inputs less than this share of what is unexplained without them must be left.
static const double needed_gain = 0.9;
// With more centres less than this share of what is unexplained must be left.
static const double enlarged_gain = 0.95;
// A latent that is constant along trajectories and less unexplained than this is conserved: a
// function of the state. A mass can almost be read off the state, so the limit is low.
static const double conserved = 0.01;
// An output of which more than this is unexplained is noise, and does not help to choose a fit.
static const double noise_limit = 0.5;

// ---- inputs ----

// Appends the inputs of true coordinate i.
static void add_coordinate(map_inputs *in, int64_t i, bool is_angle, map_angles angles)
{
    if (!is_angle || angles == MAP_ANGLES_PLAIN) {
        in->base[in->dims] = i, in->role[in->dims++] = INPUT_VALUE;
        return;
    }
    in->base[in->dims] = i, in->role[in->dims++] = INPUT_SINE;
    in->base[in->dims] = i, in->role[in->dims++] = INPUT_COSINE;
    if (angles == MAP_ANGLES_BOTH) in->base[in->dims] = i, in->role[in->dims++] = INPUT_VALUE;
}

// Value and slope of input k at row r.
static void compute_input(map_inputs *in, const kappa_work *work, int64_t r, int64_t k)
{
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const int64_t i = in->base[k], at = r * in->dims + k;
    if (in->role[k] == INPUT_CONSTANT) {
        in->x[at] = rows->constant[r / rows->steps * rows->constants + i];
    } else if (in->role[k] == INPUT_KNOWN) {
        in->x[at] = rows->known_input[r * rows->known + i];
    } else if (in->role[k] == INPUT_LATENT) {
        in->x[at] = work->latent.y[r * rows->latent_dims + i];
    } else if (in->role[k] == INPUT_VALUE) {
        in->x[at] = t->w[r * t->dims + i];
        in->slope[at] = 1.0;
    } else {
        const double angle = t->w[r * t->dims + i] / t->per_radian[i];
        const bool cosine = in->role[k] == INPUT_COSINE;
        in->x[at] = cosine ? cos(angle) : sin(angle);
        in->slope[at] = (cosine ? -sin(angle) : cos(angle)) / t->per_radian[i];
    }
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

plumb_status kappa_map_inputs(map_inputs *in, arena *mem, const kappa_work *work, map_angles angles,
                              const bool *constant_latents)
{
    const kappa_rows *rows = &work->rows;
    const kappa_truth *t = &work->truth;
    const int64_t max_dims = 3 * t->dims + rows->latent_dims + rows->constants + rows->known;
    *in = (map_inputs){.base = ARENA_ALLOC(mem, int64_t, max_dims)};
    in->role = ARENA_ALLOC(mem, map_input_role, max_dims);
    if (!in->base || !in->role) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < t->dims; i++) add_coordinate(in, i, t->per_radian[i] > 0.0, angles);
    in->true_dims = in->dims;
    for (int64_t i = 0; constant_latents && i < rows->latent_dims; i++)
        if (constant_latents[i]) in->base[in->dims] = i, in->role[in->dims++] = INPUT_LATENT;
    for (int64_t i = 0; constant_latents && !work->no_constants && i < rows->constants; i++)
        in->base[in->dims] = i, in->role[in->dims++] = INPUT_CONSTANT;
    for (int64_t i = 0; constant_latents && i < rows->known; i++)
        in->base[in->dims] = i, in->role[in->dims++] = INPUT_KNOWN;
    in->x = ARENA_ALLOC(mem, double, (rows->rows * in->dims));
    in->slope = ARENA_ALLOC(mem, double, (rows->rows * in->dims));
    if (!in->x || !in->slope) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows->rows; r++)
        for (int64_t k = 0; k < in->dims; k++) compute_input(in, work, r, k);
    standardise_inputs(in, rows->rows);
    return PLUMB_OK;
}

// ---- outputs ----

// Column k of the outputs: latent i, or the sine or cosine of its angle, standardised.
static void compute_output(map_outputs *o, const kappa_work *work, int64_t k)
{
    const kappa_rows *rows = &work->rows;
    const kappa_latent *l = &work->latent;
    const int64_t i = o->which[k];
    o->scale[k] = l->deviation[i];
    if (o->role[k] == OUTPUT_VALUE) {
        for (int64_t r = 0; r < rows->rows; r++)
            o->y[r * o->count + k] = l->y[r * rows->latent_dims + i];
        return;
    }
    double mean = 0.0, square = 0.0;
    for (int64_t r = 0; r < rows->rows; r++) {
        const double angle = kappa_latent_angle(work, r, i);
        o->y[r * o->count + k] = o->role[k] == OUTPUT_SINE ? sin(angle) : cos(angle);
        mean += o->y[r * o->count + k] / (double)rows->rows;
    }
    for (int64_t r = 0; r < rows->rows; r++) {
        o->y[r * o->count + k] -= mean;
        square += o->y[r * o->count + k] * o->y[r * o->count + k] / (double)rows->rows;
    }
    const double sd = square > 0.0 ? sqrt(square) : 1.0;
    for (int64_t r = 0; r < rows->rows; r++) o->y[r * o->count + k] /= sd;
    // d angle = cos d sin - sin d cos, in units of the latent.
    o->scale[k] = sd * l->period[i] / 6.283185307179586;
}

// The latents for which `chosen` is set.
static plumb_status outputs_init(map_outputs *o, arena *mem, const kappa_work *work,
                                 const bool *chosen)
{
    const kappa_rows *rows = &work->rows;
    const kappa_latent *l = &work->latent;
    *o = (map_outputs){.which = ARENA_ALLOC(mem, int64_t, (2 * rows->latent_dims))};
    o->role = ARENA_ALLOC(mem, map_output_role, (2 * rows->latent_dims));
    o->scale = ARENA_ALLOC(mem, double, (2 * rows->latent_dims));
    if (!o->which || !o->role || !o->scale) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows->latent_dims; i++) {
        if (!chosen[i]) continue;
        o->weight += l->deviation[i] * l->deviation[i];
        o->which[o->count] = i,
        o->role[o->count++] = l->period[i] > 0.0 ? OUTPUT_SINE : OUTPUT_VALUE;
        if (l->period[i] > 0.0) o->which[o->count] = i, o->role[o->count++] = OUTPUT_COSINE;
    }
    o->y = ARENA_ALLOC(mem, double, (rows->rows * o->count));
    if (!o->y) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < o->count; k++) compute_output(o, work, k);
    return PLUMB_OK;
}

// ---- the choice of a fit ----

// Unexplained share of the latents, weighted by variance.
static double sum_unexplained(const latent_map *g, const kappa_latent *l)
{
    double sum = 0.0;
    for (int64_t k = 0; k < g->out.count; k++) {
        const double sd = l->deviation[g->out.which[k]];
        const double share = g->out.role[k] == OUTPUT_VALUE ? 1.0 : 0.5;
        sum += share * g->fit.choice[k].unexplained * sd * sd / g->out.weight;
    }
    return sum;
}

// Mean unexplained share of the outputs that are no noise, each alike: an area has two sides, and
// the smaller latent of a pair counts as much as the larger one. Noise costs 1.
static double mean_unexplained(const latent_map *g)
{
    double sum = 0.0;
    int64_t explained = 0;
    for (int64_t k = 0; k < g->out.count; k++)
        if (g->fit.choice[k].unexplained < noise_limit)
            sum += g->fit.choice[k].unexplained, explained++;
    return (explained ? sum / (double)explained : 1.0) + (double)(g->out.count - explained);
}

// Chooses the fit of G for the outputs g->out.
static plumb_status choose_map(latent_map *g, arena *mem, const kappa_work *work,
                               kernel_fit_kind kind, map_angles angles,
                               const bool *constant_latents)
{
    const kappa_rows *rows = &work->rows;
    plumb_status st = kappa_map_inputs(&g->in, mem, work, angles, constant_latents);
    if (st) return st;
    g->request = (kernel_fit_input){.x = g->in.x,
                                    .y = g->out.y,
                                    .rows = rows->rows,
                                    .first_half_rows = rows->first_half_rows,
                                    .dims = g->in.dims,
                                    .unpenalised_dims = g->in.true_dims,
                                    .outputs = g->out.count,
                                    .search_stride = rows->search_stride,
                                    .centres = work->centres ? work->centres : work->opt->centres,
                                    .max_terms = 250,
                                    .max_order = 5,
                                    .kind = kind};
    st = kernel_fit_choose(&g->fit, mem, &g->request);
    if (!st) g->unexplained = sum_unexplained(g, &work->latent);
    return st;
}

// Latents that may be angles are fitted both ways; sine and cosine must leave clearly less
// unexplained than the latent as it is.
static plumb_status confirm_angles(kappa_work *work)
{
    const int64_t dims = work->rows.latent_dims;
    double *period = work->latent.period;
    const arena_mark mark = arena_get_mark(work->mem);
    bool *chosen = ARENA_ALLOC(work->mem, bool, dims);
    double *none = ARENA_ALLOC(work->mem, double, dims);
    double *unexplained = ARENA_ALLOC(work->mem, double, (2 * dims));
    if (!chosen || !none || !unexplained) return PLUMB_EMEMORY;
    bool some = false;
    for (int64_t i = 0; i < dims; i++) chosen[i] = period[i] > 0.0, some = some || chosen[i];
    plumb_status st = PLUMB_OK;
    for (int circle = 0; circle < 2 && some && !st; circle++) {
        latent_map g;
        work->latent.period = circle ? period : none;
        st = outputs_init(&g.out, work->mem, work, chosen);
        if (!st)
            // A true angle that is unwrapped may be the latent as it is.
            st = choose_map(&g, work->mem, work, (kernel_fit_kind)work->opt->estimator,
                            circle ? MAP_ANGLES_CIRCLE : MAP_ANGLES_BOTH, work->latent.constant);
        for (int64_t k = 0; !st && k < g.out.count; k++)
            unexplained[circle * dims + g.out.which[k]] +=
                g.fit.choice[k].unexplained / (circle ? 2.0 : 1.0);
    }
    work->latent.period = period;
    for (int64_t i = 0; i < dims; i++)
        if (!(unexplained[dims + i] < clear_gain * unexplained[i])) period[i] = 0.0;
    arena_rewind(work->mem, mark);
    return st;
}

// A latent may be constant along each trajectory because it is a conserved quantity, which is a
// function of the state. Then it is an output of G, not an input.
static plumb_status release_conserved(kappa_work *work)
{
    latent_map g;
    plumb_status st = outputs_init(&g.out, work->mem, work, work->latent.constant);
    if (st || !g.out.count) return st;
    st = choose_map(&g, work->mem, work, (kernel_fit_kind)work->opt->estimator, MAP_ANGLES_PLAIN,
                    NULL);
    for (int64_t k = 0; !st && k < g.out.count; k++)
        if (g.fit.choice[k].unexplained < conserved) work->latent.constant[g.out.which[k]] = false;
    return st;
}

// The partner of a constant c drifts by the integral of -dH/dc, which is no function of the state.
// At fixed c the two span no area, so it is not fitted.
static void mark_unpaired(kappa_latent *l, int64_t m)
{
    for (int64_t i = 0; i < 2 * m; i++) l->unpaired[i] = l->constant[i < m ? i + m : i - m];
}

// Chooses between plain coordinates, sines and cosines of angles, both, and Gaussian kernels.
static plumb_status choose_best(latent_map *g, arena *mem, const kappa_work *work)
{
    const kappa_truth *t = &work->truth;
    const bool *constant = work->latent.constant;
    const kernel_fit_kind kind = (kernel_fit_kind)work->opt->estimator;
    plumb_status st = choose_map(g, mem, work, kind, MAP_ANGLES_PLAIN, constant);
    bool has_angle = false;
    for (int64_t i = 0; i < t->dims; i++) has_angle = has_angle || t->per_radian[i] > 0.0;
    for (map_angles angles = MAP_ANGLES_CIRCLE; angles <= MAP_ANGLES_BOTH; angles++) {
        if (st || !has_angle || mean_unexplained(g) <= exact_fit) break;
        latent_map other = *g;
        st = choose_map(&other, mem, work, kind, angles, constant);
        if (!st && mean_unexplained(&other) < mean_unexplained(g)) *g = other;
    }
    if (!st && kind == KERNEL_FIT_NETWORK && g->unexplained > poor_fit) {
        latent_map gaussian = *g;
        st = choose_map(&gaussian, mem, work, KERNEL_FIT_GAUSSIAN, MAP_ANGLES_PLAIN, constant);
        if (!st && gaussian.unexplained < clear_gain * g->unexplained) *g = gaussian;
    }
    return st;
}

// Constants that the caller gave are inputs only if they leave clearly less unexplained: G has few
// examples of them, and they may say nothing about the latents.
static plumb_status choose_with_constants(kappa_work *work)
{
    latent_map *g = &work->map;
    plumb_status st = choose_best(g, &work->map_memory, work);
    if (st || !work->rows.constants || work->is_area_only) return st;
    latent_map without = *g;
    work->no_constants = true;
    st = choose_best(&without, &work->map_memory, work);
    if (!st && !(mean_unexplained(g) < needed_gain * mean_unexplained(&without))) *g = without;
    else work->no_constants = false;
    return st;
}

plumb_status kappa_map_fit(kappa_work *work)
{
    latent_map *g = &work->map;
    plumb_status st = release_conserved(work);
    if (!st) st = confirm_angles(work);
    if (st) return st;
    kappa_latent *l = &work->latent;
    mark_unpaired(l, work->rows.latent_dims / 2);
    bool *chosen = ARENA_ALLOC(work->mem, bool, work->rows.latent_dims);
    if (!chosen) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < work->rows.latent_dims; i++)
        chosen[i] = l->varies[i] && !l->constant[i] && !l->unpaired[i];
    st = outputs_init(&g->out, work->mem, work, chosen);
    if (st || !g->out.count) return st; // nothing moves: the form is 0
    st = choose_with_constants(work);
    return st ? st : kernel_fit_solve(&g->fit, &work->map_memory, &g->request);
}

plumb_status kappa_map_enlarge(bool *better, kappa_work *work)
{
    enum { TIMES = 3, ROWS_PER_CENTRE = 3 };
    latent_map *g = &work->map, larger = *g;
    *better = false;
    work->centres = work->opt->centres * TIMES;
    if (work->centres > work->rows.rows / ROWS_PER_CENTRE)
        work->centres = work->rows.rows / ROWS_PER_CENTRE;
    if (!g->out.count || work->centres <= work->opt->centres) return PLUMB_OK;
    plumb_status st = choose_best(&larger, &work->map_memory, work);
    if (st || !(mean_unexplained(&larger) < enlarged_gain * mean_unexplained(g))) return st;
    *g = larger;
    *better = true;
    return kernel_fit_solve(&g->fit, &work->map_memory, &g->request);
}

// x (rows, dims): the inputs, moved off the surface along its normals by a known distance, a
// different one for each row.
static void move_off_surface(double *x, const kappa_work *work)
{
    enum { CYCLE = 11 };
    const double distance = 0.2; // in deviations
    const map_inputs *in = &work->map.in;
    const kappa_surface *surface = &work->surface;
    const kappa_truth *t = &work->truth;
    const int64_t form = t->form_dims;
    memcpy(x, in->x, (size_t)(work->rows.rows * in->dims) * sizeof *x);
    for (int64_t r = 0; r < work->rows.rows; r++)
        for (int64_t k = 0; k < surface->codim; k++) {
            const double *normal = surface->normal + (r * surface->codim + k) * form;
            double deviation2 = 0.0;
            for (int64_t a = 0; a < form; a++)
                deviation2 += normal[a] * normal[a] * t->deviation[a] * t->deviation[a];
            const double part = (double)((r * (2 * k + 7)) % CYCLE) / (CYCLE / 2) - 1.0;
            const double by = distance * part * sqrt(deviation2);
            for (int64_t v = 0; v < in->true_dims; v++)
                if (in->base[v] < form)
                    x[r * in->dims + v] += by * in->slope[r * in->dims + v] * normal[in->base[v]];
        }
}

plumb_status kappa_map_refit(kappa_work *work)
{
    latent_map *g = &work->map;
    double *x = ARENA_ALLOC(&work->map_memory, double, (work->rows.rows * g->in.dims));
    if (!x) return PLUMB_EMEMORY;
    move_off_surface(x, work);
    g->request.x = x;
    plumb_status st = kernel_fit_choose(&g->fit, &work->map_memory, &g->request);
    if (!st) st = kernel_fit_solve(&g->fit, &work->map_memory, &g->request);
    if (!st) g->unexplained = sum_unexplained(g, &work->latent);
    return st;
}

// ---- slopes ----

void kappa_map_slopes(double *J, const double *jacobian, int64_t row, const kappa_work *work)
{
    const latent_map *g = &work->map;
    const int64_t form = work->truth.form_dims;
    memset(J, 0, (size_t)(work->rows.latent_dims * form) * sizeof *J);
    for (int64_t k = 0; k < g->out.count; k++) {
        const int64_t i = g->out.which[k];
        double scale = g->out.scale[k] / work->latent.max_deviation;
        if (g->out.role[k] == OUTPUT_SINE) scale *= cos(kappa_latent_angle(work, row, i));
        if (g->out.role[k] == OUTPUT_COSINE) scale *= -sin(kappa_latent_angle(work, row, i));
        // The chain rule adds the slopes of the inputs to the Jacobian of the fit.
        for (int64_t v = 0; v < g->in.true_dims; v++) {
            const int64_t b = g->in.base[v];
            if (b < form)
                J[i * form + b] +=
                    scale * jacobian[k * g->in.dims + v] * g->in.slope[row * g->in.dims + v];
        }
    }
    kappa_project_slopes(J, &work->surface, row, work->rows.latent_dims, form);
}
