// SPDX-License-Identifier: MIT
// The door to libzip. zip_directory.c has checked the directory before libzip opens the file.
//
// What is packed may lie about what comes out. So a member has to show its .npy header first,
// which must promise exactly the bytes the directory promises; and if these are more than twice
// the packed ones, everything is unpacked once into a small buffer, counted and summed, before
// memory for the array is taken. A member that unpacks to BOMB_SIZE and more at over BOMB_RATIO
// (nothing but repetition does) is refused.
#define _GNU_SOURCE
#include "io/npz.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/input_file.h"
#include "base/output_file.h"
#include "io/npy.h"
#include "io/zip_directory.h"

enum {
    BOMB_RATIO = 1000,
    BOMB_SIZE = 1 << 26,
    BUFFER = 1 << 16,
    UNPROVEN = 1 << 22, // what may be taken beyond twice the packed size without proof
};

typedef struct npz {
    input_file file;
    zip_directory dir;
    zip_t *zip;
    int64_t *member; // which member each array is
    const char **name;
} npz;

// ---- opening ----

static bool is_bomb(uint64_t size, uint64_t packed)
{
    return size >= BOMB_SIZE && size / BOMB_RATIO >= packed;
}

static plumb_status refuse_bomb(const char *what, uint64_t size, uint64_t packed)
{
    return fail(PLUMB_EFORMAT,
                "%s: %llu bytes would unpack to %llu, as in a zip bomb; if it is "
                "genuine, save it again uncompressed",
                what, (unsigned long long)packed, (unsigned long long)size);
}

static plumb_status check_total(const npz *z)
{
    uint64_t size = 0, packed = 0;
    for (int64_t i = 0; i < z->dir.count; i++) {
        if (__builtin_add_overflow(size, z->dir.member[i].size, &size)) size = UINT64_MAX;
        packed += z->dir.member[i].packed; // members do not overlap, so the sum is below the file
    }
    return is_bomb(size, packed) ? refuse_bomb(z->file.path, size, packed) : PLUMB_OK;
}

// libzip looks for the directory in its own way; it has to have found the same one.
static plumb_status compare(const npz *z)
{
    bool same = zip_get_num_entries(z->zip, 0) == z->dir.count;
    for (int64_t i = 0; same && i < z->dir.count; i++) {
        const zip_member *m = &z->dir.member[i];
        zip_stat_t about;
        const char *name = zip_get_name(z->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        same = name && strcmp(name, m->name) == 0 &&
               zip_stat_index(z->zip, (zip_uint64_t)i, 0, &about) == 0 && about.size == m->size &&
               about.comp_size == m->packed && about.crc == m->crc &&
               about.comp_method == m->method;
    }
    return same ? PLUMB_OK
                : fail(PLUMB_EFORMAT, "%s: can be read as two different zip files", z->file.path);
}

static plumb_status open_zip(npz *z)
{
    const int fd = dup(z->file.fd);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: %s", z->file.path, strerror(errno));
    int code;
    z->zip = zip_fdopen(fd, ZIP_CHECKCONS, &code);
    if (z->zip) return compare(z);
    close(fd);
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    const plumb_status st = fail(code == ZIP_ER_MEMORY ? PLUMB_EMEMORY : PLUMB_EFORMAT, "%s: %s",
                                 z->file.path, zip_error_strerror(&why));
    zip_error_fini(&why);
    return st;
}

// Members that are not .npy are left alone, as NumPy does.
static plumb_status list(npz *z, array_file_names *names, arena *mem)
{
    names->name = ARENA_ALLOC(mem, const char *, z->dir.count);
    z->member = ARENA_ALLOC(mem, int64_t, z->dir.count);
    if (!names->name || !z->member) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < z->dir.count; i++) {
        const char *name = z->dir.member[i].name;
        const size_t length = strlen(name);
        if (length <= 4 || strcmp(name + length - 4, ".npy") != 0) continue;
        char *key = arena_strdup(mem, name);
        if (!key) return PLUMB_EMEMORY;
        key[length - 4] = 0;
        names->name[names->count] = key;
        z->member[names->count++] = i;
    }
    z->name = names->name;
    return names->count ? PLUMB_OK : fail(PLUMB_EFORMAT, "%s: holds no .npy member", z->file.path);
}

plumb_status npz_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    npz *z = ARENA_ALLOC(mem, npz, 1);
    if (!z) return PLUMB_EMEMORY;
    plumb_status st = input_file_open(&z->file, path);
    if (st) return st;
    st = zip_directory_read(&z->dir, mem, &z->file);
    if (!st) st = check_total(z);
    if (!st) st = open_zip(z);
    if (!st) st = list(z, names, mem);
    if (st) npz_close(z);
    else *state = z;
    return st;
}

void npz_close(void *state)
{
    npz *z = state;
    if (z->zip) zip_discard(z->zip);
    input_file_close(&z->file);
}

// ---- reading ----

typedef struct stream {
    zip_file_t *file;
    const char *what;
    unsigned char *prefix; // of the member, already read
    size_t have, used;
} stream;

static plumb_status damaged(stream *s)
{
    return fail(PLUMB_EFORMAT, "%s: %s", s->what, zip_error_strerror(zip_file_get_error(s->file)));
}

static plumb_status open_member(stream *s, npz *z, int64_t member)
{
    s->file = zip_fopen_index(z->zip, (zip_uint64_t)member, 0);
    if (s->file) return PLUMB_OK;
    return fail(PLUMB_EFORMAT, "%s: %s", s->what, zip_strerror(z->zip));
}

// Exactly `bytes` bytes.
static plumb_status pull(stream *s, void *out, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const zip_int64_t got = zip_fread(s->file, (unsigned char *)out + done, bytes - done);
        if (got < 0) return damaged(s);
        if (got == 0)
            return fail(PLUMB_EFORMAT, "%s: unpacks to fewer bytes than the directory promises",
                        s->what);
        done += (size_t)got;
    }
    return PLUMB_OK;
}

// Nothing may follow; libzip compares the checksum when it meets the end.
static plumb_status pull_end(stream *s)
{
    unsigned char more;
    const zip_int64_t got = zip_fread(s->file, &more, 1);
    if (got < 0) return damaged(s);
    return got == 0 ? PLUMB_OK
                    : fail(PLUMB_EFORMAT, "%s: unpacks to more bytes than the directory promises",
                           s->what);
}

static plumb_status prove(npz *z, int64_t member, const stream *first)
{
    stream s = {.what = first->what};
    plumb_status st = open_member(&s, z, member);
    if (st) return st;
    unsigned char buffer[BUFFER];
    for (uint64_t left = z->dir.member[member].size; left && !st;) {
        const size_t step = left < sizeof buffer ? (size_t)left : sizeof buffer;
        st = pull(&s, buffer, step);
        left -= step;
    }
    if (!st) st = pull_end(&s);
    zip_fclose(s.file);
    return st;
}

static plumb_status from_member(void *context, void *out, size_t bytes)
{
    stream *s = context;
    const size_t kept = s->have - s->used < bytes ? s->have - s->used : bytes;
    memcpy(out, s->prefix + s->used, kept);
    s->used += kept;
    const plumb_status st = pull(s, (unsigned char *)out + kept, bytes - kept);
    return st ? st : pull_end(s);
}

static plumb_status read_member(plumb_array *out, arena *mem, npz *z, int64_t member, stream *s)
{
    const zip_member *m = &z->dir.member[member];
    if (m->size > input_file_memory_limit())
        return fail(PLUMB_EMEMORY, "%s: has %llu bytes, more than this machine's memory", s->what,
                    (unsigned long long)m->size);
    if (is_bomb(m->size, m->packed)) return refuse_bomb(s->what, m->size, m->packed);
    s->have = m->size < NPY_PREFIX_LIMIT ? (size_t)m->size : (size_t)NPY_PREFIX_LIMIT;
    plumb_status st = open_member(s, z, member);
    if (!st) st = pull(s, s->prefix, s->have);
    npy_header header;
    if (!st) st = npy_parse(&header, s->prefix, s->have, m->size, s->what);
    if (!st && m->size > UNPROVEN && m->size - UNPROVEN > 2 * m->packed) st = prove(z, member, s);
    if (st) return st;
    s->used = header.offset;
    return npy_load(out, mem, &header, from_member, s, s->what);
}

plumb_status npz_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    npz *z = state;
    char what[512];
    snprintf(what, sizeof what, "%.300s:%.200s", z->file.path, z->name[index]);
    arena scratch = {0};
    stream s = {.what = what, .prefix = arena_alloc(&scratch, NPY_PREFIX_LIMIT, 1)};
    const plumb_status st =
        s.prefix ? read_member(out, mem, z, z->member[index], &s) : PLUMB_EMEMORY;
    if (s.file) zip_fclose(s.file);
    arena_clear(&scratch);
    return st;
}

static plumb_status look_member(plumb_array *out, uint64_t *offset, npz *z, int64_t member,
                                stream *s)
{
    const zip_member *m = &z->dir.member[member];
    npy_header header;
    s->have = m->size < NPY_PREFIX_LIMIT ? (size_t)m->size : (size_t)NPY_PREFIX_LIMIT;
    plumb_status st = open_member(s, z, member);
    if (!st) st = pull(s, s->prefix, s->have);
    if (!st) st = npy_parse(&header, s->prefix, s->have, m->size, s->what);
    if (st) return st;
    *out = plumb_array_view(NULL, header.dtype, header.ndim, header.shape);
    if (m->method != ZIP_DIRECTORY_STORED || header.swapped || header.fortran ||
        header.dtype == PLUMB_BOOL)
        return PLUMB_OK;
    // Name and extra field stand between the local header and the data.
    unsigned char local[30];
    st = input_file_read(local, &z->file, m->offset, sizeof local);
    if (!st) st = prove(z, member, s);
    if (st) return st;
    *offset = m->offset + sizeof local + (uint64_t)(local[26] | local[27] << 8) +
              (uint64_t)(local[28] | local[29] << 8) + header.offset;
    return PLUMB_OK;
}

plumb_status npz_info(plumb_array *out, uint64_t *offset, const input_file **file, void *state,
                      int64_t index)
{
    npz *z = state;
    char what[512];
    snprintf(what, sizeof what, "%.300s:%.200s", z->file.path, z->name[index]);
    arena scratch = {0};
    stream s = {.what = what, .prefix = arena_alloc(&scratch, NPY_PREFIX_LIMIT, 1)};
    *file = &z->file;
    const plumb_status st =
        s.prefix ? look_member(out, offset, z, z->member[index], &s) : PLUMB_EMEMORY;
    if (s.file) zip_fclose(s.file);
    arena_clear(&scratch);
    return st;
}

// ---- writing ----

// libzip would write its own temporary file and not sync it; handed this sink instead, it writes
// into the stream of an outfile, which appears whole or not at all.
typedef struct sink {
    FILE *stream;
    zip_error_t error;
} sink;

static zip_int64_t sink_fail(sink *s, int code)
{
    zip_error_set(&s->error, code, errno);
    return -1;
}

static zip_int64_t sink_seek(sink *s, void *data, zip_uint64_t length)
{
    // It wants to know the length so as not to go beyond; in a file that grows there is no such.
    const zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)ftello(s->stream),
                                                          INT64_MAX, data, length, &s->error);
    if (to < 0) return -1;
    return fseeko(s->stream, (off_t)to, SEEK_SET) ? sink_fail(s, ZIP_ER_SEEK) : 0;
}

static zip_int64_t sink_call(void *context, void *data, zip_uint64_t length, zip_source_cmd_t call)
{
    sink *s = context;
    switch (call) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
            ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE,
            ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT: {
        zip_stat_t *about = data;
        zip_stat_init(about);
        about->size = 0;
        about->valid = ZIP_STAT_SIZE;
        return sizeof *about;
    }
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&s->error, data, length);
    case ZIP_SOURCE_WRITE:
        if (fwrite(data, 1, (size_t)length, s->stream) != length) return sink_fail(s, ZIP_ER_WRITE);
        return (zip_int64_t)length;
    case ZIP_SOURCE_SEEK_WRITE: return sink_seek(s, data, length);
    case ZIP_SOURCE_TELL_WRITE: return (zip_int64_t)ftello(s->stream);
    default: return 0; // nothing to do, and nothing to read back
    }
}

static plumb_status unwritten(const char *path, zip_error_t *why)
{
    const int code = zip_error_code_zip(why); // libzip may forget to say that memory ran out
    if (code == ZIP_ER_MEMORY || code == ZIP_ER_OK)
        return fail(PLUMB_EMEMORY, "%s: no memory to write it", path);
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", path, zip_error_strerror(why));
}

static plumb_status add(zip_t *zip, arena *mem, const plumb_named_array *named, bool compress,
                        const char *path)
{
    const size_t length = strlen(named->name);
    char *name = arena_alloc(mem, (int64_t)length + 5, 1);
    unsigned char *header = arena_alloc(mem, NPY_WRITE_LIMIT, 1);
    if (!name || !header) return PLUMB_EMEMORY;
    memcpy(name, named->name, length);
    memcpy(name + length, ".npy", 5);
    const plumb_array *array = &named->array;
    zip_buffer_fragment_t part[2] = {
        {header, npy_format_header(header, array)},
        {array->data, (zip_uint64_t)plumb_array_count(array) * plumb_dtype_size(array->dtype)},
    };
    zip_source_t *source = zip_source_buffer_fragment(zip, part, part[1].length ? 2 : 1, 0);
    if (!source) return unwritten(path, zip_get_error(zip));
    const zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return fail(PLUMB_EVALUE, "%s: cannot hold an array called \"%s\": %s", path, named->name,
                    zip_strerror(zip));
    }
    // 1 January 1980, as NumPy does: equal arrays make equal files.
    if (zip_set_file_compression(zip, (zip_uint64_t)index, compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 0) ||
        zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 0x21, 0))
        return unwritten(path, zip_get_error(zip));
    return PLUMB_OK;
}

static plumb_status fill(zip_t *zip, arena *mem, const char *path, const plumb_named_array *arrays,
                         int64_t count, bool compress)
{
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < count && !st; i++) st = add(zip, mem, &arrays[i], compress, path);
    if (!st && zip_close(zip) == 0) return PLUMB_OK;
    if (!st) st = unwritten(path, zip_get_error(zip));
    zip_discard(zip);
    return st;
}

plumb_status npz_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress)
{
    if (count > ZIP_DIRECTORY_MAX_MEMBERS)
        return fail(PLUMB_EVALUE, "%s: %lld arrays, at most %d fit", path, (long long)count,
                    ZIP_DIRECTORY_MAX_MEMBERS);
    output_file file;
    plumb_status st = output_file_open(&file, path);
    if (st) return st;
    sink s = {.stream = file.stream};
    zip_error_t error;
    zip_error_init(&error);
    zip_error_init(&s.error);
    arena scratch = {0};
    zip_source_t *source = zip_source_function_create(sink_call, &s, &error);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    if (zip) {
        st = fill(zip, &scratch, path, arrays, count, compress);
    } else {
        st = unwritten(path, &error);
        if (source) zip_source_free(source);
    }
    arena_clear(&scratch);
    zip_error_fini(&s.error);
    zip_error_fini(&error);
    if (st) output_file_discard(&file);
    else st = output_file_commit(&file);
    return st;
}
