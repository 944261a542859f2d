// SPDX-License-Identifier: MIT
// JSON as a tree: each value has its key, its first child and its next sibling.
#include "base/json_tree.h"

#include <math.h>
#include <string.h>

static json_tree *read_value(json *in, arena *mem);

// Reads the members of an object, or the items of an array, as a list.
static const json_tree *read_members(json *in, arena *mem, bool object)
{
    // `end` is the link that the next member fills, so members keep their order.
    const json_tree *first = NULL, **end = &first;
    for (;;) {
        const char *key = NULL;
        if (object ? !(key = json_key(in)) : !json_next(in)) return first;
        json_tree *tree = read_value(in, mem);
        if (!tree) return first;
        tree->key = key;
        *end = tree;
        end = &tree->next;
    }
}

// Reads one value with all values inside it. NULL on failure.
static json_tree *read_value(json *in, arena *mem)
{
    const char *text;
    size_t size;
    json_tree *tree = ARENA_ALLOC(mem, json_tree, 1);
    if (!tree) {
        in->st = PLUMB_EMEMORY;
        return NULL;
    }
    tree->kind = json_peek(in);
    // Strings, lists and objects have NaN, so that a wrong type reads as a missing number.
    tree->number = (double)NAN;
    switch (tree->kind) {
    case JSON_OBJECT:
        json_object(in);
        tree->child = read_members(in, mem, true);
        break;
    case JSON_ARRAY:
        json_array(in);
        tree->child = read_members(in, mem, false);
        break;
    case JSON_STRING: tree->text = json_string(in); break;
    case JSON_NUMBER: tree->number = json_double(in); break;
    case JSON_BOOL: tree->number = json_bool(in); break;
    default: json_skip(in, &text, &size); break;
    }
    return in->st ? NULL : tree;
}

plumb_status json_tree_read(const json_tree **out, arena *mem, const char *text, size_t size,
                            const char *what)
{
    // A copy, because strings are decoded in place.
    char *copy = arena_alloc(mem, (int64_t)size + 1, 1);
    if (!copy) return PLUMB_EMEMORY;
    memcpy(copy, text, size);
    json in = json_begin(copy, size, what);
    const json_tree *tree = read_value(&in, mem);
    const plumb_status st = json_end(&in);
    if (!st) *out = tree;
    return st;
}

// Follows the keys of a path, which are separated by dots.
const json_tree *json_tree_find(const json_tree *tree, const char *path)
{
    while (tree && *path) {
        const size_t length = strcspn(path, ".");
        const json_tree *child = tree->child;
        while (child &&
               !(child->key && strlen(child->key) == length && !memcmp(child->key, path, length)))
            child = child->next;
        tree = child;
        path += length + (path[length] == '.');
    }
    return tree;
}

double json_tree_double(const json_tree *tree, const char *path)
{
    tree = json_tree_find(tree, path);
    return tree ? tree->number : (double)NAN;
}

const char *json_tree_string(const json_tree *tree, const char *path)
{
    tree = json_tree_find(tree, path);
    return tree ? tree->text : NULL;
}

bool json_tree_has(const json_tree *tree, const char *path)
{
    tree = json_tree_find(tree, path);
    return tree && tree->kind != JSON_NULL;
}

int64_t json_tree_count(const json_tree *tree)
{
    int64_t count = 0;
    for (const json_tree *child = tree ? tree->child : NULL; child; child = child->next) count++;
    return count;
}

int64_t json_tree_doubles(double *out, int64_t max_count, const json_tree *tree, const char *path)
{
    int64_t count = 0;
    tree = json_tree_find(tree, path);
    for (const json_tree *child = tree ? tree->child : NULL; child && count < max_count;
         child = child->next)
        out[count++] = child->number;
    return count;
}
