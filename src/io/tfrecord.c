// SPDX-License-Identifier: MIT
// Reads TFRecord files. The records of a plain file are found when it is opened, by following the
// lengths. A gzip file is decompressed once for that, and again when it is read.
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

static uint32_t crc_table[8][256];

// Eight tables, so that eight bytes are processed at a time ("slicing by 8"). 0x82f63b78 is the
// reversed polynomial of CRC-32C.
static void init_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        crc_table[0][i] = crc;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++)
            crc_table[t][i] = crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 255];
}

// TFRecord files are little-endian on every machine.
static uint64_t read_little_endian(const unsigned char *bytes_in, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)bytes_in[i] << 8 * i;
    return value;
}

uint32_t tfrecord_crc_reference(const void *data, size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_table);
    const unsigned char *bytes_in = data;
    uint32_t crc = ~0u;
    for (; bytes >= 8; bytes_in += 8, bytes -= 8) {
        const uint64_t word = read_little_endian(bytes_in, 8) ^ crc;
        crc = 0;
        for (int i = 0; i < 8; i++) crc ^= crc_table[7 - i][word >> 8 * i & 255];
    }
    for (; bytes; bytes_in++, bytes--) crc = crc >> 8 ^ crc_table[0][(crc ^ *bytes_in) & 255];
    return ~crc;
}

#if defined(__x86_64__)
// The CRC-32C instruction of SSE 4.2, eight bytes at a time.
__attribute__((target("sse4.2"))) static uint32_t compute_crc_sse42(const void *data, size_t bytes)
{
    const unsigned char *bytes_in = data;
    uint64_t crc = ~0u;
    for (; bytes >= 8; bytes_in += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, bytes_in, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; bytes; bytes_in++, bytes--) crc = _mm_crc32_u8((uint32_t)crc, *bytes_in);
    return ~(uint32_t)crc;
}
#endif

uint32_t tfrecord_crc(const void *data, size_t bytes)
{
#if defined(__x86_64__)
    if (cpu_has("sse4.2")) return compute_crc_sse42(data, bytes);
#endif
    return tfrecord_crc_reference(data, bytes);
}

// Rotated by 15 bits and offset, so that a checksum of data that contain checksums stays useful.
uint32_t tfrecord_masked_crc(const void *data, size_t bytes)
{
    const uint32_t crc = tfrecord_crc(data, bytes);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// Lengths are stored in 8 bytes; checksums are masked CRC-32C, as in TensorFlow.
void tfrecord_frame(unsigned char head[TFRECORD_HEAD], unsigned char tail[TFRECORD_TAIL],
                    const void *data, size_t bytes)
{
    for (int i = 0; i < 8; i++) head[i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    const uint32_t length_crc = tfrecord_masked_crc(head, 8),
                   data_crc = tfrecord_masked_crc(data, bytes);
    for (int i = 0; i < 4; i++) {
        head[8 + i] = (unsigned char)(length_crc >> 8 * i);
        tail[i] = (unsigned char)(data_crc >> 8 * i);
    }
}

// ---- finding records ----

// The file ends inside this record.
static plumb_status reject_truncated(const tfrecord *file, int64_t record)
{
    return fail(PLUMB_EFORMAT, "%s: record %lld is cut short", file->file.path, (long long)record);
}

// Checks the checksum of a length and returns the length.
static plumb_status check_head(uint64_t *length, const unsigned char head[TFRECORD_HEAD],
                               const tfrecord *file, int64_t record)
{
    if (read_little_endian(head + 8, 4) != tfrecord_masked_crc(head, 8))
        return fail(PLUMB_EFORMAT, "%s: record %lld: the checksum of the length is wrong%s",
                    file->file.path, (long long)record,
                    record ? "" : "; damaged, or not a TFRecord file");
    *length = read_little_endian(head, 8);
    if (*length >= TFRECORD_MAX_LENGTH)
        return fail(PLUMB_EFORMAT, "%s: record %lld promises %llu bytes, more than a record can be",
                    file->file.path, (long long)record, (unsigned long long)*length);
    return PLUMB_OK;
}

// Appends the start of a record to the list of offsets.
static plumb_status append_offset(tfrecord *file, uint64_t offset)
{
    if ((size_t)file->count >= file->capacity) {
        const size_t capacity = file->capacity ? 2 * file->capacity : 64;
        uint64_t *grown = realloc(file->offset, capacity * sizeof *grown);
        if (!grown) return fail(PLUMB_EMEMORY, "%s: no memory for its records", file->file.path);
        file->offset = grown;
        file->capacity = capacity;
    }
    file->offset[file->count] = offset;
    return PLUMB_OK;
}

// Follows the lengths through a plain file. The last offset is the end of the file.
static plumb_status scan_plain(tfrecord *file)
{
    const uint64_t size = (uint64_t)file->file.size;
    uint64_t position = 0;
    while (position < size) {
        unsigned char head[TFRECORD_HEAD];
        uint64_t length = 0;
        if (size - position < TFRECORD_HEAD) return reject_truncated(file, file->count);
        plumb_status st = input_file_read(head, &file->file, position, TFRECORD_HEAD);
        if (!st) st = check_head(&length, head, file, file->count);
        if (!st && size - position - TFRECORD_HEAD < length + TFRECORD_TAIL)
            st = fail(PLUMB_EFORMAT,
                      "%s: record %lld is cut short: %llu bytes are promised, %llu are there",
                      file->file.path, (long long)file->count,
                      (unsigned long long)(length + TFRECORD_TAIL),
                      (unsigned long long)(size - position - TFRECORD_HEAD));
        if (!st) st = append_offset(file, position);
        if (st) return st;
        position += TFRECORD_HEAD + length + TFRECORD_TAIL;
        file->count++;
    }
    return append_offset(file, position);
}

// Reads `bytes` bytes of a gzip file. `*present` is false at the end of the stream, which is an
// error unless `may_end`.
static plumb_status read_stream(bool *present, tfrecord *file, void *out, size_t bytes,
                                bool may_end)
{
    size_t got;
    const plumb_status st = deflate_read(&got, file->reader, out, bytes);
    if (st) return fail(st, "%s, in record %lld", plumb_last_error(), (long long)file->next);
    *present = got == bytes;
    return *present || (may_end && got == 0) ? PLUMB_OK : reject_truncated(file, file->next);
}

// Reads data and checksum in steps of 1 MiB, so that a false length allocates no more than the
// stream contains. Without `keep` the bytes are only skipped.
static plumb_status read_payload(tfrecord *file, uint64_t length, bool keep)
{
    bool present;
    buffer_reset(&file->bytes);
    for (uint64_t remaining = length + TFRECORD_TAIL; remaining;) {
        const size_t step = remaining < 1 << 20 ? (size_t)remaining : 1 << 20;
        if (!keep) buffer_reset(&file->bytes);
        unsigned char *place = buffer_grow(&file->bytes, step);
        if (!place)
            return fail(PLUMB_EMEMORY, "%s: no memory for record %lld of %llu bytes",
                        file->file.path, (long long)file->next, (unsigned long long)length);
        const plumb_status st = read_stream(&present, file, place, step, false);
        if (st) return st;
        remaining -= step;
    }
    return PLUMB_OK;
}

// Reads the next record of a gzip file. `*present` is false past the end.
static plumb_status read_next_record(bool *present, tfrecord *file, bool keep)
{
    unsigned char head[TFRECORD_HEAD];
    uint64_t length = 0;
    plumb_status st = read_stream(present, file, head, TFRECORD_HEAD, true);
    if (st || !*present) return st;
    st = check_head(&length, head, file, file->next);
    if (!st) st = read_payload(file, length, keep);
    if (!st) file->next++;
    return st;
}

// Decompresses the whole file once to count the records.
static plumb_status scan_gzip(tfrecord *file)
{
    bool present = true;
    plumb_status st = deflate_open(&file->reader, &file->file);
    while (!st && present) st = read_next_record(&present, file, false);
    if (st) return st;
    file->count = file->next;
    file->next = 0;
    deflate_rewind(file->reader);
    return PLUMB_OK;
}

// Counts the records once: plain files by their lengths, gzip files by decompressing them.
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

// Also valid after a failed open.
void tfrecord_close(tfrecord *file)
{
    deflate_close(file->reader);
    buffer_clear(&file->bytes);
    free(file->offset);
    input_file_close(&file->file);
    *file = (tfrecord){.file.fd = -1};
}

// ---- reading records ----

// Reads forward to a record, from the start if it is behind the current position.
static plumb_status load_gzip(tfrecord *file, int64_t record)
{
    bool present = true;
    plumb_status st = PLUMB_OK;
    if (record < file->next) {
        deflate_rewind(file->reader);
        file->next = 0;
    }
    while (!st && present && file->next <= record)
        st = read_next_record(&present, file, file->next == record);
    return st || present ? st : reject_truncated(file, record);
}

// Reads the data and checksum of a record at its offset.
static plumb_status load_plain(tfrecord *file, int64_t record)
{
    const uint64_t start = file->offset[record] + TFRECORD_HEAD;
    const size_t bytes = (size_t)(file->offset[record + 1] - start);
    buffer_reset(&file->bytes);
    unsigned char *place = buffer_grow(&file->bytes, bytes);
    if (!place)
        return fail(PLUMB_EMEMORY, "%s: no memory for record %lld of %zu bytes", file->file.path,
                    (long long)record, bytes);
    return input_file_read(place, &file->file, start, bytes);
}

plumb_status tfrecord_read(const unsigned char **data, size_t *bytes, tfrecord *file,
                           int64_t record)
{
    if (file->loaded != record) {
        file->loaded = -1;
        const plumb_status st = file->reader ? load_gzip(file, record) : load_plain(file, record);
        if (st) return st;
        const size_t length = file->bytes.size - TFRECORD_TAIL;
        if (read_little_endian(file->bytes.data + length, 4) !=
            tfrecord_masked_crc(file->bytes.data, length))
            return fail(PLUMB_EFORMAT, "%s: record %lld: the checksum of the data is wrong",
                        file->file.path, (long long)record);
        file->loaded = record;
    }
    *data = file->bytes.data;
    *bytes = file->bytes.size - TFRECORD_TAIL;
    return PLUMB_OK;
}
