// SPDX-License-Identifier: MIT
// HGN and HGN++ as the trainer sees them: which clips, what noise, which frames, how far to look,
// how many pairs to use; all a function of (seed, step, sample) and of the state.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/rng.h"
#include "models/hgn/autoregressive_rollout.h"
#include "models/hgn/rollout.h"
#include "models/hgn/settings.h"
#include "models/hgn/train.h"
#include "models/hgn/train_step.h"
#include "models/model_build.h"
#include "models/registry.h"
#include "models/registry_rows.h"

enum { SIZES = 13 };                              // 1, 2, 4, .. 4096 pairs
enum { TERM_LOSS, TERM_L2, TERM_KL, TERM_PAIRS }; // then error and count of each nested size
enum { STATE_STAGE, STATE_ERROR, STATE_BEGUN, STATE_AVERAGE, STATE_PAIRS, STATE_SIZES };

// Streams of random numbers that a step draws from, apart from those of first parameters and clips.
static const uint64_t noise_stream = UINT64_C(1) << 62, frame_stream = UINT64_C(3) << 61;

typedef struct hgn_model {
    const hgn_settings *own;
    training_settings training;
    const video_set *film;
    hgn_config config; // of the last stage
    hgn_horizons horizons;
    params params;
    int stages;
    hgn_step *step[HGN_STAGES];
    int64_t share;   // items a replica
    int64_t numbers; // of a state, q and p
    struct replica {
        hgn_replica *stage[HGN_STAGES];
        hgn_item *item;
        float *noise;
        int64_t *times;
        double *weight, *l2, *kl;
    } * replica;
    int sizes; // of nesting
    int64_t size[SIZES];
    int lambda; // GECO's parameter, or -1
    float *value;
    double *state;
} hgn_model;

static int64_t decoded_of(const hgn_model *h, int stage)
{
    hgn_config c = h->config;
    c.targets = h->horizons.targets[stage];
    int64_t all = hgn_frame_plan_make(&c).targets, want = h->own->decoded;
    return want && want < all ? want : all;
}

// One frame from each of k parts of the targets, as equal as can be; each weighs as its part.
static void choose_times(int64_t *time, double *weight, int64_t k, int64_t targets, rng *r)
{
    for (int64_t j = 0; j < k; j++) {
        int64_t from = j * targets / k, to = (j + 1) * targets / k;
        time[j] = from + rng_below(r, to - from);
        weight[j] = (double)(to - from) / (double)targets;
    }
}

static void draw_item(const hgn_model *h, struct replica *r, int stage, int64_t b, int64_t step,
                      int64_t sample, double scale)
{
    hgn_config c = h->config;
    c.targets = h->horizons.targets[stage];
    hgn_frame_plan t = hgn_frame_plan_make(&c);
    int64_t k = decoded_of(h, stage);
    uint64_t which = (uint64_t)(step * h->training.batch + sample);
    video_window cut =
        video_sample_window(h->film, (uint64_t)h->training.seed, step, sample, t.length);
    rng noise = rng_at((uint64_t)h->training.seed, noise_stream + which);
    rng frames = rng_at((uint64_t)h->training.seed, frame_stream + which);
    hgn_item *item = &r->item[b];
    float *eps = r->noise + b * h->numbers;
    for (int64_t i = 0; i < h->numbers; i++) eps[i] = (float)rng_normal(&noise);
    choose_times(r->times + b * k, r->weight + b * k, k, t.targets, &frames);
    for (int64_t j = 0; j < k; j++) r->weight[b * k + j] *= scale;
    int64_t pairs = h->sizes ? h->size[rng_below(&frames, h->sizes)] : 0;
    if (h->state[STATE_PAIRS] > 0) pairs = (int64_t)h->state[STATE_PAIRS];
    *item = (hgn_item){.clip = video_window_frames(h->film, cut),
                       .backward = c.both_ways && sample >= h->training.batch / 2,
                       .pairs = pairs,
                       .noise = eps,
                       .times = r->times + b * k,
                       .weight = r->weight + b * k};
}

static double pixels(const hgn_model *h)
{
    return (double)(h->config.image * h->config.image * h->config.channels);
}

// D of the loss [Higgins21, code]: pixels of all targets.
static double all_pixels(const hgn_model *h)
{
    return pixels(h) * (double)hgn_frame_plan_make(&h->config).targets;
}

static double lambda_of(const hgn_model *h, double *slope)
{
    double v = (double)h->value[h->params.at[h->lambda].offset];
    *slope = 1.0 / (1.0 + exp(-v));
    return fmax(v, 0.0) + log1p(exp(-fabs(v)));
}

// Terms of this share: mean squared error of a pixel and KL, and the errors by nested size.
static void count_terms(const hgn_model *h, const struct replica *r, int64_t k, double *terms)
{
    double B = (double)h->training.batch, l2 = 0.0, kl = 0.0;
    for (int64_t b = 0; b < h->share; b++) {
        double error = 0.0;
        for (int64_t j = 0; j < k; j++) error += r->l2[b * k + j] / (pixels(h) * (double)k);
        l2 += error / B;
        kl += r->kl[b] / B;
        for (int i = 0; i < h->sizes; i++)
            if (h->size[i] == r->item[b].pairs) {
                terms[TERM_PAIRS + 2 * i] += error;
                terms[TERM_PAIRS + 2 * i + 1] += 1.0;
            }
    }
    terms[TERM_L2] = l2;
    terms[TERM_KL] = kl;
}

// Of the KL divergence: from 30 % to 80 % of training it grows, by the same factor every step.
static double weight_of_kl(const hgn_model *h, int64_t step)
{
    const double from = 0.3, to = 0.8, last = h->own->beta_last;
    if (h->config.objective == HGN_GECO) return 1.0;
    if (h->config.objective != HGN_ELBO) return 0.0;
    if (last <= 0.0 || h->config.beta <= 0.0) return h->config.beta;
    const double part = ((double)step / (double)h->training.steps - from) / (to - from);
    return h->config.beta * pow(last / h->config.beta, fmin(fmax(part, 0.0), 1.0));
}

static plumb_status gradient(void *self, int64_t replica, int64_t step, float *gradient,
                             double *terms)
{
    hgn_model *h = self;
    struct replica *r = &h->replica[replica];
    int stage = (int)h->state[STATE_STAGE];
    int64_t k = decoded_of(h, stage);
    double B = (double)h->training.batch, share = (double)h->share / B, slope = 0.0;
    double lambda = h->lambda >= 0 ? lambda_of(h, &slope) : 1.0;
    double beta = weight_of_kl(h, step);

    memset(gradient, 0, (size_t)h->params.size * sizeof *gradient);
    memset(terms, 0, (size_t)(TERM_PAIRS + 2 * h->sizes) * sizeof *terms);
    for (int64_t b = 0; b < h->share; b++)
        draw_item(h, r, stage, b, step, replica * h->share + b, lambda / (B * pixels(h)));
    hgn_replica_run(r->stage[stage], r->item, beta / (B * all_pixels(h)), gradient, r->l2, r->kl);
    count_terms(h, r, k, terms);

    double kl = beta * terms[TERM_KL] / all_pixels(h);
    if (h->lambda < 0) { // nll of a Gaussian of variance 1/2
        terms[TERM_LOSS] = terms[TERM_L2] + share * 0.5 * log(3.14159265358979323846) + kl;
        return PLUMB_OK;
    }
    // GECO: the multiplier climbs where the constraint C = l2 - kappa is broken.
    double C = terms[TERM_L2] - share * h->config.kappa, a = h->config.alpha;
    gradient[h->params.at[h->lambda].offset] = (float)(-C * slope);
    terms[TERM_LOSS] = lambda * (a * share * h->state[STATE_AVERAGE] + (1.0 - a) * C) + kl;
    return PLUMB_OK;
}

// The smallest size of nesting whose error is near that of the best.
static int64_t settled_size(const hgn_model *h)
{
    const double *error = h->state + STATE_SIZES;
    double best = INFINITY;
    for (int i = 0; i < h->sizes; i++) best = fmin(best, error[i]);
    double bar = h->own->settle_ratio * best + h->own->settle_slack * h->film->variance;
    for (int i = 0; i < h->sizes; i++)
        if (error[i] <= bar) return h->size[i];
    return h->size[h->sizes - 1];
}

static void settle(hgn_model *h, double done)
{
    if (!h->sizes || h->state[STATE_PAIRS] > 0 || done < h->own->settle) return;
    int64_t size = settled_size(h);
    h->state[STATE_PAIRS] = (double)size;
    float *keep = h->value + h->params.at[params_find(&h->params, "keep")].offset;
    for (int64_t i = size; i < h->config.latent / 2; i++) keep[i] = 0.0f;
}

// Angles come to lie on their circle.
static void harden(hgn_model *h, double done)
{
    if (!h->config.angles) return;
    float *soft = h->value + h->params.at[params_find(&h->params, "soft")].offset;
    *soft = done < h->own->soften ? (float)(1.0 - done / h->own->soften) : 0.0f;
}

// Which way up is decided before there are colours, and so for all of them alike.
static void colour(hgn_model *h, double done)
{
    if (!h->config.hues) return;
    float *hue = h->value + h->params.at[params_find(&h->params, "hue")].offset;
    *hue = (float)fmin(fmax(2.0 * done / h->own->colours - 1.0, 0.0), 1.0);
}

// Averages over about 100 steps; a stage ends when its own error is low, or its time is up.
static plumb_status after(void *self, int64_t step, const double *terms)
{
    hgn_model *h = self;
    double *s = h->state, done = (double)(step + 1) / (double)h->training.steps;
    double C = terms[TERM_L2] - h->config.kappa, a = h->config.alpha;
    s[STATE_AVERAGE] = a * s[STATE_AVERAGE] + (1.0 - a) * C;
    double age = (double)step - s[STATE_BEGUN];
    double share = 1.0 / fmin(age + 1.0, 100.0);
    s[STATE_ERROR] += share * (terms[TERM_L2] - s[STATE_ERROR]);
    for (int i = 0; i < h->sizes; i++)
        if (terms[TERM_PAIRS + 2 * i + 1] > 0) {
            double error = terms[TERM_PAIRS + 2 * i] / terms[TERM_PAIRS + 2 * i + 1];
            double *mean = &s[STATE_SIZES + i];
            *mean = *mean < 0 ? error : *mean + 0.02 * (error - *mean);
        }
    settle(h, done);
    harden(h, done);
    colour(h, done);
    int stage = (int)s[STATE_STAGE];
    bool low = age >= 100 && s[STATE_ERROR] < h->own->extend * h->film->variance;
    if (stage < h->stages - 1 && (low || done >= h->horizons.deadline[stage])) {
        s[STATE_STAGE] = stage + 1;
        s[STATE_BEGUN] = (double)(step + 1);
    }
    return PLUMB_OK;
}

static void end(void *self)
{
    hgn_model *h = self;
    for (int64_t r = 0; h->replica && r < h->training.replicas; r++)
        for (int i = 0; i < h->stages; i++) hgn_replica_free(h->replica[r].stage[i]);
    for (int i = 0; i < h->stages; i++) hgn_step_free(h->step[i]);
    params_clear(&h->params);
}

static plumb_status enter(void *self, int64_t replica)
{
    hgn_model *h = self;
    for (int i = 0; i < h->stages; i++) {
        plumb_status st = hgn_replica_create(&h->replica[replica].stage[i], h->step[i], h->value);
        if (st) return st;
    }
    return PLUMB_OK;
}

static plumb_status make_programs(hgn_model *h)
{
    for (int i = 0; i < h->stages; i++) {
        hgn_config c = h->config;
        c.targets = h->horizons.targets[i];
        int64_t k = decoded_of(h, i), frames = h->share * k;
        int64_t group = h->own->group < frames ? h->own->group : frames;
        plumb_status st =
            hgn_step_create(&h->step[i], &h->params, &c, h->share, k, group, h->own->nested);
        if (st) return st;
    }
    return PLUMB_OK;
}

static plumb_status make_replicas(hgn_model *h, arena *mem)
{
    int64_t most = 0;
    for (int i = 0; i < h->stages; i++) {
        int64_t k = decoded_of(h, i);
        most = k > most ? k : most;
    }
    h->replica = ARENA_ALLOC(mem, struct replica, h->training.replicas);
    if (!h->replica) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < h->training.replicas; i++) {
        struct replica *r = &h->replica[i];
        r->item = ARENA_ALLOC(mem, hgn_item, h->share);
        r->noise = ARENA_ALLOC(mem, float, (h->share * h->numbers));
        r->times = ARENA_ALLOC(mem, int64_t, (h->share * most));
        r->weight = ARENA_ALLOC(mem, double, (h->share * most));
        r->l2 = ARENA_ALLOC(mem, double, (h->share * most));
        r->kl = ARENA_ALLOC(mem, double, h->share);
        if (!r->item || !r->noise || !r->times || !r->weight || !r->l2 || !r->kl)
            return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

static plumb_status name_parts(trainable_model *out, hgn_model *h, arena *mem)
{
    static const char *const states[] = {"stage", "error", "begun", "average", "pairs"};
    out->tensors = h->params.count;
    out->states = STATE_SIZES + h->sizes;
    out->terms = TERM_PAIRS + 2 * h->sizes;
    model_tensor *tensor = ARENA_ALLOC(mem, model_tensor, out->tensors);
    const char **term = ARENA_ALLOC(mem, const char *, out->terms);
    const char **state = ARENA_ALLOC(mem, const char *, out->states);
    if (!tensor || !term || !state) return PLUMB_EMEMORY;
    for (int i = 0; i < h->params.count; i++) {
        const param *p = &h->params.at[i];
        tensor[i] = (model_tensor){.name = p->name, .rank = p->shape.rank, .offset = p->offset};
        memcpy(tensor[i].shape, p->shape.size, (size_t)p->shape.rank * sizeof(int64_t));
    }
    term[TERM_LOSS] = "loss", term[TERM_L2] = "l2", term[TERM_KL] = "kl";
    memcpy(state, states, sizeof states);
    for (int i = 0; i < h->sizes; i++) {
        char name[64];
        const char *words[] = {"error_pairs_%lld", "count_pairs_%lld", "mean_pairs_%lld"};
        const char **to[] = {&term[TERM_PAIRS + 2 * i], &term[TERM_PAIRS + 2 * i + 1],
                             &state[STATE_SIZES + i]};
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, words[k], (long long)h->size[i]);
            if (!(*to[k] = arena_strdup(mem, name))) return PLUMB_EMEMORY;
        }
    }
    out->tensor = tensor;
    out->term = term;
    out->state_name = state;
    return PLUMB_OK;
}

static plumb_status check(const hgn_model *h)
{
    const video_set *f = h->film;
    if (f->height != f->width)
        return fail(PLUMB_ESHAPE, "frames of %lld x %lld; HGN needs square ones",
                    (long long)f->height, (long long)f->width);
    const plumb_status st = video_check_length(f, hgn_frame_plan_make(&h->config).length);
    if (st) return st;
    if (h->training.batch % h->training.replicas)
        return fail(PLUMB_EVALUE, "batch=%lld cannot be cut into replicas=%lld equal shares",
                    (long long)h->training.batch, (long long)h->training.replicas);
    return PLUMB_OK;
}

static plumb_status set_up(hgn_model *h, arena *mem, trainable_model *out)
{
    plumb_status st = hgn_settings_config(&h->config, h->own, h->film->height, h->film->channels);
    if (!st) st = hgn_settings_horizons(&h->horizons, h->own);
    if (!st) st = check(h);
    if (st) return st;
    h->stages = h->horizons.count;
    h->share = h->training.batch / h->training.replicas;
    tensor_shape one = hgn_state_shape(&h->config, 1);
    h->numbers = 2 * shape_count(&one);
    for (int64_t p = 1; h->own->nested && p < 2 * h->own->pairs && h->sizes < SIZES; p *= 2)
        h->size[h->sizes++] = p < h->own->pairs ? p : h->own->pairs;
    if ((st = make_programs(h))) return st;
    h->lambda = -1;
    if (h->config.objective == HGN_GECO) {
        tensor_shape scalar = {0}; // softplus of the start is 1
        h->lambda =
            params_add(&h->params, "geco.lambda", &scalar, PARAM_INIT_VALUE, log(exp(1.0) - 1.0));
        if (h->lambda < 0) return PLUMB_EMEMORY;
    }
    if ((st = make_replicas(h, mem)) || (st = name_parts(out, h, mem))) return st;
    h->value = out->value = ARENA_ALLOC(mem, float, h->params.size);
    h->state = out->state = ARENA_ALLOC(mem, double, out->states);
    if (!h->value || !h->state) return PLUMB_EMEMORY;
    out->size = h->params.size;
    params_init_values(&h->params, h->value, (uint64_t)h->training.seed);
    for (int i = 0; i < h->sizes; i++) h->state[STATE_SIZES + i] = -1.0;
    harden(h, 0.0);
    colour(h, 0.0);
    if (h->config.standard) {
        h->value[h->params.at[params_find(&h->params, "film.mean")].offset] = (float)h->film->mean;
        float *deviation =
            h->value + h->params.at[params_find(&h->params, "film.deviation")].offset;
        if (h->film->variance > 0.0) *deviation = (float)sqrt(h->film->variance);
    }
    return PLUMB_OK;
}

static plumb_status play(void *self, const model_rollout_job *job)
{
    hgn_model *h = self;
    return h->config.dynamics == HGN_RECURRENT
               ? autoregressive_rollout(&h->config, &h->params, h->value, job)
               : hgn_rollout(&h->config, &h->params, h->value, job);
}

static void plan(void *self, plumb_record *record)
{
    const hgn_model *h = self;
    plumb_record_set_int(record, "parameters", h->params.size);
    plumb_record_set_int(record, "replicas", h->training.replicas);
    plumb_record_set_int(record, "items", h->share);
    plumb_record_begin_array(record, "stages");
    for (int i = 0; i < h->stages; i++) {
        int64_t k = decoded_of(h, i), frames = h->share * k;
        int64_t group = h->own->group < frames ? h->own->group : frames;
        plumb_record_begin_object(record, NULL);
        plumb_record_set_int(record, "targets", h->horizons.targets[i]);
        plumb_record_set_int(record, "decoded", k);
        plumb_record_set_int(record, "groups", (frames + group - 1) / group);
        model_build_record_program(record, "rollout", hgn_step_program(h->step[i], false));
        model_build_record_program(record, "decoder", hgn_step_program(h->step[i], true));
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

static plumb_forecast_protocol frames_of(const hgn_config *c)
{
    if (c->dynamics == HGN_RECURRENT) return PLUMB_FORECAST_PROTOCOL_AUTOREGRESSIVE;
    if (c->both_ways || c->split == HGN_INCLUDE) return PLUMB_FORECAST_PROTOCOL_INCLUDE_INFERENCE;
    return c->split == HGN_OVERLAP ? PLUMB_FORECAST_PROTOCOL_OVERLAP_BY_ONE
                                   : PLUMB_FORECAST_PROTOCOL_NO_OVERLAP;
}

plumb_status hgn_train_create(trainable_model *out, arena *mem, const hgn_settings *own,
                              const char *model, const training_settings *training,
                              const video_set *film)
{
    hgn_model *h = ARENA_ALLOC(mem, hgn_model, 1);
    if (!h) return PLUMB_EMEMORY;
    h->own = own;
    h->training = *training;
    h->film = film;
    *out = (trainable_model){.model = model,
                             .replicas = training->replicas,
                             .self = h,
                             .enter = enter,
                             .gradient = gradient,
                             .after = after,
                             .end = end,
                             .play = play,
                             .plan = plan};
    plumb_status st = set_up(h, mem, out);
    out->latents = h->numbers;
    out->window = h->config.window;
    out->targets = h->config.targets;
    out->frames = frames_of(&h->config);
    out->begins = st ? 0 : hgn_first_step(&h->config);
    out->one_way = !hgn_config_reversible(&h->config);
    out->momenta = h->config.dynamics == HGN_LAGRANGIAN;
    if (st) end(h);
    return st;
}

static plumb_status create_hgn(trainable_model *out, arena *mem, const void *own,
                               const training_settings *training, const video_set *film)
{
    return hgn_train_create(out, mem, own, "hgn", training, film);
}

static plumb_status create_plus_plus(trainable_model *out, arena *mem, const void *own,
                                     const training_settings *training, const video_set *film)
{
    return hgn_train_create(out, mem, own, "hgn++", training, film);
}

int64_t hgn_train_clip_length(const hgn_settings *own)
{
    hgn_config c;
    return hgn_settings_config(&c, own, 32, 3) ? 1 : hgn_frame_plan_make(&c).length;
}

static int64_t clip(const void *own)
{
    return hgn_train_clip_length(own);
}

const registry_entry hgn_plus_plus_row = {
    .name = "hgn++",
    .summary = "Hamiltonian generative network, improved [Higgins21]",
    .settings = hgn_rows,
    .settings_size = sizeof(hgn_settings),
    .adjust = {[SETTINGS_CPU] = hgn_plus_plus_cpu,
               [SETTINGS_CPU_ANGLES] = hgn_plus_plus_angles,
               [SETTINGS_CPU_STATE] = hgn_plus_plus_state,
               [SETTINGS_CPU_CONSTANTS] = hgn_plus_plus_constants},
    .clip = clip,
    .create = create_plus_plus,
};

const registry_entry hgn_row = {
    .name = "hgn",
    .summary = "Hamiltonian generative network [Toth20], as the SyMetric paper has it",
    .settings = hgn_rows,
    .settings_size = sizeof(hgn_settings),
    .adjust = {hgn_original_paper, hgn_original_cpu, hgn_original_tiny, hgn_original_cpu,
               hgn_original_cpu, hgn_original_cpu},
    .clip = clip,
    .create = create_hgn,
};
