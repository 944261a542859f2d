// SPDX-License-Identifier: MIT
// JSON as a tree, for records whose keys can come in any order.
#ifndef BASE_JSON_TREE_H
#define BASE_JSON_TREE_H

#include "base/arena.h"
#include "base/json.h"

typedef struct json_tree json_tree;
struct json_tree {
    json_kind kind;
    const char *key; ///< of a member of an object, else NULL
    const char *text;
    double number; ///< true is 1, false is 0
    const json_tree *child, *next;
};

/// Reads a JSON text. The tree and a copy of the text are in `mem`. `what` is its name in messages.
plumb_status json_tree_read(const json_tree **out, arena *mem, const char *text, size_t size,
                            const char *what);

/// Finds a value by keys separated by dots, "pr.r2". NULL if it does not exist. May be NULL: t.
const json_tree *json_tree_find(const json_tree *t, const char *path);
double json_tree_double(const json_tree *t, const char *path);      ///< NaN if it is not a number
const char *json_tree_string(const json_tree *t, const char *path); ///< NULL if it is not a string
bool json_tree_has(const json_tree *t, const char *path);           ///< It exists and is not null.
int64_t json_tree_count(const json_tree *t);                        ///< Number of members or items.
/// Copies the numbers of an array, at most `room`; other items become NaN. Returns their number.
int64_t json_tree_doubles(double *out, int64_t room, const json_tree *t, const char *path);

#endif
