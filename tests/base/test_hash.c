// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <string.h>

#include "support/test.h"

TEST(the_hash_tells_type_shape_numbers_and_absence_apart)
{
    double numbers[6] = {1, 2, 3, 4, 5, 6}, others[6] = {1, 2, 3, 4, 5, 7};
    const plumb_array arrays[] = {
        plumb_array_view(numbers, PLUMB_FLOAT64, 2, (int64_t[]){2, 3}),
        plumb_array_view(numbers, PLUMB_FLOAT64, 2, (int64_t[]){3, 2}),
        plumb_array_view(numbers, PLUMB_INT64, 2, (int64_t[]){2, 3}),
        plumb_array_view(others, PLUMB_FLOAT64, 2, (int64_t[]){2, 3}),
    };
    char text[6][33];
    for (int i = 0; i < 4; i++) hash_arrays(text[i], (const plumb_array *[]){&arrays[i]}, 1);
    hash_arrays(text[4], (const plumb_array *[]){&arrays[0], NULL}, 2);
    hash_arrays(text[5], (const plumb_array *[]){NULL, &arrays[0]}, 2);
    for (int i = 0; i < 6; i++) {
        CHECK_EQUAL(strlen(text[i]), 32);
        for (int j = 0; j < i; j++) CHECK(strcmp(text[i], text[j]) != 0);
    }
    char again[33];
    memcpy(others, numbers, sizeof numbers); // the same numbers elsewhere
    hash_arrays(again, (const plumb_array *[]){&arrays[3]}, 1);
    CHECK_TEXT(again, text[0]);
}

TEST(the_hash_of_parts_is_that_of_the_whole)
{
    uint8_t bytes[600];
    for (int i = 0; i < 600; i++) bytes[i] = (uint8_t)(i * 7);
    const int64_t shape[] = {20, 30};
    const plumb_array whole = plumb_array_view(bytes, PLUMB_UINT8, 2, shape);
    char at_once[33], in_parts[33];
    hash_arrays(at_once, (const plumb_array *[]){&whole}, 1);
    hash_stream *stream;
    CHECK_OK(hash_stream_begin(&stream, PLUMB_UINT8, 2, shape));
    hash_stream_add(stream, bytes, 1);
    hash_stream_add(stream, bytes + 1, 299);
    hash_stream_add(stream, bytes + 300, 300);
    hash_stream_end(in_parts, stream);
    CHECK_TEXT(in_parts, at_once);
}
