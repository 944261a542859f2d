// SPDX-License-Identifier: MIT
#include "math/poly_design.h"

#include <string.h>

#include "math/vector.h"

enum {
    KEEP_BYTES = 64 << 20, // lower degrees larger than this are made anew for every product
    BLOCK_BYTES = 4 << 20,
    GRAM_ROWS = 256, // rows a block when summing a Gram matrix,
    GRAM_GROUP = 64, // and columns a group
};

// Degrees 1 .. low of rows first .. first+n-1: from the store, or made in `scratch`.
static const double *lower_block(const poly_design *d, int64_t first, int64_t n, int64_t *stride,
                                 const double **x, double *scratch)
{
    if (d->stored) {
        *stride = d->stride;
        *x = d->x + first;
        return d->stored + first;
    }
    double *base = scratch + d->stored_count * d->block_rows;
    for (int64_t i = 0; i < d->poly->dims; i++)
        memcpy(base + i * d->block_rows, d->x + i * d->stride + first, (size_t)n * sizeof *base);
    poly_expand(scratch, d->poly, d->low, base, d->block_rows, n);
    *stride = d->block_rows;
    *x = base;
    return scratch;
}

int64_t poly_design_scratch(const poly_design *d)
{
    const int64_t block = d->stored ? d->stride : d->block_rows;
    return (d->stored ? 0 : (d->stored_count + d->poly->dims) * d->block_rows) + block +
           (d->poly->count + VECTOR_PAD);
}

void poly_design_correlate(double *g, const poly_design *d, const double *r, double *scratch)
{
    const poly *p = d->poly;
    const int64_t block = d->stored ? d->stride : d->block_rows;
    double *z = scratch + (d->stored ? 0 : (d->stored_count + p->dims) * d->block_rows);
    double *part = z + block;
    memset(g, 0, (size_t)p->count * sizeof *g);
    for (int64_t first = 0; first < d->stride; first += block) {
        const int64_t n = first + block <= d->stride ? block : d->stride - first;
        int64_t stride;
        const double *x;
        const double *low = lower_block(d, first, n, &stride, &x, scratch);
        vector_dots(part, low, stride, d->stored_count, r + first, n);
        for (int64_t f = 0; f < d->stored_count; f++) g[f] += part[f];
        if (d->low == p->order) continue;
        const int64_t top = p->first[p->order], below = p->first[p->order - 1];
        for (int64_t i = 0; i < p->dims; i++) {
            const int64_t *run = p->run[p->order];
            vector_product(z, x + i * stride, r + first, n);
            vector_dots(part, low + (below + p->run[p->order - 1][i]) * stride, stride,
                        run[i + 1] - run[i], z, n);
            for (int64_t f = run[i]; f < run[i + 1]; f++) g[top + f] += part[f - run[i]];
        }
    }
}

// A raw column is a stored one, or a variable times a stored one.
static void split(const double **low, const double **x, const poly_design *d, int64_t feature)
{
    const poly *p = d->poly;
    int64_t v[POLY_MAX_ORDER];
    const int degree = poly_variables(v, p, feature);
    if (degree <= d->low) {
        *low = d->stored + feature * d->stride;
        *x = NULL;
        return;
    }
    const int64_t i = v[0];
    const int64_t offset = feature - p->first[degree] - p->run[degree][i];
    *low = d->stored + (p->first[degree - 1] + p->run[degree - 1][i] + offset) * d->stride;
    *x = d->x + i * d->stride;
}

static void raw_column(double *out, const poly_design *d, int64_t feature)
{
    if (d->stored) {
        const double *low, *x;
        split(&low, &x, d, feature);
        if (x) vector_product(out, low, x, d->stride);
        else memcpy(out, low, (size_t)d->stride * sizeof *out);
        return;
    }
    int64_t v[POLY_MAX_ORDER];
    const int degree = poly_variables(v, d->poly, feature);
    memcpy(out, d->x + v[0] * d->stride, (size_t)d->stride * sizeof *out);
    for (int k = 1; k < degree; k++) {
        const double *x = d->x + v[k] * d->stride;
        for (int64_t i = 0; i < d->stride; i++) out[i] *= x[i];
    }
}

void poly_design_column(double *out, const poly_design *d, int64_t feature)
{
    raw_column(out, d, feature);
    const double mean = d->mean[feature];
    for (int64_t i = 0; i < d->rows; i++) out[i] -= mean;
}

void poly_design_apply(double *y, const poly_design *d, const int64_t *features,
                       const double *weights, int64_t count)
{
    memset(y, 0, (size_t)d->stride * sizeof *y);
    double shift = 0.0;
    for (int64_t k = 0; k < count; k++) {
        shift += weights[k] * d->mean[features[k]];
        if (d->stored) {
            const double *low, *x;
            split(&low, &x, d, features[k]);
            if (x) vector_axpy_product(y, weights[k], low, x, d->stride);
            else vector_axpy(y, weights[k], low, d->stride);
            continue;
        }
        int64_t v[POLY_MAX_ORDER];
        const int degree = poly_variables(v, d->poly, features[k]);
        for (int64_t i = 0; i < d->stride; i++) {
            double product = weights[k];
            for (int j = 0; j < degree; j++) product *= d->x[v[j] * d->stride + i];
            y[i] += product;
        }
    }
    for (int64_t i = 0; i < d->rows; i++) y[i] -= shift;
}

static void moments(poly_design *d, double *scratch)
{
    const poly *p = d->poly;
    const int64_t block = d->stored ? d->stride : d->block_rows;
    double *ones = scratch + (d->stored ? 0 : (d->stored_count + p->dims) * d->block_rows);
    for (int64_t i = 0; i < block; i++) ones[i] = 1.0;
    for (int64_t first = 0; first < d->stride; first += block) {
        const int64_t n = first + block <= d->stride ? block : d->stride - first;
        int64_t stride;
        const double *x;
        const double *low = lower_block(d, first, n, &stride, &x, scratch);
        vector_moments(d->mean, d->norm2, low, stride, d->stored_count, ones, n);
        if (d->low == p->order) continue;
        const int64_t top = p->first[p->order], below = p->first[p->order - 1];
        for (int64_t i = 0; i < p->dims; i++) {
            const int64_t *run = p->run[p->order];
            vector_moments(d->mean + top + run[i], d->norm2 + top + run[i],
                           low + (below + p->run[p->order - 1][i]) * stride, stride,
                           run[i + 1] - run[i], x + i * stride, n);
        }
    }
    for (int64_t f = 0; f < p->count; f++) {
        const double mean = d->mean[f] / (double)d->rows;
        const double norm2 = d->norm2[f] - mean * d->mean[f];
        d->mean[f] = mean;
        d->norm2[f] = norm2 > 0.0 ? norm2 : 0.0;
    }
}

// A block of rows at a time: its columns, centred, then the products of all pairs of them. Row i
// needs the columns from i on; they are taken from a whole group, for the vector loops' sake.
static plumb_status sum_gram(poly_design *d, arena *mem)
{
    const poly *p = d->poly;
    const int64_t count = p->count, wide = d->gram_stride = vector_padded(count);
    d->gram = ARENA_ALLOC(mem, double, (count * wide));
    const arena_mark mark = arena_get_mark(mem);
    const int64_t block = d->stride < GRAM_ROWS ? d->stride : GRAM_ROWS;
    double *base = ARENA_ALLOC(mem, double, (p->dims * block));
    double *columns = ARENA_ALLOC(mem, double, (count * block));
    double *part = ARENA_ALLOC(mem, double, (count * GRAM_GROUP));
    if (!d->gram || !base || !columns || !part) return PLUMB_EMEMORY;
    for (int64_t first = 0; first < d->rows; first += block) {
        const int64_t n = first + block <= d->rows ? block : d->rows - first;
        const int64_t padded = vector_padded(n);
        for (int64_t i = 0; i < p->dims; i++)
            memcpy(base + i * block, d->x + i * d->stride + first, (size_t)padded * sizeof *base);
        poly_expand(columns, p, p->order, base, block, padded);
        for (int64_t f = 0; f < count; f++)
            for (int64_t i = 0; i < n; i++) columns[f * block + i] -= d->mean[f];
        for (int64_t j = 0; j < count; j += GRAM_GROUP) {
            const int64_t width = j + GRAM_GROUP <= count ? GRAM_GROUP : count - j;
            vector_products(part, GRAM_GROUP, columns, block, j + width, columns + j * block, block,
                            width, padded);
            for (int64_t i = 0; i < j + width; i++)
                for (int64_t k = 0; k < width; k++)
                    d->gram[i * wide + j + k] += part[i * GRAM_GROUP + k];
        }
    }
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < i; j++) d->gram[i * wide + j] = d->gram[j * wide + i];
    for (int64_t f = 0; f < count; f++) d->norm2[f] = d->gram[f * wide + f];
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

static int64_t cut_run(poly_design_block *blocks, int64_t n, int64_t first, int64_t count,
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

static plumb_status make_blocks(poly_design *d, arena *mem)
{
    const poly *p = d->poly;
    d->blocks = ARENA_ALLOC(mem, poly_design_block, p->count / POLY_DESIGN_BLOCK + 2 + p->dims);
    const arena_mark mark = arena_get_mark(mem);
    double *columns = ARENA_ALLOC(mem, double, (POLY_DESIGN_BLOCK * d->stride));
    if (!d->blocks || !columns) return PLUMB_EMEMORY;
    int64_t n = cut_run(d->blocks, 0, 0, d->stored_count, -1, d->stored, d->stride);
    if (d->low < p->order)
        for (int64_t i = 0; i < p->dims; i++) {
            const int64_t *run = p->run[p->order];
            const int64_t below = p->first[p->order - 1] + p->run[p->order - 1][i];
            n = cut_run(d->blocks, n, p->first[p->order] + run[i], run[i + 1] - run[i], i,
                        d->stored + below * d->stride, d->stride);
        }
    d->block_count = n;
    for (int64_t b = 0; b < n; b++) {
        poly_design_block *block = &d->blocks[b];
        for (int64_t i = 0; i < block->count; i++) {
            poly_design_column(columns + i * d->stride, d, block->first + i);
            vector_dots(block->gram[i], columns, d->stride, i + 1, columns + i * d->stride,
                        d->stride);
            for (int64_t j = 0; j < i; j++) block->gram[j][i] = block->gram[i][j];
        }
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}

plumb_status poly_design_init(poly_design *out, arena *mem, const poly *p, const double *x,
                              int64_t x_stride, int64_t first, int64_t rows, poly_design_kind kind)
{
    *out = (poly_design){.poly = p, .rows = rows, .stride = vector_padded(rows)};
    out->low = p->order > 1 ? p->order - 1 : 1;
    out->stored_count = p->first[out->low + 1];
    double *copy = ARENA_ALLOC(mem, double, (p->dims * out->stride));
    out->mean = ARENA_ALLOC(mem, double, p->count);
    out->norm2 = ARENA_ALLOC(mem, double, p->count);
    if (!copy || !out->mean || !out->norm2) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < p->dims; i++)
        memcpy(copy + i * out->stride, x + i * x_stride + first, (size_t)rows * sizeof *copy);
    out->x = copy;

    int64_t bytes = 8;
    const bool huge = __builtin_mul_overflow(bytes, out->stored_count, &bytes) ||
                      __builtin_mul_overflow(bytes, out->stride, &bytes);
    if (kind == POLY_DESIGN_STORED ||
        (!huge && bytes <= KEEP_BYTES && kind != POLY_DESIGN_LOW_MEMORY)) {
        if (huge) return fail(PLUMB_EMEMORY, "the polynomial's lower degrees do not fit in memory");
        out->stored = ARENA_ALLOC(mem, double, (out->stored_count * out->stride));
        if (!out->stored) return PLUMB_EMEMORY;
        poly_expand(out->stored, p, out->low, copy, out->stride, out->stride);
    } else {
        out->block_rows = vector_padded(BLOCK_BYTES / 8 / out->stored_count + 1);
        if (out->block_rows > out->stride) out->block_rows = out->stride;
    }
    const arena_mark mark = arena_get_mark(mem);
    double *scratch = ARENA_ALLOC(mem, double, poly_design_scratch(out));
    if (!scratch) return PLUMB_EMEMORY;
    moments(out, scratch);
    arena_rewind(mem, mark);
    return kind == POLY_DESIGN_GRAM     ? sum_gram(out, mem)
           : kind == POLY_DESIGN_STORED ? make_blocks(out, mem)
                                        : PLUMB_OK;
}
