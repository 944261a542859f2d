// SPDX-License-Identifier: MIT
// Creates error statuses. Log and progress output of the library.
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "plumb/status.h"

enum { STATUS_MESSAGE_SIZE = 1024 }; ///< bytes of an error message, the final zero included

/// Stores the message of the calling thread and returns `status`. It is the only function that
/// creates an error status, so every failure has a message.
plumb_status fail(plumb_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/// Writes one line to the log callback of the user. Does nothing if there is none.
void status_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Reports progress, 0 to 1, to the progress callback of the user.
void status_progress(double fraction);

/// True if plumb_set_stop(true) was called, or the flag of the thread is set.
bool status_stopped(void);
/// The flag of the calling thread, for the threads that it starts. May be NULL.
const volatile int *status_stop_flag(void);
/// Fails with PLUMB_ESTOPPED if status_stopped().
plumb_status status_check_stop(void);

/// A failure of another thread, kept until the caller's thread can report it.
typedef struct task_error {
    plumb_status status;               ///< PLUMB_OK if nothing failed
    char message[STATUS_MESSAGE_SIZE]; ///< valid if `status` is not PLUMB_OK
} task_error;

/// Stores `status` and the message of the calling thread.
void task_error_store(task_error *error, plumb_status status);
/// Fails again with what is stored, on the calling thread; PLUMB_OK if nothing is stored.
plumb_status task_error_raise(const task_error *error);

#endif
