// SPDX-License-Identifier: MIT
#include "math/arcsine.h"

#include <string.h>

#include "math/rng.h"
#include "support/test.h"

enum { N = 100003 };
static double x[N], y[N], z[N];

static void fill_random(void)
{
    rng r = rng_at(3, 1);
    for (int i = 0; i < N; i++) x[i] = 2.0 * rng_uniform(&r) - 1.0;
    const double edges[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0x1.0000000000001p-1, 1e-300};
    memcpy(x, edges, sizeof edges);
}

TEST(it_is_the_arc_sine_of_the_c_library)
{
    fill_random();
    memcpy(y, x, sizeof x);
    arcsine_all(y, N);
    for (int i = 0; i < N; i++) CHECK_NEAR(y[i], asin(x[i]), 3e-16);
}

TEST(every_instruction_set_gives_the_same_bits)
{
    fill_random();
    memcpy(y, x, sizeof x);
    memcpy(z, x, sizeof x);
    assert_true(arcsine_select("portable"));
    arcsine_all(y, N);
    if (!arcsine_select("avx2")) skip();
    arcsine_all(z, N);
    CHECK(!memcmp(y, z, sizeof y));
}
