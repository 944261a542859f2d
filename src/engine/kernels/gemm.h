// SPDX-License-Identifier: MIT
// Matrix products in float, with the best instructions of this processor.
//
// One thread, no allocation. Every run gives the same bits; another instruction set gives other
// bits, because its sums run in other lanes. The reference in double is the definition.
#ifndef ENGINE_KERNELS_GEMM_H
#define ENGINE_KERNELS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

/// C (m, n) = op(A) op(B), added to C if `accumulate`. All row-major and contiguous: A is stored
/// (m, k), or (k, m) if `ta`; B is stored (k, n), or (n, k) if `tb`. `scratch` holds gemm_scratch()
/// floats and may be NULL if that is 0.
void gemm_float(float *restrict c, const float *restrict a, const float *restrict b, int64_t m,
                int64_t n, int64_t k, bool ta, bool tb, bool accumulate, float *scratch);
/// Floats of scratch that gemm_float() needs.
int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, bool ta, bool tb);

/// B in panels, for many products with the same B. `packed` holds gemm_packed_size() floats. The
/// instruction set must stay the same until they are used.
void gemm_pack(float *restrict packed, const float *restrict b, int64_t n, int64_t k, bool tb);
int64_t gemm_packed_size(int64_t n, int64_t k);
/// C (m, n) = A (m, k) B, added to C if `accumulate`, with B from gemm_pack().
void gemm_float_packed(float *restrict c, const float *restrict a, const float *restrict packed,
                       int64_t m, int64_t n, int64_t k, bool accumulate);

/// The sizes of each product of a sum.
typedef struct gemm_sum_sizes {
    int64_t m, n; ///< Of C.
    int64_t k;    ///< Rows of each A and B.
} gemm_sum_sizes;

/// C (m, n) = sum over i of A_i^T B_i, added to C if `accumulate`, as one product with a sum that
/// is `parts` times as long. A_i is stored (k, m), B_i (k, n). `scratch` holds gemm_sum_scratch()
/// floats.
void gemm_float_sum(float *restrict c, const float *const *a, const float *const *b, int parts,
                    const gemm_sum_sizes *size, bool accumulate, float *restrict scratch);
int64_t gemm_sum_scratch(int parts, const gemm_sum_sizes *size);

/// The definition, in double.
void gemm_reference(double *restrict c, const double *restrict a, const double *restrict b,
                    int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool accumulate);

#endif
