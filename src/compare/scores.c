// SPDX-License-Identifier: MIT
// Scores of models: from memory, from records, from files of arrays.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/input_file.h"
#include "base/json_tree.h"
#include "base/status.h"
#include "compare/options.h"
#include "plumb/file.h"

enum { MAX_MODELS = 64 };

plumb_status plumb_compare_create(plumb_compare **out)
{
    REQUIRE_ARGUMENT(out);
    plumb_compare *made = calloc(1, sizeof *made);
    if (!made) return fail(PLUMB_EMEMORY, "no memory for a comparison");
    *out = made;
    return PLUMB_OK;
}

void plumb_compare_free(plumb_compare *compare)
{
    if (!compare) return;
    arena mem = compare->mem;
    arena_clear(&mem);
    free(compare);
}

// The number of a model, which is added if it is new; -1, with a message, on failure.
static int64_t find_model(plumb_compare *compare, const char *name)
{
    for (int64_t i = 0; i < compare->models; i++)
        if (!strcmp(compare->name[i], name)) return i;
    if (compare->models == MAX_MODELS) {
        fail(PLUMB_EVALUE, "more than %d models", (int)MAX_MODELS);
        return -1;
    }
    const char *copy = arena_strdup(&compare->mem, name);
    if (!copy) return -1;
    compare->name[compare->models] = copy;
    return compare->models++;
}

plumb_status plumb_compare_add(plumb_compare *compare, const char *model, const double *scores,
                               int64_t items)
{
    REQUIRE_ARGUMENT(compare);
    REQUIRE_ARGUMENT(model);
    REQUIRE_ARGUMENT(scores);
    if (items < 1) return fail(PLUMB_ESHAPE, "%s has no scores", model);
    if (compare->items && items != compare->items)
        return fail(PLUMB_ESHAPE,
                    "%s has %lld scores, %s %lld; models are compared on the same items", model,
                    (long long)items, compare->name[0], (long long)compare->items);
    for (int64_t i = 0; i < items; i++)
        if (!isfinite(scores[i]))
            return fail(PLUMB_ENUMERIC, "score %lld of %s is NaN, infinite or no number",
                        (long long)i, model);
    double *copy = ARENA_ALLOC(&compare->mem, double, items);
    compare_run *run = ARENA_ALLOC(&compare->mem, compare_run, 1);
    if (!copy || !run) return PLUMB_EMEMORY;
    const int64_t number = find_model(compare, model);
    if (number < 0) return compare->models == MAX_MODELS ? PLUMB_EVALUE : PLUMB_EMEMORY;
    memcpy(copy, scores, (size_t)items * sizeof *copy);
    *run = (compare_run){.model = number, .scores = copy};
    if (compare->last) compare->last->next = run;
    else compare->first = run;
    compare->last = run;
    compare->items = items;
    return PLUMB_OK;
}

// ---- records ----

// The numbers of `key` of one record: a list, or one number. NULL, with a message, if there are
// none.
static double *read_key(int64_t *count, arena *mem, const json_tree *record, const char *key,
                        const char *path)
{
    const json_tree *found = json_tree_find(record, key);
    if (!found || (found->kind != JSON_ARRAY && found->kind != JSON_NUMBER)) {
        fail(PLUMB_EFORMAT, "%s: the record has no number or list of numbers \"%s\"", path, key);
        return NULL;
    }
    *count = found->kind == JSON_ARRAY ? json_tree_count(found) : 1;
    double *out = ARENA_ALLOC(mem, double, *count);
    if (!out) return NULL;
    if (found->kind == JSON_ARRAY) json_tree_doubles(out, *count, record, key);
    else out[0] = found->number;
    return out;
}

// Counts lines that are not empty.
static int64_t count_lines(const char *text, size_t size)
{
    int64_t lines = 0;
    bool filled = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') filled = false;
        else if (!filled && !strchr(" \t\r", text[i])) filled = true, lines++;
    }
    return lines;
}

// One record, or one per line.
static plumb_status add_records(plumb_compare *compare, const char *model, arena *mem,
                                const char *path, const char *key)
{
    char *text;
    size_t size;
    plumb_status st = input_file_read_all(&text, &size, mem, path, INT64_C(1) << 30);
    if (st) return st;
    const json_tree *record;
    int64_t count = 0;
    const int64_t lines = count_lines(text, size);
    // A record may be written over several lines.
    if (lines <= 1 || !json_tree_read(&record, mem, text, size, path)) {
        st = lines <= 1 ? json_tree_read(&record, mem, text, size, path) : PLUMB_OK;
        if (st) return st;
        const double *scores = read_key(&count, mem, record, key, path);
        return scores ? plumb_compare_add(compare, model, scores, count) : PLUMB_EFORMAT;
    }
    double *scores = ARENA_ALLOC(mem, double, lines);
    if (!scores) return PLUMB_EMEMORY;
    char *end = text + size;
    for (char *line = text; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        if (count_lines(line, (size_t)(stop - line))) {
            st = json_tree_read(&record, mem, line, (size_t)(stop - line), path);
            if (st) return st;
            const json_tree *found = json_tree_find(record, key);
            if (!found || found->kind != JSON_NUMBER)
                return fail(PLUMB_EFORMAT, "%s: line %lld has no number \"%s\"", path,
                            (long long)count + 1, key);
            scores[count++] = found->number;
        }
        line = stop + 1;
    }
    return plumb_compare_add(compare, model, scores, count);
}

// ---- arrays ----

static plumb_status add_array(plumb_compare *compare, const char *model, arena *mem,
                              const char *path, const char *key)
{
    plumb_file *file;
    plumb_array array;
    plumb_status st = plumb_file_open(&file, path);
    if (st) return st;
    if (key) st = plumb_file_read_array(&array, file, key);
    else if (plumb_file_array_count(file) == 1)
        st = plumb_file_read_array(&array, file, plumb_file_array_name(file, 0));
    else
        st = fail(PLUMB_EFILE, "%s: has %lld arrays; name the one with the scores", path,
                  (long long)plumb_file_array_count(file));
    // (items,), or (runs, items)
    const int64_t runs = !st && array.ndim == 2 ? array.shape[0] : 1;
    if (!st && (array.ndim < 1 || array.ndim > 2)) {
        char shape[200];
        st = fail(PLUMB_ESHAPE, "%s: scores have shape %s; wanted (items,) or (runs, items)", path,
                  plumb_array_shape_string(shape, sizeof shape, &array));
    }
    const int64_t items = st ? 0 : array.shape[array.ndim - 1];
    double *scores = st ? NULL : ARENA_ALLOC(mem, double, items);
    if (!st && !scores) st = PLUMB_EMEMORY;
    for (int64_t r = 0; !st && r < runs; r++) {
        plumb_array_to_double(scores, &array, r * items, items);
        st = plumb_compare_add(compare, model, scores, items);
    }
    plumb_file_close(file);
    return st;
}

plumb_status plumb_compare_add_file(plumb_compare *compare, const char *model, const char *path,
                                    const char *key)
{
    REQUIRE_ARGUMENT(compare);
    REQUIRE_ARGUMENT(model);
    REQUIRE_ARGUMENT(path);
    const char *dot = strrchr(path, '.');
    arena mem = {0};
    plumb_status st;
    if (dot && (!strcmp(dot, ".json") || !strcmp(dot, ".jsonl")))
        st = add_records(compare, model, &mem, path, key ? key : "vpt_per_trajectory");
    else st = add_array(compare, model, &mem, path, key);
    arena_clear(&mem);
    return st;
}
