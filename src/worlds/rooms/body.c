// SPDX-License-Identifier: MIT
// Shapes of bodies, their moments of inertia, rotations and energy.
#include "worlds/rooms/body.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double gravity = 9.81;

// Moves the origin to the centre of mass and computes the moments of inertia about it, by the
// theorem of Steiner: I_k += m ((h_l^2 + h_m^2) / 3 + o_l^2 + o_m^2). All parts have one density
// and are mirror images of each other in x and y.
static void compute_inertia(rigid_body *body)
{
    double volume[BODY_MAX_PARTS], total = 0.0, height = 0.0;
    for (int i = 0; i < body->part_count; i++) {
        const double *h = body->part[i].half;
        volume[i] = 8.0 * h[0] * h[1] * h[2];
        total += volume[i];
        height += volume[i] * body->part[i].offset[2];
    }
    // Sum over the parts; `radius` is the farthest corner.
    body->radius = 0.0;
    for (int i = 0; i < body->part_count; i++) {
        body_part *part = &body->part[i];
        part->offset[2] -= height / total;
        const double mass = body->mass * volume[i] / total, *h = part->half, *o = part->offset;
        double corner = 0.0;
        for (int k = 0; k < 3; k++) {
            const int l = (k + 1) % 3, m = (k + 2) % 3;
            body->inertia[k] +=
                mass * ((h[l] * h[l] + h[m] * h[m]) / 3.0 + o[l] * o[l] + o[m] * o[m]);
            corner += (fabs(o[k]) + h[k]) * (fabs(o[k]) + h[k]);
        }
        body->radius = fmax(body->radius, sqrt(corner));
    }
}

// A body without parts, with the default friction and restitution.
static rigid_body init_body(plumb_room_shape shape, double mass)
{
    return (rigid_body){
        .shape = shape, .mass = mass, .q = {1.0}, .friction = 0.5, .restitution = 0.2};
}

rigid_body body_make_ball(double radius, double mass)
{
    rigid_body body = init_body(PLUMB_ROOM_SHAPE_BALL, mass);
    body.part_count = 1;
    body.part[0] = (body_part){.ball = true, .half = {radius, radius, radius}};
    body.radius = radius;
    body.restitution = 0.4;
    for (int k = 0; k < 3; k++) {
        body.half[k] = radius;
        body.inertia[k] = 0.4 * mass * radius * radius;
    }
    return body;
}

rigid_body body_make_box(plumb_room_shape shape, const double half[3], double mass)
{
    rigid_body body = init_body(shape, mass);
    body.part_count = 1;
    memcpy(body.half, half, sizeof body.half);
    memcpy(body.part[0].half, half, sizeof body.half);
    compute_inertia(&body);
    return body;
}

rigid_body body_make_container(const double half[3], double wall, double mass)
{
    rigid_body body = init_body(PLUMB_ROOM_SHAPE_CONTAINER, mass);
    const double x = half[0], y = half[1], z = half[2], base = 0.5 * wall;
    const body_part parts[5] = {{.offset = {0, 0, base - z}, .half = {x + wall, y + wall, base}},
                                {.offset = {0, -y, 0}, .half = {x + wall, wall, z}},
                                {.offset = {0, y, 0}, .half = {x + wall, wall, z}},
                                {.offset = {-x, 0, 0}, .half = {wall, y - wall, z}},
                                {.offset = {x, 0, 0}, .half = {wall, y - wall, z}}};
    body.part_count = 5;
    memcpy(body.part, parts, sizeof parts);
    const double outer[3] = {x + wall, y + wall, z};
    memcpy(body.half, outer, sizeof outer);
    compute_inertia(&body);
    return body;
}

// A container upside down.
rigid_body body_make_cover(const double half[3], double wall, double mass)
{
    rigid_body body = body_make_container(half, wall, mass);
    body.shape = PLUMB_ROOM_SHAPE_COVER;
    for (int i = 0; i < body.part_count; i++) body.part[i].offset[2] = -body.part[i].offset[2];
    return body;
}

rigid_body body_make_arch(const double half[3], double leg, double mass)
{
    rigid_body body = init_body(PLUMB_ROOM_SHAPE_ARCH, mass);
    const double x = half[0], y = half[1], z = half[2], w = 0.5 * leg;
    const body_part parts[3] = {{.offset = {w - x, 0, -w}, .half = {w, y, z - w}},
                                {.offset = {x - w, 0, -w}, .half = {w, y, z - w}},
                                {.offset = {0, 0, z - w}, .half = {x, y, w}}};
    body.part_count = 3;
    memcpy(body.part, parts, sizeof parts);
    memcpy(body.half, half, sizeof body.half);
    compute_inertia(&body);
    return body;
}

// Rotation matrix of a unit quaternion, transposed.
void body_axes(double axis[3][3], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double rows[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
                               {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
                               {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(axis, rows, sizeof rows);
}

double body_lowest_point(const rigid_body *body)
{
    double axis[3][3], lowest = 0.0;
    body_axes(axis, body->q);
    for (int i = 0; i < body->part_count; i++) {
        const body_part *part = &body->part[i];
        double low = 0.0;
        for (int a = 0; a < 3; a++)
            low += part->offset[a] * axis[a][2] -
                   (part->ball ? 0.0 : part->half[a] * fabs(axis[a][2]));
        if (part->ball) low -= part->half[0];
        lowest = fmin(lowest, low);
    }
    return -lowest;
}

// q = r q with the quaternion r of the rotation by `angle` about `axis`.
void body_rotate(rigid_body *body, const double axis[3], double angle)
{
    const double c = cos(0.5 * angle), s = sin(0.5 * angle);
    const double r[4] = {c, s * axis[0], s * axis[1], s * axis[2]};
    const double q[4] = {body->q[0], body->q[1], body->q[2], body->q[3]};
    body->q[0] = r[0] * q[0] - r[1] * q[1] - r[2] * q[2] - r[3] * q[3];
    body->q[1] = r[0] * q[1] + r[1] * q[0] + r[2] * q[3] - r[3] * q[2];
    body->q[2] = r[0] * q[2] - r[1] * q[3] + r[2] * q[0] + r[3] * q[1];
    body->q[3] = r[0] * q[3] + r[1] * q[2] - r[2] * q[1] + r[3] * q[0];
}

// Vector from the centre of mass to the hinge.
static void get_hinge_arm(double out[3], const rigid_body *body)
{
    double axis[3][3];
    body_axes(axis, body->q);
    for (int k = 0; k < 3; k++) out[k] = body->half[1] * axis[1][k] - body->half[2] * axis[2][k];
}

void body_hinge(rigid_body *body)
{
    double to[3];
    get_hinge_arm(to, body);
    for (int k = 0; k < 3; k++) body->pivot[k] = body->x[k] + to[k];
    body->hinged = true;
}

void body_update_hinged(rigid_body *body)
{
    double to[3];
    get_hinge_arm(to, body);
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        body->x[k] = body->pivot[k] - to[k];
        body->v[k] = to[i] * body->w[j] - to[j] * body->w[i]; // w x (x - pivot)
    }
}

// m g z + m v^2 / 2 + sum I_k w_k^2 / 2 with the angular velocity along the axes of the body.
double body_energy(const rigid_body *body)
{
    double axis[3][3], energy = body->mass * gravity * body->x[2];
    body_axes(axis, body->q);
    for (int k = 0; k < 3; k++) {
        const double spin =
            axis[k][0] * body->w[0] + axis[k][1] * body->w[1] + axis[k][2] * body->w[2];
        energy += 0.5 * body->mass * body->v[k] * body->v[k] + 0.5 * body->inertia[k] * spin * spin;
    }
    return energy;
}

void body_write(double *row, const rigid_body *body)
{
    row[PLUMB_ROOM_COLUMN_SHAPE] = body->shape;
    memcpy(row + PLUMB_ROOM_COLUMN_HALF_EXTENT, body->half, sizeof body->half);
    memcpy(row + PLUMB_ROOM_COLUMN_COLOR, body->color, sizeof body->color);
    row[PLUMB_ROOM_COLUMN_MASS] = body->mass;
    memcpy(row + PLUMB_ROOM_COLUMN_POSITION, body->x, sizeof body->x);
    memcpy(row + PLUMB_ROOM_COLUMN_ORIENTATION, body->q, sizeof body->q);
    memcpy(row + PLUMB_ROOM_COLUMN_VELOCITY, body->v, sizeof body->v);
    memcpy(row + PLUMB_ROOM_COLUMN_ANGULAR_VELOCITY, body->w, sizeof body->w);
}

void body_add_to_scene(raytrace_box_scene *scene, const rigid_body *body, uint8_t id)
{
    double axis[3][3];
    body_axes(axis, body->q);
    for (int i = 0; i < body->part_count; i++) {
        assert(scene->count < RAYTRACE_BOXES_MAX_PARTS);
        raytrace_box_part *part = &scene->part[scene->count++];
        *part = (raytrace_box_part){.ball = body->part[i].ball, .id = id};
        memcpy(part->axis, axis, sizeof axis);
        memcpy(part->half, body->part[i].half, sizeof part->half);
        memcpy(part->color, body->color, sizeof part->color);
        part->square_side = body->square_side;
        memcpy(part->square_color, body->square_color, sizeof part->square_color);
        memcpy(part->center, body->x, sizeof part->center);
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < 3; k++) part->center[k] += body->part[i].offset[a] * axis[a][k];
    }
}
