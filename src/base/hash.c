// SPDX-License-Identifier: MIT
// Hashes that identify inputs. The wrapper of xxHash, which is a header-only library.
#define XXH_INLINE_ALL
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/status.h"

// 128 bits as 32 hexadecimal digits.
static void write_digest(char out[33], const XXH3_state_t *state)
{
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void hash_arrays(char out[33], const plumb_array *const *arrays, int count)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (int i = 0; i < count; i++) {
        const plumb_array *a = arrays[i];
        // Type and shape are part of the hash; a missing array has a mark of its own.
        const int64_t head[2] = {a ? (int64_t)a->dtype : -1, a ? a->ndim : -1};
        XXH3_128bits_update(&state, head, sizeof head);
        if (!a) continue;
        XXH3_128bits_update(&state, a->shape, (size_t)a->ndim * sizeof *a->shape);
        XXH3_128bits_update(&state, a->data,
                            (size_t)plumb_array_count(a) * plumb_dtype_size(a->dtype));
    }
    write_digest(out, &state);
}

// ---- parts ----

struct hash_stream {
    XXH3_state_t *state;
};

plumb_status hash_stream_begin(hash_stream **out, plumb_dtype dtype, int ndim, const int64_t *shape)
{
    hash_stream *stream = calloc(1, sizeof *stream);
    // xxHash allocates its state with the alignment that it needs.
    if (stream) stream->state = XXH3_createState();
    if (!stream || !stream->state) {
        free(stream);
        return fail(PLUMB_EMEMORY, "out of memory for a hash");
    }
    const int64_t head[2] = {(int64_t)dtype, ndim};
    XXH3_128bits_reset(stream->state);
    XXH3_128bits_update(stream->state, head, sizeof head);
    XXH3_128bits_update(stream->state, shape, (size_t)ndim * sizeof *shape);
    *out = stream;
    return PLUMB_OK;
}

void hash_stream_add(hash_stream *stream, const void *data, size_t size)
{
    XXH3_128bits_update(stream->state, data, size);
}

void hash_stream_end(char out[33], hash_stream *stream)
{
    if (!stream) return;
    write_digest(out, stream->state);
    XXH3_freeState(stream->state);
    free(stream);
}

void hash_bytes(char out[33], const void *data, size_t size)
{
    const int64_t length = (int64_t)size;
    const plumb_array bytes = plumb_array_view((void *)(uintptr_t)data, PLUMB_UINT8, 1, &length);
    const plumb_array *const one = &bytes;
    hash_arrays(out, &one, 1);
}
