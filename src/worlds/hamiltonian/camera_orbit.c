// SPDX-License-Identifier: MIT
// A camera on the unit half-sphere above a room, looking at its middle. The published rooms have no
// published generator; this is plumb's substitute (docs/worlds.md).
//
// Circle: constant height and angular velocity w. In the published coordinates, position and
// velocity, the motion is Hamiltonian with H = |p|^2 / 2 + w^2 (x^2 + y^2) / 2; minimal coordinates
// are the azimuth and its angular momentum, H = w L.
// Spiral: the azimuth goes on as before, and the polar angle a swings about a middle one:
// H = (a'^2 + v^2 (a - middle)^2 + w^2) / 2 in the canonical coordinates (a, azimuth, a', w).
#include <math.h>
#include <string.h>

#include "worlds/render/raytrace_room.h"
#include "worlds/world.h"

enum {
    RADIUS,
    PHI,
    RATE,
    FLOOR,
    WALL = FLOOR + 3,
    SKY = WALL + 3,
    OBJECTS = SKY + 3,
    OBJECT = 11, // numbers of an object
    MIDDLE = OBJECTS + RAYTRACE_OBJECTS * OBJECT,
    SWING,
};

static const double turn = 0x1.921fb54442d18p+2;
static const double degree = 0x1.1df46a2529d39p-6;

static const double room_half = 1.5, room_height = 1.2;

static void color(double *out, rng *r)
{
    for (int k = 0; k < 3; k++) out[k] = world_uniform(r, 0.1, 0.9);
}

// One thing, resting on the floor: kind, centre, size, yaw, colour. Returns its footprint.
static double draw_object(double *o, rng *r)
{
    const raytrace_shape kind = (raytrace_shape)rng_below(r, 4);
    const double radius = world_uniform(r, 0.08, 0.18), half = world_uniform(r, 0.05, 0.15);
    const double away = 0.6 * sqrt(rng_uniform(r)), toward = turn * rng_uniform(r);
    const double yaw = turn * rng_uniform(r);
    o[0] = kind;
    o[1] = away * cos(toward);
    o[2] = away * sin(toward);
    o[3] = kind == RAYTRACE_SHAPE_SPHERE    ? radius
           : kind == RAYTRACE_SHAPE_CAPSULE ? radius + half
                                            : half;
    o[4] = o[5] = radius;
    o[6] = kind == RAYTRACE_SHAPE_SPHERE ? radius : half;
    o[7] = kind == RAYTRACE_SHAPE_BOX ? yaw : 0.0;
    color(o + 8, r);
    return kind == RAYTRACE_SHAPE_BOX ? sqrt(2.0) * radius : radius;
}

static void draw_room(double *par, rng *r)
{
    // Just above 0.6, as in single precision: 255 times 0.6 is an integer, and sums would round it
    // down.
    static const double sky[3] = {0.6000000238418579, 0.75, 0.8999999761581421};
    color(par + FLOOR, r);
    color(par + WALL, r);
    memcpy(par + SKY, sky, sizeof sky);
    double footprint[RAYTRACE_OBJECTS];
    int placed = 0, attempts = 0;
    while (placed < RAYTRACE_OBJECTS) {
        double *o = par + OBJECTS + placed * OBJECT;
        footprint[placed] = draw_object(o, r);
        bool free = true;
        for (int k = 0; k < placed; k++) {
            const double *other = par + OBJECTS + k * OBJECT;
            free &= hypot(o[1] - other[1], o[2] - other[2]) > footprint[placed] + footprint[k];
        }
        placed += free;
        if (++attempts % 100 == 0) placed = 0; // no room left: all over again
    }
}

static raytrace_room_scene room_of(const double *par)
{
    raytrace_room_scene room = {.half = room_half, .height = room_height};
    memcpy(room.floor, par + FLOOR, sizeof room.floor);
    memcpy(room.wall, par + WALL, sizeof room.wall);
    memcpy(room.sky, par + SKY, sizeof room.sky);
    for (int k = 0; k < RAYTRACE_OBJECTS; k++) {
        const double *from = par + OBJECTS + k * OBJECT;
        raytrace_object *o = &room.object[k];
        o->kind = from[0] < 0.5   ? RAYTRACE_SHAPE_SPHERE
                  : from[0] < 1.5 ? RAYTRACE_SHAPE_CAPSULE
                  : from[0] < 2.5 ? RAYTRACE_SHAPE_CYLINDER
                                  : RAYTRACE_SHAPE_BOX;
        memcpy(o->center, from + 1, sizeof o->center);
        memcpy(o->size, from + 4, sizeof o->size);
        o->heading[0] = cos(from[7]);
        o->heading[1] = sin(from[7]);
        memcpy(o->color, from + 8, sizeof o->color);
    }
    return room;
}

typedef struct picture {
    int64_t size;
    raytrace_room_scene room;
} picture;

static void look(void *to, const plumb_world *world, const double *par, const world_plan *plan)
{
    (void)world;
    picture *p = to;
    p->size = plan->image;
    p->room = room_of(par);
}

static void draw(uint8_t *frame, const void *from, const double *x)
{
    const picture *p = from;
    raytrace_room_draw(frame, p->size, &p->room, x);
}

// Circle

typedef struct motion {
    double interval, rate, middle, swing;
    double x[6];             // circle: the state at time 0
    double a, da, phi, dphi; // spiral: the angles and their rates at time 0
} motion;

static plumb_status circle_begin(double *x, double *par, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)plan;
    rng state = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameters = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    draw_room(par, &parameters);
    const double r = par[RADIUS] = world_uniform(&state, 0.4, 0.95);
    const double phi = par[PHI] = turn * rng_uniform(&state), w = par[RATE] = degree;
    const double start[6] = {r * cos(phi), r * sin(phi), sqrt(1.0 - r * r)};
    memcpy(x, start, sizeof start);
    x[3] = -w * x[1];
    x[4] = w * x[0];
    return PLUMB_OK;
}

static void circle_start(void *to, const plumb_world *world, const double *x, const double *par,
                         const world_plan *plan)
{
    (void)world;
    motion *o = to;
    o->interval = plan->interval;
    o->rate = par[RATE];
    memcpy(o->x, x, sizeof o->x);
}

// Any state, not only those of the circle, moves as H has it: an oscillator in x and in y.
static void circle_at(double *x, void *from, int64_t frame)
{
    const motion *o = from;
    const double t = o->interval * (double)frame, c = cos(o->rate * t), s = sin(o->rate * t);
    for (int k = 0; k < 2; k++) {
        x[k] = o->x[k] * c + o->x[3 + k] / o->rate * s;
        x[3 + k] = o->x[3 + k] * c - o->rate * o->x[k] * s;
    }
    x[2] = o->x[2] + o->x[5] * t;
    x[5] = o->x[5];
}

static void circle_derivative(double *out, const plumb_world *world, const double *x,
                              const double *par)
{
    (void)world;
    const double w2 = par[RATE] * par[RATE];
    memcpy(out, x + 3, 3 * sizeof *out);
    out[3] = -w2 * x[0];
    out[4] = -w2 * x[1];
    out[5] = 0.0;
}

static double circle_energy(const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    return 0.5 * (x[3] * x[3] + x[4] * x[4] + x[5] * x[5]) +
           0.5 * par[RATE] * par[RATE] * (x[0] * x[0] + x[1] * x[1]);
}

// The state does not know how many turns the azimuth has made: it is given within half a turn of
// the first one, so that it runs on without a jump for the first 1800 frames.
static double azimuth(const double *x, const double *par)
{
    return par[PHI] + remainder(atan2(x[1], x[0]) - par[PHI], turn);
}

static void circle_canonical(double *out, const plumb_world *world, const double *x,
                             const double *par)
{
    (void)world;
    out[0] = azimuth(x, par);
    out[1] = x[0] * x[4] - x[1] * x[3];
}

// Spiral

static void angles_of(double out[4], const double *x)
{
    const double r = hypot(x[0], x[1]);
    out[0] = atan2(r, x[2]);
    out[1] = atan2(x[1], x[0]);
    out[2] = -x[5] / r;
    out[3] = (x[0] * x[4] - x[1] * x[3]) / (r * r);
}

static void state_of(double *x, double a, double phi, double da, double dphi)
{
    const double r = sin(a), dr = cos(a) * da, c = cos(phi), s = sin(phi);
    x[0] = r * c;
    x[1] = r * s;
    x[2] = cos(a);
    x[3] = dr * c - r * dphi * s;
    x[4] = dr * s + r * dphi * c;
    x[5] = -r * da;
}

static plumb_status spiral_begin(double *x, double *par, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)plan;
    rng state = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameters = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    draw_room(par, &parameters);
    // Between the heights of the circles: radius 0.4 to 0.95. Up and down once in two turns.
    const double high = asin(0.4), low = asin(0.95);
    const double size = world_uniform(&state, 0.5, 1.0) * 0.5 * (low - high);
    const double at = turn * rng_uniform(&state);
    par[PHI] = turn * rng_uniform(&state);
    par[RATE] = degree;
    par[MIDDLE] = 0.5 * (low + high);
    par[SWING] = 0.5 * degree;
    const double a = par[MIDDLE] + size * cos(at);
    par[RADIUS] = sin(a);
    state_of(x, a, par[PHI], -par[SWING] * size * sin(at), par[RATE]);
    return PLUMB_OK;
}

static void spiral_start(void *to, const plumb_world *world, const double *x, const double *par,
                         const world_plan *plan)
{
    (void)world;
    motion *o = to;
    double angle[4];
    angles_of(angle, x);
    o->interval = plan->interval;
    o->middle = par[MIDDLE];
    o->swing = par[SWING];
    o->a = angle[0] - o->middle, o->phi = angle[1], o->da = angle[2], o->dphi = angle[3];
}

static void spiral_at(double *x, void *from, int64_t frame)
{
    const motion *o = from;
    const double t = o->interval * (double)frame, c = cos(o->swing * t), s = sin(o->swing * t);
    state_of(x, o->middle + o->a * c + o->da / o->swing * s, o->phi + o->dphi * t,
             o->da * c - o->swing * o->a * s, o->dphi);
}

static void spiral_derivative(double *out, const plumb_world *world, const double *x,
                              const double *par)
{
    (void)world;
    double angle[4];
    angles_of(angle, x);
    const double a = angle[0], da = angle[2], dphi = angle[3];
    const double dda = -par[SWING] * par[SWING] * (a - par[MIDDLE]);
    const double r = sin(a), c = cos(angle[1]), s = sin(angle[1]);
    const double dr = cos(a) * da, ddr = cos(a) * dda - r * da * da;
    memcpy(out, x + 3, 3 * sizeof *out);
    out[3] = (ddr - r * dphi * dphi) * c - 2.0 * dr * dphi * s;
    out[4] = (ddr - r * dphi * dphi) * s + 2.0 * dr * dphi * c;
    out[5] = -r * dda - cos(a) * da * da;
}

static double spiral_energy(const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    double angle[4];
    angles_of(angle, x);
    const double off = par[SWING] * (angle[0] - par[MIDDLE]);
    return 0.5 * (angle[2] * angle[2] + off * off + angle[3] * angle[3]);
}

static void spiral_canonical(double *out, const plumb_world *world, const double *x,
                             const double *par)
{
    (void)world;
    angles_of(out, x);
    out[1] = azimuth(x, par);
}

static const plumb_world_parameter parameters[] = {{"radius", 1, false},
                                                   {"phi0", 1, false},
                                                   {"rate", 1, false},
                                                   {"floor_rgb", 3, false},
                                                   {"wall_rgb", 3, false},
                                                   {"sky_rgb", 3, false},
                                                   {"objects", RAYTRACE_OBJECTS *OBJECT, false},
                                                   {"middle", 1, false},
                                                   {"swing", 1, false}};
static const char *const names[] = {"x", "y", "z", "vx", "vy", "vz"};
static const char *const circle_names[] = {"phi", "L"};
static const char *const spiral_names[] = {"a", "phi", "da/dt", "dphi/dt"};
static const bool circle_angles[] = {true}, spiral_angles[] = {false, true};

// clang-format off
#define ROW(variable, number, title, line, which, dof, count, above)                        \
    const plumb_world variable = {                                                          \
        .info = {.name = title, .summary = line, .n = 3, .canonical_n = dof, .dt = 0.1,     \
                  .height = 32, .width = 32, .channels = 3, .upright = true,                \
                  .reversible = true, .parameters = parameters, .parameter_count = count,   \
                  .state_names = names, .canonical_names = which##_names,                   \
                  .angles = which##_angles},                                                \
        .id = number, .positive = above, .motion_size = sizeof(motion),                     \
        .style_size = sizeof(picture), .sample = which##_begin, .start = which##_start,     \
        .state_at = which##_at, .derivative = which##_derivative, .energy = which##_energy, \
        .canonical = which##_canonical, .style = look, .render = draw,                      \
    }

ROW(camera_circle, 11, "room-circle", "a camera circling above a room with five things in it",
    circle, 1, 7, 1u << RATE);
ROW(camera_spiral, 17, "room-spiral", "a camera winding up and down above a room",
    spiral, 2, 9, 1u << RATE);
// clang-format on
