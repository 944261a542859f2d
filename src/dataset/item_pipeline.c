// SPDX-License-Identifier: MIT
// The loop of item_pipeline_run: make and pack a group of items on all threads, then append them in
// order.
#define _GNU_SOURCE
#include "dataset/item_pipeline.h"

#include <stdio.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"

void item_pipeline_add_field(item_pipeline *pipeline, const char *name, plumb_dtype dtype, int ndim,
                             const int64_t *shape)
{
    pipeline->field[pipeline->field_count++] =
        (writer_field){.name = name, .array = plumb_array_view(NULL, dtype, ndim, shape)};
}

// Adds a field that the whole file shares.
static void add_shared(item_pipeline *pipeline, const char *name, plumb_dtype dtype, int64_t count,
                       void *data)
{
    item_pipeline_add_field(pipeline, name, dtype, count > 0, &count);
    pipeline->field[pipeline->field_count - 1].shared = true;
    pipeline->field[pipeline->field_count - 1].array.data = data;
}

// Fields that tell how the file was made: world, upright, seed, first, dt.
void item_pipeline_add_origin(item_pipeline *pipeline, const char *world, bool upright,
                              uint64_t seed, int64_t first, double dt)
{
    pipeline->origin[0] = upright;
    memcpy(&pipeline->origin[1], &seed, sizeof seed);
    pipeline->origin[2] = first;
    pipeline->dt = dt;
    add_shared(pipeline, "world", PLUMB_UINT8, (int64_t)strlen(world), (char *)(uintptr_t)world);
    add_shared(pipeline, "upright", PLUMB_INT64, 0, &pipeline->origin[0]);
    add_shared(pipeline, "seed", PLUMB_INT64, 0, &pipeline->origin[1]);
    add_shared(pipeline, "first", PLUMB_INT64, 0, &pipeline->origin[2]);
    add_shared(pipeline, "dt", PLUMB_FLOAT64, 0, &pipeline->dt);
}

size_t item_pipeline_bytes(const item_pipeline *pipeline)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < pipeline->field_count; i++)
        if (!pipeline->field[i].shared) bytes += writer_bytes(&pipeline->field[i]);
    return bytes;
}

plumb_status item_pipeline_open(item_pipeline *pipeline, const char *path, int64_t count,
                                int64_t capacity, const plumb_dataset_write_options *options)
{
    const plumb_status st = writer_open(&pipeline->writer, path, pipeline->field,
                                        pipeline->field_count, count, options);
    if (st) return st;
    // Items in flight: as many are made and packed at once.
    pipeline->item_capacity = capacity < count ? capacity : count;
    pipeline->items = ARENA_ALLOC(&pipeline->mem, pipeline_item, pipeline->item_capacity);
    return pipeline->items ? PLUMB_OK : PLUMB_EMEMORY;
}

// Makes and packs one item, on any thread.
static plumb_status make_item(void *context, int64_t place, int worker)
{
    (void)worker;
    item_pipeline *pipeline = context;
    pipeline_item *item = &pipeline->items[place];
    const plumb_status st = pipeline->make(pipeline->context, place, pipeline->next + place);
    return st ? st : writer_pack(&item->packed, pipeline->writer, item->data);
}

plumb_status item_pipeline_run(item_pipeline *pipeline, int64_t count, int threads)
{
    plumb_status st = PLUMB_OK;
    while (pipeline->next < count && !st) {
        const int64_t left = count - pipeline->next;
        const int64_t now = left < pipeline->item_capacity ? left : pipeline->item_capacity;
        // The order in the file does not depend on the threads.
        st = parallel_for(now, threads, make_item, pipeline);
        for (int64_t k = 0; k < now && !st; k++)
            st = writer_append(pipeline->writer, pipeline->items[k].data,
                               &pipeline->items[k].packed);
        pipeline->next += now;
        status_progress((double)pipeline->next / (double)count);
    }
    return st ? st : status_check_stop();
}

// Commits the file if all went well, else discards it.
plumb_status item_pipeline_close(item_pipeline *pipeline, plumb_status st)
{
    for (int64_t k = 0; pipeline->items && k < pipeline->item_capacity; k++)
        buffer_clear(&pipeline->items[k].packed);
    arena_clear(&pipeline->mem);
    if (!st) return writer_commit(pipeline->writer);
    writer_discard(pipeline->writer);
    return st;
}
