// SPDX-License-Identifier: MIT
// plumb-h5, the program that touches HDF5 so that the library need not: the door to libhdf5.
//
// HDF5 1.10 falls to a few minutes of blind fuzzing. So it runs here, between walls (sandbox.c), on
// one descriptor, and hands back plain numbers which the other side checks again. Only hard links
// are followed, only plain layouts and the filters gzip, shuffle and fletcher32 are read.
#define _GNU_SOURCE
#define H5_USE_110_API 1
#include <hdf5.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/hdf5/protocol.h"
#include "io/hdf5/sandbox.h"

// HDF5 takes 12 MiB before it has seen a file; with these 3.5 more a small file that lies stays
// within 16 MiB.
enum { ROOM = 7 << 19, MILLISECONDS = 60 };

static const char file_path[] = "/proc/self/fd/3";

// ---- answers ----

// Nothing is tidied up on the way out: after a hostile file HDF5 may well crash doing so.
static _Noreturn void answer(const hdf5_reply *reply)
{
    const bool done =
        pwrite(HDF5_PROTOCOL_MEMORY, reply, sizeof *reply, 0) == (ssize_t)sizeof *reply;
    _exit(done ? 0 : 1);
}

static _Noreturn void refuse(plumb_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Noreturn void refuse(plumb_status status, const char *format, ...)
{
    hdf5_reply reply = {.magic = HDF5_PROTOCOL_REPLY, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reply.message, sizeof reply.message, format, arguments);
    va_end(arguments);
    answer(&reply);
}

// ---- types ----

typedef struct type_row {
    hid_t id;
    plumb_dtype dtype;
    bool swapped;
} type_row;
enum { TYPES = 24 };

static hid_t half_type(hid_t like)
{
    // As h5py has it: sign bit 15, five bits of exponent from 10, ten of fraction from 0.
    const hid_t type = H5Tcopy(like);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

static hid_t bool_type(hid_t base)
{
    const signed char no = 0, yes = 1;
    const hid_t type = H5Tenum_create(base);
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    return type;
}

// Little-endian first: row 2i of dtype i, row 2i + 1 big-endian.
static void make_types(type_row table[TYPES])
{
    const hid_t ids[TYPES] = {
        H5T_IEEE_F64LE,
        H5T_IEEE_F64BE,
        H5T_IEEE_F32LE,
        H5T_IEEE_F32BE,
        half_type(H5T_IEEE_F32LE),
        half_type(H5T_IEEE_F32BE),
        H5T_STD_I64LE,
        H5T_STD_I64BE,
        H5T_STD_I32LE,
        H5T_STD_I32BE,
        H5T_STD_I16LE,
        H5T_STD_I16BE,
        H5T_STD_I8LE,
        H5T_STD_I8BE,
        H5T_STD_U64LE,
        H5T_STD_U64BE,
        H5T_STD_U32LE,
        H5T_STD_U32BE,
        H5T_STD_U16LE,
        H5T_STD_U16BE,
        H5T_STD_U8LE,
        H5T_STD_U8BE,
        bool_type(H5T_STD_I8LE),
        bool_type(H5T_STD_I8BE),
    };
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    for (int i = 0; i < TYPES; i++)
        table[i] = (type_row){ids[i], (plumb_dtype)(i / 2), little == (i % 2 == 1)};
}

static const char *class_name(H5T_class_t class)
{
    switch (class) {
    case H5T_INTEGER: return "integers of an unusual size";
    case H5T_FLOAT: return "floating-point numbers of an unusual size";
    case H5T_TIME: return "times";
    case H5T_STRING: return "text";
    case H5T_BITFIELD: return "bit fields";
    case H5T_OPAQUE: return "opaque bytes";
    case H5T_COMPOUND: return "records (complex numbers among them)";
    case H5T_REFERENCE: return "references";
    case H5T_ENUM: return "an enumeration";
    case H5T_VLEN: return "lists of different lengths";
    case H5T_ARRAY: return "arrays as elements";
    default: return "elements of an unknown type";
    }
}

static type_row find_type(hid_t dataset, const char *name)
{
    type_row table[TYPES];
    make_types(table);
    const hid_t type = H5Dget_type(dataset);
    if (type < 0) refuse(PLUMB_EFORMAT, "the type of \"%s\" is damaged", name);
    for (int i = 0; i < TYPES; i++)
        if (H5Tequal(type, table[i].id) > 0)
            return (type_row){type, table[i].dtype, table[i].swapped};
    refuse(PLUMB_EFORMAT, "\"%s\" holds %s, wanted plain numbers", name,
           class_name(H5Tget_class(type)));
}

// ---- reading ----

static uint64_t file_size(void)
{
    struct stat about;
    if (fstat(HDF5_PROTOCOL_FILE, &about) || about.st_size < 0) _exit(1);
    return (uint64_t)about.st_size;
}

static herr_t no_external_link(const char *file, const char *from, const char *to, const char *into,
                               unsigned *flags, hid_t access, void *context)
{
    (void)file, (void)from, (void)to, (void)into, (void)flags, (void)access, (void)context;
    return -1;
}

// A file of groups and small datasets needs about ten times its size to be listed; one of numbers
// next to nothing. One dataset by its name is found in little.
static uint64_t room_to_list(uint64_t size)
{
    const uint64_t many = 16 * size, few = 2 * size + (48 << 20);
    return ROOM + (many < few ? many : few);
}

static uint64_t room_to_read(uint64_t size)
{
    return ROOM + 2 * size;
}

static hid_t open_file(uint64_t size, uint64_t room)
{
    hdf5_sandbox_limit(room, MILLISECONDS + size / 20000, // 20 MB/s of groups and names
                       HDF5_PROTOCOL_BODY + HDF5_PROTOCOL_MAX_NAME_BYTES);
    hdf5_sandbox_restrict_calls(true);
    // Left alone, the cache of groups and headers grows to 32 MiB.
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (H5Pget_mdc_config(access, &cache) >= 0) {
        cache.set_initial_size = true;
        cache.initial_size = cache.max_size = cache.min_size = 1 << 20;
        cache.incr_mode = H5C_incr__off;
        cache.flash_incr_mode = H5C_flash_incr__off;
        cache.decr_mode = H5C_decr__off;
        H5Pset_mdc_config(access, &cache);
    }
    const hid_t file = H5Fopen(file_path, H5F_ACC_RDONLY, access);
    hdf5_sandbox_restrict_calls(false);
    if (file < 0) refuse(PLUMB_EFORMAT, "HDF5 cannot open it: damaged, or not HDF5");
    return file;
}

typedef struct list {
    char *text;
    size_t used, room;
    uint64_t count;
} list;

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *context)
{
    list *l = context;
    if (link->type != H5L_TYPE_HARD) return 0;
    H5O_info_t about;
    if (H5Oget_info_by_name(group, name, &about, H5P_DEFAULT) < 0)
        refuse(PLUMB_EFORMAT, "\"/%s\" is damaged", name);
    if (about.type != H5O_TYPE_DATASET) return 0;
    const size_t length = strlen(name);
    if (l->count == HDF5_PROTOCOL_MAX_NAMES || length + 2 > HDF5_PROTOCOL_MAX_NAME_BYTES - l->used)
        refuse(PLUMB_EFORMAT, "holds more than %d datasets, or names too long",
               HDF5_PROTOCOL_MAX_NAMES);
    if (length + 2 > l->room - l->used) {
        l->room = 2 * (l->used + length + 2);
        l->text = realloc(l->text, l->room);
        if (!l->text) refuse(PLUMB_EMEMORY, "no memory to list it");
    }
    l->text[l->used] = '/';
    memcpy(l->text + l->used + 1, name, length + 1);
    l->used += length + 2;
    l->count++;
    return 0;
}

static _Noreturn void list_names(void)
{
    list l = {0};
    const uint64_t size = file_size();
    const hid_t file = open_file(size, room_to_list(size));
    if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &l) < 0)
        refuse(PLUMB_EFORMAT, "its list of datasets is damaged");
    if (!l.count) refuse(PLUMB_EFORMAT, "holds no dataset");
    if (pwrite(HDF5_PROTOCOL_MEMORY, l.text, l.used, HDF5_PROTOCOL_BODY) != (ssize_t)l.used)
        _exit(1);
    answer(&(hdf5_reply){.magic = HDF5_PROTOCOL_REPLY, .count = l.count, .bytes = l.used});
}

static bool check_filters(hid_t plist, const char *name)
{
    bool packed = false;
    const int filters = H5Pget_nfilters(plist);
    for (int i = 0; i < filters; i++) {
        char filter[64] = "";
        unsigned flags, config;
        size_t values = 0;
        const H5Z_filter_t id = H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL,
                                               sizeof filter, filter, &config);
        if (id == H5Z_FILTER_DEFLATE) packed = true;
        else if (id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_FLETCHER32)
            refuse(PLUMB_EFORMAT,
                   "\"%s\" is packed by filter %d (%s), wanted gzip, shuffle or "
                   "fletcher32",
                   name, (int)id, filter[0] ? filter : "unknown");
    }
    return packed;
}

// Everything the file promises about the dataset against the bytes that are there. Returns the
// memory HDF5 will need for one chunk.
static uint64_t check_storage(hid_t dataset, uint64_t bytes, uint64_t size, const char *name)
{
    const hid_t plist = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = plist < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(plist);
    if (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT)
        refuse(PLUMB_EFORMAT, "\"%s\" is %s", name,
               layout == H5D_VIRTUAL ? "virtual: its numbers are in other files" : "damaged");
    if (H5Pget_external_count(plist) != 0)
        refuse(PLUMB_EFORMAT, "\"%s\" keeps its numbers in other files", name);
    const bool packed = check_filters(plist, name);
    const uint64_t stored = H5Dget_storage_size(dataset);
    const uint64_t small = 1 << 20; // a dataset never written has no storage, only a fill value
    if (stored > size)
        refuse(PLUMB_EFORMAT, "\"%s\" claims %llu bytes in a file of %llu", name,
               (unsigned long long)stored, (unsigned long long)size);
    if (bytes > small && layout != H5D_CHUNKED && stored != bytes)
        refuse(PLUMB_EFORMAT, "\"%s\" promises %llu bytes and stores %llu", name,
               (unsigned long long)bytes, (unsigned long long)stored);
    if (bytes > small && bytes / 1032 > stored)
        refuse(PLUMB_EFORMAT, "\"%s\" promises %llu bytes and stores %llu, fewer than gzip needs",
               name, (unsigned long long)bytes, (unsigned long long)stored);
    if (bytes >= HDF5_PROTOCOL_BOMB_SIZE && bytes / HDF5_PROTOCOL_BOMB_RATIO >= stored)
        refuse(PLUMB_EFORMAT,
               "\"%s\": %llu bytes would unpack to %llu, as in a zip bomb; if it is "
               "genuine, save it again uncompressed",
               name, (unsigned long long)stored, (unsigned long long)bytes);
    if (layout != H5D_CHUNKED) return 0;

    hsize_t edge[PLUMB_MAX_DIMS];
    const int ndim = H5Pget_chunk(plist, PLUMB_MAX_DIMS, edge);
    uint64_t chunk = H5Tget_size(H5Dget_type(dataset));
    bool sane = ndim > 0 && ndim <= PLUMB_MAX_DIMS;
    for (int i = 0; sane && i < ndim; i++) sane = !__builtin_mul_overflow(chunk, edge[i], &chunk);
    if (!sane || (chunk > small && chunk / (packed ? 1032 : 1) > stored))
        refuse(PLUMB_EFORMAT, "\"%s\" has chunks larger than what it stores", name);
    return chunk;
}

// Numbers in one piece need no HDF5: the other side reads them from the file itself. 0 if they are
// in chunks, or were never written.
static uint64_t find_offset(hid_t dataset)
{
    const haddr_t offset = H5Dget_offset(dataset);
    return offset == HADDR_UNDEF ? 0 : offset;
}

static void read_numbers(hid_t dataset, hid_t type, uint64_t bytes, uint64_t chunk, uint64_t room,
                         const char *name)
{
    // Four chunks: packed, unpacked, unshuffled, and room to grow; 10 MB/s of unpacking.
    hdf5_sandbox_limit(bytes + 4 * chunk + room, MILLISECONDS + (bytes + chunk) / 10000,
                       HDF5_PROTOCOL_BODY + bytes);
    if (ftruncate(HDF5_PROTOCOL_MEMORY, (off_t)(HDF5_PROTOCOL_BODY + bytes))) _exit(1);
    unsigned char *place = mmap(NULL, HDF5_PROTOCOL_BODY + bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED, HDF5_PROTOCOL_MEMORY, 0);
    if (place == MAP_FAILED) refuse(PLUMB_EMEMORY, "no memory for \"%s\"", name);
    // In the file's own type: HDF5 has nothing to convert, bytes are turned on the other side.
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, place + HDF5_PROTOCOL_BODY) < 0)
        refuse(PLUMB_EFORMAT, "the numbers of \"%s\" cannot be read: damaged or cut", name);
}

static _Noreturn void read_dataset(const char *name)
{
    const uint64_t size = file_size();
    const hid_t file = open_file(size, room_to_read(size));
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_elink_cb(access, no_external_link, NULL);
    const hid_t dataset = H5Dopen2(file, name, access);
    if (dataset < 0) refuse(PLUMB_EFORMAT, "\"%s\" cannot be opened", name);
    const type_row type = find_type(dataset, name);

    hdf5_reply reply = {.magic = HDF5_PROTOCOL_REPLY,
                        .dtype = type.dtype,
                        .swapped = type.swapped,
                        .bytes = plumb_dtype_size(type.dtype)};
    const hid_t space = H5Dget_space(dataset);
    const H5S_class_t class = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
    hsize_t shape[PLUMB_MAX_DIMS];
    const int ndim = H5Sget_simple_extent_ndims(space);
    if ((class != H5S_SIMPLE && class != H5S_SCALAR) || ndim < 0 || ndim > PLUMB_MAX_DIMS ||
        H5Sget_simple_extent_dims(space, shape, NULL) < 0)
        refuse(PLUMB_EFORMAT, "\"%s\" has no shape", name);
    reply.ndim = (uint32_t)ndim;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        reply.shape[i] = (int64_t)shape[i];
        empty |= shape[i] == 0;
        if (shape[i] &&
            (shape[i] > INT64_MAX || __builtin_mul_overflow(reply.bytes, shape[i], &reply.bytes)))
            refuse(PLUMB_EFORMAT, "\"%s\" promises more numbers than any memory holds", name);
    }
    if (empty) reply.bytes = 0;
    const uint64_t chunk = check_storage(dataset, reply.bytes, size, name);
    if (reply.bytes > (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE))
        refuse(PLUMB_EMEMORY, "\"%s\" has %llu bytes, more than this machine's memory", name,
               (unsigned long long)reply.bytes);
    reply.offset = find_offset(dataset);
    if (reply.bytes && !reply.offset)
        read_numbers(dataset, type.id, reply.bytes, chunk, room_to_read(size), name);
    answer(&reply);
}

// ---- writing ----

// Chunks of at most a megabyte: whole trailing axes first, as they lie together in memory.
static void choose_chunk(hsize_t chunk[PLUMB_MAX_DIMS], const hdf5_entry *e)
{
    uint64_t bytes = plumb_dtype_size((plumb_dtype)e->dtype);
    for (uint32_t i = e->ndim; i-- > 0;) {
        const uint64_t room = (1 << 20) / bytes;
        const uint64_t length = (uint64_t)e->shape[i];
        chunk[i] = length < room ? length : room ? room : 1;
        bytes *= chunk[i];
    }
}

// Says in the entry where the numbers of a dataset will stand.
static bool leave_room(hid_t dataset, uint64_t index)
{
    const haddr_t offset = H5Dget_offset(dataset);
    const uint64_t at = offset == HADDR_UNDEF ? 0 : offset;
    const off_t place = (off_t)(HDF5_PROTOCOL_BODY + index * sizeof(hdf5_entry));
    return pwrite(HDF5_PROTOCOL_MEMORY, &at, sizeof at,
                  place + (off_t)offsetof(hdf5_entry, data)) == (ssize_t)sizeof at;
}

static bool write_dataset(hid_t file, const hdf5_entry *entries, uint64_t index,
                          const unsigned char *memory, bool compress, bool reserve)
{
    const hdf5_entry *e = &entries[index];
    type_row table[TYPES];
    make_types(table);
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const hid_t type = table[2 * e->dtype + !little].id;
    hsize_t shape[PLUMB_MAX_DIMS] = {0}, chunk[PLUMB_MAX_DIMS] = {0};
    bool empty = false;
    for (uint32_t i = 0; i < e->ndim; i++) {
        shape[i] = (hsize_t)e->shape[i];
        empty |= shape[i] == 0;
    }
    const hid_t space =
        e->ndim ? H5Screate_simple((int)e->ndim, shape, NULL) : H5Screate(H5S_SCALAR);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_char_encoding(links, H5T_CSET_UTF8);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false); // equal arrays make equal files
    if (compress && e->ndim && !empty) {
        choose_chunk(chunk, e);
        H5Pset_chunk(plist, (int)e->ndim, chunk);
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 4);
    }
    if (reserve) {
        H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER);
    }
    const hid_t dataset =
        H5Dcreate2(file, (const char *)memory + e->name, type, space, links, plist, H5P_DEFAULT);
    if (dataset < 0) return false;
    const bool done = reserve ? leave_room(dataset, index)
                              : empty || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                                  memory + e->data) >= 0;
    return H5Dclose(dataset) >= 0 && done;
}

static _Noreturn void write_file(bool reserve)
{
    hdf5_request request;
    if (pread(HDF5_PROTOCOL_MEMORY, &request, sizeof request, 0) != (ssize_t)sizeof request ||
        request.magic != HDF5_PROTOCOL_REQUEST)
        _exit(1);
    const unsigned char *memory =
        mmap(NULL, request.bytes, PROT_READ, MAP_PRIVATE, HDF5_PROTOCOL_MEMORY, 0);
    if (memory == MAP_FAILED) refuse(PLUMB_EMEMORY, "no memory to write it");
    signal(SIGXFSZ, SIG_IGN); // a file beyond the limit is an error like a full disk
    hdf5_sandbox_restrict_calls(true);
    const hid_t file = H5Fcreate(file_path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) refuse(PLUMB_EFILE, "cannot be written");
    const hdf5_entry *entries = (const hdf5_entry *)(memory + HDF5_PROTOCOL_BODY);
    for (uint64_t i = 0; i < request.count; i++)
        if (!write_dataset(file, entries, i, memory, request.compress && !reserve, reserve))
            refuse(PLUMB_EFILE,
                   "\"%s\" cannot be written: the disk is full, or the name is taken "
                   "or not a path",
                   (const char *)memory + entries[i].name);
    if (H5Fclose(file) < 0) refuse(PLUMB_EFILE, "cannot be written: the disk may be full");
    answer(&(hdf5_reply){.magic = HDF5_PROTOCOL_REPLY});
}

// The library's table, for a program that links none of it.
size_t plumb_dtype_size(plumb_dtype dtype)
{
    static const size_t sizes[] = {
#define SIZE(name, text, bytes, kind) bytes,
        PLUMB_DTYPE_LIST(SIZE)
#undef SIZE
    };
    return sizes[dtype];
}

int main(int argc, char **argv)
{
    hdf5_sandbox_enter();
    if (H5open() < 0) refuse(PLUMB_EMISSING, "the HDF5 library does not start");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5PLset_loading_state(0);
    if (argc == 2 && strcmp(argv[1], "list") == 0) list_names();
    if (argc == 3 && strcmp(argv[1], "read") == 0) read_dataset(argv[2]);
    if (argc == 2 && strcmp(argv[1], "write") == 0) write_file(false);
    if (argc == 2 && strcmp(argv[1], "reserve") == 0) write_file(true);
    fprintf(stderr, "plumb-h5 is run by plumb, not by hand\n");
    return 2;
}
