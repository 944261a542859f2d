// SPDX-License-Identifier: MIT
// Tiles of a matrix product for one instruction set. Included once per set, with SET (its name),
// TARGET (the compiler's attribute), LANES (floats per register), FMA, PART_LOAD, PART_STORE, SUMS,
// ROWS (of a tile of two registers), ROWS1 (of one) and PANEL_ROWS (of one panel) defined. Not a
// header to include elsewhere.
//
// A tile of R rows and V registers holds R V sums in registers while it walks along the sum: each
// step loads V registers of B, and for each row one element of A that is multiplied with all of
// them.
//
// Parameters in capitals, `adjacent` and `part` are constants wherever a function is inlined; that
// is why these functions have many parameters and no struct.

typedef float VEC __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t IVEC __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define LOAD(p) (*(const VEC *)(p))
#define STORE(p, v) (*(VEC *)(p) = (v))

// v where it is positive, slope v elsewhere; NaN stays NaN.
TARGET static inline ALWAYS VEC NAME(leaky_relu, SET)(VEC v, float slope)
{
    const IVEC positive = v > 0.0f;
    return (VEC)((positive & (IVEC)v) | (~positive & (IVEC)(v * slope)));
}

// The end of a tile that needs more than a plain store: adds to C, adds the bias, applies the leaky
// ReLU, and stores `rows` rows of `columns` sums from line i, row j on.
TARGET static __attribute__((noinline)) void NAME(finish_tile, SET)(float *c, const float *sums,
                                                                    int rows, int columns,
                                                                    int64_t i, int64_t j,
                                                                    const gemm_tile *job)
{
    for (int r = 0; r < rows; r++, sums += 4 * LANES) {
        float *to = c + i * job->c_line + j * job->c_row;
        for (int at = 0; at < columns; at += LANES) {
            const int left = columns - at;
            const bool part = left < LANES;
            VEC v = LOAD(sums + at);
            if (job->accumulate) v += part ? PART_LOAD(to + at, left) : LOAD(to + at);
            if (job->bias) v += part ? PART_LOAD(job->bias + at, left) : LOAD(job->bias + at);
            if (job->slope != 1.0f) v = NAME(leaky_relu, SET)(v, job->slope);
            if (part) PART_STORE(to + at, v, left);
            else STORE(to + at, v);
        }
        if (++j == job->line) j = 0, i++;
    }
}

// at[r] = where row r of R rows begins; the first is row j of line i.
TARGET static inline ALWAYS void NAME(find_rows, SET)(const int R, const float **at, const float *a,
                                                      int64_t i, int64_t j, const gemm_tile *job)
{
    at[0] = a + i * job->a_line + j * job->a_row;
    if (j + R <= job->line) {
        for (int r = 1; r < R; r++) at[r] = at[r - 1] + job->a_row;
        return;
    }
    for (int r = 1; r < R; r++) {
        if (++j == job->line) j = 0, i++;
        at[r] = a + i * job->a_line + j * job->a_row;
    }
}

// R rows of V registers, the last one with `left` floats if `part`. `adjacent`: the rows of A lie
// side by side (gemm_at).
TARGET static inline ALWAYS void NAME(compute_tile, SET)(const int R, const int V,
                                                         const bool adjacent, const bool part,
                                                         float *c, const float *a, const float *b,
                                                         int64_t i, int64_t j, int left,
                                                         const gemm_tile *job)
{
    enum { AHEAD = 24 };
    VEC sum[ROWS1][4];
    const float *at[ROWS1];
    const int64_t length = job->length, step = job->b_step, a_step = adjacent ? job->a_step : 1;
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int v = 0; v < V; v++) sum[r][v] = (VEC){0};
    }
    NAME(find_rows, SET)(adjacent ? 1 : R, at, a, i, j, job);
    if (job->accumulate) {
        // C is needed at the end; it comes from a far cache meanwhile.
        const float *to = c + i * job->c_line + j * job->c_row;
        UNROLL for (int r = 0; r < R; r++, to += job->c_row)
        {
            UNROLL for (int v = 0; v < V * LANES; v += 16) __builtin_prefetch(to + v);
        }
    }
    // The sum: for each term, V registers of B times one element of each row of A.
    for (int64_t run = 0; run < job->runs; run++) {
        const float *row = b + run * job->b_run;
        for (int64_t k = 0; k < length; k++) {
            VEC factor[4];
            UNROLL for (int v = 0; v < V; v++) factor[v] =
                part && v == V - 1 ? PART_LOAD(row + v * LANES, left) : LOAD(row + v * LANES);
            UNROLL for (int r = 0; r < R; r++)
            {
                const VEC element = (adjacent ? at[0][k * a_step + r] : at[r][k]) - (VEC){0};
                UNROLL for (int v = 0; v < V; v++) sum[r][v] = FMA(element, factor[v], sum[r][v]);
            }
            // Weights that are packed come from a far cache.
            if (V > 1)
                UNROLL for (int v = 0; v < V; v++)
                    __builtin_prefetch(row + AHEAD * step + v * LANES);
            row += step;
        }
        if (adjacent) at[0] += job->a_run;
        else {
            UNROLL for (int r = 0; r < R; r++) at[r] += job->a_run;
        }
    }
    // Store, or hand over to the general end.
    if (part || j + R > job->line) {
        float sums[ROWS1 * 4 * LANES];
        UNROLL for (int r = 0; r < R; r++)
        {
            UNROLL for (int v = 0; v < V; v++) STORE(sums + (4 * r + v) * LANES, sum[r][v]);
        }
        NAME(finish_tile, SET)(c, sums, R, (V - 1) * LANES + left, i, j, job);
        return;
    }
    float *to = c + i * job->c_line + j * job->c_row;
    const bool plain = !job->accumulate && !job->bias && job->slope == 1.0f;
    UNROLL for (int r = 0; r < R; r++, to += job->c_row)
    {
        UNROLL for (int v = 0; v < V; v++)
        {
            VEC s = sum[r][v];
            if (!plain) {
                if (job->accumulate) s += LOAD(to + v * LANES);
                if (job->bias) s += LOAD(job->bias + v * LANES);
                if (job->slope != 1.0f) s = NAME(leaky_relu, SET)(s, job->slope);
            }
            STORE(to + v * LANES, s);
        }
    }
}

// All rows, in tiles of at max_rows max_rows. The rows are shared out so that no tile is much
// smaller than the others. One case per number of rows, so that each is a constant.
#define ROW_CASE(r) \
    case r: NAME(compute_tile, SET)(r, V, adjacent, part, c, a, b, i, j, left, job); break;

TARGET static inline ALWAYS void NAME(compute_rows, SET)(const int V, const bool adjacent,
                                                         const bool part, float *c, const float *a,
                                                         const float *b, int left,
                                                         const gemm_tile *job)
{
    const int max_rows = V == 1 ? ROWS1 : ROWS;
    const int64_t tiles = (job->rows + max_rows - 1) / max_rows;
    const int64_t each = tiles ? job->rows / tiles : 0, more = job->rows - each * tiles;
    int64_t i = 0, j = 0;
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t count = each + (t < more);
        switch (count) {
            ROW_CASE(1)
            ROW_CASE(2)
            ROW_CASE(3)
            ROW_CASE(4)
            ROW_CASE(5)
            ROW_CASE(6)
        case 7:
            if (max_rows > 6) NAME(compute_tile, SET)
            (max_rows > 6 ? 7 : 1, V, adjacent, part, c, a, b, i, j, left, job);
            break;
        default:
            if (max_rows > 7) NAME(compute_tile, SET)
            (max_rows > 7 ? 8 : 1, V, adjacent, part, c, a, b, i, j, left, job);
            break;
        }
        for (j += count; j >= job->line; j -= job->line) i++;
    }
}

// Up to three rows, of three or four registers.
TARGET static inline ALWAYS void NAME(compute_few_rows, SET)(const int V, const bool adjacent,
                                                             const bool part, float *c,
                                                             const float *a, const float *b,
                                                             int left, const gemm_tile *job)
{
    const int64_t i = 0, j = 0;
    switch (job->rows) {
        ROW_CASE(1)
        ROW_CASE(2)
        ROW_CASE(3)
    default: break;
    }
}

// Chooses the number of registers across.
TARGET static inline ALWAYS void NAME(compute_columns, SET)(const bool adjacent, float *c,
                                                            const float *a, const float *b,
                                                            const gemm_tile *job)
{
    const int columns = (int)job->columns, left = (columns - 1) % LANES + 1;
    const bool part = left < LANES;
    switch ((columns + LANES - 1) / LANES * 2 + part) {
    case 2: NAME(compute_rows, SET)(1, adjacent, false, c, a, b, left, job); break;
    case 3: NAME(compute_rows, SET)(1, adjacent, true, c, a, b, left, job); break;
    case 4: NAME(compute_rows, SET)(2, adjacent, false, c, a, b, left, job); break;
    case 5: NAME(compute_rows, SET)(2, adjacent, true, c, a, b, left, job); break;
    case 6: NAME(compute_few_rows, SET)(3, adjacent, false, c, a, b, left, job); break;
    case 7: NAME(compute_few_rows, SET)(3, adjacent, true, c, a, b, left, job); break;
    case 8: NAME(compute_few_rows, SET)(4, adjacent, false, c, a, b, left, job); break;
    case 9: NAME(compute_few_rows, SET)(4, adjacent, true, c, a, b, left, job); break;
    default: break;
    }
}

TARGET static void NAME(gemm, SET)(float *restrict c, const float *restrict a,
                                   const float *restrict b, const gemm_tile *job)
{
    NAME(compute_columns, SET)(false, c, a, b, job);
}

TARGET static void NAME(gemm_at, SET)(float *restrict c, const float *restrict a,
                                      const float *restrict b, const gemm_tile *job)
{
    NAME(compute_columns, SET)(true, c, a, b, job);
}

// R rows by C columns of dot products, each in a register of partial sums that are added at the
// end.
TARGET static inline ALWAYS void NAME(compute_dot_tile, SET)(const int R, const int C, float *c,
                                                             const float *a, const float *b,
                                                             int64_t i, int64_t j, int64_t column,
                                                             const gemm_tile *job)
{
    VEC sum[4][4];
    const float *at[4], *column_at[4];
    const int64_t full = job->length / LANES * LANES;
    const int left = (int)(job->length - full);
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int v = 0; v < C; v++) sum[r][v] = (VEC){0};
    }
    const VEC zero = {0};
    NAME(find_rows, SET)(R, at, a, i, j, job);
    UNROLL for (int v = 0; v < C; v++) column_at[v] = b + (column + v) * job->b_step;
    for (int64_t run = 0; run < job->runs; run++) {
        for (int64_t k = 0; k < full; k += LANES) {
            VEC factor[4];
            UNROLL for (int v = 0; v < C; v++) factor[v] = LOAD(column_at[v] + k);
            UNROLL for (int r = 0; r < R; r++)
            {
                const VEC element = LOAD(at[r] + k);
                UNROLL for (int v = 0; v < C; v++) sum[r][v] = FMA(element, factor[v], sum[r][v]);
            }
        }
        if (left) {
            VEC factor[4];
            UNROLL for (int v = 0; v < C; v++) factor[v] = PART_LOAD(column_at[v] + full, left);
            UNROLL for (int r = 0; r < R; r++)
            {
                const VEC element = PART_LOAD(at[r] + full, left);
                UNROLL for (int v = 0; v < C; v++) sum[r][v] = FMA(element, factor[v], sum[r][v]);
            }
        }
        UNROLL for (int r = 0; r < R; r++) at[r] += job->a_run;
        UNROLL for (int v = 0; v < C; v++) column_at[v] += job->b_run;
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        float *to = c + i * job->c_line + j * job->c_row + column;
        four total = SUMS(sum[r][0], C > 1 ? sum[r][C > 1] : zero, C > 2 ? sum[r][2 % C] : zero,
                          C > 3 ? sum[r][3 % C] : zero);
        if (job->accumulate) total += four_load(to, C);
        if (job->bias) total += four_load(job->bias + column, C);
        if (job->slope != 1.0f) total = four_leaky_relu(total, job->slope);
        four_store(to, total, C);
        if (++j == job->line) j = 0, i++;
    }
}

// ---- products with panels of one register ----

// R rows of V panels; the last one has `left` columns. Each panel comes from a far cache once, as a
// stream, so a few of its lines are asked for ahead.
TARGET static inline ALWAYS void NAME(compute_panel_tile, SET)(const int R, const int V, float *c,
                                                               const float *a, const float *b,
                                                               int left, const gemm_tile *job)
{
    enum { AHEAD = 16, MOST = 16 };
    VEC sum[MOST][4];
    // A pointer to every fourth row, and the distances of the three after it: a pointer to each of
    // 16 rows would not fit into the registers.
    const char *at[MOST / 4];
    int64_t one = job->a_row * 4, three = 3 * one;
    UNROLL for (int r = 0; r < R; r += 4) at[r / 4] = (const char *)(a + r * job->a_row);
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int v = 0; v < V; v++) sum[r][v] = (VEC){0};
    }
    for (int64_t k = 0; k < job->length; k++) {
        VEC factor[4];
        KEEP_IN_REGISTERS(one, three);
        UNROLL for (int v = 0; v < V; v++)
        {
            const float *row = b + v * job->b_run + k * LANES;
            __builtin_prefetch(row + AHEAD * LANES);
            factor[v] = LOAD(row);
        }
        UNROLL for (int r = 0; r < R; r++)
        {
            const int64_t away = r % 4 == 0 ? 0 : r % 4 == 1 ? one : r % 4 == 2 ? 2 * one : three;
            const VEC element = *(const float *)(at[r / 4] + away) - (VEC){0};
            UNROLL for (int v = 0; v < V; v++) sum[r][v] = FMA(element, factor[v], sum[r][v]);
        }
        UNROLL for (int r = 0; r < R; r += 4) at[r / 4] += sizeof *a;
    }
    UNROLL for (int r = 0; r < R; r++, c += job->c_row)
    {
        UNROLL for (int v = 0; v < V; v++)
        {
            float *to = c + v * LANES;
            if (v == V - 1 && left < LANES) {
                if (job->accumulate) sum[r][v] += PART_LOAD(to, left);
                PART_STORE(to, sum[r][v], left);
            } else {
                if (job->accumulate) sum[r][v] += LOAD(to);
                STORE(to, sum[r][v]);
            }
        }
    }
}

#define PANEL_CASE(r)                                                                     \
    case r:                                                                               \
        if (r <= max_rows) NAME(compute_panel_tile, SET)                                  \
        (r <= max_rows ? r : 1, V, c + i * job->c_row, a + i * job->a_row, b, left, job); \
        break;

// All rows of V panels, in tiles of nearly the same size.
TARGET static inline ALWAYS void NAME(compute_panels, SET)(const int V, float *c, const float *a,
                                                           const float *b, int left,
                                                           const gemm_tile *job)
{
    const int max_rows = PANEL_ROWS / V;
    const int64_t tiles = (job->rows + max_rows - 1) / max_rows;
    const int64_t each = tiles ? job->rows / tiles : 0, more = job->rows - each * tiles;
    int64_t i = 0;
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t count = each + (t < more);
        switch (count) {
            PANEL_CASE(1)
            PANEL_CASE(2)
            PANEL_CASE(3)
            PANEL_CASE(4)
            PANEL_CASE(5)
            PANEL_CASE(6)
            PANEL_CASE(7)
            PANEL_CASE(8)
            PANEL_CASE(9)
            PANEL_CASE(10)
            PANEL_CASE(11)
            PANEL_CASE(12)
            PANEL_CASE(13)
            PANEL_CASE(14)
            PANEL_CASE(15)
            PANEL_CASE(16)
        }
        i += count;
    }
}

// Few rows take several panels at once, so that enough sums run side by side.
TARGET static void NAME(gemm_panels, SET)(float *restrict c, const float *restrict a,
                                          const float *restrict b, const gemm_tile *job)
{
    const int64_t panels = (job->columns + LANES - 1) / LANES;
    const int64_t most = job->rows <= PANEL_ROWS / 4 ? 4 : job->rows <= PANEL_ROWS / 2 ? 2 : 1;
    for (int64_t at = 0, count; at < panels; at += count) {
        count = panels - at >= most ? most : panels - at >= 2 && most >= 2 ? 2 : 1;
        const int64_t end = job->columns - (at + count - 1) * LANES;
        const int left = end < LANES ? (int)end : LANES;
        float *to = c + at * LANES;
        const float *from = b + at * job->b_run;
        if (count == 4) NAME(compute_panels, SET)(4, to, a, from, left, job);
        else if (count == 2) NAME(compute_panels, SET)(2, to, a, from, left, job);
        else NAME(compute_panels, SET)(1, to, a, from, left, job);
    }
}

#define DOT_CASE(r, n) \
    case (r)*8 + (n): NAME(compute_dot_tile, SET)(r, n, c, a, b, i, j, column, job); break;

// Tiles of 4 columns by 3 rows, or of fewer columns by 4 rows.
TARGET static void NAME(gemm_dot, SET)(float *restrict c, const float *restrict a,
                                       const float *restrict b, const gemm_tile *job)
{
    for (int64_t column = 0; column < job->columns; column += 4) {
        const int64_t wide = job->columns - column < 4 ? job->columns - column : 4;
        const int64_t max_rows = wide == 4 ? 3 : 4;
        int64_t i = 0, j = 0;
        for (int64_t row = 0; row < job->rows; row += max_rows) {
            const int64_t high = job->rows - row < max_rows ? job->rows - row : max_rows;
            switch (high * 8 + wide) {
                DOT_CASE(1, 1)
                DOT_CASE(1, 2)
                DOT_CASE(1, 3)
                DOT_CASE(1, 4)
                DOT_CASE(2, 1)
                DOT_CASE(2, 2)
                DOT_CASE(2, 3)
                DOT_CASE(2, 4)
                DOT_CASE(3, 1)
                DOT_CASE(3, 2)
                DOT_CASE(3, 3)
                DOT_CASE(3, 4)
                DOT_CASE(4, 1)
                DOT_CASE(4, 2)
                DOT_CASE(4, 3)
            }
            for (j += high; j >= job->line; j -= job->line) i++;
        }
    }
}
