// SPDX-License-Identifier: MIT
// Translates names between [Botev21] and plumb. x, dx_dt and image are state, derivative and
// frames. A parameter m of shape S is other/m of shape (1,) + S there. Shared arrays of plumb
// become plumb/world, plumb/dt and so on.
#include "dataset/dm_hamiltonian.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

static const struct {
    const char *key, *name;
} name_table[] = {{"x", "state"}, {"dx_dt", "derivative"}, {"image", "frames"}};
enum { NAME_COUNT = sizeof name_table / sizeof *name_table };

static const char *const published_parameters[] = {"k",   "m",   "l",   "g",      "m_1",
                                                   "m_2", "l_1", "l_2", "offset", "color_index"};

static plumb_array make_array(const feature_spec *spec, int first_axis)
{
    return plumb_array_view(NULL, spec->dtype, spec->ndim - first_axis, spec->shape + first_axis);
}

void dm_hamiltonian_to_plumb(const char **name, plumb_array *array, bool *shared,
                             const feature_spec *spec)
{
    *name = spec->key;
    *array = make_array(spec, 0);
    *shared = false;
    for (int i = 0; i < NAME_COUNT; i++)
        if (!strcmp(spec->key, name_table[i].key)) *name = name_table[i].name;
    if (!strncmp(spec->key, "other/", 6) && spec->key[6] && spec->ndim && spec->shape[0] == 1) {
        *name = spec->key + 6;
        *array = make_array(spec, 1);
    }
    if (!strncmp(spec->key, "plumb/", 6) && spec->key[6]) {
        *name = spec->key + 6;
        *shared = true;
        if (!strcmp(*name, "world")) array->dtype = PLUMB_UINT8; // stored as one integer per letter
    }
}

// True for parameters: at most one axis, and not one of the arrays over time.
static bool is_parameter(const char *name, const plumb_array *array)
{
    static const char *const others[] = {"time", "energy", "concept", "cut"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i])) return false;
    return array->ndim <= 1 && !strchr(name, '/');
}

plumb_status dm_hamiltonian_from_plumb(feature_spec *out, bool *published, arena *mem,
                                       const char *name, const plumb_array *array, bool shared)
{
    *out = (feature_spec){.dtype = array->dtype, .ndim = array->ndim};
    memcpy(out->shape, array->shape, (size_t)array->ndim * sizeof *out->shape);
    *published = false;
    const char *prefix = "";
    for (int i = 0; i < NAME_COUNT; i++)
        if (!strcmp(name, name_table[i].name)) {
            name = name_table[i].key;
            *published = true;
        }
    if (shared) {
        prefix = "plumb/";
        if (!strcmp(name, "world")) out->dtype = PLUMB_INT64;
    } else if (!*published && is_parameter(name, array)) {
        prefix = "other/";
        out->ndim++;
        out->shape[0] = 1;
        memcpy(out->shape + 1, array->shape, (size_t)array->ndim * sizeof *out->shape);
        for (size_t i = 0; i < sizeof published_parameters / sizeof *published_parameters; i++)
            *published |= !strcmp(name, published_parameters[i]);
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
    } renamed[] = {{"lj_4", "md-4"},        {"lj_16", "md-16"},        {"md_4", "md-4"},
                   {"md_16", "md-16"},      {"circle", "room-circle"}, {"spiral", "room-spiral"},
                   {"md_4_float32", "md-4"}};
    char name[64];
    out[0] = 0;
    if ((size_t)snprintf(name, sizeof name, "%s", folder) >= sizeof name) return;
    char *cut = strstr(name, "_dt_");
    if (cut) *cut = 0;
    cut = strstr(name, "_long_trajectory");
    if (cut) *cut = 0;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (!strcmp(name, renamed[i].published)) {
            snprintf(out, 64, "%s", renamed[i].ours);
            return;
        }
    char *colors = strstr(name, "_colors");
    const char *tail = "";
    if (colors) {
        *colors = 0;
        tail = strstr(folder, "_friction") ? "+c-friction" : "+c";
    }
    for (char *letter = name; *letter; letter++)
        if (*letter == '_') *letter = '-';
    snprintf(out, 64, "%.40s%s", name, tail);
}
