// SPDX-License-Identifier: MIT
// The audit of a probe file, in one pass over its tuples: the bytes of possible and impossible
// clips are compared, and features of some tuples are kept. Then two classifiers are trained and
// tested on the features. Each tuple is read once, so the size of the file is not limited by
// memory.
#include "plumb/audit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "evaluate/options.h"
#include "measures/surprise/shortcut_classifier.h"
#include "worlds/rooms/splice.h"

// With fewer than MIN_TUPLES tuples the classifiers are left out.
enum { CLIPS = 4, MIN_TUPLES = 8 };

typedef struct audit_work {
    arena mem;
    plumb_dataset *probes;
    const char *name; // of the array of frames
    plumb_audit_options opt;
    int64_t height, width, channels;
    float *frame, *pair; // (judged, 4, steps or steps - 1, features)
    uint8_t *scratch;
} audit_work;

// Reads a tuple and checks its shape: bytes (4, steps, height, width, channels).
static plumb_status read_frames(plumb_array *out, const audit_work *work, int64_t item)
{
    char shape[256];
    const plumb_status st = plumb_dataset_read_field(out, work->probes, item, work->name);
    if (st) return st;
    // Two frames at least, for the classifier of pairs.
    if (out->dtype == PLUMB_UINT8 && out->ndim == 5 && out->shape[0] == CLIPS &&
        out->shape[1] > 1 && plumb_array_count(out) > 0)
        return PLUMB_OK;
    return fail(
        PLUMB_ESHAPE,
        "\"%s\" of an item is %s of %s; expected u1 (4, steps, height, width, channels): two "
        "possible clips, then two impossible ones",
        work->name, plumb_array_shape_string(shape, sizeof shape, out),
        plumb_dtype_name(out->dtype));
}

// Counts a tuple whose frames, or pairs of frames, are equal at every time, and remembers the first
// in which they are not.
static void compare_clips(plumb_audit_splice *out, const plumb_array *clips, int64_t tuple)
{
    const int64_t steps = clips->shape[1];
    const int64_t bytes =
        plumb_array_count(clips) / CLIPS / steps * (int64_t)plumb_dtype_size(clips->dtype);
    // If pairs of consecutive frames match, single frames match too.
    const int64_t pair = room_find_splice_error(clips->data, steps, bytes, true);
    out->frames_hold += pair < 0 || room_find_splice_error(clips->data, steps, bytes, false) < 0;
    out->pairs_hold += pair < 0;
    if (pair < 0 || out->bad_tuple >= 0) return;
    out->bad_tuple = tuple;
    out->bad_time = pair;
}

// Compares an array that belongs to the frames, if the file has it per tuple.
static plumb_status compare_optional_field(plumb_audit_splice *out, audit_work *work,
                                           const char *name, int64_t steps, int64_t tuple)
{
    plumb_array array;
    if (!plumb_dataset_has_field(work->probes, name) || plumb_dataset_is_shared(work->probes, name))
        return PLUMB_OK;
    const plumb_status st = plumb_dataset_read_field(&array, work->probes, tuple, name);
    if (st) return st;
    if (array.ndim < 3 || array.shape[0] != CLIPS || array.shape[1] != steps ||
        plumb_array_count(&array) < 1)
        return fail(PLUMB_ESHAPE, "\"%s\" of an item must have four clips of %lld frames", name,
                    (long long)steps);
    out->present = true;
    compare_clips(out, &array, tuple);
    return PLUMB_OK;
}

// True if the impossible clips are equal to the possible ones, in either order.
static bool is_identical(const plumb_array *clips)
{
    const size_t half = (size_t)plumb_array_count(clips) / 2, one = half / 2;
    const uint8_t *x = clips->data;
    return !memcmp(x, x + half, half) ||
           (!memcmp(x, x + half + one, one) && !memcmp(x + one, x + half, one));
}

// Computes the features of every frame and of every pair of consecutive frames of a tuple.
static void keep_features(audit_work *work, const plumb_array *clips, int64_t place)
{
    const int64_t steps = clips->shape[1], bytes = work->height * work->width * work->channels;
    const uint8_t *x = clips->data;
    for (int64_t c = 0; c < CLIPS; c++)
        for (int64_t t = 0; t < steps; t++) {
            const uint8_t *frame = x + (c * steps + t) * bytes;
            shortcut_classifier_frame(work->frame +
                                          ((place * CLIPS + c) * steps + t) * SHORTCUT_FRAME,
                                      frame, work->height, work->width, work->channels);
            // The first frame has no frame before it.
            if (t == 0) continue;
            const int64_t at = (place * CLIPS + c) * (steps - 1) + t - 1;
            shortcut_classifier_pair(work->pair + at * SHORTCUT_PAIR, frame - bytes, frame,
                                     work->scratch, work->height, work->width, work->channels);
        }
}

// Reads the sizes of the first tuple and allocates the features.
static plumb_status prepare_features(plumb_audit *audit, audit_work *work)
{
    plumb_array first;
    audit->tuples = plumb_dataset_item_count(work->probes);
    if (!audit->tuples) return fail(PLUMB_EFORMAT, "the file has no tuple");
    // Files of predictions call the true frames "truth".
    work->name = plumb_dataset_has_field(work->probes, "frames") ? "frames" : "truth";
    const plumb_status st = read_frames(&first, work, 0);
    if (st) return st;
    audit->steps = first.shape[1];
    work->height = first.shape[2];
    work->width = first.shape[3];
    work->channels = first.shape[4];
    audit->judged = audit->tuples < work->opt.max_tuples ? audit->tuples : work->opt.max_tuples;
    if (audit->judged < MIN_TUPLES) audit->judged = 0;
    const int64_t clips = audit->judged * CLIPS;
    work->frame = ARENA_ALLOC(&work->mem, float, clips * audit->steps * SHORTCUT_FRAME);
    work->pair = ARENA_ALLOC(&work->mem, float, clips *(audit->steps - 1) * SHORTCUT_PAIR);
    work->scratch = arena_alloc(&work->mem, work->height * work->width, (size_t)work->channels);
    return work->frame && work->pair && work->scratch ? PLUMB_OK : PLUMB_EMEMORY;
}

// The pass over all tuples.
static plumb_status scan_tuples(plumb_audit *audit, audit_work *work)
{
    plumb_status st = PLUMB_OK;
    int64_t described = 0;
    for (int64_t i = 0; i < audit->tuples && !st; i++) {
        plumb_array clips;
        st = status_check_stop();
        if (!st) st = read_frames(&clips, work, i);
        if (st) return st;
        compare_clips(&audit->frames, &clips, i);
        audit->identical += is_identical(&clips);
        // The k-th tuple for the classifiers is number floor(k tuples / judged).
        if (described < audit->judged && described * audit->tuples / audit->judged == i)
            keep_features(work, &clips, described++);
        st = compare_optional_field(&audit->mask, work, "mask", audit->steps, i);
        if (!st) st = compare_optional_field(&audit->camera, work, "camera_pose", audit->steps, i);
        status_progress((double)(i + 1) / (double)(audit->tuples + 1));
    }
    return st;
}

// Trains and tests a classifier on the features x (tuples, 4, times, width).
static plumb_status evaluate_classifier(plumb_audit_classifier *out, audit_work *work,
                                        const float *x, int64_t tuples, int64_t times,
                                        int64_t width)
{
    shortcut_result found;
    const shortcut_task task = {.x = x,
                                .tuples = tuples,
                                .times = times,
                                .width = width,
                                .resamples = work->opt.resamples,
                                .seed = work->opt.seed};
    const plumb_status st = shortcut_classifier_evaluate(&found, &work->mem, &task);
    if (!st)
        *out = (plumb_audit_classifier){.accuracy = found.accuracy,
                                        .accuracy_ci = found.accuracy_ci,
                                        .tuple_accuracy = found.tuple_accuracy,
                                        .tuple_ci = found.tuple_ci,
                                        .leak = found.leak};
    return st;
}

// True if the splice holds in all tuples, or the file does not have the array.
static bool is_splice_valid(const plumb_audit *audit, const plumb_audit_splice *splice)
{
    return !splice->present || splice->pairs_hold == audit->tuples;
}

plumb_status plumb_audit_measure(plumb_audit *out, plumb_dataset *probes,
                                 const plumb_audit_options *opt)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(probes);
    // -1: no bad tuple was found. NaN: not measured.
    const plumb_audit_splice none = {.bad_tuple = -1, .bad_time = -1};
    const double nan = (double)NAN;
    const plumb_audit_classifier unmeasured = {
        .accuracy = nan, .accuracy_ci = {nan, nan}, .tuple_accuracy = nan, .tuple_ci = {nan, nan}};
    plumb_audit audit = {
        .frames = none, .mask = none, .camera = none, .frame = unmeasured, .pair = unmeasured};
    audit_work work = {.probes = probes, .opt = plumb_audit_defaults()};
    plumb_status st = options_resolve(&work.opt, sizeof work.opt, opt, "plumb_audit_options");
    if (!st) st = options_check_ranges(&audit_option_table, &work.opt);
    if (st) return st;
    audit.frames.present = true;
    st = prepare_features(&audit, &work);
    if (!st) st = scan_tuples(&audit, &work);
    if (!st && audit.judged)
        st = evaluate_classifier(&audit.frame, &work, work.frame, audit.judged, audit.steps,
                                 SHORTCUT_FRAME);
    if (!st && audit.judged)
        st = evaluate_classifier(&audit.pair, &work, work.pair, audit.judged, audit.steps - 1,
                                 SHORTCUT_PAIR);
    arena_clear(&work.mem);
    if (st) return st;
    // Clean: every splice holds, no tuple repeats its possible clips, no classifier finds a leak.
    audit.clean = is_splice_valid(&audit, &audit.frames) && is_splice_valid(&audit, &audit.mask) &&
                  is_splice_valid(&audit, &audit.camera) && !audit.identical && !audit.frame.leak &&
                  !audit.pair.leak;
    *out = audit;
    return PLUMB_OK;
}

// null if the file does not have the array.
static void put_splice(plumb_record *record, const char *key, const plumb_audit_splice *splice)
{
    if (!splice->present) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_object(record, key);
    plumb_record_set_int(record, "frames_hold", splice->frames_hold);
    plumb_record_set_int(record, "pairs_hold", splice->pairs_hold);
    if (splice->bad_tuple < 0) plumb_record_set_null(record, "first_bad");
    else
        plumb_record_set_ints(record, "first_bad", (int64_t[]){splice->bad_tuple, splice->bad_time},
                              2);
    plumb_record_end(record);
}

static void put_classifier(plumb_record *record, const char *key,
                           const plumb_audit_classifier *classifier)
{
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "accuracy", classifier->accuracy);
    plumb_record_set_interval(record, "accuracy_ci", classifier->accuracy_ci);
    plumb_record_set_double(record, "tuple_accuracy", classifier->tuple_accuracy);
    plumb_record_set_interval(record, "tuple_ci", classifier->tuple_ci);
    plumb_record_set_bool(record, "leak", classifier->leak);
    plumb_record_end(record);
}

void plumb_audit_record(plumb_record *record, const plumb_audit *audit,
                        const plumb_audit_options *options)
{
    if (!record || !audit) return;
    plumb_audit_options opt = plumb_audit_defaults();
    if (options_resolve(&opt, sizeof opt, options, "plumb_audit_options")) return;
    plumb_record_set_bool(record, "clean", audit->clean);
    plumb_record_set_int(record, "tuples", audit->tuples);
    plumb_record_set_int(record, "steps", audit->steps);
    // The key keeps its old name.
    plumb_record_set_int(record, "idle", audit->identical);
    plumb_record_begin_object(record, "splice");
    put_splice(record, "frames", &audit->frames);
    put_splice(record, "mask", &audit->mask);
    put_splice(record, "camera_pose", &audit->camera);
    plumb_record_end(record);
    plumb_record_set_int(record, "judged", audit->judged);
    put_classifier(record, "frame", &audit->frame);
    put_classifier(record, "pair", &audit->pair);
    plumb_record_set_int(record, "bootstrap", opt.resamples);
    plumb_record_set_int(record, "seed", (int64_t)opt.seed);
    plumb_record_set_int(record, "measure_version", PLUMB_AUDIT_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
}

void plumb_audit_clear(plumb_audit *result)
{
    if (result) *result = (plumb_audit){0};
}
