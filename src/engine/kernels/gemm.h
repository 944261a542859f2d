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

/// The definition, in double.
void gemm_reference(double *restrict c, const double *restrict a, const double *restrict b,
                    int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool accumulate);

#endif
