// SPDX-License-Identifier: MIT
// A pendulum: H = m g l (1 - cos q) + p^2 / (2 m l^2). The angle q is measured from the downward
// vertical and never wrapped.
//
// Without friction S = sin(q / 2), D = cos(q / 2) and C = q' / (2 w), w^2 = g / l, obey
// S' = w C D, C' = -w S D, D' = -w S C: they are k sn, k cn and dn with k^2 = S^2 + C^2, whether
// the pendulum swings (k < 1) or turns over (k > 1). The addition theorems of Jacobi's functions
// [DLMF, 22.8] give the state at any time from the initial values. With friction or a torque the
// motion is integrated by Taylor series. A torque is held from frame to frame.
#include <math.h>

#include "base/status.h"
#include "math/elliptic.h"
#include "math/taylor.h"
#include "worlds/render/particle_style.h"

typedef struct pendulum_model {
    particle_style style;
    bool varied, driven;
    double friction;
} pendulum_model;

enum { M, L, G, OFFSET, COLOR = OFFSET + 2, PARAMETER_TOTAL };
// The torque is a sum of sines of time, each with an amplitude, an angular frequency and a phase.
enum { SINES = 3, TORQUE = PARAMETER_TOTAL, DRIVEN_TOTAL = TORQUE + 3 * SINES };

typedef struct pendulum_motion {
    double interval;
    double w, inertia, torque, friction; // m l^2, m g l
    double q, S, C, D;                   // at time 0
    elliptic modulus;
    taylor_solution taylor; // with friction or a torque
    // Driven: the state at a frame, and what holds from there to the next.
    bool driven;
    int64_t at;
    double x[2], held;
    double sines[3 * SINES];
} pendulum_motion;

// Samples m, l and g in the varied worlds, and (q, p) in an annulus.
static plumb_status sample_start(double *x, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    const pendulum_model *model = world->model;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameter_rng = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng style_rng = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    parameters[M] = model->varied ? world_uniform(&parameter_rng, 0.5, 1.5) : 0.5;
    parameters[L] = model->varied ? world_uniform(&parameter_rng, 0.5, 1.0) : 1.0;
    parameters[G] = model->varied ? world_uniform(&parameter_rng, 3.0, 4.0) : 3.0;
    particle_style_sample(parameters + OFFSET, parameters + COLOR, &model->style, &style_rng,
                          plan->colors);
    world_annulus(x, &state_rng, 1.3, 2.3, model->varied);
    for (int i = 0; model->driven && i < SINES; i++) {
        double *sine = parameters + TORQUE + 3 * i;
        sine[0] = world_uniform(&parameter_rng, 0.2, 0.6);
        sine[1] = world_uniform(&parameter_rng, 0.5, 4.0);
        sine[2] = world_uniform(&parameter_rng, 0.0, 0x1.921fb54442d18p+2);
    }
    return PLUMB_OK;
}

// The torque from the frame at time t on, until the next.
static double compute_torque(const double *sines, double t)
{
    double sum = 0.0;
    for (int i = 0; i < SINES; i++)
        sum += sines[3 * i] * sin(sines[3 * i + 1] * t + sines[3 * i + 2]);
    return sum;
}

static void compute_action(double *out, const double *parameters, double time)
{
    out[0] = compute_torque(parameters + TORQUE, time);
}

// Taylor coefficients of q' = p / (m l^2), p' = -m g l sin q - gamma q' + torque.
static void extend_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    const pendulum_motion *motion = system;
    double *q = x[0], *p = x[1];
    double s[TAYLOR_TERMS], c[TAYLOR_TERMS], v[TAYLOR_TERMS];
    s[0] = sin(q[0]);
    c[0] = cos(q[0]);
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        if (n > 0) taylor_sincos(s, c, v, n);
        v[n] = p[n] / motion->inertia;
        q[n + 1] = v[n] / (n + 1);
        p[n + 1] = (-motion->torque * s[n] - motion->friction * v[n]) / (n + 1);
        if (n == 0) p[1] += motion->held;
    }
}

// Initial values of S, C and D, and the modulus with 1 - k^2 = D^2 - C^2.
static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    const pendulum_model *model = world->model;
    pendulum_motion *motion = storage;
    motion->interval = plan->interval;
    motion->w = sqrt(parameters[G] / parameters[L]);
    motion->inertia = parameters[M] * parameters[L] * parameters[L];
    motion->torque = parameters[M] * parameters[G] * parameters[L];
    motion->friction = model->friction;
    motion->q = x[0];
    motion->S = sin(0.5 * x[0]);
    motion->D = cos(0.5 * x[0]);
    motion->C = 0.5 * x[1] / (motion->inertia * motion->w);
    motion->modulus =
        elliptic_make((motion->D - motion->C) * (motion->D + motion->C)); // 1 - k^2 = D^2 - C^2
    motion->driven = model->driven;
    if (motion->driven) {
        motion->x[0] = x[0], motion->x[1] = x[1];
        for (int i = 0; i < 3 * SINES; i++) motion->sines[i] = parameters[TORQUE + i];
    } else if (motion->friction > 0.0) {
        taylor_start(&motion->taylor, extend_series, motion, 2, x, plan->interval < 0.0, false);
    }
}

// From frame to frame, each with its own torque.
static void follow_torque(double *x, pendulum_motion *motion, int64_t frame)
{
    for (; motion->at < frame && !status_stopped(); motion->at++) {
        motion->held = compute_torque(motion->sines, motion->interval * (double)motion->at);
        taylor_start(&motion->taylor, extend_series, motion, 2, motion->x, false, false);
        taylor_evaluate(motion->x, &motion->taylor, motion->interval);
    }
    x[0] = motion->x[0], x[1] = motion->x[1];
}

// Closed form without friction and torque, Taylor series with them.
static void compute_phase(double *x, void *storage, int64_t frame)
{
    pendulum_motion *motion = storage;
    const double t = motion->interval * (double)frame;
    if (motion->driven) {
        follow_torque(x, motion, frame);
        return;
    }
    if (motion->friction > 0.0) {
        taylor_evaluate(x, &motion->taylor, t);
        return;
    }
    // Addition theorems of sn, cn, dn [DLMF, 22.8].
    const double u = motion->w * t;
    double f[3];
    elliptic_sncndn(f, &motion->modulus, u);
    const double s = f[0], c = f[1], d = f[2], below = 1.0 - s * s * motion->S * motion->S;
    const double S = (s * motion->C * motion->D + motion->S * c * d) / below;
    const double C = (c * motion->C - s * d * motion->S * motion->D) / below;
    const double D = (d * motion->D - s * c * motion->S * motion->C) / below;

    // Change of q / 2, up to full turns. A swinging pendulum stays within half a turn. One that
    // turns over stays within half a turn of its mean rotation.
    double turned = atan2(S * motion->D - D * motion->S, D * motion->D + S * motion->S);
    if (motion->modulus.stretch > 1.0) {
        const double turn = 0x1.921fb54442d18p+2;
        const double mean =
            copysign(u * motion->modulus.stretch * motion->modulus.mean, motion->C * u);
        turned += turn * rint((mean - turned) / turn);
    }
    x[0] = motion->q + 2.0 * turned;
    x[1] = 2.0 * motion->w * motion->inertia * C;
}

// q' = p / (m l^2), p' = -m g l sin q - gamma q', without the torque.
static void compute_derivative(double *out, const plumb_world *world, const double *x,
                               const double *parameters)
{
    const pendulum_model *model = world->model;
    const double velocity = x[1] / (parameters[M] * parameters[L] * parameters[L]);
    out[0] = velocity;
    out[1] =
        -parameters[M] * parameters[G] * parameters[L] * sin(x[0]) - model->friction * velocity;
}

// H = m g l (1 - cos q) + p^2 / (2 m l^2).
static double compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)world;
    const double half = sin(0.5 * x[0]); // 1 - cos q = 2 sin^2(q / 2) has no cancellation near 0
    return 2.0 * parameters[M] * parameters[G] * parameters[L] * half * half +
           0.5 * x[1] * x[1] / (parameters[M] * parameters[L] * parameters[L]);
}

typedef struct pendulum_style {
    disc_style discs;
    double length;
} pendulum_style;

static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    const pendulum_model *model = world->model;
    pendulum_style *style = storage;
    particle_style_make_discs(&style->discs, &model->style, parameters + M, parameters + OFFSET,
                              parameters + COLOR, plan);
    style->length = parameters[L];
}

static void render_frame(uint8_t *frame, const void *storage, const double *x)
{
    const pendulum_style *style = storage;
    const double xy[2] = {style->length * sin(x[0]), -style->length * cos(x[0])};
    discs_draw(frame, &style->discs, xy);
}

static const plumb_world_parameter parameter_table[] = {{"m", 1, false},
                                                        {"l", 1, false},
                                                        {"g", 1, false},
                                                        {"offset", 2, false},
                                                        {"color_index", 1, true},
                                                        // of the driven world only
                                                        {"torque", 3 * SINES, false}};
static const char *const state_names[] = {"q", "p"};
static const bool angles[] = {true};

// clang-format off
#define ENTRY(variable, number, title, line, is_varied, is_reversible, gamma, is_driven, colors, canvas, jitter_rule) \
    const plumb_world variable = {                                                                                    \
        .info = {.name = title, .summary = line, .n = 1, .canonical_n = 1, .dt = 0.05,                                \
                  .height = 32, .width = 32, .channels = 3, .reversible = is_reversible,                              \
                  .parameters = parameter_table, .parameter_count = 5 + (is_driven),                                  \
                  .state_names = state_names,                                                                         \
                  .canonical_names = state_names, .angles = angles,                                                   \
                  .parameter_total = (is_driven) ? DRIVEN_TOTAL : PARAMETER_TOTAL, .clips = 1, .actions = is_driven}, \
        .id = number, .positive = 1u << M | 1u << L | 1u << G, .colored = true,                                       \
        .model = &(const pendulum_model){{1, colors, canvas, jitter_rule}, is_varied, is_driven, gamma},              \
        .motion_size = sizeof(pendulum_motion), .style_size = sizeof(pendulum_style),                                 \
        .sample_start = sample_start, .begin_motion = begin_motion,                                                   \
        .compute_phase = compute_phase, .compute_derivative = compute_derivative,                                     \
        .compute_energy = compute_energy, .compute_action = compute_action, .prepare_style = prepare_style,           \
        .render_frame = render_frame,                                                                                 \
    }

// Half the side of the canvas is the longest arm plus the largest radius, 1 + sqrt(m / pi).
ENTRY(pendulum_plain, 3, "pendulum", "a pendulum; a third of them turn over",
    false, true, 0.0, 0, 1, 1.3989422804014326, PARTICLE_JITTER_NONE);
ENTRY(pendulum_varied, 4, "pendulum+c", "a pendulum: mass, length, gravity, place and colour vary",
    true, true, 0.0, 0, 6, 1.6909882989426712, PARTICLE_JITTER_FREE);
ENTRY(pendulum_damped, 15, "pendulum+c-friction", "pendulum+c slowed by friction 0.05",
    true, false, 0.05, 0, 6, 1.6909882989426712, PARTICLE_JITTER_FREE);
ENTRY(pendulum_driven, 27, "pendulum-torque", "pendulum driven by a torque that is known: its actions",
    false, false, 0.0, 1, 1, 1.3989422804014326, PARTICLE_JITTER_NONE);
// clang-format on
