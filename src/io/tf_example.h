// SPDX-License-Identifier: MIT
// The protobuf message tf.train.Example: a map from keys to lists of bytes, floats or integers.
// Reading copies nothing. Every length is checked against the bytes that exist.
#ifndef IO_TF_EXAMPLE_H
#define IO_TF_EXAMPLE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

/// Bytes inside a message.
typedef struct tf_span {
    const unsigned char *at;
    size_t size;
} tf_span;

/// Type of the values in a list; the numbers are those of the protobuf fields.
typedef enum tf_kind {
    TF_EMPTY, ///< The feature has no list.
    TF_BYTES,
    TF_FLOATS,
    TF_INTEGERS,
} tf_kind;

/// One entry of the map.
typedef struct tf_feature {
    tf_span key;
    tf_kind kind;
    tf_span list; ///< The list message, not parsed yet.
} tf_feature;

/// Iterates over the features of one Example. All spans point into the message.
typedef struct tf_example_reader {
    tf_span example;  ///< Unread bytes of the Example.
    tf_span features; ///< Unread bytes of the current Features message.
} tf_example_reader;

tf_example_reader tf_example_begin(const void *message, size_t bytes);
/// Reads the next feature; `*present` is false past the end. `what` names the record in messages.
plumb_status tf_example_next(bool *present, tf_feature *out, tf_example_reader *reader,
                             const char *what);

/// Counts the values of a list.
plumb_status tf_example_count(int64_t *out, const tf_feature *feature, const char *what);
/// Reads all values, as many as tf_example_count() returned. The list must be of that kind.
plumb_status tf_example_integers(int64_t *out, const tf_feature *feature, const char *what);
plumb_status tf_example_floats(float *out, const tf_feature *feature, const char *what);
/// Gets value `index` of a list of bytes.
plumb_status tf_example_bytes(tf_span *out, const tf_feature *feature, int64_t index,
                              const char *what);

/// Appends one feature with its list.
void tf_example_put_bytes(buffer *features, const char *key, const void *data, size_t bytes);
void tf_example_put_floats(buffer *features, const char *key, const float *values, int64_t count);
void tf_example_put_integers(buffer *features, const char *key, const int64_t *values,
                             int64_t count);
/// Replaces `out` by the Example that contains the features.
void tf_example_finish(buffer *out, const buffer *features);

#endif
