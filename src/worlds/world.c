// SPDX-License-Identifier: MIT
// The table of worlds, and the walk every trajectory takes: draw, move, publish, draw pictures.
#include "worlds/world.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/options_struct.h"
#include "base/status.h"

// A new world is a new file and a row here. The first thirteen are the paper's, in its order.
// clang-format off
static const plumb_world *const table[] = {
    &mass_spring_plain,
    &mass_spring_varied,
    &pendulum_plain,
    &pendulum_varied,
    &double_pendulum_plain,
    &double_pendulum_varied,
    &two_body_plain,
    &two_body_varied,
    &matching_pennies_row,
    &rock_paper_scissors_row,
    &camera_circle,
    &lennard_jones_4,
    &lennard_jones_16,
    &mass_spring_damped,
    &pendulum_damped,
    &double_pendulum_damped,
    &camera_spiral,
};
// clang-format on

enum { WORLDS = (int)(sizeof table / sizeof *table) };

int64_t plumb_world_count(void)
{
    return WORLDS;
}

const plumb_world *plumb_world_at(int64_t index)
{
    assert(index >= 0 && index < WORLDS);
    return table[index];
}

// How many letters must be put in, taken out or changed [Wagner74].
static int64_t distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    int64_t row[LONGEST + 1];
    const size_t n = strlen(b) < LONGEST ? strlen(b) : LONGEST;
    for (size_t j = 0; j <= n; j++) row[j] = (int64_t)j;
    for (size_t i = 0; a[i] && i < LONGEST; i++) {
        int64_t corner = row[0];
        row[0] = (int64_t)i + 1;
        for (size_t j = 0; j < n; j++) {
            int64_t best = corner + (a[i] != b[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            corner = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[n];
}

plumb_status plumb_world_find(const plumb_world **out, const char *name)
{
    int nearest = 0;
    for (int i = 0; i < WORLDS; i++) {
        if (!strcmp(table[i]->info.name, name)) {
            *out = table[i];
            return PLUMB_OK;
        }
        if (distance(name, table[i]->info.name) < distance(name, table[nearest]->info.name))
            nearest = i;
    }
    return fail(PLUMB_EVALUE, "no world \"%.64s\"; the nearest is \"%s\"", name,
                table[nearest]->info.name);
}

const plumb_world_info *plumb_world_get_info(const plumb_world *world)
{
    return &world->info;
}

void plumb_world_options_init(plumb_world_options *options, size_t size)
{
    const plumb_world_options defaults = {.size = sizeof(plumb_world_options), .image = 32};
    options_init(options, size, &defaults, sizeof defaults);
}

int64_t plumb_world_parameter_size(const plumb_world *world)
{
    int64_t size = 0;
    for (int64_t i = 0; i < world->info.parameter_count; i++)
        size += world->info.parameters[i].count;
    return size;
}

rng world_rng(const plumb_world *world, uint64_t seed, int64_t item, world_stream purpose)
{
    return rng_at(seed, (uint64_t)world->id << 56 | (uint64_t)purpose << 48 | (uint64_t)item);
}

double world_uniform(rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

void world_annulus(double out[2], rng *r, double low, double high, bool by_area)
{
    const double u = rng_uniform(r), turn = 0x1.921fb54442d18p+2 * rng_uniform(r);
    const double radius =
        by_area ? sqrt(low * low + (high * high - low * low) * u) : low + (high - low) * u;
    out[0] = radius * cos(turn);
    out[1] = radius * sin(turn);
}

// One trajectory under way.
typedef struct walk {
    const plumb_world *world;
    world_plan plan;
    int64_t first;
    arena mem;
    double phase[WORLD_MAX_STATE];
    double parameters[WORLD_MAX_PARAMETERS];
} walk;

static plumb_status resolve_time(walk *w, const plumb_world_options *o)
{
    const plumb_world_info *facts = &w->world->info;
    world_plan *plan = &w->plan;
    if (!(o->dt >= 0.0) || o->dt > 1e6)
        return fail(PLUMB_EVALUE, "%s: dt is %g; wanted 0 (the world's own) to 1e6", facts->name,
                    o->dt);
    if (o->stride < 0 || o->stride > 1000000)
        return fail(PLUMB_EVALUE, "%s: stride is %lld; wanted 0 to 1000000", facts->name,
                    (long long)o->stride);
    if (o->backward && !facts->reversible)
        return fail(PLUMB_EVALUE, "%s: friction cannot be followed backward in time", facts->name);

    const int64_t substeps = w->world->substeps;
    if (substeps) { // the integration step is the world's own unless the caller says otherwise
        const double step = facts->dt / (double)substeps;
        plan->stride = o->stride     ? o->stride
                       : o->dt > 0.0 ? (int64_t)ceil(o->dt / step - 1e-9)
                                     : substeps;
        plan->interval = o->dt > 0.0 ? o->dt : step * (double)plan->stride;
        if (plan->interval / (double)plan->stride > 4.0 * step)
            return fail(PLUMB_EVALUE,
                        "%s: an integration step of %g; wanted at most %g: more stride",
                        facts->name, plan->interval / (double)plan->stride, 4.0 * step);
    } else {
        plan->stride = 1;
        plan->interval = (o->dt > 0.0 ? o->dt : facts->dt) * (double)(o->stride ? o->stride : 1);
    }
    if (o->backward) plan->interval = -plan->interval;
    return PLUMB_OK;
}

static plumb_status resolve(walk *w, const plumb_world *world, int64_t steps,
                            const plumb_world_options *opt)
{
    static const int64_t longest = 1000000000;
    plumb_world_options o = plumb_world_defaults();
    const plumb_status st = options_resolve(&o, sizeof o, opt, "plumb_world_options");
    if (st) return st;
    *w = (walk){.world = world, .first = o.first};
    if (steps < 0 || steps > longest || o.first < 0 || o.first > longest || o.reject_steps < 0 ||
        o.reject_steps > longest)
        return fail(PLUMB_EVALUE, "%s: steps, first and reject_steps are 0 to 1000000000",
                    world->info.name);
    if (o.image < 4 || o.image > WORLD_MAX_IMAGE || o.image % 4)
        return fail(PLUMB_EVALUE, "%s: image is %lld; wanted a multiple of 4 up to %d",
                    world->info.name, (long long)o.image, WORLD_MAX_IMAGE);
    if ((int)o.colors < PLUMB_WORLD_COLORS_WORLD || o.colors > PLUMB_WORLD_COLORS_SIX)
        return fail(PLUMB_EVALUE, "%s: no colour rule %d", world->info.name, (int)o.colors);
    if (o.colors != PLUMB_WORLD_COLORS_WORLD && !world->colored)
        return fail(PLUMB_EVALUE, "%s has no colours to choose", world->info.name);
    w->plan.image = o.image;
    w->plan.colors = o.colors;
    w->plan.reject_steps = o.reject_steps ? o.reject_steps : o.first + steps;
    return resolve_time(w, &o);
}

static plumb_status begin_given(walk *w, const double *state, const double *parameters)
{
    const plumb_world *world = w->world;
    const int64_t size = plumb_world_parameter_size(world);
    if (parameters) {
        memcpy(w->parameters, parameters, (size_t)size * sizeof *parameters);
    } else {
        const plumb_status st = world->sample(w->phase, w->parameters, world, &w->plan, 0, 0);
        if (st) return st;
    }
    for (int64_t i = 0; i < size; i++)
        if (!isfinite(w->parameters[i]) ||
            (i < 32 && world->positive >> i & 1 && !(w->parameters[i] > 0.0)))
            return fail(PLUMB_EVALUE, "%s: number %lld of the parameters is %g", world->info.name,
                        (long long)i, w->parameters[i]);
    for (int64_t i = 0; i < 2 * world->info.n; i++) {
        if (!(fabs(state[i]) <= 1e6))
            return fail(PLUMB_EVALUE, "%s: number %lld of the state is %g; wanted -1e6 to 1e6",
                        world->info.name, (long long)i, state[i]);
        if (world->interior && !(state[i] > 0.0))
            return fail(PLUMB_EVALUE, "%s: number %lld of the state is %g; wanted above 0",
                        world->info.name, (long long)i, state[i]);
        w->phase[i] = state[i];
    }
    return PLUMB_OK;
}

// Everything about one frame but its picture.
static void record(const plumb_world_item *out, const walk *w, int64_t t)
{
    const plumb_world *world = w->world;
    const int64_t n2 = 2 * world->info.n, c2 = 2 * world->info.canonical_n;
    if (out->time) out->time[t] = w->plan.interval * (double)(w->first + t);
    if (out->state) {
        if (world->to_published) world->to_published(out->state + t * n2, world, w->phase);
        else memcpy(out->state + t * n2, w->phase, (size_t)n2 * sizeof(double));
    }
    if (out->derivative)
        world->derivative(out->derivative + t * n2, world, w->phase, w->parameters);
    if (out->canonical) {
        if (world->canonical)
            world->canonical(out->canonical + t * c2, world, w->phase, w->parameters);
        else memcpy(out->canonical + t * c2, w->phase, (size_t)c2 * sizeof(double));
    }
    if (out->energy) out->energy[t] = world->energy(world, w->phase, w->parameters);
}

// From w->phase and w->parameters on.
static plumb_status go(const plumb_world_item *out, walk *w, int64_t steps)
{
    const plumb_world *world = w->world;
    if (out->parameters)
        memcpy(out->parameters, w->parameters,
               (size_t)plumb_world_parameter_size(world) * sizeof(double));
    if (!(out->time || out->state || out->derivative || out->canonical || out->energy ||
          out->frames))
        return PLUMB_OK;

    void *motion = arena_alloc(&w->mem, 1, world->motion_size);
    void *look = out->frames ? arena_alloc(&w->mem, 1, world->style_size) : NULL;
    if (!motion || (out->frames && !look)) return PLUMB_EMEMORY; // arena_alloc has said so

    const int64_t bytes = w->plan.image * w->plan.image * world->info.channels;
    world->start(motion, world, w->phase, w->parameters, &w->plan);
    if (look) world->style(look, world, w->parameters, &w->plan);
    for (int64_t t = 0; t < steps; t++) {
        // Frame 0 is what was drawn or given, to the last bit.
        if (w->first + t > 0) world->state_at(w->phase, motion, w->first + t);
        record(out, w, t);
        if (look) world->render(out->frames + t * bytes, look, w->phase);
    }
    return PLUMB_OK;
}

plumb_status plumb_world_simulate(const plumb_world_item *out, const plumb_world *world,
                                  uint64_t seed, int64_t item, int64_t steps,
                                  const plumb_world_options *opt)
{
    walk w = {0};
    plumb_status st = resolve(&w, world, steps, opt);
    if (!st && (item < 0 || item >> 48))
        st = fail(PLUMB_EVALUE, "%s: item is %lld; wanted 0 to 2^48 - 1", world->info.name,
                  (long long)item);
    if (!st) st = world->sample(w.phase, w.parameters, world, &w.plan, seed, item);
    if (!st) st = go(out, &w, steps);
    arena_clear(&w.mem);
    return st;
}

plumb_status plumb_world_simulate_from(const plumb_world_item *out, const plumb_world *world,
                                       const double *state, const double *parameters, int64_t steps,
                                       const plumb_world_options *opt)
{
    walk w = {0};
    plumb_status st = resolve(&w, world, steps, opt);
    if (!st) st = begin_given(&w, state, parameters);
    if (!st) st = go(out, &w, steps);
    arena_clear(&w.mem);
    return st;
}

plumb_status plumb_world_render(uint8_t *frame, const plumb_world *world, const double *state,
                                const double *parameters, const plumb_world_options *opt)
{
    walk w = {0};
    plumb_status st = resolve(&w, world, 1, opt);
    if (!st) st = begin_given(&w, state, parameters);
    if (!st) {
        void *look = arena_alloc(&w.mem, 1, world->style_size);
        if (look) {
            world->style(look, world, w.parameters, &w.plan);
            world->render(frame, look, w.phase);
        } else {
            st = PLUMB_EMEMORY;
        }
    }
    arena_clear(&w.mem);
    return st;
}
