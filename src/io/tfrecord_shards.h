// SPDX-License-Identifier: MIT
// One TFRecord file, or all shards of a folder (data.tfrecord-00003-of-00020), read as one sequence
// of records.
#ifndef IO_TFRECORD_SHARDS_H
#define IO_TFRECORD_SHARDS_H

#include "base/arena.h"
#include "io/tfrecord.h"

typedef struct tfrecord_shards {
    tfrecord *file;
    const char **path;
    int64_t *first; ///< Index of the first record of each file; last element: number of records.
    int64_t count;  ///< Number of files.
    int64_t items;  ///< Number of records in all files.
} tfrecord_shards;

/// Returns true if a name ends in .tfrecord-NNNNN-of-NNNNN.
bool tfrecord_shards_is_name(const char *name);
/// Returns true if a folder contains such a file.
bool tfrecord_shards_in_folder(const char *folder);

/// Opens a file, or if `path` ends in / all shards of that folder, sorted by name.
plumb_status tfrecord_shards_open(tfrecord_shards *out, arena *mem, const char *path);
void tfrecord_shards_close(tfrecord_shards *shards);

/// Reads a record by its index in the sequence; see tfrecord_read().
plumb_status tfrecord_shards_read(const unsigned char **data, size_t *bytes,
                                  tfrecord_shards *shards, int64_t record);
/// Path of the file that holds a record, and the index of the record in it. If there are no
/// records, the first file.
const char *tfrecord_shards_path(const tfrecord_shards *shards, int64_t record);
int64_t tfrecord_shards_local_index(const tfrecord_shards *shards, int64_t record);

#endif
