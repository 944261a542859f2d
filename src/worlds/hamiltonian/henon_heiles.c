// SPDX-License-Identifier: MIT
// The system of Henon and Heiles [Henon64], a mass in a plane whose motion becomes chaotic as its
// energy grows: H = (px^2 + py^2) / 2 + (x^2 + y^2) / 2 + x^2 y - y^3 / 3. Below 1/6 the mass stays
// in a triangle. Three worlds differ in the range of energies alone. Integrated to rounding error
// by Taylor series.
#include <math.h>

#include "math/taylor.h"
#include "worlds/render/particle_style.h"

typedef struct henon_model {
    particle_style style;
    double low, high; // range of energies
} henon_model;

enum { OFFSET, COLOR = OFFSET + 2, PARAMETER_TOTAL };

typedef struct henon_motion {
    double interval;
    taylor_solution taylor;
} henon_motion;

static double potential(double x, double y)
{
    return 0.5 * (x * x + y * y) + x * x * y - y * y * y / 3.0;
}

// A uniform energy, a place where the potential is below it, and any direction.
static plumb_status sample_start(double *x, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    const henon_model *model = world->model;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng style_rng = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    particle_style_sample(parameters + OFFSET, parameters + COLOR, &model->style, &style_rng,
                          plan->colors);
    const double energy = world_uniform(&state_rng, model->low, model->high);
    const double side = sqrt(3.0);
    double left;
    // Outside of the triangle the potential falls without bound.
    do {
        x[0] = world_uniform(&state_rng, -0.5 * side, 0.5 * side);
        x[1] = world_uniform(&state_rng, -0.5, 1.0);
        left = energy - potential(x[0], x[1]);
    } while (left < 0.0 || side * fabs(x[0]) + x[1] > 1.0);
    const double angle = world_uniform(&state_rng, 0.0, 6.283185307179586);
    x[2] = sqrt(2.0 * left) * cos(angle);
    x[3] = sqrt(2.0 * left) * sin(angle);
    return PLUMB_OK;
}

// x'' = -x - 2 x y and y'' = -y - x^2 + y^2, term by term.
static void extend_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    (void)system;
    double *q1 = x[0], *q2 = x[1], *p1 = x[2], *p2 = x[3];
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        const double step = 1.0 / (n + 1);
        const double squares = taylor_product(q1, q1, n) - taylor_product(q2, q2, n);
        q1[n + 1] = p1[n] * step;
        q2[n + 1] = p2[n] * step;
        p1[n + 1] = (-q1[n] - 2.0 * taylor_product(q1, q2, n)) * step;
        p2[n + 1] = (-q2[n] - squares) * step;
    }
}

static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    (void)world, (void)parameters;
    henon_motion *motion = storage;
    motion->interval = plan->interval;
    taylor_start(&motion->taylor, extend_series, motion, 4, x, plan->interval < 0.0, false);
}

static void compute_phase(double *x, void *storage, int64_t frame)
{
    henon_motion *motion = storage;
    taylor_evaluate(x, &motion->taylor, motion->interval * (double)frame);
}

// Hamilton's equations.
static void compute_derivative(double *out, const plumb_world *world, const double *x,
                               const double *parameters)
{
    (void)world, (void)parameters;
    out[0] = x[2];
    out[1] = x[3];
    out[2] = -x[0] - 2.0 * x[0] * x[1];
    out[3] = -x[1] - x[0] * x[0] + x[1] * x[1];
}

static double compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)world, (void)parameters;
    return 0.5 * (x[2] * x[2] + x[3] * x[3]) + potential(x[0], x[1]);
}

// The disc has the size of a mass of 0.15 in the other worlds.
static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    const henon_model *model = world->model;
    const double size = 0.15;
    particle_style_make_discs(storage, &model->style, &size, parameters + OFFSET,
                              parameters + COLOR, plan);
}

static void render_frame(uint8_t *frame, const void *style, const double *x)
{
    const double xy[2] = {x[0], x[1]};
    discs_draw(frame, style, xy);
}

static const plumb_world_parameter parameter_table[] = {{"offset", 2, false},
                                                        {"color_index", 1, true}};
static const char *const state_names[] = {"x", "y", "px", "py"};
static const bool angles[] = {false, false};

// clang-format off
#define ENTRY(variable, number, title, line, from, to)                                        \
    const plumb_world variable = {                                                            \
        .info = {.name = title, .summary = line, .n = 2, .canonical_n = 2, .dt = 0.1,         \
                  .height = 32, .width = 32, .channels = 3, .reversible = true,               \
                  .parameters = parameter_table, .parameter_count = 2,                        \
                  .state_names = state_names,                                                 \
                  .canonical_names = state_names, .angles = angles,                           \
                  .parameter_total = PARAMETER_TOTAL, .clips = 1},                            \
        .id = number, .colored = true,                                                        \
        .model = &(const henon_model){{1, 1, 1.2185, PARTICLE_JITTER_NONE}, from, to},        \
        .motion_size = sizeof(henon_motion), .style_size = sizeof(disc_style),                \
        .sample_start = sample_start, .begin_motion = begin_motion,                           \
        .compute_phase = compute_phase, .compute_derivative = compute_derivative,             \
        .compute_energy = compute_energy, .prepare_style = prepare_style,                     \
        .render_frame = render_frame,                                                         \
    }

// Nearly all motion below 1/12 is regular; half of it at 1/8, nearly none at 1/6.
ENTRY(henon_heiles_low, 24, "henon-heiles-low", "a mass in a triangular valley, energy 1/24 to 1/12; regular",
    1.0 / 24.0, 1.0 / 12.0);
ENTRY(henon_heiles_middle, 25, "henon-heiles-middle", "the same, energy 1/12 to 1/8; partly chaotic",
    1.0 / 12.0, 1.0 / 8.0);
ENTRY(henon_heiles_high, 26, "henon-heiles-high", "the same, energy 1/8 to 0.165; chaotic",
    1.0 / 8.0, 0.165);
// clang-format on
