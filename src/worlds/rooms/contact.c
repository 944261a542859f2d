// SPDX-License-Identifier: MIT
// Balls and boxes pair by pair. Two boxes: the axis along which they are farthest apart, of the
// faces and of the products of edges [Gottschalk96]; then either the face of one is cut by the
// sides of the other, or two edges meet in a point.
#include "worlds/rooms/contact.h"

#include <float.h>
#include <math.h>
#include <string.h>

// A part in the world.
typedef struct solid {
    bool ball;
    double center[3], axis[3][3], half[3];
} solid;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static solid solid_of(const body *b, int part)
{
    const body_part *p = &b->part[part];
    solid s = {.ball = p->ball};
    body_axes(s.axis, b->q);
    memcpy(s.half, p->half, sizeof s.half);
    memcpy(s.center, b->x, sizeof s.center);
    for (int a = 0; a < 3; a++)
        for (int k = 0; k < 3; k++) s.center[k] += p->offset[a] * s.axis[a][k];
    return s;
}

static void add(contact_list *out, const contact *which, const double point[3],
                const double normal[3], double gap, double margin)
{
    if (gap >= margin || out->count == CONTACT_MAX) return;
    contact *c = &out->at[out->count++];
    *c = *which;
    c->gap = gap;
    memcpy(c->point, point, sizeof c->point);
    memcpy(c->normal, normal, sizeof c->normal);
}

// ---- floor ----

// What is built of boxes has corners beside corners: one of a few near each other, and as high, is
// enough to stand on.
static bool stands_there(const contact_list *found, int a, const double point[3], double gap)
{
    const double near = 0.08, level = 2e-4;
    for (int i = 0; i < found->count; i++) {
        const contact *c = &found->at[i];
        if (c->a == a && c->b == CONTACT_FLOOR && fabs(c->point[0] - point[0]) < near &&
            fabs(c->point[1] - point[1]) < near && gap > c->gap - level)
            return true;
    }
    return false;
}

void contact_find_floor(contact_list *out, const body *bodies, int a, double margin)
{
    static const double up[3] = {0.0, 0.0, 1.0};
    const body *b = &bodies[a];
    if (b->x[2] - b->radius >= margin) return;
    for (int i = 0; i < b->parts; i++) {
        const solid s = solid_of(b, i);
        for (int corner = 0; corner < (s.ball ? 1 : 8); corner++) {
            double x[3] = {s.center[0], s.center[1], s.center[2]};
            if (s.ball) x[2] -= s.half[0];
            for (int k = 0; k < 3 && !s.ball; k++)
                for (int j = 0; j < 3; j++)
                    x[j] += (corner >> k & 1 ? 1.0 : -1.0) * s.half[k] * s.axis[k][j];
            const contact which = {.a = a, .b = CONTACT_FLOOR, .part = i};
            const double gap = x[2];
            x[2] *= 0.5;
            if (gap >= margin || (b->parts > 1 && stands_there(out, a, x, gap))) continue;
            add(out, &which, x, up, gap, margin);
        }
    }
}

// ---- balls ----

static void ball_ball(contact_list *out, const contact *which, const solid *a, const solid *b,
                      double margin)
{
    double n[3], point[3];
    for (int k = 0; k < 3; k++) n[k] = a->center[k] - b->center[k];
    const double apart = sqrt(dot(n, n));
    for (int k = 0; k < 3; k++) n[k] = apart > 0.0 ? n[k] / apart : (double)(k == 2);
    const double gap = apart - a->half[0] - b->half[0];
    for (int k = 0; k < 3; k++) point[k] = b->center[k] + n[k] * (b->half[0] + 0.5 * gap);
    add(out, which, point, n, gap, margin);
}

// The normal points from the box to the ball.
static void ball_box(contact_list *out, const contact *which, const solid *ball, const solid *box,
                     double sign, double margin)
{
    double off[3], local[3], near[3], n[3] = {0.0, 0.0, 0.0}, point[3], square = 0.0;
    for (int k = 0; k < 3; k++) off[k] = ball->center[k] - box->center[k];
    int thin = 0;
    for (int a = 0; a < 3; a++) {
        local[a] = dot(box->axis[a], off);
        near[a] = fmin(fmax(local[a], -box->half[a]), box->half[a]);
        square += (local[a] - near[a]) * (local[a] - near[a]);
        if (box->half[a] - fabs(local[a]) < box->half[thin] - fabs(local[thin])) thin = a;
    }
    double apart = sqrt(square);
    if (apart > 0.0) {
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < 3; k++) n[k] += (local[a] - near[a]) / apart * box->axis[a][k];
    } else { // the ball's centre is inside: out by the nearest face
        apart = fabs(local[thin]) - box->half[thin];
        for (int k = 0; k < 3; k++) n[k] = (local[thin] < 0.0 ? -1.0 : 1.0) * box->axis[thin][k];
    }
    const double gap = apart - ball->half[0];
    for (int k = 0; k < 3; k++) {
        point[k] = ball->center[k] - n[k] * (ball->half[0] + 0.5 * gap);
        n[k] *= sign;
    }
    add(out, which, point, n, gap, margin);
}

// ---- boxes ----

// How far apart two boxes are along a direction of length one from b towards a.
typedef struct parting {
    double gap;
    double normal[3];
    int kind; // 0..2 face of a, 3..5 face of b, 6.. edges 3 i + j
} parting;

static double reach(const solid *s, const double n[3])
{
    return s->half[0] * fabs(dot(s->axis[0], n)) + s->half[1] * fabs(dot(s->axis[1], n)) +
           s->half[2] * fabs(dot(s->axis[2], n));
}

static void part_along(parting *best, const solid *a, const solid *b, const double off[3],
                       const double n[3], int kind)
{
    const double along = dot(off, n), side = along < 0.0 ? -1.0 : 1.0;
    const double gap = fabs(along) - reach(a, n) - reach(b, n);
    // Faces are preferred to edges by a hair, and the first face to the second, so that a resting
    // box does not change its mind.
    const double favour = kind >= 6 ? 1e-4 : kind >= 3 ? 1e-5 : 0.0;
    if (gap - favour <= best->gap) return;
    best->gap = gap - favour;
    best->kind = kind;
    for (int k = 0; k < 3; k++) best->normal[k] = side * n[k];
}

static bool part_boxes(parting *best, const solid *a, const solid *b, double margin)
{
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = a->center[k] - b->center[k];
    *best = (parting){.gap = -DBL_MAX};
    for (int i = 0; i < 6; i++) {
        part_along(best, a, b, off, i < 3 ? a->axis[i] : b->axis[i - 3], i);
        if (best->gap > margin) return false;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double *u = a->axis[i], *v = b->axis[j];
            double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                           u[0] * v[1] - u[1] * v[0]};
            const double length = sqrt(dot(n, n));
            if (length < 1e-3) continue; // parallel: the faces have said it
            for (int k = 0; k < 3; k++) n[k] /= length;
            part_along(best, a, b, off, n, 6 + 3 * i + j);
            if (best->gap > margin) return false;
        }
    return true;
}

enum { CORNERS = 16 };

// Cuts a polygon by the half space x.n <= limit.
static int cut(double out[CORNERS][3], double in[CORNERS][3], int count, const double n[3],
               double limit)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const double *p = in[i], *q = in[(i + 1) % count];
        const double dp = dot(p, n) - limit, dq = dot(q, n) - limit;
        if (dp <= 0.0 && kept < CORNERS) memcpy(out[kept++], p, 3 * sizeof *p);
        if ((dp < 0.0) != (dq < 0.0) && dp != dq && kept < CORNERS) {
            const double t = dp / (dp - dq);
            if (t <= 0.0 || t >= 1.0) continue;
            for (int k = 0; k < 3; k++) out[kept][k] = p[k] + t * (q[k] - p[k]);
            kept++;
        }
    }
    return kept;
}

// The face of `other` that looks against `n`, as four corners.
static void facing(double out[CORNERS][3], const solid *other, const double n[3])
{
    int face = 0;
    double most = -1.0;
    for (int i = 0; i < 3; i++)
        if (fabs(dot(other->axis[i], n)) > most) most = fabs(dot(other->axis[i], n)), face = i;
    const double side = dot(other->axis[face], n) > 0.0 ? -1.0 : 1.0;
    const int u = (face + 1) % 3, v = (face + 2) % 3;
    static const double turn[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = other->center[k] + side * other->half[face] * other->axis[face][k] +
                        turn[i][0] * other->half[u] * other->axis[u][k] +
                        turn[i][1] * other->half[v] * other->axis[v][k];
}

// `n` points out of the face of `owner` towards `other`; `sign` makes it point from b to a.
static void face_contacts(contact_list *out, const contact *which, const solid *owner, int face,
                          const solid *other, const double n[3], double sign, double margin)
{
    double ring[2][CORNERS][3];
    facing(ring[0], other, n);
    int count = 4, now = 0;
    for (int s = 0; s < 4; s++) {
        const int u = (face + 1 + s / 2) % 3;
        double side[3];
        for (int k = 0; k < 3; k++) side[k] = (s % 2 ? -1.0 : 1.0) * owner->axis[u][k];
        count =
            cut(ring[1 - now], ring[now], count, side, dot(side, owner->center) + owner->half[u]);
        now = 1 - now;
    }
    const double level = dot(n, owner->center) + owner->half[face];
    const double normal[3] = {sign * n[0], sign * n[1], sign * n[2]};
    for (int i = 0; i < count; i++) {
        const double gap = dot(n, ring[now][i]) - level;
        double point[3];
        for (int k = 0; k < 3; k++) point[k] = ring[now][i][k] - 0.5 * gap * n[k];
        add(out, which, point, normal, gap, margin);
    }
}

// The points of two edges that are nearest to each other.
static void edge_contact(contact_list *out, const contact *which, const solid *a, const solid *b,
                         const parting *p, double gap, double margin)
{
    const int i = (p->kind - 6) / 3, j = (p->kind - 6) % 3;
    double x[3], y[3], off[3], point[3];
    memcpy(x, a->center, sizeof x);
    memcpy(y, b->center, sizeof y);
    for (int k = 0; k < 3; k++) {
        const double sa = dot(a->axis[k], p->normal) > 0.0 ? -1.0 : 1.0,
                     sb = dot(b->axis[k], p->normal) > 0.0 ? 1.0 : -1.0;
        for (int c = 0; c < 3; c++) {
            if (k != i) x[c] += sa * a->half[k] * a->axis[k][c];
            if (k != j) y[c] += sb * b->half[k] * b->axis[k][c];
        }
    }
    const double *u = a->axis[i], *v = b->axis[j];
    for (int k = 0; k < 3; k++) off[k] = x[k] - y[k];
    const double uv = dot(u, v), du = dot(u, off), dv = dot(v, off), under = 1.0 - uv * uv;
    const double s = (uv * dv - du) / under, t = (dv - uv * du) / under;
    for (int k = 0; k < 3; k++) point[k] = 0.5 * (x[k] + s * u[k] + y[k] + t * v[k]);
    add(out, which, point, p->normal, gap, margin);
}

static void box_box(contact_list *out, const contact *which, const solid *a, const solid *b,
                    double margin)
{
    parting p;
    if (!part_boxes(&p, a, b, margin)) return;
    if (p.kind >= 6) {
        edge_contact(out, which, a, b, &p, p.gap + 1e-4, margin);
        return;
    }
    const double back[3] = {-p.normal[0], -p.normal[1], -p.normal[2]};
    if (p.kind < 3) face_contacts(out, which, a, p.kind, b, back, -1.0, margin);
    else face_contacts(out, which, b, p.kind - 3, a, p.normal, 1.0, margin);
}

void contact_find(contact_list *out, const body *bodies, int a, int b, double margin)
{
    const body *p = &bodies[a], *q = &bodies[b];
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = p->x[k] - q->x[k];
    const double near = p->radius + q->radius + margin;
    if (dot(off, off) >= near * near) return;
    solid other[BODY_PARTS];
    for (int j = 0; j < q->parts; j++) other[j] = solid_of(q, j);
    for (int i = 0; i < p->parts; i++) {
        const solid s = solid_of(p, i);
        for (int j = 0; j < q->parts; j++) {
            const contact which = {.a = a, .b = b, .part = BODY_PARTS * i + j};
            if (s.ball && other[j].ball) ball_ball(out, &which, &s, &other[j], margin);
            else if (s.ball) ball_box(out, &which, &s, &other[j], 1.0, margin);
            else if (other[j].ball) ball_box(out, &which, &other[j], &s, -1.0, margin);
            else box_box(out, &which, &s, &other[j], margin);
        }
    }
}
