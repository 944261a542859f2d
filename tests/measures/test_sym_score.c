// SPDX-License-Identifier: MIT
// Jacobians whose Sym is known in closed form.
#include "measures/symetric/sym_score.h"

#include <string.h>

#include "math/rng.h"
#include "support/test.h"

enum { MOST = 16, POINTS = 10 };
static double score[POINTS], rho[POINTS];

static sym_score measure(const double *jacobians, int64_t points, int64_t n, int64_t m,
                         double shift, plumb_symetric_scale scale)
{
    static double copy[POINTS * MOST * MOST], scratch[2 * POINTS * MOST * MOST];
    memcpy(copy, jacobians, (size_t)(points * 4 * n * m) * sizeof *copy);
    sym_score out = {.score = score, .rho = rho};
    int64_t q[MOST], p[MOST];
    for (int64_t i = 0; i < m; i++) q[i] = i, p[i] = m + i;
    sym_score_compute(&out, copy,
                      &(sym_score_input){.points = points,
                                         .n = n,
                                         .columns = 2 * m,
                                         .pairs = m,
                                         .q = q,
                                         .p = p,
                                         .shift = shift,
                                         .scale = scale},
                      scratch);
    return out;
}

static double sym_of(const double *jacobian, int64_t n, int64_t m)
{
    const double exact = measure(jacobian, 1, n, m, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym;
    // The published shift of 1e-6 hardly matters to a healthy map.
    CHECK_NEAR(measure(jacobian, 1, n, m, 1e-6, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym, exact, 1e-4);
    return exact;
}

TEST(sym_of_a_canonical_map_is_zero)
{
    // (q, p) -> (2q, p/2) stretches and squeezes but keeps area; so do rotations and shears.
    const double squeeze[4] = {2.0, 0.0, 0.0, 0.5};
    const double rotation[4] = {0.6, 0.8, -0.8, 0.6};
    const double shear[4] = {1.0, 0.0, 7.0, 1.0};
    CHECK_NEAR(sym_of(squeeze, 1, 1), 0.0, 1e-30);
    CHECK_NEAR(sym_of(rotation, 1, 1), 0.0, 1e-30);
    CHECK_NEAR(sym_of(shear, 1, 1), 0.0, 1e-30);
    CHECK_NEAR(rho[0], 1.0 / 50.0, 1e-5); // area 1, longest row 7, 1

    // n = 2: q' = M q, p' = M^-T p with M = [[2, 1], [1, 1]], then p' += S q' with S symmetric.
    const double point[16] = {2, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, -1, 0, 0, -1, 2};
    CHECK_NEAR(sym_of(point, 2, 2), 0.0, 1e-30);
    double sheared[16];
    memcpy(sheared, point, sizeof sheared);
    const double S[4] = {3.0, -1.0, -1.0, 0.5};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 4; j++) sheared[(2 + i) * 4 + j] += S[i * 2 + k] * point[k * 4 + j];
    CHECK_NEAR(sym_of(sheared, 2, 2), 0.0, 1e-30);
    // With S not symmetric {p1, p2} is no longer 0.
    for (int j = 0; j < 4; j++) sheared[2 * 4 + j] += 0.5 * point[4 + j];
    CHECK(sym_of(sheared, 2, 2) > 0.01);
}

TEST(latents_the_map_ignores_do_not_count)
{
    // n = 1 in a latent space of m = 3: q from q1, p from p1.
    const double padded[12] = {0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0};
    CHECK_NEAR(sym_of(padded, 1, 3), 0.0, 1e-30);
    CHECK_NEAR(rho[0], 6.0 / 9.0, 1e-5);
    // p from the p of another pair: no area at all.
    const double crossed[12] = {0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};
    CHECK_NEAR(measure(crossed, 1, 1, 3, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym, 0.5, 0.0);
    CHECK_NEAR(rho[0], 0.0, 0.0);
}

TEST(a_known_matrix_has_the_value_worked_out_by_hand)
{
    // diag(1, 1, 1, 2): A^ has 1 and 2, so A^ A^T = diag(1, 4, 1, 4).
    const double matrix[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2};
    sym_score s = measure(matrix, 1, 2, 2, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX);
    CHECK_NEAR(s.norm, 4.0, 1e-15);
    CHECK_NEAR(s.sym, 2.0 * 0.75 * 0.75 / 16.0, 1e-16);
    CHECK_NEAR(score[0], s.sym, 0.0);
    CHECK_NEAR(rho[0], 2.0 / 4.0, 1e-16);
    // The best c is trace / sum of squares = 10/34, which leaves (4 - 100/34) / 16.
    s = measure(matrix, 1, 2, 2, 0.0, PLUMB_SYMETRIC_SCALE_MINIMISE);
    CHECK_NEAR(s.sym, (4.0 - 100.0 / 34.0) / 16.0, 1e-15);
    CHECK_NEAR(s.norm, 4.0, 1e-15); // stays what was published
}

TEST(one_degree_of_freedom_sees_only_how_area_varies)
{
    // Q = a^2 I: one point scores 0 whatever a is; two with a^2 = 1 and 3 score CV^2 / 2 = 1/8.
    const double stretch[4] = {5.0, 0.0, 0.0, 3.0};
    CHECK_NEAR(sym_of(stretch, 1, 1), 0.0, 1e-30);
    const double two[8] = {1, 0, 0, 1, 1, 0, 0, 1.7320508075688772};
    const sym_score s = measure(two, 2, 1, 1, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX);
    CHECK_NEAR(s.norm, 2.0, 1e-15);
    CHECK_NEAR(s.sym, 0.125, 1e-15);
    CHECK_NEAR(score[0], 0.125, 1e-15);
    CHECK_NEAR(score[1], 0.125, 1e-15);
}

TEST(wrong_pairing_is_invisible_to_sym)
{
    // Momenta exchanged: A^ is still orthogonal, so A^ A^T = I. A fault of the published measure.
    const double exchanged[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0};
    CHECK_NEAR(sym_of(exchanged, 2, 2), 0.0, 1e-30);
}

TEST(the_zero_map_scores_one_in_2n)
{
    const double zero[MOST * MOST] = {0};
    for (int64_t n = 1; n <= 4; n++) {
        CHECK_NEAR(measure(zero, 1, n, 2, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym, 1.0 / (2.0 * n),
                   1e-16);
        CHECK_NEAR(rho[0], 0.0, 0.0);
        CHECK_NEAR(measure(zero, 1, n, 2, 0.0, PLUMB_SYMETRIC_SCALE_MINIMISE).sym, 1.0 / (2.0 * n),
                   1e-16);
        // A shift alike in every entry makes no area either.
        CHECK_NEAR(measure(zero, 1, n, 2, 1e-6, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym, 1.0 / (2.0 * n),
                   1e-16);
    }
}

TEST(dead_momenta_leave_no_area_but_the_shift_hides_it)
{
    // q and p both from q-latents, J = [I 0]: A^ = 0. The shift makes it 1e-6, and c rescales it.
    const double dead[12] = {1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0};
    CHECK_NEAR(measure(dead, 1, 1, 3, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym, 0.5, 0.0);
    CHECK_NEAR(rho[0], 0.0, 0.0);
    const sym_score shifted = measure(dead, 1, 1, 3, 1e-6, PLUMB_SYMETRIC_SCALE_MEAN_MAX);
    CHECK_NEAR(shifted.sym, 0.0, 1e-15); // as published: a perfect score for nothing
    CHECK(rho[0] > 0.0 && rho[0] < 1e-5);
}

TEST(the_shift_is_left_in_the_jacobian)
{
    double j[4] = {1.0, 0.0, 0.0, 1.0}, scratch[8];
    sym_score out = {.score = score, .rho = rho};
    sym_score_compute(&out, j,
                      &(sym_score_input){.points = 1,
                                         .n = 1,
                                         .columns = 2,
                                         .pairs = 1,
                                         .q = (int64_t[]){0},
                                         .p = (int64_t[]){1},
                                         .shift = 0.25},
                      scratch);
    CHECK_NEAR(j[0], 1.25, 0.0);
    CHECK_NEAR(j[1], 0.25, 0.0);
    CHECK_NEAR(out.norm, pow(1.25 * 1.25 - 0.25 * 0.25, 2.0), 1e-15);
    CHECK_NEAR(rho[0], 1.25 * 1.25 - 0.25 * 0.25, 1e-15); // over the row length before the shift
}

// Sym as the formula is printed: dense products, no shortcut through antisymmetry.
static double sym_literally(const double *jacobians, int64_t points, int64_t n, int64_t m)
{
    const int64_t rows = 2 * n, columns = 2 * m;
    static double q[POINTS][MOST * MOST];
    double norm = 0.0, sym = 0.0;
    for (int64_t p = 0; p < points; p++) {
        const double *j = jacobians + p * rows * columns;
        double ja[MOST * MOST] = {0}, form[MOST * MOST] = {0}, largest = 0.0;
        for (int64_t a = 0; a < rows; a++) // J A, A = [[0, I], [-I, 0]]
            for (int64_t k = 0; k < m; k++) {
                ja[a * columns + m + k] = j[a * columns + k];
                ja[a * columns + k] = -j[a * columns + m + k];
            }
        for (int64_t a = 0; a < rows; a++)
            for (int64_t b = 0; b < rows; b++)
                for (int64_t k = 0; k < columns; k++)
                    form[a * rows + b] += ja[a * columns + k] * j[b * columns + k];
        for (int64_t a = 0; a < rows; a++)
            for (int64_t b = 0; b < rows; b++) {
                double sum = 0.0;
                for (int64_t k = 0; k < rows; k++) sum += form[a * rows + k] * form[b * rows + k];
                q[p][a * rows + b] = sum;
                largest = fmax(largest, fabs(sum));
            }
        norm += largest / (double)points;
    }
    for (int64_t p = 0; p < points; p++)
        for (int64_t i = 0; i < rows * rows; i++) {
            const double e = q[p][i] / norm - (i / rows == i % rows ? 1.0 : 0.0);
            sym += e * e / (double)(points * rows * rows);
        }
    return sym;
}

TEST(random_maps_score_as_the_formula_says_and_minimise_is_never_more)
{
    rng r = rng_at(8, 0);
    double j[POINTS * 8 * 8];
    for (int round = 0; round < 200; round++) {
        const int64_t n = 1 + round % 4, m = 1 + rng_below(&r, 4);
        const int64_t points = 1 + rng_below(&r, POINTS);
        for (int i = 0; i < POINTS * 64; i++) j[i] = rng_normal(&r);
        const double sym = measure(j, points, n, m, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym;
        CHECK_NEAR(sym, sym_literally(j, points, n, m), 1e-12 * (1.0 + sym));
        const double least = measure(j, points, n, m, 0.0, PLUMB_SYMETRIC_SCALE_MINIMISE).sym;
        CHECK(least <= sym * (1.0 + 1e-12));
    }
}

TEST(a_latent_without_its_partner_is_a_column_of_zeros_for_the_partner)
{
    // Three latent pairs (columns 0..2 are q, 3..5 are p); the map takes q0, q1, p0, p2 only.
    rng r = rng_at(5, 0);
    static const int64_t taken[4] = {0, 1, 3, 5};
    double few[4 * 4], all[4 * 6] = {0.0}, copy[16], scratch[2 * 16];
    for (int row = 0; row < 4; row++)
        for (int k = 0; k < 4; k++) few[row * 4 + k] = all[row * 6 + taken[k]] = rng_normal(&r);
    const double whole = measure(all, 1, 2, 3, 0.0, PLUMB_SYMETRIC_SCALE_MEAN_MAX).sym;
    const double whole_rho = rho[0];
    memcpy(copy, few, sizeof copy);
    sym_score out = {.score = score, .rho = rho};
    sym_score_compute(&out, copy,
                      &(sym_score_input){.points = 1,
                                         .n = 2,
                                         .columns = 4,
                                         .pairs = 1,
                                         .q = (int64_t[]){0},
                                         .p = (int64_t[]){2}},
                      scratch);
    CHECK_NEAR(out.sym, whole, 1e-15);
    CHECK_NEAR(rho[0], whole_rho, 1e-15);
}
