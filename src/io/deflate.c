// SPDX-License-Identifier: MIT
#include "io/deflate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 1 << 16, GZIP_WINDOW = 15 + 16, RAW_WINDOW = -15, LEVEL = 6 };

// ---- in ----

struct deflate_reader {
    const input_file *file;
    uint64_t at; // of the next bytes of the file
    z_stream z;
    bool ended; // this member; another may follow
    unsigned char piece[PIECE];
};

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
    deflate_reader *s = calloc(1, sizeof *s);
    if (!s || inflateInit2(&s->z, GZIP_WINDOW) != Z_OK) {
        free(s);
        return fail(PLUMB_EMEMORY, "%s: no memory to unpack it", file->path);
    }
    s->file = file;
    *out = s;
    return PLUMB_OK;
}

void deflate_close(deflate_reader *source)
{
    if (!source) return;
    inflateEnd(&source->z);
    free(source);
}

void deflate_rewind(deflate_reader *source)
{
    inflateReset(&source->z);
    source->z.avail_in = 0;
    source->at = 0;
    source->ended = false;
}

// More packed bytes; false at the end of the file.
static plumb_status refill(bool *more, deflate_reader *s)
{
    const uint64_t left = (uint64_t)s->file->size - s->at;
    const size_t step = left < PIECE ? (size_t)left : PIECE;
    *more = step > 0;
    if (!step) return PLUMB_OK;
    const plumb_status st = input_file_read(s->piece, s->file, s->at, step);
    if (st) return st;
    s->at += step;
    s->z.next_in = s->piece;
    s->z.avail_in = (uInt)step;
    return PLUMB_OK;
}

plumb_status deflate_read(size_t *got, deflate_reader *s, void *out, size_t bytes)
{
    *got = 0;
    while (*got < bytes) {
        if (!s->z.avail_in) {
            bool more;
            const plumb_status st = refill(&more, s);
            if (st) return st;
            if (!more && s->ended) return PLUMB_OK;
            if (!more)
                return fail(PLUMB_EFORMAT, "%s: the gzip stream is cut short", s->file->path);
        }
        if (s->ended) { // what follows is another member, or no gzip
            inflateReset(&s->z);
            s->ended = false;
        }
        const size_t step = bytes - *got < 1 << 30 ? bytes - *got : 1 << 30;
        s->z.next_out = (unsigned char *)out + *got;
        s->z.avail_out = (uInt)step;
        const int code = inflate(&s->z, Z_NO_FLUSH);
        *got += step - s->z.avail_out;
        if (code == Z_STREAM_END) s->ended = true;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            return fail(PLUMB_EFORMAT, "%s: the gzip stream is damaged: %s", s->file->path,
                        s->z.msg ? s->z.msg : "no gzip");
    }
    return PLUMB_OK;
}

// ---- out ----

struct deflate_writer {
    z_stream z;
    deflate_output *write;
    void *context;
    const char *path;
    unsigned char piece[PIECE];
};

plumb_status deflate_create(deflate_writer **out, deflate_kind kind, deflate_output *write,
                            void *context, const char *path)
{
    deflate_writer *s = calloc(1, sizeof *s);
    if (!s ||
        deflateInit2(&s->z, LEVEL, Z_DEFLATED, kind == DEFLATE_GZIP ? GZIP_WINDOW : RAW_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(s);
        return fail(PLUMB_EMEMORY, "%s: no memory to pack it", path);
    }
    s->write = write;
    s->context = context;
    s->path = path;
    *out = s;
    return PLUMB_OK;
}

static plumb_status run(deflate_writer *s, int flush)
{
    do {
        s->z.next_out = s->piece;
        s->z.avail_out = PIECE;
        deflate(&s->z, flush);
        if (!s->write(s->context, s->piece, PIECE - s->z.avail_out))
            return fail(PLUMB_EFILE, "%s: cannot be written: %s", s->path, strerror(errno));
    } while (s->z.avail_out == 0);
    return PLUMB_OK;
}

plumb_status deflate_write(deflate_writer *s, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    plumb_status st = PLUMB_OK;
    while (bytes && !st) {
        const size_t step = bytes < 1 << 30 ? bytes : 1 << 30;
        s->z.next_in = (unsigned char *)(uintptr_t)from; // zlib does not write to it
        s->z.avail_in = (uInt)step;
        st = run(s, Z_NO_FLUSH);
        from += step;
        bytes -= step;
    }
    return st;
}

plumb_status deflate_finish(deflate_writer *s)
{
    s->z.avail_in = 0;
    return run(s, Z_FINISH);
}

void deflate_free(deflate_writer *sink)
{
    if (!sink) return;
    deflateEnd(&sink->z);
    free(sink);
}

uint32_t deflate_crc(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}
