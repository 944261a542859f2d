// SPDX-License-Identifier: MIT
// Batches of small matrices. Systems of equations are solved in double in both forms, with memory
// on the stack.
#include "engine/op_batched.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/gemm.h"

// Number of products, and rows, columns and inner size of each.
typedef struct matmul_sizes {
    int64_t items, m, n, k;
} matmul_sizes;

static matmul_sizes get_matmul_sizes(const graph_node *node)
{
    return (matmul_sizes){node->shape.size[0], node->shape.size[1], node->shape.size[2],
                          node->in[0]->shape.size[node->attr.ta ? 1 : 2]};
}

// (items, m, n) = (items, m, k) (items, k, n), with either factor transposed by attr.ta, attr.tb.
void op_reference_batch_matmul(double *out, const graph_node *node, const double *const *in)
{
    matmul_sizes size = get_matmul_sizes(node);
    for (int64_t i = 0; i < size.items; i++)
        gemm_reference(out + i * size.m * size.n, in[0] + i * size.m * size.k,
                       in[1] + i * size.k * size.n, size.m, size.n, size.k, node->attr.ta,
                       node->attr.tb, false);
}

void op_fast_batch_matmul(float *out, const graph_node *node, const float *const *in,
                          bool accumulate, float *scratch)
{
    (void)accumulate;
    matmul_sizes size = get_matmul_sizes(node);
    for (int64_t i = 0; i < size.items; i++)
        gemm_float(out + i * size.m * size.n, in[0] + i * size.m * size.k,
                   in[1] + i * size.k * size.n, size.m, size.n, size.k, node->attr.ta,
                   node->attr.tb, false, scratch);
}

int64_t op_fast_batch_matmul_scratch(const graph_node *node)
{
    matmul_sizes size = get_matmul_sizes(node);
    return gemm_scratch(size.m, size.n, size.k, node->attr.ta, node->attr.tb);
}

static void swap_values(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double saved = a[i];
        a[i] = b[i];
        b[i] = saved;
    }
}

// Gaussian elimination with partial pivoting [Golub13, sec. 3.4]. x holds b at first and then the
// solution. A singular matrix gives infinities or NaN, which the loss then shows.
static void solve_by_elimination(double *a, double *x, int64_t n)
{
    // Eliminate below the diagonal, with the largest pivot of each column.
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t r = k + 1; r < n; r++)
            if (fabs(a[r * n + k]) > fabs(a[best * n + k])) best = r;
        if (best != k) {
            swap_values(a + k * n, a + best * n, n);
            swap_values(x + k, x + best, 1);
        }
        for (int64_t r = k + 1; r < n; r++) {
            double factor = a[r * n + k] / a[k * n + k];
            for (int64_t c = k + 1; c < n; c++) a[r * n + c] -= factor * a[k * n + c];
            x[r] -= factor * x[k];
        }
    }
    // Back substitution.
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t c = k + 1; c < n; c++) x[k] -= a[k * n + c] * x[c];
        x[k] /= a[k * n + k];
    }
}

// Solves A x = b, or A^T x = b, for (items, side, side) and (items, side).
void op_reference_batch_solve(double *out, const graph_node *node, const double *const *in)
{
    double a[OP_MAX_SOLVE_SIZE * OP_MAX_SOLVE_SIZE];
    int64_t items = node->shape.size[0], side = node->shape.size[1];
    for (int64_t i = 0; i < items; i++, out += side) {
        const double *matrix = in[0] + i * side * side;
        for (int64_t r = 0; r < side; r++)
            for (int64_t c = 0; c < side; c++)
                a[r * side + c] = node->attr.ta ? matrix[c * side + r] : matrix[r * side + c];
        memcpy(out, in[1] + i * side, (size_t)side * sizeof *out);
        solve_by_elimination(a, out, side);
    }
}

// In double: float would lose too many digits on a nearly singular matrix, and the systems are few.
void op_fast_batch_solve(float *out, const graph_node *node, const float *const *in,
                         bool accumulate, float *scratch)
{
    (void)accumulate, (void)scratch;
    double a[OP_MAX_SOLVE_SIZE * OP_MAX_SOLVE_SIZE], x[OP_MAX_SOLVE_SIZE];
    int64_t items = node->shape.size[0], side = node->shape.size[1];
    for (int64_t i = 0; i < items; i++) {
        const float *matrix = in[0] + i * side * side;
        for (int64_t r = 0; r < side; r++) {
            for (int64_t c = 0; c < side; c++)
                a[r * side + c] =
                    (double)(node->attr.ta ? matrix[c * side + r] : matrix[r * side + c]);
            x[r] = (double)in[1][i * side + r];
        }
        solve_by_elimination(a, x, side);
        for (int64_t r = 0; r < side; r++) out[i * side + r] = (float)x[r];
    }
}

// Row r of a triangle has side - r elements, from the diagonal on.
void op_reference_fill_upper(double *out, const graph_node *node, const double *const *in)
{
    int64_t items = node->shape.size[0], side = node->shape.size[1];
    const double *x = in[0];
    for (int64_t i = 0; i < items; i++)
        for (int64_t r = 0; r < side; r++)
            for (int64_t c = 0; c < side; c++) *out++ = c < r ? 0.0 : *x++;
}

// One row at a time: zeros before the diagonal, then a copy.
void op_fast_fill_upper(float *out, const graph_node *node, const float *const *in, bool accumulate,
                        float *scratch)
{
    (void)accumulate, (void)scratch;
    int64_t rows = node->shape.size[0] * node->shape.size[1], side = node->shape.size[1];
    const float *x = in[0];
    for (int64_t row = 0; row < rows; row++, out += side) {
        int64_t below = row % side, above = side - below;
        memset(out, 0, (size_t)below * sizeof *out);
        memcpy(out + below, x, (size_t)above * sizeof *out);
        x += above;
    }
}

// The inverse of fill_upper: (items, side, side) to (items, side (side + 1) / 2).
void op_reference_take_upper(double *out, const graph_node *node, const double *const *in)
{
    int64_t items = node->shape.size[0], side = node->in[0]->shape.size[1];
    for (int64_t i = 0; i < items; i++)
        for (int64_t r = 0; r < side; r++)
            for (int64_t c = r; c < side; c++) *out++ = in[0][(i * side + r) * side + c];
}

void op_fast_take_upper(float *out, const graph_node *node, const float *const *in, bool accumulate,
                        float *scratch)
{
    (void)accumulate, (void)scratch;
    int64_t side = node->in[0]->shape.size[1], rows = node->shape.size[0] * side;
    for (int64_t row = 0; row < rows; row++) {
        int64_t below = row % side, above = side - below;
        memcpy(out, in[0] + row * side + below, (size_t)above * sizeof *out);
        out += above;
    }
}
