// SPDX-License-Identifier: MIT
// A zip file's table of contents, read by hand and checked before libzip sees the file: libzip
// does not say where members lie, so it cannot be asked whether two of them overlap.
#ifndef IO_ZIP_DIRECTORY_H
#define IO_ZIP_DIRECTORY_H

#include "base/arena.h"
#include "base/input_file.h"

enum {
    ZIPDIR_MAX_MEMBERS = 1 << 14,
    ZIPDIR_STORED = 0,
    ZIPDIR_DEFLATED = 8,
};

typedef struct zipdir_member {
    const char *name;
    uint32_t crc;
    uint16_t method; ///< ZIPDIR_STORED or ZIPDIR_DEFLATED
    uint64_t packed; ///< bytes in the file
    uint64_t size;   ///< bytes promised
    uint64_t offset; ///< of the local header
} zipdir_member;

typedef struct zipdir {
    zipdir_member *member;
    int64_t count;
} zipdir;

/// Refuses a directory that does not end where the file ends, counts that disagree, members that
/// overlap each other or the directory, equal names, encryption, other methods than stored and
/// deflated, and promises that deflate cannot keep. Members keep the directory's order.
plumb_status zipdir_read(zipdir *out, arena *mem, const infile *file);

#endif
