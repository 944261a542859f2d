// SPDX-License-Identifier: MIT
#include "study/gather.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/status.h"
#include "data/infile.h"
#include "plumb/dataset.h"

static plumb_status take_room(uint8_t **out, footage *f, arena *mem)
{
    const int64_t shape[] = {f->count, f->steps, f->height, f->width, f->channels};
    int64_t bytes;
    if (!array_count_checked(&bytes, shape, 5, 1) || (uint64_t)bytes > infile_memory())
        return fail(PLUMB_EVALUE,
                    "%lld trajectories of %lld frames do not fit into memory; take fewer, or "
                    "shorter ones",
                    (long long)f->count, (long long)f->steps);
    f->frames = *out = ARENA_NEW(mem, uint8_t, bytes);
    return *out ? PLUMB_OK : PLUMB_EMEMORY;
}

// Counted, so that no sum of many small numbers loses digits.
static void measure(footage *f)
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

typedef struct job {
    const plumb_world *world;
    plumb_world_options opt;
    footage *film;
    uint8_t *frames;
    uint64_t seed;
    int64_t first, next; // next: the first of the items at work
    plumb_status *st;
    char (*why)[256];
} job;

static void make_item(void *context, int64_t index, int worker)
{
    (void)worker;
    job *j = context;
    const footage *f = j->film;
    const int64_t item = j->next + index;
    const plumb_trajectory out = {.frames = j->frames +
                                            item * f->steps * f->height * f->width * f->channels};
    j->st[index] = status_check_stop();
    if (!j->st[index])
        j->st[index] =
            plumb_world_make(&out, j->world, j->seed, j->first + item, f->steps, &j->opt);
    if (j->st[index]) snprintf(j->why[index], sizeof j->why[index], "%s", plumb_last_error());
}

static plumb_status make_all(job *j, arena *mem, int threads)
{
    enum { AT_ONCE = 32 };
    j->st = ARENA_NEW(mem, plumb_status, AT_ONCE);
    j->why = arena_take(mem, AT_ONCE, sizeof *j->why);
    if (!j->st || !j->why) return PLUMB_EMEMORY;
    while (j->next < j->film->count) {
        const int64_t left = j->film->count - j->next;
        const int64_t now = left < AT_ONCE ? left : AT_ONCE;
        pool_run(now, threads, make_item, j);
        for (int64_t i = 0; i < now; i++)
            if (j->st[i]) return fail(j->st[i], "%s", j->why[i]);
        j->next += now;
        status_progress((double)j->next / (double)j->film->count);
    }
    return PLUMB_OK;
}

plumb_status gather_world(footage *out, arena *mem, const plumb_world *world, uint64_t seed,
                          int64_t first, int64_t count, int64_t steps, int64_t image, int threads)
{
    const plumb_world_facts *facts = plumb_world_describe(world);
    footage f = {.count = count,
                 .steps = steps,
                 .height = image ? image : facts->height,
                 .width = image ? image : facts->width,
                 .channels = facts->channels};
    job j = {
        .world = world, .opt = plumb_world_defaults(), .film = &f, .seed = seed, .first = first};
    j.opt.image = f.height;
    double time[2];
    plumb_status st = plumb_world_make(
        &(plumb_trajectory){.time = time}, world, seed, first, 2,
        &(plumb_world_options){.size = sizeof j.opt, .image = f.height, .reject_steps = 2});
    if (!st) st = take_room(&j.frames, &f, mem);
    f.dt = time[1] - time[0];
    if (!st) st = make_all(&j, mem, threads);
    if (st) return st;
    measure(&f);
    *out = f;
    return PLUMB_OK;
}

// ---- a file ----

static plumb_status check_frames(const plumb_array *a, const char *path)
{
    char shape[200];
    if (a->dtype == PLUMB_U1 && a->ndim == 4 && plumb_array_count(a) > 0) return PLUMB_OK;
    return fail(PLUMB_ESHAPE,
                "%s: frames of an item are %s %s, wanted u1 (steps, height, width, channels)", path,
                plumb_dtype_name(a->dtype), plumb_array_shape_text(shape, sizeof shape, a));
}

static plumb_status read_all(footage *f, arena *mem, plumb_dataset *d, const char *path,
                             int64_t count)
{
    plumb_array a, first;
    if (!plumb_dataset_has(d, "frames"))
        return fail(PLUMB_EFILE, "%s: has no frames to learn from", path);
    plumb_status st = plumb_dataset_read(&first, d, 0, "frames");
    if (!st) st = check_frames(&first, path);
    if (st) return st;
    const int64_t items = plumb_dataset_items(d);
    if (count > items)
        return fail(PLUMB_EVALUE, "%s: has %lld trajectories, not %lld", path, (long long)items,
                    (long long)count);
    *f = (footage){.count = count ? count : items,
                   .steps = first.shape[0],
                   .height = first.shape[1],
                   .width = first.shape[2],
                   .channels = first.shape[3]};
    if (plumb_dataset_has(d, "dt") && !plumb_dataset_read(&a, d, 0, "dt") &&
        plumb_array_count(&a) == 1)
        plumb_array_to_double(&f->dt, &a, 0, 1);
    uint8_t *frames;
    st = take_room(&frames, f, mem);
    const size_t size = (size_t)plumb_array_count(&first);
    for (int64_t i = 0; i < f->count && !st; i++) {
        st = status_check_stop();
        if (!st) st = plumb_dataset_read(&a, d, i, "frames");
        if (st) break;
        if (a.dtype != first.dtype || a.ndim != first.ndim ||
            memcmp(a.shape, first.shape, (size_t)a.ndim * sizeof *a.shape)) {
            char shape[200];
            return fail(PLUMB_ESHAPE, "%s: item %lld is %s, unlike item 0", path, (long long)i,
                        plumb_array_shape_text(shape, sizeof shape, &a));
        }
        memcpy(frames + (size_t)i * size, a.data, size);
        status_progress((double)(i + 1) / (double)f->count);
    }
    return st;
}

plumb_status gather_data(footage *out, arena *mem, const char *path, int64_t count)
{
    plumb_dataset *d;
    footage f = {0};
    plumb_status st = plumb_dataset_open(&d, path, NULL);
    if (st) return st;
    st = read_all(&f, mem, d, path, count);
    plumb_dataset_close(d);
    if (st) return st;
    measure(&f);
    *out = f;
    return PLUMB_OK;
}

void gather_identity(char out[33], const footage *f)
{
    const int64_t shape[] = {f->count, f->steps, f->height, f->width, f->channels};
    const plumb_array a = plumb_array_view((void *)(uintptr_t)f->frames, PLUMB_U1, 5, shape);
    const plumb_array *one = &a;
    hash_arrays(out, &one, 1);
}
