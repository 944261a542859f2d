// SPDX-License-Identifier: MIT
// The door to zlib: gzip files in, deflate and gzip streams out, and the checksum of zip.
#ifndef IO_DEFLATE_H
#define IO_DEFLATE_H

#include <stdbool.h>

#include "base/input_file.h"

/// Reads a gzip file from its start, piece by piece; members one behind the other are one stream.
typedef struct deflate_reader deflate_reader;

/// Does the file start like gzip?
plumb_status deflate_is_gzip(bool *out, const input_file *file);

/// `file` is the caller's and must outlive it.
plumb_status deflate_open(deflate_reader **out, const input_file *file);
void deflate_close(deflate_reader *source);
/// Back to the start.
void deflate_rewind(deflate_reader *source);

/// As many bytes as there are, at most `bytes`; fewer only at the end. Fails with PLUMB_EFORMAT if
/// the stream is damaged or cut.
plumb_status deflate_read(size_t *got, deflate_reader *source, void *out, size_t bytes);

/// Packs bytes into a stream, piece by piece.
typedef struct deflate_writer deflate_writer;
typedef enum deflate_kind { DEFLATE_RAW, DEFLATE_GZIP } deflate_kind;

/// Takes what is packed; returns false if it cannot, and says why by errno.
typedef bool deflate_output(void *context, const void *data, size_t bytes);

plumb_status deflate_create(deflate_writer **out, deflate_kind kind, deflate_output *write,
                            void *context, const char *path);
plumb_status deflate_write(deflate_writer *sink, const void *data, size_t bytes);
/// Ends the stream.
plumb_status deflate_finish(deflate_writer *sink);
void deflate_free(deflate_writer *sink);

/// CRC-32 as zip and gzip have it; start with 0.
uint32_t deflate_crc(uint32_t crc, const void *data, size_t bytes);

#endif
