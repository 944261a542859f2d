// SPDX-License-Identifier: MIT
// HDF5 item by item. Without compression plumb-h5 makes the file with room for every array and says
// where it is, and the numbers go there without HDF5. Compressed, chunks have to pass through HDF5:
// items gather in a scratch file, which plumb-h5 gets in place of shared memory at the end.
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/status.h"
#include "dataset/writer.h"
#include "io/hdf5/client.h"
#include "io/hdf5/process.h"

typedef struct state {
    output_file file;
    int memory;     // the request
    uint64_t *next; // where the next item of each array goes: in the file, or in the request
    uint64_t bytes; // of the request
} state;

// Request, entries, then every name, and behind each room for its array if it goes there.
static plumb_status compose(writer *w)
{
    state *s = w->state;
    uint64_t at = HDF5_PROTOCOL_BODY + (uint64_t)w->fields * sizeof(hdf5_entry);
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < w->fields && !st; i++) {
        const writer_field *f = &w->field[i];
        const plumb_array whole = writer_full_array(w, f);
        const size_t name = strlen(f->name) + 1;
        hdf5_entry e = {.dtype = whole.dtype, .ndim = (uint32_t)whole.ndim, .name = at};
        memcpy(e.shape, whole.shape, (size_t)whole.ndim * sizeof *e.shape);
        e.data = (e.name + name + 63) / 64 * 64;
        at = e.data;
        if (w->opt.compress) at += writer_bytes(f) * (f->shared ? 1 : (uint64_t)w->items);
        s->next[i] = e.data;
        st = writer_write_at(s->memory, HDF5_PROTOCOL_BODY + (uint64_t)i * sizeof e, &e, sizeof e,
                             w->path);
        if (!st) st = writer_write_at(s->memory, e.name, f->name, name, w->path);
    }
    const hdf5_request request = {HDF5_PROTOCOL_REQUEST, (uint64_t)w->fields, w->opt.compress, at};
    if (!st) st = writer_write_at(s->memory, 0, &request, sizeof request, w->path);
    s->bytes = at;
    if (!st && ftruncate(s->memory, (off_t)at))
        st = fail(PLUMB_EFILE, "%s: cannot be written: no room for its %llu bytes", w->path,
                  (unsigned long long)at);
    return st;
}

static plumb_status run(writer *w, const char *verb)
{
    state *s = w->state;
    const double seconds = 60 + (double)s->bytes / 1e6;
    plumb_status st =
        hdf5_process_run(verb, NULL, fileno(s->file.stream), s->memory, seconds, w->path);
    hdf5_reply reply;
    if (!st && pread(s->memory, &reply, sizeof reply, 0) != (ssize_t)sizeof reply)
        st = fail(PLUMB_EFILE, "%s: the HDF5 writer said nothing", w->path);
    return st ? st : hdf5_client_check_written(&reply, w->path);
}

// Asks where the arrays go, and looks whether that is inside the file.
static plumb_status reserve(writer *w)
{
    state *s = w->state;
    plumb_status st = run(w, "reserve");
    struct stat about;
    if (!st && fstat(fileno(s->file.stream), &about))
        st = fail(PLUMB_EFILE, "%s: cannot be written", w->path);
    for (int64_t i = 0; i < w->fields && !st; i++) {
        hdf5_entry e;
        const writer_field *f = &w->field[i];
        const uint64_t bytes = writer_bytes(f) * (f->shared ? 1 : (uint64_t)w->items);
        const off_t at = (off_t)(HDF5_PROTOCOL_BODY + (uint64_t)i * sizeof e);
        if (pread(s->memory, &e, sizeof e, at) != (ssize_t)sizeof e ||
            (bytes && (!e.data || e.data > (uint64_t)about.st_size ||
                       bytes > (uint64_t)about.st_size - e.data)))
            st = fail(PLUMB_EFILE, "%s: the HDF5 writer left no room for \"%s\"", w->path, f->name);
        s->next[i] = e.data;
    }
    return st;
}

static int target(const writer *w)
{
    const state *s = w->state;
    return w->opt.compress ? s->memory : fileno(s->file.stream);
}

static plumb_status h5_begin(void **out, writer *w)
{
    if (!hdf5_client_available()) return hdf5_process_run("write", NULL, -1, -1, 0, w->path);
    for (int64_t i = 0; i < w->fields; i++)
        if (!w->field[i].name[0])
            return fail(PLUMB_EVALUE, "%s: an array in HDF5 needs a name", w->path);
    state *s = ARENA_ALLOC(&w->mem, state, 1);
    if (!s) return PLUMB_EMEMORY;
    s->memory = -1;
    s->next = ARENA_ALLOC(&w->mem, uint64_t, w->fields);
    if (!s->next) return PLUMB_EMEMORY;
    plumb_status st = output_file_open(&s->file, w->path);
    if (st) return st;
    *out = s;
    st = w->opt.compress ? writer_temp_file(&s->memory, w->path)
                         : hdf5_process_memory(&s->memory, w->path);
    if (!st) st = compose(w);
    if (!st && !w->opt.compress) st = reserve(w);
    for (int64_t i = 0; i < w->fields && !st; i++) {
        const writer_field *f = &w->field[i];
        if (f->shared)
            st = writer_write_at(target(w), s->next[i], f->array.data, writer_bytes(f), w->path);
    }
    return st;
}

static plumb_status h5_put(writer *w, const void *const *data, const buffer *packed)
{
    (void)packed;
    state *s = w->state;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < w->fields && !st; i++) {
        if (w->field[i].shared) continue;
        const size_t bytes = writer_bytes(&w->field[i]);
        st = writer_write_at(target(w), s->next[i], data[i], bytes, w->path);
        s->next[i] += bytes;
    }
    return st;
}

static plumb_status h5_commit(writer *w)
{
    state *s = w->state;
    const plumb_status st = w->opt.compress ? run(w, "write") : PLUMB_OK;
    return st ? st : output_file_commit(&s->file);
}

static void h5_end(writer *w)
{
    state *s = w->state;
    if (s->memory >= 0) close(s->memory);
    s->memory = -1;
    output_file_discard(&s->file);
}

const writer_format writer_h5 = {".h5", h5_begin, NULL, h5_put, h5_commit, h5_end};
const writer_format writer_hdf5 = {".hdf5", h5_begin, NULL, h5_put, h5_commit, h5_end};
