// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "evaluate/probe_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"

bool probe_source_room(probe_source *out, int64_t index, int64_t image)
{
    for (int64_t i = 0; i < plumb_world_count(); i++) {
        const plumb_world *world = plumb_world_at(i);
        const plumb_world_info *info = plumb_world_get_info(world);
        if (info->kind != PLUMB_WORLD_PROBE || index--) continue;
        *out = (probe_source){.world = world,
                              .steps = info->steps,
                              .height = image,
                              .width = image,
                              .channels = info->channels};
        return true;
    }
    return false;
}

plumb_status probe_source_open(probe_source *out, const char *path, int64_t tuples)
{
    probe_source p = {.path = path};
    plumb_array a;
    char shape[200];
    plumb_status st = plumb_dataset_open(&p.data, path, NULL);
    if (st) return st;
    p.tuples = plumb_dataset_item_count(p.data);
    if (p.tuples > tuples) p.tuples = tuples;
    st = p.tuples ? plumb_dataset_read_field(&a, p.data, 0, "frames")
                  : fail(PLUMB_EFILE, "%s: has no tuples", path);
    if (!st && (a.dtype != PLUMB_UINT8 || a.ndim != 5 || a.shape[0] != 4))
        st = fail(PLUMB_ESHAPE,
                  "%s: frames of an item are %s %s, wanted u1 (4, steps, height, width, channels)",
                  path, plumb_dtype_name(a.dtype),
                  plumb_array_shape_string(shape, sizeof shape, &a));
    if (st) {
        plumb_dataset_close(p.data);
        return st;
    }
    p.steps = a.shape[1], p.height = a.shape[2], p.width = a.shape[3], p.channels = a.shape[4];
    *out = p;
    return PLUMB_OK;
}

void probe_source_close(probe_source *p)
{
    plumb_dataset_close(p->data);
    p->data = NULL;
}

// ---- rooms ----

typedef struct probe_job {
    const probe_source *p;
    int64_t from;
    uint8_t *frames, *mask;
} probe_job;

static plumb_status make_tuple(void *context, int64_t index, int worker)
{
    (void)worker;
    probe_job *j = context;
    const probe_source *p = j->p;
    const int64_t pixels = 4 * p->steps * p->height * p->width;
    const plumb_world_item out = {.frames = j->frames + index * pixels * p->channels,
                                  .mask = j->mask ? j->mask + index * pixels : NULL};
    plumb_world_options options = plumb_world_defaults();
    options.image = p->height;
    return plumb_world_simulate(&out, p->world, p->seed, p->first + j->from + index, p->steps,
                                &options);
}

// ---- files ----

static plumb_status read_bytes(uint8_t *out, const probe_source *p, int64_t item, const char *field,
                               int64_t bytes)
{
    plumb_array a;
    char shape[200];
    plumb_status st = plumb_dataset_read_field(&a, p->data, item, field);
    if (st) return st;
    if (a.dtype != PLUMB_UINT8 || plumb_array_count(&a) != bytes)
        return fail(PLUMB_ESHAPE, "%s: %s of item %lld is %s %s, unlike item 0", p->path, field,
                    (long long)item, plumb_dtype_name(a.dtype),
                    plumb_array_shape_string(shape, sizeof shape, &a));
    memcpy(out, a.data, (size_t)bytes);
    return PLUMB_OK;
}

// What a file says of the concept, else its own name.
static plumb_status name_concept(uint8_t *out, const probe_source *p, int64_t item)
{
    plumb_array a;
    memset(out, 0, PROBE_SOURCE_NAME_SIZE);
    if (p->world || !plumb_dataset_has_field(p->data, "concept")) {
        const char *name =
            p->world ? plumb_world_get_info(p->world)->concept_name : basename(p->path);
        snprintf((char *)out, PROBE_SOURCE_NAME_SIZE, "%s", name);
        return PLUMB_OK;
    }
    plumb_status st = plumb_dataset_read_field(&a, p->data, item, "concept");
    if (st) return st;
    const int64_t letters = plumb_array_count(&a);
    if (a.dtype != PLUMB_UINT8)
        return fail(PLUMB_ESHAPE, "%s: concept of item %lld is %s, wanted text", p->path,
                    (long long)item, plumb_dtype_name(a.dtype));
    memcpy(out, a.data,
           (size_t)(letters < PROBE_SOURCE_NAME_SIZE - 1 ? letters : PROBE_SOURCE_NAME_SIZE - 1));
    return PLUMB_OK;
}

plumb_status probe_source_read(const probe_source *p, int64_t from, int64_t count, uint8_t *frames,
                               uint8_t *mask, uint8_t *concept, int threads)
{
    const int64_t pixels = 4 * p->steps * p->height * p->width;
    plumb_status st = PLUMB_OK;
    if (p->world) {
        probe_job job = {.p = p, .from = from, .frames = frames, .mask = mask};
        st = parallel_for(count, threads, make_tuple, &job);
    }
    for (int64_t i = 0; i < count && !st; i++) {
        st = name_concept(concept + i * PROBE_SOURCE_NAME_SIZE, p, from + i);
        if (p->world || st) continue;
        st = read_bytes(frames + i * pixels * p->channels, p, from + i, "frames",
                        pixels * p->channels);
        if (!st && mask) st = read_bytes(mask + i * pixels, p, from + i, "mask", pixels);
    }
    return st;
}
