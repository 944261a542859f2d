// SPDX-License-Identifier: MIT
#include "measures/fit/principal_components.h"

#include <math.h>

#include "math/blas.h"
#include "math/eigen.h"

// Components of less than this share of the first one's variance are rounding.
static const double least_share = 1e-12;

plumb_status principal_components_fit(principal_components *out, double **x, arena *mem,
                                      int64_t dims, int64_t stride, int64_t first, int64_t end,
                                      int64_t most)
{
    *out = (principal_components){.dims = dims, .axes = ARENA_ALLOC(mem, double, (most * dims))};
    out->deviation = ARENA_ALLOC(mem, double, most);
    double *told = ARENA_ALLOC(mem, double, (most * stride));
    const arena_mark mark = arena_get_mark(mem);
    double *square = ARENA_ALLOC(mem, double, (dims * dims)),
           *values = ARENA_ALLOC(mem, double, dims);
    double *vectors = ARENA_ALLOC(mem, double, (dims * dims));
    if (!out->axes || !out->deviation || !told || !square || !values || !vectors)
        return PLUMB_EMEMORY;
    plumb_status st = blas_library_load();
    if (st) return st;
    blas_gemm(square, dims, *x + first, stride, false, *x + first, stride, true, dims, dims,
              end - first, 1.0 / (double)(end - first), 0.0);
    st = eigen_symmetric(values, vectors, mem, square, dims);
    if (st) return st;
    while (out->count < most && values[out->count] > least_share * values[0]) out->count++;
    for (int64_t k = 0; k < out->count; k++) {
        out->deviation[k] = sqrt(values[k]);
        for (int64_t d = 0; d < dims; d++)
            out->axes[k * dims + d] = vectors[k * dims + d] / out->deviation[k];
    }
    arena_rewind(mem, mark);
    blas_gemm(told, stride, out->axes, dims, false, *x, stride, false, out->count, end, dims, 1.0,
              0.0);
    *x = told;
    return PLUMB_OK;
}

void principal_components_chain(double *j, const principal_components *c, const double *inner,
                                int64_t rows)
{
    blas_gemm(j, c->dims, inner, c->count, false, c->axes, c->dims, false, rows, c->dims, c->count,
              1.0, 0.0);
}
