// SPDX-License-Identifier: MIT
// A world into a file.
#define _GNU_SOURCE
#include <string.h>

#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/item_pipeline.h"
#include "plumb/dataset.h"

enum { SLOTS_PER_THREAD = 4, SLOT_BYTES = 1 << 26 };

// The fixed arrays come first, the parameters behind them, what is shared at the end.
enum { FRAMES, STATE, DERIVATIVE, CANONICAL, ENERGY, TIME, FIRST_PARAMETER };

typedef struct item {
    plumb_world_item made;
    int64_t *integers; // parameters that are whole numbers
} item;

typedef struct simulate_job {
    const plumb_world *world;
    const plumb_world_info *facts;
    plumb_world_options opt;
    int64_t steps, first;
    uint64_t seed;
    item_pipeline line;
    item *items;
} simulate_job;

// Colours and offsets are a row even if it is of one number, as in the published records.
static bool is_row(const plumb_world_parameter *p)
{
    return p->count > 1 || !strcmp(p->name, "color_index") || !strcmp(p->name, "offset");
}

static plumb_status list_fields(simulate_job *j, bool published)
{
    const plumb_world_info *w = j->facts;
    const int64_t t = j->steps;
    if (w->parameter_count > ITEM_PIPELINE_MAX_FIELDS - 16)
        return fail(PLUMB_EVALUE, "%s has too many parameters", w->name);
    item_pipeline_add_field(&j->line, "frames", PLUMB_UINT8, 4,
                            (int64_t[]){t, j->opt.image, j->opt.image, w->channels});
    item_pipeline_add_field(&j->line, "state", PLUMB_FLOAT64, 2, (int64_t[]){t, 2 * w->n});
    item_pipeline_add_field(&j->line, "derivative", PLUMB_FLOAT64, 2, (int64_t[]){t, 2 * w->n});
    item_pipeline_add_field(&j->line, "canonical", PLUMB_FLOAT64, 2,
                            (int64_t[]){t, 2 * w->canonical_n});
    item_pipeline_add_field(&j->line, "energy", PLUMB_FLOAT64, 1, &t);
    item_pipeline_add_field(&j->line, "time", PLUMB_FLOAT64, 1, &t);
    for (int64_t i = 0; i < w->parameter_count; i++) {
        const plumb_world_parameter *p = &w->parameters[i];
        int64_t count = p->count;
        // The published mass-spring without colours has one offset, 0, where all others have two.
        if (published && !strcmp(w->name, "mass-spring") && !strcmp(p->name, "offset")) count = 1;
        item_pipeline_add_field(&j->line, p->name, p->integer ? PLUMB_INT64 : PLUMB_FLOAT64,
                                is_row(p), &count);
    }
    return PLUMB_OK;
}

static plumb_status make_items(simulate_job *j)
{
    const int64_t size = plumb_world_parameter_size(j->world);
    arena *mem = &j->line.mem;
    j->items = ARENA_ALLOC(mem, item, j->line.item_capacity);
    if (!j->items) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < j->line.item_capacity; k++) {
        item *one = &j->items[k];
        const void **data = j->line.items[k].data;
        void *place[FIRST_PARAMETER];
        for (int i = FRAMES; i <= TIME; i++) {
            data[i] = place[i] = arena_alloc(mem, (int64_t)writer_bytes(&j->line.field[i]), 1);
            if (!place[i]) return PLUMB_EMEMORY;
        }
        double *parameters = ARENA_ALLOC(mem, double, size);
        one->integers = ARENA_ALLOC(mem, int64_t, size);
        if (!parameters || !one->integers) return PLUMB_EMEMORY;
        one->made = (plumb_world_item){.frames = place[FRAMES],
                                       .state = place[STATE],
                                       .derivative = place[DERIVATIVE],
                                       .canonical = place[CANONICAL],
                                       .energy = place[ENERGY],
                                       .time = place[TIME],
                                       .parameters = parameters};
        int64_t at = 0;
        for (int64_t i = 0; i < j->facts->parameter_count; i++) {
            const plumb_world_parameter *p = &j->facts->parameters[i];
            data[FIRST_PARAMETER + i] =
                p->integer ? (const void *)(one->integers + at) : (const void *)(parameters + at);
            at += p->count;
        }
    }
    return PLUMB_OK;
}

static plumb_status make(void *context, int64_t slot, int64_t number)
{
    const simulate_job *j = context;
    const item *one = &j->items[slot];
    const plumb_status st =
        plumb_world_simulate(&one->made, j->world, j->seed, j->first + number, j->steps, &j->opt);
    const int64_t size = plumb_world_parameter_size(j->world);
    for (int64_t i = 0; i < size && !st; i++) one->integers[i] = (int64_t)one->made.parameters[i];
    return st;
}

// Several a thread, so that none waits for the slowest; fewer where items are large.
static int64_t slots_for(const simulate_job *j, int threads)
{
    const size_t bytes = item_pipeline_bytes(&j->line);
    int64_t slots = (int64_t)threads * SLOTS_PER_THREAD;
    while (slots > threads && (size_t)slots * bytes > SLOT_BYTES) slots--;
    return slots;
}

static plumb_status check(const simulate_job *j, int64_t count, const char *path)
{
    if (count < 1) return fail(PLUMB_EVALUE, "count is %lld, wanted at least 1", (long long)count);
    if (j->steps < 1)
        return fail(PLUMB_EVALUE, "steps is %lld, wanted at least 1", (long long)j->steps);
    if (j->first < 0 || j->first > INT64_MAX - count)
        return fail(PLUMB_EVALUE, "first is %lld, wanted at least 0", (long long)j->first);
    if (j->steps > (int64_t)1 << 32 || count > (int64_t)1 << 40)
        return fail(PLUMB_EVALUE, "%s: %lld items of %lld steps are more than a file holds", path,
                    (long long)count, (long long)j->steps);
    return PLUMB_OK;
}

// Options that the world refuses are refused before a file is begun; and the time of the second
// frame is the time between frames.
static plumb_status probe(const simulate_job *j, double *dt)
{
    double time[2] = {0};
    const plumb_world_item one = {.time = time};
    plumb_world_options opt = j->opt;
    if (!opt.reject_steps) opt.reject_steps = 2; // any will do
    const plumb_status st = plumb_world_simulate(&one, j->world, j->seed, j->first, 2, &opt);
    *dt = time[1] - time[0];
    return st;
}

plumb_status plumb_dataset_simulate(const char *path, const plumb_world *world, int64_t count,
                                    int64_t steps, uint64_t seed, int64_t first,
                                    const plumb_world_options *world_opt,
                                    const plumb_dataset_write_options *opt, int threads)
{
    simulate_job j = {.world = world,
                      .facts = plumb_world_get_info(world),
                      .opt = plumb_world_defaults(),
                      .steps = steps,
                      .first = first,
                      .seed = seed};
    double dt = 0.0;
    plumb_status st = options_resolve(&j.opt, sizeof j.opt, world_opt, "plumb_world_options");
    if (st) return st;
    j.line.make = make;
    j.line.context = &j;
    if (!j.opt.image) j.opt.image = j.facts->height;
    if (threads <= 0) threads = parallel_threads();
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    st = check(&j, count, path);
    if (!st) st = probe(&j, &dt);
    if (!st) st = list_fields(&j, opt && opt->published);
    if (st) return st;
    item_pipeline_add_origin(&j.line, j.facts->name, j.facts->upright, seed, first, dt);
    st = item_pipeline_open(&j.line, path, count, slots_for(&j, threads), opt);
    if (!st) st = make_items(&j);
    if (!st) st = item_pipeline_run(&j.line, count, threads);
    return item_pipeline_close(&j.line, st);
}
