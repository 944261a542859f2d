// SPDX-License-Identifier: MIT
// The library's side of HDF5. The superblock is looked at before a program is started for it, and
// every word of the program's reply is checked: it has read a stranger's file.
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

// Arrays are not copied: they stay in the shared memory they came in, until the file is closed.
typedef struct mapping mapping;
struct mapping {
    mapping *next;
    void *place;
    size_t size;
};

typedef struct h5client {
    input_file file;
    const char **name;
    mapping *mappings;
} h5client;

bool hdf5_client_available(void)
{
    char path[4096];
    return hdf5_process_find(path, sizeof path);
}

// ---- before ----

static uint64_t get(const unsigned char *b, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)b[i] << 8 * i;
    return value;
}

plumb_status hdf5_client_precheck(const void *start, size_t have, uint64_t size, const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    const unsigned char *b = start;
    // A user block of 512 bytes or a larger power of two may stand in front.
    size_t at = 0;
    while (at + 8 <= have && memcmp(b + at, signature, 8) != 0) at = at ? 2 * at : 512;
    if (at + 8 > have && size <= H5CLIENT_START)
        return fail(PLUMB_EFORMAT, "%s: is not an HDF5 file", path);
    if (at + 8 > have) // HDF5 itself looks for larger user blocks; nobody has seen one
        return fail(PLUMB_EFORMAT, "%s: is not an HDF5 file, or has a user block beyond %d bytes",
                    path, H5CLIENT_START / 2);
    b += at;
    have -= at;
    const unsigned version = have > 8 ? b[8] : 255;
    if (version > 3)
        return fail(PLUMB_EFORMAT, "%s: has an HDF5 superblock of version %u, wanted 0 to 3", path,
                    version);
    const size_t widths = version < 2 ? 13 : 9; // bytes of an address, bytes of a length
    const size_t end = version == 0 ? 24 + 2 * 8 : version == 1 ? 28 + 2 * 8 : 12 + 2 * 8;
    if (have < end + 8 + 16) return fail(PLUMB_EFORMAT, "%s: ends inside its superblock", path);
    if (b[widths] != 8 || b[widths + 1] != 8)
        return fail(PLUMB_EFORMAT, "%s: has HDF5 addresses of %u bytes and lengths of %u, wanted 8",
                    path, b[widths], b[widths + 1]);
    const uint64_t promised = get(b + end, 8);
    if (promised > size)
        return fail(PLUMB_EFORMAT, "%s: the superblock promises %llu bytes, and %llu are there",
                    path, (unsigned long long)promised, (unsigned long long)size);
    return PLUMB_OK;
}

// ---- what the program says ----

static plumb_status nonsense(const char *path)
{
    return fail(PLUMB_EFORMAT, "%s: the HDF5 reader gave up (its reply makes no sense)", path);
}

// The reply as such; a refusal becomes ours.
static plumb_status check_reply(const hdf5_reply *reply, const char *path)
{
    if (reply->magic != HDF5_PROTOCOL_REPLY) return nonsense(path);
    if (!reply->status) return PLUMB_OK;
    const int length = (int)strnlen(reply->message, sizeof reply->message);
    if (reply->status > PLUMB_EMISSING || !length) return nonsense(path);
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
        return nonsense(path);
    const size_t item = plumb_dtype_size((plumb_dtype)reply->dtype);
    if (!array_count_checked(&count, reply->shape, (int)reply->ndim, item) ||
        reply->bytes != (uint64_t)count * item)
        return nonsense(path);
    if (reply->offset ? reply->offset > size || reply->bytes > size - reply->offset
                      : count && total != HDF5_PROTOCOL_BODY + reply->bytes)
        return nonsense(path);
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
        return nonsense(path);
    char *text = arena_alloc(mem, (int64_t)reply->bytes, 1);
    const char **names = ARENA_ALLOC(mem, const char *, (int64_t)reply->count);
    if (!text || !names) return PLUMB_EMEMORY;
    memcpy(text, body, reply->bytes);
    size_t used = 0;
    for (uint64_t i = 0; i < reply->count; i++) {
        const size_t length = strnlen(text + used, reply->bytes - used);
        if (length < 2 || length == reply->bytes - used || text[used] != '/') return nonsense(path);
        names[i] = text + used;
        used += length + 1;
    }
    if (used != reply->bytes) return nonsense(path);
    *out = (array_file_names){names, (int64_t)reply->count};
    return PLUMB_OK;
}

// Runs the program and maps what it left in memory. `place` is NULL on failure.
static plumb_status ask(unsigned char **place, size_t *size, const input_file *file,
                        const char *verb, const char *name)
{
    int memory;
    *place = NULL;
    plumb_status st = hdf5_process_memory(&memory, file->path);
    if (st) return st;
    // 20 seconds, and one more for every 4 MB of a slow disk
    const double seconds = 20 + (double)file->size / 4e6;
    st = hdf5_process_run(verb, name, file->fd, memory, seconds, file->path);
    struct stat about;
    if (!st && (fstat(memory, &about) || about.st_size < (off_t)sizeof(hdf5_reply)))
        st = nonsense(file->path);
    if (!st) {
        *size = (size_t)about.st_size;
        void *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        if (mapped == MAP_FAILED)
            st = fail(PLUMB_EMEMORY, "%s: no memory for its %zu bytes", file->path, *size);
        else *place = mapped;
    }
    close(memory);
    return st;
}

// ---- reading ----

static plumb_status precheck_file(const input_file *file)
{
    unsigned char start[H5CLIENT_START];
    const size_t have = file->size < H5CLIENT_START ? (size_t)file->size : sizeof start;
    const plumb_status st = input_file_read(start, file, 0, have);
    return st ? st : hdf5_client_precheck(start, have, (uint64_t)file->size, file->path);
}

plumb_status hdf5_client_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    h5client *h = ARENA_ALLOC(mem, h5client, 1);
    if (!h) return PLUMB_EMEMORY;
    plumb_status st = input_file_open(&h->file, path);
    if (st) return st;
    unsigned char *place = NULL;
    size_t size = 0;
    st = precheck_file(&h->file);
    if (!st) st = ask(&place, &size, &h->file, "list", NULL);
    if (!st) {
        hdf5_reply reply;
        memcpy(&reply, place, sizeof reply);
        st = hdf5_client_check_names(names, mem, &reply, (const char *)place + HDF5_PROTOCOL_BODY,
                                     size, path);
        munmap(place, size);
    }
    if (st) {
        input_file_close(&h->file);
        return st;
    }
    h->name = names->name;
    *state = h;
    return PLUMB_OK;
}

// What came in shared memory stays there; what lies in the file is read from it.
static plumb_status take_numbers(plumb_array *array, arena *mem, h5client *h,
                                 const hdf5_reply *reply, unsigned char *place, size_t size)
{
    mapping *m = ARENA_ALLOC(mem, mapping, 1);
    if (!m) return PLUMB_EMEMORY;
    if (reply->offset || !reply->bytes) {
        array->data = arena_alloc(mem, (int64_t)reply->bytes, 1);
        if (!array->data)
            return fail(PLUMB_EMEMORY, "%s: no memory for %llu bytes", h->file.path,
                        (unsigned long long)reply->bytes);
        return input_file_read(array->data, &h->file, reply->offset, reply->bytes);
    }
    array->data = place + HDF5_PROTOCOL_BODY;
    *m = (mapping){h->mappings, place, size};
    h->mappings = m;
    return PLUMB_OK;
}

plumb_status hdf5_client_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    h5client *h = state;
    unsigned char *place;
    size_t size = 0;
    plumb_status st = ask(&place, &size, &h->file, "read", h->name[index]);
    if (st) return st;
    hdf5_reply reply;
    memcpy(&reply, place, sizeof reply);
    mapping *const before = h->mappings;
    plumb_array array = {0};
    st = hdf5_client_check_array(&array, &reply, size, (uint64_t)h->file.size, h->file.path);
    if (!st) st = take_numbers(&array, mem, h, &reply, place, size);
    if (!st && reply.swapped)
        reorder_bytes(array.data, plumb_dtype_size(array.dtype), plumb_array_count(&array));
    if (!st && array.dtype == PLUMB_BOOL && !reorder_is_bool(array.data, reply.bytes))
        st =
            fail(PLUMB_EFORMAT, "%s: \"%s\" is of type bool and has a byte that is neither 0 nor 1",
                 h->file.path, h->name[index]);
    if (st) h->mappings = before;
    if (h->mappings == before) munmap(place, size);
    if (!st) *out = array;
    return st;
}

plumb_status hdf5_client_info(plumb_array *out, uint64_t *offset, const input_file **file,
                              void *state, int64_t index)
{
    h5client *h = state;
    unsigned char *place;
    size_t size = 0;
    plumb_status st = ask(&place, &size, &h->file, "read", h->name[index]);
    if (st) return st;
    hdf5_reply reply;
    memcpy(&reply, place, sizeof reply);
    st = hdf5_client_check_array(out, &reply, size, (uint64_t)h->file.size, h->file.path);
    munmap(place, size);
    *file = &h->file;
    if (reply.offset && !reply.swapped && out->dtype != PLUMB_BOOL) *offset = reply.offset;
    else out->ndim = -1;
    return st;
}

void hdf5_client_close(void *state)
{
    h5client *h = state;
    for (mapping *m = h->mappings; m; m = m->next) munmap(m->place, m->size);
    input_file_close(&h->file);
}

// ---- writing ----

typedef struct pen {
    int fd;
    uint64_t at;
    bool broken;
} pen;

static void put(pen *p, uint64_t at, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    while (bytes && !p->broken) {
        const ssize_t wrote = pwrite(p->fd, from, bytes < 1 << 30 ? bytes : 1 << 30, (off_t)at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            p->broken = true;
            return;
        }
        from += wrote;
        at += (uint64_t)wrote;
        bytes -= (size_t)wrote;
    }
}

// Request, entries, then every name and every array at a multiple of 64.
static plumb_status compose(int memory, const plumb_named_array *arrays, int64_t count,
                            bool compress, const char *path)
{
    pen p = {.fd = memory, .at = HDF5_PROTOCOL_BODY + (uint64_t)count * sizeof(hdf5_entry)};
    for (int64_t i = 0; i < count; i++) {
        const plumb_array *a = &arrays[i].array;
        const size_t name = strlen(arrays[i].name) + 1;
        const size_t bytes = (size_t)plumb_array_count(a) * plumb_dtype_size(a->dtype);
        hdf5_entry e = {.dtype = a->dtype, .ndim = (uint32_t)a->ndim, .name = p.at};
        memcpy(e.shape, a->shape, (size_t)a->ndim * sizeof *e.shape);
        e.data = (e.name + name + 63) / 64 * 64;
        put(&p, HDF5_PROTOCOL_BODY + (uint64_t)i * sizeof e, &e, sizeof e);
        put(&p, e.name, arrays[i].name, name);
        if (bytes) put(&p, e.data, a->data, bytes);
        p.at = e.data + bytes;
    }
    const hdf5_request request = {HDF5_PROTOCOL_REQUEST, (uint64_t)count, compress, p.at};
    put(&p, 0, &request, sizeof request);
    if (!p.broken && ftruncate(memory, (off_t)p.at) == 0) return PLUMB_OK;
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
        struct stat about = {0};
        st = compose(memory, arrays, count, compress, path);
        if (!st) fstat(memory, &about);
        const double seconds = 60 + (double)about.st_size / 1e6;
        if (!st) st = hdf5_process_run("write", NULL, fileno(file.stream), memory, seconds, path);
        hdf5_reply reply;
        if (!st)
            st = pread(memory, &reply, sizeof reply, 0) == (ssize_t)sizeof reply
                     ? check_reply(&reply, path)
                     : nonsense(path);
        close(memory);
    }
    if (st) output_file_discard(&file);
    else st = output_file_commit(&file);
    return st;
}
