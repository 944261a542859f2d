// SPDX-License-Identifier: MIT
// plumb-h5, the helper program that reads and writes HDF5 for the library: wrapper of libhdf5.
//
// HDF5 1.10 crashes after a few minutes of fuzzing. So it runs here, in a sandbox (sandbox.c), with
// one file descriptor, and returns plain values that the library checks again. Only hard links are
// followed; only plain layouts and the filters gzip, shuffle and fletcher32 are read.
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

// HDF5 allocates 12 MiB before it opens a file. With 3.5 MiB more, a small malformed file stays
// within 16 MiB.
enum { BASE_MEMORY = 7 << 19, BASE_MILLISECONDS = 60 };

static const char file_path[] = "/proc/self/fd/3";

// ---- replies ----

// Writes the reply and ends at once. HDF5 is not closed: after a hostile file that may crash.
static _Noreturn void send_reply(const hdf5_reply *reply)
{
    const bool done =
        pwrite(HDF5_PROTOCOL_MEMORY, reply, sizeof *reply, 0) == (ssize_t)sizeof *reply;
    _exit(done ? 0 : 1);
}

static _Noreturn void send_error(plumb_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Noreturn void send_error(plumb_status status, const char *format, ...)
{
    hdf5_reply reply = {.magic = HDF5_PROTOCOL_REPLY, .status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reply.message, sizeof reply.message, format, arguments);
    va_end(arguments);
    send_reply(&reply);
}

// ---- types ----

typedef struct type_entry {
    hid_t id;
    plumb_dtype dtype;
    bool swapped;
} type_entry;
enum { TYPE_COUNT = 24 };

static hid_t make_half_type(hid_t like)
{
    // As in h5py: sign at bit 15, 5 bits of exponent from bit 10, 10 bits of fraction from bit 0.
    const hid_t type = H5Tcopy(like);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

// The enumeration that h5py uses for bool.
static hid_t make_bool_type(hid_t base)
{
    const signed char no = 0, yes = 1;
    const hid_t type = H5Tenum_create(base);
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    return type;
}

// Entry 2i is dtype i in little-endian, entry 2i + 1 in big-endian.
static void make_types(type_entry table[TYPE_COUNT])
{
    const hid_t ids[TYPE_COUNT] = {
        H5T_IEEE_F64LE,
        H5T_IEEE_F64BE,
        H5T_IEEE_F32LE,
        H5T_IEEE_F32BE,
        make_half_type(H5T_IEEE_F32LE),
        make_half_type(H5T_IEEE_F32BE),
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
        make_bool_type(H5T_STD_I8LE),
        make_bool_type(H5T_STD_I8BE),
    };
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    for (int i = 0; i < TYPE_COUNT; i++)
        table[i] = (type_entry){ids[i], (plumb_dtype)(i / 2), little == (i % 2 == 1)};
}

static const char *get_class_name(H5T_class_t class)
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

// Finds the dtype of a dataset. Types that are not plain numbers are errors.
static type_entry find_type(hid_t dataset, const char *name)
{
    type_entry table[TYPE_COUNT];
    make_types(table);
    const hid_t type = H5Dget_type(dataset);
    if (type < 0) send_error(PLUMB_EFORMAT, "the type of \"%s\" is damaged", name);
    for (int i = 0; i < TYPE_COUNT; i++)
        if (H5Tequal(type, table[i].id) > 0)
            return (type_entry){type, table[i].dtype, table[i].swapped};
    send_error(PLUMB_EFORMAT, "\"%s\" holds %s, wanted plain numbers", name,
               get_class_name(H5Tget_class(type)));
}

// ---- reading ----

static uint64_t get_file_size(void)
{
    struct stat info;
    if (fstat(HDF5_PROTOCOL_FILE, &info) || info.st_size < 0) _exit(1);
    return (uint64_t)info.st_size;
}

static herr_t reject_external_link(const char *file, const char *from, const char *to,
                                   const char *into, unsigned *flags, hid_t access, void *context)
{
    (void)file, (void)from, (void)to, (void)into, (void)flags, (void)access, (void)context;
    return -1;
}

// Memory for listing: a file of groups and small datasets needs about ten times its size, one of
// large datasets very little.
static uint64_t get_list_memory(uint64_t size)
{
    const uint64_t many = 16 * size, few = 2 * size + (48 << 20);
    return BASE_MEMORY + (many < few ? many : few);
}

// Memory for finding one dataset by its name.
static uint64_t get_read_memory(uint64_t size)
{
    return BASE_MEMORY + 2 * size;
}

// Opens the file within limits, and then forbids opening any other.
static hid_t open_file(uint64_t size, uint64_t memory)
{
    hdf5_sandbox_limit(memory, BASE_MILLISECONDS + size / 20000, // 20 MB/s of groups and names
                       HDF5_PROTOCOL_BODY + HDF5_PROTOCOL_MAX_NAME_BYTES);
    hdf5_sandbox_restrict_calls(true);
    // Fix the metadata cache at 1 MiB; by default it grows to 32 MiB.
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
    if (file < 0) send_error(PLUMB_EFORMAT, "HDF5 cannot open it: damaged, or not HDF5");
    return file;
}

typedef struct name_list {
    char *text;
    size_t used, capacity;
    uint64_t count;
} name_list;

// Adds the path of a dataset to the list. Soft and external links are ignored.
static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *context)
{
    name_list *names = context;
    if (link->type != H5L_TYPE_HARD) return 0;
    H5O_info_t info;
    if (H5Oget_info_by_name(group, name, &info, H5P_DEFAULT) < 0)
        send_error(PLUMB_EFORMAT, "\"/%s\" is damaged", name);
    if (info.type != H5O_TYPE_DATASET) return 0;
    const size_t length = strlen(name);
    if (names->count == HDF5_PROTOCOL_MAX_NAMES ||
        length + 2 > HDF5_PROTOCOL_MAX_NAME_BYTES - names->used)
        send_error(PLUMB_EFORMAT, "holds more than %d datasets, or names too long",
                   HDF5_PROTOCOL_MAX_NAMES);
    if (length + 2 > names->capacity - names->used) {
        names->capacity = 2 * (names->used + length + 2);
        names->text = realloc(names->text, names->capacity);
        if (!names->text) send_error(PLUMB_EMEMORY, "no memory to list it");
    }
    names->text[names->used] = '/';
    memcpy(names->text + names->used + 1, name, length + 1);
    names->used += length + 2;
    names->count++;
    return 0;
}

// `plumb-h5 list`: sends the paths of all datasets.
static _Noreturn void list_names(void)
{
    name_list names = {0};
    const uint64_t size = get_file_size();
    const hid_t file = open_file(size, get_list_memory(size));
    if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_link, &names) < 0)
        send_error(PLUMB_EFORMAT, "its list of datasets is damaged");
    if (!names.count) send_error(PLUMB_EFORMAT, "holds no dataset");
    if (pwrite(HDF5_PROTOCOL_MEMORY, names.text, names.used, HDF5_PROTOCOL_BODY) !=
        (ssize_t)names.used)
        _exit(1);
    send_reply(
        &(hdf5_reply){.magic = HDF5_PROTOCOL_REPLY, .count = names.count, .bytes = names.used});
}

// Rejects unknown filters. True if the dataset is compressed.
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
            send_error(PLUMB_EFORMAT,
                       "\"%s\" is packed by filter %d (%s), wanted gzip, shuffle or "
                       "fletcher32",
                       name, (int)id, filter[0] ? filter : "unknown");
    }
    return packed;
}

// Checks the declared size of a dataset against the bytes in the file. Returns the memory that HDF5
// needs for one chunk, 0 if there are no chunks.
static uint64_t check_storage(hid_t dataset, uint64_t bytes, uint64_t size, const char *name)
{
    const hid_t plist = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = plist < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(plist);
    if (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT)
        send_error(PLUMB_EFORMAT, "\"%s\" is %s", name,
                   layout == H5D_VIRTUAL ? "virtual: its numbers are in other files" : "damaged");
    if (H5Pget_external_count(plist) != 0)
        send_error(PLUMB_EFORMAT, "\"%s\" keeps its numbers in other files", name);
    const bool packed = check_filters(plist, name);
    const uint64_t stored = H5Dget_storage_size(dataset);
    const uint64_t small = 1 << 20; // a dataset that was never written has no storage
    if (stored > size)
        send_error(PLUMB_EFORMAT, "\"%s\" claims %llu bytes in a file of %llu", name,
                   (unsigned long long)stored, (unsigned long long)size);
    if (bytes > small && layout != H5D_CHUNKED && stored != bytes)
        send_error(PLUMB_EFORMAT, "\"%s\" promises %llu bytes and stores %llu", name,
                   (unsigned long long)bytes, (unsigned long long)stored);
    if (bytes > small && bytes / 1032 > stored)
        send_error(PLUMB_EFORMAT,
                   "\"%s\" promises %llu bytes and stores %llu, fewer than gzip needs", name,
                   (unsigned long long)bytes, (unsigned long long)stored);
    if (bytes >= HDF5_PROTOCOL_BOMB_SIZE && bytes / HDF5_PROTOCOL_BOMB_RATIO >= stored)
        send_error(PLUMB_EFORMAT,
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
        send_error(PLUMB_EFORMAT, "\"%s\" has chunks larger than what it stores", name);
    return chunk;
}

// Position of values stored in one piece, which the library reads from the file itself. 0 if they
// are in chunks or were never written.
static uint64_t find_offset(hid_t dataset)
{
    const haddr_t offset = H5Dget_offset(dataset);
    return offset == HADDR_UNDEF ? 0 : offset;
}

// Reads the values of a chunked dataset into the shared memory.
static void read_values(hid_t dataset, hid_t type, uint64_t bytes, uint64_t chunk, uint64_t memory,
                        const char *name)
{
    // Memory for four chunks: compressed, decompressed, unshuffled, and one spare. Time: 10 MB/s.
    hdf5_sandbox_limit(bytes + 4 * chunk + memory, BASE_MILLISECONDS + (bytes + chunk) / 10000,
                       HDF5_PROTOCOL_BODY + bytes);
    if (ftruncate(HDF5_PROTOCOL_MEMORY, (off_t)(HDF5_PROTOCOL_BODY + bytes))) _exit(1);
    unsigned char *place = mmap(NULL, HDF5_PROTOCOL_BODY + bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED, HDF5_PROTOCOL_MEMORY, 0);
    if (place == MAP_FAILED) send_error(PLUMB_EMEMORY, "no memory for \"%s\"", name);
    // Read in the type of the file, so that HDF5 converts nothing. The library swaps bytes.
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, place + HDF5_PROTOCOL_BODY) < 0)
        send_error(PLUMB_EFORMAT, "the numbers of \"%s\" cannot be read: damaged or cut", name);
}

// `plumb-h5 read NAME`: sends type, shape, and either position or values.
static _Noreturn void read_dataset(const char *name)
{
    const uint64_t size = get_file_size();
    const hid_t file = open_file(size, get_read_memory(size));
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_elink_cb(access, reject_external_link, NULL);
    const hid_t dataset = H5Dopen2(file, name, access);
    if (dataset < 0) send_error(PLUMB_EFORMAT, "\"%s\" cannot be opened", name);
    const type_entry type = find_type(dataset, name);

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
        send_error(PLUMB_EFORMAT, "\"%s\" has no shape", name);
    reply.ndim = (uint32_t)ndim;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        reply.shape[i] = (int64_t)shape[i];
        empty |= shape[i] == 0;
        if (shape[i] &&
            (shape[i] > INT64_MAX || __builtin_mul_overflow(reply.bytes, shape[i], &reply.bytes)))
            send_error(PLUMB_EFORMAT, "\"%s\" promises more numbers than any memory holds", name);
    }
    if (empty) reply.bytes = 0;
    const uint64_t chunk = check_storage(dataset, reply.bytes, size, name);
    if (reply.bytes > (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE))
        send_error(PLUMB_EMEMORY, "\"%s\" has %llu bytes, more than this machine's memory", name,
                   (unsigned long long)reply.bytes);
    reply.offset = find_offset(dataset);
    if (reply.bytes && !reply.offset)
        read_values(dataset, type.id, reply.bytes, chunk, get_read_memory(size), name);
    send_reply(&reply);
}

// ---- writing ----

// Chooses chunks of at most 1 MiB, filled with whole trailing axes, which are contiguous in memory.
static void choose_chunk(hsize_t chunk[PLUMB_MAX_DIMS], const hdf5_entry *entry)
{
    uint64_t bytes = plumb_dtype_size((plumb_dtype)entry->dtype);
    for (uint32_t i = entry->ndim; i-- > 0;) {
        const uint64_t max_length = (1 << 20) / bytes;
        const uint64_t length = (uint64_t)entry->shape[i];
        chunk[i] = length < max_length ? length : max_length ? max_length : 1;
        bytes *= chunk[i];
    }
}

// Writes the position of the values of a dataset into its entry.
static bool report_offset(hid_t dataset, uint64_t index)
{
    const haddr_t offset = H5Dget_offset(dataset);
    const uint64_t at = offset == HADDR_UNDEF ? 0 : offset;
    const off_t place = (off_t)(HDF5_PROTOCOL_BODY + index * sizeof(hdf5_entry));
    return pwrite(HDF5_PROTOCOL_MEMORY, &at, sizeof at,
                  place + (off_t)offsetof(hdf5_entry, data)) == (ssize_t)sizeof at;
}

// Writes one array, or only allocates it if `reserve`.
static bool write_dataset(hid_t file, const hdf5_entry *entries, uint64_t index,
                          const unsigned char *memory, bool compress, bool reserve)
{
    const hdf5_entry *entry = &entries[index];
    type_entry table[TYPE_COUNT];
    make_types(table);
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const hid_t type = table[2 * entry->dtype + !little].id;
    hsize_t shape[PLUMB_MAX_DIMS] = {0}, chunk[PLUMB_MAX_DIMS] = {0};
    bool empty = false;
    for (uint32_t i = 0; i < entry->ndim; i++) {
        shape[i] = (hsize_t)entry->shape[i];
        empty |= shape[i] == 0;
    }
    const hid_t space =
        entry->ndim ? H5Screate_simple((int)entry->ndim, shape, NULL) : H5Screate(H5S_SCALAR);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_char_encoding(links, H5T_CSET_UTF8);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(plist, false); // equal arrays make equal files
    if (compress && entry->ndim && !empty) {
        choose_chunk(chunk, entry);
        H5Pset_chunk(plist, (int)entry->ndim, chunk);
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 4);
    }
    if (reserve) {
        H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER);
    }
    const hid_t dataset = H5Dcreate2(file, (const char *)memory + entry->name, type, space, links,
                                     plist, H5P_DEFAULT);
    if (dataset < 0) return false;
    const bool done = reserve ? report_offset(dataset, index)
                              : empty || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                                  memory + entry->data) >= 0;
    return H5Dclose(dataset) >= 0 && done;
}

// `plumb-h5 write` and `plumb-h5 reserve`.
static _Noreturn void write_file(bool reserve)
{
    hdf5_request request;
    if (pread(HDF5_PROTOCOL_MEMORY, &request, sizeof request, 0) != (ssize_t)sizeof request ||
        request.magic != HDF5_PROTOCOL_REQUEST)
        _exit(1);
    const unsigned char *memory =
        mmap(NULL, request.bytes, PROT_READ, MAP_PRIVATE, HDF5_PROTOCOL_MEMORY, 0);
    if (memory == MAP_FAILED) send_error(PLUMB_EMEMORY, "no memory to write it");
    signal(SIGXFSZ, SIG_IGN); // a file over the size limit is reported like a full disk
    hdf5_sandbox_restrict_calls(true);
    const hid_t file = H5Fcreate(file_path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) send_error(PLUMB_EFILE, "cannot be written");
    const hdf5_entry *entries = (const hdf5_entry *)(memory + HDF5_PROTOCOL_BODY);
    for (uint64_t i = 0; i < request.count; i++)
        if (!write_dataset(file, entries, i, memory, request.compress && !reserve, reserve))
            send_error(PLUMB_EFILE,
                       "\"%s\" cannot be written: the disk is full, or the name is taken "
                       "or not a path",
                       (const char *)memory + entries[i].name);
    if (H5Fclose(file) < 0) send_error(PLUMB_EFILE, "cannot be written: the disk may be full");
    send_reply(&(hdf5_reply){.magic = HDF5_PROTOCOL_REPLY});
}

// A copy of the library's table; this program does not link the library.
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
    if (H5open() < 0) send_error(PLUMB_EMISSING, "the HDF5 library does not start");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5PLset_loading_state(0);
    if (argc == 2 && strcmp(argv[1], "list") == 0) list_names();
    if (argc == 3 && strcmp(argv[1], "read") == 0) read_dataset(argv[2]);
    if (argc == 2 && strcmp(argv[1], "write") == 0) write_file(false);
    if (argc == 2 && strcmp(argv[1], "reserve") == 0) write_file(true);
    fprintf(stderr, "plumb-h5 is run by plumb, not by hand\n");
    return 2;
}
