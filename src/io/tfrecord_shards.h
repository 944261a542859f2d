// SPDX-License-Identifier: MIT
// A TFRecord file, or a folder of them that belong together, data.tfrecord-00003-of-00020, as one
// row of records.
#ifndef IO_TFRECORD_SHARDS_H
#define IO_TFRECORD_SHARDS_H

#include "base/arena.h"
#include "io/tfrecord.h"

typedef struct tfrecord_shards {
    tfrecord *file;
    const char **path;
    int64_t *first; ///< the first record of each, and at the end how many there are
    int64_t count, items;
} tfrecord_shards;

/// Does a name end as shards do, in .tfrecord-NNNNN-of-NNNNN?
bool tfrecord_shards_is(const char *name);
/// Are there any in a folder?
bool tfrecord_shards_in(const char *folder);

/// Opens a file, or if `path` ends in / all shards of that folder in the order of their names.
plumb_status tfrecord_shards_open(tfrecord_shards *out, arena *mem, const char *path);
void tfrecord_shards_close(tfrecord_shards *s);

/// As tfrecord_read, whichever file it is in.
plumb_status tfrecord_shards_read(const unsigned char **data, size_t *bytes, tfrecord_shards *s,
                                  int64_t record);
/// The file a record is in, and its number there. Of an empty row, the first file.
const char *tfrecord_shards_path(const tfrecord_shards *s, int64_t record);
int64_t tfrecord_shards_local(const tfrecord_shards *s, int64_t record);

#endif
