// SPDX-License-Identifier: MIT
// gzip input and deflate output through zlib, in chunks of 64 KiB, so that a file of any size needs
// little memory.
#include "io/deflate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_SIZE = 1 << 16, GZIP_WINDOW = 15 + 16, RAW_WINDOW = -15, COMPRESSION_LEVEL = 6 };

// ---- reading ----

struct deflate_reader {
    const input_file *file;
    uint64_t offset; // position of the next compressed byte in the file
    z_stream stream;
    bool ended; // the current member has ended; another may follow
    unsigned char chunk[CHUNK_SIZE];
};

// A gzip file begins with 1f 8b.
plumb_status deflate_is_gzip(bool *out, const input_file *file)
{
    unsigned char magic[2] = {0};
    if (file->size >= 2) {
        const plumb_status st = input_file_read(magic, file, 0, 2);
        if (st) return st;
    }
    *out = magic[0] == 0x1f && magic[1] == 0x8b;
    return PLUMB_OK;
}

plumb_status deflate_open(deflate_reader **out, const input_file *file)
{
    deflate_reader *reader = calloc(1, sizeof *reader);
    if (!reader || inflateInit2(&reader->stream, GZIP_WINDOW) != Z_OK) {
        free(reader);
        return fail(PLUMB_EMEMORY, "%s: no memory to unpack it", file->path);
    }
    reader->file = file;
    *out = reader;
    return PLUMB_OK;
}

void deflate_close(deflate_reader *reader)
{
    if (!reader) return;
    inflateEnd(&reader->stream);
    free(reader);
}

// Back to the start of the stream: a gzip file cannot be read backwards.
void deflate_rewind(deflate_reader *reader)
{
    inflateReset(&reader->stream);
    reader->stream.avail_in = 0;
    reader->offset = 0;
    reader->ended = false;
}

// Reads the next compressed bytes. `*more` is false at the end of the file.
static plumb_status refill_input(bool *more, deflate_reader *reader)
{
    const uint64_t left = (uint64_t)reader->file->size - reader->offset;
    const size_t step = left < CHUNK_SIZE ? (size_t)left : CHUNK_SIZE;
    *more = step > 0;
    if (!step) return PLUMB_OK;
    const plumb_status st = input_file_read(reader->chunk, reader->file, reader->offset, step);
    if (st) return st;
    reader->offset += step;
    reader->stream.next_in = reader->chunk;
    reader->stream.avail_in = (uInt)step;
    return PLUMB_OK;
}

plumb_status deflate_read(size_t *got, deflate_reader *reader, void *out, size_t bytes)
{
    *got = 0;
    while (*got < bytes) {
        // Input used up: read more. The end of the file is valid only between two members.
        if (!reader->stream.avail_in) {
            bool more;
            const plumb_status st = refill_input(&more, reader);
            if (st) return st;
            if (!more && reader->ended) return PLUMB_OK;
            if (!more)
                return fail(PLUMB_EFORMAT, "%s: the gzip stream is cut short", reader->file->path);
        }
        if (reader->ended) { // the next bytes must be another gzip member
            inflateReset(&reader->stream);
            reader->ended = false;
        }
        // zlib counts in 32 bits, so at most 1 GiB per call.
        const size_t step = bytes - *got < 1 << 30 ? bytes - *got : 1 << 30;
        reader->stream.next_out = (unsigned char *)out + *got;
        reader->stream.avail_out = (uInt)step;
        const int code = inflate(&reader->stream, Z_NO_FLUSH);
        *got += step - reader->stream.avail_out;
        if (code == Z_STREAM_END) reader->ended = true;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return fail(PLUMB_EFORMAT, "%s: the gzip stream is damaged: %s", reader->file->path,
                        reader->stream.msg ? reader->stream.msg : "no gzip");
    }
    return PLUMB_OK;
}

// ---- writing ----

struct deflate_writer {
    z_stream stream;
    deflate_output *write;
    void *context;
    const char *path; // for messages
    unsigned char chunk[CHUNK_SIZE];
};

plumb_status deflate_create(deflate_writer **out, deflate_kind kind, deflate_output *write,
                            void *context, const char *path)
{
    deflate_writer *writer = calloc(1, sizeof *writer);
    if (!writer || deflateInit2(&writer->stream, COMPRESSION_LEVEL, Z_DEFLATED,
                                kind == DEFLATE_GZIP ? GZIP_WINDOW : RAW_WINDOW, 8,
                                Z_DEFAULT_STRATEGY) != Z_OK) {
        free(writer);
        return fail(PLUMB_EMEMORY, "%s: no memory to pack it", path);
    }
    writer->write = write;
    writer->context = context;
    writer->path = path;
    *out = writer;
    return PLUMB_OK;
}

// Compresses the pending input and hands full chunks to the caller's function. zlib has taken all
// input when it leaves space in the chunk.
static plumb_status deflate_input(deflate_writer *writer, int flush)
{
    do {
        writer->stream.next_out = writer->chunk;
        writer->stream.avail_out = CHUNK_SIZE;
        deflate(&writer->stream, flush);
        if (!writer->write(writer->context, writer->chunk, CHUNK_SIZE - writer->stream.avail_out))
            return fail(PLUMB_EFILE, "%s: cannot be written: %s", writer->path, strerror(errno));
    } while (writer->stream.avail_out == 0);
    return PLUMB_OK;
}

plumb_status deflate_write(deflate_writer *writer, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    plumb_status st = PLUMB_OK;
    while (bytes && !st) {
        const size_t step = bytes < 1 << 30 ? bytes : 1 << 30;
        writer->stream.next_in = (unsigned char *)(uintptr_t)from; // zlib only reads it
        writer->stream.avail_in = (uInt)step;
        st = deflate_input(writer, Z_NO_FLUSH);
        from += step;
        bytes -= step;
    }
    return st;
}

plumb_status deflate_finish(deflate_writer *writer)
{
    writer->stream.avail_in = 0;
    return deflate_input(writer, Z_FINISH);
}

void deflate_free(deflate_writer *writer)
{
    if (!writer) return;
    deflateEnd(&writer->stream);
    free(writer);
}

uint32_t deflate_crc(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}

uint32_t deflate_adler(const void *data, size_t bytes)
{
    return (uint32_t)adler32_z(adler32(0, Z_NULL, 0), data, bytes);
}
