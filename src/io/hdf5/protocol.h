// SPDX-License-Identifier: MIT
// What the library and the program plumb-h5 say to each other. Both are of one build.
//
//   plumb-h5 list         HDF5_PROTOCOL_FILE is read; the names come back in HDF5_PROTOCOL_MEMORY
//   plumb-h5 read NAME    HDF5_PROTOCOL_FILE is read; the array comes back in HDF5_PROTOCOL_MEMORY
//   plumb-h5 write        the arrays are in HDF5_PROTOCOL_MEMORY; HDF5_PROTOCOL_FILE is written,
//   and the reply
//                         replaces what is in HDF5_PROTOCOL_MEMORY
//   plumb-h5 reserve      the same without numbers: room is left for them in the file, and where
//                         it is comes back in `data` of the entries
#ifndef IO_HDF5_PROTOCOL_H
#define IO_HDF5_PROTOCOL_H

#include "plumb/array.h"

enum {
    HDF5_PROTOCOL_FILE = 3,    ///< descriptor of the HDF5 file
    HDF5_PROTOCOL_MEMORY = 4,  ///< descriptor of the memory both can see
    HDF5_PROTOCOL_ALIVE = 5,   ///< a pipe that closes when the program ends, however it ends
    HDF5_PROTOCOL_BODY = 4096, ///< where in the memory the body starts
    HDF5_PROTOCOL_MAX_NAMES = 1 << 14,
    HDF5_PROTOCOL_MAX_NAME_BYTES = 1 << 22,
    HDF5_PROTOCOL_BOMB_RATIO = 1000,   ///< a dataset that unpacks to more than BOMB_SIZE
    HDF5_PROTOCOL_BOMB_SIZE = 1 << 26, ///< at more than this ratio is refused
};
#define HDF5_PROTOCOL_REPLY UINT64_C(0x35682d626d756c70)
#define HDF5_PROTOCOL_REQUEST UINT64_C(0x35482d424d554c50)

/// The reply, at the start of the memory; the body behind it is names, each with its zero, or the
/// numbers of one array, unless these can be read from the file directly.
typedef struct hdf5_reply {
    uint64_t magic;
    uint32_t status; ///< a plumb_status; if not PLUMB_OK then `message` says why
    uint32_t dtype, ndim;
    uint32_t swapped; ///< in the other byte order
    uint64_t count;   ///< of names
    uint64_t bytes;   ///< of the body
    uint64_t offset;  ///< of an array that lies in the file as it is: there is no body then
    int64_t shape[PLUMB_MAX_DIMS];
    char message[512];
} hdf5_reply;

/// An array to be written; offsets count from the start of the memory (after reserve, `data` from
/// the start of the file; 0 if the array is empty).
typedef struct hdf5_entry {
    uint32_t dtype, ndim;
    int64_t shape[PLUMB_MAX_DIMS];
    uint64_t name, data;
} hdf5_entry;

/// The request to write, at the start of the memory; entries stand at HDF5_PROTOCOL_BODY.
typedef struct hdf5_request {
    uint64_t magic;
    uint64_t count, compress, bytes; ///< `bytes` of all the memory
} hdf5_request;

_Static_assert(sizeof(hdf5_reply) <= HDF5_PROTOCOL_BODY, "the reply fits in front of the body");

#endif
