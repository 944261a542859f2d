// SPDX-License-Identifier: MIT
// The surface that the true states lie on. If all trajectories have one energy, or lie on one torus
// or one orbit, nothing in the data says how the latents change across that surface, however well G
// fits on it. The forms are then compared within the surface only.
//
// A polynomial f vanishes on a surface, and sqrt(mean f^2 / mean |grad f|^2) is the distance of the
// states from it: the thickness of the data. Its minimum over all f is a generalised eigenvalue
// problem. f is found on one half of the trajectories and its thickness is measured on the other,
// because a few trajectories always lie on some surface. The gradients of all f that are thin span
// the normal space at each state.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "math/blas.h"
#include "math/eigen.h"
#include "math/poly.h"
#include "measures/kappa/kappa.h"

enum {
    MAX_FEATURES = 200, // monomials of f
    MAX_ORDER = 4,
    MAX_ROWS = 3000,    // for the search, of both halves together
    MAX_FUNCTIONS = 64, // thin functions that are used, of each half
};

// Thinner data do not show the slopes across: rounding and errors of the fit are as large.
static const double min_thickness = 1e-3;
// With noise the thickness must be more than this share of it, ...
static const double noise_share = 0.3;
// ... but data this thick are never called thin.
static const double max_thickness = 0.03;
// Beside a function that is thin, others this many times as thick count too: the data are thin in
// several directions alike.
static const double alike = 3.0;
// Functions whose gradient is rounding are left out of the search.
static const double gradient_rounding = 1e-9;
// A direction belongs to the normal space if its share of the squared gradients is above this.
static const double normal_share = 0.02;
// A latent of which more than this is unexplained is noise, and says nothing about slopes.
static const double noise_limit = 0.5;

// The search over polynomials f without a constant: means, covariances and gradient products of the
// monomials, for each half.
typedef struct surface_search {
    const kappa_work *work;
    map_inputs in; // of the polynomials
    poly poly;
    int64_t count, form;   // monomials; coordinates that carry the form
    double *covariance[2]; // (count, count)
    double *gradients[2];  // (count, count) mean of grad f_i . grad f_j
    double *functions;     // (functions_count, count) thin ones, mean |grad f|^2 = 1
    int64_t functions_count;
    double thickness; // of the thinnest function on the half that it was not fitted to
} surface_search;

// value (count) of all monomials at a row, and slope (form, count) of them by the coordinates that
// carry the form, in units of their deviation.
static void expand_row(double *value, double *slope, const surface_search *s, int64_t row)
{
    const kappa_truth *t = &s->work->truth;
    const double *x = s->in.x + row * s->in.dims, *inner = s->in.slope + row * s->in.dims;
    memset(slope, 0, (size_t)(s->form * s->count) * sizeof *slope);
    for (int64_t j = 0; j < s->count; j++) {
        int64_t v[POLY_MAX_ORDER];
        const int degree = poly_variables(v, &s->poly, j);
        value[j] = 1.0;
        for (int i = 0; i < degree; i++) value[j] *= x[v[i]];
        for (int skip = 0; skip < degree; skip++) {
            const int64_t base = s->in.base[v[skip]];
            if (base >= s->form) continue; // a coordinate that is held fixed
            double product = inner[v[skip]] * t->deviation[base];
            for (int i = 0; i < degree; i++)
                if (i != skip) product *= x[v[i]];
            slope[base * s->count + j] += product;
        }
    }
}

// The rows first .. end-1 of one half, every `stride`-th.
static plumb_status sum_half(surface_search *s, arena *mem, int half, int64_t stride)
{
    const kappa_rows *rows = &s->work->rows;
    const int64_t first = half ? rows->first_half_rows : 0;
    const int64_t end = half ? rows->rows : rows->first_half_rows;
    const int64_t some = (end - first + stride - 1) / stride, count = s->count;
    const arena_mark mark = arena_get_mark(mem);
    double *value = ARENA_ALLOC(mem, double, (some * count));
    double *slope = ARENA_ALLOC(mem, double, (some * s->form * count));
    if (!value || !slope) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < some; i++)
        expand_row(value + i * count, slope + i * s->form * count, s, first + i * stride);
    for (int64_t j = 0; j < count; j++) {
        double mean = 0.0;
        for (int64_t i = 0; i < some; i++) mean += value[i * count + j] / (double)some;
        for (int64_t i = 0; i < some; i++) value[i * count + j] -= mean;
    }
    blas_gram(s->covariance[half], count, value, count, some, count);
    blas_gram(s->gradients[half], count, slope, count, some * s->form, count);
    for (int64_t i = 0; i < count * count; i++) {
        s->covariance[half][i] /= (double)some;
        s->gradients[half][i] /= (double)some;
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

static plumb_status search_init(surface_search *s, arena *mem, const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    *s = (surface_search){
        .work = work, .form = work->truth.form_dims, .thickness = (double)INFINITY};
    plumb_status st = kappa_map_inputs(&s->in, mem, work, MAP_ANGLES_CIRCLE, NULL);
    if (st) return st;
    int order = MAX_ORDER;
    while (order > 1 && poly_count(s->in.dims, order) > MAX_FEATURES) order--;
    if (order < 2) return PLUMB_OK; // too many coordinates for curved surfaces
    st = poly_init(&s->poly, mem, s->in.dims, order);
    if (st) return st;
    s->count = s->poly.count;
    s->functions = ARENA_ALLOC(mem, double, (2 * MAX_FUNCTIONS * s->count));
    const int64_t stride = (rows->rows + MAX_ROWS - 1) / MAX_ROWS;
    if (!s->functions) return PLUMB_EMEMORY;
    for (int half = 0; half < 2 && !st; half++) {
        s->covariance[half] = ARENA_ALLOC(mem, double, (s->count * s->count));
        s->gradients[half] = ARENA_ALLOC(mem, double, (s->count * s->count));
        if (!s->covariance[half] || !s->gradients[half]) return PLUMB_EMEMORY;
        st = sum_half(s, mem, half, stride);
    }
    return st;
}

// f^T M f
static double quadratic(const double *f, const double *matrix, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double along = 0.0;
        for (int64_t j = 0; j < count; j++) along += matrix[i * count + j] * f[j];
        sum += f[i] * along;
    }
    return sum;
}

// How far the states of one half are from the surface on which f is constant: the root mean square
// of (f - mean) / |grad f|, each at most 1. The ratio of two means, which the search minimises, is
// small also where a few distant states have a large gradient.
static plumb_status measure_distance(double *distance, arena *mem, const surface_search *s,
                                     const double *f, int half)
{
    const kappa_rows *rows = &s->work->rows;
    const int64_t first = half ? rows->first_half_rows : 0;
    const int64_t end = half ? rows->rows : rows->first_half_rows;
    const int64_t stride = (rows->rows + MAX_ROWS - 1) / MAX_ROWS;
    const int64_t some = (end - first + stride - 1) / stride;
    const arena_mark mark = arena_get_mark(mem);
    double *value = ARENA_ALLOC(mem, double, s->count);
    double *slope = ARENA_ALLOC(mem, double, (s->form * s->count));
    double *at = ARENA_ALLOC(mem, double, (2 * some)); // f and |grad f|^2 of each row
    if (!value || !slope || !at) return PLUMB_EMEMORY;
    double mean = 0.0, sum = 0.0;
    for (int64_t i = 0; i < some; i++) {
        expand_row(value, slope, s, first + i * stride);
        for (int64_t j = 0; j < s->count; j++) at[2 * i] += f[j] * value[j];
        for (int64_t a = 0; a < s->form; a++) {
            double along = 0.0;
            for (int64_t j = 0; j < s->count; j++) along += f[j] * slope[a * s->count + j];
            at[2 * i + 1] += along * along;
        }
        mean += at[2 * i] / (double)some;
    }
    for (int64_t i = 0; i < some; i++) {
        const double by = at[2 * i] - mean;
        sum += by * by < at[2 * i + 1] ? by * by / at[2 * i + 1] : 1.0;
    }
    *distance = sqrt(sum / (double)some);
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// Functions that are thin on one half, thinnest first: f = W u, where W makes the gradient products
// the identity and u are eigenvectors of the covariance in that basis. Those that are thin on the
// other half too are kept.
static plumb_status search_half(surface_search *s, arena *mem, int half, double limit)
{
    const int64_t count = s->count;
    double *values = ARENA_ALLOC(mem, double, count);
    double *basis = ARENA_ALLOC(mem, double, (count * count)); // W, one function per row
    double *product = ARENA_ALLOC(mem, double, (count * count));
    double *inner = ARENA_ALLOC(mem, double, (count * count));
    double *vectors = ARENA_ALLOC(mem, double, (count * count));
    if (!values || !basis || !product || !inner || !vectors) return PLUMB_EMEMORY;
    plumb_status st = eigen_symmetric(values, basis, mem, s->gradients[half], count);
    if (st) return st;
    int64_t rank = 0;
    while (rank < count && values[rank] > gradient_rounding * values[0]) rank++;
    for (int64_t i = 0; i < rank; i++)
        for (int64_t j = 0; j < count; j++) basis[i * count + j] /= sqrt(values[i]);
    // inner (rank, rank) = W C W^T
    blas_gemm(product, count, basis, count, false, s->covariance[half], count, false, rank, count,
              count, 1.0, 0.0);
    blas_gemm(inner, rank, product, count, false, basis, count, true, rank, rank, count, 1.0, 0.0);
    st = eigen_symmetric(values, vectors, mem, inner, rank);
    if (st) return st;
    for (int64_t k = rank - 1, taken = 0; k >= 0 && taken < MAX_FUNCTIONS; k--, taken++) {
        double *f = s->functions + s->functions_count * count;
        blas_gemm(f, count, vectors + k * rank, rank, false, basis, count, false, 1, count, rank,
                  1.0, 0.0);
        const double square = quadratic(f, s->covariance[1 - half], count);
        const double slope2 = quadratic(f, s->gradients[1 - half], count);
        const double thickness = slope2 > 0.0 ? sqrt(fmax(square, 0.0) / slope2) : (double)INFINITY;
        s->thickness = fmin(s->thickness, thickness);
        // The thinnest decides whether there is a surface; on the fitted half it comes first.
        if (s->thickness > limit || sqrt(fmax(values[k], 0.0)) > alike * limit) break;
        // Functions as thin as the thinnest count too, if the states are near them everywhere.
        if (thickness > fmin(alike * limit, fmax(min_thickness, alike * s->thickness))) continue;
        double distance;
        st = measure_distance(&distance, mem, s, f, 1 - half);
        if (st) return st;
        if (distance > alike * limit) continue;
        for (int64_t j = 0; j < count; j++) f[j] /= sqrt(slope2);
        s->functions_count++;
    }
    return PLUMB_OK;
}

// How thick the data must be: rounding and noise hide slopes across thinner ones.
static double thickness_limit(const kappa_work *work)
{
    double sum = 0.0;
    int64_t explained = 0;
    for (int64_t k = 0; k < work->map.out.count; k++) {
        const double unexplained = work->map.fit.choice[k].unexplained;
        if (unexplained < noise_limit) sum += unexplained, explained++;
    }
    const double noise = explained ? sqrt(sum / (double)explained) : 0.0;
    return fmin(fmax(min_thickness, noise_share * noise), max_thickness);
}

// ---- normals ----

typedef struct normal_search {
    double *value, *slope;    // (count), (form, count) of one row
    double *square;           // (form, form) sum over functions of grad f grad f^T
    double *values, *vectors; // its eigenvalues and eigenvectors
} normal_search;

static plumb_status normals_init(normal_search *n, arena *mem, const surface_search *s)
{
    n->value = ARENA_ALLOC(mem, double, s->count);
    n->slope = ARENA_ALLOC(mem, double, (s->form * s->count));
    n->square = ARENA_ALLOC(mem, double, (s->form * s->form));
    n->values = ARENA_ALLOC(mem, double, s->form);
    n->vectors = ARENA_ALLOC(mem, double, (s->form * s->form));
    return n->value && n->slope && n->square && n->values && n->vectors ? PLUMB_OK : PLUMB_EMEMORY;
}

// The directions in which thin functions change at a row, the strongest first.
static plumb_status find_normals(normal_search *n, arena *mem, const surface_search *s, int64_t row)
{
    const int64_t form = s->form;
    const kappa_truth *t = &s->work->truth;
    expand_row(n->value, n->slope, s, row);
    memset(n->square, 0, (size_t)(form * form) * sizeof *n->square);
    for (int64_t k = 0; k < s->functions_count; k++) {
        const double *f = s->functions + k * s->count;
        for (int64_t a = 0; a < form; a++) {
            n->values[a] = 0.0;
            for (int64_t j = 0; j < s->count; j++)
                n->values[a] += n->slope[a * s->count + j] * f[j];
            // Gradients by the balanced coordinates themselves, in which forms are compared.
            n->values[a] /= t->deviation[a];
        }
        for (int64_t a = 0; a < form; a++)
            for (int64_t b = 0; b < form; b++)
                n->square[a * form + b] += n->values[a] * n->values[b];
    }
    const arena_mark mark = arena_get_mark(mem);
    const plumb_status st = eigen_symmetric(n->values, n->vectors, mem, n->square, form);
    arena_rewind(mem, mark);
    return st;
}

// The number of normals: directions that have their share of the squared gradients at most rows.
static plumb_status count_normals(int64_t *codim, normal_search *n, arena *mem,
                                  const surface_search *s)
{
    enum { SAMPLES = 200 };
    const int64_t all = s->work->rows.rows, stride = (all + SAMPLES - 1) / SAMPLES;
    double *share = ARENA_ALLOC(mem, double, s->form);
    if (!share) return PLUMB_EMEMORY;
    double rows = 0.0;
    for (int64_t r = 0; r < all; r += stride, rows += 1.0) {
        const plumb_status st = find_normals(n, mem, s, r);
        if (st) return st;
        double trace = 0.0;
        for (int64_t a = 0; a < s->form; a++) trace += fmax(n->values[a], 0.0);
        for (int64_t a = 0; a < s->form && trace > 0.0; a++) share[a] += n->values[a] / trace;
    }
    *codim = 0;
    while (*codim < s->form && share[*codim] > normal_share * rows) ++*codim;
    return PLUMB_OK;
}

// Leaves of the form A what acts within the surface: P A P with P = I - N N^T.
static void project_form(double *form, const kappa_surface *surface, int64_t row, int64_t dims)
{
    double along[2 * MAX_FEATURES]; // more coordinates have no curved surface
    for (int64_t k = 0; k < surface->codim; k++) {
        const double *normal = surface->normal + (row * surface->codim + k) * dims;
        // A is antisymmetric, so n^T A n = 0 and (I - n n^T) A (I - n n^T) = A - u n^T + n u^T
        // with u = A n.
        for (int64_t a = 0; a < dims; a++) {
            along[a] = 0.0;
            for (int64_t b = 0; b < dims; b++) along[a] += form[a * dims + b] * normal[b];
        }
        for (int64_t a = 0; a < dims; a++)
            for (int64_t b = 0; b < dims; b++)
                form[a * dims + b] += normal[a] * along[b] - along[a] * normal[b];
    }
}

// The true form of each row within the surface, and its size.
static plumb_status restrict_true_form(kappa_work *work)
{
    kappa_surface *surface = &work->surface;
    kappa_truth *t = &work->truth;
    const int64_t form = t->form_dims, size = form * form, all = work->rows.rows;
    double *within = ARENA_ALLOC(work->mem, double, (all * size));
    if (!within) return PLUMB_EMEMORY;
    double sum = 0.0, whole = 0.0;
    for (int64_t r = 0; r < all; r++) {
        memcpy(within + r * size, t->true_form, (size_t)size * sizeof *within);
        for (int64_t i = 0; i < size; i++) whole += t->true_form[i] * t->true_form[i];
        project_form(within + r * size, surface, r, form);
        for (int64_t i = 0; i < size; i++) sum += within[r * size + i] * within[r * size + i];
    }
    surface->form_share = whole > 0.0 ? sum / whole : 0.0;
    t->true_form = within;
    t->form_stride = size;
    return PLUMB_OK;
}

static plumb_status list_normals(kappa_work *work, arena *mem, const surface_search *s)
{
    kappa_surface *surface = &work->surface;
    normal_search n;
    plumb_status st = normals_init(&n, mem, s);
    if (!st) st = count_normals(&surface->codim, &n, mem, s);
    if (st || !surface->codim) return st;
    const int64_t all = work->rows.rows, wide = surface->codim * s->form;
    surface->normal = ARENA_ALLOC(work->mem, double, (all * wide));
    if (!surface->normal) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < all && !st; r++) {
        st = find_normals(&n, mem, s, r);
        memcpy(surface->normal + r * wide, n.vectors, (size_t)wide * sizeof *n.vectors);
        if (!st && r % 256 == 0) st = status_check_stop();
    }
    return st ? st : restrict_true_form(work);
}

void kappa_project_slopes(double *J, const kappa_surface *surface, int64_t row, int64_t outputs,
                          int64_t dims)
{
    for (int64_t k = 0; k < surface->codim; k++) {
        const double *normal = surface->normal + (row * surface->codim + k) * dims;
        for (int64_t i = 0; i < outputs; i++) {
            double along = 0.0;
            for (int64_t a = 0; a < dims; a++) along += J[i * dims + a] * normal[a];
            for (int64_t a = 0; a < dims; a++) J[i * dims + a] -= along * normal[a];
        }
    }
}

static void describe_surface(kappa_work *work)
{
    kappa_truth *t = &work->truth;
    const size_t used = strlen(t->note);
    text_format(
        t->note + used, sizeof t->note - used,
        "%sall states lie within %.2g deviations of a surface of %lld dimensions, so that the "
        "data determine the form on it only",
        used ? "; " : "", work->surface.thickness, (long long)(t->form_dims - work->surface.codim));
    t->is_plain = false;
}

// The thin functions of both halves.
static plumb_status search_surface(surface_search *s, arena *mem, const kappa_work *work,
                                   double limit)
{
    plumb_status st = blas_library_load();
    if (!st) st = search_init(s, mem, work);
    for (int half = 0; half < 2 && !st && s->count; half++) st = search_half(s, mem, half, limit);
    return st;
}

plumb_status kappa_measure_thickness(kappa_work *work)
{
    arena mem = {0};
    surface_search s = {.thickness = (double)INFINITY};
    work->surface = (kappa_surface){.form_share = 1.0};
    const plumb_status st = search_surface(&s, &mem, work, 0.0);
    arena_clear(&mem);
    work->surface.thickness = s.thickness;
    work->surface.is_near = s.thickness < max_thickness;
    return st;
}

plumb_status kappa_find_surface(kappa_work *work)
{
    // Of a second fit of G the surface is the same.
    if (!work->surface.is_near || work->surface.codim) return PLUMB_OK;
    arena mem = {0};
    surface_search s;
    plumb_status st = search_surface(&s, &mem, work, thickness_limit(work));
    if (!st && s.functions_count) st = list_normals(work, &mem, &s);
    arena_clear(&mem);
    if (!st && work->surface.codim) describe_surface(work);
    return st;
}
