// SPDX-License-Identifier: MIT
// A mass on a spring: H = k q^2 / 2 + p^2 / (2 m), with friction dp/dt = -dH/dq - gamma dH/dp.
// The motion is written down, not integrated.
#include <math.h>

#include "worlds/render/particle_style.h"

typedef struct model {
    particle_style style;
    bool varied;
    double friction;
} model;

enum { K, M, OFFSET, COLOR = OFFSET + 2, PARAMETERS };

typedef struct motion {
    double q, p, k, m, friction, interval;
} motion;

static plumb_status begin(double *x, double *par, const plumb_world *world, const world_plan *plan,
                          uint64_t seed, int64_t item)
{
    const model *mod = world->model;
    rng state = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameters = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng look = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    par[K] = 2.0;
    par[M] = mod->varied ? world_uniform(&parameters, 0.2, 1.0) : 0.5;
    particle_style_sample(par + OFFSET, par + COLOR, &mod->style, &look, plan->colors);
    world_annulus(x, &state, 0.1, 1.0, mod->varied);
    x[1] *= sqrt(par[K] * par[M]);
    return PLUMB_OK;
}

static void start(void *to, const plumb_world *world, const double *x, const double *par,
                  const world_plan *plan)
{
    const model *mod = world->model;
    *(motion *)to = (motion){x[0], x[1], par[K], par[M], mod->friction, plan->interval};
}

static void at(double *x, void *from, int64_t frame)
{
    const motion *o = from;
    const double t = o->interval * (double)frame;
    // q'' + 2 a q' + (k / m) q = 0. C and S are the cosine and the sine over w of w t, or the
    // hyperbolic ones where friction is strong.
    const double a = o->friction / (2.0 * o->m), w2 = o->k / o->m - a * a, w = sqrt(fabs(w2));
    const double C = w2 > 0.0 ? cos(w * t) : cosh(w * t);
    const double S = w * fabs(t) < 1e-9 ? t : w2 > 0.0 ? sin(w * t) / w : sinh(w * t) / w;
    const double decay = o->friction > 0.0 ? exp(-a * t) : 1.0;
    x[0] = decay * (o->q * C + (o->p / o->m + a * o->q) * S);
    x[1] = decay * (o->p * C - (o->k * o->q + a * o->p) * S);
}

static void derivative(double *out, const plumb_world *world, const double *x, const double *par)
{
    const model *mod = world->model;
    const double velocity = x[1] / par[M];
    out[0] = velocity;
    out[1] = -par[K] * x[0] - mod->friction * velocity;
}

static double energy(const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    return 0.5 * par[K] * x[0] * x[0] + 0.5 * x[1] * x[1] / par[M];
}

static void look(void *to, const plumb_world *world, const double *par, const world_plan *plan)
{
    const model *mod = world->model;
    particle_style_picture(to, &mod->style, par + M, par + OFFSET, par + COLOR, plan);
}

static void draw(uint8_t *frame, const void *picture, const double *x)
{
    const double xy[2] = {0.0, x[0]};
    particles_draw(frame, picture, xy);
}

static const plumb_world_parameter parameters[] = {
    {"k", 1, false}, {"m", 1, false}, {"offset", 2, false}, {"color_index", 1, true}};
static const char *const names[] = {"q", "p"};
static const bool angles[] = {false};

// clang-format off
#define ROW(variable, number, title, line, forth, back, gamma, colors, canvas, shake)   \
    const plumb_world variable = {                                                      \
        .info = {.name = title, .summary = line, .n = 1, .canonical_n = 1, .dt = 0.05,  \
                  .height = 32, .width = 32, .channels = 3, .reversible = back,         \
                  .parameters = parameters, .parameter_count = 4, .state_names = names, \
                  .canonical_names = names, .angles = angles},                          \
        .id = number, .positive = 1u << K | 1u << M, .colored = true,                   \
        .model = &(const model){{1, colors, canvas, shake}, forth, gamma},              \
        .motion_size = sizeof(motion), .style_size = sizeof(particles),                 \
        .sample = begin, .start = start, .state_at = at, .derivative = derivative,      \
        .energy = energy, .style = look, .render = draw,                                \
    }

// Half a canvas: the largest amplitude and the largest radius, 1 + sqrt(m / pi).
ROW(mass_spring_plain, 1, "mass-spring", "a mass on a spring",
    false, true, 0.0, 1, 1.3989422804014326, BODIES_STILL);
ROW(mass_spring_varied, 2, "mass-spring+c", "a mass on a spring: mass, place and colour vary",
    true, true, 0.0, 6, 1.5641895835477563, BODIES_DIAGONAL);
ROW(mass_spring_damped, 14, "mass-spring+c-friction", "mass-spring+c slowed by friction 0.05",
    true, false, 0.05, 6, 1.5641895835477563, BODIES_DIAGONAL);
// clang-format on
