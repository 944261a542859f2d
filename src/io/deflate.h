// SPDX-License-Identifier: MIT
// The door to zlib: gzip files in, deflate and gzip streams out, and the checksum of zip.
#ifndef IO_DEFLATE_H
#define IO_DEFLATE_H

#include <stdbool.h>

#include "base/input_file.h"

/// Reads a gzip file from its start, piece by piece; members one behind the other are one stream.
typedef struct flate_source flate_source;

/// Does the file start like gzip?
plumb_status flate_is_gzip(bool *out, const infile *file);

/// `file` is the caller's and must outlive it.
plumb_status flate_open(flate_source **out, const infile *file);
void flate_close(flate_source *source);
/// Back to the start.
void flate_rewind(flate_source *source);

/// As many bytes as there are, at most `bytes`; fewer only at the end. Fails with PLUMB_EFORMAT if
/// the stream is damaged or cut.
plumb_status flate_pull(size_t *got, flate_source *source, void *out, size_t bytes);

/// Packs bytes into a stream, piece by piece.
typedef struct flate_sink flate_sink;
typedef enum flate_kind { FLATE_RAW, FLATE_GZIP } flate_kind;

/// Takes what is packed; returns false if it cannot, and says why by errno.
typedef bool flate_write(void *context, const void *data, size_t bytes);

plumb_status flate_create(flate_sink **out, flate_kind kind, flate_write *write, void *context,
                          const char *path);
plumb_status flate_push(flate_sink *sink, const void *data, size_t bytes);
/// Ends the stream.
plumb_status flate_finish(flate_sink *sink);
void flate_free(flate_sink *sink);

/// CRC-32 as zip and gzip have it; start with 0.
uint32_t flate_crc(uint32_t crc, const void *data, size_t bytes);

#endif
