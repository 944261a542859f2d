// SPDX-License-Identifier: MIT
#include "dataset/video_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "plumb/dataset.h"

static plumb_status take_room(uint8_t **out, video_set *f, arena *mem)
{
    const int64_t shape[] = {f->count, f->steps, f->height, f->width, f->channels};
    int64_t bytes;
    if (!array_count_checked(&bytes, shape, 5, 1) || (uint64_t)bytes > input_file_memory_limit())
        return fail(PLUMB_EVALUE,
                    "%lld trajectories of %lld frames do not fit into memory; take fewer, or "
                    "shorter ones",
                    (long long)f->count, (long long)f->steps);
    f->frames = *out = ARENA_ALLOC(mem, uint8_t, bytes);
    return *out ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status take_mask(uint8_t **out, video_set *f, arena *mem)
{
    f->mask = *out = ARENA_ALLOC(mem, uint8_t, (f->count * f->steps * f->height * f->width));
    return *out ? PLUMB_OK : PLUMB_EMEMORY;
}

// Counted, so that no sum of many small numbers loses digits.
static void measure(video_set *f)
{
    int64_t seen[256] = {0};
    const int64_t count = f->count * f->steps * f->height * f->width * f->channels;
    for (int64_t i = 0; i < count; i++) seen[f->frames[i]]++;
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < 256; i++) {
        const double x = (double)i / 255.0;
        sum += (double)seen[i] * x;
        square += (double)seen[i] * x * x;
    }
    f->mean = sum / (double)count;
    f->variance = square / (double)count - f->mean * f->mean;
}

// ---- a world ----

typedef struct video_job {
    const plumb_world *world;
    plumb_world_options opt;
    const plumb_room *room[5]; // in turn
    int64_t rooms;
    video_set *film;
    uint8_t *frames, *mask;
    uint64_t seed;
    int64_t first;
    int64_t items; // all; of a probe an item is two clips
} video_job;

static int64_t frame_bytes(const video_set *f)
{
    return f->height * f->width * f->channels;
}

static plumb_status film_world(const video_job *j, int64_t item)
{
    const video_set *f = j->film;
    const plumb_world_item out = {.frames = j->frames + item * f->steps * frame_bytes(f)};
    return plumb_world_simulate(&out, j->world, j->seed, j->first + item, f->steps, &j->opt);
}

static plumb_status film_room(const video_job *j, int64_t item)
{
    const video_set *f = j->film;
    const plumb_room *room = j->room[item % j->rooms];
    const int64_t which = j->first + item / j->rooms, pixels = f->height * f->width;
    const int64_t clip = f->steps * frame_bytes(f), clip_mask = f->steps * pixels;
    if (plumb_room_describe(room)->clips == 1) {
        const plumb_room_item out = {.frames = j->frames + item * clip,
                                     .mask = j->mask ? j->mask + item * clip_mask : NULL};
        return plumb_room_make(&out, room, j->seed, which, f->height);
    }
    uint8_t *tuple = malloc((size_t)(4 * (clip + clip_mask)));
    if (!tuple) return fail(PLUMB_EMEMORY, "no memory for a tuple of clips");
    const plumb_room_item out = {.frames = tuple, .mask = j->mask ? tuple + 4 * clip : NULL};
    const plumb_status st = plumb_room_make(&out, room, j->seed, which, f->height);
    const int64_t left = f->count - 2 * item, two = left < 2 ? left : 2;
    if (!st) memcpy(j->frames + 2 * item * clip, tuple + 2 * clip, (size_t)(two * clip));
    if (!st && j->mask)
        memcpy(j->mask + 2 * item * clip_mask, out.mask + 2 * clip_mask, (size_t)(two * clip_mask));
    free(tuple);
    return st;
}

static plumb_status make_item(void *context, int64_t item, int worker)
{
    (void)worker;
    video_job *j = context;
    return j->rooms ? film_room(j, item) : film_world(j, item);
}

plumb_status video_load_world(video_set *out, arena *mem, const plumb_world *world, uint64_t seed,
                              int64_t first, int64_t count, int64_t steps, int64_t image,
                              int threads)
{
    const plumb_world_info *facts = plumb_world_get_info(world);
    video_set f = {.count = count,
                   .steps = steps,
                   .height = image ? image : facts->height,
                   .width = image ? image : facts->width,
                   .channels = facts->channels};
    video_job j = {.world = world,
                   .opt = plumb_world_defaults(),
                   .film = &f,
                   .seed = seed,
                   .first = first,
                   .items = count};
    j.opt.image = f.height;
    double time[2];
    plumb_status st = plumb_world_simulate(
        &(plumb_world_item){.time = time}, world, seed, first, 2,
        &(plumb_world_options){.size = sizeof j.opt, .image = f.height, .reject_steps = 2});
    if (!st) st = take_room(&j.frames, &f, mem);
    f.dt = time[1] - time[0];
    if (!st) st = parallel_for_progress(j.items, threads, make_item, &j, 0.0, 1.0);
    if (st) return st;
    measure(&f);
    *out = f;
    return PLUMB_OK;
}

// ---- a room ----

static const char every[] = "rooms/impossible";

plumb_status video_load_is_room(bool *out, const char *name)
{
    const plumb_world *world;
    const plumb_room *room;
    *out = !strncmp(name, "rooms/", 6);
    if (!*out) return plumb_world_find(&world, name);
    return strcmp(name, every) ? plumb_room_find(&room, name) : PLUMB_OK;
}

// The rooms of a name: one, or all that are probes.
static plumb_status find_rooms(video_job *j, const char *name)
{
    if (strcmp(name, every)) {
        j->rooms = 1;
        return plumb_room_find(&j->room[0], name);
    }
    for (int64_t i = 0; i < plumb_room_count() && j->rooms < 5; i++)
        if (plumb_room_describe(plumb_room_at(i))->concept) j->room[j->rooms++] = plumb_room_at(i);
    return PLUMB_OK;
}

plumb_status video_load_room(video_set *out, arena *mem, const char *name, uint64_t seed,
                             int64_t first, int64_t count, int64_t image, bool masks, int threads)
{
    video_set f = {.count = count, .steps = PLUMB_ROOM_STEPS, .channels = 3};
    f.height = f.width = image ? image : 64;
    video_job j = {.film = &f, .seed = seed, .first = first};
    plumb_status st = find_rooms(&j, name);
    if (st) return st;
    const plumb_room_facts *facts = plumb_room_describe(j.room[0]);
    f.dt = facts->dt;
    j.items = facts->concept ? (count + 1) / 2 : count;
    st = plumb_room_make(&(plumb_room_item){0}, j.room[0], seed, first, f.height);
    if (!st) st = take_room(&j.frames, &f, mem);
    if (!st && masks) st = take_mask(&j.mask, &f, mem);
    if (!st) st = parallel_for_progress(j.items, threads, make_item, &j, 0.0, 1.0);
    if (st) return st;
    measure(&f);
    *out = f;
    return PLUMB_OK;
}

// ---- a file ----

// Clips of an item: itself, or of a tuple the two that are impossible.
typedef struct reading {
    plumb_dataset *d;
    const char *path;
    bool tuples;
    plumb_array first; // frames of item 0
} reading;

static plumb_status check_frames(reading *r)
{
    const plumb_array *a = &r->first;
    char shape[200];
    r->tuples = a->ndim == 5 && a->shape[0] == 4;
    if (a->dtype == PLUMB_UINT8 && (a->ndim == 4 || r->tuples) && plumb_array_count(a) > 0)
        return PLUMB_OK;
    return fail(PLUMB_ESHAPE,
                "%s: frames of an item are %s %s, wanted u1 (steps, height, width, channels), or "
                "four such clips",
                r->path, plumb_dtype_name(a->dtype),
                plumb_array_shape_string(shape, sizeof shape, a));
}

// What there is of `field` of item i, as many bytes as `clip` a clip, to the places of its clips.
static plumb_status read_clips(uint8_t *to, const reading *r, const video_set *f, int64_t item,
                               const char *field, int64_t clip)
{
    plumb_array a;
    char shape[200];
    plumb_status st = plumb_dataset_read_field(&a, r->d, item, field);
    if (st) return st;
    const int64_t clips = r->tuples ? 4 : 1, skip = r->tuples ? 2 : 0, taken = r->tuples ? 2 : 1;
    const bool frames = !strcmp(field, "frames");
    if (a.dtype != PLUMB_UINT8 || plumb_array_count(&a) != clips * clip ||
        (frames && (a.ndim != r->first.ndim ||
                    memcmp(a.shape, r->first.shape, (size_t)a.ndim * sizeof *a.shape))))
        return fail(PLUMB_ESHAPE, "%s: %s of item %lld is %s, unlike item 0", r->path, field,
                    (long long)item, plumb_array_shape_string(shape, sizeof shape, &a));
    const int64_t left = f->count - taken * item, now = left < taken ? left : taken;
    memcpy(to + taken * item * clip, (const uint8_t *)a.data + skip * clip, (size_t)(now * clip));
    return PLUMB_OK;
}

static plumb_status shape_film(video_set *f, reading *r, int64_t count)
{
    plumb_array a;
    if (!plumb_dataset_has_field(r->d, "frames"))
        return fail(PLUMB_EFILE, "%s: has no frames to learn from", r->path);
    plumb_status st = plumb_dataset_read_field(&r->first, r->d, 0, "frames");
    if (!st) st = check_frames(r);
    if (st) return st;
    const int64_t clips = plumb_dataset_item_count(r->d) * (r->tuples ? 2 : 1);
    const int64_t *shape = r->first.shape + r->tuples;
    if (count > clips)
        return fail(PLUMB_EVALUE, "%s: has %lld trajectories, not %lld", r->path, (long long)clips,
                    (long long)count);
    *f = (video_set){.count = count ? count : clips,
                     .steps = shape[0],
                     .height = shape[1],
                     .width = shape[2],
                     .channels = shape[3]};
    if (plumb_dataset_has_field(r->d, "dt") && !plumb_dataset_read_field(&a, r->d, 0, "dt") &&
        plumb_array_count(&a) == 1)
        plumb_array_to_double(&f->dt, &a, 0, 1);
    return PLUMB_OK;
}

static plumb_status read_all(video_set *f, arena *mem, reading *r, int64_t count, bool masks)
{
    plumb_status st = shape_film(f, r, count);
    if (st) return st;
    if (masks && !plumb_dataset_has_field(r->d, "mask"))
        return fail(PLUMB_EFILE, "%s: has no mask, which this model must be shown", r->path);
    uint8_t *frames, *mask = NULL;
    const int64_t pixels = f->steps * f->height * f->width;
    const int64_t items = r->tuples ? (f->count + 1) / 2 : f->count;
    st = take_room(&frames, f, mem);
    if (!st && masks) st = take_mask(&mask, f, mem);
    for (int64_t i = 0; i < items && !st; i++) {
        st = status_check_stop();
        if (!st) st = read_clips(frames, r, f, i, "frames", pixels * f->channels);
        if (!st && masks) st = read_clips(mask, r, f, i, "mask", pixels);
        status_progress((double)(i + 1) / (double)items);
    }
    return st;
}

plumb_status video_load_file(video_set *out, arena *mem, const char *path, int64_t count,
                             bool masks)
{
    reading r = {.path = path};
    video_set f = {0};
    plumb_status st = plumb_dataset_open(&r.d, path, NULL);
    if (st) return st;
    st = read_all(&f, mem, &r, count, masks);
    plumb_dataset_close(r.d);
    if (st) return st;
    measure(&f);
    *out = f;
    return PLUMB_OK;
}

void video_hash(char out[33], const video_set *f)
{
    const int64_t shape[] = {f->count, f->steps, f->height, f->width, f->channels};
    const plumb_array a = plumb_array_view((void *)(uintptr_t)f->frames, PLUMB_UINT8, 5, shape);
    const plumb_array *one = &a;
    hash_arrays(out, &one, 1);
}
