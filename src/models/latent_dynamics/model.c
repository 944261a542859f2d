// SPDX-License-Identifier: MIT
// HGN, HGN++ and their variants as trainable models: which clips, what noise, which frames are
// decoded and how many pairs are used in a step. All of it is a function of (seed, step, sample)
// and of the state in the checkpoint.
#include "models/latent_dynamics/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "math/rng.h"
#include "models/latent_dynamics/autoregressive_rollout.h"
#include "models/latent_dynamics/curriculum.h"
#include "models/latent_dynamics/decoder.h"
#include "models/latent_dynamics/rollout.h"
#include "models/latent_dynamics/train_step.h"
#include "models/model_build.h"
#include "models/registry_entries.h"

// Loss terms; then the sum of errors and the number of items of each pair count; then the error of
// the state at the far end of the clip, if it has a weight.
enum { TERM_LOSS, TERM_L2, TERM_KL, TERM_PAIRS };

// Random streams of a step, apart from those of initial parameters and clips.
static const uint64_t noise_stream = UINT64_C(1) << 62, frame_stream = UINT64_C(3) << 61;

// Memory of one replica.
typedef struct replica_data {
    hgn_replica *stages[HGN_MAX_STAGES];
    hgn_item *items;     // (shard)
    float *noise;        // (shard, state_size)
    int64_t *times;      // (shard, decoded)
    double *weight, *l2; // (shard, decoded)
    double *kl, *state;  // (shard)
} replica_data;

typedef struct hgn_model {
    const hgn_settings *settings;
    training_settings training;
    const video_set *videos;
    hgn_config config; // of the last stage
    params params;
    hgn_curriculum curriculum;
    hgn_step *steps[HGN_MAX_STAGES];
    int64_t shard;      // items of a replica
    int64_t state_size; // values of a state, q and p
    replica_data *replicas;
    int lambda;              // index of GECO's parameter, or -1
    model_dynamics dynamics; // what evaluation needs
    float *parameters;
    double *state;
} hgn_model;

// Stages differ in the number of targets alone.
static hgn_config stage_config(const hgn_model *model, int stage)
{
    hgn_config config = model->config;
    config.targets = model->curriculum.stages.targets[stage];
    return config;
}

// Frames of each rollout that are decoded in a stage.
static int64_t decoded_count(const hgn_model *model, int stage)
{
    const hgn_config config = stage_config(model, stage);
    int64_t all = hgn_frame_plan_make(&config).targets, wanted = model->settings->decoded_targets;
    return wanted && wanted < all ? wanted : all;
}

// Frames decoded together; fewer if a shard has fewer.
static int64_t decoder_microbatch(const hgn_model *model, int stage)
{
    const int64_t frames = model->shard * decoded_count(model, stage);
    const int64_t wanted = model->settings->decoder_microbatch;
    return wanted < frames ? wanted : frames;
}

// ---- one step ----

// Draws one frame from each of k almost equal parts of the targets. Each weighs as its part.
static void draw_times(int64_t *times, double *weight, int64_t k, int64_t targets, rng *r)
{
    for (int64_t j = 0; j < k; j++) {
        int64_t from = j * targets / k, to = (j + 1) * targets / k;
        times[j] = from + rng_below(r, to - from);
        weight[j] = (double)(to - from) / (double)targets;
    }
}

// Item b of a replica's shard: sample `sample` of the batch of `step`. `scale` multiplies the
// weights of its errors.
static void draw_item(const hgn_model *model, replica_data *r, int64_t b, int64_t step,
                      int64_t sample, double scale)
{
    const hgn_curriculum *curriculum = &model->curriculum;
    const int stage = (int)model->state[HGN_STATE_STAGE];
    const hgn_config config = stage_config(model, stage);
    const hgn_frame_plan frames = hgn_frame_plan_make(&config);
    const uint64_t seed = (uint64_t)model->training.seed;
    // One counter per sample, so that the number of replicas does not change what is drawn.
    const uint64_t counter = (uint64_t)(step * model->training.batch + sample);
    int64_t k = decoded_count(model, stage), n = model->state_size;
    video_window window = video_sample_window(model->videos, seed, step, sample, frames.length);
    rng noise_rng = rng_at(seed, noise_stream + counter);
    rng frame_rng = rng_at(seed, frame_stream + counter);
    // Posterior noise, then the frames to decode, then the number of pairs.
    float *noise = r->noise + b * n;
    for (int64_t i = 0; i < n; i++) noise[i] = (float)rng_normal(&noise_rng);
    draw_times(r->times + b * k, r->weight + b * k, k, frames.targets, &frame_rng);
    for (int64_t j = 0; j < k; j++) r->weight[b * k + j] *= scale;
    int64_t pairs = curriculum->pair_counts
                        ? curriculum->pair_count[rng_below(&frame_rng, curriculum->pair_counts)]
                        : 0;
    // After the selection all items use the selected number.
    if (model->state[HGN_STATE_SELECTED_PAIRS] > 0)
        pairs = (int64_t)model->state[HGN_STATE_SELECTED_PAIRS];
    r->items[b] = (hgn_item){.clip = video_window_frames(model->videos, window),
                             .backward = config.direction == HGN_FORWARD_BACKWARD &&
                                         sample >= model->training.batch / 2,
                             .pairs = pairs,
                             .noise = noise,
                             .times = r->times + b * k,
                             .weight = r->weight + b * k};
}

// Values of a frame.
static double frame_size(const hgn_model *model)
{
    return (double)hgn_frame_size(&model->config);
}

// D of the loss [Higgins21, code]: values of all targets.
static double target_size(const hgn_model *model)
{
    return frame_size(model) * (double)hgn_frame_plan_make(&model->config).targets;
}

// GECO's multiplier, softplus of its parameter, and its slope.
static double geco_lambda(const hgn_model *model, double *slope)
{
    double v = (double)model->parameters[model->params.at[model->lambda].offset];
    *slope = 1.0 / (1.0 + exp(-v));
    return fmax(v, 0.0) + log1p(exp(-fabs(v)));
}

static int term_count(const hgn_model *model)
{
    return TERM_PAIRS + 2 * model->curriculum.pair_counts + (model->config.state_weight > 0.0);
}

// Terms of this shard: mean squared error per pixel and KL, and the errors by pair count.
static void sum_terms(const hgn_model *model, const replica_data *r, int64_t k, double *terms)
{
    const hgn_curriculum *curriculum = &model->curriculum;
    double B = (double)model->training.batch, l2 = 0.0, kl = 0.0;
    for (int64_t b = 0; b < model->shard; b++) {
        // Mean over decoded frames and pixels of this item.
        double error = 0.0;
        for (int64_t j = 0; j < k; j++) error += r->l2[b * k + j] / (frame_size(model) * (double)k);
        l2 += error / B;
        kl += r->kl[b] / B;
        for (int i = 0; i < curriculum->pair_counts; i++)
            // Sum and number of errors: their quotient is the mean of this pair count.
            if (curriculum->pair_count[i] == r->items[b].pairs) {
                terms[TERM_PAIRS + 2 * i] += error;
                terms[TERM_PAIRS + 2 * i + 1] += 1.0;
            }
    }
    terms[TERM_L2] = l2;
    terms[TERM_KL] = kl;
    if (model->config.state_weight > 0.0)
        for (int64_t b = 0; b < model->shard; b++) terms[term_count(model) - 1] += r->state[b] / B;
}

// The gradient of l2 + beta KL / D, or of lambda C + KL / D with GECO [Higgins21, code].
static plumb_status gradient(void *context, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    hgn_model *model = context;
    // Number of decoded frames, weights of the batch, and the multiplier of GECO.
    replica_data *r = &model->replicas[replica];
    const int stage = (int)model->state[HGN_STATE_STAGE];
    const int64_t k = decoded_count(model, stage);
    const double B = (double)model->training.batch, share = (double)model->shard / B;
    double slope = 0.0, lambda = model->lambda >= 0 ? geco_lambda(model, &slope) : 1.0;
    const double beta = hgn_curriculum_kl_weight(&model->curriculum, step,
                                                 (double)step / (double)model->training.steps);

    memset(gradient, 0, (size_t)model->params.size * sizeof *gradient);
    memset(terms, 0, (size_t)term_count(model) * sizeof *terms);
    for (int64_t b = 0; b < model->shard; b++)
        draw_item(model, r, b, step, replica * model->shard + b, lambda / (B * frame_size(model)));
    hgn_step_errors errors = {.kl_weight = beta / (B * target_size(model)),
                              .state_weight = model->config.state_weight / B,
                              .l2 = r->l2,
                              .kl = r->kl,
                              .state = r->state};
    hgn_replica_run(r->stages[stage], r->items, gradient, &errors);
    // Errors and divergences of the shard; they are already shares of the batch.
    sum_terms(model, r, k, terms);

    // The loss of this shard, as a share of that of the batch.
    double kl = beta * terms[TERM_KL] / target_size(model);
    if (model->config.state_weight > 0.0)
        kl += model->config.state_weight * terms[term_count(model) - 1];
    if (model->lambda < 0) { // negative log likelihood of a Gaussian of variance 1/2
        terms[TERM_LOSS] = terms[TERM_L2] + share * 0.5 * log(3.14159265358979323846) + kl;
        return PLUMB_OK;
    }
    // GECO: the multiplier grows while the constraint C = l2 - tolerance > 0.
    double C = terms[TERM_L2] - share * model->config.geco_tolerance, a = model->config.geco_alpha;
    gradient[model->params.at[model->lambda].offset] = (float)(-C * slope);
    terms[TERM_LOSS] =
        lambda * (a * share * model->state[HGN_STATE_GECO_AVERAGE] + (1.0 - a) * C) + kl;
    return PLUMB_OK;
}

static plumb_status after_step(void *context, int64_t step, const double *terms)
{
    hgn_model *model = context;
    hgn_curriculum_after_step(&model->curriculum, step,
                              (double)(step + 1) / (double)model->training.steps, terms[TERM_L2],
                              terms + TERM_PAIRS);
    return PLUMB_OK;
}

// ---- other callbacks ----

// Programs of all stages, on the thread that will run them.
static plumb_status init_replica(void *context, int64_t replica)
{
    hgn_model *model = context;
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < model->curriculum.stages.count && !st; i++)
        st = hgn_replica_create(&model->replicas[replica].stages[i], model->steps[i],
                                model->parameters);
    return st;
}

static plumb_status rollout(void *context, const model_rollout_job *job)
{
    hgn_model *model = context;
    return model->config.dynamics == HGN_RECURRENT
               ? autoregressive_rollout(&model->config, &model->params, model->parameters, job)
               : hgn_rollout(&model->config, &model->params, model->parameters, job);
}

// Memory and arithmetic of every stage.
static void record_cost(void *context, plumb_record *record)
{
    const hgn_model *model = context;
    const hgn_stages *stages = &model->curriculum.stages;
    model_build_record_shards(record, &model->params, &model->training, model->shard);
    plumb_record_begin_array(record, "stages");
    for (int i = 0; i < stages->count; i++) {
        int64_t decoded = decoded_count(model, i), microbatch = decoder_microbatch(model, i);
        plumb_record_begin_object(record, NULL);
        plumb_record_set_int(record, "targets", stages->targets[i]);
        plumb_record_set_int(record, "decoded", decoded);
        plumb_record_set_int(record, "groups",
                             (model->shard * decoded + microbatch - 1) / microbatch);
        model_build_record_program(record, "rollout", hgn_step_rollout_program(model->steps[i]));
        model_build_record_program(record, "decoder", hgn_step_decoder_program(model->steps[i]));
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

static void destroy(void *context)
{
    hgn_model *model = context;
    for (int64_t r = 0; model->replicas && r < model->training.replicas; r++)
        for (int i = 0; i < HGN_MAX_STAGES; i++) hgn_replica_free(model->replicas[r].stages[i]);
    for (int i = 0; i < HGN_MAX_STAGES; i++) hgn_step_free(model->steps[i]);
    params_clear(&model->params);
}

// ---- creation ----

// One pair of programs per stage. All share one layout of parameters.
static plumb_status create_programs(hgn_model *model)
{
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < model->curriculum.stages.count && !st; i++) {
        const hgn_config config = stage_config(model, i);
        st = hgn_step_create(&model->steps[i], &model->params, &config,
                             &(hgn_step_spec){.batch = model->shard,
                                              .decoded = decoded_count(model, i),
                                              .microbatch = decoder_microbatch(model, i),
                                              .nested = model->settings->nested_pairs});
    }
    return st;
}

// Memory for the stage with the most decoded frames.
static plumb_status alloc_replicas(hgn_model *model, arena *mem)
{
    int64_t most = 0, shard = model->shard; // most decoded frames of any stage
    for (int i = 0; i < model->curriculum.stages.count; i++) {
        int64_t k = decoded_count(model, i);
        most = k > most ? k : most;
    }
    model->replicas = ARENA_ALLOC(mem, replica_data, model->training.replicas);
    if (!model->replicas) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < model->training.replicas; i++) {
        replica_data *r = &model->replicas[i];
        r->items = ARENA_ALLOC(mem, hgn_item, shard);
        r->noise = ARENA_ALLOC(mem, float, (shard * model->state_size));
        r->times = ARENA_ALLOC(mem, int64_t, (shard * most));
        r->weight = ARENA_ALLOC(mem, double, (shard * most));
        r->l2 = ARENA_ALLOC(mem, double, (shard * most));
        r->kl = ARENA_ALLOC(mem, double, shard);
        r->state = ARENA_ALLOC(mem, double, shard);
        if (!r->items || !r->noise || !r->times || !r->weight || !r->l2 || !r->kl || !r->state)
            return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

// Names of loss terms and states; those of pair counts carry the count.
static plumb_status name_terms(trainable_model *out, const hgn_model *model, arena *mem)
{
    const hgn_curriculum *curriculum = &model->curriculum;
    static const char *const states[] = {"stage", "error", "begun", "average", "pairs"};
    out->state_count = HGN_STATE_PAIR_ERRORS + curriculum->pair_counts;
    out->term_count = term_count(model);
    const char **term = ARENA_ALLOC(mem, const char *, out->term_count);
    const char **state = ARENA_ALLOC(mem, const char *, out->state_count);
    if (!term || !state) return PLUMB_EMEMORY;
    term[TERM_LOSS] = "loss", term[TERM_L2] = "l2", term[TERM_KL] = "kl";
    if (model->config.state_weight > 0.0) term[out->term_count - 1] = "state";
    memcpy(state, states, sizeof states);
    for (int i = 0; i < curriculum->pair_counts; i++) {
        const char *formats[] = {"error_pairs_%lld", "count_pairs_%lld", "mean_pairs_%lld"};
        const char **names[] = {&term[TERM_PAIRS + 2 * i], &term[TERM_PAIRS + 2 * i + 1],
                                &state[HGN_STATE_PAIR_ERRORS + i]};
        for (int k = 0; k < 3; k++) {
            char name[64];
            snprintf(name, sizeof name, formats[k], (long long)curriculum->pair_count[i]);
            if (!(*names[k] = arena_strdup(mem, name))) return PLUMB_EMEMORY;
        }
    }
    out->term_names = term;
    out->state_names = state;
    return PLUMB_OK;
}

// GECO's multiplier is softplus(lambda), 1 at the start.
static plumb_status add_lambda(hgn_model *model)
{
    tensor_shape scalar = {0};
    model->lambda = -1;
    if (model->config.objective != HGN_GECO) return PLUMB_OK;
    model->lambda =
        params_add(&model->params, "geco.lambda", &scalar, PARAM_INIT_VALUE, log(exp(1.0) - 1.0));
    return model->lambda < 0 ? PLUMB_EMEMORY : PLUMB_OK;
}

// Mean and deviation of all training videos, as fixed parameters.
static void set_frame_statistics(hgn_model *model)
{
    if (!model->config.standardise_frames) return;
    const video_set *videos = model->videos;
    *params_value(&model->params, model->parameters, "frames.mean") = (float)videos->mean;
    if (videos->variance > 0.0)
        *params_value(&model->params, model->parameters, "frames.std") =
            (float)sqrt(videos->variance);
}

static plumb_status init_model(hgn_model *model, arena *mem, trainable_model *out)
{
    hgn_curriculum *curriculum = &model->curriculum;
    plumb_status st = hgn_settings_config(&model->config, model->settings, model->videos);
    if (!st) st = hgn_stages_read(&curriculum->stages, model->settings);
    if (!st) st = video_check_length(model->videos, hgn_frame_plan_make(&model->config).length);
    if (!st) st = model_build_shard(&model->shard, &model->training);
    if (st) return st;
    // The order matters: programs add parameters, the layout is complete after add_lambda().
    tensor_shape one = hgn_state_shape(&model->config, 1);
    model->state_size = 2 * shape_count(&one);
    curriculum->settings = model->settings;
    curriculum->config = &model->config;
    curriculum->layout = &model->params;
    curriculum->pixel_variance = model->videos->variance;
    hgn_curriculum_list_pairs(curriculum);
    st = create_programs(model);
    if (!st) st = add_lambda(model);
    if (!st) st = alloc_replicas(model, mem);
    if (!st) st = name_terms(out, model, mem);
    if (!st) st = model_build_parameters(out, mem, &model->params, (uint64_t)model->training.seed);
    if (st) return st;
    out->state = ARENA_ALLOC(mem, double, out->state_count);
    if (!out->state) return PLUMB_EMEMORY;
    model->parameters = curriculum->parameters = out->parameters;
    model->state = curriculum->state = out->state;
    hgn_curriculum_start(curriculum);
    set_frame_statistics(model);
    // A model that is opened for evaluation has no videos; its range is in the weights.
    if (model->config.scale_output && model->videos->frames)
        hgn_decoder_set_range(&model->config, &model->params, model->parameters, model->videos);
    return PLUMB_OK;
}

// How evaluation names the frames that this model predicts.
static frame_protocol protocol_of(const hgn_config *config)
{
    if (config->dynamics == HGN_RECURRENT) return FRAMES_AUTOREGRESSIVE;
    if (config->direction == HGN_FORWARD_BACKWARD || config->split == HGN_INCLUDE)
        return FRAMES_INCLUDE_INFERENCE;
    return config->split == HGN_OVERLAP ? FRAMES_OVERLAP_BY_ONE : FRAMES_NO_OVERLAP;
}

plumb_status hgn_model_create(trainable_model *out, arena *mem, const hgn_settings *options,
                              const char *name, const training_settings *training,
                              const video_set *videos)
{
    hgn_model *model = ARENA_ALLOC(mem, hgn_model, 1);
    if (!model) return PLUMB_EMEMORY;
    model->settings = options;
    model->training = *training;
    model->videos = videos;
    *out = (trainable_model){.name = name,
                             .renamed_tensors = renames_latent_dynamics_tensors,
                             .replicas = training->replicas,
                             .context = model,
                             .init_replica = init_replica,
                             .gradient = gradient,
                             .after_step = after_step,
                             .record_cost = record_cost,
                             .destroy = destroy,
                             .dynamics = &model->dynamics};
    plumb_status st = init_model(model, mem, out);
    if (st) {
        destroy(model);
        return st;
    }
    const hgn_config *config = &model->config;
    model->dynamics = (model_dynamics){.latents = model->state_size,
                                       .window = config->window,
                                       .targets = config->targets,
                                       .protocol = protocol_of(config),
                                       .first_step = hgn_first_step(config),
                                       .inferred_step = hgn_frame_plan_make(config).inferred -
                                                        hgn_first_step(config),
                                       .forward_only = !hgn_config_reversible(config),
                                       .has_momenta = config->dynamics == HGN_LAGRANGIAN,
                                       .rollout = rollout};
    return PLUMB_OK;
}

// Frames of a clip do not depend on the image; 32x32x3 stands for any.
int64_t hgn_model_clip_length(const hgn_settings *options)
{
    hgn_config config;
    const video_set frames = {.height = 32, .width = 32, .channels = 3};
    if (hgn_settings_config(&config, options, &frames)) return 1;
    return hgn_frame_plan_make(&config).length;
}

// ---- registry ----

static plumb_status create_hgn(trainable_model *out, arena *mem, const void *options,
                               const training_settings *training, const video_set *videos)
{
    return hgn_model_create(out, mem, options, "hgn", training, videos);
}

static plumb_status create_plus_plus(trainable_model *out, arena *mem, const void *options,
                                     const training_settings *training, const video_set *videos)
{
    return hgn_model_create(out, mem, options, "hgn++", training, videos);
}

static int64_t clip_length(const void *options)
{
    return hgn_model_clip_length(options);
}

const registry_entry hgn_plus_plus_entry = {
    .name = "hgn++",
    .summary = "Hamiltonian generative network, improved [Higgins21]",
    .setting_specs = hgn_setting_specs,
    .renamed_settings = renames_latent_dynamics,
    .implications = hgn_setting_implications,
    .settings_size = sizeof(hgn_settings),
    .preset_changes = {[SETTINGS_PAPER] = hgn_plus_plus_paper,
                       [SETTINGS_CPU] = hgn_plus_plus_cpu,
                       [SETTINGS_CPU_ANGLES] = hgn_plus_plus_angles,
                       [SETTINGS_CPU_STATE] = hgn_plus_plus_state,
                       [SETTINGS_CPU_CONSTANTS] = hgn_plus_plus_constants},
    .clip_length = clip_length,
    .create = create_plus_plus,
};

const registry_entry hgn_entry = {
    .name = "hgn",
    .summary = "Hamiltonian generative network [Toth20], as in the SyMetric paper",
    .setting_specs = hgn_setting_specs,
    .renamed_settings = renames_latent_dynamics,
    .implications = hgn_setting_implications,
    .settings_size = sizeof(hgn_settings),
    .preset_changes = {hgn_original_paper, hgn_original_cpu, hgn_original_tiny, hgn_original_cpu,
                       hgn_original_cpu, hgn_original_cpu},
    .clip_length = clip_length,
    .create = create_hgn,
};
