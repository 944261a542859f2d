// SPDX-License-Identifier: MIT
// libpng's plain interface rather than the simplified one, which would change bytes where a file
// speaks of gamma. It reports errors by longjmp: functions below that call it hold nothing that
// would be lost.
#include "io/png.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct door {
    jmp_buf back;
    char why[128];
    const unsigned char *data;
    size_t size, at;
    buffer *out;
} door;

static void complain(png_structp png, png_const_charp why)
{
    door *d = png_get_error_ptr(png);
    snprintf(d->why, sizeof d->why, "%s", why);
    longjmp(d->back, 1);
}

static void keep_quiet(png_structp png, png_const_charp why)
{
    (void)png;
    (void)why;
}

static void give(png_structp png, png_bytep out, png_size_t bytes)
{
    door *d = png_get_io_ptr(png);
    if (bytes > d->size - d->at) png_error(png, "cut short");
    memcpy(out, d->data + d->at, bytes);
    d->at += bytes;
}

static void take(png_structp png, png_bytep data, png_size_t bytes)
{
    door *d = png_get_io_ptr(png);
    buffer_put(d->out, data, bytes);
    if (d->out->failed) png_error(png, "no memory");
}

static void flush(png_structp png)
{
    (void)png;
}

static int color_of(int channels)
{
    static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    return types[channels];
}

static const char *color_name(int type)
{
    switch (type) {
    case PNG_COLOR_TYPE_GRAY: return "grey";
    case PNG_COLOR_TYPE_GRAY_ALPHA: return "grey and alpha";
    case PNG_COLOR_TYPE_RGB: return "RGB";
    case PNG_COLOR_TYPE_RGB_ALPHA: return "RGBA";
    default: return "a palette";
    }
}

// The header must say what is wanted before a row is read.
static plumb_status check_header(png_structp png, png_infop info, png_shape want, const char *what)
{
    const int64_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    const int depth = png_get_bit_depth(png, info), color = png_get_color_type(png, info);
    if (width != want.width || height != want.height)
        return fail(PLUMB_EFORMAT, "%s: the PNG is %lld x %lld, wanted %lld x %lld", what,
                    (long long)width, (long long)height, (long long)want.width,
                    (long long)want.height);
    if (depth != 8 || color != color_of(want.channels))
        return fail(PLUMB_EFORMAT, "%s: the PNG is %s at %d bits, wanted %s at 8", what,
                    color_name(color), depth, color_name(color_of(want.channels)));
    return PLUMB_OK;
}

// An interlaced picture is read in passes over the whole of it, which is in `out` anyway.
static plumb_status read_rows(door *d, png_structp png, png_infop info, uint8_t *out,
                              png_shape want, const char *what)
{
    if (setjmp(d->back)) return fail(PLUMB_EFORMAT, "%s: damaged PNG: %s", what, d->why);
    png_set_read_fn(png, d, give);
    png_set_user_limits(png, PNG_LIMIT, PNG_LIMIT);
    png_set_chunk_cache_max(png, 16);
    png_set_chunk_malloc_max(png, 1 << 20);
    png_read_info(png, info);
    const plumb_status st = check_header(png, info, want, what);
    if (st) return st;
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    const size_t stride = (size_t)want.width * (size_t)want.channels;
    if (png_get_rowbytes(png, info) != stride) png_error(png, "rows of an odd length");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < want.height; y++) png_read_row(png, out + (size_t)y * stride, NULL);
    png_read_end(png, NULL);
    return PLUMB_OK;
}

plumb_status png_read(uint8_t *out, png_shape want, const void *data, size_t size, const char *what)
{
    door d = {.data = data, .size = size};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, complain, keep_quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const plumb_status st = info ? read_rows(&d, png, info, out, want, what)
                                 : fail(PLUMB_EMEMORY, "%s: no memory to read a PNG", what);
    png_destroy_read_struct(&png, &info, NULL);
    return st;
}

static plumb_status write_rows(door *d, png_structp png, png_infop info, const uint8_t *pixels,
                               png_shape shape, png_use use)
{
    if (setjmp(d->back)) return fail(PLUMB_EMEMORY, "a PNG cannot be made: %s", d->why);
    png_set_write_fn(png, d, take, flush);
    png_set_user_limits(png, PNG_LIMIT, PNG_LIMIT);
    png_set_compression_level(png, use == PNG_USE_DRAWING ? 9 : 6);
    // Predicting a pixel from its neighbours pays for shades, not for areas of one colour.
    if (use == PNG_USE_DRAWING) png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_IHDR(png, info, (png_uint_32)shape.width, (png_uint_32)shape.height, 8,
                 color_of(shape.channels), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    const size_t stride = (size_t)shape.width * (size_t)shape.channels;
    for (int64_t y = 0; y < shape.height; y++) png_write_row(png, pixels + (size_t)y * stride);
    png_write_end(png, info);
    return PLUMB_OK;
}

plumb_status png_write(buffer *out, const uint8_t *pixels, png_shape shape, png_use use)
{
    if (shape.width < 1 || shape.height < 1 || shape.width > PNG_LIMIT || shape.height > PNG_LIMIT)
        return fail(PLUMB_EVALUE, "a PNG of %lld x %lld: between 1 and %d each way fit",
                    (long long)shape.width, (long long)shape.height, PNG_LIMIT);
    door d = {.out = out};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &d, complain, keep_quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const plumb_status st = info ? write_rows(&d, png, info, pixels, shape, use)
                                 : fail(PLUMB_EMEMORY, "no memory to make a PNG");
    png_destroy_write_struct(&png, &info);
    return st;
}
