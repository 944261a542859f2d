// SPDX-License-Identifier: MIT
// Reads and writes features.txt: one line "key, (shape), type" per feature.
#define _GNU_SOURCE
#include "dataset/features_txt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/input_file.h"

// Types by their NumPy names. The writer of [Botev21] leaves the name of a Python class for int64
// in 32-bit mode, so an unknown name that contains "int64" is int64.
static const char *const type_names[] = {"float64", "float32", "float16", "int64",
                                         "int32",   "int16",   "int8",    "uint64",
                                         "uint32",  "uint16",  "uint8",   "bool"};
enum { TYPE_COUNT = sizeof type_names / sizeof *type_names };

static bool find_type(plumb_dtype *out, const char *name, size_t length)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strlen(type_names[i]) == length && !memcmp(type_names[i], name, length)) {
            *out = (plumb_dtype)i;
            return true;
        }
    *out = PLUMB_INT64;
    return memmem(name, length, "int64", 5) && !memmem(name, length, "uint64", 6);
}

static plumb_status reject_line(const char *path, int64_t number, const char *why)
{
    return fail(PLUMB_EFORMAT, "%s: line %" PRId64 ": %s; wanted key, (shape), type", path, number,
                why);
}

// Parses "(10, 32, 32, 3)", "(1,)" or "()".
static bool parse_shape(feature_spec *out, const char *at, const char *end)
{
    out->ndim = 0;
    while (at < end) {
        while (at < end && *at == ' ') at++;
        if (at == end) break;
        int64_t value = 0;
        const char *start = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *at - '0', &value))
                return false;
        // One axis is left for the items.
        if (at == start || out->ndim == PLUMB_MAX_DIMS - 1) return false;
        out->shape[out->ndim++] = value;
        while (at < end && *at == ' ') at++;
        if (at < end && *at++ != ',') return false;
    }
    int64_t count;
    return array_count_checked(&count, out->shape, out->ndim, 8);
}

// Parses "key, (shape), type".
static plumb_status parse_line(feature_spec *out, arena *mem, const char *line, size_t length,
                               int64_t number, const char *path)
{
    const char *end = line + length;
    // Keys may contain commas, so the shape is found by its parenthesis.
    const char *open = memmem(line, length, ", (", 3);
    if (!open || open == line) return reject_line(path, number, "no key and shape");
    const char *close = memchr(open, ')', (size_t)(end - open));
    if (!close || end - close < 4 || close[1] != ',' || close[2] != ' ')
        return reject_line(path, number, "no type");
    if (memchr(line, 0, length)) return reject_line(path, number, "a zero byte");
    if (!parse_shape(out, open + 3, close)) return reject_line(path, number, "the shape is none");
    if (!find_type(&out->dtype, close + 3, (size_t)(end - close - 3)))
        return reject_line(path, number, "the type is unknown");
    char *key = arena_alloc(mem, open - line + 1, 1);
    if (!key) return PLUMB_EMEMORY;
    memcpy(key, line, (size_t)(open - line));
    out->key = key;
    return PLUMB_OK;
}

plumb_status features_txt_parse(feature_specs *out, arena *mem, const char *text, size_t size,
                                const char *path)
{
    // The number of lines bounds the number of features.
    int64_t lines = 1;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    if (lines > FEATURES_MAX)
        return fail(PLUMB_EFORMAT, "%s: %lld lines, at most %d are read", path, (long long)lines,
                    FEATURES_MAX);
    *out = (feature_specs){.spec = ARENA_ALLOC(mem, feature_spec, lines)};
    if (!out->spec) return PLUMB_EMEMORY;
    int64_t number = 1;
    for (const char *at = text, *end = text + size; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        // Empty lines and the line ends of Windows are accepted.
        size_t length = (size_t)((newline ? newline : end) - at);
        while (length && (at[length - 1] == '\r' || at[length - 1] == ' ')) length--;
        if (length) {
            feature_spec *spec = &out->spec[out->count];
            const plumb_status st = parse_line(spec, mem, at, length, number, path);
            if (st) return st;
            for (int64_t i = 0; i < out->count; i++)
                if (!strcmp(out->spec[i].key, spec->key))
                    return fail(PLUMB_EFORMAT, "%s: line %" PRId64 ": \"%s\" stands there twice",
                                path, number, spec->key);
            out->count++;
        }
        at = next;
    }
    return out->count ? PLUMB_OK : fail(PLUMB_EFORMAT, "%s: names no feature", path);
}

plumb_status features_txt_read(feature_specs *out, arena *mem, const char *path)
{
    input_file file;
    plumb_status st = input_file_open(&file, path);
    if (st) return st;
    if (file.size > FEATURES_MAX_BYTES)
        st = fail(PLUMB_EFORMAT, "%s: %lld bytes are too many for a list of features", path,
                  (long long)file.size);
    char *text = st ? NULL : arena_alloc(mem, file.size + 1, 1);
    if (!st && !text) st = PLUMB_EMEMORY;
    if (!st) st = input_file_read(text, &file, 0, (size_t)file.size);
    if (!st) st = features_txt_parse(out, mem, text, (size_t)file.size, path);
    input_file_close(&file);
    return st;
}

void features_txt_print(buffer *out, const feature_specs *specs)
{
    for (int64_t i = 0; i < specs->count; i++) {
        const feature_spec *spec = &specs->spec[i];
        buffer_printf(out, "%s, (", spec->key);
        for (int k = 0; k < spec->ndim; k++)
            buffer_printf(out, "%s%" PRId64, k ? ", " : "", spec->shape[k]);
        buffer_printf(out, "%s), %s\n", spec->ndim == 1 ? "," : "", type_names[spec->dtype]);
    }
}
