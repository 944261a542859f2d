// SPDX-License-Identifier: MIT
// TFRecord files: a sequence of records. Each is a length, its checksum, the bytes, and their
// checksum. The whole file is plain or gzip.
#ifndef IO_TFRECORD_H
#define IO_TFRECORD_H

#include "base/buffer.h"
#include "io/deflate.h"

enum { TFRECORD_HEAD = 12, TFRECORD_TAIL = 4 };
/// Longest record, 2 GiB: the limit of protobuf messages.
#define TFRECORD_MAX_LENGTH ((uint64_t)1 << 31)

/// An open file. The lengths of all records are checked.
typedef struct tfrecord {
    input_file file;
    deflate_reader *reader; ///< NULL if the file is plain.
    int64_t count;          ///< Number of records.
    uint64_t *offset;       ///< Plain: start of each record, `count` + 1 positions.
    size_t capacity;        ///< Allocated elements of `offset`.
    int64_t next;           ///< Gzip: index of the next record in the stream.
    int64_t loaded;         ///< Index of the record in `bytes`, or -1.
    buffer bytes;
} tfrecord;

/// Finds all records. A damaged length or a truncated record fails with PLUMB_EFORMAT and a message
/// with the index of the record, from 0. `path` and `*out` must stay at their address.
plumb_status tfrecord_open(tfrecord *out, const char *path);
void tfrecord_close(tfrecord *file);

/// Reads one record and checks its checksum. The bytes belong to the file and are valid until the
/// next read. In a gzip file reading forwards is cheap; a step back starts again at the first.
plumb_status tfrecord_read(const unsigned char **data, size_t *bytes, tfrecord *file,
                           int64_t record);

/// Computes the bytes before and after the data of a record.
void tfrecord_frame(unsigned char head[TFRECORD_HEAD], unsigned char tail[TFRECORD_TAIL],
                    const void *data, size_t bytes);

/// CRC-32C, and the masked form that records store.
uint32_t tfrecord_crc(const void *data, size_t bytes);
uint32_t tfrecord_masked_crc(const void *data, size_t bytes);
/// Reference implementation of tfrecord_crc(), with tables, for any machine.
uint32_t tfrecord_crc_reference(const void *data, size_t bytes);

#endif
