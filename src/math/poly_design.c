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
    GRAM_ROWS = 256, // rows per block when summing a Gram matrix,
    GRAM_GROUP = 64, // and columns per group
};

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
    double *base = scratch + design->stored_count * design->block_rows;
    for (int64_t i = 0; i < design->poly->dims; i++)
        memcpy(base + i * design->block_rows, design->x + i * design->x_stride + first,
               (size_t)n * sizeof *base);
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

void poly_design_correlate(double *g, const poly_design *design, const double *r, double *scratch)
{
    const poly *basis = design->poly;
    const int64_t block = design->stored ? design->stride : design->block_rows;
    double *z =
        scratch + (design->stored ? 0 : (design->stored_count + basis->dims) * design->block_rows);
    double *part = z + block;
    memset(g, 0, (size_t)basis->count * sizeof *g);
    for (int64_t first = 0; first < design->stride; first += block) {
        const int64_t n = first + block <= design->stride ? block : design->stride - first;
        int64_t stride, x_stride;
        const double *x;
        const double *low = get_lower_block(design, first, n, &stride, &x, &x_stride, scratch);
        // The stored degrees, then the top degree: x_i (column . r) = column . (x_i r).
        vector_dots(part, low, stride, design->stored_count, r + first, n);
        for (int64_t f = 0; f < design->stored_count; f++) g[f] += part[f];
        if (design->low == basis->order) continue;
        const int64_t top = basis->first[basis->order], below = basis->first[basis->order - 1];
        for (int64_t i = 0; i < basis->dims; i++) {
            const int64_t *run = basis->run[basis->order];
            vector_product(z, x + i * x_stride, r + first, n);
            vector_dots(part, low + (below + basis->run[basis->order - 1][i]) * stride, stride,
                        run[i + 1] - run[i], z, n);
            for (int64_t f = run[i]; f < run[i + 1]; f++) g[top + f] += part[f - run[i]];
        }
    }
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

// Sums the raw columns, then subtracts the sum of weight times mean.
void poly_design_apply(double *y, const poly_design *design, const int64_t *features,
                       const double *weights, int64_t count)
{
    memset(y, 0, (size_t)design->stride * sizeof *y);
    double shift = 0.0;
    for (int64_t k = 0; k < count; k++) {
        shift += weights[k] * design->mean[features[k]];
        if (design->stored) {
            const double *low, *x;
            split_column(&low, &x, design, features[k]);
            if (x) vector_axpy_product(y, weights[k], low, x, design->stride);
            else vector_axpy(y, weights[k], low, design->stride);
            continue;
        }
        int64_t v[POLY_MAX_ORDER];
        const int degree = poly_variables(v, design->poly, features[k]);
        for (int64_t i = 0; i < design->stride; i++) {
            double product = weights[k];
            for (int j = 0; j < degree; j++) product *= design->x[v[j] * design->x_stride + i];
            y[i] += product;
        }
    }
    for (int64_t i = 0; i < design->rows; i++) y[i] -= shift;
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
    double *base = ARENA_ALLOC(mem, double, (basis->dims * block));
    double *columns = ARENA_ALLOC(mem, double, (count * block));
    double *part = ARENA_ALLOC(mem, double, (count * GRAM_GROUP));
    if (!design->gram || !base || !columns || !part) return PLUMB_EMEMORY;
    for (int64_t first = 0; first < design->rows; first += block) {
        const int64_t n = first + block <= design->rows ? block : design->rows - first;
        const int64_t padded = vector_padded(n);
        for (int64_t i = 0; i < basis->dims; i++)
            memcpy(base + i * block, design->x + i * design->x_stride + first,
                   (size_t)padded * sizeof *base);
        poly_expand(columns, basis, basis->order, base, block, padded);
        for (int64_t f = 0; f < count; f++)
            for (int64_t i = 0; i < n; i++) columns[f * block + i] -= design->mean[f];
        for (int64_t j = 0; j < count; j += GRAM_GROUP) {
            const int64_t width = j + GRAM_GROUP <= count ? GRAM_GROUP : count - j;
            vector_products(part, GRAM_GROUP, (vector_rows){columns, j + width, block},
                            (vector_rows){columns + j * block, width, block}, padded);
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
    for (int64_t i = 0; copy && i < dims; i++)
        memcpy(copy + i * stride, rows->x + i * rows->stride + rows->first,
               (size_t)rows->count * sizeof *copy);
    return copy;
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
        const bool padded = rows->count % VECTOR_PAD == 0 && rows->first % VECTOR_PAD == 0;
        out->x = padded ? rows->x + rows->first
                        : copy_rows(mem, rows, basis->dims, basis->dims, out->stride);
        if (!out->x) return PLUMB_EMEMORY;
        out->x_stride = padded ? rows->stride : out->stride;
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
