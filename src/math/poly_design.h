// SPDX-License-Identifier: MIT
// The design matrix of a polynomial regression on one set of rows, which is never written down:
// degrees below the top are kept (or, where that is too large, made anew block by block), the top
// degree exists only inside products. Columns count as centred throughout.
#ifndef MATH_POLY_DESIGN_H
#define MATH_POLY_DESIGN_H

#include "math/poly.h"

enum { POLY_DESIGN_BLOCK = 16 };

// Features that lie together and have the same leading variable (-1: they are stored themselves).
typedef struct poly_design_block {
    int64_t first, count;
    int64_t leader;
    const double *columns; // (count, stride) stored ones; times the leader where there is one
    double gram[POLY_DESIGN_BLOCK][POLY_DESIGN_BLOCK]; // of the centred columns
} poly_design_block;

typedef struct poly_design {
    const poly *poly;
    int64_t rows, stride; // stride: rows filled up to a multiple of VECTOR_PAD with zeros
    const double *x;      // (dims, stride)
    int low;              // degrees 1 .. low are kept in `stored`; the top one follows from it
    int64_t stored_count;
    double *stored;      // (stored_count, stride), not centred; NULL: made block by block
    int64_t block_rows;  // rows a block where stored is NULL
    double *mean;        // (count)
    double *norm2;       // (count) squared norm of the centred column
    double *gram;        // (count, gram_stride) of centred columns, or NULL
    int64_t gram_stride; // count filled up to a multiple of VECTOR_PAD with zeros
    poly_design_block
        *blocks; // all features in order, for coordinate descent; POLY_DESIGN_STORED only
    int64_t block_count;
} poly_design;

typedef enum poly_design_kind {
    POLY_DESIGN_PLAIN,  // products only
    POLY_DESIGN_STORED, // `stored` whatever its size, and `blocks`: coordinate descent walks over
                        // them
    POLY_DESIGN_GRAM,   // with `gram`
    POLY_DESIGN_LOW_MEMORY, // `stored` never kept, as PLAIN does where it would be too large
} poly_design_kind;

/// x (dims, x_stride) holds at least first + rows values per variable; they are copied.
plumb_status poly_design_init(poly_design *out, arena *mem, const poly *p, const double *x,
                              int64_t x_stride, int64_t first, int64_t rows, poly_design_kind kind);

/// g (count) = X^T r, for r (stride) that sums to zero and is zero behind the rows.
/// `scratch` has poly_design_scratch() doubles.
void poly_design_correlate(double *g, const poly_design *design, const double *r, double *scratch);
int64_t poly_design_scratch(const poly_design *design);

/// One centred column (stride), zero behind the rows.
void poly_design_column(double *out, const poly_design *design, int64_t feature);

/// y (stride) = sum of weights times centred columns; zero behind the rows.
void poly_design_apply(double *y, const poly_design *design, const int64_t *features,
                       const double *weights, int64_t count);

#endif
