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

/// Variables that are made when they are needed. fill() writes rows first .. first+n-1 of them as
/// columns (dims, stride).
typedef struct poly_source {
    void (*fill)(double *out, int64_t stride, const void *context, int64_t first, int64_t n);
    const void *context;
} poly_source;

typedef struct poly_design {
    const poly *poly;
    int64_t rows, stride; ///< stride: rows, padded with zeros to a multiple of VECTOR_PAD.
    const double *x;      ///< (dims, stride) the variables, x_stride apart. NULL: by `source`.
    int64_t x_stride;
    const poly_source *source; ///< If x is NULL.
    int64_t source_first;      ///< The row of the source that is row 0.
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

/// Rows first .. first+count-1 of the variables x (dims, stride), or of a source.
typedef struct poly_rows {
    const double *x;
    int64_t stride, first, count;
    const poly_source *source; ///< If x is NULL.
} poly_rows;

/// All memory is in `mem`. Rows that need no zeros behind them are not copied, so `basis`,
/// `rows->x` and `rows->source` must outlive the design. With a source and a Gram matrix, variables
/// that are not stored with the lower degrees are made again for each product.
/// Fails with PLUMB_EMEMORY.
plumb_status poly_design_init(poly_design *out, arena *mem, const poly *basis,
                              const poly_rows *rows, poly_design_kind kind);

/// g (features) = X^T r, for r (stride) that sums to zero and is zero past the rows. `scratch`
/// holds poly_design_scratch() doubles.
void poly_design_correlate(double *g, const poly_design *design, const double *r, double *scratch);
int64_t poly_design_scratch(const poly_design *design);

/// The same for `count` vectors: g (count, features), r (count, stride).
void poly_design_correlate_all(double *g, const poly_design *design, const double *r, int64_t count,
                               double *scratch);

/// One centred column (stride), zero past the rows. Not of a design whose x is NULL.
void poly_design_column(double *out, const poly_design *design, int64_t feature);

/// y (stride) = sum of weights times centred columns, zero past the rows.
/// Not of a design whose x is NULL.
void poly_design_apply(double *y, const poly_design *design, const int64_t *features,
                       const double *weights, int64_t count);

/// One sum of weights times columns, and where it goes.
typedef struct poly_sum {
    double *y; ///< (stride)
    const int64_t *features;
    const double *weights;
    int64_t count; ///< of features
} poly_sum;

/// The same for several sums, of any design; `mem` holds a block of rows meanwhile. Fails with
/// PLUMB_EMEMORY.
plumb_status poly_design_apply_all(const poly_sum *sums, int64_t count, arena *mem,
                                   const poly_design *design);

#endif
