// SPDX-License-Identifier: MIT
// Test data of dynamics models, from a world or from a file.
// Simulated trajectories have indices far above those of training, so they are always new.
#include "evaluate/test_videos.h"

#include <stdio.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/video_load.h"
#include "evaluate/match.h"
#include "plumb/dataset.h"

// Forecasts and measures use different trajectories: their indices start this far apart.
static const int64_t measure_first = (int64_t)1 << 32;

// ---- from a world ----

typedef struct simulate_context {
    const plumb_world *world;
    test_videos *out;
    uint8_t *frames;
    uint64_t seed;
    int64_t first, steps;
} simulate_context;

// Frames and states are two calls because a video can be shorter than its trajectory.
static plumb_status simulate_item(void *context, int64_t index, int worker)
{
    (void)worker;
    const simulate_context *job = context;
    const test_videos *out = job->out;
    const video_set *videos = &out->videos;
    const int64_t video_size = videos->steps * videos->height * videos->width * videos->channels;
    const plumb_world_item video = {.frames = job->frames + index * video_size};
    const plumb_world_item states = {
        .state = out->state + index * job->steps * out->state_dims,
        .canonical =
            out->canonical ? out->canonical + index * job->steps * out->canonical_dims : NULL,
        .energy = out->energy ? out->energy + index * job->steps : NULL,
        .action = out->action ? out->action + index * job->steps * out->action_dims : NULL,
        .parameters = out->parameters ? out->parameters + index * out->parameter_total : NULL};
    plumb_world_options opt = plumb_world_defaults();
    opt.image = videos->height;
    opt.reject_steps = job->steps; // so that both are the same trajectory
    plumb_status st = plumb_world_simulate(&video, job->world, job->seed, job->first + index,
                                           videos->steps, &opt);
    if (!st)
        st = plumb_world_simulate(&states, job->world, job->seed, job->first + index, job->steps,
                                  &opt);
    return st;
}

static bool is_constant_name(const char *name)
{
    const char *known;
    for (int64_t i = 0; (known = plumb_world_constant_name(i)); i++)
        if (!strcmp(known, name)) return true;
    return false;
}

// out->constants: the parameters that enter the motion.
static plumb_status pick_constants(test_videos *out, arena *mem, const plumb_world_info *info)
{
    for (int64_t i = 0; i < info->parameter_count; i++)
        if (is_constant_name(info->parameters[i].name))
            out->constant_total += info->parameters[i].count;
    if (!out->constant_total) return PLUMB_OK;
    out->constants = ARENA_ALLOC(mem, double, (out->videos.count * out->constant_total));
    if (!out->constants) return PLUMB_EMEMORY;
    double *to = out->constants;
    for (int64_t k = 0; k < out->videos.count; k++) {
        const double *from = out->parameters + k * out->parameter_total;
        for (int64_t i = 0; i < info->parameter_count; from += info->parameters[i++].count)
            for (int64_t j = 0; j < info->parameters[i].count; j++)
                if (is_constant_name(info->parameters[i].name)) *to++ = from[j];
    }
    return PLUMB_OK;
}

// Simulates test trajectories of a world, with frames and true states.
static plumb_status simulate_videos(test_videos *out, trained_model *trained, const char *name,
                                    const test_videos_request *request)
{
    const run_config_data *data = &trained->config.data;
    simulate_context job = {.out = out,
                            .seed = (uint64_t)data->data_seed,
                            .first = VIDEO_TEST_FIRST + request->first +
                                     (request->use == TEST_VIDEOS_MEASURE ? measure_first : 0),
                            .steps = request->steps};
    plumb_status st = plumb_world_find(&job.world, name);
    if (st) return st;
    const plumb_world_info *info = plumb_world_get_info(job.world);
    if (info->kind != PLUMB_WORLD_TRAJECTORY)
        return fail(PLUMB_EVALUE, "%s is a room and has no states to compare with", name);
    const int64_t count = request->count;
    out->videos = (video_set){.count = count,
                              .steps = request->rendered_steps,
                              .height = data->image ? data->image : info->height,
                              .width = data->image ? data->image : info->width,
                              .channels = info->channels};
    out->state_dims = 2 * info->n;
    out->canonical_dims = 2 * info->canonical_n;
    const int64_t video_size =
        out->videos.steps * out->videos.height * out->videos.width * out->videos.channels;
    job.frames = ARENA_ALLOC(&trained->mem, uint8_t, (count * video_size));
    out->videos.frames = job.frames;
    out->state = ARENA_ALLOC(&trained->mem, double, (count * job.steps * out->state_dims));
    if (request->canonical)
        out->canonical =
            ARENA_ALLOC(&trained->mem, double, (count * job.steps * out->canonical_dims));
    if (request->canonical) out->energy = ARENA_ALLOC(&trained->mem, double, (count * job.steps));
    if (!job.frames || !out->state || (request->canonical && (!out->canonical || !out->energy)))
        return PLUMB_EMEMORY;
    if (request->canonical && info->actions) {
        out->action_dims = info->actions;
        out->action = ARENA_ALLOC(&trained->mem, double, (count * job.steps * info->actions));
        if (!out->action) return PLUMB_EMEMORY;
    }
    if (request->parameters && info->parameter_total) {
        out->parameter_total = info->parameter_total;
        out->parameters = ARENA_ALLOC(&trained->mem, double, (count * info->parameter_total));
        if (!out->parameters) return PLUMB_EMEMORY;
    }
    const double share = request->progress_share > 0.0 ? request->progress_share : 1.0;
    st = parallel_for_progress(count, request->threads, simulate_item, &job, request->progress_from,
                               share);
    return st || !out->parameters ? st : pick_constants(out, &trained->mem, info);
}

// ---- from a file ----

// One array of every item, cut to `steps` steps, as double: (count, steps, *dims).
static plumb_status read_field(double **out, int64_t *dims, arena *mem, plumb_dataset *dataset,
                               const char *field, int64_t count, int64_t steps)
{
    plumb_status st = PLUMB_OK;
    // The first item sets the dimension; all others must have it too.
    for (int64_t i = 0; i < count && !st; i++) {
        plumb_array array;
        st = plumb_dataset_read_field(&array, dataset, i, field);
        if (st) break;
        if (array.ndim != 2 || array.shape[0] < steps || (*dims && array.shape[1] != *dims))
            return fail(PLUMB_ESHAPE, "%s of item %lld is not (%lld steps, dimension)", field,
                        (long long)i, (long long)steps);
        *dims = array.shape[1];
        if (!*out) *out = ARENA_ALLOC(mem, double, (count * steps * *dims));
        if (!*out) return PLUMB_EMEMORY;
        plumb_array_to_double(*out + i * steps * *dims, &array, 0, steps * *dims);
    }
    return st;
}

// out->energy: one value per step of each item.
static plumb_status read_energy(test_videos *out, arena *mem, plumb_dataset *dataset, int64_t steps)
{
    out->energy = ARENA_ALLOC(mem, double, (out->videos.count * steps));
    if (!out->energy) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < out->videos.count; k++) {
        plumb_array array;
        const plumb_status st = plumb_dataset_read_field(&array, dataset, k, "energy");
        if (st) return st;
        if (array.ndim != 1 || array.shape[0] < steps)
            return fail(PLUMB_ESHAPE, "energy of item %lld is not of %lld steps", (long long)k,
                        (long long)steps);
        plumb_array_to_double(out->energy + k * steps, &array, 0, steps);
    }
    return PLUMB_OK;
}

// out->action: some numbers per step of each item. Models of plumb take no actions, so those that
// do not fit are left out.
static plumb_status read_action(test_videos *out, arena *mem, plumb_dataset *dataset, int64_t steps)
{
    int64_t dims = 0;
    for (int64_t k = 0; k < out->videos.count; k++) {
        plumb_array array;
        const plumb_status st = plumb_dataset_read_field(&array, dataset, k, "action");
        if (st) return st;
        const int64_t wide = array.ndim == 2 ? array.shape[1] : array.ndim == 1 ? 1 : 0;
        if (!wide || array.shape[0] < steps || (k && wide != dims)) {
            status_log("action of item %lld is not of %lld steps: left out", (long long)k,
                       (long long)steps);
            out->action = NULL;
            return PLUMB_OK;
        }
        dims = wide;
        if (!k) out->action = ARENA_ALLOC(mem, double, (out->videos.count * steps * dims));
        if (!out->action) return PLUMB_EMEMORY;
        plumb_array_to_double(out->action + k * steps * dims, &array, 0, steps * dims);
    }
    out->action_dims = dims;
    return PLUMB_OK;
}

// out->constants: the fields of a file that have names of constants of a world. A field that is not
// a few numbers per item is something else.
static plumb_status read_constants(test_videos *out, arena *mem, plumb_dataset *dataset)
{
    enum { MAX_VALUES = 8 };
    const char *name;
    for (int64_t n = 0; (name = plumb_world_constant_name(n)); n++) {
        if (!plumb_dataset_has_field(dataset, name)) continue;
        plumb_array array;
        plumb_status st = plumb_dataset_read_field(&array, dataset, 0, name);
        if (st) return st;
        const int64_t more = plumb_array_count(&array), before = out->constant_total;
        if (array.ndim > 1 || more < 1 || more > MAX_VALUES) continue;
        double *all = ARENA_ALLOC(mem, double, (out->videos.count * (before + more)));
        if (!all) return PLUMB_EMEMORY;
        for (int64_t k = 0; k < out->videos.count; k++) {
            double *to = all + k * (before + more);
            for (int64_t i = 0; i < before; i++) to[i] = out->constants[k * before + i];
            st = plumb_dataset_read_field(&array, dataset, k, name);
            if (st) return st;
            if (plumb_array_count(&array) != more)
                return fail(PLUMB_ESHAPE, "%s of item %lld is not of %lld values", name,
                            (long long)k, (long long)more);
            plumb_array_to_double(to + before, &array, 0, more);
        }
        out->constants = all;
        out->constant_total = before + more;
    }
    return PLUMB_OK;
}

// Cuts longer videos to `steps` frames.
static plumb_status cut_videos(video_set *videos, arena *mem, int64_t steps)
{
    if (videos->steps == steps) return PLUMB_OK;
    const int64_t frame = videos->height * videos->width * videos->channels;
    uint8_t *cut = ARENA_ALLOC(mem, uint8_t, (videos->count * steps * frame));
    if (!cut) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < videos->count; i++)
        memcpy(cut + i * steps * frame, videos->frames + i * videos->steps * frame,
               (size_t)(steps * frame));
    videos->frames = cut;
    videos->steps = steps;
    return PLUMB_OK;
}

// Says which number of steps the file allows, if there is one.
static plumb_status refuse_short(const trained_model *trained, const test_videos_request *request,
                                 int64_t found)
{
    const int64_t allowed = found - request->fixed_steps;
    const bool helps = request->steps_option && allowed > 0 && found >= request->least_steps;
    // Without an option that helps, the fewest frames that are needed in any case.
    int64_t needed = request->steps;
    char advice[80] = "";
    if (helps)
        snprintf(advice, sizeof advice, "; it allows the option %s %lld", request->steps_option,
                 (long long)allowed);
    else if (request->steps_option && request->least_steps > request->fixed_steps)
        needed = request->least_steps;
    else if (request->steps_option) needed = request->fixed_steps + 1;
    return fail(PLUMB_ESHAPE, "%s: has %lld frames per video, and %s needs %lld%s%s", request->data,
                (long long)found, trained->run, (long long)needed, helps ? "" : " at least",
                advice);
}

// Reads test videos and true states of a file.
static plumb_status read_videos(test_videos *out, trained_model *trained,
                                const test_videos_request *request)
{
    plumb_dataset *dataset;
    const int64_t steps = request->steps;
    plumb_status st = plumb_dataset_open(&dataset, request->data, NULL);
    if (st) return st;
    const int64_t items = plumb_dataset_item_count(dataset);
    const frame_size size = {.side = trained->config.data.resize}; // as in training
    st = video_load_file(&out->videos, &trained->mem, request->data,
                         items < request->count ? items : request->count, false, &size, NULL);
    const video_set *videos = &out->videos;
    if (!st && videos->steps < steps) st = refuse_short(trained, request, videos->steps);
    const bool known = plumb_dataset_has_field(dataset, "state");
    if (!st && !known && !request->states_optional)
        st =
            fail(PLUMB_EFILE,
                 "%s: has no array \"state\" (videos, steps, 2n), the true states that the latents "
                 "are compared with; plumb rollout and plumb report work without it",
                 request->data);
    if (!st && known)
        st = read_field(&out->state, &out->state_dims, &trained->mem, dataset, "state",
                        videos->count, steps);
    if (!st && request->canonical && plumb_dataset_has_field(dataset, "canonical"))
        st = read_field(&out->canonical, &out->canonical_dims, &trained->mem, dataset, "canonical",
                        videos->count, steps);
    if (!st && request->canonical && plumb_dataset_has_field(dataset, "energy"))
        st = read_energy(out, &trained->mem, dataset, steps);
    if (!st && request->canonical && plumb_dataset_has_field(dataset, "action"))
        st = read_action(out, &trained->mem, dataset, steps);
    if (!st && request->parameters) st = read_constants(out, &trained->mem, dataset);
    plumb_dataset_close(dataset);
    return st ? st : cut_videos(&out->videos, &trained->mem, steps);
}

// ---- either ----

plumb_status test_videos_get(test_videos *out, trained_model *trained,
                             const test_videos_request *request)
{
    *out = (test_videos){0};
    const run_config_data *data = &trained->config.data;
    const char *world = request->world ? request->world : data->world;
    plumb_status st;
    if (request->data) st = read_videos(out, trained, request);
    else if (world[0]) st = simulate_videos(out, trained, world, request);
    else
        st = fail(PLUMB_EVALUE,
                  "the run was trained on %s; name other videos by the option data, or a world",
                  data->data);
    return st ? st : match_frames(trained, request->data ? request->data : world, &out->videos);
}
