// SPDX-License-Identifier: MIT
// Two bodies under gravity in a plane: H = |p1|^2 / (2 m1) + |p2|^2 / (2 m2) - g m1 m2 / |q1 - q2|,
// without softening.
//
// The centre of mass moves on a straight line. The relative motion is a Kepler orbit, bound or not,
// solved at any time in universal variables [Wisdom15]:
// G_n(s) = s^n (1/n! - b s^2/(n+2)! + ...), b = 2 mu/r - v^2.
#include <math.h>

#include "base/status.h"
#include "worlds/render/particle_style.h"

typedef struct body_model {
    particle_style style;
    bool varied;
} body_model;

enum { MASS, G = MASS + 2, OFFSET, COLOR = OFFSET + 2, PARAMETER_TOTAL = COLOR + 2 };

static const double full_turn = 0x1.921fb54442d18p+2;

typedef struct kepler_orbit {
    double x[2], v[2]; // at time 0
    double r, eta;     // |x|, x . v
    double mu, beta, zeta;
    double period; // infinite if unbound
} kepler_orbit;

// Constants of the relative motion: r = |x|, eta = x . v, beta = 2 mu / r - v^2, zeta = mu - beta
// r.
static kepler_orbit make_kepler(const double x[2], const double v[2], double mu)
{
    kepler_orbit orbit = {.x = {x[0], x[1]}, .v = {v[0], v[1]}, .mu = mu};
    orbit.r = sqrt(x[0] * x[0] + x[1] * x[1]);
    orbit.eta = x[0] * v[0] + x[1] * v[1];
    orbit.beta = 2.0 * mu / orbit.r - (v[0] * v[0] + v[1] * v[1]);
    orbit.zeta = mu - orbit.beta * orbit.r;
    orbit.period =
        orbit.beta > 0.0 ? full_turn * mu / (orbit.beta * sqrt(orbit.beta)) : (double)INFINITY;
    return orbit;
}

// G_0 to G_3 of s. Near zero by their series, because the closed forms of G_2 and G_3 cancel there.
static void compute_universal(double out[4], double beta, double s)
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

// Solves Kepler's equation r G1 + eta G2 + mu G3 = t for s by Laguerre's method of degree 5
// [Conway86], which converges from any start. The last step is Newton's.
static double solve_kepler(double g[4], const kepler_orbit *orbit, double t)
{
    double s;
    if (orbit->beta > 0.0) s = t * orbit->beta / orbit->mu; // first guess: the mean anomaly
    else s = t / orbit->r;
    if (!(orbit->beta > 0.0) &&
        fabs(t) > orbit->r * sqrt(orbit->r / orbit->mu)) // far out s grows like the cube root
        s = copysign(fmin(fabs(s), cbrt(6.0 * fabs(t) / orbit->mu)), t);
    for (int i = 0; i < 50; i++) {
        compute_universal(g, orbit->beta, s);
        const double f = orbit->r * g[1] + orbit->eta * g[2] + orbit->mu * g[3] - t;
        const double df =
            orbit->r * g[0] + orbit->eta * g[1] + orbit->mu * g[2]; // the distance, positive
        const double ddf = orbit->eta * g[0] + orbit->zeta * g[1];
        const double root = sqrt(fabs(16.0 * df * df - 20.0 * f * ddf));
        const double step = fabs(f) < 1e-5 * df * fabs(s) ? f / df : 5.0 * f / (df + root);
        s -= step;
        if (fabs(step) <= 1e-9 * fabs(s)) { // the error left is the square of that
            compute_universal(g, orbit->beta, s);
            break;
        }
    }
    return s;
}

// Position and velocity at time t by the Gauss functions f, h: x(t) = f x + h v.
static void compute_kepler(double x[2], double v[2], const kepler_orbit *orbit, double t)
{
    if (isfinite(orbit->period)) t = remainder(t, orbit->period);
    double g[4];
    solve_kepler(g, orbit, t);
    // One more Newton step without new function values: the remaining error in time changes s by
    // error / r, and G_n by G_(n-1) times that.
    double r = orbit->r * g[0] + orbit->eta * g[1] + orbit->mu * g[2];
    const double slip = (orbit->r * g[1] + orbit->eta * g[2] + orbit->mu * g[3] - t) / r;
    g[3] -= slip * g[2];
    g[2] -= slip * g[1];
    g[1] -= slip * g[0];
    g[0] = 1.0 - orbit->beta * g[2];
    r = orbit->r * g[0] + orbit->eta * g[1] + orbit->mu * g[2];
    const double f = 1.0 - orbit->mu * g[2] / orbit->r, h = orbit->r * g[1] + orbit->eta * g[2];
    const double df = -orbit->mu * g[1] / (r * orbit->r), dh = 1.0 - orbit->mu * g[2] / r;
    for (int i = 0; i < 2; i++) {
        x[i] = f * orbit->x[i] + h * orbit->v[i];
        v[i] = df * orbit->x[i] + dh * orbit->v[i];
    }
}

typedef struct body_motion {
    double m1, m2, interval;
    double center[2], drift[2]; // of the centre of mass
    kepler_orbit orbit;
} body_motion;

// Splits the state into the centre of mass and the relative motion.
static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    (void)world;
    body_motion *motion = storage;
    const double m1 = parameters[MASS], m2 = parameters[MASS + 1], M = m1 + m2;
    double r[2], v[2];
    motion->m1 = m1;
    motion->m2 = m2;
    motion->interval = plan->interval;
    for (int i = 0; i < 2; i++) {
        motion->center[i] = (m1 * x[i] + m2 * x[2 + i]) / M;
        motion->drift[i] = (x[4 + i] + x[6 + i]) / M;
        r[i] = x[i] - x[2 + i];
        v[i] = x[4 + i] / m1 - x[6 + i] / m2;
    }
    motion->orbit = make_kepler(r, v, parameters[G] * M);
}

// Joins the centre of mass and the relative motion.
static void compute_at_time(double *x, const body_motion *motion, double t)
{
    const double M = motion->m1 + motion->m2;
    double r[2], v[2];
    compute_kepler(r, v, &motion->orbit, t);
    for (int i = 0; i < 2; i++) {
        const double center = motion->center[i] + motion->drift[i] * t,
                     p = motion->m1 * motion->m2 / M * v[i];
        x[i] = center + motion->m2 / M * r[i];
        x[2 + i] = center - motion->m1 / M * r[i];
        x[4 + i] = motion->m1 * motion->drift[i] + p;
        x[6 + i] = motion->m2 * motion->drift[i] - p;
    }
}

static void compute_phase(double *x, void *storage, int64_t frame)
{
    const body_motion *motion = storage;
    compute_at_time(x, motion, motion->interval * (double)frame);
}

// Largest coordinate of both bodies.
static double get_farthest(const double *x)
{
    return fmax(fmax(fabs(x[0]), fabs(x[1])), fmax(fabs(x[2]), fabs(x[3])));
}

// True if a body leaves the canvas at a frame, or at one of the nine times between two frames that
// the generator of [Botev21] checks. If the edge cannot be reached before the next frame, the nine
// times are skipped.
static bool leaves_canvas(const body_motion *motion, double half, int64_t frames)
{
    const kepler_orbit *orbit = &motion->orbit;
    // Upper bound of the speed: at the nearest point v = h / r_min with r_min = h^2 / (mu (1 + e)).
    const double h = orbit->x[0] * orbit->v[1] - orbit->x[1] * orbit->v[0];
    const double e = sqrt(fmax(0.0, 1.0 - orbit->beta * h * h / (orbit->mu * orbit->mu)));
    const double fastest =
        orbit->mu * (1.0 + e) / fabs(h) + fabs(motion->drift[0]) + fabs(motion->drift[1]);
    const double margin = fastest * fabs(motion->interval);
    double x[8];
    for (int64_t t = 0; t < frames; t++) {
        compute_at_time(x, motion, motion->interval * (double)t);
        const double far = get_farthest(x);
        if (far > half) return true;
        if (far + margin <= half || t + 1 == frames) continue;
        for (int part = 1; part < 10; part++) {
            compute_at_time(x, motion, motion->interval * ((double)t + 0.1 * part));
            if (get_farthest(x) > half) return true;
        }
    }
    return false;
}

// Momenta of a circular orbit for masses and g of 1, used for all masses [Botev21].
static void sample_state(double *x, rng *random)
{
    const double s = world_uniform(random, 0.5, 1.5), t = world_uniform(random, 0.5, 1.5);
    const double radius = sqrt(s * s + t * t), speed = 0.5 / (radius * sqrt(radius));
    x[0] = s, x[1] = t, x[2] = -s, x[3] = -t;
    x[4] = t * speed, x[5] = -s * speed, x[6] = -x[4], x[7] = -x[5];
}

// White bodies are told apart by where they start.
static void number_white(double *parameters, const double *x, const world_plan *plan)
{
    if (plan->colors != PLUMB_WORLD_COLORS_WHITE) return;
    parameters[COLOR] = x[0] > x[2] ? 1.0 : 0.0;
    parameters[COLOR + 1] = 1.0 - parameters[COLOR];
}

// Samples masses and g in the varied world, and rejects orbits that leave the canvas.
static plumb_status sample_start(double *x, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    const body_model *model = world->model;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng parameter_rng = world_rng(world, seed, item, WORLD_STREAM_PARAMETERS);
    rng style_rng = world_rng(world, seed, item, WORLD_STREAM_STYLE);
    particle_style_sample(parameters + OFFSET, parameters + COLOR, &model->style, &style_rng,
                          plan->colors);
    parameters[MASS] = parameters[MASS + 1] = parameters[G] = 1.0;
    if (!model->varied) {
        sample_state(x, &state_rng);
        number_white(parameters, x, plan);
        return PLUMB_OK;
    }
    // Rejection sampling of state and parameters until the orbit stays on the canvas. So longer
    // trajectories have fewer wide orbits.
    for (int attempt = 0; attempt < 10000; attempt++) {
        sample_state(x, &state_rng);
        for (int i = 0; i < 3; i++) parameters[MASS + i] = world_uniform(&parameter_rng, 0.5, 1.5);
        body_motion motion;
        begin_motion(&motion, world, x, parameters, plan);
        if (leaves_canvas(&motion, model->style.half_side, plan->reject_steps)) continue;
        number_white(parameters, x, plan);
        return PLUMB_OK;
    }
    return fail(PLUMB_EVALUE, "%s: no orbit stays on the canvas for %lld frames of %g",
                world->info.name, (long long)plan->reject_steps, plan->interval);
}

// q' = p / m, p' = -g m1 m2 (q1 - q2) / r^3.
static void compute_derivative(double *out, const plumb_world *world, const double *x,
                               const double *parameters)
{
    (void)world;
    const double m1 = parameters[MASS], m2 = parameters[MASS + 1], dx = x[0] - x[2],
                 dy = x[1] - x[3];
    const double r = sqrt(dx * dx + dy * dy), pull = parameters[G] * m1 * m2 / (r * r * r);
    out[0] = x[4] / m1, out[1] = x[5] / m1, out[2] = x[6] / m2, out[3] = x[7] / m2;
    out[4] = -pull * dx, out[5] = -pull * dy, out[6] = pull * dx, out[7] = pull * dy;
}

// H as at the top of this file.
static double compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)world;
    const double m1 = parameters[MASS], m2 = parameters[MASS + 1], dx = x[0] - x[2],
                 dy = x[1] - x[3];
    return (x[4] * x[4] + x[5] * x[5]) / (2.0 * m1) + (x[6] * x[6] + x[7] * x[7]) / (2.0 * m2) -
           parameters[G] * m1 * m2 / sqrt(dx * dx + dy * dy);
}

// Elements of the relative orbit: the size of the Lenz vector (v x h) / mu - x / r, which points to
// the nearest point, its two components, h = x vy - y vx, and 1 / a = beta / mu. These are
// constants of the motion, and finite on every orbit: the semi-major axis a itself is infinite on a
// parabola.
static void compute_elements(double *out, const double *x, const double *parameters)
{
    const double m1 = parameters[MASS], m2 = parameters[MASS + 1], mu = parameters[G] * (m1 + m2);
    const double r[2] = {x[0] - x[2], x[1] - x[3]};
    const double v[2] = {x[4] / m1 - x[6] / m2, x[5] / m1 - x[7] / m2};
    const kepler_orbit orbit = make_kepler(r, v, mu);
    const double h = r[0] * v[1] - r[1] * v[0];
    out[1] = v[1] * h / mu - r[0] / orbit.r;
    out[2] = -v[0] * h / mu - r[1] / orbit.r;
    out[0] = sqrt(out[1] * out[1] + out[2] * out[2]);
    out[3] = h;
    out[4] = orbit.beta / mu;
}

// Relative position and its momentum. The centre of mass does not move in these worlds, so these
// coordinates are complete. They are those of the body whose colour has the lower index, red in
// two-body, relative to the other: frames show colours, but not which body is called the first.
static void compute_canonical(double *out, const plumb_world *world, const double *x,
                              const double *parameters)
{
    (void)world;
    const double m1 = parameters[MASS], m2 = parameters[MASS + 1], M = m1 + m2;
    const double sign = parameters[COLOR] > parameters[COLOR + 1] ? -1.0 : 1.0;
    for (int i = 0; i < 2; i++) {
        out[i] = sign * (x[i] - x[2 + i]);
        out[2 + i] = sign * (m2 * x[4 + i] - m1 * x[6 + i]) / M;
    }
}

static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    const body_model *model = world->model;
    particle_style_make_discs(storage, &model->style, parameters + MASS, parameters + OFFSET,
                              parameters + COLOR, plan);
}

static void render_frame(uint8_t *frame, const void *style, const double *x)
{
    discs_draw(frame, style, x);
}

static const plumb_world_parameter parameter_table[] = {
    {"m", 2, false}, {"g", 1, false}, {"offset", 2, false}, {"color_index", 2, true}};
static const char *const state_names[] = {"x1", "y1", "x2", "y2", "px1", "py1", "px2", "py2"};
static const char *const canonical_names[] = {"x", "y", "px", "py"};
static const bool angles[] = {false, false};
static const char *const element_names[] = {"eccentricity", "lenz_x", "lenz_y", "angular_momentum",
                                            "inverse_axis"};
static const plumb_world_quantity elements = {"orbit", 5, element_names};

// clang-format off
#define ENTRY(variable, number, title, line, is_varied, colors, canvas)                     \
    const plumb_world variable = {                                                          \
        .info = {.name = title, .summary = line, .n = 4, .canonical_n = 2, .dt = 0.05,      \
                  .height = 32, .width = 32, .channels = 3, .reversible = true,             \
                  .parameters = parameter_table, .parameter_count = 4,                      \
                  .state_names = state_names,                                               \
                  .canonical_names = canonical_names, .angles = angles,                     \
                  .parameter_total = PARAMETER_TOTAL, .clips = 1},                          \
        .id = number, .positive = 7, .colored = true,                                       \
        .model = &(const body_model){{2, colors, canvas, PARTICLE_JITTER_NONE}, is_varied}, \
        .motion_size = sizeof(body_motion), .style_size = sizeof(disc_style),               \
        .sample_start = sample_start, .begin_motion = begin_motion,                         \
        .compute_phase = compute_phase, .compute_derivative = compute_derivative,           \
        .compute_energy = compute_energy, .compute_canonical = compute_canonical,           \
        .prepare_style = prepare_style, .render_frame = render_frame,                       \
        .quantity = &elements, .compute_quantity = compute_elements,                        \
    }

ENTRY(two_body_plain, 7, "two-body", "two equal bodies circling each other", false, 2, 2.75);
ENTRY(two_body_varied, 8, "two-body+c",
    "two bodies on ellipses about each other: masses, gravity and colours vary", true, 6, 5.0);
// clang-format on
