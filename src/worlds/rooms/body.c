// SPDX-License-Identifier: MIT
#include "worlds/rooms/body.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double gravity = 9.81;

// Moments of all parts about the centre of mass, which is moved to the origin; parts are alike in
// density and mirror images of each other in x and y.
static void settle(body *b)
{
    double volume[BODY_PARTS], all = 0.0, height = 0.0;
    for (int i = 0; i < b->parts; i++) {
        const double *h = b->part[i].half;
        volume[i] = 8.0 * h[0] * h[1] * h[2];
        all += volume[i];
        height += volume[i] * b->part[i].offset[2];
    }
    b->radius = 0.0;
    for (int i = 0; i < b->parts; i++) {
        body_part *p = &b->part[i];
        p->offset[2] -= height / all;
        const double mass = b->mass * volume[i] / all, *h = p->half, *o = p->offset;
        double corner = 0.0;
        for (int k = 0; k < 3; k++) {
            const int l = (k + 1) % 3, m = (k + 2) % 3;
            b->inertia[k] += mass * ((h[l] * h[l] + h[m] * h[m]) / 3.0 + o[l] * o[l] + o[m] * o[m]);
            corner += (fabs(o[k]) + h[k]) * (fabs(o[k]) + h[k]);
        }
        b->radius = fmax(b->radius, sqrt(corner));
    }
}

static body body_new(plumb_room_shape kind, double mass)
{
    return (body){.kind = kind, .mass = mass, .q = {1.0}, .friction = 0.5, .restitution = 0.2};
}

body body_ball(double radius, double mass)
{
    body b = body_new(PLUMB_ROOM_SHAPE_BALL, mass);
    b.parts = 1;
    b.part[0] = (body_part){.ball = true, .half = {radius, radius, radius}};
    b.radius = radius;
    b.restitution = 0.4;
    for (int k = 0; k < 3; k++) {
        b.half[k] = radius;
        b.inertia[k] = 0.4 * mass * radius * radius;
    }
    return b;
}

body body_box(plumb_room_shape kind, const double half[3], double mass)
{
    body b = body_new(kind, mass);
    b.parts = 1;
    memcpy(b.half, half, sizeof b.half);
    memcpy(b.part[0].half, half, sizeof b.half);
    settle(&b);
    return b;
}

body body_container(const double half[3], double wall, double mass)
{
    body b = body_new(PLUMB_ROOM_SHAPE_CONTAINER, mass);
    const double x = half[0], y = half[1], z = half[2], base = 0.5 * wall;
    const body_part parts[5] = {{.offset = {0, 0, base - z}, .half = {x + wall, y + wall, base}},
                                {.offset = {0, -y, 0}, .half = {x + wall, wall, z}},
                                {.offset = {0, y, 0}, .half = {x + wall, wall, z}},
                                {.offset = {-x, 0, 0}, .half = {wall, y - wall, z}},
                                {.offset = {x, 0, 0}, .half = {wall, y - wall, z}}};
    b.parts = 5;
    memcpy(b.part, parts, sizeof parts);
    const double outer[3] = {x + wall, y + wall, z};
    memcpy(b.half, outer, sizeof outer);
    settle(&b);
    return b;
}

body body_cover(const double half[3], double wall, double mass)
{
    body b = body_container(half, wall, mass);
    b.kind = PLUMB_ROOM_SHAPE_COVER;
    for (int i = 0; i < b.parts; i++) b.part[i].offset[2] = -b.part[i].offset[2];
    return b;
}

body body_arch(const double half[3], double leg, double mass)
{
    body b = body_new(PLUMB_ROOM_SHAPE_ARCH, mass);
    const double x = half[0], y = half[1], z = half[2], w = 0.5 * leg;
    const body_part parts[3] = {{.offset = {w - x, 0, -w}, .half = {w, y, z - w}},
                                {.offset = {x - w, 0, -w}, .half = {w, y, z - w}},
                                {.offset = {0, 0, z - w}, .half = {x, y, w}}};
    b.parts = 3;
    memcpy(b.part, parts, sizeof parts);
    memcpy(b.half, half, sizeof b.half);
    settle(&b);
    return b;
}

void body_axes(double axis[3][3], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                               {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                               {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(axis, rows, sizeof rows);
}

double body_lowest_point(const body *b)
{
    double axis[3][3], lowest = 0.0;
    body_axes(axis, b->q);
    for (int i = 0; i < b->parts; i++) {
        const body_part *p = &b->part[i];
        double low = 0.0;
        for (int a = 0; a < 3; a++)
            low += p->offset[a] * axis[a][2] - (p->ball ? 0.0 : p->half[a] * fabs(axis[a][2]));
        if (p->ball) low -= p->half[0];
        lowest = fmin(lowest, low);
    }
    return -lowest;
}

void body_rotate(body *b, const double axis[3], double angle)
{
    const double c = cos(0.5 * angle), s = sin(0.5 * angle);
    const double r[4] = {c, s * axis[0], s * axis[1], s * axis[2]};
    const double q[4] = {b->q[0], b->q[1], b->q[2], b->q[3]};
    b->q[0] = r[0] * q[0] - r[1] * q[1] - r[2] * q[2] - r[3] * q[3];
    b->q[1] = r[0] * q[1] + r[1] * q[0] + r[2] * q[3] - r[3] * q[2];
    b->q[2] = r[0] * q[2] - r[1] * q[3] + r[2] * q[0] + r[3] * q[1];
    b->q[3] = r[0] * q[3] + r[1] * q[2] - r[2] * q[1] + r[3] * q[0];
}

// The hinge as seen from the centre of mass.
static void hinge_of(double out[3], const body *b)
{
    double axis[3][3];
    body_axes(axis, b->q);
    for (int k = 0; k < 3; k++) out[k] = b->half[1] * axis[1][k] - b->half[2] * axis[2][k];
}

void body_hinge(body *b)
{
    double to[3];
    hinge_of(to, b);
    for (int k = 0; k < 3; k++) b->pivot[k] = b->x[k] + to[k];
    b->hinged = true;
}

void body_update_hinged(body *b)
{
    double to[3];
    hinge_of(to, b);
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        b->x[k] = b->pivot[k] - to[k];
        b->v[k] = to[i] * b->w[j] - to[j] * b->w[i]; // w x (x - pivot)
    }
}

double body_energy(const body *b)
{
    double axis[3][3], energy = b->mass * gravity * b->x[2];
    body_axes(axis, b->q);
    for (int k = 0; k < 3; k++) {
        const double spin = axis[k][0] * b->w[0] + axis[k][1] * b->w[1] + axis[k][2] * b->w[2];
        energy += 0.5 * b->mass * b->v[k] * b->v[k] + 0.5 * b->inertia[k] * spin * spin;
    }
    return energy;
}

void body_write(double *row, const body *b)
{
    row[PLUMB_ROOM_COLUMN_SHAPE] = b->kind;
    memcpy(row + PLUMB_ROOM_COLUMN_HALF_EXTENT, b->half, sizeof b->half);
    memcpy(row + PLUMB_ROOM_COLUMN_COLOR, b->color, sizeof b->color);
    row[PLUMB_ROOM_COLUMN_MASS] = b->mass;
    memcpy(row + PLUMB_ROOM_COLUMN_POSITION, b->x, sizeof b->x);
    memcpy(row + PLUMB_ROOM_COLUMN_ORIENTATION, b->q, sizeof b->q);
    memcpy(row + PLUMB_ROOM_COLUMN_VELOCITY, b->v, sizeof b->v);
    memcpy(row + PLUMB_ROOM_COLUMN_ANGULAR_VELOCITY, b->w, sizeof b->w);
}

void body_add_to_scene(raytrace_box_scene *scene, const body *b, uint8_t id)
{
    double axis[3][3];
    body_axes(axis, b->q);
    for (int i = 0; i < b->parts; i++) {
        assert(scene->count < RAYTRACE_BOXES_MAX_PARTS);
        raytrace_box_part *p = &scene->part[scene->count++];
        *p = (raytrace_box_part){.ball = b->part[i].ball, .id = id};
        memcpy(p->axis, axis, sizeof axis);
        memcpy(p->half, b->part[i].half, sizeof p->half);
        memcpy(p->color, b->color, sizeof p->color);
        memcpy(p->center, b->x, sizeof p->center);
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < 3; k++) p->center[k] += b->part[i].offset[a] * axis[a][k];
    }
}
