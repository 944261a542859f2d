// SPDX-License-Identifier: MIT
// Finds a name in a long list by binary search. A file may hold tens of thousands of arrays; a
// search that reads the whole list for each of them would be quadratic.
#ifndef BASE_NAME_INDEX_H
#define BASE_NAME_INDEX_H

#include "base/arena.h"
#include "plumb/status.h"

typedef struct name_index {
    struct name_index_entry {
        const char *name;
        int64_t index; ///< In the list the index was made of.
    } * entry;         ///< Sorted by name, then by index.
    int64_t count;
} name_index;

/// Makes an index of `count` names. It lives in `mem` and points to the names. PLUMB_EMEMORY.
plumb_status name_index_create(name_index *out, arena *mem, const char *const *names,
                               int64_t count);

/// Returns the first index of a name, or -1.
int64_t name_index_find(const name_index *names, const char *name);

#endif
