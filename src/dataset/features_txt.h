// SPDX-License-Identifier: MIT
// features.txt, the list beside a TFRecord file of what every record holds: key, shape, type.
#ifndef DATASET_FEATURES_TXT_H
#define DATASET_FEATURES_TXT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "plumb/array.h"

typedef struct feature_spec {
    const char *key;
    plumb_dtype dtype;
    int ndim;
    int64_t shape[PLUMB_MAX_DIMS];
} feature_spec;

typedef struct feature_specs {
    feature_spec *row;
    int64_t count;
} feature_specs;

enum { FEATURES_MAX = 1024, FEATURES_MAX_BYTES = 1 << 20 };

/// Reads the text of a features.txt. `path` is for messages.
plumb_status features_txt_parse(feature_specs *out, arena *mem, const char *text, size_t size,
                                const char *path);
plumb_status features_txt_read(feature_specs *out, arena *mem, const char *path);

/// The text for these features.
void features_txt_print(buffer *out, const feature_specs *list);

#endif
