// SPDX-License-Identifier: MIT
// The five concepts of [Piloto22], each as two possible clips, A and B, that show the same picture
// at the cut. Motion is in closed form, so that the moment of the cut can be chosen: things are
// released just when they must be to be hidden there. Random numbers are drawn one a declarator, in
// an order that C fixes.
#include <math.h>
#include <string.h>

#include "worlds/rooms/scene.h"

enum { LAST = ROOM_SCENE_STEPS - 1 };
static const double gravity = 9.81, degree = 0x1.1df46a2529d39p-6, dt = ROOM_SCENE_DT;

static const double axis_x[3] = {1.0, 0.0, 0.0}, axis_y[3] = {0.0, 1.0, 0.0},
                    axis_z[3] = {0.0, 0.0, 1.0};

static void place(body *b, double x, double y, double z)
{
    b->x[0] = x, b->x[1] = y, b->x[2] = z;
}

// ---- continuity: a ball rolls behind two pillars ----

// Depth along the optical axis of the fixed camera.
static double depth(double y, double z)
{
    return 3.0 + y * cos(40.0 * degree) - (z - 0.3) * sin(40.0 * degree);
}

static bool continuity(room_scene *a, room_scene *b, rng *r)
{
    const double radius = room_scene_uniform(r, 0.13, 0.18), y = room_scene_uniform(r, 0.20, 0.35);
    const double wide = radius + room_scene_uniform(r, 0.07, 0.11),
                 high = room_scene_uniform(r, 0.40, 0.52);
    const double gap = 2.0 * radius + room_scene_uniform(r, 0.22, 0.36), at = 0.5 * gap + wide;
    const double behind = at * depth(y, radius) / depth(-0.14, radius); // exactly behind a pillar
    const double step = (rng_below(r, 2) ? 1.0 : -1.0) * behind / 4.0;
    const double half[3] = {wide, 0.04, high};
    body pillar[2], ball = body_ball(radius, 10.0);
    for (int i = 0; i < 2; i++) {
        pillar[i] = body_box(PLUMB_ROOM_SHAPE_PILLAR, half, 0.0);
        room_scene_color(pillar[i].color, &a->floor, r);
        place(&pillar[i], i ? at : -at, -0.10, high);
    }
    room_scene_color(ball.color, &a->floor, r);
    for (int t = 0; t <= LAST; t++) {
        for (int i = 0; i < 2; i++) a->body[t][i] = b->body[t][i] = pillar[i];
        body *moved = &a->body[t][2];
        *moved = ball;
        place(moved, step * (t - 7), y, radius);
        body_rotate(moved, axis_y, moved->x[0] / radius); // it rolls
        moved->v[0] = step / dt;
        moved->w[1] = step / dt / radius;
    }
    return true;
}

static bool continuity_seen(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    return room_scene_visible_pixels(a, size, 7, 3) >= 12 &&
           room_scene_visible_pixels(a, size, 0, 3) >= 6 &&
           room_scene_visible_pixels(a, size, LAST, 3) >= 6;
}

const room_probe probes_continuity = {
    .pose = continuity, .accept = continuity_seen, .cut = {3, 11}};

// ---- solidity: a block falls into a container, tall or short ----

static void drop_block(body *b, double top, double floor, double speed)
{
    const double height = 2.0 * b->half[2], rest = floor + height;
    b->v[2] = top > rest ? speed : 0.0;
    place(b, 0.0, 0.0, fmax(top, rest) - b->half[2]);
}

static bool solidity(room_scene *a, room_scene *b, rng *r)
{
    const double wide = room_scene_uniform(r, 0.26, 0.34), deep = room_scene_uniform(r, 0.15, 0.18);
    const double high = room_scene_uniform(r, 0.56, 0.62), wall = 0.03;
    const double x = room_scene_uniform(r, 0.5, 0.7) * wide,
                 y = room_scene_uniform(r, 0.8, 0.9) * (deep - wall);
    const double tall = high + room_scene_uniform(r, 0.08, 0.12);
    const double small = room_scene_uniform(r, 0.50, 0.58) * high;
    // The tall one is about to land in frame 9, and both lower ends are hidden by the front wall.
    const double at_cut = wall + tall + room_scene_uniform(r, 0.015, 0.04);
    const double fallen = high - wall + room_scene_uniform(r, 0.01, 0.05);
    const double falling = sqrt(2.0 * fallen / gravity) / dt;
    const double half[3] = {wide, deep, 0.5 * high};
    const double halves[2][3] = {{x, y, 0.5 * tall}, {x, y, 0.5 * small}};
    body container = body_container(half, wall, 5.0);
    room_scene_color(container.color, &a->floor, r);
    place(&container, 0.0, 0.0, body_lowest_point(&container));
    double color[3];
    room_scene_color(color, &a->floor, r);
    for (int t = 0; t <= LAST; t++)
        for (int i = 0; i < 2; i++) {
            body *row = i ? b->body[t] : a->body[t];
            row[0] = container;
            row[1] = body_box(PLUMB_ROOM_SHAPE_BOX, halves[i], 40.0);
            memcpy(row[1].color, color, sizeof color);
            const double since = fmax(t - 9 + falling, 0.0) * dt;
            drop_block(&row[1], at_cut + fallen - 0.5 * gravity * since * since, wall,
                       -gravity * since);
        }
    return true;
}

static bool solidity_seen(const uint8_t *a, const uint8_t *b, int64_t size)
{
    return room_scene_visible_pixels(a, size, LAST, 2) >= 8 &&
           room_scene_visible_pixels(b, size, LAST, 2) == 0;
}

const room_probe probes_solidity = {.pose = solidity, .accept = solidity_seen, .cut = {9, -1}};

// ---- object persistence: a plank falls on something, or on nothing ----

typedef struct fall {
    double angle, rate;
} fall;

// phi'' = -(3 g / 2 L) cos phi, a uniform rod on a hinge, by one step of Runge and Kutta's.
static fall fall_step(fall s, double length, double h)
{
    const double k = -1.5 * gravity / length;
    const fall a = {s.rate, k * cos(s.angle)};
    const fall b = {s.rate + 0.5 * h * a.rate, k * cos(s.angle + 0.5 * h * a.angle)};
    const fall c = {s.rate + 0.5 * h * b.rate, k * cos(s.angle + 0.5 * h * b.angle)};
    const fall d = {s.rate + h * c.rate, k * cos(s.angle + h * c.angle)};
    return (fall){s.angle + h / 6.0 * (a.angle + 2 * b.angle + 2 * c.angle + d.angle),
                  s.rate + h / 6.0 * (a.rate + 2 * b.rate + 2 * c.rate + d.rate)};
}

static fall fall_after(fall s, double length, double time)
{
    if (time <= 0.0) return (fall){s.angle, 0.0};
    const int steps = (int)(time / 0.001) + 1;
    for (int i = 0; i < steps; i++) s = fall_step(s, length, time / steps);
    return s;
}

// When the angle has come down to `angle`, seconds.
static double fall_time(fall s, double length, double angle)
{
    const double h = 0.001;
    double time = 0.0;
    for (int i = 0; i < 3000 && s.angle > angle; i++, time += h) {
        const fall next = fall_step(s, length, h);
        if (next.angle <= angle) return time + h * (s.angle - angle) / (s.angle - next.angle);
        s = next;
    }
    return time;
}

static void tilt_plank(body *p, double length, double angle, double rate)
{
    const double c = cos(angle), s = sin(angle);
    place(p, 0.0, 0.70 - 0.5 * length * c + 0.025 * s, 0.5 * length * s + 0.025 * c);
    body_rotate(p, axis_x, -angle);
    p->w[0] = -rate;
    p->v[1] = rate * (0.5 * length * s + 0.025 * c);
    p->v[2] = rate * (0.5 * length * c - 0.025 * s);
}

// Something of height `high`, `away` in front of the hinge, and the angle at which it props a
// plank.
static body prop(double *angle, double away, double high, rng *r)
{
    if (rng_below(r, 2)) {
        const double radius = 0.5 * high;
        body b = body_ball(radius, 10.0);
        place(&b, 0.0, 0.70 - away - radius, radius);
        *angle = atan(radius / (away + radius)) + asin(radius / hypot(away + radius, radius));
        return b;
    }
    const double deep = room_scene_uniform(r, 0.16, 0.22);
    const double half[3] = {room_scene_uniform(r, 0.14, 0.28), 0.5 * deep, 0.5 * high};
    body b = body_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
    place(&b, 0.0, 0.70 - away - 0.5 * deep, 0.5 * high);
    *angle = atan(high / away);
    return b;
}

static bool persistence(room_scene *a, room_scene *b, rng *r)
{
    const double length = room_scene_uniform(r, 1.45, 1.65);
    const double half[3] = {room_scene_uniform(r, 0.42, 0.55), 0.5 * length, 0.025};
    body plank = body_box(PLUMB_ROOM_SHAPE_PLANK, half, 20.0);
    double rest;
    const double away = room_scene_uniform(r, 0.50, 0.60), high = room_scene_uniform(r, 0.15, 0.20);
    body thing = prop(&rest, away, high, r);
    room_scene_color(plank.color, &a->floor, r);
    room_scene_color(thing.color, &a->floor, r);
    const double lean = room_scene_uniform(r, 66.0, 74.0), rate = room_scene_uniform(r, -1.8, -1.2);
    const fall start = {lean * degree, rate};
    const double at_cut = rest + room_scene_uniform(r, 1.5, 3.5) * degree;
    const double release = 9.0 - fall_time(start, length, at_cut) / dt;
    for (int t = 0; t <= LAST; t++)
        for (int i = 0; i < 2; i++) {
            body *row = i ? b->body[t] : a->body[t];
            const double least = i ? 0.0 : rest;
            fall now = fall_after(start, length, (t - release) * dt);
            if (now.angle <= least) now = (fall){least, 0.0};
            row[0] = plank;
            tilt_plank(&row[0], length, now.angle, now.rate);
            if (!i) row[1] = thing;
        }
    return release > 0.5;
}

static bool persistence_seen(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    return room_scene_visible_pixels(a, size, 0, 2) >= 10;
}

const room_probe probes_persistence = {
    .pose = persistence, .accept = persistence_seen, .cut = {9, -1}};

// ---- unchangeableness: a curtain falls and rises ----

static body trinket(bool ball, double size, double yaw)
{
    const double half[3] = {size, size, size};
    body b = ball ? body_ball(size, 10.0) : body_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
    if (!ball) body_rotate(&b, axis_z, yaw);
    return b;
}

static double differs(const double a[3], const double b[3])
{
    return fmax(fmax(fabs(a[0] - b[0]), fabs(a[1] - b[1])), fabs(a[2] - b[2]));
}

// Do two of a row stand clear of each other?
static bool clear(const body *row)
{
    for (int i = 0; i < 2; i++) {
        const double reach[2] = {hypot(row[i].half[0], row[i].half[1]),
                                 hypot(row[i + 1].half[0], row[i + 1].half[1])};
        double need = 0.0;
        for (int k = 0; k < 2; k++)
            need += row[i + k].kind == PLUMB_ROOM_SHAPE_BALL ? row[i + k].half[0] : reach[k];
        if (row[i + 1].x[0] - row[i].x[0] < need) return false;
    }
    return true;
}

// Two of three exchange places, colours or shapes; false if nobody could tell.
static bool exchange(body after[3], const body before[3], rng *r)
{
    int64_t pair[2];
    rng_distinct(pair, r, 2, 3);
    const int64_t what = rng_below(r, 3);
    memcpy(after, before, 3 * sizeof *after);
    body *p = &after[pair[0]], *q = &after[pair[1]];
    const bool colors = differs(p->color, q->color) >= 0.25, shapes = p->kind != q->kind;
    const body was[2] = {*p, *q};
    if (what == 0) {
        memcpy(p->color, was[1].color, sizeof p->color);
        memcpy(q->color, was[0].color, sizeof q->color);
        return colors;
    }
    *p = was[1];
    *q = was[0];
    for (int k = 0; k < 2; k++) p->x[k] = was[0].x[k], q->x[k] = was[1].x[k];
    if (what == 1) return colors || shapes;
    memcpy(p->color, was[0].color, sizeof p->color);
    memcpy(q->color, was[1].color, sizeof q->color);
    return shapes;
}

static bool unchangeableness(room_scene *a, room_scene *b, rng *r)
{
    static const double down[4] = {2.0, 6.0, 7.0, 14.0};
    static const double curtain_half[3] = {1.25, 0.04, 0.62}, pole_half[3] = {0.05, 0.03, 1.0};
    body before[3], after[3], curtain = body_box(PLUMB_ROOM_SHAPE_CURTAIN, curtain_half, 0.0),
                              pole = body_box(PLUMB_ROOM_SHAPE_POLE, pole_half, 0.0);
    for (int i = 0; i < 3; i++) {
        const bool ball = rng_below(r, 2);
        const double size = room_scene_uniform(r, 0.14, 0.19),
                     yaw = room_scene_uniform(r, 0.0, 90.0) * degree;
        before[i] = trinket(ball, size, yaw);
        place(&before[i], (i - 1) * 0.58 + room_scene_uniform(r, -0.05, 0.05), 0.15, size);
        room_scene_color(before[i].color, &a->floor, r);
    }
    room_scene_color(curtain.color, &a->floor, r);
    for (int k = 0; k < 3; k++) curtain.color[k] *= 0.6, pole.color[k] = 0.5;
    const double pole_x = room_scene_uniform(r, -0.4, 0.4);
    if (!exchange(after, before, r) || !clear(before) || !clear(after)) return false;
    for (int t = 0; t <= LAST; t++)
        for (int i = 0; i < 2; i++) {
            body *row = i ? b->body[t] : a->body[t];
            memcpy(row, i ? after : before, sizeof before);
            double speed;
            const double low = room_scene_curtain(&speed, down, t);
            row[3] = curtain;
            row[4] = pole;
            place(&row[3], 0.0, -0.35, low + 0.62);
            place(&row[4], pole_x, -0.35, low + 2.24);
            row[3].v[2] = row[4].v[2] = speed / dt;
        }
    return true;
}

static bool unchangeableness_seen(const uint8_t *a, const uint8_t *b, int64_t size)
{
    for (int id = 1; id <= 3; id++)
        if (room_scene_visible_pixels(a, size, 0, id) < 10 ||
            room_scene_visible_pixels(b, size, 0, id) < 10)
            return false;
    return true;
}

const room_probe probes_unchangeableness = {
    .pose = unchangeableness, .accept = unchangeableness_seen, .cut = {7, -1}, .search = true};

// ---- directional inertia: a ball bounces off a block ----

static bool inertia(room_scene *a, room_scene *b, rng *r)
{
    const double radius = room_scene_uniform(r, 0.14, 0.19);
    const double wide = room_scene_uniform(r, 0.4, 0.7), deep = room_scene_uniform(r, 0.15, 0.3);
    const double half[3] = {wide, deep, room_scene_uniform(r, 0.15, 0.3)};
    const double yaw = room_scene_uniform(r, -0.25, 0.25), y = room_scene_uniform(r, 0.30, 0.55);
    const double across = room_scene_uniform(r, -0.1, 0.1);
    const double from_left = rng_below(r, 2) ? 1.0 : -1.0;
    const double angle = from_left * room_scene_uniform(r, 28.0, 48.0) * degree;
    const double speed = room_scene_uniform(r, 0.10, 0.135);
    const double n[2] = {sin(yaw), -cos(yaw)}, along[2] = {cos(yaw), sin(yaw)};
    body block = body_box(PLUMB_ROOM_SHAPE_BOX, half, 0.0), ball = body_ball(radius, 10.0);
    room_scene_color(block.color, &a->floor, r);
    room_scene_color(ball.color, &a->floor, r);
    body_rotate(&block, axis_z, yaw);
    place(&block, -n[0] * half[1], y - n[1] * half[1], half[2]);
    for (int t = 0; t <= LAST; t++) {
        const double side = t < 7 ? 1.0 : -1.0, way = fabs(t - 7.0) * speed;
        body *row = a->body[t];
        row[0] = block;
        row[1] = ball;
        double to[2];
        for (int k = 0; k < 2; k++) {
            const double from = k ? y : 0.0;
            to[k] = n[k] * cos(angle) + side * along[k] * sin(angle);
            row[1].x[k] = from + n[k] * radius + along[k] * across + way * to[k];
            row[1].v[k] = (t < 7 ? -1.0 : 1.0) * to[k] * speed / dt;
        }
        row[1].x[2] = radius;
        row[1].w[0] = -row[1].v[1] / radius;
        row[1].w[1] = row[1].v[0] / radius;
    }
    for (int t = 0; t <= LAST; t++) {
        memcpy(b->body[t], a->body[LAST - t], sizeof b->body[t]);
        for (int k = 0; k < 3; k++)
            b->body[t][1].v[k] = -b->body[t][1].v[k], b->body[t][1].w[k] = -b->body[t][1].w[k];
    }
    return true;
}

static bool inertia_seen(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    for (int t = 0; t <= LAST; t++)
        if (room_scene_visible_pixels(a, size, t, 2) < 10) return false;
    return true;
}

const room_probe probes_inertia = {
    .pose = inertia, .accept = inertia_seen, .cut = {7, -1}, .reversed = true};
