// SPDX-License-Identifier: MIT
// A growing text with a stack of open brackets. Written by hand rather than by a JSON library
// because numbers must be the shortest that read back exactly, and keys must keep their order.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output_file.h"
#include "base/status.h"
#include "base/text.h"
#include "plumb/record.h"

enum { MAX_DEPTH = 16 };

struct plumb_record {
    char *text;
    size_t used, size;
    int depth;
    char closing[MAX_DEPTH]; // '}' or ']'
    bool some[MAX_DEPTH];    // something stands in this bracket already
    bool broken;             // memory ran out
};

static void put(plumb_record *r, const char *text, size_t length)
{
    if (r->broken) return;
    if (r->size - r->used < length + MAX_DEPTH + 2) { // room for all closing brackets stays
        const size_t size = (r->size + length) * 2 + MAX_DEPTH + 2;
        char *grown = realloc(r->text, size);
        if (!grown) {
            r->broken = true;
            return;
        }
        r->text = grown;
        r->size = size;
    }
    memcpy(r->text + r->used, text, length);
    r->used += length;
}

static void put_quoted(plumb_record *r, const char *text)
{
    put(r, "\"", 1);
    for (const char *c = text; *c; c++) {
        char escaped[8];
        if (*c == '"' || *c == '\\')
            put(r, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\%c", *c));
        else if ((unsigned char)*c < 0x20)
            put(r, escaped,
                (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)*c));
        else put(r, c, 1);
    }
    put(r, "\"", 1);
}

static void put_real(plumb_record *r, double value)
{
    if (!isfinite(value)) {
        put(r, "null", 4);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        text_format(text, sizeof text, "%.*g", digits, value);
        if (text_parse_double(text, NULL) == value) break;
    }
    put(r, text, strlen(text));
}

static void put_integer(plumb_record *r, int64_t value)
{
    char text[24];
    put(r, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

static void separate(plumb_record *r)
{
    if (r->some[r->depth]) put(r, ", ", 2);
    r->some[r->depth] = true;
}

static void put_key(plumb_record *r, const char *key)
{
    separate(r);
    if (!key) return;
    put_quoted(r, key);
    put(r, ": ", 2);
}

plumb_record *plumb_record_create(void)
{
    plumb_record *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->closing[0] = '}';
    put(r, "{", 1);
    return r;
}

void plumb_record_free(plumb_record *r)
{
    if (!r) return;
    free(r->text);
    free(r);
}

void plumb_record_set_string(plumb_record *r, const char *key, const char *value)
{
    put_key(r, key);
    put_quoted(r, value);
}

void plumb_record_set_int(plumb_record *r, const char *key, int64_t value)
{
    put_key(r, key);
    put_integer(r, value);
}

void plumb_record_set_bool(plumb_record *r, const char *key, bool value)
{
    put_key(r, key);
    put(r, value ? "true" : "false", value ? 4 : 5);
}

void plumb_record_set_double(plumb_record *r, const char *key, double value)
{
    put_key(r, key);
    put_real(r, value);
}

void plumb_record_set_null(plumb_record *r, const char *key)
{
    put_key(r, key);
    put(r, "null", 4);
}

void plumb_record_set_doubles(plumb_record *r, const char *key, const double *values, int64_t count)
{
    plumb_record_begin_array(r, key);
    for (int64_t i = 0; i < count; i++) plumb_record_set_double(r, NULL, values[i]);
    plumb_record_end(r);
}

void plumb_record_set_ints(plumb_record *r, const char *key, const int64_t *values, int64_t count)
{
    plumb_record_begin_array(r, key);
    for (int64_t i = 0; i < count; i++) plumb_record_set_int(r, NULL, values[i]);
    plumb_record_end(r);
}

void plumb_record_set_strings(plumb_record *r, const char *key, const char *const *values,
                              int64_t count)
{
    plumb_record_begin_array(r, key);
    for (int64_t i = 0; i < count; i++) plumb_record_set_string(r, NULL, values[i]);
    plumb_record_end(r);
}

void plumb_record_set_interval(plumb_record *r, const char *key, plumb_interval interval)
{
    if (!isfinite(interval.low) || !isfinite(interval.high)) {
        plumb_record_set_null(r, key);
        return;
    }
    const double ends[2] = {interval.low, interval.high};
    plumb_record_set_doubles(r, key, ends, 2);
}

static void open_bracket(plumb_record *r, const char *key, char opening, char closing)
{
    put_key(r, key);
    put(r, &opening, 1);
    if (r->depth + 1 >= MAX_DEPTH) {
        r->broken = true;
        return;
    }
    r->depth++;
    r->closing[r->depth] = closing;
    r->some[r->depth] = false;
}

void plumb_record_begin_object(plumb_record *r, const char *key)
{
    open_bracket(r, key, '{', '}');
}

void plumb_record_begin_array(plumb_record *r, const char *key)
{
    open_bracket(r, key, '[', ']');
}

void plumb_record_end(plumb_record *r)
{
    if (!r->depth) return;
    put(r, &r->closing[r->depth], 1);
    r->depth--;
}

plumb_status plumb_record_to_json(const char **out, plumb_record *r)
{
    if (r->broken) return fail(PLUMB_EMEMORY, "no memory for the result record");
    // Closing brackets go behind the end, so that the record can still grow afterwards.
    char *end = r->text + r->used;
    for (int i = r->depth; i >= 0; i--) *end++ = r->closing[i];
    *end = 0;
    *out = r->text;
    return PLUMB_OK;
}

plumb_status plumb_record_write_lines(const char *path, plumb_record *const *records, int64_t count)
{
    output_file file;
    plumb_status st = output_file_open(&file, path);
    if (st) return st;
    for (int64_t i = 0; i < count; i++) {
        const char *line;
        st = plumb_record_to_json(&line, records[i]);
        if (st) {
            output_file_discard(&file);
            return st;
        }
        fprintf(file.stream, "%s\n", line);
    }
    return output_file_commit(&file);
}
