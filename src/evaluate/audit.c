// SPDX-License-Identifier: MIT
// The audit of a probe file, tuple by tuple: the bytes of possible and impossible clips are
// compared at once; features of some tuples are kept for the two classifiers.
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

static plumb_status read_frames(plumb_array *out, const audit_work *w, int64_t item)
{
    char shape[256];
    const plumb_status st = plumb_dataset_read_field(out, w->probes, item, w->name);
    if (st) return st;
    if (out->dtype == PLUMB_UINT8 && out->ndim == 5 && out->shape[0] == CLIPS &&
        out->shape[1] > 1 && plumb_array_count(out) > 0)
        return PLUMB_OK;
    return fail(
        PLUMB_ESHAPE,
        "\"%s\" of an item is %s of %s; expected u1 (4, steps, height, width, channels): two "
        "possible clips, then two impossible ones",
        w->name, plumb_array_shape_string(shape, sizeof shape, out), plumb_dtype_name(out->dtype));
}

static void compare_clips(plumb_audit_splice *out, const plumb_array *clips, int64_t tuple)
{
    const int64_t steps = clips->shape[1];
    const int64_t bytes =
        plumb_array_count(clips) / CLIPS / steps * (int64_t)plumb_dtype_size(clips->dtype);
    const int64_t pair = room_find_splice_error(clips->data, steps, bytes, true);
    out->frames_hold += pair < 0 || room_find_splice_error(clips->data, steps, bytes, false) < 0;
    out->pairs_hold += pair < 0;
    if (pair < 0 || out->bad_tuple >= 0) return;
    out->bad_tuple = tuple;
    out->bad_time = pair;
}

// Compares an array that belongs to the frames, if the file has it per tuple.
static plumb_status compare_optional_field(plumb_audit_splice *out, audit_work *w, const char *name,
                                           int64_t steps, int64_t tuple)
{
    plumb_array a;
    if (!plumb_dataset_has_field(w->probes, name) || plumb_dataset_is_shared(w->probes, name))
        return PLUMB_OK;
    const plumb_status st = plumb_dataset_read_field(&a, w->probes, tuple, name);
    if (st) return st;
    if (a.ndim < 3 || a.shape[0] != CLIPS || a.shape[1] != steps || plumb_array_count(&a) < 1)
        return fail(PLUMB_ESHAPE, "\"%s\" of an item must have four clips of %lld frames", name,
                    (long long)steps);
    out->present = true;
    compare_clips(out, &a, tuple);
    return PLUMB_OK;
}

// Are the impossible clips byte for byte the possible ones, in either order?
static bool is_identical(const plumb_array *clips)
{
    const size_t half = (size_t)plumb_array_count(clips) / 2, one = half / 2;
    const uint8_t *x = clips->data;
    return !memcmp(x, x + half, half) ||
           (!memcmp(x, x + half + one, one) && !memcmp(x + one, x + half, one));
}

static void keep_features(audit_work *w, const plumb_array *clips, int64_t place)
{
    const int64_t steps = clips->shape[1], bytes = w->height * w->width * w->channels;
    const uint8_t *x = clips->data;
    for (int64_t c = 0; c < CLIPS; c++)
        for (int64_t t = 0; t < steps; t++) {
            const uint8_t *frame = x + (c * steps + t) * bytes;
            shortcut_classifier_frame(w->frame + ((place * CLIPS + c) * steps + t) * SHORTCUT_FRAME,
                                      frame, w->height, w->width, w->channels);
            if (t == 0) continue;
            const int64_t at = (place * CLIPS + c) * (steps - 1) + t - 1;
            shortcut_classifier_pair(w->pair + at * SHORTCUT_PAIR, frame - bytes, frame, w->scratch,
                                     w->height, w->width, w->channels);
        }
}

static plumb_status prepare_features(plumb_audit *a, audit_work *w)
{
    plumb_array first;
    a->tuples = plumb_dataset_item_count(w->probes);
    if (!a->tuples) return fail(PLUMB_EFORMAT, "the file has no tuple");
    w->name = plumb_dataset_has_field(w->probes, "frames") ? "frames" : "truth";
    const plumb_status st = read_frames(&first, w, 0);
    if (st) return st;
    a->steps = first.shape[1];
    w->height = first.shape[2];
    w->width = first.shape[3];
    w->channels = first.shape[4];
    a->judged = a->tuples < w->opt.max_tuples ? a->tuples : w->opt.max_tuples;
    if (a->judged < MIN_TUPLES) a->judged = 0;
    const int64_t clips = a->judged * CLIPS;
    w->frame = ARENA_ALLOC(&w->mem, float, clips * a->steps * SHORTCUT_FRAME);
    w->pair = ARENA_ALLOC(&w->mem, float, clips *(a->steps - 1) * SHORTCUT_PAIR);
    w->scratch = arena_alloc(&w->mem, w->height * w->width, (size_t)w->channels);
    return w->frame && w->pair && w->scratch ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status scan_tuples(plumb_audit *a, audit_work *w)
{
    plumb_status st = PLUMB_OK;
    int64_t described = 0;
    for (int64_t i = 0; i < a->tuples && !st; i++) {
        plumb_array clips;
        st = status_check_stop();
        if (!st) st = read_frames(&clips, w, i);
        if (st) return st;
        compare_clips(&a->frames, &clips, i);
        a->identical += is_identical(&clips);
        // The k-th tuple for the classifiers is number floor(k tuples / judged).
        if (described < a->judged && described * a->tuples / a->judged == i)
            keep_features(w, &clips, described++);
        st = compare_optional_field(&a->mask, w, "mask", a->steps, i);
        if (!st) st = compare_optional_field(&a->camera, w, "camera_pose", a->steps, i);
        status_progress((double)(i + 1) / (double)(a->tuples + 1));
    }
    return st;
}

static plumb_status evaluate_classifier(plumb_audit_classifier *out, audit_work *w, const float *x,
                                        int64_t tuples, int64_t times, int64_t width)
{
    shortcut_result found;
    const shortcut_task task = {.x = x,
                                .tuples = tuples,
                                .times = times,
                                .width = width,
                                .resamples = w->opt.resamples,
                                .seed = w->opt.seed};
    const plumb_status st = shortcut_classifier_evaluate(&found, &w->mem, &task);
    if (!st)
        *out = (plumb_audit_classifier){.accuracy = found.accuracy,
                                        .accuracy_ci = found.accuracy_ci,
                                        .tuple_accuracy = found.tuple_accuracy,
                                        .tuple_ci = found.tuple_ci,
                                        .leak = found.leak};
    return st;
}

// Does the splice hold in all tuples, or is the array missing?
static bool is_splice_valid(const plumb_audit *a, const plumb_audit_splice *b)
{
    return !b->present || b->pairs_hold == a->tuples;
}

plumb_status plumb_audit_measure(plumb_audit *out, plumb_dataset *probes,
                                 const plumb_audit_options *opt)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(probes);
    const plumb_audit_splice none = {.bad_tuple = -1, .bad_time = -1};
    const double nan = (double)NAN;
    const plumb_audit_classifier unmeasured = {
        .accuracy = nan, .accuracy_ci = {nan, nan}, .tuple_accuracy = nan, .tuple_ci = {nan, nan}};
    plumb_audit a = {
        .frames = none, .mask = none, .camera = none, .frame = unmeasured, .pair = unmeasured};
    audit_work w = {.probes = probes, .opt = plumb_audit_defaults()};
    plumb_status st = options_resolve(&w.opt, sizeof w.opt, opt, "plumb_audit_options");
    if (!st) st = options_check_ranges(&audit_option_table, &w.opt);
    if (st) return st;
    a.frames.present = true;
    st = prepare_features(&a, &w);
    if (!st) st = scan_tuples(&a, &w);
    if (!st && a.judged)
        st = evaluate_classifier(&a.frame, &w, w.frame, a.judged, a.steps, SHORTCUT_FRAME);
    if (!st && a.judged)
        st = evaluate_classifier(&a.pair, &w, w.pair, a.judged, a.steps - 1, SHORTCUT_PAIR);
    arena_clear(&w.mem);
    if (st) return st;
    a.clean = is_splice_valid(&a, &a.frames) && is_splice_valid(&a, &a.mask) &&
              is_splice_valid(&a, &a.camera) && !a.identical && !a.frame.leak && !a.pair.leak;
    *out = a;
    return PLUMB_OK;
}

static void put_splice(plumb_record *r, const char *key, const plumb_audit_splice *b)
{
    if (!b->present) {
        plumb_record_set_null(r, key);
        return;
    }
    plumb_record_begin_object(r, key);
    plumb_record_set_int(r, "frames_hold", b->frames_hold);
    plumb_record_set_int(r, "pairs_hold", b->pairs_hold);
    if (b->bad_tuple < 0) plumb_record_set_null(r, "first_bad");
    else plumb_record_set_ints(r, "first_bad", (int64_t[]){b->bad_tuple, b->bad_time}, 2);
    plumb_record_end(r);
}

static void put_classifier(plumb_record *r, const char *key, const plumb_audit_classifier *e)
{
    plumb_record_begin_object(r, key);
    plumb_record_set_double(r, "accuracy", e->accuracy);
    plumb_record_set_interval(r, "accuracy_ci", e->accuracy_ci);
    plumb_record_set_double(r, "tuple_accuracy", e->tuple_accuracy);
    plumb_record_set_interval(r, "tuple_ci", e->tuple_ci);
    plumb_record_set_bool(r, "leak", e->leak);
    plumb_record_end(r);
}

void plumb_audit_record(plumb_record *r, const plumb_audit *a, const plumb_audit_options *options)
{
    if (!r || !a) return;
    plumb_audit_options opt = plumb_audit_defaults();
    if (options_resolve(&opt, sizeof opt, options, "plumb_audit_options")) return;
    plumb_record_set_bool(r, "clean", a->clean);
    plumb_record_set_int(r, "tuples", a->tuples);
    plumb_record_set_int(r, "steps", a->steps);
    plumb_record_set_int(r, "idle", a->identical);
    plumb_record_begin_object(r, "splice");
    put_splice(r, "frames", &a->frames);
    put_splice(r, "mask", &a->mask);
    put_splice(r, "camera_pose", &a->camera);
    plumb_record_end(r);
    plumb_record_set_int(r, "judged", a->judged);
    put_classifier(r, "frame", &a->frame);
    put_classifier(r, "pair", &a->pair);
    plumb_record_set_int(r, "bootstrap", opt.resamples);
    plumb_record_set_int(r, "seed", (int64_t)opt.seed);
    plumb_record_set_int(r, "measure_version", PLUMB_AUDIT_VERSION);
    plumb_record_set_string(r, "version", plumb_version());
}

void plumb_audit_clear(plumb_audit *result)
{
    if (result) *result = (plumb_audit){0};
}
