// SPDX-License-Identifier: MIT
// Wrapper of zlib: reads gzip files, writes deflate and gzip streams, and computes the checksums
// of zip and of zlib streams.
#ifndef IO_DEFLATE_H
#define IO_DEFLATE_H

#include <stdbool.h>

#include "base/input_file.h"

/// Reads a gzip file from its start. Several members in one file are read as one stream.
typedef struct deflate_reader deflate_reader;

/// Sets `*out` to true if the file starts with the two bytes of gzip.
plumb_status deflate_is_gzip(bool *out, const input_file *file);

/// `file` belongs to the caller and must outlive the reader.
plumb_status deflate_open(deflate_reader **out, const input_file *file);
/// May be NULL: reader.
void deflate_close(deflate_reader *reader);
/// Returns to the start of the stream.
void deflate_rewind(deflate_reader *reader);

/// Reads up to `bytes` bytes; `*got` is smaller only at the end of the stream. Fails with
/// PLUMB_EFORMAT if the stream is damaged or truncated.
plumb_status deflate_read(size_t *got, deflate_reader *reader, void *out, size_t bytes);

/// Compresses bytes into a stream.
typedef struct deflate_writer deflate_writer;
/// DEFLATE_RAW has no header, as inside a zip file.
typedef enum deflate_kind { DEFLATE_RAW, DEFLATE_GZIP } deflate_kind;

/// Receives compressed bytes. Returns false and sets errno if it cannot store them.
typedef bool deflate_output(void *context, const void *data, size_t bytes);

/// `path` is used in messages and must outlive the writer.
plumb_status deflate_create(deflate_writer **out, deflate_kind kind, deflate_output *write,
                            void *context, const char *path);
plumb_status deflate_write(deflate_writer *writer, const void *data, size_t bytes);
/// Writes the end of the stream.
plumb_status deflate_finish(deflate_writer *writer);
/// May be NULL: writer.
void deflate_free(deflate_writer *writer);

/// CRC-32 of zip and gzip, continued from `crc`; start with 0.
uint32_t deflate_crc(uint32_t crc, const void *data, size_t bytes);
/// Adler-32, the checksum at the end of a zlib stream.
uint32_t deflate_adler(const void *data, size_t bytes);

#endif
