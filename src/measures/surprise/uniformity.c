// SPDX-License-Identifier: MIT
// Tests of uniformity. If z is uniform on the sphere, each of N other points is nearer than r with
// probability u(r), the share of the cap. So u(r_k) is the k-th smallest of N uniform numbers and
// follows Beta(k, N - k + 1) in any dimension. The exact test checks that. [Lin23] tests whether
// r_k itself is uniform, which is false for uniform z, because r_k concentrates.
#include "measures/surprise/uniformity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/special.h"
#include "math/stats.h"

// u = I(sin^2; (d-1)/2, 1/2) / 2 for an angle below 90 degrees, 1 minus that above.
double uniformity_cap(double r, int64_t dims)
{
    if (r <= 0.0) return 0.0;
    if (r >= 2.0) return 1.0;
    if (dims < 2) return 0.5; // two points: the other one is not nearer than 2
    const double cosine = 1.0 - 0.5 * r * r;
    const double sine2 = r * r * (1.0 - 0.25 * r * r);
    const double half = 0.5 * special_beta(sine2, cosine * cosine, 0.5 * (double)(dims - 1), 0.5);
    return cosine >= 0.0 ? half : 1.0 - half;
}

static int compare_values(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Kolmogorov-Smirnov against the uniform distribution on [0, 1].
plumb_surprise_test uniformity_ks(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, compare_values);
    double greatest = 0.0;
    for (int64_t i = 0; i < n; i++) {
        greatest = fmax(greatest, (double)(i + 1) / (double)n - x[i]);
        greatest = fmax(greatest, x[i] - (double)i / (double)n);
    }
    return (plumb_surprise_test){greatest, special_kolmogorov_tail(sqrt((double)n) * greatest)};
}

// The histogram of r_k and its chi-square.
static void count_bins(plumb_surprise_uniformity *out, const double *r, int64_t count)
{
    enum { BINS = sizeof out->histogram / sizeof *out->histogram };
    for (int64_t i = 0; i < count; i++) {
        int64_t bin = (int64_t)((r[i] - out->least) / (out->greatest - out->least) * BINS);
        if (bin >= BINS) bin = BINS - 1;
        // Beside an edge the quotient may have been rounded across it.
        const double width = (out->greatest - out->least) / BINS;
        if (bin > 0 && r[i] < out->least + (double)bin * width) bin--;
        else if (bin + 1 < BINS && r[i] >= out->least + (double)(bin + 1) * width) bin++;
        out->histogram[bin]++;
    }
    const double expected = (double)count / BINS;
    double sum = 0.0;
    for (int i = 0; i < BINS; i++) {
        const double off = (double)out->histogram[i] - expected;
        sum += off * off / expected;
    }
    out->paper_chi = (plumb_surprise_test){sum, special_chi_square_tail(sum, (double)(BINS - 1))};
}

plumb_status uniformity_measure(plumb_surprise_uniformity *out, arena *mem, const double *r,
                                const int64_t *observed, int64_t count, int64_t k, int64_t dims)
{
    const arena_mark mark = arena_get_mark(mem);
    double *x = ARENA_ALLOC(mem, double, count), *cap = ARENA_ALLOC(mem, double, count);
    if (!x || !cap) {
        arena_rewind(mem, mark);
        return PLUMB_EMEMORY;
    }
    *out = (plumb_surprise_uniformity){
        .measured = true, .clips = count, .least = r[0], .greatest = r[0]};
    for (int64_t i = 0; i < count; i++) {
        out->least = fmin(out->least, r[i]);
        out->greatest = fmax(out->greatest, r[i]);
    }
    if (!(out->greatest > out->least)) {
        out->measured = false;
        out->why = "every r_k is the same";
    }
    for (int64_t i = 0; out->measured && i < count; i++)
        x[i] = (r[i] - out->least) / (out->greatest - out->least);
    if (out->measured) {
        out->paper = uniformity_ks(x, count);
        count_bins(out, r, count);
        for (int64_t i = 0; i < count; i++) {
            const double u = cap[i] = uniformity_cap(r[i], dims);
            x[i] = special_beta(u, 1.0 - u, (double)k, (double)(observed[i] - k + 1));
        }
        out->exact = uniformity_ks(x, count);
        out->cap_log10 = log10(stats_median(cap, count));
    }
    arena_rewind(mem, mark);
    return PLUMB_OK;
}
