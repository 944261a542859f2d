// SPDX-License-Identifier: MIT
// Contacts of balls and boxes, part by part. For two boxes: find the axis of largest separation
// among the normals of faces and the cross products of edges [Gottschalk96]. Then either a face of
// one is clipped by the sides of a face of the other, or two edges touch in a point.
#include "worlds/rooms/contact.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "worlds/vec3.h"

// A part in room coordinates.
typedef struct placed_part {
    bool ball;
    double center[3], axis[3][3], half[3];
} placed_part;

// Position and axes of a part in room coordinates.
static placed_part place_part(const rigid_body *body, int index)
{
    const body_part *part = &body->part[index];
    placed_part placed = {.ball = part->ball};
    body_axes(placed.axis, body->q);
    memcpy(placed.half, part->half, sizeof placed.half);
    memcpy(placed.center, body->x, sizeof placed.center);
    for (int a = 0; a < 3; a++)
        for (int k = 0; k < 3; k++) placed.center[k] += part->offset[a] * placed.axis[a][k];
    return placed;
}

// Appends a contact of the pair if its gap is below the margin.
static void add_contact(contact_list *out, const contact_point *pair, const double point[3],
                        const double normal[3], double gap, double margin)
{
    if (gap >= margin || out->count == CONTACT_MAX) return;
    contact_point *added = &out->contacts[out->count++];
    *added = *pair;
    added->gap = gap;
    memcpy(added->point, point, sizeof added->point);
    memcpy(added->normal, normal, sizeof added->normal);
}

// ---- floor ----

// Bodies made of boxes have corners close to each other. One of several corners at the same place
// and height is enough to stand on.
static bool is_supported_near(const contact_list *found, int a, const double point[3], double gap)
{
    const double near = 0.08, level = 2e-4;
    for (int i = 0; i < found->count; i++) {
        const contact_point *other = &found->contacts[i];
        if (other->a == a && other->b == CONTACT_FLOOR && fabs(other->point[0] - point[0]) < near &&
            fabs(other->point[1] - point[1]) < near && gap > other->gap - level)
            return true;
    }
    return false;
}

void contact_find_floor(contact_list *out, const rigid_body *bodies, int a, double margin)
{
    // The lowest point of a ball, or the eight corners of a box.
    static const double up[3] = {0.0, 0.0, 1.0};
    const rigid_body *body = &bodies[a];
    if (body->x[2] - body->radius >= margin) return;
    for (int i = 0; i < body->part_count; i++) {
        const placed_part placed = place_part(body, i);
        for (int corner = 0; corner < (placed.ball ? 1 : 8); corner++) {
            double x[3] = {placed.center[0], placed.center[1], placed.center[2]};
            if (placed.ball) x[2] -= placed.half[0];
            for (int k = 0; k < 3 && !placed.ball; k++)
                for (int j = 0; j < 3; j++)
                    x[j] += (corner >> k & 1 ? 1.0 : -1.0) * placed.half[k] * placed.axis[k][j];
            const contact_point pair = {.a = a, .b = CONTACT_FLOOR, .part = i};
            const double gap = x[2];
            x[2] *= 0.5;
            if (gap >= margin || (body->part_count > 1 && is_supported_near(out, a, x, gap)))
                continue;
            add_contact(out, &pair, x, up, gap, margin);
        }
    }
}

// ---- balls ----

// The normal is the direction between the centres.
static void collide_balls(contact_list *out, const contact_point *pair, const placed_part *a,
                          const placed_part *b, double margin)
{
    double n[3], point[3];
    for (int k = 0; k < 3; k++) n[k] = a->center[k] - b->center[k];
    const double distance = sqrt(vec3_dot(n, n));
    for (int k = 0; k < 3; k++) n[k] = distance > 0.0 ? n[k] / distance : (double)(k == 2);
    const double gap = distance - a->half[0] - b->half[0];
    for (int k = 0; k < 3; k++) point[k] = b->center[k] + n[k] * (b->half[0] + 0.5 * gap);
    add_contact(out, pair, point, n, gap, margin);
}

// Nearest point of the box to the centre of the ball. The normal points from the box to the ball,
// or the other way round if `sign` is -1.
static void collide_ball_box(contact_list *out, const contact_point *pair, const placed_part *ball,
                             const placed_part *box, double sign, double margin)
{
    double off[3], local[3], near[3], n[3] = {0.0, 0.0, 0.0}, point[3], square = 0.0;
    for (int k = 0; k < 3; k++) off[k] = ball->center[k] - box->center[k];
    int thin = 0;
    for (int a = 0; a < 3; a++) {
        local[a] = vec3_dot(box->axis[a], off);
        near[a] = fmin(fmax(local[a], -box->half[a]), box->half[a]);
        square += (local[a] - near[a]) * (local[a] - near[a]);
        if (box->half[a] - fabs(local[a]) < box->half[thin] - fabs(local[thin])) thin = a;
    }
    double distance = sqrt(square);
    if (distance > 0.0) {
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < 3; k++) n[k] += (local[a] - near[a]) / distance * box->axis[a][k];
    } else { // the centre of the ball is inside the box: use the nearest face
        distance = fabs(local[thin]) - box->half[thin];
        for (int k = 0; k < 3; k++) n[k] = (local[thin] < 0.0 ? -1.0 : 1.0) * box->axis[thin][k];
    }
    const double gap = distance - ball->half[0];
    for (int k = 0; k < 3; k++) {
        point[k] = ball->center[k] - n[k] * (ball->half[0] + 0.5 * gap);
        n[k] *= sign;
    }
    add_contact(out, pair, point, n, gap, margin);
}

// ---- boxes ----

// Separation of two boxes along a unit vector from b to a.
typedef struct box_separation {
    double gap;
    double normal[3];
    int kind; // 0 to 2: face of a, 3 to 5: face of b, 6 + 3 i + j: edges i of a and j of b
} box_separation;

// Half the length of the projection of a box onto n.
static double project_extent(const placed_part *box, const double n[3])
{
    return box->half[0] * fabs(vec3_dot(box->axis[0], n)) +
           box->half[1] * fabs(vec3_dot(box->axis[1], n)) +
           box->half[2] * fabs(vec3_dot(box->axis[2], n));
}

// Keeps the axis n if the boxes are farther apart along it than along the best one so far.
static void test_axis(box_separation *best, const placed_part *a, const placed_part *b,
                      const double off[3], const double n[3], int kind)
{
    const double along = vec3_dot(off, n), side = along < 0.0 ? -1.0 : 1.0;
    const double gap = fabs(along) - project_extent(a, n) - project_extent(b, n);
    // Faces are preferred to edges by a small margin, and faces of a to faces of b, so that the
    // choice for a resting box does not alternate.
    const double favour = kind >= 6 ? 1e-4 : kind >= 3 ? 1e-5 : 0.0;
    if (gap - favour <= best->gap) return;
    best->gap = gap - favour;
    best->kind = kind;
    for (int k = 0; k < 3; k++) best->normal[k] = side * n[k];
}

// Separating axis test over 6 face normals and 9 cross products of edges. False if the boxes are
// farther apart than the margin.
static bool find_separation(box_separation *best, const placed_part *a, const placed_part *b,
                            double margin)
{
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = a->center[k] - b->center[k];
    *best = (box_separation){.gap = -DBL_MAX};
    for (int i = 0; i < 6; i++) {
        test_axis(best, a, b, off, i < 3 ? a->axis[i] : b->axis[i - 3], i);
        if (best->gap > margin) return false;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double *u = a->axis[i], *v = b->axis[j];
            double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                           u[0] * v[1] - u[1] * v[0]};
            const double length = sqrt(vec3_dot(n, n));
            if (length < 1e-3) continue; // parallel edges: covered by the faces
            for (int k = 0; k < 3; k++) n[k] /= length;
            test_axis(best, a, b, off, n, 6 + 3 * i + j);
            if (best->gap > margin) return false;
        }
    return true;
}

enum { MAX_CORNERS = 16 };

// Clips a polygon to the half space x.n <= limit (Sutherland and Hodgman). Returns the number of
// corners.
static int clip_polygon(double out[MAX_CORNERS][3], double in[MAX_CORNERS][3], int count,
                        const double n[3], double limit)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const double *p = in[i], *q = in[(i + 1) % count];
        const double dp = vec3_dot(p, n) - limit, dq = vec3_dot(q, n) - limit;
        if (dp <= 0.0 && kept < MAX_CORNERS) memcpy(out[kept++], p, 3 * sizeof *p);
        if ((dp < 0.0) != (dq < 0.0) && dp != dq && kept < MAX_CORNERS) {
            const double t = dp / (dp - dq);
            if (t <= 0.0 || t >= 1.0) continue;
            for (int k = 0; k < 3; k++) out[kept][k] = p[k] + t * (q[k] - p[k]);
            kept++;
        }
    }
    return kept;
}

// Corners of the face of `other` that is most opposed to `n`.
static void find_incident_face(double out[MAX_CORNERS][3], const placed_part *other,
                               const double n[3])
{
    int face = 0;
    double largest = -1.0;
    for (int i = 0; i < 3; i++)
        if (fabs(vec3_dot(other->axis[i], n)) > largest)
            largest = fabs(vec3_dot(other->axis[i], n)), face = i;
    const double side = vec3_dot(other->axis[face], n) > 0.0 ? -1.0 : 1.0;
    const int u = (face + 1) % 3, v = (face + 2) % 3;
    static const double corners[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            out[i][k] = other->center[k] + side * other->half[face] * other->axis[face][k] +
                        corners[i][0] * other->half[u] * other->axis[u][k] +
                        corners[i][1] * other->half[v] * other->axis[v][k];
}

// A face of one box that touches the other box.
typedef struct reference_face {
    const placed_part *box;
    int axis;        // normal of the face in the coordinates of the box
    const double *n; // unit vector out of the face, towards the other box
    double sign;     // sign * n points from b to a
} reference_face;

// Clips the incident face of `other` by the sides of the reference face. The corners that remain
// are the contacts.
static void add_face_contacts(contact_list *out, const contact_point *pair,
                              const reference_face *face, const placed_part *other, double margin)
{
    const placed_part *owner = face->box;
    const double *n = face->n;
    double ring[2][MAX_CORNERS][3];
    find_incident_face(ring[0], other, n);
    int count = 4, now = 0;
    for (int s = 0; s < 4; s++) {
        const int u = (face->axis + 1 + s / 2) % 3;
        double side[3];
        for (int k = 0; k < 3; k++) side[k] = (s % 2 ? -1.0 : 1.0) * owner->axis[u][k];
        count = clip_polygon(ring[1 - now], ring[now], count, side,
                             vec3_dot(side, owner->center) + owner->half[u]);
        now = 1 - now;
    }
    const double level = vec3_dot(n, owner->center) + owner->half[face->axis];
    const double normal[3] = {face->sign * n[0], face->sign * n[1], face->sign * n[2]};
    for (int i = 0; i < count; i++) {
        const double gap = vec3_dot(n, ring[now][i]) - level;
        double point[3];
        for (int k = 0; k < 3; k++) point[k] = ring[now][i][k] - 0.5 * gap * n[k];
        add_contact(out, pair, point, normal, gap, margin);
    }
}

// The contact is the middle between the nearest points of two edges.
static void add_edge_contact(contact_list *out, const contact_point *pair, const placed_part *a,
                             const placed_part *b, const box_separation *separation, double gap,
                             double margin)
{
    const int i = (separation->kind - 6) / 3, j = (separation->kind - 6) % 3;
    double x[3], y[3], off[3], point[3];
    memcpy(x, a->center, sizeof x);
    memcpy(y, b->center, sizeof y);
    for (int k = 0; k < 3; k++) {
        const double sa = vec3_dot(a->axis[k], separation->normal) > 0.0 ? -1.0 : 1.0,
                     sb = vec3_dot(b->axis[k], separation->normal) > 0.0 ? 1.0 : -1.0;
        for (int c = 0; c < 3; c++) {
            if (k != i) x[c] += sa * a->half[k] * a->axis[k][c];
            if (k != j) y[c] += sb * b->half[k] * b->axis[k][c];
        }
    }
    const double *u = a->axis[i], *v = b->axis[j];
    for (int k = 0; k < 3; k++) off[k] = x[k] - y[k];
    // Nearest points x + s u and y + t v of two lines.
    const double uv = vec3_dot(u, v), du = vec3_dot(u, off), dv = vec3_dot(v, off),
                 under = 1.0 - uv * uv;
    const double s = (uv * dv - du) / under, t = (dv - uv * du) / under;
    for (int k = 0; k < 3; k++) point[k] = 0.5 * (x[k] + s * u[k] + y[k] + t * v[k]);
    add_contact(out, pair, point, separation->normal, gap, margin);
}

// Contacts of two boxes, by a face or by two edges.
static void collide_boxes(contact_list *out, const contact_point *pair, const placed_part *a,
                          const placed_part *b, double margin)
{
    box_separation separation;
    if (!find_separation(&separation, a, b, margin)) return;
    if (separation.kind >= 6) {
        add_edge_contact(out, pair, a, b, &separation, separation.gap + 1e-4, margin);
        return;
    }
    const double back[3] = {-separation.normal[0], -separation.normal[1], -separation.normal[2]};
    if (separation.kind < 3) {
        const reference_face face = {a, separation.kind, back, -1.0};
        add_face_contacts(out, pair, &face, b, margin);
    } else {
        const reference_face face = {b, separation.kind - 3, separation.normal, 1.0};
        add_face_contacts(out, pair, &face, a, margin);
    }
}

void contact_find(contact_list *out, const rigid_body *bodies, int a, int b, double margin)
{
    const rigid_body *body_a = &bodies[a], *body_b = &bodies[b];
    double off[3];
    for (int k = 0; k < 3; k++) off[k] = body_a->x[k] - body_b->x[k];
    const double near = body_a->radius + body_b->radius + margin;
    if (vec3_dot(off, off) >= near * near) return;
    placed_part others[BODY_MAX_PARTS];
    for (int j = 0; j < body_b->part_count; j++) others[j] = place_part(body_b, j);
    for (int i = 0; i < body_a->part_count; i++) {
        const placed_part placed = place_part(body_a, i);
        for (int j = 0; j < body_b->part_count; j++) {
            const contact_point pair = {.a = a, .b = b, .part = BODY_MAX_PARTS * i + j};
            if (placed.ball && others[j].ball)
                collide_balls(out, &pair, &placed, &others[j], margin);
            else if (placed.ball) collide_ball_box(out, &pair, &placed, &others[j], 1.0, margin);
            else if (others[j].ball)
                collide_ball_box(out, &pair, &others[j], &placed, -1.0, margin);
            else collide_boxes(out, &pair, &placed, &others[j], margin);
        }
    }
}
