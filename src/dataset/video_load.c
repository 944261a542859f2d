// SPDX-License-Identifier: MIT
// Loads training videos: simulates them on all threads, or reads them from a dataset.
#include "dataset/video_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "plumb/dataset.h"
#include "worlds/world.h"

// Mean and variance of all pixels, from a histogram, so that no sum of many terms loses digits.
static void compute_moments(video_set *videos)
{
    int64_t histogram[256] = {0};
    const int64_t count =
        videos->count * videos->steps * videos->height * videos->width * videos->channels;
    for (int64_t i = 0; i < count; i++) histogram[videos->frames[i]]++;
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < 256; i++) {
        const double x = (double)i / 255.0;
        sum += (double)histogram[i] * x;
        square += (double)histogram[i] * x * x;
    }
    // Pixels are scaled to 0 to 1.
    videos->mean = sum / (double)count;
    videos->variance = square / (double)count - videos->mean * videos->mean;
}

// ---- from a world ----

typedef struct video_job {
    const video_request *request;
    plumb_world_options options;
    video_set *videos;
    uint8_t *frames, *mask;
    int64_t first;      // first item of the world
    int64_t clips;      // clips of an item in the world
    int64_t skip, kept; // clips of an item that are skipped and kept
} video_job;

bool video_has_masks(const plumb_world *world)
{
    return plumb_world_get_info(world)->kind != PLUMB_WORLD_TRAJECTORY;
}

static plumb_status simulate_into(const video_job *job, int64_t item, uint8_t *frames,
                                  uint8_t *mask)
{
    const video_request *request = job->request;
    const plumb_world_item out = {.frames = frames, .mask = mask};
    return plumb_world_simulate(&out, request->world, request->seed, job->first + item,
                                job->videos->steps, &job->options);
}

// Simulates an item and copies the clips that are kept. An item of one clip is simulated in place.
static plumb_status make_item(void *context, int64_t item, int worker)
{
    (void)worker;
    const video_job *job = context;
    const video_set *videos = job->videos;
    const int64_t clip_mask = videos->steps * videos->height * videos->width;
    const int64_t clip = clip_mask * videos->channels;
    if (job->clips == 1)
        return simulate_into(job, item, job->frames + item * clip,
                             job->mask ? job->mask + item * clip_mask : NULL);
    // A tuple of clips is simulated aside: frames of all clips, then masks of all clips.
    uint8_t *tuple = malloc((size_t)(job->clips * (clip + clip_mask)));
    if (!tuple) return fail(PLUMB_EMEMORY, "no memory for a tuple of clips");
    uint8_t *mask = job->mask ? tuple + job->clips * clip : NULL;
    const plumb_status st = simulate_into(job, item, tuple, mask);
    // The last item may give fewer clips than it has.
    const int64_t done = job->kept * item, left = videos->count - done;
    const int64_t now = left < job->kept ? left : job->kept;
    if (!st) memcpy(job->frames + done * clip, tuple + job->skip * clip, (size_t)(now * clip));
    if (!st && mask)
        memcpy(job->mask + done * clip_mask, mask + job->skip * clip_mask,
               (size_t)(now * clip_mask));
    free(tuple);
    return st;
}

// Time between frames. Simulates the start of the first item, so that invalid options fail before
// memory is allocated.
static plumb_status get_dt(double *dt, const video_job *job)
{
    const video_request *request = job->request;
    const plumb_world_info *info = plumb_world_get_info(request->world);
    double time[2] = {0};
    plumb_world_options options = job->options;
    if (info->kind != PLUMB_WORLD_TRAJECTORY) {
        *dt = info->dt;
        return simulate_into(job, 0, NULL, NULL);
    }
    options.reject_steps = 2;
    const plumb_status st = plumb_world_simulate(&(plumb_world_item){.time = time}, request->world,
                                                 request->seed, request->first, 2, &options);
    *dt = time[1] - time[0];
    return st;
}

plumb_status video_load_world(video_set *out, arena *mem, const video_request *request)
{
    const plumb_world_info *info = plumb_world_get_info(request->world);
    const int64_t image = request->image ? request->image : info->height;
    // Rooms have a fixed number of frames.
    video_set videos = {.count = request->count,
                        .steps = info->steps ? info->steps : request->steps,
                        .height = image,
                        .width = image,
                        .channels = info->channels};
    video_job job = {.request = request,
                     .options = plumb_world_defaults(),
                     .videos = &videos,
                     .first = request->first,
                     .clips = info->clips,
                     .kept = 1};
    job.options.image = image;
    if (info->kind == PLUMB_WORLD_PROBE) { // the last two clips of an item are impossible
        job.skip = info->clips - 2;
        job.kept = 2;
        if (!info->concept_name) job.first *= ROOM_CONCEPTS; // rooms/impossible
    }
    plumb_status st = get_dt(&videos.dt, &job);
    if (!st) st = video_memory_alloc(&job.frames, &videos, mem, &request->place, false);
    if (!st && request->masks)
        st = video_memory_alloc(&job.mask, &videos, mem, &request->place, true);
    const int64_t items = (videos.count + job.kept - 1) / job.kept;
    if (!st) st = parallel_for_progress(items, request->threads, make_item, &job, 0.0, 1.0);
    if (st) {
        video_memory_clear(&videos);
        return st;
    }
    compute_moments(&videos);
    *out = videos;
    return PLUMB_OK;
}

// ---- from a file ----

typedef struct video_file {
    plumb_dataset *dataset;
    const char *path;
    const frame_size *wanted;
    bool tuples;       // items are tuples of four clips, of which the impossible ones are loaded
    plumb_array first; // frames of item 0
    frame_size size;   // that frames get
    buffer resized;    // one clip
} video_file;

// Items must be clips, or tuples of four clips of bytes.
static plumb_status check_frames(video_file *file)
{
    const plumb_array *frames = &file->first;
    char shape[200];
    file->tuples = frames->ndim == 5 && frames->shape[0] == 4;
    const bool clip = frames->ndim == 4 || frames->ndim == 3;
    if ((clip || (file->tuples && frames->dtype == PLUMB_UINT8)) && plumb_array_count(frames) > 0)
        return PLUMB_OK;
    return fail(PLUMB_ESHAPE,
                "%s: frames of an item are %s %s, wanted (steps, height, width, channels), grey "
                "(steps, height, width), or four such clips of u1",
                file->path, plumb_dtype_name(frames->dtype),
                plumb_array_shape_string(shape, sizeof shape, frames));
}

// Videos of an item: clips 2 and 3 of a tuple are the impossible ones. The last item may have one
// more than is wanted.
static int64_t kept_clips(const video_file *file, const video_set *videos, int64_t item)
{
    const int64_t kept = file->tuples ? 2 : 1, left = videos->count - kept * item;
    return left < kept ? left : kept;
}

// Converts the frames of a clip to bytes of the size wanted, in the memory of `file`.
static plumb_status convert_clip(const uint8_t **out, video_file *file, const plumb_array *frames,
                                 int64_t clip)
{
    buffer_reset(&file->resized);
    unsigned char *bytes = buffer_grow(&file->resized, (size_t)clip);
    if (!bytes) return fail(PLUMB_EMEMORY, "%s: no memory for a clip", file->path);
    *out = bytes;
    return video_resize(bytes, frames, &file->size, file->path);
}

// Reads `field` of an item, `clip` bytes per clip. `*out` are the clips that are kept; valid until
// the next read.
static plumb_status read_clips(const uint8_t **out, video_file *file, int64_t item,
                               const char *field, int64_t clip)
{
    plumb_array array;
    char shape[200];
    plumb_status st = plumb_dataset_read_field(&array, file->dataset, item, field);
    if (st) return st;
    const int64_t clips = file->tuples ? 4 : 1, skip = file->tuples ? 2 : 0;
    // Every item must have the type and shape of the first.
    const bool is_frames = !strcmp(field, "frames");
    if (is_frames && !file->tuples && array.dtype == file->first.dtype &&
        array.ndim == file->first.ndim &&
        !memcmp(array.shape, file->first.shape, (size_t)array.ndim * sizeof *array.shape))
        return convert_clip(out, file, &array, clip);
    if (array.dtype != PLUMB_UINT8 || plumb_array_count(&array) != clips * clip ||
        (is_frames &&
         (array.ndim != file->first.ndim ||
          memcmp(array.shape, file->first.shape, (size_t)array.ndim * sizeof *array.shape))))
        return fail(PLUMB_ESHAPE, "%s: %s of item %lld is %s, unlike item 0", file->path, field,
                    (long long)item, plumb_array_shape_string(shape, sizeof shape, &array));
    *out = (const uint8_t *)array.data + skip * clip;
    return PLUMB_OK;
}

// The same, copied to the place of the item among all videos.
static plumb_status copy_clips(uint8_t *to, video_file *file, const video_set *videos, int64_t item,
                               const char *field, int64_t clip)
{
    const uint8_t *clips;
    const plumb_status st = read_clips(&clips, file, item, field, clip);
    if (!st)
        memcpy(to + (file->tuples ? 2 : 1) * item * clip, clips,
               (size_t)(kept_clips(file, videos, item) * clip));
    return st;
}

// Sets the shape of the videos from the first item.
static plumb_status read_shape(video_set *videos, video_file *file, int64_t count)
{
    plumb_array array;
    if (!plumb_dataset_has_field(file->dataset, "frames"))
        return fail(PLUMB_EFILE, "%s: has no frames to learn from", file->path);
    plumb_status st = plumb_dataset_read_field(&file->first, file->dataset, 0, "frames");
    if (!st) st = check_frames(file);
    if (st) return st;
    const int64_t clips = plumb_dataset_item_count(file->dataset) * (file->tuples ? 2 : 1);
    const int64_t *shape = file->first.shape + file->tuples;
    if (count > clips)
        return fail(PLUMB_EVALUE, "%s: has %lld trajectories, not %lld", file->path,
                    (long long)clips, (long long)count);
    // 0 means all clips of the file. dt stays 0 if the file does not have it.
    if (file->tuples) file->size = (frame_size){.height = shape[1], .width = shape[2]};
    else video_resize_fit(&file->size, file->wanted, shape[1], shape[2]);
    *videos = (video_set){.count = count ? count : clips,
                          .steps = shape[0],
                          .height = file->size.height,
                          .width = file->size.width,
                          .channels = file->first.ndim == 3 ? 1 : shape[3]};
    if (plumb_dataset_has_field(file->dataset, "dt") &&
        !plumb_dataset_read_field(&array, file->dataset, 0, "dt") && plumb_array_count(&array) == 1)
        plumb_array_to_double(&videos->dt, &array, 0, 1);
    return PLUMB_OK;
}

// Reads the frames and masks of all items.
static plumb_status read_all(video_set *videos, arena *mem, video_file *file, int64_t count,
                             bool masks, const video_place *place)
{
    plumb_status st = read_shape(videos, file, count);
    if (st) return st;
    const int64_t *shape = file->first.shape + file->tuples;
    if (shape[1] != videos->height || shape[2] != videos->width)
        status_log("%s: frames of %lld x %lld are resized to %lld x %lld", file->path,
                   (long long)shape[1], (long long)shape[2], (long long)videos->height,
                   (long long)videos->width);
    if (masks && !plumb_dataset_has_field(file->dataset, "mask"))
        return fail(PLUMB_EFILE, "%s: has no mask, which this model must be shown", file->path);
    uint8_t *frames, *mask = NULL;
    const int64_t pixels = videos->steps * videos->height * videos->width;
    const int64_t items = file->tuples ? (videos->count + 1) / 2 : videos->count;
    st = video_memory_alloc(&frames, videos, mem, place, false);
    if (!st && masks) st = video_memory_alloc(&mask, videos, mem, place, true);
    for (int64_t i = 0; i < items && !st; i++) {
        st = status_check_stop();
        if (!st) st = copy_clips(frames, file, videos, i, "frames", pixels * videos->channels);
        if (!st && masks) st = copy_clips(mask, file, videos, i, "mask", pixels);
        status_progress((double)(i + 1) / (double)items);
    }
    return st;
}

plumb_status video_load_file(video_set *out, arena *mem, const char *path, int64_t count,
                             bool masks, const frame_size *size, const video_place *place)
{
    video_file file = {.path = path, .wanted = size};
    video_set videos = {0};
    plumb_status st = plumb_dataset_open(&file.dataset, path, NULL);
    if (st) return st;
    st = read_all(&videos, mem, &file, count, masks, place ? place : &(video_place){0});
    plumb_dataset_close(file.dataset);
    buffer_clear(&file.resized);
    if (st) {
        video_memory_clear(&videos);
        return st;
    }
    compute_moments(&videos);
    *out = videos;
    return PLUMB_OK;
}

plumb_status video_read_shape(video_set *out, const char *path, const frame_size *size)
{
    video_file file = {.path = path, .wanted = size};
    video_set videos = {0};
    plumb_status st = plumb_dataset_open(&file.dataset, path, NULL);
    if (st) return st;
    st = read_shape(&videos, &file, 0);
    plumb_dataset_close(file.dataset);
    if (!st) *out = videos;
    return st;
}

// Identifies the training videos in the record of a run.
void video_hash(char out[33], const video_set *videos)
{
    const int64_t shape[] = {videos->count, videos->steps, videos->height, videos->width,
                             videos->channels};
    const plumb_array array =
        plumb_array_view((void *)(uintptr_t)videos->frames, PLUMB_UINT8, 5, shape);
    const plumb_array *one = &array;
    hash_arrays(out, &one, 1);
}

// Reads and hashes the videos of an open file, one item after the other.
static plumb_status hash_items(char out[33], video_set *videos, video_file *file, int64_t count)
{
    hash_stream *stream;
    plumb_status st = read_shape(videos, file, count);
    if (st) return st;
    const int64_t shape[] = {videos->count, videos->steps, videos->height, videos->width,
                             videos->channels};
    const int64_t clip = videos->steps * videos->height * videos->width * videos->channels;
    const int64_t items = file->tuples ? (videos->count + 1) / 2 : videos->count;
    st = hash_stream_begin(&stream, PLUMB_UINT8, 5, shape);
    if (st) return st;
    for (int64_t i = 0; i < items && !st; i++) {
        const uint8_t *clips;
        st = status_check_stop();
        if (!st) st = read_clips(&clips, file, i, "frames", clip);
        if (!st) hash_stream_add(stream, clips, (size_t)(kept_clips(file, videos, i) * clip));
    }
    hash_stream_end(out, stream);
    return st;
}

plumb_status video_hash_file(char out[33], const char *path, int64_t count, const frame_size *size)
{
    video_file file = {.path = path, .wanted = size};
    video_set videos = {0};
    plumb_status st = plumb_dataset_open(&file.dataset, path, NULL);
    if (st) return st;
    st = hash_items(out, &videos, &file, count);
    plumb_dataset_close(file.dataset);
    buffer_clear(&file.resized);
    return st;
}
