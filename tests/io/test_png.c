// SPDX-License-Identifier: MIT
#include "io/png.h"

#include <stdlib.h>
#include <string.h>

#include "io/fixtures.h"
#include "math/rng.h"
#include "support/test.h"

static uint8_t pixels[60 * 8 * 4], back[60 * 8 * 4];

static png_shape picture(buffer *out, int channels)
{
    const png_shape shape = {8, 60, channels, 0};
    for (int i = 0; i < 60 * 8 * channels; i++) pixels[i] = (uint8_t)(i * 7 + i / 32);
    CHECK_OK(png_write(out, pixels, shape, PNG_USE_VIDEO));
    return shape;
}

TEST(pictures_of_every_kind_come_back_byte_for_byte)
{
    for (int channels = 1; channels <= 4; channels++)
        for (int use = 0; use < 2; use++) {
            buffer b = {0};
            const png_shape shape = {8, 60, channels, 0};
            picture(&b, channels);
            buffer_reset(&b);
            CHECK_OK(png_write(&b, pixels, shape, (png_use)use));
            memset(back, 0, sizeof back);
            CHECK_OK(png_read(back, shape, b.data, b.size, "x"));
            CHECK(!memcmp(back, pixels, (size_t)(60 * 8 * channels)));
            buffer_clear(&b);
        }
}

// A strip of frames that libpng must read again as it was.
static size_t check_strip(const uint8_t *strip, png_shape shape)
{
    const size_t bytes = (size_t)(shape.width * shape.height * shape.channels);
    buffer b = {0};
    uint8_t *again = malloc(bytes);
    CHECK(again);
    CHECK_OK(png_write(&b, strip, shape, PNG_USE_VIDEO));
    CHECK_OK(png_read(again, shape, b.data, b.size, "x"));
    CHECK(!memcmp(again, strip, bytes));
    const size_t size = b.size;
    free(again);
    buffer_clear(&b);
    return size;
}

// What the encoder must get right: runs of every length, repeats at every distance up to the end of
// the window and beyond, few and many different bytes, several blocks.
TEST(strips_of_every_kind_come_back)
{
    enum { WIDTH = 64, HEIGHT = 2000, BYTES = WIDTH * HEIGHT * 3 };
    uint8_t *x = calloc(BYTES, 1);
    CHECK(x);
    const png_shape shape = {WIDTH, HEIGHT, 3, 64};
    CHECK(check_strip(x, shape) < 2000); // one colour
    rng r = rng_at(5, 1);
    for (int i = 0; i < BYTES; i++) x[i] = (uint8_t)rng_below(&r, 256); // nothing repeats
    CHECK(check_strip(x, shape) < BYTES + BYTES / 50 + 5000);
    for (int i = 0; i < BYTES; i++) x[i] = (uint8_t)(rng_below(&r, 50) == 0); // rare
    check_strip(x, shape);
    for (int values = 2; values < 300; values *= 3) // skew: codes of very different lengths
        for (int i = 0; i < BYTES; i++) {
            int v = 0;
            while (v < values - 1 && rng_below(&r, 3)) v++;
            x[i] = (uint8_t)v;
            if (i == BYTES - 1) check_strip(x, shape);
        }
    // Copies of earlier bytes, of any length and from any distance.
    for (int i = 0; i < BYTES;) {
        const int64_t run = 1 + rng_below(&r, 400), away = 1 + rng_below(&r, 40000);
        for (int64_t k = 0; k < run && i < BYTES; k++, i++)
            x[i] = (uint8_t)(i < away ? rng_below(&r, 256) : x[i - away]);
    }
    CHECK(check_strip(x, shape) < BYTES / 2);
    // Small pictures, and frames that are higher than the strip.
    for (int64_t w = 1; w < 9; w++)
        for (int64_t h = 1; h < 9; h++) check_strip(x, (png_shape){w, h, 1 + (int)(w + h) % 4, 64});
    free(x);
}

// A weight that grows like the Fibonacci numbers makes the deepest tree: deeper than 15 bits.
TEST(codes_that_would_be_too_long_are_shortened)
{
    enum { WIDTH = 100, HEIGHT = 100, BYTES = WIDTH * HEIGHT };
    uint8_t x[BYTES];
    int used = 0;
    for (int v = 0, a = 1, b = 1; v < 18; v++) {
        for (int i = 0; i < a && used < BYTES; i++) x[used++] = (uint8_t)(v * 13);
        const int next = a + b;
        a = b, b = next;
    }
    CHECK(used > 4000);
    while (used < BYTES) x[used++] = 17 * 13;
    // Shuffled, so that the bytes are written as literals.
    rng r = rng_at(5, 2);
    for (int i = BYTES - 1; i > 0; i--) {
        const int64_t k = rng_below(&r, i + 1);
        const uint8_t t = x[i];
        x[i] = x[k], x[k] = t;
    }
    check_strip(x, (png_shape){WIDTH, HEIGHT, 1, 0});
}

TEST(another_size_or_kind_than_wanted_is_refused_before_a_row_is_read)
{
    buffer b = {0};
    picture(&b, 3);
    CHECK_FAILS(png_read(back, (png_shape){8, 61, 3, 0}, b.data, b.size, "x"), PLUMB_EFORMAT,
                "the PNG is 8 x 60, wanted 8 x 61");
    CHECK_FAILS(png_read(back, (png_shape){9, 60, 3, 0}, b.data, b.size, "x"), PLUMB_EFORMAT,
                "wanted 9 x 60");
    CHECK_FAILS(png_read(back, (png_shape){8, 60, 1, 0}, b.data, b.size, "x"), PLUMB_EFORMAT,
                "the PNG is RGB at 8 bits, wanted grey");
    CHECK_FAILS(png_read(back, (png_shape){8, 60, 3, 0}, "GIF89a..", 8, "x"), PLUMB_EFORMAT,
                "damaged PNG");
    buffer_clear(&b);
    CHECK_FAILS(png_write(&b, pixels, (png_shape){8, PNG_MAX_EDGE + 1, 3, 0}, PNG_USE_VIDEO),
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
