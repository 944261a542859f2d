// SPDX-License-Identifier: MIT
// Two bodies under gravity in a plane: H = |p1|^2 / (2 m1) + |p2|^2 / (2 m2) - g m1 m2 / |q1 - q2|,
// without softening.
//
// The centre of mass moves straight on; the relative motion is Kepler's, bound or not, solved at
// any time in universal variables [Wisdom15]: G_n(s) = s^n (1/n! - b s^2/(n+2)! + ...), b = 2 mu/r
// - v^2.
#include <math.h>

#include "base/status.h"
#include "worlds/render/particle_style.h"

typedef struct model {
    particle_style style;
    bool varied;
} model;

enum { MASS, G = MASS + 2, OFFSET, COLOR = OFFSET + 2, PARAMETERS = COLOR + 2 };

static const double turn = 0x1.921fb54442d18p+2;

typedef struct kepler {
    double x[2], v[2]; // at time 0
    double r, eta;     // |x|, x . v
    double mu, beta, zeta;
    double period; // infinite if unbound
} kepler;

static kepler kepler_of(const double x[2], const double v[2], double mu)
{
    kepler k = {.x = {x[0], x[1]}, .v = {v[0], v[1]}, .mu = mu};
    k.r = sqrt(x[0] * x[0] + x[1] * x[1]);
    k.eta = x[0] * v[0] + x[1] * v[1];
    k.beta = 2.0 * mu / k.r - (v[0] * v[0] + v[1] * v[1]);
    k.zeta = mu - k.beta * k.r;
    k.period = k.beta > 0.0 ? turn * mu / (k.beta * sqrt(k.beta)) : (double)INFINITY;
    return k;
}

// G_0 .. G_3 of s. Near zero the series, so that G_2 and G_3 do not drown in a difference.
static void universal(double out[4], double beta, double s)
{
    const double z = beta * s * s;
    double c2, c3;
    if (fabs(z) < 0.5) {
        c2 = 1.0, c3 = 1.0;
        for (int n = 20; n >= 2; n -= 2) {
            c2 = 1.0 - c2 * z / ((n + 1) * (n + 2));
            c3 = 1.0 - c3 * z / ((n + 2) * (n + 3));
        }
        c2 /= 2.0;
        c3 /= 6.0;
    } else if (z > 0.0) {
        const double u = sqrt(z), half = sin(0.5 * u);
        c2 = 2.0 * half * half / z;
        c3 = (u - sin(u)) / (z * u);
    } else {
        const double u = sqrt(-z), half = sinh(0.5 * u);
        c2 = -2.0 * half * half / z;
        c3 = (u - sinh(u)) / (z * u);
    }
    out[2] = s * s * c2;
    out[3] = s * s * s * c3;
    out[1] = s - beta * out[3];
    out[0] = 1.0 - beta * out[2];
}

// Kepler's equation r G1 + eta G2 + mu G3 = t for s, by Laguerre's method of degree 5 [Conway86],
// which converges from any start; the last step is Newton's.
static double solve(double g[4], const kepler *k, double t)
{
    double s;
    if (k->beta > 0.0) s = t * k->beta / k->mu; // the mean anomaly for the eccentric one
    else s = t / k->r;
    if (!(k->beta > 0.0) &&
        fabs(t) > k->r * sqrt(k->r / k->mu)) // far out it grows like the cube root
        s = copysign(fmin(fabs(s), cbrt(6.0 * fabs(t) / k->mu)), t);
    for (int i = 0; i < 50; i++) {
        universal(g, k->beta, s);
        const double f = k->r * g[1] + k->eta * g[2] + k->mu * g[3] - t;
        const double df = k->r * g[0] + k->eta * g[1] + k->mu * g[2]; // the distance: positive
        const double ddf = k->eta * g[0] + k->zeta * g[1];
        const double root = sqrt(fabs(16.0 * df * df - 20.0 * f * ddf));
        const double step = fabs(f) < 1e-5 * df * fabs(s) ? f / df : 5.0 * f / (df + root);
        s -= step;
        if (fabs(step) <= 1e-9 * fabs(s)) { // the step just made leaves the square of that
            universal(g, k->beta, s);
            break;
        }
    }
    return s;
}

static void kepler_at(double x[2], double v[2], const kepler *k, double t)
{
    if (isfinite(k->period)) t = remainder(t, k->period);
    double g[4];
    solve(g, k, t);
    // Once more along the line of Newton, without new functions: what is left of the error in
    // time moves s by error / r, and G_n by G_(n-1) times that.
    double r = k->r * g[0] + k->eta * g[1] + k->mu * g[2];
    const double slip = (k->r * g[1] + k->eta * g[2] + k->mu * g[3] - t) / r;
    g[3] -= slip * g[2];
    g[2] -= slip * g[1];
    g[1] -= slip * g[0];
    g[0] = 1.0 - k->beta * g[2];
    r = k->r * g[0] + k->eta * g[1] + k->mu * g[2];
    const double f = 1.0 - k->mu * g[2] / k->r, h = k->r * g[1] + k->eta * g[2];
    const double df = -k->mu * g[1] / (r * k->r), dh = 1.0 - k->mu * g[2] / r;
    for (int i = 0; i < 2; i++) {
        x[i] = f * k->x[i] + h * k->v[i];
        v[i] = df * k->x[i] + dh * k->v[i];
    }
}

typedef struct motion {
    double m1, m2, interval;
    double center[2], drift[2]; // of the centre of mass
    kepler kepler;
} motion;

static void start(void *to, const plumb_world *world, const double *x, const double *par,
                  const world_plan *plan)
{
    (void)world;
    motion *o = to;
    const double m1 = par[MASS], m2 = par[MASS + 1], M = m1 + m2;
    double r[2], v[2];
    o->m1 = m1;
    o->m2 = m2;
    o->interval = plan->interval;
    for (int i = 0; i < 2; i++) {
        o->center[i] = (m1 * x[i] + m2 * x[2 + i]) / M;
        o->drift[i] = (x[4 + i] + x[6 + i]) / M;
        r[i] = x[i] - x[2 + i];
        v[i] = x[4 + i] / m1 - x[6 + i] / m2;
    }
    o->kepler = kepler_of(r, v, par[G] * M);
}

static void at_time(double *x, const motion *o, double t)
{
    const double M = o->m1 + o->m2;
    double r[2], v[2];
    kepler_at(r, v, &o->kepler, t);
    for (int i = 0; i < 2; i++) {
        const double center = o->center[i] + o->drift[i] * t, p = o->m1 * o->m2 / M * v[i];
        x[i] = center + o->m2 / M * r[i];
        x[2 + i] = center - o->m1 / M * r[i];
        x[4 + i] = o->m1 * o->drift[i] + p;
        x[6 + i] = o->m2 * o->drift[i] - p;
    }
}

static void at(double *x, void *from, int64_t frame)
{
    const motion *o = from;
    at_time(x, o, o->interval * (double)frame);
}

static double farthest(const double *x)
{
    return fmax(fmax(fabs(x[0]), fabs(x[1])), fmax(fabs(x[2]), fabs(x[3])));
}

// Does a centre leave the canvas at a frame, or at one of the nine moments between two that the
// published generator looks at? Frames too far inside to reach the edge before the next are not
// looked at so closely.
static bool leaves(const motion *o, double half, int64_t frames)
{
    const kepler *k = &o->kepler;
    // Fastest at the nearest point: v = h / r_min, r_min = h^2 / (mu (1 + e)), for either body
    // less.
    const double h = k->x[0] * k->v[1] - k->x[1] * k->v[0];
    const double e = sqrt(fmax(0.0, 1.0 - k->beta * h * h / (k->mu * k->mu)));
    const double fastest = k->mu * (1.0 + e) / fabs(h) + fabs(o->drift[0]) + fabs(o->drift[1]);
    const double margin = fastest * fabs(o->interval);
    double x[8];
    for (int64_t t = 0; t < frames; t++) {
        at_time(x, o, o->interval * (double)t);
        const double far = farthest(x);
        if (far > half) return true;
        if (far + margin <= half || t + 1 == frames) continue;
        for (int part = 1; part < 10; part++) {
            at_time(x, o, o->interval * ((double)t + 0.1 * part));
            if (farthest(x) > half) return true;
        }
    }
    return false;
}

// Momenta for a circle if masses and g are 1, whatever they are [Botev21].
static void draw_state(double *x, rng *r)
{
    const double s = world_uniform(r, 0.5, 1.5), t = world_uniform(r, 0.5, 1.5);
    const double radius = sqrt(s * s + t * t), speed = 0.5 / (radius * sqrt(radius));
    x[0] = s, x[1] = t, x[2] = -s, x[3] = -t;
    x[4] = t * speed, x[5] = -s * speed, x[6] = -x[4], x[7] = -x[5];
}

static plumb_status begin(double *x, double *par, const plumb_world *world, const world_plan *plan,
                          uint64_t seed, int64_t item)
{
    const model *mod = world->model;
    rng state = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameters = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng look = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    particle_style_sample(par + OFFSET, par + COLOR, &mod->style, &look, plan->colors);
    par[MASS] = par[MASS + 1] = par[G] = 1.0;
    if (!mod->varied) {
        draw_state(x, &state);
        return PLUMB_OK;
    }
    // Thrown away, parameters and all, if it leaves the canvas. So the longer the trajectory, the
    // fewer wide orbits.
    for (int attempt = 0; attempt < 10000; attempt++) {
        draw_state(x, &state);
        for (int i = 0; i < 3; i++) par[MASS + i] = world_uniform(&parameters, 0.5, 1.5);
        motion o;
        start(&o, world, x, par, plan);
        if (!leaves(&o, mod->style.half, plan->reject_steps)) return PLUMB_OK;
    }
    return fail(PLUMB_EVALUE, "%s: no orbit stays on the canvas for %lld frames of %g",
                world->info.name, (long long)plan->reject_steps, plan->interval);
}

static void derivative(double *out, const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    const double m1 = par[MASS], m2 = par[MASS + 1], dx = x[0] - x[2], dy = x[1] - x[3];
    const double r = sqrt(dx * dx + dy * dy), pull = par[G] * m1 * m2 / (r * r * r);
    out[0] = x[4] / m1, out[1] = x[5] / m1, out[2] = x[6] / m2, out[3] = x[7] / m2;
    out[4] = -pull * dx, out[5] = -pull * dy, out[6] = pull * dx, out[7] = pull * dy;
}

static double energy(const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    const double m1 = par[MASS], m2 = par[MASS + 1], dx = x[0] - x[2], dy = x[1] - x[3];
    return (x[4] * x[4] + x[5] * x[5]) / (2.0 * m1) + (x[6] * x[6] + x[7] * x[7]) / (2.0 * m2) -
           par[G] * m1 * m2 / sqrt(dx * dx + dy * dy);
}

// Relative position and its momentum. The centre of mass does not move in these worlds, so this is
// all there is.
static void canonical(double *out, const plumb_world *world, const double *x, const double *par)
{
    (void)world;
    const double m1 = par[MASS], m2 = par[MASS + 1], M = m1 + m2;
    for (int i = 0; i < 2; i++) {
        out[i] = x[i] - x[2 + i];
        out[2 + i] = (m2 * x[4 + i] - m1 * x[6 + i]) / M;
    }
}

static void look(void *to, const plumb_world *world, const double *par, const world_plan *plan)
{
    const model *mod = world->model;
    particle_style_picture(to, &mod->style, par + MASS, par + OFFSET, par + COLOR, plan);
}

static void draw(uint8_t *frame, const void *picture, const double *x)
{
    particles_draw(frame, picture, x);
}

static const plumb_world_parameter parameters[] = {
    {"m", 2, false}, {"g", 1, false}, {"offset", 2, false}, {"color_index", 2, true}};
static const char *const names[] = {"x1", "y1", "x2", "y2", "px1", "py1", "px2", "py2"};
static const char *const canonical_names[] = {"x", "y", "px", "py"};
static const bool angles[] = {false, false};

// clang-format off
#define ROW(variable, number, title, line, forth, colors, canvas)                       \
    const plumb_world variable = {                                                      \
        .info = {.name = title, .summary = line, .n = 4, .canonical_n = 2, .dt = 0.05,  \
                  .height = 32, .width = 32, .channels = 3, .reversible = true,         \
                  .parameters = parameters, .parameter_count = 4, .state_names = names, \
                  .canonical_names = canonical_names, .angles = angles},                \
        .id = number, .positive = 7, .colored = true,                                   \
        .model = &(const model){{2, colors, canvas, BODIES_STILL}, forth},              \
        .motion_size = sizeof(motion), .style_size = sizeof(particles),                 \
        .sample = begin, .start = start, .state_at = at, .derivative = derivative,      \
        .energy = energy, .canonical = canonical, .style = look, .render = draw,        \
    }

ROW(two_body_plain, 7, "two-body", "two equal bodies circling each other", false, 2, 2.75);
ROW(two_body_varied, 8, "two-body+c",
    "two bodies on ellipses about each other: masses, gravity and colours vary", true, 6, 5.0);
// clang-format on
