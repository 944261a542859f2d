// SPDX-License-Identifier: MIT
// A pendulum: H = m g l (1 - cos q) + p^2 / (2 m l^2), q from the downward vertical and never
// wrapped.
//
// Without friction S = sin(q / 2), D = cos(q / 2) and C = q' / (2 w), w^2 = g / l, obey
// S' = w C D, C' = -w S D, D' = -w S C: they are k sn, k cn and dn with k^2 = S^2 + C^2, whether
// the pendulum swings (k < 1) or turns over (k > 1). The addition theorems of Jacobi's functions
// [DLMF, 22.8] carry the initial values to any time at once. With friction the motion is
// integrated.
#include <math.h>

#include "math/elliptic.h"
#include "math/taylor.h"
#include "worlds/render/particle_style.h"

typedef struct model {
    particle_style style;
    bool varied;
    double friction;
} model;

enum { M, L, G, OFFSET, COLOR = OFFSET + 2, PARAMETERS };

typedef struct motion {
    double interval;
    double w, inertia, torque, friction; // m l^2, m g l
    double q, S, C, D;                   // at time 0
    elliptic modulus;
    taylor_solution taylor; // with friction
} motion;

static plumb_status begin(double *x, double *par, const plumb_world *world, const world_plan *plan,
                          uint64_t seed, int64_t item)
{
    const model *mod = world->model;
    rng state = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameters = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng look = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    par[M] = mod->varied ? world_uniform(&parameters, 0.5, 1.5) : 0.5;
    par[L] = mod->varied ? world_uniform(&parameters, 0.5, 1.0) : 1.0;
    par[G] = mod->varied ? world_uniform(&parameters, 3.0, 4.0) : 3.0;
    particle_style_sample(par + OFFSET, par + COLOR, &mod->style, &look, plan->colors);
    world_annulus(x, &state, 1.3, 2.3, mod->varied);
    return PLUMB_OK;
}

// q' = p / (m l^2), p' = -m g l sin q - gamma q'
static void series(double (*x)[TAYLOR_TERMS], const void *system)
{
    const motion *o = system;
    double *q = x[0], *p = x[1];
    double s[TAYLOR_TERMS], c[TAYLOR_TERMS], v[TAYLOR_TERMS];
    s[0] = sin(q[0]);
    c[0] = cos(q[0]);
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        if (n > 0) taylor_sincos(s, c, v, n);
        v[n] = p[n] / o->inertia;
        q[n + 1] = v[n] / (n + 1);
        p[n + 1] = (-o->torque * s[n] - o->friction * v[n]) / (n + 1);
    }
}

static void start(void *to, const plumb_world *world, const double *x, const double *par,
                  const world_plan *plan)
{
    const model *mod = world->model;
    motion *o = to;
    o->interval = plan->interval;
    o->w = sqrt(par[G] / par[L]);
    o->inertia = par[M] * par[L] * par[L];
    o->torque = par[M] * par[G] * par[L];
    o->friction = mod->friction;
    o->q = x[0];
    o->S = sin(0.5 * x[0]);
    o->D = cos(0.5 * x[0]);
    o->C = 0.5 * x[1] / (o->inertia * o->w);
    o->modulus = elliptic_make((o->D - o->C) * (o->D + o->C)); // 1 - k^2 = D^2 - C^2
    if (o->friction > 0.0) taylor_start(&o->taylor, series, o, 2, x, plan->interval < 0.0, false);
}

static void at(double *x, void *from, int64_t frame)
{
    motion *o = from;
    const double t = o->interval * (double)frame;
    if (o->friction > 0.0) {
        taylor_evaluate(x, &o->taylor, t);
        return;
    }
    const double u = o->w * t;
    double f[3];
    elliptic_sncndn(f, &o->modulus, u);
    const double s = f[0], c = f[1], d = f[2], below = 1.0 - s * s * o->S * o->S;
    const double S = (s * o->C * o->D + o->S * c * d) / below;
    const double C = (c * o->C - s * d * o->S * o->D) / below;
    const double D = (d * o->D - s * c * o->S * o->C) / below;

    // How far q / 2 has turned, up to whole turns. Swinging, it stays within half a turn. Turning
    // over, it keeps within half a turn of the mean rotation.
    double turned = atan2(S * o->D - D * o->S, D * o->D + S * o->S);
    if (o->modulus.stretch > 1.0) {
        const double turn = 0x1.921fb54442d18p+2;
        const double mean = copysign(u * o->modulus.stretch * o->modulus.mean, o->C * u);
        turned += turn * rint((mean - turned) / turn);
    }
    x[0] = o->q + 2.0 * turned;
    x[1] = 2.0 * o->w * o->inertia * C;
}

static void derivative(double *out, const plumb_world *world, const double *x, const double *par)
{
    const model *mod = world->model;
    const double velocity = x[1] / (par[M] * par[L] * par[L]);
    out[0] = velocity;
    out[1] = -par[M] * par[G] * par[L] * sin(x[0]) - mod->friction * velocity;
}

static double energy(const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    const double half = sin(0.5 * x[0]); // 1 - cos q = 2 sin^2(q / 2) loses nothing near 0
    return 2.0 * par[M] * par[G] * par[L] * half * half +
           0.5 * x[1] * x[1] / (par[M] * par[L] * par[L]);
}

typedef struct picture {
    particles particles;
    double length;
} picture;

static void look(void *to, const plumb_world *world, const double *par, const world_plan *plan)
{
    const model *mod = world->model;
    picture *p = to;
    particle_style_picture(&p->particles, &mod->style, par + M, par + OFFSET, par + COLOR, plan);
    p->length = par[L];
}

static void draw(uint8_t *frame, const void *from, const double *x)
{
    const picture *p = from;
    const double xy[2] = {p->length * sin(x[0]), -p->length * cos(x[0])};
    particles_draw(frame, &p->particles, xy);
}

static const plumb_world_parameter parameters[] = {{"m", 1, false},
                                                   {"l", 1, false},
                                                   {"g", 1, false},
                                                   {"offset", 2, false},
                                                   {"color_index", 1, true}};
static const char *const names[] = {"q", "p"};
static const bool angles[] = {true};

// clang-format off
#define ROW(variable, number, title, line, forth, back, gamma, colors, canvas, shake)   \
    const plumb_world variable = {                                                      \
        .info = {.name = title, .summary = line, .n = 1, .canonical_n = 1, .dt = 0.05,  \
                  .height = 32, .width = 32, .channels = 3, .reversible = back,         \
                  .parameters = parameters, .parameter_count = 5, .state_names = names, \
                  .canonical_names = names, .angles = angles},                          \
        .id = number, .positive = 1u << M | 1u << L | 1u << G, .colored = true,         \
        .model = &(const model){{1, colors, canvas, shake}, forth, gamma},              \
        .motion_size = sizeof(motion), .style_size = sizeof(picture),                   \
        .sample = begin, .start = start, .state_at = at, .derivative = derivative,      \
        .energy = energy, .style = look, .render = draw,                                \
    }

// Half a canvas: the longest arm and the largest radius, 1 + sqrt(m / pi).
ROW(pendulum_plain, 3, "pendulum", "a pendulum; a third of them turn over",
    false, true, 0.0, 1, 1.3989422804014326, BODIES_STILL);
ROW(pendulum_varied, 4, "pendulum+c", "a pendulum: mass, length, gravity, place and colour vary",
    true, true, 0.0, 6, 1.6909882989426712, BODIES_FREE);
ROW(pendulum_damped, 15, "pendulum+c-friction", "pendulum+c slowed by friction 0.05",
    true, false, 0.05, 6, 1.6909882989426712, BODIES_FREE);
// clang-format on
