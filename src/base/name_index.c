// SPDX-License-Identifier: MIT
// A list of (name, index) sorted by name, searched by bisection.
// Equal names keep their order: the one with the lowest index is found.
#include "base/name_index.h"

#include <stdlib.h>
#include <string.h>

static int compare_entries(const void *left, const void *right)
{
    const struct name_index_entry *first = left, *second = right;
    const int order = strcmp(first->name, second->name);
    return order ? order : (first->index > second->index) - (first->index < second->index);
}

plumb_status name_index_create(name_index *out, arena *mem, const char *const *names, int64_t count)
{
    out->entry = ARENA_ALLOC(mem, struct name_index_entry, count);
    out->count = count;
    if (!out->entry) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < count; i++) out->entry[i] = (struct name_index_entry){names[i], i};
    if (count > 1) qsort(out->entry, (size_t)count, sizeof *out->entry, compare_entries);
    return PLUMB_OK;
}

int64_t name_index_find(const name_index *names, const char *name)
{
    // The first entry that is not below `name`: the lowest index of equal names.
    int64_t low = 0, high = names->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (strcmp(names->entry[middle].name, name) < 0) low = middle + 1;
        else high = middle;
    }
    const bool found = low < names->count && strcmp(names->entry[low].name, name) == 0;
    return found ? names->entry[low].index : -1;
}
