// SPDX-License-Identifier: MIT
#include "math/elliptic.h"

#include "support/test.h"

static const double half_pi = 1.5707963267948966;

TEST(elliptic_known_values)
{
    double f[3];
    const elliptic e = elliptic_make(0.5); // k^2 = 1/2
    elliptic_sncndn(f, &e, 0.5);
    CHECK_NEAR(f[0], 0.47075047365565736, 1e-15);
    CHECK_NEAR(f[1], 0.8822663948904402, 1e-15);
    CHECK_NEAR(f[2], 0.9429724257773857, 1e-15);
    // K(1/sqrt 2) = Gamma(1/4)^2 / (4 sqrt pi)
    CHECK_NEAR(half_pi / e.mean, 1.8540746773013719, 1e-15);
}

TEST(elliptic_is_circular_at_modulus_0_and_hyperbolic_at_1)
{
    double f[3];
    for (int k = 0; k < 38; k++) {
        const double u = -7.0 + 0.37 * k;
        elliptic e = elliptic_make(1.0);
        elliptic_sncndn(f, &e, u);
        CHECK_NEAR(f[0], sin(u), 1e-15);
        CHECK_NEAR(f[1], cos(u), 1e-15);
        CHECK_NEAR(f[2], 1.0, 1e-15);
        e = elliptic_make(0.0);
        elliptic_sncndn(f, &e, u);
        CHECK_NEAR(f[0], tanh(u), 1e-15);
        CHECK_NEAR(f[1], 1.0 / cosh(u), 1e-15);
        CHECK_NEAR(f[2], 1.0 / cosh(u), 1e-15);
        e = elliptic_make(1e-18); // as near to 1 as no number shows
        elliptic_sncndn(f, &e, u);
        CHECK_NEAR(f[0], tanh(u), 1e-12);
        CHECK_NEAR(f[2] * cosh(u), 1.0, 1e-9);
    }
}

TEST(elliptic_identities_hold_for_every_modulus)
{
    static const double m1[] = {1.0, 0.9, 0.5, 0.1, 1e-3, 1e-8, -1e-8, -0.1, -1.0, -25.0};
    for (size_t i = 0; i < sizeof m1 / sizeof *m1; i++) {
        const elliptic e = elliptic_make(m1[i]);
        for (int j = 0; j < 44; j++) {
            const double u = -9.0 + 0.41 * j;
            double f[3];
            elliptic_sncndn(f, &e, u);
            CHECK_NEAR(f[0] * f[0] + f[1] * f[1], 1.0, 1e-14);
            CHECK_NEAR(f[2] * f[2] + (1.0 - m1[i]) * f[0] * f[0], 1.0, 1e-14);
        }
    }
}

TEST(elliptic_derivatives)
{
    static const double m1[] = {0.99, 0.3, 1e-4, -0.5, -8.0};
    const double h = 1e-4;
    for (size_t i = 0; i < sizeof m1 / sizeof *m1; i++) {
        const elliptic e = elliptic_make(m1[i]);
        for (int j = 0; j < 13; j++) {
            const double u = -5.0 + 0.77 * j;
            double before[3], here[3], after[3];
            elliptic_sncndn(before, &e, u - h);
            elliptic_sncndn(here, &e, u);
            elliptic_sncndn(after, &e, u + h);
            CHECK_NEAR((after[0] - before[0]) / (2 * h), here[1] * here[2], 1e-6);
            CHECK_NEAR((after[1] - before[1]) / (2 * h), -here[0] * here[2], 1e-6);
            CHECK_NEAR((after[2] - before[2]) / (2 * h), -(1.0 - m1[i]) * here[0] * here[1], 1e-6);
        }
    }
}
