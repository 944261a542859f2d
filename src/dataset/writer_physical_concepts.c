// SPDX-License-Identifier: MIT
// Physical Concepts as it is published: GZIP, and nothing beside the file.
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

typedef struct state {
    output_file file;
    deflate_writer *sink;
    physical_concepts_layout layout;
    int64_t field[PHYSICAL_CONCEPTS_FIELDS]; // where in the writer's list they are
} state;

static bool to_stream(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes;
}

static bool same_shape(const plumb_array *a, const plumb_array *b)
{
    return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

static plumb_status choose(writer *w, state *s)
{
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++) {
        s->field[k] = -1;
        for (int64_t i = 0; i < w->fields; i++)
            if (!strcmp(w->field[i].name, physical_concepts_name(k)) && !w->field[i].shared)
                s->field[k] = i;
        if (s->field[k] < 0)
            return fail(PLUMB_EVALUE, "%s: there is no \"%s\" to write", w->path,
                        physical_concepts_name(k));
    }
    const plumb_array *frames = &w->field[s->field[0]].array;
    const bool probe = frames->ndim == 5;
    const int at = probe ? 1 : 0;
    if (frames->ndim != 4 + at || frames->shape[at + 1] != frames->shape[at + 2])
        return fail(PLUMB_ESHAPE,
                    "%s: \"frames\" of an item is neither a clip nor four of square "
                    "frames",
                    w->path);
    s->layout = (physical_concepts_layout){
        .probe = probe, .steps = frames->shape[at], .size = frames->shape[at + 1]};
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++) {
        const plumb_array *have = &w->field[s->field[k]].array,
                          want = physical_concepts_array(&s->layout, k);
        const bool wide = k == 2 && have->dtype == PLUMB_FLOAT64;
        if (!same_shape(have, &want) || (have->dtype != want.dtype && !wide))
            return fail(PLUMB_ESHAPE,
                        "%s: \"%s\" has not the shape and type it has in Physical "
                        "Concepts",
                        w->path, physical_concepts_name(k));
    }
    return PLUMB_OK;
}

static plumb_status physical_begin(void **out, writer *w)
{
    state *s = ARENA_ALLOC(&w->mem, state, 1);
    if (!s) return PLUMB_EMEMORY;
    plumb_status st = choose(w, s);
    if (!st) st = output_file_open(&s->file, w->path);
    if (st) return st;
    *out = s;
    return deflate_create(&s->sink, DEFLATE_GZIP, to_stream, s->file.stream, w->path);
}

static plumb_status physical_pack(buffer *out, const writer *w, const void *const *data)
{
    const state *s = w->state;
    const writer_field *pose = &w->field[s->field[2]];
    const int64_t count = plumb_array_count(&pose->array);
    const void *numbers = data[s->field[2]];
    float *narrow = NULL;
    if (pose->array.dtype == PLUMB_FLOAT64) {
        narrow = malloc((size_t)count * sizeof *narrow + 1);
        if (!narrow) return fail(PLUMB_EMEMORY, "%s: no memory for an item", w->path);
        for (int64_t i = 0; i < count; i++) narrow[i] = (float)((const double *)numbers)[i];
    }
    buffer rows = {0}, example = {0};
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    physical_concepts_append(&rows, &s->layout, data[s->field[0]], data[s->field[1]],
                             narrow ? narrow : numbers);
    tf_example_finish(&example, &rows);
    if (!example.failed) {
        tfrecord_frame(head, tail, example.data, example.size);
        buffer_put(out, head, sizeof head);
        buffer_put(out, example.data, example.size);
        buffer_put(out, tail, sizeof tail);
    }
    const bool broken = example.failed || out->failed;
    buffer_clear(&rows);
    buffer_clear(&example);
    free(narrow);
    return broken ? fail(PLUMB_EMEMORY, "%s: no memory for an item", w->path) : PLUMB_OK;
}

static plumb_status physical_append(writer *w, const void *const *data, const buffer *packed)
{
    (void)data;
    const state *s = w->state;
    return deflate_write(s->sink, packed->data, packed->size);
}

static plumb_status physical_commit(writer *w)
{
    state *s = w->state;
    const plumb_status st = deflate_finish(s->sink);
    return st ? st : output_file_commit(&s->file);
}

static void physical_end(writer *w)
{
    state *s = w->state;
    deflate_free(s->sink);
    s->sink = NULL;
    output_file_discard(&s->file);
}

const writer_format writer_physical = {".tfrecord",     physical_begin,  physical_pack,
                                       physical_append, physical_commit, physical_end};
