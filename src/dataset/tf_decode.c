// SPDX-License-Identifier: MIT
// Decodes features. Memory is allocated for values that exist, not for declared sizes: values are
// counted first, and a PNG must have at least the bytes that deflate needs for its pixels.
#include "dataset/tf_decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "io/png.h"
#include "io/tf_example.h"

static const char *const kinds[] = {"nothing", "bytes", "floats", "integers"};

static plumb_status fail_memory(const char *what)
{
    return fail(PLUMB_EMEMORY, "%s: no memory for it", what);
}

static plumb_status find_feature(tf_feature *out, const char *key, const void *example,
                                 size_t bytes, const char *what)
{
    tf_example_reader reader = tf_example_begin(example, bytes);
    const size_t length = strlen(key);
    bool found = false;
    for (;;) {
        bool present;
        tf_feature feature;
        const plumb_status st = tf_example_next(&present, &feature, &reader, what);
        if (st) return st;
        if (!present) break;
        // The last of equal keys wins, as in a protobuf map.
        if (feature.key.size == length && !memcmp(feature.key.at, key, length)) {
            *out = feature;
            found = true;
        }
    }
    return found ? PLUMB_OK : fail(PLUMB_EFORMAT, "%s has no feature \"%s\"", what, key);
}

// The number of values must be that of features.txt.
static plumb_status reject_count(const char *what, int64_t got, int64_t want,
                                 const char *what_counted)
{
    return fail(PLUMB_EFORMAT, "%s has %lld %s, wanted %lld", what, (long long)got, what_counted,
                (long long)want);
}

// Reads one PNG with all frames, or one PNG per frame.
static plumb_status read_video(buffer *out, const tf_feature *feature, const feature_spec *want,
                               int64_t parts, const char *what)
{
    const int64_t frames = want->shape[0], rows = want->shape[1], width = want->shape[2];
    const int channels = (int)want->shape[3];
    if (parts != 1 && parts != frames) return reject_count(what, parts, 1, "pictures");
    // The frames of a PNG are one below the other.
    int64_t height;
    if (__builtin_mul_overflow(frames / parts, rows, &height) || height > PNG_MAX_EDGE ||
        width > PNG_MAX_EDGE)
        return fail(PLUMB_EFORMAT, "%s: a PNG of so many rows cannot be", what);
    const size_t size = (size_t)height * (size_t)width * (size_t)channels;
    for (int64_t i = 0; i < parts; i++) {
        tf_span png;
        plumb_status st = tf_example_bytes(&png, feature, i, what);
        if (st) return st;
        // Deflate expands a byte to at most 1032; a smaller file cannot hold so many pixels.
        if (size / 1032 > png.size)
            return fail(PLUMB_EFORMAT, "%s: a PNG of %zu bytes cannot hold %lld x %lld pixels",
                        what, png.size, (long long)width, (long long)height);
        unsigned char *place = buffer_grow(out, size);
        if (!place) return fail_memory(what);
        st = png_read(place, (png_shape){width, height, channels, 0}, png.at, png.size, what);
        if (st) return st;
    }
    return PLUMB_OK;
}

// Reads raw bytes.
static plumb_status read_raw(buffer *out, const tf_feature *feature, int64_t parts, int64_t bytes,
                             const char *what)
{
    tf_span span;
    if (parts != 1) return reject_count(what, parts, 1, "strings of bytes");
    const plumb_status st = tf_example_bytes(&span, feature, 0, what);
    if (st) return st;
    if ((int64_t)span.size != bytes) return reject_count(what, (int64_t)span.size, bytes, "bytes");
    buffer_put(out, span.at, span.size);
    return out->failed ? fail_memory(what) : PLUMB_OK;
}

// Narrows values to a type and notes whether all of them fit.
#define CONVERT(type)                            \
    do {                                         \
        type *to = (type *)(void *)place;        \
        for (int64_t i = 0; i < count; i++) {    \
            to[i] = (type)values[i];             \
            fits &= (int64_t)to[i] == values[i]; \
        }                                        \
    } while (0)

// Converts integers to `count` values of `dtype` at `place`. False if one does not fit.
static bool convert_integers(unsigned char *place, plumb_dtype dtype, const int64_t *values,
                             int64_t count)
{
    bool fits = true;
    switch (dtype) {
    case PLUMB_FLOAT64:
    case PLUMB_INT64:
    case PLUMB_UINT64: memcpy(place, values, (size_t)count * 8); break;
    case PLUMB_INT32: CONVERT(int32_t); break;
    case PLUMB_UINT32: CONVERT(uint32_t); break;
    case PLUMB_INT16: CONVERT(int16_t); break;
    case PLUMB_FLOAT16:
    case PLUMB_UINT16: CONVERT(uint16_t); break;
    case PLUMB_INT8: CONVERT(int8_t); break;
    case PLUMB_UINT8: CONVERT(uint8_t); break;
    case PLUMB_BOOL:
        CONVERT(uint8_t);
        for (int64_t i = 0; i < count; i++) fits &= values[i] == 0 || values[i] == 1;
        break;
    case PLUMB_FLOAT32: // two per integer, the first in the low half
        for (int64_t i = 0; i < count; i++) {
            const uint32_t bits = (uint32_t)((uint64_t)values[i / 2] >> 32 * (i % 2));
            memcpy(place + 4 * i, &bits, 4);
        }
        break;
    }
    return fits;
}

// Reads a list of integers and converts it to `dtype`.
static plumb_status read_integers(buffer *out, const tf_feature *feature, plumb_dtype dtype,
                                  int64_t have, int64_t count, const char *what)
{
    // Two floats share one integer.
    const int64_t wanted = dtype == PLUMB_FLOAT32 ? count / 2 + count % 2 : count;
    if (have != wanted) return reject_count(what, have, wanted, "integers");
    int64_t *values = malloc((size_t)have * sizeof *values + 1);
    unsigned char *place = buffer_grow(out, (size_t)count * plumb_dtype_size(dtype));
    plumb_status st =
        values && place ? tf_example_integers(values, feature, what) : fail_memory(what);
    if (!st && !convert_integers(place, dtype, values, count))
        st = fail(PLUMB_EFORMAT, "%s has a number outside the range of its type", what);
    free(values);
    return st;
}

// Reads a list of floats as float32 or float64.
static plumb_status read_floats(buffer *out, const tf_feature *feature, plumb_dtype dtype,
                                int64_t have, int64_t count, const char *what)
{
    if (have != count) return reject_count(what, have, count, "floats");
    float *values = malloc((size_t)have * sizeof *values + 1);
    unsigned char *place = buffer_grow(out, (size_t)count * plumb_dtype_size(dtype));
    const plumb_status st =
        values && place ? tf_example_floats(values, feature, what) : fail_memory(what);
    if (!st && dtype == PLUMB_FLOAT32) memcpy(place, values, (size_t)count * sizeof *values);
    if (!st && dtype == PLUMB_FLOAT64)
        for (int64_t i = 0; i < count; i++) ((double *)(void *)place)[i] = (double)values[i];
    free(values);
    return st;
}

plumb_status tf_decode_feature(buffer *out, plumb_dtype dtype, const feature_spec *want,
                               const void *example, size_t bytes, const char *what)
{
    tf_feature feature;
    char named[600];
    int64_t have, count;
    snprintf(named, sizeof named, "%s: \"%.64s\"", what, want->key);
    buffer_reset(out);
    plumb_status st = find_feature(&feature, want->key, example, bytes, what);
    if (!st) st = tf_example_count(&have, &feature, named);
    if (st) return st;
    const bool real = dtype == PLUMB_FLOAT64 || dtype == PLUMB_FLOAT32;
    if (!array_count_checked(&count, want->shape, want->ndim, 8))
        return fail(PLUMB_EFORMAT, "%s is of a shape that cannot be", named);
    // Bytes are a video if they have four axes, else raw values. Real numbers may be stored as
    // integers with the same bits [Botev21].
    if (feature.kind == TF_BYTES && dtype == PLUMB_UINT8 && want->ndim == 4 && count &&
        want->shape[3] <= 4)
        return read_video(out, &feature, want, have, named);
    if (feature.kind == TF_BYTES && dtype == PLUMB_UINT8)
        return read_raw(out, &feature, have, count, named);
    if (feature.kind == TF_INTEGERS || (feature.kind == TF_EMPTY && !count))
        return read_integers(out, &feature, dtype, have, count, named);
    if (feature.kind == TF_FLOATS && real)
        return read_floats(out, &feature, dtype, have, count, named);
    return fail(PLUMB_EFORMAT, "%s holds %s, wanted %s", named, kinds[feature.kind],
                dtype == PLUMB_UINT8 ? "bytes" : "integers");
}
