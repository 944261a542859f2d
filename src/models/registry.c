// SPDX-License-Identifier: MIT
// Registry of models. A new model is one new entry.
#include "models/registry.h"

#include <assert.h>
#include <string.h>

#include "base/spelling.h"
#include "base/status.h"
#include "models/registry_entries.h"

// In the order in which they are listed for the user.
static const registry_entry *const entries[] = {
    &hgn_plus_plus_entry,
    &hgn_entry,
    &lgn_entry,
    &ode_entry,
    &rgn_entry,
    &ar_entry,
    &bodies_entry,
    &predrnn_entry,
    &plato_entry,
    NULL, // ends the table
};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries - 1 };

// Entries that tests add.
enum { MAX_ADDED = 8 };
static const registry_entry *added[MAX_ADDED];
static int64_t added_count;

int64_t registry_count(void)
{
    return ENTRY_COUNT + added_count;
}

const registry_entry *registry_at(int64_t index)
{
    assert(index >= 0 && index < registry_count());
    return index < ENTRY_COUNT ? entries[index] : added[index - ENTRY_COUNT];
}

plumb_status registry_find(const registry_entry **out, const char *name)
{
    // The nearest name is for the message.
    const char *best = NULL;
    for (int64_t i = 0; i < registry_count(); i++) {
        const registry_entry *entry = registry_at(i);
        if (!strcmp(entry->name, name)) {
            *out = entry;
            return PLUMB_OK;
        }
        best = spelling_closer(name, best, entry->name);
    }
    if (!best)
        return fail(PLUMB_EMISSING, "no model \"%.64s\": this build has no models to train", name);
    return fail(PLUMB_EVALUE, "no model \"%.64s\"; the nearest is \"%s\"", name, best);
}

void registry_add(const registry_entry *entry)
{
    assert(added_count < MAX_ADDED);
    added[added_count++] = entry;
}
