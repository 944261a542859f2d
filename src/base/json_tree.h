// SPDX-License-Identifier: MIT
// JSON kept as a tree, for records whose order nobody promised.
#ifndef BASE_JSON_TREE_H
#define BASE_JSON_TREE_H

#include "base/arena.h"
#include "base/json.h"

typedef struct json_tree json_tree;
struct json_tree {
    json_kind kind;
    const char *key; ///< of a member of an object, else NULL
    const char *text;
    double number; ///< of a flag 0 or 1
    const json_tree *child, *next;
};

/// Reads a whole text, copied into `mem`.
plumb_status json_tree_read(const json_tree **out, arena *mem, const char *text, size_t size,
                            const char *what);

/// By keys with dots between them, "pr.r2"; NULL if it is not there. `t` may be NULL.
const json_tree *json_tree_find(const json_tree *t, const char *path);
double json_tree_double(const json_tree *t, const char *path);      ///< NaN if there is no number
const char *json_tree_string(const json_tree *t, const char *path); ///< NULL if there is no text
bool json_tree_has(const json_tree *t, const char *path);           ///< and it is not null
int64_t json_tree_count(const json_tree *t);                        ///< members
/// The numbers of a list, at most `room`; what is none is NaN. Returns how many.
int64_t json_tree_doubles(double *out, int64_t room, const json_tree *t, const char *path);

#endif
