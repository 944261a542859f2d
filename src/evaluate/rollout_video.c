// SPDX-License-Identifier: MIT
// The rollout of a video model: the frames that it predicts, each from the true frames before it,
// and the feature of each clip, beside the true frames. Tuples of probes become a file that plumb
// surprise and plumb report read.
#include <string.h>

#include "base/status.h"
#include "dataset/video_load.h"
#include "evaluate/match.h"
#include "evaluate/model_rollout.h"
#include "evaluate/probe_source.h"
#include "plumb/file.h"

enum { MAX_ROOMS = 64 };

// All clips of a rollout: `groups` of them are one item, 4 for tuples and 1 for free clips.
typedef struct clip_rollout {
    trained_model *trained;
    const plumb_rollout_options *opt;
    int threads;
    int64_t count, group, steps;
    uint8_t *frames, *mask, *concept;
    float *prediction, *feature;
    double *error;
} clip_rollout;

static plumb_status allocate_clips(clip_rollout *out, bool concepts)
{
    trained_model *trained = out->trained;
    const int64_t clips = out->count * out->group,
                  pixels = trained->shape.height * trained->shape.width,
                  frame = pixels * trained->shape.channels;
    const model_video *video = trained->model.video;
    out->frames = ARENA_ALLOC(&trained->mem, uint8_t, clips * out->steps * frame);
    out->mask =
        ARENA_ALLOC(&trained->mem, uint8_t, video->needs_masks ? clips * out->steps * pixels : 0);
    out->concept =
        ARENA_ALLOC(&trained->mem, uint8_t, concepts ? out->count * PROBE_SOURCE_NAME_SIZE : 0);
    out->prediction = ARENA_ALLOC(&trained->mem, float, clips *(out->steps - 1) * frame);
    out->feature = ARENA_ALLOC(&trained->mem, float, clips * video->features);
    out->error = ARENA_ALLOC(&trained->mem, double, clips *(out->steps - 1));
    return out->frames && out->mask && out->concept && out->prediction && out->feature && out->error
               ? PLUMB_OK
               : PLUMB_EMEMORY;
}

static plumb_status check_size(const clip_rollout *out, const probe_source *source)
{
    const char *name = source->world ? plumb_world_get_info(source->world)->name : source->path;
    const plumb_status st = match_frames(out->trained, name,
                                         &(video_set){.height = source->height,
                                                      .width = source->width,
                                                      .channels = source->channels});
    if (!st && source->steps < 2)
        return fail(PLUMB_ESHAPE, "%s: clips of %lld frames; they must be 2 or more", name,
                    (long long)source->steps);
    return st;
}

// The tuples of one file, or `count` of each probe room, or of the one that `world` names.
static plumb_status read_tuples(clip_rollout *out)
{
    const plumb_rollout_options *opt = out->opt;
    probe_source source[MAX_ROOMS] = {{0}};
    int64_t sources = 0;
    plumb_status st = PLUMB_OK;
    if (opt->data) {
        st = probe_source_open(&source[0], opt->data, opt->first, opt->count);
        sources = !st;
    } else {
        for (int64_t i = 0; sources < MAX_ROOMS &&
                            probe_source_room(&source[sources], i, out->trained->shape.height);
             i++) {
            const char *name = plumb_world_get_info(source[sources].world)->name;
            if (opt->world && strcmp(opt->world, name) != 0) continue;
            source[sources].tuples = opt->count;
            source[sources].first = VIDEO_TEST_FIRST + opt->first;
            source[sources++].seed = (uint64_t)out->trained->config.data.data_seed;
        }
    }
    out->group = 4;
    for (int64_t i = 0; i < sources && !st; i++) {
        st = check_size(out, &source[i]);
        out->count += source[i].tuples;
    }
    out->steps = sources ? source[0].steps : 0;
    if (!st) st = allocate_clips(out, true);
    const video_set *shape = &out->trained->shape;
    const int64_t pixels = 4 * out->steps * shape->height * shape->width;
    int64_t at = 0;
    for (int64_t i = 0; i < sources && !st; at += source[i++].tuples)
        st = probe_source_read(
            &source[i], 0, source[i].tuples, out->frames + at * pixels * shape->channels,
            out->trained->model.video->needs_masks ? out->mask + at * pixels : NULL,
            out->concept + at * PROBE_SOURCE_NAME_SIZE, out->threads);
    for (int64_t i = 0; i < sources; i++) probe_source_close(&source[i]);
    return st;
}

// Clips of a world that has no tuples.
static plumb_status read_free_clips(clip_rollout *out)
{
    const plumb_rollout_options *opt = out->opt;
    trained_model *trained = out->trained;
    const bool masks = trained->model.video->needs_masks;
    video_set clips = {0};
    video_request request = {.seed = (uint64_t)trained->config.data.data_seed,
                             .first = VIDEO_TEST_FIRST + opt->first,
                             .count = opt->count,
                             .steps = trained->shape.steps,
                             .image = trained->shape.height,
                             .masks = masks,
                             .threads = out->threads};
    plumb_status st = plumb_world_find(&request.world, opt->world);
    if (!st && masks && !video_has_masks(request.world))
        st = fail(PLUMB_EVALUE, "%s needs object masks, and %s has no masks", trained->model.name,
                  opt->world);
    if (!st) st = video_load_world(&clips, &trained->mem, &request);
    if (!st) st = match_frames(trained, opt->world, &clips);
    out->group = 1;
    out->count = clips.count;
    out->steps = clips.steps;
    if (!st) st = allocate_clips(out, false);
    if (st) return st;
    const int64_t pixels = clips.count * clips.steps * clips.height * clips.width;
    memcpy(out->frames, clips.frames, (size_t)(pixels * clips.channels));
    if (masks) memcpy(out->mask, clips.mask, (size_t)pixels);
    return PLUMB_OK;
}

// Is this the name of a probe room?
static bool is_probe_room(const char *world)
{
    probe_source source;
    for (int64_t i = 0; probe_source_room(&source, i, 16); i++)
        if (!strcmp(plumb_world_get_info(source.world)->name, world)) return true;
    return false;
}

// (count, [4,] steps, height, width, channels).
static plumb_array view_frames(void *data, plumb_dtype dtype, const clip_rollout *from,
                               int64_t steps)
{
    const video_set *shape = &from->trained->shape;
    const int64_t four[] = {from->count, 4, steps, shape->height, shape->width, shape->channels},
                  one[] = {from->count, steps, shape->height, shape->width, shape->channels};
    return from->group == 4 ? plumb_array_view(data, dtype, 6, four)
                            : plumb_array_view(data, dtype, 5, one);
}

// Under the names that plumb surprise reads. Free clips are frames and prediction of the same
// shape, as of other models: without the first frame, which nothing predicts.
static plumb_status write_clips(const char *path, const clip_rollout *from)
{
    const bool tuples = from->group == 4;
    const video_set *shape = &from->trained->shape;
    const int64_t d = from->trained->model.video->features, last = from->steps - 1,
                  frame = shape->height * shape->width * shape->channels;
    const int64_t three[] = {from->count, 4, d}, two[] = {from->count, d};
    if (!tuples) model_rollout_drop_first(from->frames, from->count, from->steps, (size_t)frame, 1);
    // In sums over pixels, as equation 1 of [Lin23].
    for (int64_t i = 0; i < from->count * from->group * last; i++) from->error[i] *= (double)frame;
    const plumb_named_array arrays[] = {
        {tuples ? "truth" : "frames",
         view_frames(from->frames, PLUMB_UINT8, from, tuples ? from->steps : last)},
        {"prediction", view_frames(from->prediction, PLUMB_FLOAT32, from, last)},
        {"feature",
         plumb_array_view(from->feature, PLUMB_FLOAT32, tuples ? 3 : 2, tuples ? three : two)},
        {"concept", plumb_array_view(from->concept, PLUMB_UINT8, 2,
                                     (int64_t[]){from->count, PROBE_SOURCE_NAME_SIZE})},
        {"surprise",
         plumb_array_view(from->error, PLUMB_FLOAT64, 3, (int64_t[]){from->count, 4, last})},
        {"unit", plumb_array_view((void *)"sum", PLUMB_UINT8, 1, (int64_t[]){3})},
    };
    return plumb_file_write(path, arrays, tuples ? 6 : 3, false);
}

plumb_status rollout_video_save(const char *path, trained_model *trained,
                                const plumb_rollout_options *opt, int threads)
{
    clip_rollout clips = {.trained = trained, .opt = opt, .threads = threads};
    if (opt->backward || opt->measured || opt->traversal_steps)
        return fail(PLUMB_EVALUE,
                    "%s is a video model: it has no phase space and does not run "
                    "backward",
                    trained->model.name);
    plumb_status st =
        opt->world && !is_probe_room(opt->world) ? read_free_clips(&clips) : read_tuples(&clips);
    if (st) return st;
    const model_predict_job job = {.frames = clips.frames,
                                   .mask = trained->model.video->needs_masks ? clips.mask : NULL,
                                   .count = clips.count * clips.group,
                                   .steps = clips.steps,
                                   .threads = threads,
                                   .error = clips.error,
                                   .feature = clips.feature,
                                   .prediction = clips.prediction};
    st = trained->model.video->predict(trained->model.context, &job);
    return st ? st : write_clips(path, &clips);
}
