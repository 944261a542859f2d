// SPDX-License-Identifier: MIT
// Between the first axis (fastest in the file) and the last (fastest in memory) the copy is a
// matrix transpose, done in tiles so that both sides stay in cache; the axes between are counted
// like an odometer.
#include "io/reorder.h"

#include <string.h>

void reorder_bytes(void *data, size_t size, int64_t count)
{
    // memcpy, since nothing says that the bytes are aligned
#define SWAP(type, swap)                                                         \
    for (int64_t i = 0; i < count; i++) {                                        \
        unsigned char *place = (unsigned char *)data + (size_t)i * sizeof(type); \
        type value;                                                              \
        memcpy(&value, place, sizeof value);                                     \
        value = swap(value);                                                     \
        memcpy(place, &value, sizeof value);                                     \
    }
    if (size == 2) SWAP(uint16_t, __builtin_bswap16)
    else if (size == 4) SWAP(uint32_t, __builtin_bswap32)
    else if (size == 8) SWAP(uint64_t, __builtin_bswap64)
#undef SWAP
}

enum { TILE = 16 };

// out[i * out_stride + j] = in[i + j * in_stride], i < rows, j < columns
#define TRANSPOSE(name, type)                                                                      \
    static void name(void *out, const void *in, int64_t rows, int64_t columns, int64_t out_stride, \
                     int64_t in_stride)                                                            \
    {                                                                                              \
        type *restrict y = out;                                                                    \
        const type *restrict x = in;                                                               \
        for (int64_t i0 = 0; i0 < rows; i0 += TILE)                                                \
            for (int64_t j0 = 0; j0 < columns; j0 += TILE) {                                       \
                const int64_t i1 = i0 + TILE < rows ? i0 + TILE : rows;                            \
                const int64_t j1 = j0 + TILE < columns ? j0 + TILE : columns;                      \
                for (int64_t i = i0; i < i1; i++)                                                  \
                    for (int64_t j = j0; j < j1; j++)                                              \
                        y[i * out_stride + j] = x[i + j * in_stride];                              \
            }                                                                                      \
    }
TRANSPOSE(transpose1, uint8_t)
TRANSPOSE(transpose2, uint16_t)
TRANSPOSE(transpose4, uint32_t)
TRANSPOSE(transpose8, uint64_t)
#undef TRANSPOSE

// Column-major to row-major: `shape` is that of the array, size the bytes of an element.
void reorder_to_rows(void *restrict out, const void *restrict in, size_t size, int ndim,
                     const int64_t *shape)
{
    int64_t count = 1, middle = 1;
    for (int d = 0; d < ndim; d++) count *= shape[d];
    if (ndim < 2 || count == 0) {
        memcpy(out, in, (size_t)count * size);
        return;
    }
    for (int d = 1; d < ndim - 1; d++) middle *= shape[d];
    const int64_t rows = shape[0], columns = shape[ndim - 1];

    int64_t at[32] = {0};
    for (int64_t m = 0; m < middle; m++) {
        // Offsets of the middle axes: row-major in `out`, column-major in `in`.
        int64_t to = 0, from = 0;
        for (int d = 1; d < ndim - 1; d++) to = to * shape[d] + at[d];
        for (int d = ndim - 2; d >= 1; d--) from = from * shape[d] + at[d];
        unsigned char *y = (unsigned char *)out + (size_t)(to * columns) * size;
        const unsigned char *x = (const unsigned char *)in + (size_t)(from * rows) * size;
        const int64_t out_stride = middle * columns, in_stride = rows * middle;
        switch (size) {
        case 1: transpose1(y, x, rows, columns, out_stride, in_stride); break;
        case 2: transpose2(y, x, rows, columns, out_stride, in_stride); break;
        case 4: transpose4(y, x, rows, columns, out_stride, in_stride); break;
        default: transpose8(y, x, rows, columns, out_stride, in_stride); break;
        }
        for (int d = ndim - 2; d >= 1; d--) {
            if (++at[d] < shape[d]) break;
            at[d] = 0;
        }
    }
}

// A bool with another value is undefined behaviour in C, so files are checked.
bool reorder_is_bool(const void *data, size_t bytes)
{
    const unsigned char *b = data;
    unsigned char all = 0;
    for (size_t i = 0; i < bytes; i++) all |= b[i];
    return all <= 1;
}
