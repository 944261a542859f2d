// SPDX-License-Identifier: MIT
// A pendulum that hangs from a pendulum. Both angles are measured from the downward vertical and
// never wrapped. With d = q1 - q2 and D = m1 + m2 sin^2 d:
// H = [m2 l2^2 p1^2 + (m1 + m2) l1^2 p2^2 - 2 m2 l1 l2 p1 p2 cos d] / (2 m2 l1^2 l2^2 D)
//     - (m1 + m2) g l1 cos q1 - m2 g l2 cos q2.
// The motion is chaotic, so it is integrated to rounding error by Taylor series: a trajectory of
// [Botev21] differs from the exact one after about 300 frames, this one after 500 to 700.
#include <math.h>

#include "math/taylor.h"
#include "worlds/render/particle_style.h"

typedef struct pendulum_model {
    particle_style style;
    bool varied;
    double friction;
} pendulum_model;

enum { M1, M2, L1, L2, G, OFFSET, COLOR = OFFSET + 2, PARAMETER_TOTAL = COLOR + 2 };

typedef struct pendulum_motion {
    double interval, friction;
    double m1, m2, l1, l2, g;
    taylor_solution taylor;
} pendulum_motion;

// Two independent points (q, p), each in an annulus.
static plumb_status sample_start(double *x, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    const pendulum_model *model = world->model;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameter_rng = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng style_rng = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    parameters[M1] = model->varied ? world_uniform(&parameter_rng, 0.4, 0.6) : 0.5;
    parameters[M2] = model->varied ? world_uniform(&parameter_rng, 0.4, 0.6) : 0.5;
    parameters[L1] = model->varied ? world_uniform(&parameter_rng, 0.75, 1.0) : 1.0;
    parameters[L2] = model->varied ? world_uniform(&parameter_rng, 0.75, 1.0) : 1.0;
    parameters[G] = model->varied ? world_uniform(&parameter_rng, 2.5, 4.0) : 3.0;
    particle_style_sample(parameters + OFFSET, parameters + COLOR, &model->style, &style_rng,
                          plan->colors);
    for (int i = 0; i < 2; i++) {
        double pair[2];
        world_annulus(pair, &state_rng, model->varied ? 1.0 : 1.3, model->varied ? 2.5 : 2.3,
                      model->varied);
        x[i] = pair[0];
        x[2 + i] = pair[1];
    }
    return PLUMB_OK;
}

// Taylor coefficients of the solution. In angular velocities w = dH/dp the forces are short:
// dH/dq1 = (m1 + m2) g l1 sin q1 + F and dH/dq2 = m2 g l2 sin q2 - F with F = m2 l1 l2 w1 w2 sin d
// (the derivative of the Lagrangian).
static void extend_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    const pendulum_motion *motion = system;
    const double m1 = motion->m1, m2 = motion->m2, l1 = motion->l1, l2 = motion->l2, both = m1 + m2;
    double *q1 = x[0], *q2 = x[1], *p1 = x[2], *p2 = x[3];
    double s1[TAYLOR_TERMS], c1[TAYLOR_TERMS], s2[TAYLOR_TERMS], c2[TAYLOR_TERMS];
    double sd[TAYLOR_TERMS], cd[TAYLOR_TERMS], D[TAYLOR_TERMS], ww[TAYLOR_TERMS];
    double w1[TAYLOR_TERMS], w2[TAYLOR_TERMS], wd[TAYLOR_TERMS];
    s1[0] = sin(q1[0]), c1[0] = cos(q1[0]);
    s2[0] = sin(q2[0]), c2[0] = cos(q2[0]);
    sd[0] = sin(q1[0] - q2[0]), cd[0] = cos(q1[0] - q2[0]);
    D[0] = m1 + m2 * sd[0] * sd[0];
    const double below = 1.0 / D[0], gravity1 = both * motion->g * l1,
                 gravity2 = m2 * motion->g * l2;
    const double k1 = 1.0 / (l1 * l1), k2 = both / (m2 * l2 * l2), k12 = 1.0 / (l1 * l2);
    const double twist = m2 * l1 * l2;

    for (int n = 0; n < TAYLOR_ORDER; n++) {
        double rest1 = 0.0, rest2 = 0.0;
        if (n > 0) {
            taylor_sincos(s1, c1, w1, n);
            taylor_sincos(s2, c2, w2, n);
            taylor_sincos(sd, cd, wd, n);
            D[n] = m2 * taylor_product(sd, sd, n);
            rest1 = taylor_product(D + 1, w1, n - 1);
            rest2 = taylor_product(D + 1, w2, n - 1);
        }
        // D w1 = p1 / l1^2 - cos d p2 / (l1 l2), D w2 = (m1 + m2) p2 / (m2 l2^2) - cos d p1 / (l1
        // l2)
        w1[n] = (k1 * p1[n] - k12 * taylor_product(cd, p2, n) - rest1) * below;
        w2[n] = (k2 * p2[n] - k12 * taylor_product(cd, p1, n) - rest2) * below;
        wd[n] = w1[n] - w2[n];
        ww[n] = taylor_product(w1, w2, n);
        const double force = twist * taylor_product(ww, sd, n), step = 1.0 / (n + 1);
        q1[n + 1] = w1[n] * step;
        q2[n + 1] = w2[n] * step;
        p1[n + 1] = (-gravity1 * s1[n] - force - motion->friction * w1[n]) * step;
        p2[n + 1] = (-gravity2 * s2[n] + force - motion->friction * w2[n]) * step;
    }
}

static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    const pendulum_model *model = world->model;
    pendulum_motion *motion = storage;
    motion->interval = plan->interval;
    motion->friction = model->friction;
    motion->m1 = parameters[M1], motion->m2 = parameters[M2], motion->l1 = parameters[L1],
    motion->l2 = parameters[L2], motion->g = parameters[G];
    taylor_start(&motion->taylor, extend_series, motion, 4, x, plan->interval < 0.0, false);
}

// Evaluates the Taylor solution at the time of a frame.
static void compute_phase(double *x, void *storage, int64_t frame)
{
    pendulum_motion *motion = storage;
    taylor_evaluate(x, &motion->taylor, motion->interval * (double)frame);
}

// Hamilton's equations, with friction -gamma w.
static void compute_derivative(double *out, const plumb_world *world, const double *x,
                               const double *parameters)
{
    const pendulum_model *model = world->model;
    const double m1 = parameters[M1], m2 = parameters[M2], l1 = parameters[L1], l2 = parameters[L2],
                 g = parameters[G];
    const double sd = sin(x[0] - x[1]), cd = cos(x[0] - x[1]), D = m1 + m2 * sd * sd;
    const double w1 = (l2 * x[2] - l1 * x[3] * cd) / (l1 * l1 * l2 * D);
    const double w2 = ((m1 + m2) * l1 * x[3] - m2 * l2 * x[2] * cd) / (m2 * l1 * l2 * l2 * D);
    const double force = m2 * l1 * l2 * w1 * w2 * sd;
    out[0] = w1;
    out[1] = w2;
    out[2] = -(m1 + m2) * g * l1 * sin(x[0]) - force - model->friction * w1;
    out[3] = -m2 * g * l2 * sin(x[1]) + force - model->friction * w2;
}

// H as at the top of this file.
static double compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)world;
    const double m1 = parameters[M1], m2 = parameters[M2], l1 = parameters[L1], l2 = parameters[L2],
                 g = parameters[G];
    const double sd = sin(x[0] - x[1]), cd = cos(x[0] - x[1]);
    const double above = m2 * l2 * l2 * x[2] * x[2] + (m1 + m2) * l1 * l1 * x[3] * x[3] -
                         2.0 * m2 * l1 * l2 * x[2] * x[3] * cd;
    return above / (2.0 * m2 * l1 * l1 * l2 * l2 * (m1 + m2 * sd * sd)) -
           (m1 + m2) * g * l1 * cos(x[0]) - m2 * g * l2 * cos(x[1]);
}

typedef struct pendulum_style {
    disc_style discs;
    double l1, l2;
} pendulum_style;

static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    const pendulum_model *model = world->model;
    pendulum_style *style = storage;
    particle_style_make_discs(&style->discs, &model->style, parameters + M1, parameters + OFFSET,
                              parameters + COLOR, plan);
    style->l1 = parameters[L1];
    style->l2 = parameters[L2];
}

// Positions of both masses from the two angles.
static void render_frame(uint8_t *frame, const void *storage, const double *x)
{
    const pendulum_style *style = storage;
    const double x1 = style->l1 * sin(x[0]), y1 = -style->l1 * cos(x[0]);
    const double xy[4] = {x1, y1, x1 + style->l2 * sin(x[1]), y1 - style->l2 * cos(x[1])};
    discs_draw(frame, &style->discs, xy);
}

static const plumb_world_parameter parameter_table[] = {
    {"m_1", 1, false}, {"m_2", 1, false},    {"l_1", 1, false},       {"l_2", 1, false},
    {"g", 1, false},   {"offset", 2, false}, {"color_index", 2, true}};
static const char *const state_names[] = {"q1", "q2", "p1", "p2"};
static const bool angles[] = {true, true};

// clang-format off
#define ENTRY(variable, number, title, line, is_varied, is_reversible, gamma, colors, canvas, jitter_rule) \
    const plumb_world variable = {                                                                         \
        .info = {.name = title, .summary = line, .n = 2, .canonical_n = 2, .dt = 0.05,                     \
                  .height = 32, .width = 32, .channels = 3, .reversible = is_reversible,                   \
                  .parameters = parameter_table, .parameter_count = 7,                                     \
                  .state_names = state_names,                                                              \
                  .canonical_names = state_names, .angles = angles,                                        \
                  .parameter_total = PARAMETER_TOTAL, .clips = 1},                                         \
        .id = number, .positive = 0x1f, .colored = true,                                                   \
        .model = &(const pendulum_model){{2, colors, canvas, jitter_rule}, is_varied, gamma},              \
        .motion_size = sizeof(pendulum_motion), .style_size = sizeof(pendulum_style),                      \
        .sample_start = sample_start, .begin_motion = begin_motion,                                        \
        .compute_phase = compute_phase, .compute_derivative = compute_derivative,                          \
        .compute_energy = compute_energy, .prepare_style = prepare_style,                                  \
        .render_frame = render_frame,                                                                      \
    }

// Half the side of the canvas is both arms plus the largest radius, 2 + sqrt(m / pi).
ENTRY(double_pendulum_plain, 5, "double-pendulum", "two pendulums in a chain; chaotic",
    false, true, 0.0, 2, 2.3989422804014326, PARTICLE_JITTER_NONE);
ENTRY(double_pendulum_varied, 6, "double-pendulum+c",
    "two pendulums in a chain: masses, lengths, gravity, place and colours vary",
    true, true, 0.0, 6, 2.4370193722368317, PARTICLE_JITTER_FREE);
ENTRY(double_pendulum_damped, 16, "double-pendulum+c-friction",
    "double-pendulum+c slowed by friction 0.05",
    true, false, 0.05, 6, 2.4370193722368317, PARTICLE_JITTER_FREE);
// clang-format on
