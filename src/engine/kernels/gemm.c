// SPDX-License-Identifier: MIT
#include "engine/kernels/gemm.h"

void gemm_float(float *restrict c, const float *restrict a, const float *restrict b, int64_t m,
                int64_t n, int64_t k, bool ta, bool tb, bool accumulate, float *scratch)
{
    (void)scratch;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = accumulate ? c[i * n + j] : 0.0f;
            for (int64_t l = 0; l < k; l++)
                sum += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
            c[i * n + j] = sum;
        }
}

int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    (void)m, (void)n, (void)k, (void)ta, (void)tb;
    return 0;
}

void gemm_judge(double *restrict c, const double *restrict a, const double *restrict b, int64_t m,
                int64_t n, int64_t k, bool ta, bool tb, bool accumulate)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = accumulate ? c[i * n + j] : 0.0;
            for (int64_t l = 0; l < k; l++)
                sum += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
            c[i * n + j] = sum;
        }
}
