// SPDX-License-Identifier: MIT
// Rec, Ext and VPT on long films; R2, Sym and SyMetric on many short ones.
#include "plumb/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "evaluate/trained_model.h"
#include "plumb/file.h"
#include "plumb/system.h"
#include "plumb/world.h"
#include "train/run_dir.h"

enum { MEASURED_STEPS = 60 }; // frames 0 .. 59, as published

void plumb_evaluation_options_init(plumb_evaluation_options *options, size_t size)
{
    plumb_evaluation_options defaults = {.size = sizeof defaults,
                                         .count = 30,
                                         .steps = 1000,
                                         .measured = 100,
                                         .mlp = true,
                                         .symetric = plumb_symetric_defaults(),
                                         .forecast = plumb_forecast_defaults(),
                                         .canonical = plumb_kappa_defaults()};
    defaults.forecast.average = PLUMB_FORECAST_AVERAGE_MEAN;
    options_init(options, size, &defaults, sizeof defaults);
}

static plumb_status check_options(const plumb_evaluation_options *o)
{
    if (o->count < 2 || o->measured < 2 || o->steps < 1 || o->first < 0)
        return fail(PLUMB_EVALUE, "count %lld, measured %lld, steps %lld; want 2, 2 and 1 at least",
                    (long long)o->count, (long long)o->measured, (long long)o->steps);
    return PLUMB_OK;
}

static int threads_of(const plumb_evaluation_options *o)
{
    return o->threads > 0 ? o->threads : plumb_system_threads();
}

// What a model tells of films, watching one end: frames e->t.begins .. of each.
typedef struct rollout_arrays {
    int64_t told; // frames of each
    float *latent, *variance, *prediction,
        *momenta; // NULL: it has none, or they were not asked for
} rollout_arrays;

static plumb_status tell(rollout_arrays *out, trained_model *e, const video_set *f, int64_t steps,
                         bool backward, bool predict, int threads)
{
    int64_t frame = f->height * f->width * f->channels, m = e->t.latents;
    int64_t told = steps - e->t.begins;
    if (backward && e->t.one_way)
        return fail(PLUMB_EVALUE, "%s cannot be run backward in time", e->t.model);
    if (told < 1)
        return fail(PLUMB_ESHAPE, "films of %lld frames; %s tells of them from frame %lld on",
                    (long long)steps, e->t.model, (long long)e->t.begins);
    *out = (rollout_arrays){.told = told};
    out->latent = ARENA_ALLOC(&e->mem, float, (f->count * told * m));
    out->variance = ARENA_ALLOC(&e->mem, float, (f->count * m));
    out->prediction = predict ? ARENA_ALLOC(&e->mem, float, (f->count * told * frame)) : NULL;
    out->momenta = e->t.momenta ? ARENA_ALLOC(&e->mem, float, (f->count * told * (m / 2))) : NULL;
    if (!out->latent || !out->variance || (predict && !out->prediction) ||
        (e->t.momenta && !out->momenta))
        return PLUMB_EMEMORY;
    model_rollout_job job = {.frames = f->frames,
                             .count = f->count,
                             .steps = steps,
                             .filmed = f->steps,
                             .backward = backward,
                             .threads = threads,
                             .latent = out->latent,
                             .variance = out->variance,
                             .momenta = out->momenta,
                             .prediction = out->prediction};
    return e->t.play(e->t.self, &job);
}

static plumb_array video(void *data, plumb_dtype type, const video_set *f, int64_t steps)
{
    return plumb_array_view(data, type, 5,
                            (int64_t[]){f->count, steps, f->height, f->width, f->channels});
}

// (count, steps, width) without the first frames of each.
static void drop_first(void *data, int64_t count, int64_t steps, size_t width, int64_t first)
{
    char *x = data;
    const size_t from = (size_t)steps * width, to = (size_t)(steps - first) * width;
    for (int64_t i = 0; x && first && i < count; i++)
        memmove(x + (size_t)i * to, x + (size_t)i * from + (from - to), to);
}

// The truth of the frames that the model tells of, of `steps` there are.
static void drop_untold(test_videos *f, const trained_model *e, int64_t steps)
{
    const int64_t count = f->film.count, first = e->t.begins;
    drop_first(f->state, count, steps, (size_t)f->states * sizeof(double), first);
    drop_first(f->canonical, count, steps, (size_t)f->canonicals * sizeof(double), first);
}

static plumb_forecast_options forecast_options(const trained_model *e,
                                               const plumb_evaluation_options *opt)
{
    plumb_forecast_options o = opt->forecast;
    o.frames = e->t.frames;
    o.inference = e->t.window;
    o.target = e->t.targets;
    o.threads = opt->threads;
    return o;
}

// The true states in the coordinates that kappa wants, if the films tell them.
static plumb_array true_states(const test_videos *f, int64_t steps)
{
    return f->canonical ? plumb_array_view(f->canonical, PLUMB_FLOAT64, 3,
                                           (int64_t[]){f->film.count, steps, f->canonicals})
                        : plumb_array_view(f->state, PLUMB_FLOAT64, 3,
                                           (int64_t[]){f->film.count, steps, f->states});
}

// Of a film, seen or predicted in training.
static int64_t frames_trained_on(const trained_model *e)
{
    if (e->t.frames == PLUMB_FORECAST_FRAMES_AUTOREGRESSIVE) return e->t.targets;
    return e->t.window + e->t.targets - (e->t.frames == PLUMB_FORECAST_FRAMES_OVERLAP_BY_ONE);
}

static plumb_status forecast(plumb_evaluation *r, trained_model *e,
                             const plumb_evaluation_options *opt)
{
    test_videos f;
    rollout_arrays forward, backward;
    const bool past = !e->t.one_way;
    const int64_t seen = frames_trained_on(e);
    status_log("making %lld films of %lld frames for the forecast", (long long)opt->count,
               (long long)(seen + opt->steps));
    plumb_status st =
        test_videos_get(&f, e, opt, TEST_VIDEOS_FORECAST, opt->count, seen + opt->steps);
    if (!st) st = tell(&forward, e, &f.film, f.film.steps, false, true, threads_of(opt));
    if (!st && past) st = tell(&backward, e, &f.film, f.film.steps, true, true, threads_of(opt));
    if (st) return st;
    plumb_array truth = video((void *)f.film.frames, PLUMB_UINT8, &f.film, f.film.steps);
    plumb_array a = video(forward.prediction, PLUMB_FLOAT32, &f.film, forward.told), b;
    if (past) b = video(backward.prediction, PLUMB_FLOAT32, &f.film, backward.told);
    plumb_forecast_options o = forecast_options(e, opt);
    plumb_array states = true_states(&f, f.film.steps);
    if (plumb_lyapunov_estimate(&r->lyapunov, &states))
        r->lyapunov = (plumb_lyapunov){(double)NAN, {(double)NAN, (double)NAN}};
    return plumb_forecast_measure(&r->forecast, &truth, &a, past ? &b : NULL, &o);
}

// Frames that are filmed, or only made: those the model cannot tell of come beside.
static int64_t measured_steps(const trained_model *e)
{
    return (e->t.window > MEASURED_STEPS ? e->t.window : MEASURED_STEPS) + e->t.begins;
}

// What the model makes of films, beside the truth behind them.
typedef struct state_arrays {
    plumb_array latent, variance, truth;
    plumb_array motion, momenta; // of a Lagrangian model: (q, v), and what stands for v in `latent`
} state_arrays;

// (q, p) of a Lagrangian model's (q, v), in the place of it.
static plumb_status in_momenta(state_arrays *out, trained_model *e, const rollout_arrays *t,
                               int64_t count)
{
    const int64_t m = e->t.latents / 2, rows = count * t->told;
    float *phase = ARENA_ALLOC(&e->mem, float, (rows * 2 * m));
    if (!phase) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows; i++) {
        memcpy(phase + i * 2 * m, t->latent + i * 2 * m, (size_t)m * sizeof *phase);
        memcpy(phase + i * 2 * m + m, t->momenta + i * m, (size_t)m * sizeof *phase);
    }
    out->motion = out->latent;
    out->momenta = plumb_array_view(t->momenta, PLUMB_FLOAT32, 3, (int64_t[]){count, t->told, m});
    out->latent = plumb_array_view(phase, PLUMB_FLOAT32, 3, (int64_t[]){count, t->told, 2 * m});
    return PLUMB_OK;
}

static plumb_status compare(state_arrays *out, trained_model *e, test_videos *f, int64_t steps,
                            int threads)
{
    rollout_arrays told;
    const int64_t count = f->film.count, m = e->t.latents;
    plumb_status st = tell(&told, e, &f->film, steps, false, false, threads);
    if (st) return st;
    drop_untold(f, e, steps);
    out->latent = plumb_array_view(told.latent, PLUMB_FLOAT32, 3, (int64_t[]){count, told.told, m});
    out->truth =
        plumb_array_view(f->state, PLUMB_FLOAT64, 3, (int64_t[]){count, told.told, f->states});
    out->variance = plumb_array_view(told.variance, PLUMB_FLOAT32, 2, (int64_t[]){count, m});
    return told.momenta ? in_momenta(out, e, &told, count) : PLUMB_OK;
}

// kappa, in minimal canonical coordinates. Where it is not defined the result says why.
static void by_canonical(plumb_evaluation *r, const trained_model *e, const test_videos *f,
                         const state_arrays *seen, const plumb_evaluation_options *opt)
{
    plumb_kappa_options o = opt->canonical;
    const char *name = opt->world ? opt->world : e->recipe.data.world;
    const plumb_world *world;
    if (name[0] && !opt->data && !plumb_world_find(&world, name))
        o.angles = plumb_world_get_info(world)->angles;
    const plumb_array truth = true_states(f, seen->truth.shape[1]);
    r->sym_floor = (double)NAN;
    plumb_symetric_floor(&r->sym_floor, &seen->truth, &opt->symetric);
    if (e->t.momenta) o.momenta = &seen->momenta;
    if (plumb_kappa_measure(&r->own, e->t.momenta ? &seen->motion : &seen->latent, &truth, &o))
        snprintf(r->own_why, sizeof r->own_why, "%s", plumb_last_error());
}

static plumb_status by_polynomials(plumb_evaluation *r, trained_model *e,
                                   const plumb_evaluation_options *opt)
{
    test_videos f;
    state_arrays seen;
    const int64_t steps = measured_steps(e);
    plumb_symetric_options o = opt->symetric;
    o.method = PLUMB_SYMETRIC_METHOD_POLYNOMIAL;
    status_log("making %lld films of %lld frames for R2 and Sym", (long long)opt->measured,
               (long long)steps);
    plumb_status st = test_videos_get(&f, e, opt, TEST_VIDEOS_MEASURE, opt->measured, steps);
    if (!st) st = compare(&seen, e, &f, steps, threads_of(opt));
    if (!st) {
        status_log("fitting polynomials of %lld latents", (long long)e->t.latents);
        st = plumb_symetric_measure(&r->polynomial, &seen.latent, &seen.truth, &seen.variance, &o);
    }
    if (!st) by_canonical(r, e, &f, &seen, opt);
    return st;
}

// By a network on as many trajectories as its parameters want. How many parameters it has depends
// on how many latents take part; should more do so than among the films of the polynomials, it is
// done again with enough for all of them. Where it cannot be done the result says why.
static plumb_status by_network(plumb_evaluation *r, trained_model *e,
                               const plumb_evaluation_options *opt)
{
    const int64_t steps = measured_steps(e), all = e->t.latents;
    plumb_symetric_options o = opt->symetric;
    o.method = PLUMB_SYMETRIC_METHOD_MLP;
    o.mode = PLUMB_SYMETRIC_MODE_CONVERGED;
    for (int64_t latents = r->polynomial.latents;; latents = all) {
        test_videos f;
        const int64_t count =
            plumb_symetric_enough(latents, 2 * r->polynomial.n, steps - e->t.begins, &o);
        if (!opt->data)
            status_log("training a network on %lld short trajectories", (long long)count);
        plumb_status st = test_videos_windows(&f, e, opt, count, steps);
        state_arrays seen;
        if (!st) st = compare(&seen, e, &f, steps, threads_of(opt));
        if (!st)
            st = plumb_symetric_measure(&r->mlp, &seen.latent, &seen.truth, &seen.variance, &o);
        if (st != PLUMB_ENUMERIC) return st;
        if (latents < all && !opt->data) continue;
        snprintf(r->mlp_why, sizeof r->mlp_why, "%s", plumb_last_error());
        return PLUMB_OK;
    }
}

plumb_status plumb_evaluation_measure(plumb_evaluation *out, const char *run,
                                      const plumb_evaluation_options *options)
{
    plumb_evaluation_options opt = plumb_evaluation_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_evaluation_options");
    if (!st) st = check_options(&opt);
    if (st) return st;
    double begun = clock_now();
    trained_model e;
    plumb_evaluation r = {0};
    st = trained_model_open_dynamics(&e, run, &opt);
    if (!st) st = forecast(&r, &e, &opt);
    if (!st) st = by_polynomials(&r, &e, &opt);
    if (!opt.mlp) snprintf(r.mlp_why, sizeof r.mlp_why, "not asked for");
    else if (!st) st = by_network(&r, &e, &opt);
    if (st) plumb_evaluation_clear(&r);
    else {
        snprintf(r.model, sizeof r.model, "%s", e.t.model);
        snprintf(r.world, sizeof r.world, "%s", opt.world ? opt.world : e.recipe.data.world);
        r.trained = e.trained;
        r.latents = e.t.latents;
        r.seconds = clock_now() - begun;
        *out = r;
    }
    trained_model_close(&e);
    return st;
}

void plumb_evaluation_clear(plumb_evaluation *result)
{
    plumb_forecast_clear(&result->forecast);
    plumb_symetric_clear(&result->polynomial);
    plumb_symetric_clear(&result->mlp);
    plumb_kappa_clear(&result->own);
}

// The first frame of the first film, drawn with one latent position at -2, 0 and 2 and the others
// as they are [Higgins21]: (m, 3, height, width, channels). NULL for latents that are maps.
static plumb_status traverse(float **out, trained_model *e, const test_videos *f,
                             const rollout_arrays *t, int threads)
{
    enum { VALUES = 3, MOST = 64 };
    static const float values[VALUES] = {-2, 0, 2};
    int64_t n = e->t.latents, m = n / 2;
    *out = NULL;
    if (m > MOST) return PLUMB_OK;
    int64_t frame = f->film.height * f->film.width * f->film.channels;
    float *latent = ARENA_ALLOC(&e->mem, float, (m * VALUES * n));
    float *drawn = ARENA_ALLOC(&e->mem, float, (m * VALUES * frame));
    if (!latent || !drawn) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < m; i++)
        for (int k = 0; k < VALUES; k++) {
            float *at = latent + (i * VALUES + k) * n;
            memcpy(at, t->latent, (size_t)n * sizeof *at);
            at[i] = values[k];
        }
    model_rollout_job job = {
        .count = m, .steps = VALUES, .threads = threads, .latent = latent, .prediction = drawn};
    plumb_status st = e->t.play(e->t.self, &job);
    if (!st) *out = drawn;
    return st;
}

static plumb_status save_rollout(const char *path, trained_model *e, test_videos *f,
                                 const rollout_arrays *t, float *traversal)
{
    const video_set *film = &f->film;
    const int64_t m = e->t.latents, n = film->count, told = t->told;
    const size_t frame = (size_t)(film->height * film->width * film->channels);
    int64_t count = 5;
    drop_untold(f, e, film->steps);
    drop_first((void *)film->frames, n, film->steps, frame, e->t.begins);
    plumb_named_array arrays[] = {
        {"latent", plumb_array_view(t->latent, PLUMB_FLOAT32, 3, (int64_t[]){n, told, m})},
        {"truth", plumb_array_view(f->state, PLUMB_FLOAT64, 3, (int64_t[]){n, told, f->states})},
        {"variance", plumb_array_view(t->variance, PLUMB_FLOAT32, 2, (int64_t[]){n, m})},
        {"frames", video((void *)film->frames, PLUMB_UINT8, film, told)},
        {"prediction", video(t->prediction, PLUMB_FLOAT32, film, told)},
        {0},
        {0},
        {0},
    };
    if (t->momenta)
        arrays[count++] = (plumb_named_array){
            "momenta", plumb_array_view(t->momenta, PLUMB_FLOAT32, 3, (int64_t[]){n, told, m / 2})};
    if (traversal)
        arrays[count++] = (plumb_named_array){
            "traversal",
            plumb_array_view(traversal, PLUMB_FLOAT32, 5,
                             (int64_t[]){m / 2, 3, film->height, film->width, film->channels})};
    if (f->canonical)
        arrays[count++] =
            (plumb_named_array){"canonical", plumb_array_view(f->canonical, PLUMB_FLOAT64, 3,
                                                              (int64_t[]){n, told, f->canonicals})};
    return plumb_file_write(path, arrays, count, false);
}

plumb_status plumb_rollout_save(const char *path, const char *run, bool backward,
                                const plumb_evaluation_options *options)
{
    plumb_evaluation_options opt = plumb_evaluation_defaults();
    trained_model e;
    test_videos f;
    rollout_arrays told;
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_evaluation_options");
    if (!st) st = check_options(&opt);
    if (st) return st;
    st = trained_model_open_dynamics(&e, run, &opt);
    if (!st) st = test_videos_get(&f, &e, &opt, TEST_VIDEOS_FORECAST, opt.count, opt.steps);
    if (!st) st = tell(&told, &e, &f.film, f.film.steps, backward, true, threads_of(&opt));
    float *traversal = NULL;
    if (!st) st = traverse(&traversal, &e, &f, &told, threads_of(&opt));
    if (!st) st = save_rollout(path, &e, &f, &told, traversal);
    trained_model_close(&e);
    return st;
}

void plumb_evaluation_record(plumb_record *record, const plumb_evaluation *r,
                             const plumb_evaluation_options *opt)
{
    const plumb_forecast *f = &r->forecast;
    plumb_record_set_string(record, "model", r->model);
    plumb_record_set_string(record, "world", r->world);
    plumb_record_set_int(record, "steps", r->trained);
    plumb_record_set_int(record, "latents", r->latents);
    plumb_record_set_double(record, "rec_mse", f->forward.rec.published);
    plumb_record_set_double(record, "ext_mse", f->forward.ext.published);
    plumb_record_set_double(record, "vpt_forward", f->forward.vpt);
    plumb_record_set_double(record, "vpt_backward",
                            f->backward.measured ? f->backward.vpt : (double)NAN);
    plumb_record_set_double(record, "vpt", f->vpt);
    plumb_record_set_interval(record, "vpt_ci", f->vpt_ci);
    plumb_record_set_double(record, "lyapunov", r->lyapunov.exponent);
    plumb_record_set_interval(record, "lyapunov_ci", r->lyapunov.ci);
    plumb_record_set_double(record, "vpt_lyapunov", f->vpt * r->lyapunov.exponent);
    if (r->own_why[0]) plumb_kappa_record_none(record, r->own_why);
    else plumb_kappa_record(record, &r->own);
    plumb_record_set_double(record, "r2_heldout", r->polynomial.r2_heldout);
    plumb_record_set_double(record, "sym_floor", r->sym_floor);
    plumb_record_begin_object(record, "pr");
    plumb_symetric_record(record, &r->polynomial, &opt->symetric);
    plumb_record_end(record);
    plumb_record_begin_object(record, "mlp");
    if (r->mlp_why[0]) {
        plumb_record_set_string(record, "method", "mlp");
        const char *const none[] = {"r2", "sym", "symetric"};
        for (int i = 0; i < 3; i++) plumb_record_set_double(record, none[i], (double)NAN);
        plumb_record_set_string(record, "why", r->mlp_why);
    } else plumb_symetric_record(record, &r->mlp, &opt->symetric);
    plumb_record_end(record);
    plumb_record_begin_object(record, "forecast");
    plumb_forecast_record(record, f, &opt->forecast);
    plumb_record_end(record);
    plumb_record_set_double(record, "seconds", r->seconds);
}

plumb_status plumb_evaluation_save(const char *run, const plumb_evaluation *result,
                                   const plumb_evaluation_options *opt)
{
    plumb_record *record = plumb_record_create();
    if (!record) return PLUMB_EMEMORY;
    plumb_evaluation_record(record, result, opt);
    plumb_status st = run_dir_write_results(run, "evaluate", record);
    plumb_record_free(record);
    return st;
}
