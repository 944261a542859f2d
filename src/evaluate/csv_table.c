// SPDX-License-Identifier: MIT
// Fields are unquoted in place: the text never gets longer.
#include "evaluate/csv_table.h"

#include <string.h>
#include <strings.h>

#include "base/input_file.h"

enum { MAX_COLUMNS = 4096 };
static const int64_t max_bytes = (int64_t)1 << 30;

// Splits one line, which ends with a zero, into at most `room` fields. Returns their number, also
// of those that did not fit. Quotes may hold the separator; two quotes in them stand for one.
static int split_line(char **field, int room, char *line, char separator)
{
    int count = 0;
    char *from = line, *to = line;
    bool quoted = false;
    if (room > 0) field[0] = to;
    count++;
    for (; *from; from++) {
        if (*from == '"' && quoted && from[1] == '"') *to++ = *++from;
        else if (*from == '"') quoted = !quoted;
        else if (*from == separator && !quoted) {
            *to++ = 0;
            if (count < room) field[count] = to;
            count++;
        } else *to++ = *from;
    }
    *to = 0;
    return count;
}

// The end of a line; both kinds of line ends become zeros.
static char *end_line(char *text)
{
    const size_t length = strcspn(text, "\n");
    char *next = text + length;
    if (*next) *next++ = 0;
    if (length && text[length - 1] == '\r') text[length - 1] = 0;
    return next;
}

plumb_status csv_table_read(csv_table *out, arena *mem, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    plumb_status st = input_file_read_all(&text, &size, mem, path, max_bytes);
    if (st) return st;
    if (memchr(text, 0, size)) return fail(PLUMB_EFORMAT, "%s: is no text", path);
    const size_t length = strlen(path);
    const char separator = length > 4 && !strcmp(path + length - 4, ".tsv") ? '\t' : ',';
    // The mark of UTF-8 that some programs put first.
    if (!strncmp(text, "\xef\xbb\xbf", 3)) text += 3;
    char *names[MAX_COLUMNS], *next = end_line(text);
    int64_t lines = 0;
    for (const char *c = next; *c; c++) lines += *c == '\n';
    const int columns = split_line(names, MAX_COLUMNS, text, separator);
    if (columns > MAX_COLUMNS || !*names[0])
        return fail(PLUMB_EFORMAT, "%s: the first line does not name the columns", path);
    *out = (csv_table){.path = path,
                       .columns = columns,
                       .name = ARENA_ALLOC(mem, char *, columns),
                       .field = ARENA_ALLOC(mem, char *, (lines + 1) * columns),
                       .line = ARENA_ALLOC(mem, int64_t, lines + 1)};
    if (!out->name || !out->field || !out->line) return PLUMB_EMEMORY;
    memcpy(out->name, names, (size_t)columns * sizeof *names);
    for (int64_t number = 2; *next; number++) {
        char *line = next, **field = out->field + out->rows * columns;
        next = end_line(line);
        if (!*line) continue;
        const int found = split_line(field, columns, line, separator);
        if (found > columns)
            return fail(PLUMB_EFORMAT, "%s: line %lld has %d fields, the first line %d", path,
                        (long long)number, found, columns);
        for (int i = found; i < columns; i++) field[i] = line + strlen(line);
        out->line[out->rows++] = number;
    }
    return PLUMB_OK;
}

int csv_table_find(const csv_table *table, const char *const *names)
{
    for (; *names; names++)
        for (int i = 0; i < table->columns; i++)
            if (!strcasecmp(table->name[i], *names)) return i;
    return -1;
}

const char *csv_table_get(const csv_table *table, int64_t row, int column)
{
    return column < 0 ? "" : table->field[row * table->columns + column];
}
