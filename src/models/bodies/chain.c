// SPDX-License-Identifier: MIT
// Rollouts of a chain and their adjoint. The field of Hamilton's equations and its adjoint are
// written out; Runge-Kutta stages are kept for the reverse pass.
#include "models/bodies/chain.h"

#include <math.h>
#include <string.h>

// ---- geometry ----

void chain_places(double *xy, int count, const chain_constants *constants, const double *q)
{
    double x = constants->pivot[0], y = constants->pivot[1];
    for (int k = 0; k < count; k++) {
        x += constants->length[k] * sin(q[k]);
        y -= constants->length[k] * cos(q[k]);
        xy[2 * k] = x;
        xy[2 * k + 1] = y;
    }
}

// A link moves its own mass and all after it.
void chain_add_places_seed(double *by_q, chain_constants *by_constants, int count,
                           const chain_constants *constants, const double *q, const double *by_xy)
{
    double x = 0.0, y = 0.0;
    for (int k = count - 1; k >= 0; k--) {
        x += by_xy[2 * k];
        y += by_xy[2 * k + 1];
        by_q[k] += constants->length[k] * (x * cos(q[k]) + y * sin(q[k]));
        by_constants->length[k] += x * sin(q[k]) - y * cos(q[k]);
    }
    by_constants->pivot[0] += x;
    by_constants->pivot[1] += y;
}

// Sum of the masses that a link carries: mass k and all after it.
static void sum_masses(double *carried, int count, const chain_constants *constants)
{
    double sum = 0.0;
    for (int k = count - 1; k >= 0; k--) carried[k] = sum += constants->mass[k];
}

// What cos(q_i - q_j) is multiplied by in M_ij.
static double find_coupling(const chain_constants *constants, const double *carried, int i, int j)
{
    return constants->length[i] * constants->length[j] * carried[i > j ? i : j];
}

// Adds to the seeds of lengths and masses, given that of the coupling of i and j.
static void add_coupling_seed(chain_constants *by, int count, const chain_constants *constants,
                              const double *carried, int i, int j, double seed)
{
    const int far = i > j ? i : j;
    by->length[i] += seed * constants->length[j] * carried[far];
    by->length[j] += seed * constants->length[i] * carried[far];
    for (int k = far; k < count; k++)
        by->mass[k] += seed * constants->length[i] * constants->length[j];
}

void chain_momenta(double *p, int count, const chain_constants *constants, const double *q,
                   const double *v)
{
    double carried[CHAIN_MAX];
    sum_masses(carried, count, constants);
    for (int i = 0; i < count; i++) {
        p[i] = 0.0;
        for (int j = 0; j < count; j++)
            p[i] += find_coupling(constants, carried, i, j) * cos(q[i] - q[j]) * v[j];
    }
}

void chain_add_momenta_seed(const chain_momenta_seed *seed, int count,
                            const chain_constants *constants)
{
    double carried[CHAIN_MAX];
    sum_masses(carried, count, constants);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const double A = find_coupling(constants, carried, i, j);
            const double c = cos(seed->q[i] - seed->q[j]), s = sin(seed->q[i] - seed->q[j]);
            const double by = seed->by_p[i];
            seed->by_v[j] += by * A * c;
            seed->by_q[i] -= by * A * s * seed->v[j];
            seed->by_q[j] += by * A * s * seed->v[j];
            add_coupling_seed(seed->by_constants, count, constants, carried, i, j,
                              by * c * seed->v[j]);
        }
}

// ---- the field ----

// Derivatives of the loss by a state, or by its rate of change.
typedef struct state_seed {
    double q[CHAIN_MAX], p[CHAIN_MAX];
} state_seed;

// Inverse of a symmetric positive definite matrix, by Gauss-Jordan steps without pivoting.
static void invert_matrix(double out[CHAIN_MAX][CHAIN_MAX], double M[CHAIN_MAX][CHAIN_MAX],
                          int count)
{
    double work[CHAIN_MAX][CHAIN_MAX];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) work[i][j] = M[i][j], out[i][j] = i == j;
    for (int k = 0; k < count; k++) {
        const double scale = 1.0 / work[k][k];
        for (int j = 0; j < count; j++) work[k][j] *= scale, out[k][j] *= scale;
        for (int i = 0; i < count; i++) {
            const double factor = work[i][k];
            if (i == k) continue;
            for (int j = 0; j < count; j++) {
                work[i][j] -= factor * work[k][j];
                out[i][j] -= factor * out[k][j];
            }
        }
    }
}

static void find_kinetic(chain_state *at, int count, const chain_constants *constants,
                         const double *q, const double *p)
{
    double M[CHAIN_MAX][CHAIN_MAX];
    sum_masses(at->carried, count, constants);
    for (int k = 0; k < count; k++) {
        at->tangent[k][0] = cos(q[k]);
        at->tangent[k][1] = sin(q[k]);
    }
    // Differences of angles by the addition theorems: fewer calls of sin and cos.
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const double *a = at->tangent[i], *b = at->tangent[j];
            at->A[i][j] = find_coupling(constants, at->carried, i, j);
            at->c[i][j] = a[0] * b[0] + a[1] * b[1];
            at->s[i][j] = a[1] * b[0] - a[0] * b[1];
            M[i][j] = at->A[i][j] * at->c[i][j];
        }
    invert_matrix(at->inverse, M, count);
    for (int i = 0; i < count; i++) {
        at->v[i] = 0.0;
        for (int j = 0; j < count; j++) at->v[i] += at->inverse[i][j] * p[j];
    }
}

// After find_kinetic(), which gives the tangents.
static void find_potential(chain_state *at, const chain_law *law, const chain_constants *constants)
{
    double x = 0.0, y = 0.0, pull[2] = {0};
    for (int k = 0; k < law->count; k++) {
        at->d[k][0] = x += constants->length[k] * at->tangent[k][1];
        at->d[k][1] = y -= constants->length[k] * at->tangent[k][0];
        at->W[k] = (plane_jet){0};
        if (law->field[k]) plane_evaluate(&at->W[k], law->field[k], x, y);
    }
    for (int k = law->count - 1; k >= 0; k--) {
        pull[0] += constants->mass[k] * (law->gravity[k][0] + at->W[k].x);
        pull[1] += constants->mass[k] * (law->gravity[k][1] + at->W[k].y);
        at->pull[k][0] = pull[0];
        at->pull[k][1] = pull[1];
    }
}

// dq/dt = v and dp_i/dt = -sum_j A_ij v_i v_j sin(q_i - q_j) - strength l_i tangent_i . pull_i.
static void find_field(double *dq, double *dp, chain_state *at, const chain_law *law,
                       const chain_constants *constants, const double *q, const double *p)
{
    find_kinetic(at, law->count, constants, q, p);
    find_potential(at, law, constants);
    for (int i = 0; i < law->count; i++) {
        dq[i] = at->v[i];
        dp[i] = -constants->strength * constants->length[i] *
                (at->tangent[i][0] * at->pull[i][0] + at->tangent[i][1] * at->pull[i][1]);
        for (int j = 0; j < law->count; j++)
            dp[i] -= at->A[i][j] * at->v[i] * at->v[j] * at->s[i][j];
    }
}

// Seeds of the potential part of dp.
static void add_potential_seed(double *by_q, chain_seed *seed, const chain_state *at,
                               const chain_law *law, const chain_constants *constants,
                               const double *by_dp)
{
    chain_constants *by = &seed->constants;
    double by_pull[CHAIN_MAX][2], by_d[CHAIN_MAX][2], carried[2] = {0}, moved[2] = {0};
    for (int i = 0; i < law->count; i++) {
        const double *t = at->tangent[i], *pull = at->pull[i], l = constants->length[i];
        const double along = t[0] * pull[0] + t[1] * pull[1];
        by->strength -= by_dp[i] * l * along;
        by->length[i] -= by_dp[i] * constants->strength * along;
        const double scale = -by_dp[i] * constants->strength * l;
        by_q[i] += scale * (-t[1] * pull[0] + t[0] * pull[1]);
        by_pull[i][0] = scale * t[0];
        by_pull[i][1] = scale * t[1];
    }
    // Mass k pulls at link k and all before it.
    for (int k = 0; k < law->count; k++) {
        const plane_jet *W = &at->W[k];
        const double m = constants->mass[k];
        carried[0] += by_pull[k][0];
        carried[1] += by_pull[k][1];
        by->mass[k] +=
            carried[0] * (law->gravity[k][0] + W->x) + carried[1] * (law->gravity[k][1] + W->y);
        seed->gravity[k][0] += m * carried[0];
        seed->gravity[k][1] += m * carried[1];
        if (law->field[k])
            plane_add_seed(law->field[k], at->d[k][0], at->d[k][1], m * carried[0], m * carried[1]);
        by_d[k][0] = m * (carried[0] * W->xx + carried[1] * W->xy);
        by_d[k][1] = m * (carried[0] * W->xy + carried[1] * W->yy);
    }
    for (int k = law->count - 1; k >= 0; k--) {
        const double *t = at->tangent[k];
        moved[0] += by_d[k][0];
        moved[1] += by_d[k][1];
        by_q[k] += constants->length[k] * (moved[0] * t[0] + moved[1] * t[1]);
        by->length[k] += moved[0] * t[1] - moved[1] * t[0];
    }
}

// Adds the seeds of q, p, the constants and the grids, given those of dq and dp in `by_rate`.
static void add_field_seed(state_seed *out, chain_seed *seed, const chain_state *at,
                           const chain_law *law, const chain_constants *constants,
                           const state_seed *by_rate)
{
    const int count = law->count;
    double by_v[CHAIN_MAX], solved[CHAIN_MAX];
    memcpy(by_v, by_rate->q, (size_t)count * sizeof *by_v);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const double A = at->A[i][j], vi = at->v[i], vj = at->v[j], by = -by_rate->p[i];
            by_v[i] += by * A * vj * at->s[i][j];
            by_v[j] += by * A * vi * at->s[i][j];
            out->q[i] += by * A * vi * vj * at->c[i][j];
            out->q[j] -= by * A * vi * vj * at->c[i][j];
            add_coupling_seed(&seed->constants, count, constants, at->carried, i, j,
                              by * vi * vj * at->s[i][j]);
        }
    // v = M^-1 p: the seed of p is M^-1 by_v, that of M is minus its product with v.
    for (int i = 0; i < count; i++) {
        solved[i] = 0.0;
        for (int j = 0; j < count; j++) solved[i] += at->inverse[i][j] * by_v[j];
        out->p[i] += solved[i];
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const double by_M = -solved[i] * at->v[j];
            out->q[i] -= by_M * at->A[i][j] * at->s[i][j];
            out->q[j] += by_M * at->A[i][j] * at->s[i][j];
            add_coupling_seed(&seed->constants, count, constants, at->carried, i, j,
                              by_M * at->c[i][j]);
        }
    add_potential_seed(out->q, seed, at, law, constants, by_rate->p);
}

// ---- Runge-Kutta ----

static const double stage_share[4] = {0.0, 0.5, 0.5, 1.0};
static const double stage_weight[4] = {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6};

// The four stages of a step from (q, p) at `from`.
static void run_stages(chain_step *out, const chain_law *law, const chain_constants *constants,
                       const double *from, double h)
{
    const int n = law->count;
    for (int s = 0; s < 4; s++) {
        double q[CHAIN_MAX], p[CHAIN_MAX];
        for (int i = 0; i < n; i++) {
            q[i] = from[i] + (s ? stage_share[s] * h * out->dq[s - 1][i] : 0.0);
            p[i] = from[n + i] + (s ? stage_share[s] * h * out->dp[s - 1][i] : 0.0);
        }
        find_field(out->dq[s], out->dp[s], &out->at[s], law, constants, q, p);
    }
}

void chain_roll(const chain_law *law, const chain_constants *constants,
                const chain_rollout *rollout)
{
    const int n = law->count;
    const double h = rollout->direction * law->dt / law->substeps;
    double z[2 * CHAIN_MAX];
    chain_step only;
    memcpy(z, rollout->q, (size_t)n * sizeof *z);
    memcpy(z + n, rollout->p, (size_t)n * sizeof *z);
    for (int64_t t = 0; t < rollout->frames; t++) {
        for (int s = 0; s < law->substeps; s++) {
            chain_step *stages = rollout->path ? &rollout->path[t * law->substeps + s] : &only;
            run_stages(stages, law, constants, z, h);
            for (int k = 0; k < 4; k++)
                for (int i = 0; i < n; i++) {
                    z[i] += stage_weight[k] * h * stages->dq[k][i];
                    z[n + i] += stage_weight[k] * h * stages->dp[k][i];
                }
        }
        if (rollout->q_out) memcpy(rollout->q_out + t * n, z, (size_t)n * sizeof *z);
        if (rollout->p_out) memcpy(rollout->p_out + t * n, z + n, (size_t)n * sizeof *z);
    }
}

// Replaces the seeds after a step by those before it.
static void reverse_step(state_seed *v, chain_seed *seed, const chain_law *law,
                         const chain_constants *constants, const chain_step *stages, double h)
{
    const int n = law->count;
    state_seed by_rate[4];
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < n; i++) {
            by_rate[s].q[i] = stage_weight[s] * h * v->q[i];
            by_rate[s].p[i] = stage_weight[s] * h * v->p[i];
        }
    for (int s = 3; s >= 0; s--) {
        state_seed by = {0};
        add_field_seed(&by, seed, &stages->at[s], law, constants, &by_rate[s]);
        for (int i = 0; i < n; i++) {
            v->q[i] += by.q[i];
            v->p[i] += by.p[i];
            if (!s) continue;
            by_rate[s - 1].q[i] += stage_share[s] * h * by.q[i];
            by_rate[s - 1].p[i] += stage_share[s] * h * by.p[i];
        }
    }
}

void chain_add_seed(chain_seed *seed, const chain_law *law, const chain_constants *constants,
                    const chain_step *path, int64_t frames, int direction, const double *by_q)
{
    const int n = law->count;
    const double h = direction * law->dt / law->substeps;
    state_seed v = {0};
    for (int64_t k = frames * law->substeps; k > 0; k--) {
        if (k % law->substeps == 0)
            for (int i = 0; i < n; i++) v.q[i] += by_q[(k / law->substeps - 1) * n + i];
        reverse_step(&v, seed, law, constants, &path[k - 1], h);
    }
    for (int i = 0; i < n; i++) {
        seed->q[i] += v.q[i];
        seed->p[i] += v.p[i];
    }
}

double chain_energy(const chain_law *law, const chain_constants *constants, const double *q,
                    const double *p)
{
    chain_state at;
    double H = 0.0;
    find_kinetic(&at, law->count, constants, q, p);
    find_potential(&at, law, constants);
    for (int k = 0; k < law->count; k++)
        H += 0.5 * p[k] * at.v[k] +
             constants->strength * constants->mass[k] *
                 (law->gravity[k][0] * at.d[k][0] + law->gravity[k][1] * at.d[k][1] + at.W[k].v);
    return H;
}
