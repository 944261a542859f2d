// SPDX-License-Identifier: MIT
// Products of matrices, cut into blocks that stay in cache, of tiles that stay in registers.
#include "engine/kernels/gemm.h"

#include <string.h>

#include "engine/kernels/conv_window.h"

// Where the sum is longer, or B larger, it is cut: a block of B, (DEPTH, SPAN), fits in the second
// cache, and is first copied into panels so that rows far apart do not fight over places in it.
enum { DEPTH = 256, SPAN = 256, PACKED_ROWS = 48 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Few rows use B once: copying it would cost more than it saves.
static bool packs(int64_t m, int64_t n, int64_t k)
{
    return m >= PACKED_ROWS && k * n > DEPTH * SPAN / 4;
}

// Rows of A times rows of B, unless the sums are so short that turning B costs less than adding up
// the lanes of each. A single column is as good as a row.
static bool by_dots(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    if (ta || !(tb || n == 1)) return false;
    return n <= 4 || m < 12 || (m < PACKED_ROWS && k >= 128);
}

static void run(const kernel_set *set, float *c, const float *a, const float *b, bool panels,
                bool ta, int64_t n, gemm_tile *job)
{
    const int64_t wide = (panels ? 2 : kernel_set_tile_registers(job->rows)) * set->lanes;
    for (int64_t at = 0; at < n; at += wide) {
        job->columns = least(wide, n - at);
        const float *panel = panels ? b + at * job->length : b + at;
        (ta ? set->across : set->outer)(c + at, a, panel, job);
    }
}

static void packed(const kernel_set *set, float *c, const float *a, const float *b, int64_t m,
                   int64_t n, int64_t k, bool ta, float *scratch, gemm_tile job)
{
    const int64_t wide = 2 * set->lanes;
    const bool accumulate = job.accumulate;
    job.b_step = wide;
    for (int64_t j = 0; j < n; j += SPAN)
        for (int64_t l = 0; l < k; l += DEPTH) {
            const int64_t span = least(SPAN, n - j), depth = least(DEPTH, k - l);
            for (int64_t at = 0; at < span; at += wide)
                for (int64_t i = 0; i < depth; i++)
                    memcpy(scratch + at * depth + i * wide, b + (l + i) * n + j + at,
                           (size_t)least(wide, span - at) * sizeof *b);
            job.length = depth;
            job.accumulate = accumulate || l > 0;
            // Rows in groups that stay in the first caches while the panels pass.
            for (int64_t i = 0; i < m; i += PACKED_ROWS) {
                job.rows = job.line = least(PACKED_ROWS, m - i);
                run(set, c + i * n + j, a + (ta ? l * m + i : i * k + l), scratch, true, ta, span,
                    &job);
            }
        }
}

void gemm_float(float *restrict c, const float *restrict a, const float *restrict b, int64_t m,
                int64_t n, int64_t k, bool ta, bool tb, bool accumulate, float *scratch)
{
    const kernel_set *set = kernel_set_for(n);
    gemm_tile job = {.runs = 1,
                     .length = k,
                     .a_step = ta ? m : 1,
                     .b_step = n,
                     .rows = m,
                     .line = m,
                     .a_row = ta ? 1 : k,
                     .c_row = n,
                     .columns = n,
                     .accumulate = accumulate,
                     .slope = 1.0f};
    if (m <= 0 || n <= 0) return;
    if (by_dots(m, n, k, ta, tb)) {
        job.b_step = k;
        kernel_set_for(k)->dots(c, a, b, &job);
        return;
    }
    if (tb) {
        conv_window_transpose(scratch, n, b, k, n, k);
        b = scratch;
        scratch += n * k;
    }
    if (packs(m, n, k)) packed(set, c, a, b, m, n, k, ta, scratch, job);
    else run(set, c, a, b, false, ta, n, &job);
}

int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    if (by_dots(m, n, k, ta, tb)) return 0;
    return (tb ? n * k : 0) + (packs(m, n, k) ? DEPTH * (SPAN + 64) : 0);
}

void gemm_reference(double *restrict c, const double *restrict a, const double *restrict b,
                    int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool accumulate)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = accumulate ? c[i * n + j] : 0.0;
            for (int64_t l = 0; l < k; l++)
                sum += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
            c[i * n + j] = sum;
        }
}
