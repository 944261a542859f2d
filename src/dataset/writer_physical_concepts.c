// SPDX-License-Identifier: MIT
// Writes TFRecord files in the layout of Physical Concepts [Piloto22]: gzip, no features.txt.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/output_file.h"
#include "base/status.h"
#include "dataset/physical_concepts.h"
#include "dataset/writer.h"
#include "io/deflate.h"
#include "io/tf_example.h"
#include "io/tfrecord.h"

typedef struct physical_state {
    output_file file;
    deflate_writer *deflate;
    physical_concepts_layout layout;
    int64_t field[PHYSICAL_CONCEPTS_FIELDS]; // indices of frames, mask and camera_pose
} physical_state;

// The sink of the deflate writer.
static bool write_stream(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes;
}

static bool has_same_shape(const plumb_array *a, const plumb_array *b)
{
    return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

// Finds the three fields and checks their types and shapes.
static plumb_status choose_fields(dataset_writer *writer, physical_state *physical)
{
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++) {
        physical->field[k] = -1;
        for (int64_t i = 0; i < writer->field_count; i++)
            if (!strcmp(writer->field[i].name, physical_concepts_name(k)) &&
                !writer->field[i].shared)
                physical->field[k] = i;
        if (physical->field[k] < 0)
            return fail(PLUMB_EVALUE, "%s: there is no \"%s\" to write", writer->path,
                        physical_concepts_name(k));
    }
    // A free scene is (steps, n, n, 3), a probe (4, steps, n, n, 3).
    const plumb_array *frames = &writer->field[physical->field[0]].array;
    const bool probe = frames->ndim == 5;
    const int at = probe ? 1 : 0;
    if (frames->ndim != 4 + at || frames->shape[at + 1] != frames->shape[at + 2])
        return fail(PLUMB_ESHAPE,
                    "%s: \"frames\" of an item is neither a clip nor four of square "
                    "frames",
                    writer->path);
    physical->layout = (physical_concepts_layout){
        .probe = probe, .steps = frames->shape[at], .size = frames->shape[at + 1]};
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++) {
        const plumb_array *have = &writer->field[physical->field[k]].array,
                          want = physical_concepts_array(&physical->layout, k);
        // The camera pose may be double here; it is narrowed when it is packed.
        const bool wide = k == 2 && have->dtype == PLUMB_FLOAT64;
        if (!has_same_shape(have, &want) || (have->dtype != want.dtype && !wide))
            return fail(PLUMB_ESHAPE,
                        "%s: \"%s\" has not the shape and type it has in Physical "
                        "Concepts",
                        writer->path, physical_concepts_name(k));
    }
    return PLUMB_OK;
}

// Starts the gzip stream.
static plumb_status open_physical(void **out, dataset_writer *writer)
{
    physical_state *physical = ARENA_ALLOC(&writer->mem, physical_state, 1);
    if (!physical) return PLUMB_EMEMORY;
    plumb_status st = choose_fields(writer, physical);
    if (!st) st = output_file_open(&physical->file, writer->path);
    if (st) return st;
    *out = physical;
    return deflate_create(&physical->deflate, DEFLATE_GZIP, write_stream, physical->file.stream,
                          writer->path);
}

// Makes the record of an item. The camera pose is stored as float32.
static plumb_status pack_physical(buffer *out, const dataset_writer *writer,
                                  const void *const *data)
{
    const physical_state *physical = writer->state;
    // Frames and masks are stored as they are in memory.
    const writer_field *pose = &writer->field[physical->field[2]];
    const int64_t count = plumb_array_count(&pose->array);
    const void *pose_values = data[physical->field[2]];
    float *floats = NULL;
    if (pose->array.dtype == PLUMB_FLOAT64) {
        floats = malloc((size_t)count * sizeof *floats + 1);
        if (!floats) return fail(PLUMB_EMEMORY, "%s: no memory for an item", writer->path);
        for (int64_t i = 0; i < count; i++) floats[i] = (float)((const double *)pose_values)[i];
    }
    // A TFRecord: length and checksum, the tf.train.Example, checksum.
    buffer features = {0}, example = {0};
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    physical_concepts_append(&features, &physical->layout, data[physical->field[0]],
                             data[physical->field[1]], floats ? floats : pose_values);
    tf_example_finish(&example, &features);
    if (!example.failed) {
        tfrecord_frame(head, tail, example.data, example.size);
        buffer_put(out, head, sizeof head);
        buffer_put(out, example.data, example.size);
        buffer_put(out, tail, sizeof tail);
    }
    const bool failed = example.failed || out->failed;
    buffer_clear(&features);
    buffer_clear(&example);
    free(floats);
    return failed ? fail(PLUMB_EMEMORY, "%s: no memory for an item", writer->path) : PLUMB_OK;
}

static plumb_status append_physical(dataset_writer *writer, const void *const *data,
                                    const buffer *packed)
{
    (void)data;
    const physical_state *physical = writer->state;
    return deflate_write(physical->deflate, packed->data, packed->size);
}

static plumb_status commit_physical(dataset_writer *writer)
{
    physical_state *physical = writer->state;
    const plumb_status st = deflate_finish(physical->deflate);
    return st ? st : output_file_commit(&physical->file);
}

// After a commit there is nothing left to discard.
static void close_physical(dataset_writer *writer)
{
    physical_state *physical = writer->state;
    deflate_free(physical->deflate);
    physical->deflate = NULL;
    output_file_discard(&physical->file);
}

const writer_format writer_physical = {".tfrecord",     open_physical,   pack_physical,
                                       append_physical, commit_physical, close_physical};
