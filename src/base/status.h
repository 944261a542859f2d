// SPDX-License-Identifier: MIT
// The one birthplace of a bad status, and the library's two quiet channels.
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "plumb/status.h"

/// Writes the message of this thread and returns `status`, so that no failure is mute.
plumb_status fail(plumb_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/// Says something beside the results, through the user's callback if there is one.
void status_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// How far long work is, 0 to 1.
void status_progress(double fraction);

/// Has somebody asked to stop? The second says so as a failure.
bool status_stopped(void);
plumb_status status_check_stop(void);

#endif
