// SPDX-License-Identifier: MIT
// Momenta of a system known by positions and velocities: a Lagrangian is fitted, p = dL/dv.
//
// L = sum of w v_i v_j c(q) + sum of w c(q), with c from a list of powers, sines and cosines. The
// weights w minimise |p(t+2) - p(t) - integral of dL/dq|^2 (Simpson's rule) for a given size of the
// momenta: the smallest eigenvalue of a small matrix. Terms linear in v are left out: they add a
// gradient to the momenta, which does not change the equations of motion.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "math/blas.h"
#include "math/cholesky.h"
#include "math/eigen.h"
#include "measures/kappa/lagrangian_momenta.h"

enum { MAX_PAIRS = 4, MAX_SHAPES = 64, MAX_TERMS = 800 };

// c(q) and its gradient at one q.
typedef struct shape {
    double value, slope[MAX_PAIRS];
} shape;

// All shapes at q; the first is 1. Returns their number.
static int evaluate_shapes(shape *c, const double *q, int64_t m)
{
    int n = 0;
    memset(c, 0, MAX_SHAPES * sizeof *c);
    c[n++].value = 1.0;
    for (int64_t i = 0; i < m; i++) {
        c[n].value = q[i], c[n++].slope[i] = 1.0;
        c[n].value = sin(q[i]), c[n++].slope[i] = cos(q[i]);
        c[n].value = cos(q[i]), c[n++].slope[i] = -sin(q[i]);
        for (int64_t j = 0; j <= i; j++) {
            c[n].value = q[i] * q[j], c[n].slope[i] += q[j], c[n++].slope[j] += q[i];
            for (int sign = -1; sign <= 1 && j < i; sign += 2) {
                const double angle = q[i] + sign * q[j], s = sin(angle), k = cos(angle);
                c[n].value = s, c[n].slope[i] = k, c[n++].slope[j] = sign * k;
                c[n].value = k, c[n].slope[i] = -s, c[n++].slope[j] = -sign * s;
            }
        }
    }
    return n;
}

// p, f (terms): dL/dv_i and dL/dq_i of each term, kinetic terms first.
static void evaluate_terms(double *p, double *f, const double *q, const double *v, int64_t m,
                           int64_t i)
{
    shape c[MAX_SHAPES];
    const int shapes = evaluate_shapes(c, q, m);
    int64_t at = 0;
    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b <= a; b++)
            for (int k = 0; k < shapes; k++, at++) {
                p[at] = ((a == i) * v[b] + (b == i) * v[a]) * c[k].value;
                f[at] = v[a] * v[b] * c[k].slope[i];
            }
    for (int k = 1; k < shapes; k++, at++) p[at] = 0.0, f[at] = c[k].slope[i];
}

typedef struct lagrangian_fit {
    int64_t m, trajectories, steps, kinetic, terms;
    const double *x; // (trajectories, steps, 2m)
    double dt;
    double *residual, *size; // (terms, terms), (kinetic, kinetic)
    double *weight;          // (kinetic)
} lagrangian_fit;

// dt by least squares from (q(t+1) - q(t-1)) / 2 = v dt.
static plumb_status find_step(lagrangian_fit *f)
{
    double vv = 0.0, vq = 0.0, qq = 0.0;
    for (int64_t k = 0; k < f->trajectories; k++)
        for (int64_t t = 1; t + 1 < f->steps; t++)
            for (int64_t i = 0; i < f->m; i++) {
                const double *x = f->x + (k * f->steps + t) * 2 * f->m + i;
                const double move = 0.5 * (x[2 * f->m] - x[-2 * f->m]), v = x[f->m];
                vv += v * v, vq += v * move, qq += move * move;
            }
    f->dt = vv > 0.0 ? vq / vv : 0.0;
    if (!(f->dt > 0.0) || vq * vq < 0.9 * vv * qq)
        return fail(PLUMB_ENUMERIC,
                    "the second half of latent is not the velocity of the first half: a Lagrangian "
                    "cannot be fitted");
    return PLUMB_OK;
}

static void add_outer(double *to, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (x[i] == 0.0) continue;
        for (int64_t j = 0; j < n; j++) to[i * n + j] += x[i] * x[j];
    }
}

// residual (terms, terms) and size (kinetic, kinetic): sums of outer products over windows of 3
// steps.
static plumb_status sum_residuals(lagrangian_fit *f, arena *mem)
{
    const int64_t n = f->terms, d = 2 * f->m;
    double *p[3], *force[3], *row = ARENA_ALLOC(mem, double, n);
    for (int s = 0; s < 3; s++) {
        p[s] = ARENA_ALLOC(mem, double, n);
        force[s] = ARENA_ALLOC(mem, double, n);
        if (!p[s] || !force[s]) return PLUMB_EMEMORY;
    }
    if (!row) return PLUMB_EMEMORY;
    // A few thousand rows suffice for a few dozen weights.
    const int64_t windows = (f->steps - 1) / 2, all = f->trajectories * windows;
    const int64_t every = all > 4000 ? all / 4000 : 1;
    for (int64_t w = 0; w < all; w += every) {
        const double *x = f->x + (w / windows * f->steps + w % windows * 2) * d;
        for (int64_t i = 0; i < f->m; i++) {
            for (int s = 0; s < 3; s++)
                evaluate_terms(p[s], force[s], x + s * d, x + s * d + f->m, f->m, i);
            for (int64_t k = 0; k < n; k++)
                row[k] = p[2][k] - p[0][k] -
                         f->dt / 3.0 * (force[0][k] + 4.0 * force[1][k] + force[2][k]);
            add_outer(f->residual, row, n);
            add_outer(f->size, p[1], f->kinetic);
        }
    }
    return PLUMB_OK;
}

// out (k, k) = K - P^T U^-1 P: the residual of the kinetic terms after the potential ones are
// fitted.
static plumb_status eliminate_potential(double *out, arena *mem, const lagrangian_fit *f)
{
    const int64_t k = f->kinetic, n = f->terms, u = n - k;
    double *uu = ARENA_ALLOC(mem, double, (u * u)), *uk = ARENA_ALLOC(mem, double, (u * k));
    if (!uu || !uk) return PLUMB_EMEMORY;
    double trace = 0.0;
    for (int64_t i = 0; i < u; i++) trace += f->residual[(k + i) * n + k + i] / (double)u;
    for (int64_t i = 0; i < u; i++) {
        for (int64_t j = 0; j < u; j++)
            uu[i * u + j] = f->residual[(k + i) * n + k + j] + (i == j ? 1e-10 * trace : 0.0);
        for (int64_t j = 0; j < k; j++) uk[i * k + j] = f->residual[(k + i) * n + j];
    }
    if (!cholesky_factor(uu, u)) return fail(PLUMB_ENUMERIC, "a Lagrangian cannot be fitted");
    cholesky_solve(uk, uu, u, k);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            double sum = f->residual[i * n + j];
            for (int64_t s = 0; s < u; s++) sum -= f->residual[i * n + k + s] * uk[s * k + j];
            out[i * k + j] = sum;
        }
    return PLUMB_OK;
}

// The eigenvector of the smallest residual per unit of momentum, in axes that whiten the momenta.
static plumb_status solve_weights(lagrangian_fit *f, arena *mem)
{
    const int64_t k = f->kinetic;
    double *left = ARENA_ALLOC(mem, double, (k * k)), *values = ARENA_ALLOC(mem, double, k);
    double *axes = ARENA_ALLOC(mem, double, (k * k)), *half = ARENA_ALLOC(mem, double, (k * k));
    double *small = ARENA_ALLOC(mem, double, (k * k)), *vectors = ARENA_ALLOC(mem, double, (k * k));
    if (!left || !values || !axes || !half || !small || !vectors) return PLUMB_EMEMORY;
    plumb_status st = eliminate_potential(left, mem, f);
    if (!st) st = eigen_symmetric(values, axes, mem, f->size, k);
    if (st) return st;
    int64_t rank = 0;
    while (rank < k && values[rank] > 1e-9 * values[0]) rank++;
    for (int64_t i = 0; i < rank; i++)
        for (int64_t j = 0; j < k; j++) axes[i * k + j] /= sqrt(values[i]);
    blas_gemm(half, k, axes, k, false, left, k, false, rank, k, k, 1.0, 0.0);
    blas_gemm(small, rank, half, k, false, axes, k, true, rank, rank, k, 1.0, 0.0);
    for (int64_t i = 0; i < rank; i++)
        for (int64_t j = 0; j < i; j++)
            small[i * rank + j] = small[j * rank + i] =
                0.5 * (small[i * rank + j] + small[j * rank + i]);
    st = eigen_symmetric(values, vectors, mem, small, rank);
    if (st) return st;
    for (int64_t i = 0; i < rank; i++)
        for (int64_t j = 0; j < k; j++)
            f->weight[j] += vectors[(rank - 1) * rank + i] * axes[i * k + j];
    return PLUMB_OK;
}

static plumb_status compute_momenta(double *out, arena *mem, const plumb_array *latent)
{
    char text[256];
    plumb_array_shape_string(text, sizeof text, latent);
    if (latent->ndim != 3 || latent->shape[2] % 2 || latent->shape[2] < 2 ||
        latent->shape[2] > 2 * MAX_PAIRS || latent->shape[1] < 5)
        return fail(
            PLUMB_ESHAPE,
            "latent is %s; a Lagrangian is fitted to (trajectories, 5 steps or more, 2m), q "
            "then dq/dt, of at most %d pairs",
            text, MAX_PAIRS);
    lagrangian_fit f = {
        .m = latent->shape[2] / 2, .trajectories = latent->shape[0], .steps = latent->shape[1]};
    double *x = ARENA_ALLOC(mem, double, plumb_array_count(latent));
    if (!x) return PLUMB_EMEMORY;
    plumb_array_to_double(x, latent, 0, plumb_array_count(latent));
    for (int64_t i = 0; i < plumb_array_count(latent); i++)
        if (!isfinite(x[i])) return fail(PLUMB_ENUMERIC, "latent has NaN or infinity");
    f.x = x;
    shape c[MAX_SHAPES];
    const int shapes = evaluate_shapes(c, x, f.m);
    f.kinetic = f.m * (f.m + 1) / 2 * shapes;
    f.terms = f.kinetic + shapes - 1;
    f.residual = ARENA_ALLOC(mem, double, (f.terms * f.terms));
    f.size = ARENA_ALLOC(mem, double, (f.kinetic * f.kinetic));
    f.weight = ARENA_ALLOC(mem, double, f.kinetic);
    double *p = ARENA_ALLOC(mem, double, f.terms), *force = ARENA_ALLOC(mem, double, f.terms);
    if (!f.residual || !f.size || !f.weight || !p || !force) return PLUMB_EMEMORY;
    plumb_status st = blas_library_load();
    if (!st) st = find_step(&f);
    if (!st) st = sum_residuals(&f, mem);
    if (!st) st = solve_weights(&f, mem);
    for (int64_t r = 0; !st && r < f.trajectories * f.steps; r++)
        for (int64_t i = 0; i < f.m; i++) {
            evaluate_terms(p, force, x + r * 2 * f.m, x + r * 2 * f.m + f.m, f.m, i);
            out[r * f.m + i] = 0.0;
            for (int64_t k = 0; k < f.kinetic; k++) out[r * f.m + i] += f.weight[k] * p[k];
        }
    return st;
}

plumb_status kappa_fit_momenta(double *out, const plumb_array *latent)
{
    arena mem = {0};
    const plumb_status st = compute_momenta(out, &mem, latent);
    arena_clear(&mem);
    return st;
}
