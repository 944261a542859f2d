// SPDX-License-Identifier: MIT
// Losses per clip, context length and window become the surprise of frames. Shorter clips are
// padded with zeros at their end. A loss is never exactly zero, so the zeros give the length of a
// clip. The means of the V-JEPA study itself count the padding.
#include "measures/surprise/loss_tuples.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"
#include "measures/surprise/input.h"

// slot (clips): 4 tuple + place. Clips come in pairs of one possible and one impossible clip, in
// either order; a quadruple is two pairs in a row.
plumb_status loss_tuples_assign_slots(int64_t *slot, const plumb_array *labels, bool quadruples)
{
    const int64_t n = plumb_array_count(labels);
    arena mem = {0};
    const double *label = array_as_doubles(&mem, labels);
    if (!label) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    if (labels->ndim != 1 || n < 2 || n % (quadruples ? 4 : 2))
        st = fail(PLUMB_EVALUE, "labels has %lld clips; expected a multiple of %d", (long long)n,
                  quadruples ? 4 : 2);
    for (int64_t i = 0; i + 1 < n && !st; i += 2) {
        const bool first = label[i] == 1.0 && label[i + 1] == 0.0;
        const bool second = label[i] == 0.0 && label[i + 1] == 1.0;
        if (!first && !second)
            st = fail(PLUMB_EVALUE,
                      "labels of clips %lld and %lld are %g and %g; expected one 1 (possible) and "
                      "one 0 (impossible)",
                      (long long)i, (long long)(i + 1), label[i], label[i + 1]);
        const int64_t pair = i / 2;
        const int64_t base = quadruples ? 4 * (pair / 2) + pair % 2 : 4 * pair;
        slot[i] = base + (first ? 0 : 2);
        slot[i + 1] = base + (first ? 2 : 0);
    }
    arena_clear(&mem);
    return st;
}

typedef struct loss_table {
    int64_t tuples, clips, contexts, windows;
    const double *loss;
    int64_t *clip;  // (tuples, 4), or -1
    double *window; // (clips, windows): contexts reduced to one
    int64_t *length;
} loss_table;

// clip (tuples, 4): the clip at each place of each tuple.
static plumb_status place_clips(loss_table *table, arena *mem, const int64_t *slot)
{
    for (int64_t i = 0; i < table->clips; i++)
        if (slot[i] / 4 >= table->tuples && slot[i] >= 0) table->tuples = slot[i] / 4 + 1;
    if (table->tuples < 1 || table->tuples > table->clips)
        return fail(PLUMB_EVALUE, "%lld clips do not form tuples", (long long)table->clips);
    table->clip = ARENA_ALLOC(mem, int64_t, 4 * table->tuples);
    if (!table->clip) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < 4 * table->tuples; i++) table->clip[i] = -1;
    for (int64_t i = 0; i < table->clips; i++) {
        if (slot[i] < 0) continue;
        if (table->clip[slot[i]] >= 0)
            return fail(PLUMB_EVALUE, "clips %lld and %lld have the same place in tuple %lld",
                        (long long)table->clip[slot[i]], (long long)i, (long long)(slot[i] / 4));
        table->clip[slot[i]] = i;
    }
    return PLUMB_OK;
}

// A tuple has four clips; in a file of pairs each clip takes two places.
static plumb_status complete_tuples(loss_table *table, bool *pairs)
{
    *pairs = table->clip[1] < 0 && table->clip[3] < 0;
    for (int64_t t = 0; t < table->tuples; t++) {
        int64_t *c = table->clip + 4 * t;
        const int found = (c[0] >= 0) + (c[1] >= 0) + (c[2] >= 0) + (c[3] >= 0);
        const bool fits = *pairs ? c[0] >= 0 && c[2] >= 0 && found == 2 : found == 4;
        if (!fits)
            return fail(PLUMB_EVALUE, "tuple %lld has %d clips; expected %d", (long long)t, found,
                        *pairs ? 2 : 4);
        if (*pairs) c[1] = c[0], c[3] = c[2];
    }
    return PLUMB_OK;
}

// window (clips, windows): the loss of one context, or the least over all contexts.
static plumb_status reduce_contexts(loss_table *table, arena *mem, const plumb_array *losses,
                                    int64_t context)
{
    table->window = ARENA_ALLOC(mem, double, table->clips * table->windows);
    table->length = ARENA_ALLOC(mem, int64_t, table->clips);
    if (!table->window || !table->length) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < table->clips; i++)
        for (int64_t w = 0; w < table->windows; w++) {
            double least = (double)INFINITY;
            for (int64_t c = 0; c < table->contexts; c++) {
                if (context >= 0 && c != context) continue;
                const int64_t at = (i * table->contexts + c) * table->windows + w;
                const double x = table->loss[at];
                if (!isfinite(x)) return array_reject_nonfinite(losses, "losses", 1, at, "");
                // Windows that a context length does not have are zero.
                if (x != 0.0) least = fmin(least, x);
            }
            table->window[i * table->windows + w] = isfinite(least) ? least : 0.0;
            if (isfinite(least)) table->length[i] = w + 1;
        }
    return PLUMB_OK;
}

plumb_status loss_tuples_make(plumb_surprise_losses *out, arena *mem, const plumb_array *losses,
                              const int64_t *slot, int64_t context, plumb_surprise_frames frames)
{
    if (losses->ndim != 3 || plumb_array_count(losses) < 1) {
        char shape[256];
        return fail(PLUMB_ESHAPE, "losses is %s; expected (clips, contexts, windows)",
                    plumb_array_shape_string(shape, sizeof shape, losses));
    }
    loss_table table = {.clips = losses->shape[0],
                        .contexts = losses->shape[1],
                        .windows = losses->shape[2],
                        .loss = array_as_doubles(mem, losses)};
    if (!table.loss) return PLUMB_EMEMORY;
    if (context >= table.contexts)
        return fail(PLUMB_EVALUE, "context is %lld; the file has %lld contexts", (long long)context,
                    (long long)table.contexts);
    plumb_status st = place_clips(&table, mem, slot);
    if (!st) st = complete_tuples(&table, &out->pairs);
    if (!st) st = reduce_contexts(&table, mem, losses, context);
    if (st) return st;
    for (int64_t i = 0; i < table.clips; i++)
        out->padded += slot[i] >= 0 && table.length[i] < table.windows;
    // Clips of different length have no common axis of frames: they are reduced to one number each.
    const int64_t width = out->padded ? 1 : table.windows;
    double *to = ARENA_ALLOC(mem, double, table.tuples * 4 * width);
    if (!to) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < 4 * table.tuples; i++) {
        const double *from = table.window + table.clip[i] * table.windows;
        if (out->padded) to[i] = surprise_reduce_frames(from, table.length[table.clip[i]], frames);
        for (int64_t w = 0; !out->padded && w < width; w++) to[i * width + w] = from[w];
    }
    out->surprise = plumb_array_view(to, PLUMB_FLOAT64, out->padded ? 2 : 3,
                                     (int64_t[]){table.tuples, 4, width});
    return PLUMB_OK;
}
