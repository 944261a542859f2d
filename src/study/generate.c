// SPDX-License-Identifier: MIT
// A world into a file. Items are made, and packed where the format needs it, a handful at a time by
// all threads, and then written in order: the file has the same bytes for any number of threads.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/status.h"
#include "data/writer.h"
#include "plumb/dataset.h"

enum { MAX_FIELDS = 64, SLOTS_PER_THREAD = 4, SLOT_BYTES = 1 << 26 };

// The fixed arrays come first, the parameters behind them, what is shared at the end.
enum { FRAMES, STATE, DERIVATIVE, CANONICAL, ENERGY, TIME, FIRST_PARAMETER };

// One item on its way.
typedef struct slot {
    plumb_trajectory made;
    int64_t *integers; // parameters that are whole numbers
    const void *data[MAX_FIELDS];
    buffer packed;
    plumb_status st;
    char why[512];
} slot;

typedef struct job {
    const plumb_world *world;
    const plumb_world_facts *facts;
    plumb_world_options opt;
    int64_t steps, first, next;
    uint64_t seed;
    writer *out;
    writer_field field[MAX_FIELDS];
    int64_t fields;
    slot *slots;
    int64_t slot_count;
    arena mem;
} job;

static void add_field(job *j, const char *name, plumb_dtype dtype, int ndim, const int64_t *shape)
{
    writer_field *f = &j->field[j->fields++];
    *f = (writer_field){.name = name, .array = plumb_array_view(NULL, dtype, ndim, shape)};
}

static void add_shared(job *j, const char *name, plumb_dtype dtype, int64_t count, void *data)
{
    add_field(j, name, dtype, count > 0, &count);
    j->field[j->fields - 1].shared = true;
    j->field[j->fields - 1].array.data = data;
}

// Colours and offsets are a row even if it is of one number, as in the published records.
static bool is_row(const plumb_world_parameter *p)
{
    return p->count > 1 || !strcmp(p->name, "color_index") || !strcmp(p->name, "offset");
}

static plumb_status list_fields(job *j, bool published)
{
    const plumb_world_facts *w = j->facts;
    const int64_t t = j->steps;
    if (w->parameter_count > MAX_FIELDS - 16)
        return fail(PLUMB_EVALUE, "%s has too many parameters", w->name);
    add_field(j, "frames", PLUMB_U1, 4, (int64_t[]){t, j->opt.image, j->opt.image, w->channels});
    add_field(j, "state", PLUMB_F8, 2, (int64_t[]){t, 2 * w->n});
    add_field(j, "derivative", PLUMB_F8, 2, (int64_t[]){t, 2 * w->n});
    add_field(j, "canonical", PLUMB_F8, 2, (int64_t[]){t, 2 * w->canonical_n});
    add_field(j, "energy", PLUMB_F8, 1, &t);
    add_field(j, "time", PLUMB_F8, 1, &t);
    for (int64_t i = 0; i < w->parameter_count; i++) {
        const plumb_world_parameter *p = &w->parameters[i];
        int64_t count = p->count;
        // The published mass-spring without colours has one offset, 0, where all others have two.
        if (published && !strcmp(w->name, "mass-spring") && !strcmp(p->name, "offset")) count = 1;
        add_field(j, p->name, p->integer ? PLUMB_I8 : PLUMB_F8, is_row(p), &count);
    }
    return PLUMB_OK;
}

// What is one for the whole file. The time between frames is what the frames of an item say.
static void list_shared(job *j, double *dt, int64_t numbers[3])
{
    add_shared(j, "world", PLUMB_U1, (int64_t)strlen(j->facts->name),
               (char *)(uintptr_t)j->facts->name);
    numbers[0] = j->facts->upright;
    memcpy(&numbers[1], &j->seed, 8);
    numbers[2] = j->first;
    add_shared(j, "upright", PLUMB_I8, 0, &numbers[0]);
    add_shared(j, "seed", PLUMB_I8, 0, &numbers[1]);
    add_shared(j, "first", PLUMB_I8, 0, &numbers[2]);
    add_shared(j, "dt", PLUMB_F8, 0, dt);
}

static plumb_status make_slots(job *j, int threads, int64_t count)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < j->fields; i++)
        if (!j->field[i].shared) bytes += writer_bytes(&j->field[i]);
    // Several a thread, so that none waits for the slowest; fewer where items are large.
    int64_t slots = (int64_t)threads * SLOTS_PER_THREAD;
    while (slots > threads && (size_t)slots * bytes > SLOT_BYTES) slots--;
    j->slot_count = slots < count ? slots : count;
    j->slots = ARENA_NEW(&j->mem, slot, j->slot_count);
    if (!j->slots) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < j->slot_count; k++) {
        slot *s = &j->slots[k];
        const int64_t size = plumb_world_parameter_size(j->world);
        for (int64_t i = FRAMES; i <= TIME; i++) {
            s->data[i] = arena_take(&j->mem, (int64_t)writer_bytes(&j->field[i]), 1);
            if (!s->data[i]) return PLUMB_EMEMORY;
        }
        double *parameters = ARENA_NEW(&j->mem, double, size);
        s->integers = ARENA_NEW(&j->mem, int64_t, size);
        if (!parameters || !s->integers) return PLUMB_EMEMORY;
        s->made = (plumb_trajectory){
            .frames = (uint8_t *)(uintptr_t)s->data[FRAMES],
            .state = (double *)(uintptr_t)s->data[STATE],
            .derivative = (double *)(uintptr_t)s->data[DERIVATIVE],
            .canonical = (double *)(uintptr_t)s->data[CANONICAL],
            .energy = (double *)(uintptr_t)s->data[ENERGY],
            .time = (double *)(uintptr_t)s->data[TIME],
            .parameters = parameters,
        };
        int64_t at = 0;
        for (int64_t i = 0; i < j->facts->parameter_count; i++) {
            const plumb_world_parameter *p = &j->facts->parameters[i];
            s->data[FIRST_PARAMETER + i] =
                p->integer ? (const void *)(s->integers + at) : (const void *)(parameters + at);
            at += p->count;
        }
    }
    return PLUMB_OK;
}

static void make_item(void *context, int64_t item, int worker)
{
    (void)worker;
    job *j = context;
    slot *s = &j->slots[item];
    s->st = status_check_stop();
    if (!s->st)
        s->st = plumb_world_make(&s->made, j->world, j->seed, j->first + j->next + item, j->steps,
                                 &j->opt);
    const int64_t size = plumb_world_parameter_size(j->world);
    for (int64_t i = 0; i < size && !s->st; i++) s->integers[i] = (int64_t)s->made.parameters[i];
    if (!s->st) s->st = writer_pack(&s->packed, j->out, s->data);
    // The message belongs to this thread; the caller is on another.
    if (s->st) snprintf(s->why, sizeof s->why, "%s", plumb_last_error());
}

static plumb_status make_all(job *j, int64_t count, int threads)
{
    plumb_status st = PLUMB_OK;
    while (j->next < count && !st) {
        const int64_t left = count - j->next;
        const int64_t now = left < j->slot_count ? left : j->slot_count;
        pool_run(now, threads, make_item, j);
        for (int64_t k = 0; k < now && !st; k++) {
            slot *s = &j->slots[k];
            st = s->st ? fail(s->st, "%s", s->why) : writer_put(j->out, s->data, &s->packed);
        }
        j->next += now;
        status_progress((double)j->next / (double)count);
    }
    return st ? st : status_check_stop();
}

static plumb_status check(const job *j, int64_t count, const char *path)
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
static plumb_status probe(const job *j, double *dt)
{
    double time[2] = {0};
    const plumb_trajectory one = {.time = time};
    plumb_world_options opt = j->opt;
    if (!opt.reject_steps) opt.reject_steps = 2; // any will do
    const plumb_status st = plumb_world_make(&one, j->world, j->seed, j->first, 2, &opt);
    *dt = time[1] - time[0];
    return st;
}

plumb_status plumb_dataset_simulate(const char *path, const plumb_world *world, int64_t count,
                                    int64_t steps, uint64_t seed, int64_t first,
                                    const plumb_world_options *world_opt,
                                    const plumb_dataset_options *opt, int threads)
{
    job j = {.world = world,
             .facts = plumb_world_describe(world),
             .opt = world_opt ? *world_opt : plumb_world_defaults(),
             .steps = steps,
             .first = first,
             .seed = seed};
    double dt = 0.0;
    int64_t numbers[3];
    if (!j.opt.image) j.opt.image = j.facts->height;
    if (threads <= 0) threads = pool_threads();
    if (threads > POOL_MAX_THREADS) threads = POOL_MAX_THREADS;
    plumb_status st = check(&j, count, path);
    if (!st) st = probe(&j, &dt);
    if (!st) st = list_fields(&j, opt && opt->published);
    if (!st) list_shared(&j, &dt, numbers);
    if (!st) st = writer_open(&j.out, path, j.field, j.fields, count, opt);
    if (!st) st = make_slots(&j, threads, count);
    if (!st) st = make_all(&j, count, threads);
    for (int64_t k = 0; j.slots && k < j.slot_count; k++) buffer_clear(&j.slots[k].packed);
    arena_clear(&j.mem);
    if (st) writer_abandon(j.out);
    else st = writer_commit(j.out);
    return st;
}
