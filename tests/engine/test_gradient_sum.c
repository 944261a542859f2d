// SPDX-License-Identifier: MIT
#include "engine/gradient_sum.h"

#include <math.h>

#include "math/rng.h"
#include "support/test.h"

enum { MANY = 5003 };
static float gradient[MANY];

TEST(every_instruction_set_gives_the_same_sum_of_squares)
{
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    rng r = rng_at(8, 5);
    for (int i = 0; i < MANY; i++) gradient[i] = (float)(rng_normal(&r) * 0.1);
    CHECK(gradient_sum_select("portable"));
    const double squares = gradient_sum_squares(gradient, MANY);
    for (int s = 1; s < 3; s++)
        if (gradient_sum_select(sets[s])) CHECK(gradient_sum_squares(gradient, MANY) == squares);
    CHECK(!gradient_sum_select("abacus"));
}

TEST(the_sum_of_squares_is_exact_for_integers_and_not_finite_if_an_element_is_not)
{
    for (int n = 0; n < 40; n++) {
        double want = 0.0;
        for (int i = 0; i < n; i++) {
            gradient[i] = (float)(i + 1);
            want += (i + 1.0) * (i + 1.0);
        }
        CHECK(gradient_sum_squares(gradient, n) == want);
    }
    gradient[17] = 3e38f; // its square is no float
    CHECK(isfinite(gradient_sum_squares(gradient, 40)));
    gradient[17] = INFINITY;
    CHECK(!isfinite(gradient_sum_squares(gradient, 40)));
    gradient[17] = NAN;
    CHECK(!isfinite(gradient_sum_squares(gradient, 40)));
}

TEST(sums_are_elementwise)
{
    float a[9], b[9];
    for (int i = 0; i < 9; i++) a[i] = (float)i, b[i] = 0.5f;
    gradient_add(a, b, 9);
    for (int i = 0; i < 9; i++) CHECK(a[i] == (float)i + 0.5f);
}
