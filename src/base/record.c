// SPDX-License-Identifier: MIT
// Writes a record as JSON text, with a stack of open brackets. It does not use a JSON library
// because numbers must be the shortest that read back exactly, and keys must keep their order.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/output_file.h"
#include "base/record_table.h"
#include "base/status.h"
#include "base/text.h"
#include "plumb/record.h"

enum { MAX_DEPTH = 16 };

struct plumb_record {
    char *text;
    size_t used, size;
    int depth;
    char closing[MAX_DEPTH];   // '}' or ']'
    bool has_items[MAX_DEPTH]; // the bracket is not empty
    bool failed;               // out of memory, or too deep
    buffer table;              // of plumb_record_to_table()
};

// Appends bytes; the buffer at least doubles when it grows.
static void append_bytes(plumb_record *record, const char *text, size_t length)
{
    if (record->failed) return;
    if (record->size - record->used <
        length + MAX_DEPTH + 2) { // keep room for all closing brackets
        const size_t size = (record->size + length) * 2 + MAX_DEPTH + 2;
        char *grown = realloc(record->text, size);
        if (!grown) {
            record->failed = true;
            return;
        }
        record->text = grown;
        record->size = size;
    }
    memcpy(record->text + record->used, text, length);
    record->used += length;
}

// Appends a string with quotes and escapes. A byte that is not UTF-8, as in some file names,
// becomes U+FFFD, so that the record is always JSON.
static void append_quoted(plumb_record *record, const char *text)
{
    const char *end = text + strlen(text);
    append_bytes(record, "\"", 1);
    for (const char *c = text; *c; c++) {
        char escaped[8];
        if (*c == '"' || *c == '\\')
            append_bytes(record, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\%c", *c));
        else if ((unsigned char)*c < 0x20)
            append_bytes(
                record, escaped,
                (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)*c));
        else {
            const int length = text_utf8_length(c, end);
            if (length) append_bytes(record, c, (size_t)length);
            else append_bytes(record, "\xef\xbf\xbd", 3);
            // The loop itself moves on by one byte.
            c += length > 1 ? length - 1 : 0;
        }
    }
    append_bytes(record, "\"", 1);
}

// Appends the shortest of 15 to 17 digits that reads back exactly; null for NaN and infinity.
static void append_double(plumb_record *record, double value)
{
    if (!isfinite(value)) {
        append_bytes(record, "null", 4);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        text_format(text, sizeof text, "%.*g", digits, value);
        if (text_parse_double(text, NULL) == value) break;
    }
    append_bytes(record, text, strlen(text));
}

static void append_integer(plumb_record *record, int64_t value)
{
    char text[24];
    append_bytes(record, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

// Appends a comma, except before the first item of a bracket.
static void append_separator(plumb_record *record)
{
    if (record->has_items[record->depth]) append_bytes(record, ", ", 2);
    record->has_items[record->depth] = true;
}

// Appends a comma and the key. `key` is NULL in arrays.
static void append_key(plumb_record *record, const char *key)
{
    append_separator(record);
    if (!key) return;
    append_quoted(record, key);
    append_bytes(record, ": ", 2);
}

plumb_record *plumb_record_create(void)
{
    plumb_record *record = calloc(1, sizeof *record);
    if (!record) return NULL;
    record->closing[0] = '}';
    append_bytes(record, "{", 1);
    return record;
}

void plumb_record_free(plumb_record *record)
{
    if (!record) return;
    free(record->text);
    buffer_clear(&record->table);
    free(record);
}

void plumb_record_set_string(plumb_record *record, const char *key, const char *value)
{
    if (!record) return;
    append_key(record, key);
    if (value) append_quoted(record, value);
    else append_bytes(record, "null", 4);
}

void plumb_record_set_int(plumb_record *record, const char *key, int64_t value)
{
    if (!record) return;
    append_key(record, key);
    append_integer(record, value);
}

void plumb_record_set_bool(plumb_record *record, const char *key, bool value)
{
    if (!record) return;
    append_key(record, key);
    append_bytes(record, value ? "true" : "false", value ? 4 : 5);
}

void plumb_record_set_double(plumb_record *record, const char *key, double value)
{
    if (!record) return;
    append_key(record, key);
    append_double(record, value);
}

void plumb_record_set_null(plumb_record *record, const char *key)
{
    if (!record) return;
    append_key(record, key);
    append_bytes(record, "null", 4);
}

void plumb_record_set_doubles(plumb_record *record, const char *key, const double *values,
                              int64_t count)
{
    if (!record) return;
    if (!values && count > 0) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_array(record, key);
    for (int64_t i = 0; i < count; i++) plumb_record_set_double(record, NULL, values[i]);
    plumb_record_end(record);
}

void plumb_record_set_ints(plumb_record *record, const char *key, const int64_t *values,
                           int64_t count)
{
    if (!record) return;
    if (!values && count > 0) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_array(record, key);
    for (int64_t i = 0; i < count; i++) plumb_record_set_int(record, NULL, values[i]);
    plumb_record_end(record);
}

void plumb_record_set_strings(plumb_record *record, const char *key, const char *const *values,
                              int64_t count)
{
    if (!record) return;
    if (!values && count > 0) {
        plumb_record_set_null(record, key);
        return;
    }
    plumb_record_begin_array(record, key);
    for (int64_t i = 0; i < count; i++) plumb_record_set_string(record, NULL, values[i]);
    plumb_record_end(record);
}

void plumb_record_set_interval(plumb_record *record, const char *key, plumb_interval interval)
{
    if (!record) return;
    // An interval that was not computed is null.
    if (!isfinite(interval.low) || !isfinite(interval.high)) {
        plumb_record_set_null(record, key);
        return;
    }
    const double ends[2] = {interval.low, interval.high};
    plumb_record_set_doubles(record, key, ends, 2);
}

// Appends an opening bracket and remembers the closing one.
static void open_bracket(plumb_record *record, const char *key, char opening, char closing)
{
    append_key(record, key);
    append_bytes(record, &opening, 1);
    // The bracket is too deep: the record fails when it is printed.
    if (record->depth + 1 >= MAX_DEPTH) {
        record->failed = true;
        return;
    }
    record->depth++;
    record->closing[record->depth] = closing;
    record->has_items[record->depth] = false;
}

void plumb_record_begin_object(plumb_record *record, const char *key)
{
    if (!record) return;
    open_bracket(record, key, '{', '}');
}

void plumb_record_begin_array(plumb_record *record, const char *key)
{
    if (!record) return;
    open_bracket(record, key, '[', ']');
}

void plumb_record_end(plumb_record *record)
{
    if (!record) return;
    if (!record->depth) return;
    append_bytes(record, &record->closing[record->depth], 1);
    record->depth--;
}

plumb_status plumb_record_to_json(const char **out, plumb_record *record)
{
    REQUIRE_ARGUMENT(out);
    REQUIRE_ARGUMENT(record);
    if (record->failed) return fail(PLUMB_EMEMORY, "out of memory for a record");
    // The closing brackets are written past the end, so that the record can still grow.
    char *end = record->text + record->used;
    for (int i = record->depth; i >= 0; i--) *end++ = record->closing[i];
    *end = 0;
    *out = record->text;
    return PLUMB_OK;
}

plumb_status plumb_record_to_table(const char **out, plumb_record *record,
                                   plumb_table_format format)
{
    REQUIRE_ARGUMENT(out);
    if ((int)format < 0 || format > PLUMB_TABLE_CSV)
        return fail(PLUMB_EVALUE, "there is no table format %d", (int)format);
    const char *text;
    plumb_status st = plumb_record_to_json(&text, record);
    if (st) return st;
    buffer_reset(&record->table);
    st = record_table_write(&record->table, text, format);
    if (!st) *out = (const char *)record->table.data;
    return st;
}

plumb_status plumb_record_write_lines(const char *path, plumb_record *const *records, int64_t count)
{
    REQUIRE_ARGUMENT(path);
    REQUIRE_ARGUMENT(records);
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
