// SPDX-License-Identifier: MIT
// JSON kept as a tree, for records whose order nobody promised.
#ifndef BASE_JSON_TREE_H
#define BASE_JSON_TREE_H

#include "base/arena.h"
#include "base/json.h"

typedef struct tree tree;
struct tree {
    json_kind kind;
    const char *key; ///< of a member of an object, else NULL
    const char *text;
    double number; ///< of a flag 0 or 1
    const tree *child, *next;
};

/// Reads a whole text, copied into `mem`.
plumb_status tree_read(const tree **out, arena *mem, const char *text, size_t size,
                       const char *what);

/// By keys with dots between them, "pr.r2"; NULL if it is not there. `t` may be NULL.
const tree *tree_find(const tree *t, const char *path);
double tree_real(const tree *t, const char *path);      ///< NaN if there is no number
const char *tree_text(const tree *t, const char *path); ///< NULL if there is no text
bool tree_has(const tree *t, const char *path);         ///< and it is not null
int64_t tree_count(const tree *t);                      ///< members
/// The numbers of a list, at most `room`; what is none is NaN. Returns how many.
int64_t tree_reals(double *out, int64_t room, const tree *t, const char *path);

#endif
