// SPDX-License-Identifier: MIT
// The text is read twice: first every place is checked and the rows are counted, then memory is
// allocated and filled.
#include "io/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

// A place in the text.
typedef struct csv_cursor {
    const char *at, *end;
    char separator;
    int64_t line; // from 1
    const char *what;
} csv_cursor;

// The first line.
typedef struct csv_header {
    int64_t columns;
    const char **name;
    bool *is_text; // the column has text in the first row
} csv_header;

static bool is_blank(char c, char separator)
{
    return (c == ' ' || c == '\t') && c != separator;
}

static bool at_line_end(const csv_cursor *c)
{
    return c->at == c->end || *c->at == '\n' || *c->at == '\r';
}

// Past the end of the line; \r\n is one end.
static void skip_line_end(csv_cursor *c)
{
    if (c->at < c->end && *c->at == '\r') c->at++;
    if (c->at < c->end && *c->at == '\n') c->at++;
    c->line++;
}

// Skips empty lines. False at the end of the text.
static bool next_line(csv_cursor *c)
{
    for (;;) {
        const char *start = c->at;
        while (c->at < c->end && is_blank(*c->at, c->separator)) c->at++;
        if (c->at == c->end) return false;
        if (!at_line_end(c)) {
            c->at = start;
            return true;
        }
        skip_line_end(c);
    }
}

// ---- names ----

// Copies a name without blanks and quotes around it. NULL if out of memory.
static char *copy_name(arena *mem, const char *from, const char *to)
{
    while (from < to && (isspace((unsigned char)*from) || *from == '"')) from++;
    while (to > from && (isspace((unsigned char)to[-1]) || to[-1] == '"')) to--;
    char *name = arena_alloc(mem, to - from + 1, 1);
    if (name) memcpy(name, from, (size_t)(to - from));
    return name;
}

static plumb_status check_name(const csv_cursor *c, const char *name, int64_t column)
{
    char *end;
    if (!*name)
        return fail(PLUMB_EFORMAT, "%s: column %lld has no name in the first line", c->what,
                    (long long)column + 1);
    if (strlen(name) > 200 || !text_is_utf8(name))
        return fail(PLUMB_EFORMAT,
                    "%s: the name of column %lld is longer than 200 bytes or no text", c->what,
                    (long long)column + 1);
    text_parse_double(name, &end);
    if (!*end)
        return fail(PLUMB_EFORMAT,
                    "%s: the first line has the number %s; it must have names, as "
                    "trajectory,step,q,p",
                    c->what, name);
    return PLUMB_OK;
}

// Reads the names of the first line.
static plumb_status read_header(csv_header *out, csv_cursor *c, arena *mem)
{
    // A mark of UTF-8, and the # of numpy.savetxt.
    if (c->end - c->at >= 3 && !memcmp(c->at, "\xef\xbb\xbf", 3)) c->at += 3;
    if (!next_line(c)) return fail(PLUMB_EFORMAT, "%s: it is empty", c->what);
    while (c->at < c->end && (*c->at == '#' || *c->at == ' ')) c->at++;
    size_t line = 0;
    while (c->at + line < c->end && c->at[line] != '\n' && c->at[line] != '\r') line++;
    c->separator = memchr(c->at, ',', line)    ? ','
                   : memchr(c->at, ';', line)  ? ';'
                   : memchr(c->at, '\t', line) ? '\t'
                                               : ',';
    int64_t most = 1;
    for (size_t i = 0; i < line; i++) most += c->at[i] == c->separator;
    if (most > CSV_MAX_COLUMNS)
        return fail(PLUMB_EFORMAT, "%s: more than %d columns", c->what, CSV_MAX_COLUMNS);
    *out = (csv_header){.name = ARENA_ALLOC(mem, const char *, most),
                        .is_text = ARENA_ALLOC(mem, bool, most)};
    if (!out->name || !out->is_text) return PLUMB_EMEMORY;
    for (;;) {
        const char *start = c->at;
        while (!at_line_end(c) && *c->at != c->separator) c->at++;
        char *copy = copy_name(mem, start, c->at);
        if (!copy) return PLUMB_EMEMORY;
        const plumb_status st = check_name(c, copy, out->columns);
        if (st) return st;
        out->name[out->columns++] = copy;
        if (at_line_end(c)) break;
        c->at++;
    }
    skip_line_end(c);
    return PLUMB_OK;
}

// The length of the part of a name before its number, and the number; -1 if it has none.
static int64_t split_name(const char *name, size_t *base)
{
    const size_t length = strlen(name);
    size_t first = length;
    const bool bracket = length && name[length - 1] == ']';
    if (bracket) first--;
    while (first > 0 && isdigit((unsigned char)name[first - 1])) first--;
    const char mark = bracket ? '[' : '_';
    const size_t digits = length - first - bracket;
    if (first < 2 || name[first - 1] != mark || !digits || digits > 6) return -1;
    *base = first - 1;
    return strtol(name + first, NULL, 10);
}

// How many columns from `first` on are one array: their numbers are 0, 1, 2 ...
static int64_t count_group(const char *const *name, int64_t columns, int64_t first)
{
    size_t base = 0;
    if (split_name(name[first], &base) != 0) return 1;
    int64_t count = 1;
    for (; first + count < columns; count++) {
        size_t other = 0;
        if (split_name(name[first + count], &other) != count || other != base ||
            memcmp(name[first], name[first + count], base))
            break;
    }
    return count;
}

// ---- numbers ----

static void skip_blanks(csv_cursor *c)
{
    while (c->at < c->end && is_blank(*c->at, c->separator)) c->at++;
}

static bool at_place_end(const csv_cursor *c)
{
    return at_line_end(c) || *c->at == c->separator;
}

// The number at the cursor, which is left behind it; NaN for an empty place. False if it is none.
static bool parse_number(double *out, csv_cursor *c)
{
    *out = (double)NAN;
    skip_blanks(c);
    if (at_place_end(c)) return true;
    // The text goes on after the place, so strtod cannot run past its end.
    char *end;
    *out = text_parse_double(c->at, &end);
    const bool is_number = end > c->at;
    c->at = end;
    skip_blanks(c);
    return is_number && at_place_end(c);
}

static plumb_status read_number(double *out, csv_cursor *c, const char *name)
{
    skip_blanks(c);
    const char *start = c->at;
    if (parse_number(out, c)) return PLUMB_OK;
    int length = 0;
    while (length < 40 && start + length < c->end && !strchr("\r\n", start[length]) &&
           start[length] != c->separator)
        length++;
    return fail(PLUMB_EFORMAT, "%s: line %lld, column %s: \"%.*s\" is not a number", c->what,
                (long long)c->line, name, length, start);
}

// Past a place of text, which may be in quotes.
static void skip_text(csv_cursor *c)
{
    bool quoted = false;
    for (; c->at < c->end && *c->at != '\n' && *c->at != '\r'; c->at++) {
        if (*c->at == '"') quoted = !quoted;
        else if (*c->at == c->separator && !quoted) break;
    }
}

// Columns with text in the first row (names of clips, words) are no arrays. If all have text
// nothing is marked, so that reading the first place fails with its reason.
static void find_text(csv_header *header, csv_cursor c)
{
    int64_t texts = 0;
    if (!next_line(&c)) return;
    for (int64_t k = 0; k < header->columns; k++) {
        const char *start = c.at;
        header->is_text[k] = !parse_number(&(double){0}, &c);
        texts += header->is_text[k];
        c.at = start;
        skip_text(&c);
        if (at_line_end(&c)) break;
        c.at++;
    }
    if (texts == header->columns) memset(header->is_text, 0, (size_t)texts * sizeof(bool));
}

// Reads one line. `to` is where each column goes, NULL for one of text; NULL to only check the
// line.
static plumb_status read_row(csv_cursor *c, const csv_header *header, double **to,
                             const int64_t *step)
{
    const int64_t columns = header->columns;
    for (int64_t k = 0; k < columns; k++) {
        double value = 0.0;
        plumb_status st = PLUMB_OK;
        if (header->is_text[k]) skip_text(c);
        else st = read_number(&value, c, header->name[k]);
        if (st) return st;
        if (to && !header->is_text[k]) {
            *to[k] = value;
            to[k] += step[k];
        }
        const bool last = k + 1 == columns;
        if (last != at_line_end(c))
            return fail(PLUMB_EFORMAT, "%s: line %lld has %s than the %lld columns of the first",
                        c->what, (long long)c->line, last ? "more" : "fewer", (long long)columns);
        if (!last) c->at++;
    }
    skip_line_end(c);
    return PLUMB_OK;
}

// Makes the arrays, and where each column goes: its place and the step to the next row.
static plumb_status make_arrays(csv_table *out, arena *mem, const csv_header *header, double **to,
                                int64_t *step)
{
    const char *const *name = header->name;
    out->names.name = ARENA_ALLOC(mem, const char *, out->columns);
    out->array = ARENA_ALLOC(mem, plumb_array, out->columns);
    if (!out->names.name || !out->array) return PLUMB_EMEMORY;
    for (int64_t k = 0, width; k < out->columns; k += width) {
        width = 1;
        if (header->is_text[k]) continue;
        int64_t next = k; // the first column of text from here on
        while (next < out->columns && !header->is_text[next]) next++;
        width = count_group(name, next, k);
        const int64_t shape[] = {out->rows, width};
        double *data = ARENA_ALLOC(mem, double, out->rows *width);
        char *array_name = arena_strdup(mem, name[k]);
        if (!data || !array_name) return PLUMB_EMEMORY;
        size_t base;
        if (width > 1 && !split_name(array_name, &base)) array_name[base] = 0;
        out->names.name[out->names.count] = array_name;
        out->array[out->names.count++] =
            plumb_array_view(data, PLUMB_FLOAT64, width > 1 ? 2 : 1, shape);
        for (int64_t i = 0; i < width; i++) {
            to[k + i] = data + i;
            step[k + i] = width;
        }
    }
    // Two arrays of one name cannot be told apart.
    for (int64_t i = 0; i < out->names.count; i++)
        for (int64_t k = 0; k < i; k++)
            if (!strcmp(out->names.name[i], out->names.name[k]))
                return fail(PLUMB_EFORMAT, "two columns have the name %s", out->names.name[i]);
    return PLUMB_OK;
}

static plumb_status parse_table(csv_table *out, arena *mem, arena *scratch, csv_cursor *c)
{
    csv_header header = {0};
    plumb_status st = read_header(&header, c, scratch);
    if (st) return st;
    out->columns = header.columns;
    const csv_cursor body = *c;
    find_text(&header, body);
    for (; !st && next_line(c); out->rows += !st) st = read_row(c, &header, NULL, NULL);
    if (!st && !out->rows) return fail(PLUMB_EFORMAT, "%s: it has no row of numbers", c->what);
    double **to = ARENA_ALLOC(scratch, double *, out->columns);
    int64_t *step = ARENA_ALLOC(scratch, int64_t, out->columns);
    if (!st && (!to || !step)) st = PLUMB_EMEMORY;
    if (!st) st = make_arrays(out, mem, &header, to, step);
    *c = body;
    while (!st && next_line(c)) st = read_row(c, &header, to, step);
    return st;
}

plumb_status csv_parse(csv_table *out, arena *mem, const char *text, size_t size, const char *what)
{
    *out = (csv_table){0};
    if (memchr(text, 0, size)) return fail(PLUMB_EFORMAT, "%s: it has a zero byte", what);
    arena scratch = {0};
    csv_cursor cursor = {.at = text, .end = text + size, .separator = ',', .line = 1, .what = what};
    const plumb_status st = parse_table(out, mem, &scratch, &cursor);
    arena_clear(&scratch);
    return st;
}

// ---- the format for plumb_file ----

plumb_status csv_open(void **state, array_file_names *names, arena *mem, const char *path)
{
    csv_table *table = ARENA_ALLOC(mem, csv_table, 1);
    if (!table) return PLUMB_EMEMORY;
    arena scratch = {0};
    char *text;
    size_t size;
    plumb_status st = input_file_read_all(&text, &size, &scratch, path,
                                          (int64_t)(input_file_memory_limit() / 16));
    if (!st) st = csv_parse(table, mem, text, size, path);
    arena_clear(&scratch);
    if (st) return st;
    *names = table->names;
    *state = table;
    return PLUMB_OK;
}

plumb_status csv_read(plumb_array *out, arena *mem, void *state, int64_t index)
{
    (void)mem;
    const csv_table *table = state;
    *out = table->array[index];
    return PLUMB_OK;
}

void csv_close(void *state)
{
    (void)state; // all of it is in the arena of the file
}

plumb_status csv_save(const char *path, const plumb_named_array *arrays, int64_t count,
                      bool compress)
{
    (void)arrays, (void)count, (void)compress;
    return fail(PLUMB_EVALUE, "%s: tables are read, not written; use .npz", path);
}
