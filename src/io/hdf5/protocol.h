// SPDX-License-Identifier: MIT
// Messages between the library and the helper program plumb-h5. Both come from one build.
//
//   plumb-h5 list         reads the file; the reply has the names
//   plumb-h5 read NAME    reads the file; the reply has the array
//   plumb-h5 write        writes the arrays of the request to the file; the reply replaces the
//                         request
//   plumb-h5 reserve      the same without values: the file gets space for them, and `data` of the
//                         entries becomes the position of that space
#ifndef IO_HDF5_PROTOCOL_H
#define IO_HDF5_PROTOCOL_H

#include "plumb/array.h"

enum {
    HDF5_PROTOCOL_FILE = 3,    ///< Descriptor of the HDF5 file.
    HDF5_PROTOCOL_MEMORY = 4,  ///< Descriptor of the shared memory.
    HDF5_PROTOCOL_ALIVE = 5,   ///< A pipe that closes when the helper ends, for any reason.
    HDF5_PROTOCOL_BODY = 4096, ///< Position of the body in the memory.
    HDF5_PROTOCOL_MAX_NAMES = 1 << 14,
    HDF5_PROTOCOL_MAX_NAME_BYTES = 1 << 22,
    HDF5_PROTOCOL_BOMB_SIZE = 1 << 26, ///< A dataset of this many bytes or more is rejected
    HDF5_PROTOCOL_BOMB_RATIO = 1000,   ///< if it was compressed to less than 1 / BOMB_RATIO.
};
#define HDF5_PROTOCOL_REPLY UINT64_C(0x35682d626d756c70)
#define HDF5_PROTOCOL_REQUEST UINT64_C(0x35482d424d554c50)

/// The reply, at the start of the memory. The body after it is a list of zero-terminated names, or
/// the values of one array unless they can be read from the file directly.
typedef struct hdf5_reply {
    uint64_t magic;       ///< HDF5_PROTOCOL_REPLY.
    uint32_t status;      ///< A plumb_status; if not PLUMB_OK, `message` has the reason.
    uint32_t dtype, ndim; ///< Of the array; dtype is a plumb_dtype.
    uint32_t swapped;     ///< 1 if the byte order differs from this machine's.
    uint64_t count;       ///< Number of names.
    uint64_t bytes;       ///< Size of the body or of the array.
    uint64_t offset;      ///< Position of an array stored in one piece; then there is no body.
    int64_t shape[PLUMB_MAX_DIMS];
    char message[512];
} hdf5_reply;

/// An array to write. `name` and `data` are positions in the memory; after reserve, `data` is a
/// position in the file, or 0 if the array is empty.
typedef struct hdf5_entry {
    uint32_t dtype, ndim;
    int64_t shape[PLUMB_MAX_DIMS];
    uint64_t name, data;
} hdf5_entry;

/// The request to write, at the start of the memory. The entries are at HDF5_PROTOCOL_BODY.
typedef struct hdf5_request {
    uint64_t magic;    ///< HDF5_PROTOCOL_REQUEST.
    uint64_t count;    ///< Number of entries.
    uint64_t compress; ///< 1 to compress with gzip.
    uint64_t bytes;    ///< Size of the memory.
} hdf5_request;

_Static_assert(sizeof(hdf5_reply) <= HDF5_PROTOCOL_BODY, "the reply fits in front of the body");

#endif
