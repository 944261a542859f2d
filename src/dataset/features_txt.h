// SPDX-License-Identifier: MIT
// features.txt, the file next to a TFRecord file that lists the features of its records: key, shape
// and type.
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
    feature_spec *spec;
    int64_t count;
} feature_specs;

enum { FEATURES_MAX = 1024, FEATURES_MAX_BYTES = 1 << 20 };

/// Parses the text of a features.txt. `path` is used in messages.
plumb_status features_txt_parse(feature_specs *out, arena *mem, const char *text, size_t size,
                                const char *path);
plumb_status features_txt_read(feature_specs *out, arena *mem, const char *path);

/// Appends the text for these features to `out`.
void features_txt_print(buffer *out, const feature_specs *specs);

#endif
