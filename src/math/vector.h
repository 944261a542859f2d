// SPDX-License-Identifier: MIT
// Loops over doubles, with the best instructions of this processor.
//
// Every sum runs in the same eight lanes, and products and sums are rounded separately, so the
// portable, the AVX2 and the AVX-512 form give the same bits. Lengths n are multiples of
// VECTOR_PAD; callers fill up with zeros.
#ifndef MATH_VECTOR_H
#define MATH_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

enum { VECTOR_PAD = 8 };

/// n rounded up to a multiple of VECTOR_PAD.
static inline int64_t vector_padded(int64_t n)
{
    return (n + VECTOR_PAD - 1) / VECTOR_PAD * VECTOR_PAD;
}

/// a . b
double vector_dot(const double *a, const double *b, int64_t n);

/// out[i] = rows[i] . z for `count` rows, `stride` apart.
void vector_dots(double *restrict out, const double *restrict rows, int64_t stride, int64_t count,
                 const double *restrict z, int64_t n);

/// A matrix by its rows, or some rows of a larger one.
typedef struct vector_rows {
    const double *data;    ///< the first row
    int64_t count, stride; ///< rows, and doubles from one row to the next
} vector_rows;

/// out (a.count, b.count) = A B^T over the first `length` entries of each row. `out` overlaps
/// neither.
void vector_products(double *restrict out, int64_t out_stride, vector_rows a, vector_rows b,
                     int64_t length);

/// sum[i] += sum of rows[i] z and square[i] += sum of (rows[i] z)^2.
void vector_moments(double *restrict sum, double *restrict square, const double *restrict rows,
                    int64_t stride, int64_t count, const double *restrict z, int64_t n);

/// y += a x
void vector_axpy(double *restrict y, double a, const double *restrict x, int64_t n);

/// y += a (x1 x2), elementwise
void vector_axpy_product(double *restrict y, double a, const double *restrict x1,
                         const double *restrict x2, int64_t n);

/// out = a b, elementwise
void vector_product(double *restrict out, const double *restrict a, const double *restrict b,
                    int64_t n);

/// Name of the instruction set in use: "avx512", "avx2" or "portable".
const char *vector_instructions(void);
/// For tests: chooses a set; false if this processor does not have it.
bool vector_select(const char *set);

#endif
