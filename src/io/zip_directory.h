// SPDX-License-Identifier: MIT
// A zip file's table of contents, read by hand and checked before libzip sees the file: libzip
// does not say where members lie, so it cannot be asked whether two of them overlap.
#ifndef IO_ZIP_DIRECTORY_H
#define IO_ZIP_DIRECTORY_H

#include "base/arena.h"
#include "base/input_file.h"

enum {
    ZIP_DIRECTORY_MAX_MEMBERS = 1 << 14,
    ZIP_DIRECTORY_STORED = 0,
    ZIP_DIRECTORY_DEFLATED = 8,
};

typedef struct zip_member {
    const char *name;
    uint32_t crc;
    uint16_t method; ///< ZIP_DIRECTORY_STORED or ZIP_DIRECTORY_DEFLATED
    uint64_t packed; ///< bytes in the file
    uint64_t size;   ///< bytes promised
    uint64_t offset; ///< of the local header
} zip_member;

typedef struct zip_directory {
    zip_member *member;
    int64_t count;
} zip_directory;

/// Refuses a directory that does not end where the file ends, counts that disagree, members that
/// overlap each other or the directory, equal names, encryption, other methods than stored and
/// deflated, and promises that deflate cannot keep. Members keep the directory's order.
plumb_status zip_directory_read(zip_directory *out, arena *mem, const input_file *file);

#endif
