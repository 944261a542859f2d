// SPDX-License-Identifier: MIT
// The header is a Python dictionary; a parser for exactly that one dictionary reads it, and it
// has to promise as many bytes as there are before any memory is taken.
#include "io/npy.h"

#include <string.h>

#include "base/array.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "io/reorder.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { NATIVE = '<', FOREIGN = '>' };
#else
enum { NATIVE = '>', FOREIGN = '<' };
#endif

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

// ---- the dictionary ----

typedef struct parser {
    const char *at, *end;
    const char *what; // for messages
} parser;

static void skip_spaces(parser *p)
{
    while (p->at < p->end && *p->at == ' ') p->at++;
}

static bool take(parser *p, char c)
{
    skip_spaces(p);
    if (p->at == p->end || *p->at != c) return false;
    p->at++;
    return true;
}

static bool take_word(parser *p, const char *word)
{
    const size_t length = strlen(word);
    skip_spaces(p);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) return false;
    p->at += length;
    return true;
}

// A string between quotes of either kind, without escapes. False if there is none or it is longer
// than any that plumb reads.
static bool take_string(parser *p, char *out, size_t size)
{
    skip_spaces(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"')) return false;
    const char quote = *p->at++;
    const char *close = memchr(p->at, quote, (size_t)(p->end - p->at));
    if (!close || (size_t)(close - p->at) >= size) return false;
    const size_t length = (size_t)(close - p->at);
    if (memchr(p->at, '\\', length) || memchr(p->at, 0, length)) return false;
    memcpy(out, p->at, length);
    out[length] = 0;
    p->at = close + 1;
    return true;
}

// A decimal integer; Python 2 put an L behind long ones.
static bool take_integer(parser *p, int64_t *out)
{
    skip_spaces(p);
    const char *start = p->at;
    int64_t value = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p->at - '0', &value))
            return false;
    if (p->at == start) return false;
    if (p->at < p->end && *p->at == 'L') p->at++;
    *out = value;
    return true;
}

// "U12" and "S12": strings of so many letters.
static bool is_text(npy_header *h, char order, const char *type)
{
    if ((type[0] != 'U' && type[0] != 'S') || !type[1]) return false;
    h->letters = 0;
    for (const char *c = type + 1; *c; c++) {
        if (*c < '0' || *c > '9' || h->letters > 1 << 20) return false;
        h->letters = 10 * h->letters + (*c - '0');
    }
    h->text = true;
    h->dtype = type[0] == 'U' ? PLUMB_UINT32 : PLUMB_UINT8;
    h->swapped = type[0] == 'U' && order == FOREIGN;
    return true;
}

static plumb_status parse_descr(npy_header *h, parser *p)
{
    static const struct {
        char kind;
        const char *name;
    } refused[] = {{'O', "Python objects"},
                   {'c', "complex numbers"},
                   {'V', "raw records"},
                   {'M', "dates"},
                   {'m', "time spans"}};
    static const struct {
        char kind, bytes;
    } known[] = {
#define KNOWN(name, text, bytes, kind) {kind, '0' + bytes},
        PLUMB_DTYPE_LIST(KNOWN)
#undef KNOWN
    };
    char text[32];
    skip_spaces(p);
    if (p->at < p->end && *p->at == '[')
        return fail(PLUMB_EFORMAT, "%s: holds structured records, wanted plain numbers", p->what);
    if (!take_string(p, text, sizeof text))
        return fail(PLUMB_EFORMAT, "%s: \"descr\" in the header is not a short string", p->what);
    const bool ordered = text[0] && strchr("<>=|", text[0]);
    const char *type = text + ordered;
    if (ordered && type[0] && type[1] && !type[2])
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (type[0] == known[i].kind && type[1] == known[i].bytes) {
                h->dtype = (plumb_dtype)i;
                h->swapped = text[0] == FOREIGN && type[1] > '1';
                return PLUMB_OK;
            }
    if (ordered && is_text(h, text[0], type)) return PLUMB_OK;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (type[0] == refused[i].kind)
            return fail(PLUMB_EFORMAT, "%s: holds %s (dtype %s), wanted plain numbers", p->what,
                        refused[i].name, text);
    return fail(PLUMB_EFORMAT,
                "%s: dtype \"%s\" is not one that is read: f2 to f8, i1 to i8, "
                "u1 to u8, b1",
                p->what, text);
}

static plumb_status parse_shape(npy_header *h, parser *p)
{
    if (!take(p, '('))
        return fail(PLUMB_EFORMAT, "%s: \"shape\" in the header is not a tuple", p->what);
    h->ndim = 0;
    bool comma = true;
    while (!take(p, ')')) {
        int64_t length;
        if (!comma || !take_integer(p, &length))
            return fail(PLUMB_EFORMAT,
                        "%s: \"shape\" in the header is not a tuple of counts "
                        "below 2^63",
                        p->what);
        if (h->ndim == PLUMB_MAX_DIMS)
            return fail(PLUMB_EFORMAT, "%s: has more than %d axes", p->what, PLUMB_MAX_DIMS);
        h->shape[h->ndim++] = length;
        comma = take(p, ',');
    }
    if (h->ndim == 1 && !comma) // (3) is a number to Python, not a tuple
        return fail(PLUMB_EFORMAT, "%s: \"shape\" in the header is not a tuple", p->what);
    return PLUMB_OK;
}

static plumb_status parse_value(npy_header *h, parser *p, unsigned key)
{
    switch (key) {
    case 0: return parse_descr(h, p);
    case 1:
        h->fortran = take_word(p, "True");
        if (h->fortran || take_word(p, "False")) return PLUMB_OK;
        return fail(PLUMB_EFORMAT, "%s: \"fortran_order\" in the header is neither True nor False",
                    p->what);
    default: return parse_shape(h, p);
    }
}

static plumb_status parse_dictionary(npy_header *h, parser *p)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    if (!take(p, '{')) return fail(PLUMB_EFORMAT, "%s: the header is not a dictionary", p->what);
    bool comma = true;
    while (!take(p, '}')) {
        char name[32];
        if (!comma || !take_string(p, name, sizeof name) || !take(p, ':'))
            return fail(PLUMB_EFORMAT,
                        "%s: the header is not a dictionary of descr, "
                        "fortran_order and shape",
                        p->what);
        unsigned key = 0;
        while (key < 3 && strcmp(name, keys[key]) != 0) key++;
        if (key == 3)
            return fail(PLUMB_EFORMAT, "%s: the header has an unknown key \"%s\"", p->what, name);
        if (seen & 1u << key)
            return fail(PLUMB_EFORMAT, "%s: the header has \"%s\" twice", p->what, name);
        seen |= 1u << key;
        const plumb_status st = parse_value(h, p, key);
        if (st) return st;
        comma = take(p, ',');
    }
    for (unsigned key = 0; key < 3; key++)
        if (!(seen & 1u << key))
            return fail(PLUMB_EFORMAT, "%s: the header lacks \"%s\"", p->what, keys[key]);
    skip_spaces(p);
    if (p->at != p->end - 1 || *p->at != '\n')
        return fail(PLUMB_EFORMAT, "%s: the header does not end with its dictionary and a newline",
                    p->what);
    return PLUMB_OK;
}

// ---- the file around it ----

// The letters of strings become the last axis.
static plumb_status add_letters(npy_header *h, const char *what)
{
    if (h->ndim == PLUMB_MAX_DIMS)
        return fail(PLUMB_EFORMAT, "%s: has strings on more than %d axes", what,
                    PLUMB_MAX_DIMS - 1);
    if (h->fortran && h->ndim > 1)
        return fail(PLUMB_EFORMAT, "%s: has strings in column-major order, wanted row-major", what);
    h->fortran = false;
    h->shape[h->ndim++] = h->letters;
    return PLUMB_OK;
}

static plumb_status check_size(npy_header *h, uint64_t total, const char *what)
{
    const plumb_array view = plumb_array_view(NULL, h->dtype, h->ndim, h->shape);
    const size_t size = plumb_dtype_size(h->dtype);
    char shape[128];
    plumb_array_shape_string(shape, sizeof shape, &view);
    int64_t count;
    if (!array_count_checked(&count, h->shape, h->ndim, size))
        return fail(PLUMB_EFORMAT, "%s: the header promises %s of %s, more than any memory", what,
                    shape, plumb_dtype_name(h->dtype));
    h->bytes = (size_t)count * size;
    const uint64_t there = total - h->offset;
    if (there < h->bytes)
        return fail(PLUMB_EFORMAT,
                    "%s: the header promises %s of %s, %zu bytes, and %llu are there", what, shape,
                    plumb_dtype_name(h->dtype), h->bytes, (unsigned long long)there);
    if (there > h->bytes)
        return fail(PLUMB_EFORMAT, "%s: has %llu bytes more than the header promises", what,
                    (unsigned long long)(there - h->bytes));
    return PLUMB_OK;
}

plumb_status npy_parse(npy_header *out, const void *bytes, size_t have, uint64_t total,
                       const char *what)
{
    const unsigned char *b = bytes;
    if (have < 10 || memcmp(b, magic, sizeof magic) != 0)
        return fail(PLUMB_EFORMAT, "%s: does not start like a .npy file", what);
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return fail(PLUMB_EFORMAT, "%s: is .npy version %u.%u, wanted 1.0, 2.0 or 3.0", what, b[6],
                    b[7]);
    npy_header h = {.offset = b[6] == 1 ? 10 : 12};
    if (have < h.offset) return fail(PLUMB_EFORMAT, "%s: ends inside the header", what);
    uint32_t length = b[8] | (uint32_t)b[9] << 8;
    if (b[6] > 1) length |= (uint32_t)b[10] << 16 | (uint32_t)b[11] << 24;
    if (length > NPY_HEADER_LIMIT)
        return fail(PLUMB_EFORMAT, "%s: the header has %u bytes, at most %d are read", what, length,
                    NPY_HEADER_LIMIT);
    if (length > have - h.offset)
        return fail(PLUMB_EFORMAT, "%s: the header has %u bytes, and the file ends after %zu", what,
                    length, have - h.offset);
    parser p = {.at = (const char *)b + h.offset, .what = what};
    p.end = p.at + length;
    h.offset += length;
    plumb_status st = parse_dictionary(&h, &p);
    if (!st && h.text) st = add_letters(&h, what);
    if (!st) st = check_size(&h, total, what);
    if (!st) *out = h;
    return st;
}

plumb_status npy_load(plumb_array *out, arena *mem, const npy_header *h, npy_source *source,
                      void *context, const char *what)
{
    plumb_array array;
    plumb_status st = array_create(&array, mem, h->dtype, h->ndim, h->shape);
    if (st) return fail(st, "%s: no memory for its %zu bytes", what, h->bytes);
    const arena_mark mark = arena_get_mark(mem);
    const bool turn = h->fortran && h->ndim > 1;
    void *raw = turn ? arena_alloc(mem, (int64_t)h->bytes, 1) : array.data;
    if (!raw) return fail(PLUMB_EMEMORY, "%s: no memory to turn its %zu bytes", what, h->bytes);

    st = source(context, raw, h->bytes);
    if (!st && turn)
        reorder_to_rows(array.data, raw, plumb_dtype_size(h->dtype), h->ndim, h->shape);
    arena_rewind(mem, mark);
    if (st) return st;
    if (h->swapped)
        reorder_bytes(array.data, plumb_dtype_size(h->dtype), plumb_array_count(&array));
    if (h->dtype == PLUMB_BOOL && !reorder_is_bool(array.data, h->bytes))
        return fail(PLUMB_EFORMAT, "%s: is of type bool and has a byte that is neither 0 nor 1",
                    what);
    *out = array;
    return PLUMB_OK;
}

size_t npy_format_header(unsigned char text[NPY_WRITE_LIMIT], const plumb_array *array)
{
    char shape[NPY_WRITE_LIMIT - 128]; // 32 axes of 19 digits fit, so version 1 is always enough
    plumb_array_shape_string(shape, sizeof shape, array);
    static const char kinds[] = {
#define KIND(name, text, bytes, kind) kind,
        PLUMB_DTYPE_LIST(KIND)
#undef KIND
    };
    const size_t size = plumb_dtype_size(array->dtype);
    char *dictionary = (char *)text + 10;
    size_t used = (size_t)snprintf(dictionary, NPY_WRITE_LIMIT - 10,
                                   "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': %s, }",
                                   size == 1 ? '|' : NATIVE, kinds[array->dtype], size, shape);
    const size_t total = (10 + used + 1 + 63) / 64 * 64;
    memset(dictionary + used, ' ', total - 10 - used);
    text[total - 1] = '\n';
    memcpy(text, magic, sizeof magic);
    text[6] = 1;
    text[7] = 0;
    text[8] = (unsigned char)((total - 10) & 255);
    text[9] = (unsigned char)((total - 10) >> 8);
    return total;
}

// ---- a .npy file as a file of one array ----

typedef struct npy {
    input_file file;
    npy_header header;
} npy;

plumb_status npy_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    npy *n = ARENA_ALLOC(mem, npy, 1);
    names->name = ARENA_ALLOC(mem, const char *, 1);
    if (!n || !names->name) return PLUMB_EMEMORY;
    names->name[0] = "";
    names->count = 1;
    plumb_status st = input_file_open(&n->file, path);
    if (st) return st;

    const arena_mark mark = arena_get_mark(mem);
    const size_t have =
        n->file.size < NPY_PREFIX_LIMIT ? (size_t)n->file.size : (size_t)NPY_PREFIX_LIMIT;
    void *prefix = arena_alloc(mem, (int64_t)have, 1);
    st = prefix ? input_file_read(prefix, &n->file, 0, have) : PLUMB_EMEMORY;
    if (!st) st = npy_parse(&n->header, prefix, have, (uint64_t)n->file.size, path);
    arena_rewind(mem, mark);
    if (st) {
        input_file_close(&n->file);
        return st;
    }
    *state = n;
    return PLUMB_OK;
}

static plumb_status from_file(void *context, void *out, size_t bytes)
{
    const npy *n = context;
    return input_file_read(out, &n->file, n->header.offset, bytes);
}

plumb_status npy_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    npy *n = state;
    (void)index;
    return npy_load(out, mem, &n->header, from_file, n, n->file.path);
}

void npy_close(void *state)
{
    npy *n = state;
    input_file_close(&n->file);
}

plumb_status npy_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress)
{
    (void)compress; // there is no such thing in .npy
    if (count != 1)
        return fail(PLUMB_EVALUE, "%s: a .npy file holds one array, not %lld; use .npz", path,
                    (long long)count);
    const plumb_array *array = &arrays[0].array;
    unsigned char header[NPY_WRITE_LIMIT];
    const size_t size = npy_format_header(header, array);
    output_file file;
    const plumb_status st = output_file_open(&file, path);
    if (st) return st;
    fwrite(header, 1, size, file.stream); // a failed write is remembered until the commit
    const int64_t items = plumb_array_count(array);
    if (items) fwrite(array->data, plumb_dtype_size(array->dtype), (size_t)items, file.stream);
    return output_file_commit(&file);
}
