// SPDX-License-Identifier: MIT
#include "base/json_tree.h"

#include <math.h>
#include <string.h>

static tree *read_value(json *j, arena *mem);

// Members of an object or items of a list, in order.
static const tree *read_members(json *j, arena *mem, bool object)
{
    const tree *first = NULL, **end = &first;
    for (;;) {
        const char *key = NULL;
        if (object ? !(key = json_key(j)) : !json_item(j)) return first;
        tree *t = read_value(j, mem);
        if (!t) return first;
        t->key = key;
        *end = t;
        end = &t->next;
    }
}

static tree *read_value(json *j, arena *mem)
{
    const char *text;
    size_t size;
    tree *t = ARENA_NEW(mem, tree, 1);
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
    case JSON_LIST:
        json_list(j);
        t->child = read_members(j, mem, false);
        break;
    case JSON_TEXT: t->text = json_text(j); break;
    case JSON_NUMBER: t->number = json_real(j); break;
    case JSON_FLAG: t->number = json_flag(j); break;
    default: json_skip(j, &text, &size); break;
    }
    return j->st ? NULL : t;
}

plumb_status tree_read(const tree **out, arena *mem, const char *text, size_t size,
                       const char *what)
{
    char *copy = arena_take(mem, (int64_t)size + 1, 1);
    if (!copy) return PLUMB_EMEMORY;
    memcpy(copy, text, size);
    json j = json_begin(copy, size, what);
    const tree *t = read_value(&j, mem);
    const plumb_status st = json_end(&j);
    if (!st) *out = t;
    return st;
}

const tree *tree_find(const tree *t, const char *path)
{
    while (t && *path) {
        const size_t length = strcspn(path, ".");
        const tree *c = t->child;
        while (c && !(c->key && strlen(c->key) == length && !memcmp(c->key, path, length)))
            c = c->next;
        t = c;
        path += length + (path[length] == '.');
    }
    return t;
}

double tree_real(const tree *t, const char *path)
{
    t = tree_find(t, path);
    return t ? t->number : (double)NAN;
}

const char *tree_text(const tree *t, const char *path)
{
    t = tree_find(t, path);
    return t ? t->text : NULL;
}

bool tree_has(const tree *t, const char *path)
{
    t = tree_find(t, path);
    return t && t->kind != JSON_NULL;
}

int64_t tree_count(const tree *t)
{
    int64_t n = 0;
    for (const tree *c = t ? t->child : NULL; c; c = c->next) n++;
    return n;
}

int64_t tree_reals(double *out, int64_t room, const tree *t, const char *path)
{
    int64_t n = 0;
    t = tree_find(t, path);
    for (const tree *c = t ? t->child : NULL; c && n < room; c = c->next) out[n++] = c->number;
    return n;
}
