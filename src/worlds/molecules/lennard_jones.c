// SPDX-License-Identifier: MIT
// Lennard-Jones boxes as the published sets have them: forces cut off sharply at half the box,
// nearest images, velocity Verlet. The sums over neighbours run in the order of their numbers, one
// lane a particle, so every instruction set gives the same bits.
#include "worlds/molecules/lennard_jones.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/status.h"
#include "worlds/render/particles.h"
#include "worlds/world.h"

// Four particles at a time.
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t mask __attribute__((vector_size(32)));

// Adding and taking away 1.5 * 2^52 rounds to an integer.
static const double rounder = 0x1.8p52;

static inline __attribute__((always_inline)) void forces(lennard_jones_box *restrict box, int count,
                                                         double side)
{
    const double inverse = 1.0 / side, cut2 = 0.25 * side * side;
    const double *x = box->q[0], *y = box->q[1];
    four fx[LENNARD_JONES_MAX / 4] = {0}, fy[LENNARD_JONES_MAX / 4] = {0};
    for (int j = 0; j < count; j++)
        for (int i = 0; i < count / 4; i++) {
            four dx = *(const four *)(x + 4 * i) - x[j], dy = *(const four *)(y + 4 * i) - y[j];
            dx -= side * ((dx * inverse + rounder) - rounder);
            dy -= side * ((dy * inverse + rounder) - rounder);
            const four r2 = dx * dx + dy * dy, over = 1.0 / r2, over6 = over * over * over;
            const four pull = 24.0 * over * over6 * (2.0 * over6 - 1.0);
            const four near = (four)((mask)pull & (r2 < cut2) & (r2 > 0.0)); // not itself
            fx[i] += near * dx;
            fy[i] += near * dy;
        }
    for (int i = 0; i < count / 4; i++) {
        *(four *)(box->f[0] + 4 * i) = fx[i];
        *(four *)(box->f[1] + 4 * i) = fy[i];
    }
}

// Unrolled for the two numbers of particles there are.
static inline __attribute__((always_inline)) void move(lennard_jones_box *restrict box, int count,
                                                       double side, double step, int64_t steps)
{
    for (int64_t s = 0; s < steps; s++) {
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < count; i++) {
                box->v[k][i] += 0.5 * step * box->f[k][i];
                box->q[k][i] += step * box->v[k][i];
            }
        forces(box, count, side);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < count; i++) box->v[k][i] += 0.5 * step * box->f[k][i];
    }
}

typedef struct kernels {
    void (*force)(lennard_jones_box *, const lennard_jones *);
    void (*move)(lennard_jones_box *, const lennard_jones *, double, int64_t);
} kernels;

#define KERNELS(set, target)                                                                   \
    target static void force_##set(lennard_jones_box *box, const lennard_jones *m)             \
    {                                                                                          \
        if (m->count == 4) forces(box, 4, m->side);                                            \
        else forces(box, m->count, m->side);                                                   \
    }                                                                                          \
    target static void move_##set(lennard_jones_box *box, const lennard_jones *m, double step, \
                                  int64_t count)                                               \
    {                                                                                          \
        if (m->count == 4) move(box, 4, m->side, step, count);                                 \
        else if (m->count == 16) move(box, 16, m->side, step, count);                          \
        else move(box, m->count, m->side, step, count);                                        \
    }                                                                                          \
    static const kernels set = {force_##set, move_##set};

KERNELS(portable, )
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2"))))
#endif

static const cpu_variant variants[] = {CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(kernels, variants, portable);

int lennard_jones_select(const char *set)
{
    return choose_kernels(set);
}

void lennard_jones_force(lennard_jones_box *box, const lennard_jones *model)
{
    chosen->force(box, model);
}

void lennard_jones_move(lennard_jones_box *box, const lennard_jones *model, double step,
                        int64_t count)
{
    chosen->move(box, model, step, count);
}

double lennard_jones_kinetic(const lennard_jones_box *box, const lennard_jones *model)
{
    double sum = 0.0;
    for (int i = 0; i < model->count; i++)
        sum += box->v[0][i] * box->v[0][i] + box->v[1][i] * box->v[1][i];
    return 0.5 * sum;
}

double lennard_jones_potential(const lennard_jones_box *box, const lennard_jones *model)
{
    const double cut = 0.5 * model->side, c6 = pow(cut, -6.0), shift = 4.0 * c6 * (c6 - 1.0);
    double sum = 0.0;
    for (int i = 0; i < model->count; i++)
        for (int j = 0; j < i; j++) {
            double r2 = 0.0;
            for (int k = 0; k < 2; k++) {
                double d = box->q[k][i] - box->q[k][j];
                d -= model->side * rint(d / model->side);
                r2 += d * d;
            }
            if (r2 >= cut * cut) continue;
            const double over6 = 1.0 / (r2 * r2 * r2);
            sum += 4.0 * over6 * (over6 - 1.0) - shift;
        }
    return sum;
}

// Takes the mean out of both components, so that nothing drifts.
static void hold_still(double (*v)[LENNARD_JONES_MAX], int count)
{
    for (int k = 0; k < 2; k++) {
        double sum = 0.0;
        for (int i = 0; i < count; i++) sum += v[k][i];
        for (int i = 0; i < count; i++) v[k][i] -= sum / count;
    }
}

// Down the hill, no particle more than a little at a time, until nobody overlaps.
static void push_apart(lennard_jones_box *box, const lennard_jones *model)
{
    for (int round = 0; round < 1000; round++) {
        lennard_jones_force(box, model);
        double steepest = 0.0;
        for (int i = 0; i < model->count; i++) {
            const double fx = box->f[0][i], fy = box->f[1][i], f = sqrt(fx * fx + fy * fy);
            if (!(f < 1e150)) continue; // on top of each other: the other one will move
            const double go = fmin(0.002, 0.05 / (f + 1e-9));
            box->q[0][i] += go * fx;
            box->q[1][i] += go * fy;
            steepest = fmax(steepest, f);
        }
        if (steepest < 10.0) break;
    }
}

void lennard_jones_random_start(lennard_jones_box *box, const lennard_jones *model, rng *r)
{
    const int n = model->count;
    *box = (lennard_jones_box){0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) box->q[k][i] = model->side * (rng_uniform(r) - 0.5);
    push_apart(box, model);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) box->v[k][i] = rng_normal(r);
    hold_still(box->v, n);
    const double wanted = (n - 1) * model->temperature; // 2 n - 2 degrees of freedom, half each
    const double scale = sqrt(wanted / lennard_jones_kinetic(box, model));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) box->v[k][i] *= scale;
    lennard_jones_force(box, model);
}

// A step of Verlet between two halves of friction and noise. The noise is uniform, with the
// variance of the normal one, as LAMMPS has it; damping time 0.2, as published.
void lennard_jones_thermostat(lennard_jones_box *box, const lennard_jones *model, double step,
                              int64_t count, rng *r)
{
    const int n = model->count;
    const double keep = exp(-step / 0.2);
    const double noise = sqrt(12.0 * model->temperature * (1.0 - keep * keep));
    for (int64_t s = 0; s < count; s++) {
        lennard_jones_move(box, model, step, 1);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++)
                box->v[k][i] = keep * box->v[k][i] + noise * (rng_uniform(r) - 0.5);
        hold_still(box->v, n);
    }
}

static const double own_step = 0.002;

// The published runs soak for 10,000 units of time, correct the energy to the mean found under the
// thermostat, and settle for 10,000 more; the relaxation times measured say that far less will do
// (docs/worlds.md). The mean energy is a constant of the box and is known here.
void lennard_jones_equilibrate(lennard_jones_box *box, const lennard_jones *model, rng *place,
                               rng *heat)
{
    lennard_jones_random_start(box, model, place);
    double soak = model->soak, kinetic, wanted;
    do { // while the potential energy leaves too little for the kinetic one: a rare moment
        lennard_jones_thermostat(box, model, own_step, (int64_t)(soak / own_step), heat);
        kinetic = lennard_jones_kinetic(box, model);
        wanted = model->mean_energy - lennard_jones_potential(box, model);
        soak = 1.0;
    } while (!(wanted > 0.1 * kinetic));
    for (int i = 0; i < model->count; i++)
        for (int k = 0; k < 2; k++) box->v[k][i] *= sqrt(wanted / kinetic);
    lennard_jones_move(box, model, own_step, (int64_t)(model->settle / own_step));
    hold_still(box->v, model->count);
}

// Rows of the table.

typedef struct motion {
    const lennard_jones *model;
    lennard_jones_box box;
    double step;
    int64_t stride, frame;
} motion;

static void to_box(lennard_jones_box *box, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            box->q[k][i] = x[2 * i + k];
            box->v[k][i] = x[2 * n + 2 * i + k];
        }
}

static void from_box(double *x, const lennard_jones_box *box, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            x[2 * i + k] = box->q[k][i];
            x[2 * n + 2 * i + k] = box->v[k][i];
        }
}

// Into [-side / 2, side / 2).
static double wrapped(double q, double side)
{
    q -= side * floor(q / side + 0.5);
    if (q >= 0.5 * side) q -= side;
    return q < -0.5 * side ? -0.5 * side : q;
}

static plumb_status begin(double *x, double *par, const plumb_world *world, const world_plan *plan,
                          uint64_t seed, int64_t item)
{
    (void)par, (void)plan;
    const lennard_jones *model = world->model;
    rng place = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng heat = world_rng(world, seed, item, WORLD_STREAM_THERMOSTAT);
    lennard_jones_box box;
    lennard_jones_equilibrate(&box, model, &place, &heat);
    from_box(x, &box, model->count);
    for (int i = 0; i < 2 * model->count; i++) x[i] = wrapped(x[i], model->side);
    return PLUMB_OK;
}

static void start(void *to, const plumb_world *world, const double *x, const double *par,
                  const world_plan *plan)
{
    (void)par;
    motion *o = to;
    o->model = world->model;
    o->step = plan->interval / (double)plan->stride;
    o->stride = plan->stride;
    o->frame = 0;
    to_box(&o->box, x, o->model->count);
    lennard_jones_force(&o->box, o->model);
}

static void at(double *x, void *from, int64_t frame)
{
    motion *o = from;
    lennard_jones_move(&o->box, o->model, o->step, (frame - o->frame) * o->stride);
    o->frame = frame;
    from_box(x, &o->box, o->model->count);
}

static void derivative(double *out, const plumb_world *world, const double *x, const double *par)
{
    (void)par;
    const lennard_jones *model = world->model;
    lennard_jones_box box = {0};
    to_box(&box, x, model->count);
    lennard_jones_force(&box, model);
    for (int i = 0; i < model->count; i++)
        for (int k = 0; k < 2; k++) {
            out[2 * i + k] = box.v[k][i];
            out[2 * model->count + 2 * i + k] = box.f[k][i];
        }
}

static double energy(const plumb_world *world, const double *x, const double *par)
{
    (void)par;
    lennard_jones_box box = {0};
    const lennard_jones *model = world->model;
    to_box(&box, x, model->count);
    return lennard_jones_kinetic(&box, model) + lennard_jones_potential(&box, model);
}

static void publish(double *state, const plumb_world *world, const double *x)
{
    const lennard_jones *model = world->model;
    for (int i = 0; i < 2 * model->count; i++) state[i] = wrapped(x[i], model->side);
    memcpy(state + 2 * model->count, x + 2 * model->count, (size_t)(2 * model->count) * sizeof *x);
}

static void look(void *to, const plumb_world *world, const double *par, const world_plan *plan)
{
    (void)par;
    const lennard_jones *model = world->model;
    particles *p = to;
    *p = particles_make(plan->image, model->count, -0.5 * model->side, 0.5 * model->side, 80.0);
    for (int i = 0; i < model->count; i++) {
        p->radius[i] = 0.3 / model->side;
        particles_color(p->color[i], i, model->count);
    }
}

// Not periodic: a particle at an edge is cut, as published.
static void draw(uint8_t *frame, const void *from, const double *x)
{
    const particles *p = from;
    double xy[2 * LENNARD_JONES_MAX];
    for (int i = 0; i < 2 * p->count; i++) xy[i] = wrapped(x[i], p->side);
    particles_draw(frame, p, xy);
}

// clang-format off
const lennard_jones lennard_jones_gas = {
    .count = 4, .side = 10.0, .temperature = 1.0, .mean_energy = 2.609,
    .soak = 60.0, .settle = 30.0};
const lennard_jones lennard_jones_liquid = {
    .count = 16, .side = 4.558423058385518, .temperature = 0.5, .mean_energy = -26.502,
    .soak = 30.0, .settle = 10.0};

static const char *const names[] = {
    "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4",
    "vx1", "vy1", "vx2", "vy2", "vx3", "vy3", "vx4", "vy4"};
static const char *const names_16[] = {
    "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4", "x5", "y5", "x6", "y6", "x7", "y7", "x8", "y8",
    "x9", "y9", "x10", "y10", "x11", "y11", "x12", "y12", "x13", "y13", "x14", "y14", "x15", "y15",
    "x16", "y16",
    "vx1", "vy1", "vx2", "vy2", "vx3", "vy3", "vx4", "vy4", "vx5", "vy5", "vx6", "vy6",
    "vx7", "vy7", "vx8", "vy8", "vx9", "vy9", "vx10", "vy10", "vx11", "vy11", "vx12", "vy12",
    "vx13", "vy13", "vx14", "vy14", "vx15", "vy15", "vx16", "vy16"};
static const bool angles[2 * LENNARD_JONES_MAX] = {0};

#define ROW(variable, number, title, line, box, labels, half)                           \
    const plumb_world variable = {                                                      \
        .info = {.name = title, .summary = line, .n = half, .canonical_n = half,        \
                  .dt = 0.02, .height = 32, .width = 32, .channels = 3,                 \
                  .reversible = true, .state_names = labels, .canonical_names = labels, \
                  .angles = angles},                                                    \
        .id = number, .substeps = 10, .model = &box,                                    \
        .motion_size = sizeof(motion), .style_size = sizeof(particles),                 \
        .sample = begin, .start = start, .state_at = at, .derivative = derivative,      \
        .energy = energy, .to_published = publish, .style = look, .render = draw,       \
    }

ROW(lennard_jones_4, 12, "md-4", "4 Lennard-Jones particles, a gas in a periodic box",
    lennard_jones_gas, names, 8);
ROW(lennard_jones_16, 13, "md-16", "16 Lennard-Jones particles, a liquid in a periodic box",
    lennard_jones_liquid, names_16, 32);
// clang-format on
