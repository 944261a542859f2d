// SPDX-License-Identifier: MIT
// The header is read once into memory, and everything about a tensor points into it: a lying header
// costs its own size and one short row a tensor, no more. Rules as in the reference reader
// (github.com/huggingface/safetensors), but stricter in two: the header ends at 16 MiB, and a name
// stands once.
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
    const char *shape; // the list as it stands in the header, checked
    uint64_t begin, end;
    int64_t order; // in the header
    signed char type;
    signed char axes;
};

// Shortest entry there is: "":{"dtype":"F32","shape":[],"data_offsets":[0,4]}
enum { SHORTEST_ENTRY = 48, SHORTEST_NOTE = 5 };

// clang-format off
static const struct type {
    const char *name;
    plumb_dtype dtype;
    bool brain; // the upper half of a float
} types[] = {
    {"F32", PLUMB_FLOAT32, false}, {"F64", PLUMB_FLOAT64, false}, {"F16", PLUMB_FLOAT16, false},
    {"I64", PLUMB_INT64, false}, {"I32", PLUMB_INT32, false}, {"I16", PLUMB_INT16, false},
    {"I8",  PLUMB_INT8, false}, {"U64", PLUMB_UINT64, false}, {"U32", PLUMB_UINT32, false},
    {"U16", PLUMB_UINT16, false}, {"U8",  PLUMB_UINT8, false}, {"BOOL", PLUMB_BOOL, false},
    {"BF16", PLUMB_FLOAT32, true},
};
// clang-format on
enum { TYPES = sizeof types / sizeof *types };

static size_t width(int type)
{
    return types[type].brain ? 2 : plumb_dtype_size(types[type].dtype);
}

// ---- the header ----

static plumb_status wrong(const safetensors *s, const char *name, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": %s", s->file.path, name, why);
}

static plumb_status read_type(signed char *out, const safetensors *s, json *j, const char *name)
{
    const char *word = json_string(j);
    if (!word) return j->st;
    for (int i = 0; i < TYPES; i++)
        if (!strcmp(types[i].name, word)) {
            *out = (signed char)i;
            return PLUMB_OK;
        }
    return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": dtype \"%.40s\" is not one plumb reads",
                s->file.path, name, word);
}

// The list is walked on a copy of the walk first, for it is needed again later.
static plumb_status read_shape(safetensors_entry *e, int64_t shape[PLUMB_MAX_DIMS],
                               const safetensors *s, json *j)
{
    json_peek(j);
    e->shape = j->at;
    e->axes = 0;
    json_array(j);
    while (json_next(j)) {
        if (e->axes == PLUMB_MAX_DIMS) return wrong(s, e->name, "too many axes");
        shape[e->axes] = json_int(j);
        if (!j->st && shape[e->axes] < 0) return wrong(s, e->name, "an axis is negative");
        e->axes++;
    }
    return j->st;
}

static plumb_status read_offsets(safetensors_entry *e, const safetensors *s, json *j)
{
    int64_t ends[2] = {0};
    int count = 0;
    json_array(j);
    while (json_next(j)) {
        const int64_t value = json_int(j);
        if (count < 2) ends[count] = value;
        count++;
    }
    if (j->st) return j->st;
    if (count != 2 || ends[0] < 0 || ends[1] < ends[0] ||
        (uint64_t)ends[1] > (uint64_t)s->file.size - s->data)
        return wrong(s, e->name, "its data_offsets are no place in the file");
    e->begin = (uint64_t)ends[0];
    e->end = (uint64_t)ends[1];
    return PLUMB_OK;
}

static plumb_status read_entry(safetensors_entry *e, const safetensors *s, json *j)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    int64_t shape[PLUMB_MAX_DIMS], count;
    int seen[3] = {0};
    plumb_status st = PLUMB_OK;
    json_object(j);
    for (const char *key; !st && (key = json_key(j));) {
        int which = 0;
        while (which < 3 && strcmp(keys[which], key)) which++;
        if (which == 3 || seen[which]++)
            return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": \"%.40s\" stands there%s",
                        s->file.path, e->name, key, which == 3 ? "" : " twice");
        if (which == 0) st = read_type(&e->type, s, j, e->name);
        else if (which == 1) st = read_shape(e, shape, s, j);
        else st = read_offsets(e, s, j);
    }
    if (!st) st = j->st;
    if (st) return st;
    for (int i = 0; i < 3; i++)
        if (!seen[i])
            return fail(PLUMB_EFORMAT, "%s: tensor \"%.200s\": has no %s", s->file.path, e->name,
                        keys[i]);
    if (!array_count_checked(&count, shape, e->axes, width(e->type)))
        return wrong(s, e->name, "its shape is larger than memory");
    if ((uint64_t)count * width(e->type) != e->end - e->begin)
        return fail(PLUMB_EFORMAT,
                    "%s: tensor \"%.200s\": its shape needs %llu bytes, its data_offsets have %llu",
                    s->file.path, e->name, (unsigned long long)count * width(e->type),
                    (unsigned long long)(e->end - e->begin));
    return PLUMB_OK;
}

static plumb_status read_notes(safetensors *s, json *j, int64_t room)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        const char *value = json_string(j);
        if (!value) break;
        if (s->notes == room) return json_error(j, "too many lines of __metadata__");
        s->note[s->notes++] = (safetensors_metadata_entry){key, value};
    }
    return j->st;
}

static int by_place(const void *a, const void *b)
{
    const safetensors_entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int by_name(const void *a, const void *b)
{
    const safetensors_entry *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->order < y->order ? -1 : 1;
}

// Sorted by name in passing, and left sorted by place.
static plumb_status check_entries(const safetensors *s)
{
    const size_t size = sizeof *s->entry;
    if (s->count > 1) qsort(s->entry, (size_t)s->count, size, by_name);
    for (int64_t i = 1; i < s->count; i++)
        if (!strcmp(s->entry[i].name, s->entry[i - 1].name))
            return wrong(s, s->entry[i].name, "stands there twice");
    if (s->count > 1) qsort(s->entry, (size_t)s->count, size, by_place);
    uint64_t next = 0;
    for (int64_t i = 0; i < s->count; i++) {
        if (s->entry[i].begin != next)
            return wrong(s, s->entry[i].name, "a gap or an overlap lies before its bytes");
        next = s->entry[i].end;
    }
    if (next != (uint64_t)s->file.size - s->data)
        return fail(PLUMB_EFORMAT, "%s: %llu bytes of tensors, but %llu behind the header",
                    s->file.path, (unsigned long long)next,
                    (unsigned long long)((uint64_t)s->file.size - s->data));
    return PLUMB_OK;
}

static plumb_status parse(safetensors *s, arena *mem, char *text, size_t size)
{
    const int64_t most = (int64_t)size / SHORTEST_ENTRY + 1;
    int64_t most_notes = (int64_t)size / SHORTEST_NOTE + 1;
    if (most_notes > 1024) most_notes = 1024;
    s->entry = ARENA_ALLOC(mem, safetensors_entry, most);
    s->note = ARENA_ALLOC(mem, safetensors_metadata_entry, most_notes);
    if (!s->entry || !s->note) return PLUMB_EMEMORY;
    json j = json_begin(text, size, s->file.path);
    bool noted = false;
    plumb_status st = PLUMB_OK;
    json_object(&j);
    for (const char *key; !st && (key = json_key(&j));) {
        if (!strcmp(key, "__metadata__")) {
            if (noted) return json_error(&j, "__metadata__ stands there twice");
            noted = true;
            st = read_notes(s, &j, most_notes);
        } else if (s->count == most) {
            st = json_error(&j, "more tensors than there is room for");
        } else {
            safetensors_entry *e = &s->entry[s->count];
            *e = (safetensors_entry){.name = key, .order = s->count};
            st = read_entry(e, s, &j);
            s->count++;
        }
    }
    if (!st) st = json_end(&j);
    return st ? st : check_entries(s);
}

plumb_status safetensors_begin(safetensors *s, arena *mem, const char *path)
{
    *s = (safetensors){.file.fd = -1};
    plumb_status st = input_file_open(&s->file, path);
    if (st) return st;
    unsigned char head[8] = {0};
    uint64_t length = 0;
    if (s->file.size < 10)
        st = fail(PLUMB_EFORMAT, "%s: %lld bytes are too few for a safetensors file", path,
                  (long long)s->file.size);
    if (!st) st = input_file_read(head, &s->file, 0, 8);
    for (int i = 0; i < 8; i++) length |= (uint64_t)head[i] << 8 * i;
    if (!st &&
        (length < 2 || length > SAFETENSORS_HEADER_LIMIT || length > (uint64_t)s->file.size - 8))
        st = fail(PLUMB_EFORMAT,
                  "%s: promises a header of %llu bytes; damaged, or not a safetensors file", path,
                  (unsigned long long)length);
    char *text = st ? NULL : arena_alloc(mem, (int64_t)length, 1);
    if (!st && !text) st = PLUMB_EMEMORY;
    if (!st) st = input_file_read(text, &s->file, 8, (size_t)length);
    if (!st && text[0] != '{')
        st = fail(PLUMB_EFORMAT, "%s: its header does not begin with {", path);
    s->data = 8 + length;
    if (!st) st = parse(s, mem, text, (size_t)length);
    if (st) safetensors_end(s);
    return st;
}

void safetensors_end(safetensors *s)
{
    input_file_close(&s->file);
}

// ---- tensors ----

int64_t safetensors_find(const safetensors *s, const char *name)
{
    for (int64_t i = 0; i < s->count; i++)
        if (!strcmp(s->entry[i].name, name)) return i;
    return -1;
}

const char *safetensors_name(const safetensors *s, int64_t index)
{
    return s->entry[index].name;
}

plumb_array safetensors_shape(const safetensors *s, int64_t index)
{
    const safetensors_entry *e = &s->entry[index];
    int64_t shape[PLUMB_MAX_DIMS] = {0};
    const char *at = e->shape;
    for (int i = 0; i < e->axes; i++) {
        while (*at < '0' || *at > '9') at++; // -0 is all there could be of signs
        shape[i] = strtoll(at, (char **)(uintptr_t)&at, 10);
    }
    return plumb_array_view(NULL, types[e->type].dtype, e->axes, shape);
}

plumb_status safetensors_load(void *out, const safetensors *s, int64_t index)
{
    const safetensors_entry *e = &s->entry[index];
    const size_t bytes = (size_t)(e->end - e->begin);
    unsigned char *b = out;
    // bfloat16 is read into the upper half of its place and widened from the front.
    unsigned char *place = types[e->type].brain ? b + bytes : b;
    plumb_status st = input_file_read(place, &s->file, s->data + e->begin, bytes);
    if (st) return st;
    if (types[e->type].brain)
        for (size_t i = 0; i < bytes / 2; i++) {
            const uint32_t bits = (uint32_t)(place[2 * i] | place[2 * i + 1] << 8) << 16;
            memcpy(b + 4 * i, &bits, 4);
        }
    if (types[e->type].dtype == PLUMB_BOOL)
        for (size_t i = 0; i < bytes; i++) b[i] = b[i] != 0;
    return PLUMB_OK;
}

const char *safetensors_metadata(const safetensors *s, const char *key)
{
    for (int64_t i = 0; i < s->notes; i++)
        if (!strcmp(s->note[i].key, key)) return s->note[i].value;
    return NULL;
}

// ---- writing ----

static int type_of(plumb_dtype dtype)
{
    int i = 0;
    while (types[i].dtype != dtype) i++;
    return i;
}

static plumb_status compose(plumb_record *r, const char *path, const plumb_named_array *arrays,
                            int64_t count, const safetensors_metadata_entry *notes,
                            int64_t note_count)
{
    if (note_count) {
        plumb_record_begin_object(r, "__metadata__");
        for (int64_t i = 0; i < note_count; i++)
            plumb_record_set_string(r, notes[i].key, notes[i].value);
        plumb_record_end(r);
    }
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        const plumb_array *a = &arrays[i].array;
        for (int64_t k = 0; k < i; k++)
            if (!strcmp(arrays[k].name, arrays[i].name))
                return fail(PLUMB_EVALUE, "%s: two tensors are called \"%s\"", path,
                            arrays[i].name);
        if (!strcmp(arrays[i].name, "__metadata__"))
            return fail(PLUMB_EVALUE, "%s: a tensor cannot be called __metadata__", path);
        const int64_t offsets[2] = {at, at + plumb_array_count(a) *
                                                 (int64_t)plumb_dtype_size(a->dtype)};
        plumb_record_begin_object(r, arrays[i].name);
        plumb_record_set_string(r, "dtype", types[type_of(a->dtype)].name);
        plumb_record_set_ints(r, "shape", a->shape, a->ndim);
        plumb_record_set_ints(r, "data_offsets", offsets, 2);
        plumb_record_end(r);
        at = offsets[1];
    }
    return PLUMB_OK;
}

static plumb_status put_all(FILE *to, const char *header, const plumb_named_array *arrays,
                            int64_t count, const char *path)
{
    const size_t size = strlen(header), padded = (size + 7) / 8 * 8;
    if (padded > SAFETENSORS_HEADER_LIMIT)
        return fail(PLUMB_EVALUE, "%s: so many tensors need a header of %zu bytes, too long", path,
                    padded);
    unsigned char head[8];
    for (int i = 0; i < 8; i++) head[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    fwrite(head, 1, 8, to);
    fwrite(header, 1, size, to);
    fwrite("       ", 1, padded - size, to);
    for (int64_t i = 0; i < count; i++) {
        const plumb_array *a = &arrays[i].array;
        const size_t n = (size_t)plumb_array_count(a);
        if (n) fwrite(a->data, plumb_dtype_size(a->dtype), n, to); // nothing may be nowhere
    }
    return PLUMB_OK; // a failed write is seen by output_file_commit
}

plumb_status safetensors_write(const char *path, const plumb_named_array *arrays, int64_t count,
                               const safetensors_metadata_entry *notes, int64_t note_count)
{
    plumb_record *r = plumb_record_create();
    if (!r) return fail(PLUMB_EMEMORY, "%s: no memory to write it", path);
    output_file out;
    const char *header;
    plumb_status st = compose(r, path, arrays, count, notes, note_count);
    if (!st) st = plumb_record_to_json(&header, r);
    if (!st) st = output_file_open(&out, path);
    if (!st) {
        st = put_all(out.stream, header, arrays, count, path);
        if (st) output_file_discard(&out);
        else st = output_file_commit(&out);
    }
    plumb_record_free(r);
    return st;
}

// ---- as a file of arrays ----

plumb_status safetensors_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    safetensors *s = ARENA_ALLOC(mem, safetensors, 1);
    if (!s) return PLUMB_EMEMORY;
    plumb_status st = safetensors_begin(s, mem, path);
    if (st) return st;
    names->name = ARENA_ALLOC(mem, const char *, s->count);
    if (!names->name) {
        safetensors_end(s);
        return PLUMB_EMEMORY;
    }
    for (int64_t i = 0; i < s->count; i++) names->name[i] = s->entry[i].name;
    names->count = s->count;
    *state = s;
    return PLUMB_OK;
}

plumb_status safetensors_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    const plumb_array a = safetensors_shape(state, index);
    const plumb_status st = array_create(out, mem, a.dtype, a.ndim, a.shape);
    return st ? st : safetensors_load(out->data, state, index);
}

void safetensors_close(void *state)
{
    safetensors_end(state);
}

plumb_status safetensors_save(const char *path, const plumb_named_array *arrays, int64_t count,
                              bool compress)
{
    if (compress) return fail(PLUMB_EVALUE, "%s: safetensors are never compressed", path);
    return safetensors_write(path, arrays, count, NULL, 0);
}
