// SPDX-License-Identifier: MIT
// The nearest states of other trajectories.
#include <math.h>

#include "measures/kappa/kappa.h"

void kappa_find_neighbours(int64_t *neighbour, int64_t count, const map_inputs *in,
                           const kappa_rows *rows, int64_t row)
{
    const int64_t d = in->dims, first = row / rows->steps * rows->steps;
    const double *to = in->x + row * d;
    double best[KAPPA_MAX_NEIGHBOURS];
    for (int64_t i = 0; i < count; i++) best[i] = (double)INFINITY, neighbour[i] = row;
    for (int64_t r = 0; r < rows->rows; r++) {
        if (r == first) r += rows->steps; // the trajectory of `row` itself
        if (r >= rows->rows) break;
        double sum = 0.0;
        for (int64_t k = 0; k < d; k++) {
            const double by = in->x[r * d + k] - to[k];
            sum += by * by;
        }
        if (!(sum < best[count - 1])) continue;
        int64_t i = count - 1;
        for (; i > 0 && best[i - 1] > sum; i--)
            best[i] = best[i - 1], neighbour[i] = neighbour[i - 1];
        best[i] = sum, neighbour[i] = r;
    }
}
