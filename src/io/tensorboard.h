// SPDX-License-Identifier: MIT
// TensorBoard's scalars: TFRecords of Event messages. Other programs read them too.
#ifndef IO_TENSORBOARD_H
#define IO_TENSORBOARD_H

#include <stdint.h>

#include "base/status.h"

typedef struct tensorboard_writer tensorboard_writer;

/// Opens a file to append to; its name must have "tfevents" in it, or nobody looks at it. Events of
/// steps beyond `step` are cut off, and all behind anything damaged.
plumb_status tensorboard_open(tensorboard_writer **out, const char *path, int64_t step);
/// NULL is allowed.
void tensorboard_close(tensorboard_writer *e);

/// `count` numbers of one step, under their tags. Written through at once.
plumb_status tensorboard_write(tensorboard_writer *e, int64_t step, const char *const *tags,
                               const double *values, int64_t count);

/// One event, as far as plumb writes them, for tests: the step, and the first value's tag and
/// number; `tag` is "" if it has none. False if it is none.
typedef struct tensorboard_event {
    double wall;
    int64_t step;
    char tag[64];
    float value;
} tensorboard_event;
bool tensorboard_parse(tensorboard_event *out, const unsigned char *data, uint64_t bytes);

#endif
