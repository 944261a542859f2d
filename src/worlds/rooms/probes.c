// SPDX-License-Identifier: MIT
// The five concepts of [Piloto22], each as two possible clips A and B that show the same image at
// the cut. The motion is in closed form, so that the time of the cut can be chosen: bodies are
// released such that the difference is hidden then. Each declarator draws at most one random
// number, so that their order is defined.
#include <math.h>
#include <string.h>

#include "worlds/rooms/probes.h"

enum { LAST_FRAME = ROOM_SCENE_STEPS - 1 };
static const double gravity = 9.81, degree = 0x1.1df46a2529d39p-6, frame_time = ROOM_SCENE_DT;

static const double axis_x[3] = {1.0, 0.0, 0.0}, axis_y[3] = {0.0, 1.0, 0.0},
                    axis_z[3] = {0.0, 0.0, 1.0};

static void place_body(rigid_body *body, double x, double y, double z)
{
    body->x[0] = x, body->x[1] = y, body->x[2] = z;
}

// ---- continuity: a ball rolls behind two pillars ----

// Depth along the optical axis of the fixed camera.
static double get_depth(double y, double z)
{
    return 3.0 + y * cos(40.0 * degree) - (z - 0.3) * sin(40.0 * degree);
}

// A: a ball rolls behind both pillars and is visible between them. B: the same without the ball.
static bool pose_continuity(room_scene *a, room_scene *b, rng *random)
{
    const double radius = room_scene_uniform(random, 0.13, 0.18),
                 y = room_scene_uniform(random, 0.20, 0.35);
    const double wide = radius + room_scene_uniform(random, 0.07, 0.11),
                 high = room_scene_uniform(random, 0.40, 0.52);
    const double gap = 2.0 * radius + room_scene_uniform(random, 0.22, 0.36), at = 0.5 * gap + wide;
    const double behind =
        at * get_depth(y, radius) / get_depth(-0.14, radius); // hidden exactly behind a pillar
    const double step = (rng_below(random, 2) ? 1.0 : -1.0) * behind / 4.0;
    const double half[3] = {wide, 0.04, high};
    rigid_body pillar[2], ball = body_make_ball(radius, 10.0);
    for (int i = 0; i < 2; i++) {
        pillar[i] = body_make_box(PLUMB_ROOM_SHAPE_PILLAR, half, 0.0);
        room_scene_color(pillar[i].color, &a->floor, random);
        place_body(&pillar[i], i ? at : -at, -0.10, high);
    }
    room_scene_color(ball.color, &a->floor, random);
    for (int t = 0; t <= LAST_FRAME; t++) {
        for (int i = 0; i < 2; i++) a->bodies[t][i] = b->bodies[t][i] = pillar[i];
        rigid_body *moved = &a->bodies[t][2];
        *moved = ball;
        place_body(moved, step * (t - 7), y, radius);
        body_rotate(moved, axis_y, moved->x[0] / radius); // rolling angle
        moved->v[0] = step / frame_time;
        moved->w[1] = step / frame_time / radius;
    }
    return true;
}

// The ball must be visible between the pillars and at both ends.
static bool accept_continuity(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    return room_scene_visible_pixels(a, size, 7, 3) >= 12 &&
           room_scene_visible_pixels(a, size, 0, 3) >= 6 &&
           room_scene_visible_pixels(a, size, LAST_FRAME, 3) >= 6;
}

const room_probe probes_continuity = {
    .pose = pose_continuity, .accept = accept_continuity, .cut = {3, 11}};

// ---- solidity: a block falls into a container, tall or short ----

// Places a block whose top is at `top`, or which rests on `floor`.
static void drop_block(rigid_body *body, double top, double floor, double speed)
{
    const double height = 2.0 * body->half[2], rest = floor + height;
    body->v[2] = top > rest ? speed : 0.0;
    place_body(body, 0.0, 0.0, fmax(top, rest) - body->half[2]);
}

// A: a tall block lands in the container and sticks out. B: a short one disappears in it.
static bool pose_solidity(room_scene *a, room_scene *b, rng *random)
{
    const double wide = room_scene_uniform(random, 0.26, 0.34),
                 deep = room_scene_uniform(random, 0.15, 0.18);
    const double high = room_scene_uniform(random, 0.56, 0.62), wall = 0.03;
    const double x = room_scene_uniform(random, 0.5, 0.7) * wide,
                 y = room_scene_uniform(random, 0.8, 0.9) * (deep - wall);
    const double tall = high + room_scene_uniform(random, 0.08, 0.12);
    const double small = room_scene_uniform(random, 0.50, 0.58) * high;
    // At frame 9, the cut, the tall block is about to land, and the front wall hides both lower
    // ends.
    const double at_cut = wall + tall + room_scene_uniform(random, 0.015, 0.04);
    const double fallen = high - wall + room_scene_uniform(random, 0.01, 0.05);
    const double falling = sqrt(2.0 * fallen / gravity) / frame_time;
    const double half[3] = {wide, deep, 0.5 * high};
    const double halves[2][3] = {{x, y, 0.5 * tall}, {x, y, 0.5 * small}};
    rigid_body container = body_make_container(half, wall, 5.0);
    room_scene_color(container.color, &a->floor, random);
    place_body(&container, 0.0, 0.0, body_lowest_point(&container));
    double color[3];
    room_scene_color(color, &a->floor, random);
    for (int t = 0; t <= LAST_FRAME; t++)
        for (int i = 0; i < 2; i++) {
            rigid_body *row = i ? b->bodies[t] : a->bodies[t];
            row[0] = container;
            row[1] = body_make_box(PLUMB_ROOM_SHAPE_BOX, halves[i], 40.0);
            memcpy(row[1].color, color, sizeof color);
            const double since = fmax(t - 9 + falling, 0.0) * frame_time;
            drop_block(&row[1], at_cut + fallen - 0.5 * gravity * since * since, wall,
                       -gravity * since);
        }
    return true;
}

// In the last frame the tall block must be visible and the short one hidden.
static bool accept_solidity(const uint8_t *a, const uint8_t *b, int64_t size)
{
    return room_scene_visible_pixels(a, size, LAST_FRAME, 2) >= 8 &&
           room_scene_visible_pixels(b, size, LAST_FRAME, 2) == 0;
}

const room_probe probes_solidity = {
    .pose = pose_solidity, .accept = accept_solidity, .cut = {9, -1}};

// ---- object persistence: a plank falls onto a body, or flat ----

typedef struct plank_fall {
    double angle, rate;
} plank_fall;

// One Runge-Kutta step of order 4 for a uniform rod on a hinge: phi'' = -(3 g / 2 L) cos phi.
static plank_fall step_fall(plank_fall state, double length, double h)
{
    const double k = -1.5 * gravity / length;
    const plank_fall a = {state.rate, k * cos(state.angle)};
    const plank_fall b = {state.rate + 0.5 * h * a.rate, k * cos(state.angle + 0.5 * h * a.angle)};
    const plank_fall c = {state.rate + 0.5 * h * b.rate, k * cos(state.angle + 0.5 * h * b.angle)};
    const plank_fall d = {state.rate + h * c.rate, k * cos(state.angle + h * c.angle)};
    return (plank_fall){state.angle + h / 6.0 * (a.angle + 2 * b.angle + 2 * c.angle + d.angle),
                        state.rate + h / 6.0 * (a.rate + 2 * b.rate + 2 * c.rate + d.rate)};
}

// State after `time` seconds; before the release the plank is at rest.
static plank_fall advance_fall(plank_fall state, double length, double time)
{
    if (time <= 0.0) return (plank_fall){state.angle, 0.0};
    const int steps = (int)(time / 0.001) + 1;
    for (int i = 0; i < steps; i++) state = step_fall(state, length, time / steps);
    return state;
}

// Time in seconds at which the plank has fallen to `angle`.
static double find_fall_time(plank_fall state, double length, double angle)
{
    const double h = 0.001;
    double time = 0.0;
    for (int i = 0; i < 3000 && state.angle > angle; i++, time += h) {
        const plank_fall next = step_fall(state, length, h);
        if (next.angle <= angle)
            return time + h * (state.angle - angle) / (state.angle - next.angle);
        state = next;
    }
    return time;
}

// Position, orientation and velocity of a plank at an angle.
static void tilt_plank(rigid_body *plank, double length, double angle, double rate)
{
    const double c = cos(angle), s = sin(angle);
    place_body(plank, 0.0, 0.70 - 0.5 * length * c + 0.025 * s, 0.5 * length * s + 0.025 * c);
    body_rotate(plank, axis_x, -angle);
    plank->w[0] = -rate;
    plank->v[1] = rate * (0.5 * length * s + 0.025 * c);
    plank->v[2] = rate * (0.5 * length * c - 0.025 * s);
}

// Makes a body of height `high` at distance `away` from the hinge. `angle` is the angle of a plank
// that rests on it.
static rigid_body make_prop(double *angle, double away, double high, rng *random)
{
    if (rng_below(random, 2)) {
        const double radius = 0.5 * high;
        rigid_body body = body_make_ball(radius, 10.0);
        place_body(&body, 0.0, 0.70 - away - radius, radius);
        *angle = atan(radius / (away + radius)) + asin(radius / hypot(away + radius, radius));
        return body;
    }
    const double deep = room_scene_uniform(random, 0.16, 0.22);
    const double half[3] = {room_scene_uniform(random, 0.14, 0.28), 0.5 * deep, 0.5 * high};
    rigid_body body = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
    place_body(&body, 0.0, 0.70 - away - 0.5 * deep, 0.5 * high);
    *angle = atan(high / away);
    return body;
}

// A: the plank comes to rest on a body. B: it falls flat. At the cut, frame 9, it hides the body.
static bool pose_persistence(room_scene *a, room_scene *b, rng *random)
{
    const double length = room_scene_uniform(random, 1.45, 1.65);
    const double half[3] = {room_scene_uniform(random, 0.42, 0.55), 0.5 * length, 0.025};
    rigid_body plank = body_make_box(PLUMB_ROOM_SHAPE_PLANK, half, 20.0);
    double rest;
    const double away = room_scene_uniform(random, 0.50, 0.60),
                 high = room_scene_uniform(random, 0.15, 0.20);
    rigid_body prop = make_prop(&rest, away, high, random);
    room_scene_color(plank.color, &a->floor, random);
    room_scene_color(prop.color, &a->floor, random);
    const double lean = room_scene_uniform(random, 66.0, 74.0),
                 rate = room_scene_uniform(random, -1.8, -1.2);
    const plank_fall start = {lean * degree, rate};
    const double at_cut = rest + room_scene_uniform(random, 1.5, 3.5) * degree;
    const double release = 9.0 - find_fall_time(start, length, at_cut) / frame_time;
    for (int t = 0; t <= LAST_FRAME; t++)
        for (int i = 0; i < 2; i++) {
            rigid_body *row = i ? b->bodies[t] : a->bodies[t];
            const double least = i ? 0.0 : rest;
            plank_fall now = advance_fall(start, length, (t - release) * frame_time);
            if (now.angle <= least) now = (plank_fall){least, 0.0};
            row[0] = plank;
            tilt_plank(&row[0], length, now.angle, now.rate);
            if (!i) row[1] = prop;
        }
    return release > 0.5;
}

// The object must be visible in the first frame.
static bool accept_persistence(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    return room_scene_visible_pixels(a, size, 0, 2) >= 10;
}

const room_probe probes_persistence = {
    .pose = pose_persistence, .accept = accept_persistence, .cut = {9, -1}};

// ---- unchangeableness: a curtain falls and rises ----

// A ball or a cube of this size.
static rigid_body make_trinket(bool ball, double size, double yaw)
{
    const double half[3] = {size, size, size};
    rigid_body body =
        ball ? body_make_ball(size, 10.0) : body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
    if (!ball) body_rotate(&body, axis_z, yaw);
    return body;
}

// True if the three bodies of a row do not overlap.
static bool are_apart(const rigid_body *row)
{
    for (int i = 0; i < 2; i++) {
        const double reach[2] = {hypot(row[i].half[0], row[i].half[1]),
                                 hypot(row[i + 1].half[0], row[i + 1].half[1])};
        double need = 0.0;
        for (int k = 0; k < 2; k++)
            need += row[i + k].shape == PLUMB_ROOM_SHAPE_BALL ? row[i + k].half[0] : reach[k];
        if (row[i + 1].x[0] - row[i].x[0] < need) return false;
    }
    return true;
}

// Two of three bodies exchange places, colours or shapes. False if the change is not visible.
static bool exchange_two(rigid_body after[3], const rigid_body before[3], rng *random)
{
    int64_t pair[2];
    rng_distinct(pair, random, 2, 3);
    const int64_t what = rng_below(random, 3);
    memcpy(after, before, 3 * sizeof *after);
    rigid_body *first = &after[pair[0]], *second = &after[pair[1]];
    const bool colors = room_scene_color_distance(first->color, second->color) >= 0.25,
               shapes = first->shape != second->shape;
    const rigid_body was[2] = {*first, *second};
    if (what == 0) {
        memcpy(first->color, was[1].color, sizeof first->color);
        memcpy(second->color, was[0].color, sizeof second->color);
        return colors;
    }
    *first = was[1];
    *second = was[0];
    for (int k = 0; k < 2; k++) first->x[k] = was[0].x[k], second->x[k] = was[1].x[k];
    if (what == 1) return colors || shapes;
    memcpy(first->color, was[0].color, sizeof first->color);
    memcpy(second->color, was[1].color, sizeof second->color);
    return shapes;
}

// A and B show three bodies before and after an exchange; a curtain hides them at the cut.
static bool pose_unchangeableness(room_scene *a, room_scene *b, rng *random)
{
    static const double down[4] = {2.0, 6.0, 7.0, 14.0};
    static const double curtain_half[3] = {1.25, 0.04, 0.62}, pole_half[3] = {0.05, 0.03, 1.0};
    rigid_body before[3], after[3],
        curtain = body_make_box(PLUMB_ROOM_SHAPE_CURTAIN, curtain_half, 0.0),
        pole = body_make_box(PLUMB_ROOM_SHAPE_POLE, pole_half, 0.0);
    for (int i = 0; i < 3; i++) {
        const bool ball = rng_below(random, 2);
        const double size = room_scene_uniform(random, 0.14, 0.19),
                     yaw = room_scene_uniform(random, 0.0, 90.0) * degree;
        before[i] = make_trinket(ball, size, yaw);
        place_body(&before[i], (i - 1) * 0.58 + room_scene_uniform(random, -0.05, 0.05), 0.15,
                   size);
        room_scene_color(before[i].color, &a->floor, random);
    }
    room_scene_color(curtain.color, &a->floor, random);
    for (int k = 0; k < 3; k++) curtain.color[k] *= 0.6, pole.color[k] = 0.5;
    const double pole_x = room_scene_uniform(random, -0.4, 0.4);
    if (!exchange_two(after, before, random) || !are_apart(before) || !are_apart(after))
        return false;
    for (int t = 0; t <= LAST_FRAME; t++)
        for (int i = 0; i < 2; i++) {
            rigid_body *row = i ? b->bodies[t] : a->bodies[t];
            memcpy(row, i ? after : before, sizeof before);
            double speed;
            const double low = room_scene_curtain(&speed, down, t);
            row[3] = curtain;
            row[4] = pole;
            place_body(&row[3], 0.0, -0.35, low + 0.62);
            place_body(&row[4], pole_x, -0.35, low + 2.24);
            row[3].v[2] = row[4].v[2] = speed / frame_time;
        }
    return true;
}

// All three objects must be visible in the first frame.
static bool accept_unchangeableness(const uint8_t *a, const uint8_t *b, int64_t size)
{
    for (int id = 1; id <= 3; id++)
        if (room_scene_visible_pixels(a, size, 0, id) < 10 ||
            room_scene_visible_pixels(b, size, 0, id) < 10)
            return false;
    return true;
}

const room_probe probes_unchangeableness = {.pose = pose_unchangeableness,
                                            .accept = accept_unchangeableness,
                                            .cut = {7, -1},
                                            .search = true};

// ---- directional inertia: a ball bounces off a block ----

// A: a ball bounces off a block, angle in equals angle out. B is A played backward. Both are at the
// block in frame 7, the cut.
static bool pose_inertia(room_scene *a, room_scene *b, rng *random)
{
    const double radius = room_scene_uniform(random, 0.14, 0.19);
    const double wide = room_scene_uniform(random, 0.4, 0.7),
                 deep = room_scene_uniform(random, 0.15, 0.3);
    const double half[3] = {wide, deep, room_scene_uniform(random, 0.15, 0.3)};
    const double yaw = room_scene_uniform(random, -0.25, 0.25),
                 y = room_scene_uniform(random, 0.30, 0.55);
    const double across = room_scene_uniform(random, -0.1, 0.1);
    const double from_left = rng_below(random, 2) ? 1.0 : -1.0;
    const double angle = from_left * room_scene_uniform(random, 28.0, 48.0) * degree;
    const double speed = room_scene_uniform(random, 0.10, 0.135);
    const double n[2] = {sin(yaw), -cos(yaw)}, along[2] = {cos(yaw), sin(yaw)};
    rigid_body block = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 0.0),
               ball = body_make_ball(radius, 10.0);
    room_scene_color(block.color, &a->floor, random);
    room_scene_color(ball.color, &a->floor, random);
    body_rotate(&block, axis_z, yaw);
    place_body(&block, -n[0] * half[1], y - n[1] * half[1], half[2]);
    for (int t = 0; t <= LAST_FRAME; t++) {
        const double side = t < 7 ? 1.0 : -1.0, way = fabs(t - 7.0) * speed;
        rigid_body *row = a->bodies[t];
        row[0] = block;
        row[1] = ball;
        double to[2];
        for (int k = 0; k < 2; k++) {
            const double from = k ? y : 0.0;
            to[k] = n[k] * cos(angle) + side * along[k] * sin(angle);
            row[1].x[k] = from + n[k] * radius + along[k] * across + way * to[k];
            row[1].v[k] = (t < 7 ? -1.0 : 1.0) * to[k] * speed / frame_time;
        }
        row[1].x[2] = radius;
        row[1].w[0] = -row[1].v[1] / radius;
        row[1].w[1] = row[1].v[0] / radius;
    }
    for (int t = 0; t <= LAST_FRAME; t++) {
        memcpy(b->bodies[t], a->bodies[LAST_FRAME - t], sizeof b->bodies[t]);
        for (int k = 0; k < 3; k++)
            b->bodies[t][1].v[k] = -b->bodies[t][1].v[k],
            b->bodies[t][1].w[k] = -b->bodies[t][1].w[k];
    }
    return true;
}

// The ball must be visible in all frames.
static bool accept_inertia(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    for (int t = 0; t <= LAST_FRAME; t++)
        if (room_scene_visible_pixels(a, size, t, 2) < 10) return false;
    return true;
}

const room_probe probes_inertia = {
    .pose = pose_inertia, .accept = accept_inertia, .cut = {7, -1}, .reversed = true};

// ---- the same in harder scenes ----

const room_probe probes_hard_continuity = {
    .pose = pose_continuity, .accept = accept_continuity, .cut = {3, 11}, .hard = true};
const room_probe probes_hard_solidity = {
    .pose = pose_solidity, .accept = accept_solidity, .cut = {9, -1}, .hard = true};
const room_probe probes_hard_persistence = {
    .pose = pose_persistence, .accept = accept_persistence, .cut = {9, -1}, .hard = true};
const room_probe probes_hard_unchangeableness = {.pose = pose_unchangeableness,
                                                 .accept = accept_unchangeableness,
                                                 .cut = {7, -1},
                                                 .search = true,
                                                 .hard = true};
const room_probe probes_hard_inertia = {
    .pose = pose_inertia, .accept = accept_inertia, .cut = {7, -1}, .reversed = true, .hard = true};
