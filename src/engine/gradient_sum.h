// SPDX-License-Identifier: MIT
// Sums of gradients: elementwise addition, and the squared norm. Both give the same bits with every
// instruction set, and however a block is cut into slices or shared among threads.
#ifndef ENGINE_GRADIENT_SUM_H
#define ENGINE_GRADIENT_SUM_H

#include <stdbool.h>
#include <stdint.h>

/// sum += other, elementwise. The two arrays do not overlap.
void gradient_add(float *restrict sum, const float *restrict other, int64_t count);

/// The norm of a large block is taken in chunks of this many elements, the last one shorter, whose
/// squares are added in order. Then the number of threads does not affect the result.
enum { GRADIENT_CHUNK = 4096 };
/// Sum of squares in double, in eight lanes that are added in a fixed order. It is finite if and
/// only if every element is.
double gradient_sum_squares(const float *x, int64_t count);

/// For tests: chooses "portable", "avx2" or "avx512"; false if this processor does not have it.
bool gradient_sum_select(const char *set);

#endif
