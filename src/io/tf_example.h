// SPDX-License-Identifier: MIT
// The one protobuf message plumb knows, tf.train.Example: a map from keys to lists of bytes, floats
// or integers. Reading copies nothing; every length is checked against what is there.
#ifndef IO_TF_EXAMPLE_H
#define IO_TF_EXAMPLE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct protobuf_span {
    const unsigned char *at;
    size_t size;
} protobuf_span;

typedef enum protobuf_kind {
    PROTOBUF_EMPTY, ///< a feature that says nothing
    PROTOBUF_BYTES,
    PROTOBUF_FLOATS,
    PROTOBUF_INTEGERS,
} protobuf_kind;

typedef struct protobuf_feature {
    protobuf_span key;
    protobuf_kind kind;
    protobuf_span list; ///< the list message, not yet looked into
} protobuf_feature;

/// A walk over the features of one Example. Everything points into the message.
typedef struct protobuf_walk {
    protobuf_span example;  ///< what is left of it
    protobuf_span features; ///< what is left of the part we are in
} protobuf_walk;

protobuf_walk protobuf_begin(const void *message, size_t bytes);
/// The next feature; `*there` is false behind the last. `what` names the record in messages.
plumb_status protobuf_next(bool *there, protobuf_feature *out, protobuf_walk *walk,
                           const char *what);

/// How many values a list has.
plumb_status protobuf_count(int64_t *out, const protobuf_feature *feature, const char *what);
/// All of them, as many as protobuf_count said; the list is of the right kind.
plumb_status protobuf_integers(int64_t *out, const protobuf_feature *feature, const char *what);
plumb_status protobuf_floats(float *out, const protobuf_feature *feature, const char *what);
/// Value `index` of a list of bytes.
plumb_status protobuf_bytes(protobuf_span *out, const protobuf_feature *feature, int64_t index,
                            const char *what);

/// Puts an Example together: features first, each with its list, then the frame around them.
void protobuf_put_bytes(buffer *features, const char *key, const void *data, size_t bytes);
void protobuf_put_floats(buffer *features, const char *key, const float *values, int64_t count);
void protobuf_put_integers(buffer *features, const char *key, const int64_t *values, int64_t count);
/// `out` becomes the Example around the features.
void protobuf_finish(buffer *out, const buffer *features);

#endif
