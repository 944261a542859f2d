// SPDX-License-Identifier: MIT
// The model `bodies`: objects that are drawn where their positions say, and a Hamiltonian for them.
// Before training, objects are found in all frames; training then fits rollouts to their places and
// draws nothing. So the pixels fix the coordinates, and a step costs little.
//
// Related: decoders that know coordinates [Zhong20], and physics as inverse graphics [Jaques20].
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"
#include "math/stats.h"
#include "models/bodies/clip.h"
#include "models/bodies/rollout.h"
#include "models/bodies/tracks.h"
#include "models/model_build.h"
#include "models/registry_entries.h"

enum { TERM_LOSS, TERM_ERROR, TERM_COUNT, RECONSTRUCTED = 60 };
static const char *const term_names[TERM_COUNT] = {"loss", "error"};

// Memory of one replica.
typedef struct replica_data {
    bodies_law law;
    clip_memory memory;
} replica_data;

typedef struct bodies_model {
    const bodies_settings *settings;
    training_settings training;
    const video_set *videos;
    bodies_config config;
    params params;
    bodies_layout layout;
    float *parameters;
    int64_t shard;        // clips of a replica
    bodies_tracks tracks; // without videos there are none
    perception seen;      // how the training videos are drawn
    double scale;         // of drawn frames
    video_set choice;     // count and steps of the tracks, to draw clips from
    window_weights weights;
    replica_data *replicas;
    model_dynamics dynamics;
} bodies_model;

// ---- one step ----

// Stages begin at equal distances.
static int find_stage(const bodies_model *model, int64_t step)
{
    const bodies_config *config = &model->config;
    const double span = config->stages_end * (double)model->training.steps;
    const double stage = span > 0.0 ? config->stages * (double)step / span : config->stages;
    return stage < config->stages - 1 ? (int)stage : config->stages - 1;
}

// A frame of the video of a track.
static const uint8_t *find_frame(const bodies_model *model, int64_t track, int64_t t)
{
    const video_set *videos = model->videos;
    return videos->frames + (model->tracks.video[track] * videos->steps + t) * videos->height *
                                videos->width * videos->channels;
}

// The last steps compare frames.
static bool is_drawn(const bodies_model *model, int64_t step)
{
    const double steps = (double)model->training.steps;
    return (double)step >= steps - model->config.drawn_share * steps;
}

static plumb_status gradient(void *context, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    bodies_model *model = context;
    const bodies_config *config = &model->config;
    replica_data *r = &model->replicas[replica];
    const int64_t length = bodies_clip_length(config, find_stage(model, step));
    const bool drawn = is_drawn(model, step);
    const double B = (double)model->training.batch;
    clip_sums sums = {0};
    const clip_task task = {.law = &r->law,
                            .weights = &model->weights,
                            .parameters = model->parameters,
                            .weight = 1.0 / B,
                            .sums = &sums,
                            .gradient = gradient,
                            .memory = &r->memory};
    memset(gradient, 0, (size_t)model->params.size * sizeof *gradient);
    terms[TERM_LOSS] = terms[TERM_ERROR] = 0.0;
    bodies_law_fill(&r->law, model->parameters);
    for (int64_t b = 0; b < model->shard; b++) {
        const video_window window =
            video_sample_window(&model->choice, (uint64_t)model->training.seed, step,
                                replica * model->shard + b, length);
        const sprite_scene scene =
            drawn ? perception_scene(&model->seen,
                                     model->tracks.looks + window.item * config->objects)
                  : (sprite_scene){0};
        const clip_frames frames = {.frames = find_frame(model, window.item, window.start),
                                    .scene = &scene,
                                    .scale = model->scale};
        const bodies_clip clip = {.xy = model->tracks.xy +
                                        (window.item * model->tracks.steps + window.start) * 2 *
                                            config->objects,
                                  .length = length,
                                  .radius = model->tracks.radius + window.item * config->objects,
                                  .row = config->constants ? window.item : 0,
                                  .drawn = drawn ? &frames : NULL};
        double error;
        terms[TERM_LOSS] += clip_add_gradient(&error, &task, &clip);
        terms[TERM_ERROR] += error / B;
    }
    if (config->field_penalty > 0.0) {
        const double weight = config->field_penalty * (double)model->shard / B;
        terms[TERM_LOSS] += weight * bodies_law_add_penalty(&r->law, weight);
    }
    bodies_law_add_gradient(&r->law, gradient);
    clip_add_sums(gradient, &sums, &r->law);
    return PLUMB_OK;
}

// Mean and deviation of the constants: inference takes them as a prior.
static plumb_status after_step(void *context, int64_t step, const double *terms)
{
    (void)step, (void)terms;
    bodies_model *model = context;
    const bodies_config *config = &model->config;
    double mean[BODIES_MAX_CONSTANTS] = {0}, square[BODIES_MAX_CONSTANTS] = {0};
    const double count = (double)model->tracks.count;
    for (int64_t i = 0; i < model->tracks.count && config->constants; i++) {
        double row[BODIES_MAX_CONSTANTS];
        bodies_read_row(row, &model->replicas[0].law, model->parameters, i);
        for (int k = 0; k < config->row_size; k++) {
            mean[k] += row[k] / count;
            square[k] += row[k] * row[k] / count;
        }
    }
    for (int k = 0; k < config->row_size && config->constants; k++) {
        model->parameters[model->layout.row_mean + k] = (float)mean[k];
        model->parameters[model->layout.row_deviation + k] =
            (float)(sqrt(fmax(square[k] - mean[k] * mean[k], 0.0)) + 1e-3);
    }
    return PLUMB_OK;
}

// ---- other callbacks ----

static plumb_status rollout(void *context, const model_rollout_job *job)
{
    const bodies_model *model = context;
    return bodies_rollout(&(bodies_rollout_model){.config = &model->config,
                                                  .layout = &model->layout,
                                                  .parameters = model->parameters,
                                                  .frames = model->videos},
                          job);
}

static void record_cost(void *context, plumb_record *record)
{
    const bodies_model *model = context;
    model_build_record_shards(record, &model->params, &model->training, model->shard);
}

static void destroy(void *context)
{
    bodies_model *model = context;
    params_clear(&model->params);
}

// ---- creation ----

// The last layer starts small: at first objects move almost freely.
static void scale_outputs(bodies_model *model)
{
    static const char suffix[] = ".layer2.w";
    for (int i = 0; i < model->params.count; i++) {
        const param *p = &model->params.at[i];
        const size_t length = strlen(p->name), end = sizeof suffix - 1;
        if (length < end || strcmp(p->name + length - end, suffix)) continue;
        for (int64_t k = 0; k < shape_count(&p->shape); k++)
            model->parameters[p->offset + k] *= (float)model->config.output_scale;
    }
}

static double mean_log(const double *x, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) sum += log(x[i]);
    return sum / (double)count;
}

// Constants of a trajectory before training: a circle, or the mean place of the first object.
static void guess_row(double *row, const bodies_model *model, int64_t index)
{
    const bodies_config *config = &model->config;
    const bodies_tracks *tracks = &model->tracks;
    const int n = 2 * config->objects;
    memset(row, 0, BODIES_MAX_CONSTANTS * sizeof *row);
    if (config->chain) {
        tracks_start_row(row, tracks, config, index);
        return;
    }
    for (int64_t t = 0; t < tracks->steps; t++)
        for (int c = 0; c < 2; c++)
            row[ROW_X + c] +=
                tracks->xy[(index * tracks->steps + t) * n + c] / (double)tracks->steps;
}

// One row for each trajectory, or their median for all.
static plumb_status start_rows(bodies_model *model)
{
    const bodies_config *config = &model->config;
    const int64_t count = model->tracks.count;
    float *rows = model->parameters + model->layout.rows;
    arena mem = {0};
    double *guess = ARENA_ALLOC(&mem, double, BODIES_MAX_CONSTANTS *count);
    for (int64_t i = 0; i < count && guess; i++) {
        double row[BODIES_MAX_CONSTANTS];
        guess_row(row, model, i);
        for (int k = 0; k < config->row_size; k++) {
            guess[k * count + i] = row[k];
            if (config->constants && config->row_active[k])
                rows[i * config->row_size + k] = (float)(row[k] / config->row_scale[k]);
        }
    }
    for (int k = 0; k < config->row_size && guess && !config->constants; k++)
        if (config->row_active[k]) rows[k] = (float)stats_median(guess + k * count, count);
    // A short arc gives no circle: its pivot is put at the usual length.
    if (guess && config->constants && config->chain) {
        const double length = stats_median(guess + ROW_LENGTH * count, count);
        for (int64_t i = 0; i < count; i++) {
            double row[BODIES_MAX_CONSTANTS];
            tracks_start_row(row, &model->tracks, config, i);
            if (fabs(row[ROW_LENGTH] - length) < log(2.0)) continue;
            tracks_use_length(row, &model->tracks, config, i, length);
            for (int k = 0; k < config->row_size; k++)
                rows[i * config->row_size + k] = (float)(row[k] / config->row_scale[k]);
        }
    }
    arena_clear(&mem);
    return guess ? PLUMB_OK : PLUMB_EMEMORY;
}

// Coordinates whose standard deviation within a trajectory is far below a pixel, in nineteen of
// twenty trajectories: noise, and no motion.
static void find_still(bodies_model *model)
{
    const double motion = 0.05; // pixels
    const bodies_config *config = &model->config;
    const bodies_tracks *tracks = &model->tracks;
    const int n = 2 * config->objects;
    for (int c = 0; c < n && !config->chain; c++) {
        int64_t moving = 0;
        for (int64_t i = 0; i < tracks->count; i++) {
            double sum = 0.0, square = 0.0;
            for (int64_t t = 0; t < tracks->steps; t++) {
                const double x = config->pixels * tracks->xy[(i * tracks->steps + t) * n + c];
                sum += x / (double)tracks->steps;
                square += x * x / (double)tracks->steps;
            }
            moving += square - sum * sum > motion * motion;
        }
        model->parameters[model->layout.still + c] = 20 * moving < tracks->count ? 1.0f : 0.0f;
    }
}

// Half the side of a grid that holds all places, as seen from the centre or the pivot, and somewhat
// more.
static double find_reach(const bodies_model *model)
{
    const bodies_config *config = &model->config;
    const int64_t steps = model->tracks.steps;
    const float *rows = model->parameters + model->layout.rows;
    double reach = 0.1;
    for (int64_t n = 0; n < model->tracks.count * steps * config->objects; n++) {
        const int64_t row = config->constants ? n / (steps * config->objects) : 0;
        for (int c = 0; c < 2; c++) {
            const double centre =
                config->row_scale[ROW_X + c] * (double)rows[row * config->row_size + ROW_X + c];
            reach = fmax(reach, fabs(model->tracks.xy[2 * n + c] - centre));
        }
    }
    return 1.2 * reach;
}

// The mean over the first frames of all videos.
static plumb_status find_scale(bodies_model *model)
{
    arena mem = {0};
    sprite_scratch scratch;
    const int64_t objects = model->config.objects, count = model->tracks.count;
    const plumb_status st = sprites_alloc(&scratch, &mem, &model->seen.scene);
    for (int64_t i = 0; i < count && !st; i++) {
        const sprite_scene scene =
            perception_scene(&model->seen, model->tracks.looks + i * objects);
        model->scale += clip_find_scale(&scene, &model->config,
                                        model->tracks.xy + i * model->tracks.steps * 2 * objects,
                                        find_frame(model, i, 0), &scratch) /
                        (double)count;
    }
    arena_clear(&mem);
    return st;
}

// Finds the objects and sets what follows from their tracks.
static plumb_status start_from_videos(bodies_model *model, arena *mem)
{
    const bodies_config *config = &model->config;
    video_set videos = *model->videos;
    track_set found;
    double range[2];
    if (config->constants && videos.count > config->rows) videos.count = config->rows;
    const perception_options options = {.objects = config->objects,
                                        .colours = config->colours,
                                        .periodic = config->periodic,
                                        .own_looks = config->constants,
                                        .profile = config->profile,
                                        .seed = (uint64_t)model->training.seed,
                                        .threads = videos.threads};
    plumb_status st = perception_learn(&model->seen, mem, &videos, &options);
    if (!st) st = perception_track(&found, mem, &model->seen, &videos, videos.threads);
    if (!st) st = tracks_make(&model->tracks, mem, &found, config);
    if (!st && config->has_pair) st = tracks_find_range(range, &model->tracks, config);
    if (st) return st;
    bodies_store_perception(model->parameters, &model->layout, &model->seen);
    if (config->has_pair)
        for (int i = 0; i < 2; i++) model->parameters[model->layout.range + i] = (float)range[i];
    model->parameters[model->layout.mean_size] =
        (float)exp(mean_log(model->tracks.radius, model->tracks.count * config->objects));
    // Objects of equal density: their mass is proportional to their area.
    if (config->masses == MASSES_BY_SIZE) model->parameters[model->layout.mass_law] = 2.0f;
    st = start_rows(model);
    if (st) return st;
    model->parameters[model->layout.half] = (float)find_reach(model);
    find_still(model);
    if (config->drawn_share > 0.0) st = find_scale(model);
    if (st) return st;
    model->choice = (video_set){.count = model->tracks.count, .steps = model->tracks.steps};
    return video_check_length(&model->choice, bodies_clip_length(config, config->stages - 1));
}

static plumb_status alloc_replicas(bodies_model *model, arena *mem)
{
    const bodies_config *config = &model->config;
    int64_t longest = 0;
    plumb_status st = PLUMB_OK;
    for (int i = 0; i < config->stages; i++)
        longest = longest > config->horizon[i] ? longest : config->horizon[i];
    model->replicas = ARENA_ALLOC(mem, replica_data, model->training.replicas);
    if (!model->replicas) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < model->training.replicas && !st; i++) {
        replica_data *r = &model->replicas[i];
        st = bodies_law_alloc(&r->law, mem, config, &model->layout, model->parameters);
        if (!st)
            st = clip_alloc(&r->memory, mem, config, longest + config->window,
                            config->drawn_share > 0.0 ? &model->seen.scene : NULL);
    }
    return st;
}

static plumb_status init_model(bodies_model *model, arena *mem, trainable_model *out)
{
    plumb_status st = bodies_settings_config(&model->config, model->settings, model->videos);
    if (!st) st = model_build_shard(&model->shard, &model->training);
    if (!st)
        st = bodies_layout_build(&model->layout, &model->params, &model->config, model->videos);
    if (!st) st = model_build_parameters(out, mem, &model->params, (uint64_t)model->training.seed);
    if (st) return st;
    model->parameters = out->parameters;
    scale_outputs(model);
    clip_find_weights(&model->weights, &model->config);
    // A model that is opened for evaluation has no videos; what they gave is in the weights.
    if (!model->videos->frames) return PLUMB_OK;
    st = start_from_videos(model, mem);
    return st ? st : alloc_replicas(model, mem);
}

// "x1", "y1", .. "px1", "py1" of points, "angle1", .. "p1", .. of a chain, from object 1 on.
static plumb_status name_latents(bodies_model *model, arena *mem)
{
    const bodies_config *config = &model->config;
    const int n = config->chain ? config->objects : 2 * config->objects;
    char(*text)[MODEL_NAME_SIZE] = arena_alloc(mem, 2 * n, sizeof *text);
    const char **names = ARENA_ALLOC(mem, const char *, 2 * n);
    if (!text || !names) return PLUMB_EMEMORY;
    for (int i = 0; i < 2 * n; i++) {
        const bool momentum = i >= n;
        const int k = i % n, object = config->chain ? k + 1 : k / 2 + 1;
        const char *const axis = config->chain ? (momentum ? "" : "angle") : k % 2 ? "y" : "x";
        text_format(text[i], sizeof text[i], "%s%s%d", momentum ? "p" : "", axis, object);
        names[i] = text[i];
    }
    model->dynamics.latent_names = names;
    return PLUMB_OK;
}

static plumb_status create(trainable_model *out, arena *mem, const void *options,
                           const training_settings *training, const video_set *videos)
{
    bodies_model *model = ARENA_ALLOC(mem, bodies_model, 1);
    if (!model) return PLUMB_EMEMORY;
    model->settings = options;
    model->training = *training;
    model->videos = videos;
    *out = (trainable_model){.name = "bodies",
                             .replicas = training->replicas,
                             .term_count = TERM_COUNT,
                             .term_names = term_names,
                             .context = model,
                             .gradient = gradient,
                             .after_step = after_step,
                             .record_cost = record_cost,
                             .destroy = destroy,
                             .dynamics = &model->dynamics};
    const plumb_status st = init_model(model, mem, out);
    if (st) {
        destroy(model);
        return st;
    }
    const bodies_config *config = &model->config;
    const int64_t window = bodies_rollout_window(config);
    // The frames that count as reconstructed are those of the other models.
    model->dynamics =
        (model_dynamics){.latents = (config->chain ? 2 : 4) * (int64_t)config->objects,
                         .objects = config->objects,
                         .window = window,
                         .targets = window < RECONSTRUCTED ? RECONSTRUCTED - window : 1,
                         .protocol = FRAMES_INCLUDE_INFERENCE,
                         .inferred_step = config->window / 2,
                         .rollout = rollout};
    return name_latents(model, mem);
}

// Frames of the longest clip. They do not depend on the picture; 32x32x3 stands for any.
static int64_t clip_length(const void *options)
{
    bodies_config config;
    const video_set frames = {.height = 32, .width = 32, .channels = 3};
    if (bodies_settings_config(&config, options, &frames)) return 1;
    const int64_t clip = bodies_clip_length(&config, config.stages - 1);
    const int64_t window = bodies_rollout_window(&config);
    return clip > window ? clip : window;
}

// Finds the number of objects if it was not given.
static plumb_status choose(char *text, size_t size, void *options,
                           const training_settings *training, const video_set *videos)
{
    bodies_settings *given = options;
    if (given->objects) return PLUMB_OK;
    perception_choice found;
    const perception_options search = {.objects =
                                           given->structure == BODIES_CHAIN ? 2 : SPRITES_MAX,
                                       .colours = (int)given->colours,
                                       .periodic = given->periodic,
                                       .own_looks = given->constants,
                                       .profile = given->profile == PROFILE_LEARNT,
                                       .seed = (uint64_t)training->seed,
                                       .threads = videos->threads};
    const plumb_status st = perception_choose(&found, videos, &search);
    if (st) return st;
    given->objects = found.objects;
    if (found.colours < found.objects) given->colours = found.colours;
    snprintf(text, size, "found %d object%s%s (error of the picture by number of objects: %s)",
             found.objects, found.objects == 1 ? "" : "s",
             found.colours < found.objects ? " that look the same" : "", found.text);
    return PLUMB_OK;
}

const registry_entry bodies_entry = {
    .name = "bodies",
    .summary = "objects drawn where their positions say, with a Hamiltonian for them",
    .setting_specs = bodies_setting_specs,
    .settings_size = sizeof(bodies_settings),
    .preset_changes = {bodies_cpu, bodies_cpu, bodies_tiny, bodies_cpu, bodies_cpu, bodies_cpu,
                       bodies_points, bodies_box, bodies_chain, bodies_points_constants,
                       bodies_chain_constants},
    .clip_length = clip_length,
    .choose = choose,
    .create = create,
};
