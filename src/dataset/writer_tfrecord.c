// SPDX-License-Identifier: MIT
// Writes TFRecord files in the layout of [Botev21]: one record per item, and features.txt next to
// the file. Real numbers are stored as the integers with the same bits, frames as one PNG with all
// frames one below the other.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/status.h"
#include "dataset/dm_hamiltonian.h"
#include "dataset/writer.h"
#include "io/deflate.h"
#include "io/png.h"
#include "io/tf_example.h"
#include "io/tfrecord.h"

typedef struct tfrecord_state {
    output_file file;
    deflate_writer *deflate; // gzip, else NULL
    feature_specs specs;     // features that are written
    int64_t *field;          // index of the field of each feature
    char text_path[4096];    // of features.txt
    output_file text;
} tfrecord_state;

// ---- values ----

// True for frames: bytes of shape (steps, height, width, channels).
static bool is_video(const feature_spec *spec)
{
    return spec->dtype == PLUMB_UINT8 && spec->ndim == 4 && spec->shape[3] >= 1 &&
           spec->shape[3] <= 4 && spec->shape[0] >= 1 && spec->shape[1] >= 1 && spec->shape[2] >= 1;
}

// Stores frames as one PNG, one frame below the other.
static plumb_status put_video(buffer *out, const feature_spec *spec, const void *data)
{
    buffer png = {0};
    const png_shape shape = {.width = spec->shape[2],
                             .height = spec->shape[0] * spec->shape[1],
                             .channels = (int)spec->shape[3],
                             .frame = spec->shape[1]};
    const plumb_status st = png_write(&png, data, shape, PNG_USE_VIDEO);
    if (!st) tf_example_put_bytes(out, spec->key, png.data, png.size);
    buffer_clear(&png);
    return st;
}

// Copies values of a narrower type into int64.
#define WIDEN(type)                                                     \
    do {                                                                \
        const type *in = data;                                          \
        for (int64_t i = 0; i < count; i++) values[i] = (int64_t)in[i]; \
    } while (0)

// Converts values to the integers that are stored; reals of 8 or 2 bytes by their bits.
static void to_integers(int64_t *values, plumb_dtype dtype, const void *data, int64_t count)
{
    switch (dtype) {
    case PLUMB_FLOAT64:
    case PLUMB_INT64:
    case PLUMB_UINT64: memcpy(values, data, (size_t)count * 8); break;
    case PLUMB_INT32: WIDEN(int32_t); break;
    case PLUMB_UINT32: WIDEN(uint32_t); break;
    case PLUMB_INT16: WIDEN(int16_t); break;
    case PLUMB_FLOAT16:
    case PLUMB_UINT16: WIDEN(uint16_t); break;
    case PLUMB_INT8: WIDEN(int8_t); break;
    case PLUMB_UINT8:
    case PLUMB_BOOL: WIDEN(uint8_t); break;
    case PLUMB_FLOAT32: break; // two per integer, see put_floats
    }
}

// Stores two consecutive floats in one integer, the first in the low half. An odd number of floats,
// which the writer of [Botev21] does not support, becomes a plain list.
static void put_floats(buffer *out, const feature_spec *spec, const float *data, int64_t count,
                       int64_t *values)
{
    if (count % 2) {
        tf_example_put_floats(out, spec->key, data, count);
        return;
    }
    for (int64_t i = 0; i < count / 2; i++) {
        uint32_t low, high;
        memcpy(&low, &data[2 * i], 4);
        memcpy(&high, &data[2 * i + 1], 4);
        values[i] = (int64_t)((uint64_t)high << 32 | low);
    }
    tf_example_put_integers(out, spec->key, values, count / 2);
}

// Stores one array by its type: video, bytes, floats or integers.
static plumb_status put_feature(buffer *out, const feature_spec *spec, plumb_dtype from,
                                const void *data)
{
    if (is_video(spec)) return put_video(out, spec, data);
    int64_t count = 1;
    for (int i = 0; i < spec->ndim; i++) count *= spec->shape[i];
    if (spec->dtype == PLUMB_UINT8 && spec->ndim >= 3) { // masks, and videos of several clips
        tf_example_put_bytes(out, spec->key, data, (size_t)count);
        return PLUMB_OK;
    }
    // With the option narrow, doubles are written as floats.
    int64_t *values = malloc((size_t)count * 8 + 8);
    float *floats = spec->dtype == PLUMB_FLOAT32 && from == PLUMB_FLOAT64
                        ? malloc((size_t)count * 4 + 4)
                        : NULL;
    plumb_status st = PLUMB_OK;
    if (!values || (spec->dtype == PLUMB_FLOAT32 && from == PLUMB_FLOAT64 && !floats)) {
        st = fail(PLUMB_EMEMORY, "no memory for \"%s\"", spec->key);
    } else if (spec->dtype == PLUMB_FLOAT32) {
        for (int64_t i = 0; floats && i < count; i++) floats[i] = (float)((const double *)data)[i];
        put_floats(out, spec, floats ? floats : data, count, values);
    } else {
        to_integers(values, from, data, count);
        tf_example_put_integers(out, spec->key, values, count);
    }
    free(floats);
    free(values);
    return st;
}

// Makes the framed record of an item.
static plumb_status pack_tfrecord(buffer *out, const dataset_writer *writer,
                                  const void *const *data)
{
    const tfrecord_state *state = writer->state;
    buffer features = {0}, example = {0};
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < state->specs.count && !st; i++) {
        const writer_field *field = &writer->field[state->field[i]];
        st = put_feature(&features, &state->specs.spec[i], field->array.dtype,
                         field->shared ? field->array.data : data[state->field[i]]);
    }
    if (!st) {
        // Length and its checksum, the data, the checksum of the data.
        unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
        tf_example_finish(&example, &features);
        if (!example.failed) tfrecord_frame(head, tail, example.data, example.size);
        if (!example.failed && example.size >= TFRECORD_MAX_LENGTH)
            st = fail(PLUMB_EVALUE, "an item of %zu bytes is more than a record holds",
                      example.size);
        buffer_put(out, head, sizeof head);
        buffer_put(out, example.data, example.size);
        buffer_put(out, tail, sizeof tail);
        if (!st && (example.failed || out->failed))
            st = fail(PLUMB_EMEMORY, "no memory for an item");
    }
    buffer_clear(&features);
    buffer_clear(&example);
    return st ? fail(st, "%s: %s", writer->path, plumb_last_error()) : PLUMB_OK;
}

// ---- the files ----

// Chooses the features to write and their types.
static plumb_status choose_features(dataset_writer *writer, tfrecord_state *state)
{
    state->specs.spec = ARENA_ALLOC(&writer->mem, feature_spec, writer->field_count);
    state->field = ARENA_ALLOC(&writer->mem, int64_t, writer->field_count);
    if (!state->specs.spec || !state->field) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < writer->field_count; i++) {
        const writer_field *field = &writer->field[i];
        feature_spec *spec = &state->specs.spec[state->specs.count];
        bool published;
        const plumb_status st = dm_hamiltonian_from_plumb(
            spec, &published, &writer->mem, field->name, &field->array, field->shared);
        if (st) return fail(st, "%s: %s", writer->path, plumb_last_error());
        if (writer->options.published && !published) continue;
        if (writer->options.narrow && spec->dtype == PLUMB_FLOAT64) spec->dtype = PLUMB_FLOAT32;
        if (is_video(spec) && spec->shape[0] > PNG_MAX_EDGE / spec->shape[1])
            return fail(
                PLUMB_EVALUE, "%s: %lld frames of %lld rows; a PNG in a record has at most %d rows",
                writer->path, (long long)spec->shape[0], (long long)spec->shape[1], PNG_MAX_EDGE);
        state->field[state->specs.count++] = i;
    }
    return state->specs.count
               ? PLUMB_OK
               : fail(PLUMB_EVALUE, "%s: nothing that published files have", writer->path);
}

// features.txt belongs to all TFRecord files of its folder, so an existing one with other contents
// is not replaced.
static plumb_status prepare_features_txt(dataset_writer *writer, tfrecord_state *state)
{
    const char *slash = strrchr(writer->path, '/');
    const int folder = slash ? (int)(slash - writer->path) + 1 : 0;
    if ((size_t)snprintf(state->text_path, sizeof state->text_path, "%.*sfeatures.txt", folder,
                         writer->path) >= sizeof state->text_path)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", writer->path);
    buffer text = {0};
    features_txt_print(&text, &state->specs);
    if (text.failed) {
        buffer_clear(&text);
        return fail(PLUMB_EMEMORY, "%s: no memory to write it", writer->path);
    }
    // Equal contents are left alone.
    input_file old;
    bool same = false, exists = access(state->text_path, F_OK) == 0;
    if (exists && !input_file_open(&old, state->text_path)) {
        char *found = old.size == (int64_t)text.size ? malloc(text.size) : NULL;
        same = found && !input_file_read(found, &old, 0, text.size) &&
               !memcmp(found, text.data, text.size);
        free(found);
        input_file_close(&old);
    }
    plumb_status st = PLUMB_OK;
    if (exists && !same && !writer->options.replace)
        st = fail(PLUMB_EFILE,
                  "%s: is there already and describes other records than those of %s; choose "
                  "another folder",
                  state->text_path, writer->path);
    if (!st && !same) {
        st = output_file_open(&state->text, state->text_path);
        if (!st) fwrite(text.data, 1, text.size, state->text.stream);
    }
    buffer_clear(&text);
    return st;
}

static bool write_stream(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes;
}

// Starts the file and prepares features.txt.
static plumb_status open_tfrecord(void **out, dataset_writer *writer)
{
    tfrecord_state *state = ARENA_ALLOC(&writer->mem, tfrecord_state, 1);
    if (!state) return PLUMB_EMEMORY;
    plumb_status st = choose_features(writer, state);
    if (!st) st = output_file_open(&state->file, writer->path);
    if (st) return st;
    *out = state;
    st = prepare_features_txt(writer, state);
    if (!st && writer->options.compress)
        st = deflate_create(&state->deflate, DEFLATE_GZIP, write_stream, state->file.stream,
                            writer->path);
    return st;
}

static plumb_status append_tfrecord(dataset_writer *writer, const void *const *data,
                                    const buffer *packed)
{
    (void)data;
    tfrecord_state *state = writer->state;
    if (state->deflate) return deflate_write(state->deflate, packed->data, packed->size);
    if (write_stream(state->file.stream, packed->data, packed->size)) return PLUMB_OK;
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", writer->path, strerror(errno));
}

// Commits features.txt first: records without it could not be read.
static plumb_status commit_tfrecord(dataset_writer *writer)
{
    tfrecord_state *state = writer->state;
    plumb_status st = state->deflate ? deflate_finish(state->deflate) : PLUMB_OK;
    // If the records fail afterwards, a features.txt that was not there before is removed again.
    const bool fresh = state->text.stream && access(state->text_path, F_OK) != 0;
    if (!st && state->text.stream) st = output_file_commit(&state->text);
    if (st) return st;
    st = output_file_commit(&state->file);
    if (st && fresh) unlink(state->text_path);
    return st;
}

static void close_tfrecord(dataset_writer *writer)
{
    tfrecord_state *state = writer->state;
    deflate_free(state->deflate);
    state->deflate = NULL;
    output_file_discard(&state->file);
    output_file_discard(&state->text);
}

const writer_format writer_tfrecord = {".tfrecord",     open_tfrecord,   pack_tfrecord,
                                       append_tfrecord, commit_tfrecord, close_tfrecord};
