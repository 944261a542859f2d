// SPDX-License-Identifier: MIT
// Shapes are looked at first, all numbers are looked through for NaN, and only then is anything
// computed: the message names the array and the place.
#include "measures/surprise/input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "base/text.h"
#include "math/stats.h"

// Scales x (dims) to unit length; lengths below 1e-12 count as 1e-12, as in PyTorch's normalize.
bool surprise_input_normalise(double *x, int64_t dims)
{
    const double floor = 1e-12;
    double square = 0.0;
    for (int64_t i = 0; i < dims; i++) square += x[i] * x[i];
    if (square < 1e300) {
        const double length = sqrt(square), by = length > floor ? length : floor;
        for (int64_t i = 0; i < dims; i++) x[i] /= by;
        return length < floor;
    }
    // Squares that large overflow: such a row is brought down first.
    double largest = 0.0;
    for (int64_t i = 0; i < dims; i++) largest = fmax(largest, fabs(x[i]));
    square = 0.0;
    for (int64_t i = 0; i < dims; i++) square += (x[i] / largest) * (x[i] / largest);
    for (int64_t i = 0; i < dims; i++) x[i] = x[i] / largest / sqrt(square);
    return false;
}

static plumb_status reject_shape(const plumb_array *array, const char *name, const char *expected)
{
    char shape[256];
    return fail(PLUMB_ESHAPE, "%s is %s; it must be %s", name,
                plumb_array_shape_string(shape, sizeof shape, array), expected);
}

// Checks one array of tuples. Each tuple has 4 clips: 0 and 1 are possible, 2 and 3 impossible.
// (tuples, 4, ...) with at least two and at most `axes` axes, as many tuples as others have.
static plumb_status check_tuple_shape(const plumb_array *array, const char *name,
                                      const char *expected, int least, int most, int64_t tuples)
{
    if (array->ndim < least || array->ndim > most) return reject_shape(array, name, expected);
    char shape[256];
    plumb_array_shape_string(shape, sizeof shape, array);
    if (array->shape[1] != 4)
        return fail(PLUMB_ESHAPE,
                    "%s is %s: a tuple has 4 clips, two possible and two impossible, not %lld",
                    name, shape, (long long)array->shape[1]);
    for (int i = 0; i < array->ndim; i++)
        if (array->shape[i] < 1) return fail(PLUMB_ESHAPE, "%s is %s, which is empty", name, shape);
    if (tuples && array->shape[0] != tuples)
        return fail(PLUMB_ESHAPE, "%s is %s, but there are %lld tuples", name, shape,
                    (long long)tuples);
    return PLUMB_OK;
}

// The array as doubles, all finite.
static plumb_status read_finite(const double **out, arena *mem, const plumb_array *array,
                                const char *name)
{
    const double *x = array_as_doubles(mem, array);
    if (!x) return PLUMB_EMEMORY;
    int64_t bad = 0, first = 0;
    for (int64_t i = 0, n = plumb_array_count(array); i < n; i++)
        if (!isfinite(x[i]) && !bad++) first = i;
    if (bad) return array_reject_nonfinite(array, name, bad, first, "");
    *out = x;
    return PLUMB_OK;
}

// ---- frames ----

enum { BLOCK = 1024, LANES = 4 };

typedef struct frame_pair {
    const plumb_array *truth, *prediction;
    double white[2];
    int64_t frames, pixels, skip; // `skip` frames of the truth have no prediction
    double divisor;               // of the sum over pixels
    double *out;
} frame_pair;

// Sum or mean of (x - y)^2 over the pixels of one frame.
static double frame_surprise(const frame_pair *pair, int64_t x_first, int64_t y_first)
{
    // Integer pixels are divided by their white level, so that both arrays are in 0 to 1. Four
    // partial sums in a fixed order: the result does not depend on the threads.
    double a[BLOCK], b[BLOCK], sum[LANES] = {0.0};
    for (int64_t start = 0; start < pair->pixels; start += BLOCK) {
        const int64_t n = pair->pixels - start < BLOCK ? pair->pixels - start : BLOCK;
        plumb_array_to_double(a, pair->truth, x_first + start, n);
        plumb_array_to_double(b, pair->prediction, y_first + start, n);
        for (int64_t i = 0; i < n; i++) {
            const double off = a[i] / pair->white[0] - b[i] / pair->white[1];
            sum[i % LANES] += off * off;
        }
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) / pair->divisor;
}

// Surprise of every frame of one clip: `item` counts clips, (tuples, 4).
static plumb_status score_clip(void *context, int64_t item, int worker)
{
    (void)worker;
    const frame_pair *pair = context;
    const int64_t x = item * (pair->frames + pair->skip) + pair->skip, y = item * pair->frames;
    for (int64_t t = 0; t < pair->frames; t++)
        pair->out[item * pair->frames + t] =
            frame_surprise(pair, (x + t) * pair->pixels, (y + t) * pair->pixels);
    return PLUMB_OK;
}

// Fails for the values of `array` that are NaN or infinite; PLUMB_OK if all are finite.
static plumb_status reject_nonfinite_pixels(const plumb_array *array, const char *name)
{
    double x[BLOCK];
    int64_t bad = 0, first = 0;
    const int64_t count = plumb_array_count(array);
    for (int64_t start = 0; start < count; start += BLOCK) {
        const int64_t n = count - start < BLOCK ? count - start : BLOCK;
        plumb_array_to_double(x, array, start, n);
        for (int64_t i = 0; i < n; i++)
            if (!isfinite(x[i]) && !bad++) first = start + i;
    }
    return bad ? array_reject_nonfinite(array, name, bad, first, "") : PLUMB_OK;
}

// frame (tuples, 4, frames): the squared error of each predicted frame.
static plumb_status read_frames(surprise_arrays *out, arena *mem, const plumb_surprise_input *in,
                                const plumb_surprise_options *opt)
{
    static const char *expected = "(tuples, 4, frames, height, width, channels)";
    const plumb_array *truth = in->truth, *prediction = in->prediction;
    if (!truth || !prediction)
        return fail(PLUMB_ESHAPE, "%s is given without %s", truth ? "truth" : "prediction",
                    truth ? "prediction" : "truth");
    plumb_status st = check_tuple_shape(truth, "truth", expected, 6, 6, 0);
    if (!st) st = check_tuple_shape(prediction, "prediction", expected, 6, 6, truth->shape[0]);
    if (st) return st;
    char a[256], b[256];
    plumb_array_shape_string(a, sizeof a, truth);
    plumb_array_shape_string(b, sizeof b, prediction);
    for (int i = 3; i < 6; i++)
        if (truth->shape[i] != prediction->shape[i])
            return fail(PLUMB_ESHAPE, "prediction is %s and truth %s: the images differ in size", b,
                        a);
    frame_pair pair = {
        .truth = truth,
        .prediction = prediction,
        .white = {array_white_level(truth->dtype), array_white_level(prediction->dtype)},
        .frames = prediction->shape[2],
        .skip = truth->shape[2] - prediction->shape[2],
        .pixels = truth->shape[3] * truth->shape[4] * truth->shape[5]};
    pair.divisor = opt->error_unit == PLUMB_SURPRISE_UNIT_SUM ? 1.0 : (double)pair.pixels;
    // A model that needs a first frame cannot predict it; any other offset is ambiguous.
    if (pair.skip != 0 && pair.skip != 1)
        return fail(PLUMB_ESHAPE,
                    "prediction is %s and truth %s: it must predict every frame, or every frame "
                    "but the first",
                    b, a);
    if (pair.white[0] == 0.0 || pair.white[1] == 0.0)
        return fail(PLUMB_ESHAPE,
                    "truth is %s and prediction %s: types without a value of white; expected u1, "
                    "u2 or floats",
                    plumb_dtype_name(truth->dtype), plumb_dtype_name(prediction->dtype));
    // Pixels are searched for NaN only if a frame's error is not finite: the search reads the data
    // again.
    const int64_t count = truth->shape[0] * 4;
    pair.out = ARENA_ALLOC(mem, double, count *pair.frames);
    if (!pair.out) return PLUMB_EMEMORY;
    st = parallel_for(count, opt->threads, score_clip, &pair);
    if (st) return st;
    for (int64_t i = 0; i < count * pair.frames; i++)
        if (!isfinite(pair.out[i])) {
            st = reject_nonfinite_pixels(truth, "truth");
            if (!st) st = reject_nonfinite_pixels(prediction, "prediction");
            return st ? st
                      : fail(PLUMB_ENUMERIC,
                             "truth or prediction has values whose squares overflow");
        }
    out->tuples = truth->shape[0];
    out->frames = pair.frames;
    out->frame = pair.out;
    return PLUMB_OK;
}

// ---- frames to clips ----

// One number per clip from one per frame [Lin23]: mean, maximum or sum.
double surprise_reduce_frames(const double *frame, int64_t frames, plumb_surprise_frames how)
{
    double sum = 0.0, greatest = frames ? frame[0] : 0.0;
    for (int64_t t = 0; t < frames; t++) {
        sum += frame[t];
        greatest = fmax(greatest, frame[t]);
    }
    if (how == PLUMB_SURPRISE_FRAMES_MAX) return greatest;
    return how == PLUMB_SURPRISE_FRAMES_SUM || !frames ? sum : sum / (double)frames;
}

// (count, frames) becomes (count).
static const double *reduce_clips(arena *mem, const double *frame, int64_t count, int64_t frames,
                                  plumb_surprise_frames how)
{
    double *out = ARENA_ALLOC(mem, double, count);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = surprise_reduce_frames(frame + i * frames, frames, how);
    return out;
}

// The unit that an array `unit` names.
static plumb_status read_unit(plumb_surprise_unit *out, const plumb_array *error_unit)
{
    const int64_t n = plumb_array_count(error_unit);
    const char *text = error_unit->data;
    const bool is_text = error_unit->dtype == PLUMB_UINT8 && error_unit->ndim == 1;
    if (is_text && n == 3 && !memcmp(text, "sum", 3)) *out = PLUMB_SURPRISE_UNIT_SUM;
    else if (is_text && n == 4 && !memcmp(text, "mean", 4)) *out = PLUMB_SURPRISE_UNIT_MEAN;
    else return fail(PLUMB_EVALUE, "unit is not the text sum or mean, as u1");
    return PLUMB_OK;
}

// How frames are reduced if the options leave it open.
static plumb_surprise_frames choose_reduction(plumb_surprise_unit error_unit)
{
    return error_unit == PLUMB_SURPRISE_UNIT_SUM ? PLUMB_SURPRISE_FRAMES_SUM
                                                 : PLUMB_SURPRISE_FRAMES_MEAN;
}

// Surprise comes from the caller, per clip or per frame, or from pixels. `maximum` exists only if
// there are frames.
static plumb_status read_surprise(surprise_arrays *out, arena *mem, const plumb_surprise_input *in,
                                  const plumb_surprise_options *opt)
{
    static const char *expected = "(tuples, 4) or (tuples, 4, frames)";
    plumb_status st;
    if (in->surprise) {
        const plumb_array *surprise = in->surprise;
        const double *x = NULL;
        st = check_tuple_shape(surprise, "surprise", expected, 2, 3, 0);
        if (!st) st = read_finite(&x, mem, surprise, "surprise");
        if (!st && in->error_unit) st = read_unit(&out->error_unit, in->error_unit);
        if (st) return st;
        out->tuples = surprise->shape[0];
        if (surprise->ndim == 2) {
            out->clip = x;
            if (opt->frames == PLUMB_SURPRISE_FRAMES_AUTO)
                out->joined = choose_reduction(out->error_unit);
            return PLUMB_OK;
        }
        out->frames = surprise->shape[2];
        out->frame = x;
    } else if (in->truth || in->prediction) {
        out->error_unit = opt->error_unit;
        st = read_frames(out, mem, in, opt);
        if (st) return st;
    } else {
        return fail(PLUMB_ESHAPE, "neither surprise nor truth and prediction are given");
    }
    if (opt->frames == PLUMB_SURPRISE_FRAMES_AUTO) out->joined = choose_reduction(out->error_unit);
    out->clip = reduce_clips(mem, out->frame, out->tuples * 4, out->frames, out->joined);
    out->maximum =
        reduce_clips(mem, out->frame, out->tuples * 4, out->frames, PLUMB_SURPRISE_FRAMES_MAX);
    return out->clip && out->maximum ? PLUMB_OK : PLUMB_EMEMORY;
}

// Surprise of the model that was trained on impossible clips, for the scorer naive.
static plumb_status read_naive(surprise_arrays *out, arena *mem, const plumb_array *naive)
{
    const double *x = NULL;
    plumb_status st = check_tuple_shape(naive, "surprise_voe", "(tuples, 4) or (tuples, 4, frames)",
                                        2, 3, out->tuples);
    if (!st) st = read_finite(&x, mem, naive, "surprise_voe");
    if (st) return st;
    out->naive =
        naive->ndim == 2 ? x : reduce_clips(mem, x, out->tuples * 4, naive->shape[2], out->joined);
    return out->naive ? PLUMB_OK : PLUMB_EMEMORY;
}

// ---- motion ----

// Mean squared and mean absolute difference of neighbouring frames of one clip.
static plumb_status measure_clip_motion(void *context, int64_t item, int worker)
{
    (void)worker;
    const frame_pair *pair = context;
    const int64_t frames = pair->frames, pixels = pair->pixels, first = item * frames * pixels;
    double a[BLOCK], b[BLOCK], square = 0.0, absolute = 0.0;
    for (int64_t start = 0; start < (frames - 1) * pixels; start += BLOCK) {
        const int64_t left = (frames - 1) * pixels - start, n = left < BLOCK ? left : BLOCK;
        plumb_array_to_double(a, pair->truth, first + start, n);
        plumb_array_to_double(b, pair->truth, first + start + pixels, n);
        for (int64_t i = 0; i < n; i++) {
            const double off = (a[i] - b[i]) / pair->white[0];
            square += off * off;
            absolute += fabs(off);
        }
    }
    const double count = (double)((frames - 1) * pixels);
    pair->out[2 * item] = square / count;
    pair->out[2 * item + 1] = absolute / count;
    return PLUMB_OK;
}

// Motion that is given, or else that of the true frames.
static plumb_status read_motion(surprise_arrays *out, arena *mem, const plumb_surprise_input *in,
                                int threads)
{
    const plumb_array *motion = in->motion, *truth = in->truth;
    if (motion) {
        plumb_status st = check_tuple_shape(motion, "motion", "(tuples, 4) or (tuples, 4, numbers)",
                                            2, 3, out->tuples);
        if (!st) st = read_finite(&out->motion, mem, motion, "motion");
        out->motion_numbers = motion->ndim > 2 ? motion->shape[2] : 1;
        if (!st && out->motion_numbers > 8)
            st = fail(PLUMB_ESHAPE, "motion has %lld numbers per clip; at most 8",
                      (long long)out->motion_numbers);
        return st;
    }
    if (!truth || in->surprise || truth->shape[2] < 2) return PLUMB_OK;
    frame_pair pair = {.truth = truth,
                       .white = {array_white_level(truth->dtype)},
                       .frames = truth->shape[2],
                       .pixels = truth->shape[3] * truth->shape[4] * truth->shape[5],
                       .out = ARENA_ALLOC(mem, double, out->tuples * 8)};
    if (!pair.out) return PLUMB_EMEMORY;
    out->motion = pair.out;
    out->motion_numbers = 2;
    return parallel_for(4 * out->tuples, threads, measure_clip_motion, &pair);
}

// ---- features ----

// Rows (count, dims), normalised in a copy: the arrays of the caller are never changed.
static plumb_status read_rows(const double **out, arena *mem, const plumb_array *array,
                              const char *name, int64_t dims, bool normalise, int64_t *zeros)
{
    const double *x = NULL;
    plumb_status st = read_finite(&x, mem, array, name);
    if (st) return st;
    *out = x;
    if (!normalise) return PLUMB_OK;
    const int64_t count = plumb_array_count(array);
    double *copy = (double *)x;
    if (x == array->data) { // the caller's
        copy = ARENA_ALLOC(mem, double, count);
        if (!copy) return PLUMB_EMEMORY;
        memcpy(copy, x, (size_t)count * sizeof *copy);
    }
    for (int64_t r = 0; r < count / dims; r++)
        *zeros += surprise_input_normalise(copy + r * dims, dims);
    *out = copy;
    return PLUMB_OK;
}

// feature (tuples, 4, d) of the tested clips and observation (N, d) of impossible clips.
static plumb_status read_features(surprise_arrays *out, arena *mem, const plumb_surprise_input *in,
                                  const plumb_surprise_options *opt)
{
    const plumb_array *feature = in->feature, *observation = in->observation;
    if (!feature && observation)
        return fail(PLUMB_ESHAPE,
                    "observation is given without feature, the features of the clips");
    if (!feature) return PLUMB_OK;
    plumb_status st = check_tuple_shape(feature, "feature", "(tuples, 4, d)", 3, 3, out->tuples);
    if (st) return st;
    out->dims = feature->shape[2];
    if (observation) {
        char shape[256];
        plumb_array_shape_string(shape, sizeof shape, observation);
        if (observation->ndim != 2 || observation->shape[0] < 1)
            return fail(PLUMB_ESHAPE, "observation is %s; it must be (N, d)", shape);
        if (observation->shape[1] != out->dims)
            return fail(PLUMB_ESHAPE, "observation is %s, but features have %lld dimensions", shape,
                        (long long)out->dims);
        out->observed_count = observation->shape[0];
        st = read_rows(&out->observed, mem, observation, "observation", out->dims, opt->normalise,
                       &out->zero_features);
    }
    if (!st)
        st = read_rows(&out->feature, mem, feature, "feature", out->dims, opt->normalise,
                       &out->zero_features);
    return st;
}

// ---- concepts ----

enum { MAX_NAME_LENGTH = 255 };

// Code points as UTF-8, up to the first zero.
static void encode_utf8(char *out, const double *code, int64_t length)
{
    size_t used = 0;
    for (int64_t i = 0; i < length && code[i] > 0.0 && used + 4 < MAX_NAME_LENGTH; i++) {
        const uint32_t c = code[i] < 1114112.0 ? (uint32_t)code[i] : 0xfffd;
        if (c < 0x80) {
            out[used++] = (char)c;
        } else if (c < 0x800) {
            out[used++] = (char)(0xc0 | c >> 6);
            out[used++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            out[used++] = (char)(0xe0 | c >> 12);
            out[used++] = (char)(0x80 | (c >> 6 & 63));
            out[used++] = (char)(0x80 | (c & 63));
        } else {
            out[used++] = (char)(0xf0 | c >> 18);
            out[used++] = (char)(0x80 | (c >> 12 & 63));
            out[used++] = (char)(0x80 | (c >> 6 & 63));
            out[used++] = (char)(0x80 | (c & 63));
        }
    }
    out[used] = 0;
}

// Names of concepts: integers, or text as bytes or as UCS-4 (the string type of NumPy).
typedef struct concept_reader {
    const double *x;
    int64_t length; // of a row
    bool text;
    const char *array; // its name
} concept_reader;

static plumb_status open_concepts(concept_reader *out, arena *mem, const plumb_array *concepts,
                                  int64_t rows, const char *array)
{
    const bool text =
        concepts->ndim == 2 && (concepts->dtype == PLUMB_UINT8 || concepts->dtype == PLUMB_UINT32);
    if ((concepts->ndim != 1 && !text) || concepts->shape[0] != rows) {
        char expected[96];
        snprintf(expected, sizeof expected, "(%lld,), one number or text per row", (long long)rows);
        return reject_shape(concepts, array, expected);
    }
    *out = (concept_reader){.length = text ? concepts->shape[1] : 1, .text = text, .array = array};
    return read_finite(&out->x, mem, concepts, array);
}

static plumb_status read_name(char name[MAX_NAME_LENGTH + 1], const concept_reader *from, int64_t i)
{
    const double *x = from->x + i * from->length;
    if (from->text) encode_utf8(name, x, from->length);
    else if (*x == rint(*x)) text_format(name, MAX_NAME_LENGTH + 1, "%.0f", *x);
    else
        return fail(PLUMB_EVALUE, "%s of row %lld is %g, expected an integer", from->array,
                    (long long)i, *x);
    return PLUMB_OK;
}

static int64_t find_concept(const surprise_arrays *arrays, const char *name)
{
    int64_t at = 0;
    while (at < arrays->concepts && strcmp(arrays->concept_name[at], name) != 0) at++;
    return at;
}

// concept_of (tuples): concepts are numbered in the order in which they first appear.
static plumb_status read_concepts(surprise_arrays *out, arena *mem, const plumb_array *concepts)
{
    enum { MAX_CONCEPTS = 1000 };
    concept_reader reader;
    plumb_status st = open_concepts(&reader, mem, concepts, out->tuples, "concept");
    int64_t *of = ARENA_ALLOC(mem, int64_t, out->tuples);
    out->concept_name = ARENA_ALLOC(mem, const char *, MAX_CONCEPTS);
    if (st) return st;
    if (!of || !out->concept_name) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < out->tuples; i++) {
        char name[MAX_NAME_LENGTH + 1];
        st = read_name(name, &reader, i);
        if (st) return st;
        const int64_t at = find_concept(out, name);
        if (at == MAX_CONCEPTS)
            return fail(PLUMB_EVALUE, "concept has more than %d different values", MAX_CONCEPTS);
        if (at == out->concepts) {
            out->concept_name[at] = arena_strdup(mem, name);
            if (!out->concept_name[at]) return PLUMB_EMEMORY;
            out->concepts++;
        }
        of[i] = at;
    }
    out->concept_of = of;
    return PLUMB_OK;
}

// observed_concept (observed): every concept of the tuples must have been observed.
static plumb_status read_observed_concepts(surprise_arrays *out, arena *mem,
                                           const plumb_array *concepts)
{
    concept_reader reader;
    if (!out->observed || !out->concepts)
        return fail(PLUMB_ESHAPE, "observation_concept is given without %s",
                    out->observed ? "concept" : "observation");
    plumb_status st =
        open_concepts(&reader, mem, concepts, out->observed_count, "observation_concept");
    int64_t *of = ARENA_ALLOC(mem, int64_t, out->observed_count),
            *count = ARENA_ALLOC(mem, int64_t, out->concepts);
    if (st) return st;
    if (!of || !count) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < out->observed_count; i++) {
        char name[MAX_NAME_LENGTH + 1];
        st = read_name(name, &reader, i);
        if (st) return st;
        of[i] = find_concept(out, name);
        if (of[i] < out->concepts) count[of[i]]++; // others are of no tuple here
    }
    for (int64_t c = 0; c < out->concepts; c++)
        if (!count[c])
            return fail(PLUMB_EVALUE, "observation_concept has no row of the concept %s",
                        out->concept_name[c]);
    out->observed_concept = of;
    return PLUMB_OK;
}

plumb_status surprise_input_read(surprise_arrays *out, arena *mem, const plumb_surprise_input *in,
                                 const plumb_surprise_options *opt)
{
    *out = (surprise_arrays){.error_unit = PLUMB_SURPRISE_UNIT_GIVEN, .joined = opt->frames};
    plumb_status st = read_surprise(out, mem, in, opt);
    if (!st && in->surprise_naive) st = read_naive(out, mem, in->surprise_naive);
    if (!st) st = read_motion(out, mem, in, opt->threads);
    if (!st) st = read_features(out, mem, in, opt);
    if (!st && in->concepts) st = read_concepts(out, mem, in->concepts);
    if (!st && in->observation_concepts)
        st = read_observed_concepts(out, mem, in->observation_concepts);
    return st;
}
