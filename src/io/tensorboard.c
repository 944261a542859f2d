// SPDX-License-Identifier: MIT
// Writes TensorBoard event files. The protobuf fields that are used:
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

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };
enum { MAX_EVENT_BYTES = 1 << 16 };

struct tensorboard_writer {
    int fd;
    char path[4096];
    buffer event;   // the Event message under construction
    buffer value;   // the Value message inside it
    buffer records; // framed events, written together
};

// ---- writing messages ----

// Appends a varint: 7 bits per byte, low bits first.
static void put_varint(buffer *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        buffer_put(out, &(unsigned char){(unsigned char)(value | 128)}, 1);
    buffer_put(out, &(unsigned char){(unsigned char)value}, 1);
}

static void put_tag(buffer *out, unsigned number, unsigned wire_type)
{
    put_varint(out, number << 3 | wire_type);
}

// Appends a field of bytes: tag, length, data.
static void put_bytes(buffer *out, unsigned number, const void *data, size_t bytes)
{
    put_tag(out, number, WIRE_LENGTH);
    put_varint(out, bytes);
    buffer_put(out, data, bytes);
}

static void put_fixed(buffer *out, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buffer_put(out, &(unsigned char){(unsigned char)(bits >> 8 * i)}, 1);
}

// Starts an Event with the current time and its step.
static void begin_event(buffer *out, int64_t step)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double wall = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &wall, 8);
    buffer_reset(out);
    put_tag(out, 1, WIRE_FIXED64);
    put_fixed(out, bits, 8);
    put_tag(out, 2, WIRE_VARINT);
    put_varint(out, (uint64_t)step);
}

// Appends the event to `records` as a TFRecord.
static void frame_event(tensorboard_writer *writer)
{
    unsigned char head[TFRECORD_HEAD], tail[TFRECORD_TAIL];
    tfrecord_frame(head, tail, writer->event.data, writer->event.size);
    buffer_put(&writer->records, head, sizeof head);
    buffer_put(&writer->records, writer->event.data, writer->event.size);
    buffer_put(&writer->records, tail, sizeof tail);
}

// Writes `records` to the file.
static plumb_status flush_records(tensorboard_writer *writer)
{
    if (writer->event.failed || writer->value.failed || writer->records.failed)
        return fail(PLUMB_EMEMORY, "%s: no memory to write it", writer->path);
    // One write call, so that after a kill at most the last record is incomplete. The next open
    // removes it.
    const ssize_t done = write(writer->fd, writer->records.data, writer->records.size);
    if (done == (ssize_t)writer->records.size) return PLUMB_OK;
    return fail(PLUMB_EFILE, "%s: cannot be written: %s", writer->path,
                done < 0 ? strerror(errno) : "the disk is full");
}

plumb_status tensorboard_write(tensorboard_writer *writer, int64_t step, const char *const *tags,
                               const double *values, int64_t count)
{
    buffer_reset(&writer->records);
    for (int64_t i = 0; i < count; i++) {
        const float value = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &value, 4);
        buffer_reset(&writer->value);
        put_bytes(&writer->value, 1, tags[i], strlen(tags[i]));
        put_tag(&writer->value, 2, WIRE_FIXED32);
        put_fixed(&writer->value, bits, 4);
        // Event { Summary { Value } }: the length of Summary follows from that of Value.
        const size_t inner = writer->value.size;
        begin_event(&writer->event, step);
        put_tag(&writer->event, 5, WIRE_LENGTH);
        size_t around = 2;
        for (size_t n = inner; n >= 128; n >>= 7) around++;
        put_varint(&writer->event, inner + around);
        put_bytes(&writer->event, 1, writer->value.data, inner);
        frame_event(writer);
    }
    return flush_records(writer);
}

// ---- reading messages ----

// Parses a varint and advances `*at`. False at the end.
static bool parse_varint(uint64_t *out, const unsigned char **at, const unsigned char *end)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char byte = *(*at)++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

static uint64_t parse_fixed(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

// Parses the fields of a message. `level` is 0 for the Event, 1 for its Summary, 2 for a Value.
static bool parse_message(tensorboard_event *out, const unsigned char *at, const unsigned char *end,
                          int level)
{
    while (at < end) {
        uint64_t tag, length = 0;
        if (!parse_varint(&tag, &at, end)) return false;
        const uint64_t number = tag >> 3;
        switch (tag & 7) {
        case WIRE_VARINT: {
            uint64_t value;
            if (!parse_varint(&value, &at, end)) return false;
            if (level == 0 && number == 2) out->step = (int64_t)value;
            continue;
        }
        case WIRE_FIXED64: length = 8; break;
        case WIRE_FIXED32: length = 4; break;
        case WIRE_LENGTH:
            if (!parse_varint(&length, &at, end)) return false;
            break;
        default: return false;
        }
        if (length > (uint64_t)(end - at)) return false;
        if (level == 0 && number == 1 && length == 8) {
            const uint64_t bits = parse_fixed(at, 8);
            memcpy(&out->wall, &bits, 8);
        } else if (level == 2 && number == 1 && (tag & 7) == WIRE_LENGTH) {
            snprintf(out->tag, sizeof out->tag, "%.*s", length < 64 ? (int)length : 63,
                     (const char *)at);
        } else if (level == 2 && number == 2 && length == 4) {
            const uint32_t bits = (uint32_t)parse_fixed(at, 4);
            memcpy(&out->value, &bits, 4);
        } else if ((tag & 7) == WIRE_LENGTH && level < 2 && number == (level == 0 ? 5 : 1)) {
            if (!parse_message(out, at, at + length, level + 1)) return false;
        }
        at += length;
    }
    return true;
}

bool tensorboard_parse(tensorboard_event *out, const unsigned char *data, uint64_t bytes)
{
    *out = (tensorboard_event){0};
    return parse_message(out, data, data + bytes, 0);
}

// ---- opening ----

// Finds the end of the valid records with steps up to `step`.
static plumb_status find_valid_end(off_t *keep, const tensorboard_writer *writer, int64_t step)
{
    input_file input;
    *keep = 0;
    plumb_status st = input_file_open(&input, writer->path);
    if (st) return st;
    unsigned char *record = malloc(MAX_EVENT_BYTES);
    if (!record) st = fail(PLUMB_EMEMORY, "%s: no memory to open it", writer->path);
    while (!st && input.size - *keep >= TFRECORD_HEAD + TFRECORD_TAIL) {
        unsigned char head[TFRECORD_HEAD], again[TFRECORD_HEAD], tail[TFRECORD_TAIL];
        st = input_file_read(head, &input, (uint64_t)*keep, sizeof head);
        if (st) break;
        const uint64_t length = parse_fixed(head, 8);
        const uint64_t left = (uint64_t)(input.size - *keep) - TFRECORD_HEAD;
        if (length > MAX_EVENT_BYTES - TFRECORD_TAIL || length + TFRECORD_TAIL > left) break;
        st = input_file_read(record, &input, (uint64_t)*keep + TFRECORD_HEAD,
                             (size_t)length + TFRECORD_TAIL);
        if (st) break;
        tfrecord_frame(again, tail, record, (size_t)length);
        tensorboard_event event;
        if (memcmp(head, again, sizeof head) || memcmp(tail, record + length, sizeof tail) ||
            !tensorboard_parse(&event, record, length) || event.step > step)
            break;
        *keep += (off_t)(TFRECORD_HEAD + length + TFRECORD_TAIL);
    }
    free(record);
    input_file_close(&input);
    return st;
}

plumb_status tensorboard_open(tensorboard_writer **out, const char *path, int64_t step)
{
    tensorboard_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return fail(PLUMB_EMEMORY, "%s: no memory to open it", path);
    snprintf(writer->path, sizeof writer->path, "%s", path);
    off_t keep = 0;
    plumb_status st = PLUMB_OK;
    writer->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (writer->fd < 0) st = fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    if (!st) st = find_valid_end(&keep, writer, step);
    if (!st && (ftruncate(writer->fd, keep) || lseek(writer->fd, keep, SEEK_SET) != keep))
        st = fail(PLUMB_EFILE, "%s: cannot be cut: %s", path, strerror(errno));
    if (!st && !keep) { // a new file starts with the version of the format
        static const char version[] = "brain.Event:2";
        begin_event(&writer->event, 0);
        put_bytes(&writer->event, 3, version, sizeof version - 1);
        frame_event(writer);
        st = flush_records(writer);
    }
    if (st) tensorboard_close(writer);
    else *out = writer;
    return st;
}

void tensorboard_close(tensorboard_writer *writer)
{
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    buffer_clear(&writer->event);
    buffer_clear(&writer->value);
    buffer_clear(&writer->records);
    free(writer);
}
