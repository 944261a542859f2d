// SPDX-License-Identifier: MIT
// Lennard-Jones boxes as in [Botev21]: forces cut off sharply at half the box, nearest images,
// velocity Verlet. The sums over neighbours run in the order of their indices, one vector lane per
// particle, so every instruction set gives the same bits.
#include "worlds/molecules/lennard_jones.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/status.h"
#include "worlds/render/discs.h"
#include "worlds/world.h"

// Four particles at a time.
typedef double double4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t mask4 __attribute__((vector_size(32)));

// Adding and subtracting 1.5 * 2^52 rounds to an integer.
static const double rounding_shift = 0x1.8p52;

// f_i = sum_j 24 r^-2 (2 r^-12 - r^-6) d_ij over all pairs nearer than half the box, where d_ij is
// the distance to the nearest periodic image.
static inline __attribute__((always_inline)) void compute_forces(lennard_jones_box *restrict box,
                                                                 int count, double side)
{
    const double inverse = 1.0 / side, cut2 = 0.25 * side * side;
    const double *x = box->q[0], *y = box->q[1];
    double4 fx[LENNARD_JONES_MAX_COUNT / 4] = {0}, fy[LENNARD_JONES_MAX_COUNT / 4] = {0};
    for (int j = 0; j < count; j++)
        for (int i = 0; i < count / 4; i++) {
            double4 dx = *(const double4 *)(x + 4 * i) - x[j],
                    dy = *(const double4 *)(y + 4 * i) - y[j];
            dx -= side * ((dx * inverse + rounding_shift) - rounding_shift);
            dy -= side * ((dy * inverse + rounding_shift) - rounding_shift);
            const double4 r2 = dx * dx + dy * dy, over = 1.0 / r2, over6 = over * over * over;
            const double4 pull = 24.0 * over * over6 * (2.0 * over6 - 1.0);
            const double4 near =
                (double4)((mask4)pull & (r2 < cut2) & (r2 > 0.0)); // excludes i == j
            fx[i] += near * dx;
            fy[i] += near * dy;
        }
    for (int i = 0; i < count / 4; i++) {
        *(double4 *)(box->f[0] + 4 * i) = fx[i];
        *(double4 *)(box->f[1] + 4 * i) = fy[i];
    }
}

// Velocity Verlet: half a kick, a drift, new forces, half a kick. Inlined for each number of
// particles that is used.
static inline __attribute__((always_inline)) void
verlet_steps(lennard_jones_box *restrict box, int count, double side, double step, int64_t steps)
{
    for (int64_t s = 0; s < steps; s++) {
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < count; i++) {
                box->v[k][i] += 0.5 * step * box->f[k][i];
                box->q[k][i] += step * box->v[k][i];
            }
        compute_forces(box, count, side);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < count; i++) box->v[k][i] += 0.5 * step * box->f[k][i];
    }
}

typedef struct kernels {
    void (*force)(lennard_jones_box *, const lennard_jones *);
    void (*verlet_steps)(lennard_jones_box *, const lennard_jones *, double, int64_t);
} kernels;

#define KERNELS(set, target)                                                                   \
    target static void force_##set(lennard_jones_box *box, const lennard_jones *m)             \
    {                                                                                          \
        if (m->count == 4) compute_forces(box, 4, m->side);                                    \
        else compute_forces(box, m->count, m->side);                                           \
    }                                                                                          \
    target static void move_##set(lennard_jones_box *box, const lennard_jones *m, double step, \
                                  int64_t count)                                               \
    {                                                                                          \
        if (m->count == 4) verlet_steps(box, 4, m->side, step, count);                         \
        else if (m->count == 16) verlet_steps(box, 16, m->side, step, count);                  \
        else verlet_steps(box, m->count, m->side, step, count);                                \
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
    chosen->verlet_steps(box, model, step, count);
}

// sum v^2 / 2
double lennard_jones_kinetic(const lennard_jones_box *box, const lennard_jones *model)
{
    double sum = 0.0;
    for (int i = 0; i < model->count; i++)
        sum += box->v[0][i] * box->v[0][i] + box->v[1][i] * box->v[1][i];
    return 0.5 * sum;
}

// sum over pairs of 4 (r^-12 - r^-6), shifted to zero at the cut-off.
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

// Subtracts the mean velocity, so that the total momentum is zero.
static void remove_drift(double (*v)[LENNARD_JONES_MAX_COUNT], int count)
{
    for (int k = 0; k < 2; k++) {
        double sum = 0.0;
        for (int i = 0; i < count; i++) sum += v[k][i];
        for (int i = 0; i < count; i++) v[k][i] -= sum / count;
    }
}

// Steepest descent with a limited step until all forces are below 10, so that no two overlap.
static void push_apart(lennard_jones_box *box, const lennard_jones *model)
{
    for (int round = 0; round < 1000; round++) {
        lennard_jones_force(box, model);
        double steepest = 0.0;
        for (int i = 0; i < model->count; i++) {
            const double fx = box->f[0][i], fy = box->f[1][i], f = sqrt(fx * fx + fy * fy);
            if (!(f < 1e150)) continue; // at the same point: the other particle moves
            const double step = fmin(0.002, 0.05 / (f + 1e-9));
            box->q[0][i] += step * fx;
            box->q[1][i] += step * fy;
            steepest = fmax(steepest, f);
        }
        if (steepest < 10.0) break;
    }
}

void lennard_jones_random_start(lennard_jones_box *box, const lennard_jones *model, rng *random)
{
    const int n = model->count;
    *box = (lennard_jones_box){0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) box->q[k][i] = model->side * (rng_uniform(random) - 0.5);
    push_apart(box, model);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) box->v[k][i] = rng_normal(random);
    remove_drift(box->v, n);
    // Scale to the temperature: 2 n - 2 degrees of freedom with T / 2 each.
    const double wanted = (n - 1) * model->temperature;
    const double scale = sqrt(wanted / lennard_jones_kinetic(box, model));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) box->v[k][i] *= scale;
    lennard_jones_force(box, model);
}

// One Verlet step, then friction and noise: v = e^(-step / 0.2) v + noise. The noise is uniform
// with the variance of the normal one, as in LAMMPS. The damping time is 0.2 [Botev21].
void lennard_jones_thermostat(lennard_jones_box *box, const lennard_jones *model, double step,
                              int64_t count, rng *random)
{
    const int n = model->count;
    const double keep = exp(-step / 0.2);
    const double noise = sqrt(12.0 * model->temperature * (1.0 - keep * keep));
    for (int64_t s = 0; s < count; s++) {
        lennard_jones_move(box, model, step, 1);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++)
                box->v[k][i] = keep * box->v[k][i] + noise * (rng_uniform(random) - 0.5);
        remove_drift(box->v, n);
    }
}

static const double default_step = 0.002;

// [Botev21] runs the thermostat for 10,000 units of time, rescales to the mean energy found under
// it, and runs 10,000 more without it. The measured relaxation times show that far less is enough
// (docs/worlds.md). Here the mean energy is a known constant of the box.
void lennard_jones_equilibrate(lennard_jones_box *box, const lennard_jones *model, rng *state_rng,
                               rng *thermostat_rng)
{
    lennard_jones_random_start(box, model, state_rng);
    double time = model->thermostat_time, kinetic, wanted;
    do { // again in the rare case that the potential energy leaves too little kinetic energy
        lennard_jones_thermostat(box, model, default_step, (int64_t)(time / default_step),
                                 thermostat_rng);
        kinetic = lennard_jones_kinetic(box, model);
        wanted = model->mean_energy - lennard_jones_potential(box, model);
        time = 1.0;
    } while (!(wanted > 0.1 * kinetic));
    for (int i = 0; i < model->count; i++)
        for (int k = 0; k < 2; k++) box->v[k][i] *= sqrt(wanted / kinetic);
    lennard_jones_move(box, model, default_step, (int64_t)(model->settle_time / default_step));
    remove_drift(box->v, model->count);
}

// ---- entries of the table of worlds ----

typedef struct box_motion {
    const lennard_jones *model;
    lennard_jones_box box;
    double step;
    int64_t stride, frame;
} box_motion;

// State (x1, y1, x2, ..., vx1, vy1, ...) to arrays per axis.
static void unpack_state(lennard_jones_box *box, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            box->q[k][i] = x[2 * i + k];
            box->v[k][i] = x[2 * n + 2 * i + k];
        }
}

static void pack_state(double *x, const lennard_jones_box *box, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            x[2 * i + k] = box->q[k][i];
            x[2 * n + 2 * i + k] = box->v[k][i];
        }
}

// Wraps a coordinate into [-side / 2, side / 2).
static double wrap_position(double q, double side)
{
    q -= side * floor(q / side + 0.5);
    if (q >= 0.5 * side) q -= side;
    return q < -0.5 * side ? -0.5 * side : q;
}

// A box in equilibrium, with its positions wrapped.
static plumb_status sample_start(double *x, double *parameters, const plumb_world *world,
                                 const world_plan *plan, uint64_t seed, int64_t item)
{
    (void)parameters, (void)plan;
    const lennard_jones *model = world->model;
    rng state_rng = world_rng(world, seed, item, WORLD_STREAM_STATE);
    rng thermostat_rng = world_rng(world, seed, item, WORLD_STREAM_THERMOSTAT);
    lennard_jones_box box;
    lennard_jones_equilibrate(&box, model, &state_rng, &thermostat_rng);
    pack_state(x, &box, model->count);
    for (int i = 0; i < 2 * model->count; i++) x[i] = wrap_position(x[i], model->side);
    return PLUMB_OK;
}

static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    (void)parameters;
    box_motion *motion = storage;
    motion->model = world->model;
    motion->step = plan->interval / (double)plan->stride;
    motion->stride = plan->stride;
    motion->frame = 0;
    unpack_state(&motion->box, x, motion->model->count);
    lennard_jones_force(&motion->box, motion->model);
}

// Integrates from the last frame that was computed.
static void compute_phase(double *x, void *storage, int64_t frame)
{
    box_motion *motion = storage;
    lennard_jones_move(&motion->box, motion->model, motion->step,
                       (frame - motion->frame) * motion->stride);
    motion->frame = frame;
    pack_state(x, &motion->box, motion->model->count);
}

// q' = v, v' = f.
static void compute_derivative(double *out, const plumb_world *world, const double *x,
                               const double *parameters)
{
    (void)parameters;
    const lennard_jones *model = world->model;
    lennard_jones_box box = {0};
    unpack_state(&box, x, model->count);
    lennard_jones_force(&box, model);
    for (int i = 0; i < model->count; i++)
        for (int k = 0; k < 2; k++) {
            out[2 * i + k] = box.v[k][i];
            out[2 * model->count + 2 * i + k] = box.f[k][i];
        }
}

static double compute_energy(const plumb_world *world, const double *x, const double *parameters)
{
    (void)parameters;
    lennard_jones_box box = {0};
    const lennard_jones *model = world->model;
    unpack_state(&box, x, model->count);
    return lennard_jones_kinetic(&box, model) + lennard_jones_potential(&box, model);
}

// Wraps the positions into the box.
static void to_published(double *state, const plumb_world *world, const double *x)
{
    const lennard_jones *model = world->model;
    for (int i = 0; i < 2 * model->count; i++) state[i] = wrap_position(x[i], model->side);
    memcpy(state + 2 * model->count, x + 2 * model->count, (size_t)(2 * model->count) * sizeof *x);
}

static void prepare_style(void *storage, const plumb_world *world, const double *parameters,
                          const world_plan *plan)
{
    (void)parameters;
    const lennard_jones *model = world->model;
    disc_style *discs = storage;
    *discs =
        discs_make_style(plan->image, model->count, -0.5 * model->side, 0.5 * model->side, 80.0);
    for (int i = 0; i < model->count; i++) {
        discs->radius[i] = 0.3 / model->side;
        discs_color(discs->color[i], i, model->count);
    }
}

// A particle at the edge of the box is cut off, not drawn on both sides, as in [Botev21].
static void render_frame(uint8_t *frame, const void *storage, const double *x)
{
    const disc_style *discs = storage;
    double xy[2 * LENNARD_JONES_MAX_COUNT];
    for (int i = 0; i < 2 * discs->count; i++) xy[i] = wrap_position(x[i], discs->side);
    discs_draw(frame, discs, xy);
}

// clang-format off
const lennard_jones lennard_jones_gas = {
    .count = 4, .side = 10.0, .temperature = 1.0, .mean_energy = 2.609,
    .thermostat_time = 60.0, .settle_time = 30.0};
const lennard_jones lennard_jones_liquid = {
    .count = 16, .side = 4.558423058385518, .temperature = 0.5, .mean_energy = -26.502,
    .thermostat_time = 30.0, .settle_time = 10.0};

static const char *const state_names[] = {
    "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4",
    "vx1", "vy1", "vx2", "vy2", "vx3", "vy3", "vx4", "vy4"};
static const char *const state_names_16[] = {
    "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4", "x5", "y5", "x6", "y6", "x7", "y7", "x8", "y8",
    "x9", "y9", "x10", "y10", "x11", "y11", "x12", "y12", "x13", "y13", "x14", "y14", "x15", "y15",
    "x16", "y16",
    "vx1", "vy1", "vx2", "vy2", "vx3", "vy3", "vx4", "vy4", "vx5", "vy5", "vx6", "vy6",
    "vx7", "vy7", "vx8", "vy8", "vx9", "vy9", "vx10", "vy10", "vx11", "vy11", "vx12", "vy12",
    "vx13", "vy13", "vx14", "vy14", "vx15", "vy15", "vx16", "vy16"};
static const bool angles[2 * LENNARD_JONES_MAX_COUNT] = {0};

#define ENTRY(variable, number, title, line, box, labels, half)                         \
    const plumb_world variable = {                                                      \
        .info = {.name = title, .summary = line, .n = half, .canonical_n = half,        \
                  .dt = 0.02, .height = 32, .width = 32, .channels = 3,                 \
                  .reversible = true, .state_names = labels, .canonical_names = labels, \
                  .angles = angles, .clips = 1},                                        \
        .id = number, .substeps = 10, .model = &box,                                    \
        .motion_size = sizeof(box_motion), .style_size = sizeof(disc_style),            \
        .sample_start = sample_start, .begin_motion = begin_motion,                     \
        .compute_phase = compute_phase, .compute_derivative = compute_derivative,       \
        .compute_energy = compute_energy, .to_published = to_published,                 \
        .prepare_style = prepare_style, .render_frame = render_frame,                   \
    }

ENTRY(lennard_jones_4, 12, "md-4", "4 Lennard-Jones particles, a gas in a periodic box",
    lennard_jones_gas, state_names, 8);
ENTRY(lennard_jones_16, 13, "md-16", "16 Lennard-Jones particles, a liquid in a periodic box",
    lennard_jones_liquid, state_names_16, 32);
// clang-format on
