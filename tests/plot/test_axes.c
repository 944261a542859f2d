// SPDX-License-Identifier: MIT
// Axes of any range have a bounded number of ticks inside the range.
#include "plot/axes.h"

#include <math.h>

#include "support/test.h"

static void check_axis(double low, double high)
{
    const axes_span span = axes_between(low, high, 8);
    int64_t first, count = axes_ticks(&first, &span);
    CHECK(span.low < span.high);
    CHECK(span.low <= low && (span.high >= high || high <= low));
    CHECK(count >= 2 && count <= 20);
    CHECK((double)first * span.step >= span.low - 1e-9 * span.step);
    CHECK((double)(first + count - 1) * span.step <= span.high + 1e-9 * span.step);
}

TEST(an_axis_has_a_few_ticks_whatever_the_values)
{
    for (int e = -250; e <= 250; e += 5) {
        const double size = pow(10.0, e);
        check_axis(0.0, size);
        check_axis(-size, size);
        check_axis(-size, -0.3 * size);
        check_axis(size, 1.0001 * size);
    }
}

TEST(values_that_differ_by_rounding_only_get_an_axis_around_them)
{
    for (int e = -250; e <= 250; e += 50) {
        const double size = pow(10.0, e);
        check_axis(size, nextafter(size, INFINITY));
        check_axis(-nextafter(size, INFINITY), -size);
        check_axis(size, size);
    }
    // A figure that sets the range itself: no ticks, and no endless loop.
    const axes_span fine = {.low = 1e20, .high = 1e20 + 32768.0, .step = 1.0};
    int64_t first;
    CHECK_EQUAL(axes_ticks(&first, &fine), 0);
    const axes_span none = {.low = 0.0, .high = 1.0};
    CHECK_EQUAL(axes_ticks(&first, &none), 0);
    const axes_span invalid = {.low = NAN, .high = 1.0, .step = 1.0};
    CHECK_EQUAL(axes_ticks(&first, &invalid), 0);
}
