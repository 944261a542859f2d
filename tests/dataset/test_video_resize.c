// SPDX-License-Identifier: MIT
#include "dataset/video_resize.h"

#include <math.h>
#include <string.h>

#include "math/rng.h"
#include "support/test.h"

TEST(only_larger_frames_are_made_smaller_and_keep_their_shape)
{
    frame_size size;
    video_resize_fit(&size, NULL, 64, 48);
    CHECK(size.height == 64 && size.width == 48);
    video_resize_fit(&size, NULL, 240, 320);
    CHECK(size.height == 48 && size.width == 64);
    video_resize_fit(&size, &(frame_size){.side = 32}, 20, 16);
    CHECK(size.height == 20 && size.width == 16);
    video_resize_fit(&size, &(frame_size){.side = 32}, 1000, 3);
    CHECK(size.height == 32 && size.width == 1);
    video_resize_fit(&size, &(frame_size){.height = 7, .width = 9}, 100, 100);
    CHECK(size.height == 7 && size.width == 9);
}

// The definition: every pixel of the result is the integral over its area, here by a fine grid.
static double average_area(const double *frame, int64_t height, int64_t width, int64_t y, int64_t x,
                           const frame_size *size)
{
    enum { GRID = 60 }; // a multiple of what the sizes below need
    double sum = 0.0;
    for (int i = 0; i < GRID; i++)
        for (int k = 0; k < GRID; k++) {
            const double v = ((double)y + (i + 0.5) / GRID) * (double)height / (double)size->height;
            const double u = ((double)x + (k + 0.5) / GRID) * (double)width / (double)size->width;
            sum += frame[(int64_t)v * width + (int64_t)u];
        }
    return sum / (GRID * GRID);
}

TEST(a_pixel_is_the_average_of_its_area)
{
    enum { HEIGHT = 12, WIDTH = 15 };
    const frame_size size = {.height = 5, .width = 4};
    double frame[HEIGHT * WIDTH];
    uint8_t out[20];
    rng random = rng_at(1, 2);
    for (int i = 0; i < HEIGHT * WIDTH; i++) frame[i] = rng_uniform(&random);
    const plumb_array grey =
        plumb_array_view(frame, PLUMB_FLOAT64, 3, (int64_t[]){1, HEIGHT, WIDTH});
    CHECK_OK(video_resize(out, &grey, &size, "x"));
    for (int64_t y = 0; y < 5; y++)
        for (int64_t x = 0; x < 4; x++)
            CHECK_NEAR(out[y * 4 + x], 255.0 * average_area(frame, HEIGHT, WIDTH, y, x, &size),
                       0.51);
}

TEST(bytes_of_the_right_size_are_copied_and_colours_stay_apart)
{
    uint8_t frames[2 * 4 * 4 * 3], same[2 * 4 * 4 * 3], half[2 * 2 * 2 * 3];
    for (int i = 0; i < 96; i++) frames[i] = (uint8_t)(i % 3 == 0 ? 2 * i : 10 * (i % 3));
    const plumb_array array = plumb_array_view(frames, PLUMB_UINT8, 4, (int64_t[]){2, 4, 4, 3});
    CHECK_OK(video_resize(same, &array, &(frame_size){.height = 4, .width = 4}, "x"));
    CHECK(!memcmp(same, frames, sizeof frames));
    CHECK_OK(video_resize(half, &array, &(frame_size){.height = 2, .width = 2}, "x"));
    for (int i = 0; i < 24; i++)
        if (i % 3) CHECK_EQUAL(half[i], 10 * (i % 3));
    // Pixels (0, 0), (0, 1), (1, 0), (1, 1): 2 * (0 + 3 + 12 + 15) / 4.
    CHECK_EQUAL(half[0], 15);
}

TEST(integers_are_0_to_255_and_floats_0_to_1)
{
    uint8_t out[4];
    const frame_size size = {.height = 2, .width = 2};
    int32_t whole[4] = {0, 1, 254, 255};
    float part[4] = {0.0f, 0.5f, 1.0f, 0.25f};
    const int64_t shape[] = {1, 2, 2, 1};
    plumb_array array = plumb_array_view(whole, PLUMB_INT32, 4, shape);
    CHECK_OK(video_resize(out, &array, &size, "x"));
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 254 && out[3] == 255);
    whole[2] = 256;
    CHECK_FAILS(video_resize(out, &array, &size, "x"), PLUMB_EFORMAT, "integers must be 0 to 255");
    array = plumb_array_view(part, PLUMB_FLOAT32, 4, shape);
    CHECK_OK(video_resize(out, &array, &size, "x"));
    CHECK(out[0] == 0 && out[1] == 128 && out[2] == 255 && out[3] == 64);
    part[0] = 17.0f;
    CHECK_FAILS(video_resize(out, &array, &size, "x"), PLUMB_EFORMAT, "divide by 255");
    part[0] = NAN;
    CHECK_FAILS(video_resize(out, &array, &size, "x"), PLUMB_EFORMAT, "floats must be 0 to 1");
}
