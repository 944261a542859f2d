// SPDX-License-Identifier: MIT
// TensorBoard event files with scalars: TFRecords of Event messages.
#ifndef IO_TENSORBOARD_H
#define IO_TENSORBOARD_H

#include <stdint.h>

#include "base/status.h"

typedef struct tensorboard_writer tensorboard_writer;

/// Opens a file to append to. TensorBoard reads only files with "tfevents" in their name. Events of
/// steps after `step` are removed, and everything from the first damaged record on.
plumb_status tensorboard_open(tensorboard_writer **out, const char *path, int64_t step);
/// May be NULL: writer.
void tensorboard_close(tensorboard_writer *writer);

/// Appends `count` values of one step under their tags, in one write call.
plumb_status tensorboard_write(tensorboard_writer *writer, int64_t step, const char *const *tags,
                               const double *values, int64_t count);

/// One event as plumb writes it. Tests read files with it.
typedef struct tensorboard_event {
    double wall;  ///< Seconds since 1970.
    int64_t step; ///< Training step.
    char tag[64]; ///< Tag of the first value; "" if there is none.
    float value;  ///< The first value.
} tensorboard_event;
/// Returns false if the bytes are not an Event message.
bool tensorboard_parse(tensorboard_event *out, const unsigned char *data, uint64_t bytes);

#endif
