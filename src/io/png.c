// SPDX-License-Identifier: MIT
// Reads and writes PNG with libpng's standard interface. The simplified interface would change
// pixels if a file has a gamma chunk. libpng reports errors by longjmp, so the functions below that
// call it own no memory that a jump would leak. Videos are written here, with deflate_strip().
#include "io/png.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/deflate.h"
#include "io/deflate_strip.h"

typedef struct png_context {
    jmp_buf on_error;
    char message[128];         // of the error that caused the jump
    const unsigned char *data; // reading: the file
    size_t size, position;
    bool any;    // reading: any colours and depth
    buffer *out; // writing
} png_context;

// Error callback: keeps the message and jumps back.
static void handle_error(png_structp png, png_const_charp why)
{
    png_context *context = png_get_error_ptr(png);
    snprintf(context->message, sizeof context->message, "%s", why);
    longjmp(context->on_error, 1);
}

static void ignore_warning(png_structp png, png_const_charp why)
{
    (void)png;
    (void)why;
}

// Input callback: copies from memory.
static void read_bytes(png_structp png, png_bytep out, png_size_t bytes)
{
    png_context *context = png_get_io_ptr(png);
    if (bytes > context->size - context->position) png_error(png, "cut short");
    memcpy(out, context->data + context->position, bytes);
    context->position += bytes;
}

// Output callback: appends to the buffer.
static void write_bytes(png_structp png, png_bytep data, png_size_t bytes)
{
    png_context *context = png_get_io_ptr(png);
    buffer_put(context->out, data, bytes);
    if (context->out->failed) png_error(png, "no memory");
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static int get_color_type(int channels)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    return types[channels];
}

static const char *get_color_name(int type)
{
    switch (type) {
    case PNG_COLOR_TYPE_GRAY: return "grey";
    case PNG_COLOR_TYPE_GRAY_ALPHA: return "grey and alpha";
    case PNG_COLOR_TYPE_RGB: return "RGB";
    case PNG_COLOR_TYPE_RGB_ALPHA: return "RGBA";
    default: return "a palette";
    }
}

// Checks the header against the wanted shape before any row is read.
static plumb_status check_header(png_structp png, png_infop info, png_shape want, bool any,
                                 const char *what)
{
    const int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    const int depth = png_get_bit_depth(png, info), color = png_get_color_type(png, info);
    if (width != want.width || height != want.height)
        return fail(PLUMB_EFORMAT, "%s: the PNG is %lld x %lld, wanted %lld x %lld", what,
                    (long long)width, (long long)height, (long long)want.width,
                    (long long)want.height);
    if (any && (want.channels == 3 || !(color & PNG_COLOR_MASK_COLOR))) return PLUMB_OK;
    if (any) return fail(PLUMB_EFORMAT, "%s: the PNG has colours, wanted grey", what);
    if (depth != 8 || color != get_color_type(want.channels))
        return fail(PLUMB_EFORMAT, "%s: the PNG is %s at %d bits, wanted %s at 8", what,
                    get_color_name(color), depth, get_color_name(get_color_type(want.channels)));
    return PLUMB_OK;
}

// Reads all rows into `out`. An interlaced image is read in several passes over all rows.
static plumb_status read_rows(png_context *context, png_structp png, png_infop info, uint8_t *out,
                              png_shape want, const char *what)
{
    if (setjmp(context->on_error))
        return fail(PLUMB_EFORMAT, "%s: damaged PNG: %s", what, context->message);
    png_set_read_fn(png, context, read_bytes);
    png_set_user_limits(png, PNG_MAX_EDGE, PNG_MAX_EDGE);
    // A malformed file must not make libpng allocate much.
    png_set_chunk_cache_max(png, 16);
    png_set_chunk_malloc_max(png, 1 << 20);
    png_read_info(png, info);
    const plumb_status st = check_header(png, info, want, context->any, what);
    if (st) return st;
    if (context->any) {
        png_set_expand(png);
        png_set_strip_16(png);
        png_set_strip_alpha(png);
        if (want.channels == 3) png_set_gray_to_rgb(png);
    }
    // One pass, or seven if the image is interlaced.
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    // (height, width, channels), 8 bits each, without padding between rows.
    const size_t stride = (size_t)want.width * (size_t)want.channels;
    if (png_get_rowbytes(png, info) != stride) png_error(png, "rows of an odd length");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < want.height; y++) png_read_row(png, out + (size_t)y * stride, NULL);
    png_read_end(png, NULL);
    return PLUMB_OK;
}

static plumb_status read_image(uint8_t *out, png_shape want, const void *data, size_t size,
                               bool any, const char *what)
{
    png_context context = {.data = data, .size = size, .any = any};
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &context, handle_error, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const plumb_status st = info ? read_rows(&context, png, info, out, want, what)
                                 : fail(PLUMB_EMEMORY, "%s: no memory to read a PNG", what);
    png_destroy_read_struct(&png, &info, NULL);
    return st;
}

plumb_status png_read(uint8_t *out, png_shape want, const void *data, size_t size, const char *what)
{
    return read_image(out, want, data, size, false, what);
}

plumb_status png_read_any(uint8_t *out, png_shape want, const void *data, size_t size,
                          const char *what)
{
    return read_image(out, want, data, size, true, what);
}

static int64_t read_big_endian(const unsigned char *at)
{
    return (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | at[3];
}

plumb_status png_find_shape(png_shape *out, const void *data, size_t size, const char *what)
{
    // The signature, then length, type and body of the chunk IHDR.
    const unsigned char *bytes = data;
    if (size < 33 || png_sig_cmp(bytes, 0, 8) || memcmp(bytes + 12, "IHDR", 4))
        return fail(PLUMB_EFORMAT, "%s: it is no PNG", what);
    *out = (png_shape){.width = read_big_endian(bytes + 16),
                       .height = read_big_endian(bytes + 20),
                       .channels = bytes[25] & PNG_COLOR_MASK_COLOR ? 3 : 1};
    if (out->width < 1 || out->height < 1 || out->width > PNG_MAX_EDGE ||
        out->height > PNG_MAX_EDGE)
        return fail(PLUMB_EFORMAT, "%s: the PNG is %lld x %lld", what, (long long)out->width,
                    (long long)out->height);
    return PLUMB_OK;
}

// Writes header and rows into the buffer.
static plumb_status write_rows(png_context *context, png_structp png, png_infop info,
                               const uint8_t *pixels, png_shape shape)
{
    if (setjmp(context->on_error))
        return fail(PLUMB_EMEMORY, "a PNG cannot be made: %s", context->message);
    png_set_write_fn(png, context, write_bytes, flush_nothing);
    png_set_user_limits(png, PNG_MAX_EDGE, PNG_MAX_EDGE);
    png_set_compression_level(png, 9);
    // The PNG filters help with shades, not with areas of one colour.
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_IHDR(png, info, (png_uint_32)shape.width, (png_uint_32)shape.height, 8,
                 get_color_type(shape.channels), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    const size_t stride = (size_t)shape.width * (size_t)shape.channels;
    for (int64_t y = 0; y < shape.height; y++) png_write_row(png, pixels + (size_t)y * stride);
    png_write_end(png, info);
    return PLUMB_OK;
}

// ---- videos ----

static void put_big_endian(unsigned char *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(v >> (24 - 8 * i));
}

// Length, name, data, checksum of name and data.
static void put_chunk(buffer *out, const char *name, const void *data, size_t size)
{
    unsigned char number[4];
    put_big_endian(number, (uint32_t)size);
    buffer_put(out, number, 4);
    buffer_put(out, name, 4);
    buffer_put(out, data, size);
    put_big_endian(number, deflate_crc(deflate_crc(0, name, 4), data, size));
    buffer_put(out, number, 4);
}

// Rows without a filter: a row of a rendered frame is mostly equal to the row above or to that of
// the frame before, and the encoder finds that.
static plumb_status write_video(buffer *out, const uint8_t *pixels, png_shape shape)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    enum { CHUNK = 1 << 30 };
    const size_t row = (size_t)(shape.width * shape.channels), height = (size_t)shape.height;
    unsigned char header[13] = {[8] = 8, (unsigned char)get_color_type(shape.channels)};
    uint8_t *rows = malloc((row + 1) * height);
    buffer stream = {0};
    if (!rows) return fail(PLUMB_EMEMORY, "no memory to make a PNG");
    for (size_t y = 0; y < height; y++) {
        rows[y * (row + 1)] = PNG_FILTER_VALUE_NONE;
        memcpy(rows + y * (row + 1) + 1, pixels + y * row, row);
    }
    const int64_t line = (int64_t)row + 1;
    deflate_strip(&stream, rows, (row + 1) * height,
                  (int64_t[]){shape.channels, line, line * shape.frame});
    free(rows);
    put_big_endian(header, (uint32_t)shape.width);
    put_big_endian(header + 4, (uint32_t)shape.height);
    buffer_put(out, signature, sizeof signature);
    put_chunk(out, "IHDR", header, sizeof header);
    for (size_t at = 0; at < stream.size; at += CHUNK)
        put_chunk(out, "IDAT", stream.data + at,
                  stream.size - at < CHUNK ? stream.size - at : CHUNK);
    put_chunk(out, "IEND", "", 0);
    const bool failed = stream.failed || out->failed;
    buffer_clear(&stream);
    return failed ? fail(PLUMB_EMEMORY, "no memory to make a PNG") : PLUMB_OK;
}

plumb_status png_write(buffer *out, const uint8_t *pixels, png_shape shape, png_use use)
{
    if (shape.width < 1 || shape.height < 1 || shape.width > PNG_MAX_EDGE ||
        shape.height > PNG_MAX_EDGE)
        return fail(PLUMB_EVALUE, "a PNG of %lld x %lld: between 1 and %d each way fit",
                    (long long)shape.width, (long long)shape.height, PNG_MAX_EDGE);
    if (use == PNG_USE_VIDEO) return write_video(out, pixels, shape);
    png_context context = {.out = out};
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &context, handle_error, ignore_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const plumb_status st = info ? write_rows(&context, png, info, pixels, shape)
                                 : fail(PLUMB_EMEMORY, "no memory to make a PNG");
    png_destroy_write_struct(&png, &info);
    return st;
}
