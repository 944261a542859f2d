// SPDX-License-Identifier: MIT
// The record is read back as a tree. Markdown and LaTeX get one table of single values and one for
// each list of objects; CSV gets one long table, a line per value, which other programs can read.
#include "base/record_table.h"

#include <math.h>
#include <string.h>

#include "base/json_tree.h"
#include "base/status.h"
#include "base/text.h"

enum { MAX_PATH = 512, MAX_KEY = 128, MAX_COLUMNS = 24, MAX_LIST = 16 };

typedef struct table_writer {
    buffer *out;
    plumb_table_format format;
} table_writer;

// ---- entries ----

// Appends text; characters that mean something in the format are marked.
static void put_text(const table_writer *w, const char *text)
{
    const bool quoted = w->format == PLUMB_TABLE_CSV && strpbrk(text, ",\"\n\r");
    if (quoted) buffer_put(w->out, "\"", 1);
    for (; *text; text++) {
        if (w->format == PLUMB_TABLE_LATEX && *text == '\\') {
            buffer_printf(w->out, "\\textbackslash{}");
            continue;
        }
        if (w->format == PLUMB_TABLE_LATEX && (*text == '~' || *text == '^')) {
            buffer_printf(w->out, "\\%c{}", *text);
            continue;
        }
        if (w->format == PLUMB_TABLE_LATEX && strchr("&%$#_{}", *text)) buffer_put(w->out, "\\", 1);
        if (w->format == PLUMB_TABLE_MARKDOWN && strchr("|\\", *text)) buffer_put(w->out, "\\", 1);
        if (quoted && *text == '"') buffer_put(w->out, "\"", 1);
        // A row is one line.
        const bool line = w->format != PLUMB_TABLE_CSV && (*text == '\n' || *text == '\r');
        buffer_put(w->out, line ? " " : text, 1);
    }
    if (quoted) buffer_put(w->out, "\"", 1);
}

// A CSV has all digits, for programs; the others have six, for readers.
static void put_number(const table_writer *w, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        text_format(text, sizeof text, "%.*g", digits, value);
        if (text_parse_double(text, NULL) == value) break;
    }
    if (w->format != PLUMB_TABLE_CSV && strlen(text) > 8)
        text_format(text, sizeof text, "%.6g", value);
    put_text(w, text);
}

// Texts side by side: "plain, knn".
static void put_texts(const table_writer *w, const json_tree *list)
{
    for (const json_tree *item = list->child; item; item = item->next) {
        put_text(w, item->text);
        if (item->next) put_text(w, " ");
    }
}

static void put_value(const table_writer *w, const json_tree *value)
{
    switch (value ? value->kind : JSON_NULL) {
    case JSON_STRING: put_text(w, value->text); break;
    case JSON_NUMBER: put_number(w, value->number); break;
    case JSON_ARRAY: put_texts(w, value); break;
    case JSON_BOOL: put_text(w, value->number != 0.0 ? "true" : "false"); break;
    default:
        if (w->format != PLUMB_TABLE_CSV) put_text(w, "-");
    }
}

static void put_between(const table_writer *w)
{
    static const char *const between[] = {" | ", " & ", ","};
    buffer_printf(w->out, "%s", between[w->format]);
}

static void begin_row(const table_writer *w)
{
    if (w->format == PLUMB_TABLE_MARKDOWN) buffer_printf(w->out, "| ");
}

static void end_row(const table_writer *w)
{
    static const char *const after[] = {" |\n", " \\\\\n", "\n"};
    buffer_printf(w->out, "%s", after[w->format]);
}

static void begin_table(const table_writer *w, const char *const *titles, int columns)
{
    if (w->format == PLUMB_TABLE_LATEX) {
        buffer_printf(w->out, "\\begin{tabular}{l");
        for (int k = 1; k < columns; k++) buffer_printf(w->out, "r");
        buffer_printf(w->out, "}\n");
    }
    begin_row(w);
    for (int k = 0; k < columns; k++) {
        if (k) put_between(w);
        put_text(w, titles[k]);
    }
    end_row(w);
    if (w->format == PLUMB_TABLE_LATEX) buffer_printf(w->out, "\\hline\n");
    if (w->format != PLUMB_TABLE_MARKDOWN) return;
    for (int k = 0; k < columns; k++) buffer_printf(w->out, "|---");
    buffer_printf(w->out, "|\n");
}

static void end_table(const table_writer *w)
{
    if (w->format == PLUMB_TABLE_LATEX) buffer_printf(w->out, "\\end{tabular}\n");
}

// ---- what a value is ----

static bool is_text_list(const json_tree *value)
{
    if (value->kind != JSON_ARRAY || !value->child) return false;
    for (const json_tree *item = value->child; item; item = item->next)
        if (item->kind != JSON_STRING) return false;
    return true;
}

static bool is_single(const json_tree *value)
{
    return is_text_list(value) || (value->kind != JSON_OBJECT && value->kind != JSON_ARRAY);
}

static bool is_object_list(const json_tree *value)
{
    return value->kind == JSON_ARRAY && value->child && value->child->kind == JSON_OBJECT;
}

// Several objects under names, as the results of scorers.
static bool is_object_map(const json_tree *value)
{
    if (value->kind != JSON_OBJECT || json_tree_count(value) < 2) return false;
    for (const json_tree *item = value->child; item; item = item->next)
        if (item->kind != JSON_OBJECT) return false;
    return true;
}

// The value "x_ci" next to "x": its interval.
static const json_tree *find_interval(const json_tree *object, const char *key)
{
    char name[MAX_PATH];
    text_format(name, sizeof name, "%s_ci", key);
    for (const json_tree *child = object->child; child; child = child->next)
        if (child->key && !strcmp(child->key, name)) return child;
    return NULL;
}

static bool is_interval_of(const json_tree *object, const char *key)
{
    const size_t length = strlen(key);
    if (length < 4 || strcmp(key + length - 3, "_ci")) return false;
    for (const json_tree *child = object->child; child; child = child->next)
        if (child->key && strlen(child->key) == length - 3 && !memcmp(child->key, key, length - 3))
            return true;
    return false;
}

// ---- the long table ----

static void put_line(const table_writer *w, const char *path, const json_tree *value,
                     const json_tree *interval)
{
    const json_tree *low = interval ? interval->child : NULL;
    begin_row(w);
    put_text(w, path);
    put_between(w);
    put_value(w, value);
    put_between(w);
    put_value(w, low);
    put_between(w);
    put_value(w, low ? low->next : NULL);
    end_row(w);
}

static void put_lines(const table_writer *w, const json_tree *object, const char *path);

// The items of a list, in CSV only. Long lists of numbers, as of all steps, are in --json only; for
// readers, lists of objects have tables of their own.
static void put_items(const table_writer *w, const json_tree *list, const char *path)
{
    char name[MAX_PATH];
    int64_t index = 0;
    if (w->format != PLUMB_TABLE_CSV) return;
    if (!is_object_list(list) && json_tree_count(list) > MAX_LIST) return;
    for (const json_tree *item = list->child; item; item = item->next, index++) {
        text_format(name, sizeof name, "%s[%lld]", path, (long long)index);
        if (item->kind == JSON_OBJECT) put_lines(w, item, name);
        else if (item->kind == JSON_ARRAY) put_items(w, item, name);
        else put_line(w, name, item, NULL);
    }
}

static void put_lines(const table_writer *w, const json_tree *object, const char *path)
{
    char name[MAX_PATH];
    for (const json_tree *child = object->child; child; child = child->next) {
        if (is_interval_of(object, child->key)) continue;
        text_format(name, sizeof name, "%s%s%s", path, *path ? "." : "", child->key);
        if (is_object_map(child) && w->format != PLUMB_TABLE_CSV) continue;
        if (is_single(child)) put_line(w, name, child, find_interval(object, child->key));
        else if (child->kind == JSON_OBJECT) put_lines(w, child, name);
        else put_items(w, child, name);
    }
}

// ---- tables of lists of objects ----

typedef struct column_list {
    char key[MAX_COLUMNS][MAX_KEY]; // "linear.r2": a key, or keys with a dot between them
    int count;
} column_list;

// Adds the keys of single values of an object, in their order, and those inside of its objects.
static void add_columns(column_list *columns, const json_tree *object, const char *path)
{
    char name[MAX_KEY];
    for (const json_tree *child = object->child; child; child = child->next) {
        if (!child->key || is_interval_of(object, child->key)) continue;
        text_format(name, sizeof name, "%s%s%s", path, *path ? "." : "", child->key);
        if (child->kind == JSON_OBJECT) add_columns(columns, child, name);
        bool known = !is_single(child) || columns->count == MAX_COLUMNS;
        for (int k = 0; k < columns->count && !known; k++) known = !strcmp(columns->key[k], name);
        if (!known) text_format(columns->key[columns->count++], MAX_KEY, "%s", name);
    }
}

static void put_entry(const table_writer *w, const json_tree *item, const char *key)
{
    char name[MAX_KEY + 4];
    text_format(name, sizeof name, "%s_ci", key);
    const json_tree *interval = json_tree_find(item, name);
    put_value(w, json_tree_find(item, key));
    if (!interval || !interval->child || !interval->child->next) return;
    put_text(w, " [");
    put_value(w, interval->child);
    put_text(w, ", ");
    put_value(w, interval->child->next);
    put_text(w, "]");
}

// A list of objects, or several under names, which are the first column.
static void put_list(const table_writer *w, const json_tree *list, const char *name)
{
    const int named = list->kind == JSON_OBJECT;
    column_list columns = {.count = 0};
    const char *titles[MAX_COLUMNS + 1] = {"name"};
    for (const json_tree *item = list->child; item; item = item->next)
        add_columns(&columns, item, "");
    for (int k = 0; k < columns.count; k++) titles[named + k] = columns.key[k];
    if (!columns.count) return;
    buffer_printf(w->out, w->format == PLUMB_TABLE_LATEX ? "\n%% %s\n" : "\n%s\n\n", name);
    begin_table(w, titles, named + columns.count);
    for (const json_tree *item = list->child; item; item = item->next) {
        begin_row(w);
        if (named) put_text(w, item->key);
        for (int k = 0; k < columns.count; k++) {
            if (named + k) put_between(w);
            put_entry(w, item, columns.key[k]);
        }
        end_row(w);
    }
    end_table(w);
}

static void put_lists(const table_writer *w, const json_tree *object, const char *path)
{
    char name[MAX_PATH];
    for (const json_tree *child = object->child; child; child = child->next) {
        text_format(name, sizeof name, "%s%s%s", path, *path ? "." : "", child->key);
        if (is_object_list(child) || is_object_map(child)) put_list(w, child, name);
        else if (child->kind == JSON_OBJECT) put_lists(w, child, name);
    }
}

plumb_status record_table_write(buffer *out, const char *text, plumb_table_format format)
{
    static const char *const titles[] = {"key", "value", "low", "high"};
    const table_writer w = {out, format};
    arena mem = {0};
    const json_tree *tree = NULL;
    const plumb_status st = json_tree_read(&tree, &mem, text, strlen(text), "record");
    if (!st) {
        // A record of nothing but lists has no table of single values.
        bool single = format == PLUMB_TABLE_CSV;
        for (const json_tree *child = tree->child; child; child = child->next)
            single = single || !(is_object_list(child) || is_object_map(child));
        if (single) begin_table(&w, titles, 4);
        put_lines(&w, tree, "");
        if (single) end_table(&w);
        if (format != PLUMB_TABLE_CSV) put_lists(&w, tree, "");
        buffer_put(out, "", 1);
    }
    arena_clear(&mem);
    if (st) return st;
    return out->failed ? fail(PLUMB_EMEMORY, "out of memory for a table") : PLUMB_OK;
}
