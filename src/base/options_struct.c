// SPDX-License-Identifier: MIT
// Public options structs: defaults and the size rule.
// The first member of every public struct is its size. A program that was built for an older plumb
// has a smaller struct: members it does not know get their defaults.
#include "base/options_struct.h"

#include <string.h>

void options_init(void *options, size_t size, const void *defaults, size_t full_size)
{
    if (size < sizeof size) return;
    // A struct of a newer program gets zeros for members that this library does not know.
    const size_t known = size < full_size ? size : full_size;
    memcpy(options, defaults, known);
    memset((char *)options + known, 0, size - known);
    memcpy(options, &size, sizeof size);
}

plumb_status options_resolve(void *full, size_t full_size, const void *given, const char *type)
{
    if (!given) return PLUMB_OK;
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return fail(PLUMB_EVALUE, "%s.size is %zu: fill the struct with its _defaults() function",
                    type, size);
    if (size > full_size)
        return fail(
            PLUMB_EVALUE,
            "%s.size is %zu, this library's struct has %zu bytes: the program was built for a "
            "newer plumb, or the struct was not filled with its _defaults() function",
            type, size, full_size);
    memcpy(full, given, size);
    memcpy(full, &full_size, sizeof full_size);
    return PLUMB_OK;
}

plumb_status options_check_ranges(const option_table *table, const void *options)
{
    char error[600];
    return option_check(table->specs, options, error, sizeof error)
               ? fail(PLUMB_EVALUE, "%s", error)
               : PLUMB_OK;
}
