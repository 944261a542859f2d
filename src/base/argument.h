// SPDX-License-Identifier: MIT
// What every public function does first: a required argument that is NULL is an error, not a crash.
#ifndef BASE_ARGUMENT_H
#define BASE_ARGUMENT_H

#include "base/status.h"

/// Fails with PLUMB_EVALUE if a required argument is NULL. For functions that return a status.
#define REQUIRE_ARGUMENT(argument)                                                         \
    do {                                                                                   \
        if (!(argument)) return fail(PLUMB_EVALUE, "%s: " #argument " is NULL", __func__); \
    } while (0)

#endif
