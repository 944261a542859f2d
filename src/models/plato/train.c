// SPDX-License-Identifier: MIT
// PLATO as the trainer sees it: first its eye learns, on single frames; then its mind, on the codes
// of whole clips, which the eye no longer changes (but for what Adam's memory of it still does in
// the first few steps).
#include <string.h>

#include "math/rng.h"
#include "models/model_build.h"
#include "models/plato/predict.h"
#include "models/registry.h"
#include "models/registry_rows.h"

enum { TERM_LOSS, TERM_ERROR, TERM_DIVERGENCE, TERM_MASKS, TERM_CODES, TERMS };

// Apart from the streams of first parameters and clips.
static const uint64_t noise_stream = UINT64_C(7) << 60;

typedef struct plato_settings {
    int64_t slots, code, encoder, dense, decoder, length, buffer, units, hidden;
    double sigma, beta, gamma;
    bool residual;
    int64_t perception, group;
} plato_settings;

// clang-format off
#define AT(member) offsetof(plato_settings, member)
static const setting_spec rows[] = {
    // name, kind, where, {paper, cpu, tiny}, from, to, choices, help
    {"slots", SETTINGS_INTEGER, AT(slots), {"8"}, 1, 64, NULL, "objects, the ground among them", false},
    {"code", SETTINGS_INTEGER, AT(code), {"16", NULL, "4"}, 1, 4096, NULL, "numbers that tell of an object", false},
    {"encoder", SETTINGS_INTEGER, AT(encoder), {"32", "16", "8"}, 1, 4096, NULL, "channels of its first two blocks; then twice as many", false},
    {"dense", SETTINGS_INTEGER, AT(dense), {"256", "128", "16"}, 1, 65536, NULL, "units between them and the code", false},
    {"decoder", SETTINGS_INTEGER, AT(decoder), {"32", "16", "8"}, 1, 4096, NULL, "channels of the decoder", false},
    {"sigma", SETTINGS_REAL, AT(sigma), {"0.05"}, 1e-6, 1e6, NULL, "deviation of a pixel", false},
    {"beta", SETTINGS_REAL, AT(beta), {"0.1"}, 0, 1e9, NULL, "weight of the KL divergence", false},
    {"gamma", SETTINGS_REAL, AT(gamma), {"10"}, 0, 1e9, NULL, "weight of the masks", false},
    {"length", SETTINGS_INTEGER, AT(length), {"15"}, 2, 10000, NULL, "frames of a clip", false},
    {"buffer", SETTINGS_INTEGER, AT(buffer), {"1680", "64", "8"}, 1, 65536, NULL, "units of the object buffer", false},
    {"units", SETTINGS_INTEGER, AT(units), {"512", "64", "8"}, 1, 65536, NULL, "of the networks of pairs", false},
    {"hidden", SETTINGS_INTEGER, AT(hidden), {"2056", "128", "8"}, 1, 65536, NULL, "of the LSTM", false},
    {"residual", SETTINGS_FLAG, AT(residual), {"off", "on", "on"}, 0, 0, NULL,
     "predict the change from the codes seen last; learns sooner, not published", SETTING_ADDED_LATER},
    {"perception_steps", SETTINGS_INTEGER, AT(perception), {"50000", "4000", "10"}, 0, 1e12, NULL, "steps in which the eye learns; then the mind", false},
    {"group", SETTINGS_INTEGER, AT(group), {"4", "4", "2"}, 1, 4096, NULL, "frames or clips of a share at once", false},
    {0},
};
#undef AT
// clang-format on

static const char *const paper[] = {"frames=15", "image=64",     "trajectories=300000", "batch=80",
                                    "rate=4e-4", "steps=100000", "replicas=4",          NULL};
static const char *const cpu[] = {"frames=15",  "image=32", "trajectories=60000", "batch=8",
                                  "rate=1e-3",  "clip=0",   "steps=14000",        "hold=0.3",
                                  "replicas=2", NULL};
static const char *const tiny[] = {"frames=15", "image=16", "trajectories=8",
                                   "rate=1e-3", "clip=0",   NULL};

typedef struct plato_model {
    const plato_settings *own;
    training_settings training;
    const video_set *film;
    plato_config config;
    params params;
    int64_t share, group;
    plato_perception perception;
    plato_dynamics dynamics;
    plato_encoder eye;
    graph_program *perceive, *predict;
    struct replica {
        program_instance *perceive, *predict, *eye;
    } * replica;
    float *value;
} plato_model;

static plato_config config_of(const plato_settings *s, const video_set *f)
{
    return (plato_config){.height = f->height,
                          .width = f->width,
                          .slots = s->slots,
                          .code = s->code,
                          .encoder = {s->encoder, s->encoder, 2 * s->encoder, 2 * s->encoder},
                          .dense = s->dense,
                          .decoder = s->decoder,
                          .sigma = s->sigma,
                          .beta = s->beta,
                          .gamma = s->gamma,
                          .length = s->length,
                          .buffer = s->buffer,
                          .units = s->units,
                          .hidden = s->hidden,
                          .residual = s->residual};
}

static video_window choose(const plato_model *h, int64_t step, int64_t sample, int64_t length)
{
    return video_sample_window(h->film, (uint64_t)h->training.seed, step, sample, length);
}

static void show_frame(const plato_model *h, program_instance *i, int64_t step, int64_t sample,
                       int64_t b)
{
    const plato_config *c = &h->config;
    int64_t pixels = c->height * c->width, codes = c->slots * c->code;
    video_window cut = choose(h, step, sample, 1);
    const uint8_t *frame = video_window_frames(h->film, cut);
    plato_pack_input(instance_input(i, h->perception.seen) + b * c->slots * pixels * 4, frame,
                     video_window_mask(h->film, cut), c);
    float *picture = instance_input(i, h->perception.picture) + b * pixels * 3;
    for (int64_t k = 0; k < 3 * pixels; k++) picture[k] = (float)frame[k] / 255.0f;
    float *noise = instance_input(i, h->perception.noise) + b * codes;
    rng r = rng_at((uint64_t)h->training.seed,
                   noise_stream + (uint64_t)(step * h->training.batch + sample));
    for (int64_t k = 0; k < codes; k++) noise[k] = (float)rng_normal(&r);
}

static void perceive(const plato_model *h, program_instance *i, int64_t step, int64_t first,
                     float *gradient, double *terms)
{
    double share = 1.0 / (double)h->training.batch;
    for (int64_t b = 0; b < h->group; b++) show_frame(h, i, step, first + b, b);
    instance_run(i, 0);
    for (int k = 0; k < 3; k++)
        for (int64_t b = 0; b < h->group; b++)
            terms[TERM_ERROR + k] += (double)instance_output(i, k)[b] * share;
    model_build_add_gradient(gradient, i, &h->perception.net, 3);
}

static void predict(const plato_model *h, const struct replica *r, int64_t step, int64_t first,
                    float *gradient, double *terms)
{
    const plato_config *c = &h->config;
    int64_t row = c->slots * c->length * c->code, steps = c->length - 1;
    float *codes = instance_input(r->predict, h->dynamics.codes);
    for (int64_t b = 0; b < h->group; b++) {
        video_window cut = choose(h, step, first + b, c->length);
        plato_encoder_run(codes + b * row, r->eye, &h->eye, c, video_window_frames(h->film, cut),
                          video_window_mask(h->film, cut));
    }
    instance_run(r->predict, 0);
    double numbers = (double)(h->training.batch * steps * c->slots * c->code);
    const float *error = instance_output(r->predict, 0);
    for (int64_t k = 0; k < steps * h->group; k++) terms[TERM_CODES] += (double)error[k] / numbers;
    model_build_add_gradient(gradient, r->predict, &h->dynamics.net, 1);
}

static plumb_status gradient(void *self, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    plato_model *h = self;
    const struct replica *r = &h->replica[replica];
    memset(gradient, 0, (size_t)h->params.size * sizeof *gradient);
    memset(terms, 0, TERMS * sizeof *terms);
    for (int64_t b = 0; b < h->share; b += h->group) {
        int64_t first = replica * h->share + b;
        if (step < h->own->perception) perceive(h, r->perceive, step, first, gradient, terms);
        else predict(h, r, step, first, gradient, terms);
    }
    terms[TERM_LOSS] = step < h->own->perception
                           ? terms[TERM_ERROR] + h->config.beta * terms[TERM_DIVERGENCE] +
                                 h->config.gamma * terms[TERM_MASKS]
                           : terms[TERM_CODES];
    return PLUMB_OK;
}

static plumb_status enter(void *self, int64_t replica)
{
    plato_model *h = self;
    struct replica *r = &h->replica[replica];
    plumb_status st = model_build_instance(&r->perceive, h->perceive, &h->perception.net, h->value);
    if (!st) plato_coordinates(instance_input(r->perceive, h->perception.places), &h->config);
    if (!st) st = model_build_instance(&r->predict, h->predict, &h->dynamics.net, h->value);
    if (!st) st = model_build_instance(&r->eye, h->eye.program, &h->eye.net, h->value);
    return st;
}

static plumb_status watch(void *self, const model_predict_job *job)
{
    plato_model *h = self;
    return plato_predict_clips(&h->config, &h->params, h->value, job);
}

static void plan(void *self, plumb_record *record)
{
    const plato_model *h = self;
    model_build_record_shards(record, &h->params, &h->training, h->share, h->group);
    model_build_record_program(record, "perception", h->perceive);
    model_build_record_program(record, "dynamics", h->predict);
    model_build_record_program(record, "encoder", h->eye.program);
}

static void end(void *self)
{
    plato_model *h = self;
    for (int64_t r = 0; h->replica && r < h->training.replicas; r++) {
        instance_free(h->replica[r].perceive);
        instance_free(h->replica[r].predict);
        instance_free(h->replica[r].eye);
    }
    program_free(h->perceive);
    program_free(h->predict);
    if (h->perception.net.g) graph_free(h->perception.net.g);
    if (h->dynamics.net.g) graph_free(h->dynamics.net.g);
    plato_encoder_clear(&h->eye);
    params_clear(&h->params);
}

static plumb_status check(plato_model *h)
{
    const video_set *f = h->film;
    if (f->channels != 3)
        return fail(PLUMB_ESHAPE, "frames of %lld channels; PLATO needs 3", (long long)f->channels);
    const plumb_status st = video_check_length(f, h->config.length);
    return st ? st : model_build_shards(&h->share, &h->group, &h->training, h->own->group);
}

static plumb_status set_up(plato_model *h, arena *mem, trainable_model *out)
{
    plato_perception *k = &h->perception;
    plato_dynamics *d = &h->dynamics;
    int64_t batch = h->training.batch;
    h->config = config_of(h->own, h->film);
    plumb_status st = check(h);
    if (!st) st = plato_perception_build(k, &h->params, &h->config, h->group, batch);
    if (!st) st = plato_dynamics_build(d, &h->params, &h->config, h->group, batch);
    if (!st) st = plato_encoder_create(&h->eye, &h->params, &h->config, h->config.length);
    if (st) return st;
    h->replica = ARENA_ALLOC(mem, struct replica, h->training.replicas);
    if (!h->replica) return PLUMB_EMEMORY;
    graph_node *terms[] = {k->error, k->divergence, k->masks};
    st = model_build_program(&h->perceive, mem, &k->net, terms, 3, k->gradient);
    if (!st) st = model_build_program(&h->predict, mem, &d->net, &d->error, 1, d->gradient);
    if (!st) st = model_build_parameters(out, mem, &h->params, (uint64_t)h->training.seed);
    h->value = out->value;
    return st;
}

static plumb_status create(trainable_model *out, arena *mem, const void *own,
                           const training_settings *training, const video_set *film)
{
    static const char *const terms[] = {"loss", "error", "kl", "masks", "codes"};
    plato_model *h = ARENA_ALLOC(mem, plato_model, 1);
    if (!h) return PLUMB_EMEMORY;
    h->own = own;
    h->training = *training;
    h->film = film;
    *out = (trainable_model){.model = "plato",
                             .replicas = training->replicas,
                             .terms = TERMS,
                             .term = terms,
                             .features = h->own->hidden,
                             .masks = true,
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
    return ((const plato_settings *)own)->length;
}

const registry_entry plato_row = {
    .name = "plato",
    .video = true,
    .summary = "predicts codes of objects it is shown the masks of [Piloto22]",
    .settings = rows,
    .settings_size = sizeof(plato_settings),
    .adjust = {paper, cpu, tiny},
    .clip = clip,
    .masks = true,
    .create = create,
};
