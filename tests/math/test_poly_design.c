// SPDX-License-Identifier: MIT
// Every kind of design against columns that are stored in full.
#include "math/poly_design.h"

#include "math/dense_reference.h"
#include "math/vector.h"

static const poly_design_kind kinds[] = {POLY_DESIGN_PLAIN, POLY_DESIGN_STORED, POLY_DESIGN_GRAM,
                                         POLY_DESIGN_LOW_MEMORY};
enum { KINDS = 4 };

// Columns are not centred before they are multiplied, so their means cancel: what is lost is
// rounding of the raw column, whose square is norm2 + rows mean^2.
static double raw_norm(const dense *d, int64_t f)
{
    return sqrt(d->norm2[f] + (double)d->rows * d->mean[f] * d->mean[f]);
}

static void check_moments(const dense *d, const poly_design *got)
{
    CHECK_EQUAL(got->rows, d->rows);
    CHECK_EQUAL(got->stride % VECTOR_PAD, 0);
    for (int64_t f = 0; f < d->poly.count; f++) {
        const double raw = raw_norm(d, f);
        CHECK_NEAR(got->mean[f], d->mean[f], 1e-14 * raw);
        CHECK_NEAR(got->norm2[f], d->norm2[f], 1e-13 * raw * raw);
    }
}

static void check_columns(dense *d, const poly_design *got)
{
    double *column = ARENA_ALLOC(&d->mem, double, got->stride);
    for (int64_t f = 0; f < d->poly.count; f++) {
        for (int64_t i = 0; i < got->stride; i++) column[i] = 99.0;
        poly_design_column(column, got, f);
        const double raw = raw_norm(d, f);
        for (int64_t i = 0; i < got->stride; i++)
            CHECK_NEAR(column[i], i < d->rows ? d->columns[f * d->rows + i] : 0.0,
                       i < d->rows ? 1e-14 * raw : 0.0);
    }
}

static void check_correlations(dense *d, const poly_design *got)
{
    double *r = ARENA_ALLOC(&d->mem, double, got->stride);
    double *g = ARENA_ALLOC(&d->mem, double, d->poly.count);
    double *scratch = ARENA_ALLOC(&d->mem, double, poly_design_scratch(got));
    memcpy(r, d->centred, (size_t)d->rows * sizeof *r);
    for (int64_t f = 0; f < d->poly.count; f++) g[f] = 99.0; // what was there does not count
    poly_design_correlate(g, got, r, scratch);
    for (int64_t f = 0; f < d->poly.count; f++)
        CHECK_NEAR(g[f], dense_dot(d->columns + f * d->rows, d->centred, d->rows),
                   1e-14 * raw_norm(d, f) * sqrt(d->yy) * sqrt((double)d->rows));
}

static void check_apply(dense *d, const poly_design *got)
{
    int64_t features[12], count = 0;
    double weights[12], size = 0.0;
    double *y = ARENA_ALLOC(&d->mem, double, got->stride);
    for (int64_t f = 0; f < d->poly.count && count < 12; f += 1 + d->poly.count / 11) {
        features[count] = f;
        weights[count] = 0.5 * (double)(count - 3) + 0.25;
        size += fabs(weights[count++]) * raw_norm(d, f);
    }
    poly_design_apply(y, got, features, weights, count);
    for (int64_t i = 0; i < got->stride; i++) {
        double want = 0.0;
        for (int64_t k = 0; k < count && i < d->rows; k++)
            want += weights[k] * d->columns[features[k] * d->rows + i];
        CHECK_NEAR(y[i], want, i < d->rows ? 1e-14 * size : 0.0);
    }
    poly_design_apply(y, got, NULL, NULL, 0); // nothing gives zeros
    for (int64_t i = 0; i < got->stride; i++) CHECK_NEAR(y[i], 0.0, 0.0);
}

static void check_gram(const dense *d, const poly_design *got)
{
    const int64_t count = d->poly.count, n = d->rows;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++) {
            const double want = dense_dot(d->columns + i * n, d->columns + j * n, n);
            CHECK_NEAR(got->gram[i * got->gram_stride + j], want,
                       1e-13 * raw_norm(d, i) * raw_norm(d, j));
            CHECK_NEAR(got->gram[i * got->gram_stride + j], got->gram[j * got->gram_stride + i],
                       0.0);
        }
}

TEST(every_kind_is_the_dense_matrix_at_odd_sizes_and_all_orders)
{
    static const int64_t row_counts[] = {2, 7, 32, 33, 300};
    for (int order = 1; order <= 5; order++)
        for (int64_t dims = 1; dims <= 4; dims++)
            for (int r = 0; r < 5; r++) {
                dense d;
                dense_init(&d, dims, order, row_counts[r]);
                dense_random(&d, (uint64_t)(100 * order + 10 * dims + r), 0.5);
                dense_expand(&d);
                for (int k = 0; k < KINDS; k++) {
                    poly_design got;
                    CHECK_OK(poly_design_init(&got, &d.mem, &d.poly,
                                              &(poly_rows){d.x, d.stride, 0, d.rows, NULL},
                                              kinds[k]));
                    CHECK((got.gram != NULL) == (kinds[k] == POLY_DESIGN_GRAM));
                    check_moments(&d, &got);
                    check_columns(&d, &got);
                    check_correlations(&d, &got);
                    check_apply(&d, &got);
                    if (got.gram) check_gram(&d, &got);
                }
                dense_clear(&d);
            }
}

TEST(rows_in_the_middle_are_those_rows_and_no_others)
{
    dense d;
    dense_init(&d, 3, 3, 40);
    dense_random(&d, 1, 0.5);
    poly_design whole, part;
    dense middle; // rows 11 .. 29, copied out
    dense_init(&middle, 3, 3, 19);
    for (int v = 0; v < 3; v++)
        memcpy(middle.x + v * middle.stride, d.x + v * d.stride + 11, 19 * sizeof *d.x);
    CHECK_OK(poly_design_init(&whole, &d.mem, &d.poly, &(poly_rows){d.x, d.stride, 11, 19, NULL},
                              POLY_DESIGN_GRAM));
    CHECK_OK(poly_design_init(&part, &d.mem, &d.poly,
                              &(poly_rows){middle.x, middle.stride, 0, 19, NULL},
                              POLY_DESIGN_GRAM));
    const size_t count = (size_t)d.poly.count;
    CHECK(memcmp(whole.mean, part.mean, count * sizeof(double)) == 0);
    CHECK(memcmp(whole.gram, part.gram, count * whole.gram_stride * sizeof(double)) == 0);
    dense_clear(&middle);
    dense_clear(&d);
}

TEST(rows_that_need_no_zeros_are_not_copied)
{
    // Rows 16 .. 39 of 56, where the design lies in the middle of longer columns.
    enum { FIRST = 16, COUNT = 24 };
    dense d, middle;
    dense_init(&d, 3, 2, 56);
    dense_random(&d, 4, 0.5);
    dense_init(&middle, 3, 2, COUNT);
    dense_random(&middle, 5, 0.5);
    for (int v = 0; v < 3; v++)
        memcpy(middle.x + v * middle.stride, d.x + v * d.stride + FIRST, COUNT * sizeof *d.x);
    dense_expand(&middle);
    for (int k = 0; k < KINDS; k++) {
        poly_design got;
        const poly_rows rows = {d.x, d.stride, FIRST, COUNT, NULL};
        CHECK_OK(poly_design_init(&got, &d.mem, &d.poly, &rows, kinds[k]));
        CHECK((got.x == d.x + FIRST) == (got.stored == NULL));
        check_moments(&middle, &got);
        check_columns(&middle, &got);
        check_correlations(&middle, &got);
        check_apply(&middle, &got);
    }
    dense_clear(&middle);
    dense_clear(&d);
}

TEST(many_row_blocks_give_what_one_gives)
{
    // 10 variables at order 4 and this many rows: what is not stored is made in several blocks.
    dense d;
    dense_init(&d, 10, 4, 4001);
    dense_random(&d, 2, 0.5);
    poly_design plain, frugal;
    CHECK_OK(poly_design_init(&plain, &d.mem, &d.poly, &(poly_rows){d.x, d.stride, 0, d.rows, NULL},
                              POLY_DESIGN_PLAIN));
    CHECK_OK(poly_design_init(&frugal, &d.mem, &d.poly,
                              &(poly_rows){d.x, d.stride, 0, d.rows, NULL},
                              POLY_DESIGN_LOW_MEMORY));
    CHECK(plain.stored && !frugal.stored);
    CHECK(frugal.block_rows < frugal.stride);
    CHECK(frugal.stride % frugal.block_rows != 0); // the last block is shorter
    dense_centre(d.y, d.y, d.rows, &d.yy);
    double *r = ARENA_ALLOC(&d.mem, double, plain.stride);
    memcpy(r, d.y, (size_t)d.rows * sizeof *r);
    double *a = ARENA_ALLOC(&d.mem, double, d.poly.count),
           *b = ARENA_ALLOC(&d.mem, double, d.poly.count);
    poly_design_correlate(a, &plain, r, ARENA_ALLOC(&d.mem, double, poly_design_scratch(&plain)));
    poly_design_correlate(b, &frugal, r, ARENA_ALLOC(&d.mem, double, poly_design_scratch(&frugal)));
    for (int64_t f = 0; f < d.poly.count; f++) {
        const double norm = sqrt(plain.norm2[f]);
        CHECK_NEAR(a[f], b[f], 1e-12 * norm * sqrt(d.yy));
        CHECK_NEAR(plain.mean[f], frugal.mean[f], 1e-13 * norm);
        CHECK_NEAR(plain.norm2[f], frugal.norm2[f], 1e-12 * norm * norm);
    }
    dense_clear(&d);
}

TEST(a_constant_column_has_no_length)
{
    for (int k = 0; k < KINDS; k++) {
        dense d;
        dense_init(&d, 2, 2, 33);
        dense_random(&d, 4, 0.5);
        for (int64_t i = 0; i < d.rows; i++) d.x[d.stride + i] = 0.0;
        poly_design got;
        CHECK_OK(poly_design_init(&got, &d.mem, &d.poly,
                                  &(poly_rows){d.x, d.stride, 0, d.rows, NULL}, kinds[k]));
        CHECK_NEAR(got.norm2[1], 0.0, 0.0); // x1
        CHECK_NEAR(got.norm2[3], 0.0, 0.0); // x0 x1
        CHECK_NEAR(got.norm2[4], 0.0, 0.0); // x1 x1
        CHECK(got.norm2[0] > 1.0 && got.norm2[2] > 1.0);
        dense_clear(&d);
    }
}

// A source that copies rows of columns in memory.
typedef struct column_copy {
    const double *x;
    int64_t dims, stride;
} column_copy;

static void copy_columns(double *out, int64_t stride, const void *context, int64_t first, int64_t n)
{
    const column_copy *from = context;
    for (int64_t i = 0; i < from->dims; i++)
        memcpy(out + i * stride, from->x + i * from->stride + first, (size_t)n * sizeof *out);
}

// Correlations and sums of two vectors by both designs: the same bits?
static void check_same_products(arena *mem, const poly_design *a, const poly_design *b)
{
    enum { VECTORS = 2, DIMS = 64 };
    const int64_t features[] = {0, 2, DIMS - 1};
    const double weights[] = {0.5, -1.25, 0.1};
    double *r = ARENA_ALLOC(mem, double, VECTORS * a->stride);
    double *scratch = ARENA_ALLOC(mem, double, poly_design_scratch(a));
    double *y = ARENA_ALLOC(mem, double, VECTORS * a->stride);
    double one[DIMS], all[VECTORS * DIMS];
    for (int64_t i = 0; i < VECTORS * a->stride; i++)
        r[i] = i % a->stride < a->rows ? (double)(i % 97) - 48.0 : 0.0;
    poly_design_correlate_all(all, b, r, VECTORS, scratch);
    for (int v = 0; v < VECTORS; v++) {
        poly_design_correlate(one, a, r + v * a->stride, scratch);
        CHECK(memcmp(one, all + v * DIMS, sizeof one) == 0);
    }
    const poly_sum sums[VECTORS] = {{y, features, weights, 3},
                                    {y + a->stride, features, weights, 1}};
    CHECK_OK(poly_design_apply_all(sums, VECTORS, mem, b));
    for (int v = 0; v < VECTORS; v++) {
        poly_design_apply(r, a, features, weights, sums[v].count);
        CHECK(memcmp(r, sums[v].y, (size_t)a->stride * sizeof *r) == 0);
    }
}

TEST(variables_that_are_made_when_needed_give_the_bits_of_those_in_memory)
{
    // So many rows that the variables are not stored, and a last block that is shorter.
    enum { DIMS = 64, ROWS = 140001, FIRST = 16 };
    arena mem = {0};
    poly basis;
    CHECK_OK(poly_init(&basis, &mem, DIMS, 1));
    const int64_t stride = vector_padded(FIRST + ROWS);
    double *x = ARENA_ALLOC(&mem, double, DIMS *stride);
    for (int64_t i = 0; i < DIMS * stride; i++)
        x[i] = i % stride < FIRST + ROWS ? (double)(i * 7919 % 1000003) / 1e6 : 0.0;
    const column_copy columns = {x, DIMS, stride};
    const poly_source source = {copy_columns, &columns};
    poly_design held, made;
    CHECK_OK(poly_design_init(&held, &mem, &basis, &(poly_rows){x, stride, FIRST, ROWS, NULL},
                              POLY_DESIGN_GRAM));
    CHECK_OK(poly_design_init(&made, &mem, &basis, &(poly_rows){NULL, 0, FIRST, ROWS, &source},
                              POLY_DESIGN_GRAM));
    CHECK(held.x && !made.x && !held.stored && !made.stored);
    CHECK(memcmp(held.mean, made.mean, DIMS * sizeof(double)) == 0);
    CHECK(memcmp(held.gram, made.gram, (size_t)(DIMS * held.gram_stride) * sizeof(double)) == 0);
    check_same_products(&mem, &held, &made);
    arena_clear(&mem);
}
