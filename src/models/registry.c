// SPDX-License-Identifier: MIT
#include "models/registry.h"

#include <assert.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"
#include "models/registry_rows.h"

// A new model is one new row.
static const catalogue_row *const rows[] = {
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
static const catalogue_row *added[MOST_ADDED];
static int64_t added_count;

int64_t catalogue_count(void)
{
    return ROWS + added_count;
}

const catalogue_row *catalogue_at(int64_t index)
{
    assert(index >= 0 && index < catalogue_count());
    return index < ROWS ? rows[index] : added[index - ROWS];
}

plumb_status catalogue_find(const catalogue_row **out, const char *name)
{
    const char *best = NULL;
    for (int64_t i = 0; i < catalogue_count(); i++) {
        const catalogue_row *row = catalogue_at(i);
        if (!strcmp(row->name, name)) {
            *out = row;
            return PLUMB_OK;
        }
        best = words_nearer(name, best ? best : row->name, row->name);
    }
    if (!best)
        return fail(PLUMB_EMISSING, "no model \"%.64s\": this build has no models to train", name);
    return fail(PLUMB_EVALUE, "no model \"%.64s\"; the nearest is \"%s\"", name, best);
}

void catalogue_add(const catalogue_row *row)
{
    assert(added_count < MOST_ADDED);
    added[added_count++] = row;
}
