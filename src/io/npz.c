// SPDX-License-Identifier: MIT
// Wrapper of libzip. zip_directory.c checks the directory before libzip opens the file.
//
// The declared size of a compressed member may be false. So the .npy header is read first and must
// declare exactly the size in the directory. If that is more than twice the compressed size, the
// member is decompressed once into a small buffer, counted and checksummed, before memory for the
// array is allocated. A member of BOMB_SIZE bytes or more with a ratio above BOMB_RATIO is
// rejected: only repetition compresses that well.
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
    BUFFER_SIZE = 1 << 16,
    MAX_UNVERIFIED = 1 << 22, // bytes beyond twice the compressed size that need no verification
};

typedef struct npz_file {
    input_file file;
    zip_directory directory;
    zip_t *zip;
    int64_t *member;   // index of each array in the directory
    const char **name; // of each array
} npz_file;

// ---- opening ----

// True if a size is large and the compression ratio implausible.
static bool is_bomb(uint64_t size, uint64_t packed)
{
    return size >= BOMB_SIZE && size / BOMB_RATIO >= packed;
}

static plumb_status reject_bomb(const char *what, uint64_t size, uint64_t packed)
{
    return fail(PLUMB_EFORMAT,
                "%s: %llu bytes would unpack to %llu, as in a zip bomb; if it is "
                "genuine, save it again uncompressed",
                what, (unsigned long long)packed, (unsigned long long)size);
}

// Applies the bomb rule to the sum of all members.
static plumb_status check_total_size(const npz_file *npz)
{
    uint64_t size = 0, packed = 0;
    for (int64_t i = 0; i < npz->directory.count; i++) {
        if (__builtin_add_overflow(size, npz->directory.member[i].size, &size)) size = UINT64_MAX;
        packed += npz->directory.member[i].packed; // members do not overlap: no overflow
    }
    return is_bomb(size, packed) ? reject_bomb(npz->file.path, size, packed) : PLUMB_OK;
}

// libzip searches for the directory in its own way. It must have found the same one.
static plumb_status compare_directories(const npz_file *npz)
{
    bool same = zip_get_num_entries(npz->zip, 0) == npz->directory.count;
    for (int64_t i = 0; same && i < npz->directory.count; i++) {
        const zip_member *member = &npz->directory.member[i];
        zip_stat_t stat;
        const char *name = zip_get_name(npz->zip, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        same = name && strcmp(name, member->name) == 0 &&
               zip_stat_index(npz->zip, (zip_uint64_t)i, 0, &stat) == 0 &&
               stat.size == member->size && stat.comp_size == member->packed &&
               stat.crc == member->crc && stat.comp_method == member->method;
    }
    return same ? PLUMB_OK
                : fail(PLUMB_EFORMAT, "%s: can be read as two different zip files", npz->file.path);
}

// Opens the file in libzip. libzip closes its copy of the descriptor itself.
static plumb_status open_zip(npz_file *npz)
{
    const int fd = dup(npz->file.fd);
    if (fd < 0) return fail(PLUMB_EFILE, "%s: %s", npz->file.path, strerror(errno));
    int code;
    npz->zip = zip_fdopen(fd, ZIP_CHECKCONS, &code);
    if (npz->zip) return compare_directories(npz);
    close(fd);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const plumb_status st = fail(code == ZIP_ER_MEMORY ? PLUMB_EMEMORY : PLUMB_EFORMAT, "%s: %s",
                                 npz->file.path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return st;
}

// Lists the members KEY.npy. Other members are ignored, as in NumPy.
static plumb_status list_arrays(npz_file *npz, array_file_names *names, arena *mem)
{
    names->name = ARENA_ALLOC(mem, const char *, npz->directory.count);
    npz->member = ARENA_ALLOC(mem, int64_t, npz->directory.count);
    if (!names->name || !npz->member) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < npz->directory.count; i++) {
        const char *name = npz->directory.member[i].name;
        const size_t length = strlen(name);
        if (length <= 4 || strcmp(name + length - 4, ".npy") != 0) continue;
        char *key = arena_strdup(mem, name);
        if (!key) return PLUMB_EMEMORY;
        key[length - 4] = 0;
        names->name[names->count] = key;
        npz->member[names->count++] = i;
    }
    npz->name = names->name;
    return names->count ? PLUMB_OK
                        : fail(PLUMB_EFORMAT, "%s: holds no .npy member", npz->file.path);
}

plumb_status npz_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    npz_file *npz = ARENA_ALLOC(mem, npz_file, 1);
    if (!npz) return PLUMB_EMEMORY;
    plumb_status st = input_file_open(&npz->file, path);
    if (st) return st;
    st = zip_directory_read(&npz->directory, mem, &npz->file);
    if (!st) st = check_total_size(npz);
    if (!st) st = open_zip(npz);
    if (!st) st = list_arrays(npz, names, mem);
    if (st) npz_close(npz);
    else *state = npz;
    return st;
}

void npz_close(void *state)
{
    npz_file *npz = state;
    if (npz->zip) zip_discard(npz->zip);
    input_file_close(&npz->file);
}

// ---- reading ----

// Uncompressed bytes of one member. The first bytes are read ahead for the .npy header.
typedef struct member_stream {
    zip_file_t *file;
    const char *what;      // name in messages
    unsigned char *prefix; // bytes read ahead
    size_t prefix_size, prefix_used;
} member_stream;

// Fails with the error of libzip.
static plumb_status fail_damaged(member_stream *stream)
{
    return fail(PLUMB_EFORMAT, "%s: %s", stream->what,
                zip_error_strerror(zip_file_get_error(stream->file)));
}

static plumb_status open_member(member_stream *stream, npz_file *npz, int64_t member)
{
    stream->file = zip_fopen_index(npz->zip, (zip_uint64_t)member, 0);
    if (stream->file) return PLUMB_OK;
    return fail(PLUMB_EFORMAT, "%s: %s", stream->what, zip_strerror(npz->zip));
}

// Reads exactly `bytes` bytes.
static plumb_status read_exactly(member_stream *stream, void *out, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const zip_int64_t got = zip_fread(stream->file, (unsigned char *)out + done, bytes - done);
        if (got < 0) return fail_damaged(stream);
        if (got == 0)
            return fail(PLUMB_EFORMAT, "%s: unpacks to fewer bytes than the directory promises",
                        stream->what);
        done += (size_t)got;
    }
    return PLUMB_OK;
}

// No byte may follow. libzip compares the checksum when it reaches the end.
static plumb_status expect_end(member_stream *stream)
{
    unsigned char more;
    const zip_int64_t got = zip_fread(stream->file, &more, 1);
    if (got < 0) return fail_damaged(stream);
    return got == 0 ? PLUMB_OK
                    : fail(PLUMB_EFORMAT, "%s: unpacks to more bytes than the directory promises",
                           stream->what);
}

// Decompresses a member into a small buffer: its size and checksum must be as declared.
static plumb_status verify_member(npz_file *npz, int64_t member, const member_stream *first)
{
    member_stream stream = {.what = first->what};
    plumb_status st = open_member(&stream, npz, member);
    if (st) return st;
    unsigned char buffer[BUFFER_SIZE];
    for (uint64_t remaining = npz->directory.member[member].size; remaining && !st;) {
        const size_t step = remaining < sizeof buffer ? (size_t)remaining : sizeof buffer;
        st = read_exactly(&stream, buffer, step);
        remaining -= step;
    }
    if (!st) st = expect_end(&stream);
    zip_fclose(stream.file);
    return st;
}

// The npy_source of a member: first the bytes read ahead, then the stream.
static plumb_status read_array_bytes(void *context, void *out, size_t bytes)
{
    member_stream *stream = context;
    const size_t kept = stream->prefix_size - stream->prefix_used < bytes
                            ? stream->prefix_size - stream->prefix_used
                            : bytes;
    memcpy(out, stream->prefix + stream->prefix_used, kept);
    stream->prefix_used += kept;
    const plumb_status st = read_exactly(stream, (unsigned char *)out + kept, bytes - kept);
    return st ? st : expect_end(stream);
}

// Reads a member: size checks, .npy header, verification if needed, then the array.
static plumb_status read_member(plumb_array *out, arena *mem, npz_file *npz, int64_t index,
                                member_stream *stream)
{
    const zip_member *member = &npz->directory.member[index];
    if (member->size > input_file_memory_limit())
        return fail(PLUMB_EMEMORY, "%s: has %llu bytes, more than this machine's memory",
                    stream->what, (unsigned long long)member->size);
    if (is_bomb(member->size, member->packed))
        return reject_bomb(stream->what, member->size, member->packed);
    stream->prefix_size =
        member->size < NPY_MAX_PREFIX ? (size_t)member->size : (size_t)NPY_MAX_PREFIX;
    plumb_status st = open_member(stream, npz, index);
    if (!st) st = read_exactly(stream, stream->prefix, stream->prefix_size);
    npy_header header;
    if (!st)
        st = npy_parse(&header, stream->prefix, stream->prefix_size, member->size, stream->what);
    if (!st && member->size > MAX_UNVERIFIED && member->size - MAX_UNVERIFIED > 2 * member->packed)
        st = verify_member(npz, index, stream);
    if (st) return st;
    stream->prefix_used = header.offset;
    return npy_load(out, mem, &header, read_array_bytes, stream, stream->what);
}

plumb_status npz_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    npz_file *npz = state;
    char what[512];
    snprintf(what, sizeof what, "%.300s:%.200s", npz->file.path, npz->name[index]);
    arena scratch = {0};
    member_stream stream = {.what = what, .prefix = arena_alloc(&scratch, NPY_MAX_PREFIX, 1)};
    const plumb_status st =
        stream.prefix ? read_member(out, mem, npz, npz->member[index], &stream) : PLUMB_EMEMORY;
    if (stream.file) zip_fclose(stream.file);
    arena_clear(&scratch);
    return st;
}

// Reads the .npy header of a member and finds the position of its data.
static plumb_status read_member_info(plumb_array *out, uint64_t *offset, npz_file *npz,
                                     int64_t index, member_stream *stream)
{
    const zip_member *member = &npz->directory.member[index];
    npy_header header;
    stream->prefix_size =
        member->size < NPY_MAX_PREFIX ? (size_t)member->size : (size_t)NPY_MAX_PREFIX;
    plumb_status st = open_member(stream, npz, index);
    if (!st) st = read_exactly(stream, stream->prefix, stream->prefix_size);
    if (!st)
        st = npy_parse(&header, stream->prefix, stream->prefix_size, member->size, stream->what);
    if (st) return st;
    *out = plumb_array_view(NULL, header.dtype, header.ndim, header.shape);
    if (member->method != ZIP_DIRECTORY_STORED || header.swapped || header.fortran ||
        header.dtype == PLUMB_BOOL)
        return PLUMB_OK;
    // The data of an uncompressed member can be read in place once its checksum is verified. The
    // name and the extra field are between the local header and the data.
    unsigned char local[30];
    st = input_file_read(local, &npz->file, member->offset, sizeof local);
    if (!st) st = verify_member(npz, index, stream);
    if (st) return st;
    *offset = member->offset + sizeof local + (uint64_t)(local[26] | local[27] << 8) +
              (uint64_t)(local[28] | local[29] << 8) + header.offset;
    return PLUMB_OK;
}

plumb_status npz_info(plumb_array *out, uint64_t *offset, const input_file **file, void *state,
                      int64_t index)
{
    npz_file *npz = state;
    char what[512];
    snprintf(what, sizeof what, "%.300s:%.200s", npz->file.path, npz->name[index]);
    arena scratch = {0};
    member_stream stream = {.what = what, .prefix = arena_alloc(&scratch, NPY_MAX_PREFIX, 1)};
    *file = &npz->file;
    const plumb_status st = stream.prefix
                                ? read_member_info(out, offset, npz, npz->member[index], &stream)
                                : PLUMB_EMEMORY;
    if (stream.file) zip_fclose(stream.file);
    arena_clear(&scratch);
    return st;
}

// ---- writing ----

// libzip would write a temporary file of its own and not sync it. With this sink it writes into the
// stream of an output_file, which is atomic.
typedef struct zip_sink {
    FILE *stream;
    zip_error_t error;
} zip_sink;

static zip_int64_t fail_sink(zip_sink *sink, int code)
{
    zip_error_set(&sink->error, code, errno);
    return -1;
}

// Moves the position of the output file.
static zip_int64_t seek_sink(zip_sink *sink, void *data, zip_uint64_t length)
{
    // libzip checks the position against a length; a file that grows has none.
    const zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)ftello(sink->stream),
                                                          INT64_MAX, data, length, &sink->error);
    if (to < 0) return -1;
    return fseeko(sink->stream, (off_t)to, SEEK_SET) ? fail_sink(sink, ZIP_ER_SEEK) : 0;
}

// The callback of libzip: one function for all operations on the output.
static zip_int64_t handle_sink_call(void *context, void *data, zip_uint64_t length,
                                    zip_source_cmd_t call)
{
    zip_sink *sink = context;
    switch (call) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
            ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE,
            ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT: {
        zip_stat_t *stat = data;
        zip_stat_init(stat);
        stat->size = 0;
        stat->valid = ZIP_STAT_SIZE;
        return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&sink->error, data, length);
    case ZIP_SOURCE_WRITE:
        if (fwrite(data, 1, (size_t)length, sink->stream) != length)
            return fail_sink(sink, ZIP_ER_WRITE);
        return (zip_int64_t)length;
    case ZIP_SOURCE_SEEK_WRITE: return seek_sink(sink, data, length);
    case ZIP_SOURCE_TELL_WRITE: return (zip_int64_t)ftello(sink->stream);
    default: return 0; // the other calls need no action
    }
}

static plumb_status fail_write(const char *path, zip_error_t *error)
{
    const int code = zip_error_code_zip(error); // libzip may report ZIP_ER_OK if memory ran out
    if (code == ZIP_ER_MEMORY || code == ZIP_ER_OK)
        return fail(PLUMB_EMEMORY, "%s: no memory to write it", path);
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", path, zip_error_strerror(error));
}

// Adds KEY.npy: header and data as two fragments that libzip reads when the archive is closed.
static plumb_status add_array(zip_t *zip, arena *mem, const plumb_named_array *named, bool compress,
                              const char *path)
{
    const size_t length = strlen(named->name);
    char *name = arena_alloc(mem, (int64_t)length + 5, 1);
    unsigned char *header = arena_alloc(mem, NPY_MAX_WRITTEN, 1);
    if (!name || !header) return PLUMB_EMEMORY;
    memcpy(name, named->name, length);
    memcpy(name + length, ".npy", 5);
    const plumb_array *array = &named->array;
    zip_buffer_fragment_t fragments[2] = {
        {header, npy_format_header(header, array)},
        {array->data, (zip_uint64_t)plumb_array_count(array) * plumb_dtype_size(array->dtype)},
    };
    zip_source_t *source =
        zip_source_buffer_fragment(zip, fragments, fragments[1].length ? 2 : 1, 0);
    if (!source) return fail_write(path, zip_get_error(zip));
    const zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return fail(PLUMB_EVALUE, "%s: cannot hold an array called \"%s\": %s", path, named->name,
                    zip_strerror(zip));
    }
    // The date is 1 January 1980, as in NumPy, so that equal arrays make equal files.
    if (zip_set_file_compression(zip, (zip_uint64_t)index, compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 0) ||
        zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 0x21, 0))
        return fail_write(path, zip_get_error(zip));
    return PLUMB_OK;
}

// Adds all arrays and writes the file.
static plumb_status write_archive(zip_t *zip, arena *mem, const char *path,
                                  const plumb_named_array *arrays, int64_t count, bool compress)
{
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < count && !st; i++) st = add_array(zip, mem, &arrays[i], compress, path);
    if (!st && zip_close(zip) == 0) return PLUMB_OK;
    if (!st) st = fail_write(path, zip_get_error(zip));
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
    zip_sink sink = {.stream = file.stream};
    zip_error_t error;
    zip_error_init(&error);
    zip_error_init(&sink.error);
    arena scratch = {0};
    zip_source_t *source = zip_source_function_create(handle_sink_call, &sink, &error);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    if (zip) {
        st = write_archive(zip, &scratch, path, arrays, count, compress);
    } else {
        st = fail_write(path, &error);
        if (source) zip_source_free(source);
    }
    arena_clear(&scratch);
    zip_error_fini(&sink.error);
    zip_error_fini(&error);
    if (st) output_file_discard(&file);
    else st = output_file_commit(&file);
    return st;
}
