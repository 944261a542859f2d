// SPDX-License-Identifier: MIT
// Matrix products, cut into blocks that stay in cache, of tiles that stay in registers
// (gemm_tile_template.h).
#include "engine/kernels/gemm.h"

#include <string.h>

#include "engine/kernels/conv_window.h"

// Where the sum is longer, or B wider, it is cut. A block of B, (DEPTH, SPAN), fits in the second
// cache; it is first copied into panels, so that its rows do not compete for the same cache lines.
enum { DEPTH = 256, SPAN = 256, PACKED_ROWS = 48 };

// C (m, n) = op(A) B; B is never transposed here.
typedef struct gemm_problem {
    const kernel_set *set;
    const float *a, *b;
    int64_t m, n, k;
    bool ta;
} gemm_problem;

// Few rows use B once: then copying it costs more than it saves.
static bool packs_panels(int64_t m, int64_t n, int64_t k)
{
    return m >= PACKED_ROWS && k * n > DEPTH * SPAN / 4;
}

// Rows of A times rows of B, unless the sums are so short that transposing B costs less than adding
// up the lanes of each sum. A single column of B is as good as a row.
static bool uses_dot_products(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    if (ta || !(tb || n == 1)) return false;
    return n <= 4 || m < 12 || (m < PACKED_ROWS && k >= 128);
}

// The rows of `job` times `columns` columns of B, a few registers of columns at a time. `panels`: B
// is stored in panels of two registers.
static void multiply_columns(const gemm_problem *problem, float *c, const float *a, const float *b,
                             bool panels, int64_t columns, gemm_tile *job)
{
    const kernel_set *set = problem->set;
    const int64_t wide = (panels ? 2 : kernel_set_tile_registers(job->rows)) * set->lanes;
    for (int64_t at = 0; at < columns; at += wide) {
        job->columns = conv_window_min(wide, columns - at);
        const float *panel = panels ? b + at * job->length : b + at;
        (problem->ta ? set->gemm_at : set->gemm)(c + at, a, panel, job);
    }
}

// Copies `columns` columns of B, from the first on, into panels of `wide` floats, each with all
// `depth` rows. `line`: floats from row to row of B; `rows`: of a panel, which may have room for
// more than these. What the last panel has too many is zero.
static void copy_panels(float *panel, const float *b, int64_t line, int64_t depth, int64_t columns,
                        int64_t wide, int64_t rows)
{
    for (int64_t at = 0; at < columns; at += wide) {
        const int64_t width = conv_window_min(wide, columns - at);
        float *to = panel + at * rows;
        for (int64_t i = 0; i < depth; i++, to += wide) {
            memcpy(to, b + i * line + at, (size_t)width * sizeof *to);
            if (width < wide) memset(to + width, 0, (size_t)(wide - width) * sizeof *to);
        }
    }
}

// Block by block of B, each copied into panels in `scratch`.
static void multiply_packed(const gemm_problem *problem, float *c, float *scratch, gemm_tile job)
{
    const int64_t m = problem->m, n = problem->n, k = problem->k;
    const int64_t wide = 2 * problem->set->lanes;
    const bool accumulate = job.accumulate;
    job.b_step = wide;
    for (int64_t j = 0; j < n; j += SPAN)
        for (int64_t l = 0; l < k; l += DEPTH) {
            const int64_t span = conv_window_min(SPAN, n - j),
                          depth = conv_window_min(DEPTH, k - l);
            copy_panels(scratch, problem->b + l * n + j, n, depth, span, wide, depth);
            job.length = depth;
            job.accumulate = accumulate || l > 0;
            // Rows in groups that stay in the first cache while the panels pass.
            for (int64_t i = 0; i < m; i += PACKED_ROWS) {
                const float *a = problem->a + (problem->ta ? l * m + i : i * k + l);
                job.rows = job.line = conv_window_min(PACKED_ROWS, m - i);
                multiply_columns(problem, c + i * n + j, a, scratch, true, span, &job);
            }
        }
}

void gemm_float(float *restrict c, const float *restrict a, const float *restrict b, int64_t m,
                int64_t n, int64_t k, bool ta, bool tb, bool accumulate, float *scratch)
{
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
    if (uses_dot_products(m, n, k, ta, tb)) {
        job.b_step = k;
        kernel_set_for(k)->gemm_dot(c, a, b, &job);
        return;
    }
    if (tb) {
        conv_window_transpose(scratch, n, b, k, n, k);
        b = scratch;
        scratch += n * k;
    }
    const gemm_problem problem = {kernel_set_for(n), a, b, m, n, k, ta};
    if (packs_panels(m, n, k)) multiply_packed(&problem, c, scratch, job);
    else multiply_columns(&problem, c, a, b, false, n, &job);
}

int64_t gemm_scratch(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    if (uses_dot_products(m, n, k, ta, tb)) return 0;
    return (tb ? n * k : 0) + (packs_panels(m, n, k) ? DEPTH * (SPAN + 64) : 0);
}

// ---- weights that stay in panels ----

int64_t gemm_packed_size(int64_t n, int64_t k)
{
    enum { WIDEST = 16 }; // a register of AVX-512
    return (n + WIDEST - 1) / WIDEST * WIDEST * k;
}

void gemm_pack(float *restrict packed, const float *restrict b, int64_t n, int64_t k, bool tb)
{
    const int64_t wide = kernel_set_for(n)->lanes;
    if (!tb) {
        copy_panels(packed, b, n, k, n, wide, k);
        return;
    }
    for (int64_t at = 0; at < n; at += wide) {
        const int64_t width = conv_window_min(wide, n - at);
        float *panel = packed + at * k;
        if (width < wide) memset(panel, 0, (size_t)(k * wide) * sizeof *panel);
        conv_window_transpose(panel, wide, b + at * k, k, width, k);
    }
}

void gemm_float_packed(float *restrict c, const float *restrict a, const float *restrict packed,
                       int64_t m, int64_t n, int64_t k, bool accumulate)
{
    const kernel_set *set = kernel_set_for(n);
    const gemm_tile job = {.length = k,
                           .b_run = k * set->lanes,
                           .rows = m,
                           .a_row = k,
                           .c_row = n,
                           .columns = n,
                           .accumulate = accumulate};
    set->gemm_panels(c, a, packed, &job);
}

// ---- sums of products ----

// All A one below the other, all B in panels one below the other: one product with a long sum, so
// that C is read and written once.
void gemm_float_sum(float *restrict c, const float *const *a, const float *const *b, int parts,
                    const gemm_sum_sizes *size, bool accumulate, float *restrict scratch)
{
    const int64_t m = size->m, n = size->n, k = size->k, depth = parts * k;
    const kernel_set *set = kernel_set_for(n);
    const int64_t wide = 2 * set->lanes;
    float *rows = scratch, *panels = scratch + (depth * m + 15) / 16 * 16;
    for (int i = 0; i < parts; i++) {
        memcpy(rows + i * k * m, a[i], (size_t)(k * m) * sizeof *rows);
        copy_panels(panels + i * k * wide, b[i], n, k, n, wide, depth);
    }
    gemm_tile job = {.runs = 1,
                     .length = depth,
                     .a_step = m,
                     .b_step = wide,
                     .a_row = 1,
                     .c_row = n,
                     .accumulate = accumulate,
                     .slope = 1.0f};
    const gemm_problem problem = {.set = set, .ta = true};
    // Rows in groups that stay in the first cache while the panels pass.
    for (int64_t i = 0; i < m; i += PACKED_ROWS) {
        job.rows = job.line = conv_window_min(PACKED_ROWS, m - i);
        multiply_columns(&problem, c + i * n, rows + i, panels, true, n, &job);
    }
}

int64_t gemm_sum_scratch(int parts, const gemm_sum_sizes *size)
{
    const int64_t depth = parts * size->k;
    return depth * size->m + 16 + depth * ((size->n + 31) / 32 * 32);
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
