// SPDX-License-Identifier: MIT
#include "models/registry.h"

#include <assert.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"
#include "models/registry_rows.h"

// A new model is one new row.
static const registry_entry *const rows[] = {
    &hgn_plus_plus_row,
    &hgn_row,
    &lgn_row,
    &ode_row,
    &rgn_row,
    &ar_row,
    &predrnn_row,
    &plato_row,
    NULL, // ends the table
};
enum { ROWS = sizeof rows / sizeof *rows - 1 };

enum { MOST_ADDED = 8 };
static const registry_entry *added[MOST_ADDED];
static int64_t added_count;

int64_t registry_count(void)
{
    return ROWS + added_count;
}

const registry_entry *registry_at(int64_t index)
{
    assert(index >= 0 && index < registry_count());
    return index < ROWS ? rows[index] : added[index - ROWS];
}

plumb_status registry_find(const registry_entry **out, const char *name)
{
    const char *best = NULL;
    for (int64_t i = 0; i < registry_count(); i++) {
        const registry_entry *row = registry_at(i);
        if (!strcmp(row->name, name)) {
            *out = row;
            return PLUMB_OK;
        }
        best = spelling_closer(name, best, row->name);
    }
    if (!best)
        return fail(PLUMB_EMISSING, "no model \"%.64s\": this build has no models to train", name);
    return fail(PLUMB_EVALUE, "no model \"%.64s\"; the nearest is \"%s\"", name, best);
}

void registry_add(const registry_entry *row)
{
    assert(added_count < MOST_ADDED);
    added[added_count++] = row;
}
