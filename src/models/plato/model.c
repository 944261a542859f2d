// SPDX-License-Identifier: MIT
// PLATO as a trainable model. First perception is trained on single frames; then the dynamics on
// the codes of whole clips. Perception does not change then, but for the first few steps, in which
// Adam's moments still move it.
#include <string.h>

#include "math/rng.h"
#include "models/model_build.h"
#include "models/plato/predict.h"
#include "models/registry_entries.h"

enum { TERM_LOSS, TERM_ERROR, TERM_KL, TERM_MASKS, TERM_CODES, TERM_COUNT };

// Random stream apart from those of initial parameters and clips.
static const uint64_t noise_stream = UINT64_C(7) << 60;

typedef struct plato_settings {
    int64_t slots, code_size, encoder_channels, dense_units, decoder_channels;
    int64_t clip_length, buffer_units, interaction_units, hidden;
    double sigma, beta, mask_weight;
    bool residual, phase_rates;
    int64_t perception_steps, microbatch;
} plato_settings;

// clang-format off
#define AT(member) offsetof(plato_settings, member)
static const setting_spec setting_specs[] = {
    // {name, type, member, words, lowest, highest, help}, {paper, cpu, tiny}, rule
    {{"slots", OPTION_INT64, AT(slots), NULL, 1, 64,
      "objects per frame, the background included", NULL}, {"8"}, SETTING_FIXED},
    {{"code_size", OPTION_INT64, AT(code_size), NULL, 1, 4096,
      "dimension of the code of an object", NULL}, {"16", NULL, "4"}, SETTING_FIXED},
    {{"encoder_channels", OPTION_INT64, AT(encoder_channels), NULL, 1, 4096,
      "channels of the encoder's first two blocks; the next two have twice as many", NULL}, {"32", "16", "8"}, SETTING_FIXED},
    {{"dense_units", OPTION_INT64, AT(dense_units), NULL, 1, 65536,
      "units of the dense layer between the encoder's blocks and the code", NULL}, {"256", "128", "16"}, SETTING_FIXED},
    {{"decoder_channels", OPTION_INT64, AT(decoder_channels), NULL, 1, 4096,
      "channels of the decoder", NULL}, {"32", "16", "8"}, SETTING_FIXED},
    {{"sigma", OPTION_DOUBLE, AT(sigma), NULL, 1e-6, 1e6,
      "standard deviation of a pixel in the reconstruction loss", NULL}, {"0.05"}, SETTING_FIXED},
    {{"beta", OPTION_DOUBLE, AT(beta), NULL, 0, 1e9, "weight of the KL divergence", NULL}, {"0.1"}, SETTING_FIXED},
    {{"mask_weight", OPTION_DOUBLE, AT(mask_weight), NULL, 0, 1e9,
      "weight of the mask loss", NULL}, {"10"}, SETTING_FIXED},
    {{"clip_length", OPTION_INT64, AT(clip_length), NULL, 2, 10000,
      "frames of a training clip", NULL}, {"15"}, SETTING_FIXED},
    {{"buffer_units", OPTION_INT64, AT(buffer_units), NULL, 1, 65536,
      "units of the object buffer", NULL}, {"1680", "64", "8"}, SETTING_FIXED},
    {{"interaction_units", OPTION_INT64, AT(interaction_units), NULL, 1, 65536,
      "units of the interaction networks, which take pairs of objects", NULL}, {"512", "64", "8"}, SETTING_FIXED},
    {{"hidden", OPTION_INT64, AT(hidden), NULL, 1, 65536,
      "units of the LSTM", NULL}, {"2056", "128", "8"}, SETTING_FIXED},
    {{"residual", OPTION_BOOL, AT(residual), NULL, 0, 0,
      "predict the change from the last codes; learns sooner, not in the paper", NULL}, {"off", "on", "on"}, SETTING_ADDED_LATER},
    {{"perception_steps", OPTION_INT64, AT(perception_steps), NULL, 0, 1e12,
      "steps in which the perception module is trained; the dynamics are trained after them", NULL}, {"50000", "4000", "10"}, SETTING_FIXED},
    {{"phase_rates", OPTION_BOOL, AT(phase_rates), NULL, 0, 0,
      "the learning rate rises and falls in each part of training, so that perception ends at a low rate; not in the paper", NULL}, {"off", "on"}, SETTING_ADDED_LATER},
    {{"microbatch", OPTION_INT64, AT(microbatch), NULL, 1, 4096,
      "frames or clips of a shard computed together; more take more memory and less time", NULL}, {"4", "4", "2"}, SETTING_FIXED},
    {.option = {0}},
};
#undef AT
// clang-format on

static const char *const paper_changes[] = {
    "frames=15",    "image=64",   "trajectories=300000",   "batch=80", "learning_rate=4e-4",
    "steps=100000", "replicas=4", "validation_clips=5000", NULL};
static const char *const cpu_changes[] = {
    "frames=15",   "image=32",    "trajectories=60000", "batch=8",    "learning_rate=1e-3",
    "clip_norm=0", "steps=14000", "decay_start=0.3",    "replicas=2", NULL};
static const char *const tiny_changes[] = {"frames=15",          "image=16",    "trajectories=8",
                                           "learning_rate=1e-3", "clip_norm=0", NULL};

// Programs of a replica. The encoder gives the dynamics their input, and has no gradient.
typedef struct replica_data {
    program_instance *perception, *dynamics, *encoder;
} replica_data;

typedef struct plato_model {
    const plato_settings *settings;
    training_settings training;
    const video_set *videos;
    plato_config config;
    params params;
    int64_t shard, microbatch; // frames or clips of a replica, and of a program run
    plato_perception perception;
    plato_dynamics dynamics;
    plato_encoder encoder;
    graph_program *perception_program, *dynamics_program, *encoder_program;
    replica_data *replicas;
    model_video video;
    float *parameters;
} plato_model;

// Blocks 3 and 4 of the encoder have twice the channels of blocks 1 and 2.
static plato_config make_config(const plato_settings *options, const video_set *videos)
{
    const int64_t channels = options->encoder_channels;
    return (plato_config){.height = videos->height,
                          .width = videos->width,
                          .slots = options->slots,
                          .code_size = options->code_size,
                          .encoder_channels = {channels, channels, 2 * channels, 2 * channels},
                          .dense_units = options->dense_units,
                          .decoder_channels = options->decoder_channels,
                          .sigma = options->sigma,
                          .beta = options->beta,
                          .mask_weight = options->mask_weight,
                          .clip_length = options->clip_length,
                          .buffer_units = options->buffer_units,
                          .interaction_units = options->interaction_units,
                          .hidden = options->hidden,
                          .residual = options->residual};
}

// The window of a sample, a function of (seed, step, sample).
static video_window draw_window(const plato_model *model, int64_t step, int64_t sample,
                                int64_t length)
{
    return video_sample_window(model->videos, (uint64_t)model->training.seed, step, sample, length);
}

// ---- perception ----

// Inputs of item b of a program run: a frame, its masks and the noise of its codes.
static void set_frame(const plato_model *model, program_instance *instance, int64_t step,
                      int64_t sample, int64_t b)
{
    const plato_config *config = &model->config;
    const plato_perception *p = &model->perception;
    int64_t pixels = config->height * config->width, codes = config->slots * config->code_size;
    video_window window = draw_window(model, step, sample, 1);
    // The frame cut into objects, the whole frame, and the noise of the codes.
    const uint8_t *frame = video_window_frames(model->videos, window);
    plato_pack_input(instance_input(instance, p->masked) + b * config->slots * pixels * 4, frame,
                     video_window_mask(model->videos, window), config);
    float *image = instance_input(instance, p->image) + b * pixels * 3;
    for (int64_t k = 0; k < 3 * pixels; k++) image[k] = (float)frame[k] / 255.0f;
    float *noise = instance_input(instance, p->noise) + b * codes;
    rng r = rng_at((uint64_t)model->training.seed,
                   noise_stream + (uint64_t)(step * model->training.batch + sample));
    for (int64_t k = 0; k < codes; k++) noise[k] = (float)rng_normal(&r);
}

// Adds the gradient of one microbatch of frames, and its share of the terms.
static void train_perception(const plato_model *model, program_instance *instance, int64_t step,
                             int64_t first, float *gradient, double *terms)
{
    double share = 1.0 / (double)model->training.batch;
    for (int64_t b = 0; b < model->microbatch; b++) set_frame(model, instance, step, first + b, b);
    instance_run(instance, 0);
    for (int k = 0; k < 3; k++)
        for (int64_t b = 0; b < model->microbatch; b++)
            terms[TERM_ERROR + k] += (double)instance_output(instance, k)[b] * share;
    model_build_add_gradient(gradient, instance, &model->perception.net, 3);
}

// ---- dynamics ----

// Adds the gradient of one microbatch of clips. Codes are means of the encoder, without noise.
static void train_dynamics(const plato_model *model, const replica_data *r, int64_t step,
                           int64_t first, float *gradient, double *terms)
{
    const plato_config *config = &model->config;
    int64_t row = config->slots * config->clip_length * config->code_size,
            steps = config->clip_length - 1;
    float *codes = instance_input(r->dynamics, model->dynamics.codes);
    for (int64_t b = 0; b < model->microbatch; b++) {
        video_window window = draw_window(model, step, first + b, config->clip_length);
        plato_encoder_run(codes + b * row, r->encoder, &model->encoder, config,
                          video_window_frames(model->videos, window),
                          video_window_mask(model->videos, window));
    }
    // Mean squared error of a code value.
    instance_run(r->dynamics, 0);
    double values = (double)(model->training.batch * steps * config->slots * config->code_size);
    const float *error = instance_output(r->dynamics, 0);
    for (int64_t k = 0; k < steps * model->microbatch; k++)
        terms[TERM_CODES] += (double)error[k] / values;
    model_build_add_gradient(gradient, r->dynamics, &model->dynamics.net, 1);
}

// ---- callbacks ----

static plumb_status gradient(void *context, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    plato_model *model = context;
    const replica_data *r = &model->replicas[replica];
    // Which of the two is trained in this step.
    const bool perception = step < model->settings->perception_steps;
    memset(gradient, 0, (size_t)model->params.size * sizeof *gradient);
    memset(terms, 0, TERM_COUNT * sizeof *terms);
    for (int64_t b = 0; b < model->shard; b += model->microbatch) {
        int64_t first = replica * model->shard + b;
        if (perception) train_perception(model, r->perception, step, first, gradient, terms);
        else train_dynamics(model, r, step, first, gradient, terms);
    }
    // The loss of the part that is trained; terms of the other part are 0.
    terms[TERM_LOSS] = perception ? terms[TERM_ERROR] + model->config.beta * terms[TERM_KL] +
                                        model->config.mask_weight * terms[TERM_MASKS]
                                  : terms[TERM_CODES];
    return PLUMB_OK;
}

static plumb_status init_replica(void *context, int64_t replica)
{
    plato_model *model = context;
    replica_data *r = &model->replicas[replica];
    plumb_status st = model_build_instance(&r->perception, model->perception_program,
                                           &model->perception.net, model->parameters);
    if (!st)
        plato_coordinates(instance_input(r->perception, model->perception.coordinates),
                          &model->config);
    if (!st)
        st = model_build_instance(&r->dynamics, model->dynamics_program, &model->dynamics.net,
                                  model->parameters);
    if (!st)
        st = model_build_instance(&r->encoder, model->encoder_program, &model->encoder.net,
                                  model->parameters);
    return st;
}

static plumb_status predict(void *context, const model_predict_job *job)
{
    plato_model *model = context;
    return plato_predict_clips(&model->config, &model->params, model->parameters, job);
}

// Memory and arithmetic of the three programs.
static void record_cost(void *context, plumb_record *record)
{
    const plato_model *model = context;
    model_build_record_shards(record, &model->params, &model->training, model->shard);
    plumb_record_set_int(record, "groups", model->shard / model->microbatch);
    model_build_record_program(record, "perception", model->perception_program);
    model_build_record_program(record, "dynamics", model->dynamics_program);
    model_build_record_program(record, "encoder", model->encoder_program);
}

static void destroy(void *context)
{
    plato_model *model = context;
    for (int64_t r = 0; model->replicas && r < model->training.replicas; r++) {
        instance_free(model->replicas[r].perception);
        instance_free(model->replicas[r].dynamics);
        instance_free(model->replicas[r].encoder);
    }
    program_free(model->perception_program);
    program_free(model->dynamics_program);
    program_free(model->encoder_program);
    if (model->perception.net.g) graph_free(model->perception.net.g);
    if (model->dynamics.net.g) graph_free(model->dynamics.net.g);
    if (model->encoder.net.g) graph_free(model->encoder.net.g);
    params_clear(&model->params);
}

// ---- creation ----

// PLATO takes RGB frames, and clips of one length.
static plumb_status check_videos(const plato_model *model)
{
    const video_set *videos = model->videos;
    if (videos->channels != 3)
        return fail(PLUMB_ESHAPE, "frames of %lld channels; PLATO needs 3",
                    (long long)videos->channels);
    return video_check_length(videos, model->config.clip_length);
}

// The order of the three builds is the order of the parameters.
static plumb_status init_model(plato_model *model, arena *mem, trainable_model *out)
{
    plato_perception *perception = &model->perception;
    plato_dynamics *dynamics = &model->dynamics;
    plato_encoder *encoder = &model->encoder;
    params *layout = &model->params;
    const int64_t batch = model->training.batch;
    model->config = make_config(model->settings, model->videos);
    const plato_config *config = &model->config;
    plumb_status st = check_videos(model);
    if (!st) st = model_build_shard(&model->shard, &model->training);
    if (!st)
        st = model_build_microbatch(&model->microbatch, model->shard, model->settings->microbatch);
    if (!st) st = plato_perception_build(perception, layout, config, model->microbatch, batch);
    if (!st) st = plato_dynamics_build(dynamics, layout, config, model->microbatch, batch);
    if (!st) st = plato_encoder_build(encoder, layout, config, config->clip_length);
    if (st) return st;
    model->replicas = ARENA_ALLOC(mem, replica_data, model->training.replicas);
    if (!model->replicas) return PLUMB_EMEMORY;
    // Outputs: loss terms first, then gradients.
    graph_node *terms[] = {perception->error, perception->kl, perception->mask_loss};
    st = model_build_program(&model->perception_program, mem, &perception->net, terms, 3,
                             perception->gradient);
    if (!st)
        st = model_build_program(&model->dynamics_program, mem, &dynamics->net, &dynamics->error, 1,
                                 dynamics->gradient);
    if (!st)
        st =
            program_build(&model->encoder_program, encoder->net.g, &encoder->mean, 1, PROGRAM_FAST);
    if (!st) st = model_build_parameters(out, mem, layout, (uint64_t)model->training.seed);
    model->parameters = out->parameters;
    return st;
}

static plumb_status create(trainable_model *out, arena *mem, const void *options,
                           const training_settings *training, const video_set *videos)
{
    static const char *const term_names[] = {"loss", "error", "kl", "masks", "codes"};
    plato_model *model = ARENA_ALLOC(mem, plato_model, 1);
    if (!model) return PLUMB_EMEMORY;
    model->settings = options;
    model->training = *training;
    model->videos = videos;
    model->video =
        (model_video){.features = model->settings->hidden, .needs_masks = true, .predict = predict};
    *out = (trainable_model){
        .name = "plato",
        .renamed_tensors = renames_plato_tensors,
        .replicas = training->replicas,
        .term_count = TERM_COUNT,
        .term_names = term_names,
        .second_phase = model->settings->phase_rates ? model->settings->perception_steps : 0,
        .context = model,
        .init_replica = init_replica,
        .gradient = gradient,
        .record_cost = record_cost,
        .destroy = destroy,
        .video = &model->video};
    plumb_status st = init_model(model, mem, out);
    if (st) destroy(model);
    return st;
}

static int64_t clip_length(const void *options)
{
    return ((const plato_settings *)options)->clip_length;
}

const registry_entry plato_entry = {
    .name = "plato",
    .video = true,
    .summary = "predicts codes of objects, whose masks it takes as input [Piloto22]",
    .setting_specs = setting_specs,
    .renamed_settings = renames_plato,
    .settings_size = sizeof(plato_settings),
    .preset_changes = {paper_changes, cpu_changes, tiny_changes},
    .clip_length = clip_length,
    .needs_masks = true,
    .create = create,
};
