// SPDX-License-Identifier: MIT
// Records of a plain file are found when it is opened, by going from length to length; a gzip file
// is unpacked once for that, and again when it is read.
#define _GNU_SOURCE
#include "io/tfrecord.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// ---- checksum ----

static uint32_t table[8][256];

// Eight tables, so that eight bytes go at once.
static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        table[0][i] = crc;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 255];
}

static uint64_t get(const unsigned char *b, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)b[i] << 8 * i;
    return value;
}

uint32_t tfrecord_crc_table(const void *data, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    const unsigned char *b = data;
    uint32_t crc = ~0u;
    for (; bytes >= 8; b += 8, bytes -= 8) {
        const uint64_t word = get(b, 8) ^ crc;
        crc = 0;
        for (int i = 0; i < 8; i++) crc ^= table[7 - i][word >> 8 * i & 255];
    }
    for (; bytes; b++, bytes--) crc = crc >> 8 ^ table[0][(crc ^ *b) & 255];
    return ~crc;
}

#if defined(__x86_64__)
// The processor's own instruction, eight bytes at a time.
__attribute__((target("sse4.2"))) static uint32_t crc_instruction(const void *data, size_t bytes)
{
    const unsigned char *b = data;
    uint64_t crc = ~0u;
    for (; bytes >= 8; b += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, b, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; bytes; b++, bytes--) crc = _mm_crc32_u8((uint32_t)crc, *b);
    return ~(uint32_t)crc;
}
#endif

uint32_t tfrecord_crc(const void *data, size_t bytes)
{
#if defined(__x86_64__)
    if (cpu_has("sse4.2")) return crc_instruction(data, bytes);
#endif
    return tfrecord_crc_table(data, bytes);
}

uint32_t tfrecord_masked(const void *data, size_t bytes)
{
    const uint32_t crc = tfrecord_crc(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

void tfrecord_frame(unsigned char head[TFRECORD_HEAD], unsigned char tail[TFRECORD_TAIL],
                    const void *data, size_t bytes)
{
    for (int i = 0; i < 8; i++) head[i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    const uint32_t length = tfrecord_masked(head, 8), sum = tfrecord_masked(data, bytes);
    for (int i = 0; i < 4; i++) {
        head[8 + i] = (unsigned char)(length >> 8 * i);
        tail[i] = (unsigned char)(sum >> 8 * i);
    }
}

// ---- finding records ----

static plumb_status cut_short(const tfrecord *f, int64_t record)
{
    return fail(PLUMB_EFORMAT, "%s: record %lld is cut short", f->file.path, (long long)record);
}

static plumb_status check_head(uint64_t *length, const unsigned char head[TFRECORD_HEAD],
                               const tfrecord *f, int64_t record)
{
    if (get(head + 8, 4) != tfrecord_masked(head, 8))
        return fail(PLUMB_EFORMAT, "%s: record %lld: the checksum of the length is wrong%s",
                    f->file.path, (long long)record,
                    record ? "" : "; damaged, or not a TFRecord file");
    *length = get(head, 8);
    if (*length >= TFRECORD_LIMIT)
        return fail(PLUMB_EFORMAT, "%s: record %lld promises %llu bytes, more than a record can be",
                    f->file.path, (long long)record, (unsigned long long)*length);
    return PLUMB_OK;
}

static plumb_status note(tfrecord *f, uint64_t offset)
{
    if ((size_t)f->count >= f->room) {
        const size_t room = f->room ? 2 * f->room : 64;
        uint64_t *grown = realloc(f->offset, room * sizeof *grown);
        if (!grown) return fail(PLUMB_EMEMORY, "%s: no memory for its records", f->file.path);
        f->offset = grown;
        f->room = room;
    }
    f->offset[f->count] = offset;
    return PLUMB_OK;
}

static plumb_status scan_plain(tfrecord *f)
{
    const uint64_t size = (uint64_t)f->file.size;
    uint64_t at = 0;
    while (at < size) {
        unsigned char head[TFRECORD_HEAD];
        uint64_t length = 0;
        if (size - at < TFRECORD_HEAD) return cut_short(f, f->count);
        plumb_status st = input_file_read(head, &f->file, at, TFRECORD_HEAD);
        if (!st) st = check_head(&length, head, f, f->count);
        if (!st && size - at - TFRECORD_HEAD < length + TFRECORD_TAIL)
            st = fail(PLUMB_EFORMAT,
                      "%s: record %lld is cut short: %llu bytes are promised, %llu are there",
                      f->file.path, (long long)f->count,
                      (unsigned long long)(length + TFRECORD_TAIL),
                      (unsigned long long)(size - at - TFRECORD_HEAD));
        if (!st) st = note(f, at);
        if (st) return st;
        at += TFRECORD_HEAD + length + TFRECORD_TAIL;
        f->count++;
    }
    return note(f, at);
}

// All of it, or nothing at the very end; in between it is cut.
static plumb_status pull(bool *there, tfrecord *f, void *out, size_t bytes, bool may_end)
{
    size_t got;
    const plumb_status st = deflate_read(&got, f->unpack, out, bytes);
    if (st) return fail(st, "%s, in record %lld", plumb_last_error(), (long long)f->next);
    *there = got == bytes;
    return *there || (may_end && got == 0) ? PLUMB_OK : cut_short(f, f->next);
}

// The bytes are taken as they come, so that a length that lies costs no more than what is there.
static plumb_status pull_payload(tfrecord *f, uint64_t length, bool keep)
{
    bool there;
    buffer_reset(&f->bytes);
    for (uint64_t left = length + TFRECORD_TAIL; left;) {
        const size_t step = left < 1 << 20 ? (size_t)left : 1 << 20;
        if (!keep) buffer_reset(&f->bytes);
        unsigned char *place = buffer_grow(&f->bytes, step);
        if (!place)
            return fail(PLUMB_EMEMORY, "%s: no memory for record %lld of %llu bytes", f->file.path,
                        (long long)f->next, (unsigned long long)length);
        const plumb_status st = pull(&there, f, place, step, false);
        if (st) return st;
        left -= step;
    }
    return PLUMB_OK;
}

// The next record of a gzip file; `*there` is false behind the last.
static plumb_status pull_record(bool *there, tfrecord *f, bool keep)
{
    unsigned char head[TFRECORD_HEAD];
    uint64_t length = 0;
    plumb_status st = pull(there, f, head, TFRECORD_HEAD, true);
    if (st || !*there) return st;
    st = check_head(&length, head, f, f->next);
    if (!st) st = pull_payload(f, length, keep);
    if (!st) f->next++;
    return st;
}

static plumb_status scan_gzip(tfrecord *f)
{
    bool there = true;
    plumb_status st = deflate_open(&f->unpack, &f->file);
    while (!st && there) st = pull_record(&there, f, false);
    if (st) return st;
    f->count = f->next;
    f->next = 0;
    deflate_rewind(f->unpack);
    return PLUMB_OK;
}

plumb_status tfrecord_open(tfrecord *out, const char *path)
{
    *out = (tfrecord){.loaded = -1};
    plumb_status st = input_file_open(&out->file, path);
    if (st) {
        out->file.fd = -1;
        return st;
    }
    bool packed = false;
    st = deflate_is_gzip(&packed, &out->file);
    if (!st) st = packed ? scan_gzip(out) : scan_plain(out);
    if (st) tfrecord_close(out);
    return st;
}

void tfrecord_close(tfrecord *file)
{
    deflate_close(file->unpack);
    buffer_clear(&file->bytes);
    free(file->offset);
    input_file_close(&file->file);
    *file = (tfrecord){.file.fd = -1};
}

// ---- reading them ----

static plumb_status load_gzip(tfrecord *f, int64_t record)
{
    bool there = true;
    plumb_status st = PLUMB_OK;
    if (record < f->next) {
        deflate_rewind(f->unpack);
        f->next = 0;
    }
    while (!st && there && f->next <= record) st = pull_record(&there, f, f->next == record);
    return st || there ? st : cut_short(f, record);
}

static plumb_status load_plain(tfrecord *f, int64_t record)
{
    const uint64_t start = f->offset[record] + TFRECORD_HEAD;
    const size_t bytes = (size_t)(f->offset[record + 1] - start);
    buffer_reset(&f->bytes);
    unsigned char *place = buffer_grow(&f->bytes, bytes);
    if (!place)
        return fail(PLUMB_EMEMORY, "%s: no memory for record %lld of %zu bytes", f->file.path,
                    (long long)record, bytes);
    return input_file_read(place, &f->file, start, bytes);
}

plumb_status tfrecord_read(const unsigned char **data, size_t *bytes, tfrecord *f, int64_t record)
{
    if (f->loaded != record) {
        f->loaded = -1;
        const plumb_status st = f->unpack ? load_gzip(f, record) : load_plain(f, record);
        if (st) return st;
        const size_t length = f->bytes.size - TFRECORD_TAIL;
        if (get(f->bytes.data + length, 4) != tfrecord_masked(f->bytes.data, length))
            return fail(PLUMB_EFORMAT, "%s: record %lld: the checksum of the data is wrong",
                        f->file.path, (long long)record);
        f->loaded = record;
    }
    *data = f->bytes.data;
    *bytes = f->bytes.size - TFRECORD_TAIL;
    return PLUMB_OK;
}
