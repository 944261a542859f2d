// SPDX-License-Identifier: MIT
// Tuple by tuple through a file: bytes are compared at once, features kept for the classifiers.
#include "plumb/audit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "measures/surprise/shortcut_classifier.h"
#include "worlds/rooms/splice.h"

enum { CLIPS = 4, FEWEST = 8 };

void plumb_audit_options_init(plumb_audit_options *options, size_t size)
{
    const plumb_audit_options defaults = {
        .size = sizeof(plumb_audit_options), .judged = 500, .bootstrap = 2000, .seed = 1};
    options_init(options, size, &defaults, sizeof defaults);
}

typedef struct work {
    arena mem;
    plumb_dataset *probes;
    const char *name; // of the pictures
    plumb_audit_options opt;
    int64_t height, width, channels;
    float *frame, *pair; // (judged, 4, steps or steps - 1, ...)
    uint8_t *scratch;
} work;

static plumb_status read_frames(plumb_array *out, const work *w, int64_t item)
{
    char shape[256];
    const plumb_status st = plumb_dataset_read_field(out, w->probes, item, w->name);
    if (st) return st;
    if (out->dtype == PLUMB_UINT8 && out->ndim == 5 && out->shape[0] == CLIPS &&
        out->shape[1] > 1 && plumb_array_count(out) > 0)
        return PLUMB_OK;
    return fail(PLUMB_ESHAPE,
                "\"%s\" of an item is %s of %s; a tuple is bytes, (4, steps, height, width, "
                "channels), two possible clips and then two impossible ones",
                w->name, plumb_array_shape_string(shape, sizeof shape, out),
                plumb_dtype_name(out->dtype));
}

static void compare(plumb_audit_splice *out, const plumb_array *clips, int64_t tuple)
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

// An array that goes with the pictures, if it is there and of tuples.
static plumb_status compare_also(plumb_audit_splice *out, work *w, const char *name, int64_t steps,
                                 int64_t tuple)
{
    plumb_array a;
    if (!plumb_dataset_has_field(w->probes, name) || plumb_dataset_is_shared(w->probes, name))
        return PLUMB_OK;
    const plumb_status st = plumb_dataset_read_field(&a, w->probes, tuple, name);
    if (st) return st;
    if (a.ndim < 3 || a.shape[0] != CLIPS || a.shape[1] != steps || plumb_array_count(&a) < 1)
        return fail(PLUMB_ESHAPE, "\"%s\" of an item is not of four clips of %lld frames", name,
                    (long long)steps);
    out->there = true;
    compare(out, &a, tuple);
    return PLUMB_OK;
}

// Do the impossible clips show nothing but the possible ones?
static bool is_idle(const plumb_array *clips)
{
    const size_t half = (size_t)plumb_array_count(clips) / 2, one = half / 2;
    const uint8_t *x = clips->data;
    return !memcmp(x, x + half, half) ||
           (!memcmp(x, x + half + one, one) && !memcmp(x + one, x + half, one));
}

static void describe(work *w, const plumb_array *clips, int64_t place)
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

static plumb_status prepare(plumb_audit *a, work *w)
{
    plumb_array first;
    a->tuples = plumb_dataset_item_count(w->probes);
    if (!a->tuples) return fail(PLUMB_EFORMAT, "there is no tuple");
    w->name = plumb_dataset_has_field(w->probes, "frames") ? "frames" : "truth";
    const plumb_status st = read_frames(&first, w, 0);
    if (st) return st;
    a->steps = first.shape[1];
    w->height = first.shape[2];
    w->width = first.shape[3];
    w->channels = first.shape[4];
    a->judged = a->tuples < w->opt.judged ? a->tuples : w->opt.judged;
    if (a->judged < FEWEST) a->judged = 0;
    const int64_t clips = a->judged * CLIPS;
    w->frame = ARENA_ALLOC(&w->mem, float, clips * a->steps * SHORTCUT_FRAME);
    w->pair = ARENA_ALLOC(&w->mem, float, clips *(a->steps - 1) * SHORTCUT_PAIR);
    w->scratch = arena_alloc(&w->mem, w->height * w->width, (size_t)w->channels);
    return w->frame && w->pair && w->scratch ? PLUMB_OK : PLUMB_EMEMORY;
}

static plumb_status walk(plumb_audit *a, work *w)
{
    plumb_status st = PLUMB_OK;
    int64_t described = 0;
    for (int64_t i = 0; i < a->tuples && !st; i++) {
        plumb_array clips;
        st = status_check_stop();
        if (!st) st = read_frames(&clips, w, i);
        if (st) return st;
        compare(&a->frames, &clips, i);
        a->idle += is_idle(&clips);
        // Evenly from all: tuple number floor(k tuples / judged).
        if (described < a->judged && described * a->tuples / a->judged == i)
            describe(w, &clips, described++);
        st = compare_also(&a->mask, w, "mask", a->steps, i);
        if (!st) st = compare_also(&a->camera, w, "camera_pose", a->steps, i);
        status_progress((double)(i + 1) / (double)(a->tuples + 1));
    }
    return st;
}

static bool holds(const plumb_audit *a, const plumb_audit_splice *b)
{
    return !b->there || b->pairs_hold == a->tuples;
}

plumb_status plumb_audit_measure(plumb_audit *out, plumb_dataset *probes,
                                 const plumb_audit_options *opt)
{
    const plumb_audit_splice none = {.bad_tuple = -1, .bad_time = -1};
    const double nan = (double)NAN;
    const plumb_audit_classifier blind = {
        .accuracy = nan, .accuracy_ci = {nan, nan}, .tuple_accuracy = nan, .tuple_ci = {nan, nan}};
    plumb_audit a = {.frames = none, .mask = none, .camera = none, .frame = blind, .pair = blind};
    work w = {.probes = probes, .opt = plumb_audit_defaults()};
    plumb_status st = options_resolve(&w.opt, sizeof w.opt, opt, "plumb_audit_options");
    if (st) return st;
    a.frames.there = true;
    if (w.opt.judged < 0 || w.opt.judged > 100000 || w.opt.bootstrap < 0 ||
        w.opt.bootstrap > 1000000)
        return fail(PLUMB_EVALUE, "tuples to judge are 0 to 100000, bootstrap draws 0 to 1000000");
    st = prepare(&a, &w);
    if (!st) st = walk(&a, &w);
    if (!st && a.judged)
        st = shortcut_classifier_evaluate(&a.frame, &w.mem, w.frame, a.judged, a.steps,
                                          SHORTCUT_FRAME, &w.opt);
    if (!st && a.judged)
        st = shortcut_classifier_evaluate(&a.pair, &w.mem, w.pair, a.judged, a.steps - 1,
                                          SHORTCUT_PAIR, &w.opt);
    arena_clear(&w.mem);
    if (st) return st;
    a.clean = holds(&a, &a.frames) && holds(&a, &a.mask) && holds(&a, &a.camera) && !a.idle &&
              !a.frame.leak && !a.pair.leak;
    *out = a;
    return PLUMB_OK;
}

static void put_bytes(plumb_record *r, const char *key, const plumb_audit_splice *b)
{
    if (!b->there) {
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

static void put_eye(plumb_record *r, const char *key, const plumb_audit_classifier *e)
{
    plumb_record_begin_object(r, key);
    plumb_record_set_double(r, "accuracy", e->accuracy);
    plumb_record_set_interval(r, "accuracy_ci", e->accuracy_ci);
    plumb_record_set_double(r, "tuple_accuracy", e->tuple_accuracy);
    plumb_record_set_interval(r, "tuple_ci", e->tuple_ci);
    plumb_record_set_bool(r, "leak", e->leak);
    plumb_record_end(r);
}

plumb_record *plumb_audit_record(const plumb_audit *a, const plumb_audit_options *opt)
{
    plumb_audit_options o = plumb_audit_defaults();
    if (options_resolve(&o, sizeof o, opt, "plumb_audit_options")) return NULL;
    plumb_record *r = plumb_record_create();
    if (!r) return NULL;
    plumb_record_set_bool(r, "clean", a->clean);
    plumb_record_set_int(r, "tuples", a->tuples);
    plumb_record_set_int(r, "steps", a->steps);
    plumb_record_set_int(r, "idle", a->idle);
    plumb_record_begin_object(r, "splice");
    put_bytes(r, "frames", &a->frames);
    put_bytes(r, "mask", &a->mask);
    put_bytes(r, "camera_pose", &a->camera);
    plumb_record_end(r);
    plumb_record_set_int(r, "judged", a->judged);
    put_eye(r, "frame", &a->frame);
    put_eye(r, "pair", &a->pair);
    plumb_record_set_int(r, "bootstrap", o.bootstrap);
    plumb_record_set_int(r, "seed", (int64_t)o.seed);
    plumb_record_set_int(r, "measure_version", PLUMB_AUDIT_VERSION);
    plumb_record_set_string(r, "version", plumb_version());
    return r;
}
