// SPDX-License-Identifier: MIT
// TFRecord: a row of records, each a length, its checksum, the bytes, their checksum; the whole
// file plain or gzip.
#ifndef IO_TFRECORD_H
#define IO_TFRECORD_H

#include "base/buffer.h"
#include "io/deflate.h"

enum { TFRECORD_HEAD = 12, TFRECORD_TAIL = 4 };
/// No protobuf message is as long.
#define TFRECORD_LIMIT ((uint64_t)1 << 31)

/// An open file, all of its record lengths checked.
typedef struct tfrecord {
    input_file file;
    deflate_reader *unpack; ///< NULL if the file is plain
    int64_t count;
    uint64_t *offset; ///< plain: where each record starts; count + 1 of them
    size_t room;
    int64_t next;   ///< gzip: the record that comes next in the stream
    int64_t loaded; ///< the record whose bytes are in `bytes`, or -1
    buffer bytes;
} tfrecord;

/// Finds all records. A length that is damaged or a record that is cut short fails with
/// PLUMB_EFORMAT, naming the record (from 0). `path` and `*out` must stay where they are.
plumb_status tfrecord_open(tfrecord *out, const char *path);
void tfrecord_close(tfrecord *file);

/// The bytes of one record, checked; they are the file's, until the next read. In a gzip file
/// records are cheap in order, and a step back starts again from the first.
plumb_status tfrecord_read(const unsigned char **data, size_t *bytes, tfrecord *file,
                           int64_t record);

/// What stands before and behind the bytes of a record.
void tfrecord_frame(unsigned char head[TFRECORD_HEAD], unsigned char tail[TFRECORD_TAIL],
                    const void *data, size_t bytes);

/// CRC-32C, and the same masked as records have it.
uint32_t tfrecord_crc(const void *data, size_t bytes);
uint32_t tfrecord_masked(const void *data, size_t bytes);
/// The judge of the one above: by a table, on any machine.
uint32_t tfrecord_crc_table(const void *data, size_t bytes);

#endif
