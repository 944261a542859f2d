// SPDX-License-Identifier: MIT
// plumb_rollout_save(): rolls out a run on test videos and writes latents, states and frames to a
// file.
#include "plumb/rollout.h"

#include <stdio.h>
#include <string.h>

#include "base/argument.h"
#include "base/options_struct.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "evaluate/model_rollout.h"
#include "evaluate/options.h"
#include "plumb/file.h"

// More latents than 2 MAX_PAIRS are feature maps.
enum { VALUES = 3, MAX_PAIRS = 64, TRAVERSAL_FRAMES = 5, MAX_ARRAYS = 24 };
static const float traversal_values[VALUES] = {-2, 0, 2};

// The first frame of the first video, decoded with one latent position at -2, 0 and 2 and the
// others as they are [Higgins21]: (m, 3, height, width, channels). NULL for latents that are
// feature maps.
static plumb_status make_traversal(float **out, trained_model *trained, const video_set *videos,
                                   const rollout_arrays *rollout, int threads)
{
    const trainable_model *model = &trained->model;
    const int64_t n = model->dynamics->latents, m = n / 2;
    const int64_t frame = videos->height * videos->width * videos->channels;
    *out = NULL;
    if (m > MAX_PAIRS) return PLUMB_OK;
    float *latent = ARENA_ALLOC(&trained->mem, float, (m * VALUES * n));
    float *decoded = ARENA_ALLOC(&trained->mem, float, (m * VALUES * frame));
    if (!latent || !decoded) return PLUMB_EMEMORY;
    // Latents (m, 3, n): the first state with position i set to each value.
    for (int64_t i = 0; i < m; i++)
        for (int k = 0; k < VALUES; k++) {
            float *state = latent + (i * VALUES + k) * n;
            memcpy(state, rollout->latent, (size_t)n * sizeof *state);
            state[i] = traversal_values[k];
        }
    // Without input frames the rollout only decodes the latents.
    const model_rollout_job job = {
        .count = m, .steps = VALUES, .threads = threads, .latent = latent, .prediction = decoded};
    const plumb_status st = model->dynamics->rollout(model->context, &job);
    if (!st) *out = decoded;
    return st;
}

// Rollouts from the first state of the first video with one latent changed [Higgins21, Figure 3E].
typedef struct latent_traversal {
    int64_t latents, steps; // steps 0: there is none
    float *states;          // (latents, 3, steps, latents)
    float *frames;          // (latents, 3, TRAVERSAL_FRAMES, height, width, channels)
} latent_traversal;

// Rolls out from every changed state, then decodes a few evenly spaced steps of each.
static plumb_status roll_out_traversal(latent_traversal *out, trained_model *trained,
                                       const video_set *videos, const rollout_arrays *rollout,
                                       const plumb_rollout_options *opt, int threads)
{
    const trainable_model *model = &trained->model;
    const int64_t n = model->dynamics->latents, steps = opt->traversal_steps, rows = n * VALUES;
    const int64_t frame = videos->height * videos->width * videos->channels;
    *out = (latent_traversal){0};
    if (!steps || n > 2 * MAX_PAIRS) return PLUMB_OK;
    float *states = ARENA_ALLOC(&trained->mem, float, (rows * steps * n));
    float *chosen = ARENA_ALLOC(&trained->mem, float, (rows * TRAVERSAL_FRAMES * n));
    float *frames = ARENA_ALLOC(&trained->mem, float, (rows * TRAVERSAL_FRAMES * frame));
    if (!states || !chosen || !frames) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows; r++) {
        float *state = states + r * steps * n;
        memcpy(state, rollout->latent, (size_t)n * sizeof *state);
        state[r / VALUES] = traversal_values[r % VALUES];
    }
    const model_rollout_job moving = {
        .count = rows, .steps = steps, .advance = true, .threads = threads, .latent = states};
    plumb_status st = model->dynamics->rollout(model->context, &moving);
    if (st) return st;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < TRAVERSAL_FRAMES; k++)
            memcpy(chosen + (r * TRAVERSAL_FRAMES + k) * n,
                   states + (r * steps + k * (steps - 1) / (TRAVERSAL_FRAMES - 1)) * n,
                   (size_t)n * sizeof *chosen);
    const model_rollout_job decoding = {.count = rows,
                                        .steps = TRAVERSAL_FRAMES,
                                        .threads = threads,
                                        .latent = chosen,
                                        .prediction = frames};
    st = model->dynamics->rollout(model->context, &decoding);
    if (!st) *out = (latent_traversal){n, steps, states, frames};
    return st;
}

// What is written beside the rollout itself.
typedef struct rollout_extras {
    float *traversal; // NULL if there is none
    latent_traversal moving;
    float *encoded; // (count, steps, latents); NULL if there is none
    uint8_t *names; // (latents, MODEL_NAME_SIZE), padded with 0; NULL if latents have no names
} rollout_extras;

// States inferred around every frame of the rollout. A window reaches beyond its state, so longer
// videos are simulated; a file has what it has.
static plumb_status encode_frames(float **out, trained_model *trained, const test_videos *test,
                                  const test_videos_request *request, int64_t steps)
{
    const model_dynamics *dynamics = trained->model.dynamics;
    const int64_t after = dynamics->window - 1 - dynamics->first_step - dynamics->inferred_step;
    test_videos longer = *test;
    if (!request->data && after > 0) {
        test_videos_request more = *request;
        more.steps = more.rendered_steps = test->videos.steps + after;
        more.canonical = more.parameters = false;
        const plumb_status st = test_videos_get(&longer, trained, &more);
        if (st) return st;
    }
    return model_rollout_encode(out, trained, &longer.videos, steps, request->threads);
}

static plumb_status copy_names(uint8_t **out, trained_model *trained)
{
    const model_dynamics *dynamics = trained->model.dynamics;
    *out = NULL;
    if (!dynamics->latent_names) return PLUMB_OK;
    *out = ARENA_ALLOC(&trained->mem, uint8_t, dynamics->latents * MODEL_NAME_SIZE);
    for (int64_t i = 0; i < dynamics->latents && *out; i++)
        snprintf((char *)*out + i * MODEL_NAME_SIZE, MODEL_NAME_SIZE, "%s",
                 dynamics->latent_names[i]);
    return *out ? PLUMB_OK : PLUMB_EMEMORY;
}

// Writes all arrays that exist; the first two always do.
static plumb_status write_rollout(const char *path, trained_model *trained, test_videos *test,
                                  const rollout_arrays *rollout, const rollout_extras *extras)
{
    const video_set *videos = &test->videos;
    const int64_t m = trained->model.dynamics->latents, n = videos->count, steps = rollout->steps;
    const size_t frame = (size_t)(videos->height * videos->width * videos->channels);
    const int64_t first = trained->model.dynamics->first_step;
    int64_t count = 2;
    // The truth starts at the first step that the model predicts.
    model_rollout_drop_states(test, trained, steps + first);
    plumb_named_array arrays[MAX_ARRAYS] = {
        {"latent", plumb_array_view(rollout->latent, PLUMB_FLOAT32, 3, (int64_t[]){n, steps, m})},
        {"variance", plumb_array_view(rollout->variance, PLUMB_FLOAT32, 2, (int64_t[]){n, m})},
    };
    if (test->state)
        arrays[count++] =
            (plumb_named_array){"truth", plumb_array_view(test->state, PLUMB_FLOAT64, 3,
                                                          (int64_t[]){n, steps, test->state_dims})};
    if (extras->names)
        arrays[count++] =
            (plumb_named_array){"latent_names", plumb_array_view(extras->names, PLUMB_UINT8, 2,
                                                                 (int64_t[]){m, MODEL_NAME_SIZE})};
    if (rollout->prediction) {
        model_rollout_drop_first((void *)videos->frames, n, videos->steps, frame, first);
        arrays[count++] = (plumb_named_array){
            "frames", model_rollout_frames((void *)videos->frames, PLUMB_UINT8, videos, steps)};
        arrays[count++] = (plumb_named_array){
            "prediction", model_rollout_frames(rollout->prediction, PLUMB_FLOAT32, videos, steps)};
    }
    if (rollout->tracks)
        arrays[count++] = (plumb_named_array){
            "tracks", plumb_array_view(rollout->tracks, PLUMB_FLOAT32, 4,
                                       (int64_t[]){n, steps, trained->model.dynamics->objects, 2})};
    if (rollout->momenta)
        arrays[count++] =
            (plumb_named_array){"momenta", plumb_array_view(rollout->momenta, PLUMB_FLOAT32, 3,
                                                            (int64_t[]){n, steps, m / 2})};
    if (extras->encoded)
        arrays[count++] =
            (plumb_named_array){"encoded", plumb_array_view(extras->encoded, PLUMB_FLOAT32, 3,
                                                            (int64_t[]){n, steps, m})};
    if (test->energy)
        arrays[count++] = (plumb_named_array){
            "energy", plumb_array_view(test->energy, PLUMB_FLOAT64, 2, (int64_t[]){n, steps})};
    if (test->action)
        arrays[count++] = (plumb_named_array){
            "action", plumb_array_view(test->action, PLUMB_FLOAT64, 3,
                                       (int64_t[]){n, steps, test->action_dims})};
    if (extras->traversal)
        arrays[count++] = (plumb_named_array){
            "traversal", plumb_array_view(extras->traversal, PLUMB_FLOAT32, 5,
                                          (int64_t[]){m / 2, 3, videos->height, videos->width,
                                                      videos->channels})};
    if (test->canonical)
        arrays[count++] = (plumb_named_array){
            "canonical", plumb_array_view(test->canonical, PLUMB_FLOAT64, 3,
                                          (int64_t[]){n, steps, test->canonical_dims})};
    if (test->parameters)
        arrays[count++] = (plumb_named_array){
            "parameters", plumb_array_view(test->parameters, PLUMB_FLOAT64, 2,
                                           (int64_t[]){n, test->parameter_total})};
    if (test->constants)
        arrays[count++] = (plumb_named_array){
            "constants", plumb_array_view(test->constants, PLUMB_FLOAT64, 2,
                                          (int64_t[]){n, test->constant_total})};
    if (extras->moving.steps) {
        arrays[count++] = (plumb_named_array){
            "traversal_states", plumb_array_view(extras->moving.states, PLUMB_FLOAT32, 4,
                                                 (int64_t[]){m, VALUES, extras->moving.steps, m})};
        arrays[count++] = (plumb_named_array){
            "traversal_frames",
            plumb_array_view(extras->moving.frames, PLUMB_FLOAT32, 6,
                             (int64_t[]){m, VALUES, TRAVERSAL_FRAMES, videos->height, videos->width,
                                         videos->channels})};
    }
    return plumb_file_write(path, arrays, count, false);
}

plumb_status plumb_rollout_save(const char *path, const char *run,
                                const plumb_rollout_options *options)
{
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(run);
    plumb_rollout_options opt = plumb_rollout_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_rollout_options");
    if (!st) st = options_check_ranges(&rollout_option_table, &opt);
    if (st) return st;
    if (opt.measured && opt.backward)
        return fail(PLUMB_EVALUE, "measured trajectories are not rolled out backward");
    const int threads = opt.threads ? opt.threads : parallel_threads();
    test_videos_request wanted = {.world = opt.world,
                                  .data = opt.data,
                                  .first = opt.first,
                                  .use = opt.measured ? TEST_VIDEOS_MEASURE : TEST_VIDEOS_FORECAST,
                                  .count = opt.count,
                                  .steps = opt.steps,
                                  .steps_option = "steps",
                                  .rendered_steps = opt.steps,
                                  .states_optional = !opt.measured,
                                  .canonical = true,
                                  .parameters = true,
                                  .threads = threads};
    trained_model trained;
    test_videos test;
    rollout_arrays rollout;
    rollout_extras extras = {0};
    st = trained_model_open(&trained, run, opt.data);
    if (!st && !trained.model.dynamics) {
        st = rollout_video_save(path, &trained, &opt, threads);
        trained_model_close(&trained);
        return st;
    }
    if (!st && opt.measured) {
        // As plumb evaluate: latents need the input frames only, and the first steps do not count.
        const model_dynamics *dynamics = trained.model.dynamics;
        wanted.steps += dynamics->first_step;
        if (wanted.steps < dynamics->window) wanted.steps = dynamics->window;
        wanted.rendered_steps = dynamics->window;
    }
    if (!st) st = test_videos_get(&test, &trained, &wanted);
    if (!st) {
        const rollout_request request = {.steps = opt.measured ? wanted.steps : test.videos.steps,
                                         .backward = opt.backward,
                                         .decode_frames = !opt.measured,
                                         .threads = threads};
        st = model_rollout_run(&rollout, &trained, &test.videos, &request);
    }
    if (!st && !opt.measured) {
        st = make_traversal(&extras.traversal, &trained, &test.videos, &rollout, threads);
        if (!st)
            st =
                roll_out_traversal(&extras.moving, &trained, &test.videos, &rollout, &opt, threads);
    }
    if (!st && opt.encoded && !opt.measured && !opt.backward)
        st = encode_frames(&extras.encoded, &trained, &test, &wanted, rollout.steps);
    if (!st) st = copy_names(&extras.names, &trained);
    if (!st) st = write_rollout(path, &trained, &test, &rollout, &extras);
    trained_model_close(&trained);
    return st;
}
