// SPDX-License-Identifier: MIT
// The observation sets. Tuples are split, never clips: both impossible clips of a drawn tuple are
// observed and its possible ones dropped, so that no tested clip was observed. [Lin23] draws 20 %
// per concept.
#include "measures/surprise/observation_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "math/rng.h"

enum { SPLIT_STREAM = 0x74706c73, MAX_SAMPLED = 2000 };

// ---- equal rows ----

typedef struct hashed_row {
    uint64_t hash;
    int64_t row;
} hashed_row;

// Hash of the bits of a row. Equal rows are found by sorted hashes instead of all pairs.
static uint64_t hash_row(const double *row, int64_t dims)
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

static int compare_hashes(const void *a, const void *b)
{
    const hashed_row *first = a, *second = b;
    if (first->hash != second->hash) return first->hash < second->hash ? -1 : 1;
    return (first->row > second->row) - (first->row < second->row);
}

// Rows of zeros have no direction; they do not count as equal.
static bool is_zero(const double *row, int64_t dims)
{
    for (int64_t i = 0; i < dims; i++)
        if (row[i] != 0.0) return false;
    return true;
}

static hashed_row *hash_rows(arena *mem, const double *rows, int64_t count, int64_t dims)
{
    hashed_row *hashed = ARENA_ALLOC(mem, hashed_row, count);
    if (!hashed) return NULL;
    for (int64_t i = 0; i < count; i++)
        hashed[i] = (hashed_row){hash_row(rows + i * dims, dims), i};
    qsort(hashed, (size_t)count, sizeof *hashed, compare_hashes);
    return hashed;
}

static bool is_same_row(const double *a, const double *b, int64_t dims)
{
    return memcmp(a, b, (size_t)dims * sizeof *a) == 0 && !is_zero(a, dims);
}

// Rows that repeat an earlier one; `hashed` is sorted by hash.
static int64_t count_equal(const hashed_row *hashed, const double *rows, int64_t count,
                           int64_t dims)
{
    int64_t equal = 0;
    for (int64_t i = 1; i < count; i++)
        equal += hashed[i].hash == hashed[i - 1].hash &&
                 is_same_row(rows + hashed[i].row * dims, rows + hashed[i - 1].row * dims, dims);
    return equal;
}

// A tested clip that was observed has distance 0 and would look impossible. Binary search by hash,
// then a comparison of the bits.
static plumb_status reject_overlap(const hashed_row *hashed, const surprise_arrays *arrays)
{
    const int64_t d = arrays->dims;
    int64_t shared = 0, clip = 0, row = 0;
    for (int64_t i = 0; i < 4 * arrays->tuples; i++) {
        const double *feature = arrays->feature + i * d;
        const uint64_t hash = hash_row(feature, d);
        int64_t low = 0, high = arrays->observed_count;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (hashed[middle].hash < hash) low = middle + 1;
            else high = middle;
        }
        for (; low < arrays->observed_count && hashed[low].hash == hash; low++) {
            if (!is_same_row(arrays->observed + hashed[low].row * d, feature, d)) continue;
            if (!shared++) clip = i, row = hashed[low].row;
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

// Every Nth row, so that the deviation of r costs the same for large sets.
static plumb_status take_sample(observation_sets *sets, observation_set *set, arena *mem,
                                int64_t dims)
{
    set->sample_count = set->observed_count < MAX_SAMPLED ? set->observed_count : MAX_SAMPLED;
    set->sample_first = sets->sample_count;
    sets->sample_count += set->sample_count;
    double *sample = ARENA_ALLOC(mem, double, set->sample_count *dims);
    if (!sample) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < set->sample_count; i++)
        memcpy(sample + i * dims,
               set->observed + i * set->observed_count / set->sample_count * dims,
               (size_t)dims * sizeof *sample);
    set->sample = sample;
    return PLUMB_OK;
}

// Rows and tuples of one concept of observed clips that the caller gave; all of them for concept
// -1.
static plumb_status use_rows(observation_sets *sets, observation_set *set, arena *mem,
                             const surprise_arrays *arrays, int64_t concept)
{
    const int64_t d = arrays->dims;
    *set = (observation_set){0};
    int64_t *queries = ARENA_ALLOC(mem, int64_t, arrays->tuples),
            *of = (int64_t *)sets->observed_of;
    double *rows = concept < 0 ? NULL : ARENA_ALLOC(mem, double, arrays->observed_count *d);
    if (!queries || (concept >= 0 && !rows)) return PLUMB_EMEMORY;
    for (int64_t i = 0; concept >= 0 && i < arrays->observed_count; i++)
        if (arrays->observed_concept[i] == concept)
            memcpy(rows + d * set->observed_count++, arrays->observed + i * d,
                   (size_t)d * sizeof *rows);
    if (concept < 0) set->observed_count = arrays->observed_count;
    set->observed = concept < 0 ? arrays->observed : rows;
    for (int64_t i = 0; i < arrays->tuples; i++) {
        if (concept >= 0 && arrays->concept_of[i] != concept) continue;
        queries[set->query_count++] = i;
        of[i] = set->observed_count;
    }
    set->queries = queries;
    sets->observed += set->observed_count;
    arena scratch = {0};
    const hashed_row *hashed = hash_rows(&scratch, set->observed, set->observed_count, d);
    if (hashed) sets->equal += count_equal(hashed, set->observed, set->observed_count, d);
    arena_clear(&scratch);
    return hashed ? take_sample(sets, set, mem, d) : PLUMB_EMEMORY;
}

// The caller gave observed clips: one set, or one for each concept, and all tuples are tested.
static plumb_status use_given(observation_sets *sets, arena *mem, const surprise_arrays *arrays)
{
    const int64_t count = arrays->observed_concept ? arrays->concepts : 1;
    int64_t *tuple = ARENA_ALLOC(mem, int64_t, arrays->tuples),
            *of = ARENA_ALLOC(mem, int64_t, arrays->tuples);
    sets->set = ARENA_ALLOC(mem, observation_set, count);
    if (!tuple || !of || !sets->set) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < arrays->tuples; i++) tuple[i] = i, of[i] = arrays->observed_count;
    sets->tested = arrays->tuples;
    sets->tested_tuple = tuple;
    sets->tested_feature = arrays->feature;
    sets->concept_of = arrays->concept_of;
    sets->observed_of = of;
    if (!arrays->observed) return PLUMB_OK; // nothing dense is wanted
    arena scratch = {0};
    const hashed_row *hashed =
        hash_rows(&scratch, arrays->observed, arrays->observed_count, arrays->dims);
    plumb_status st = hashed ? reject_overlap(hashed, arrays) : PLUMB_EMEMORY;
    arena_clear(&scratch);
    sets->sets = count;
    for (int64_t c = 0; c < count && !st; c++)
        st = use_rows(sets, &sets->set[c], mem, arrays, arrays->observed_concept ? c : -1);
    return st;
}

static int64_t concept_of(const surprise_arrays *arrays, int64_t tuple)
{
    return arrays->concept_of ? arrays->concept_of[tuple] : 0;
}

// Draws the tuples of one concept; `drawn` marks them. Returns how many.
static plumb_status draw_tuples(bool *drawn, int64_t *count, arena *mem,
                                const surprise_arrays *arrays, int64_t concept,
                                const plumb_surprise_options *opt)
{
    int64_t *member = ARENA_ALLOC(mem, int64_t, arrays->tuples);
    int64_t *order = ARENA_ALLOC(mem, int64_t, arrays->tuples);
    if (!member || !order) return PLUMB_EMEMORY;
    int64_t n = 0;
    for (int64_t i = 0; i < arrays->tuples; i++)
        if (concept_of(arrays, i) == concept) member[n++] = i;
    if (n < 2)
        return fail(
            PLUMB_EVALUE,
            "observation is not given, and %s%s has one tuple; at least 2 are needed to split",
            arrays->concepts ? "concept " : "the file",
            arrays->concepts ? arrays->concept_name[concept] : "");
    // Rounded to the nearest, but at least one tuple is drawn and at least one is left to test.
    int64_t take = (int64_t)floor(opt->share * (double)n + 0.5);
    take = take < 1 ? 1 : take > n - 1 ? n - 1 : take;
    rng random = rng_at(opt->seed, ((uint64_t)SPLIT_STREAM << 32) + (uint64_t) concept);
    rng_distinct(order, &random, n, n);
    for (int64_t i = 0; i < take; i++) drawn[member[order[i]]] = true;
    *count = take;
    return PLUMB_OK;
}

// Features of the impossible clips of the drawn tuples of one concept, in the order of the tuples.
static plumb_status collect_observed(observation_sets *sets, observation_set *set, arena *mem,
                                     const surprise_arrays *arrays, const bool *drawn,
                                     int64_t concept, int64_t tuples)
{
    const int64_t d = arrays->dims;
    // Clips 2 and 3 of a tuple are the impossible ones.
    double *observed = ARENA_ALLOC(mem, double, 2 * tuples * d);
    int64_t *queries = ARENA_ALLOC(mem, int64_t, sets->tested);
    if (!observed || !queries) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < arrays->tuples; i++) {
        if (!drawn[i] || concept_of(arrays, i) != concept) continue;
        memcpy(observed + set->observed_count * d, arrays->feature + (4 * i + 2) * d,
               (size_t)(2 * d) * sizeof *observed);
        set->observed_count += 2;
    }
    for (int64_t i = 0; i < sets->tested; i++)
        if (concept_of(arrays, sets->tested_tuple[i]) == concept) queries[set->query_count++] = i;
    set->observed = observed;
    set->queries = queries;
    sets->observed += set->observed_count;
    arena scratch = {0};
    const hashed_row *hashed = hash_rows(&scratch, observed, set->observed_count, d);
    if (hashed) sets->equal += count_equal(hashed, observed, set->observed_count, d);
    arena_clear(&scratch);
    return hashed ? take_sample(sets, set, mem, d) : PLUMB_EMEMORY;
}

// No observed clips were given: a share of the tuples of each concept becomes its observation set,
// the others are tested.
static plumb_status split_tuples(observation_sets *sets, arena *mem, const surprise_arrays *arrays,
                                 const plumb_surprise_options *opt)
{
    const int64_t n = arrays->tuples, d = arrays->dims,
                  concepts = arrays->concepts ? arrays->concepts : 1;
    bool *drawn = ARENA_ALLOC(mem, bool, n);
    int64_t *count = ARENA_ALLOC(mem, int64_t, concepts), *tuple = ARENA_ALLOC(mem, int64_t, n);
    int64_t *of = ARENA_ALLOC(mem, int64_t, n), *concept = ARENA_ALLOC(mem, int64_t, n);
    sets->set = ARENA_ALLOC(mem, observation_set, concepts);
    if (!drawn || !count || !tuple || !of || !concept || !sets->set) return PLUMB_EMEMORY;
    sets->split = true;
    sets->sets = concepts;
    plumb_status st = PLUMB_OK;
    for (int64_t i = 0; i < concepts && !st; i++)
        st = draw_tuples(drawn, &count[i], mem, arrays, i, opt);
    if (st) return st;
    int64_t *kept = ARENA_ALLOC(mem, int64_t, n);
    if (!kept) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < n; i++) {
        if (drawn[i]) {
            kept[sets->drawn++] = i;
            continue;
        }
        concept[sets->tested] = concept_of(arrays, i);
        of[sets->tested] = 2 * count[concept[sets->tested]];
        tuple[sets->tested++] = i;
    }
    sets->drawn_tuple = kept;
    sets->tested_tuple = tuple;
    sets->observed_of = of;
    sets->concept_of = arrays->concepts ? concept : NULL;
    double *feature = ARENA_ALLOC(mem, double, sets->tested * 4 * d);
    if (!feature) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < sets->tested; i++)
        memcpy(feature + 4 * i * d, arrays->feature + 4 * tuple[i] * d,
               (size_t)(4 * d) * sizeof *feature);
    sets->tested_feature = feature;
    for (int64_t i = 0; i < concepts && !st; i++)
        st = collect_observed(sets, &sets->set[i], mem, arrays, drawn, i, count[i]);
    return st;
}

plumb_status observation_set_make(observation_sets *out, arena *mem, const surprise_arrays *arrays,
                                  const plumb_surprise_options *opt, bool dense)
{
    *out = (observation_sets){0};
    // Without a dense scorer nothing is split, so that all tuples are tested.
    surprise_arrays bare = *arrays;
    if (!dense) bare.observed = NULL;
    const plumb_status st = dense && !arrays->observed ? split_tuples(out, mem, arrays, opt)
                                                       : use_given(out, mem, &bare);
    if (st || !dense) return st;
    if (arrays->zero_features)
        status_log("%lld features are zero vectors, which have no direction: they stay zero, at "
                   "distance 1 from every unit vector",
                   (long long)arrays->zero_features);
    if (out->equal)
        status_log("%lld of %lld observed features repeat another: each counts as a neighbour of "
                   "its own",
                   (long long)out->equal, (long long)out->observed);
    return PLUMB_OK;
}
