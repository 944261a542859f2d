// SPDX-License-Identifier: MIT
// Each part is read as rows of `width` numbers, which are copied side by side.
#include "io/join.h"

// Do all parts have the shape of the first one?
static bool have_one_shape(const plumb_array *parts, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        if (parts[i].ndim != parts[0].ndim) return false;
        for (int k = 0; k < parts[0].ndim; k++)
            if (parts[i].shape[k] != parts[0].shape[k]) return false;
    }
    return true;
}

plumb_status join_arrays(plumb_array *out, arena *mem, const plumb_array *parts, int64_t count,
                         bool table, const char *names)
{
    // The axes that all parts share come first.
    const bool stacked = !table && parts[0].ndim <= 2 && have_one_shape(parts, count);
    const int lead = table ? 1 : stacked ? parts[0].ndim : parts[0].ndim - 1;
    int64_t shape[PLUMB_MAX_DIMS], rows = 1, width = 0;
    char first[200], other[200];
    bool fits = lead >= 1;
    for (int k = 0; fits && k < lead; k++) rows *= shape[k] = parts[0].shape[k];
    for (int64_t i = 0; fits && i < count; i++) {
        const plumb_array *part = &parts[i];
        fits = part->ndim == lead || part->ndim == lead + 1;
        for (int k = 0; fits && k < lead; k++) fits = part->shape[k] == shape[k];
        if (!fits)
            return fail(PLUMB_ESHAPE, "%s: shapes %s and %s cannot be joined", names,
                        plumb_array_shape_string(first, sizeof first, &parts[0]),
                        plumb_array_shape_string(other, sizeof other, part));
        width += part->ndim > lead ? part->shape[lead] : 1;
    }
    if (!fits) return fail(PLUMB_ESHAPE, "%s: single numbers cannot be joined", names);
    shape[lead] = width;
    double *data = ARENA_ALLOC(mem, double, rows *width);
    if (!data) return PLUMB_EMEMORY;
    for (int64_t i = 0, at = 0; i < count; i++) {
        const int64_t columns = parts[i].ndim > lead ? parts[i].shape[lead] : 1;
        for (int64_t r = 0; r < rows; r++)
            plumb_array_to_double(data + r * width + at, &parts[i], r * columns, columns);
        at += columns;
    }
    *out = plumb_array_view(data, PLUMB_FLOAT64, lead + 1, shape);
    return PLUMB_OK;
}
