// SPDX-License-Identifier: MIT
// A camera on the unit hemisphere above an arena that looks at its middle. The generator of the
// room data of [Higgins21] is not public; this is plumb's substitute (docs/worlds.md).
//
// Circle: constant height and angular velocity w. In the published coordinates, position and
// velocity, the motion is Hamiltonian with H = |p|^2 / 2 + w^2 (x^2 + y^2) / 2. Minimal coordinates
// are the azimuth and its angular momentum L, with H = w L.
// Spiral: the azimuth moves in the same way, and the polar angle a oscillates about a middle value:
// H = (a'^2 + v^2 (a - middle)^2 + w^2) / 2 in the canonical coordinates (a, azimuth, a', w).
#include <math.h>
#include <string.h>

#include "worlds/render/raytrace_arena.h"
#include "worlds/world.h"

enum {
    RADIUS,
    PHI,
    RATE,
    FLOOR,
    WALL = FLOOR + 3,
    SKY = WALL + 3,
    OBJECTS = SKY + 3,
    OBJECT_SIZE = 11, // numbers of an object
    MIDDLE = OBJECTS + RAYTRACE_OBJECTS * OBJECT_SIZE,
    SWING,
    PARAMETER_TOTAL,
};

static const double full_turn = 0x1.921fb54442d18p+2;
static const double degree = 0x1.1df46a2529d39p-6;

static const double arena_half = 1.5, arena_height = 1.2;

static void sample_color(double *out, rng *random)
{
    for (int k = 0; k < 3; k++) out[k] = world_uniform(random, 0.1, 0.9);
}

// Samples an object that rests on the floor: kind, centre, size, yaw, colour. Returns the radius of
// its footprint.
static double sample_object(double *object, rng *random)
{
    const raytrace_shape kind = (raytrace_shape)rng_below(random, 4);
    const double radius = world_uniform(random, 0.08, 0.18),
                 half = world_uniform(random, 0.05, 0.15);
    const double away = 0.6 * sqrt(rng_uniform(random)), toward = full_turn * rng_uniform(random);
    const double yaw = full_turn * rng_uniform(random);
    object[0] = kind;
    object[1] = away * cos(toward);
    object[2] = away * sin(toward);
    object[3] = kind == RAYTRACE_SHAPE_SPHERE    ? radius
                : kind == RAYTRACE_SHAPE_CAPSULE ? radius + half
                                                 : half;
    object[4] = object[5] = radius;
    object[6] = kind == RAYTRACE_SHAPE_SPHERE ? radius : half;
    object[7] = kind == RAYTRACE_SHAPE_BOX ? yaw : 0.0;
    sample_color(object + 8, random);
    return kind == RAYTRACE_SHAPE_BOX ? sqrt(2.0) * radius : radius;
}

// Samples colours and five objects that do not overlap.
static void sample_arena(double *parameters, rng *random)
{
    // Slightly above 0.6, as in single precision: 255 * 0.6 is an integer, and sums could round it
    // down.
    static const double sky[3] = {0.6000000238418579, 0.75, 0.8999999761581421};
    sample_color(parameters + FLOOR, random);
    sample_color(parameters + WALL, random);
    memcpy(parameters + SKY, sky, sizeof sky);
    double footprint[RAYTRACE_OBJECTS];
    int placed = 0, attempts = 0;
    while (placed < RAYTRACE_OBJECTS) {
        double *object = parameters + OBJECTS + placed * OBJECT_SIZE;
        footprint[placed] = sample_object(object, random);
        bool is_free = true;
        for (int k = 0; k < placed; k++) {
            const double *other = parameters + OBJECTS + k * OBJECT_SIZE;
            is_free &= hypot(object[1] - other[1], object[2] - other[2]) >
                       footprint[placed] + footprint[k];
        }
        placed += is_free;
        if (++attempts % 100 == 0) placed = 0; // no space left: start again
    }
}

// Converts parameter values to a scene.
static raytrace_arena make_arena(const double *parameters)
{
    raytrace_arena arena = {.half = arena_half, .height = arena_height};
    memcpy(arena.floor, parameters + FLOOR, sizeof arena.floor);
    memcpy(arena.wall, parameters + WALL, sizeof arena.wall);
    memcpy(arena.sky, parameters + SKY, sizeof arena.sky);
    for (int k = 0; k < RAYTRACE_OBJECTS; k++) {
        const double *values = parameters + OBJECTS + k * OBJECT_SIZE;
        raytrace_object *object = &arena.object[k];
        object->kind = values[0] < 0.5   ? RAYTRACE_SHAPE_SPHERE
                       : values[0] < 1.5 ? RAYTRACE_SHAPE_CAPSULE
                       : values[0] < 2.5 ? RAYTRACE_SHAPE_CYLINDER
                                         : RAYTRACE_SHAPE_BOX;
        memcpy(object->center, values + 1, sizeof object->center);
        memcpy(object->size, values + 4, sizeof object->size);
        object->heading[0] = cos(values[7]);
        object->heading[1] = sin(values[7]);
        memcpy(object->color, values + 8, sizeof object->color);
    }
    return arena;
}

typedef struct arena_style {
    int64_t size;
    raytrace_arena arena;
} arena_style;

static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    (void)world;
    arena_style *style = storage;
    style->size = plan->image;
    style->arena = make_arena(parameters);
}

static void render_frame(uint8_t *frame, const void *storage, const double *x)
{
    const arena_style *style = storage;
    raytrace_arena_draw(frame, style->size, &style->arena, x);
}

// ---- circle ----

typedef struct camera_motion {
    double interval, rate, middle, swing;
    double x[6];             // circle: the state at time 0
    double a, da, phi, dphi; // spiral: the angles and their rates at time 0
} camera_motion;

// Radius, azimuth and the constant rate of one degree per unit of time.
static plumb_status sample_circle_start(double *x, double *parameters, const plumb_world *world,
                                        const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)plan;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameter_rng = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    sample_arena(parameters, &parameter_rng);
    const double r = parameters[RADIUS] = world_uniform(&state_rng, 0.4, 0.95);
    const double phi = parameters[PHI] = full_turn * rng_uniform(&state_rng),
                 w = parameters[RATE] = degree;
    const double start[6] = {r * cos(phi), r * sin(phi), sqrt(1.0 - r * r)};
    memcpy(x, start, sizeof start);
    x[3] = -w * x[1];
    x[4] = w * x[0];
    return PLUMB_OK;
}

static void begin_circle_motion(void *storage, const plumb_world *world, const double *x,
                                const double *parameters, const world_plan *plan)
{
    (void)world;
    camera_motion *motion = storage;
    motion->interval = plan->interval;
    motion->rate = parameters[RATE];
    memcpy(motion->x, x, sizeof motion->x);
}

// The motion of H for any state, not only for circles: an oscillator in x and in y.
static void compute_circle_phase(double *x, void *storage, int64_t frame)
{
    const camera_motion *motion = storage;
    const double t = motion->interval * (double)frame, c = cos(motion->rate * t),
                 s = sin(motion->rate * t);
    for (int k = 0; k < 2; k++) {
        x[k] = motion->x[k] * c + motion->x[3 + k] / motion->rate * s;
        x[3 + k] = motion->x[3 + k] * c - motion->rate * motion->x[k] * s;
    }
    x[2] = motion->x[2] + motion->x[5] * t;
    x[5] = motion->x[5];
}

// x' = v, v' = -w^2 (x, y, 0).
static void compute_circle_derivative(double *out, const plumb_world *world, const double *x,
                                      const double *parameters)
{
    (void)world;
    const double w2 = parameters[RATE] * parameters[RATE];
    memcpy(out, x + 3, 3 * sizeof *out);
    out[3] = -w2 * x[0];
    out[4] = -w2 * x[1];
    out[5] = 0.0;
}

// H = |p|^2 / 2 + w^2 (x^2 + y^2) / 2.
static double compute_circle_energy(const plumb_world *world, const double *x,
                                    const double *parameters)
{
    (void)world;
    return 0.5 * (x[3] * x[3] + x[4] * x[4] + x[5] * x[5]) +
           0.5 * parameters[RATE] * parameters[RATE] * (x[0] * x[0] + x[1] * x[1]);
}

// The state does not contain the number of turns of the azimuth. It is returned within half a turn
// of the initial azimuth, so that it has no jump in the first 1800 frames.
static double get_azimuth(const double *x, const double *parameters)
{
    return parameters[PHI] + remainder(atan2(x[1], x[0]) - parameters[PHI], full_turn);
}

// Azimuth and angular momentum L = x vy - y vx.
static void compute_circle_canonical(double *out, const plumb_world *world, const double *x,
                                     const double *parameters)
{
    (void)world;
    out[0] = get_azimuth(x, parameters);
    out[1] = x[0] * x[4] - x[1] * x[3];
}

// ---- spiral ----

// Polar angle, azimuth and their rates from position and velocity.
static void compute_angles(double out[4], const double *x)
{
    const double r = hypot(x[0], x[1]);
    out[0] = atan2(r, x[2]);
    out[1] = atan2(x[1], x[0]);
    out[2] = -x[5] / r;
    out[3] = (x[0] * x[4] - x[1] * x[3]) / (r * r);
}

// Position and velocity from the angles and their rates.
static void compute_state(double *x, double a, double phi, double da, double dphi)
{
    const double r = sin(a), dr = cos(a) * da, c = cos(phi), s = sin(phi);
    x[0] = r * c;
    x[1] = r * s;
    x[2] = cos(a);
    x[3] = dr * c - r * dphi * s;
    x[4] = dr * s + r * dphi * c;
    x[5] = -r * da;
}

// Random amplitude and phase of the oscillation of the polar angle.
static plumb_status sample_spiral_start(double *x, double *parameters, const plumb_world *world,
                                        const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)plan;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameter_rng = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    sample_arena(parameters, &parameter_rng);
    // Between the heights of the circles, radius 0.4 to 0.95. One oscillation per two turns.
    const double high = asin(0.4), low = asin(0.95);
    const double size = world_uniform(&state_rng, 0.5, 1.0) * 0.5 * (low - high);
    const double at = full_turn * rng_uniform(&state_rng);
    parameters[PHI] = full_turn * rng_uniform(&state_rng);
    parameters[RATE] = degree;
    parameters[MIDDLE] = 0.5 * (low + high);
    parameters[SWING] = 0.5 * degree;
    const double a = parameters[MIDDLE] + size * cos(at);
    parameters[RADIUS] = sin(a);
    compute_state(x, a, parameters[PHI], -parameters[SWING] * size * sin(at), parameters[RATE]);
    return PLUMB_OK;
}

// The motion is kept as angles and their rates at time 0.
static void begin_spiral_motion(void *storage, const plumb_world *world, const double *x,
                                const double *parameters, const world_plan *plan)
{
    (void)world;
    camera_motion *motion = storage;
    double angle[4];
    compute_angles(angle, x);
    motion->interval = plan->interval;
    motion->middle = parameters[MIDDLE];
    motion->swing = parameters[SWING];
    motion->a = angle[0] - motion->middle, motion->phi = angle[1], motion->da = angle[2],
    motion->dphi = angle[3];
}

// Closed form: the polar angle is an oscillator, the azimuth is linear in time.
static void compute_spiral_phase(double *x, void *storage, int64_t frame)
{
    const camera_motion *motion = storage;
    const double t = motion->interval * (double)frame, c = cos(motion->swing * t),
                 s = sin(motion->swing * t);
    compute_state(x, motion->middle + motion->a * c + motion->da / motion->swing * s,
                  motion->phi + motion->dphi * t, motion->da * c - motion->swing * motion->a * s,
                  motion->dphi);
}

// Second derivative of the position, from a'' = -v^2 (a - middle).
static void compute_spiral_derivative(double *out, const plumb_world *world, const double *x,
                                      const double *parameters)
{
    (void)world;
    double angle[4];
    compute_angles(angle, x);
    const double a = angle[0], da = angle[2], dphi = angle[3];
    const double dda = -parameters[SWING] * parameters[SWING] * (a - parameters[MIDDLE]);
    const double r = sin(a), c = cos(angle[1]), s = sin(angle[1]);
    const double dr = cos(a) * da, ddr = cos(a) * dda - r * da * da;
    memcpy(out, x + 3, 3 * sizeof *out);
    out[3] = (ddr - r * dphi * dphi) * c - 2.0 * dr * dphi * s;
    out[4] = (ddr - r * dphi * dphi) * s + 2.0 * dr * dphi * c;
    out[5] = -r * dda - cos(a) * da * da;
}

// H = (a'^2 + v^2 (a - middle)^2 + w^2) / 2.
static double compute_spiral_energy(const plumb_world *world, const double *x,
                                    const double *parameters)
{
    (void)world;
    double angle[4];
    compute_angles(angle, x);
    const double off = parameters[SWING] * (angle[0] - parameters[MIDDLE]);
    return 0.5 * (angle[2] * angle[2] + off * off + angle[3] * angle[3]);
}

static void compute_spiral_canonical(double *out, const plumb_world *world, const double *x,
                                     const double *parameters)
{
    (void)world;
    compute_angles(out, x);
    out[1] = get_azimuth(x, parameters);
}

static const plumb_world_parameter parameter_table[] = {
    {"radius", 1, false},
    {"phi0", 1, false},
    {"rate", 1, false},
    {"floor_rgb", 3, false},
    {"wall_rgb", 3, false},
    {"sky_rgb", 3, false},
    {"objects", RAYTRACE_OBJECTS *OBJECT_SIZE, false},
    {"middle", 1, false},
    {"swing", 1, false}};
static const char *const state_names[] = {"x", "y", "z", "vx", "vy", "vz"};
static const char *const circle_names[] = {"phi", "L"};
static const char *const spiral_names[] = {"a", "phi", "da/dt", "dphi/dt"};
static const bool circle_angles[] = {true}, spiral_angles[] = {false, true};

// clang-format off
#define ENTRY(variable, number, title, line, which, dof, count, total, above)                  \
    const plumb_world variable = {                                                             \
        .info = {.name = title, .summary = line, .n = 3, .canonical_n = dof, .dt = 0.1,        \
                  .height = 32, .width = 32, .channels = 3, .upright = true,                   \
                  .reversible = true, .parameters = parameter_table, .parameter_count = count, \
                  .state_names = state_names, .canonical_names = which##_names,                \
                  .angles = which##_angles, .parameter_total = total, .clips = 1},             \
        .id = number, .positive = above, .motion_size = sizeof(camera_motion),                 \
        .style_size = sizeof(arena_style), .sample_start = sample_##which##_start,             \
        .begin_motion = begin_##which##_motion,                                                \
        .compute_phase = compute_##which##_phase,                                              \
        .compute_derivative = compute_##which##_derivative,                                    \
        .compute_energy = compute_##which##_energy,                                            \
        .compute_canonical = compute_##which##_canonical, .prepare_style = prepare_style,      \
        .render_frame = render_frame,                                                          \
    }

ENTRY(camera_circle, 11, "room-circle", "a camera circling above a room with five things in it",
    circle, 1, 7, MIDDLE, 1u << RATE);
ENTRY(camera_spiral, 17, "room-spiral", "a camera winding up and down above a room",
    spiral, 2, 9, PARAMETER_TOTAL, 1u << RATE);
// clang-format on
