// SPDX-License-Identifier: MIT
// Rooms into a file.
#define _GNU_SOURCE
#include <stdio.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/item_pipeline.h"
#include "plumb/room.h"

enum { FRAMES, MASK, CAMERA, OBJECTS, CUT_OR_BLOCKS, CONCEPT };
enum { LETTERS = 32, SLOTS_PER_THREAD = 16 };

typedef struct room_job {
    const plumb_room *room;
    const plumb_room_facts *facts;
    int64_t image, first;
    uint64_t seed;
    char concept[LETTERS];
    item_pipeline line;
    plumb_room_item *items;
} room_job;

static void list_fields(room_job *j)
{
    const bool probe = j->facts->concept;
    const int skip = probe ? 0 : 1; // a free scene is one clip, and has no axis of clips
    const int64_t n = j->image, t = PLUMB_ROOM_STEPS, letters = LETTERS;
    const int64_t cuts = PLUMB_ROOM_CUTS, blocks = PLUMB_ROOM_EVENTS;
    item_pipeline_add_field(&j->line, "frames", PLUMB_UINT8, 5 - skip,
                            (int64_t[]){4, t, n, n, 3} + skip);
    item_pipeline_add_field(&j->line, "mask", PLUMB_UINT8, 4 - skip,
                            (int64_t[]){4, t, n, n} + skip);
    item_pipeline_add_field(&j->line, "camera_pose", PLUMB_FLOAT32, 3 - skip,
                            (int64_t[]){4, t, 6} + skip);
    item_pipeline_add_field(&j->line, "objects", PLUMB_FLOAT64, 4 - skip,
                            (int64_t[]){4, t, PLUMB_ROOM_OBJECTS, PLUMB_ROOM_OBJECT_SIZE} + skip);
    if (probe) item_pipeline_add_field(&j->line, "cut", PLUMB_INT64, 1, &cuts);
    else item_pipeline_add_field(&j->line, "blocks", PLUMB_UINT8, 1, &blocks);
    if (probe) item_pipeline_add_field(&j->line, "concept", PLUMB_UINT8, 1, &letters);
}

static plumb_status make_items(room_job *j)
{
    const bool probe = j->facts->concept;
    j->items = ARENA_ALLOC(&j->line.mem, plumb_room_item, j->line.item_capacity);
    if (!j->items) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < j->line.item_capacity; k++) {
        const void **data = j->line.items[k].data;
        void *place[CONCEPT];
        for (int i = FRAMES; i <= CUT_OR_BLOCKS; i++) {
            const int64_t bytes = (int64_t)writer_bytes(&j->line.field[i]);
            data[i] = place[i] = arena_alloc(&j->line.mem, bytes, 1);
            if (!place[i]) return PLUMB_EMEMORY;
        }
        if (probe) data[CONCEPT] = j->concept;
        j->items[k] = (plumb_room_item){.frames = place[FRAMES],
                                        .mask = place[MASK],
                                        .camera = place[CAMERA],
                                        .objects = place[OBJECTS],
                                        .cut = probe ? place[CUT_OR_BLOCKS] : NULL,
                                        .blocks = probe ? NULL : place[CUT_OR_BLOCKS]};
    }
    return PLUMB_OK;
}

static plumb_status make(void *context, int64_t slot, int64_t number)
{
    const room_job *j = context;
    return plumb_room_make(&j->items[slot], j->room, j->seed, j->first + number, j->image);
}

plumb_status plumb_room_simulate(const char *path, const plumb_room *room, int64_t count,
                                 uint64_t seed, int64_t first, int64_t image,
                                 const plumb_dataset_write_options *opt, int threads)
{
    room_job j = {.room = room,
                  .facts = plumb_room_describe(room),
                  .image = image ? image : 64,
                  .first = first,
                  .seed = seed};
    j.line.make = make;
    j.line.context = &j;
    if (threads <= 0) threads = parallel_threads();
    if (threads > PARALLEL_MAX_THREADS) threads = PARALLEL_MAX_THREADS;
    if (count < 1 || count > (int64_t)1 << 40)
        return fail(PLUMB_EVALUE, "count is %lld, wanted at least 1", (long long)count);
    if (first < 0 || first > ((int64_t)1 << 48) - count)
        return fail(PLUMB_EVALUE, "first is %lld, wanted 0 to 2^48 - count", (long long)first);
    if (j.facts->concept) snprintf(j.concept, sizeof j.concept, "%s", j.facts->concept);
    // What a room refuses is refused before a file is begun.
    plumb_status st = plumb_room_make(&(plumb_room_item){0}, room, seed, first, image);
    if (st) return st;
    list_fields(&j);
    item_pipeline_add_origin(&j.line, j.facts->name, true, seed, first, j.facts->dt);
    st = item_pipeline_open(&j.line, path, count, (int64_t)threads * SLOTS_PER_THREAD, opt);
    if (!st) st = make_items(&j);
    if (!st) st = item_pipeline_run(&j.line, count, threads);
    return item_pipeline_close(&j.line, st);
}
