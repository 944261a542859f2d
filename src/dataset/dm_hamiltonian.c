// SPDX-License-Identifier: MIT
// x, dx_dt and image are state, derivative and frames. A parameter m of shape S is other/m of shape
// (1,) + S there. What plumb adds of its own for a whole file is plumb/world, plumb/dt and so on.
#include "dataset/dm_hamiltonian.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

static const struct {
    const char *key, *name;
} table[] = {{"x", "state"}, {"dx_dt", "derivative"}, {"image", "frames"}};
enum { ROWS = sizeof table / sizeof *table };

static const char *const parameters[] = {"k",   "m",   "l",   "g",      "m_1",
                                         "m_2", "l_1", "l_2", "offset", "color_index"};

static plumb_array array_of(const feature_spec *f, int from)
{
    return plumb_array_view(NULL, f->dtype, f->ndim - from, f->shape + from);
}

void dm_hamiltonian_to_plumb(const char **name, plumb_array *array, bool *shared,
                             const feature_spec *from)
{
    *name = from->key;
    *array = array_of(from, 0);
    *shared = false;
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(from->key, table[i].key)) *name = table[i].name;
    if (!strncmp(from->key, "other/", 6) && from->key[6] && from->ndim && from->shape[0] == 1) {
        *name = from->key + 6;
        *array = array_of(from, 1);
    }
    if (!strncmp(from->key, "plumb/", 6) && from->key[6]) {
        *name = from->key + 6;
        *shared = true;
        if (!strcmp(*name, "world")) array->dtype = PLUMB_UINT8; // letters, one an integer
    }
}

// One number or a row of them an item, and none of the arrays that go with time.
static bool is_parameter(const char *name, const plumb_array *array)
{
    static const char *const others[] = {"time", "energy", "concept", "cut"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i])) return false;
    return array->ndim <= 1 && !strchr(name, '/');
}

plumb_status dm_hamiltonian_from_plumb(feature_spec *out, bool *only, arena *mem, const char *name,
                                       const plumb_array *array, bool shared)
{
    *out = (feature_spec){.dtype = array->dtype, .ndim = array->ndim};
    memcpy(out->shape, array->shape, (size_t)array->ndim * sizeof *out->shape);
    *only = false;
    const char *prefix = "";
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(name, table[i].name)) {
            name = table[i].key;
            *only = true;
        }
    if (shared) {
        prefix = "plumb/";
        if (!strcmp(name, "world")) out->dtype = PLUMB_INT64;
    } else if (!*only && is_parameter(name, array)) {
        prefix = "other/";
        out->ndim++;
        out->shape[0] = 1;
        memcpy(out->shape + 1, array->shape, (size_t)array->ndim * sizeof *out->shape);
        for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
            *only |= !strcmp(name, parameters[i]);
    }
    const size_t length = strlen(prefix) + strlen(name) + 1;
    char *key = arena_alloc(mem, (int64_t)length, 1);
    if (!key) return PLUMB_EMEMORY;
    snprintf(key, length, "%s%s", prefix, name);
    out->key = key;
    if (strpbrk(key, "\n\r") || strstr(key, ", ("))
        return fail(PLUMB_EVALUE, "features.txt cannot hold an array called \"%s\"", name);
    return PLUMB_OK;
}

void dm_hamiltonian_world(char out[64], const char *folder)
{
    static const struct {
        const char *published, *ours;
    } odd[] = {{"lj_4", "md-4"},        {"lj_16", "md-16"},        {"md_4", "md-4"},
               {"md_16", "md-16"},      {"circle", "room-circle"}, {"spiral", "room-spiral"},
               {"md_4_float32", "md-4"}};
    char name[64];
    out[0] = 0;
    if ((size_t)snprintf(name, sizeof name, "%s", folder) >= sizeof name) return;
    char *cut = strstr(name, "_dt_");
    if (cut) *cut = 0;
    cut = strstr(name, "_long_trajectory");
    if (cut) *cut = 0;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (!strcmp(name, odd[i].published)) {
            snprintf(out, 64, "%s", odd[i].ours);
            return;
        }
    char *colors = strstr(name, "_colors");
    const char *tail = "";
    if (colors) {
        *colors = 0;
        tail = strstr(folder, "_friction") ? "+c-friction" : "+c";
    }
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    snprintf(out, 64, "%.40s%s", name, tail);
}
