// SPDX-License-Identifier: MIT
// Lifecycle of result structs that own memory: every result has one arena, its member `memory`.
#ifndef BASE_RESULT_H
#define BASE_RESULT_H

#include "base/arena.h"
#include "base/status.h"

/// Creates the arena of a result and stores it in *memory. NULL if out of memory; the message is
/// set.
arena *result_begin(void **memory);

/// Ends a measurement: frees *memory if `st` is a failure. Returns `st`.
plumb_status result_end(plumb_status st, void **memory);

/// Frees `memory`, which is part of `result`, and sets the `size` bytes of `result` to zero.
/// May be NULL: result, memory.
void result_clear(void *result, size_t size, void *memory);

#endif
