// SPDX-License-Identifier: MIT
// Any bytes as a .npy file: refused, or an array that is all there.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"
#include "support.h"

static plumb_status from_bytes(void *context, void *out, size_t bytes)
{
    memcpy(out, context, bytes);
    return PLUMB_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    npy_header header;
    if (npy_parse(&header, data, size, size, "input")) return 0;
    if (header.offset + header.bytes != size) abort();
    // The writer's header says the same.
    plumb_array array = plumb_array_view(NULL, header.dtype, header.ndim, header.shape);
    unsigned char text[NPY_MAX_WRITTEN];
    const size_t written = npy_format_header(text, &array);
    npy_header again;
    if (npy_parse(&again, text, written, written + header.bytes, "copy")) abort();
    if (again.dtype != header.dtype || again.ndim != header.ndim || again.bytes != header.bytes)
        abort();
    arena mem = {0};
    uint8_t *body = malloc(header.bytes + 1);
    if (body) {
        memcpy(body, data + header.offset, header.bytes);
        if (!npy_load(&array, &mem, &header, from_bytes, body, "input")) fuzz_read_array(&array);
    }
    free(body);
    arena_clear(&mem);
    return 0;
}
