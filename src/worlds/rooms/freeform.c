// SPDX-License-Identifier: MIT
// Scenes to train on: two to four events of twelve kinds, put together at random and left to the
// laws of motion. What a probe shows in its possible form happens here too, with other numbers and
// in other company.
#include <math.h>
#include <string.h>

#include "worlds/rooms/rigid.h"
#include "worlds/rooms/scene.h"

enum { ROLL, COLLIDE, BOUNCE, THROW, DROP, CURTAIN, PILLARS, STACK, COVER, CONTAIN, RAMP, PLANK };
enum { MOST = PLUMB_ROOM_OBJECTS - 1, FRAME_STEPS = RIGID_SUBSTEPS };

static const char *const names[PLUMB_ROOM_EVENTS] = {"roll",  "collide", "bounce",  "throw",
                                                     "drop",  "curtain", "pillars", "stack",
                                                     "cover", "contain", "ramp",    "plank"};

static const double gravity = 9.81, degree = 0x1.1df46a2529d39p-6, turn = 0x1.921fb54442d18p+2;
static const double axis_x[3] = {1.0, 0.0, 0.0}, axis_y[3] = {0.0, 1.0, 0.0},
                    axis_z[3] = {0.0, 0.0, 1.0};
static const double sunk = 2e-3; // overlap beyond which a scene is thrown away

const char *freeform_event_name(int64_t block)
{
    return block >= 0 && block < PLUMB_ROOM_EVENTS ? names[block] : "";
}

// C leaves open which of two calls in one expression or one list comes first, and an item has to be
// the same by every compiler: random numbers are drawn one a declarator.
typedef struct build {
    rigid world;
    const raytrace_floor *floor;
    rng *r;
    int curtain; // which body, or -1; its pole is the next
    double down[4];
} build;

static double between(build *b, double low, double high)
{
    return room_scene_uniform(b->r, low, high);
}

static bool chance(build *b, double p)
{
    return rng_uniform(b->r) < p;
}

// A spot on the floor that the camera sees.
static void spot(double at[2], build *b)
{
    at[1] = between(b, -0.6, 0.8);
    const double wide = 0.9 + 0.2 * at[1];
    at[0] = between(b, -wide, wide);
}

// Adds a body; NULL if there is no room for it.
static body *put(build *b, body added)
{
    rigid *w = &b->world;
    if (w->count == MOST) return NULL;
    room_scene_color(added.color, b->floor, b->r);
    w->body[w->count++] = added;
    if (!added.ghost && rigid_overlaps(w, 1e-6)) {
        w->count--;
        return NULL;
    }
    return &w->body[w->count - 1];
}

static void stand(body *a, const double at[2], double height)
{
    a->x[0] = at[0];
    a->x[1] = at[1];
    a->x[2] = height + body_lowest_point(a) + 1e-5;
}

static void roll(body *ball, double vx, double vy)
{
    ball->v[0] = vx;
    ball->v[1] = vy;
    ball->w[0] = -vy / ball->half[0];
    ball->w[1] = vx / ball->half[0];
}

// A cube or so, or a ball, of about this size.
static body thing(build *b, double low, double high, double mass)
{
    if (chance(b, 0.5)) return body_ball(between(b, low, high), mass);
    const double wide = between(b, low, high), deep = between(b, low, high),
                 tall = between(b, low, high);
    const double half[3] = {wide, deep, tall};
    body made = body_box(PLUMB_ROOM_SHAPE_BOX, half, mass);
    body_rotate(&made, axis_z, turn * rng_uniform(b->r));
    return made;
}

// A ball that rolls past `at`, where it is at frame `when`, towards `heading`.
static body *send(build *b, const double at[2], double when, double heading, double radius,
                  bool smooth)
{
    const double speed = between(b, 0.08, 0.2) / ROOM_SCENE_DT, time = when * ROOM_SCENE_DT;
    const double vx = speed * cos(heading), vy = speed * sin(heading);
    const double from[2] = {at[0] - vx * time, at[1] - vy * time};
    body ball = body_ball(radius, 10.0);
    if (smooth) ball.mirror = true, ball.friction = 0.0;
    stand(&ball, from, 0.0);
    roll(&ball, vx, vy);
    return put(b, ball);
}

static bool add_roll(build *b)
{
    double at[2];
    spot(at, b);
    const double when = between(b, 3, 11), heading = turn * rng_uniform(b->r);
    return send(b, at, when, heading, between(b, 0.13, 0.2), false);
}

// Something at rest that an earlier event has left, or a new thing.
static body *target(build *b)
{
    for (int i = 0; i < b->world.count && chance(b, 0.5); i++) {
        body *old = &b->world.body[i];
        if (old->mass > 0.0 && !old->ghost && old->release == 0.0 && old->v[0] == 0.0 &&
            old->v[1] == 0.0)
            return old;
    }
    double at[2];
    spot(at, b);
    body made = thing(b, 0.12, 0.19, 10.0);
    stand(&made, at, 0.0);
    return put(b, made);
}

static bool hit(build *b, const body *what)
{
    const double heading = turn * rng_uniform(b->r), aside = between(b, -0.08, 0.08);
    const double at[2] = {what->x[0] - aside * sin(heading), what->x[1] + aside * cos(heading)};
    const double when = between(b, 4, 9);
    return send(b, at, when, heading, between(b, 0.13, 0.2), false);
}

static bool add_collide(build *b)
{
    const body *what = target(b);
    return what && hit(b, what);
}

// At a block that nothing moves, elastic and without friction, so that the mirror law holds.
static bool add_bounce(build *b)
{
    double at[2];
    spot(at, b);
    const double wide = between(b, 0.3, 0.7), deep = between(b, 0.15, 0.3),
                 tall = between(b, 0.15, 0.3);
    const double half[3] = {wide, deep, tall};
    const double yaw = between(b, -1.2, 1.2), radius = between(b, 0.13, 0.2);
    body block = body_box(PLUMB_ROOM_SHAPE_BOX, half, 0.0);
    block.mirror = true;
    body_rotate(&block, axis_z, yaw);
    stand(&block, at, 0.0);
    if (!put(b, block)) return false;
    const double n[2] = {sin(yaw), -cos(yaw)}, aside = between(b, -0.6, 0.6) * half[0];
    const double out = half[1] + radius;
    const double touch[2] = {at[0] + out * n[0] + aside * cos(yaw),
                             at[1] + out * n[1] + aside * sin(yaw)};
    const double angle = between(b, -60.0, 60.0) * degree;
    const double heading = atan2(-n[1], -n[0]) + angle;
    return send(b, touch, between(b, 4, 10), heading, radius, true);
}

static bool add_throw(build *b)
{
    double at[2] = {0.0, 0.0}, height = 0.0;
    const body *what = chance(b, 0.5) && b->world.count ? target(b) : NULL;
    if (what) memcpy(at, what->x, sizeof at), height = what->x[2];
    else spot(at, b);
    body made = thing(b, 0.11, 0.17, 40.0);
    const double time = between(b, 0.3, 0.6), away = between(b, 0.8, 1.6);
    const double heading = turn * rng_uniform(b->r), low = between(b, 0.3, 0.9);
    const double from[2] = {at[0] - away * cos(heading), at[1] - away * sin(heading)};
    stand(&made, from, low);
    made.v[0] = away / time * cos(heading);
    made.v[1] = away / time * sin(heading);
    made.v[2] = (height - low) / time + 0.5 * gravity * time;
    if (made.kind == PLUMB_ROOM_SHAPE_BOX)
        for (int k = 0; k < 3; k++) made.w[k] = between(b, -3.0, 3.0);
    return put(b, made);
}

static bool add_drop(build *b)
{
    double at[2];
    spot(at, b);
    body made = thing(b, 0.12, 0.19, 40.0);
    if (made.kind == PLUMB_ROOM_SHAPE_BOX && chance(b, 0.5)) {
        body_rotate(&made, axis_x, between(b, -0.6, 0.6));
        body_rotate(&made, axis_y, between(b, -0.6, 0.6));
    }
    stand(&made, at, between(b, 0.8, 1.4));
    made.release = between(b, 0.0, 6.0) * ROOM_SCENE_DT;
    return put(b, made);
}

static bool add_curtain(build *b)
{
    if (b->curtain >= 0 || b->world.count + 2 > MOST) return false;
    const double half[3] = {between(b, 0.4, 1.25), 0.04, 0.62};
    const double pole_half[3] = {0.05, 0.03, 1.0};
    body curtain = body_box(PLUMB_ROOM_SHAPE_CURTAIN, half, 0.0);
    body pole = body_box(PLUMB_ROOM_SHAPE_POLE, pole_half, 0.0);
    curtain.ghost = pole.ghost = true;
    curtain.x[0] = between(b, -0.5, 0.5);
    curtain.x[1] = pole.x[1] = between(b, -0.6, -0.1);
    pole.x[0] = curtain.x[0] + between(b, -0.3, 0.3) * half[0];
    b->down[0] = between(b, 0.0, 3.0);
    b->down[1] = b->down[0] + between(b, 3.0, 5.0);
    b->down[2] = b->down[1] + between(b, 0.0, 2.0);
    b->down[3] = b->down[2] + between(b, 3.0, 7.0);
    b->curtain = b->world.count;
    body *c = put(b, curtain), *p = put(b, pole);
    for (int k = 0; k < 3; k++) c->color[k] *= 0.6, p->color[k] = 0.5;
    if (chance(b, 0.5)) { // over something
        const double aside = between(b, -0.7, 0.7), behind = between(b, 0.35, 0.6);
        const double at[2] = {c->x[0] + aside * half[0], c->x[1] + behind};
        body made = thing(b, 0.12, 0.19, 10.0);
        stand(&made, at, 0.0);
        put(b, made);
    }
    return true;
}

// Pillars or an arch, and a ball behind them or through it.
static bool add_pillars(build *b)
{
    double at[2];
    spot(at, b);
    if (chance(b, 0.3)) {
        const double wide = between(b, 0.34, 0.42), deep = between(b, 0.08, 0.15),
                     tall = between(b, 0.28, 0.4);
        const double half[3] = {wide, deep, tall};
        body arch = body_arch(half, 0.13, 60.0);
        stand(&arch, at, 0.0);
        const double heading = (chance(b, 0.5) ? 0.25 : 0.75) * turn;
        return put(b, arch) && send(b, at, between(b, 4, 10), heading, 0.13, false);
    }
    const double high = between(b, 0.25, 0.5), apart = between(b, 0.7, 1.2);
    const int count = chance(b, 0.7) ? 2 : 1;
    for (int i = 0; i < count; i++) {
        const double wide = between(b, 0.12, 0.28), deep = between(b, 0.04, 0.1);
        const double half[3] = {wide, deep, high};
        const double place[2] = {at[0] + (i ? apart : 0.0) - (count - 1) * 0.5 * apart,
                                 at[1] - 0.2};
        body pillar = body_box(PLUMB_ROOM_SHAPE_PILLAR, half, 0.0);
        stand(&pillar, place, 0.0);
        if (!put(b, pillar)) return false;
    }
    const double behind[2] = {at[0], at[1] + between(b, 0.12, 0.35)};
    const double back = chance(b, 0.5) ? 0.5 : 0.0, askew = between(b, -0.15, 0.15);
    const double when = between(b, 4, 10), radius = between(b, 0.13, 0.18);
    return send(b, behind, when, back * turn + askew, radius, false);
}

static bool add_stack(build *b)
{
    double at[2], height = 0.0;
    spot(at, b);
    const int64_t count = 2 + rng_below(b->r, 2);
    double size = between(b, 0.16, 0.22);
    const body *top = NULL;
    for (int64_t i = 0; i < count; i++) {
        const double slim = between(b, 0.8, 1.0), tall = between(b, 0.08, 0.14);
        const double half[3] = {size, size * slim, tall};
        body made = body_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
        body_rotate(&made, axis_z, between(b, -0.5, 0.5));
        const double right = between(b, -0.03, 0.03), back = between(b, -0.03, 0.03);
        const double place[2] = {at[0] + right, at[1] + back};
        stand(&made, place, height);
        height += 2.0 * half[2] + 2e-5;
        size *= between(b, 0.75, 0.95);
        top = put(b, made);
        if (!top) return false;
    }
    return !chance(b, 0.6) || hit(b, top);
}

static bool add_cover(build *b)
{
    double at[2];
    spot(at, b);
    const double size = between(b, 0.09, 0.13);
    body inner = chance(b, 0.5) ? body_ball(size, 10.0) : thing(b, 0.08, size, 10.0);
    stand(&inner, at, 0.0);
    if (!put(b, inner)) return false;
    const double wide = between(b, 0.25, 0.32), deep = between(b, 0.25, 0.32),
                 tall = between(b, 0.18, 0.26);
    const double half[3] = {wide, deep, tall};
    body cover = body_cover(half, 0.03, 4.0);
    stand(&cover, at, between(b, 0.6, 1.0));
    cover.release = between(b, 1.0, 5.0) * ROOM_SCENE_DT;
    return put(b, cover);
}

static bool add_contain(build *b)
{
    double at[2];
    spot(at, b);
    const double wide = between(b, 0.22, 0.34), deep = between(b, 0.14, 0.28),
                 low = between(b, 0.15, 0.33);
    const double half[3] = {wide, deep, low};
    body container = body_container(half, 0.03, 5.0);
    stand(&container, at, 0.0);
    if (!put(b, container)) return false;
    const double room = fmin(half[0], half[1]) - 0.03, height = 2.0 * half[2];
    body inner;
    if (chance(b, 0.3)) {
        inner = body_ball(between(b, 0.6, 0.85) * room, 40.0);
    } else { // shorter than the container as often as taller
        const double tall = height * between(b, 0.4, 1.4);
        const double slim = between(b, 0.5, 0.75), flat = between(b, 0.6, 0.9);
        const double size[3] = {slim * (half[0] - 0.03), flat * (half[1] - 0.03), 0.5 * tall};
        inner = body_box(PLUMB_ROOM_SHAPE_BOX, size, 40.0);
    }
    stand(&inner, at, height + between(b, 0.03, 0.5));
    inner.release = between(b, 0.5, 6.0) * ROOM_SCENE_DT;
    return put(b, inner);
}

static bool add_ramp(build *b)
{
    double at[2];
    spot(at, b);
    const double length = between(b, 0.4, 0.6), wide = between(b, 0.2, 0.3);
    const double half[3] = {length, wide, 0.03};
    const double slope = between(b, 15.0, 32.0) * degree, yaw = turn * rng_uniform(b->r);
    body ramp = body_box(PLUMB_ROOM_SHAPE_RAMP, half, 0.0);
    body_rotate(&ramp, axis_y, -slope); // up along x
    body_rotate(&ramp, axis_z, yaw);
    stand(&ramp, at, 0.0);
    if (!put(b, ramp)) return false;
    double axis[3][3];
    body_axes(axis, ramp.q);
    const double radius = between(b, 0.12, 0.17), up = between(b, 0.3, 0.85) * half[0];
    body ball = body_ball(radius, 10.0);
    for (int k = 0; k < 3; k++)
        ball.x[k] = ramp.x[k] + up * axis[0][k] + (half[2] + radius + 1e-4) * axis[2][k];
    ball.release = chance(b, 0.5) ? 0.0 : between(b, 0.0, 5.0) * ROOM_SCENE_DT;
    return put(b, ball);
}

// Hinged below, leans towards the camera or so and falls, on something or flat.
static bool add_plank(build *b)
{
    double at[2];
    spot(at, b);
    at[1] += 0.3;
    const double wide = between(b, 0.25, 0.55), length = between(b, 0.4, 0.85);
    const double half[3] = {wide, length, 0.025};
    const double lean = between(b, 60.0, 80.0) * degree, yaw = between(b, -0.7, 0.7);
    const double rate = between(b, 0.5, 1.8);
    body plank = body_box(PLUMB_ROOM_SHAPE_PLANK, half, 20.0);
    body_rotate(&plank, axis_x, -lean);
    body_rotate(&plank, axis_z, yaw);
    stand(&plank, at, 1e-3); // the hinge clears the floor
    body_hinge(&plank);
    double axis[3][3];
    body_axes(axis, plank.q);
    for (int k = 0; k < 3; k++) plank.w[k] = rate * axis[0][k];
    body_update_hinged(&plank);
    if (!put(b, plank)) return false;
    if (chance(b, 0.5)) return true;
    const double away = between(b, 0.3, 0.75) * 2.0 * half[1] - half[1] * cos(lean);
    const double place[2] = {at[0] + away * sin(yaw), at[1] - away * cos(yaw)};
    const double across = between(b, 0.1, 0.28), deep = between(b, 0.07, 0.11),
                 tall = between(b, 0.07, 0.1);
    const double size[3] = {across, deep, tall};
    body made = chance(b, 0.5) ? body_ball(between(b, 0.07, 0.1), 10.0)
                               : body_box(PLUMB_ROOM_SHAPE_BOX, size, 10.0);
    if (made.kind == PLUMB_ROOM_SHAPE_BOX) body_rotate(&made, axis_z, yaw + between(b, -0.5, 0.5));
    stand(&made, place, 0.0);
    return put(b, made);
}

static bool (*const adders[PLUMB_ROOM_EVENTS])(build *) = {
    [ROLL] = add_roll,   [COLLIDE] = add_collide, [BOUNCE] = add_bounce,   [THROW] = add_throw,
    [DROP] = add_drop,   [CURTAIN] = add_curtain, [PILLARS] = add_pillars, [STACK] = add_stack,
    [COVER] = add_cover, [CONTAIN] = add_contain, [RAMP] = add_ramp,       [PLANK] = add_plank};

// ---- the camera ----

static double jitter(rng *r, double most)
{
    const double x = 0.5 * most * rng_normal(r);
    return fmin(fmax(x, -most), most);
}

static void aim(room_scene *s, rng *r)
{
    raytrace_camera c = s->camera[0];
    c.distance *= 1.0 + jitter(r, 0.1);
    c.azimuth += jitter(r, 6.0);
    c.elevation += jitter(r, 5.0);
    const double moves = rng_below(r, 2) ? 1.0 : 0.0;
    static const double most[5] = {0.15 / 14, 0.15 / 14, 0.15 / 14, 2.0, 0.75};
    double drift[5];
    for (int k = 0; k < 5; k++) drift[k] = room_scene_uniform(r, -most[k], most[k]);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
        const double f = moves * t;
        s->camera[t] = c;
        for (int k = 0; k < 2; k++) s->camera[t].look[k] += f * drift[k];
        s->camera[t].distance += f * drift[2];
        s->camera[t].azimuth += f * drift[3];
        s->camera[t].elevation = fmin(fmax(c.elevation + f * drift[4], -60.0), -28.0);
    }
}

// ---- running ----

static void hang(build *b)
{
    if (b->curtain < 0) return;
    double speed;
    const double low = room_scene_curtain(&speed, b->down, b->world.time / ROOM_SCENE_DT);
    for (int i = 0; i < 2; i++) {
        body *c = &b->world.body[b->curtain + i];
        c->x[2] = low + (i ? 2.24 : 0.62);
        c->v[2] = speed / ROOM_SCENE_DT;
    }
}

// Does a part's box along the room's axes meet that of the curtain?
static bool meets(const body *o, double axis[3][3], const body_part *p, const body *c)
{
    for (int k = 0; k < 3; k++) {
        double middle = o->x[k], reach = p->ball ? p->half[0] : 0.0;
        for (int a = 0; a < 3; a++) {
            middle += p->offset[a] * axis[a][k];
            if (!p->ball) reach += p->half[a] * fabs(axis[a][k]);
        }
        if (fabs(middle - c->x[k]) >= reach + c->half[k]) return false;
    }
    return true;
}

// Would anything touch the curtain?
static bool brushed(const build *b)
{
    if (b->curtain < 0) return false;
    const body *c = &b->world.body[b->curtain];
    for (int i = 0; i < b->world.count; i++) {
        const body *o = &b->world.body[i];
        if (o->ghost || fabs(o->x[1] - c->x[1]) >= o->radius + c->half[1]) continue;
        double axis[3][3];
        body_axes(axis, o->q);
        for (int k = 0; k < o->parts; k++)
            if (meets(o, axis, &o->part[k], c)) return true;
    }
    return false;
}

// Moves everything through the clip; false if the scene is not to be had.
static bool play(room_scene *s, build *b)
{
    const double h = ROOM_SCENE_DT / FRAME_STEPS;
    rigid *w = &b->world;
    double energy = rigid_energy(w);
    const double more = 1e-6 * (1.0 + energy);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
        hang(b);
        memcpy(s->body[t], w->body, sizeof s->body[t]);
        for (int i = 0; i < ROOM_SCENE_BODIES; i++)
            if (i >= w->count) s->body[t][i] = (body){0};
        for (int k = 0; k < FRAME_STEPS && t + 1 < ROOM_SCENE_STEPS; k++) {
            rigid_step(w, h);
            hang(b);
            if (brushed(b)) return false;
        }
        const double left = rigid_energy(w);
        if (w->deepest > sunk || w->knocked || left > energy + more) return false;
        energy = left;
    }
    return !brushed(b);
}

bool freeform_sample(room_scene *s, uint8_t blocks[PLUMB_ROOM_EVENTS], rng *r)
{
    build b = {.floor = &s->floor, .r = r, .curtain = -1};
    memset(blocks, 0, PLUMB_ROOM_EVENTS);
    aim(s, r);
    const int64_t wanted = 2 + rng_below(r, 3);
    int64_t made = 0;
    for (int attempt = 0; attempt < 20 && made < wanted; attempt++) {
        // More tickets for the curtain, whose scenes are thrown away more often, and for what is
        // over within two frames.
        static const int more[] = {CURTAIN, CONTAIN, CONTAIN, PLANK, PLANK};
        const int64_t drawn = rng_below(r, PLUMB_ROOM_EVENTS + 5);
        const int64_t kind = drawn < PLUMB_ROOM_EVENTS ? drawn : more[drawn - PLUMB_ROOM_EVENTS];
        const int before = b.world.count;
        const int curtain = b.curtain;
        if (adders[kind](&b)) {
            blocks[kind]++;
            made++;
        } else { // half of an event is none
            b.world.count = before;
            b.curtain = curtain;
        }
    }
    return made >= 2 && play(s, &b);
}

bool freeform_accept(const room_scene *s, const uint8_t *mask, int64_t size)
{
    for (int i = 0; i < ROOM_SCENE_BODIES; i++) {
        const body *first = &s->body[0][i];
        if (first->kind == PLUMB_ROOM_SHAPE_NONE) continue;
        int shows = 0;
        double way = 0.0;
        for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
            const body *now = &s->body[t][i];
            if (room_scene_visible_pixels(mask, size, t, i + 1) < 6) continue;
            shows++;
            for (int k = 0; k < 3; k++) way = fmax(way, fabs(now->x[k] - first->x[k]));
        }
        if (shows >= 3 && way > 0.1) return true;
    }
    return false;
}
