// SPDX-License-Identifier: MIT
// One loss a clip, context length and window becomes surprise of frames. Shorter clips are padded
// with zeros at their end, and a loss is never exactly zero, so the zeros tell how long a clip is;
// the study's own means count them.
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/result.h"
#include "base/status.h"
#include "plumb/surprise.h"

plumb_status plumb_surprise_slots(int64_t *slot, const plumb_array *labels, bool quadruples)
{
    const int64_t n = plumb_array_count(labels);
    arena mem = {0};
    const double *label = array_as_doubles(&mem, labels);
    if (!label) return PLUMB_EMEMORY;
    plumb_status st = PLUMB_OK;
    if (labels->ndim != 1 || n < 2 || n % (quadruples ? 4 : 2))
        st = fail(PLUMB_EVALUE, "labels has %lld clips, which are not tuples of %d", (long long)n,
                  quadruples ? 4 : 2);
    for (int64_t i = 0; i + 1 < n && !st; i += 2) {
        const bool first = label[i] == 1.0 && label[i + 1] == 0.0;
        const bool second = label[i] == 0.0 && label[i + 1] == 1.0;
        if (!first && !second)
            st =
                fail(PLUMB_EVALUE,
                     "labels of clips %lld and %lld are %g and %g; a pair has one 1, possible, and "
                     "one 0, impossible",
                     (long long)i, (long long)(i + 1), label[i], label[i + 1]);
        const int64_t pair = i / 2;
        const int64_t base = quadruples ? 4 * (pair / 2) + pair % 2 : 4 * pair;
        slot[i] = base + (first ? 0 : 2);
        slot[i + 1] = base + (first ? 2 : 0);
    }
    arena_clear(&mem);
    return st;
}

typedef struct sorted {
    int64_t tuples, clips, contexts, windows;
    const double *loss;
    int64_t *clip;  // (tuples, 4), or -1
    double *window; // (clips, windows): contexts joined
    int64_t *length;
} sorted;

// Which clip is at which place of which tuple.
static plumb_status place(sorted *s, arena *mem, const int64_t *slot)
{
    for (int64_t i = 0; i < s->clips; i++)
        if (slot[i] / 4 >= s->tuples && slot[i] >= 0) s->tuples = slot[i] / 4 + 1;
    if (s->tuples < 1 || s->tuples > s->clips)
        return fail(PLUMB_EVALUE, "%lld clips do not make up tuples", (long long)s->clips);
    s->clip = ARENA_ALLOC(mem, int64_t, 4 * s->tuples);
    if (!s->clip) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < 4 * s->tuples; i++) s->clip[i] = -1;
    for (int64_t i = 0; i < s->clips; i++) {
        if (slot[i] < 0) continue;
        if (s->clip[slot[i]] >= 0)
            return fail(PLUMB_EVALUE, "clips %lld and %lld have the same place in tuple %lld",
                        (long long)s->clip[slot[i]], (long long)i, (long long)(slot[i] / 4));
        s->clip[slot[i]] = i;
    }
    return PLUMB_OK;
}

// Pairs stand for themselves twice; anything else has to be four.
static plumb_status complete(sorted *s, bool *pairs)
{
    *pairs = s->clip[1] < 0 && s->clip[3] < 0;
    for (int64_t t = 0; t < s->tuples; t++) {
        int64_t *c = s->clip + 4 * t;
        const int found = (c[0] >= 0) + (c[1] >= 0) + (c[2] >= 0) + (c[3] >= 0);
        const bool fits = *pairs ? c[0] >= 0 && c[2] >= 0 && found == 2 : found == 4;
        if (!fits)
            return fail(PLUMB_EVALUE, "tuple %lld has %d clips, not %d", (long long)t, found,
                        *pairs ? 2 : 4);
        if (*pairs) c[1] = c[0], c[3] = c[2];
    }
    return PLUMB_OK;
}

static plumb_status join_contexts(sorted *s, arena *mem, const plumb_array *losses, int64_t context)
{
    s->window = ARENA_ALLOC(mem, double, s->clips * s->windows);
    s->length = ARENA_ALLOC(mem, int64_t, s->clips);
    if (!s->window || !s->length) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->clips; i++)
        for (int64_t w = 0; w < s->windows; w++) {
            double least = (double)INFINITY;
            for (int64_t c = 0; c < s->contexts; c++) {
                if (context >= 0 && c != context) continue;
                const int64_t at = (i * s->contexts + c) * s->windows + w;
                const double x = s->loss[at];
                if (!isfinite(x)) return array_reject_nonfinite(losses, "losses", 1, at, "");
                // Where context lengths have different numbers of windows, the missing are zero.
                if (x != 0.0) least = fmin(least, x);
            }
            s->window[i * s->windows + w] = isfinite(least) ? least : 0.0;
            if (isfinite(least)) s->length[i] = w + 1;
        }
    return PLUMB_OK;
}

static double join(const double *x, int64_t n, plumb_surprise_frames how)
{
    double sum = 0.0, most = n ? x[0] : 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i], most = fmax(most, x[i]);
    if (how == PLUMB_SURPRISE_FRAMES_MAX) return most;
    return how == PLUMB_SURPRISE_FRAMES_SUM || !n ? sum : sum / (double)n;
}

static plumb_status make(plumb_surprise_losses *out, arena *mem, const plumb_array *losses,
                         const int64_t *slot, int64_t context, plumb_surprise_frames frames)
{
    if (losses->ndim != 3 || plumb_array_count(losses) < 1) {
        char shape[256];
        return fail(PLUMB_ESHAPE, "losses is %s; it must be (clips, contexts, windows)",
                    plumb_array_shape_string(shape, sizeof shape, losses));
    }
    sorted s = {.clips = losses->shape[0],
                .contexts = losses->shape[1],
                .windows = losses->shape[2],
                .loss = array_as_doubles(mem, losses)};
    if (!s.loss) return PLUMB_EMEMORY;
    if (context >= s.contexts)
        return fail(PLUMB_EVALUE, "context is %lld; there are %lld", (long long)context,
                    (long long)s.contexts);
    plumb_status st = place(&s, mem, slot);
    if (!st) st = complete(&s, &out->pairs);
    if (!st) st = join_contexts(&s, mem, losses, context);
    if (st) return st;
    for (int64_t i = 0; i < s.clips; i++) out->padded += slot[i] >= 0 && s.length[i] < s.windows;
    const int64_t width = out->padded ? 1 : s.windows;
    double *to = ARENA_ALLOC(mem, double, s.tuples * 4 * width);
    if (!to) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < 4 * s.tuples; i++) {
        const double *from = s.window + s.clip[i] * s.windows;
        if (out->padded) to[i] = join(from, s.length[s.clip[i]], frames);
        for (int64_t w = 0; !out->padded && w < width; w++) to[i * width + w] = from[w];
    }
    out->surprise =
        plumb_array_view(to, PLUMB_FLOAT64, out->padded ? 2 : 3, (int64_t[]){s.tuples, 4, width});
    return PLUMB_OK;
}

plumb_status plumb_surprise_losses_make(plumb_surprise_losses *out, const plumb_array *losses,
                                        const int64_t *slot, int64_t context,
                                        plumb_surprise_frames frames)
{
    plumb_surprise_losses made = {0};
    arena *mem = result_begin(&made.memory);
    plumb_status st = mem ? make(&made, mem, losses, slot, context, frames) : PLUMB_EMEMORY;
    st = result_end(st, &made.memory);
    if (!st) *out = made;
    return st;
}

void plumb_surprise_losses_clear(plumb_surprise_losses *losses)
{
    if (losses) result_clear(losses, sizeof *losses, losses->memory);
}
