// SPDX-License-Identifier: MIT
// The table of worlds, and how every trajectory is made: resolve the options, sample parameters and
// initial state, then for each frame compute the phase, record it and render it.
#include "worlds/world.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/options_struct.h"
#include "base/spelling.h"
#include "base/status.h"
#include "math/taylor.h"
#include "worlds/options.h"

// A new world is a new file and an entry here. The first thirteen are those of [Higgins21], in the
// order of the paper.
// clang-format off
static const plumb_world *const world_table[] = {
    &mass_spring_plain,
    &mass_spring_varied,
    &pendulum_plain,
    &pendulum_varied,
    &double_pendulum_plain,
    &double_pendulum_varied,
    &two_body_plain,
    &two_body_varied,
    &matching_pennies_entry,
    &rock_paper_scissors_entry,
    &camera_circle,
    &lennard_jones_4,
    &lennard_jones_16,
    &mass_spring_damped,
    &pendulum_damped,
    &double_pendulum_damped,
    &camera_spiral,
    &henon_heiles_low,
    &henon_heiles_middle,
    &henon_heiles_high,
    &pendulum_driven,
    &room_freeform,
    &room_continuity,
    &room_inertia,
    &room_persistence,
    &room_solidity,
    &room_unchangeableness,
    // Found by name, not counted.
    &room_support,
    &room_collision,
    &room_hard_continuity,
    &room_hard_inertia,
    &room_hard_persistence,
    &room_hard_solidity,
    &room_hard_unchangeableness,
    &room_impossible,
};
// clang-format on

enum {
    ENTRY_COUNT = (int)(sizeof world_table / sizeof *world_table),
    HIDDEN_COUNT = 8,
    WORLD_COUNT = ENTRY_COUNT - HIDDEN_COUNT
};

// Parameters that only change the picture (place, colours) are not among them.
static const char *const constant_names[] = {"k", "m", "m_1", "m_2", "l", "l_1", "l_2", "g"};

const char *plumb_world_constant_name(int64_t index)
{
    const int64_t count = (int64_t)(sizeof constant_names / sizeof *constant_names);
    return index >= 0 && index < count ? constant_names[index] : NULL;
}

int64_t plumb_world_count(void)
{
    return WORLD_COUNT;
}

const plumb_world *plumb_world_at(int64_t index)
{
    assert(index >= 0 && index < WORLD_COUNT);
    return world_table[index];
}

// Lists all rooms but rooms/impossible: "rooms/freeform, rooms/continuity ...".
static const char *list_rooms(char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < ENTRY_COUNT && used < size; i++)
        if (world_table[i]->info.kind != PLUMB_WORLD_TRAJECTORY &&
            world_table[i] != &room_impossible)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     world_table[i]->info.name);
    return text;
}

plumb_status plumb_world_find(const plumb_world **out, const char *name)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(name);
    const char *nearest = NULL;
    for (int i = 0; i < ENTRY_COUNT; i++) {
        if (!strcmp(world_table[i]->info.name, name)) {
            *out = world_table[i];
            return PLUMB_OK;
        }
        if (world_table[i]->info.kind == PLUMB_WORLD_TRAJECTORY)
            nearest = spelling_closer(name, nearest, world_table[i]->info.name);
    }
    char rooms[512];
    if (!strncmp(name, "rooms/", 6))
        return fail(PLUMB_EVALUE, "no room \"%.64s\"; there are %s", name,
                    list_rooms(rooms, sizeof rooms));
    return fail(PLUMB_EVALUE, "no world \"%.64s\"; the nearest is \"%s\"", name, nearest);
}

const plumb_world_info *plumb_world_get_info(const plumb_world *world)
{
    if (!world) return NULL;
    return &world->info;
}

rng world_rng(const plumb_world *world, uint64_t seed, int64_t item, world_stream purpose)
{
    return rng_at(seed, (uint64_t)world->id << 56 | (uint64_t)purpose << 48 | (uint64_t)item);
}

double world_uniform(rng *random, double low, double high)
{
    return low + (high - low) * rng_uniform(random);
}

// by_area: radius^2 is uniform; otherwise the radius is.
void world_annulus(double out[2], rng *random, double low, double high, bool by_area)
{
    const double u = rng_uniform(random), turn = 0x1.921fb54442d18p+2 * rng_uniform(random);
    const double radius =
        by_area ? sqrt(low * low + (high * high - low * low) * u) : low + (high - low) * u;
    out[0] = radius * cos(turn);
    out[1] = radius * sin(turn);
}

// State of one simulation.
typedef struct trajectory_run {
    const plumb_world *world;
    world_plan plan;
    int64_t first; // frames skipped at the start
    arena mem;     // motion and style
    double phase[WORLD_MAX_STATE];
    double parameters[WORLD_MAX_PARAMETERS];
} trajectory_run;

// Resolves dt, stride and direction into the interval between frames.
static plumb_status resolve_time(trajectory_run *run, int64_t steps,
                                 const plumb_world_options *options)
{
    static const int64_t max_substeps = 1000000;
    const plumb_world_info *info = &run->world->info;
    world_plan *plan = &run->plan;
    if (options->backward && !info->reversible)
        return fail(PLUMB_EVALUE, "%s: %s cannot be followed backward in time", info->name,
                    info->actions ? "a torque that is held for a frame" : "friction");
    // A frame has one action.
    if (options->stride > 1 && info->actions)
        return fail(PLUMB_EVALUE,
                    "%s: stride is %lld; an action is held from frame to frame, so "
                    "every frame is kept",
                    info->name, (long long)options->stride);

    const int64_t substeps = run->world->substeps;
    if (substeps) { // md: keep the integration step of the world unless dt and stride say otherwise
        const double step = info->dt / (double)substeps;
        plan->stride = options->stride     ? options->stride
                       : options->dt > 0.0 ? (int64_t)ceil(options->dt / step - 1e-9)
                                           : substeps;
        if (plan->stride > max_substeps)
            return fail(PLUMB_EVALUE, "%s: dt is %g, or %lld integration steps; at most %lld",
                        info->name, options->dt, (long long)plan->stride, (long long)max_substeps);
        plan->interval = options->dt > 0.0 ? options->dt : step * (double)plan->stride;
        if (plan->interval / (double)plan->stride > 4.0 * step)
            return fail(PLUMB_EVALUE,
                        "%s: an integration step of %g; wanted at most %g: more stride", info->name,
                        plan->interval / (double)plan->stride, 4.0 * step);
    } else {
        plan->stride = 1;
        plan->interval = (options->dt > 0.0 ? options->dt : info->dt) *
                         (double)(options->stride ? options->stride : 1);
    }
    // Later the rounding of the time itself would decide where things are.
    const double last = plan->interval * (double)(options->first + steps);
    if (last > TAYLOR_MAX_TIME)
        return fail(PLUMB_EVALUE, "%s: the last frame is at time %g; at most %g", info->name, last,
                    TAYLOR_MAX_TIME);
    if (options->backward) plan->interval = -plan->interval;
    return PLUMB_OK;
}

// Checks the options and resolves them into run->plan.
static plumb_status resolve_options(trajectory_run *run, const plumb_world *world, int64_t steps,
                                    const plumb_world_options *given)
{
    static const int64_t max_steps = 1000000000;
    plumb_world_options options = plumb_world_defaults();
    const plumb_status st = options_resolve(&options, sizeof options, given, "plumb_world_options");
    if (st) return st;
    if (!options.image) options.image = world->info.height;
    *run = (trajectory_run){.world = world, .first = options.first};
    if (world->check_options) {
        run->plan.image = options.image;
        return world->check_options(world, steps, &options);
    }
    char error[600];
    if (option_check(world_option_table.specs, &options, error, sizeof error))
        return fail(PLUMB_EVALUE, "%s: %s", world->info.name, error);
    if (steps < 0 || steps > max_steps)
        return fail(PLUMB_EVALUE, "%s: steps is %lld; it must be 0 to %lld", world->info.name,
                    (long long)steps, (long long)max_steps);
    if (options.image % 4)
        return fail(PLUMB_EVALUE, "%s: image is %lld; it must be a multiple of 4 up to %d",
                    world->info.name, (long long)options.image, WORLD_MAX_IMAGE);
    if (options.colors != PLUMB_WORLD_COLORS_WORLD && !world->colored)
        return fail(PLUMB_EVALUE, "%s has no colours to choose", world->info.name);
    if ((options.background || options.profile) && !world->colored)
        return fail(PLUMB_EVALUE, "%s has no background or profile to choose", world->info.name);
    run->plan.image = options.image;
    run->plan.colors = options.colors;
    run->plan.background = options.background;
    run->plan.profile = options.profile;
    run->plan.reject_steps = options.reject_steps ? options.reject_steps : options.first + steps;
    return resolve_time(run, steps, &options);
}

// Sets phase and parameters from values of the caller. May be NULL: parameters.
static plumb_status set_start(trajectory_run *run, const double *state, const double *parameters)
{
    const plumb_world *world = run->world;
    if (world->simulate_item)
        return fail(PLUMB_EVALUE, "%s: a room has no state to start from", world->info.name);
    const int64_t size = world->info.parameter_total;
    if (parameters) {
        memcpy(run->parameters, parameters, (size_t)size * sizeof *parameters);
    } else {
        const plumb_status st =
            world->sample_start(run->phase, run->parameters, world, &run->plan, 0, 0);
        if (st) return st;
    }
    for (int64_t i = 0; i < size; i++)
        if (!isfinite(run->parameters[i]) ||
            (i < 32 && world->positive >> i & 1 && !(run->parameters[i] > 0.0)))
            return fail(PLUMB_EVALUE, "%s: number %lld of the parameters is %g", world->info.name,
                        (long long)i, run->parameters[i]);
    for (int64_t i = 0; i < 2 * world->info.n; i++) {
        if (!(fabs(state[i]) <= 1e6))
            return fail(PLUMB_EVALUE, "%s: number %lld of the state is %g; wanted -1e6 to 1e6",
                        world->info.name, (long long)i, state[i]);
        if (world->interior && !(state[i] > 0.0))
            return fail(PLUMB_EVALUE, "%s: number %lld of the state is %g; wanted above 0",
                        world->info.name, (long long)i, state[i]);
        run->phase[i] = state[i];
    }
    return PLUMB_OK;
}

// Writes all outputs of one frame except its image.
static void record_frame(const plumb_world_item *out, const trajectory_run *run, int64_t frame)
{
    const plumb_world *world = run->world;
    const int64_t n2 = 2 * world->info.n, c2 = 2 * world->info.canonical_n;
    if (out->time) out->time[frame] = run->plan.interval * (double)(run->first + frame);
    if (out->state) {
        if (world->to_published) world->to_published(out->state + frame * n2, world, run->phase);
        else memcpy(out->state + frame * n2, run->phase, (size_t)n2 * sizeof(double));
    }
    double action[WORLD_MAX_STATE];
    if (world->info.actions)
        world->compute_action(action, run->parameters,
                              run->plan.interval * (double)(run->first + frame));
    if (out->action && world->info.actions)
        memcpy(out->action + frame * world->info.actions, action,
               (size_t)world->info.actions * sizeof(double));
    if (out->derivative) {
        double *derivative = out->derivative + frame * n2;
        world->compute_derivative(derivative, world, run->phase, run->parameters);
        for (int64_t i = 0; i < world->info.actions; i++) derivative[n2 / 2 + i] += action[i];
    }
    if (out->canonical) {
        if (world->compute_canonical)
            world->compute_canonical(out->canonical + frame * c2, world, run->phase,
                                     run->parameters);
        else memcpy(out->canonical + frame * c2, run->phase, (size_t)c2 * sizeof(double));
    }
    if (out->energy) out->energy[frame] = world->compute_energy(world, run->phase, run->parameters);
}

// Simulates `steps` frames from run->phase with run->parameters.
static plumb_status run_trajectory(const plumb_world_item *out, trajectory_run *run, int64_t steps)
{
    const plumb_world *world = run->world;
    if (out->parameters)
        memcpy(out->parameters, run->parameters,
               (size_t)world->info.parameter_total * sizeof(double));
    if (!(out->time || out->state || out->derivative || out->canonical || out->energy ||
          out->frames || out->action))
        return PLUMB_OK;

    void *motion = arena_alloc(&run->mem, 1, world->motion_size);
    void *style = out->frames ? arena_alloc(&run->mem, 1, world->style_size) : NULL;
    if (!motion || (out->frames && !style)) return PLUMB_EMEMORY; // arena_alloc has said so

    const int64_t bytes = run->plan.image * run->plan.image * world->info.channels;
    world->begin_motion(motion, world, run->phase, run->parameters, &run->plan);
    if (style) world->prepare_style(style, world, run->parameters, &run->plan);
    for (int64_t t = 0; t < steps; t++) {
        // Frame 0 is the sampled or given state itself, bit-identical.
        if (run->first + t > 0) world->compute_phase(run->phase, motion, run->first + t);
        const plumb_status st = status_check_stop();
        if (st) return st;
        record_frame(out, run, t);
        if (style) world->render_frame(out->frames + t * bytes, style, run->phase);
    }
    return PLUMB_OK;
}

plumb_status plumb_world_check_options(const plumb_world *world, int64_t steps,
                                       const plumb_world_options *options)
{
    REQUIRE_ARGUMENT(world);
    trajectory_run run = {0};
    return resolve_options(&run, world, steps, options);
}

plumb_status plumb_world_simulate(const plumb_world_item *out, const plumb_world *world,
                                  uint64_t seed, int64_t item, int64_t steps,
                                  const plumb_world_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(world);
    trajectory_run run = {0};
    plumb_status st = resolve_options(&run, world, steps, options);
    if (!st && (item < 0 || item >> 48))
        st = fail(PLUMB_EVALUE, "%s: item is %lld; wanted 0 to 2^48 - 1", world->info.name,
                  (long long)item);
    if (!st && world->simulate_item) return world->simulate_item(out, world, &run.plan, seed, item);
    if (!st) st = world->sample_start(run.phase, run.parameters, world, &run.plan, seed, item);
    if (!st) st = run_trajectory(out, &run, steps);
    arena_clear(&run.mem);
    return st;
}

plumb_status plumb_world_simulate_from(const plumb_world_item *out, const plumb_world *world,
                                       const double *state, const double *parameters, int64_t steps,
                                       const plumb_world_options *options)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(world);
    REQUIRE_ARGUMENT(state);
    trajectory_run run = {0};
    plumb_status st = resolve_options(&run, world, steps, options);
    if (!st) st = set_start(&run, state, parameters);
    if (!st) st = run_trajectory(out, &run, steps);
    arena_clear(&run.mem);
    return st;
}

plumb_status world_render(uint8_t *frame, const plumb_world *world, const double *state,
                          const double *parameters, const plumb_world_options *options)
{
    trajectory_run run = {0};
    plumb_status st = resolve_options(&run, world, 1, options);
    if (!st) st = set_start(&run, state, parameters);
    if (!st) {
        void *style = arena_alloc(&run.mem, 1, world->style_size);
        if (style) {
            world->prepare_style(style, world, run.parameters, &run.plan);
            world->render_frame(frame, style, run.phase);
        } else {
            st = PLUMB_EMEMORY;
        }
    }
    arena_clear(&run.mem);
    return st;
}
