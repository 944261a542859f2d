// SPDX-License-Identifier: MIT
// How fast products and convolutions are, in GFLOP/s counted as the plain sums would need them.
// bench/kernels compiles and runs it; see there.
#define _GNU_SOURCE
#include "engine/kernels/kernel_set.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/kernels/conv.h"
#include "engine/kernels/gemm.h"
#include "kernels_peer.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *numbers(int64_t n)
{
    float *p = aligned_alloc(64, ((size_t)n * sizeof *p + 127) / 64 * 64);
    if (!p) abort();
    uint32_t s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        p[i] = (float)(s >> 8) * 0x1p-23f - 1.0f;
    }
    return p;
}

typedef struct layer {
    const char *name;
    conv_geometry g;
    bool up;
} layer;

// clang-format off
static const layer layers[] = {
    {"3x3 64-64 at 32", {8, 32, 32, 64, 32, 32, 64, 3, 3, 1, 1, 1}, false},
    {"3x3 64-64 at 16", {8, 16, 16, 64, 16, 16, 64, 3, 3, 1, 1, 1}, false},
    {"3x3 64-64 at 8",  {8, 8, 8, 64, 8, 8, 64, 3, 3, 1, 1, 1}, false},
    {"3x3 64-64 at 4",  {8, 4, 4, 64, 4, 4, 64, 3, 3, 1, 1, 1}, false},
    {"3x3 32-32 at 32", {8, 32, 32, 32, 32, 32, 32, 3, 3, 1, 1, 1}, false},
    {"3x3 32-32 at 16", {8, 16, 16, 32, 16, 16, 32, 3, 3, 1, 1, 1}, false},
    {"3x3 32-32 at 8",  {8, 8, 8, 32, 8, 8, 32, 3, 3, 1, 1, 1}, false},
    {"3x3 16-16 at 32", {8, 32, 32, 16, 32, 32, 16, 3, 3, 1, 1, 1}, false},
    {"3x3 16-16 at 16", {8, 16, 16, 16, 16, 16, 16, 3, 3, 1, 1, 1}, false},
    {"3x3 16-16 at 8",  {8, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1}, false},
    {"3x3 8-8 at 32",   {8, 32, 32, 8, 32, 32, 8, 3, 3, 1, 1, 1}, false},
    {"up 64-64 to 32",  {8, 32, 32, 64, 32, 32, 64, 3, 3, 1, 1, 1}, true},
    {"up 64-64 to 16",  {8, 16, 16, 64, 16, 16, 64, 3, 3, 1, 1, 1}, true},
    {"up 18-64 to 8",   {8, 8, 8, 18, 8, 8, 64, 3, 3, 1, 1, 1}, true},
    {"up 32-32 to 32",  {8, 32, 32, 32, 32, 32, 32, 3, 3, 1, 1, 1}, true},
    {"up 32-32 to 16",  {8, 16, 16, 32, 16, 16, 32, 3, 3, 1, 1, 1}, true},
    {"up 18-32 to 8",   {8, 8, 8, 18, 8, 8, 32, 3, 3, 1, 1, 1}, true},
    {"up 16-16 to 32",  {8, 32, 32, 16, 32, 32, 16, 3, 3, 1, 1, 1}, true},
    {"up 16-16 to 16",  {8, 16, 16, 16, 16, 16, 16, 3, 3, 1, 1, 1}, true},
    {"up 32-16 to 16",  {8, 16, 16, 32, 16, 16, 16, 3, 3, 1, 1, 1}, true},
    {"up 16-8 to 32",   {8, 32, 32, 16, 32, 32, 8, 3, 3, 1, 1, 1}, true},
    {"3x3 64-3 at 32",  {8, 32, 32, 64, 32, 32, 3, 3, 3, 1, 1, 1}, false},
    {"3x3 32-3 at 32",  {8, 32, 32, 32, 32, 32, 3, 3, 3, 1, 1, 1}, false},
    {"3x3 16-3 at 32",  {8, 32, 32, 16, 32, 32, 3, 3, 3, 1, 1, 1}, false},
    {"3x3 8-3 at 32",   {8, 32, 32, 8, 32, 32, 3, 3, 3, 1, 1, 1}, false},
    {"3x3/2 15-64 at 32", {8, 32, 32, 15, 16, 16, 64, 3, 3, 2, 0, 0}, false},
    {"3x3/2 64-64 at 16", {8, 16, 16, 64, 8, 8, 64, 3, 3, 2, 0, 0}, false},
    {"3x3/2 32-32 at 16", {8, 16, 16, 32, 8, 8, 32, 3, 3, 2, 0, 0}, false},
    {"4x4 64-64 at 8",  {8, 8, 8, 64, 8, 8, 64, 4, 4, 1, 1, 1}, false},
    {"2x2/2 32-64 at 4", {8, 4, 4, 32, 2, 2, 64, 2, 2, 2, 0, 0}, false},
    {"3x3 128-128 at 16", {4, 16, 16, 128, 16, 16, 128, 3, 3, 1, 1, 1}, false},
    {"5x5 48-512 at 16", {2, 16, 16, 48, 16, 16, 512, 5, 5, 1, 2, 2}, false},
    {"5x5 128-512 at 16", {2, 16, 16, 128, 16, 16, 512, 5, 5, 1, 2, 2}, false},
    {"1x1 256-128 at 16", {4, 16, 16, 256, 16, 16, 128, 1, 1, 1, 0, 0}, false},
};
static const struct {
    int64_t m, n, k;
    bool ta, tb;
} products[] = {
    {1024, 1024, 1024, false, false}, {1024, 1024, 1024, true, false}, {1024, 1024, 1024, false, true},
    {2, 250, 250, false, false}, {2, 250, 250, false, true},
    {8, 250, 250, false, false}, {8, 250, 250, false, true},
    {16, 250, 250, false, false}, {16, 250, 250, false, true}, {250, 250, 16, true, false},
    {32, 250, 250, false, false}, {32, 250, 250, false, true}, {250, 250, 32, true, false},
    {32, 250, 16, false, false}, {32, 16, 250, false, true}, {16, 250, 32, true, false},
    {16, 64, 64, false, false}, {32, 64, 64, false, true}, {64, 64, 32, true, false},
    {8, 64, 1024, false, false}, {480, 256, 16, false, false}, {16, 256, 480, true, false},
};
// clang-format on

typedef struct run {
    const layer *l;
    float *x, *y, *w, *bias, *dx, *dw, *scratch;
    int64_t m, n, k;
    bool ta, tb;
    int what;
} run;

static void once(const run *r)
{
    const conv_geometry *g = r->l ? &r->l->g : NULL;
    const bool up = g && r->l->up;
    switch (r->what) {
    case 0:
        (up ? upconv_forward : conv_forward)(r->dx, r->x, r->w, r->bias, 0.01f, g, r->scratch);
        break;
    case 1: (up ? upconv_grad_input : conv_grad_input)(r->dx, r->y, r->w, g, r->scratch); break;
    case 2:
        (up ? upconv_grad_weights : conv_grad_weights)(r->dw, r->x, r->y, true, g, r->scratch);
        break;
    case 3: gemm_float(r->dx, r->x, r->w, r->m, r->n, r->k, r->ta, r->tb, false, r->scratch); break;
    case 4: peer_product(r->dx, r->x, r->w, r->m, r->n, r->k, r->ta, r->tb); break;
    default: peer_run(r->what - 5); break;
    }
}

// Seconds of the fastest of many rounds.
static double best(const run *r)
{
    double least = 1e9, took = 0.0;
    int times = 1;
    once(r);
    for (int i = 0; i < 40; i++) {
        for (;;) {
            const double start = now();
            for (int j = 0; j < times; j++) once(r);
            took = now() - start;
            if (took > 2e-3 || times > 1 << 24) break;
            times *= 2;
        }
        if (took / times < least) least = took / times;
    }
    return least;
}

static void show_layer(const layer *l)
{
    const conv_geometry *g = &l->g;
    const int64_t x = g->n * g->h * g->w * g->c, y = g->n * g->oh * g->ow * g->k;
    const int64_t w = g->kh * g->kw * g->c * g->k, most = x > y ? x : y;
    run r = {.l = l, .x = numbers(x), .y = numbers(y), .w = numbers(w), .bias = numbers(g->k)};
    r.dx = numbers(most), r.dw = numbers(w);
    r.scratch = numbers(l->up ? upconv_scratch(g) : conv_scratch(g));
    const double flop = 2.0 * (double)y * (double)(g->kh * g->kw * g->c);
    printf("%s", l->name);
    for (r.what = 0; r.what < 3; r.what++) printf(",%.1f", 1e-9 * flop / best(&r));
    const bool peer = peer_make(g, r.x, r.y, r.w, r.bias, r.dx, r.dw);
    for (r.what = 5; r.what < 8; r.what++)
        if (peer) printf(",%.1f", 1e-9 * flop / best(&r));
        else printf(",");
    printf("\n");
    fflush(stdout);
    free(r.x), free(r.y), free(r.w), free(r.bias), free(r.dx), free(r.dw), free(r.scratch);
}

static void show_product(size_t i)
{
    run r = {.m = products[i].m, .n = products[i].n, .k = products[i].k};
    r.ta = products[i].ta, r.tb = products[i].tb;
    r.x = numbers(r.m * r.k), r.w = numbers(r.k * r.n), r.dx = numbers(r.m * r.n);
    r.scratch = numbers(gemm_scratch(r.m, r.n, r.k, r.ta, r.tb));
    const double flop = 2.0 * (double)r.m * (double)r.n * (double)r.k;
    r.what = 3;
    printf("%lldx%lldx%lld %c%c,%.1f", (long long)r.m, (long long)r.n, (long long)r.k,
           r.ta ? 'T' : 'N', r.tb ? 'T' : 'N', 1e-9 * flop / best(&r));
    r.what = 4;
    if (peer_version()) printf(",%.1f\n", 1e-9 * flop / best(&r));
    else printf(",\n");
    fflush(stdout);
    free(r.x), free(r.w), free(r.dx), free(r.scratch);
}

int main(int argc, char **argv)
{
    const char *only = argc > 2 ? argv[2] : "";
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    if (argc > 1 && strcmp(argv[1], "best") && !kernel_set_select(argv[1]))
        return fprintf(stderr, "kernels: this processor has no %s\n", argv[1]), 2;
    printf("product (%s),plumb,oneDNN %s\n", kernel_set_instructions(),
           peer_version() ? peer_version() : "none");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (!*only || !strcmp(only, "products")) show_product(i);
    printf("layer,forward,data,weights,oneDNN forward,oneDNN data,oneDNN weights\n");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strstr(layers[i].name, only)) show_layer(layers + i);
    return 0;
}
