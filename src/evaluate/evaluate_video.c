// SPDX-License-Identifier: MIT
// Probes are watched a handful at a time; what is kept of them is an error a frame and a feature a
// clip, so that their number is not bound by memory.
#define _GNU_SOURCE
#include "plumb/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "dataset/video_load.h"
#include "evaluate/probe_source.h"
#include "evaluate/trained_model.h"
#include "plumb/file.h"
#include "plumb/system.h"
#include "train/run_dir.h"

enum { AT_ONCE = 16, MOST_KINDS = 64 }; // tuples; files of probes

static const char *const reference_names[] = {"copy", "linear", "oracle"};

const char *plumb_baseline_name(plumb_baseline reference)
{
    return reference_names[reference];
}

void plumb_evaluation_video_options_init(plumb_evaluation_video_options *options, size_t size)
{
    const plumb_evaluation_video_options defaults = {.size = sizeof(plumb_evaluation_video_options),
                                                     .tuples = 250,
                                                     .films = 64,
                                                     .surprise = plumb_surprise_defaults()};
    options_init(options, size, &defaults, sizeof defaults);
}

// All that is known of all tuples.
typedef struct study {
    const plumb_evaluation_video_options *opt;
    trained_model e, naive;
    bool has_naive;
    arena mem;
    probe_source kind[MOST_KINDS];
    int64_t kinds, tuples, steps; // steps: frames that are predicted, one less than of a clip
    double *error, *naive_error;  // (tuples, 4, steps)
    double *reference[PLUMB_BASELINE_COUNT];
    float *feature;   // (tuples, 4, features)
    uint8_t *concept; // (tuples, PROBE_SOURCE_NAME_SIZE)
    uint8_t *frames, *mask;
    video_set wild; // free clips
    int threads;
} study;

// ---- what is watched ----

static plumb_status open_kinds(study *s)
{
    const plumb_evaluation_video_options *o = s->opt;
    const video_set *f = &s->e.shape;
    plumb_status st = PLUMB_OK;
    if (o->probe_count > MOST_KINDS)
        return fail(PLUMB_EVALUE, "%lld files of probes; at most %d", (long long)o->probe_count,
                    MOST_KINDS);
    for (int64_t i = 0; i < o->probe_count && !st; i++) {
        st = probe_source_open(&s->kind[i], o->probes[i], o->tuples);
        s->kinds += !st;
    }
    while (!o->probe_count && probe_source_room(&s->kind[s->kinds], s->kinds, f->height)) {
        probe_source *p = &s->kind[s->kinds++];
        p->tuples = o->tuples;
        p->first = VIDEO_TEST_FIRST + o->first;
        p->seed = (uint64_t)s->e.recipe.data.data_seed;
    }
    for (int64_t i = 0; i < s->kinds && !st; i++) {
        const probe_source *p = &s->kind[i];
        const char *name = p->room ? plumb_room_describe(p->room)->name : p->path;
        s->tuples += p->tuples;
        if (p->height != f->height || p->width != f->width || p->channels != f->channels)
            st = fail(PLUMB_ESHAPE,
                      "%s: clips of %lldx%lldx%lld, the model was trained on "
                      "%lldx%lldx%lld",
                      name, (long long)p->height, (long long)p->width, (long long)p->channels,
                      (long long)f->height, (long long)f->width, (long long)f->channels);
        else if (p->steps != s->kind[0].steps || p->steps < 3)
            st = fail(PLUMB_ESHAPE, "%s: clips of %lld frames; want 3 or more, and the same in all",
                      name, (long long)p->steps);
    }
    s->steps = s->kind[0].steps - 1;
    return st;
}

// Free clips, which training never sees.
static plumb_status take_free(study *s)
{
    const run_config_data *d = &s->e.recipe.data;
    const video_set *seen = &s->e.shape;
    const char *name = s->opt->world ? s->opt->world : d->world;
    const int64_t count = s->opt->films, first = VIDEO_TEST_FIRST + s->opt->first;
    const uint64_t seed = (uint64_t)d->data_seed;
    bool room = false;
    if (!count || !name[0]) return PLUMB_OK;
    plumb_status st = video_load_is_room(&room, name);
    if (!st && !room && s->e.t.masks)
        st = fail(PLUMB_EVALUE, "%s must be shown objects, and %s has no masks of them",
                  s->e.t.model, name);
    if (!st && room)
        st = video_load_room(&s->wild, &s->mem, name, seed, first, count, seen->height,
                             s->e.t.masks, s->threads);
    else if (!st) {
        const plumb_world *world;
        st = plumb_world_find(&world, name);
        if (!st)
            st = video_load_world(&s->wild, &s->mem, world, seed, first, count, seen->steps,
                                  seen->height, s->threads);
    }
    const video_set *f = &s->wild;
    if (!st && (f->width != seen->width || f->channels != seen->channels))
        st =
            fail(PLUMB_ESHAPE, "%s has frames of %lld x %lld x %lld, the run of %lld x %lld x %lld",
                 name, (long long)f->height, (long long)f->width, (long long)f->channels,
                 (long long)seen->height, (long long)seen->width, (long long)seen->channels);
    return st;
}

static plumb_status take_memory(study *s)
{
    int64_t clips = 4 * s->tuples, pixels = s->e.shape.height * s->e.shape.width;
    int64_t buffer = 4 * AT_ONCE * (s->steps + 1) * pixels;
    bool masks = s->e.t.masks || (s->has_naive && s->naive.t.masks);
    s->error = ARENA_ALLOC(&s->mem, double, (clips * s->steps));
    s->naive_error = ARENA_ALLOC(&s->mem, double, (s->has_naive ? clips * s->steps : 0));
    for (int r = 0; r < PLUMB_BASELINE_COUNT; r++)
        if (!(s->reference[r] = ARENA_ALLOC(&s->mem, double, (clips * s->steps))))
            return PLUMB_EMEMORY;
    s->feature = ARENA_ALLOC(&s->mem, float, (clips * s->e.t.features));
    s->concept = ARENA_ALLOC(&s->mem, uint8_t, (s->tuples * PROBE_SOURCE_NAME_SIZE));
    s->frames = ARENA_ALLOC(&s->mem, uint8_t, (buffer * s->e.shape.channels));
    s->mask = masks ? ARENA_ALLOC(&s->mem, uint8_t, buffer) : NULL;
    if (!s->error || !s->naive_error || !s->feature || !s->concept || !s->frames ||
        (masks && !s->mask))
        return PLUMB_EMEMORY;
    return PLUMB_OK;
}

static plumb_status look(study *s, int64_t at, int64_t count)
{
    int64_t frame = s->e.shape.height * s->e.shape.width * s->e.shape.channels, clip = 4 * at;
    model_predict_job job = {.frames = s->frames,
                             .mask = s->mask,
                             .count = 4 * count,
                             .steps = s->steps + 1,
                             .threads = s->threads,
                             .error = s->error + clip * s->steps,
                             .feature = s->feature + clip * s->e.t.features};
    plumb_status st = s->e.t.watch(s->e.t.self, &job);
    if (!st && s->has_naive) {
        job.error = s->naive_error + clip * s->steps;
        job.feature = NULL;
        st = s->naive.t.watch(s->naive.t.self, &job);
    }
    for (int r = 0; r < PLUMB_BASELINE_COUNT; r++)
        baseline_errors(s->reference[r] + clip * s->steps, (plumb_baseline)r, s->frames, 4 * count,
                        s->steps + 1, frame);
    return st;
}

static plumb_status look_all(study *s)
{
    plumb_status st = PLUMB_OK;
    int64_t at = 0;
    for (int64_t k = 0; k < s->kinds; k++)
        for (int64_t from = 0; from < s->kind[k].tuples && !st; from += AT_ONCE) {
            int64_t left = s->kind[k].tuples - from, now = left < AT_ONCE ? left : AT_ONCE;
            st = status_check_stop();
            if (!st)
                st = probe_source_read(&s->kind[k], from, now, s->frames, s->mask,
                                       s->concept + at * PROBE_SOURCE_NAME_SIZE, s->threads);
            if (!st) st = look(s, at, now);
            at += now;
            status_progress((double)at / (double)s->tuples);
        }
    return st;
}

// ---- what is made of it ----

static plumb_array clips_of(void *data, int64_t tuples, int64_t numbers, plumb_dtype type)
{
    return plumb_array_view(data, type, 3, (int64_t[]){tuples, 4, numbers});
}

static plumb_status measure(study *s, plumb_evaluation_video *r)
{
    plumb_array error = clips_of(s->error, s->tuples, s->steps, PLUMB_FLOAT64);
    plumb_array naive = clips_of(s->naive_error, s->tuples, s->steps, PLUMB_FLOAT64);
    plumb_array feature = clips_of(s->feature, s->tuples, s->e.t.features, PLUMB_FLOAT32);
    plumb_array concept = plumb_array_view(s->concept, PLUMB_UINT8, 2,
                                           (int64_t[]){s->tuples, PROBE_SOURCE_NAME_SIZE});
    if (s->opt->save) {
        const plumb_named_array arrays[] = {{"surprise", error},
                                            {"feature", feature},
                                            {"concept", concept},
                                            {"surprise_voe", naive}};
        plumb_status st = plumb_file_write(s->opt->save, arrays, s->has_naive ? 4 : 3, false);
        if (st) return st;
    }
    const plumb_surprise_input in = {.size = sizeof in,
                                     .surprise = &error,
                                     .feature = s->e.t.features ? &feature : NULL,
                                     .surprise_voe = s->has_naive ? &naive : NULL,
                                     .concept = &concept};
    plumb_surprise_options o = s->opt->surprise;
    o.threads = s->threads;
    return plumb_surprise_measure(&r->surprise, &in, &o);
}

// The references are judged on the tuples that were not taken as examples of the impossible.
static plumb_status measure_references(study *s, plumb_evaluation_video *r)
{
    const plumb_surprise *m = &r->surprise;
    int64_t row = 4 * s->steps, n = m->tested;
    double *error = ARENA_ALLOC(&s->mem, double, (n * row));
    uint8_t *names = ARENA_ALLOC(&s->mem, uint8_t, (n * PROBE_SOURCE_NAME_SIZE));
    if (!error || !names) return PLUMB_EMEMORY;
    plumb_surprise_options o = s->opt->surprise;
    memset(o.scorers, 0, sizeof o.scorers);
    o.scorers[PLUMB_SCORER_PLAIN] = true;
    o.threads = s->threads;
    plumb_status st = PLUMB_OK;
    for (int k = 0; k < PLUMB_BASELINE_COUNT && !st; k++) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(error + i * row, s->reference[k] + m->tested_tuple[i] * row,
                   (size_t)row * sizeof *error);
            memcpy(names + i * PROBE_SOURCE_NAME_SIZE,
                   s->concept + m->tested_tuple[i] * PROBE_SOURCE_NAME_SIZE,
                   PROBE_SOURCE_NAME_SIZE);
        }
        plumb_array a = clips_of(error, n, s->steps, PLUMB_FLOAT64);
        plumb_array c =
            plumb_array_view(names, PLUMB_UINT8, 2, (int64_t[]){n, PROBE_SOURCE_NAME_SIZE});
        const plumb_surprise_input in = {.size = sizeof in, .surprise = &a, .concept = &c};
        st = plumb_surprise_measure(&r->references[k], &in, &o);
    }
    return st;
}

// Mean errors of the possible clips of a concept, on the tuples that were tested.
static void average(const study *s, const plumb_surprise *m, int64_t which,
                    plumb_evaluation_errors *e)
{
    const double *from[] = {s->error, s->reference[0], s->reference[1], s->reference[2]};
    double sum[4] = {0};
    for (int64_t i = 0; i < m->tested; i++) {
        if (m->concept_of[i] != which) continue;
        for (int k = 0; k < 4; k++)
            for (int64_t j = 0; j < 2 * s->steps; j++)
                sum[k] += from[k][m->tested_tuple[i] * 4 * s->steps + j];
        e->clips += 2;
    }
    double all = (double)(e->clips * s->steps);
    e->model = sum[0] / all;
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) e->references[k] = sum[1 + k] / all;
}

static plumb_status watch_free(study *s, plumb_evaluation_errors *out)
{
    const video_set f = s->wild;
    const int64_t count = f.count;
    plumb_status st;
    if (!count) return PLUMB_OK;
    int64_t steps = f.steps - 1, frame = f.height * f.width * f.channels;
    double *error = ARENA_ALLOC(&s->mem, double, (count * steps)), sum[3] = {0};
    if (!error) return PLUMB_EMEMORY;
    model_predict_job job = {.frames = f.frames,
                             .mask = f.mask,
                             .count = count,
                             .steps = f.steps,
                             .threads = s->threads,
                             .error = error};
    if ((st = s->e.t.watch(s->e.t.self, &job))) return st;
    for (int k = 0; k < 3; k++) {
        if (k) baseline_errors(error, (plumb_baseline)(k - 1), f.frames, count, f.steps, frame);
        for (int64_t i = 0; i < count * steps; i++) sum[k] += error[i] / (double)(count * steps);
    }
    *out = (plumb_evaluation_errors){count, sum[0], {sum[1], sum[2], NAN}};
    return PLUMB_OK;
}

static plumb_status judge(study *s, plumb_evaluation_video *r)
{
    plumb_status st = look_all(s);
    if (!st) st = measure(s, r);
    if (!st) st = measure_references(s, r);
    if (!st) st = watch_free(s, &r->free);
    if (st) return st;
    const plumb_surprise *m = &r->surprise;
    r->possible = ARENA_ALLOC(&s->mem, plumb_evaluation_errors, m->concept_count);
    if (!r->possible) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < m->concept_count; i++) average(s, m, i, &r->possible[i]);
    return PLUMB_OK;
}

// ---- the run ----

static plumb_status open_run(trained_model *e, const char *run)
{
    plumb_status st = trained_model_load(e, run);
    if (!st && !e->t.watch)
        st = fail(PLUMB_EVALUE, "%s: %s is no model of films", run, e->recipe.model->name);
    return st;
}

plumb_status plumb_evaluation_video_applies(bool *out, const char *run)
{
    trained_model e;
    plumb_status st = trained_model_load(&e, run);
    if (!st) *out = e.t.watch != NULL;
    trained_model_close(&e);
    return st;
}

static void drop(plumb_evaluation_video *r)
{
    plumb_surprise_clear(&r->surprise);
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) plumb_surprise_clear(&r->references[k]);
}

plumb_status plumb_evaluation_video_measure(plumb_evaluation_video *out, const char *run,
                                            const plumb_evaluation_video_options *options)
{
    plumb_evaluation_video_options opt = plumb_evaluation_video_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_evaluation_video_options");
    if (st) return st;
    if (opt.tuples < 2 || opt.films < 0 || opt.first < 0)
        return fail(PLUMB_EVALUE, "tuples %lld, films %lld; want 2 and 0 at least",
                    (long long)opt.tuples, (long long)opt.films);
    double begun = clock_now();
    plumb_evaluation_video r = {0};
    study s = {.opt = &opt,
               .has_naive = opt.naive != NULL,
               .threads = opt.threads > 0 ? opt.threads : plumb_system_threads()};
    st = open_run(&s.e, run);
    if (!st && opt.naive) st = open_run(&s.naive, opt.naive);
    if (!st) st = open_kinds(&s);
    if (!st) st = take_free(&s);
    if (!st) st = take_memory(&s);
    if (!st) st = judge(&s, &r);
    plumb_evaluation_errors *kept = NULL;
    size_t size = sizeof *kept * (size_t)(r.surprise.concept_count + 1);
    if (!st && !(kept = malloc(size))) st = fail(PLUMB_EMEMORY, "no memory for the result");
    if (!st) {
        memcpy(kept, r.possible, size - sizeof *kept);
        r.possible = r.memory = kept;
        snprintf(r.model, sizeof r.model, "%s", s.e.t.model);
        snprintf(r.world, sizeof r.world, "%s",
                 s.e.recipe.data.world[0] ? s.e.recipe.data.world : s.e.recipe.data.data);
        r.trained = s.e.trained;
        r.seconds = clock_now() - begun;
        *out = r;
    } else {
        drop(&r);
    }
    for (int64_t i = 0; i < s.kinds; i++) probe_source_close(&s.kind[i]);
    arena_clear(&s.mem);
    trained_model_close(&s.e);
    if (opt.naive) trained_model_close(&s.naive);
    return st;
}

void plumb_evaluation_video_clear(plumb_evaluation_video *result)
{
    drop(result);
    free(result->memory);
    *result = (plumb_evaluation_video){0};
}

static void record_errors(plumb_record *record, const char *name, const plumb_evaluation_errors *e)
{
    if (!e->clips) return;
    plumb_record_begin_object(record, name);
    plumb_record_set_int(record, "clips", e->clips);
    plumb_record_set_double(record, "model", e->model);
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++)
        if (isfinite(e->references[k]))
            plumb_record_set_double(record, reference_names[k], e->references[k]);
    plumb_record_end(record);
}

// The two numbers of the published tables for every scorer; of one concept, or of all (-1).
static void record_scorers(plumb_record *record, const char *name, const plumb_surprise *m,
                           int64_t concept)
{
    plumb_record_begin_object(record, name);
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *s = &m->scorers[k];
        if (!s->measured) continue;
        const plumb_surprise_metrics *one = concept < 0 ? &s->all : &s->concepts[concept];
        plumb_record_begin_object(record, plumb_scorer_name((plumb_scorer)k));
        plumb_record_set_double(record, "accuracy", one->accuracy);
        plumb_record_set_interval(record, "accuracy_ci", one->accuracy_ci);
        plumb_record_set_double(record, "relative_surprise", one->relative_surprise);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

void plumb_evaluation_video_record(plumb_record *record, const plumb_evaluation_video *r,
                                   const plumb_evaluation_video_options *opt)
{
    const plumb_surprise *m = &r->surprise;
    plumb_record_set_string(record, "model", r->model);
    plumb_record_set_string(record, "world", r->world);
    plumb_record_set_int(record, "steps", r->trained);
    plumb_record_begin_object(record, "mse");
    record_errors(record, "free", &r->free);
    for (int64_t i = 0; i < m->concept_count; i++)
        record_errors(record, m->concept_names[i], &r->possible[i]);
    plumb_record_end(record);
    plumb_record_begin_array(record, "concepts");
    for (int64_t i = 0; i < m->concept_count; i++) {
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", m->concept_names[i]);
        record_scorers(record, "scorers", m, i);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    record_scorers(record, "overall", m, -1);
    plumb_record_begin_object(record, "surprise");
    plumb_surprise_record(record, m, &opt->surprise);
    plumb_record_end(record);
    plumb_record_begin_object(record, "references");
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) {
        plumb_record_begin_object(record, reference_names[k]);
        plumb_surprise_record(record, &r->references[k], &opt->surprise);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    plumb_record_set_double(record, "seconds", r->seconds);
}

plumb_status plumb_evaluation_video_save(const char *run, const plumb_evaluation_video *result,
                                         const plumb_evaluation_video_options *opt)
{
    plumb_record *record = plumb_record_create();
    if (!record) return PLUMB_EMEMORY;
    plumb_evaluation_video_record(record, result, opt);
    plumb_status st = run_dir_write_results(run, "evaluate", record);
    plumb_record_free(record);
    return st;
}
