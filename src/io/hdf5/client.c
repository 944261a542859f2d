// SPDX-License-Identifier: MIT
// Library side of HDF5. The superblock is checked before the helper program is started, and every
// value of the helper's reply is checked too, because the helper has read untrusted input.
#define _GNU_SOURCE
#include "io/hdf5/client.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "io/hdf5/process.h"
#include "io/reorder.h"

// Arrays are not copied. They stay in the shared memory of the reply until the file is closed.
typedef struct array_mapping array_mapping;
struct array_mapping {
    array_mapping *next;
    void *address;
    size_t size;
};

typedef struct hdf5_client {
    input_file file;
    const char **name;
    array_mapping *mappings;
} hdf5_client;

// HDF5 is available if the helper program is installed beside the library.
bool hdf5_client_available(void)
{
    char path[4096];
    return hdf5_process_find(path, sizeof path);
}

// ---- checks before the helper is started ----

// HDF5 stores its own numbers little-endian on every machine.
static uint64_t read_little_endian(const unsigned char *data, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)data[i] << 8 * i;
    return value;
}

plumb_status hdf5_client_precheck(const void *start, size_t have, uint64_t size, const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    const unsigned char *bytes = start;
    // The signature may follow a user block of 512 bytes or a larger power of two.
    size_t at = 0;
    while (at + 8 <= have && memcmp(bytes + at, signature, 8) != 0) at = at ? 2 * at : 512;
    if (at + 8 > have && size <= HDF5_CLIENT_START)
        return fail(PLUMB_EFORMAT, "%s: is not an HDF5 file", path);
    if (at + 8 > have) // HDF5 itself searches further; such files are not known
        return fail(PLUMB_EFORMAT, "%s: is not an HDF5 file, or has a user block beyond %d bytes",
                    path, HDF5_CLIENT_START / 2);
    bytes += at;
    have -= at;
    const unsigned version = have > 8 ? bytes[8] : 255;
    if (version > 3)
        return fail(PLUMB_EFORMAT, "%s: has an HDF5 superblock of version %u, wanted 0 to 3", path,
                    version);
    // Positions in the superblock differ between versions. Only 8-byte addresses and lengths are
    // read.
    const size_t widths = version < 2 ? 13 : 9; // bytes of an address, bytes of a length
    const size_t end = version == 0 ? 24 + 2 * 8 : version == 1 ? 28 + 2 * 8 : 12 + 2 * 8;
    if (have < end + 8 + 16) return fail(PLUMB_EFORMAT, "%s: ends inside its superblock", path);
    if (bytes[widths] != 8 || bytes[widths + 1] != 8)
        return fail(PLUMB_EFORMAT, "%s: has HDF5 addresses of %u bytes and lengths of %u, wanted 8",
                    path, bytes[widths], bytes[widths + 1]);
    // The end-of-file address: a truncated file is found here, not inside the HDF5 library.
    const uint64_t promised = read_little_endian(bytes + end, 8);
    if (promised > size)
        return fail(PLUMB_EFORMAT, "%s: the superblock promises %llu bytes, and %llu are there",
                    path, (unsigned long long)promised, (unsigned long long)size);
    return PLUMB_OK;
}

// ---- the helper and its reply ----

// A reply that breaks the protocol: the helper has failed on this file.
static plumb_status reject_reply(const char *path)
{
    return fail(PLUMB_EFORMAT, "%s: the HDF5 reader gave up (its reply makes no sense)", path);
}

// Checks magic and status. An error of the helper becomes the error of the caller.
static plumb_status check_reply(const hdf5_reply *reply, const char *path)
{
    if (reply->magic != HDF5_PROTOCOL_REPLY) return reject_reply(path);
    if (!reply->status) return PLUMB_OK;
    const int length = (int)strnlen(reply->message, sizeof reply->message);
    if (reply->status > PLUMB_EMISSING || !length) return reject_reply(path);
    return fail((plumb_status)reply->status, "%s: %.*s", path, length, reply->message);
}

plumb_status hdf5_client_check_written(const hdf5_reply *reply, const char *path)
{
    return check_reply(reply, path);
}

plumb_status hdf5_client_check_array(plumb_array *out, const hdf5_reply *reply, uint64_t total,
                                     uint64_t size, const char *path)
{
    const plumb_status st = check_reply(reply, path);
    if (st) return st;
    int64_t count;
    if (reply->dtype > PLUMB_BOOL || reply->ndim > PLUMB_MAX_DIMS || reply->swapped > 1)
        return reject_reply(path);
    const size_t item = plumb_dtype_size((plumb_dtype)reply->dtype);
    if (!array_count_checked(&count, reply->shape, (int)reply->ndim, item) ||
        reply->bytes != (uint64_t)count * item)
        return reject_reply(path);
    // Values are in the file, or in the reply behind its header.
    if (reply->offset ? reply->offset > size || reply->bytes > size - reply->offset
                      : count && total != HDF5_PROTOCOL_BODY + reply->bytes)
        return reject_reply(path);
    *out = plumb_array_view(NULL, (plumb_dtype)reply->dtype, (int)reply->ndim, reply->shape);
    return PLUMB_OK;
}

plumb_status hdf5_client_check_names(array_file_names *out, arena *mem, const hdf5_reply *reply,
                                     const char *body, uint64_t total, const char *path)
{
    const plumb_status st = check_reply(reply, path);
    if (st) return st;
    if (reply->count < 1 || reply->count > HDF5_PROTOCOL_MAX_NAMES ||
        reply->bytes > HDF5_PROTOCOL_MAX_NAME_BYTES || total != HDF5_PROTOCOL_BODY + reply->bytes)
        return reject_reply(path);
    char *text = arena_alloc(mem, (int64_t)reply->bytes, 1);
    const char **names = ARENA_ALLOC(mem, const char *, (int64_t)reply->count);
    if (!text || !names) return PLUMB_EMEMORY;
    memcpy(text, body, reply->bytes);
    // Names are zero-terminated absolute paths, one after the other.
    size_t used = 0;
    for (uint64_t i = 0; i < reply->count; i++) {
        const size_t length = strnlen(text + used, reply->bytes - used);
        if (length < 2 || length == reply->bytes - used || text[used] != '/')
            return reject_reply(path);
        names[i] = text + used;
        used += length + 1;
    }
    if (used != reply->bytes) return reject_reply(path);
    *out = (array_file_names){names, (int64_t)reply->count};
    return PLUMB_OK;
}

// Runs the helper and maps its reply. `*place` is NULL on failure.
static plumb_status run_helper(unsigned char **place, size_t *size, const input_file *file,
                               const char *verb, const char *name)
{
    int memory;
    *place = NULL;
    plumb_status st = hdf5_process_memory(&memory, file->path);
    if (st) return st;
    // 20 seconds, and one more per 4 MB for a slow disk
    const double seconds = 20 + (double)file->size / 4e6;
    st = hdf5_process_run(verb, name, file->fd, memory, seconds, file->path);
    struct stat info;
    if (!st && (fstat(memory, &info) || info.st_size < (off_t)sizeof(hdf5_reply)))
        st = reject_reply(file->path);
    if (!st) {
        *size = (size_t)info.st_size;
        void *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        if (mapped == MAP_FAILED)
            st = fail(PLUMB_EMEMORY, "%s: no memory for its %zu bytes", file->path, *size);
        else *place = mapped;
    }
    close(memory);
    return st;
}

// ---- reading ----

// Checks the superblock of an open file.
static plumb_status precheck_file(const input_file *file)
{
    unsigned char start[HDF5_CLIENT_START];
    const size_t have = file->size < HDF5_CLIENT_START ? (size_t)file->size : sizeof start;
    const plumb_status st = input_file_read(start, file, 0, have);
    return st ? st : hdf5_client_precheck(start, have, (uint64_t)file->size, file->path);
}

plumb_status hdf5_client_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    hdf5_client *client = ARENA_ALLOC(mem, hdf5_client, 1);
    if (!client) return PLUMB_EMEMORY;
    plumb_status st = input_file_open(&client->file, path);
    if (st) return st;
    unsigned char *place = NULL;
    size_t size = 0;
    st = precheck_file(&client->file);
    if (!st) st = run_helper(&place, &size, &client->file, "list", NULL);
    if (!st) {
        hdf5_reply reply;
        memcpy(&reply, place, sizeof reply);
        st = hdf5_client_check_names(names, mem, &reply, (const char *)place + HDF5_PROTOCOL_BODY,
                                     size, path);
        munmap(place, size);
    }
    if (st) {
        input_file_close(&client->file);
        return st;
    }
    client->name = names->name;
    *state = client;
    return PLUMB_OK;
}

// Gets the values: from the shared memory, or from the file if they are stored there in one piece.
static plumb_status load_values(plumb_array *array, arena *mem, hdf5_client *client,
                                const hdf5_reply *reply, unsigned char *place, size_t size)
{
    array_mapping *mapping = ARENA_ALLOC(mem, array_mapping, 1);
    if (!mapping) return PLUMB_EMEMORY;
    if (reply->offset || !reply->bytes) {
        array->data = arena_alloc(mem, (int64_t)reply->bytes, 1);
        if (!array->data)
            return fail(PLUMB_EMEMORY, "%s: no memory for %llu bytes", client->file.path,
                        (unsigned long long)reply->bytes);
        return input_file_read(array->data, &client->file, reply->offset, reply->bytes);
    }
    array->data = place + HDF5_PROTOCOL_BODY;
    *mapping = (array_mapping){client->mappings, place, size};
    client->mappings = mapping;
    return PLUMB_OK;
}

plumb_status hdf5_client_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    hdf5_client *client = state;
    unsigned char *place;
    size_t size = 0;
    plumb_status st = run_helper(&place, &size, &client->file, "read", client->name[index]);
    if (st) return st;
    hdf5_reply reply;
    memcpy(&reply, place, sizeof reply);
    // If load_values() keeps the mapping it is unmapped on close, else here.
    array_mapping *const before = client->mappings;
    plumb_array array = {0};
    st = hdf5_client_check_array(&array, &reply, size, (uint64_t)client->file.size,
                                 client->file.path);
    if (!st) st = load_values(&array, mem, client, &reply, place, size);
    if (!st && reply.swapped)
        reorder_bytes(array.data, plumb_dtype_size(array.dtype), plumb_array_count(&array));
    if (!st && array.dtype == PLUMB_BOOL && !reorder_is_bool(array.data, reply.bytes))
        st =
            fail(PLUMB_EFORMAT, "%s: \"%s\" is of type bool and has a byte that is neither 0 nor 1",
                 client->file.path, client->name[index]);
    if (st) client->mappings = before;
    if (client->mappings == before) munmap(place, size);
    if (!st) *out = array;
    return st;
}

// Type, shape and position without the values; ndim is -1 if they must be read.
plumb_status hdf5_client_info(plumb_array *out, uint64_t *offset, const input_file **file,
                              void *state, int64_t index)
{
    hdf5_client *client = state;
    unsigned char *place;
    size_t size = 0;
    plumb_status st = run_helper(&place, &size, &client->file, "read", client->name[index]);
    if (st) return st;
    hdf5_reply reply;
    memcpy(&reply, place, sizeof reply);
    st = hdf5_client_check_array(out, &reply, size, (uint64_t)client->file.size, client->file.path);
    munmap(place, size);
    *file = &client->file;
    if (reply.offset && !reply.swapped && out->dtype != PLUMB_BOOL) *offset = reply.offset;
    else out->ndim = -1;
    return st;
}

void hdf5_client_close(void *state)
{
    hdf5_client *client = state;
    for (array_mapping *mapping = client->mappings; mapping; mapping = mapping->next)
        munmap(mapping->address, mapping->size);
    input_file_close(&client->file);
}

// ---- writing ----

typedef struct memory_writer {
    int fd;
    uint64_t end; // next free position
    bool failed;
} memory_writer;

// Writes bytes at a position; `failed` records an error.
static void write_at(memory_writer *writer, uint64_t at, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    while (bytes && !writer->failed) {
        const ssize_t wrote =
            pwrite(writer->fd, from, bytes < 1 << 30 ? bytes : 1 << 30, (off_t)at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            writer->failed = true;
            return;
        }
        from += wrote;
        at += (uint64_t)wrote;
        bytes -= (size_t)wrote;
    }
}

// Writes the request, the entries, then names and arrays. Arrays start at multiples of 64 bytes.
static plumb_status compose_request(int memory, const plumb_named_array *arrays, int64_t count,
                                    bool compress, const char *path)
{
    memory_writer writer = {.fd = memory,
                            .end = HDF5_PROTOCOL_BODY + (uint64_t)count * sizeof(hdf5_entry)};
    for (int64_t i = 0; i < count; i++) {
        const plumb_array *array = &arrays[i].array;
        // Entry i lies in the table at the front; its name and its values follow at the end.
        const size_t name_size = strlen(arrays[i].name) + 1;
        const size_t bytes = (size_t)plumb_array_count(array) * plumb_dtype_size(array->dtype);
        hdf5_entry entry = {
            .dtype = array->dtype, .ndim = (uint32_t)array->ndim, .name = writer.end};
        memcpy(entry.shape, array->shape, (size_t)array->ndim * sizeof *entry.shape);
        entry.data = (entry.name + name_size + 63) / 64 * 64;
        write_at(&writer, HDF5_PROTOCOL_BODY + (uint64_t)i * sizeof entry, &entry, sizeof entry);
        write_at(&writer, entry.name, arrays[i].name, name_size);
        if (bytes) write_at(&writer, entry.data, array->data, bytes);
        writer.end = entry.data + bytes;
    }
    const hdf5_request request = {HDF5_PROTOCOL_REQUEST, (uint64_t)count, compress, writer.end};
    write_at(&writer, 0, &request, sizeof request);
    if (!writer.failed && ftruncate(memory, (off_t)writer.end) == 0) return PLUMB_OK;
    return fail(PLUMB_EMEMORY, "%s: no shared memory to write it: %s", path, strerror(errno));
}

plumb_status hdf5_client_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress)
{
    if (!hdf5_client_available()) return hdf5_process_run("write", NULL, -1, -1, 0, path);
    for (int64_t i = 0; i < count; i++)
        if (!arrays[i].name[0])
            return fail(PLUMB_EVALUE, "%s: an array in HDF5 needs a name", path);
    output_file file;
    plumb_status st = output_file_open(&file, path);
    if (st) return st;
    int memory;
    st = hdf5_process_memory(&memory, path);
    if (!st) {
        struct stat info = {0};
        st = compose_request(memory, arrays, count, compress, path);
        if (!st) fstat(memory, &info);
        // A minute, and one second more per MB.
        const double seconds = 60 + (double)info.st_size / 1e6;
        if (!st) st = hdf5_process_run("write", NULL, fileno(file.stream), memory, seconds, path);
        hdf5_reply reply;
        if (!st)
            st = pread(memory, &reply, sizeof reply, 0) == (ssize_t)sizeof reply
                     ? check_reply(&reply, path)
                     : reject_reply(path);
        close(memory);
    }
    if (st) output_file_discard(&file);
    else st = output_file_commit(&file);
    return st;
}
