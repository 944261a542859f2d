// SPDX-License-Identifier: MIT
// Where probe tuples come from: a room, which simulates them, or a file. Both give frames, masks
// and the name of the concept.
#define _GNU_SOURCE
#include "evaluate/probe_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/video_resize.h"

static probe_source make_room(const plumb_world *world, int64_t image)
{
    const plumb_world_info *info = plumb_world_get_info(world);
    return (probe_source){.world = world,
                          .steps = info->steps,
                          .height = image,
                          .width = image,
                          .channels = info->channels};
}

bool probe_source_find(probe_source *out, const char *name, int64_t image)
{
    const plumb_world *world;
    if (strncmp(name, "rooms/", 6) != 0 || plumb_world_find(&world, name)) return false;
    const plumb_world_info *info = plumb_world_get_info(world);
    // rooms/impossible has no possible clips.
    if (info->kind != PLUMB_WORLD_PROBE || !info->concept_name) return false;
    *out = make_room(world, image);
    return true;
}

bool probe_source_room(probe_source *out, int64_t index, int64_t image)
{
    // Probe number `index` of the list of worlds.
    for (int64_t i = 0; i < plumb_world_count(); i++) {
        const plumb_world *world = plumb_world_at(i);
        const plumb_world_info *info = plumb_world_get_info(world);
        if (info->kind != PLUMB_WORLD_PROBE || index--) continue;
        *out = make_room(world, image);
        return true;
    }
    return false;
}

plumb_status probe_source_open(probe_source *out, const char *path, int64_t first, int64_t tuples)
{
    probe_source source = {.path = path, .first = first};
    plumb_array array;
    char shape[200];
    plumb_status st = plumb_dataset_open(&source.data, path, NULL);
    if (st) return st;
    const int64_t stored = plumb_dataset_item_count(source.data);
    // As many as the file has, from `first` on.
    source.tuples = stored - first < tuples ? stored - first : tuples;
    if (!stored) st = fail(PLUMB_EFILE, "%s: has no tuples", path);
    else if (first >= stored)
        st = fail(PLUMB_EVALUE, "%s: has %lld tuples; there is no tuple %lld to begin with", path,
                  (long long)stored, (long long)first);
    else st = plumb_dataset_read_field(&array, source.data, first, "frames");
    if (!st && (array.dtype != PLUMB_UINT8 || array.ndim != 5 || array.shape[0] != 4))
        st = fail(PLUMB_ESHAPE,
                  "%s: frames of an item are %s %s, wanted u1 (4, steps, height, width, channels)",
                  path, plumb_dtype_name(array.dtype),
                  plumb_array_shape_string(shape, sizeof shape, &array));
    if (st) {
        plumb_dataset_close(source.data);
        return st;
    }
    source.steps = array.shape[1], source.height = array.shape[2], source.width = array.shape[3],
    source.channels = array.shape[4];
    source.stored_height = source.height, source.stored_width = source.width;
    *out = source;
    return PLUMB_OK;
}

plumb_status probe_source_resize(probe_source *source, int64_t height, int64_t width)
{
    if (source->world || (source->height == height && source->width == width)) return PLUMB_OK;
    if (source->height < height || source->height * width != source->width * height)
        return fail(PLUMB_ESHAPE,
                    "%s: frames of %lldx%lld cannot be resized to %lldx%lld: frames are only made "
                    "smaller, in the same shape",
                    source->path, (long long)source->height, (long long)source->width,
                    (long long)height, (long long)width);
    status_log("%s: frames of %lldx%lld are resized to %lldx%lld", source->path,
               (long long)source->height, (long long)source->width, (long long)height,
               (long long)width);
    source->height = height, source->width = width;
    return PLUMB_OK;
}

void probe_source_close(probe_source *source)
{
    plumb_dataset_close(source->data);
    source->data = NULL;
}

// ---- rooms ----

typedef struct probe_job {
    const probe_source *source;
    int64_t from; // index of the first tuple
    uint8_t *frames, *mask;
} probe_job;

// Simulates one tuple; a task of parallel_for().
static plumb_status make_tuple(void *context, int64_t index, int worker)
{
    (void)worker;
    probe_job *job = context;
    const probe_source *source = job->source;
    // Pixels of a tuple; masks have one byte per pixel.
    const int64_t pixels = 4 * source->steps * source->height * source->width;
    const plumb_world_item out = {.frames = job->frames + index * pixels * source->channels,
                                  .mask = job->mask ? job->mask + index * pixels : NULL};
    plumb_world_options options = plumb_world_defaults();
    options.image = source->height;
    return plumb_world_simulate(&out, source->world, source->seed,
                                source->first + job->from + index, source->steps, &options);
}

// ---- files ----

// The object at the middle of the area of each pixel.
static void resize_mask(uint8_t *out, const uint8_t *mask, const probe_source *source)
{
    const int64_t h = source->stored_height, w = source->stored_width;
    for (int64_t t = 0; t < 4 * source->steps; t++, mask += h * w)
        for (int64_t i = 0; i < source->height; i++)
            for (int64_t j = 0; j < source->width; j++)
                *out++ = mask[(2 * i + 1) * h / (2 * source->height) * w +
                              (2 * j + 1) * w / (2 * source->width)];
}

// Reads frames or masks of one item. All items must have the size of the first.
static plumb_status read_bytes(uint8_t *out, const probe_source *source, int64_t item,
                               const char *field, int64_t channels)
{
    const int64_t h = source->stored_height, w = source->stored_width, steps = 4 * source->steps;
    const int64_t bytes = steps * h * w * channels;
    plumb_array array;
    char shape[200];
    plumb_status st = plumb_dataset_read_field(&array, source->data, item, field);
    if (st) return st;
    if (array.dtype != PLUMB_UINT8 || plumb_array_count(&array) != bytes)
        return fail(PLUMB_ESHAPE, "%s: %s of item %lld is %s %s, unlike item 0", source->path,
                    field, (long long)item, plumb_dtype_name(array.dtype),
                    plumb_array_shape_string(shape, sizeof shape, &array));
    if (h == source->height && w == source->width) {
        memcpy(out, array.data, (size_t)bytes);
        return PLUMB_OK;
    }
    if (!strcmp(field, "mask")) {
        resize_mask(out, array.data, source);
        return PLUMB_OK;
    }
    const plumb_array frames =
        plumb_array_view(array.data, PLUMB_UINT8, 4, (int64_t[]){steps, h, w, channels});
    const frame_size size = {.height = source->height, .width = source->width};
    return video_resize(out, &frames, &size, source->path);
}

// The concept of a tuple: of the room, or the array "concept" of the file, or else the name of the
// file.
static plumb_status name_concept(uint8_t *out, const probe_source *source, int64_t item)
{
    plumb_array array;
    memset(out, 0, PROBE_SOURCE_NAME_SIZE);
    if (source->world || !plumb_dataset_has_field(source->data, "concept")) {
        const char *name = source->world ? plumb_world_get_info(source->world)->concept_name
                                         : basename(source->path);
        snprintf((char *)out, PROBE_SOURCE_NAME_SIZE, "%s", name);
        return PLUMB_OK;
    }
    plumb_status st = plumb_dataset_read_field(&array, source->data, item, "concept");
    if (st) return st;
    const int64_t letters = plumb_array_count(&array);
    if (array.dtype != PLUMB_UINT8)
        return fail(PLUMB_ESHAPE, "%s: concept of item %lld is %s, wanted text", source->path,
                    (long long)item, plumb_dtype_name(array.dtype));
    memcpy(out, array.data,
           (size_t)(letters < PROBE_SOURCE_NAME_SIZE - 1 ? letters : PROBE_SOURCE_NAME_SIZE - 1));
    return PLUMB_OK;
}

plumb_status probe_source_read(const probe_source *source, int64_t from, int64_t count,
                               uint8_t *frames, uint8_t *mask, uint8_t *concept, int threads)
{
    const int64_t pixels = 4 * source->steps * source->height * source->width;
    plumb_status st = PLUMB_OK;
    if (source->world) {
        probe_job job = {.source = source, .from = from, .frames = frames, .mask = mask};
        st = parallel_for(count, threads, make_tuple, &job);
    }
    // Rooms have their frames already, and need only the name.
    for (int64_t i = 0; i < count && !st; i++) {
        st = name_concept(concept + i * PROBE_SOURCE_NAME_SIZE, source, source->first + from + i);
        if (source->world || st) continue;
        st = read_bytes(frames + i * pixels * source->channels, source, source->first + from + i,
                        "frames", source->channels);
        if (!st && mask)
            st = read_bytes(mask + i * pixels, source, source->first + from + i, "mask", 1);
    }
    return st;
}
