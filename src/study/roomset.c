// SPDX-License-Identifier: MIT
// Rooms into a file, a handful at a time by all threads and then in order, as worlds are.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/status.h"
#include "data/writer.h"
#include "plumb/room.h"

enum { FRAMES, MASK, CAMERA, OBJECTS, CUT_OR_BLOCKS, CONCEPT, MADE_FIELDS, ALL_FIELDS = 16 };
enum { LETTERS = 32, SLOTS_PER_THREAD = 16 };

typedef struct slot {
    plumb_room_item made;
    const void *data[ALL_FIELDS];
    buffer packed;
    plumb_status st;
    char why[512];
} slot;

typedef struct job {
    const plumb_room *room;
    const plumb_room_facts *facts;
    int64_t image, first, next;
    uint64_t seed;
    char concept[LETTERS];
    writer *out;
    writer_field field[ALL_FIELDS];
    int64_t fields;
    slot *slots;
    int64_t slot_count;
    arena mem;
} job;

static void add(job *j, const char *name, plumb_dtype dtype, int ndim, const int64_t *shape)
{
    writer_field *f = &j->field[j->fields++];
    *f = (writer_field){.name = name, .array = plumb_array_view(NULL, dtype, ndim, shape)};
}

static void add_shared(job *j, const char *name, plumb_dtype dtype, int64_t count, void *data)
{
    add(j, name, dtype, count > 0, &count);
    j->field[j->fields - 1].shared = true;
    j->field[j->fields - 1].array.data = data;
}

static void list_fields(job *j)
{
    const bool probe = j->facts->concept;
    const int skip = probe ? 0 : 1; // a free scene is one clip, and has no axis of clips
    const int64_t n = j->image, t = PLUMB_ROOM_STEPS, letters = LETTERS;
    const int64_t cuts = PLUMB_ROOM_CUTS, blocks = PLUMB_ROOM_BLOCKS;
    add(j, "frames", PLUMB_U1, 5 - skip, (int64_t[]){4, t, n, n, 3} + skip);
    add(j, "mask", PLUMB_U1, 4 - skip, (int64_t[]){4, t, n, n} + skip);
    add(j, "camera_pose", PLUMB_F4, 3 - skip, (int64_t[]){4, t, 6} + skip);
    add(j, "objects", PLUMB_F8, 4 - skip,
        (int64_t[]){4, t, PLUMB_ROOM_OBJECTS, PLUMB_ROOM_NUMBERS} + skip);
    if (probe) add(j, "cut", PLUMB_I8, 1, &cuts);
    else add(j, "blocks", PLUMB_U1, 1, &blocks);
    if (probe) add(j, "concept", PLUMB_U1, 1, &letters);
}

static void list_shared(job *j, double *dt, int64_t numbers[3])
{
    *dt = j->facts->dt;
    numbers[0] = 1;
    memcpy(&numbers[1], &j->seed, 8);
    numbers[2] = j->first;
    add_shared(j, "world", PLUMB_U1, (int64_t)strlen(j->facts->name),
               (char *)(uintptr_t)j->facts->name);
    add_shared(j, "upright", PLUMB_I8, 0, &numbers[0]);
    add_shared(j, "seed", PLUMB_I8, 0, &numbers[1]);
    add_shared(j, "first", PLUMB_I8, 0, &numbers[2]);
    add_shared(j, "dt", PLUMB_F8, 0, dt);
}

static plumb_status make_slots(job *j, int threads, int64_t count)
{
    const bool probe = j->facts->concept;
    const int64_t slots = (int64_t)threads * SLOTS_PER_THREAD;
    j->slot_count = slots < count ? slots : count;
    j->slots = ARENA_NEW(&j->mem, slot, j->slot_count);
    if (!j->slots) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < j->slot_count; k++) {
        slot *s = &j->slots[k];
        void *place[MADE_FIELDS] = {NULL};
        for (int i = FRAMES; i <= CUT_OR_BLOCKS; i++) {
            place[i] = arena_take(&j->mem, (int64_t)writer_bytes(&j->field[i]), 1);
            if (!place[i]) return PLUMB_EMEMORY;
            s->data[i] = place[i];
        }
        if (probe) s->data[CONCEPT] = j->concept;
        s->made = (plumb_room_item){.frames = place[FRAMES],
                                    .mask = place[MASK],
                                    .camera = place[CAMERA],
                                    .objects = place[OBJECTS],
                                    .cut = probe ? place[CUT_OR_BLOCKS] : NULL,
                                    .blocks = probe ? NULL : place[CUT_OR_BLOCKS]};
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
        s->st = plumb_room_make(&s->made, j->room, j->seed, j->first + j->next + item, j->image);
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

plumb_status plumb_room_simulate(const char *path, const plumb_room *room, int64_t count,
                                 uint64_t seed, int64_t first, int64_t image,
                                 const plumb_dataset_options *opt, int threads)
{
    job j = {.room = room,
             .facts = plumb_room_describe(room),
             .image = image ? image : 64,
             .first = first,
             .seed = seed};
    double dt;
    int64_t numbers[3];
    if (threads <= 0) threads = pool_threads();
    if (threads > POOL_MAX_THREADS) threads = POOL_MAX_THREADS;
    if (count < 1 || count > (int64_t)1 << 40)
        return fail(PLUMB_EVALUE, "count is %lld, wanted at least 1", (long long)count);
    if (first < 0 || first > ((int64_t)1 << 48) - count)
        return fail(PLUMB_EVALUE, "first is %lld, wanted 0 to 2^48 - count", (long long)first);
    if (j.facts->concept) snprintf(j.concept, sizeof j.concept, "%s", j.facts->concept);
    // What a room refuses is refused before a file is begun.
    plumb_status st = plumb_room_make(&(plumb_room_item){0}, room, seed, first, image);
    if (st) return st;
    list_fields(&j);
    list_shared(&j, &dt, numbers);
    st = writer_open(&j.out, path, j.field, j.fields, count, opt);
    if (!st) st = make_slots(&j, threads, count);
    if (!st) st = make_all(&j, count, threads);
    for (int64_t k = 0; j.slots && k < j.slot_count; k++) buffer_clear(&j.slots[k].packed);
    arena_clear(&j.mem);
    if (st) writer_abandon(j.out);
    else st = writer_commit(j.out);
    return st;
}
