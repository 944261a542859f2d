// SPDX-License-Identifier: MIT
// zip_directory.c has checked where members lie; PyTorch stores them, so that they are read as they
// are. A tensor is a view of a storage: its sizes, strides and offset are checked against the
// storage's length, and that against the member's, before anything is taken.
#define _GNU_SOURCE
#include "io/pth.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/input_file.h"
#include "base/status.h"
#include "io/pickle.h"
#include "io/zip_directory.h"

typedef struct pth {
    input_file file;
    zip_directory dir;
    const char *folder; // "archive/" and the like
    const pickle_value **value;
    const char **name;
} pth;

// ---- members ----

// The usual CRC-32, four bits at a time.
static uint32_t crc_of(const unsigned char *b, size_t n)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ b[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ (uint32_t)b[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

static const zip_member *find_member(const pth *p, const char *name)
{
    const size_t folder = strlen(p->folder);
    for (int64_t i = 0; i < p->dir.count; i++) {
        const char *other = p->dir.member[i].name;
        if (strncmp(other, p->folder, folder) == 0 && strcmp(other + folder, name) == 0)
            return &p->dir.member[i];
    }
    return NULL;
}

static plumb_status read_member(unsigned char *out, const pth *p, const zip_member *m)
{
    enum { LOCAL_SIZE = 30 };
    unsigned char b[LOCAL_SIZE];
    if (m->method != ZIP_DIRECTORY_STORED)
        return fail(PLUMB_EFORMAT, "%s: member \"%s\" is compressed, which PyTorch never does",
                    p->file.path, m->name);
    plumb_status st = input_file_read(b, &p->file, m->offset, LOCAL_SIZE);
    const uint64_t start =
        m->offset + LOCAL_SIZE + (uint64_t)(b[26] | b[27] << 8) + (uint64_t)(b[28] | b[29] << 8);
    if (!st) st = input_file_read(out, &p->file, start, (size_t)m->size);
    if (!st && crc_of(out, (size_t)m->size) != m->crc)
        st = fail(PLUMB_EFORMAT, "%s: member \"%s\" is damaged, its checksum is wrong",
                  p->file.path, m->name);
    return st;
}

// ---- opening ----

static bool is_numbers(const pickle_value *v)
{
    if (v->kind != PICKLE_LIST || !v->count) return false;
    for (int64_t i = 0; i < v->count; i++)
        if (v->item[i]->kind != PICKLE_INTEGER && v->item[i]->kind != PICKLE_REAL) return false;
    return true;
}

static bool is_readable(const pickle_value *v)
{
    switch (v->kind) {
    case PICKLE_TENSOR:
    case PICKLE_INTEGER:
    case PICKLE_REAL:
    case PICKLE_BOOL: return true;
    case PICKLE_NDARRAY: return v->item;
    case PICKLE_TEXT: return v->count > 0;
    default: return is_numbers(v);
    }
}

// Text that can be shown as a name.
static bool is_name(const pickle_value *v)
{
    if (v->kind != PICKLE_TEXT || !v->count || v->count > 200) return false;
    for (int64_t i = 0; i < v->count; i++)
        if ((unsigned char)v->bytes[i] < ' ' || (unsigned char)v->bytes[i] > 126) return false;
    return true;
}

static plumb_status list(pth *p, array_file_names *names, arena *mem, const pickle_value *root)
{
    const int64_t most = root->kind == PICKLE_DICT ? root->count / 2 : 1;
    names->name = ARENA_ALLOC(mem, const char *, most);
    p->value = ARENA_ALLOC(mem, const pickle_value *, most);
    if (!names->name || !p->value) return PLUMB_EMEMORY;
    p->name = names->name;
    if (root->kind != PICKLE_DICT) {
        if (!is_readable(root))
            return fail(PLUMB_EFORMAT, "%s: holds neither a dictionary nor numbers", p->file.path);
        names->name[0] = "";
        p->value[0] = root;
        names->count = 1;
        return PLUMB_OK;
    }
    for (int64_t i = 0; i + 1 < root->count; i += 2) {
        const pickle_value *key = root->item[i], *value = root->item[i + 1];
        if (!is_name(key) || !is_readable(value) || pickle_find(root, key->bytes) != value)
            continue;
        bool known = false; // set twice to one value
        for (int64_t j = 0; j < names->count; j++)
            known = known || strcmp(names->name[j], key->bytes) == 0;
        if (known) continue;
        names->name[names->count] = key->bytes;
        p->value[names->count++] = value;
    }
    return names->count ? PLUMB_OK
                        : fail(PLUMB_EFORMAT, "%s: its dictionary holds no numbers", p->file.path);
}

static plumb_status check_order(const pth *p)
{
    const zip_member *m = find_member(p, "byteorder");
    unsigned char text[8] = {0};
    if (!m) return PLUMB_OK; // older than the question
    if (m->size != 6) return fail(PLUMB_EFORMAT, "%s: is not little-endian", p->file.path);
    const plumb_status st = read_member(text, p, m);
    if (st) return st;
    return memcmp(text, "little", 6) == 0
               ? PLUMB_OK
               : fail(PLUMB_EFORMAT, "%s: is not little-endian", p->file.path);
}

static plumb_status find_folder(pth *p, arena *mem)
{
    static const char *last = "data.pkl";
    for (int64_t i = 0; i < p->dir.count; i++) {
        const char *name = p->dir.member[i].name;
        const size_t length = strlen(name), end = strlen(last);
        if (length < end || strcmp(name + length - end, last) != 0) continue;
        if (length > end && name[length - end - 1] != '/') continue;
        char *folder = arena_strdup(mem, name);
        if (!folder) return PLUMB_EMEMORY;
        folder[length - end] = 0;
        p->folder = folder;
        return PLUMB_OK;
    }
    return fail(PLUMB_EFORMAT, "%s: holds no data.pkl, so torch.save did not write it",
                p->file.path);
}

static plumb_status parse(pth *p, array_file_names *names, arena *mem)
{
    plumb_status st = find_folder(p, mem);
    if (!st) st = check_order(p);
    if (st) return st;
    const zip_member *m = find_member(p, "data.pkl");
    if (m->size > PICKLE_MOST_BYTES)
        return fail(PLUMB_EFORMAT, "%s: its pickle has %llu bytes, too many for scores",
                    p->file.path, (unsigned long long)m->size);
    unsigned char *bytes = arena_alloc(mem, (int64_t)m->size, 1);
    pickle_value *root = NULL;
    if (!bytes) return PLUMB_EMEMORY;
    st = read_member(bytes, p, m);
    if (!st) st = pickle_parse(&root, mem, bytes, (size_t)m->size, p->file.path);
    return st ? st : list(p, names, mem, root);
}

plumb_status pth_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    pth *p = ARENA_ALLOC(mem, pth, 1);
    if (!p) return PLUMB_EMEMORY;
    plumb_status st = input_file_open(&p->file, path);
    if (st) return st;
    st = zip_directory_read(&p->dir, mem, &p->file);
    if (!st) st = parse(p, names, mem);
    if (st) pth_close(p);
    else *state = p;
    return st;
}

void pth_close(void *state)
{
    input_file_close(&((pth *)state)->file);
}

// ---- reading ----

static plumb_status wrong(const pth *p, int64_t index, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s:%s: %s", p->file.path, p->name[index], why);
}

// bfloat16 is the upper half of a float.
static void widen_brain(float *out, const unsigned char *in, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)(in[2 * i] | in[2 * i + 1] << 8) << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static plumb_status read_tensor(plumb_array *out, arena *mem, const pth *p, int64_t index)
{
    const pickle_value *v = p->value[index], *storage = v->item[0];
    const pickle_value *sizes = v->item[2], *strides = v->item[3];
    const size_t size = plumb_dtype_size(storage->dtype);
    int64_t shape[PLUMB_MAX_DIMS], count, last = v->item[1]->integer;
    if (sizes->count > PLUMB_MAX_DIMS) return wrong(p, index, "the tensor has too many axes");
    for (int64_t i = 0; i < sizes->count; i++) shape[i] = sizes->item[i]->integer;
    if (!array_count_checked(&count, shape, (int)sizes->count, size))
        return wrong(p, index, "the tensor's shape is too large");
    for (int64_t i = 0; count && i < sizes->count; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape[i] - 1, strides->item[i]->integer, &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return wrong(p, index, "the tensor's strides are too large");
    }
    // Fewer numbers than elements would let a few bytes stand for any amount of memory.
    if (count > storage->integer || (count && last >= storage->integer))
        return wrong(p, index, "the tensor reaches beyond its storage");

    char name[64];
    if (storage->count > 40 || (int64_t)strlen(storage->bytes) != storage->count)
        return wrong(p, index, "the tensor's storage has no proper name");
    snprintf(name, sizeof name, "data/%s", storage->bytes);
    const zip_member *m = find_member(p, name);
    if (!m) return wrong(p, index, "the tensor's storage is not in the file");
    if (m->size / size != (uint64_t)storage->integer || m->size % size)
        return wrong(p, index, "the tensor's storage is not as long as the pickle says");
    const plumb_dtype dtype = storage->text ? PLUMB_FLOAT32 : storage->dtype;
    plumb_status st = array_create(out, mem, dtype, (int)sizes->count, shape);
    if (st) return st;
    arena scratch = {0};
    unsigned char *bytes = arena_alloc(&scratch, (int64_t)m->size, 1);
    st = bytes ? read_member(bytes, p, m) : PLUMB_EMEMORY;
    int64_t at[PLUMB_MAX_DIMS] = {0};
    for (int64_t i = 0; i < count && !st; i++) {
        int64_t from = v->item[1]->integer;
        for (int64_t k = 0; k < sizes->count; k++) from += at[k] * strides->item[k]->integer;
        if (storage->text) widen_brain((float *)out->data + i, bytes + from * 2, 1);
        else memcpy((char *)out->data + i * (int64_t)size, bytes + from * (int64_t)size, size);
        for (int64_t k = sizes->count - 1; k >= 0 && ++at[k] == shape[k]; k--) at[k] = 0;
    }
    if (!st && dtype == PLUMB_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((unsigned char *)out->data)[i] = ((unsigned char *)out->data)[i] != 0;
    arena_clear(&scratch);
    return st;
}

static plumb_status read_ndarray(plumb_array *out, arena *mem, const pth *p, int64_t index)
{
    const pickle_value *v = p->value[index], *sizes = v->item[1], *type = v->item[2];
    const pickle_value *bytes = v->item[4];
    int64_t shape[PLUMB_MAX_DIMS], count;
    int axes = (int)sizes->count;
    if (sizes->count + type->text > PLUMB_MAX_DIMS)
        return wrong(p, index, "the array has too many axes");
    for (int i = 0; i < axes; i++) shape[i] = sizes->item[i]->integer;
    if (v->fortran && axes > 1) return wrong(p, index, "the array is in column-major order");
    if (type->text) shape[axes++] = type->count;
    const size_t size = plumb_dtype_size(type->dtype);
    if (!array_count_checked(&count, shape, axes, size) || count * (int64_t)size != bytes->count)
        return wrong(p, index, "the array's shape is not that of its bytes");
    const plumb_status st = array_create(out, mem, type->dtype, axes, shape);
    if (st) return st;
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

static plumb_status read_list(plumb_array *out, arena *mem, pickle_value *const *item,
                              int64_t count, int axes)
{
    bool whole = true;
    for (int64_t i = 0; i < count; i++) whole = whole && item[i]->kind != PICKLE_REAL;
    const plumb_status st =
        array_create(out, mem, whole ? PLUMB_INT64 : PLUMB_FLOAT64, axes, &count);
    for (int64_t i = 0; i < count && !st; i++) {
        if (whole) ((int64_t *)out->data)[i] = item[i]->integer;
        else
            ((double *)out->data)[i] =
                item[i]->kind == PICKLE_REAL ? item[i]->real : (double)item[i]->integer;
    }
    return st;
}

plumb_status pth_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    const pth *p = state;
    const pickle_value *v = p->value[index];
    switch (v->kind) {
    case PICKLE_TENSOR: return read_tensor(out, mem, p, index);
    case PICKLE_NDARRAY: return read_ndarray(out, mem, p, index);
    case PICKLE_LIST: return read_list(out, mem, v->item, v->count, 1);
    case PICKLE_TEXT: {
        const plumb_status st = array_create(out, mem, PLUMB_UINT8, 1, &v->count);
        if (!st) memcpy(out->data, v->bytes, (size_t)v->count);
        return st;
    }
    default: {
        pickle_value *one[1] = {(pickle_value *)v};
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
