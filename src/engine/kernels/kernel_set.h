// SPDX-License-Identifier: MIT
// What the products and convolutions are made of, once per instruction set: tiles of a matrix
// product that stay in registers, and the small transforms of Winograd's algorithm.
#ifndef ENGINE_KERNELS_KERNEL_SET_H
#define ENGINE_KERNELS_KERNEL_SET_H

#include <stdbool.h>
#include <stdint.h>

/// C (rows, columns) = sum over `runs` runs of `length` steps of a column of A times a row of B.
/// Rows of A and C lie on lines, as the pixels of a picture do. All distances are in floats.
typedef struct gemm_tile {
    int64_t runs, length;
    int64_t a_run, a_step; ///< a_step: of `across` alone, elsewhere 1
    int64_t b_run, b_step; ///< from row to row of B; in `dots` from column to column
    int64_t rows, line;    ///< rows in all, and rows on a line
    int64_t a_line, a_row; ///< from line to line and from row to row of A
    int64_t c_line, c_row; ///< and of C
    int64_t columns;       ///< at most 2 registers, 4 if rows <= 3; in `dots` any number
    bool accumulate;       ///< add to C
    const float *bias;     ///< (columns), or NULL
    float slope;           ///< leaky ReLU after the bias; 1 for none
} gemm_tile;

/// Distances of the pictures that Winograd's transforms read and write.
typedef struct winograd_tile {
    int64_t row, pixel; ///< of the picture, from row to row and pixel to pixel
    int64_t slice;      ///< from one of the 36 or 25 products to the next
    int64_t channels;
    int64_t start;         ///< of the input, where its first pixel would be,
    int64_t top, left;     ///< the first row and column that are there,
    int64_t height, width; ///< and where they end; of the output, at most 4 x 4
    const float *bias;
    float slope;
} winograd_tile;

/// The transforms of F(4x4, 3x3) and F(4x4, 2x2), on vectors of channels. What lies slices apart
/// has room for a whole number of registers.
typedef struct winograd_kernels {
    void (*input)(float *v, const float *x, const winograd_tile *job);
    void (*output)(float *y, const float *m, const winograd_tile *job);
    void (*spread)(float *v, const float *dy, const winograd_tile *job);
    void (*weights)(float *restrict u, const float *restrict w, const winograd_tile *job);
    void (*gather)(float *restrict dw, const float *restrict u, const winograd_tile *job);
} winograd_kernels;

/// Registers across a tile of so many rows.
static inline int64_t kernel_set_tile_registers(int64_t rows)
{
    return rows <= 3 ? 4 : 2;
}

typedef struct kernel_set {
    const char *name;
    int64_t lanes; ///< floats a register
    /// Rows of A lie apart, their steps side by side.
    void (*outer)(float *restrict c, const float *restrict a, const float *restrict b,
                  const gemm_tile *job);
    /// Rows of A lie side by side, their steps apart: a product with A transposed.
    void (*across)(float *restrict c, const float *restrict a, const float *restrict b,
                   const gemm_tile *job);
    /// Rows of A and columns of B are both contiguous along the sum.
    void (*dots)(float *restrict c, const float *restrict a, const float *restrict b,
                 const gemm_tile *job);
    winograd_kernels wino3, wino2;
} kernel_set;

extern const kernel_set kernel_set_portable, kernel_set_avx2,
    kernel_set_avx512; // the latter on x86-64

/// The widest set for results of so many channels: few of them fill no wide register.
const kernel_set *kernel_set_for(int64_t columns);

/// "avx512", "avx2" or "portable"
const char *kernel_set_instructions(void);
/// For tests and benches: uses that set from here on; false if this processor does not have it.
bool kernel_set_select(const char *set);
/// The same with a set of the caller's own, which must stay.
void kernel_set_use(const kernel_set *set);

#endif
