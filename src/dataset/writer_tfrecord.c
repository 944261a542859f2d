// SPDX-License-Identifier: MIT
// A record an item, and features.txt beside the file: the published layout [Botev21]. Reals are
// their bits as integers, pictures are one PNG of all frames one below the other.
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

typedef struct state {
    output_file file;
    deflate_writer *sink; // gzip
    feature_specs list;   // what is written
    int64_t *field;       // of which field each is
    char beside[4096];    // features.txt
    output_file text;
} state;

// ---- values ----

// Frames: (steps, height, width, channels) of bytes.
static bool is_film(const feature_spec *f)
{
    return f->dtype == PLUMB_UINT8 && f->ndim == 4 && f->shape[3] >= 1 && f->shape[3] <= 4 &&
           f->shape[0] >= 1 && f->shape[1] >= 1 && f->shape[2] >= 1;
}

static plumb_status put_film(buffer *out, const feature_spec *f, const void *data)
{
    buffer picture = {0};
    const png_shape shape = {f->shape[2], f->shape[0] * f->shape[1], (int)f->shape[3]};
    const plumb_status st = png_write(&picture, data, shape, PNG_USE_VIDEO);
    if (!st) tf_example_put_bytes(out, f->key, picture.data, picture.size);
    buffer_clear(&picture);
    return st;
}

#define WIDEN(type)                                                     \
    do {                                                                \
        const type *in = data;                                          \
        for (int64_t i = 0; i < count; i++) values[i] = (int64_t)in[i]; \
    } while (0)

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
    case PLUMB_FLOAT32: break; // two an integer, elsewhere
    }
}

// Two consecutive floats in one integer, the first in the low half. An odd number of them, which
// the published writer cannot do, is a plain list of floats.
static void put_floats(buffer *out, const feature_spec *f, const float *data, int64_t count,
                       int64_t *values)
{
    if (count % 2) {
        tf_example_put_floats(out, f->key, data, count);
        return;
    }
    for (int64_t i = 0; i < count / 2; i++) {
        uint32_t low, high;
        memcpy(&low, &data[2 * i], 4);
        memcpy(&high, &data[2 * i + 1], 4);
        values[i] = (int64_t)((uint64_t)high << 32 | low);
    }
    tf_example_put_integers(out, f->key, values, count / 2);
}

static plumb_status put_feature(buffer *out, const feature_spec *f, plumb_dtype from,
                                const void *data)
{
    if (is_film(f)) return put_film(out, f, data);
    int64_t count = 1;
    for (int i = 0; i < f->ndim; i++) count *= f->shape[i];
    if (f->dtype == PLUMB_UINT8 && f->ndim >= 3) { // masks, and films of several clips
        tf_example_put_bytes(out, f->key, data, (size_t)count);
        return PLUMB_OK;
    }
    int64_t *values = malloc((size_t)count * 8 + 8);
    float *narrow =
        f->dtype == PLUMB_FLOAT32 && from == PLUMB_FLOAT64 ? malloc((size_t)count * 4 + 4) : NULL;
    plumb_status st = PLUMB_OK;
    if (!values || (f->dtype == PLUMB_FLOAT32 && from == PLUMB_FLOAT64 && !narrow)) {
        st = fail(PLUMB_EMEMORY, "no memory for \"%s\"", f->key);
    } else if (f->dtype == PLUMB_FLOAT32) {
        for (int64_t i = 0; narrow && i < count; i++) narrow[i] = (float)((const double *)data)[i];
        put_floats(out, f, narrow ? narrow : data, count, values);
    } else {
        to_integers(values, from, data, count);
        tf_example_put_integers(out, f->key, values, count);
    }
    free(narrow);
    free(values);
    return st;
}

static plumb_status tf_pack(buffer *out, const writer *w, const void *const *data)
{
    const state *s = w->state;
    buffer rows = {0}, example = {0};
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < s->list.count && !st; i++) {
        const writer_field *f = &w->field[s->field[i]];
        st = put_feature(&rows, &s->list.row[i], f->array.dtype,
                         f->shared ? f->array.data : data[s->field[i]]);
    }
    if (!st) {
        unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
        tf_example_finish(&example, &rows);
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
    buffer_clear(&rows);
    buffer_clear(&example);
    return st ? fail(st, "%s: %s", w->path, plumb_last_error()) : PLUMB_OK;
}

// ---- the files ----

static plumb_status choose(writer *w, state *s)
{
    s->list.row = ARENA_ALLOC(&w->mem, feature_spec, w->fields);
    s->field = ARENA_ALLOC(&w->mem, int64_t, w->fields);
    if (!s->list.row || !s->field) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < w->fields; i++) {
        const writer_field *f = &w->field[i];
        feature_spec *row = &s->list.row[s->list.count];
        bool only;
        const plumb_status st =
            dm_hamiltonian_from_plumb(row, &only, &w->mem, f->name, &f->array, f->shared);
        if (st) return fail(st, "%s: %s", w->path, plumb_last_error());
        if (w->opt.published && !only) continue;
        if (w->opt.narrow && row->dtype == PLUMB_FLOAT64) row->dtype = PLUMB_FLOAT32;
        if (is_film(row) && row->shape[0] > PNG_MAX_EDGE / row->shape[1])
            return fail(PLUMB_EVALUE,
                        "%s: %lld frames of %lld rows; a PNG in a record has at most %d rows",
                        w->path, (long long)row->shape[0], (long long)row->shape[1], PNG_MAX_EDGE);
        s->field[s->list.count++] = i;
    }
    return s->list.count ? PLUMB_OK
                         : fail(PLUMB_EVALUE, "%s: nothing that published files have", w->path);
}

// features.txt belongs to all TFRecord files of its folder, so one that says otherwise is not
// touched.
static plumb_status prepare_text(writer *w, state *s)
{
    const char *slash = strrchr(w->path, '/');
    const int folder = slash ? (int)(slash - w->path) + 1 : 0;
    if ((size_t)snprintf(s->beside, sizeof s->beside, "%.*sfeatures.txt", folder, w->path) >=
        sizeof s->beside)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", w->path);
    buffer text = {0};
    features_txt_print(&text, &s->list);
    if (text.failed) {
        buffer_clear(&text);
        return fail(PLUMB_EMEMORY, "%s: no memory to write it", w->path);
    }
    input_file old;
    bool same = false, there = access(s->beside, F_OK) == 0;
    if (there && !input_file_open(&old, s->beside)) {
        char *found = old.size == (int64_t)text.size ? malloc(text.size) : NULL;
        same = found && !input_file_read(found, &old, 0, text.size) &&
               !memcmp(found, text.data, text.size);
        free(found);
        input_file_close(&old);
    }
    plumb_status st = PLUMB_OK;
    if (there && !same && !w->opt.replace)
        st = fail(PLUMB_EFILE,
                  "%s: is there already and describes other records than those of %s; choose "
                  "another folder",
                  s->beside, w->path);
    if (!st && !same) {
        st = output_file_open(&s->text, s->beside);
        if (!st) fwrite(text.data, 1, text.size, s->text.stream);
    }
    buffer_clear(&text);
    return st;
}

static bool to_stream(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) == bytes;
}

static plumb_status tf_begin(void **out, writer *w)
{
    state *s = ARENA_ALLOC(&w->mem, state, 1);
    if (!s) return PLUMB_EMEMORY;
    plumb_status st = choose(w, s);
    if (!st) st = output_file_open(&s->file, w->path);
    if (st) return st;
    *out = s;
    st = prepare_text(w, s);
    if (!st && w->opt.compress)
        st = deflate_create(&s->sink, DEFLATE_GZIP, to_stream, s->file.stream, w->path);
    return st;
}

static plumb_status tf_put(writer *w, const void *const *data, const buffer *packed)
{
    (void)data;
    state *s = w->state;
    if (s->sink) return deflate_write(s->sink, packed->data, packed->size);
    if (to_stream(s->file.stream, packed->data, packed->size)) return PLUMB_OK;
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", w->path, strerror(errno));
}

// The list first: records that nobody can read are worse than a list without records.
static plumb_status tf_commit(writer *w)
{
    state *s = w->state;
    plumb_status st = s->sink ? deflate_finish(s->sink) : PLUMB_OK;
    const bool fresh = s->text.stream && access(s->beside, F_OK) != 0;
    if (!st && s->text.stream) st = output_file_commit(&s->text);
    if (st) return st;
    st = output_file_commit(&s->file);
    if (st && fresh) unlink(s->beside);
    return st;
}

static void tf_end(writer *w)
{
    state *s = w->state;
    deflate_free(s->sink);
    s->sink = NULL;
    output_file_discard(&s->file);
    output_file_discard(&s->text);
}

const writer_format writer_tfrecord = {".tfrecord", tf_begin, tf_pack, tf_put, tf_commit, tf_end};
