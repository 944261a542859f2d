// SPDX-License-Identifier: MIT
#include "base/json_tree.h"

#include <math.h>
#include <string.h>

static json_tree *read_value(json *j, arena *mem);

// Members of an object or items of a list, in order.
static const json_tree *read_members(json *j, arena *mem, bool object)
{
    const json_tree *first = NULL, **end = &first;
    for (;;) {
        const char *key = NULL;
        if (object ? !(key = json_key(j)) : !json_next(j)) return first;
        json_tree *t = read_value(j, mem);
        if (!t) return first;
        t->key = key;
        *end = t;
        end = &t->next;
    }
}

static json_tree *read_value(json *j, arena *mem)
{
    const char *text;
    size_t size;
    json_tree *t = ARENA_ALLOC(mem, json_tree, 1);
    if (!t) {
        j->st = PLUMB_EMEMORY;
        return NULL;
    }
    t->kind = json_peek(j);
    t->number = (double)NAN;
    switch (t->kind) {
    case JSON_OBJECT:
        json_object(j);
        t->child = read_members(j, mem, true);
        break;
    case JSON_ARRAY:
        json_array(j);
        t->child = read_members(j, mem, false);
        break;
    case JSON_STRING: t->text = json_string(j); break;
    case JSON_NUMBER: t->number = json_double(j); break;
    case JSON_BOOL: t->number = json_bool(j); break;
    default: json_skip(j, &text, &size); break;
    }
    return j->st ? NULL : t;
}

plumb_status json_tree_read(const json_tree **out, arena *mem, const char *text, size_t size,
                            const char *what)
{
    char *copy = arena_alloc(mem, (int64_t)size + 1, 1);
    if (!copy) return PLUMB_EMEMORY;
    memcpy(copy, text, size);
    json j = json_begin(copy, size, what);
    const json_tree *t = read_value(&j, mem);
    const plumb_status st = json_end(&j);
    if (!st) *out = t;
    return st;
}

const json_tree *json_tree_find(const json_tree *t, const char *path)
{
    while (t && *path) {
        const size_t length = strcspn(path, ".");
        const json_tree *c = t->child;
        while (c && !(c->key && strlen(c->key) == length && !memcmp(c->key, path, length)))
            c = c->next;
        t = c;
        path += length + (path[length] == '.');
    }
    return t;
}

double json_tree_double(const json_tree *t, const char *path)
{
    t = json_tree_find(t, path);
    return t ? t->number : (double)NAN;
}

const char *json_tree_string(const json_tree *t, const char *path)
{
    t = json_tree_find(t, path);
    return t ? t->text : NULL;
}

bool json_tree_has(const json_tree *t, const char *path)
{
    t = json_tree_find(t, path);
    return t && t->kind != JSON_NULL;
}

int64_t json_tree_count(const json_tree *t)
{
    int64_t n = 0;
    for (const json_tree *c = t ? t->child : NULL; c; c = c->next) n++;
    return n;
}

int64_t json_tree_doubles(double *out, int64_t room, const json_tree *t, const char *path)
{
    int64_t n = 0;
    t = json_tree_find(t, path);
    for (const json_tree *c = t ? t->child : NULL; c && n < room; c = c->next) out[n++] = c->number;
    return n;
}
