// SPDX-License-Identifier: MIT
// A thin layer over cmocka: TEST registers itself, CHECK_NEAR says both numbers.
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

// cmocka wants these first.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// `fail` is a function of base/status.h.
#undef fail
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))
// clang-format on
#include <math.h>
#include <stdbool.h>

void test_register(const char *name, CMUnitTestFunction function);

#define TEST(name)                                                 \
    static void name(void **state_);                               \
    __attribute__((constructor)) static void register_##name(void) \
    {                                                              \
        test_register(#name, name);                                \
    }                                                              \
    static void name(__attribute__((unused)) void **state_)

#define CHECK(condition) assert_true(condition)
#define CHECK_EQUAL(a, b) assert_int_equal((a), (b))
#define CHECK_TEXT(a, b) assert_string_equal((a), (b))
/// Equal, or no farther apart than `tolerance`; NaN is near NaN only.
#define CHECK_NEAR(a, b, tolerance) test_near((a), (b), (tolerance), #a, __FILE__, __LINE__)
/// The call failed with this status, and its one-line message holds `words`.
#define CHECK_FAILS(call, status, words) \
    test_fails((int)(call), (int)(status), (words), #call, __FILE__, __LINE__)
#define CHECK_OK(call) test_ok((int)(call), #call, __FILE__, __LINE__)

void test_near(double a, double b, double tolerance, const char *what, const char *file, int line);
void test_fails(int got, int want, const char *words, const char *what, const char *file, int line);
void test_ok(int got, const char *what, const char *file, int line);

#endif
