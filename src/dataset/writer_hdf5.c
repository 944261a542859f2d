// SPDX-License-Identifier: MIT
// Writes HDF5 item by item. Without compression, plumb-h5 creates the file with space for every
// array and returns the positions; the values are then written there without HDF5. Compressed
// chunks must go through HDF5: the items are collected in a temporary file, which plumb-h5 gets at
// the end in place of shared memory.
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/status.h"
#include "dataset/writer.h"
#include "io/hdf5/client.h"
#include "io/hdf5/process.h"

typedef struct hdf5_state {
    output_file file;
    int memory;     // descriptor of the request
    uint64_t *next; // position of the next item of each array, in the file or in the request
    uint64_t bytes; // size of the request
} hdf5_state;

// Writes the request, the entries, and the names. With compression each name is followed by space
// for its array.
static plumb_status compose_request(dataset_writer *writer)
{
    hdf5_state *hdf5 = writer->state;
    uint64_t at = HDF5_PROTOCOL_BODY + (uint64_t)writer->field_count * sizeof(hdf5_entry);
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < writer->field_count && !st; i++) {
        const writer_field *field = &writer->field[i];
        const plumb_array whole = writer_full_array(writer, field);
        const size_t name_size = strlen(field->name) + 1;
        hdf5_entry entry = {.dtype = whole.dtype, .ndim = (uint32_t)whole.ndim, .name = at};
        memcpy(entry.shape, whole.shape, (size_t)whole.ndim * sizeof *entry.shape);
        entry.data = (entry.name + name_size + 63) / 64 * 64;
        at = entry.data;
        if (writer->options.compress)
            at += writer_bytes(field) * (field->shared ? 1 : (uint64_t)writer->items);
        hdf5->next[i] = entry.data;
        st = writer_write_at(hdf5->memory, HDF5_PROTOCOL_BODY + (uint64_t)i * sizeof entry, &entry,
                             sizeof entry, writer->path);
        if (!st)
            st = writer_write_at(hdf5->memory, entry.name, field->name, name_size, writer->path);
    }
    const hdf5_request request = {HDF5_PROTOCOL_REQUEST, (uint64_t)writer->field_count,
                                  writer->options.compress, at};
    if (!st) st = writer_write_at(hdf5->memory, 0, &request, sizeof request, writer->path);
    hdf5->bytes = at;
    if (!st && ftruncate(hdf5->memory, (off_t)at))
        st = fail(PLUMB_EFILE, "%s: cannot be written: no room for its %llu bytes", writer->path,
                  (unsigned long long)at);
    return st;
}

// Runs plumb-h5 on the request and checks its reply.
static plumb_status run_helper(dataset_writer *writer, const char *verb)
{
    hdf5_state *hdf5 = writer->state;
    const double seconds = 60 + (double)hdf5->bytes / 1e6;
    plumb_status st = hdf5_process_run(verb, NULL, fileno(hdf5->file.stream), hdf5->memory, seconds,
                                       writer->path);
    hdf5_reply reply;
    if (!st && pread(hdf5->memory, &reply, sizeof reply, 0) != (ssize_t)sizeof reply)
        st = fail(PLUMB_EFILE, "%s: the HDF5 writer said nothing", writer->path);
    return st ? st : hdf5_client_check_written(&reply, writer->path);
}

// Gets the positions of the arrays and checks that they are inside the file.
static plumb_status reserve_space(dataset_writer *writer)
{
    hdf5_state *hdf5 = writer->state;
    plumb_status st = run_helper(writer, "reserve");
    struct stat info;
    if (!st && fstat(fileno(hdf5->file.stream), &info))
        st = fail(PLUMB_EFILE, "%s: cannot be written", writer->path);
    for (int64_t i = 0; i < writer->field_count && !st; i++) {
        hdf5_entry entry;
        const writer_field *field = &writer->field[i];
        const uint64_t bytes = writer_bytes(field) * (field->shared ? 1 : (uint64_t)writer->items);
        const off_t at = (off_t)(HDF5_PROTOCOL_BODY + (uint64_t)i * sizeof entry);
        if (pread(hdf5->memory, &entry, sizeof entry, at) != (ssize_t)sizeof entry ||
            (bytes && (!entry.data || entry.data > (uint64_t)info.st_size ||
                       bytes > (uint64_t)info.st_size - entry.data)))
            st = fail(PLUMB_EFILE, "%s: the HDF5 writer left no room for \"%s\"", writer->path,
                      field->name);
        hdf5->next[i] = entry.data;
    }
    return st;
}

// The file that items are written to.
static int get_target(const dataset_writer *writer)
{
    const hdf5_state *hdf5 = writer->state;
    return writer->options.compress ? hdf5->memory : fileno(hdf5->file.stream);
}

// Starts the file, writes the request and the shared arrays.
static plumb_status open_hdf5(void **out, dataset_writer *writer)
{
    if (!hdf5_client_available()) return hdf5_process_run("write", NULL, -1, -1, 0, writer->path);
    for (int64_t i = 0; i < writer->field_count; i++)
        if (!writer->field[i].name[0])
            return fail(PLUMB_EVALUE, "%s: an array in HDF5 needs a name", writer->path);
    hdf5_state *hdf5 = ARENA_ALLOC(&writer->mem, hdf5_state, 1);
    if (!hdf5) return PLUMB_EMEMORY;
    hdf5->memory = -1;
    hdf5->next = ARENA_ALLOC(&writer->mem, uint64_t, writer->field_count);
    if (!hdf5->next) return PLUMB_EMEMORY;
    plumb_status st = output_file_open(&hdf5->file, writer->path);
    if (st) return st;
    *out = hdf5;
    st = writer->options.compress ? writer_temp_file(&hdf5->memory, writer->path)
                                  : hdf5_process_memory(&hdf5->memory, writer->path);
    if (!st) st = compose_request(writer);
    if (!st && !writer->options.compress) st = reserve_space(writer);
    for (int64_t i = 0; i < writer->field_count && !st; i++) {
        const writer_field *field = &writer->field[i];
        if (field->shared)
            st = writer_write_at(get_target(writer), hdf5->next[i], field->array.data,
                                 writer_bytes(field), writer->path);
    }
    return st;
}

// Items go to their place in the file, or in the request if the file is compressed.
static plumb_status append_hdf5(dataset_writer *writer, const void *const *data,
                                const buffer *packed)
{
    (void)packed;
    hdf5_state *hdf5 = writer->state;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < writer->field_count && !st; i++) {
        if (writer->field[i].shared) continue;
        const size_t bytes = writer_bytes(&writer->field[i]);
        st = writer_write_at(get_target(writer), hdf5->next[i], data[i], bytes, writer->path);
        hdf5->next[i] += bytes;
    }
    return st;
}

// With compression, plumb-h5 writes the file now.
static plumb_status commit_hdf5(dataset_writer *writer)
{
    hdf5_state *hdf5 = writer->state;
    const plumb_status st = writer->options.compress ? run_helper(writer, "write") : PLUMB_OK;
    return st ? st : output_file_commit(&hdf5->file);
}

// Frees the writer and discards the file unless it was committed.
static void close_hdf5(dataset_writer *writer)
{
    hdf5_state *hdf5 = writer->state;
    if (hdf5->memory >= 0) close(hdf5->memory);
    hdf5->memory = -1;
    output_file_discard(&hdf5->file);
}

const writer_format writer_h5 = {".h5", open_hdf5, NULL, append_hdf5, commit_hdf5, close_hdf5};
const writer_format writer_hdf5 = {".hdf5", open_hdf5, NULL, append_hdf5, commit_hdf5, close_hdf5};
