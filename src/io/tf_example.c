// SPDX-License-Identifier: MIT
// Example.features = 1 -> Features.feature = 1, a map entry {key = 1, value = 2} -> Feature, one of
// bytes_list = 1, float_list = 2, int64_list = 3 -> value = 1, packed or not.
#include "io/tf_example.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

// ---- reading ----

static plumb_status broken(const char *what, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: damaged protobuf: %s", what, why);
}

// False if the span ends inside the number or it has more than 64 bits.
static bool take_varint(uint64_t *out, tf_span *s)
{
    uint64_t value = 0;
    for (size_t i = 0; i < s->size && i < 10; i++) {
        const unsigned char b = s->at[i];
        if (i == 9 && b > 1) return false;
        value |= (uint64_t)(b & 127) << 7 * i;
        if (b < 128) {
            s->at += i + 1;
            s->size -= i + 1;
            *out = value;
            return true;
        }
    }
    return false;
}

typedef struct field {
    uint64_t number;
    unsigned wire;
    uint64_t value; // VARINT
    tf_span body;   // all others
} field;

static plumb_status take_field(field *out, tf_span *s, const char *what)
{
    uint64_t tag;
    *out = (field){0};
    if (!take_varint(&tag, s)) return broken(what, "a field has no tag");
    *out = (field){.number = tag >> 3, .wire = (unsigned)tag & 7};
    if (out->number == 0 || out->number >> 29) return broken(what, "a field has no number");
    uint64_t size = 0;
    switch (out->wire) {
    case VARINT:
        return take_varint(&out->value, s) ? PLUMB_OK : broken(what, "a number does not end");
    case FIXED64: size = 8; break;
    case FIXED32: size = 4; break;
    case LENGTH:
        if (!take_varint(&size, s)) return broken(what, "a length does not end");
        break;
    default: return broken(what, "a field of an unknown kind");
    }
    if (size > s->size) return broken(what, "a part is longer than what it is in");
    out->body = (tf_span){s->at, (size_t)size};
    s->at += size;
    s->size -= (size_t)size;
    return PLUMB_OK;
}

tf_example_reader tf_example_begin(const void *message, size_t bytes)
{
    return (tf_example_reader){.example = {message, bytes}};
}

static plumb_status read_feature(tf_feature *out, tf_span s, const char *what)
{
    while (s.size) {
        field f;
        const plumb_status st = take_field(&f, &s, what);
        if (st) return st;
        if (f.number < 1 || f.number > 3) continue;
        if (f.wire != LENGTH) return broken(what, "a list is not a list");
        if (out->kind) return broken(what, "a feature has two lists");
        out->kind = (tf_kind)f.number;
        out->list = f.body;
    }
    return PLUMB_OK;
}

static plumb_status read_entry(tf_feature *out, tf_span s, const char *what)
{
    bool has_key = false, has_value = false;
    *out = (tf_feature){0};
    while (s.size) {
        field f;
        plumb_status st = take_field(&f, &s, what);
        if (st) return st;
        if (f.number > 2) continue;
        if (f.wire != LENGTH) return broken(what, "a map entry is not one");
        if (f.number == 1 ? has_key : has_value) return broken(what, "a map entry has two halves");
        if (f.number == 1) {
            has_key = true;
            out->key = f.body;
        } else {
            has_value = true;
            st = read_feature(out, f.body, what);
            if (st) return st;
        }
    }
    return has_key ? PLUMB_OK : broken(what, "a feature has no key");
}

plumb_status tf_example_next(bool *there, tf_feature *out, tf_example_reader *walk,
                             const char *what)
{
    for (;;) {
        field f;
        tf_span *from = walk->features.size ? &walk->features : &walk->example;
        *there = from->size > 0;
        if (!*there) return PLUMB_OK;
        const plumb_status st = take_field(&f, from, what);
        if (st) return st;
        if (f.number != 1) continue;
        if (f.wire != LENGTH) return broken(what, "it is not an Example");
        if (from == &walk->features) return read_entry(out, f.body, what);
        walk->features = f.body;
    }
}

// The next value or packed run of values of a list; false behind the last.
static plumb_status next_run(bool *there, field *out, tf_span *list, const char *what)
{
    for (;;) {
        *there = list->size > 0;
        if (!*there) return PLUMB_OK;
        const plumb_status st = take_field(out, list, what);
        if (st || out->number == 1) return st;
    }
}

// A varint ends with the one byte below 128.
static int64_t count_ends(tf_span run)
{
    int64_t count = 0;
    for (size_t i = 0; i < run.size; i++) count += run.at[i] < 128;
    return count;
}

plumb_status tf_example_count(int64_t *out, const tf_feature *feature, const char *what)
{
    tf_span list = feature->list;
    *out = 0;
    for (;;) {
        bool there;
        field f;
        const plumb_status st = next_run(&there, &f, &list, what);
        if (st || !there) return st;
        const bool packed = f.wire == LENGTH;
        switch (feature->kind) {
        case TF_INTEGERS:
            if (!packed && f.wire != VARINT) return broken(what, "an integer is not one");
            *out += packed ? count_ends(f.body) : 1;
            break;
        case TF_FLOATS:
            if ((!packed && f.wire != FIXED32) || f.body.size % 4)
                return broken(what, "a float is not one");
            *out += (int64_t)(f.body.size / 4);
            break;
        case TF_BYTES:
            if (!packed) return broken(what, "bytes are not bytes");
            *out += 1;
            break;
        case TF_EMPTY: break;
        }
    }
}

plumb_status tf_example_integers(int64_t *out, const tf_feature *feature, const char *what)
{
    tf_span list = feature->list;
    for (;;) {
        bool there;
        field f;
        const plumb_status st = next_run(&there, &f, &list, what);
        if (st || !there) return st;
        if (f.wire == VARINT) *out++ = (int64_t)f.value;
        while (f.wire == LENGTH && f.body.size) {
            uint64_t value;
            if (!take_varint(&value, &f.body)) return broken(what, "a number does not end");
            *out++ = (int64_t)value;
        }
    }
}

plumb_status tf_example_floats(float *out, const tf_feature *feature, const char *what)
{
    tf_span list = feature->list;
    for (;;) {
        bool there;
        field f;
        const plumb_status st = next_run(&there, &f, &list, what);
        if (st || !there) return st;
        for (; f.body.size >= 4; f.body.at += 4, f.body.size -= 4) {
            const unsigned char *b = f.body.at;
            const uint32_t bits =
                (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
            memcpy(out++, &bits, 4);
        }
    }
}

plumb_status tf_example_bytes(tf_span *out, const tf_feature *feature, int64_t index,
                              const char *what)
{
    tf_span list = feature->list;
    for (;;) {
        bool there;
        field f;
        const plumb_status st = next_run(&there, &f, &list, what);
        if (st) return st;
        if (!there) return broken(what, "a list is shorter than it was");
        if (index-- > 0) continue;
        *out = f.body;
        return PLUMB_OK;
    }
}

// ---- writing ----

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 128; value >>= 7) size++;
    return size;
}

static unsigned char *put_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 128; value >>= 7) *at++ = (unsigned char)(value | 128);
    *at++ = (unsigned char)value;
    return at;
}

// Tag, length and so many bytes.
static size_t framed(size_t bytes)
{
    return 1 + varint_size(bytes) + bytes;
}

static unsigned char *put_frame(unsigned char *at, unsigned number, size_t bytes)
{
    *at++ = (unsigned char)(number << 3 | LENGTH);
    return put_varint(at, bytes);
}

// Everything around the `bytes` bytes of a list's one field, which are to be put at the place that
// is returned; NULL if memory ran out.
static unsigned char *put_feature(buffer *features, const char *key, unsigned kind, size_t bytes)
{
    const size_t length = strlen(key), list = framed(bytes), feature = framed(list);
    const size_t entry = framed(length) + framed(feature);
    unsigned char *at = buffer_grow(features, framed(entry));
    if (!at) return NULL;
    at = put_frame(at, 1, entry);
    at = put_frame(at, 1, length);
    memcpy(at, key, length);
    at = put_frame(at + length, 2, feature);
    at = put_frame(at, kind, list);
    return put_frame(at, 1, bytes);
}

void tf_example_put_bytes(buffer *features, const char *key, const void *data, size_t bytes)
{
    unsigned char *at = put_feature(features, key, TF_BYTES, bytes);
    if (at && bytes) memcpy(at, data, bytes);
}

void tf_example_put_floats(buffer *features, const char *key, const float *values, int64_t count)
{
    unsigned char *at = put_feature(features, key, TF_FLOATS, 4 * (size_t)count);
    for (int64_t i = 0; at && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], 4);
        for (int k = 0; k < 4; k++) *at++ = (unsigned char)(bits >> 8 * k);
    }
}

void tf_example_put_integers(buffer *features, const char *key, const int64_t *values,
                             int64_t count)
{
    size_t bytes = 0;
    for (int64_t i = 0; i < count; i++) bytes += varint_size((uint64_t)values[i]);
    unsigned char *at = put_feature(features, key, TF_INTEGERS, bytes);
    for (int64_t i = 0; at && i < count; i++) at = put_varint(at, (uint64_t)values[i]);
}

void tf_example_finish(buffer *out, const buffer *features)
{
    buffer_reset(out);
    out->failed = features->failed;
    unsigned char *at = buffer_grow(out, framed(features->size));
    if (!at) return;
    at = put_frame(at, 1, features->size);
    if (features->size) memcpy(at, features->data, features->size);
}
