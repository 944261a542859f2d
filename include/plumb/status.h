// SPDX-License-Identifier: MIT
// Status codes, error messages, log and progress callbacks.
#ifndef PLUMB_STATUS_H
#define PLUMB_STATUS_H

#include <stdbool.h>

#if defined(__GNUC__)
#define PLUMB_API __attribute__((visibility("default")))
#else
#define PLUMB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// One list makes the enum, the texts and the Python exceptions.
// clang-format off
#define PLUMB_STATUS_LIST(X)                                              \
    X(OK,       "done")                                                   \
    X(EFILE,    "a file cannot be opened, read or written")               \
    X(EFORMAT,  "a file is not what it says it is")                       \
    X(ESHAPE,   "an array has the wrong shape or type")                   \
    X(EVALUE,   "an option or a number is outside its range")             \
    X(ENUMERIC, "the measure is not defined for these numbers")           \
    X(EMEMORY,  "not enough memory")                                      \
    X(EMISSING, "this build or this machine lacks a part that is needed") \
    X(ESTOPPED, "stopped on request")
// clang-format on

/// Zero is success; every other code comes with a message in plumb_last_error().
typedef enum plumb_status {
#define PLUMB_STATUS_ENUM(name, text) PLUMB_##name,
    PLUMB_STATUS_LIST(PLUMB_STATUS_ENUM)
#undef PLUMB_STATUS_ENUM
} plumb_status;

/// The message of the last call that failed on this thread: one line, without a full stop. It is
/// valid until the next failure on the same thread. Never NULL.
PLUMB_API const char *plumb_last_error(void);

/// The general meaning of a code, as in the list above.
PLUMB_API const char *plumb_status_string(plumb_status status);

/// The version of the library, "1.2.3".
PLUMB_API const char *plumb_version(void);

/// Sets the function that gets log lines, one at a time, without a newline. May be NULL (default):
/// write, for no log; context. Set it before starting threads.
PLUMB_API void plumb_set_log(void (*write)(void *context, const char *line), void *context);

/// Sets the function that gets the progress of long work, 0 to 1. May be NULL (default): report,
/// for no progress; context.
PLUMB_API void plumb_set_progress(void (*report)(void *context, double fraction), void *context);

/// Asks long work on all threads to stop soon. It may be called in a signal handler. Running work
/// then fails with PLUMB_ESTOPPED and leaves no incomplete file; so does work that starts later,
/// until plumb_set_stop(false).
PLUMB_API void plumb_set_stop(bool stop);

/// Work that the calling thread starts also stops while *flag is not 0, on all of its threads. The
/// flag may be set from any thread or signal handler, and must stay valid until the work has
/// returned. NULL (the default): no flag. So one of several calls can be stopped.
PLUMB_API void plumb_set_stop_flag(const volatile int *flag);

#ifdef __cplusplus
}
#endif
#endif
