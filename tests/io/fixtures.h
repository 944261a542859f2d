// SPDX-License-Identifier: MIT
// Makes .npy and .zip files byte by byte, the honest ones and the others.
#ifndef TESTS_IO_FIXTURES_H
#define TESTS_IO_FIXTURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Bytes under construction.
typedef struct forge {
    unsigned char *b;
    size_t n, room;
    unsigned bits, held; ///< of a byte not yet whole
} forge;

static inline void forge_put(forge *f, const void *bytes, size_t n)
{
    if (f->n + n > f->room) {
        f->room = 2 * (f->n + n);
        f->b = realloc(f->b, f->room);
        if (!f->b) abort();
    }
    if (bytes) memcpy(f->b + f->n, bytes, n);
    else memset(f->b + f->n, 0, n);
    f->n += n;
}

static inline void forge_number(forge *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        const unsigned char b = i < 8 ? (unsigned char)(value >> 8 * i) : 0;
        forge_put(f, &b, 1);
    }
}

static inline void forge_clear(forge *f)
{
    free(f->b);
    *f = (forge){0};
}

static inline bool forge_save(const forge *f, const char *path)
{
    FILE *out = fopen(path, "wb");
    if (!out) return false;
    const bool done = !f->n || fwrite(f->b, 1, f->n, out) == f->n;
    return fclose(out) == 0 && done;
}

/// A .npy file: version, the header's text as it is, and `zeros` bytes of data.
static inline void forge_npy(forge *f, int version, const char *header, size_t zeros)
{
    forge_put(f, "\x93NUMPY", 6);
    forge_number(f, (uint64_t)version, 2);
    forge_number(f, strlen(header), version == 1 ? 2 : 4);
    forge_put(f, header, strlen(header));
    forge_put(f, NULL, zeros);
}

static inline uint32_t forge_crc(const unsigned char *b, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= b[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

// ---- deflate ----

static inline void forge_bits(forge *f, unsigned value, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        f->held |= (value >> i & 1) << f->bits;
        if (++f->bits == 8) {
            forge_number(f, f->held, 1);
            f->held = f->bits = 0;
        }
    }
}

static inline void forge_align(forge *f)
{
    if (f->bits) forge_bits(f, 0, 8 - f->bits);
}

/// A stored block of deflate.
static inline void forge_block(forge *f, const void *bytes, size_t n, bool last)
{
    forge_bits(f, last, 1);
    forge_bits(f, 0, 2);
    forge_align(f);
    forge_number(f, n, 2);
    forge_number(f, ~n, 2);
    forge_put(f, bytes, n);
}

/// The last block: 1 + 258 `runs` zero bytes at two bits a run, the most deflate can do. The code
/// has three symbols: 285 (a run of 258) is 0, literal 0 is 10, the end is 11.
static inline void forge_zeros(forge *f, uint64_t runs)
{
    static const unsigned char lengths[18] = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2};
    forge_bits(f, 1, 1);
    forge_bits(f, 2, 2);  // a code of our own
    forge_bits(f, 29, 5); // 286 literals and lengths
    forge_bits(f, 0, 5);  // 1 distance
    forge_bits(f, 14, 4); // 18 lengths of the code for lengths
    for (int i = 0; i < 18; i++) forge_bits(f, lengths[i], 3);
    // In that code: 0 means zeros, as many as 7 bits say and 11; 01 is length 1; 11 is length 2.
    forge_bits(f, 3, 2);        // literal 0: 2
    forge_bits(f, 127 << 1, 8); // 138 times 0
    forge_bits(f, 106 << 1, 8); // 117 times 0
    forge_bits(f, 3, 2);        // the end: 2
    forge_bits(f, 17 << 1, 8);  // 28 times 0
    forge_bits(f, 1, 2);        // 285: 1
    forge_bits(f, 1, 2);        // distance 1: 1
    forge_bits(f, 1, 2);        // a zero
    for (; runs; runs--) forge_bits(f, 0, 2);
    forge_bits(f, 3, 2);
    forge_align(f);
}

// ---- zip ----

/// One member. Zero in an override means the truth.
typedef struct forge_member {
    const char *name;
    const void *bytes; ///< as they lie in the file
    size_t packed, size;
    uint32_t crc;
    int method, flags;
    uint64_t lie_size, lie_packed; ///< what the directory says instead
    uint64_t lie_offset;           ///< 1 + where the directory says it lies
    bool zip64;                    ///< numbers in the extra field
} forge_member;

typedef struct forge_end {
    int lie_count; ///< members more than there are
    int lie_size, lie_offset;
    bool zip64; ///< with the zip64 end record
    uint64_t lie_count64, lie_offset64, lie_at64;
} forge_end;

static inline void forge_local(forge *f, const forge_member *m)
{
    forge_put(f, "PK\3\4", 4);
    forge_number(f, 20, 2);
    forge_number(f, (uint64_t)m->flags, 2);
    forge_number(f, (uint64_t)m->method, 2);
    forge_number(f, 0x210000, 4);
    forge_number(f, m->crc, 4);
    forge_number(f, m->zip64 ? 0xffffffff : m->lie_packed ? m->lie_packed : m->packed, 4);
    forge_number(f, m->zip64 ? 0xffffffff : m->lie_size ? m->lie_size : m->size, 4);
    forge_number(f, strlen(m->name), 2);
    forge_number(f, m->zip64 ? 20 : 0, 2);
    forge_put(f, m->name, strlen(m->name));
    if (m->zip64) {
        forge_number(f, 1 | 16 << 16, 4);
        forge_number(f, m->lie_size ? m->lie_size : m->size, 8);
        forge_number(f, m->lie_packed ? m->lie_packed : m->packed, 8);
    }
    forge_put(f, m->bytes, m->packed);
}

static inline void forge_entry(forge *f, const forge_member *m, uint64_t offset)
{
    if (m->lie_offset) offset = m->lie_offset - 1;
    forge_put(f, "PK\1\2", 4);
    forge_number(f, 20 | 20 << 16, 4);
    forge_number(f, (uint64_t)m->flags, 2);
    forge_number(f, (uint64_t)m->method, 2);
    forge_number(f, 0x210000, 4);
    forge_number(f, m->crc, 4);
    forge_number(f, m->zip64 ? 0xffffffff : m->lie_packed ? m->lie_packed : m->packed, 4);
    forge_number(f, m->zip64 ? 0xffffffff : m->lie_size ? m->lie_size : m->size, 4);
    forge_number(f, strlen(m->name), 2);
    forge_number(f, m->zip64 ? 28 : 0, 2);
    forge_number(f, 0, 2 + 2 + 2 + 4);
    forge_number(f, m->zip64 ? 0xffffffff : offset, 4);
    forge_put(f, m->name, strlen(m->name));
    if (!m->zip64) return;
    forge_number(f, 1 | 24 << 16, 4);
    forge_number(f, m->lie_size ? m->lie_size : m->size, 8);
    forge_number(f, m->lie_packed ? m->lie_packed : m->packed, 8);
    forge_number(f, offset, 8);
}

static inline void forge_zip(forge *f, const forge_member *members, size_t count, forge_end end)
{
    uint64_t offsets[64];
    for (size_t i = 0; i < count; i++) {
        offsets[i] = f->n;
        forge_local(f, &members[i]);
    }
    const uint64_t start = f->n;
    for (size_t i = 0; i < count; i++) forge_entry(f, &members[i], offsets[i]);
    const uint64_t size = f->n - start, at = f->n;
    if (end.zip64) {
        forge_put(f, "PK\6\6", 4);
        forge_number(f, 44, 8);
        forge_number(f, 45 | 45 << 16, 4);
        forge_number(f, 0, 8);
        forge_number(f, count + end.lie_count64, 8);
        forge_number(f, count + end.lie_count64, 8);
        forge_number(f, size, 8);
        forge_number(f, start + end.lie_offset64, 8);
        forge_put(f, "PK\6\7", 4);
        forge_number(f, 0, 4);
        forge_number(f, at + end.lie_at64, 8);
        forge_number(f, 1, 4);
    }
    forge_put(f, "PK\5\6", 4);
    forge_number(f, 0, 4);
    for (int i = 0; i < 2; i++)
        forge_number(f, end.zip64 ? 0xffff : count + (uint64_t)end.lie_count, 2);
    forge_number(f, end.zip64 ? 0xffffffff : size + (uint64_t)end.lie_size, 4);
    forge_number(f, end.zip64 ? 0xffffffff : start + (uint64_t)end.lie_offset, 4);
    forge_number(f, 0, 2);
}

/// A stored member holding `npy`.
static inline forge_member forge_stored(const char *name, const forge *npy)
{
    return (forge_member){.name = name,
                          .bytes = npy->b,
                          .packed = npy->n,
                          .size = npy->n,
                          .crc = forge_crc(npy->b, npy->n)};
}

/// A deflated member holding a .npy of type u1 with 1 + 258 `runs` zeros; `packed` gets the bytes.
/// The checksum is right only if `sum`.
static inline forge_member forge_deflated(const char *name, forge *packed, uint64_t runs, bool sum)
{
    char text[128];
    const uint64_t zeros = 1 + 258 * runs;
    const int n =
        snprintf(text, sizeof text, "{'descr': '|u1', 'fortran_order': False, 'shape': (%llu,), }",
                 (unsigned long long)zeros);
    memset(text + n, ' ', 117 - (size_t)n);
    text[117] = '\n';
    text[118] = 0;
    forge npy = {0};
    forge_npy(&npy, 1, text, sum ? zeros : 0);
    forge_block(packed, npy.b, 128, false);
    forge_zeros(packed, runs);
    forge_member m = {.name = name,
                      .bytes = packed->b,
                      .packed = packed->n,
                      .method = 8,
                      .size = 128 + zeros,
                      .crc = sum ? forge_crc(npy.b, npy.n) : 0x12345678};
    forge_clear(&npy);
    return m;
}

#endif
