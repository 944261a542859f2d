// SPDX-License-Identifier: MIT
// For a query a and a row b, both measured from the centre of the rows, |a - b|^2 orders the rows
// as t = |b|^2/2 - a.b does. With A, B the integers nearest to s a and s b, v = round(|sb|^2/2) -
// A.B is s^2 t up to an error of at most
//     m = |A - sa| |sb| + |sa| |B - sb| + |A - sa| |B - sb| + 1.
// The k rows of least v have t at most v_k + m, so the k nearest rows all have v <= v_k + 2m.
// Rows with a larger v are dropped at once, using the v_k known so far. In the end only the few
// rows within 2m of v_k have to be measured in double.
//
// Rows are packed in panels of sixteen, two dimensions of one row side by side, as the instruction
// that multiplies and adds pairs of 16-bit integers needs them: one instruction for eight rows.
#define _GNU_SOURCE
#include "math/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "base/parallel_for.h"
#include "base/status.h"

enum {
    QUERIES = 4,  // queries per tile
    PANEL = 16,   // rows per tile
    GROUP = 16,   // tiles of queries that one task compares with all rows
    BLOCK = 32,   // panels that stay in the cache while all tiles of a group use them
    SCALE = 32000 // of the farthest point; products and their sums stay below 2^30
};

// Computes v (QUERIES, PANEL), and near[query]: one bit per row, set if v is at most limit[query].
typedef void tile_kernel(int32_t v[QUERIES][PANEL], uint32_t near[QUERIES], const int16_t *queries,
                         const int16_t *panel, const int32_t *half, const int32_t *limit,
                         int64_t pairs);

static void tile_portable(int32_t v[QUERIES][PANEL], uint32_t near[QUERIES], const int16_t *queries,
                          const int16_t *panel, const int32_t *half, const int32_t *limit,
                          int64_t pairs)
{
    for (int q = 0; q < QUERIES; q++)
        for (int r = 0; r < PANEL; r++) v[q][r] = 0;
    for (int64_t p = 0; p < pairs; p++, queries += 2 * QUERIES, panel += 2 * PANEL)
        for (int q = 0; q < QUERIES; q++)
            for (int r = 0; r < PANEL; r++)
                v[q][r] += queries[2 * q] * panel[2 * r] + queries[2 * q + 1] * panel[2 * r + 1];
    for (int q = 0; q < QUERIES; q++) {
        near[q] = 0;
        for (int r = 0; r < PANEL; r++) {
            v[q][r] = half[r] - v[q][r];
            near[q] |= (uint32_t)(v[q][r] <= limit[q]) << r;
        }
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
tile_avx2(int32_t v[QUERIES][PANEL], uint32_t near[QUERIES], const int16_t *queries,
          const int16_t *panel, const int32_t *half, const int32_t *limit, int64_t pairs)
{
    __m256i s[QUERIES][2];
#pragma GCC unroll 8
    for (int q = 0; q < QUERIES; q++) s[q][0] = s[q][1] = _mm256_setzero_si256();
    for (int64_t p = 0; p < pairs; p++, queries += 2 * QUERIES, panel += 2 * PANEL) {
        const __m256i x = _mm256_load_si256((const __m256i *)panel);
        const __m256i y = _mm256_load_si256((const __m256i *)(panel + PANEL));
#pragma GCC unroll 8
        for (int q = 0; q < QUERIES; q++) {
            int32_t both;
            memcpy(&both, queries + 2 * q, sizeof both);
            const __m256i a = _mm256_set1_epi32(both);
            s[q][0] = _mm256_add_epi32(s[q][0], _mm256_madd_epi16(a, x));
            s[q][1] = _mm256_add_epi32(s[q][1], _mm256_madd_epi16(a, y));
        }
    }
    const __m256i h[2] = {_mm256_load_si256((const __m256i *)half),
                          _mm256_load_si256((const __m256i *)(half + 8))};
#pragma GCC unroll 8
    for (int q = 0; q < QUERIES; q++) {
        const __m256i most = _mm256_set1_epi32(limit[q]);
        uint32_t far = 0;
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            const __m256i value = _mm256_sub_epi32(h[i], s[q][i]);
            _mm256_store_si256((__m256i *)&v[q][8 * i], value);
            const __m256i above = _mm256_cmpgt_epi32(value, most);
            far |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(above)) << (8 * i);
        }
        near[q] = ~far & 0xffff;
    }
}
#endif

typedef struct knn_kernels {
    tile_kernel *tile;
} knn_kernels;

static const knn_kernels portable = {tile_portable};
#if defined(__x86_64__)
static const knn_kernels avx2 = {tile_avx2};
#endif

static const cpu_variant variants[] = {CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(knn_kernels, variants, portable);

bool knn_select(const char *set)
{
    return choose_kernels(set);
}

const char *knn_instructions(void)
{
    return chosen_set;
}

// ---- points ----

// |a - b|, in four sums that can be computed in parallel.
static double euclidean_distance(const double *a, const double *b, int64_t n)
{
    double sum[4] = {0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++) sum[j] += (a[i + j] - b[i + j]) * (a[i + j] - b[i + j]);
    for (; i < n; i++) sum[0] += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

plumb_status knn_init(knn_index *out, arena *mem, const double *rows, int64_t count, int64_t dims)
{
    *out = (knn_index){.rows = rows,
                       .count = count,
                       .dims = dims,
                       .centre = ARENA_ALLOC(mem, double, dims),
                       .deviation = ARENA_ALLOC(mem, double, count)};
    if (!out->centre || !out->deviation) return PLUMB_EMEMORY;
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < dims; i++) out->centre[i] += rows[r * dims + i];
    for (int64_t i = 0; i < dims; i++) out->centre[i] /= (double)count;
    for (int64_t r = 0; r < count; r++) {
        out->deviation[r] = euclidean_distance(rows + r * dims, out->centre, dims);
        out->farthest = fmax(out->farthest, out->deviation[r]);
    }
    return PLUMB_OK;
}

// ---- one search ----

typedef struct knn_candidate {
    int32_t v;
    int32_t row;
} knn_candidate;

// The rows that may still be among the k nearest of one query.
typedef struct query_candidates {
    knn_candidate *kept;
    int64_t count, capacity;
    int64_t thin_at; // at this count, distant candidates are dropped
    int32_t slack;   // 2m
} query_candidates;

// Memory that a worker keeps from one group of queries to the next.
typedef struct knn_scratch {
    query_candidates found[GROUP * QUERIES];
    int16_t *pack; // the queries, rounded and packed
} knn_scratch;

typedef struct knn_search {
    const knn_index *points;
    const double *queries;
    double *out;
    int64_t count, k, pairs, panels;
    double scale;
    double max_row_length, max_row_error; // greatest |sb| and |B - sb|
    int16_t *packed;                      // (panels, pairs, PANEL, 2)
    int32_t *half;                        // (panels, PANEL)
    knn_scratch *scratch;                 // one per worker
} knn_search;

// Rounds s (x - centre) to integers, written in pairs `step` apart. Returns the length of what
// rounding changed.
static double round_point(int16_t *out, int64_t step, const double *x, const knn_search *search)
{
    // Adding and subtracting this leaves the nearest integer of a smaller number.
    const double rounder = 6755399441055744.0; // 3 * 2^51
    const int64_t dims = search->points->dims;
    const double *centre = search->points->centre, scale = search->scale;
    double error[2] = {0.0};
    for (int64_t i = 0; i < dims; i += 2, out += step)
        for (int64_t j = 0; j < 2 && i + j < dims; j++) {
            // Without a scale (a distance overflows) every point becomes 0: infinity times 0 would
            // be NaN, which has no integer.
            const double exact = scale > 0.0 ? scale * (x[i + j] - centre[i + j]) : 0.0;
            const double whole = (exact + rounder) - rounder;
            out[j] = (int16_t)whole;
            error[j] += (exact - whole) * (exact - whole);
        }
    return sqrt(error[0] + error[1]);
}

static void pack_rows(knn_search *search)
{
    const knn_index *points = search->points;
    for (int64_t r = 0; r < search->panels * PANEL; r++) {
        int32_t *half = &search->half[r];
        if (r >= points->count) {
            *half = INT32_MAX; // padding: never near
            continue;
        }
        int16_t *to = search->packed + r / PANEL * search->pairs * 2 * PANEL + r % PANEL * 2;
        const double error = round_point(to, 2 * PANEL, points->rows + r * points->dims, search);
        const double length = search->scale > 0.0 ? search->scale * points->deviation[r] : 0.0;
        *half = (int32_t)rint(0.5 * length * length);
        if (error > search->max_row_error) search->max_row_error = error;
        if (length > search->max_row_length) search->max_row_length = length;
    }
}

// The k-th smallest v of `count` candidates, which are reordered: Hoare's selection with the median
// of three as pivot.
static int32_t select_kth(knn_candidate *c, int64_t count, int64_t k)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const int32_t x = c[low].v, y = c[low + (high - low) / 2].v, z = c[high].v;
        const int32_t pivot = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
        int64_t i = low, j = high;
        while (i <= j) {
            while (c[i].v < pivot) i++;
            while (c[j].v > pivot) j--;
            if (i > j) break;
            const knn_candidate swap = c[i];
            c[i++] = c[j];
            c[j--] = swap;
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else return pivot;
    }
    return c[low].v;
}

static int32_t add_slack(int32_t kth, int32_t slack)
{
    return kth > INT32_MAX - 1 - slack ? INT32_MAX - 1 : kth + slack;
}

// Drops candidates that can no longer be among the k nearest; returns the new limit. The k-th v is
// only bracketed, by counting in 256 bins: that costs less than finding it and keeps hardly more.
static int32_t drop_distant(query_candidates *found, int64_t k)
{
    if (found->count < k) return INT32_MAX - 1;
    int32_t least = INT32_MAX, greatest = INT32_MIN;
    for (int64_t i = 0; i < found->count; i++) {
        least = found->kept[i].v < least ? found->kept[i].v : least;
        greatest = found->kept[i].v > greatest ? found->kept[i].v : greatest;
    }
    int shift = 0;
    while (((int64_t)greatest - least) >> shift > 255) shift++;
    int32_t bins[256] = {0};
    for (int64_t i = 0; i < found->count; i++) bins[((int64_t)found->kept[i].v - least) >> shift]++;
    int64_t bin = 0, below = bins[0];
    while (below < k) below += bins[++bin];
    const int64_t edge = least + ((bin + 1) << shift) - 1;
    const int32_t limit = add_slack(edge < INT32_MAX ? (int32_t)edge : INT32_MAX, found->slack);
    int64_t left = 0;
    for (int64_t i = 0; i < found->count; i++) {
        const knn_candidate one = found->kept[i];
        found->kept[left] = one;
        left += one.v <= limit;
    }
    found->count = left;
    found->thin_at = 3 * left + 64;
    return limit;
}

// Makes room for one more panel. Many rows as near as the k-th, up to rounding, may need much
// memory.
static bool reserve_candidates(query_candidates *found)
{
    if (found->count + PANEL <= found->capacity) return true;
    const int64_t capacity = 2 * found->capacity + 1024;
    knn_candidate *grown = realloc(found->kept, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    found->kept = grown;
    found->capacity = capacity;
    return true;
}

// The k-th smallest of `count` numbers, which are reordered.
static double select_distance(double *x, int64_t count, int64_t k)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i > j) break;
            const double swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else return pivot;
    }
    return x[low];
}

// The k-th distance from the candidates of a query. Rows with v < v_k - 2m are certainly nearer
// than the k-th, so they are only counted. Those within 2m are measured; their distances overwrite
// them.
static double measure_candidates(query_candidates *found, const knn_search *search, int64_t query)
{
    const knn_index *points = search->points;
    drop_distant(found, search->k);
    const int32_t kth = select_kth(found->kept, found->count, search->k - 1),
                  high = add_slack(kth, found->slack);
    const int32_t low = kth < INT32_MIN + found->slack ? INT32_MIN : kth - found->slack;
    double *distance = (double *)(void *)found->kept;
    int64_t nearer = 0, count = 0;
    for (int64_t i = 0; i < found->count; i++) {
        const knn_candidate candidate = found->kept[i];
        nearer += candidate.v < low;
        if (candidate.v < low || candidate.v > high) continue;
        const double distance_ =
            euclidean_distance(search->queries + query * points->dims,
                               points->rows + candidate.row * points->dims, points->dims);
        memcpy(&distance[count++], &distance_, sizeof distance_);
    }
    return select_distance(distance, count, search->k - nearer - 1);
}

static int32_t rounding_slack(const knn_search *search, double length, double error)
{
    const double m = error * search->max_row_length + length * search->max_row_error +
                     error * search->max_row_error + 1.0;
    const double slack = ceil(2.0 * m * (1.0 + 1e-9)) + 1.0;
    return slack < (double)(INT32_MAX / 2) ? (int32_t)slack : INT32_MAX / 2;
}

// Rounds and packs the queries of a group. At first limit[i] lets every row pass.
static void start_group(knn_scratch *scratch, int32_t *limit, const knn_search *search,
                        int64_t first, int64_t count)
{
    memset(scratch->pack, 0, (size_t)(GROUP * QUERIES * 2 * search->pairs) * sizeof *scratch->pack);
    for (int64_t i = 0; i < GROUP * QUERIES; i++) {
        limit[i] = i < count ? INT32_MAX - 1 : INT32_MIN;
        if (i >= count) continue;
        const double *query = search->queries + (first + i) * search->points->dims;
        int16_t *to = scratch->pack + i / QUERIES * search->pairs * 2 * QUERIES + i % QUERIES * 2;
        const double error = round_point(to, 2 * QUERIES, query, search);
        const double length =
            search->scale > 0.0 ? search->scale * euclidean_distance(query, search->points->centre,
                                                                     search->points->dims)
                                : 0.0;
        scratch->found[i].count = 0;
        scratch->found[i].thin_at = 8 * search->k + 112;
        scratch->found[i].slack = rounding_slack(search, length, error);
    }
}

// Compares one tile of queries with one panel of rows and keeps what is near. False if out of
// memory.
static bool scan_tile(knn_scratch *scratch, int32_t *limit, const knn_search *search, int tile,
                      int64_t panel)
{
    _Alignas(32) int32_t v[QUERIES][PANEL];
    uint32_t near[QUERIES];
    chosen->tile(v, near, scratch->pack + tile * search->pairs * 2 * QUERIES,
                 search->packed + panel * search->pairs * 2 * PANEL, search->half + panel * PANEL,
                 limit + tile * QUERIES, search->pairs);
    for (int q = 0; q < QUERIES; q++) {
        if (!near[q]) continue;
        query_candidates *found = &scratch->found[tile * QUERIES + q];
        if (!reserve_candidates(found)) return false;
        for (uint32_t bits = near[q]; bits; bits &= bits - 1) {
            const int r = __builtin_ctz(bits);
            found->kept[found->count++] = (knn_candidate){v[q][r], (int32_t)(panel * PANEL + r)};
        }
        if (found->count >= found->thin_at)
            limit[tile * QUERIES + q] = drop_distant(found, search->k);
    }
    return true;
}

static plumb_status run_group(void *context, int64_t item, int worker)
{
    knn_search *search = context;
    knn_scratch *scratch = &search->scratch[worker];
    const int64_t first = item * GROUP * QUERIES, left = search->count - first;
    const int64_t count = left < GROUP * QUERIES ? left : GROUP * QUERIES;
    const int tiles = (int)((count + QUERIES - 1) / QUERIES);
    int32_t limit[GROUP * QUERIES];
    start_group(scratch, limit, search, first, count);
    for (int64_t block = 0; block < search->panels; block += BLOCK)
        for (int t = 0; t < tiles; t++)
            for (int64_t panel = block; panel < block + BLOCK && panel < search->panels; panel++)
                if (!scan_tile(scratch, limit, search, t, panel))
                    return fail(PLUMB_EMEMORY, "out of memory for the nearest neighbours");
    for (int64_t i = 0; i < count; i++)
        search->out[first + i] = measure_candidates(&scratch->found[i], search, first + i);
    return PLUMB_OK;
}

static plumb_status search_rows(knn_search *search, arena *mem, int threads)
{
    const knn_index *points = search->points;
    search->pairs = (points->dims + 1) / 2;
    search->panels = (points->count + PANEL - 1) / PANEL;
    double farthest = points->farthest;
    for (int64_t i = 0; i < search->count; i++)
        farthest = fmax(farthest, euclidean_distance(search->queries + i * points->dims,
                                                     points->centre, points->dims));
    search->scale = farthest > 0.0 ? SCALE / farthest : 0.0;
    if (!isfinite(search->scale) || !isfinite(farthest))
        search->scale = 0.0; // then every row is a candidate
    search->packed = ARENA_ALLOC(mem, int16_t, search->panels * search->pairs * 2 * PANEL);
    search->half = ARENA_ALLOC(mem, int32_t, search->panels * PANEL);
    const int64_t groups = (search->count + GROUP * QUERIES - 1) / (GROUP * QUERIES);
    if (threads <= 0) threads = parallel_threads();
    if (threads > groups) threads = (int)groups;
    search->scratch = ARENA_ALLOC(mem, knn_scratch, threads);
    if (!search->packed || !search->half || !search->scratch) return PLUMB_EMEMORY;
    for (int i = 0; i < threads; i++) {
        search->scratch[i].pack = ARENA_ALLOC(mem, int16_t, GROUP * QUERIES * 2 * search->pairs);
        if (!search->scratch[i].pack) return PLUMB_EMEMORY;
    }
    pack_rows(search);
    const plumb_status st = parallel_for(groups, threads, run_group, search);
    for (int i = 0; i < threads; i++)
        for (int j = 0; j < GROUP * QUERIES; j++) free(search->scratch[i].found[j].kept);
    return st;
}

plumb_status knn_kth_distance(double *out, const knn_index *points, const double *queries,
                              int64_t count, int64_t k, int threads)
{
    if (count < 1) return PLUMB_OK;
    if (points->count > INT32_MAX - PANEL)
        return fail(PLUMB_EVALUE, "%lld points are too many to be searched",
                    (long long)points->count);
    arena mem = {0};
    knn_search search = {.points = points, .queries = queries, .out = out, .count = count, .k = k};
    const plumb_status st = search_rows(&search, &mem, threads);
    arena_clear(&mem);
    return st;
}
