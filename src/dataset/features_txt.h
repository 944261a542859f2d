// SPDX-License-Identifier: MIT
// features.txt, the list beside a TFRecord file of what every record holds: key, shape, type.
#ifndef DATASET_FEATURES_TXT_H
#define DATASET_FEATURES_TXT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "plumb/array.h"

typedef struct feature {
    const char *key;
    plumb_dtype dtype;
    int ndim;
    int64_t shape[PLUMB_MAX_DIMS];
} feature;

typedef struct features {
    feature *row;
    int64_t count;
} features;

enum { FEATURES_MAX = 1024, FEATURES_MAX_BYTES = 1 << 20 };

/// Reads the text of a features.txt. `path` is for messages.
plumb_status features_parse(features *out, arena *mem, const char *text, size_t size,
                            const char *path);
plumb_status features_read(features *out, arena *mem, const char *path);

/// The text for these features.
void features_print(buffer *out, const features *list);

#endif
