// SPDX-License-Identifier: MIT
// A mass on a spring: H = k q^2 / 2 + p^2 / (2 m), with friction dp/dt = -dH/dq - gamma dH/dp.
// The solution is in closed form; nothing is integrated.
#include <math.h>

#include "worlds/render/particle_style.h"

typedef struct spring_model {
    particle_style style;
    bool varied;
    double friction;
} spring_model;

enum { K, M, OFFSET, COLOR = OFFSET + 2, PARAMETER_TOTAL };

typedef struct spring_motion {
    double q, p, k, m, friction, interval;
} spring_motion;

// Samples m, offset and colour, and (q, p) on an ellipse of constant energy.
static plumb_status sample_start(double *x, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    const spring_model *model = world->model;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameter_rng = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng style_rng = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    parameters[K] = 2.0;
    parameters[M] = model->varied ? world_uniform(&parameter_rng, 0.2, 1.0) : 0.5;
    particle_style_sample(parameters + OFFSET, parameters + COLOR, &model->style, &style_rng,
                          plan->colors);
    world_annulus(x, &state_rng, 0.1, 1.0, model->varied);
    x[1] *= sqrt(parameters[K] * parameters[M]);
    return PLUMB_OK;
}

static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    const spring_model *model = world->model;
    *(spring_motion *)storage =
        (spring_motion){x[0], x[1], parameters[K], parameters[M], model->friction, plan->interval};
}

// Closed form of the damped oscillator.
static void compute_phase(double *x, void *storage, int64_t frame)
{
    const spring_motion *motion = storage;
    const double t = motion->interval * (double)frame;
    // q'' + 2 a q' + (k / m) q = 0. C = cos(w t) and S = sin(w t) / w, or the hyperbolic functions
    // if the motion is overdamped.
    const double a = motion->friction / (2.0 * motion->m), w2 = motion->k / motion->m - a * a,
                 w = sqrt(fabs(w2));
    const double C = w2 > 0.0 ? cos(w * t) : cosh(w * t);
    const double S = w * fabs(t) < 1e-9 ? t : w2 > 0.0 ? sin(w * t) / w : sinh(w * t) / w;
    const double decay = motion->friction > 0.0 ? exp(-a * t) : 1.0;
    x[0] = decay * (motion->q * C + (motion->p / motion->m + a * motion->q) * S);
    x[1] = decay * (motion->p * C - (motion->k * motion->q + a * motion->p) * S);
}

// q' = p / m, p' = -k q - gamma q'.
static void compute_derivative(double *out, const plumb_world *world, const double *x,
                               const double *parameters)
{
    const spring_model *model = world->model;
    const double velocity = x[1] / parameters[M];
    out[0] = velocity;
    out[1] = -parameters[K] * x[0] - model->friction * velocity;
}

// H = k q^2 / 2 + p^2 / (2 m).
static double compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)world;
    return 0.5 * parameters[K] * x[0] * x[0] + 0.5 * x[1] * x[1] / parameters[M];
}

static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    const spring_model *model = world->model;
    particle_style_make_discs(storage, &model->style, parameters + M, parameters + OFFSET,
                              parameters + COLOR, plan);
}

// The mass moves on the y axis.
static void render_frame(uint8_t *frame, const void *style, const double *x)
{
    const double xy[2] = {0.0, x[0]};
    discs_draw(frame, style, xy);
}

static const plumb_world_parameter parameter_table[] = {
    {"k", 1, false}, {"m", 1, false}, {"offset", 2, false}, {"color_index", 1, true}};
static const char *const state_names[] = {"q", "p"};
static const bool angles[] = {false};

// clang-format off
#define ENTRY(variable, number, title, line, is_varied, is_reversible, gamma, colors, canvas, jitter_rule) \
    const plumb_world variable = {                                                                         \
        .info = {.name = title, .summary = line, .n = 1, .canonical_n = 1, .dt = 0.05,                     \
                  .height = 32, .width = 32, .channels = 3, .reversible = is_reversible,                   \
                  .parameters = parameter_table, .parameter_count = 4,                                     \
                  .state_names = state_names,                                                              \
                  .canonical_names = state_names, .angles = angles,                                        \
                  .parameter_total = PARAMETER_TOTAL, .clips = 1},                                         \
        .id = number, .positive = 1u << K | 1u << M, .colored = true,                                      \
        .model = &(const spring_model){{1, colors, canvas, jitter_rule}, is_varied, gamma},                \
        .motion_size = sizeof(spring_motion), .style_size = sizeof(disc_style),                            \
        .sample_start = sample_start, .begin_motion = begin_motion,                                        \
        .compute_phase = compute_phase, .compute_derivative = compute_derivative,                          \
        .compute_energy = compute_energy, .prepare_style = prepare_style,                                  \
        .render_frame = render_frame,                                                                      \
    }

// Half the side of the canvas is the largest amplitude plus the largest radius, 1 + sqrt(m / pi).
ENTRY(mass_spring_plain, 1, "mass-spring", "a mass on a spring",
    false, true, 0.0, 1, 1.3989422804014326, PARTICLE_JITTER_NONE);
ENTRY(mass_spring_varied, 2, "mass-spring+c", "a mass on a spring: mass, place and colour vary",
    true, true, 0.0, 6, 1.5641895835477563, PARTICLE_JITTER_DIAGONAL);
ENTRY(mass_spring_damped, 14, "mass-spring+c-friction", "mass-spring+c slowed by friction 0.05",
    true, false, 0.05, 6, 1.5641895835477563, PARTICLE_JITTER_DIAGONAL);
// clang-format on
