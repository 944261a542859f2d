// SPDX-License-Identifier: MIT
#include "io/png.h"

#include <stdlib.h>
#include <string.h>

#include "io/fixtures.h"
#include "support/test.h"

static uint8_t pixels[60 * 8 * 4], back[60 * 8 * 4];

static png_shape picture(buffer *out, int channels)
{
    const png_shape shape = {8, 60, channels};
    for (int i = 0; i < 60 * 8 * channels; i++) pixels[i] = (uint8_t)(i * 7 + i / 32);
    CHECK_OK(png_write(out, pixels, shape, PNG_USE_VIDEO));
    return shape;
}

TEST(pictures_of_every_kind_come_back_byte_for_byte)
{
    for (int channels = 1; channels <= 4; channels++)
        for (int use = 0; use < 2; use++) {
            buffer b = {0};
            const png_shape shape = {8, 60, channels};
            picture(&b, channels);
            buffer_reset(&b);
            CHECK_OK(png_write(&b, pixels, shape, (png_use)use));
            memset(back, 0, sizeof back);
            CHECK_OK(png_read(back, shape, b.data, b.size, "x"));
            CHECK(!memcmp(back, pixels, (size_t)(60 * 8 * channels)));
            buffer_clear(&b);
        }
}

TEST(another_size_or_kind_than_wanted_is_refused_before_a_row_is_read)
{
    buffer b = {0};
    picture(&b, 3);
    CHECK_FAILS(png_read(back, (png_shape){8, 61, 3}, b.data, b.size, "x"), PLUMB_EFORMAT,
                "the PNG is 8 x 60, wanted 8 x 61");
    CHECK_FAILS(png_read(back, (png_shape){9, 60, 3}, b.data, b.size, "x"), PLUMB_EFORMAT,
                "wanted 9 x 60");
    CHECK_FAILS(png_read(back, (png_shape){8, 60, 1}, b.data, b.size, "x"), PLUMB_EFORMAT,
                "the PNG is RGB at 8 bits, wanted grey");
    CHECK_FAILS(png_read(back, (png_shape){8, 60, 3}, "GIF89a..", 8, "x"), PLUMB_EFORMAT,
                "damaged PNG");
    buffer_clear(&b);
    CHECK_FAILS(png_write(&b, pixels, (png_shape){8, PNG_MAX_EDGE + 1, 3}, PNG_USE_VIDEO),
                PLUMB_EVALUE, "fit");
}

TEST(a_cut_picture_is_refused_wherever_it_was_cut)
{
    buffer b = {0};
    const png_shape shape = picture(&b, 3);
    for (size_t n = 0; n < b.size; n++) {
        unsigned char *cut = malloc(n ? n : 1);
        CHECK(cut);
        memcpy(cut, b.data, n);
        CHECK_FAILS(png_read(back, shape, cut, n, "x"), PLUMB_EFORMAT, "damaged PNG");
        free(cut);
    }
    buffer_clear(&b);
}

TEST(a_bit_that_fell_over_in_the_pixels_is_found)
{
    buffer b = {0};
    const png_shape shape = picture(&b, 3);
    // 8 signature, 25 header chunk; then IDAT until its checksum, 12 bytes of IEND at the end.
    for (size_t i = 41; i < b.size - 12; i += 5) {
        b.data[i] ^= 4;
        CHECK_FAILS(png_read(back, shape, b.data, b.size, "x"), PLUMB_EFORMAT, "damaged PNG");
        b.data[i] ^= 4;
    }
    buffer_clear(&b);
}

static void chunk(forge *f, const char *name, const void *data, size_t size)
{
    for (int i = 3; i >= 0; i--) forge_number(f, size >> 8 * i, 1);
    const size_t start = f->n;
    forge_put(f, name, 4);
    forge_put(f, data, size);
    const uint32_t crc = forge_crc(f->b + start, size + 4);
    for (int i = 3; i >= 0; i--) forge_number(f, crc >> 8 * i, 1);
}

TEST(a_word_about_gamma_changes_no_byte_and_16_bits_are_refused)
{
    buffer b = {0};
    const png_shape shape = picture(&b, 3);
    forge f = {0};
    forge_put(&f, b.data, 33);
    chunk(&f, "gAMA", "\0\1\x86\xa0", 4);
    forge_put(&f, b.data + 33, b.size - 33);
    CHECK_OK(png_read(back, shape, f.b, f.n, "x"));
    CHECK(!memcmp(back, pixels, 60 * 8 * 3));
    forge_clear(&f);
    forge_put(&f, b.data, 8);
    chunk(&f, "IHDR", "\0\0\0\x08\0\0\0\x3c\x10\x02\0\0\0", 13);
    forge_put(&f, b.data + 33, b.size - 33);
    CHECK_FAILS(png_read(back, shape, f.b, f.n, "x"), PLUMB_EFORMAT, "at 16 bits");
    forge_clear(&f);
    buffer_clear(&b);
}
