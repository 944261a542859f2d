// SPDX-License-Identifier: MIT
// Stores the models of a report. Records are recognised by their keys, arrays by their names and
// shapes. Also lists, draws and saves the figures.
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/argument.h"
#include "base/output_file.h"
#include "base/status.h"
#include "plot/palette.h"
#include "report/report_model.h"
#include "report/state_readout.h"

plumb_status plumb_report_create(plumb_report **out)
{
    REQUIRE_ARGUMENT(out);
    plumb_report *report = calloc(1, sizeof *report);
    if (!report) return fail(PLUMB_EMEMORY, "out of memory for a report");
    *out = report;
    return PLUMB_OK;
}

void plumb_report_free(plumb_report *report)
{
    if (!report) return;
    arena_clear(&report->mem);
    buffer_clear(&report->text);
    free(report);
}

report_model *report_model_find(plumb_report *report, const char *name)
{
    // `at` ends at the last link, where a new model is appended. So models keep their order.
    report_model **at = &report->first;
    for (; *at; at = &(*at)->next)
        if (!strcmp((*at)->name, name)) return *at;
    report_model *model = ARENA_ALLOC(&report->mem, report_model, 1);
    if (model) model->name = arena_strdup(&report->mem, name);
    if (!model || !model->name) return NULL;
    report->model_count++;
    return *at = model;
}

// ---- records ----

// Only trajectory worlds have state names and a phase space.
static void find_world(report_model *model, const char *name)
{
    const plumb_world *world;
    if (name && *name && !plumb_world_find(&world, name) &&
        plumb_world_get_info(world)->kind == PLUMB_WORLD_TRAJECTORY)
        model->world = plumb_world_get_info(world);
}

// Records of latents and states that have no phase space. Their keys are those of other records
// too, so they are asked for first.
static bool read_state_record(report_model *model, const json_tree *record)
{
    const char *kind = json_tree_string(record, "kind");
    if (json_tree_has(record, "motion") && json_tree_has(record, "floor")) model->dynamics = record;
    else if (json_tree_has(record, "targets") && json_tree_has(record, "dims"))
        model->probe = record;
    else if (kind && !strcmp(kind, "states") && json_tree_has(record, "vrmse"))
        model->state_forecast = record;
    else return false;
    return true;
}

// Stores the known parts of a record. Returns false if it has none.
static bool read_record(report_model *model, const json_tree *record)
{
    bool known = false;
    if (read_state_record(model, record)) return true;
    // config.json of a run.
    if (json_tree_has(record, "settings") && json_tree_has(record, "training")) {
        model->config = record;
        find_world(model, json_tree_string(record, "data.world"));
        known = true;
    }
    // results.json of a run has "train" and "evaluate"; the records of other commands are flat.
    if (json_tree_has(record, "train")) {
        model->train = json_tree_find(record, "train");
        known = true;
    }
    model->failed =
        json_tree_string(record, "failed"); // a later record of the run without it clears it
    known = known || model->failed;
    const json_tree *results =
        json_tree_has(record, "evaluate") ? json_tree_find(record, "evaluate") : record;
    if (json_tree_has(results, "pr") || json_tree_has(results, "concepts") ||
        json_tree_has(results, "vpt_forward")) {
        model->evaluate = results;
        find_world(model, json_tree_string(results, "world"));
    }
    if (json_tree_has(results, "pr.r2")) model->measure = json_tree_find(results, "pr");
    if (json_tree_has(results, "mlp.r2")) model->mlp = json_tree_find(results, "mlp");
    if (json_tree_has(results, "forecast.vpt"))
        model->forecast = json_tree_find(results, "forecast");
    else if (json_tree_has(results, "vpt")) model->forecast = results;
    // A record of plumb measure. Its method says by which fit.
    if (json_tree_has(results, "r2") && json_tree_has(results, "sym")) {
        const char *method = json_tree_string(results, "method");
        if (method && !strcmp(method, "mlp")) model->mlp = results;
        else model->measure = results;
    }
    // json_tree_find() also accepts null: kappa that was not determined.
    if (json_tree_find(results, "canonical") || json_tree_find(results, "kappa"))
        model->kappa = results;
    // The record of an evaluation has a summary and, below it, the record of plumb surprise.
    if (json_tree_has(results, "surprise.scorers"))
        model->surprise = json_tree_find(results, "surprise");
    else if (json_tree_has(results, "scorers") || json_tree_has(results, "concepts"))
        model->surprise = results;
    if (json_tree_has(results, "more_concepts"))
        model->more_concepts = json_tree_find(results, "more_concepts");
    return known || model->measure || model->mlp || model->forecast || model->surprise;
}

plumb_status plumb_report_add_record(plumb_report *report, const char *name, const char *text)
{
    REQUIRE_ARGUMENT(report);
    REQUIRE_ARGUMENT(name);
    REQUIRE_ARGUMENT(text);
    const json_tree *record;
    const plumb_status st = json_tree_read(&record, &report->mem, text, strlen(text), name);
    if (st) return st;
    const json_tree *models =
        json_tree_find(record, "models"); // the record of plumb demo has several models
    bool known = false;
    if (models && json_tree_find(record, "pairs")) { // that of plumb compare
        report_model *model = report_model_find(report, name);
        if (!model) return PLUMB_EMEMORY;
        model->compare = record;
        return PLUMB_OK;
    }
    for (const json_tree *child = models ? models->child : record; child;
         child = models ? child->next : NULL) {
        const char *model_name = json_tree_string(child, "name");
        report_model *model = report_model_find(report, models && model_name ? model_name : name);
        if (!model) return PLUMB_EMEMORY;
        known |= read_record(model, child);
    }
    return known ? PLUMB_OK
                 : fail(PLUMB_EFORMAT,
                        "%s: a record without r2, vpt, scorers, targets or settings: not one of "
                        "plumb's",
                        name);
}

// ---- arrays ----

// The array of this name and number of axes, or NULL. Empty arrays do not count.
static const plumb_array *find_array(const plumb_named_array *arrays, int64_t count,
                                     const char *name, int ndim)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(arrays[i].name, name) && arrays[i].array.ndim == ndim &&
            plumb_array_count(&arrays[i].array) > 0)
            return &arrays[i].array;
    return NULL;
}

// Copies the first `count` elements as doubles.
static double *copy_doubles(arena *mem, const plumb_array *array, int64_t count)
{
    double *out = ARENA_ALLOC(mem, double, count);
    if (out) plumb_array_to_double(out, array, 0, count);
    return out;
}

// Integers are scaled to 0 .. 1.
static double get_pixel_scale(const plumb_array *array)
{
    return array->dtype == PLUMB_UINT8    ? 1 / 255.0
           : array->dtype == PLUMB_UINT16 ? 1 / 65535.0
                                          : 1.0;
}

// Copies the first `items` videos of an array (.., steps, height, width, channels) as RGB bytes.
static plumb_status read_video(report_video *out, arena *mem, const plumb_array *array,
                               int64_t items)
{
    const int64_t *shape = array->shape + array->ndim - 4, channels = shape[3];
    const int64_t pixels = shape[1] * shape[2];
    if (shape[1] > 4096 || shape[2] > 4096)
        return fail(PLUMB_ESHAPE, "frames have %lld x %lld pixels; the maximum is 4096 x 4096",
                    (long long)shape[1], (long long)shape[2]);
    report_video video = {.items = items, .steps = shape[0], .height = shape[1], .width = shape[2]};
    video.rgb = arena_alloc(mem, items * video.steps * pixels, 3);
    double *row = ARENA_ALLOC(mem, double, pixels *channels);
    if (!video.rgb || !row) return PLUMB_EMEMORY;
    const double scale = 255 * get_pixel_scale(array);
    // Gray frames are repeated in all three channels.
    uint8_t *to = video.rgb;
    for (int64_t k = 0; k < items * video.steps; k++) {
        plumb_array_to_double(row, array, k * pixels * channels, pixels * channels);
        for (int64_t i = 0; i < pixels; i++)
            for (int c = 0; c < 3; c++) {
                const double value = scale * row[i * channels + (channels < 3 ? 0 : c)];
                *to++ = (uint8_t)(value > 254.5 ? 255
                                  : value > 0   ? value + 0.5
                                                : 0); // NaN becomes black
            }
    }
    *out = video;
    return PLUMB_OK;
}

// The error of each frame: sum (x - y)^2 / sum x^2 [Higgins21].
static plumb_status compute_errors(report_model *model, arena *mem, const plumb_array *x,
                                   const plumb_array *y)
{
    const int64_t frame = x->shape[2] * x->shape[3] * x->shape[4];
    const int64_t count = model->frames.items * model->frames.steps;
    double *a = ARENA_ALLOC(mem, double, frame), *b = ARENA_ALLOC(mem, double, frame);
    double *error = ARENA_ALLOC(mem, double, count);
    if (!a || !b || !error) return PLUMB_EMEMORY;
    const double x_scale = get_pixel_scale(x), y_scale = get_pixel_scale(y);
    for (int64_t k = 0; k < count; k++) {
        double error_sum = 0, frame_sum = 0;
        plumb_array_to_double(a, x, k * frame, frame);
        plumb_array_to_double(b, y, k * frame, frame);
        for (int64_t i = 0; i < frame; i++) {
            const double d = x_scale * a[i] - y_scale * b[i];
            error_sum += d * d;
            frame_sum += x_scale * a[i] * x_scale * a[i];
        }
        error[k] = error_sum / frame_sum;
    }
    model->error = error;
    return PLUMB_OK;
}

// Stores latents and true states, and the mean of the posterior variance.
static plumb_status read_states(report_model *model, arena *mem, const plumb_array *latent,
                                const plumb_array *truth, const plumb_array *variance)
{
    // An odd number has no positions and momenta; probes take it all the same.
    if (latent->shape[2] % 2 || truth->shape[2] % 2) return PLUMB_OK;
    if (latent->shape[0] != truth->shape[0] || latent->shape[1] < truth->shape[1])
        return fail(
            PLUMB_ESHAPE,
            "latent is (%lld, %lld, %lld), truth (%lld, %lld, %lld); trajectories and steps "
            "must be equal",
            (long long)latent->shape[0], (long long)latent->shape[1], (long long)latent->shape[2],
            (long long)truth->shape[0], (long long)truth->shape[1], (long long)truth->shape[2]);
    const int64_t count = truth->shape[0], steps = truth->shape[1], m = latent->shape[2];
    model->readout = NULL; // belongs to the latents before
    model->latent_names = NULL;
    model->named = 0;
    model->count = count;
    model->steps = steps;
    model->latents = m;
    model->states = truth->shape[2];
    model->truth = copy_doubles(mem, truth, plumb_array_count(truth));
    model->latent = ARENA_ALLOC(mem, double, count *steps *m);
    if (!model->truth || !model->latent) return PLUMB_EMEMORY;
    for (int64_t c = 0; c < count; c++) // latents may have more steps; the rest is cut
        plumb_array_to_double(model->latent + c * steps * m, latent, c * latent->shape[1] * m,
                              steps * m);
    if (!variance || variance->shape[variance->ndim - 1] != m) return PLUMB_OK;
    // The mean over trajectories, and over steps if the variance has them.
    const int64_t rows = plumb_array_count(variance) / m;
    double *all = copy_doubles(mem, variance, rows * m);
    model->variance = ARENA_ALLOC(mem, double, m);
    if (!all || !model->variance) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows * m; i++) model->variance[i % m] += all[i] / (double)rows;
    return PLUMB_OK;
}

plumb_status report_model_set_constants(report_model *model, arena *mem, const plumb_array *latent,
                                        const plumb_array *parameters)
{
    const int64_t count = latent->shape[0], steps = latent->shape[1], n = latent->shape[2];
    if (parameters->shape[0] != count || n != model->latents || count < 2) return PLUMB_OK;
    double *values = ARENA_ALLOC(mem, double, steps *n), *sums = ARENA_ALLOC(mem, double, 2 * n);
    model->latent_means = ARENA_ALLOC(mem, double, count *n);
    model->latent_within = ARENA_ALLOC(mem, double, n);
    model->latent_between = ARENA_ALLOC(mem, double, n);
    model->parameters = copy_doubles(mem, parameters, plumb_array_count(parameters));
    if (!values || !sums || !model->latent_means || !model->latent_within ||
        !model->latent_between || !model->parameters)
        return PLUMB_EMEMORY;
    for (int64_t k = 0; k < count; k++) {
        plumb_array_to_double(values, latent, k * steps * n, steps * n);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0, square = 0;
            for (int64_t t = 0; t < steps; t++) sum += values[t * n + i];
            const double mean = sum / (double)steps;
            for (int64_t t = 0; t < steps; t++)
                square += (values[t * n + i] - mean) * (values[t * n + i] - mean);
            model->latent_means[k * n + i] = mean;
            model->latent_within[i] += square / (double)(steps * count);
            sums[i] += mean / (double)count;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t k = 0; k < count; k++) {
            const double apart = model->latent_means[k * n + i] - sums[i];
            square += apart * apart;
        }
        model->latent_within[i] = sqrt(model->latent_within[i]);
        model->latent_between[i] = sqrt(square / (double)count);
    }
    model->measured_count = count;
    model->parameter_total = parameters->shape[1];
    return PLUMB_OK;
}

// Keeps the names of latents, if they belong to them. A file may have anything in their place, so
// what is no text is not kept.
static plumb_status read_names(report_model *model, arena *mem, const plumb_array *names,
                               int64_t latents)
{
    if (names->dtype != PLUMB_UINT8 || names->shape[0] != latents ||
        names->shape[1] != REPORT_NAME_SIZE)
        return PLUMB_OK;
    double *values = copy_doubles(mem, names, latents * REPORT_NAME_SIZE);
    char *text = ARENA_ALLOC(mem, char, latents *REPORT_NAME_SIZE);
    if (!values || !text) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < latents * REPORT_NAME_SIZE; i++) {
        const bool last = i % REPORT_NAME_SIZE == REPORT_NAME_SIZE - 1;
        if (values[i] > 126.0 || (values[i] < 32.0 && values[i] != 0.0) ||
            (last && values[i] != 0.0))
            return PLUMB_OK;
        text[i] = (char)values[i];
    }
    model->latent_names = text;
    model->named = latents;
    return PLUMB_OK;
}

// Keeps the rollouts from changed latents, if they belong to the latents.
static plumb_status read_traversal(report_model *model, arena *mem, const plumb_array *states,
                                   const plumb_array *frames)
{
    const int64_t n = model->latents;
    if (!n || states->shape[0] != n || states->shape[1] != 3 || states->shape[3] != n ||
        frames->shape[0] != n || frames->shape[1] != 3)
        return PLUMB_OK;
    model->traversal_steps = states->shape[2];
    model->traversal_states = copy_doubles(mem, states, plumb_array_count(states));
    if (!model->traversal_states) return PLUMB_EMEMORY;
    return read_video(&model->traversal_frames, mem, frames, 3 * n);
}

// Stores as many videos as fit into 64 MiB, at most REPORT_MODEL_VIDEOS.
static plumb_status read_videos(report_model *model, arena *mem, const plumb_array *frames,
                                const plumb_array *prediction)
{
    const int64_t max_bytes = 64 << 20; // of videos; at least one video is kept
    const int64_t one = plumb_array_count(frames) / frames->shape[0];
    int64_t items = frames->shape[0] < REPORT_MODEL_VIDEOS ? frames->shape[0] : REPORT_MODEL_VIDEOS;
    while (items > 1 && items * one > max_bytes) items--;
    plumb_status st = read_video(&model->frames, mem, frames, items);
    if (st || !prediction) return st;
    // Both must have the same shape.
    for (int i = 0; i < 5; i++)
        if (prediction->shape[i] != frames->shape[i])
            return fail(PLUMB_ESHAPE, "axis %d of the frames is %lld, but of the prediction %lld",
                        i, (long long)frames->shape[i], (long long)prediction->shape[i]);
    st = read_video(&model->prediction, mem, prediction, items);
    return st ? st : compute_errors(model, mem, frames, prediction);
}

// Keeps the places of objects in the first video, if they belong to its frames. More objects than a
// page can show are points of something else.
static plumb_status read_tracks(report_model *model, arena *mem, const plumb_array *tracks)
{
    const int64_t steps = tracks->shape[1], objects = tracks->shape[2];
    if (tracks->shape[3] != 2 || steps != model->frames.steps || objects > 64) return PLUMB_OK;
    double *row = ARENA_ALLOC(mem, double, 2 * objects);
    model->tracks = ARENA_ALLOC(mem, double, 2 * objects * steps);
    model->objects = objects;
    if (!row || !model->tracks) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < steps; t++) {
        plumb_array_to_double(row, tracks, t * 2 * objects, 2 * objects);
        for (int64_t i = 0; i < 2 * objects; i++)
            model->tracks[(i / 2 * steps + t) * 2 + i % 2] = row[i];
    }
    return PLUMB_OK;
}

// Keeps the surprise per frame and the clips of the first tuple.
static plumb_status read_tuple(report_model *model, arena *mem, const plumb_array *surprise,
                               const plumb_array *clips, const plumb_array *prediction)
{
    if (surprise && surprise->shape[1] == 4) {
        model->frame_surprise_count = surprise->shape[2];
        model->frame_surprise = copy_doubles(mem, surprise, 4 * model->frame_surprise_count);
        if (!model->frame_surprise) return PLUMB_EMEMORY;
    }
    if (!clips || clips->shape[1] != 4) return PLUMB_OK;
    const plumb_status st = read_video(&model->clips, mem, clips, 4);
    // Predicted frames of the same size; the first may be missing.
    const int64_t missing = prediction ? clips->shape[2] - prediction->shape[2] : -1;
    bool fits = missing == 0 || missing == 1;
    for (int i = 0; fits && i < 6; i++) fits = i == 2 || prediction->shape[i] == clips->shape[i];
    return st || !fits ? st : read_video(&model->clip_prediction, mem, prediction, 4);
}

// Arrays are recognised by name and number of axes.
plumb_status report_model_add_arrays(plumb_report *report, const char *name,
                                     const plumb_named_array *arrays, int64_t count)
{
    report_model *model = report_model_find(report, name);
    if (!model) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
#define ARRAY(name, ndim) find_array(arrays, count, name, ndim)
    const plumb_array *latent = ARRAY("latent", 3), *truth = ARRAY("truth", 3);
    const plumb_array *variance = ARRAY("variance", 2);
    if (!variance) variance = ARRAY("variance", 3);
    if (latent && truth) st = read_states(model, &report->mem, latent, truth, variance);
    const plumb_array *names = ARRAY("latent_names", 2);
    if (!st && latent && names) st = read_names(model, &report->mem, names, latent->shape[2]);
    // Videos: frames, or truth if it has five axes.
    const plumb_array *frames = ARRAY("frames", 5);
    if (!frames) frames = ARRAY("truth", 5);
    if (!st && frames) st = read_videos(model, &report->mem, frames, ARRAY("prediction", 5));
    const plumb_array *tracks = ARRAY("tracks", 4);
    if (!st && frames && tracks) st = read_tracks(model, &report->mem, tracks);
    const plumb_array *traversal = ARRAY("traversal", 5);
    // Three values per latent: -2, 0 and 2.
    if (!st && traversal && traversal->shape[1] == 3)
        st = read_video(&model->traversal, &report->mem, traversal, traversal->shape[0]);
    const plumb_array *moving = ARRAY("traversal_states", 4), *drawn = ARRAY("traversal_frames", 6),
                      *constants = ARRAY("parameters", 2);
    if (!st && moving && drawn) st = read_traversal(model, &report->mem, moving, drawn);
    if (!st && latent && truth && constants)
        st = report_model_set_constants(model, &report->mem, latent, constants);
    // Tuples of clips.
    const plumb_array *clips = ARRAY("frames", 6);
    if (!clips) clips = ARRAY("truth", 6);
    if (!st)
        st = read_tuple(model, &report->mem, ARRAY("surprise", 3), clips, ARRAY("prediction", 6));
    // The training log.
    const plumb_array *step = ARRAY("step", 1), *loss = ARRAY("loss", 1);
#undef ARRAY
    if (!st && step && loss && step->shape[0] == loss->shape[0]) {
        model->log_count = step->shape[0];
        model->log_step = copy_doubles(&report->mem, step, model->log_count);
        model->log_loss = copy_doubles(&report->mem, loss, model->log_count);
        if (!model->log_step || !model->log_loss) st = PLUMB_EMEMORY;
    }
    return st;
}

plumb_status plumb_report_add_arrays(plumb_report *report, const char *name,
                                     const plumb_named_array *arrays, int64_t count)
{
    REQUIRE_ARGUMENT(report);
    REQUIRE_ARGUMENT(name);
    REQUIRE_ARGUMENT(arrays);
    plumb_status st = report_model_add_arrays(report, name, arrays, count);
    report_model *model = st ? NULL : report_model_find(report, name);
    if (model && !model->readout) st = state_readout_fit(model, &report->mem);
    return st;
}

// ---- values that several figures use ----

bool report_model_is_informative(const report_model *model, int64_t latent)
{
    // Informative: the measure used it, and its posterior is narrower than the prior.
    const json_tree *used = json_tree_find(model->measure, "latents_used");
    if (used && used->child) {
        for (const json_tree *child = used->child; child; child = child->next)
            if ((int64_t)child->number == latent)
                return !model->variance || model->variance[latent] < 0.5;
        return false;
    }
    return !model->variance || model->variance[latent] < 0.5;
}

int64_t report_model_trained_frames(const report_model *model)
{
    double ends[2];
    if (json_tree_doubles(ends, 2, model->forecast, "forward.vpt_frames") == 2)
        return (int64_t)ends[0];
    // Without the frames of the VPT: the option split of plumb forecast.
    const double split = json_tree_double(model->forecast, "split");
    return split > 0 ? (int64_t)split : 0;
}

double report_model_vpt(const report_model *model)
{
    return json_tree_double(model->forecast, "vpt");
}

// kappa and its companions are in the record of SyMetric, or in that of the evaluation.
static double get_kappa_value(const report_model *model, const char *key)
{
    const double value = json_tree_double(model->kappa, key);
    return isfinite(value) ? value : json_tree_double(model->evaluate, key);
}

double report_model_score(const report_model *model)
{
    const double score = get_kappa_value(model, "kappa_score");
    if (isfinite(score)) return score;
    // Older records have its parts only.
    const double held = get_kappa_value(model, "r2_state");
    const double by_constants = get_kappa_value(model, "kappa_constants");
    const double kappa = isfinite(by_constants) ? by_constants : get_kappa_value(model, "kappa");
    return held > 0.9 || isnan(held) ? kappa * fmax(get_kappa_value(model, "r2_latent"), 0.0) : 0.0;
}

bool report_model_is_partial(const report_model *model)
{
    return get_kappa_value(model, "r2_latent") < 0.5; // as plumb measure
}

double report_model_vpt_frame(const report_model *model, int64_t item)
{
    if (!model->error || item >= model->frames.items) return (double)NAN;
    double threshold = json_tree_double(model->forecast, "threshold");
    if (isnan(threshold)) threshold = 0.025;
    int64_t t = report_model_trained_frames(model);
    while (t < model->frames.steps && !(model->error[item * model->frames.steps + t] > threshold))
        t++;
    return (double)t;
}

// Some worlds have row 0 at the bottom.
static bool is_upright(const report_model *model)
{
    return !model->world || model->world->upright;
}

bool report_model_find_place(double xy[2], const report_model *model, int64_t object, int64_t step)
{
    const double *at = model->tracks + 2 * (object * model->frames.steps + step);
    xy[0] = at[0];
    xy[1] = is_upright(model) ? at[1] : (double)(model->frames.height - 1) - at[1];
    return isfinite(xy[0]) && isfinite(xy[1]);
}

void report_model_copy_frame(uint8_t *rgb, const report_model *model, const report_video *video,
                             int64_t item, int64_t step)
{
    const size_t row = (size_t)(3 * video->width);
    const uint8_t *from =
        video->rgb + (item * video->steps + step) * video->height * 3 * video->width;
    for (int64_t y = 0; y < video->height; y++) {
        const int64_t at = is_upright(model) ? y : video->height - 1 - y;
        memcpy(rgb + (size_t)y * row, from + (size_t)at * row, row);
    }
}

// ---- figures and pages ----

// In the order of the page.
const figure *const figures[] = {
    &figure_models,     &figure_correlation, &figure_phase,     &figure_trajectory,
    &figure_frames,     &figure_error,       &figure_traversal, &figure_loss,
    &figure_concepts,   &figure_surprise,    &figure_roc,       &figure_uniformity,
    &figure_example,    &figure_paper_1,     &figure_paper_2a,  &figure_paper_2b,
    &figure_paper_3abc, &figure_paper_3d,    &figure_paper_3e,  &figure_routes,
    &figure_motion,     &figure_probe,       &figure_compare,   NULL};

plumb_status figure_render(buffer *out, const figure *entry, figure_kind kind,
                           const plumb_report *report, const report_model *model)
{
    arena mem = {0};
    drawing *canvas = NULL;
    const int64_t height = (int64_t)ceil(entry->height(report, model));
    const drawing_color paper = drawing_rgb(PALETTE_PAPER);
    plumb_status st = kind == FIGURE_PNG ? canvas_create(&canvas, FIGURE_WIDTH, height, paper)
                      : kind == FIGURE_SVG
                          ? svg_create(&canvas, FIGURE_WIDTH, height, paper)
                          : svg_create_inline(&canvas, FIGURE_WIDTH, height, entry->title);
    if (!st) st = entry->draw(canvas, &mem, report, model);
    if (!st) st = canvas->finish(out, canvas);
    if (canvas) canvas->free(canvas);
    arena_clear(&mem);
    return st;
}

// Finds the first model that has the data of a figure. Returns false if none has. For a figure of
// all models *out is NULL.
static bool find_drawable_model(const report_model **out, const plumb_report *report,
                                const figure *entry)
{
    *out = NULL;
    if (entry->all) return entry->height(report, NULL) > 0;
    for (const report_model *model = report->first; model; model = model->next)
        if (entry->height(report, model) > 0) {
            *out = model;
            return true;
        }
    return false;
}

int64_t plumb_report_figure_count(const plumb_report *report)
{
    if (!report) return 0;
    const report_model *model;
    int64_t n = 0;
    for (int i = 0; figures[i]; i++)
        n += !figures[i]->on_request && find_drawable_model(&model, report, figures[i]);
    return n;
}

const char *plumb_report_figure_name(const plumb_report *report, int64_t index)
{
    if (!report) return NULL;
    const report_model *model;
    for (int i = 0; figures[i]; i++)
        if (!figures[i]->on_request && find_drawable_model(&model, report, figures[i]) && !index--)
            return figures[i]->name;
    return NULL;
}

const char *plumb_figure_name(int64_t index, const char **title)
{
    if (index < 0 || index >= (int64_t)(sizeof figures / sizeof *figures) - 1) return NULL;
    if (title) *title = figures[index]->title;
    return figures[index]->name;
}

// Draws the figure of this name of the first model that has the data.
static plumb_status draw_figure(buffer *out, const plumb_report *report, const char *name,
                                figure_kind kind)
{
    const report_model *model;
    char list[512] = "";
    for (int i = 0; figures[i]; i++) {
        const bool drawable = find_drawable_model(&model, report, figures[i]);
        if (!strcmp(figures[i]->name, name) && drawable)
            return figure_render(out, figures[i], kind, report, model);
        const size_t used = strlen(list);
        if (drawable)
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", figures[i]->name);
    }
    // A known name without data and an unknown name have different messages.
    for (int i = 0; figures[i]; i++)
        if (!strcmp(figures[i]->name, name))
            return fail(PLUMB_EVALUE, "the data for figure \"%s\" are missing; available: %s", name,
                        *list ? list : "none");
    return fail(PLUMB_EVALUE, "no figure \"%s\"; available: %s", name, *list ? list : "none");
}

// Writes a file atomically.
static plumb_status write_bytes(const char *path, const buffer *bytes)
{
    if (bytes->failed) return fail(PLUMB_EMEMORY, "%s: out of memory", path);
    return output_file_write_all(path, bytes->data, bytes->size);
}

plumb_status plumb_report_save_figure(plumb_report *report, const char *name, const char *path)
{
    REQUIRE_ARGUMENT(report);
    REQUIRE_ARGUMENT(name);
    REQUIRE_ARGUMENT(path);
    const char *suffix = strrchr(path, '.');
    const bool svg = suffix && !strcasecmp(suffix, ".svg");
    if (!svg && !(suffix && !strcasecmp(suffix, ".png")))
        return fail(PLUMB_EFILE, "%s: the name ends in neither .svg nor .png", path);
    buffer bytes = {0};
    plumb_status st = draw_figure(&bytes, report, name, svg ? FIGURE_SVG : FIGURE_PNG);
    if (!st) st = write_bytes(path, &bytes);
    buffer_clear(&bytes);
    return st;
}

plumb_status plumb_report_figure_svg(const char **out, plumb_report *report, const char *name)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(report);
    REQUIRE_ARGUMENT(name);
    buffer_reset(&report->text);
    plumb_status st = draw_figure(&report->text, report, name, FIGURE_SVG);
    // The text ends with a zero byte.
    if (!st) buffer_put(&report->text, "", 1);
    if (!st && report->text.failed) st = fail(PLUMB_EMEMORY, "out of memory for a figure");
    if (!st) *out = (const char *)report->text.data;
    return st;
}

plumb_status plumb_report_save(plumb_report *report, const char *path)
{
    REQUIRE_ARGUMENT(report);
    REQUIRE_ARGUMENT(path);
    buffer bytes = {0};
    if (!report->first) return fail(PLUMB_EVALUE, "%s: the report has no model", path);
    plumb_status st = html_page_write(&bytes, report);
    if (!st) st = write_bytes(path, &bytes);
    buffer_clear(&bytes);
    return st;
}
