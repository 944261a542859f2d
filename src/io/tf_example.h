// SPDX-License-Identifier: MIT
// The one protobuf message plumb knows, tf.train.Example: a map from keys to lists of bytes, floats
// or integers. Reading copies nothing; every length is checked against what is there.
#ifndef IO_TF_EXAMPLE_H
#define IO_TF_EXAMPLE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

typedef struct tf_span {
    const unsigned char *at;
    size_t size;
} tf_span;

typedef enum tf_kind {
    TF_EMPTY, ///< a feature that says nothing
    TF_BYTES,
    TF_FLOATS,
    TF_INTEGERS,
} tf_kind;

typedef struct tf_feature {
    tf_span key;
    tf_kind kind;
    tf_span list; ///< the list message, not yet looked into
} tf_feature;

/// A walk over the features of one Example. Everything points into the message.
typedef struct tf_example_reader {
    tf_span example;  ///< what is left of it
    tf_span features; ///< what is left of the part we are in
} tf_example_reader;

tf_example_reader tf_example_begin(const void *message, size_t bytes);
/// The next feature; `*there` is false behind the last. `what` names the record in messages.
plumb_status tf_example_next(bool *there, tf_feature *out, tf_example_reader *walk,
                             const char *what);

/// How many values a list has.
plumb_status tf_example_count(int64_t *out, const tf_feature *feature, const char *what);
/// All of them, as many as tf_example_count said; the list is of the right kind.
plumb_status tf_example_integers(int64_t *out, const tf_feature *feature, const char *what);
plumb_status tf_example_floats(float *out, const tf_feature *feature, const char *what);
/// Value `index` of a list of bytes.
plumb_status tf_example_bytes(tf_span *out, const tf_feature *feature, int64_t index,
                              const char *what);

/// Puts an Example together: features first, each with its list, then the frame around them.
void tf_example_put_bytes(buffer *features, const char *key, const void *data, size_t bytes);
void tf_example_put_floats(buffer *features, const char *key, const float *values, int64_t count);
void tf_example_put_integers(buffer *features, const char *key, const int64_t *values,
                             int64_t count);
/// `out` becomes the Example around the features.
void tf_example_finish(buffer *out, const buffer *features);

#endif
