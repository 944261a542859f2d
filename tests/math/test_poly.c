// SPDX-License-Identifier: MIT
#include "math/poly.h"

#include <string.h>

#include "math/rng.h"
#include "support/test.h"

static int64_t binomial(int64_t n, int64_t k)
{
    int64_t row[64] = {1}; // Pascal's triangle needs no division
    for (int64_t i = 1; i <= n; i++)
        for (int64_t j = i; j > 0; j--) row[j] += row[j - 1];
    return row[k];
}

TEST(the_count_is_a_binomial_less_the_constant)
{
    for (int64_t dims = 1; dims <= 20; dims++)
        for (int order = 1; order <= POLY_MAX_ORDER; order++)
            CHECK_EQUAL(poly_count(dims, order), binomial(dims + order, order) - 1);
    CHECK_EQUAL(poly_count(32, 5), 435896);
    CHECK_EQUAL(poly_count(1024, 1), 1024);
}

TEST(a_count_beyond_64_bits_is_rejected)
{
    CHECK_EQUAL(poly_count(1000000, 8), -1);
    CHECK_EQUAL(poly_count(INT64_MAX - 10, 2), -1);
    arena mem = {0};
    poly p;
    CHECK_FAILS(poly_init(&p, &mem, 1000000, 8), PLUMB_EMEMORY,
                "order 8 in 1000000 variables has too many terms");
    arena_clear(&mem);
}

TEST(monomials_are_ordered_by_degree_then_lexicographically)
{
    // Two variables up to order 3, by hand.
    static const struct {
        int degree;
        int64_t v[3];
    } by_hand[] = {{1, {0}},       {1, {1}},       {2, {0, 0}},    {2, {0, 1}},   {2, {1, 1}},
                   {3, {0, 0, 0}}, {3, {0, 0, 1}}, {3, {0, 1, 1}}, {3, {1, 1, 1}}};
    arena mem = {0};
    poly p;
    CHECK_OK(poly_init(&p, &mem, 2, 3));
    CHECK_EQUAL(p.count, 9);
    for (int i = 0; i < 9; i++) {
        int64_t v[POLY_MAX_ORDER];
        CHECK_EQUAL(poly_variables(v, &p, i), by_hand[i].degree);
        for (int k = 0; k < by_hand[i].degree; k++) CHECK_EQUAL(v[k], by_hand[i].v[k]);
    }
    arena_clear(&mem);
}

// The next multiset in dictionary order: an odometer whose wheels never fall below the one before.
static bool next_monomial(int64_t *v, int degree, int64_t dims)
{
    for (int k = degree - 1; k >= 0; k--) {
        if (v[k] + 1 == dims) continue;
        const int64_t fresh = v[k] + 1;
        for (int i = k; i < degree; i++) v[i] = fresh;
        return true;
    }
    return false;
}

TEST(every_number_is_the_monomial_an_odometer_reaches)
{
    for (int64_t dims = 1; dims <= 6; dims++)
        for (int order = 1; order <= 6; order++) {
            arena mem = {0};
            poly p;
            CHECK_OK(poly_init(&p, &mem, dims, order));
            int64_t number = 0;
            for (int degree = 1; degree <= order; degree++) {
                CHECK_EQUAL(p.first[degree], number);
                int64_t want[POLY_MAX_ORDER] = {0}, got[POLY_MAX_ORDER];
                do {
                    CHECK_EQUAL(poly_variables(got, &p, number), degree);
                    for (int k = 0; k < degree; k++) CHECK_EQUAL(got[k], want[k]);
                    CHECK_EQUAL(poly_index(&p, want, degree), number);
                    number++;
                } while (next_monomial(want, degree, dims));
            }
            CHECK_EQUAL(number, p.count);
            CHECK_EQUAL(p.first[order + 1], p.count);
            arena_clear(&mem);
        }
}

TEST(expanded_columns_are_products_of_their_variables)
{
    enum { DIMS = 5, ORDER = 4, N = 16, STRIDE = 24, COUNT = 125 };
    static double x[DIMS * STRIDE], out[(COUNT + 1) * STRIDE];
    arena mem = {0};
    poly p;
    CHECK_OK(poly_init(&p, &mem, DIMS, ORDER));
    CHECK_EQUAL(p.count, COUNT);
    rng r = rng_at(5, 0);
    for (int i = 0; i < DIMS * STRIDE; i++) x[i] = rng_normal(&r);
    for (int degree = 1; degree <= ORDER; degree++) {
        for (int i = 0; i < (COUNT + 1) * STRIDE; i++) out[i] = 99.0;
        poly_expand(out, &p, degree, x, STRIDE, N);
        for (int64_t f = 0; f <= COUNT; f++)
            for (int i = 0; i < STRIDE; i++) {
                double want = 99.0, spread = 0.0; // beyond the degree and the length: untouched
                if (f < p.first[degree + 1] && i < N) {
                    int64_t v[POLY_MAX_ORDER];
                    const int factors = poly_variables(v, &p, f);
                    want = 1.0;
                    for (int k = 0; k < factors; k++) want *= x[v[k] * STRIDE + i];
                    spread = 1e-15 * fabs(want);
                }
                CHECK_NEAR(out[f * STRIDE + i], want, spread);
            }
    }
    arena_clear(&mem);
}

static double value_of(const poly *p, int64_t monomial, const double *x)
{
    int64_t v[POLY_MAX_ORDER];
    const int degree = poly_variables(v, p, monomial);
    double product = 1.0;
    for (int k = 0; k < degree; k++) product *= x[v[k]];
    return product;
}

TEST(gradients_of_x0_squared_x1_by_hand_add_up)
{
    arena mem = {0};
    poly p;
    CHECK_OK(poly_init(&p, &mem, 2, 3));
    double gradient[2] = {10.0, 20.0};
    poly_gradient(gradient, &p, 6, 2.0, (double[]){3.0, 5.0}); // 2 x0 x0 x1
    CHECK_NEAR(gradient[0], 10.0 + 2.0 * 2.0 * 3.0 * 5.0, 0.0);
    CHECK_NEAR(gradient[1], 20.0 + 2.0 * 3.0 * 3.0, 0.0);
    // At a zero too, where dividing the product by a variable would fail.
    gradient[0] = gradient[1] = 0.0;
    poly_gradient(gradient, &p, 3, 1.0, (double[]){0.0, 5.0});
    CHECK_NEAR(gradient[0], 5.0, 0.0);
    CHECK_NEAR(gradient[1], 0.0, 0.0);
    arena_clear(&mem);
}

TEST(gradients_agree_with_finite_differences)
{
    enum { DIMS = 4 };
    arena mem = {0};
    poly p;
    CHECK_OK(poly_init(&p, &mem, DIMS, 5));
    rng r = rng_at(6, 0);
    double x[DIMS];
    for (int i = 0; i < DIMS; i++) x[i] = 0.5 + rng_uniform(&r);
    for (int64_t f = 0; f < p.count; f++) {
        double gradient[DIMS] = {0};
        poly_gradient(gradient, &p, f, -1.5, x);
        for (int i = 0; i < DIMS; i++) {
            const double h = 1e-5, keep = x[i];
            x[i] = keep + h;
            const double above = value_of(&p, f, x);
            x[i] = keep - h;
            const double below = value_of(&p, f, x);
            x[i] = keep;
            CHECK_NEAR(gradient[i], -1.5 * (above - below) / (2.0 * h), 1e-7);
        }
    }
    arena_clear(&mem);
}
