// SPDX-License-Identifier: MIT
// Reads and writes .npy files. The header is a Python dictionary with three keys; a parser for
// exactly this dictionary reads it. The size it declares must equal the bytes in the file before
// any memory is allocated.
#include "io/npy.h"

#include <string.h>

#include "base/array.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "io/reorder.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { NATIVE_ORDER = '<', SWAPPED_ORDER = '>' };
#else
enum { NATIVE_ORDER = '>', SWAPPED_ORDER = '<' };
#endif

// The first bytes of every .npy file: \x93NUMPY.
static const unsigned char npy_magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

// ---- parsing the dictionary ----

typedef struct header_parser {
    const char *position, *end;
    const char *what; // name of the array in messages
} header_parser;

static void skip_spaces(header_parser *parser)
{
    while (parser->position < parser->end && *parser->position == ' ') parser->position++;
}

// Skips spaces and then `wanted`; false if another character follows.
static bool accept_char(header_parser *parser, char wanted)
{
    skip_spaces(parser);
    if (parser->position == parser->end || *parser->position != wanted) return false;
    parser->position++;
    return true;
}

// Skips spaces and then `word`; false if something else follows.
static bool accept_word(header_parser *parser, const char *word)
{
    const size_t length = strlen(word);
    skip_spaces(parser);
    if ((size_t)(parser->end - parser->position) < length ||
        memcmp(parser->position, word, length) != 0)
        return false;
    parser->position += length;
    return true;
}

// Parses a string in single or double quotes, without escapes. False if there is none or it does
// not fit.
static bool parse_string(header_parser *parser, char *out, size_t size)
{
    skip_spaces(parser);
    if (parser->position == parser->end || (*parser->position != '\'' && *parser->position != '"'))
        return false;
    const char quote = *parser->position++;
    const char *closing = memchr(parser->position, quote, (size_t)(parser->end - parser->position));
    if (!closing || (size_t)(closing - parser->position) >= size) return false;
    const size_t length = (size_t)(closing - parser->position);
    if (memchr(parser->position, '\\', length) || memchr(parser->position, 0, length)) return false;
    memcpy(out, parser->position, length);
    out[length] = 0;
    parser->position = closing + 1;
    return true;
}

// Parses a decimal integer. Python 2 wrote an L after long integers.
static bool parse_integer(header_parser *parser, int64_t *out)
{
    skip_spaces(parser);
    const char *start = parser->position;
    int64_t value = 0;
    for (; parser->position < parser->end && *parser->position >= '0' && *parser->position <= '9';
         parser->position++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *parser->position - '0', &value))
            return false;
    if (parser->position == start) return false;
    if (parser->position < parser->end && *parser->position == 'L') parser->position++;
    *out = value;
    return true;
}

// Parses "U12" or "S12": strings of 12 characters of 4 bytes or 1 byte.
static bool parse_text_type(npy_header *header, char order, const char *type)
{
    if ((type[0] != 'U' && type[0] != 'S') || !type[1]) return false;
    header->letters = 0;
    for (const char *digit = type + 1; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || header->letters > 1 << 20) return false;
        header->letters = 10 * header->letters + (*digit - '0');
    }
    header->text = true;
    header->dtype = type[0] == 'U' ? PLUMB_UINT32 : PLUMB_UINT8;
    header->swapped = type[0] == 'U' && order == SWAPPED_ORDER;
    return true;
}

// Parses the dtype, such as '<f8': byte order, kind, bytes per element.
static plumb_status parse_descr(npy_header *header, header_parser *parser)
{
    static const struct {
        char kind;
        const char *name;
    } rejected[] = {{'O', "Python objects"},
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
    skip_spaces(parser);
    if (parser->position < parser->end && *parser->position == '[')
        return fail(PLUMB_EFORMAT, "%s: holds structured records, wanted plain numbers",
                    parser->what);
    if (!parse_string(parser, text, sizeof text))
        return fail(PLUMB_EFORMAT, "%s: \"descr\" in the header is not a short string",
                    parser->what);
    // Plain numbers: byte order, kind, one digit. Types of one byte have no byte order.
    const bool ordered = text[0] && strchr("<>=|", text[0]);
    const char *type = text + ordered;
    if (ordered && type[0] && type[1] && !type[2])
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (type[0] == known[i].kind && type[1] == known[i].bytes) {
                header->dtype = (plumb_dtype)i;
                header->swapped = text[0] == SWAPPED_ORDER && type[1] > '1';
                return PLUMB_OK;
            }
    if (ordered && parse_text_type(header, text[0], type)) return PLUMB_OK;
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++)
        if (type[0] == rejected[i].kind)
            return fail(PLUMB_EFORMAT, "%s: holds %s (dtype %s), wanted plain numbers",
                        parser->what, rejected[i].name, text);
    return fail(PLUMB_EFORMAT,
                "%s: dtype \"%s\" is not one that is read: f2 to f8, i1 to i8, "
                "u1 to u8, b1",
                parser->what, text);
}

// Parses the shape, a tuple such as (3, 4) or (3,).
static plumb_status parse_shape(npy_header *header, header_parser *parser)
{
    if (!accept_char(parser, '('))
        return fail(PLUMB_EFORMAT, "%s: \"shape\" in the header is not a tuple", parser->what);
    header->ndim = 0;
    bool comma = true;
    while (!accept_char(parser, ')')) {
        int64_t length;
        if (!comma || !parse_integer(parser, &length))
            return fail(PLUMB_EFORMAT,
                        "%s: \"shape\" in the header is not a tuple of counts "
                        "below 2^63",
                        parser->what);
        if (header->ndim == PLUMB_MAX_DIMS)
            return fail(PLUMB_EFORMAT, "%s: has more than %d axes", parser->what, PLUMB_MAX_DIMS);
        header->shape[header->ndim++] = length;
        comma = accept_char(parser, ',');
    }
    if (header->ndim == 1 && !comma) // in Python (3) is a number, not a tuple
        return fail(PLUMB_EFORMAT, "%s: \"shape\" in the header is not a tuple", parser->what);
    return PLUMB_OK;
}

// Parses the value of key 0 (descr), 1 (fortran_order) or 2 (shape).
static plumb_status parse_key_value(npy_header *header, header_parser *parser, unsigned key)
{
    switch (key) {
    case 0: return parse_descr(header, parser);
    case 1:
        header->fortran = accept_word(parser, "True");
        if (header->fortran || accept_word(parser, "False")) return PLUMB_OK;
        return fail(PLUMB_EFORMAT, "%s: \"fortran_order\" in the header is neither True nor False",
                    parser->what);
    default: return parse_shape(header, parser);
    }
}

// Parses {'descr': ..., 'fortran_order': ..., 'shape': ...}: each key once, in any order, and
// nothing after it except spaces and a newline.
static plumb_status parse_dictionary(npy_header *header, header_parser *parser)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    if (!accept_char(parser, '{'))
        return fail(PLUMB_EFORMAT, "%s: the header is not a dictionary", parser->what);
    bool comma = true;
    while (!accept_char(parser, '}')) {
        char name[32];
        if (!comma || !parse_string(parser, name, sizeof name) || !accept_char(parser, ':'))
            return fail(PLUMB_EFORMAT,
                        "%s: the header is not a dictionary of descr, "
                        "fortran_order and shape",
                        parser->what);
        unsigned key = 0;
        while (key < 3 && strcmp(name, keys[key]) != 0) key++;
        if (key == 3)
            return fail(PLUMB_EFORMAT, "%s: the header has an unknown key \"%s\"", parser->what,
                        name);
        if (seen & 1u << key)
            return fail(PLUMB_EFORMAT, "%s: the header has \"%s\" twice", parser->what, name);
        seen |= 1u << key;
        const plumb_status st = parse_key_value(header, parser, key);
        if (st) return st;
        comma = accept_char(parser, ',');
    }
    for (unsigned key = 0; key < 3; key++)
        if (!(seen & 1u << key))
            return fail(PLUMB_EFORMAT, "%s: the header lacks \"%s\"", parser->what, keys[key]);
    skip_spaces(parser);
    if (parser->position != parser->end - 1 || *parser->position != '\n')
        return fail(PLUMB_EFORMAT, "%s: the header does not end with its dictionary and a newline",
                    parser->what);
    return PLUMB_OK;
}

// ---- the whole header ----

// The characters of strings become the last axis.
static plumb_status append_letter_axis(npy_header *header, const char *what)
{
    if (header->ndim == PLUMB_MAX_DIMS)
        return fail(PLUMB_EFORMAT, "%s: has strings on more than %d axes", what,
                    PLUMB_MAX_DIMS - 1);
    if (header->fortran && header->ndim > 1)
        return fail(PLUMB_EFORMAT, "%s: has strings in column-major order, wanted row-major", what);
    header->fortran = false;
    header->shape[header->ndim++] = header->letters;
    return PLUMB_OK;
}

// The file must contain exactly the bytes of the shape in the header.
static plumb_status check_data_size(npy_header *header, uint64_t total, const char *what)
{
    const plumb_array view = plumb_array_view(NULL, header->dtype, header->ndim, header->shape);
    const size_t size = plumb_dtype_size(header->dtype);
    char shape[128];
    plumb_array_shape_string(shape, sizeof shape, &view);
    int64_t count;
    if (!array_count_checked(&count, header->shape, header->ndim, size))
        return fail(PLUMB_EFORMAT, "%s: the header promises %s of %s, more than any memory", what,
                    shape, plumb_dtype_name(header->dtype));
    header->bytes = (size_t)count * size;
    const uint64_t present = total - header->offset;
    if (present < header->bytes)
        return fail(PLUMB_EFORMAT,
                    "%s: the header promises %s of %s, %zu bytes, and %llu are there", what, shape,
                    plumb_dtype_name(header->dtype), header->bytes, (unsigned long long)present);
    if (present > header->bytes)
        return fail(PLUMB_EFORMAT, "%s: has %llu bytes more than the header promises", what,
                    (unsigned long long)(present - header->bytes));
    return PLUMB_OK;
}

plumb_status npy_parse(npy_header *out, const void *bytes, size_t have, uint64_t total,
                       const char *what)
{
    const unsigned char *start = bytes;
    // Magic, version, length of the text (2 bytes in version 1, else 4), then the text.
    if (have < 10 || memcmp(start, npy_magic, sizeof npy_magic) != 0)
        return fail(PLUMB_EFORMAT, "%s: does not start like a .npy file", what);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return fail(PLUMB_EFORMAT, "%s: is .npy version %u.%u, wanted 1.0, 2.0 or 3.0", what,
                    start[6], start[7]);
    npy_header header = {.offset = start[6] == 1 ? 10 : 12};
    if (have < header.offset) return fail(PLUMB_EFORMAT, "%s: ends inside the header", what);
    uint32_t length = start[8] | (uint32_t)start[9] << 8;
    if (start[6] > 1) length |= (uint32_t)start[10] << 16 | (uint32_t)start[11] << 24;
    if (length > NPY_MAX_HEADER)
        return fail(PLUMB_EFORMAT, "%s: the header has %u bytes, at most %d are read", what, length,
                    NPY_MAX_HEADER);
    if (length > have - header.offset)
        return fail(PLUMB_EFORMAT, "%s: the header has %u bytes, and the file ends after %zu", what,
                    length, have - header.offset);
    // The text, its size, then the number of bytes behind it.
    header_parser parser = {.position = (const char *)start + header.offset, .what = what};
    parser.end = parser.position + length;
    header.offset += length;
    plumb_status st = parse_dictionary(&header, &parser);
    if (!st && header.text) st = append_letter_axis(&header, what);
    if (!st) st = check_data_size(&header, total, what);
    if (!st) *out = header;
    return st;
}

plumb_status npy_load(plumb_array *out, arena *mem, const npy_header *header, npy_source *source,
                      void *context, const char *what)
{
    // A column-major array is read into scratch memory and transposed into its place.
    plumb_array array;
    plumb_status st = array_create(&array, mem, header->dtype, header->ndim, header->shape);
    if (st) return fail(st, "%s: no memory for its %zu bytes", what, header->bytes);
    const arena_mark mark = arena_get_mark(mem);
    const bool transpose = header->fortran && header->ndim > 1;
    void *raw = transpose ? arena_alloc(mem, (int64_t)header->bytes, 1) : array.data;
    if (!raw)
        return fail(PLUMB_EMEMORY, "%s: no memory to turn its %zu bytes", what, header->bytes);

    st = source(context, raw, header->bytes);
    if (!st && transpose)
        reorder_to_rows(array.data, raw, plumb_dtype_size(header->dtype), header->ndim,
                        header->shape);
    arena_rewind(mem, mark);
    if (st) return st;
    // The bytes of the other order are reversed in place.
    if (header->swapped)
        reorder_bytes(array.data, plumb_dtype_size(header->dtype), plumb_array_count(&array));
    if (header->dtype == PLUMB_BOOL && !reorder_is_bool(array.data, header->bytes))
        return fail(PLUMB_EFORMAT, "%s: is of type bool and has a byte that is neither 0 nor 1",
                    what);
    *out = array;
    return PLUMB_OK;
}

size_t npy_format_header(unsigned char text[NPY_MAX_WRITTEN], const plumb_array *array)
{
    char shape[NPY_MAX_WRITTEN - 128]; // 32 axes of 19 digits fit, so version 1 is enough
    plumb_array_shape_string(shape, sizeof shape, array);
    static const char kinds[] = {
#define KIND(name, text, bytes, kind) kind,
        PLUMB_DTYPE_LIST(KIND)
#undef KIND
    };
    // Always version 1.0, row-major, in the byte order of this machine.
    const size_t size = plumb_dtype_size(array->dtype);
    char *dictionary = (char *)text + 10;
    size_t used =
        (size_t)snprintf(dictionary, NPY_MAX_WRITTEN - 10,
                         "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': %s, }",
                         size == 1 ? '|' : NATIVE_ORDER, kinds[array->dtype], size, shape);
    // Pad with spaces and a newline to a multiple of 64 bytes, as NumPy does.
    const size_t total = (10 + used + 1 + 63) / 64 * 64;
    memset(dictionary + used, ' ', total - 10 - used);
    text[total - 1] = '\n';
    memcpy(text, npy_magic, sizeof npy_magic);
    text[6] = 1;
    text[7] = 0;
    text[8] = (unsigned char)((total - 10) & 255);
    text[9] = (unsigned char)((total - 10) >> 8);
    return total;
}

// ---- the format for plumb_file ----

// A .npy file has one array, whose name is empty.
typedef struct npy_file {
    input_file file;
    npy_header header;
} npy_file;

plumb_status npy_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    npy_file *npy = ARENA_ALLOC(mem, npy_file, 1);
    names->name = ARENA_ALLOC(mem, const char *, 1);
    if (!npy || !names->name) return PLUMB_EMEMORY;
    names->name[0] = "";
    names->count = 1;
    plumb_status st = input_file_open(&npy->file, path);
    if (st) return st;

    const arena_mark mark = arena_get_mark(mem);
    const size_t have =
        npy->file.size < NPY_MAX_PREFIX ? (size_t)npy->file.size : (size_t)NPY_MAX_PREFIX;
    // Only the longest possible header is read, not the values.
    void *prefix = arena_alloc(mem, (int64_t)have, 1);
    st = prefix ? input_file_read(prefix, &npy->file, 0, have) : PLUMB_EMEMORY;
    if (!st) st = npy_parse(&npy->header, prefix, have, (uint64_t)npy->file.size, path);
    arena_rewind(mem, mark);
    if (st) {
        input_file_close(&npy->file);
        return st;
    }
    *state = npy;
    return PLUMB_OK;
}

// The npy_source of a plain file.
static plumb_status read_file_bytes(void *context, void *out, size_t bytes)
{
    const npy_file *npy = context;
    return input_file_read(out, &npy->file, npy->header.offset, bytes);
}

plumb_status npy_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    npy_file *npy = state;
    (void)index;
    return npy_load(out, mem, &npy->header, read_file_bytes, npy, npy->file.path);
}

void npy_close(void *state)
{
    npy_file *npy = state;
    input_file_close(&npy->file);
}

plumb_status npy_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress)
{
    (void)compress; // .npy has no compression
    if (count != 1)
        return fail(PLUMB_EVALUE, "%s: a .npy file holds one array, not %lld; use .npz", path,
                    (long long)count);
    const plumb_array *array = &arrays[0].array;
    unsigned char header[NPY_MAX_WRITTEN];
    const size_t size = npy_format_header(header, array);
    output_file file;
    const plumb_status st = output_file_open(&file, path);
    if (st) return st;
    // Written under a temporary name and renamed at the end: an atomic write.
    fwrite(header, 1, size, file.stream); // the commit reports a failed write
    const int64_t elements = plumb_array_count(array);
    if (elements)
        fwrite(array->data, plumb_dtype_size(array->dtype), (size_t)elements, file.stream);
    return output_file_commit(&file);
}
