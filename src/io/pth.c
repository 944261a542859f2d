// SPDX-License-Identifier: MIT
// Reads .pth files. zip_directory.c checks the positions of the members. PyTorch does not compress
// members, so they are read directly. A tensor is a view of a storage: its sizes, strides and
// offset are checked against the length of the storage, and that against the length of the member,
// before any memory is allocated.
#define _GNU_SOURCE
#include "io/pth.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/input_file.h"
#include "base/name_index.h"
#include "base/status.h"
#include "io/pickle.h"
#include "io/zip_directory.h"

typedef struct pth_file {
    input_file file;
    zip_directory directory;
    name_index member_names;     // of the directory
    const char *folder;          // prefix of all member names, such as "archive/"
    const pickle_value **values; // of each array
    const char **name;           // of each array
} pth_file;

// ---- members ----

enum { ZIP_MEMBER_NAME = 512 };

// CRC-32 of zip, four bits at a time.
static uint32_t compute_crc(const unsigned char *bytes, size_t count)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < count; i++) {
        crc = table[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ (uint32_t)bytes[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

// Finds a member by its name inside the folder. NULL if there is none.
static const zip_member *find_member(const pth_file *pth, const char *name)
{
    char path[ZIP_MEMBER_NAME];
    const int length = snprintf(path, sizeof path, "%s%s", pth->folder, name);
    if (length < 0 || length >= (int)sizeof path) return NULL;
    const int64_t index = name_index_find(&pth->member_names, path);
    return index < 0 ? NULL : &pth->directory.member[index];
}

// Reads the bytes of an uncompressed member and checks their checksum.
static plumb_status read_member(unsigned char *out, const pth_file *pth, const zip_member *member)
{
    // The data begin after the local header, whose name and extra field may differ in length from
    // those of the directory.
    enum { LOCAL_SIZE = 30 };
    unsigned char local[LOCAL_SIZE];
    if (member->method != ZIP_DIRECTORY_STORED)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is compressed, which PyTorch never does",
                    pth->file.path, member->name);
    plumb_status st = input_file_read(local, &pth->file, member->offset, LOCAL_SIZE);
    const uint64_t start = member->offset + LOCAL_SIZE + (uint64_t)(local[26] | local[27] << 8) +
                           (uint64_t)(local[28] | local[29] << 8);
    if (!st) st = input_file_read(out, &pth->file, start, (size_t)member->size);
    if (!st && compute_crc(out, (size_t)member->size) != member->crc)
        st = fail(PLUMB_EFORMAT, "%s: member \"%s\" is damaged, its checksum is wrong",
                  pth->file.path, member->name);
    return st;
}

// ---- opening ----

// A Python list of numbers, such as the losses of an epoch.
static bool is_number_list(const pickle_value *value)
{
    if (value->kind != PICKLE_LIST || !value->count) return false;
    for (int64_t i = 0; i < value->count; i++)
        if (value->item[i]->kind != PICKLE_INTEGER && value->item[i]->kind != PICKLE_REAL)
            return false;
    return true;
}

// True for a value that becomes an array.
static bool is_readable(const pickle_value *value)
{
    switch (value->kind) {
    case PICKLE_TENSOR:
    case PICKLE_INTEGER:
    case PICKLE_REAL:
    case PICKLE_BOOL: return true;
    case PICKLE_NDARRAY: return value->item;
    case PICKLE_TEXT: return value->count > 0;
    default: return is_number_list(value);
    }
}

// Text of at most 200 printable characters.
static bool is_name(const pickle_value *value)
{
    if (value->kind != PICKLE_TEXT || !value->count || value->count > 200) return false;
    for (int64_t i = 0; i < value->count; i++)
        if ((unsigned char)value->bytes[i] < ' ' || (unsigned char)value->bytes[i] > 126)
            return false;
    return true;
}

// Lists the readable entries of a dictionary. A key that is set twice has the place of the first
// and the value of the last, as in Python.
static plumb_status list_entries(pth_file *pth, array_file_names *names, arena *mem,
                                 const pickle_value *root)
{
    const int64_t entries = root->count / 2;
    const char **keys = ARENA_ALLOC(mem, const char *, entries);
    const pickle_value **values = ARENA_ALLOC(mem, const pickle_value *, entries);
    if (!keys || !values) return PLUMB_EMEMORY;
    // Keys that are no printable text are skipped.
    int64_t count = 0;
    for (int64_t i = 0; i < entries; i++)
        if (is_name(root->item[2 * i])) {
            keys[count] = root->item[2 * i]->bytes;
            values[count++] = root->item[2 * i + 1];
        }
    name_index index;
    const plumb_status st = name_index_create(&index, mem, keys, count);
    if (st) return st;
    // In the index equal keys are neighbours, in the order of the file.
    for (int64_t i = 0; i < count; i++) {
        int64_t last = i;
        while (last + 1 < count && !strcmp(index.entry[last + 1].name, index.entry[i].name)) last++;
        const pickle_value *value = values[index.entry[last].index];
        for (int64_t k = i; k <= last; k++) values[index.entry[k].index] = NULL;
        values[index.entry[i].index] = value;
        i = last;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!values[i] || !is_readable(values[i])) continue;
        names->name[names->count] = keys[i];
        pth->values[names->count++] = values[i];
    }
    return PLUMB_OK;
}

// Key and value of an entry of a dictionary in the dictionary, whose name is then "net_param/KEY".
static plumb_status add_inner(pickle_value *flat, arena *mem, const pickle_value *outer,
                              const pickle_value *key, pickle_value *value)
{
    pickle_value *name = ARENA_ALLOC(mem, pickle_value, 1);
    const int64_t length = outer->count + 1 + key->count;
    char *text = ARENA_ALLOC(mem, char, length + 1);
    if (!name || !text) return PLUMB_EMEMORY;
    memcpy(text, outer->bytes, (size_t)outer->count);
    text[outer->count] = '/';
    memcpy(text + outer->count + 1, key->bytes, (size_t)key->count);
    *name = *key;
    name->bytes = text;
    name->count = length;
    flat->item[flat->count++] = name;
    flat->item[flat->count++] = value;
    return PLUMB_OK;
}

// Checkpoints have the state dict of a model as an entry: its entries become those of the file, one
// level deep. A dictionary may stand in the pickle many times, so their number is limited.
static plumb_status flatten_dict(pickle_value *flat, arena *mem, const pickle_value *root,
                                 const char *path)
{
    enum { MAX_ITEMS = 1 << 18 };
    int64_t room = root->count;
    for (int64_t i = 0; i < root->count; i += 2) {
        const pickle_value *value = root->item[i + 1];
        if (value->kind == PICKLE_DICT) room += value->count;
        if (room > MAX_ITEMS) return fail(PLUMB_EFORMAT, "%s: has too many entries", path);
    }
    *flat = *root;
    flat->count = 0;
    flat->item = ARENA_ALLOC(mem, pickle_value *, room);
    if (!flat->item) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < root->count; i += 2) {
        pickle_value *key = root->item[i], *value = root->item[i + 1];
        flat->item[flat->count++] = key;
        flat->item[flat->count++] = value;
        if (value->kind != PICKLE_DICT || value == root || !is_name(key)) continue;
        for (int64_t k = 0; k < value->count; k += 2) {
            if (!is_name(value->item[k]) || !is_readable(value->item[k + 1])) continue;
            const plumb_status st = add_inner(flat, mem, key, value->item[k], value->item[k + 1]);
            if (st) return st;
        }
    }
    return PLUMB_OK;
}

// Lists the readable entries of the dictionary, or the value itself if it is no dictionary.
static plumb_status list_arrays(pth_file *pth, array_file_names *names, arena *mem,
                                const pickle_value *root)
{
    pickle_value flat;
    if (root->kind == PICKLE_DICT) {
        const plumb_status st = flatten_dict(&flat, mem, root, pth->file.path);
        if (st) return st;
        root = &flat;
    }
    const int64_t max_arrays = root->kind == PICKLE_DICT ? root->count / 2 : 1;
    names->name = ARENA_ALLOC(mem, const char *, max_arrays);
    pth->values = ARENA_ALLOC(mem, const pickle_value *, max_arrays);
    if (!names->name || !pth->values) return PLUMB_EMEMORY;
    pth->name = names->name;
    if (root->kind != PICKLE_DICT) {
        if (!is_readable(root))
            return fail(PLUMB_EFORMAT, "%s: holds neither a dictionary nor numbers",
                        pth->file.path);
        names->name[0] = "";
        pth->values[0] = root;
        names->count = 1;
        return PLUMB_OK;
    }
    const plumb_status st = list_entries(pth, names, mem, root);
    if (st) return st;
    return names->count
               ? PLUMB_OK
               : fail(PLUMB_EFORMAT, "%s: its dictionary holds no numbers", pth->file.path);
}

// The member "byteorder" must say "little".
static plumb_status check_byte_order(const pth_file *pth)
{
    const zip_member *member = find_member(pth, "byteorder");
    unsigned char text[8] = {0};
    if (!member) return PLUMB_OK; // old versions of PyTorch do not write it
    if (member->size != 6) return fail(PLUMB_EFORMAT, "%s: is not little-endian", pth->file.path);
    const plumb_status st = read_member(text, pth, member);
    if (st) return st;
    return memcmp(text, "little", 6) == 0
               ? PLUMB_OK
               : fail(PLUMB_EFORMAT, "%s: is not little-endian", pth->file.path);
}

// All members are in the folder of data.pkl.
static plumb_status find_folder(pth_file *pth, arena *mem)
{
    // torch.save puts everything into one folder, whose name is that of the file or "archive".
    static const char *last = "data.pkl";
    for (int64_t i = 0; i < pth->directory.count; i++) {
        const char *name = pth->directory.member[i].name;
        const size_t length = strlen(name), end = strlen(last);
        if (length < end || strcmp(name + length - end, last) != 0) continue;
        if (length > end && name[length - end - 1] != '/') continue;
        char *folder = arena_strdup(mem, name);
        if (!folder) return PLUMB_EMEMORY;
        folder[length - end] = 0;
        pth->folder = folder;
        return PLUMB_OK;
    }
    return fail(PLUMB_EFORMAT, "%s: holds no data.pkl, so torch.save did not write it",
                pth->file.path);
}

// Finds the folder, parses data.pkl and lists the arrays.
static plumb_status parse_archive(pth_file *pth, array_file_names *names, arena *mem)
{
    const char **members = ARENA_ALLOC(mem, const char *, pth->directory.count);
    if (!members) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < pth->directory.count; i++) members[i] = pth->directory.member[i].name;
    plumb_status st = name_index_create(&pth->member_names, mem, members, pth->directory.count);
    if (!st) st = find_folder(pth, mem);
    if (!st) st = check_byte_order(pth);
    if (st) return st;
    const zip_member *member = find_member(pth, "data.pkl");
    if (!member)
        return fail(PLUMB_EFORMAT, "%s: the name of its folder is too long", pth->file.path);
    if (member->size > PICKLE_MAX_BYTES)
        return fail(PLUMB_EFORMAT, "%s: its pickle has %llu bytes, too many for scores",
                    pth->file.path, (unsigned long long)member->size);
    unsigned char *bytes = arena_alloc(mem, (int64_t)member->size, 1);
    pickle_value *root = NULL;
    if (!bytes) return PLUMB_EMEMORY;
    st = read_member(bytes, pth, member);
    if (!st) st = pickle_parse(&root, mem, bytes, (size_t)member->size, pth->file.path);
    return st ? st : list_arrays(pth, names, mem, root);
}

plumb_status pth_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    pth_file *pth = ARENA_ALLOC(mem, pth_file, 1);
    if (!pth) return PLUMB_EMEMORY;
    plumb_status st = input_file_open(&pth->file, path);
    if (st) return st;
    st = zip_directory_read(&pth->directory, mem, &pth->file);
    if (!st) st = parse_archive(pth, names, mem);
    if (st) pth_close(pth);
    else *state = pth;
    return st;
}

void pth_close(void *state)
{
    input_file_close(&((pth_file *)state)->file);
}

// ---- reading ----

// Messages name the file and the entry.
static plumb_status reject_entry(const pth_file *pth, int64_t index, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s:%s: %s", pth->file.path, pth->name[index], why);
}

// bfloat16 is the upper half of a float32.
static void convert_bfloat16(float *out, const unsigned char *in, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)(in[2 * i] | in[2 * i + 1] << 8) << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

// Reads a tensor: checks sizes, strides and offset against its storage, then copies it row-major.
static plumb_status read_tensor(plumb_array *out, arena *mem, const pth_file *pth, int64_t index)
{
    const pickle_value *value = pth->values[index], *storage = value->item[0];
    const pickle_value *sizes = value->item[2], *strides = value->item[3];
    // item: storage, offset, sizes, strides.
    const size_t size = plumb_dtype_size(storage->dtype);
    int64_t shape[PLUMB_MAX_DIMS], count, last = value->item[1]->integer;
    if (sizes->count > PLUMB_MAX_DIMS)
        return reject_entry(pth, index, "the tensor has too many axes");
    for (int64_t i = 0; i < sizes->count; i++) shape[i] = sizes->item[i]->integer;
    if (!array_count_checked(&count, shape, (int)sizes->count, size))
        return reject_entry(pth, index, "the tensor's shape is too large");
    // `last` becomes the index of the last element in the storage.
    for (int64_t i = 0; count && i < sizes->count; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape[i] - 1, strides->item[i]->integer, &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return reject_entry(pth, index, "the tensor's strides are too large");
    }
    // A storage smaller than the tensor would let a few bytes declare any amount of memory.
    if (count > storage->integer || (count && last >= storage->integer))
        return reject_entry(pth, index, "the tensor reaches beyond its storage");

    char name[64];
    if (storage->count > 40 || (int64_t)strlen(storage->bytes) != storage->count)
        return reject_entry(pth, index, "the tensor's storage has no proper name");
    // The storage is a member of the zip file, named by its key.
    snprintf(name, sizeof name, "data/%s", storage->bytes);
    const zip_member *member = find_member(pth, name);
    if (!member) return reject_entry(pth, index, "the tensor's storage is not in the file");
    if (member->size / size != (uint64_t)storage->integer || member->size % size)
        return reject_entry(pth, index, "the tensor's storage is not as long as the pickle says");
    const plumb_dtype dtype = storage->bfloat16 ? PLUMB_FLOAT32 : storage->dtype;
    plumb_status st = array_create(out, mem, dtype, (int)sizes->count, shape);
    if (st) return st;
    arena scratch = {0};
    unsigned char *bytes = arena_alloc(&scratch, (int64_t)member->size, 1);
    st = bytes ? read_member(bytes, pth, member) : PLUMB_EMEMORY;
    // Copy the elements in row-major order; `at` is the index along each axis.
    int64_t at[PLUMB_MAX_DIMS] = {0};
    for (int64_t i = 0; i < count && !st; i++) {
        int64_t from = value->item[1]->integer;
        for (int64_t k = 0; k < sizes->count; k++) from += at[k] * strides->item[k]->integer;
        if (storage->bfloat16) convert_bfloat16((float *)out->data + i, bytes + from * 2, 1);
        else memcpy((char *)out->data + i * (int64_t)size, bytes + from * (int64_t)size, size);
        for (int64_t k = sizes->count - 1; k >= 0 && ++at[k] == shape[k]; k--) at[k] = 0;
    }
    if (!st && dtype == PLUMB_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
    arena_clear(&scratch);
    return st;
}

// Reads a NumPy array whose bytes are in the pickle.
static plumb_status read_ndarray(plumb_array *out, arena *mem, const pth_file *pth, int64_t index)
{
    const pickle_value *value = pth->values[index], *sizes = value->item[1], *type = value->item[2];
    const pickle_value *bytes = value->item[4];
    int64_t shape[PLUMB_MAX_DIMS], count;
    int axes = (int)sizes->count;
    if (sizes->count + type->text > PLUMB_MAX_DIMS)
        return reject_entry(pth, index, "the array has too many axes");
    for (int i = 0; i < axes; i++) shape[i] = sizes->item[i]->integer;
    if (value->fortran && axes > 1)
        return reject_entry(pth, index, "the array is in column-major order");
    // The characters of strings become the last axis.
    if (type->text) shape[axes++] = type->count;
    const size_t size = plumb_dtype_size(type->dtype);
    if (!array_count_checked(&count, shape, axes, size) || count * (int64_t)size != bytes->count)
        return reject_entry(pth, index, "the array's shape is not that of its bytes");
    const plumb_status st = array_create(out, mem, type->dtype, axes, shape);
    if (st) return st;
    // Copy the bytes; if the order is swapped, reverse them within each element.
    for (int64_t i = 0; i < bytes->count; i++) {
        const int64_t from =
            type->swapped ? i - i % (int64_t)size + (int64_t)size - 1 - i % (int64_t)size : i;
        ((char *)out->data)[i] = bytes->bytes[from];
    }
    if (type->dtype == PLUMB_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
    return PLUMB_OK;
}

// Converts numbers to int64 if all are integers, else to float64.
static plumb_status read_list(plumb_array *out, arena *mem, pickle_value *const *item,
                              int64_t count, int axes)
{
    // One real number makes the whole list real.
    bool all_integers = true;
    for (int64_t i = 0; i < count; i++) all_integers = all_integers && item[i]->kind != PICKLE_REAL;
    const plumb_status st =
        array_create(out, mem, all_integers ? PLUMB_INT64 : PLUMB_FLOAT64, axes, &count);
    for (int64_t i = 0; i < count && !st; i++) {
        if (all_integers) ((int64_t *)out->data)[i] = item[i]->integer;
        else
            ((double *)out->data)[i] =
                item[i]->kind == PICKLE_REAL ? item[i]->real : (double)item[i]->integer;
    }
    return st;
}

plumb_status pth_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    const pth_file *pth = state;
    const pickle_value *value = pth->values[index];
    switch (value->kind) {
    case PICKLE_TENSOR: return read_tensor(out, mem, pth, index);
    case PICKLE_NDARRAY: return read_ndarray(out, mem, pth, index);
    case PICKLE_LIST: return read_list(out, mem, value->item, value->count, 1);
    case PICKLE_TEXT: {
        const plumb_status st = array_create(out, mem, PLUMB_UINT8, 1, &value->count);
        if (!st) memcpy(out->data, value->bytes, (size_t)value->count);
        return st;
    }
    default: {
        pickle_value *one[1] = {(pickle_value *)value};
        return read_list(out, mem, one, 1, 0);
    }
    }
}

plumb_status pth_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress)
{
    (void)arrays, (void)count, (void)compress;
    return fail(PLUMB_EFILE, "%s: .pth files are read, not written; write .npz", path);
}
