// SPDX-License-Identifier: MIT
// Event: wall_time = 1 (double), step = 2 (varint), file_version = 3 (text), summary = 5.
// Summary: value = 1. Value: tag = 1 (text), simple_value = 2 (float).
#define _GNU_SOURCE
#include "io/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "io/tfrecord.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };
enum { EVENT_LIMIT = 1 << 16 };

struct tensorboard_writer {
    int fd;
    char path[4096];
    buffer bytes; // what is being put together
    buffer part;
    buffer whole;
};

// ---- putting together ----

static void put_varint(buffer *b, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        buffer_put(b, &(unsigned char){(unsigned char)(value | 128)}, 1);
    buffer_put(b, &(unsigned char){(unsigned char)value}, 1);
}

static void put_tag(buffer *b, unsigned number, unsigned wire)
{
    put_varint(b, number << 3 | wire);
}

static void put_bytes(buffer *b, unsigned number, const void *data, size_t bytes)
{
    put_tag(b, number, LENGTH);
    put_varint(b, bytes);
    buffer_put(b, data, bytes);
}

static void put_fixed(buffer *b, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buffer_put(b, &(unsigned char){(unsigned char)(bits >> 8 * i)}, 1);
}

static void begin_event(buffer *b, int64_t step)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    const double wall = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &wall, 8);
    buffer_reset(b);
    put_tag(b, 1, FIXED64);
    put_fixed(b, bits, 8);
    put_tag(b, 2, VARINT);
    put_varint(b, (uint64_t)step);
}

// The record around `bytes`, behind what is in `whole` already.
static void frame(tensorboard_writer *e)
{
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    tfrecord_frame(head, tail, e->bytes.data, e->bytes.size);
    buffer_put(&e->whole, head, sizeof head);
    buffer_put(&e->whole, e->bytes.data, e->bytes.size);
    buffer_put(&e->whole, tail, sizeof tail);
}

static plumb_status flush(tensorboard_writer *e)
{
    if (e->bytes.failed || e->part.failed || e->whole.failed)
        return fail(PLUMB_EMEMORY, "%s: no memory to write it", e->path);
    // One write a line, so that a kill leaves whole lines or one that the next opening cuts off.
    const ssize_t done = write(e->fd, e->whole.data, e->whole.size);
    if (done == (ssize_t)e->whole.size) return PLUMB_OK;
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", e->path,
                done < 0 ? strerror(errno) : "the disk is full");
}

plumb_status tensorboard_write(tensorboard_writer *e, int64_t step, const char *const *tags,
                               const double *values, int64_t count)
{
    buffer_reset(&e->whole);
    for (int64_t i = 0; i < count; i++) {
        const float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, 4);
        buffer_reset(&e->part);
        put_bytes(&e->part, 1, tags[i], strlen(tags[i]));
        put_tag(&e->part, 2, FIXED32);
        put_fixed(&e->part, bits, 4);
        // Event { Summary { Value } }: the length of the outer is known from the inner one.
        const size_t inner = e->part.size;
        begin_event(&e->bytes, step);
        put_tag(&e->bytes, 5, LENGTH);
        size_t around = 2;
        for (size_t n = inner; n >= 128; n >>= 7) around++;
        put_varint(&e->bytes, inner + around);
        put_bytes(&e->bytes, 1, e->part.data, inner);
        frame(e);
    }
    return flush(e);
}

// ---- taking apart ----

static bool take_varint(uint64_t *out, const unsigned char **at, const unsigned char *end)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char b = *(*at)++;
        *out |= (uint64_t)(b & 127) << shift;
        if (b < 128) return true;
    }
    return false;
}

static uint64_t take_fixed(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

// Walks over the fields of a message; `level` 0 is the event, 1 its summary, 2 a value.
static bool walk(tensorboard_event *out, const unsigned char *at, const unsigned char *end,
                 int level)
{
    while (at < end) {
        uint64_t tag, length = 0;
        if (!take_varint(&tag, &at, end)) return false;
        const uint64_t number = tag >> 3;
        switch (tag & 7) {
        case VARINT: {
            uint64_t value;
            if (!take_varint(&value, &at, end)) return false;
            if (level == 0 && number == 2) out->step = (int64_t)value;
            continue;
        }
        case FIXED64: length = 8; break;
        case FIXED32: length = 4; break;
        case LENGTH:
            if (!take_varint(&length, &at, end)) return false;
            break;
        default: return false;
        }
        if (length > (uint64_t)(end - at)) return false;
        if (level == 0 && number == 1 && length == 8) {
            const uint64_t bits = take_fixed(at, 8);
            memcpy(&out->wall, &bits, 8);
        } else if (level == 2 && number == 1 && (tag & 7) == LENGTH) {
            snprintf(out->tag, sizeof out->tag, "%.*s", length < 64 ? (int)length : 63,
                     (const char *)at);
        } else if (level == 2 && number == 2 && length == 4) {
            const uint32_t bits = (uint32_t)take_fixed(at, 4);
            memcpy(&out->value, &bits, 4);
        } else if ((tag & 7) == LENGTH && level < 2 && number == (level == 0 ? 5 : 1)) {
            if (!walk(out, at, at + length, level + 1)) return false;
        }
        at += length;
    }
    return true;
}

bool tensorboard_parse(tensorboard_event *out, const unsigned char *data, uint64_t bytes)
{
    *out = (tensorboard_event){0};
    return walk(out, data, data + bytes, 0);
}

// ---- opening ----

// How far the file is whole and of steps up to `step`.
static plumb_status measure(off_t *keep, const tensorboard_writer *e, int64_t step)
{
    input_file in;
    *keep = 0;
    plumb_status st = input_file_open(&in, e->path);
    if (st) return st;
    unsigned char *room = malloc(EVENT_LIMIT);
    if (!room) st = fail(PLUMB_EMEMORY, "%s: no memory to open it", e->path);
    while (!st && in.size - *keep >= TFRECORD_HEAD + TFRECORD_TAIL) {
        unsigned char head[TFRECORD_HEAD], again[TFRECORD_HEAD], tail[TFRECORD_TAIL];
        st = input_file_read(head, &in, (uint64_t)*keep, sizeof head);
        if (st) break;
        const uint64_t length = take_fixed(head, 8);
        const uint64_t left = (uint64_t)(in.size - *keep) - TFRECORD_HEAD;
        if (length > EVENT_LIMIT - TFRECORD_TAIL || length + TFRECORD_TAIL > left) break;
        st = input_file_read(room, &in, (uint64_t)*keep + TFRECORD_HEAD,
                             (size_t)length + TFRECORD_TAIL);
        if (st) break;
        tfrecord_frame(again, tail, room, (size_t)length);
        tensorboard_event event;
        if (memcmp(head, again, sizeof head) || memcmp(tail, room + length, sizeof tail) ||
            !tensorboard_parse(&event, room, length) || event.step > step)
            break;
        *keep += (off_t)(TFRECORD_HEAD + length + TFRECORD_TAIL);
    }
    free(room);
    input_file_close(&in);
    return st;
}

plumb_status tensorboard_open(tensorboard_writer **out, const char *path, int64_t step)
{
    tensorboard_writer *e = calloc(1, sizeof *e);
    if (!e) return fail(PLUMB_EMEMORY, "%s: no memory to open it", path);
    snprintf(e->path, sizeof e->path, "%s", path);
    off_t keep = 0;
    plumb_status st = PLUMB_OK;
    e->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (e->fd < 0) st = fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    if (!st) st = measure(&keep, e, step);
    if (!st && (ftruncate(e->fd, keep) || lseek(e->fd, keep, SEEK_SET) != keep))
        st = fail(PLUMB_EFILE, "%s: cannot be cut: %s", path, strerror(errno));
    if (!st && !keep) { // the first event says what the others are
        static const char version[] = "brain.Event:2";
        begin_event(&e->bytes, 0);
        put_bytes(&e->bytes, 3, version, sizeof version - 1);
        frame(e);
        st = flush(e);
    }
    if (st) tensorboard_close(e);
    else *out = e;
    return st;
}

void tensorboard_close(tensorboard_writer *e)
{
    if (!e) return;
    if (e->fd >= 0) close(e->fd);
    buffer_clear(&e->bytes);
    buffer_clear(&e->part);
    buffer_clear(&e->whole);
    free(e);
}
