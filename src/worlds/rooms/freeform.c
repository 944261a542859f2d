// SPDX-License-Identifier: MIT
// Scenes for training: two to four events of twelve kinds, combined at random and then simulated.
// What a probe shows in its possible clips also happens here, with other numbers and next to other
// events.
#include <math.h>
#include <string.h>

#include "worlds/rooms/freeform.h"
#include "worlds/rooms/rigid.h"

enum {
    EVENT_ROLL,
    EVENT_COLLIDE,
    EVENT_BOUNCE,
    EVENT_THROW,
    EVENT_DROP,
    EVENT_CURTAIN,
    EVENT_PILLARS,
    EVENT_STACK,
    EVENT_COVER,
    EVENT_CONTAIN,
    EVENT_RAMP,
    EVENT_PLANK
};
enum { MAX_BODIES = PLUMB_ROOM_OBJECTS - 1, FRAME_STEPS = RIGID_SUBSTEPS };

const char *const freeform_event_names[PLUMB_ROOM_EVENTS] = {
    "roll",    "collide", "bounce", "throw",   "drop", "curtain",
    "pillars", "stack",   "cover",  "contain", "ramp", "plank"};

static const double gravity = 9.81, degree = 0x1.1df46a2529d39p-6, full_turn = 0x1.921fb54442d18p+2;
static const double axis_x[3] = {1.0, 0.0, 0.0}, axis_y[3] = {0.0, 1.0, 0.0},
                    axis_z[3] = {0.0, 0.0, 1.0};
static const double max_overlap = 2e-3; // a scene with a larger overlap is rejected

// A scene under construction. C does not define the order of two calls in one expression or in one
// list, and an item must be the same with every compiler. So each declarator draws at most one
// random number.
typedef struct scene_builder {
    rigid_world world;
    const raytrace_floor *floor;
    rng *random;
    int curtain;    // index of the body, or -1; its pole is the next body
    double down[4]; // motion of the curtain, see room_scene_curtain
} scene_builder;

static double draw_uniform(scene_builder *builder, double low, double high)
{
    return room_scene_uniform(builder->random, low, high);
}

static bool draw_chance(scene_builder *builder, double probability)
{
    return rng_uniform(builder->random) < probability;
}

// Samples a point of the floor in the field of view.
static void draw_spot(double at[2], scene_builder *builder)
{
    at[1] = draw_uniform(builder, -0.6, 0.8);
    const double wide = 0.9 + 0.2 * at[1];
    at[0] = draw_uniform(builder, -wide, wide);
}

// Adds a body with a random colour. NULL if there are too many or it overlaps another.
static rigid_body *add_body(scene_builder *builder, rigid_body added)
{
    rigid_world *world = &builder->world;
    if (world->count == MAX_BODIES) return NULL;
    room_scene_color(added.color, builder->floor, builder->random);
    world->bodies[world->count++] = added;
    if (!added.intangible && rigid_overlaps(world, 1e-6)) {
        world->count--;
        return NULL;
    }
    return &world->bodies[world->count - 1];
}

// Places a body at a point, with its lowest point at `height`.
static void stand_body(rigid_body *body, const double at[2], double height)
{
    body->x[0] = at[0];
    body->x[1] = at[1];
    body->x[2] = height + body_lowest_point(body) + 1e-5;
}

// Velocity and angular velocity of a ball that rolls without slipping.
static void set_rolling(rigid_body *ball, double vx, double vy)
{
    ball->v[0] = vx;
    ball->v[1] = vy;
    ball->w[0] = -vy / ball->half[0];
    ball->w[1] = vx / ball->half[0];
}

// Makes a ball or a box whose half extents are between low and high.
static rigid_body make_object(scene_builder *builder, double low, double high, double mass)
{
    if (draw_chance(builder, 0.5)) return body_make_ball(draw_uniform(builder, low, high), mass);
    const double wide = draw_uniform(builder, low, high), deep = draw_uniform(builder, low, high),
                 tall = draw_uniform(builder, low, high);
    const double half[3] = {wide, deep, tall};
    rigid_body made = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, mass);
    body_rotate(&made, axis_z, full_turn * rng_uniform(builder->random));
    return made;
}

// Adds a ball that rolls in direction `heading` and is at `at` in frame `when`.
static rigid_body *add_rolling_ball(scene_builder *builder, const double at[2], double when,
                                    double heading, double radius, bool smooth)
{
    const double speed = draw_uniform(builder, 0.08, 0.2) / ROOM_SCENE_DT,
                 time = when * ROOM_SCENE_DT;
    const double vx = speed * cos(heading), vy = speed * sin(heading);
    const double from[2] = {at[0] - vx * time, at[1] - vy * time};
    rigid_body ball = body_make_ball(radius, 10.0);
    if (smooth) ball.mirror = true, ball.friction = 0.0;
    stand_body(&ball, from, 0.0);
    set_rolling(&ball, vx, vy);
    return add_body(builder, ball);
}

// A ball that rolls through the field of view.
static bool add_roll(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    const double when = draw_uniform(builder, 3, 11),
                 heading = full_turn * rng_uniform(builder->random);
    return add_rolling_ball(builder, at, when, heading, draw_uniform(builder, 0.13, 0.2), false);
}

// A resting body of an earlier event, or a new body.
static rigid_body *find_target(scene_builder *builder)
{
    for (int i = 0; i < builder->world.count && draw_chance(builder, 0.5); i++) {
        rigid_body *old = &builder->world.bodies[i];
        if (old->mass > 0.0 && !old->intangible && old->release == 0.0 && old->v[0] == 0.0 &&
            old->v[1] == 0.0)
            return old;
    }
    double at[2];
    draw_spot(at, builder);
    rigid_body made = make_object(builder, 0.12, 0.19, 10.0);
    stand_body(&made, at, 0.0);
    return add_body(builder, made);
}

// Adds a ball that rolls towards a body.
static bool add_hitting_ball(scene_builder *builder, const rigid_body *what)
{
    const double heading = full_turn * rng_uniform(builder->random),
                 aside = draw_uniform(builder, -0.08, 0.08);
    const double at[2] = {what->x[0] - aside * sin(heading), what->x[1] + aside * cos(heading)};
    const double when = draw_uniform(builder, 4, 9);
    return add_rolling_ball(builder, at, when, heading, draw_uniform(builder, 0.13, 0.2), false);
}

// A ball that rolls towards a resting body.
static bool add_collide(scene_builder *builder)
{
    const rigid_body *what = find_target(builder);
    return what && add_hitting_ball(builder, what);
}

// A ball bounces off a fixed block, elastically and without friction: angle in equals angle out.
static bool add_bounce(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    const double wide = draw_uniform(builder, 0.3, 0.7), deep = draw_uniform(builder, 0.15, 0.3),
                 tall = draw_uniform(builder, 0.15, 0.3);
    const double half[3] = {wide, deep, tall};
    const double yaw = draw_uniform(builder, -1.2, 1.2), radius = draw_uniform(builder, 0.13, 0.2);
    rigid_body block = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 0.0);
    block.mirror = true;
    body_rotate(&block, axis_z, yaw);
    stand_body(&block, at, 0.0);
    if (!add_body(builder, block)) return false;
    const double n[2] = {sin(yaw), -cos(yaw)}, aside = draw_uniform(builder, -0.6, 0.6) * half[0];
    const double out = half[1] + radius;
    const double touch[2] = {at[0] + out * n[0] + aside * cos(yaw),
                             at[1] + out * n[1] + aside * sin(yaw)};
    const double angle = draw_uniform(builder, -60.0, 60.0) * degree;
    const double heading = atan2(-n[1], -n[0]) + angle;
    return add_rolling_ball(builder, touch, draw_uniform(builder, 4, 10), heading, radius, true);
}

// A body on a parabola that lands at a random point or on another body.
static bool add_throw(scene_builder *builder)
{
    double at[2] = {0.0, 0.0}, height = 0.0;
    const rigid_body *what =
        draw_chance(builder, 0.5) && builder->world.count ? find_target(builder) : NULL;
    if (what) memcpy(at, what->x, sizeof at), height = what->x[2];
    else draw_spot(at, builder);
    rigid_body made = make_object(builder, 0.11, 0.17, 40.0);
    const double time = draw_uniform(builder, 0.3, 0.6), away = draw_uniform(builder, 0.8, 1.6);
    const double heading = full_turn * rng_uniform(builder->random),
                 low = draw_uniform(builder, 0.3, 0.9);
    const double from[2] = {at[0] - away * cos(heading), at[1] - away * sin(heading)};
    stand_body(&made, from, low);
    made.v[0] = away / time * cos(heading);
    made.v[1] = away / time * sin(heading);
    made.v[2] = (height - low) / time + 0.5 * gravity * time;
    if (made.shape == PLUMB_ROOM_SHAPE_BOX)
        for (int k = 0; k < 3; k++) made.w[k] = draw_uniform(builder, -3.0, 3.0);
    return add_body(builder, made);
}

// A body that is held in the air and then released.
static bool add_drop(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    rigid_body made = make_object(builder, 0.12, 0.19, 40.0);
    if (made.shape == PLUMB_ROOM_SHAPE_BOX && draw_chance(builder, 0.5)) {
        body_rotate(&made, axis_x, draw_uniform(builder, -0.6, 0.6));
        body_rotate(&made, axis_y, draw_uniform(builder, -0.6, 0.6));
    }
    stand_body(&made, at, draw_uniform(builder, 0.8, 1.4));
    made.release = draw_uniform(builder, 0.0, 6.0) * ROOM_SCENE_DT;
    return add_body(builder, made);
}

// A curtain on a pole that falls and rises, half of the time with an object behind it.
static bool add_curtain(scene_builder *builder)
{
    if (builder->curtain >= 0 || builder->world.count + 2 > MAX_BODIES) return false;
    const double half[3] = {draw_uniform(builder, 0.4, 1.25), 0.04, 0.62};
    const double pole_half[3] = {0.05, 0.03, 1.0};
    rigid_body curtain = body_make_box(PLUMB_ROOM_SHAPE_CURTAIN, half, 0.0);
    rigid_body pole = body_make_box(PLUMB_ROOM_SHAPE_POLE, pole_half, 0.0);
    curtain.intangible = pole.intangible = true;
    curtain.x[0] = draw_uniform(builder, -0.5, 0.5);
    curtain.x[1] = pole.x[1] = draw_uniform(builder, -0.6, -0.1);
    pole.x[0] = curtain.x[0] + draw_uniform(builder, -0.3, 0.3) * half[0];
    builder->down[0] = draw_uniform(builder, 0.0, 3.0);
    builder->down[1] = builder->down[0] + draw_uniform(builder, 3.0, 5.0);
    builder->down[2] = builder->down[1] + draw_uniform(builder, 0.0, 2.0);
    builder->down[3] = builder->down[2] + draw_uniform(builder, 3.0, 7.0);
    builder->curtain = builder->world.count;
    rigid_body *added = add_body(builder, curtain), *added_pole = add_body(builder, pole);
    for (int k = 0; k < 3; k++) added->color[k] *= 0.6, added_pole->color[k] = 0.5;
    if (draw_chance(builder, 0.5)) { // with an object behind it
        const double aside = draw_uniform(builder, -0.7, 0.7),
                     behind = draw_uniform(builder, 0.35, 0.6);
        const double at[2] = {added->x[0] + aside * half[0], added->x[1] + behind};
        rigid_body made = make_object(builder, 0.12, 0.19, 10.0);
        stand_body(&made, at, 0.0);
        add_body(builder, made);
    }
    return true;
}

// Pillars with a ball that rolls behind them, or an arch with a ball that rolls through it.
static bool add_pillars(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    if (draw_chance(builder, 0.3)) {
        const double wide = draw_uniform(builder, 0.34, 0.42),
                     deep = draw_uniform(builder, 0.08, 0.15),
                     tall = draw_uniform(builder, 0.28, 0.4);
        const double half[3] = {wide, deep, tall};
        rigid_body arch = body_make_arch(half, 0.13, 60.0);
        stand_body(&arch, at, 0.0);
        const double heading = (draw_chance(builder, 0.5) ? 0.25 : 0.75) * full_turn;
        return add_body(builder, arch) &&
               add_rolling_ball(builder, at, draw_uniform(builder, 4, 10), heading, 0.13, false);
    }
    const double high = draw_uniform(builder, 0.25, 0.5), apart = draw_uniform(builder, 0.7, 1.2);
    const int count = draw_chance(builder, 0.7) ? 2 : 1;
    for (int i = 0; i < count; i++) {
        const double wide = draw_uniform(builder, 0.12, 0.28),
                     deep = draw_uniform(builder, 0.04, 0.1);
        const double half[3] = {wide, deep, high};
        const double place[2] = {at[0] + (i ? apart : 0.0) - (count - 1) * 0.5 * apart,
                                 at[1] - 0.2};
        rigid_body pillar = body_make_box(PLUMB_ROOM_SHAPE_PILLAR, half, 0.0);
        stand_body(&pillar, place, 0.0);
        if (!add_body(builder, pillar)) return false;
    }
    const double behind[2] = {at[0], at[1] + draw_uniform(builder, 0.12, 0.35)};
    const double back = draw_chance(builder, 0.5) ? 0.5 : 0.0,
                 askew = draw_uniform(builder, -0.15, 0.15);
    const double when = draw_uniform(builder, 4, 10), radius = draw_uniform(builder, 0.13, 0.18);
    return add_rolling_ball(builder, behind, when, back * full_turn + askew, radius, false);
}

// Two or three boxes on top of each other, often hit by a ball.
static bool add_stack(scene_builder *builder)
{
    double at[2], height = 0.0;
    draw_spot(at, builder);
    const int64_t count = 2 + rng_below(builder->random, 2);
    double size = draw_uniform(builder, 0.16, 0.22);
    const rigid_body *top = NULL;
    for (int64_t i = 0; i < count; i++) {
        const double slim = draw_uniform(builder, 0.8, 1.0),
                     tall = draw_uniform(builder, 0.08, 0.14);
        const double half[3] = {size, size * slim, tall};
        rigid_body made = body_make_box(PLUMB_ROOM_SHAPE_BOX, half, 10.0);
        body_rotate(&made, axis_z, draw_uniform(builder, -0.5, 0.5));
        const double right = draw_uniform(builder, -0.03, 0.03),
                     back = draw_uniform(builder, -0.03, 0.03);
        const double place[2] = {at[0] + right, at[1] + back};
        stand_body(&made, place, height);
        height += 2.0 * half[2] + 2e-5;
        size *= draw_uniform(builder, 0.75, 0.95);
        top = add_body(builder, made);
        if (!top) return false;
    }
    return !draw_chance(builder, 0.6) || add_hitting_ball(builder, top);
}

// A body, and a cover that falls over it.
static bool add_cover(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    const double size = draw_uniform(builder, 0.09, 0.13);
    rigid_body inner = draw_chance(builder, 0.5) ? body_make_ball(size, 10.0)
                                                 : make_object(builder, 0.08, size, 10.0);
    stand_body(&inner, at, 0.0);
    if (!add_body(builder, inner)) return false;
    const double wide = draw_uniform(builder, 0.25, 0.32), deep = draw_uniform(builder, 0.25, 0.32),
                 tall = draw_uniform(builder, 0.18, 0.26);
    const double half[3] = {wide, deep, tall};
    rigid_body cover = body_make_cover(half, 0.03, 4.0);
    stand_body(&cover, at, draw_uniform(builder, 0.6, 1.0));
    cover.release = draw_uniform(builder, 1.0, 5.0) * ROOM_SCENE_DT;
    return add_body(builder, cover);
}

// A container, and a body that falls into it.
static bool add_contain(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    const double wide = draw_uniform(builder, 0.22, 0.34), deep = draw_uniform(builder, 0.14, 0.28),
                 low = draw_uniform(builder, 0.15, 0.33);
    const double half[3] = {wide, deep, low};
    rigid_body container = body_make_container(half, 0.03, 5.0);
    stand_body(&container, at, 0.0);
    if (!add_body(builder, container)) return false;
    const double space = fmin(half[0], half[1]) - 0.03, height = 2.0 * half[2];
    rigid_body inner;
    if (draw_chance(builder, 0.3)) {
        inner = body_make_ball(draw_uniform(builder, 0.6, 0.85) * space, 40.0);
    } else { // about as often shorter than the container as taller
        const double tall = height * draw_uniform(builder, 0.4, 1.4);
        const double slim = draw_uniform(builder, 0.5, 0.75),
                     flat = draw_uniform(builder, 0.6, 0.9);
        const double size[3] = {slim * (half[0] - 0.03), flat * (half[1] - 0.03), 0.5 * tall};
        inner = body_make_box(PLUMB_ROOM_SHAPE_BOX, size, 40.0);
    }
    stand_body(&inner, at, height + draw_uniform(builder, 0.03, 0.5));
    inner.release = draw_uniform(builder, 0.5, 6.0) * ROOM_SCENE_DT;
    return add_body(builder, inner);
}

// A ramp and a ball that rolls down.
static bool add_ramp(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    const double length = draw_uniform(builder, 0.4, 0.6), wide = draw_uniform(builder, 0.2, 0.3);
    const double half[3] = {length, wide, 0.03};
    const double slope = draw_uniform(builder, 15.0, 32.0) * degree,
                 yaw = full_turn * rng_uniform(builder->random);
    rigid_body ramp = body_make_box(PLUMB_ROOM_SHAPE_RAMP, half, 0.0);
    body_rotate(&ramp, axis_y, -slope); // up along x
    body_rotate(&ramp, axis_z, yaw);
    stand_body(&ramp, at, 0.0);
    if (!add_body(builder, ramp)) return false;
    double axis[3][3];
    body_axes(axis, ramp.q);
    const double radius = draw_uniform(builder, 0.12, 0.17),
                 up = draw_uniform(builder, 0.3, 0.85) * half[0];
    rigid_body ball = body_make_ball(radius, 10.0);
    for (int k = 0; k < 3; k++)
        ball.x[k] = ramp.x[k] + up * axis[0][k] + (half[2] + radius + 1e-4) * axis[2][k];
    ball.release =
        draw_chance(builder, 0.5) ? 0.0 : draw_uniform(builder, 0.0, 5.0) * ROOM_SCENE_DT;
    return add_body(builder, ball);
}

// A plank that is hinged at its lower edge and falls roughly towards the camera, flat or onto a
// body.
static bool add_plank(scene_builder *builder)
{
    double at[2];
    draw_spot(at, builder);
    at[1] += 0.3;
    const double wide = draw_uniform(builder, 0.25, 0.55),
                 length = draw_uniform(builder, 0.4, 0.85);
    const double half[3] = {wide, length, 0.025};
    const double lean = draw_uniform(builder, 60.0, 80.0) * degree,
                 yaw = draw_uniform(builder, -0.7, 0.7);
    const double rate = draw_uniform(builder, 0.5, 1.8);
    rigid_body plank = body_make_box(PLUMB_ROOM_SHAPE_PLANK, half, 20.0);
    body_rotate(&plank, axis_x, -lean);
    body_rotate(&plank, axis_z, yaw);
    stand_body(&plank, at, 1e-3); // the hinge clears the floor
    body_hinge(&plank);
    double axis[3][3];
    body_axes(axis, plank.q);
    for (int k = 0; k < 3; k++) plank.w[k] = rate * axis[0][k];
    body_update_hinged(&plank);
    if (!add_body(builder, plank)) return false;
    if (draw_chance(builder, 0.5)) return true;
    const double away = draw_uniform(builder, 0.3, 0.75) * 2.0 * half[1] - half[1] * cos(lean);
    const double place[2] = {at[0] + away * sin(yaw), at[1] - away * cos(yaw)};
    const double across = draw_uniform(builder, 0.1, 0.28),
                 deep = draw_uniform(builder, 0.07, 0.11), tall = draw_uniform(builder, 0.07, 0.1);
    const double size[3] = {across, deep, tall};
    rigid_body made = draw_chance(builder, 0.5)
                          ? body_make_ball(draw_uniform(builder, 0.07, 0.1), 10.0)
                          : body_make_box(PLUMB_ROOM_SHAPE_BOX, size, 10.0);
    if (made.shape == PLUMB_ROOM_SHAPE_BOX)
        body_rotate(&made, axis_z, yaw + draw_uniform(builder, -0.5, 0.5));
    stand_body(&made, place, 0.0);
    return add_body(builder, made);
}

static bool (*const adders[PLUMB_ROOM_EVENTS])(scene_builder *) = {
    [EVENT_ROLL] = add_roll,       [EVENT_COLLIDE] = add_collide, [EVENT_BOUNCE] = add_bounce,
    [EVENT_THROW] = add_throw,     [EVENT_DROP] = add_drop,       [EVENT_CURTAIN] = add_curtain,
    [EVENT_PILLARS] = add_pillars, [EVENT_STACK] = add_stack,     [EVENT_COVER] = add_cover,
    [EVENT_CONTAIN] = add_contain, [EVENT_RAMP] = add_ramp,       [EVENT_PLANK] = add_plank};

// ---- the camera ----

// Normal with standard deviation limit / 2, clamped to the limit.
static double draw_jitter(rng *random, double limit)
{
    const double x = 0.5 * limit * rng_normal(random);
    return fmin(fmax(x, -limit), limit);
}

// Varies the camera; in half of the scenes it also moves.
static void aim_camera(room_scene *scene, rng *random)
{
    raytrace_camera camera = scene->camera[0];
    camera.distance *= 1.0 + draw_jitter(random, 0.1);
    camera.azimuth += draw_jitter(random, 6.0);
    camera.elevation += draw_jitter(random, 5.0);
    const double moves = rng_below(random, 2) ? 1.0 : 0.0;
    static const double max_drift[5] = {0.15 / 14, 0.15 / 14, 0.15 / 14, 2.0, 0.75};
    double drift[5];
    for (int k = 0; k < 5; k++) drift[k] = room_scene_uniform(random, -max_drift[k], max_drift[k]);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
        const double f = moves * t;
        scene->camera[t] = camera;
        for (int k = 0; k < 2; k++) scene->camera[t].look[k] += f * drift[k];
        scene->camera[t].distance += f * drift[2];
        scene->camera[t].azimuth += f * drift[3];
        scene->camera[t].elevation = fmin(fmax(camera.elevation + f * drift[4], -60.0), -28.0);
    }
}

// ---- simulation ----

// Sets height and speed of curtain and pole at the current time.
static void move_curtain(scene_builder *builder)
{
    if (builder->curtain < 0) return;
    double speed;
    const double low =
        room_scene_curtain(&speed, builder->down, builder->world.time / ROOM_SCENE_DT);
    for (int i = 0; i < 2; i++) {
        rigid_body *part = &builder->world.bodies[builder->curtain + i];
        part->x[2] = low + (i ? 2.24 : 0.62);
        part->v[2] = speed / ROOM_SCENE_DT;
    }
}

// True if the axis-aligned bounding box of a part overlaps that of the curtain.
static bool overlaps_curtain(const rigid_body *body, double axis[3][3], const body_part *part,
                             const rigid_body *curtain)
{
    for (int k = 0; k < 3; k++) {
        double middle = body->x[k], reach = part->ball ? part->half[0] : 0.0;
        for (int a = 0; a < 3; a++) {
            middle += part->offset[a] * axis[a][k];
            if (!part->ball) reach += part->half[a] * fabs(axis[a][k]);
        }
        if (fabs(middle - curtain->x[k]) >= reach + curtain->half[k]) return false;
    }
    return true;
}

// True if a body would touch the curtain, which has no contacts.
static bool is_curtain_touched(const scene_builder *builder)
{
    if (builder->curtain < 0) return false;
    const rigid_body *curtain = &builder->world.bodies[builder->curtain];
    for (int i = 0; i < builder->world.count; i++) {
        const rigid_body *body = &builder->world.bodies[i];
        if (body->intangible || fabs(body->x[1] - curtain->x[1]) >= body->radius + curtain->half[1])
            continue;
        double axis[3][3];
        body_axes(axis, body->q);
        for (int k = 0; k < body->part_count; k++)
            if (overlaps_curtain(body, axis, &body->part[k], curtain)) return true;
    }
    return false;
}

// Simulates the clip. False if a body touches the curtain, overlaps too far, is hit before its
// release, or the energy grows.
static bool simulate_scene(room_scene *scene, scene_builder *builder)
{
    const double h = ROOM_SCENE_DT / FRAME_STEPS;
    rigid_world *world = &builder->world;
    double energy = rigid_energy(world);
    const double more = 1e-6 * (1.0 + energy);
    for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
        move_curtain(builder);
        memcpy(scene->bodies[t], world->bodies, sizeof scene->bodies[t]);
        for (int i = 0; i < ROOM_SCENE_BODIES; i++)
            if (i >= world->count) scene->bodies[t][i] = (rigid_body){0};
        for (int k = 0; k < FRAME_STEPS && t + 1 < ROOM_SCENE_STEPS; k++) {
            rigid_step(world, h);
            move_curtain(builder);
            if (is_curtain_touched(builder)) return false;
        }
        const double left = rigid_energy(world);
        if (world->max_overlap > max_overlap || world->hit_while_held || left > energy + more)
            return false;
        energy = left;
    }
    return !is_curtain_touched(builder);
}

bool freeform_sample(room_scene *scene, uint8_t event_counts[PLUMB_ROOM_EVENTS], rng *random)
{
    scene_builder builder = {.floor = &scene->floor, .random = random, .curtain = -1};
    memset(event_counts, 0, PLUMB_ROOM_EVENTS);
    aim_camera(scene, random);
    const int64_t wanted = 2 + rng_below(random, 3);
    int64_t made = 0;
    for (int attempt = 0; attempt < 20 && made < wanted; attempt++) {
        // Extra tickets for the curtain, whose scenes are rejected more often, and for events that
        // last only two frames.
        static const int extra_tickets[] = {EVENT_CURTAIN, EVENT_CONTAIN, EVENT_CONTAIN,
                                            EVENT_PLANK, EVENT_PLANK};
        const int64_t drawn = rng_below(random, PLUMB_ROOM_EVENTS + 5);
        const int64_t kind =
            drawn < PLUMB_ROOM_EVENTS ? drawn : extra_tickets[drawn - PLUMB_ROOM_EVENTS];
        const int before = builder.world.count;
        const int curtain = builder.curtain;
        if (adders[kind](&builder)) {
            event_counts[kind]++;
            made++;
        } else { // remove a partial event
            builder.world.count = before;
            builder.curtain = curtain;
        }
    }
    return made >= 2 && simulate_scene(scene, &builder);
}

bool freeform_accept(const room_scene *scene, const uint8_t *mask, int64_t size)
{
    for (int i = 0; i < ROOM_SCENE_BODIES; i++) {
        const rigid_body *first = &scene->bodies[0][i];
        if (first->shape == PLUMB_ROOM_SHAPE_NONE) continue;
        int shows = 0;
        double way = 0.0;
        for (int t = 0; t < ROOM_SCENE_STEPS; t++) {
            const rigid_body *now = &scene->bodies[t][i];
            if (room_scene_visible_pixels(mask, size, t, i + 1) < 6) continue;
            shows++;
            for (int k = 0; k < 3; k++) way = fmax(way, fabs(now->x[k] - first->x[k]));
        }
        if (shows >= 3 && way > 0.1) return true;
    }
    return false;
}
