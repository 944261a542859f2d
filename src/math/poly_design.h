// SPDX-License-Identifier: MIT
// The design matrix X of a polynomial regression on one set of rows: one column ("feature") per
// monomial, centred. It is never stored as a whole. The degrees below the top are stored, or, where
// that is too large, computed again block by block; the top degree exists only inside products.
#ifndef MATH_POLY_DESIGN_H
#define MATH_POLY_DESIGN_H

#include "math/poly.h"

enum { POLY_DESIGN_BLOCK = 16 };

/// Consecutive features with the same leading variable.
typedef struct poly_design_block {
    int64_t first, count; ///< Features first .. first+count-1; at most POLY_DESIGN_BLOCK.
    int64_t leader; ///< Index of the leading variable. -1: the features themselves are stored.
    const double *columns; ///< (count, stride) stored columns; each feature is one of them, times
                           ///< the leading variable if there is one.
    double gram[POLY_DESIGN_BLOCK][POLY_DESIGN_BLOCK]; ///< Of the centred columns.
} poly_design_block;

typedef struct poly_design {
    const poly *poly;
    int64_t rows, stride; ///< stride: rows, padded with zeros to a multiple of VECTOR_PAD.
    const double *x;      ///< (dims, stride) the variables, x_stride apart.
    int64_t x_stride;
    int low;                   ///< Degrees 1 .. low are stored; the top degree follows from them.
    int64_t stored_count;      ///< Features of these degrees.
    double *stored;            ///< (stored_count, stride) not centred. NULL: made block by block.
    int64_t block_rows;        ///< Rows per block if `stored` is NULL.
    double *mean;              ///< (features) means of the columns.
    double *norm2;             ///< (features) squared norms of the centred columns.
    double *gram;              ///< (features, gram_stride) of the centred columns, or NULL.
    int64_t gram_stride;       ///< Features, padded with zeros to a multiple of VECTOR_PAD.
    poly_design_block *blocks; ///< All features in order. POLY_DESIGN_STORED only, else NULL.
    int64_t block_count;
} poly_design;

typedef enum poly_design_kind {
    POLY_DESIGN_PLAIN,      ///< Products only; stores the lower degrees if they fit.
    POLY_DESIGN_STORED,     ///< Always stores them, and makes `blocks` for coordinate descent.
    POLY_DESIGN_GRAM,       ///< As PLAIN, with a Gram matrix.
    POLY_DESIGN_LOW_MEMORY, ///< Never stores them.
} poly_design_kind;

/// Rows first .. first+count-1 of the variables x (dims, stride).
typedef struct poly_rows {
    const double *x;
    int64_t stride, first, count;
} poly_rows;

/// All memory is in `mem`. Rows that need no zeros behind them are not copied, so `basis` and
/// `rows->x` must outlive the design. Fails with PLUMB_EMEMORY.
plumb_status poly_design_init(poly_design *out, arena *mem, const poly *basis,
                              const poly_rows *rows, poly_design_kind kind);

/// g (features) = X^T r, for r (stride) that sums to zero and is zero past the rows. `scratch`
/// holds poly_design_scratch() doubles.
void poly_design_correlate(double *g, const poly_design *design, const double *r, double *scratch);
int64_t poly_design_scratch(const poly_design *design);

/// One centred column (stride), zero past the rows.
void poly_design_column(double *out, const poly_design *design, int64_t feature);

/// y (stride) = sum of weights times centred columns, zero past the rows.
void poly_design_apply(double *y, const poly_design *design, const int64_t *features,
                       const double *weights, int64_t count);

#endif
