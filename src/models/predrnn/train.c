// SPDX-License-Identifier: MIT
// PredRNN as the trainer sees it: which clips, and where a step sees its own prediction; all a
// function of (seed, step, sample).
#include <math.h>
#include <string.h>

#include "math/rng.h"
#include "models/model_build.h"
#include "models/predrnn/predict.h"
#include "models/registry.h"
#include "models/registry_rows.h"

enum { TERM_LOSS, TERM_ERROR, TERM_APART, TERMS };

// Apart from the streams of first parameters and clips.
static const uint64_t mask_stream = UINT64_C(5) << 60, clip_stream = UINT64_C(6) << 60;

typedef struct predrnn_settings {
    int64_t patch, layers, hidden, kernel;
    bool layer_norm, residual;
    double decouple;
    int64_t length;
    int sampling;
    int64_t given, begin, end;
    double decay;
    double calm, still;
    int64_t settle;
    int64_t group;
} predrnn_settings;

static const char *const samplings[] = {"teacher", "scheduled", "reverse", NULL};

// clang-format off
#define AT(member) offsetof(predrnn_settings, member)
static const setting_spec rows[] = {
    // name, kind, where, {paper, cpu, tiny}, from, to, choices, help
    {"patch", SETTINGS_INTEGER, AT(patch), {"4", "2", "4"}, 1, 64, NULL, "pixels on a side that become one place", false},
    {"layers", SETTINGS_INTEGER, AT(layers), {"4", NULL, "2"}, 1, PREDRNN_LAYERS, NULL, "of ST-LSTM cells", false},
    {"hidden", SETTINGS_INTEGER, AT(hidden), {"128", "24", "4"}, 1, 4096, NULL, "channels of a cell", false},
    {"kernel", SETTINGS_INTEGER, AT(kernel), {"3"}, 1, 15, NULL, "of its convolutions; odd", false},
    {"layer_norm", SETTINGS_FLAG, AT(layer_norm), {"off"}, 0, 0, NULL, "after its convolutions", false},
    {"residual", SETTINGS_FLAG, AT(residual), {"off", "on", "on"}, 0, 0, NULL,
     "predict the change from the last frame; learns sooner, not published", false},
    {"decouple", SETTINGS_REAL, AT(decouple), {"0"}, 0, 1e9, NULL,
     "weight of the decoupling loss of the second version; 0: the first", false},
    {"length", SETTINGS_INTEGER, AT(length), {"15", NULL, "6"}, 2, 10000, NULL, "frames of a clip", false},
    {"sampling", SETTINGS_CHOICE, AT(sampling), {"teacher"}, 0, 0, samplings,
     "whether a step may see its own prediction for the true frame", false},
    {"given", SETTINGS_INTEGER, AT(given), {"10", NULL, "3"}, 1, 10000, NULL, "of scheduled and reverse: frames to start from", false},
    {"sampling_begin", SETTINGS_INTEGER, AT(begin), {"25000", "1000", "5"}, 0, 1e12, NULL,
     "of reverse: step at which the chance begins to change", false},
    {"sampling_end", SETTINGS_INTEGER, AT(end), {"50000", "2000", "10"}, 1, 1e12, NULL, "step at which it is 0, or 1", false},
    {"sampling_decay", SETTINGS_REAL, AT(decay), {"2500", "200", "2"}, 1e-9, 1e12, NULL,
     "of reverse: steps in which it nears 1 by a factor e", false},
    {"calm", SETTINGS_REAL, AT(calm), {"0", "1e-3"}, 0, 1e9, NULL,
     "clips that change by more than this, in mean squares from frame to frame, are shown less often; 0: all alike", SETTING_ADDED_LATER},
    {"still", SETTINGS_REAL, AT(still), {"0", "0.12"}, 0, 1, NULL,
     "clips in which always more than this share of the pixels changes, as when the camera moves, are not shown; 0: all are", SETTING_ADDED_LATER},
    {"settle", SETTINGS_INTEGER, AT(settle), {"0", "4000"}, 0, 1e12, NULL, "of still: steps before which they are shown all the same", SETTING_ADDED_LATER},
    {"group", SETTINGS_INTEGER, AT(group), {"2", "4", "2"}, 1, 4096, NULL,
     "clips of a share at once: memory against speed", false},
    {0},
};
#undef AT
// clang-format on

// What the published training differs in from other models' [Lin23].
static const char *const paper[] = {"frames=15",   "image=64",   "trajectories=300000",
                                    "batch=64",    "rate=3e-4",  "beta2=0.95",
                                    "steps=50000", "replicas=2", NULL};
static const char *const cpu[] = {"frames=15",  "image=32",   "trajectories=60000", "batch=8",
                                  "rate=3e-3",  "beta2=0.95", "steps=20000",        "hold=0.3",
                                  "replicas=2", NULL};
static const char *const tiny[] = {"frames=15", "image=16", "trajectories=8", "rate=3e-3", NULL};

typedef struct predrnn_model {
    const predrnn_settings *own;
    training_settings training;
    const video_set *film;
    predrnn_config config;
    params params;
    int64_t share, group; // clips of a replica, and of a run
    predrnn_clip clip;
    graph_program *program;
    program_instance **replica;
    float *value;
} predrnn_model;

static predrnn_config config_of(const predrnn_settings *s, const video_set *f)
{
    return (predrnn_config){.height = f->height,
                            .width = f->width,
                            .channels = f->channels,
                            .patch = s->patch,
                            .layers = s->layers,
                            .hidden = s->hidden,
                            .kernel = s->kernel,
                            .layer_norm = s->layer_norm,
                            .residual = s->residual,
                            .decouple = s->decouple,
                            .length = s->length,
                            .sampling = (predrnn_sampling)s->sampling,
                            .given = s->given};
}

// The chance that step t of a clip sees the true frame [Wang23, code].
static double chance(const predrnn_settings *s, int64_t t, int64_t step)
{
    double x = (double)step, from = (double)s->begin, to = (double)s->end;
    if (s->sampling == PREDRNN_SCHEDULED) return x < to ? 1.0 - x / to : 0.0;
    if (t < s->given)
        return x < from ? 0.5 : x < to ? 1.0 - 0.5 * exp(-(x - from) / s->decay) : 1.0;
    return x < from ? 0.5 : x < to ? 0.5 * (to - x) / (to - from) : 0.0;
}

// Where a curtain or the camera moves, the error is tens of times that of a ball behind a pillar,
// and would be all that is learnt.
static bool calm(const uint8_t *clip, const predrnn_config *c, double most, rng *r)
{
    const int64_t frame = c->height * c->width * c->channels, n = (c->length - 1) * frame;
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++) {
        const int d = (int)clip[frame + k] - (int)clip[k];
        sum += d * d;
    }
    const double change = (double)sum / ((double)n * 255.0 * 255.0);
    return rng_uniform(r) < most / (most + change);
}

// Does the camera stand still? Then there is a moment at which little of the picture changes.
static bool still(const uint8_t *clip, const predrnn_config *c, double most)
{
    const int64_t pixels = c->height * c->width, frame = pixels * c->channels;
    for (int64_t t = 0; t + 1 < c->length; t++, clip += frame) {
        int64_t changed = 0;
        for (int64_t k = 0; k < frame; k += c->channels)
            changed += memcmp(clip + k, clip + frame + k, (size_t)c->channels) != 0;
        if ((double)changed <= most * (double)pixels) return true;
    }
    return false;
}

static bool wanted(const predrnn_model *h, const uint8_t *clip, int64_t step, rng *r)
{
    const predrnn_settings *s = h->own;
    return (s->still <= 0.0 || step < s->settle || still(clip, &h->config, s->still)) &&
           (s->calm <= 0.0 || calm(clip, &h->config, s->calm, r));
}

// The clip of a sample: the first that is wanted, of so many.
static const uint8_t *choose(const predrnn_model *h, int64_t step, int64_t sample, rng *r)
{
    enum { ATTEMPTS = 64 };
    const uint8_t *clip = NULL;
    for (int64_t k = 0; k < ATTEMPTS; k++) {
        clip = video_window_frames(h->film,
                                   video_sample_window(h->film, (uint64_t)h->training.seed, step,
                                                       sample + (k << 32), h->config.length));
        if (wanted(h, clip, step, r)) break;
    }
    return clip;
}

static void show(const predrnn_model *h, int64_t replica, int64_t step, int64_t sample, int64_t b)
{
    const predrnn_config *c = &h->config;
    int64_t frame = c->height * c->width * c->channels, B = h->training.batch;
    program_instance *i = h->replica[replica];
    rng wish = rng_at((uint64_t)h->training.seed, clip_stream + (uint64_t)(step * B + sample));
    const uint8_t *clip = choose(h, step, sample, &wish);
    for (int64_t t = 0; t < c->length; t++)
        predrnn_patch(instance_input(i, h->clip.frame[t]) + b * frame, clip + t * frame, c);
    float *mask = h->clip.mask ? instance_input(i, h->clip.mask) : NULL;
    rng r = rng_at((uint64_t)h->training.seed, mask_stream + (uint64_t)(step * B + sample));
    for (int64_t t = 0; mask && t + 1 < c->length; t++)
        mask[t * h->group + b] = rng_uniform(&r) < chance(h->own, t, step) ? 1.0f : 0.0f;
}

static plumb_status gradient(void *self, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    predrnn_model *h = self;
    program_instance *i = h->replica[replica];
    int64_t steps = h->config.length - 1, n = h->group;
    double pixels = (double)(h->config.height * h->config.width * h->config.channels);
    double scale = 1.0 / ((double)(h->training.batch * steps) * pixels);
    memset(gradient, 0, (size_t)h->params.size * sizeof *gradient);
    double sum[TERMS] = {0};
    for (int64_t first = 0; first < h->share; first += n) {
        for (int64_t b = 0; b < n; b++) show(h, replica, step, replica * h->share + first + b, b);
        instance_run(i, 0);
        const float *error = instance_output(i, 0), *apart = instance_output(i, 1);
        for (int64_t k = 0; k < steps * n; k++) sum[TERM_ERROR] += (double)error[k] * scale;
        for (int64_t b = 0; h->clip.decoupling && b < n; b++)
            sum[TERM_APART] += (double)apart[b] / (double)h->training.batch;
        model_build_add_gradient(gradient, i, &h->clip.net, 2);
    }
    sum[TERM_LOSS] = sum[TERM_ERROR] + h->config.decouple * sum[TERM_APART];
    memcpy(terms, sum, (size_t)(h->clip.decoupling ? TERMS : TERM_APART) * sizeof *terms);
    return PLUMB_OK;
}

static plumb_status enter(void *self, int64_t replica)
{
    predrnn_model *h = self;
    return model_build_instance(&h->replica[replica], h->program, &h->clip.net, h->value);
}

static plumb_status watch(void *self, const model_predict_job *job)
{
    predrnn_model *h = self;
    return predrnn_predict_clips(&h->config, &h->params, h->value, job);
}

static void plan(void *self, plumb_record *record)
{
    const predrnn_model *h = self;
    model_build_record_shards(record, &h->params, &h->training, h->share, h->group);
    model_build_record_program(record, "clip", h->program);
}

static void end(void *self)
{
    predrnn_model *h = self;
    for (int64_t r = 0; h->replica && r < h->training.replicas; r++) instance_free(h->replica[r]);
    program_free(h->program);
    if (h->clip.net.g) graph_free(h->clip.net.g);
    params_clear(&h->params);
}

static plumb_status check(predrnn_model *h)
{
    const plumb_status st = video_check_length(h->film, h->config.length);
    return st ? st : model_build_shards(&h->share, &h->group, &h->training, h->own->group);
}

static plumb_status set_up(predrnn_model *h, arena *mem, trainable_model *out)
{
    h->config = config_of(h->own, h->film);
    plumb_status st = check(h);
    if (!st) st = predrnn_clip_build(&h->clip, &h->params, &h->config, h->group, h->training.batch);
    if (st) return st;
    h->replica = ARENA_ALLOC(mem, program_instance *, h->training.replicas);
    if (!h->replica) return PLUMB_EMEMORY;
    graph_node *terms[] = {h->clip.error, h->clip.decoupling ? h->clip.decoupling : h->clip.error};
    st = model_build_program(&h->program, mem, &h->clip.net, terms, 2, h->clip.gradient);
    if (!st) st = model_build_parameters(out, mem, &h->params, (uint64_t)h->training.seed);
    h->value = out->value;
    return st;
}

static plumb_status create(trainable_model *out, arena *mem, const void *own,
                           const training_settings *training, const video_set *film)
{
    static const char *const terms[] = {"loss", "mse", "decoupling"};
    predrnn_model *h = ARENA_ALLOC(mem, predrnn_model, 1);
    if (!h) return PLUMB_EMEMORY;
    h->own = own;
    h->training = *training;
    h->film = film;
    *out = (trainable_model){.model = "predrnn",
                             .replicas = training->replicas,
                             .terms = h->own->decouple > 0 ? TERMS : TERMS - 1,
                             .term = terms,
                             .features = h->own->hidden,
                             .self = h,
                             .enter = enter,
                             .gradient = gradient,
                             .watch = watch,
                             .plan = plan,
                             .end = end};
    plumb_status st = set_up(h, mem, out);
    if (st) end(h);
    return st;
}

static int64_t clip(const void *own)
{
    return ((const predrnn_settings *)own)->length;
}

const registry_entry predrnn_row = {
    .name = "predrnn",
    .video = true,
    .summary = "predicts the next frame by ST-LSTM cells [Wang17]",
    .settings = rows,
    .settings_size = sizeof(predrnn_settings),
    .adjust = {paper, cpu, tiny},
    .clip = clip,
    .create = create,
};
