// SPDX-License-Identifier: MIT
// Tuples are split, never clips: both impossible clips of a drawn tuple are observed, its possible
// ones are dropped, so that nothing that is judged was seen. [Lin23] takes 20 % per concept.
#include "measures/surprise/observation_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "math/rng.h"

enum { SPLIT_STREAM = 0x74706c73, MOST_SAMPLED = 2000 };

// ---- rows that are the same ----

typedef struct marked {
    uint64_t mark;
    int64_t row;
} marked;

static uint64_t mark_of(const double *row, int64_t dims)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < dims; i++) {
        uint64_t bits;
        memcpy(&bits, &row[i], sizeof bits);
        h = (h ^ bits) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

static int by_mark(const void *a, const void *b)
{
    const marked *x = a, *y = b;
    if (x->mark != y->mark) return x->mark < y->mark ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

// A row of zeros says nothing, so it is not evidence of anything.
static bool is_zero(const double *row, int64_t dims)
{
    for (int64_t i = 0; i < dims; i++)
        if (row[i] != 0.0) return false;
    return true;
}

static marked *mark_all(arena *mem, const double *rows, int64_t count, int64_t dims)
{
    marked *m = ARENA_ALLOC(mem, marked, count);
    if (!m) return NULL;
    for (int64_t i = 0; i < count; i++) m[i] = (marked){mark_of(rows + i * dims, dims), i};
    qsort(m, (size_t)count, sizeof *m, by_mark);
    return m;
}

static bool same(const double *a, const double *b, int64_t dims)
{
    return memcmp(a, b, (size_t)dims * sizeof *a) == 0 && !is_zero(a, dims);
}

static int64_t count_equal(const marked *m, const double *rows, int64_t count, int64_t dims)
{
    int64_t equal = 0;
    for (int64_t i = 1; i < count; i++)
        equal += m[i].mark == m[i - 1].mark &&
                 same(rows + m[i].row * dims, rows + m[i - 1].row * dims, dims);
    return equal;
}

static plumb_status refuse_overlap(const marked *m, const surprise_arrays *c)
{
    const int64_t d = c->dims;
    int64_t shared = 0, clip = 0, row = 0;
    for (int64_t i = 0; i < 4 * c->tuples; i++) {
        const double *feature = c->feature + i * d;
        const uint64_t mark = mark_of(feature, d);
        int64_t low = 0, high = c->seen_count;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (m[middle].mark < mark) low = middle + 1;
            else high = middle;
        }
        for (; low < c->seen_count && m[low].mark == mark; low++) {
            if (!same(c->seen + m[low].row * d, feature, d)) continue;
            if (!shared++) clip = i, row = m[low].row;
            break;
        }
    }
    if (!shared) return PLUMB_OK;
    return fail(
        PLUMB_ENUMERIC,
        "observation overlaps the test set: its row %lld is the feature of tuple %lld, clip "
        "%lld, and %lld clips in all are in it; observe clips of other tuples",
        (long long)row, (long long)(clip / 4), (long long)(clip % 4), (long long)shared);
}

// ---- sets ----

// Every so many rows, so that the spread of a large set costs no more than that of a small one.
static plumb_status take_sample(observation_sets *o, observation_set *s, arena *mem, int64_t dims)
{
    s->sample_count = s->seen_count < MOST_SAMPLED ? s->seen_count : MOST_SAMPLED;
    s->sample_first = o->sample_count;
    o->sample_count += s->sample_count;
    double *sample = ARENA_ALLOC(mem, double, s->sample_count *dims);
    if (!sample) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->sample_count; i++)
        memcpy(sample + i * dims, s->seen + i * s->seen_count / s->sample_count * dims,
               (size_t)dims * sizeof *sample);
    s->sample = sample;
    return PLUMB_OK;
}

static plumb_status use_given(observation_sets *o, arena *mem, const surprise_arrays *c)
{
    int64_t *tuple = ARENA_ALLOC(mem, int64_t, c->tuples),
            *of = ARENA_ALLOC(mem, int64_t, c->tuples);
    o->set = ARENA_ALLOC(mem, observation_set, 1);
    if (!tuple || !of || !o->set) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < c->tuples; i++) tuple[i] = i, of[i] = c->seen_count;
    o->tested = c->tuples;
    o->tested_tuple = tuple;
    o->tested_feature = c->feature;
    o->concept_of = c->concept_of;
    o->seen_of = of;
    if (!c->seen) return PLUMB_OK; // nothing dense is wanted
    o->sets = 1;
    o->observed = c->seen_count;
    *o->set = (observation_set){
        .seen = c->seen, .seen_count = c->seen_count, .asked = tuple, .asked_count = c->tuples};
    arena scratch = {0};
    const marked *m = mark_all(&scratch, c->seen, c->seen_count, c->dims);
    plumb_status st = m ? refuse_overlap(m, c) : PLUMB_EMEMORY;
    if (!st) o->equal = count_equal(m, c->seen, c->seen_count, c->dims);
    arena_clear(&scratch);
    return st ? st : take_sample(o, o->set, mem, c->dims);
}

static int64_t concept_of(const surprise_arrays *c, int64_t tuple)
{
    return c->concept_of ? c->concept_of[tuple] : 0;
}

// Draws the tuples of one concept; `drawn` marks them. Returns how many.
static plumb_status draw(bool *drawn, int64_t *count, arena *mem, const surprise_arrays *c,
                         int64_t concept, const plumb_surprise_options *opt)
{
    int64_t *member = ARENA_ALLOC(mem, int64_t, c->tuples);
    int64_t *order = ARENA_ALLOC(mem, int64_t, c->tuples);
    if (!member || !order) return PLUMB_EMEMORY;
    int64_t n = 0;
    for (int64_t i = 0; i < c->tuples; i++)
        if (concept_of(c, i) == concept) member[n++] = i;
    if (n < 2)
        return fail(PLUMB_EVALUE,
                    "there is no observation, and %s%s has one tuple, too few to set some apart",
                    c->concepts ? "concept " : "the file",
                    c->concepts ? c->concept_name[concept] : "");
    int64_t take = (int64_t)floor(opt->share * (double)n + 0.5);
    take = take < 1 ? 1 : take > n - 1 ? n - 1 : take;
    rng r = rng_at(opt->seed, ((uint64_t)SPLIT_STREAM << 32) + (uint64_t) concept);
    rng_distinct(order, &r, n, n);
    for (int64_t i = 0; i < take; i++) drawn[member[order[i]]] = true;
    *count = take;
    return PLUMB_OK;
}

// Features of the impossible clips of the drawn tuples of one concept, in the order of the tuples.
static plumb_status gather(observation_sets *o, observation_set *s, arena *mem,
                           const surprise_arrays *c, const bool *drawn, int64_t concept,
                           int64_t tuples)
{
    const int64_t d = c->dims;
    double *seen = ARENA_ALLOC(mem, double, 2 * tuples * d);
    int64_t *asked = ARENA_ALLOC(mem, int64_t, o->tested);
    if (!seen || !asked) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < c->tuples; i++) {
        if (!drawn[i] || concept_of(c, i) != concept) continue;
        memcpy(seen + s->seen_count * d, c->feature + (4 * i + 2) * d,
               (size_t)(2 * d) * sizeof *seen);
        s->seen_count += 2;
    }
    for (int64_t i = 0; i < o->tested; i++)
        if (concept_of(c, o->tested_tuple[i]) == concept) asked[s->asked_count++] = i;
    s->seen = seen;
    s->asked = asked;
    o->observed += s->seen_count;
    arena scratch = {0};
    const marked *m = mark_all(&scratch, seen, s->seen_count, d);
    if (m) o->equal += count_equal(m, seen, s->seen_count, d);
    arena_clear(&scratch);
    return m ? take_sample(o, s, mem, d) : PLUMB_EMEMORY;
}

static plumb_status split(observation_sets *o, arena *mem, const surprise_arrays *c,
                          const plumb_surprise_options *opt)
{
    const int64_t n = c->tuples, d = c->dims, concepts = c->concepts ? c->concepts : 1;
    bool *drawn = ARENA_ALLOC(mem, bool, n);
    int64_t *count = ARENA_ALLOC(mem, int64_t, concepts), *tuple = ARENA_ALLOC(mem, int64_t, n);
    int64_t *of = ARENA_ALLOC(mem, int64_t, n), *concept = ARENA_ALLOC(mem, int64_t, n);
    o->set = ARENA_ALLOC(mem, observation_set, concepts);
    if (!drawn || !count || !tuple || !of || !concept || !o->set) return PLUMB_EMEMORY;
    o->split = true;
    o->sets = concepts;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < concepts && !st; i++) st = draw(drawn, &count[i], mem, c, i, opt);
    if (st) return st;
    for (int64_t i = 0; i < n; i++) {
        if (drawn[i]) continue;
        concept[o->tested] = concept_of(c, i);
        of[o->tested] = 2 * count[concept[o->tested]];
        tuple[o->tested++] = i;
    }
    o->tested_tuple = tuple;
    o->seen_of = of;
    o->concept_of = c->concepts ? concept : NULL;
    double *feature = ARENA_ALLOC(mem, double, o->tested * 4 * d);
    if (!feature) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < o->tested; i++)
        memcpy(feature + 4 * i * d, c->feature + 4 * tuple[i] * d,
               (size_t)(4 * d) * sizeof *feature);
    o->tested_feature = feature;
    for (int64_t i = 0; i < concepts && !st; i++)
        st = gather(o, &o->set[i], mem, c, drawn, i, count[i]);
    return st;
}

plumb_status observation_set_make(observation_sets *out, arena *mem, const surprise_arrays *c,
                                  const plumb_surprise_options *opt, bool dense)
{
    *out = (observation_sets){0};
    surprise_arrays bare = *c;
    if (!dense) bare.seen = NULL;
    const plumb_status st =
        dense && !c->seen ? split(out, mem, c, opt) : use_given(out, mem, &bare);
    if (st || !dense) return st;
    if (c->zero_features)
        status_log("%lld features are zero vectors, which have no direction: they stay zero, at "
                   "distance 1 from every unit vector",
                   (long long)c->zero_features);
    if (out->equal)
        status_log("%lld of %lld observed features repeat another: each counts as a neighbour of "
                   "its own",
                   (long long)out->equal, (long long)out->observed);
    return PLUMB_OK;
}
