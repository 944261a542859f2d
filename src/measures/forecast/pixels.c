// SPDX-License-Identifier: MIT
// Pixels are read in blocks that fit the L1 cache and added in four lanes: fast without
// -ffast-math, and bit-identical on any number of threads.
#include "measures/forecast/pixels.h"

#include <math.h>

#include "base/array.h"

enum { BLOCK = 1024, LANES = 4 };

static int64_t min_count(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_float(plumb_dtype dtype)
{
    return dtype == PLUMB_FLOAT64 || dtype == PLUMB_FLOAT32 || dtype == PLUMB_FLOAT16;
}

int64_t pixels_not_finite(int64_t *where, const plumb_array *array, int64_t first, int64_t count)
{
    if (!is_float(array->dtype)) return 0;
    int64_t bad = 0;
    double x[BLOCK];
    for (int64_t start = 0; start < count; start += BLOCK) {
        const int64_t n = min_count(BLOCK, count - start);
        plumb_array_to_double(x, array, first + start, n);
        // 0 * x is NaN for NaN and infinity, so one sum shows whether the block has any.
        double sum[LANES] = {0.0};
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++) sum[k] += 0.0 * x[i + k];
        for (; i < n; i++) sum[0] += 0.0 * x[i];
        if (sum[0] + sum[1] + sum[2] + sum[3] == 0.0) continue;
        for (i = 0; i < n; i++)
            if (!isfinite(x[i]) && !bad++) *where = first + start + i;
    }
    return bad;
}

double pixels_greatest(const plumb_array *array, int64_t first, int64_t count)
{
    double greatest = 0.0, x[BLOCK];
    for (int64_t start = 0; start < count; start += BLOCK) {
        const int64_t n = min_count(BLOCK, count - start);
        plumb_array_to_double(x, array, first + start, n);
        for (int64_t i = 0; i < n; i++) greatest = fmax(greatest, fabs(x[i]));
    }
    return greatest;
}

// Divides instead of multiplying by 1/255, so that u1 equals the same image in floats k/255
// exactly.
static void read_block(double *out, pixels p, int64_t first, int64_t n)
{
    plumb_array_to_double(out, p.array, first, n);
    if (p.white == 1.0) return;
    for (int64_t i = 0; i < n; i++) out[i] /= p.white;
}

// e = sum (x - y)^2 / sum x^2.
double pixels_error(bool *black, pixels x, int64_t x_first, pixels y, int64_t y_first,
                    int64_t count)
{
    double a[BLOCK], b[BLOCK];
    double error[LANES] = {0.0}, power[LANES] = {0.0};
    for (int64_t start = 0; start < count; start += BLOCK) {
        const int64_t n = min_count(BLOCK, count - start);
        read_block(a, x, x_first + start, n);
        read_block(b, y, y_first + start, n);
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++) {
                const double difference = a[i + k] - b[i + k];
                error[k] += difference * difference;
                power[k] += a[i + k] * a[i + k];
            }
        for (; i < n; i++) {
            error[0] += (a[i] - b[i]) * (a[i] - b[i]);
            power[0] += a[i] * a[i];
        }
    }
    const double sum = (error[0] + error[1]) + (error[2] + error[3]);
    const double whole = (power[0] + power[1]) + (power[2] + power[3]);
    *black = whole == 0.0;
    return sum / whole;
}

bool pixels_pair(pixels *x, pixels *y, const plumb_array *truth, const plumb_array *prediction)
{
    const bool same = truth->dtype == prediction->dtype;
    *x = (pixels){truth, same ? 1.0 : array_white_level(truth->dtype)};
    *y = (pixels){prediction, same ? 1.0 : array_white_level(prediction->dtype)};
    return x->white > 0.0 && y->white > 0.0;
}
