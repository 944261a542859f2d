// SPDX-License-Identifier: MIT
#include "engine/op_batched.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/gemm.h"

// Rows, columns and inner size of one product of many.
typedef struct sizes {
    int64_t items, m, n, k;
} sizes;

static sizes sizes_of(const graph_node *n)
{
    return (sizes){n->shape.size[0], n->shape.size[1], n->shape.size[2],
                   n->in[0]->shape.size[n->attr.ta ? 1 : 2]};
}

void op_reference_batch_matmul(double *out, const graph_node *n, const double *const *in)
{
    sizes s = sizes_of(n);
    for (int64_t i = 0; i < s.items; i++)
        gemm_reference(out + i * s.m * s.n, in[0] + i * s.m * s.k, in[1] + i * s.k * s.n, s.m, s.n,
                       s.k, n->attr.ta, n->attr.tb, false);
}

void op_fast_batch_matmul(float *out, const graph_node *n, const float *const *in, bool accumulate,
                          float *scratch)
{
    (void)accumulate;
    sizes s = sizes_of(n);
    for (int64_t i = 0; i < s.items; i++)
        gemm_float(out + i * s.m * s.n, in[0] + i * s.m * s.k, in[1] + i * s.k * s.n, s.m, s.n, s.k,
                   n->attr.ta, n->attr.tb, false, scratch);
}

int64_t op_fast_batch_matmul_scratch(const graph_node *n)
{
    sizes s = sizes_of(n);
    return gemm_scratch(s.m, s.n, s.k, n->attr.ta, n->attr.tb);
}

static void exchange(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double keep = a[i];
        a[i] = b[i];
        b[i] = keep;
    }
}

// Gaussian elimination with the largest pivot of each column; x holds b and then the solution. A
// singular matrix gives infinities, which are a finding.
static void eliminate(double *a, double *x, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t r = k + 1; r < n; r++)
            if (fabs(a[r * n + k]) > fabs(a[best * n + k])) best = r;
        if (best != k) {
            exchange(a + k * n, a + best * n, n);
            exchange(x + k, x + best, 1);
        }
        for (int64_t r = k + 1; r < n; r++) {
            double factor = a[r * n + k] / a[k * n + k];
            for (int64_t c = k + 1; c < n; c++) a[r * n + c] -= factor * a[k * n + c];
            x[r] -= factor * x[k];
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t c = k + 1; c < n; c++) x[k] -= a[k * n + c] * x[c];
        x[k] /= a[k * n + k];
    }
}

void op_reference_batch_solve(double *out, const graph_node *n, const double *const *in)
{
    double a[OP_MAX_SOLVE_SIZE * OP_MAX_SOLVE_SIZE];
    int64_t items = n->shape.size[0], side = n->shape.size[1];
    for (int64_t i = 0; i < items; i++, out += side) {
        const double *A = in[0] + i * side * side;
        for (int64_t r = 0; r < side; r++)
            for (int64_t c = 0; c < side; c++)
                a[r * side + c] = n->attr.ta ? A[c * side + r] : A[r * side + c];
        memcpy(out, in[1] + i * side, (size_t)side * sizeof *out);
        eliminate(a, out, side);
    }
}

// In double: a matrix that is nearly singular is where floats would show, and these are few.
void op_fast_batch_solve(float *out, const graph_node *n, const float *const *in, bool accumulate,
                         float *scratch)
{
    (void)accumulate, (void)scratch;
    double a[OP_MAX_SOLVE_SIZE * OP_MAX_SOLVE_SIZE], x[OP_MAX_SOLVE_SIZE];
    int64_t items = n->shape.size[0], side = n->shape.size[1];
    for (int64_t i = 0; i < items; i++) {
        const float *A = in[0] + i * side * side;
        for (int64_t r = 0; r < side; r++) {
            for (int64_t c = 0; c < side; c++)
                a[r * side + c] = (double)(n->attr.ta ? A[c * side + r] : A[r * side + c]);
            x[r] = (double)in[1][i * side + r];
        }
        eliminate(a, x, side);
        for (int64_t r = 0; r < side; r++) out[i * side + r] = (float)x[r];
    }
}

void op_reference_fill_upper(double *out, const graph_node *n, const double *const *in)
{
    int64_t items = n->shape.size[0], side = n->shape.size[1];
    const double *x = in[0];
    for (int64_t i = 0; i < items; i++)
        for (int64_t r = 0; r < side; r++)
            for (int64_t c = 0; c < side; c++) *out++ = c < r ? 0.0 : *x++;
}

void op_fast_fill_upper(float *out, const graph_node *n, const float *const *in, bool accumulate,
                        float *scratch)
{
    (void)accumulate, (void)scratch;
    int64_t rows = n->shape.size[0] * n->shape.size[1], side = n->shape.size[1];
    const float *x = in[0];
    for (int64_t row = 0; row < rows; row++, out += side) {
        int64_t below = row % side, above = side - below;
        memset(out, 0, (size_t)below * sizeof *out);
        memcpy(out + below, x, (size_t)above * sizeof *out);
        x += above;
    }
}

void op_reference_take_upper(double *out, const graph_node *n, const double *const *in)
{
    int64_t items = n->shape.size[0], side = n->in[0]->shape.size[1];
    for (int64_t i = 0; i < items; i++)
        for (int64_t r = 0; r < side; r++)
            for (int64_t c = r; c < side; c++) *out++ = in[0][(i * side + r) * side + c];
}

void op_fast_take_upper(float *out, const graph_node *n, const float *const *in, bool accumulate,
                        float *scratch)
{
    (void)accumulate, (void)scratch;
    int64_t side = n->in[0]->shape.size[1], rows = n->shape.size[0] * side;
    for (int64_t row = 0; row < rows; row++) {
        int64_t below = row % side, above = side - below;
        memcpy(out, in[0] + row * side + below, (size_t)above * sizeof *out);
        out += above;
    }
}
