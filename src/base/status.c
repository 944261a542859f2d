// SPDX-License-Identifier: MIT
// Status codes, error messages, log and progress callbacks. Messages are in thread-local memory of
// a fixed size, so that reporting a failure cannot fail.
#include "base/status.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/text.h"

static _Thread_local char message[STATUS_MESSAGE_SIZE];

// Callbacks of the program, common to all threads.
static void (*log_write)(void *, const char *);
static void *log_context;
static void (*progress_report)(void *, double);
static void *progress_context;
static atomic_bool stop_wanted;                     // lock-free, so a signal handler may set it
static _Thread_local const volatile int *stop_flag; // of the work on this thread; may be NULL

// A message is one line, even if a file put control bytes into a name: they become '?'.
static void keep_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
}

plumb_status fail(plumb_status status, const char *format, ...)
{
    // Arguments may point into the old message ("%s: ..." around an inner failure).
    char fresh[sizeof message];
    va_list arguments;
    va_start(arguments, format);
    text_format_list(fresh, sizeof fresh, format, arguments);
    va_end(arguments);
    keep_one_line(fresh);
    snprintf(message, sizeof message, "%s", fresh);
    return status;
}

// Without a callback nothing is formatted.
void status_log(const char *format, ...)
{
    if (!log_write) return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    text_format_list(line, sizeof line, format, arguments);
    va_end(arguments);
    keep_one_line(line);
    log_write(log_context, line);
}

void status_progress(double fraction)
{
    if (progress_report) progress_report(progress_context, fraction);
}

const char *plumb_last_error(void)
{
    return message;
}

const char *plumb_status_string(plumb_status status)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        PLUMB_STATUS_LIST(TEXT)
#undef TEXT
    };
    const unsigned index = (unsigned)status;
    return index < sizeof texts / sizeof *texts ? texts[index] : "unknown status";
}

const char *plumb_version(void)
{
    return PLUMB_VERSION;
}

void plumb_set_log(void (*write)(void *context, const char *line), void *context)
{
    log_write = write;
    log_context = context;
}

void plumb_set_progress(void (*report)(void *context, double fraction), void *context)
{
    progress_report = report;
    progress_context = context;
}

void plumb_set_stop(bool stop)
{
    atomic_store(&stop_wanted, stop);
}

void plumb_set_stop_flag(const volatile int *flag)
{
    stop_flag = flag;
}

const volatile int *status_stop_flag(void)
{
    return stop_flag;
}

bool status_stopped(void)
{
    return atomic_load_explicit(&stop_wanted, memory_order_relaxed) ||
           (stop_flag && __atomic_load_n(stop_flag, __ATOMIC_RELAXED));
}

plumb_status status_check_stop(void)
{
    return status_stopped() ? fail(PLUMB_ESTOPPED, "stopped; nothing was written") : PLUMB_OK;
}

void task_error_store(task_error *error, plumb_status status)
{
    error->status = status;
    snprintf(error->message, sizeof error->message, "%s", message);
}

plumb_status task_error_raise(const task_error *error)
{
    return error->status ? fail(error->status, "%s", error->message) : PLUMB_OK;
}
