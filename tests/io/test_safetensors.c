// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"

static char dir[40], path[80];

static void begin(void)
{
    strcpy(dir, "/tmp/plumb-safetensors-XXXXXX");
    CHECK(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/x.safetensors", dir);
}

static void end(void)
{
    unlink(path);
    CHECK_EQUAL(rmdir(dir), 0);
}

// A file of this header, with `length` as the length it promises (-1: the true one), and so many
// bytes 0, 1, 2 ... behind it.
static void forge(const char *header, long long length, int bytes)
{
    FILE *f = fopen(path, "wb");
    CHECK(f);
    const unsigned long long size = length < 0 ? strlen(header) : (unsigned long long)length;
    for (int i = 0; i < 8; i++) fputc((int)(size >> 8 * i & 255), f);
    fputs(header, f);
    for (int i = 0; i < bytes; i++) fputc(i, f);
    fclose(f);
}

static plumb_status look(void)
{
    arena mem = {0};
    safetensors s;
    const plumb_status st = safetensors_begin(&s, &mem, path);
    if (!st) safetensors_end(&s);
    arena_clear(&mem);
    return st;
}

TEST(what_is_written_is_read)
{
    begin();
    float weights[6] = {1.5f, -2.0f, 3.0f, 0.0f, 1e-30f, -0.0f};
    double scale = 0.1;
    int64_t step[2] = {7, -9};
    uint8_t bytes[3] = {0, 128, 255};
    const plumb_named_array arrays[] = {
        {"enc.w", plumb_array_view(weights, PLUMB_FLOAT32, 2, (int64_t[]){2, 3})},
        {"a \"quoted\" \xc3\xa9", plumb_array_view(&scale, PLUMB_FLOAT64, 0, NULL)},
        {"step", plumb_array_view(step, PLUMB_INT64, 1, (int64_t[]){2})},
        {"u", plumb_array_view(bytes, PLUMB_UINT8, 1, (int64_t[]){3})},
        {"none", plumb_array_view(bytes, PLUMB_FLOAT32, 2, (int64_t[]){0, 5})},
    };
    const safetensors_metadata_entry notes[] = {{"model", "hgn++"}, {"step", "12"}};
    CHECK_OK(safetensors_write(path, arrays, 5, notes, 2));
    arena mem = {0};
    safetensors s;
    CHECK_OK(safetensors_begin(&s, &mem, path));
    CHECK_EQUAL(s.count, 5);
    CHECK_EQUAL(s.data % 8, 0);
    CHECK_TEXT(safetensors_metadata(&s, "model"), "hgn++");
    CHECK_TEXT(safetensors_metadata(&s, "step"), "12");
    CHECK(!safetensors_metadata(&s, "seed"));
    CHECK(safetensors_find(&s, "enc") < 0);
    for (int i = 0; i < 5; i++) {
        const int64_t at = safetensors_find(&s, arrays[i].name);
        CHECK(at >= 0);
        const plumb_array a = safetensors_shape(&s, at), *b = &arrays[i].array;
        CHECK(a.dtype == b->dtype && a.ndim == b->ndim);
        CHECK(!memcmp(a.shape, b->shape, (size_t)a.ndim * sizeof *a.shape));
        unsigned char got[64];
        CHECK_OK(safetensors_load(got, &s, at));
        CHECK(!memcmp(got, b->data, (size_t)plumb_array_count(b) * plumb_dtype_size(b->dtype)));
    }
    safetensors_end(&s);
    arena_clear(&mem);
    end();
}

TEST(it_is_a_file_like_the_others)
{
    begin();
    double x[2] = {1.0, 2.0};
    const plumb_named_array a = {"x", plumb_array_view(x, PLUMB_FLOAT64, 1, (int64_t[]){2})};
    CHECK_OK(plumb_file_write(path, &a, 1, false));
    CHECK_FAILS(plumb_file_write(path, &a, 1, true), PLUMB_EVALUE, "never compressed");
    plumb_file *file;
    plumb_array got;
    char argument[100];
    snprintf(argument, sizeof argument, "%s:x", path);
    CHECK_OK(plumb_file_read_spec(&got, &file, argument, NULL));
    CHECK(got.ndim == 1 && ((double *)got.data)[1] == 2.0);
    plumb_file_close(file);
    const plumb_named_array twice[] = {a, a};
    CHECK_FAILS(plumb_file_write(path, twice, 2, false), PLUMB_EVALUE, "two tensors");
    end();
}

TEST(order_in_the_header_is_free_and_half_floats_are_widened)
{
    begin();
    forge("{\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[4,8]},"
          "\"a\":{\"data_offsets\":[0,4],\"shape\":[ 4 , 1 ],\"dtype\":\"U8\"}}   ",
          -1, 8);
    plumb_file *file;
    plumb_array got;
    CHECK_OK(plumb_file_open(&file, path));
    CHECK_OK(plumb_file_read_array(&got, file, "b"));
    CHECK(got.dtype == PLUMB_FLOAT32);
    const uint32_t bits[2] = {0x05040000, 0x07060000};
    CHECK(!memcmp(got.data, bits, 8));
    CHECK_OK(plumb_file_read_array(&got, file, "a"));
    CHECK(got.ndim == 2 && got.shape[0] == 4 && got.shape[1] == 1);
    CHECK(!memcmp(got.data, "\0\1\2\3", 4));
    plumb_file_close(file);
    end();
}

#define A4 "\"dtype\":\"F32\",\"shape\":[1]"
static const struct {
    const char *header;
    long long length;
    int bytes;
    const char *words;
} lies[] = {
    {"{}", 1 << 30, 0, "promises a header"},
    {"{}", 3, 0, "promises a header"},
    {"{}", 1, 0, "promises a header"},
    {"[]", -1, 0, "does not begin with {"},
    {" {}", -1, 0, "does not begin with {"},
    {"{}", -1, 4, "4 behind the header"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]}}", -1, 5, "4 bytes of tensors, but 5"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]}}", -1, 3, "no place in the file"},
    {"{\"a\":{" A4 ",\"data_offsets\":[4,0]}}", -1, 4, "no place in the file"},
    {"{\"a\":{" A4 ",\"data_offsets\":[-4,0]}}", -1, 4, "no place in the file"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0]}}", -1, 4, "no place in the file"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4,8]}}", -1, 4, "no place in the file"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,8]}}", -1, 8, "needs 4 bytes"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4.0]}}", -1, 4, "whole"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,18446744073709551615]}}", -1, 4, "64 bits"},
    {"{\"a\":{" A4 "}}", -1, 0, "has no data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,0]}}", -1, 0, "has no shape"},
    {"{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", -1, 0, "has no dtype"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4],\"x\":1}}", -1, 4, "\"x\" stands there"},
    {"{\"a\":{" A4 "," A4 ",\"data_offsets\":[0,4]}}", -1, 4, "twice"},
    {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}", -1, 1, "F8_E4M3"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", -1, 4, "negative"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", -1, 0,
     "larger than memory"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,4611686018427387904,4],\"data_offsets\":[0,0]}}", -1,
     0, "larger than memory"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]},\"b\":{" A4 ",\"data_offsets\":[0,4]}}", -1, 4,
     "overlap"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]},\"b\":{" A4 ",\"data_offsets\":[8,12]}}", -1, 12,
     "gap"},
    {"{\"a\":{" A4 ",\"data_offsets\":[4,8]}}", -1, 8, "gap"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]},\"a\":{" A4 ",\"data_offsets\":[4,8]}}", -1, 8,
     "stands there twice"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]},\"\\u0061\":{" A4 ",\"data_offsets\":[4,8]}}", -1, 8,
     "stands there twice"},
    {"{\"__metadata__\":{\"a\":1}}", -1, 0, "expected a string"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", -1, 0, "twice"},
    {"{\"a\":[]}", -1, 0, "expected an object"},
    {"{\"a\":{" A4 ",\"data_offsets\":[0,4]},}", -1, 4, "expected a string"},
    {"{} x", -1, 0, "more than one value"},
};

TEST(lies_are_refused)
{
    begin();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        forge(lies[i].header, lies[i].length, lies[i].bytes);
        CHECK_FAILS(look(), PLUMB_EFORMAT, lies[i].words);
        CHECK(strstr(plumb_last_error(), path));
    }
    FILE *f = fopen(path, "wb");
    CHECK(f && fputs("short", f) >= 0);
    fclose(f);
    CHECK_FAILS(look(), PLUMB_EFORMAT, "too few");
    unlink(path);
    CHECK_FAILS(look(), PLUMB_EFILE, path);
    forge("{}", -1, 0);
    CHECK_OK(look());
    end();
}

TEST(more_axes_than_an_array_has_are_refused)
{
    begin();
    char header[400] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1";
    for (int i = 0; i < PLUMB_MAX_DIMS; i++) strcat(header, ",1");
    strcat(header, "],\"data_offsets\":[0,1]}}");
    forge(header, -1, 1);
    CHECK_FAILS(look(), PLUMB_EFORMAT, "too many axes");
    end();
}

TEST(a_file_cut_or_changed_anywhere_never_harms)
{
    begin();
    float x[4] = {1, 2, 3, 4};
    const plumb_named_array a[] = {{"x", plumb_array_view(x, PLUMB_FLOAT32, 2, (int64_t[]){2, 2})},
                                   {"y", plumb_array_view(x, PLUMB_INT64, 1, (int64_t[]){2})}};
    const safetensors_metadata_entry note = {"k", "v"};
    CHECK_OK(safetensors_write(path, a, 2, &note, 1));
    static char whole[1024];
    FILE *f = fopen(path, "rb");
    const size_t size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    int accepted = 0;
    for (size_t cut = 0; cut < size; cut++) {
        CHECK_EQUAL(truncate(path, 0), 0);
        f = fopen(path, "wb");
        CHECK_EQUAL(fwrite(whole, 1, cut, f), cut);
        fclose(f);
        CHECK(look() == PLUMB_EFORMAT);
    }
    for (size_t at = 0; at < size - 32; at++)
        for (int change = 1; change < 256; change += 23) {
            whole[at] = (char)(whole[at] ^ change);
            f = fopen(path, "wb");
            CHECK_EQUAL(fwrite(whole, 1, size, f), size);
            fclose(f);
            whole[at] = (char)(whole[at] ^ change);
            accepted += !look();
        }
    CHECK(accepted > 0); // another letter in a name is no lie
    end();
}
