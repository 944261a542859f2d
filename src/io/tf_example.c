// SPDX-License-Identifier: MIT
// Reads and writes tf.train.Example. The protobuf fields are:
// Example.features = 1 -> Features.feature = 1, a map entry {key = 1, value = 2} -> Feature, one of
// bytes_list = 1, float_list = 2, int64_list = 3 -> value = 1, packed or not.
#include "io/tf_example.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

// ---- reading ----

static plumb_status reject_message(const char *what, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: damaged protobuf: %s", what, why);
}

// Parses a varint: 7 bits per byte, low bits first. False if the span ends inside it or it has more
// than 64 bits.
static bool parse_varint(uint64_t *out, tf_span *span)
{
    uint64_t value = 0;
    for (size_t i = 0; i < span->size && i < 10; i++) {
        const unsigned char byte = span->at[i];
        if (i == 9 && byte > 1) return false;
        value |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128) {
            span->at += i + 1;
            span->size -= i + 1;
            *out = value;
            return true;
        }
    }
    return false;
}

typedef struct proto_field {
    uint64_t number;
    unsigned wire_type;
    uint64_t value; // WIRE_VARINT
    tf_span body;   // all other wire types
} proto_field;

// Parses the next field of a message: tag, then a varint, 4 or 8 bytes, or a length and its bytes.
static plumb_status parse_field(proto_field *out, tf_span *span, const char *what)
{
    uint64_t tag;
    *out = (proto_field){0};
    if (!parse_varint(&tag, span)) return reject_message(what, "a field has no tag");
    *out = (proto_field){.number = tag >> 3, .wire_type = (unsigned)tag & 7};
    if (out->number == 0 || out->number >> 29) return reject_message(what, "a field has no number");
    uint64_t size = 0;
    switch (out->wire_type) {
    case WIRE_VARINT:
        return parse_varint(&out->value, span) ? PLUMB_OK
                                               : reject_message(what, "a number does not end");
    case WIRE_FIXED64: size = 8; break;
    case WIRE_FIXED32: size = 4; break;
    case WIRE_LENGTH:
        if (!parse_varint(&size, span)) return reject_message(what, "a length does not end");
        break;
    default: return reject_message(what, "a field of an unknown kind");
    }
    if (size > span->size) return reject_message(what, "a part is longer than what it is in");
    out->body = (tf_span){span->at, (size_t)size};
    span->at += size;
    span->size -= (size_t)size;
    return PLUMB_OK;
}

tf_example_reader tf_example_begin(const void *message, size_t bytes)
{
    return (tf_example_reader){.example = {message, bytes}};
}

// Parses a Feature: at most one list.
static plumb_status parse_feature(tf_feature *out, tf_span message, const char *what)
{
    while (message.size) {
        proto_field field;
        const plumb_status st = parse_field(&field, &message, what);
        if (st) return st;
        if (field.number < 1 || field.number > 3) continue;
        if (field.wire_type != WIRE_LENGTH) return reject_message(what, "a list is not a list");
        if (out->kind) return reject_message(what, "a feature has two lists");
        out->kind = (tf_kind)field.number;
        out->list = field.body;
    }
    return PLUMB_OK;
}

// Parses a map entry: one key and at most one Feature.
static plumb_status parse_entry(tf_feature *out, tf_span message, const char *what)
{
    bool has_key = false, has_value = false;
    *out = (tf_feature){0};
    while (message.size) {
        proto_field field;
        plumb_status st = parse_field(&field, &message, what);
        if (st) return st;
        if (field.number > 2) continue;
        if (field.wire_type != WIRE_LENGTH) return reject_message(what, "a map entry is not one");
        if (field.number == 1 ? has_key : has_value)
            return reject_message(what, "a map entry has two halves");
        if (field.number == 1) {
            has_key = true;
            out->key = field.body;
        } else {
            has_value = true;
            st = parse_feature(out, field.body, what);
            if (st) return st;
        }
    }
    return has_key ? PLUMB_OK : reject_message(what, "a feature has no key");
}

plumb_status tf_example_next(bool *present, tf_feature *out, tf_example_reader *reader,
                             const char *what)
{
    for (;;) {
        proto_field field;
        tf_span *from = reader->features.size ? &reader->features : &reader->example;
        *present = from->size > 0;
        if (!*present) return PLUMB_OK;
        const plumb_status st = parse_field(&field, from, what);
        if (st) return st;
        if (field.number != 1) continue;
        if (field.wire_type != WIRE_LENGTH) return reject_message(what, "it is not an Example");
        if (from == &reader->features) return parse_entry(out, field.body, what);
        reader->features = field.body;
    }
}

// Reads the next value, or packed run of values, of a list. `*present` is false past the end.
static plumb_status next_values(bool *present, proto_field *out, tf_span *list, const char *what)
{
    for (;;) {
        *present = list->size > 0;
        if (!*present) return PLUMB_OK;
        const plumb_status st = parse_field(out, list, what);
        if (st || out->number == 1) return st;
    }
}

// Counts packed varints: each ends with a byte below 128.
static int64_t count_varints(tf_span run)
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
        bool present;
        proto_field field;
        const plumb_status st = next_values(&present, &field, &list, what);
        if (st || !present) return st;
        const bool packed = field.wire_type == WIRE_LENGTH;
        switch (feature->kind) {
        case TF_INTEGERS:
            if (!packed && field.wire_type != WIRE_VARINT)
                return reject_message(what, "an integer is not one");
            *out += packed ? count_varints(field.body) : 1;
            break;
        case TF_FLOATS:
            if ((!packed && field.wire_type != WIRE_FIXED32) || field.body.size % 4)
                return reject_message(what, "a float is not one");
            *out += (int64_t)(field.body.size / 4);
            break;
        case TF_BYTES:
            if (!packed) return reject_message(what, "bytes are not bytes");
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
        bool present;
        proto_field field;
        const plumb_status st = next_values(&present, &field, &list, what);
        if (st || !present) return st;
        if (field.wire_type == WIRE_VARINT) *out++ = (int64_t)field.value;
        while (field.wire_type == WIRE_LENGTH && field.body.size) {
            uint64_t value;
            if (!parse_varint(&value, &field.body))
                return reject_message(what, "a number does not end");
            *out++ = (int64_t)value;
        }
    }
}

plumb_status tf_example_floats(float *out, const tf_feature *feature, const char *what)
{
    tf_span list = feature->list;
    for (;;) {
        bool present;
        proto_field field;
        const plumb_status st = next_values(&present, &field, &list, what);
        if (st || !present) return st;
        for (; field.body.size >= 4; field.body.at += 4, field.body.size -= 4) {
            const unsigned char *bytes = field.body.at;
            const uint32_t bits = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
                                  (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
            memcpy(out++, &bits, 4);
        }
    }
}

plumb_status tf_example_bytes(tf_span *out, const tf_feature *feature, int64_t index,
                              const char *what)
{
    tf_span list = feature->list;
    for (;;) {
        bool present;
        proto_field field;
        const plumb_status st = next_values(&present, &field, &list, what);
        if (st) return st;
        if (!present) return reject_message(what, "a list is shorter than it was");
        if (index-- > 0) continue;
        *out = field.body;
        return PLUMB_OK;
    }
}

// ---- writing ----

static size_t get_varint_size(uint64_t value)
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

// Size of a field with tag, length and `bytes` bytes.
static size_t get_framed_size(size_t bytes)
{
    return 1 + get_varint_size(bytes) + bytes;
}

// Writes tag and length of a field of bytes.
static unsigned char *put_frame(unsigned char *at, unsigned number, size_t bytes)
{
    *at++ = (unsigned char)(number << 3 | WIRE_LENGTH);
    return put_varint(at, bytes);
}

// Writes everything around the `bytes` bytes of a list and returns where they go. NULL if out of
// memory.
static unsigned char *put_feature(buffer *features, const char *key, unsigned kind, size_t bytes)
{
    const size_t key_size = strlen(key), list_size = get_framed_size(bytes),
                 feature_size = get_framed_size(list_size);
    const size_t entry_size = get_framed_size(key_size) + get_framed_size(feature_size);
    unsigned char *at = buffer_grow(features, get_framed_size(entry_size));
    if (!at) return NULL;
    at = put_frame(at, 1, entry_size);
    at = put_frame(at, 1, key_size);
    memcpy(at, key, key_size);
    at = put_frame(at + key_size, 2, feature_size);
    at = put_frame(at, kind, list_size);
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
    for (int64_t i = 0; i < count; i++) bytes += get_varint_size((uint64_t)values[i]);
    unsigned char *at = put_feature(features, key, TF_INTEGERS, bytes);
    for (int64_t i = 0; at && i < count; i++) at = put_varint(at, (uint64_t)values[i]);
}

void tf_example_finish(buffer *out, const buffer *features)
{
    buffer_reset(out);
    out->failed = features->failed;
    unsigned char *at = buffer_grow(out, get_framed_size(features->size));
    if (!at) return;
    at = put_frame(at, 1, features->size);
    if (features->size) memcpy(at, features->data, features->size);
}
