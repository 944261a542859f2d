// SPDX-License-Identifier: MIT
// PredRNN as a trainable model: which clips a step takes, and where it takes its own prediction as
// input. All of it is a function of (seed, step, sample).
#include <math.h>
#include <string.h>

#include "math/rng.h"
#include "models/model_build.h"
#include "models/predrnn/predict.h"
#include "models/predrnn/published.h"
#include "models/registry_entries.h"

enum { TERM_LOSS, TERM_ERROR, TERM_DECOUPLING, TERM_COUNT };

// Random streams apart from those of initial parameters and clips.
static const uint64_t mask_stream = UINT64_C(5) << 60, clip_stream = UINT64_C(6) << 60;

typedef struct predrnn_settings {
    int64_t patch, layers, hidden, kernel;
    bool layer_norm, residual;
    double decoupling_weight;
    int64_t clip_length;
    int sampling;
    int64_t input_frames, sampling_start, sampling_end;
    double sampling_decay;
    double change_scale, camera_motion_share;
    int64_t camera_motion_steps;
    int64_t microbatch;
} predrnn_settings;

static const char *const sampling_names[] = {"teacher", "scheduled", "reverse", NULL};

// clang-format off
#define AT(member) offsetof(predrnn_settings, member)
static const setting_spec setting_specs[] = {
    // {name, type, member, words, lowest, highest, help}, {paper, cpu, tiny}, rule
    {{"patch", OPTION_INT64, AT(patch), NULL, 1, 64,
      "pixels on a side of a patch, which becomes one place of the map", NULL}, {"4", "2", "4"}, SETTING_FIXED},
    {{"layers", OPTION_INT64, AT(layers), NULL, 1, PREDRNN_MAX_LAYERS,
      "ST-LSTM layers", NULL}, {"4", NULL, "2"}, SETTING_FIXED},
    {{"hidden", OPTION_INT64, AT(hidden), NULL, 1, 4096,
      "channels of a layer", NULL}, {"128", "24", "4"}, SETTING_FIXED},
    {{"kernel", OPTION_INT64, AT(kernel), NULL, 1, 15, "size of its convolutions; odd", NULL}, {"3"}, SETTING_FIXED},
    {{"layer_norm", OPTION_BOOL, AT(layer_norm), NULL, 0, 0,
      "layer norm after its convolutions", NULL}, {"off"}, SETTING_FIXED},
    {{"residual", OPTION_BOOL, AT(residual), NULL, 0, 0,
      "predict the change from the last frame; learns sooner, not in the papers", NULL}, {"off", "on", "on"}, SETTING_FIXED},
    {{"decoupling_weight", OPTION_DOUBLE, AT(decoupling_weight), NULL, 0, 1e9,
      "weight of the decoupling loss of PredRNN-V2; 0: the first version", NULL}, {"0"}, SETTING_FIXED},
    {{"clip_length", OPTION_INT64, AT(clip_length), NULL, 2, 10000,
      "frames of a training clip", NULL}, {"15", NULL, "6"}, SETTING_FIXED},
    {{"sampling", OPTION_ENUM, AT(sampling), sampling_names, 0, 0,
      "input of a step: the true frame, or at random its own prediction (scheduled, reverse)", NULL}, {"teacher"}, SETTING_FIXED},
    {{"input_frames", OPTION_INT64, AT(input_frames), NULL, 1, 10000,
      "with sampling=scheduled or reverse: frames at the start of a clip that count as input", NULL}, {"10", NULL, "3"}, SETTING_FIXED},
    {{"sampling_begin", OPTION_INT64, AT(sampling_start), NULL, 0, 1e12,
      "with sampling=reverse: step at which the probability begins to change", NULL}, {"25000", "1000", "5"}, SETTING_FIXED},
    {{"sampling_end", OPTION_INT64, AT(sampling_end), NULL, 1, 1e12,
      "with sampling=scheduled or reverse: step at which the probability is 0 or 1", NULL}, {"50000", "2000", "10"}, SETTING_FIXED},
    {{"sampling_decay", OPTION_DOUBLE, AT(sampling_decay), NULL, 1e-9, 1e12,
      "with sampling=reverse: steps in which the distance of the probability to 1 falls by a factor e", NULL}, {"2500", "200", "2"}, SETTING_FIXED},
    {{"change_scale", OPTION_DOUBLE, AT(change_scale), NULL, 0, 1e9,
      "clips whose mean squared change from frame to frame is above this are drawn less often; 0: all alike", NULL}, {"0", "1e-3"}, SETTING_ADDED_LATER},
    {{"camera_motion_share", OPTION_DOUBLE, AT(camera_motion_share), NULL, 0, 1,
      "clips in which every frame changes more than this share of the pixels, as when the camera moves, are left out; 0: none are", NULL}, {"0", "0.12"}, SETTING_ADDED_LATER},
    {{"camera_motion_steps", OPTION_INT64, AT(camera_motion_steps), NULL, 0, 1e12,
      "with camera_motion_share: steps at the start in which these clips are not left out", NULL}, {"0", "4000"}, SETTING_ADDED_LATER},
    {{"microbatch", OPTION_INT64, AT(microbatch), NULL, 1, 4096,
      "clips of a shard computed together; more take more memory and less time", NULL}, {"2", "4", "2"}, SETTING_FIXED},
    {.option = {0}},
};
#undef AT
// clang-format on

// Settings of training and data that differ from other models' [Lin23].
static const char *const paper_changes[] = {
    "frames=15",   "image=64",           "trajectories=300000",
    "batch=64",    "learning_rate=3e-4", "beta2=0.95",
    "steps=50000", "replicas=2",         "validation_clips=5000",
    NULL};
static const char *const cpu_changes[] = {
    "frames=15",  "image=32",    "trajectories=60000", "batch=8",    "learning_rate=3e-3",
    "beta2=0.95", "steps=20000", "decay_start=0.3",    "replicas=2", NULL};
static const char *const tiny_changes[] = {"frames=15", "image=16", "trajectories=8",
                                           "learning_rate=3e-3", NULL};

typedef struct predrnn_model {
    const predrnn_settings *settings;
    training_settings training;
    const video_set *videos;
    predrnn_config config;
    params params;
    int64_t shard, microbatch; // clips of a replica, and of a program run
    predrnn_clip clip;
    graph_program *program;
    program_instance **replicas;
    model_video video;
    float *parameters;
} predrnn_model;

// Sizes of the frames come from the videos, the rest from the settings.
static predrnn_config make_config(const predrnn_settings *options, const video_set *videos)
{
    return (predrnn_config){.height = videos->height,
                            .width = videos->width,
                            .channels = videos->channels,
                            .patch = options->patch,
                            .layers = options->layers,
                            .hidden = options->hidden,
                            .kernel = options->kernel,
                            .layer_norm = options->layer_norm,
                            .residual = options->residual,
                            .decoupling_weight = options->decoupling_weight,
                            .clip_length = options->clip_length,
                            .sampling = (predrnn_sampling)options->sampling,
                            .input_frames = options->input_frames};
}

// ---- clips ----

// Scheduled sampling: the probability that step t of a clip takes the true frame as input
// [Wang23, code].
static double true_frame_probability(const predrnn_settings *options, int64_t t, int64_t step)
{
    double x = (double)step, from = (double)options->sampling_start,
           to = (double)options->sampling_end;
    // Scheduled: falls from 1 to 0 until sampling_end.
    if (options->sampling == PREDRNN_SCHEDULED) return x < to ? 1.0 - x / to : 0.0;
    // Reverse: within the input frames it rises from 1/2 to 1, after them it falls to 0.
    if (t < options->input_frames)
        return x < from ? 0.5
               : x < to ? 1.0 - 0.5 * exp(-(x - from) / options->sampling_decay)
                        : 1.0;
    return x < from ? 0.5 : x < to ? 0.5 * (to - x) / (to - from) : 0.0;
}

// Accepts a clip with probability scale / (scale + change), where change is its mean squared
// difference from frame to frame. The error of a moving curtain or camera is tens of times that of
// a ball behind a pillar, and nothing else would be learnt.
static bool accept_change(const uint8_t *clip, const predrnn_config *config, double scale, rng *r)
{
    const int64_t frame = config->height * config->width * config->channels,
                  n = (config->clip_length - 1) * frame;
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++) {
        const int d = (int)clip[frame + k] - (int)clip[k];
        sum += d * d;
    }
    const double change = (double)sum / ((double)n * 255.0 * 255.0);
    return rng_uniform(r) < scale / (scale + change);
}

// Whether the camera is fixed: then in some frame at most `share` of the pixels change.
static bool has_fixed_camera(const uint8_t *clip, const predrnn_config *config, double share)
{
    const int64_t pixels = config->height * config->width, frame = pixels * config->channels;
    for (int64_t t = 0; t + 1 < config->clip_length; t++, clip += frame) {
        int64_t changed = 0;
        for (int64_t k = 0; k < frame; k += config->channels)
            changed += memcmp(clip + k, clip + frame + k, (size_t)config->channels) != 0;
        if ((double)changed <= share * (double)pixels) return true;
    }
    return false;
}

// Both tests; each is off at 0. The random number is drawn only if it is needed.
static bool accept_clip(const predrnn_model *model, const uint8_t *clip, int64_t step, rng *r)
{
    const predrnn_settings *options = model->settings;
    const bool camera = options->camera_motion_share <= 0.0 ||
                        step < options->camera_motion_steps ||
                        has_fixed_camera(clip, &model->config, options->camera_motion_share);
    return camera && (options->change_scale <= 0.0 ||
                      accept_change(clip, &model->config, options->change_scale, r));
}

// The clip of a sample: the first accepted one of up to MAX_ATTEMPTS.
static const uint8_t *draw_clip(const predrnn_model *model, int64_t step, int64_t sample, rng *r)
{
    enum { MAX_ATTEMPTS = 64 };
    const uint8_t *clip = NULL;
    for (int64_t k = 0; k < MAX_ATTEMPTS; k++) {
        // Attempt k has the sample number sample + k 2^32, so that attempts do not collide.
        clip = video_window_frames(
            model->videos, video_sample_window(model->videos, (uint64_t)model->training.seed, step,
                                               sample + (k << 32), model->config.clip_length));
        if (accept_clip(model, clip, step, r)) break;
    }
    return clip;
}

// Inputs of item b of a program run: frames, and which of them are the true ones.
static void set_inputs(const predrnn_model *model, program_instance *instance, int64_t step,
                       int64_t sample, int64_t b)
{
    const predrnn_config *config = &model->config;
    const uint64_t seed = (uint64_t)model->training.seed;
    const uint64_t counter = (uint64_t)(step * model->training.batch + sample);
    int64_t frame = config->height * config->width * config->channels;
    rng clip_rng = rng_at(seed, clip_stream + counter);
    const uint8_t *clip = draw_clip(model, step, sample, &clip_rng);
    // Frames in patches, then one mask value per step.
    for (int64_t t = 0; t < config->clip_length; t++)
        predrnn_patch(instance_input(instance, model->clip.frame[t]) + b * frame, clip + t * frame,
                      config);
    float *mask = model->clip.mask ? instance_input(instance, model->clip.mask) : NULL;
    rng mask_rng = rng_at(seed, mask_stream + counter);
    for (int64_t t = 0; mask && t + 1 < config->clip_length; t++)
        mask[t * model->microbatch + b] =
            rng_uniform(&mask_rng) < true_frame_probability(model->settings, t, step) ? 1.0f : 0.0f;
}

// ---- callbacks ----

static plumb_status gradient(void *context, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    predrnn_model *model = context;
    program_instance *instance = model->replicas[replica];
    const predrnn_config *config = &model->config;
    int64_t steps = config->clip_length - 1, n = model->microbatch;
    const double batch = (double)model->training.batch;
    const double pixels = (double)(config->height * config->width * config->channels);
    // Errors are sums over a frame; this makes them shares of the mean of the batch.
    const double scale = 1.0 / ((double)(model->training.batch * steps) * pixels);
    memset(gradient, 0, (size_t)model->params.size * sizeof *gradient);
    double sum[TERM_COUNT] = {0};
    for (int64_t first = 0; first < model->shard; first += n) {
        for (int64_t b = 0; b < n; b++)
            set_inputs(model, instance, step, replica * model->shard + first + b, b);
        instance_run(instance, 0);
        const float *error = instance_output(instance, 0);
        const float *decoupling = instance_output(instance, 1);
        for (int64_t k = 0; k < steps * n; k++) sum[TERM_ERROR] += (double)error[k] * scale;
        for (int64_t b = 0; model->clip.decoupling && b < n; b++)
            sum[TERM_DECOUPLING] += (double)decoupling[b] / batch;
        model_build_add_gradient(gradient, instance, &model->clip.net, 2);
    }
    // The term of the decoupling loss exists only with a weight.
    sum[TERM_LOSS] = sum[TERM_ERROR] + config->decoupling_weight * sum[TERM_DECOUPLING];
    const int count = model->clip.decoupling ? TERM_COUNT : TERM_DECOUPLING;
    memcpy(terms, sum, (size_t)count * sizeof *terms);
    return PLUMB_OK;
}

static plumb_status init_replica(void *context, int64_t replica)
{
    predrnn_model *model = context;
    return model_build_instance(&model->replicas[replica], model->program, &model->clip.net,
                                model->parameters);
}

static plumb_status predict(void *context, const model_predict_job *job)
{
    predrnn_model *model = context;
    return predrnn_predict_clips(&model->config, &model->params, model->parameters, job);
}

static plumb_status list_published(void *context, exchange_list *out, arena *mem)
{
    const predrnn_model *model = context;
    return predrnn_list_published(out, mem, &model->config, &model->params);
}

static void note_published(void *context, const char *file)
{
    const predrnn_model *model = context;
    if (model->config.residual)
        status_log("%s: this run has residual=on: it adds the input frame to what the published "
                   "code computes",
                   file);
}

// Memory and arithmetic of a step.
static void record_cost(void *context, plumb_record *record)
{
    const predrnn_model *model = context;
    model_build_record_shards(record, &model->params, &model->training, model->shard);
    plumb_record_set_int(record, "groups", model->shard / model->microbatch);
    model_build_record_program(record, "clip", model->program);
}

static void destroy(void *context)
{
    predrnn_model *model = context;
    for (int64_t r = 0; model->replicas && r < model->training.replicas; r++)
        instance_free(model->replicas[r]);
    program_free(model->program);
    if (model->clip.net.g) graph_free(model->clip.net.g);
    params_clear(&model->params);
}

// ---- creation ----

static plumb_status init_model(predrnn_model *model, arena *mem, trainable_model *out)
{
    predrnn_clip *clip = &model->clip;
    const int64_t batch = model->training.batch;
    model->config = make_config(model->settings, model->videos);
    plumb_status st = video_check_length(model->videos, model->config.clip_length);
    if (!st) st = model_build_shard(&model->shard, &model->training);
    if (!st)
        st = model_build_microbatch(&model->microbatch, model->shard, model->settings->microbatch);
    if (!st)
        st = predrnn_clip_build(clip, &model->params, &model->config, model->microbatch, batch);
    if (st) return st;
    model->replicas = ARENA_ALLOC(mem, program_instance *, model->training.replicas);
    if (!model->replicas) return PLUMB_EMEMORY;
    // The program has two terms; without decoupling the second repeats the first.
    graph_node *terms[] = {clip->error, clip->decoupling ? clip->decoupling : clip->error};
    st = model_build_program(&model->program, mem, &clip->net, terms, 2, clip->gradient);
    if (!st) st = model_build_parameters(out, mem, &model->params, (uint64_t)model->training.seed);
    model->parameters = out->parameters;
    return st;
}

static plumb_status create(trainable_model *out, arena *mem, const void *options,
                           const training_settings *training, const video_set *videos)
{
    static const char *const term_names[] = {"loss", "mse", "decoupling"};
    predrnn_model *model = ARENA_ALLOC(mem, predrnn_model, 1);
    if (!model) return PLUMB_EMEMORY;
    model->settings = options;
    model->training = *training;
    model->videos = videos;
    model->video = (model_video){.features = model->settings->hidden, .predict = predict};
    const bool decoupled = model->settings->decoupling_weight > 0;
    *out = (trainable_model){.name = "predrnn",
                             .replicas = training->replicas,
                             .term_count = decoupled ? TERM_COUNT : TERM_COUNT - 1,
                             .term_names = term_names,
                             .context = model,
                             .init_replica = init_replica,
                             .gradient = gradient,
                             .list_published = list_published,
                             .note_published = note_published,
                             .record_cost = record_cost,
                             .destroy = destroy,
                             .video = &model->video};
    plumb_status st = init_model(model, mem, out);
    if (st) destroy(model);
    return st;
}

static int64_t clip_length(const void *options)
{
    return ((const predrnn_settings *)options)->clip_length;
}

const registry_entry predrnn_entry = {
    .name = "predrnn",
    .video = true,
    .summary = "predicts the next frame by ST-LSTM layers [Wang17]",
    .setting_specs = setting_specs,
    .renamed_settings = renames_predrnn,
    .settings_size = sizeof(predrnn_settings),
    .preset_changes = {paper_changes, cpu_changes, tiny_changes},
    .clip_length = clip_length,
    .guess_settings = predrnn_guess_settings,
    .create = create,
};
