// SPDX-License-Identifier: MIT
// Rollouts of a trained model: one video per task.
#include "models/bodies/rollout.h"

#include <math.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "models/bodies/infer.h"
#include "models/bodies/tracks.h"

int64_t bodies_rollout_window(const bodies_config *config)
{
    return config->inference ? config->inference : config->window;
}

typedef struct rollout_task {
    const bodies_rollout_model *model;
    const model_rollout_job *job;
    bodies_law law;
    perception seen;
    window_weights weights;
    int64_t window;      // input frames
    int64_t first;       // the first of them in the video
    track_set tracks;    // of the input frames
    infer_result *state; // (count)
    sprite_scratch *scratch;
} rollout_task;

// ---- inference ----

// The input frames of all videos, one after the other.
static plumb_status find_tracks(rollout_task *task, arena *mem)
{
    const model_rollout_job *job = task->job;
    const sprite_scene *scene = &task->seen.scene;
    const int64_t size = scene->height * scene->width * scene->channels;
    const int64_t stride = (job->input_steps ? job->input_steps : job->steps) * size;
    uint8_t *frames = ARENA_ALLOC(mem, uint8_t, job->count * task->window * size);
    if (!frames) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < job->count; i++)
        memcpy(frames + i * task->window * size, job->frames + i * stride + task->first * size,
               (size_t)(task->window * size));
    const video_set videos = {.frames = frames,
                              .count = job->count,
                              .steps = task->window,
                              .height = scene->height,
                              .width = scene->width,
                              .channels = scene->channels};
    return perception_track(&task->tracks, mem, &task->seen, &videos, job->threads);
}

static plumb_status infer_video(void *context, int64_t item, int worker)
{
    (void)worker;
    const rollout_task *task = context;
    const bodies_config *config = task->model->config;
    const int K = config->objects;
    double *xy = task->tracks.xy + item * task->window * 2 * K, radius[SPRITES_MAX];
    sprite *looks = task->tracks.looks + item * K;
    tracks_to_units(xy, task->window, config);
    if (config->chain && K == 2) {
        double row[BODIES_MAX_CONSTANTS];
        bodies_read_row(row, &task->law, task->model->parameters, 0);
        if (tracks_order_chain(xy, task->window, config->constants ? NULL : row + ROW_X))
            sprites_exchange(looks);
    }
    for (int k = 0; k < K; k++) radius[k] = looks[k].radius;
    return infer_state(
        &task->state[item], &task->law, &task->weights, task->model->parameters,
        &(infer_input){
            .xy = xy, .frames = task->window, .radius = radius, .backward = task->job->backward});
}

// An angle is known up to full turns. Angles of all videos are moved to within half a turn of their
// mean direction, so that the cut of the circle is where there are fewest.
static void unwrap_angles(rollout_task *task)
{
    const double turn = 6.283185307179586;
    for (int k = 0; k < task->model->config->objects; k++) {
        double sine = 0.0, cosine = 0.0;
        for (int64_t i = 0; i < task->job->count; i++) {
            sine += sin(task->state[i].q[k]);
            cosine += cos(task->state[i].q[k]);
        }
        const double mean = atan2(sine, cosine);
        for (int64_t i = 0; i < task->job->count; i++)
            task->state[i].q[k] -= turn * round((task->state[i].q[k] - mean) / turn);
    }
}

// Without frames a video has the constants and looks that all videos have on average.
static void use_mean(infer_result *out, const rollout_task *task)
{
    const bodies_config *config = task->model->config;
    const bodies_layout *layout = task->model->layout;
    const float *parameters = task->model->parameters;
    double radius[SPRITES_MAX];
    *out = (infer_result){0};
    bodies_read_row(out->row, &task->law, parameters, 0);
    for (int i = 0; i < config->row_size && config->constants; i++)
        out->row[i] = (double)parameters[layout->row_mean + i];
    for (int k = 0; k < config->objects; k++) radius[k] = (double)parameters[layout->mean_size];
    // What never moves is at the centre of its field.
    for (int i = 0; i < 2 * config->objects; i++)
        if (task->law.points.still[i]) out->q[i] = out->row[ROW_X + i % 2];
    bodies_find_constants(&out->constants, &task->law, parameters, out->row, radius);
}

// ---- rollout ----

// Where a coordinate is counted from: the centre, where each video has its own, and the place
// itself if it never changes.
static double origin_of(const rollout_task *task, const infer_result *state, int i)
{
    const bodies_config *config = task->model->config;
    if (config->chain) return 0.0;
    if (task->law.points.still[i]) return state->q[i];
    return config->constants ? state->constants.points.centre[i % 2] : 0.0;
}

static void store_state(float *latent, const rollout_task *task, const infer_result *state,
                        const double *q, const double *p)
{
    const int n = infer_state_size(task->model->config);
    for (int i = 0; i < n; i++) {
        latent[i] = (float)(q[i] - origin_of(task, state, i));
        latent[n + i] = (float)p[i];
    }
}

// States after or before the one at `at`, `frames` of them. They are computed in pieces, so that a
// stop is noticed.
static void advance_states(float *latent, const rollout_task *task, const infer_result *state,
                           int64_t at, int64_t frames, int direction)
{
    enum { PIECE = 64 };
    const int n = infer_state_size(task->model->config);
    double q[2 * POINTS_MAX], p[2 * POINTS_MAX], q_out[PIECE * 2 * POINTS_MAX],
        p_out[PIECE * 2 * POINTS_MAX];
    memcpy(q, state->q, sizeof q);
    memcpy(p, state->p, sizeof p);
    while (frames > 0 && !status_stopped()) {
        const int64_t piece = frames < PIECE ? frames : PIECE;
        infer_roll(q_out, p_out, &task->law, &state->constants, q, p, direction * piece);
        for (int64_t t = 0; t < piece; t++) {
            at += direction;
            store_state(latent + at * 2 * n, task, state, q_out + t * n, p_out + t * n);
        }
        memcpy(q, q_out + (piece - 1) * n, (size_t)n * sizeof *q);
        memcpy(p, p_out + (piece - 1) * n, (size_t)n * sizeof *p);
        frames -= piece;
    }
}

// Frames and places of all states of a video; either may be NULL.
static void draw_states(float *frames, float *tracks, const rollout_task *task,
                        const infer_result *state, const sprite_scene *scene, const float *latent,
                        int worker)
{
    const bodies_config *config = task->model->config;
    const int n = infer_state_size(config), places = 2 * config->objects;
    const int64_t size = scene->height * scene->width * scene->channels;
    for (int64_t t = 0; t < task->job->steps; t++) {
        double q[2 * POINTS_MAX], xy[2 * POINTS_MAX];
        for (int i = 0; i < n; i++)
            q[i] = (double)latent[t * 2 * n + i] + origin_of(task, state, i);
        infer_places(xy, &task->law, &state->constants, q);
        tracks_to_pixels(xy, config);
        for (int i = 0; i < places && tracks; i++) tracks[t * places + i] = (float)xy[i];
        if (frames) sprites_draw(frames + t * size, scene, xy, &task->scratch[worker]);
    }
}

static plumb_status roll_out_video(void *context, int64_t item, int worker)
{
    const rollout_task *task = context;
    const model_rollout_job *job = task->job;
    const int n = infer_state_size(task->model->config);
    const sprite_scene *shared = &task->seen.scene;
    float *latent = job->latent + item * job->steps * 2 * n;
    infer_result state = task->state[job->frames ? item : 0];
    sprite_scene scene = *shared;
    if (job->frames) {
        const int64_t at = task->first + state.at;
        scene = perception_scene(&task->seen, task->tracks.looks + item * shared->count);
        store_state(latent + at * 2 * n, task, &state, state.q, state.p);
        advance_states(latent, task, &state, at, at, -1);
        advance_states(latent, task, &state, at, job->steps - 1 - at, 1);
    } else if (job->advance) {
        for (int i = 0; i < n; i++) {
            state.q[i] = (double)latent[i] + origin_of(task, &state, i);
            state.p[i] = (double)latent[n + i];
        }
        advance_states(latent, task, &state, 0, job->steps - 1, 1);
    }
    // The places have no variance that a measure could use.
    if (job->variance) memset(job->variance + item * 2 * n, 0, (size_t)(2 * n) * sizeof(float));
    const int64_t size = job->steps * scene.height * scene.width * scene.channels;
    if (job->prediction || job->tracks)
        draw_states(job->prediction ? job->prediction + item * size : NULL,
                    job->tracks ? job->tracks + item * job->steps * 2 * shared->count : NULL, task,
                    &state, &scene, latent, worker);
    return PLUMB_OK;
}

static plumb_status alloc_task(rollout_task *task, arena *mem)
{
    const int64_t states = task->job->frames ? task->job->count : 1;
    plumb_status st = bodies_law_alloc(&task->law, mem, task->model->config, task->model->layout,
                                       task->model->parameters);
    task->state = ARENA_ALLOC(mem, infer_result, states);
    task->scratch = ARENA_ALLOC(mem, sprite_scratch, task->job->threads);
    if (!st && (!task->state || !task->scratch)) st = PLUMB_EMEMORY;
    for (int i = 0; i < task->job->threads && !st; i++)
        st = sprites_alloc(&task->scratch[i], mem, &task->seen.scene);
    if (!st) bodies_law_fill(&task->law, task->model->parameters);
    return st;
}

plumb_status bodies_rollout(const bodies_rollout_model *model, const model_rollout_job *job)
{
    const bodies_config *config = model->config;
    arena mem = {0};
    rollout_task task = {.model = model, .job = job, .window = bodies_rollout_window(config)};
    task.first = job->backward ? job->steps - task.window : 0;
    if (job->frames && job->steps < task.window)
        return fail(PLUMB_ESHAPE, "videos of %lld frames; the model takes %lld as input",
                    (long long)job->steps, (long long)task.window);
    bodies_load_perception(&task.seen, model->layout, config, model->parameters, model->frames);
    clip_find_weights(&task.weights, config);
    plumb_status st = alloc_task(&task, &mem);
    if (!st && job->frames) {
        st = find_tracks(&task, &mem);
        if (!st) st = parallel_for(job->count, job->threads, infer_video, &task);
        if (!st && config->chain) unwrap_angles(&task);
    } else if (!st) {
        use_mean(&task.state[0], &task);
    }
    if (!st) st = parallel_for(job->count, job->threads, roll_out_video, &task);
    if (!st) st = status_check_stop();
    arena_clear(&mem);
    return st;
}
