// SPDX-License-Identifier: MIT
// Evaluation of a video model: its surprise at probes, tuples of two possible and two impossible
// clips.
//
// Probes are predicted a few at a time. Only an error per frame and a feature per clip are kept, so
// memory does not bound their number.
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "dataset/video_load.h"
#include "evaluate/baselines.h"
#include "evaluate/evaluate.h"
#include "evaluate/match.h"
#include "evaluate/probe_source.h"
#include "plumb/file.h"

// 64 tuples at a time limit the memory for frames; fewer would prepare the model more often.
enum { TUPLES_AT_ONCE = 64, MAX_SOURCES = 64 };

static const char *const baseline_names[] = {"copy", "linear", "oracle"};

const char *plumb_baseline_name(plumb_baseline baseline)
{
    return baseline_names[baseline];
}

// Everything that is kept of all tuples.
typedef struct probe_results {
    const evaluation_config *config;
    trained_model *trained;
    trained_model naive;
    bool has_naive;
    arena mem;
    probe_source source[MAX_SOURCES];
    int64_t sources, tuples;
    int64_t judged;              // tuples that count; those of more concepts follow
    int64_t steps;               // predicted frames, one less than of a clip
    double *error, *naive_error; // (tuples, 4, steps)
    double *baseline_error[PLUMB_BASELINE_COUNT]; // (tuples, 4, steps)
    float *feature;                               // (tuples, 4, features)
    double *motion;                               // (tuples, 4, 2)
    uint8_t *concept;                             // (tuples, PROBE_SOURCE_NAME_SIZE)
    uint8_t *frames, *mask;                       // of the tuples at work
    video_set free_clips;
} probe_results;

// ---- input ----

// All sources must have the frame size of the model and clips of the same length.
static plumb_status check_source(const probe_results *probes, const probe_source *source)
{
    const char *name = source->world ? plumb_world_get_info(source->world)->name : source->path;
    const video_set frames = {
        .height = source->height, .width = source->width, .channels = source->channels};
    const plumb_status st = match_frames(probes->trained, name, &frames);
    if (st == PLUMB_ESHAPE && !source->world && !probes->config->all.resize)
        return fail(st, "%s; larger frames fit with the option resize", plumb_last_error());
    if (st) return st;
    if (source->steps != probes->source[0].steps || source->steps < 3)
        return fail(PLUMB_ESHAPE,
                    "%s: clips of %lld frames; they must be 3 or more, and equal in all", name,
                    (long long)source->steps);
    return PLUMB_OK;
}

// Tuples of a room that training never used.
static void set_room(probe_source *source, const probe_results *probes)
{
    const plumb_evaluation_options *opt = &probes->config->all;
    source->tuples = opt->tuples;
    source->first = VIDEO_TEST_FIRST + opt->first;
    source->seed = (uint64_t)probes->trained->config.data.data_seed;
}

// Concepts that the paper does not have: shown beside the mean of its five, and no part of it.
static const char *const more_rooms[] = {"rooms/support", "rooms/collision"};

// Opens the rooms that are judged where no file is named: the five, and then those of more_rooms.
static void open_rooms(probe_results *probes)
{
    const int64_t image = probes->trained->shape.height;
    while (probe_source_room(&probes->source[probes->sources], probes->sources, image)) {
        set_room(&probes->source[probes->sources++], probes);
        probes->judged += probes->config->all.tuples;
    }
    for (size_t i = 0; i < sizeof more_rooms / sizeof *more_rooms; i++)
        if (probe_source_find(&probes->source[probes->sources], more_rooms[i], image))
            set_room(&probes->source[probes->sources++], probes);
}

// Opens the files of probes, or else the rooms.
static plumb_status open_sources(probe_results *probes)
{
    const plumb_evaluation_options *opt = &probes->config->all;
    plumb_status st = PLUMB_OK;
    if (opt->probe_count > MAX_SOURCES)
        return fail(PLUMB_EVALUE, "%lld files of probes; at most %d", (long long)opt->probe_count,
                    MAX_SOURCES);
    for (int64_t i = 0; i < opt->probe_count && !st; i++) {
        // The name of a room stands for tuples of it.
        probe_source *source = &probes->source[i];
        if (probe_source_find(source, opt->probes[i], probes->trained->shape.height)) {
            set_room(source, probes);
            probes->sources++;
            continue;
        }
        st = probe_source_open(&probes->source[i], opt->probes[i], opt->first, opt->tuples);
        probes->sources += !st;
        if (!st && opt->resize)
            st = probe_source_resize(&probes->source[i], probes->trained->shape.height,
                                     probes->trained->shape.width);
        if (!st && !opt->allow_training_data) st = match_unseen(probes->trained, opt->probes[i]);
    }
    if (!opt->probe_count) open_rooms(probes);
    for (int64_t i = 0; i < probes->sources && !st; i++) {
        probes->tuples += probes->source[i].tuples;
        st = check_source(probes, &probes->source[i]);
    }
    if (opt->probe_count) probes->judged = probes->tuples;
    probes->steps = probes->source[0].steps - 1;
    return st;
}

// A k that the observation sets cannot have is reported before minutes of prediction. A concept may
// be spread over several files, so these are counted together.
static plumb_status check_k(const probe_results *probes)
{
    const plumb_surprise_options *opt = &probes->config->surprise;
    bool any = false, dense = false;
    for (int i = 0; i < PLUMB_SCORER_COUNT; i++) {
        any = any || opt->scorers[i];
        dense = dense || (opt->scorers[i] && i >= PLUMB_SCORER_KNN);
    }
    if (!probes->trained->model.video->features || (any && !dense)) return PLUMB_OK;
    const int64_t tuples =
        probes->config->all.probe_count ? probes->tuples : probes->source[0].tuples;
    int64_t observed = 2 * (int64_t)floor(opt->share * (double)tuples + 0.5);
    if (observed < 2) observed = 2;
    if (opt->k <= observed) return PLUMB_OK;
    return fail(PLUMB_EVALUE, "k is %lld; with %lld observed clips it can be 1 to %lld",
                (long long)opt->k, (long long)observed, (long long)observed);
}

// Free-scene clips that training never used.
static plumb_status load_free_clips(probe_results *probes)
{
    const plumb_evaluation_options *opt = &probes->config->all;
    const run_config_data *data = &probes->trained->config.data;
    const video_set *shape = &probes->trained->shape;
    const trainable_model *model = &probes->trained->model;
    const char *name = opt->world ? opt->world : data->world;
    video_request request = {.seed = (uint64_t)data->data_seed,
                             .first = VIDEO_TEST_FIRST + opt->first,
                             .count = opt->free_clips,
                             .steps = shape->steps,
                             .image = shape->height,
                             .masks = model->video->needs_masks,
                             .threads = opt->threads};
    if (!request.count || !name[0]) return PLUMB_OK;
    plumb_status st = plumb_world_find(&request.world, name);
    if (!st && model->video->needs_masks && !video_has_masks(request.world))
        st = fail(PLUMB_EVALUE, "%s needs object masks, and %s has no masks", model->name, name);
    if (!st) st = video_load_world(&probes->free_clips, &probes->mem, &request);
    return st ? st : match_frames(probes->trained, name, &probes->free_clips);
}

// Allocates what is kept of all tuples, and the frames of those that are predicted at once.
static plumb_status allocate_arrays(probe_results *probes)
{
    const video_set *shape = &probes->trained->shape;
    const int64_t clips = 4 * probes->tuples;
    // (64, 4, steps + 1, height, width)
    const int64_t pixels = 4 * TUPLES_AT_ONCE * (probes->steps + 1) * shape->height * shape->width;
    const bool masks = probes->trained->model.video->needs_masks ||
                       (probes->has_naive && probes->naive.model.video->needs_masks);
    probes->error = ARENA_ALLOC(&probes->mem, double, (clips * probes->steps));
    probes->naive_error =
        ARENA_ALLOC(&probes->mem, double, (probes->has_naive ? clips * probes->steps : 0));
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++)
        if (!(probes->baseline_error[k] =
                  ARENA_ALLOC(&probes->mem, double, (clips * probes->steps))))
            return PLUMB_EMEMORY;
    probes->feature =
        ARENA_ALLOC(&probes->mem, float, (clips * probes->trained->model.video->features));
    probes->motion = ARENA_ALLOC(&probes->mem, double, 2 * clips);
    probes->concept = ARENA_ALLOC(&probes->mem, uint8_t, (probes->tuples * PROBE_SOURCE_NAME_SIZE));
    probes->frames = ARENA_ALLOC(&probes->mem, uint8_t, (pixels * shape->channels));
    if (masks) probes->mask = ARENA_ALLOC(&probes->mem, uint8_t, pixels);
    if (!probes->error || !probes->naive_error || !probes->feature || !probes->motion ||
        !probes->concept || !probes->frames || (masks && !probes->mask))
        return PLUMB_EMEMORY;
    return PLUMB_OK;
}

// ---- prediction ----

// Mean squared and mean absolute difference of neighbouring frames of the clips at work.
static void measure_motion(probe_results *probes, int64_t first, int64_t count)
{
    const video_set *shape = &probes->trained->shape;
    const int64_t frame = shape->height * shape->width * shape->channels,
                  pairs = probes->steps * frame;
    for (int64_t c = 0; c < 4 * count; c++) {
        const uint8_t *x = probes->frames + c * (probes->steps + 1) * frame;
        int64_t square = 0, absolute = 0; // exact, so that equal clips have equal motion
        for (int64_t i = 0; i < pairs; i++) {
            const int off = x[i + frame] - x[i];
            square += off * off;
            absolute += off < 0 ? -off : off;
        }
        double *to = probes->motion + 2 * (4 * first + c);
        to[0] = (double)square / (255.0 * 255.0 * (double)pairs);
        to[1] = (double)absolute / (255.0 * (double)pairs);
    }
}

// Predicts the `count` tuples at work; `first` is the index of the first one.
static plumb_status predict_tuples(probe_results *probes, int64_t first, int64_t count)
{
    const video_set *shape = &probes->trained->shape;
    const trainable_model *model = &probes->trained->model;
    const int64_t frame = shape->height * shape->width * shape->channels, clip = 4 * first;
    model_predict_job job = {.frames = probes->frames,
                             .mask = probes->mask,
                             .count = 4 * count,
                             .steps = probes->steps + 1,
                             .threads = probes->config->all.threads,
                             .error = probes->error + clip * probes->steps,
                             .feature = probes->feature + clip * model->video->features};
    measure_motion(probes, first, count);
    plumb_status st = model->video->predict(model->context, &job);
    if (!st && probes->has_naive) {
        // The naive model gives errors only; features are those of the model.
        job.error = probes->naive_error + clip * probes->steps;
        job.feature = NULL;
        st = probes->naive.model.video->predict(probes->naive.model.context, &job);
    }
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++)
        baseline_errors(probes->baseline_error[k] + clip * probes->steps, (plumb_baseline)k,
                        probes->frames, 4 * count, probes->steps + 1, frame);
    return st;
}

// Predicts all tuples, TUPLES_AT_ONCE at a time, by the model, the naive model and the baselines.
static plumb_status predict_all(probe_results *probes)
{
    plumb_status st = PLUMB_OK;
    int64_t done = 0;
    for (int64_t k = 0; k < probes->sources; k++)
        for (int64_t from = 0; from < probes->source[k].tuples && !st; from += TUPLES_AT_ONCE) {
            const int64_t left = probes->source[k].tuples - from;
            const int64_t count = left < TUPLES_AT_ONCE ? left : TUPLES_AT_ONCE;
            st = status_check_stop();
            if (!st)
                st = probe_source_read(
                    &probes->source[k], from, count, probes->frames, probes->mask,
                    probes->concept + done * PROBE_SOURCE_NAME_SIZE, probes->config->all.threads);
            if (!st) st = predict_tuples(probes, done, count);
            done += count;
            status_progress((double)done / (double)probes->tuples);
        }
    return st;
}

// ---- measures ----

// Tuples that are measured together, `first` to `first + count - 1`.
typedef struct tuple_range {
    int64_t first, count;
} tuple_range;

// (tuples, 4, last).
static plumb_array view_clips(void *data, int64_t tuples, int64_t last, plumb_dtype dtype)
{
    return plumb_array_view(data, dtype, 3, (int64_t[]){tuples, 4, last});
}

// The errors of a frame, which are means over pixels, in the unit of the options.
static double *convert_unit(probe_results *probes, double *error, int64_t count)
{
    const video_set *shape = &probes->trained->shape;
    if (probes->config->surprise.error_unit != PLUMB_SURPRISE_UNIT_SUM || !error) return error;
    double *sum = ARENA_ALLOC(&probes->mem, double, count);
    for (int64_t i = 0; sum && i < count; i++)
        sum[i] = error[i] * (double)(shape->height * shape->width * shape->channels);
    return sum;
}

// The unit as an array of a file.
static plumb_array view_unit(const probe_results *probes)
{
    const bool sum = probes->config->surprise.error_unit == PLUMB_SURPRISE_UNIT_SUM;
    return plumb_array_view((void *)(sum ? "sum" : "mean"), PLUMB_UINT8, 1,
                            (int64_t[]){sum ? 3 : 4});
}

// Measures all scorers on some of the tuples, after saving their arrays if `save` is a path.
static plumb_status measure_surprise(plumb_surprise *out, probe_results *probes, tuple_range part,
                                     const char *save)
{
    const int64_t features = probes->trained->model.video->features, n = part.count;
    const int64_t clip = 4 * part.first, count = 4 * n * probes->steps;
    double *model_error = convert_unit(probes, probes->error + clip * probes->steps, count);
    double *naive_error = probes->naive_error;
    if (probes->has_naive)
        naive_error = convert_unit(probes, probes->naive_error + clip * probes->steps, count);
    if (!model_error || !naive_error) return PLUMB_EMEMORY;
    const plumb_array error = view_clips(model_error, n, probes->steps, PLUMB_FLOAT64);
    const plumb_array naive = view_clips(naive_error, n, probes->steps, PLUMB_FLOAT64);
    const plumb_array error_unit = view_unit(probes);
    const plumb_array motion = view_clips(probes->motion + 2 * clip, n, 2, PLUMB_FLOAT64);
    const plumb_array feature =
        view_clips(probes->feature + clip * features, n, features, PLUMB_FLOAT32);
    const plumb_array concept =
        plumb_array_view(probes->concept + part.first * PROBE_SOURCE_NAME_SIZE, PLUMB_UINT8, 2,
                         (int64_t[]){n, PROBE_SOURCE_NAME_SIZE});
    // The file is input of plumb surprise.
    if (save) {
        const plumb_named_array arrays[] = {{"surprise", error},  {"feature", feature},
                                            {"concept", concept}, {"unit", error_unit},
                                            {"motion", motion},   {"surprise_voe", naive}};
        const plumb_status st = plumb_file_write(save, arrays, probes->has_naive ? 6 : 5, false);
        if (st) return st;
    }
    const plumb_surprise_input in = {.size = sizeof in,
                                     .surprise = &error,
                                     .feature = features ? &feature : NULL,
                                     .surprise_naive = probes->has_naive ? &naive : NULL,
                                     .concepts = &concept,
                                     .error_unit = &error_unit,
                                     .motion = &motion};
    return plumb_surprise_measure(out, &in, &probes->config->surprise);
}

// The baselines are scored on the tuples that were not used as examples of impossible clips.
static plumb_status measure_baselines(plumb_surprise *out, const plumb_surprise *tested,
                                      probe_results *probes, tuple_range part)
{
    const int64_t tuple_size = 4 * probes->steps, n = tested->tested;
    double *error = ARENA_ALLOC(&probes->mem, double, (n * tuple_size));
    uint8_t *names = ARENA_ALLOC(&probes->mem, uint8_t, (n * PROBE_SOURCE_NAME_SIZE));
    if (!error || !names) return PLUMB_EMEMORY;
    plumb_surprise_options opt = probes->config->surprise;
    // Only the scorer plain: baselines have no features.
    memset(opt.scorers, 0, sizeof opt.scorers);
    opt.scorers[PLUMB_SCORER_PLAIN] = true;
    plumb_status st = PLUMB_OK;
    for (int k = 0; k < PLUMB_BASELINE_COUNT && !st; k++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t tuple = part.first + tested->tested_tuple[i];
            memcpy(error + i * tuple_size, probes->baseline_error[k] + tuple * tuple_size,
                   (size_t)tuple_size * sizeof *error);
            memcpy(names + i * PROBE_SOURCE_NAME_SIZE,
                   probes->concept + tuple * PROBE_SOURCE_NAME_SIZE, PROBE_SOURCE_NAME_SIZE);
        }
        double *converted = convert_unit(probes, error, n * tuple_size);
        if (!converted) return PLUMB_EMEMORY;
        const plumb_array surprise = view_clips(converted, n, probes->steps, PLUMB_FLOAT64);
        const plumb_array error_unit = view_unit(probes);
        const plumb_array concept =
            plumb_array_view(names, PLUMB_UINT8, 2, (int64_t[]){n, PROBE_SOURCE_NAME_SIZE});
        const plumb_surprise_input in = {.size = sizeof in,
                                         .surprise = &surprise,
                                         .concepts = &concept,
                                         .error_unit = &error_unit};
        st = plumb_surprise_measure(&out[k], &in, &opt);
    }
    return st;
}

// Mean errors of the possible clips of concept number `concept`, over the tested tuples.
static void average_errors(plumb_evaluation_errors *out, const probe_results *probes,
                           const plumb_surprise *tested, tuple_range part, int64_t concept)
{
    const double *from[1 + PLUMB_BASELINE_COUNT] = {probes->error};
    double sum[1 + PLUMB_BASELINE_COUNT] = {0};
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) from[1 + k] = probes->baseline_error[k];
    for (int64_t i = 0; i < tested->tested; i++) {
        if (tested->concept_of[i] != concept) continue;
        const int64_t tuple = part.first + tested->tested_tuple[i];
        for (int k = 0; k < 1 + PLUMB_BASELINE_COUNT; k++)
            // The possible clips, 0 and 1, come first in a tuple.
            for (int64_t j = 0; j < 2 * probes->steps; j++)
                sum[k] += from[k][tuple * 4 * probes->steps + j];
        out->clips += 2;
    }
    const double all = (double)(out->clips * probes->steps);
    out->model = sum[0] / all;
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) out->baselines[k] = sum[1 + k] / all;
}

// Mean error on free clips, of the model and of the baselines copy and linear.
static plumb_status measure_free_clips(plumb_evaluation_errors *out, probe_results *probes)
{
    const video_set *clips = &probes->free_clips;
    const int64_t count = clips->count, steps = clips->steps - 1;
    const int64_t frame = clips->height * clips->width * clips->channels;
    const trainable_model *model = &probes->trained->model;
    if (!count) return PLUMB_OK;
    double *error = ARENA_ALLOC(&probes->mem, double, (count * steps)), sum[3] = {0};
    if (!error) return PLUMB_EMEMORY;
    const model_predict_job job = {.frames = clips->frames,
                                   .mask = clips->mask,
                                   .count = count,
                                   .steps = clips->steps,
                                   .threads = probes->config->all.threads,
                                   .error = error};
    const plumb_status st = model->video->predict(model->context, &job);
    if (st) return st;
    // k = 0 is the model, 1 and 2 are copy and linear. `error` is used again for each.
    for (int k = 0; k < 3; k++) {
        if (k)
            baseline_errors(error, (plumb_baseline)(k - 1), clips->frames, count, clips->steps,
                            frame);
        for (int64_t i = 0; i < count * steps; i++) sum[k] += error[i] / (double)(count * steps);
    }
    *out = (plumb_evaluation_errors){count, sum[0], {sum[1], sum[2], (double)NAN}};
    return PLUMB_OK;
}

// The errors of each concept on possible clips; NULL if memory is short.
static plumb_evaluation_errors *average_all(arena *keep, const probe_results *probes,
                                            const plumb_surprise *tested, tuple_range part)
{
    plumb_evaluation_errors *out =
        ARENA_ALLOC(keep, plumb_evaluation_errors, tested->concept_count);
    for (int64_t i = 0; out && i < tested->concept_count; i++)
        average_errors(&out[i], probes, tested, part, i);
    return out;
}

// Predicts all probes, then measures.
static plumb_status measure_all(plumb_evaluation_video *out, arena *keep, probe_results *probes)
{
    const tuple_range judged = {0, probes->judged},
                      more = {probes->judged, probes->tuples - probes->judged};
    plumb_status st = predict_all(probes);
    if (!st) st = measure_surprise(&out->surprise, probes, judged, probes->config->all.save);
    if (!st) st = measure_baselines(out->baselines, &out->surprise, probes, judged);
    if (!st && more.count) st = measure_surprise(&out->more, probes, more, NULL);
    if (!st && more.count) st = measure_baselines(out->more_baselines, &out->more, probes, more);
    if (!st) st = measure_free_clips(&out->free_clips, probes);
    if (st) return st;
    out->possible = average_all(keep, probes, &out->surprise, judged);
    out->more_possible = average_all(keep, probes, &out->more, more);
    return out->possible && out->more_possible ? PLUMB_OK : PLUMB_EMEMORY;
}

plumb_status evaluate_video(plumb_evaluation_video *out, arena *keep, trained_model *trained,
                            const evaluation_config *config)
{
    probe_results p = {
        .config = config, .trained = trained, .has_naive = config->all.naive != NULL};
    plumb_status st = PLUMB_OK;
    if (p.has_naive) st = trained_model_open_video(&p.naive, config->all.naive);
    if (!st && p.has_naive) st = match_naive(trained, &p.naive);
    if (!st) st = open_sources(&p);
    if (!st) st = check_k(&p);
    if (!st) st = load_free_clips(&p);
    if (!st) st = allocate_arrays(&p);
    if (!st) st = measure_all(out, keep, &p);
    // Closed on failure too.
    for (int64_t i = 0; i < p.sources; i++) probe_source_close(&p.source[i]);
    arena_clear(&p.mem);
    if (p.has_naive) trained_model_close(&p.naive);
    return st;
}

void evaluate_video_clear(plumb_evaluation_video *result)
{
    plumb_surprise_clear(&result->surprise);
    plumb_surprise_clear(&result->more);
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) {
        plumb_surprise_clear(&result->baselines[k]);
        plumb_surprise_clear(&result->more_baselines[k]);
    }
}

// ---- records ----

// The errors of one kind of clips.
static void record_errors(plumb_record *record, const char *name,
                          const plumb_evaluation_errors *errors)
{
    if (!errors->clips) return;
    plumb_record_begin_object(record, name);
    plumb_record_set_int(record, "clips", errors->clips);
    plumb_record_set_double(record, "model", errors->model);
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++)
        if (isfinite(errors->baselines[k]))
            plumb_record_set_double(record, baseline_names[k], errors->baselines[k]);
    plumb_record_end(record);
}

// The two numbers of the published tables for every scorer, of one concept or of all (-1).
static void record_scorers(plumb_record *record, const char *name, const plumb_surprise *m,
                           int64_t concept)
{
    plumb_record_begin_object(record, name);
    for (int k = 0; k < PLUMB_SCORER_COUNT; k++) {
        const plumb_surprise_score *score = &m->scorers[k];
        if (!score->measured) continue;
        const plumb_surprise_metrics *one = concept < 0 ? &score->all : &score->concepts[concept];
        plumb_record_begin_object(record, plumb_scorer_name((plumb_scorer)k));
        plumb_record_set_double(record, "accuracy", one->accuracy);
        plumb_record_set_interval(record, "accuracy_ci", one->accuracy_ci);
        plumb_record_set_double(record, "relative_surprise", one->relative_surprise);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

// One entry per concept, with the scorers of each, and with its errors unless they are NULL.
static void record_concepts(plumb_record *record, const char *name, const plumb_surprise *m,
                            const plumb_evaluation_errors *possible)
{
    plumb_record_begin_array(record, name);
    for (int64_t i = 0; i < m->concept_count; i++) {
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", m->concept_names[i]);
        if (possible) record_errors(record, "mse", &possible[i]);
        record_scorers(record, "scorers", m, i);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}

void evaluate_video_record(plumb_record *record, const plumb_evaluation_video *result,
                           const evaluation_config *config)
{
    const plumb_surprise *m = &result->surprise, *more = &result->more;
    plumb_record_begin_object(record, "mse");
    record_errors(record, "free", &result->free_clips);
    for (int64_t i = 0; i < m->concept_count; i++)
        record_errors(record, m->concept_names[i], &result->possible[i]);
    plumb_record_end(record);
    record_concepts(record, "concepts", m, NULL);
    // No part of "overall" and "surprise".
    if (more->concept_count) record_concepts(record, "more_concepts", more, result->more_possible);
    record_scorers(record, "overall", m, -1);
    plumb_record_begin_object(record, "surprise");
    plumb_surprise_record(record, m, &config->surprise);
    plumb_record_end(record);
    plumb_record_begin_object(record, "references");
    for (int k = 0; k < PLUMB_BASELINE_COUNT; k++) {
        plumb_record_begin_object(record, baseline_names[k]);
        plumb_surprise_record(record, &result->baselines[k], &config->surprise);
        plumb_record_end(record);
    }
    plumb_record_end(record);
}
