// SPDX-License-Identifier: MIT
// Runs every TEST of the program that it is linked into, or those whose names contain argv[1].
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plumb/status.h"

enum { MAX_TESTS = 512 };
static struct CMUnitTest tests[MAX_TESTS];
static size_t count;

void test_register(const char *name, CMUnitTestFunction function)
{
    if (count == MAX_TESTS) abort();
    tests[count++] = (struct CMUnitTest){name, function, NULL, NULL, NULL};
}

void test_near(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (a == b || fabs(a - b) <= tolerance || (isnan(a) && isnan(b))) return;
    print_error("%s is %.17g, wanted %.17g within %.3g\n", what, a, b, tolerance);
    _fail(file, line);
}

void test_fails(int got, int want, const char *words, const char *what, const char *file, int line)
{
    if (got == want && strstr(plumb_last_error(), words) && !strchr(plumb_last_error(), '\n'))
        return;
    print_error("%s gave status %d (wanted %d): \"%s\", wanted words \"%s\"\n", what, got, want,
                got ? plumb_last_error() : "", words);
    _fail(file, line);
}

void test_ok(int got, const char *what, const char *file, int line)
{
    if (!got) return;
    print_error("%s failed: %s\n", what, plumb_last_error());
    _fail(file, line);
}

int main(int argc, char **argv)
{
    char pattern[256];
    snprintf(pattern, sizeof pattern, "*%s*", argc > 1 ? argv[1] : "");
    cmocka_set_test_filter(pattern);
    return _cmocka_run_group_tests("plumb", tests, count, NULL, NULL) != 0;
}
