// SPDX-License-Identifier: MIT
// Sizes are known before the first item, so every member has its place in the file from the start:
// an item goes to as many places as there are arrays, and the checksums, which grow with the
// items, are filled in at the end. Deflated members have no place yet; each grows in a scratch file
// of its own and is copied at the end.
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/status.h"
#include "dataset/writer.h"
#include "io/deflate.h"
#include "io/npy.h"
#include "io/zip_directory.h"

enum { LOCAL = 30, EXTRA = 20, ENTRY = 46, ENTRY_EXTRA = 28, PIECE = 1 << 16 };

typedef struct member {
    const char *name; // with .npy
    uint64_t size, packed;
    uint64_t offset; // of the local header
    uint64_t at;     // where the next bytes go
    uint32_t crc;
    int scratch; // deflated: the file it grows in
    deflate_writer *sink;
    const char *path; // for the sink's messages
} member;

typedef struct state {
    output_file file;
    member *member;
} state;

// ---- numbers as zip has them ----

static unsigned char *put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

// The local header; sizes always stand in the zip64 field, as NumPy's do.
static size_t compose_local(unsigned char *out, const member *m, bool deflated)
{
    const size_t name = strlen(m->name);
    unsigned char *at = put(out, 0x04034b50, 4);
    at = put(at, 45, 2);      // version that knows zip64
    at = put(at, 1 << 11, 2); // the name is UTF-8
    at = put(at, deflated ? ZIP_DIRECTORY_DEFLATED : ZIP_DIRECTORY_STORED, 2);
    at = put(at, 0x00210000, 4); // 1 January 1980, as NumPy does: equal arrays make equal files
    at = put(at, m->crc, 4);
    at = put(at, 0xffffffff, 4);
    at = put(at, 0xffffffff, 4);
    at = put(at, name, 2);
    at = put(at, EXTRA, 2);
    memcpy(at, m->name, name);
    at = put(at + name, 1, 2);
    at = put(at, 16, 2);
    at = put(at, m->size, 8);
    at = put(at, m->packed, 8);
    return (size_t)(at - out);
}

static size_t compose_entry(unsigned char *out, const member *m, bool deflated)
{
    const size_t name = strlen(m->name);
    unsigned char *at = put(out, 0x02014b50, 4);
    at = put(at, 45 | 3 << 8, 2); // made on Unix
    at = put(at, 45, 2);
    at = put(at, 1 << 11, 2);
    at = put(at, deflated ? ZIP_DIRECTORY_DEFLATED : ZIP_DIRECTORY_STORED, 2);
    at = put(at, 0x00210000, 4);
    at = put(at, m->crc, 4);
    at = put(at, 0xffffffff, 4);
    at = put(at, 0xffffffff, 4);
    at = put(at, name, 2);
    at = put(at, ENTRY_EXTRA, 2);
    at = put(at, 0, 6); // no comment, first disk, binary
    at = put(at, 0100644u << 16, 4);
    at = put(at, 0xffffffff, 4);
    memcpy(at, m->name, name);
    at = put(at + name, 1, 2);
    at = put(at, 24, 2);
    at = put(at, m->size, 8);
    at = put(at, m->packed, 8);
    at = put(at, m->offset, 8);
    return (size_t)(at - out);
}

static size_t compose_end(unsigned char *out, int64_t count, uint64_t start, uint64_t size)
{
    unsigned char *at = put(out, 0x06064b50, 4);
    at = put(at, 44, 8);
    at = put(at, 45 | 45 << 16, 4);
    at = put(at, 0, 8);
    at = put(at, (uint64_t)count, 8);
    at = put(at, (uint64_t)count, 8);
    at = put(at, size, 8);
    at = put(at, start, 8);
    at = put(at, 0x07064b50, 4);
    at = put(at, 0, 4);
    at = put(at, start + size, 8);
    at = put(at, 1, 4);
    at = put(at, 0x06054b50, 4);
    at = put(at, 0, 4);
    at = put(at, 0xffff, 2);
    at = put(at, 0xffff, 2);
    at = put(at, 0xffffffff, 4);
    at = put(at, 0xffffffff, 4);
    at = put(at, 0, 2);
    return (size_t)(at - out);
}

// ---- writing ----

static bool to_scratch(void *context, const void *data, size_t bytes)
{
    member *m = context;
    if (writer_write_at(m->scratch, m->packed, data, bytes, m->path)) return false;
    m->packed += bytes;
    return true;
}

// The next bytes of a member.
static plumb_status feed(writer *w, member *m, const void *data, size_t bytes)
{
    state *s = w->state;
    m->crc = deflate_crc(m->crc, data, bytes);
    m->at += bytes;
    if (m->sink) return deflate_write(m->sink, data, bytes);
    return writer_write_at(fileno(s->file.stream), m->at - bytes, data, bytes, w->path);
}

static plumb_status begin_member(writer *w, member *m, const writer_field *f, uint64_t *end)
{
    unsigned char header[NPY_MAX_WRITTEN];
    const plumb_array whole = writer_full_array(w, f);
    const size_t head = npy_format_header(header, &whole), length = strlen(f->name);
    if (length > 1000) return fail(PLUMB_EVALUE, "%s: a name of %zu bytes", w->path, length);
    char *name = arena_alloc(&w->mem, (int64_t)length + 5, 1);
    if (!name) return PLUMB_EMEMORY;
    memcpy(name, f->name, length);
    memcpy(name + length, ".npy", 5);
    *m = (member){.name = name, .offset = *end, .scratch = -1, .path = w->path};
    m->size = head + writer_bytes(f) * (f->shared ? 1 : (uint64_t)w->items);
    m->at = m->offset + LOCAL + length + 4 + EXTRA;
    if (w->opt.compress) {
        plumb_status st = writer_temp_file(&m->scratch, w->path);
        if (!st) st = deflate_create(&m->sink, DEFLATE_RAW, to_scratch, m, w->path);
        if (st) return st;
    } else {
        m->packed = m->size;
        *end = m->at + m->size;
    }
    const plumb_status st = feed(w, m, header, head);
    return st || !f->shared ? st : feed(w, m, f->array.data, writer_bytes(f));
}

static plumb_status npz_begin(void **out, writer *w)
{
    if (w->fields > ZIP_DIRECTORY_MAX_MEMBERS)
        return fail(PLUMB_EVALUE, "%s: %lld arrays, at most %d fit", w->path, (long long)w->fields,
                    ZIP_DIRECTORY_MAX_MEMBERS);
    state *s = ARENA_ALLOC(&w->mem, state, 1);
    if (!s) return PLUMB_EMEMORY;
    s->member = ARENA_ALLOC(&w->mem, member, w->fields);
    if (!s->member) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < w->fields; i++) s->member[i].scratch = -1;
    plumb_status st = output_file_open(&s->file, w->path);
    if (st) return st;
    *out = s;
    uint64_t end = 0;
    for (int64_t i = 0; i < w->fields && !st; i++)
        st = begin_member(w, &s->member[i], &w->field[i], &end);
    return st;
}

static plumb_status npz_put(writer *w, const void *const *data, const buffer *packed)
{
    (void)packed;
    state *s = w->state;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < w->fields && !st; i++)
        if (!w->field[i].shared) st = feed(w, &s->member[i], data[i], writer_bytes(&w->field[i]));
    return st;
}

// A deflated member finds its place behind the one before.
static plumb_status settle(writer *w, member *m, uint64_t end)
{
    state *s = w->state;
    plumb_status st = deflate_finish(m->sink);
    unsigned char piece[PIECE];
    m->offset = end;
    uint64_t at = end + LOCAL + strlen(m->name) + EXTRA;
    for (uint64_t done = 0; done < m->packed && !st;) {
        const ssize_t got = pread(m->scratch, piece, PIECE, (off_t)done);
        if (got <= 0) return fail(PLUMB_EFILE, "%s: a scratch file is gone", w->path);
        st = writer_write_at(fileno(s->file.stream), at, piece, (size_t)got, w->path);
        done += (uint64_t)got;
        at += (uint64_t)got;
    }
    return st;
}

static plumb_status npz_commit(writer *w)
{
    state *s = w->state;
    const int fd = fileno(s->file.stream);
    unsigned char text[1200];
    uint64_t end = 0;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < w->fields && !st; i++) {
        member *m = &s->member[i];
        if (m->sink) st = settle(w, m, end);
        const size_t size = compose_local(text, m, m->sink);
        if (!st) st = writer_write_at(fd, m->offset, text, size, w->path);
        end = m->offset + size + m->packed;
    }
    const uint64_t start = end;
    for (int64_t i = 0; i < w->fields && !st; i++) {
        const size_t size = compose_entry(text, &s->member[i], s->member[i].sink);
        st = writer_write_at(fd, end, text, size, w->path);
        end += size;
    }
    if (!st)
        st = writer_write_at(fd, end, text, compose_end(text, w->fields, start, end - start),
                             w->path);
    return st ? st : output_file_commit(&s->file);
}

static void npz_end(writer *w)
{
    state *s = w->state;
    for (int64_t i = 0; i < w->fields; i++) {
        deflate_free(s->member[i].sink);
        if (s->member[i].scratch >= 0) close(s->member[i].scratch);
        s->member[i] = (member){.scratch = -1};
    }
    output_file_discard(&s->file);
}

const writer_format writer_npz = {".npz", npz_begin, NULL, npz_put, npz_commit, npz_end};
