// SPDX-License-Identifier: MIT
// Chooses the format of a dataset file by its suffix and passes items to it.
#define _GNU_SOURCE
#include "dataset/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/options_struct.h"
#include "base/status.h"
#include "io/tfrecord_shards.h"

static const writer_format *const formats[] = {&writer_npz, &writer_h5, &writer_hdf5,
                                               &writer_tfrecord};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

size_t writer_bytes(const writer_field *field)
{
    return (size_t)plumb_array_count(&field->array) * plumb_dtype_size(field->array.dtype);
}

// The array of the whole file: the axis of items comes first.
plumb_array writer_full_array(const dataset_writer *writer, const writer_field *field)
{
    plumb_array whole = field->array;
    if (field->shared) return whole;
    whole.ndim++;
    for (int i = whole.ndim - 1; i > 0; i--) whole.shape[i] = field->array.shape[i - 1];
    whole.shape[0] = writer->items;
    return whole;
}

// Copies names and shared data, and checks that each array of the file has a valid size.
static plumb_status copy_fields(dataset_writer *writer, const writer_field *fields, int64_t count)
{
    writer->field = ARENA_ALLOC(&writer->mem, writer_field, count);
    if (!writer->field) return PLUMB_EMEMORY;
    writer->field_count = count;
    for (int64_t i = 0; i < count; i++) {
        writer_field *field = &writer->field[i];
        *field = fields[i];
        int64_t total;
        const plumb_array whole = writer_full_array(writer, field);
        if (field->array.ndim >= PLUMB_MAX_DIMS ||
            !array_count_checked(&total, whole.shape, whole.ndim, 8))
            return fail(PLUMB_EVALUE, "%s: \"%s\" of %lld items is more than a file can hold",
                        writer->path, field->name, (long long)writer->items);
        field->name = arena_strdup(&writer->mem, field->name);
        if (!field->name) return PLUMB_EMEMORY;
        if (!field->shared) continue;
        void *copy = arena_alloc(&writer->mem, (int64_t)writer_bytes(field), 1);
        if (!copy) return PLUMB_EMEMORY;
        memcpy(copy, fields[i].array.data, writer_bytes(field));
        field->array.data = copy;
    }
    return PLUMB_OK;
}

static bool has_field(const writer_field *fields, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++)
        if (!strcmp(fields[i].name, name)) return true;
    return false;
}

plumb_status writer_open(dataset_writer **out, const char *path, const writer_field *fields,
                         int64_t count, int64_t items, const plumb_dataset_write_options *options)
{
    // The suffix chooses the format; rooms in the published layout have a format of their own.
    const writer_format *format = NULL;
    const size_t length = strlen(path);
    for (int i = 0; i < FORMAT_COUNT; i++) {
        const size_t suffix = strlen(formats[i]->suffix);
        if (length > suffix && !strcasecmp(path + length - suffix, formats[i]->suffix))
            format = formats[i];
    }
    plumb_dataset_write_options resolved_options = plumb_dataset_write_defaults();
    const plumb_status resolved = options_resolve(&resolved_options, sizeof resolved_options,
                                                  options, "plumb_dataset_write_options");
    if (resolved) return resolved;
    const bool is_room =
        has_field(fields, count, "mask") && has_field(fields, count, "camera_pose");
    if (resolved_options.published && is_room &&
        (format == &writer_tfrecord || tfrecord_shards_is_name(path)))
        format = &writer_physical;
    if (!format)
        return fail(PLUMB_EFILE, "%s: the name ends in none of .npz, .h5, .hdf5, .tfrecord", path);
    if (items < 1 || count < 1)
        return fail(PLUMB_EVALUE, "%s: no %s to write", path, items < 1 ? "item" : "array");
    if (!resolved_options.replace && access(path, F_OK) == 0)
        return fail(PLUMB_EFILE, "%s: is there already; the option force replaces it", path);
    dataset_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return fail(PLUMB_EMEMORY, "%s: no memory to write it", path);
    writer->format = format;
    writer->items = items;
    writer->options = resolved_options;
    writer->path = arena_strdup(&writer->mem, path);
    plumb_status st = writer->path ? copy_fields(writer, fields, count) : PLUMB_EMEMORY;
    if (!st) st = format->open(&writer->state, writer);
    if (st) writer_discard(writer);
    else *out = writer;
    return st;
}

// Encodes one item without touching the file, so that many threads can do it at once.
plumb_status writer_pack(buffer *out, const dataset_writer *writer, const void *const *data)
{
    buffer_reset(out);
    return writer->format->pack ? writer->format->pack(out, writer, data) : PLUMB_OK;
}

// Items are appended by one thread, in order.
plumb_status writer_append(dataset_writer *writer, const void *const *data, const buffer *packed)
{
    const plumb_status st = writer->format->append(writer, data, packed);
    if (!st) writer->appended++;
    return st;
}

static void free_writer(dataset_writer *writer)
{
    arena mem = writer->mem;
    arena_clear(&mem);
    free(writer);
}

// The file appears under its name only here. Without a commit nothing is left behind.
plumb_status writer_commit(dataset_writer *writer)
{
    const plumb_status st = writer->format->commit(writer);
    writer->format->close(writer);
    free_writer(writer);
    return st;
}

void writer_discard(dataset_writer *writer)
{
    if (!writer) return;
    if (writer->state) writer->format->close(writer);
    free_writer(writer);
}

// A file without a name beside `path`: the system removes it when it is closed.
plumb_status writer_temp_file(int *fd, const char *path)
{
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s.XXXXXX", path) >= sizeof name)
        return fail(PLUMB_EFILE, "%.80s...: the path is too long", path);
    *fd = mkostemp(name, O_CLOEXEC);
    if (*fd < 0) return fail(PLUMB_EFILE, "%s: cannot be written: %s", path, strerror(errno));
    unlink(name);
    return PLUMB_OK;
}

plumb_status writer_write_at(int fd, uint64_t at, const void *data, size_t bytes, const char *path)
{
    const unsigned char *from = data;
    // pwrite may write less than asked for, and at most 2 GiB at once.
    while (bytes) {
        const ssize_t wrote = pwrite(fd, from, bytes < 1 << 30 ? bytes : 1 << 30, (off_t)at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0)
            return fail(PLUMB_EFILE, "%s: cannot be written: %s", path,
                        strerror(wrote ? errno : ENOSPC));
        from += wrote;
        at += (uint64_t)wrote;
        bytes -= (size_t)wrote;
    }
    return PLUMB_OK;
}
