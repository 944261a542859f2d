// SPDX-License-Identifier: MIT
// Leapfrog rollouts of point masses and their adjoint.
#include "models/bodies/points.h"

#include <math.h>
#include <string.h>

// ---- forces ----

// The vector from j to i, to the nearest image in a box, and its length.
static double find_distance(double d[2], const points_law *law, const double *q, int i, int j)
{
    for (int c = 0; c < 2; c++) {
        d[c] = q[2 * i + c] - q[2 * j + c];
        if (law->box > 0.0) d[c] -= law->box * nearbyint(d[c] / law->box);
    }
    return sqrt(d[0] * d[0] + d[1] * d[1] + 1e-12);
}

static void find_forces(double *force, const points_law *law, const points_constants *constants,
                        const double *q)
{
    memset(force, 0, (size_t)(2 * law->count) * sizeof *force);
    for (int i = 0; i < law->count && law->pair; i++)
        for (int j = i + 1; j < law->count; j++) {
            double d[2], pull, ignored;
            const double r = find_distance(d, law, q, i, j);
            radial_force(&pull, &ignored, law->pair, r);
            pull *= constants->strength / r;
            for (int c = 0; c < 2; c++) {
                force[2 * i + c] -= pull * d[c];
                force[2 * j + c] += pull * d[c];
            }
        }
    for (int i = 0; i < law->count && (law->field || law->stiffness != 0.0); i++) {
        const double x = q[2 * i] - constants->centre[0], y = q[2 * i + 1] - constants->centre[1];
        plane_jet V = {0};
        if (law->field) plane_evaluate(&V, law->field, x, y);
        force[2 * i] -= V.x + law->stiffness * x;
        force[2 * i + 1] -= V.y + law->stiffness * y;
    }
    for (int i = 0; i < 2 * law->count; i++)
        if (law->still[i]) force[i] = 0.0;
}

// Adds what a seed of the forces at q means for q, the constants and the tables.
static void add_force_seed(double *by_q, points_seed *seed, const points_law *law,
                           const points_constants *constants, const double *q,
                           const double *by_force)
{
    for (int i = 0; i < law->count && law->pair; i++)
        for (int j = i + 1; j < law->count; j++) {
            double d[2], pull, slope;
            const double r = find_distance(d, law, q, i, j);
            radial_force(&pull, &slope, law->pair, r);
            const double e[2] = {d[0] / r, d[1] / r};
            const double v[2] = {by_force[2 * j] - by_force[2 * i],
                                 by_force[2 * j + 1] - by_force[2 * i + 1]};
            const double along = v[0] * e[0] + v[1] * e[1];
            radial_add_seed(law->pair, r, constants->strength * along);
            seed->constants.strength += pull * along;
            // The force along e changes with r, the direction e with the rest of d.
            for (int c = 0; c < 2; c++) {
                const double by_d =
                    constants->strength * (slope * along * e[c] + pull / r * (v[c] - along * e[c]));
                by_q[2 * i + c] += by_d;
                by_q[2 * j + c] -= by_d;
            }
        }
    for (int i = 0; i < law->count && (law->field || law->stiffness != 0.0); i++) {
        const double x = q[2 * i] - constants->centre[0], y = q[2 * i + 1] - constants->centre[1];
        const double vx = -by_force[2 * i], vy = -by_force[2 * i + 1];
        plane_jet V = {0};
        if (law->field) {
            plane_evaluate(&V, law->field, x, y);
            plane_add_seed(law->field, x, y, vx, vy);
        }
        const double bx = (V.xx + law->stiffness) * vx + V.xy * vy,
                     by = V.xy * vx + (V.yy + law->stiffness) * vy;
        by_q[2 * i] += bx;
        by_q[2 * i + 1] += by;
        seed->constants.centre[0] -= bx;
        seed->constants.centre[1] -= by;
        seed->stiffness += x * vx + y * vy;
    }
}

// ---- rollout ----

void points_roll(const points_law *law, const points_constants *constants,
                 const points_rollout *rollout)
{
    const int n = 2 * law->count;
    const size_t bytes = (size_t)n * sizeof(double);
    const double h = rollout->direction * law->dt / law->substeps;
    double q[2 * POINTS_MAX], p[2 * POINTS_MAX], force[2 * POINTS_MAX];
    memcpy(q, rollout->q, bytes);
    for (int i = 0; i < n; i++) p[i] = law->still[i] ? 0.0 : rollout->p[i];
    if (rollout->path) {
        rollout->path->frames = rollout->frames;
        memcpy(rollout->path->q, q, bytes);
    }
    find_forces(force, law, constants, q);
    for (int64_t t = 0; t < rollout->frames; t++) {
        for (int s = 0; s < law->substeps; s++) {
            for (int i = 0; i < n; i++) p[i] += 0.5 * h * force[i];
            for (int i = 0; i < n; i++) q[i] += h * p[i] / constants->mass[i / 2];
            find_forces(force, law, constants, q);
            for (int i = 0; i < n; i++) p[i] += 0.5 * h * force[i];
            if (rollout->path) memcpy(rollout->path->q + (t * law->substeps + s + 1) * n, q, bytes);
        }
        if (rollout->q_out) memcpy(rollout->q_out + t * n, q, bytes);
        if (rollout->p_out) memcpy(rollout->p_out + t * n, p, bytes);
    }
}

// The steps in reverse. Between two drifts the momentum receives a force twice, half a step each;
// so all forces but the first have a whole step.
void points_add_seed(points_seed *seed, const points_law *law, const points_constants *constants,
                     const points_path *path, int direction, const double *by_q)
{
    const int n = 2 * law->count;
    const double h = direction * law->dt / law->substeps;
    const int64_t steps = path->frames * law->substeps;
    double vq[2 * POINTS_MAX] = {0}, vp[2 * POINTS_MAX] = {0}, vf[2 * POINTS_MAX];
    for (int64_t k = steps; k > 0; k--) {
        const double *q = path->q + k * n, *before = q - n;
        if (k % law->substeps == 0)
            for (int i = 0; i < n; i++) vq[i] += by_q[(k / law->substeps - 1) * n + i];
        // Kick after the drift that led here, and before the next one. The last has no effect.
        for (int i = 0; i < n; i++) vf[i] = law->still[i] ? 0.0 : h * vp[i];
        if (k < steps) add_force_seed(vq, seed, law, constants, q, vf);
        // Drift: q = before + h p / m, so that p / m is known from the path.
        for (int i = 0; i < n; i++) {
            const double mass = constants->mass[i / 2];
            vp[i] += h * vq[i] / mass;
            seed->constants.mass[i / 2] -= vq[i] * (q[i] - before[i]) / mass;
        }
    }
    for (int i = 0; i < n; i++) vf[i] = law->still[i] ? 0.0 : 0.5 * h * vp[i];
    if (steps > 0) add_force_seed(vq, seed, law, constants, path->q, vf);
    for (int i = 0; i < n; i++) {
        seed->q[i] += vq[i];
        if (!law->still[i]) seed->p[i] += vp[i];
    }
}

double points_energy(const points_law *law, const points_constants *constants, const double *q,
                     const double *p)
{
    double H = 0.0;
    for (int i = 0; i < law->count; i++) {
        const double x = q[2 * i] - constants->centre[0], y = q[2 * i + 1] - constants->centre[1];
        plane_jet V = {0};
        H += (p[2 * i] * p[2 * i] + p[2 * i + 1] * p[2 * i + 1]) / (2.0 * constants->mass[i]);
        if (law->field) plane_evaluate(&V, law->field, x, y);
        H += V.v + 0.5 * law->stiffness * (x * x + y * y);
        for (int j = i + 1; j < law->count && law->pair; j++) {
            double d[2];
            const double r = find_distance(d, law, q, i, j);
            H += constants->strength * radial_energy(law->pair, r);
        }
    }
    return H;
}
