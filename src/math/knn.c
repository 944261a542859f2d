// SPDX-License-Identifier: MIT
// For a query a and a row b, both from the centre of the rows, |a - b|^2 orders the rows as
// t = |b|^2/2 - a.b does. With A, B the integers nearest to s a and s b, v = round(|sb|^2/2) - A.B
// is s^2 t but for an error of at most
//     m = |A - sa| |sb| + |sa| |B - sb| + |A - sa| |B - sb| + 1.
// The k rows of least v have t at most v_k + m, so the k nearest rows all have v <= v_k + 2m.
// Everything with a larger v is dropped while it streams by, with the v_k known so far; in the end
// only what is within 2m of v_k, a handful of rows, has to be measured in double.
//
// Rows are packed in panels of sixteen, two dimensions of one row side by side, which is what a
// multiply-add of pairs wants: one instruction for eight rows.
#define _GNU_SOURCE
#include "math/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/parallel_for.h"
#include "base/status.h"

enum {
    QUERIES = 4,  // queries a tile
    PANEL = 16,   // rows a tile
    GROUP = 16,   // tiles of queries that walk along the rows together
    BLOCK = 32,   // panels that stay in the cache meanwhile
    SCALE = 32000 // of the farthest point: products and their sums stay below 2^30
};

// v (QUERIES, PANEL) and, a bit a row, which of them are at most limit[query].
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

static tile_kernel *chosen = tile_portable;
static const char *chosen_name = "portable";

bool knn_select(const char *set)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!strcmp(set, "avx2") && __builtin_cpu_supports("avx2")) {
        chosen = tile_avx2;
        chosen_name = "avx2";
        return true;
    }
#endif
    if (strcmp(set, "portable") != 0) return false;
    chosen = tile_portable;
    chosen_name = "portable";
    return true;
}

__attribute__((constructor)) static void choose(void)
{
    if (!knn_select("avx2")) knn_select("portable");
}

const char *knn_instructions(void)
{
    return chosen_name;
}

// ---- points ----

// Four chains, so that it is not slower than it has to be.
static double distance_from(const double *a, const double *b, int64_t n)
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
        out->deviation[r] = distance_from(rows + r * dims, out->centre, dims);
        out->farthest = fmax(out->farthest, out->deviation[r]);
    }
    return PLUMB_OK;
}

// ---- one search ----

typedef struct candidate {
    int32_t v;
    int32_t row;
} candidate;

// What one query has found so far.
typedef struct catch
{
    candidate *kept;
    int64_t count, room;
    int64_t full;  // when it is reached the kept are thinned out
    int32_t slack; // 2m
}
catch;

// What a worker keeps from one group of queries to the next.
typedef struct knn_scratch {
    catch found[GROUP * QUERIES];
    int16_t *pack; // the queries, rounded and packed
} knn_scratch;

typedef struct search {
    const knn_index *points;
    const double *queries;
    double *out;
    int64_t count, k, pairs, panels;
    double scale;
    double far_row, rough_row; // greatest |sb| and |B - sb|
    int16_t *packed;           // (panels, pairs, PANEL, 2)
    int32_t *half;             // (panels, PANEL)
    knn_scratch *desks;        // one a worker
    _Atomic bool no_memory;
} search;

// Rounds s (x - centre), writes it `step` apart, and returns how far rounding went.
static double round_point(int16_t *out, int64_t step, const double *x, const search *s)
{
    // Added and taken off again, this leaves the nearest integer of what is small beside it.
    const double rounder = 6755399441055744.0; // 3 * 2^51
    const int64_t dims = s->points->dims;
    const double *centre = s->points->centre, scale = s->scale;
    double error[2] = {0.0};
    for (int64_t i = 0; i < dims; i += 2, out += step)
        for (int64_t j = 0; j < 2 && i + j < dims; j++) {
            const double exact = scale * (x[i + j] - centre[i + j]);
            const double whole = (exact + rounder) - rounder;
            out[j] = (int16_t)whole;
            error[j] += (exact - whole) * (exact - whole);
        }
    return sqrt(error[0] + error[1]);
}

static void pack_rows(search *s)
{
    const knn_index *p = s->points;
    for (int64_t r = 0; r < s->panels * PANEL; r++) {
        int32_t *half = &s->half[r];
        if (r >= p->count) {
            *half = INT32_MAX; // never near
            continue;
        }
        int16_t *to = s->packed + r / PANEL * s->pairs * 2 * PANEL + r % PANEL * 2;
        const double rough = round_point(to, 2 * PANEL, p->rows + r * p->dims, s);
        const double length = s->scale * p->deviation[r];
        *half = (int32_t)rint(0.5 * length * length);
        if (rough > s->rough_row) s->rough_row = rough;
        if (length > s->far_row) s->far_row = length;
    }
}

// The k-th least by v of `count`, which are reordered: Hoare's selection with the middle one of
// three as its pivot.
static int32_t select_kth(candidate *c, int64_t count, int64_t k)
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
            const candidate swap = c[i];
            c[i++] = c[j];
            c[j--] = swap;
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else return pivot;
    }
    return c[low].v;
}

static int32_t bound_of(int32_t kth, int32_t slack)
{
    return kth > INT32_MAX - 1 - slack ? INT32_MAX - 1 : kth + slack;
}

// Drops what can no longer be among the k nearest; returns the new limit. The k-th v is only
// bracketed, by counting in 256 bins, which costs less than finding it and keeps hardly more.
static int32_t thin(catch *c, int64_t k)
{
    if (c->count < k) return INT32_MAX - 1;
    int32_t least = INT32_MAX, greatest = INT32_MIN;
    for (int64_t i = 0; i < c->count; i++) {
        least = c->kept[i].v < least ? c->kept[i].v : least;
        greatest = c->kept[i].v > greatest ? c->kept[i].v : greatest;
    }
    int shift = 0;
    while (((int64_t)greatest - least) >> shift > 255) shift++;
    int32_t bins[256] = {0};
    for (int64_t i = 0; i < c->count; i++) bins[((int64_t)c->kept[i].v - least) >> shift]++;
    int64_t bin = 0, below = bins[0];
    while (below < k) below += bins[++bin];
    const int64_t edge = least + ((bin + 1) << shift) - 1;
    const int32_t limit = bound_of(edge < INT32_MAX ? (int32_t)edge : INT32_MAX, c->slack);
    int64_t left = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const candidate one = c->kept[i];
        c->kept[left] = one;
        left += one.v <= limit;
    }
    c->count = left;
    c->full = 3 * left + 64;
    return limit;
}

// Room for one more panel. Many points as near as the k-th, up to rounding, may need a lot.
static bool make_room(catch *c)
{
    if (c->count + PANEL <= c->room) return true;
    const int64_t room = 2 * c->room + 1024;
    candidate *grown = realloc(c->kept, (size_t)room * sizeof *grown);
    if (!grown) return false;
    c->kept = grown;
    c->room = room;
    return true;
}

// The k-th least of `count` numbers, which are reordered.
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

// Rows with v < v_k - 2m are nearer than the k-th for certain, so they are only counted. Those in
// between are measured; their distances are written over them.
static double finish(catch *c, const search *s, int64_t query)
{
    const knn_index *p = s->points;
    thin(c, s->k);
    const int32_t kth = select_kth(c->kept, c->count, s->k - 1), high = bound_of(kth, c->slack);
    const int32_t low = kth < INT32_MIN + c->slack ? INT32_MIN : kth - c->slack;
    double *distance = (double *)(void *)c->kept;
    int64_t nearer = 0, count = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const candidate one = c->kept[i];
        nearer += one.v < low;
        if (one.v < low || one.v > high) continue;
        const double d =
            distance_from(s->queries + query * p->dims, p->rows + one.row * p->dims, p->dims);
        memcpy(&distance[count++], &d, sizeof d);
    }
    return select_distance(distance, count, s->k - nearer - 1);
}

static int32_t slack_of(const search *s, double length, double rough)
{
    const double m = rough * s->far_row + length * s->rough_row + rough * s->rough_row + 1.0;
    const double slack = ceil(2.0 * m * (1.0 + 1e-9)) + 1.0;
    return slack < (double)(INT32_MAX / 2) ? (int32_t)slack : INT32_MAX / 2;
}

// Rounds and packs the queries of a group; limit[i] lets everything pass at first.
static void begin_group(knn_scratch *mine, int32_t *limit, const search *s, int64_t first,
                        int64_t count)
{
    memset(mine->pack, 0, (size_t)(GROUP * QUERIES * 2 * s->pairs) * sizeof *mine->pack);
    for (int64_t i = 0; i < GROUP * QUERIES; i++) {
        limit[i] = i < count ? INT32_MAX - 1 : INT32_MIN;
        if (i >= count) continue;
        const double *query = s->queries + (first + i) * s->points->dims;
        int16_t *to = mine->pack + i / QUERIES * s->pairs * 2 * QUERIES + i % QUERIES * 2;
        const double rough = round_point(to, 2 * QUERIES, query, s);
        const double length = s->scale * distance_from(query, s->points->centre, s->points->dims);
        mine->found[i].count = 0;
        mine->found[i].full = 8 * s->k + 112;
        mine->found[i].slack = slack_of(s, length, rough);
    }
}

// One tile: what is near enough is kept.
static bool look(knn_scratch *mine, int32_t *limit, const search *s, int tile, int64_t panel)
{
    _Alignas(32) int32_t v[QUERIES][PANEL];
    uint32_t near[QUERIES];
    chosen(v, near, mine->pack + tile * s->pairs * 2 * QUERIES,
           s->packed + panel * s->pairs * 2 * PANEL, s->half + panel * PANEL,
           limit + tile * QUERIES, s->pairs);
    for (int q = 0; q < QUERIES; q++) {
        if (!near[q]) continue;
        catch *c = &mine->found[tile * QUERIES + q];
        if (!make_room(c)) return false;
        for (uint32_t bits = near[q]; bits; bits &= bits - 1) {
            const int r = __builtin_ctz(bits);
            c->kept[c->count++] = (candidate){v[q][r], (int32_t)(panel * PANEL + r)};
        }
        if (c->count >= c->full) limit[tile * QUERIES + q] = thin(c, s->k);
    }
    return true;
}

static plumb_status run_group(void *context, int64_t item, int worker)
{
    search *s = context;
    knn_scratch *mine = &s->desks[worker];
    const int64_t first = item * GROUP * QUERIES, left = s->count - first;
    const int64_t count = left < GROUP * QUERIES ? left : GROUP * QUERIES;
    const int tiles = (int)((count + QUERIES - 1) / QUERIES);
    int32_t limit[GROUP * QUERIES];
    begin_group(mine, limit, s, first, count);
    for (int64_t block = 0; block < s->panels; block += BLOCK)
        for (int t = 0; t < tiles; t++)
            for (int64_t p = block; p < block + BLOCK && p < s->panels; p++)
                if (!look(mine, limit, s, t, p))
                    return fail(PLUMB_EMEMORY, "out of memory for the nearest neighbours");
    for (int64_t i = 0; i < count; i++) s->out[first + i] = finish(&mine->found[i], s, first + i);
    return PLUMB_OK;
}

static plumb_status run(search *s, arena *mem, int threads)
{
    const knn_index *p = s->points;
    s->pairs = (p->dims + 1) / 2;
    s->panels = (p->count + PANEL - 1) / PANEL;
    double farthest = p->farthest;
    for (int64_t i = 0; i < s->count; i++)
        farthest = fmax(farthest, distance_from(s->queries + i * p->dims, p->centre, p->dims));
    s->scale = farthest > 0.0 ? SCALE / farthest : 0.0;
    if (!isfinite(s->scale) || !isfinite(farthest))
        s->scale = 0.0; // then everything is a candidate
    s->packed = ARENA_ALLOC(mem, int16_t, s->panels * s->pairs * 2 * PANEL);
    s->half = ARENA_ALLOC(mem, int32_t, s->panels * PANEL);
    const int64_t groups = (s->count + GROUP * QUERIES - 1) / (GROUP * QUERIES);
    if (threads <= 0) threads = parallel_threads();
    if (threads > groups) threads = (int)groups;
    s->desks = ARENA_ALLOC(mem, knn_scratch, threads);
    if (!s->packed || !s->half || !s->desks) return PLUMB_EMEMORY;
    for (int i = 0; i < threads; i++) {
        s->desks[i].pack = ARENA_ALLOC(mem, int16_t, GROUP * QUERIES * 2 * s->pairs);
        if (!s->desks[i].pack) return PLUMB_EMEMORY;
    }
    pack_rows(s);
    const plumb_status st = parallel_for(groups, threads, run_group, s);
    for (int i = 0; i < threads; i++)
        for (int j = 0; j < GROUP * QUERIES; j++) free(s->desks[i].found[j].kept);
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
    search s = {.points = points, .queries = queries, .out = out, .count = count, .k = k};
    const plumb_status st = run(&s, &mem, threads);
    arena_clear(&mem);
    return st;
}
