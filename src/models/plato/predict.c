// SPDX-License-Identifier: MIT
// Predictions of a trained PLATO. One clip per program run, so that a frame is always at the same
// place of every program: clips that begin with the same frames have bit-identical errors there.
#include "models/plato/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "models/model_workers.h"

// ---- graphs ----

plumb_status plato_encoder_build(plato_encoder *out, params *layout, const plato_config *config,
                                 int64_t frames)
{
    plato_encoder e = {.net = {.params = layout}, .frames = frames};
    plumb_status st = plato_check(config);
    if (!st) st = graph_create(&e.net.g);
    if (st) return st;
    e.masked = op_input(e.net.g, "masked", 0, 4,
                        (int64_t[]){frames * config->slots, config->height, config->width, 4});
    e.mean = plato_encode(&e.net, config, e.masked).mean;
    st = graph_status(e.net.g);
    if (st) graph_free(e.net.g);
    else *out = e;
    return st;
}

void plato_encoder_run(float *codes, program_instance *instance, const plato_encoder *encoder,
                       const plato_config *config, const uint8_t *frames, const uint8_t *mask)
{
    int64_t pixels = config->height * config->width, K = config->slots, D = config->code_size;
    float *masked = instance_input(instance, encoder->masked);
    for (int64_t t = 0; t < encoder->frames; t++)
        plato_pack_input(masked + t * K * pixels * 4, frames + t * pixels * 3, mask + t * pixels,
                         config);
    instance_run(instance, 0);
    // (frames, slots, code) to (slots, frames, code).
    const float *mean = instance_output(instance, 0);
    for (int64_t t = 0; t < encoder->frames; t++)
        for (int64_t k = 0; k < K; k++)
            memcpy(codes + (k * encoder->frames + t) * D, mean + (t * K + k) * D,
                   (size_t)D * sizeof *codes);
}

// The decoder of the codes of one frame.
typedef struct frame_decoder {
    network_builder net;
    graph_node *code, *coordinates, *image;
} frame_decoder;

// codes (slots, code_size) of one frame -> image (height * width, 3).
static plumb_status build_decoder(frame_decoder *out, params *layout, const plato_config *config)
{
    frame_decoder d = {.net = {.params = layout}};
    plumb_status st = graph_create(&d.net.g);
    if (st) return st;
    graph *g = d.net.g;
    d.code = op_input(g, "code", 0, 2, (int64_t[]){config->slots, config->code_size});
    d.coordinates = op_input(g, "coordinates", 0, 3, (int64_t[]){config->height, config->width, 2});
    d.image = plato_compose(&d.net, config, plato_decode(&d.net, config, d.code, d.coordinates));
    st = graph_status(g);
    if (st) graph_free(g);
    else *out = d;
    return st;
}

// ---- workers ----

// Programs of a worker, in the order in which they are added.
enum { PROGRAM_ENCODER, PROGRAM_DYNAMICS, PROGRAM_DECODER };

typedef struct clip_buffers {
    float *codes; // (slots, frames, code_size)
    float *image; // of one frame
} clip_buffers;

typedef struct predict_task {
    const plato_config *config;
    const model_predict_job *job;
    plato_encoder encoder;
    plato_dynamics dynamics;
    frame_decoder decoder;
    model_workers workers;
    clip_buffers *buffers; // (workers)
} predict_task;

// Outputs: the predicted codes of every frame, then the last state.
static plumb_status add_dynamics(predict_task *task, params *layout)
{
    int64_t steps = task->config->clip_length - 1;
    plumb_status st = plato_dynamics_build(&task->dynamics, layout, task->config, 1, 0);
    if (st) return st;
    graph_node **outputs =
        ARENA_ALLOC(graph_memory(task->dynamics.net.g), graph_node *, (steps + 1));
    if (!outputs) {
        graph_free(task->dynamics.net.g);
        return PLUMB_EMEMORY;
    }
    memcpy(outputs, task->dynamics.prediction, (size_t)steps * sizeof *outputs);
    outputs[steps] = task->dynamics.hidden;
    return model_workers_add(&task->workers, &task->dynamics.net, outputs, (int)steps + 1, false);
}

// Memory of each worker: codes of a clip, and one predicted frame.
static plumb_status alloc_buffers(predict_task *task)
{
    const plato_config *config = task->config;
    const int64_t count = task->workers.count; // at least 1
    task->buffers = count > 0 ? calloc((size_t)count, sizeof *task->buffers) : NULL;
    bool ok = task->buffers;
    for (int i = 0; ok && i < task->workers.count; i++) {
        clip_buffers *b = &task->buffers[i];
        b->codes = malloc((size_t)(config->slots * config->clip_length * config->code_size) *
                          sizeof *b->codes);
        b->image = malloc((size_t)(config->height * config->width * 3) * sizeof *b->image);
        ok = b->codes && b->image;
    }
    return ok ? PLUMB_OK : fail(PLUMB_EMEMORY, "out of memory for a clip");
}

// Programs of encoder, dynamics and decoder for one clip, without gradients.
static plumb_status create_workers(predict_task *task, params *layout)
{
    const plato_config *config = task->config;
    plumb_status st = plato_encoder_build(&task->encoder, layout, config, config->clip_length);
    if (!st)
        st = model_workers_add(&task->workers, &task->encoder.net, &task->encoder.mean, 1, false);
    if (!st) st = add_dynamics(task, layout);
    if (!st) st = build_decoder(&task->decoder, layout, config);
    if (!st)
        st = model_workers_add(&task->workers, &task->decoder.net, &task->decoder.image, 1, false);
    for (int i = 0; !st && i < task->workers.count; i++) {
        program_instance *decoder = model_workers_instance(&task->workers, i, PROGRAM_DECODER);
        plato_coordinates(instance_input(decoder, task->decoder.coordinates), config);
    }
    return st ? st : alloc_buffers(task);
}

static void free_workers(predict_task *task)
{
    for (int i = 0; task->buffers && i < task->workers.count; i++) {
        free(task->buffers[i].codes);
        free(task->buffers[i].image);
    }
    free(task->buffers);
    model_workers_clear(&task->workers);
}

// ---- a clip ----

// Decodes the codes of one frame; those of the slots are `stride` floats apart.
static const float *decode_frame(const predict_task *task, int worker, const float *code,
                                 int64_t stride)
{
    program_instance *decoder = model_workers_instance(&task->workers, worker, PROGRAM_DECODER);
    int64_t D = task->config->code_size;
    float *input = instance_input(decoder, task->decoder.code);
    for (int64_t k = 0; k < task->config->slots; k++)
        memcpy(input + k * D, code + k * stride, (size_t)D * sizeof *input);
    instance_run(decoder, 0);
    return instance_output(decoder, 0);
}

// One clip per task: encode, predict, decode, compare.
static plumb_status predict_clip(void *context, int64_t item, int worker)
{
    const predict_task *task = context;
    const model_predict_job *job = task->job;
    const plato_config *config = task->config;
    const clip_buffers *buffers = &task->buffers[worker];
    program_instance *encoder = model_workers_instance(&task->workers, worker, PROGRAM_ENCODER);
    program_instance *dynamics = model_workers_instance(&task->workers, worker, PROGRAM_DYNAMICS);
    int64_t pixels = config->height * config->width, T = config->clip_length, D = config->code_size,
            H = config->hidden;
    size_t bytes = (size_t)(3 * pixels) * sizeof(float);
    // Codes of all frames, and predictions of the next ones.
    plato_encoder_run(buffers->codes, encoder, &task->encoder, config,
                      job->frames + item * T * pixels * 3, job->mask + item * T * pixels);
    memcpy(instance_input(dynamics, task->dynamics.codes), buffers->codes,
           (size_t)(config->slots * T * D) * sizeof(float));
    instance_run(dynamics, 0);
    // Errors between decoded predictions and decoded true codes.
    for (int64_t t = 1; t < T; t++) {
        const int64_t at = item * (T - 1) + t - 1;
        // The decoder is run twice per frame; its memory is overwritten, so the first is copied.
        memcpy(buffers->image, decode_frame(task, worker, instance_output(dynamics, (int)t - 1), D),
               bytes);
        if (job->prediction) memcpy(job->prediction + at * 3 * pixels, buffers->image, bytes);
        const float *truth = decode_frame(task, worker, buffers->codes + t * D, T * D);
        double sum = 0.0;
        for (int64_t i = 0; i < 3 * pixels; i++) {
            double d = (double)buffers->image[i] - (double)truth[i];
            sum += d * d;
        }
        job->error[at] = sum / (double)(3 * pixels);
    }
    // Features: maximum of the last state over slots.
    const float *h = instance_output(dynamics, (int)T - 1);
    for (int64_t i = 0; job->feature && i < H; i++) {
        float most = h[i];
        for (int64_t k = 1; k < config->slots; k++)
            most = h[k * H + i] > most ? h[k * H + i] : most;
        job->feature[item * H + i] = most;
    }
    return PLUMB_OK;
}

plumb_status plato_predict_clips(const plato_config *config, params *layout,
                                 const float *parameters, const model_predict_job *job)
{
    if (job->steps != config->clip_length)
        return fail(PLUMB_ESHAPE,
                    "clips of %lld frames; PLATO was trained on %lld, and its buffer holds no "
                    "other number",
                    (long long)job->steps, (long long)config->clip_length);
    predict_task task = {
        .config = config, .job = job, .workers = {.count = job->threads, .parameters = parameters}};
    plumb_status st = create_workers(&task, layout);
    if (!st) st = parallel_for(job->count, job->threads, predict_clip, &task);
    free_workers(&task);
    return st;
}
