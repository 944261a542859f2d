// SPDX-License-Identifier: MIT
// A table in JSON: a list of objects, or an object of them by the names of clips. Members are the
// columns; an object in an object, as the header of IntPhys' status.json, adds its own members.
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/input_file.h"
#include "base/json_tree.h"
#include "base/text.h"
#include "evaluate/csv_table.h"

enum { MAX_COLUMNS = 64 };
static const int64_t max_bytes = (int64_t)1 << 30;

typedef struct json_columns {
    char *name[MAX_COLUMNS];
    int count;
} json_columns;

// The column of a name, which is added if it is new; -1 if there are too many.
static int find_column(json_columns *columns, arena *mem, const char *name)
{
    for (int i = 0; i < columns->count; i++)
        if (!strcasecmp(columns->name[i], name)) return i;
    if (columns->count == MAX_COLUMNS || !(columns->name[columns->count] = arena_strdup(mem, name)))
        return -1;
    return columns->count++;
}

// A value as the text of a field; "" for what is no text, number or truth value.
static char *field_text(arena *mem, const json_tree *value)
{
    char text[40] = "";
    if (value->kind == JSON_STRING) return arena_strdup(mem, value->text);
    if (value->kind == JSON_NUMBER || value->kind == JSON_BOOL)
        text_format(text, sizeof text, "%.17g", value->number);
    return arena_strdup(mem, text);
}

// Sets the fields of a row (MAX_COLUMNS) from the members of an object.
static plumb_status read_row(char **field, json_columns *columns, arena *mem,
                             const json_tree *object, const char *path)
{
    for (const json_tree *value = object->child; value; value = value->next) {
        if (value->kind == JSON_OBJECT) {
            const plumb_status st = read_row(field, columns, mem, value, path);
            if (st) return st;
            continue;
        }
        const int column = find_column(columns, mem, value->key);
        if (column < 0)
            return fail(PLUMB_EFORMAT, "%s: has more than %d different members", path,
                        (int)MAX_COLUMNS);
        if (!field[column] && !(field[column] = field_text(mem, value))) return PLUMB_EMEMORY;
    }
    return PLUMB_OK;
}

plumb_status csv_table_read_json(csv_table *out, arena *mem, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    const json_tree *root = NULL;
    json_columns *columns = ARENA_ALLOC(mem, json_columns, 1);
    plumb_status st =
        columns ? input_file_read_all(&text, &size, mem, path, max_bytes) : PLUMB_EMEMORY;
    if (!st) st = json_tree_read(&root, mem, text, size, path);
    if (st) return st;
    const bool named = root->kind == JSON_OBJECT;
    const int64_t rows = json_tree_count(root);
    if ((!named && root->kind != JSON_ARRAY) || rows < 1)
        return fail(PLUMB_EFORMAT, "%s: expected a list of objects, or an object of them", path);
    char **wide = ARENA_ALLOC(mem, char *, rows *MAX_COLUMNS);
    if (!wide) return PLUMB_EMEMORY;
    if (named && find_column(columns, mem, "name") < 0) return PLUMB_EMEMORY;
    int64_t at = 0;
    for (const json_tree *row = root->child; row; row = row->next, at++) {
        char **field = wide + at * MAX_COLUMNS;
        if (named && !(field[0] = arena_strdup(mem, row->key))) return PLUMB_EMEMORY;
        if (row->kind == JSON_OBJECT) {
            st = read_row(field, columns, mem, row, path);
            if (st) return st;
            continue;
        }
        // {"name": true}
        const int label = named ? find_column(columns, mem, "label") : -1;
        if (label < 0) return fail(PLUMB_EFORMAT, "%s: expected an object for each clip", path);
        if (!(field[label] = field_text(mem, row))) return PLUMB_EMEMORY;
    }
    *out = (csv_table){.path = path,
                       .columns = columns->count,
                       .name = columns->name,
                       .field = ARENA_ALLOC(mem, char *, rows * columns->count),
                       .line = ARENA_ALLOC(mem, int64_t, rows),
                       .rows = rows};
    char *empty = arena_strdup(mem, "");
    if (!out->field || !out->line || !empty) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < rows; i++) {
        out->line[i] = i + 1;
        for (int k = 0; k < columns->count; k++) {
            char *value = wide[i * MAX_COLUMNS + k];
            out->field[i * columns->count + k] = value ? value : empty;
        }
    }
    return PLUMB_OK;
}
