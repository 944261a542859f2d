// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "dataset/item_pipeline.h"

#include <stdio.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"

void item_pipeline_add_field(item_pipeline *a, const char *name, plumb_dtype dtype, int ndim,
                             const int64_t *shape)
{
    a->field[a->fields++] =
        (writer_field){.name = name, .array = plumb_array_view(NULL, dtype, ndim, shape)};
}

static void add_shared(item_pipeline *a, const char *name, plumb_dtype dtype, int64_t count,
                       void *data)
{
    item_pipeline_add_field(a, name, dtype, count > 0, &count);
    a->field[a->fields - 1].shared = true;
    a->field[a->fields - 1].array.data = data;
}

void item_pipeline_add_origin(item_pipeline *a, const char *world, bool upright, uint64_t seed,
                              int64_t first, double dt)
{
    a->origin[0] = upright;
    memcpy(&a->origin[1], &seed, sizeof seed);
    a->origin[2] = first;
    a->dt = dt;
    add_shared(a, "world", PLUMB_UINT8, (int64_t)strlen(world), (char *)(uintptr_t)world);
    add_shared(a, "upright", PLUMB_INT64, 0, &a->origin[0]);
    add_shared(a, "seed", PLUMB_INT64, 0, &a->origin[1]);
    add_shared(a, "first", PLUMB_INT64, 0, &a->origin[2]);
    add_shared(a, "dt", PLUMB_FLOAT64, 0, &a->dt);
}

size_t item_pipeline_bytes(const item_pipeline *a)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < a->fields; i++)
        if (!a->field[i].shared) bytes += writer_bytes(&a->field[i]);
    return bytes;
}

plumb_status item_pipeline_open(item_pipeline *a, const char *path, int64_t count, int64_t slots,
                                const plumb_dataset_write_options *opt)
{
    const plumb_status st = writer_open(&a->out, path, a->field, a->fields, count, opt);
    if (st) return st;
    a->slots = slots < count ? slots : count;
    a->slot = ARENA_ALLOC(&a->mem, pipeline_item, a->slots);
    return a->slot ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status make_item(void *context, int64_t slot, int worker)
{
    (void)worker;
    item_pipeline *a = context;
    pipeline_item *s = &a->slot[slot];
    const plumb_status st = a->make(a->context, slot, a->next + slot);
    return st ? st : writer_pack(&s->packed, a->out, s->data);
}

plumb_status item_pipeline_run(item_pipeline *a, int64_t count, int threads)
{
    plumb_status st = PLUMB_OK;
    while (a->next < count && !st) {
        const int64_t left = count - a->next;
        const int64_t now = left < a->slots ? left : a->slots;
        st = parallel_for(now, threads, make_item, a);
        for (int64_t k = 0; k < now && !st; k++)
            st = writer_append(a->out, a->slot[k].data, &a->slot[k].packed);
        a->next += now;
        status_progress((double)a->next / (double)count);
    }
    return st ? st : status_check_stop();
}

plumb_status item_pipeline_close(item_pipeline *a, plumb_status st)
{
    for (int64_t k = 0; a->slot && k < a->slots; k++) buffer_clear(&a->slot[k].packed);
    arena_clear(&a->mem);
    if (!st) return writer_commit(a->out);
    writer_discard(a->out);
    return st;
}
