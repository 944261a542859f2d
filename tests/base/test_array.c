// SPDX-License-Identifier: MIT
#include "base/array.h"

#include <math.h>
#include <string.h>

#include "support/test.h"

TEST(every_type_has_its_size_and_its_numpy_name)
{
    // NumPy writes kind and bytes: "f8"; its one-byte bool is "bool".
    static const struct {
        const char *name;
        size_t size;
    } wanted[] = {
#define ROW(name, text, bytes, kind) {#name, bytes},
        PLUMB_DTYPE_LIST(ROW)
#undef ROW
    };
    for (int i = 0; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        CHECK_EQUAL(plumb_dtype_size((plumb_dtype)i), wanted[i].size);
        const char *name = plumb_dtype_name((plumb_dtype)i);
        CHECK_EQUAL(name[0] | 32, wanted[i].name[0] | 32);
        if (i != PLUMB_BOOL) CHECK_EQUAL(name[1] - '0', wanted[i].size);
    }
}

TEST(half_precision_widens_exactly)
{
    // 1, -2, the largest, the smallest normal, the smallest subnormal, 0, -0, infinity, NaN
    uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0, 0x8000, 0x7c00, 0x7e00};
    const double exact[] = {
        1, -2, 65504, 0x1p-14, 0x1p-24, 0, -(double)0, (double)INFINITY, (double)NAN};
    const int64_t count = sizeof halves / sizeof *halves;
    const plumb_array array = plumb_array_view(halves, PLUMB_FLOAT16, 1, &count);
    double out[sizeof halves / sizeof *halves];
    plumb_array_to_double(out, &array, 0, count);
    for (int64_t i = 0; i < count; i++) CHECK_NEAR(out[i], exact[i], 0);
    CHECK(signbit(out[6]));
}

TEST(integers_widen_with_their_sign_and_a_range_starts_where_it_says)
{
    int8_t small[] = {-128, 127, 5};
    uint64_t large[] = {UINT64_MAX, 1, 2};
    const int64_t count = 3;
    const plumb_array a = plumb_array_view(small, PLUMB_INT8, 1, &count);
    const plumb_array b = plumb_array_view(large, PLUMB_UINT64, 1, &count);
    double out[3];
    plumb_array_to_double(out, &a, 0, 3);
    CHECK_NEAR(out[0], -128, 0);
    plumb_array_to_double(out, &b, 0, 1);
    CHECK_NEAR(out[0], 0x1p64, 0);
    plumb_array_to_double(out, &b, 1, 2);
    CHECK_NEAR(out[1], 2, 0);
}

TEST(products_that_overflow_are_no_sizes)
{
    int64_t count = -1;
    CHECK(array_count_checked(&count, (int64_t[]){2, 3, 4}, 3, 8));
    CHECK_EQUAL(count, 24);
    CHECK(array_count_checked(&count, NULL, 0, 8)); // a scalar
    CHECK_EQUAL(count, 1);
    CHECK(array_count_checked(&count, (int64_t[]){5, 0}, 2, 8));
    CHECK_EQUAL(count, 0);
    CHECK(!array_count_checked(&count, (int64_t[]){-1, 2}, 2, 8));
    CHECK(!array_count_checked(&count, (int64_t[]){(int64_t)1 << 32, (int64_t)1 << 32}, 2, 1));
    CHECK(!array_count_checked(&count, (int64_t[]){(int64_t)1 << 61}, 1, 8));
    CHECK(!array_count_checked(&count, (int64_t[]){0, (int64_t)1 << 62, 4}, 3, 1));
}

TEST(shapes_are_written_as_python_writes_them)
{
    char text[32];
    plumb_array a = plumb_array_view(NULL, PLUMB_FLOAT64, 3, (int64_t[]){64, 60, 8});
    CHECK_TEXT(plumb_array_shape_string(text, sizeof text, &a), "(64, 60, 8)");
    a.ndim = 1;
    CHECK_TEXT(plumb_array_shape_string(text, sizeof text, &a), "(64,)");
    a.ndim = 0;
    CHECK_TEXT(plumb_array_shape_string(text, sizeof text, &a), "()");
    a.ndim = 3;
    CHECK(strlen(plumb_array_shape_string(text, 6, &a)) < 6);
}

TEST(doubles_are_taken_as_they_lie_and_others_are_copied)
{
    arena mem = {0};
    double eight[] = {1, 2};
    float four[] = {1.5F, 2.5F};
    const int64_t count = 2;
    const plumb_array a = plumb_array_view(eight, PLUMB_FLOAT64, 1, &count);
    const plumb_array b = plumb_array_view(four, PLUMB_FLOAT32, 1, &count);
    CHECK(array_as_doubles(&mem, &a) == eight);
    CHECK_NEAR(array_as_doubles(&mem, &b)[1], 2.5, 0);
    arena_clear(&mem);
}

TEST(what_is_not_finite_is_named_with_its_place)
{
    double x[] = {1, 2, 3, (double)NAN, 5, -(double)INFINITY};
    const plumb_array a = plumb_array_view(x, PLUMB_FLOAT64, 2, (int64_t[]){2, 3});
    CHECK_FAILS(array_reject_nonfinite(&a, "latent", 2, 3, "; so there"), PLUMB_ENUMERIC,
                "latent has 2 values that are not finite, the first a NaN at (1, 0); so there");
    CHECK_FAILS(array_reject_nonfinite(&a, "truth", 1, 5, ""), PLUMB_ENUMERIC,
                "truth has 1 value that is not finite, the first an infinity at (1, 2)");
}
