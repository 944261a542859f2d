// SPDX-License-Identifier: MIT
// Products with a design matrix that is not stored. Rows are processed in blocks; within a block
// the columns of the top degree are a variable times a run of columns of the degree below
// (math/poly.h).
#include "math/poly_design.h"

#include <string.h>

#include "math/vector.h"

enum {
    MAX_STORED_BYTES = 64 << 20, // larger lower degrees are computed again for every product
    BLOCK_BYTES = 4 << 20,
    GRAM_ROWS = 256,  // rows per block when summing a Gram matrix,
    GRAM_GROUP = 32,  // and columns per group
    APPLY_ROWS = 512, // rows per block when summing weights times columns
    // Columns of a block are so much longer: a power of two would give all columns the same places
    // in the cache.
    GAP = VECTOR_PAD,
};

// Rows first .. first+n-1 of the variables as columns, with zeros past the rows of the design.
static void copy_block(double *out, int64_t stride, const poly_design *design, int64_t first,
                       int64_t n)
{
    const int64_t dims = design->poly->dims;
    if (design->x) {
        for (int64_t i = 0; i < dims; i++)
            memcpy(out + i * stride, design->x + i * design->x_stride + first,
                   (size_t)n * sizeof *out);
        return;
    }
    const int64_t rows = first + n <= design->rows ? n : design->rows - first;
    const poly_source *source = design->source;
    source->fill(out, stride, source->context, design->source_first + first, rows);
    for (int64_t i = 0; i < dims && rows < n; i++)
        memset(out + i * stride + rows, 0, (size_t)(n - rows) * sizeof *out);
}

// Degrees 1 .. low of rows first .. first+n-1: the stored ones, or computed in `scratch`.
// *x are the variables of these rows, *x_stride apart.
static const double *get_lower_block(const poly_design *design, int64_t first, int64_t n,
                                     int64_t *stride, const double **x, int64_t *x_stride,
                                     double *scratch)
{
    if (design->stored) {
        *stride = design->stride;
        *x = design->x + first;
        *x_stride = design->x_stride;
        return design->stored + first;
    }
    // Degree 1 alone is the variables themselves.
    const int64_t offset = design->low > 1 ? design->stored_count * design->block_rows : 0;
    double *base = scratch + offset;
    copy_block(base, design->block_rows, design, first, n);
    if (design->low > 1)
        poly_expand(scratch, design->poly, design->low, base, design->block_rows, n);
    *stride = *x_stride = design->block_rows;
    *x = base;
    return scratch;
}

int64_t poly_design_scratch(const poly_design *design)
{
    const int64_t block = design->stored ? design->stride : design->block_rows;
    return (design->stored ? 0 : (design->stored_count + design->poly->dims) * design->block_rows) +
           block + (design->poly->count + VECTOR_PAD);
}

// A block of rows: its lower degrees and its variables, with scratch z (n) and part (features).
typedef struct lower_block {
    const double *low, *x;
    int64_t stride, x_stride, n;
    double *z, *part;
} lower_block;

// g (features) += X^T r over one block; `r` begins at its first row.
static void correlate_block(double *g, const poly_design *design, const lower_block *block,
                            const double *r)
{
    const poly *basis = design->poly;
    double *part = block->part;
    // The stored degrees, then the top degree: x_i (column . r) = column . (x_i r).
    vector_dots(part, block->low, block->stride, design->stored_count, r, block->n);
    for (int64_t f = 0; f < design->stored_count; f++) g[f] += part[f];
    if (design->low == basis->order) return;
    const int64_t top = basis->first[basis->order], below = basis->first[basis->order - 1];
    for (int64_t i = 0; i < basis->dims; i++) {
        const int64_t *run = basis->run[basis->order];
        vector_product(block->z, block->x + i * block->x_stride, r, block->n);
        vector_dots(part, block->low + (below + basis->run[basis->order - 1][i]) * block->stride,
                    block->stride, run[i + 1] - run[i], block->z, block->n);
        for (int64_t f = run[i]; f < run[i + 1]; f++) g[top + f] += part[f - run[i]];
    }
}

void poly_design_correlate_all(double *g, const poly_design *design, const double *r, int64_t count,
                               double *scratch)
{
    const poly *basis = design->poly;
    const int64_t rows = design->stored ? design->stride : design->block_rows;
    lower_block block = {
        .z = scratch +
             (design->stored ? 0 : (design->stored_count + basis->dims) * design->block_rows)};
    block.part = block.z + rows;
    memset(g, 0, (size_t)(count * basis->count) * sizeof *g);
    for (int64_t first = 0; first < design->stride; first += rows) {
        block.n = first + rows <= design->stride ? rows : design->stride - first;
        block.low = get_lower_block(design, first, block.n, &block.stride, &block.x,
                                    &block.x_stride, scratch);
        for (int64_t i = 0; i < count; i++)
            correlate_block(g + i * basis->count, design, &block, r + i * design->stride + first);
    }
}

void poly_design_correlate(double *g, const poly_design *design, const double *r, double *scratch)
{
    poly_design_correlate_all(g, design, r, 1, scratch);
}

// A column before centring is a stored one (*x = NULL), or a variable times a stored one.
static void split_column(const double **low, const double **x, const poly_design *design,
                         int64_t feature)
{
    const poly *basis = design->poly;
    int64_t v[POLY_MAX_ORDER];
    const int degree = poly_variables(v, basis, feature);
    if (degree <= design->low) {
        *low = design->stored + feature * design->stride;
        *x = NULL;
        return;
    }
    const int64_t i = v[0];
    const int64_t offset = feature - basis->first[degree] - basis->run[degree][i];
    *low = design->stored +
           (basis->first[degree - 1] + basis->run[degree - 1][i] + offset) * design->stride;
    *x = design->x + i * design->x_stride;
}

// A column before centring, whether or not the lower degrees are stored.
static void raw_column(double *out, const poly_design *design, int64_t feature)
{
    if (design->stored) {
        const double *low, *x;
        split_column(&low, &x, design, feature);
        if (x) vector_product(out, low, x, design->stride);
        else memcpy(out, low, (size_t)design->stride * sizeof *out);
        return;
    }
    int64_t v[POLY_MAX_ORDER];
    const int degree = poly_variables(v, design->poly, feature);
    memcpy(out, design->x + v[0] * design->x_stride, (size_t)design->stride * sizeof *out);
    for (int k = 1; k < degree; k++) {
        const double *x = design->x + v[k] * design->x_stride;
        for (int64_t i = 0; i < design->stride; i++) out[i] *= x[i];
    }
}

void poly_design_column(double *out, const poly_design *design, int64_t feature)
{
    raw_column(out, design, feature);
    const double mean = design->mean[feature];
    for (int64_t i = 0; i < design->rows; i++) out[i] -= mean;
}

// y (n) = sum of weights times raw columns, over n <= APPLY_ROWS rows of the variables x.
static void sum_block(double *y, const poly *basis, const double *x, int64_t stride, int64_t n,
                      const poly_sum *sum)
{
    double product[APPLY_ROWS];
    memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t k = 0; k < sum->count; k++) {
        int64_t v[POLY_MAX_ORDER];
        const int degree = poly_variables(v, basis, sum->features[k]);
        if (degree == 1) {
            vector_axpy(y, sum->weights[k], x + v[0] * stride, n);
            continue;
        }
        for (int64_t i = 0; i < n; i++) product[i] = sum->weights[k];
        for (int j = 0; j < degree; j++) {
            const double *column = x + v[j] * stride;
            for (int64_t i = 0; i < n; i++) product[i] *= column[i];
        }
        for (int64_t i = 0; i < n; i++) y[i] += product[i];
    }
}

// The raw columns are summed; the sum of weight times mean is subtracted at last.
static void subtract_means(const poly_sum *sum, const poly_design *design)
{
    double shift = 0.0;
    for (int64_t k = 0; k < sum->count; k++)
        shift += sum->weights[k] * design->mean[sum->features[k]];
    for (int64_t i = 0; i < design->rows; i++) sum->y[i] -= shift;
}

static void apply_stored(const poly_sum *sum, const poly_design *design)
{
    memset(sum->y, 0, (size_t)design->stride * sizeof *sum->y);
    for (int64_t k = 0; k < sum->count; k++) {
        const double *low, *x;
        split_column(&low, &x, design, sum->features[k]);
        if (x) vector_axpy_product(sum->y, sum->weights[k], low, x, design->stride);
        else vector_axpy(sum->y, sum->weights[k], low, design->stride);
    }
}

void poly_design_apply(double *y, const poly_design *design, const int64_t *features,
                       const double *weights, int64_t count)
{
    const poly_sum sum = {y, features, weights, count};
    if (design->stored) apply_stored(&sum, design);
    for (int64_t first = 0; !design->stored && first < design->stride; first += APPLY_ROWS) {
        const int64_t left = design->stride - first;
        sum_block(y + first, design->poly, design->x + first, design->x_stride,
                  left < APPLY_ROWS ? left : APPLY_ROWS, &sum);
    }
    subtract_means(&sum, design);
}

plumb_status poly_design_apply_all(const poly_sum *sums, int64_t count, arena *mem,
                                   const poly_design *design)
{
    if (design->x) {
        for (int64_t i = 0; i < count; i++)
            poly_design_apply(sums[i].y, design, sums[i].features, sums[i].weights, sums[i].count);
        return PLUMB_OK;
    }
    const arena_mark mark = arena_get_mark(mem);
    const int64_t stride = APPLY_ROWS + GAP;
    double *x = ARENA_ALLOC(mem, double, (design->poly->dims * stride));
    if (!x) return PLUMB_EMEMORY;
    for (int64_t first = 0; first < design->stride; first += APPLY_ROWS) {
        const int64_t left = design->stride - first, n = left < APPLY_ROWS ? left : APPLY_ROWS;
        copy_block(x, stride, design, first, n);
        for (int64_t i = 0; i < count; i++)
            sum_block(sums[i].y + first, design->poly, x, stride, n, &sums[i]);
    }
    for (int64_t i = 0; i < count; i++) subtract_means(&sums[i], design);
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// mean = sum / rows and norm2 = sum of squares - sum^2 / rows of every column.
static void compute_moments(poly_design *design, double *scratch)
{
    const poly *basis = design->poly;
    const int64_t block = design->stored ? design->stride : design->block_rows;
    double *ones =
        scratch + (design->stored ? 0 : (design->stored_count + basis->dims) * design->block_rows);
    for (int64_t i = 0; i < block; i++) ones[i] = 1.0;
    for (int64_t first = 0; first < design->stride; first += block) {
        const int64_t n = first + block <= design->stride ? block : design->stride - first;
        int64_t stride, x_stride;
        const double *x;
        const double *low = get_lower_block(design, first, n, &stride, &x, &x_stride, scratch);
        vector_moments(design->mean, design->norm2, low, stride, design->stored_count, ones, n);
        if (design->low == basis->order) continue;
        const int64_t top = basis->first[basis->order], below = basis->first[basis->order - 1];
        for (int64_t i = 0; i < basis->dims; i++) {
            const int64_t *run = basis->run[basis->order];
            vector_moments(design->mean + top + run[i], design->norm2 + top + run[i],
                           low + (below + basis->run[basis->order - 1][i]) * stride, stride,
                           run[i + 1] - run[i], x + i * x_stride, n);
        }
    }
    for (int64_t f = 0; f < basis->count; f++) {
        const double mean = design->mean[f] / (double)design->rows;
        const double norm2 = design->norm2[f] - mean * design->mean[f];
        design->mean[f] = mean;
        design->norm2[f] = norm2 > 0.0 ? norm2 : 0.0;
    }
}

// Gram matrix, a block of rows at a time: the centred columns of the block, then the products of
// all pairs of them. Row i needs the columns from i on; they are computed in whole groups of
// columns, as the vector loops need them.
static plumb_status sum_gram(poly_design *design, arena *mem)
{
    const poly *basis = design->poly;
    const int64_t count = basis->count, wide = design->gram_stride = vector_padded(count);
    design->gram = ARENA_ALLOC(mem, double, (count * wide));
    const arena_mark mark = arena_get_mark(mem);
    const int64_t block = design->stride < GRAM_ROWS ? design->stride : GRAM_ROWS;
    const int64_t stride = block + GAP;
    double *base = ARENA_ALLOC(mem, double, (basis->dims * stride));
    double *columns = ARENA_ALLOC(mem, double, (count * stride));
    double *part = ARENA_ALLOC(mem, double, (count * GRAM_GROUP));
    if (!design->gram || !base || !columns || !part) return PLUMB_EMEMORY;
    for (int64_t first = 0; first < design->rows; first += block) {
        const int64_t n = first + block <= design->rows ? block : design->rows - first;
        const int64_t padded = vector_padded(n);
        copy_block(base, stride, design, first, padded);
        poly_expand(columns, basis, basis->order, base, stride, padded);
        for (int64_t f = 0; f < count; f++)
            for (int64_t i = 0; i < n; i++) columns[f * stride + i] -= design->mean[f];
        for (int64_t j = 0; j < count; j += GRAM_GROUP) {
            const int64_t width = j + GRAM_GROUP <= count ? GRAM_GROUP : count - j;
            vector_products(part, GRAM_GROUP, (vector_rows){columns, j + width, stride},
                            (vector_rows){columns + j * stride, width, stride}, padded);
            for (int64_t i = 0; i < j + width; i++)
                for (int64_t k = 0; k < width; k++)
                    design->gram[i * wide + j + k] += part[i * GRAM_GROUP + k];
        }
    }
    // Both triangles.
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < i; j++) design->gram[i * wide + j] = design->gram[j * wide + i];
    for (int64_t f = 0; f < count; f++) design->norm2[f] = design->gram[f * wide + f];
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// Cuts a run of features into blocks; returns the new number of blocks.
static int64_t cut_into_blocks(poly_design_block *blocks, int64_t n, int64_t first, int64_t count,
                               int64_t leader, const double *columns, int64_t stride)
{
    for (int64_t i = 0; i < count; i += POLY_DESIGN_BLOCK)
        blocks[n++] = (poly_design_block){
            .first = first + i,
            .count = count - i < POLY_DESIGN_BLOCK ? count - i : POLY_DESIGN_BLOCK,
            .leader = leader,
            .columns = columns + i * stride,
        };
    return n;
}

// Blocks of all features in order, each with its Gram matrix.
static plumb_status make_blocks(poly_design *design, arena *mem)
{
    const poly *basis = design->poly;
    design->blocks =
        ARENA_ALLOC(mem, poly_design_block, basis->count / POLY_DESIGN_BLOCK + 2 + basis->dims);
    const arena_mark mark = arena_get_mark(mem);
    double *columns = ARENA_ALLOC(mem, double, (POLY_DESIGN_BLOCK * design->stride));
    if (!design->blocks || !columns) return PLUMB_EMEMORY;
    int64_t n = cut_into_blocks(design->blocks, 0, 0, design->stored_count, -1, design->stored,
                                design->stride);
    if (design->low < basis->order)
        for (int64_t i = 0; i < basis->dims; i++) {
            const int64_t *run = basis->run[basis->order];
            const int64_t below = basis->first[basis->order - 1] + basis->run[basis->order - 1][i];
            n = cut_into_blocks(design->blocks, n, basis->first[basis->order] + run[i],
                                run[i + 1] - run[i], i, design->stored + below * design->stride,
                                design->stride);
        }
    design->block_count = n;
    for (int64_t b = 0; b < n; b++) {
        poly_design_block *block = &design->blocks[b];
        for (int64_t i = 0; i < block->count; i++) {
            poly_design_column(columns + i * design->stride, design, block->first + i);
            vector_dots(block->gram[i], columns, design->stride, i + 1,
                        columns + i * design->stride, design->stride);
            for (int64_t j = 0; j < i; j++) block->gram[j][i] = block->gram[i][j];
        }
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

// The variables of the rows, in the first `dims` of `columns` columns, with zeros behind the rows.
// NULL if out of memory.
static double *copy_rows(arena *mem, const poly_rows *rows, int64_t columns, int64_t dims,
                         int64_t stride)
{
    double *copy = ARENA_ALLOC(mem, double, (columns * stride));
    const poly_source *source = rows->source;
    if (copy && !rows->x) source->fill(copy, stride, source->context, rows->first, rows->count);
    for (int64_t i = 0; copy && rows->x && i < dims; i++)
        memcpy(copy + i * stride, rows->x + i * rows->stride + rows->first,
               (size_t)rows->count * sizeof *copy);
    return copy;
}

// Lets `out` use the variables in their place if zeros or whole groups are behind them, else copies
// them. False if out of memory.
static bool place_rows(poly_design *out, arena *mem, const poly_rows *rows)
{
    const bool padded = rows->x && rows->count % VECTOR_PAD == 0 && rows->first % VECTOR_PAD == 0;
    const int64_t dims = out->poly->dims;
    out->x = padded ? rows->x + rows->first : copy_rows(mem, rows, dims, dims, out->stride);
    out->x_stride = padded ? rows->stride : out->stride;
    return out->x;
}

plumb_status poly_design_init(poly_design *out, arena *mem, const poly *basis,
                              const poly_rows *rows, poly_design_kind kind)
{
    *out = (poly_design){.poly = basis, .rows = rows->count, .stride = vector_padded(rows->count)};
    out->low = basis->order > 1 ? basis->order - 1 : 1;
    out->stored_count = basis->first[out->low + 1];
    out->mean = ARENA_ALLOC(mem, double, basis->count);
    out->norm2 = ARENA_ALLOC(mem, double, basis->count);
    if (!out->mean || !out->norm2) return PLUMB_EMEMORY;

    // The lower degrees: stored, or made block by block.
    int64_t bytes = 8;
    const bool huge = __builtin_mul_overflow(bytes, out->stored_count, &bytes) ||
                      __builtin_mul_overflow(bytes, out->stride, &bytes);
    if (kind == POLY_DESIGN_STORED ||
        (!huge && bytes <= MAX_STORED_BYTES && kind != POLY_DESIGN_LOW_MEMORY)) {
        if (huge)
            return fail(PLUMB_EMEMORY, "the lower degrees of the polynomial do not fit in memory");
        out->x = out->stored = copy_rows(mem, rows, out->stored_count, basis->dims, out->stride);
        if (!out->stored) return PLUMB_EMEMORY;
        out->x_stride = out->stride;
        poly_expand(out->stored, basis, out->low, out->stored, out->stride, out->stride);
    } else {
        if (!rows->x && kind == POLY_DESIGN_GRAM) {
            out->source = rows->source;
            out->source_first = rows->first;
        } else if (!place_rows(out, mem, rows)) return PLUMB_EMEMORY;
        out->block_rows = vector_padded(BLOCK_BYTES / 8 / out->stored_count + 1);
        if (out->block_rows > out->stride) out->block_rows = out->stride;
    }
    // Means and norms of all columns.
    const arena_mark mark = arena_get_mark(mem);
    double *scratch = ARENA_ALLOC(mem, double, poly_design_scratch(out));
    if (!scratch) return PLUMB_EMEMORY;
    compute_moments(out, scratch);
    arena_rewind(mem, mark);
    return kind == POLY_DESIGN_GRAM     ? sum_gram(out, mem)
           : kind == POLY_DESIGN_STORED ? make_blocks(out, mem)
                                        : PLUMB_OK;
}
