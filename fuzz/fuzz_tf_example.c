// SPDX-License-Identifier: MIT
// Any bytes as a tf.train.Example: every feature walked, and decoded as several types and shapes.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "dataset/tf_decode.h"
#include "io/tf_example.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode(const tf_feature *f, const uint8_t *data, size_t size)
{
    static const plumb_dtype types[] = {PLUMB_FLOAT64, PLUMB_FLOAT32, PLUMB_INT64,
                                        PLUMB_INT16,   PLUMB_UINT8,   PLUMB_BOOL};
    char key[32];
    if (f->key.size >= sizeof key) return;
    memcpy(key, f->key.at, f->key.size);
    key[f->key.size] = 0;
    int64_t count;
    if (tf_example_count(&count, f, "x")) return;
    buffer out = {0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const feature_spec exact = {.key = key, .dtype = types[i], .ndim = 1, .shape = {count}};
        const feature_spec twice = {.key = key, .dtype = types[i], .ndim = 1, .shape = {2 * count}};
        const feature_spec video = {
            .key = key, .dtype = types[i], .ndim = 4, .shape = {2, 2, 2, 3}};
        tf_decode_feature(&out, types[i], &exact, data, size, "x");
        tf_decode_feature(&out, types[i], &twice, data, size, "x");
        tf_decode_feature(&out, types[i], &video, data, size, "x");
    }
    buffer_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tf_example_reader walk = tf_example_begin(data, size);
    for (;;) {
        bool there;
        tf_feature f;
        if (tf_example_next(&there, &f, &walk, "x") || !there) break;
        decode(&f, data, size);
    }
    return 0;
}
