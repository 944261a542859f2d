// SPDX-License-Identifier: MIT
// Predictions of a trained PredRNN. The clips of a probe begin with the same frames, and after the
// same frames the model is in the same state. So each state is computed once for all clips that
// share it. That saves work, and it makes errors of a common beginning bit-identical.
#include "models/predrnn/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/model_workers.h"

// Clips of a task, and states that one program run advances. Tasks are cut by clip number, so the
// number of threads does not affect the result. Values of two clips stay in the near caches;
// weights that do not fit there are better read once for more clips. The sums are the same.
enum { GROUP = 16, RUN = 2, RUN_OF_MANY_WEIGHTS = 8, MANY_WEIGHTS = 1 << 20 };

// Programs of a worker, in the order in which they are added.
enum { PROGRAM_FIRST, PROGRAM_NEXT };

typedef struct clip_buffers {
    float *state[2]; // (GROUP, state_size): before and after a frame
    float *frames;   // (GROUP + 1, frame): predictions of all clips, and one true frame, in patches
} clip_buffers;

typedef struct predict_task {
    const predrnn_config *config;
    const model_predict_job *job;
    predrnn_step first, next;
    int64_t run;                  // states that one program run advances
    int64_t frame_size;           // values of a frame
    int64_t map_size, state_size; // values of a map, and of a state: h and c of every layer, then m
    model_workers workers;
    clip_buffers *buffers; // (workers)
} predict_task;

// ---- workers ----

// Outputs of a step: prediction, then h and c of every layer, then m of the top layer.
static plumb_status add_program(model_workers *workers, const predrnn_step *step, int64_t layers,
                                bool freeze)
{
    graph_node *output[2 * PREDRNN_MAX_LAYERS + 2];
    int n = 0;
    output[n++] = step->prediction;
    for (int64_t l = 0; l < layers; l++) {
        output[n++] = step->after[l].h;
        output[n++] = step->after[l].c;
    }
    output[n++] = step->after[layers - 1].m;
    return model_workers_add(workers, &step->net, output, n, freeze);
}

// States of a group before and after a frame, and its predictions.
static plumb_status alloc_buffers(predict_task *task)
{
    task->buffers = calloc((size_t)task->workers.count, sizeof *task->buffers);
    bool ok = task->buffers;
    for (int i = 0; ok && i < task->workers.count; i++) {
        clip_buffers *b = &task->buffers[i];
        b->frames = malloc((size_t)((GROUP + 1) * task->frame_size) * sizeof(float));
        for (int k = 0; k < 2; k++)
            b->state[k] = malloc((size_t)(GROUP * task->state_size) * sizeof(float));
        ok = b->frames && b->state[0] && b->state[1];
    }
    return ok ? PLUMB_OK : fail(PLUMB_EMEMORY, "out of memory for the states of %d clips", GROUP);
}

// The first step has no state as input. Weights of the next steps are packed once.
static plumb_status create_workers(predict_task *task, params *layout)
{
    const int64_t layers = task->config->layers;
    plumb_status st = predrnn_step_build(&task->first, layout, task->config, task->run, true);
    if (!st) st = add_program(&task->workers, &task->first, layers, false);
    if (!st) st = predrnn_step_build(&task->next, layout, task->config, task->run, false);
    if (!st) st = add_program(&task->workers, &task->next, layers, true);
    return st ? st : alloc_buffers(task);
}

static void free_workers(predict_task *task)
{
    for (int i = 0; task->buffers && i < task->workers.count; i++) {
        free(task->buffers[i].state[0]);
        free(task->buffers[i].state[1]);
        free(task->buffers[i].frames);
    }
    free(task->buffers);
    model_workers_clear(&task->workers);
}

// ---- one frame ----

// Clips of a group that are advanced by one frame in one program run.
typedef struct advance_run {
    const uint8_t *clips;  // of the group
    int64_t time;          // the frame that is the input
    const int64_t *clip;   // (count) clips, and where their new state goes
    const int64_t *source; // (count) clips that hold their state
    int64_t count;         // at most that of the task
    clip_buffers *buffers;
} advance_run;

// Input of the next step that holds map k of a state.
static const graph_node *state_input(const predict_task *task, int64_t k)
{
    if (k == 2 * task->config->layers) return task->next.m;
    return k % 2 ? task->next.c[k / 2] : task->next.h[k / 2];
}

// Loads frames and states of a run, runs the program, stores predictions and states.
static void advance_states(const predict_task *task, int worker, const advance_run *run)
{
    const int64_t t = run->time, maps = 2 * task->config->layers + 1, frame = task->frame_size;
    const float *before = run->buffers->state[t % 2];
    float *after = run->buffers->state[(t + 1) % 2];
    program_instance *instance =
        model_workers_instance(&task->workers, worker, t ? PROGRAM_NEXT : PROGRAM_FIRST);
    float *input = instance_input(instance, t ? task->next.frame : task->first.frame);
    for (int64_t b = 0; b < task->run; b++) {
        int64_t k = b < run->count ? b : 0; // the rest of the run repeats the first clip
        predrnn_patch(input + b * frame, run->clips + (run->clip[k] * task->job->steps + t) * frame,
                      task->config);
        for (int64_t m = 0; t && m < maps; m++)
            memcpy(instance_input(instance, state_input(task, m)) + b * task->map_size,
                   before + run->source[k] * task->state_size + m * task->map_size,
                   (size_t)task->map_size * sizeof *before);
    }
    instance_run(instance, 0);
    for (int64_t b = 0; b < run->count; b++) {
        memcpy(run->buffers->frames + run->clip[b] * frame,
               instance_output(instance, 0) + b * frame, (size_t)frame * sizeof(float));
        for (int64_t m = 0; m < maps; m++)
            memcpy(after + run->clip[b] * task->state_size + m * task->map_size,
                   instance_output(instance, 1 + (int)m) + b * task->map_size,
                   (size_t)task->map_size * sizeof *after);
    }
}

// Stores the error of frame t + 1 of a clip, and its prediction. `patched` is scratch.
static void store_error(const predict_task *task, int64_t clip, int64_t t, const float *predicted,
                        float *patched)
{
    const model_predict_job *job = task->job;
    const int64_t frame = task->frame_size, at = clip * (job->steps - 1) + t;
    predrnn_patch(patched, job->frames + (clip * job->steps + t + 1) * frame, task->config);
    double sum = 0.0;
    for (int64_t i = 0; i < frame; i++) {
        double d = (double)predicted[i] - (double)patched[i];
        sum += d * d;
    }
    job->error[at] = sum / (double)frame;
    if (job->prediction) predrnn_unpatch(job->prediction + at * frame, predicted, task->config);
}

// Maximum over pixels per channel.
static void pool_channels(float *out, const float *h, int64_t pixels, int64_t channels)
{
    memcpy(out, h, (size_t)channels * sizeof *out);
    for (int64_t i = 1; i < pixels; i++)
        for (int64_t k = 0; k < channels; k++)
            out[k] = h[i * channels + k] > out[k] ? h[i * channels + k] : out[k];
}

// ---- a group of clips ----

// A group, frame by frame. same[i] is the first clip with the same frames as clip i so far.
static plumb_status predict_group(void *context, int64_t group, int worker)
{
    const predict_task *task = context;
    const model_predict_job *job = task->job;
    clip_buffers *buffers = &task->buffers[worker];
    int64_t frame = task->frame_size, first = group * GROUP, hidden = task->config->hidden;
    int64_t count = job->count - first < GROUP ? job->count - first : GROUP;
    int64_t same[GROUP] = {0}, before[GROUP];
    const uint8_t *clips = job->frames + first * job->steps * frame;
    for (int64_t t = 0; t + 1 < job->steps; t++) {
        // Which clips differ from all earlier ones, now that frame t is known.
        int64_t distinct[GROUP], source[GROUP], distinct_count = 0;
        memcpy(before, same, sizeof same);
        for (int64_t i = 0; i < count; i++) {
            same[i] = i;
            for (int64_t k = 0; k < i && same[i] == i; k++)
                if (before[k] == before[i] && same[k] == k &&
                    !memcmp(clips + (i * job->steps + t) * frame,
                            clips + (k * job->steps + t) * frame, (size_t)frame))
                    same[i] = k;
            if (same[i] == i) distinct[distinct_count] = i, source[distinct_count++] = before[i];
        }
        // Advance these, a run at a time.
        for (int64_t k = 0; k < distinct_count; k += task->run)
            advance_states(task, worker,
                           &(advance_run){.clips = clips,
                                          .time = t,
                                          .clip = distinct + k,
                                          .source = source + k,
                                          .count = distinct_count - k < task->run
                                                       ? distinct_count - k
                                                       : task->run,
                                          .buffers = buffers});
        for (int64_t i = 0; i < count; i++)
            store_error(task, first + i, t, buffers->frames + same[i] * frame,
                        buffers->frames + GROUP * frame);
    }
    const float *last = buffers->state[(job->steps - 1) % 2];
    const int64_t top = 2 * (task->config->layers - 1) * task->map_size; // h of the top layer
    for (int64_t i = 0; job->feature && i < count; i++)
        pool_channels(job->feature + (first + i) * hidden, last + same[i] * task->state_size + top,
                      task->map_size / hidden, hidden);
    return PLUMB_OK;
}

plumb_status predrnn_predict_clips(const predrnn_config *config, params *layout,
                                   const float *parameters, const model_predict_job *job)
{
    if (job->steps < 2)
        return fail(PLUMB_ESHAPE, "clips of %lld frames; at least 2 are needed",
                    (long long)job->steps);
    tensor_shape map = predrnn_map(config, 1);
    predict_task task = {.config = config,
                         .job = job,
                         .run = layout->size < MANY_WEIGHTS ? RUN : RUN_OF_MANY_WEIGHTS,
                         .frame_size = config->height * config->width * config->channels,
                         .map_size = shape_count(&map),
                         .workers = {.count = job->threads, .parameters = parameters}};
    task.state_size = (2 * config->layers + 1) * task.map_size;
    plumb_status st = create_workers(&task, layout);
    if (!st)
        st = parallel_for((job->count + GROUP - 1) / GROUP, job->threads, predict_group, &task);
    free_workers(&task);
    return st;
}
