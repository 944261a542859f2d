// SPDX-License-Identifier: MIT
// Writes .npz item by item. All sizes are known before the first item, so every uncompressed member
// has its position in the file from the start. Each item is written to one position per array, and
// the headers with the checksums are written at the end. A compressed member has no known size: it
// is written to a temporary file of its own, which is copied at the end.
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/status.h"
#include "dataset/writer.h"
#include "io/deflate.h"
#include "io/npy.h"
#include "io/zip_directory.h"

enum {
    LOCAL_SIZE = 30,
    EXTRA_SIZE = 20,
    ENTRY_SIZE = 46,
    ENTRY_EXTRA_SIZE = 28,
    CHUNK_SIZE = 1 << 16
};

typedef struct npz_member {
    const char *name;      // with .npy
    uint64_t size, packed; // uncompressed and compressed bytes
    uint64_t offset;       // of the local header
    uint64_t position;     // of the next bytes
    uint32_t crc;
    int scratch;             // compressed: descriptor of the temporary file
    deflate_writer *deflate; // compressed, else NULL
    const char *path;        // for messages
} npz_member;

typedef struct npz_state {
    output_file file;
    npz_member *member;
} npz_state;

// ---- zip headers ----

// Appends a little-endian number.
static unsigned char *put_number(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

// The local header. Sizes are always in the zip64 field, as in NumPy.
static size_t compose_local(unsigned char *out, const npz_member *member, bool deflated)
{
    const size_t name = strlen(member->name);
    unsigned char *at = put_number(out, 0x04034b50, 4);
    at = put_number(at, 45, 2);      // version with zip64
    at = put_number(at, 1 << 11, 2); // the name is UTF-8
    at = put_number(at, deflated ? ZIP_DIRECTORY_DEFLATED : ZIP_DIRECTORY_STORED, 2);
    at =
        put_number(at, 0x00210000, 4); // 1 January 1980, as in NumPy: equal arrays make equal files
    at = put_number(at, member->crc, 4);
    at = put_number(at, 0xffffffff, 4);
    at = put_number(at, 0xffffffff, 4);
    at = put_number(at, name, 2);
    at = put_number(at, EXTRA_SIZE, 2);
    memcpy(at, member->name, name);
    at = put_number(at + name, 1, 2);
    at = put_number(at, 16, 2);
    at = put_number(at, member->size, 8);
    at = put_number(at, member->packed, 8);
    return (size_t)(at - out);
}

// The entry of the directory.
static size_t compose_entry(unsigned char *out, const npz_member *member, bool deflated)
{
    const size_t name = strlen(member->name);
    unsigned char *at = put_number(out, 0x02014b50, 4);
    at = put_number(at, 45 | 3 << 8, 2); // made on Unix
    at = put_number(at, 45, 2);
    at = put_number(at, 1 << 11, 2);
    at = put_number(at, deflated ? ZIP_DIRECTORY_DEFLATED : ZIP_DIRECTORY_STORED, 2);
    at = put_number(at, 0x00210000, 4);
    at = put_number(at, member->crc, 4);
    at = put_number(at, 0xffffffff, 4);
    at = put_number(at, 0xffffffff, 4);
    at = put_number(at, name, 2);
    at = put_number(at, ENTRY_EXTRA_SIZE, 2);
    at = put_number(at, 0, 6); // no comment, first disk, binary
    at = put_number(at, 0100644u << 16, 4);
    at = put_number(at, 0xffffffff, 4);
    memcpy(at, member->name, name);
    at = put_number(at + name, 1, 2);
    at = put_number(at, 24, 2);
    at = put_number(at, member->size, 8);
    at = put_number(at, member->packed, 8);
    at = put_number(at, member->offset, 8);
    return (size_t)(at - out);
}

// The zip64 end record, its locator, and the end record.
static size_t compose_end(unsigned char *out, int64_t count, uint64_t start, uint64_t size)
{
    unsigned char *at = put_number(out, 0x06064b50, 4);
    at = put_number(at, 44, 8);
    at = put_number(at, 45 | 45 << 16, 4);
    at = put_number(at, 0, 8);
    at = put_number(at, (uint64_t)count, 8);
    at = put_number(at, (uint64_t)count, 8);
    at = put_number(at, size, 8);
    at = put_number(at, start, 8);
    // Locator: the position of the record above.
    at = put_number(at, 0x07064b50, 4);
    at = put_number(at, 0, 4);
    at = put_number(at, start + size, 8);
    at = put_number(at, 1, 4);
    // End record: all bits set, so that readers use the zip64 record.
    at = put_number(at, 0x06054b50, 4);
    at = put_number(at, 0, 4);
    at = put_number(at, 0xffff, 2);
    at = put_number(at, 0xffff, 2);
    at = put_number(at, 0xffffffff, 4);
    at = put_number(at, 0xffffffff, 4);
    at = put_number(at, 0, 2);
    return (size_t)(at - out);
}

// ---- writing ----

// Receives the compressed bytes of a member.
static bool write_scratch(void *context, const void *data, size_t bytes)
{
    npz_member *member = context;
    if (writer_write_at(member->scratch, member->packed, data, bytes, member->path)) return false;
    member->packed += bytes;
    return true;
}

// Writes the next bytes of a member.
static plumb_status write_member(dataset_writer *writer, npz_member *member, const void *data,
                                 size_t bytes)
{
    npz_state *npz = writer->state;
    member->crc = deflate_crc(member->crc, data, bytes);
    member->position += bytes;
    if (member->deflate) return deflate_write(member->deflate, data, bytes);
    return writer_write_at(fileno(npz->file.stream), member->position - bytes, data, bytes,
                           writer->path);
}

// Reserves the space of a member and writes its .npy header, and the data if it is shared.
static plumb_status begin_member(dataset_writer *writer, npz_member *member,
                                 const writer_field *field, uint64_t *end)
{
    unsigned char header[NPY_MAX_WRITTEN];
    const plumb_array whole = writer_full_array(writer, field);
    const size_t head = npy_format_header(header, &whole), length = strlen(field->name);
    if (length > 1000) return fail(PLUMB_EVALUE, "%s: a name of %zu bytes", writer->path, length);
    char *name = arena_alloc(&writer->mem, (int64_t)length + 5, 1);
    if (!name) return PLUMB_EMEMORY;
    memcpy(name, field->name, length);
    memcpy(name + length, ".npy", 5);
    *member = (npz_member){.name = name, .offset = *end, .scratch = -1, .path = writer->path};
    member->size = head + writer_bytes(field) * (field->shared ? 1 : (uint64_t)writer->items);
    member->position = member->offset + LOCAL_SIZE + length + 4 + EXTRA_SIZE;
    // The packed size is known only at the end, so a compressed member waits in a temporary file.
    if (writer->options.compress) {
        plumb_status st = writer_temp_file(&member->scratch, writer->path);
        if (!st)
            st = deflate_create(&member->deflate, DEFLATE_RAW, write_scratch, member, writer->path);
        if (st) return st;
    } else {
        member->packed = member->size;
        *end = member->position + member->size;
    }
    const plumb_status st = write_member(writer, member, header, head);
    return st || !field->shared
               ? st
               : write_member(writer, member, field->array.data, writer_bytes(field));
}

// Starts all members.
static plumb_status open_npz(void **out, dataset_writer *writer)
{
    if (writer->field_count > ZIP_DIRECTORY_MAX_MEMBERS)
        return fail(PLUMB_EVALUE, "%s: %lld arrays, at most %d fit", writer->path,
                    (long long)writer->field_count, ZIP_DIRECTORY_MAX_MEMBERS);
    npz_state *npz = ARENA_ALLOC(&writer->mem, npz_state, 1);
    if (!npz) return PLUMB_EMEMORY;
    npz->member = ARENA_ALLOC(&writer->mem, npz_member, writer->field_count);
    if (!npz->member) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < writer->field_count; i++) npz->member[i].scratch = -1;
    plumb_status st = output_file_open(&npz->file, writer->path);
    if (st) return st;
    *out = npz;
    uint64_t end = 0;
    for (int64_t i = 0; i < writer->field_count && !st; i++)
        st = begin_member(writer, &npz->member[i], &writer->field[i], &end);
    return st;
}

// Appends an item to every member that is not shared.
static plumb_status append_npz(dataset_writer *writer, const void *const *data,
                               const buffer *packed)
{
    (void)packed;
    npz_state *npz = writer->state;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < writer->field_count && !st; i++)
        if (!writer->field[i].shared)
            st = write_member(writer, &npz->member[i], data[i], writer_bytes(&writer->field[i]));
    return st;
}

// Copies a compressed member from its temporary file to the end of the file.
static plumb_status copy_scratch(dataset_writer *writer, npz_member *member, uint64_t end)
{
    npz_state *npz = writer->state;
    plumb_status st = deflate_finish(member->deflate);
    unsigned char chunk[CHUNK_SIZE];
    member->offset = end;
    uint64_t at = end + LOCAL_SIZE + strlen(member->name) + EXTRA_SIZE;
    for (uint64_t done = 0; done < member->packed && !st;) {
        const ssize_t got = pread(member->scratch, chunk, CHUNK_SIZE, (off_t)done);
        if (got <= 0) return fail(PLUMB_EFILE, "%s: a scratch file is gone", writer->path);
        st = writer_write_at(fileno(npz->file.stream), at, chunk, (size_t)got, writer->path);
        done += (uint64_t)got;
        at += (uint64_t)got;
    }
    return st;
}

// Writes local headers, the directory and the end records.
static plumb_status commit_npz(dataset_writer *writer)
{
    npz_state *npz = writer->state;
    const int fd = fileno(npz->file.stream);
    unsigned char text[1200];
    uint64_t end = 0;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < writer->field_count && !st; i++) {
        npz_member *member = &npz->member[i];
        if (member->deflate) st = copy_scratch(writer, member, end);
        const size_t size = compose_local(text, member, member->deflate);
        if (!st) st = writer_write_at(fd, member->offset, text, size, writer->path);
        end = member->offset + size + member->packed;
    }
    // The directory follows the members.
    const uint64_t start = end;
    for (int64_t i = 0; i < writer->field_count && !st; i++) {
        const size_t size = compose_entry(text, &npz->member[i], npz->member[i].deflate);
        st = writer_write_at(fd, end, text, size, writer->path);
        end += size;
    }
    if (!st)
        st = writer_write_at(fd, end, text,
                             compose_end(text, writer->field_count, start, end - start),
                             writer->path);
    return st ? st : output_file_commit(&npz->file);
}

// Frees the members and discards the file unless it was committed.
static void close_npz(dataset_writer *writer)
{
    npz_state *npz = writer->state;
    for (int64_t i = 0; i < writer->field_count; i++) {
        deflate_free(npz->member[i].deflate);
        if (npz->member[i].scratch >= 0) close(npz->member[i].scratch);
        npz->member[i] = (npz_member){.scratch = -1};
    }
    output_file_discard(&npz->file);
}

const writer_format writer_npz = {".npz", open_npz, NULL, append_npz, commit_npz, close_npz};
