// SPDX-License-Identifier: MIT
// Public options structs: how they are filled with defaults and how a caller's struct is read.
//
// Every public options or input struct starts with `size_t size`. A struct only grows at its end,
// so a program built against an older header passes a shorter struct, and the members it does not
// have keep their defaults.
#ifndef BASE_OPTIONS_STRUCT_H
#define BASE_OPTIONS_STRUCT_H

#include <stddef.h>

#include "base/option.h"
#include "base/status.h"

/// Writes the first `size` bytes of `defaults`, a struct of `full_size` bytes, to `options` and
/// sets its member `size`. If `size` is larger than `full_size`, the rest is set to zero.
void options_init(void *options, size_t size, const void *defaults, size_t full_size);

/// Copies the caller's struct `given` over `full`, which holds the defaults and has `full_size`
/// bytes. May be NULL: given, which leaves the defaults. `type` is the name of the struct, for the
/// message. Fails with PLUMB_EVALUE if the member `size` of `given` was not set, or if it is larger
/// than `full_size`, as in a program that was built against a newer plumb.
plumb_status options_resolve(void *full, size_t full_size, const void *given, const char *type);

/// Checks all numbers and enums of a resolved struct against its table. Fails with PLUMB_EVALUE,
/// naming the member.
plumb_status options_check_ranges(const option_table *table, const void *options);

#endif
