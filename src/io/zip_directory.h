// SPDX-License-Identifier: MIT
// Reads and checks the central directory of a zip file before libzip opens the file. libzip does
// not report the position of members, so it cannot tell whether two of them overlap.
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
    uint32_t crc;    ///< CRC-32 of the uncompressed bytes.
    uint16_t method; ///< ZIP_DIRECTORY_STORED or ZIP_DIRECTORY_DEFLATED.
    uint64_t packed; ///< Bytes in the file.
    uint64_t size;   ///< Uncompressed bytes according to the directory.
    uint64_t offset; ///< Position of the local header.
} zip_member;

typedef struct zip_directory {
    zip_member *member; ///< In the order of the directory.
    int64_t count;
} zip_directory;

/// Rejects a directory that does not end where the file ends, counts that disagree, members that
/// overlap each other or the directory, equal names, encryption, methods other than stored and
/// deflated, and sizes that deflate cannot reach.
plumb_status zip_directory_read(zip_directory *out, arena *mem, const input_file *file);

#endif
