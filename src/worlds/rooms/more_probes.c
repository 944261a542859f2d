// SPDX-License-Identifier: MIT
// Two concepts that are not in [Piloto22]. Support: a ball that leaves a table falls, unless a
// bridge carries it [Baillargeon92]. Collision: of two equal balls, the one that is hit moves on
// and the other one stops, as in the launching effect [Michotte63].
#include <math.h>
#include <string.h>

#include "worlds/rooms/probes.h"

enum { LAST_FRAME = ROOM_SCENE_STEPS - 1, AT_EDGE = 7, AT_CONTACT = 7 };
static const double gravity = 9.81, degree = 0x1.1df46a2529d39p-6, frame_time = ROOM_SCENE_DT;

static void place_body(rigid_body *body, double x, double y, double z)
{
    body->x[0] = x, body->x[1] = y, body->x[2] = z;
}

// ---- support: a ball rolls from a table onto a bridge, or falls ----

// Two tables, the ball, the screen in front, and the bridge between the tables.
enum { LEFT_TABLE, RIGHT_TABLE, BALL, SCREEN, BRIDGE };

typedef struct support_scene {
    double edge, gap, top, radius, speed; // the edge of the left table; height of both; per frame
    double row;                           // y of everything but the screen
    double screen;                        // height of the screen
} support_scene;

// A table from x = low to high.
static rigid_body make_table(double low, double high, double deep, double top, double row)
{
    const double half[3] = {0.5 * (high - low), deep, 0.5 * top};
    rigid_body table = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 0.0);
    place_body(&table, 0.5 * (low + high), row, 0.5 * top);
    return table;
}

// The ball at frame t. Without a bridge it falls at the edge, meets the other table and slides
// down.
static void roll_ball(rigid_body *ball, const support_scene *s, int t, bool bridge)
{
    const double since = fmax(t - AT_EDGE, 0.0) * frame_time;
    double x = s->edge + s->speed * (t - AT_EDGE), z = s->top + s->radius;
    const double most = s->edge + s->gap - s->radius;
    ball->v[0] = s->speed / frame_time;
    ball->v[2] = 0.0;
    if (!bridge) {
        z -= 0.5 * gravity * since * since;
        ball->v[2] = -gravity * since;
        if (x > most) x = most, ball->v[0] = 0.0;
        if (z <= s->radius) z = s->radius, ball->v[2] = 0.0;
    }
    place_body(ball, x, s->row, z);
    const double axis_y[3] = {0.0, 1.0, 0.0};
    body_rotate(ball, axis_y, (x - s->edge) / s->radius);
    ball->w[1] = ball->v[0] / s->radius;
}

// The ball must have fallen below the top of the other table when it meets it.
static bool falls_between(const support_scene *s)
{
    const double time = (s->gap - s->radius) / s->speed * frame_time;
    return s->radius - 0.5 * gravity * time * time < -0.01 && s->gap > 2.2 * s->radius;
}

// A: a bridge joins two tables and a ball rolls over it. B: there is no bridge and the ball falls.
// A screen comes down before the ball is at the edge, the cut, and hides the bridge but not the
// ball.
static bool pose_support(room_scene *a, room_scene *b, rng *random)
{
    static const double down[4] = {1.0, 5.0, 100.0, 101.0};
    support_scene s = {.row = 0.05};
    s.radius = room_scene_uniform(random, 0.14, 0.16);
    s.top = room_scene_uniform(random, 0.32, 0.38);
    s.edge = room_scene_uniform(random, -0.25, -0.05);
    s.gap = room_scene_uniform(random, 0.50, 0.60);
    s.speed = room_scene_uniform(random, 0.09, 0.115);
    const double deep = room_scene_uniform(random, 0.06, 0.08), thick = 0.02;
    s.screen = s.top + room_scene_uniform(random, 0.24, 0.28);
    const double screen_half[3] = {room_scene_uniform(random, 0.62, 0.72), 0.02, 0.5 * s.screen};
    const double bridge_half[3] = {0.5 * s.gap, deep, 0.5 * thick};
    if (!falls_between(&s)) return false;
    rigid_body still[4] = {make_table(-1.2, s.edge, deep, s.top, s.row),
                           make_table(s.edge + s.gap, 1.2, deep, s.top, s.row)};
    rigid_body ball = body_make_ball(s.radius, 10.0),
               screen = body_make_box(PLUMB_ROOM_SHAPE_CURTAIN, screen_half, 0.0),
               bridge = body_make_box(PLUMB_ROOM_SHAPE_PLANK, bridge_half, 0.0);
    room_scene_color(still[0].color, &a->floor, random);
    memcpy(still[1].color, still[0].color, sizeof still[1].color);
    room_scene_color(ball.color, &a->floor, random);
    room_scene_color(screen.color, &a->floor, random);
    room_scene_color(bridge.color, &a->floor, random);
    for (int k = 0; k < 3; k++) screen.color[k] *= 0.6;
    place_body(&bridge, s.edge + 0.5 * s.gap, s.row, s.top - 0.5 * thick);
    for (int t = 0; t <= LAST_FRAME; t++)
        for (int i = 0; i < 2; i++) {
            rigid_body *row = i ? b->bodies[t] : a->bodies[t];
            double speed;
            const double low = room_scene_curtain(&speed, down, t);
            row[LEFT_TABLE] = still[0];
            row[RIGHT_TABLE] = still[1];
            row[BALL] = ball;
            roll_ball(&row[BALL], &s, t, !i);
            row[SCREEN] = screen;
            place_body(&row[SCREEN], s.edge + 0.5 * s.gap, s.row - 0.25, low + 0.5 * s.screen);
            row[SCREEN].v[2] = speed / frame_time;
            if (!i) row[BRIDGE] = bridge;
        }
    return true;
}

// The bridge must be visible at first; in the end the ball is visible on it, and hidden without it.
static bool accept_support(const uint8_t *a, const uint8_t *b, int64_t size)
{
    return room_scene_visible_pixels(a, size, 0, BRIDGE + 1) >= 10 &&
           room_scene_visible_pixels(a, size, AT_EDGE, BRIDGE + 1) == 0 &&
           room_scene_visible_pixels(a, size, AT_EDGE, BALL + 1) >= 8 &&
           room_scene_visible_pixels(a, size, AT_EDGE + 4, BALL + 1) >= 8 &&
           room_scene_visible_pixels(b, size, LAST_FRAME, BALL + 1) == 0;
}

const room_probe probes_support = {
    .pose = pose_support, .accept = accept_support, .cut = {AT_EDGE, -1}};

// ---- collision: a ball hits an equal one ----

// Ball 0 comes and stops, ball 1 is hit and goes. B is A played backward.
static bool pose_collision(room_scene *a, room_scene *b, rng *random)
{
    const double radius = room_scene_uniform(random, 0.13, 0.17),
                 speed = room_scene_uniform(random, 0.085, 0.12);
    const double angle = room_scene_uniform(random, -35.0, 35.0) * degree,
                 way = rng_below(random, 2) ? 1.0 : -1.0;
    const double n[2] = {way * cos(angle), way * sin(angle)};
    const double middle[2] = {room_scene_uniform(random, -0.12, 0.12),
                              room_scene_uniform(random, 0.0, 0.25)};
    rigid_body ball[2] = {body_make_ball(radius, 10.0), body_make_ball(radius, 10.0)};
    for (int i = 0; i < 2; i++) room_scene_color(ball[i].color, &a->floor, random);
    if (room_scene_color_distance(ball[0].color, ball[1].color) < 0.25) return false;
    for (int t = 0; t <= LAST_FRAME; t++)
        for (int i = 0; i < 2; i++) {
            const bool moves = i ? t >= AT_CONTACT : t < AT_CONTACT;
            const double at = (i ? radius : -radius) + (moves ? speed * (t - AT_CONTACT) : 0.0);
            rigid_body *now = &a->bodies[t][i];
            *now = ball[i];
            place_body(now, middle[0] + at * n[0], middle[1] + at * n[1], radius);
            for (int k = 0; k < 2 && moves; k++) now->v[k] = n[k] * speed / frame_time;
            now->w[0] = -now->v[1] / radius;
            now->w[1] = now->v[0] / radius;
        }
    for (int t = 0; t <= LAST_FRAME; t++) {
        memcpy(b->bodies[t], a->bodies[LAST_FRAME - t], sizeof b->bodies[t]);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 3; k++)
                b->bodies[t][i].v[k] = -b->bodies[t][i].v[k],
                b->bodies[t][i].w[k] = -b->bodies[t][i].w[k];
    }
    return true;
}

// Both balls must be visible in all frames.
static bool accept_collision(const uint8_t *a, const uint8_t *b, int64_t size)
{
    (void)b;
    for (int t = 0; t <= LAST_FRAME; t++)
        for (int id = 1; id <= 2; id++)
            if (room_scene_visible_pixels(a, size, t, id) < 8) return false;
    return true;
}

const room_probe probes_collision = {
    .pose = pose_collision, .accept = accept_collision, .cut = {AT_CONTACT, -1}, .reversed = true};
