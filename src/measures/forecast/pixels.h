// SPDX-License-Identifier: MIT
// Pixels of any type, compared in double a block at a time: a video is never widened as a whole.
#ifndef MEASURES_FORECAST_PIXELS_H
#define MEASURES_FORECAST_PIXELS_H

#include <stdbool.h>

#include "plumb/array.h"

/// How many values of elements first .. first+count-1 are not finite; `where` is the first of them.
int64_t pixels_not_finite(int64_t *where, const plumb_array *array, int64_t first, int64_t count);

/// The greatest absolute value of elements first .. first+count-1.
double pixels_greatest(const plumb_array *array, int64_t first, int64_t count);

/// An array and the value its white has: pixels are divided by it.
typedef struct pixels {
    const plumb_array *array;
    double white;
} pixels;

/// Brings two arrays to one scale: white 1 where types agree, for the error is a ratio; else 1 for
/// floats and the greatest value of u1 and u2. False if a type has no white of its own.
bool pixels_pair(pixels *x, pixels *y, const plumb_array *truth, const plumb_array *prediction);

/// sum (x - y)^2 / sum x^2 over `count` pixels from x_first and y_first on. The sums have a fixed
/// order. `black` says that sum x^2 is 0, the error then being NaN or infinite.
double pixels_error(bool *black, pixels x, int64_t x_first, pixels y, int64_t y_first,
                    int64_t count);

#endif
