// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "evaluate/trained_model.h"

#include <stdio.h>
#include <string.h>

#include "base/parallel_for.h"
#include "base/status.h"
#include "dataset/video_load.h"
#include "plumb/dataset.h"
#include "plumb/system.h"
#include "train/run_dir.h"

// Films of the two uses start this far apart.
static const int64_t measure_first = (int64_t)1 << 32;

plumb_status trained_model_load(trained_model *e, const char *run)
{
    *e = (trained_model){0};
    char *text, name[4096], identity[33];
    size_t size;
    snprintf(name, sizeof name, "%s/config.json", run);
    plumb_status st = run_dir_read_config(&text, &size, &e->mem, run);
    if (!st) st = run_config_parse(&e->recipe, &e->mem, text, size, name);
    if (!st) st = run_config_hash(identity, &e->recipe);
    if (!st) st = run_config_video_shape(&e->shape, &e->recipe);
    if (st) return st;
    const registry_entry *row = e->recipe.model;
    st = row->create(&e->t, &e->mem, e->recipe.own, &e->recipe.training, &e->shape);
    e->created = !st;
    if (!st) st = checkpoint_load_weights(&e->t, &e->trained, run, identity);
    return st;
}

plumb_status trained_model_open_dynamics(trained_model *e, const char *run,
                                         const plumb_evaluation_options *opt)
{
    (void)opt;
    plumb_status st = trained_model_load(e, run);
    if (!st && !e->t.play)
        st = fail(PLUMB_EVALUE, "%s: %s has no phase space to look into", run,
                  e->recipe.model->name);
    return st;
}

void trained_model_close(trained_model *e)
{
    if (e->created && e->t.end) e->t.end(e->t.self);
    arena_clear(&e->mem);
    *e = (trained_model){0};
}

static plumb_status from_world(test_videos *out, trained_model *e, const char *name, int64_t first,
                               int64_t count, int64_t steps, int threads)
{
    const plumb_world *world;
    plumb_status st = plumb_world_find(&world, name);
    if (st) return st;
    const plumb_world_info *f = plumb_world_get_info(world);
    uint64_t seed = (uint64_t)e->recipe.data.data_seed;
    st = video_load_world(&out->film, &e->mem, world, seed, first, count, steps,
                          e->recipe.data.image, threads);
    if (st) return st;
    out->states = 2 * f->n;
    out->canonicals = 2 * f->canonical_n;
    out->state = ARENA_ALLOC(&e->mem, double, (count * steps * out->states));
    out->canonical = ARENA_ALLOC(&e->mem, double, (count * steps * out->canonicals));
    if (!out->state || !out->canonical) return PLUMB_EMEMORY;
    plumb_world_options w = plumb_world_defaults();
    w.image = out->film.height;
    for (int64_t i = 0; i < count && !st; i++) {
        plumb_world_item t = {.state = out->state + i * steps * out->states,
                              .canonical = out->canonical + i * steps * out->canonicals};
        st = plumb_world_simulate(&t, world, seed, first + i, steps, &w);
    }
    return st;
}

typedef struct watching {
    const plumb_world *world;
    test_videos *to;
    uint8_t *frames;
    uint64_t seed;
    int64_t first, steps;
} watching;

static plumb_status watch_one(void *context, int64_t item, int worker)
{
    (void)worker;
    watching *w = context;
    const video_set *f = &w->to->film;
    const int64_t size = f->steps * f->height * f->width * f->channels;
    const plumb_world_item film = {.frames = w->frames + item * size};
    const plumb_world_item states = {.state = w->to->state + item * w->steps * w->to->states};
    plumb_world_options o = plumb_world_defaults();
    o.image = f->height;
    o.reject_steps = w->steps; // both are the same trajectory
    plumb_status st = plumb_world_simulate(&film, w->world, w->seed, w->first + item, f->steps, &o);
    if (!st) st = plumb_world_simulate(&states, w->world, w->seed, w->first + item, w->steps, &o);
    return st;
}

static plumb_status watch_world(test_videos *out, trained_model *e, const char *name, int64_t first,
                                int64_t count, int64_t steps, int threads)
{
    watching w = {.to = out, .first = first, .steps = steps};
    plumb_status st = plumb_world_find(&w.world, name);
    if (st) return st;
    const plumb_world_info *f = plumb_world_get_info(w.world);
    w.seed = (uint64_t)e->recipe.data.data_seed;
    out->film = (video_set){.count = count,
                            .steps = e->t.window,
                            .height = e->recipe.data.image ? e->recipe.data.image : f->height,
                            .width = e->recipe.data.image ? e->recipe.data.image : f->width,
                            .channels = f->channels};
    out->states = 2 * f->n;
    const video_set *film = &out->film;
    w.frames = ARENA_ALLOC(&e->mem, uint8_t,
                           (count * film->steps * film->height * film->width * film->channels));
    out->film.frames = w.frames;
    out->state = ARENA_ALLOC(&e->mem, double, (count * steps * out->states));
    if (!w.frames || !out->state) return PLUMB_EMEMORY;
    return parallel_for_progress(count, threads, watch_one, &w, 0.0, 1.0);
}

// One array of every item, cut to `steps` frames, as double.
static plumb_status read_field(double **out, int64_t *width, arena *mem, plumb_dataset *d,
                               const char *field, int64_t count, int64_t steps)
{
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < count && !st; i++) {
        plumb_array a;
        st = plumb_dataset_read_field(&a, d, i, field);
        if (st) break;
        if (a.ndim != 2 || a.shape[0] < steps || (*width && a.shape[1] != *width))
            return fail(PLUMB_ESHAPE, "%s of item %lld is not (%lld steps, numbers)", field,
                        (long long)i, (long long)steps);
        *width = a.shape[1];
        if (!*out) *out = ARENA_ALLOC(mem, double, (count * steps * *width));
        if (!*out) return PLUMB_EMEMORY;
        double *to = *out + i * steps * *width;
        for (int64_t k = 0; k < steps * *width; k++)
            to[k] = a.dtype == PLUMB_FLOAT32 ? (double)((const float *)a.data)[k]
                                             : ((const double *)a.data)[k];
    }
    return st;
}

static plumb_status from_data(test_videos *out, trained_model *e, const char *path, int64_t count,
                              int64_t steps)
{
    plumb_dataset *d;
    plumb_status st = plumb_dataset_open(&d, path, NULL);
    if (st) return st;
    int64_t items = plumb_dataset_item_count(d);
    st = video_load_file(&out->film, &e->mem, path, items < count ? items : count, false);
    const video_set *f = &out->film;
    if (!st && f->steps < steps)
        st = fail(PLUMB_ESHAPE, "%s: has %lld frames a film, this takes %lld; try --steps %lld",
                  path, (long long)f->steps, (long long)steps, (long long)f->steps);
    if (!st) st = read_field(&out->state, &out->states, &e->mem, d, "state", f->count, steps);
    if (!st && plumb_dataset_has_field(d, "canonical"))
        st =
            read_field(&out->canonical, &out->canonicals, &e->mem, d, "canonical", f->count, steps);
    plumb_dataset_close(d);
    if (st || f->steps == steps) return st;
    // Longer films are cut.
    int64_t frame = f->height * f->width * f->channels;
    uint8_t *cut = ARENA_ALLOC(&e->mem, uint8_t, (f->count * steps * frame));
    if (!cut) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < f->count; i++)
        memcpy(cut + i * steps * frame, f->frames + i * f->steps * frame, (size_t)(steps * frame));
    out->film.frames = cut;
    out->film.steps = steps;
    return PLUMB_OK;
}

static plumb_status fits(const video_set *f, const video_set *s)
{
    if (f->height != s->height || f->width != s->width || f->channels != s->channels)
        return fail(PLUMB_ESHAPE,
                    "the films are %lldx%lldx%lld, the model was trained on %lldx%lldx%lld",
                    (long long)f->height, (long long)f->width, (long long)f->channels,
                    (long long)s->height, (long long)s->width, (long long)s->channels);
    return PLUMB_OK;
}

plumb_status test_videos_get(test_videos *out, trained_model *e,
                             const plumb_evaluation_options *opt, test_videos_use use,
                             int64_t count, int64_t steps)
{
    *out = (test_videos){0};
    const run_config_data *data = &e->recipe.data;
    const char *world = opt->world ? opt->world : data->world;
    int threads = opt->threads ? opt->threads : plumb_system_threads();
    plumb_status st;
    if (opt->data) st = from_data(out, e, opt->data, count, steps);
    else if (world[0])
        st = from_world(out, e, world,
                        VIDEO_TEST_FIRST + opt->first +
                            (use == TEST_VIDEOS_MEASURE ? measure_first : 0),
                        count, steps, threads);
    else
        return fail(PLUMB_EVALUE,
                    "the run was trained on %s; name other films by --data, or a --world",
                    data->data);
    return st ? st : fits(&out->film, &e->shape);
}

plumb_status test_videos_windows(test_videos *out, trained_model *e,
                                 const plumb_evaluation_options *opt, int64_t count, int64_t steps)
{
    const char *world = opt->world ? opt->world : e->recipe.data.world;
    if (opt->data) return test_videos_get(out, e, opt, TEST_VIDEOS_MEASURE, INT64_MAX, steps);
    *out = (test_videos){0};
    const int threads = opt->threads ? opt->threads : plumb_system_threads();
    const plumb_status st = watch_world(
        out, e, world, VIDEO_TEST_FIRST + opt->first + measure_first, count, steps, threads);
    return st ? st : fits(&out->film, &e->shape);
}
