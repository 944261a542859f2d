// SPDX-License-Identifier: MIT
#include "math/pca.h"

#include <math.h>

#include "math/rng.h"
#include "support/test.h"

enum { N = 700, D = 3 };

// Points with variances 9, 1 and 0.01 along axes turned by 30 degrees in the first plane.
static void draw_points(double *rows)
{
    const double c = cos(0.5235987755982988), s = sin(0.5235987755982988);
    rng r = rng_at(11, 0);
    for (int i = 0; i < N; i++) {
        const double u = 3.0 * rng_normal(&r), v = rng_normal(&r), w = 0.1 * rng_normal(&r);
        rows[i * D] = c * u - s * v + 5.0;
        rows[i * D + 1] = s * u + c * v - 2.0;
        rows[i * D + 2] = w;
    }
}

TEST(axes_are_the_directions_the_points_were_stretched_along)
{
    static double rows[N * D];
    draw_points(rows);
    arena mem = {0};
    pca_axes axes;
    CHECK_OK(pca_axes_fit(&axes, &mem, rows, N, D, N, false));
    CHECK_NEAR(axes.values[0], 9.0, 1.0);
    CHECK_NEAR(axes.values[1], 1.0, 0.2);
    CHECK_NEAR(axes.values[2], 0.01, 0.002);
    CHECK_NEAR(axes.axes[0], cos(0.5235987755982988), 0.02);
    CHECK_NEAR(axes.axes[1], sin(0.5235987755982988), 0.02);
    CHECK(pca_axes_leading(&axes, 0.85) == 1 && pca_axes_leading(&axes, 0.99) == 2);
    arena_clear(&mem);
}

TEST(whitened_points_have_the_identity_as_covariance)
{
    static double rows[N * D];
    draw_points(rows);
    arena mem = {0};
    pca_axes axes;
    CHECK_OK(pca_axes_whiten(&axes, &mem, rows, N, D));
    CHECK(axes.triangular);
    for (int a = 0; a < D; a++)
        for (int b = 0; b < D; b++) {
            double sum = 0.0;
            for (int i = 0; i < N; i++) {
                double y[2] = {0.0, 0.0};
                for (int k = 0; k < D; k++) {
                    const double x = rows[i * D + k] - axes.mean[k];
                    y[0] += axes.axes[a * axes.width + k] * x;
                    y[1] += axes.axes[b * axes.width + k] * x;
                }
                sum += y[0] * y[1] / N;
            }
            CHECK_NEAR(sum, a == b ? 1.0 : 0.0, 1e-10);
        }
    arena_clear(&mem);
}

TEST(components_of_dependent_variables_are_as_many_as_the_variables_span)
{
    // The third variable is the sum of the first two.
    static double x[D * N];
    double *projected;
    rng r = rng_at(12, 0);
    for (int i = 0; i < N; i++) {
        x[i] = rng_normal(&r);
        x[N + i] = rng_normal(&r);
        x[2 * N + i] = x[i] + x[N + i];
    }
    arena mem = {0};
    pca_components components;
    const pca_variables variables = {x, D, N, 0, N};
    CHECK_OK(pca_components_fit(&components, &projected, &mem, &variables, D));
    CHECK(components.count == 2);
    for (int k = 0; k < 2; k++) {
        double square = 0.0;
        for (int i = 0; i < N; i++) square += projected[k * N + i] * projected[k * N + i] / N;
        CHECK_NEAR(square, 1.0, 1e-10);
    }
    // The chain rule: derivatives by components times the axes.
    double j[D];
    pca_components_chain(j, &components, (double[]){1.0, 2.0}, 1);
    for (int d = 0; d < D; d++)
        CHECK_NEAR(j[d], components.axes[d] + 2.0 * components.axes[D + d], 1e-14);
    arena_clear(&mem);
}
