// SPDX-License-Identifier: MIT
// The inner loops of matrix products and convolutions, compiled once per instruction set: tiles of
// a matrix product whose sums stay in registers, and the small transforms of Winograd's algorithm.
#ifndef ENGINE_KERNELS_KERNEL_SET_H
#define ENGINE_KERNELS_KERNEL_SET_H

#include <stdbool.h>
#include <stdint.h>

/// C (rows, columns) = sum over `runs` runs of `length` steps of (a column of A) times (a row of
/// B). The rows of A and C lie on lines, as the pixels of an image do. All distances are in floats.
typedef struct gemm_tile {
    int64_t runs, length;  ///< The sum has runs * length terms.
    int64_t a_run, a_step; ///< Of A: from run to run, and from step to step (gemm_at; elsewhere 1).
    int64_t b_run, b_step; ///< Of B: from run to run, and from row to row (gemm_dot: columns).
    int64_t rows, line;    ///< Rows in all, and rows on one line.
    int64_t a_line, a_row; ///< Of A: from line to line and from row to row.
    int64_t c_line, c_row; ///< Of C: from line to line and from row to row.
    int64_t columns;       ///< At most 2 registers, or 4 if rows <= 3. gemm_dot: any number.
    bool accumulate;       ///< Add to C instead of writing it.
    const float *bias;     ///< (columns) added to every row; may be NULL.
    float slope;           ///< Leaky ReLU after the bias; 1 for none.
} gemm_tile;

/// Where Winograd's transforms read and write. All distances are in floats.
typedef struct winograd_tile {
    int64_t row, pixel;    ///< Of the image: from row to row and from pixel to pixel.
    int64_t slice;         ///< From one of the 36 or 25 products to the next.
    int64_t channels;      ///< Of the image.
    int64_t start;         ///< Input: offset of the tile's first pixel, which may be outside.
    int64_t top, left;     ///< Input: first row and column of the tile that are inside the image.
    int64_t height, width; ///< Input: where they end. Output: rows and columns inside, at most 4.
    const float *bias;     ///< Output: (channels); may be NULL.
    float slope;           ///< Output: leaky ReLU after the bias; 1 for none.
} winograd_tile;

/// The transforms of F(4x4, 3x3) and F(4x4, 2x2) [Lavin16], on vectors of channels. Arrays whose
/// parts are slices apart have room for a whole number of registers of channels.
typedef struct winograd_kernels {
    /// V = B^T x B: one tile of the input.
    void (*transform_input)(float *v, const float *x, const winograd_tile *job);
    /// y = A^T m A: one tile of the output.
    void (*transform_output)(float *y, const float *m, const winograd_tile *job);
    /// V = A dy A^T: the transpose of transform_output.
    void (*transform_output_grad)(float *v, const float *dy, const winograd_tile *job);
    /// U = G w G^T: the weights of one input channel.
    void (*transform_weights)(float *restrict u, const float *restrict w, const winograd_tile *job);
    /// dw = G^T u G: the transpose of transform_weights.
    void (*transform_weights_grad)(float *restrict dw, const float *restrict u,
                                   const winograd_tile *job);
} winograd_kernels;

/// Registers side by side in a tile of this many rows.
static inline int64_t kernel_set_tile_registers(int64_t rows)
{
    return rows <= 3 ? 4 : 2;
}

/// All kernels of one instruction set.
typedef struct kernel_set {
    const char *name; ///< "avx512", "avx2" or "portable".
    int64_t lanes;    ///< Floats per register.
    /// C = A B. Rows of A lie apart; the terms of a row are adjacent.
    void (*gemm)(float *restrict c, const float *restrict a, const float *restrict b,
                 const gemm_tile *job);
    /// C = A^T B. Rows of the transpose are adjacent; the terms of a row lie apart.
    void (*gemm_at)(float *restrict c, const float *restrict a, const float *restrict b,
                    const gemm_tile *job);
    /// C = A B^T by dot products: rows of A and of B are both contiguous along the sum.
    void (*gemm_dot)(float *restrict c, const float *restrict a, const float *restrict b,
                     const gemm_tile *job);
    /// C = A B with B in panels of one register: b_run floats from panel to panel, of which
    /// `length` rows are used. Any number of rows and columns; no runs, lines, bias or slope.
    void (*gemm_panels)(float *restrict c, const float *restrict a, const float *restrict b,
                        const gemm_tile *job);
    winograd_kernels winograd3, winograd2; ///< For 3x3 and for 2x2 weights.
} kernel_set;

/// The latter two exist on x86-64 only.
extern const kernel_set kernel_set_portable, kernel_set_avx2, kernel_set_avx512;

/// The set in use for results of this many columns; a narrower one if they do not fill a register.
const kernel_set *kernel_set_for(int64_t columns);

/// Name of the set in use: "avx512", "avx2" or "portable".
const char *kernel_set_instructions(void);
/// For tests and benchmarks: chooses a set; false if this processor does not have it.
bool kernel_set_select(const char *set);
/// The same with a set that the caller provides and keeps.
void kernel_set_use(const kernel_set *set);

#endif
