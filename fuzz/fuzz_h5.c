// SPDX-License-Identifier: MIT
// What the library itself looks at in HDF5: the superblock, and the reply of plumb-h5, which has
// read a stranger's file and may say anything. libhdf5 is not fuzzed: it is known to fall, which
// is why it runs in a process of its own.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_replies(const uint8_t *data, size_t size)
{
    hdf5_reply reply = {0};
    const size_t head = size < sizeof reply ? size : sizeof reply;
    memcpy(&reply, data, head);
    const char *body = (const char *)data + head;
    const uint64_t rest = size - head;
    // Half of the time the message is well-formed as a whole, so that what is inside is reached.
    if (size % 2) {
        reply.magic = HDF5_PROTOCOL_REPLY;
        reply.status = 0;
    }
    plumb_array array;
    if (!hdf5_client_check_array(&array, &reply, HDF5_PROTOCOL_BODY + rest, 1 << 20, "input")) {
        const uint64_t bytes = (uint64_t)plumb_array_count(&array) * plumb_dtype_size(array.dtype);
        if (bytes && bytes > (reply.offset ? 1 << 20 : rest)) abort();
    }
    if (size % 2) reply.bytes = rest;
    arena mem = {0};
    array_file_names names;
    if (!hdf5_client_check_names(&names, &mem, &reply, body, HDF5_PROTOCOL_BODY + rest, "input")) {
        size_t total = 0;
        for (int64_t i = 0; i < names.count; i++) total += strlen(names.name[i]) + 1;
        if (total != rest) abort();
    }
    arena_clear(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t have = size < HDF5_CLIENT_START ? size : HDF5_CLIENT_START;
    (void)hdf5_client_precheck(data, have, size, "input");
    check_replies(data, size);
    return 0;
}
