// SPDX-License-Identifier: MIT
// Reads and writes safetensors. The header is read into memory once and all entries point into it,
// so a malformed header costs no more than its own size and one short entry per tensor. The rules
// are those of the reference reader (github.com/huggingface/safetensors), with two stricter ones:
// the header has at most 16 MiB, and names are unique.
#define _GNU_SOURCE
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/status.h"
#include "plumb/record.h"

struct safetensors_entry {
    const char *name;
    const char *shape;   // the list in the text of the header, checked
    uint64_t begin, end; // positions in the data
    int64_t order;       // index in the header
    signed char type;    // index in `types`
    signed char axes;
};

// The shortest entry is "":{"dtype":"F32","shape":[],"data_offsets":[0,4]}
enum { MIN_ENTRY_BYTES = 48, MIN_METADATA_BYTES = 5 };

// clang-format off
static const struct type {
    const char *name;
    plumb_dtype dtype;
    bool bfloat16; // the upper half of a float32
} types[] = {
    {"F32", PLUMB_FLOAT32, false}, {"F64", PLUMB_FLOAT64, false}, {"F16", PLUMB_FLOAT16, false},
    {"I64", PLUMB_INT64, false}, {"I32", PLUMB_INT32, false}, {"I16", PLUMB_INT16, false},
    {"I8",  PLUMB_INT8, false}, {"U64", PLUMB_UINT64, false}, {"U32", PLUMB_UINT32, false},
    {"U16", PLUMB_UINT16, false}, {"U8",  PLUMB_UINT8, false}, {"BOOL", PLUMB_BOOL, false},
    {"BF16", PLUMB_FLOAT32, true},
};
// clang-format on
enum { TYPE_COUNT = sizeof types / sizeof *types };

// Bytes per element in the file.
static size_t get_type_size(int type)
{
    return types[type].bfloat16 ? 2 : plumb_dtype_size(types[type].dtype);
}

// ---- the header ----

// Messages name the file and the tensor.
static plumb_status reject_tensor(const safetensors *file, const char *name, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": %s", file->file.path, name, why);
}

// `out` becomes the index in `types`. Types without a match, such as F8_E4M3, are an error.
static plumb_status read_type(signed char *out, const safetensors *file, json *reader,
                              const char *name)
{
    const char *word = json_string(reader);
    if (!word) return reader->st;
    for (int i = 0; i < TYPE_COUNT; i++)
        if (!strcmp(types[i].name, word)) {
            *out = (signed char)i;
            return PLUMB_OK;
        }
    return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": dtype \"%.40s\" is not one plumb reads",
                file->file.path, name, word);
}

// Parses the shape and keeps the position of its text for safetensors_shape().
static plumb_status read_shape(safetensors_entry *entry, int64_t shape[PLUMB_MAX_DIMS],
                               const safetensors *file, json *reader)
{
    json_peek(reader);
    entry->shape = reader->at;
    entry->axes = 0;
    json_array(reader);
    while (json_next(reader)) {
        if (entry->axes == PLUMB_MAX_DIMS) return reject_tensor(file, entry->name, "too many axes");
        shape[entry->axes] = json_int(reader);
        if (!reader->st && shape[entry->axes] < 0)
            return reject_tensor(file, entry->name, "an axis is negative");
        entry->axes++;
    }
    return reader->st;
}

// Parses data_offsets: begin and end, inside the data.
static plumb_status read_offsets(safetensors_entry *entry, const safetensors *file, json *reader)
{
    int64_t ends[2] = {0};
    int count = 0;
    json_array(reader);
    while (json_next(reader)) {
        const int64_t value = json_int(reader);
        if (count < 2) ends[count] = value;
        count++;
    }
    if (reader->st) return reader->st;
    if (count != 2 || ends[0] < 0 || ends[1] < ends[0] ||
        (uint64_t)ends[1] > (uint64_t)file->file.size - file->data)
        return reject_tensor(file, entry->name, "its data_offsets are no place in the file");
    entry->begin = (uint64_t)ends[0];
    entry->end = (uint64_t)ends[1];
    return PLUMB_OK;
}

// Parses one tensor. Its shape must need exactly the bytes between its offsets.
static plumb_status read_entry(safetensors_entry *entry, const safetensors *file, json *reader)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    int64_t shape[PLUMB_MAX_DIMS], count;
    int seen[3] = {0};
    plumb_status st = PLUMB_OK;
    json_object(reader);
    for (const char *key; !st && (key = json_key(reader));) {
        int key_index = 0;
        while (key_index < 3 && strcmp(keys[key_index], key)) key_index++;
        if (key_index == 3 || seen[key_index]++)
            return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": \"%.40s\" stands there%s",
                        file->file.path, entry->name, key, key_index == 3 ? "" : " twice");
        if (key_index == 0) st = read_type(&entry->type, file, reader, entry->name);
        else if (key_index == 1) st = read_shape(entry, shape, file, reader);
        else st = read_offsets(entry, file, reader);
    }
    if (!st) st = reader->st;
    if (st) return st;
    for (int i = 0; i < 3; i++)
        if (!seen[i])
            return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": has no %s", file->file.path,
                        entry->name, keys[i]);
    // The product of the shape must neither overflow nor differ from the bytes in the file.
    if (!array_count_checked(&count, shape, entry->axes, get_type_size(entry->type)))
        return reject_tensor(file, entry->name, "its shape is larger than memory");
    if ((uint64_t)count * get_type_size(entry->type) != entry->end - entry->begin)
        return fail(PLUMB_EFORMAT,
                    "%s: tensor \"%.200s\": its shape needs %llu bytes, its data_offsets have %llu",
                    file->file.path, entry->name,
                    (unsigned long long)count * get_type_size(entry->type),
                    (unsigned long long)(entry->end - entry->begin));
    return PLUMB_OK;
}

// Parses __metadata__: keys with text values.
static plumb_status read_metadata(safetensors *file, json *reader, int64_t max_metadata)
{
    json_object(reader);
    for (const char *key; (key = json_key(reader));) {
        const char *value = json_string(reader);
        if (!value) break;
        if (file->metadata_count == max_metadata)
            return json_error(reader, "too many lines of __metadata__");
        file->metadata[file->metadata_count++] = (safetensors_metadata_entry){key, value};
    }
    return reader->st;
}

// Order by position; the order in the header decides between empty tensors.
static int compare_positions(const void *left, const void *right)
{
    const safetensors_entry *x = left, *y = right;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int compare_names(const void *left, const void *right)
{
    const safetensors_entry *x = left, *y = right;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->order < y->order ? -1 : 1;
}

// Names must differ and the bytes must be without gap or overlap. Leaves the entries sorted by
// position.
static plumb_status check_entries(const safetensors *file)
{
    // Duplicates are neighbours after sorting by name; gaps show after sorting by position.
    const size_t size = sizeof *file->entry;
    if (file->count > 1) qsort(file->entry, (size_t)file->count, size, compare_names);
    for (int64_t i = 1; i < file->count; i++)
        if (!strcmp(file->entry[i].name, file->entry[i - 1].name))
            return reject_tensor(file, file->entry[i].name, "stands there twice");
    if (file->count > 1) qsort(file->entry, (size_t)file->count, size, compare_positions);
    uint64_t next = 0;
    for (int64_t i = 0; i < file->count; i++) {
        if (file->entry[i].begin != next)
            return reject_tensor(file, file->entry[i].name,
                                 "a gap or an overlap lies before its bytes");
        next = file->entry[i].end;
    }
    if (next != (uint64_t)file->file.size - file->data)
        return fail(PLUMB_EFORMAT, "%s: %llu bytes of tensors, but %llu behind the header",
                    file->file.path, (unsigned long long)next,
                    (unsigned long long)((uint64_t)file->file.size - file->data));
    return PLUMB_OK;
}

// Parses the whole header. The limits on entries follow from its size.
static plumb_status parse_header(safetensors *file, arena *mem, char *text, size_t size)
{
    // No header of this size can hold more entries, so the allocation is bounded by the file.
    const int64_t max_entries = (int64_t)size / MIN_ENTRY_BYTES + 1;
    int64_t max_metadata = (int64_t)size / MIN_METADATA_BYTES + 1;
    if (max_metadata > 1024) max_metadata = 1024;
    file->entry = ARENA_ALLOC(mem, safetensors_entry, max_entries);
    file->metadata = ARENA_ALLOC(mem, safetensors_metadata_entry, max_metadata);
    if (!file->entry || !file->metadata) return PLUMB_EMEMORY;
    json reader = json_begin(text, size, file->file.path);
    bool has_metadata = false;
    plumb_status st = PLUMB_OK;
    json_object(&reader);
    for (const char *key; !st && (key = json_key(&reader));) {
        if (!strcmp(key, "__metadata__")) {
            if (has_metadata) return json_error(&reader, "__metadata__ stands there twice");
            has_metadata = true;
            st = read_metadata(file, &reader, max_metadata);
        } else if (file->count == max_entries) {
            st = json_error(&reader, "more tensors than there is room for");
        } else {
            safetensors_entry *entry = &file->entry[file->count];
            *entry = (safetensors_entry){.name = key, .order = file->count};
            st = read_entry(entry, file, &reader);
            file->count++;
        }
    }
    if (!st) st = json_end(&reader);
    return st ? st : check_entries(file);
}

plumb_status safetensors_begin(safetensors *file, arena *mem, const char *path)
{
    *file = (safetensors){.file.fd = -1};
    plumb_status st = input_file_open(&file->file, path);
    if (st) return st;
    // The file starts with the length of the header, 8 bytes, little-endian.
    unsigned char head[8] = {0};
    uint64_t length = 0;
    if (file->file.size < 10)
        st = fail(PLUMB_EFORMAT, "%s: %lld bytes are too few for a safetensors file", path,
                  (long long)file->file.size);
    if (!st) st = input_file_read(head, &file->file, 0, 8);
    for (int i = 0; i < 8; i++) length |= (uint64_t)head[i] << 8 * i;
    if (!st &&
        (length < 2 || length > SAFETENSORS_MAX_HEADER || length > (uint64_t)file->file.size - 8))
        st = fail(PLUMB_EFORMAT,
                  "%s: promises a header of %llu bytes; damaged, or not a safetensors file", path,
                  (unsigned long long)length);
    char *text = st ? NULL : arena_alloc(mem, (int64_t)length, 1);
    if (!st && !text) st = PLUMB_EMEMORY;
    if (!st) st = input_file_read(text, &file->file, 8, (size_t)length);
    if (!st && text[0] != '{')
        st = fail(PLUMB_EFORMAT, "%s: its header does not begin with {", path);
    file->data = 8 + length;
    if (!st) st = parse_header(file, mem, text, (size_t)length);
    if (st) safetensors_end(file);
    return st;
}

void safetensors_end(safetensors *file)
{
    input_file_close(&file->file);
}

// ---- tensors ----

// The index of a tensor by its name, or -1.
int64_t safetensors_find(const safetensors *file, const char *name)
{
    for (int64_t i = 0; i < file->count; i++)
        if (!strcmp(file->entry[i].name, name)) return i;
    return -1;
}

const char *safetensors_name(const safetensors *file, int64_t index)
{
    return file->entry[index].name;
}

// Reads the numbers of the shape again from the text of the header, which was checked.
plumb_array safetensors_shape(const safetensors *file, int64_t index)
{
    const safetensors_entry *entry = &file->entry[index];
    int64_t shape[PLUMB_MAX_DIMS] = {0};
    const char *at = entry->shape;
    for (int i = 0; i < entry->axes; i++) {
        while (*at < '0' || *at > '9') at++; // skips brackets, commas and the sign of -0
        shape[i] = strtoll(at, (char **)(uintptr_t)&at, 10);
    }
    return plumb_array_view(NULL, types[entry->type].dtype, entry->axes, shape);
}

plumb_status safetensors_load(void *out, const safetensors *file, int64_t index)
{
    const safetensors_entry *entry = &file->entry[index];
    const size_t bytes = (size_t)(entry->end - entry->begin);
    unsigned char *values = out;
    // bfloat16 is read into the upper half of the output and widened in place, from the front.
    unsigned char *raw = types[entry->type].bfloat16 ? values + bytes : values;
    plumb_status st = input_file_read(raw, &file->file, file->data + entry->begin, bytes);
    if (st) return st;
    if (types[entry->type].bfloat16)
        for (size_t i = 0; i < bytes / 2; i++) {
            const uint32_t bits = (uint32_t)(raw[2 * i] | raw[2 * i + 1] << 8) << 16;
            memcpy(values + 4 * i, &bits, 4);
        }
    if (types[entry->type].dtype == PLUMB_BOOL)
        for (size_t i = 0; i < bytes; i++) values[i] = values[i] != 0;
    return PLUMB_OK;
}

// The value of a key of __metadata__, or NULL.
const char *safetensors_metadata(const safetensors *file, const char *key)
{
    for (int64_t i = 0; i < file->metadata_count; i++)
        if (!strcmp(file->metadata[i].key, key)) return file->metadata[i].value;
    return NULL;
}

// ---- writing ----

// Index in `types` of a plumb dtype.
static int find_type(plumb_dtype dtype)
{
    int i = 0;
    while (types[i].dtype != dtype) i++;
    return i;
}

// Writes the JSON header: metadata first, then the tensors with their offsets.
static plumb_status compose_header(plumb_record *record, const char *path,
                                   const plumb_named_array *arrays, int64_t count,
                                   const safetensors_metadata_entry *metadata,
                                   int64_t metadata_count)
{
    if (metadata_count) {
        plumb_record_begin_object(record, "__metadata__");
        for (int64_t i = 0; i < metadata_count; i++)
            plumb_record_set_string(record, metadata[i].key, metadata[i].value);
        plumb_record_end(record);
    }
    // Tensors follow each other without gaps, in the order of `arrays`.
    int64_t offset = 0;
    for (int64_t i = 0; i < count; i++) {
        const plumb_array *array = &arrays[i].array;
        for (int64_t k = 0; k < i; k++)
            if (!strcmp(arrays[k].name, arrays[i].name))
                return fail(PLUMB_EVALUE, "%s: two tensors are called \"%s\"", path,
                            arrays[i].name);
        if (!strcmp(arrays[i].name, "__metadata__"))
            return fail(PLUMB_EVALUE, "%s: a tensor cannot be called __metadata__", path);
        const int64_t offsets[2] = {offset, offset + plumb_array_count(array) *
                                                         (int64_t)plumb_dtype_size(array->dtype)};
        plumb_record_begin_object(record, arrays[i].name);
        plumb_record_set_string(record, "dtype", types[find_type(array->dtype)].name);
        plumb_record_set_ints(record, "shape", array->shape, array->ndim);
        plumb_record_set_ints(record, "data_offsets", offsets, 2);
        plumb_record_end(record);
        offset = offsets[1];
    }
    return PLUMB_OK;
}

// Writes length, header padded with spaces to a multiple of 8, and data.
static plumb_status write_file(FILE *stream, const char *header, const plumb_named_array *arrays,
                               int64_t count, const char *path)
{
    const size_t size = strlen(header), padded = (size + 7) / 8 * 8;
    if (padded > SAFETENSORS_MAX_HEADER)
        return fail(PLUMB_EVALUE, "%s: so many tensors need a header of %zu bytes, too long", path,
                    padded);
    unsigned char head[8];
    for (int i = 0; i < 8; i++) head[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    fwrite(head, 1, 8, stream);
    fwrite(header, 1, size, stream);
    fwrite("       ", 1, padded - size, stream);
    for (int64_t i = 0; i < count; i++) {
        const plumb_array *array = &arrays[i].array;
        const size_t elements = (size_t)plumb_array_count(array);
        if (elements)
            fwrite(array->data, plumb_dtype_size(array->dtype), elements,
                   stream); // data may be NULL if empty
    }
    return PLUMB_OK; // a failed write is seen by output_file_commit
}

plumb_status safetensors_write(const char *path, const plumb_named_array *arrays, int64_t count,
                               const safetensors_metadata_entry *metadata, int64_t metadata_count)
{
    plumb_record *record = plumb_record_create();
    if (!record) return fail(PLUMB_EMEMORY, "%s: no memory to write it", path);
    output_file out;
    const char *header;
    plumb_status st = compose_header(record, path, arrays, count, metadata, metadata_count);
    if (!st) st = plumb_record_to_json(&header, record);
    if (!st) st = output_file_open(&out, path);
    if (!st) {
        st = write_file(out.stream, header, arrays, count, path);
        if (st) output_file_discard(&out);
        else st = output_file_commit(&out);
    }
    plumb_record_free(record);
    return st;
}

// ---- as a file of arrays ----

plumb_status safetensors_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    safetensors *file = ARENA_ALLOC(mem, safetensors, 1);
    if (!file) return PLUMB_EMEMORY;
    plumb_status st = safetensors_begin(file, mem, path);
    if (st) return st;
    names->name = ARENA_ALLOC(mem, const char *, file->count);
    if (!names->name) {
        safetensors_end(file);
        return PLUMB_EMEMORY;
    }
    for (int64_t i = 0; i < file->count; i++) names->name[i] = file->entry[i].name;
    names->count = file->count;
    *state = file;
    return PLUMB_OK;
}

plumb_status safetensors_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    const plumb_array shape = safetensors_shape(state, index);
    const plumb_status st = array_create(out, mem, shape.dtype, shape.ndim, shape.shape);
    return st ? st : safetensors_load(out->data, state, index);
}

void safetensors_close(void *state)
{
    safetensors_end(state);
}

plumb_status safetensors_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress)
{
    // The format stores bytes as they are, so that they can be mapped.
    if (compress) return fail(PLUMB_EVALUE, "%s: safetensors are never compressed", path);
    return safetensors_write(path, arrays, count, NULL, 0);
}
