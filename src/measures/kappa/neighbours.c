// SPDX-License-Identifier: MIT
// The nearest states of other trajectories. Rows are kept in the order of one input, so that a
// search begins at the row and ends in either direction where this input alone differs by more than
// the farthest neighbour found.
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "measures/kappa/kappa.h"

int kappa_compare_items(const void *a, const void *b)
{
    const kappa_sort_item *first = a, *second = b;
    if (first->value != second->value) return first->value < second->value ? -1 : 1;
    return first->index < second->index ? -1 : first->index > second->index;
}

plumb_status kappa_neighbours_init(kappa_neighbours *out, arena *mem, const map_inputs *in,
                                   const kappa_rows *rows)
{
    *out = (kappa_neighbours){.in = in, .rows = rows};
    kappa_sort_item *item = ARENA_ALLOC(mem, kappa_sort_item, rows->rows);
    out->order = ARENA_ALLOC(mem, int64_t, rows->rows);
    out->place = ARENA_ALLOC(mem, int64_t, rows->rows);
    out->first = ARENA_ALLOC(mem, double, rows->rows);
    if (!item || !out->order || !out->place || !out->first) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < rows->rows; r++) item[r] = (kappa_sort_item){in->x[r * in->dims], r};
    qsort(item, (size_t)rows->rows, sizeof *item, kappa_compare_items);
    for (int64_t i = 0; i < rows->rows; i++) {
        out->order[i] = item[i].index;
        out->first[i] = item[i].value;
        out->place[item[i].index] = i;
    }
    return PLUMB_OK;
}

// The neighbours found so far, the nearest first; of equally near ones the one of the lower row.
typedef struct nearest {
    int64_t count, *row;
    double *distance2;
} nearest;

static void nearest_insert(nearest *n, int64_t row, double distance2)
{
    int64_t i = n->count;
    while (i > 0 && (distance2 < n->distance2[i - 1] ||
                     (distance2 == n->distance2[i - 1] && row < n->row[i - 1])))
        i--;
    if (i == n->count) return;
    for (int64_t k = n->count - 1; k > i; k--) {
        n->distance2[k] = n->distance2[k - 1];
        n->row[k] = n->row[k - 1];
    }
    n->distance2[i] = distance2;
    n->row[i] = row;
}

// Tries the rows on one side of `place`, `step` 1 or -1, until none farther can be nearer.
static void search_side(nearest *n, const kappa_neighbours *all, int64_t row, int64_t step)
{
    const int64_t d = all->in->dims, trajectory = row / all->rows->steps;
    const double *to = all->in->x + row * d, *last = &n->distance2[n->count - 1];
    for (int64_t p = all->place[row] + step; p >= 0 && p < all->rows->rows; p += step) {
        const double along = all->first[p] - to[0];
        if (along * along > *last) return;
        const int64_t r = all->order[p];
        if (r / all->rows->steps == trajectory) continue;
        double sum = 0.0;
        for (int64_t k = 0; k < d && sum <= *last; k++) {
            const double by = all->in->x[r * d + k] - to[k];
            sum += by * by;
        }
        nearest_insert(n, r, sum);
    }
}

double kappa_neighbours_find(int64_t *neighbour, int64_t count, const kappa_neighbours *all,
                             int64_t row)
{
    double distance2[KAPPA_MAX_NEIGHBOURS];
    for (int64_t i = 0; i < count; i++) distance2[i] = (double)INFINITY, neighbour[i] = row;
    nearest n = {count, neighbour, distance2};
    search_side(&n, all, row, 1);
    search_side(&n, all, row, -1);
    return sqrt(distance2[0]);
}
