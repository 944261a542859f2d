// SPDX-License-Identifier: MIT
// The fast convolutions against their references, in every instruction set this processor has, and
// the references against each other: a transpose is checked by inner products.
#include "engine/kernels/conv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/simd16_fixture.h"
#include "math/rng.h"
#include "support/test.h"

// n h w c, oh ow k, kh kw stride top left
static const conv_geometry plain[] = {
    {2, 32, 32, 16, 32, 32, 16, 3, 3, 1, 1, 1}, // the models' own
    {3, 16, 16, 32, 16, 16, 32, 3, 3, 1, 1, 1},
    {5, 8, 8, 64, 8, 8, 64, 3, 3, 1, 1, 1},
    {9, 4, 4, 64, 4, 4, 64, 3, 3, 1, 1, 1},
    {2, 32, 32, 8, 32, 32, 8, 3, 3, 1, 1, 1},
    {1, 32, 32, 64, 32, 32, 3, 3, 3, 1, 1, 1},
    {1, 32, 32, 8, 32, 32, 3, 3, 3, 1, 1, 1},
    {2, 32, 32, 15, 16, 16, 64, 3, 3, 2, 0, 0},
    {2, 16, 16, 32, 8, 8, 32, 3, 3, 2, 0, 0},
    {2, 8, 8, 64, 8, 8, 64, 4, 4, 1, 1, 1},
    {2, 32, 32, 12, 16, 16, 32, 2, 2, 2, 0, 0},
    {3, 4, 4, 16, 4, 4, 32, 3, 3, 1, 1, 1},
    {3, 2, 2, 64, 2, 2, 64, 2, 2, 1, 0, 0},
    {3, 1, 1, 64, 1, 1, 1, 2, 2, 1, 0, 0},
    {1, 16, 16, 48, 16, 16, 96, 5, 5, 1, 2, 2},
    {1, 16, 16, 200, 16, 16, 40, 5, 5, 1, 2, 2}, // a panel that is taken run by run
    {1, 16, 16, 64, 16, 16, 96, 1, 1, 1, 0, 0},
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, // odd ones
    {1, 5, 7, 3, 5, 7, 2, 3, 3, 1, 1, 1},
    {2, 9, 6, 9, 9, 6, 17, 3, 3, 1, 1, 1},
    {2, 13, 11, 18, 13, 11, 33, 3, 3, 1, 1, 1},
    {2, 10, 10, 20, 8, 8, 12, 3, 3, 1, 0, 0}, // no padding
    {2, 7, 9, 11, 9, 11, 13, 3, 3, 1, 2, 2},  // padding on the outside
    {1, 12, 12, 8, 11, 13, 9, 3, 3, 1, 0, 2},
    {2, 6, 5, 7, 3, 3, 10, 3, 3, 2, 1, 1},
    {2, 7, 7, 5, 3, 4, 6, 1, 2, 2, 0, 1},
    {2, 9, 8, 4, 3, 3, 5, 2, 2, 3, 0, 0}, // stride wider than the kernel
    {1, 11, 10, 6, 4, 4, 3, 5, 4, 2, 1, 0},
    {1, 6, 6, 2, 7, 7, 5, 4, 4, 1, 2, 2},
    {1, 3, 40, 1, 3, 40, 4, 3, 5, 1, 1, 2},
};
enum { PLAIN = sizeof plain / sizeof *plain };

static const conv_geometry up[] = {
    {3, 32, 32, 16, 32, 32, 16, 3, 3, 1, 1, 1}, {2, 16, 16, 64, 16, 16, 64, 3, 3, 1, 1, 1},
    {5, 8, 8, 18, 8, 8, 64, 3, 3, 1, 1, 1},     {2, 32, 32, 16, 32, 32, 8, 3, 3, 1, 1, 1},
    {9, 8, 8, 10, 8, 8, 32, 3, 3, 1, 1, 1},     {1, 2, 2, 1, 2, 2, 1, 3, 3, 1, 1, 1},
    {2, 6, 10, 3, 6, 10, 2, 3, 3, 1, 1, 1},     {2, 22, 14, 9, 22, 14, 19, 3, 3, 1, 1, 1},
};
enum { UP = sizeof up / sizeof *up };

typedef struct forms {
    void (*forward)(float *restrict, const float *restrict, const float *restrict,
                    const float *restrict, float, const conv_geometry *, float *);
    void (*data)(float *restrict, const float *restrict, const float *restrict,
                 const conv_geometry *, float *);
    void (*weights)(float *restrict, const float *restrict, const float *restrict, bool,
                    const conv_geometry *, float *);
    int64_t (*scratch)(const conv_geometry *);
    void (*forward_judge)(double *restrict, const double *restrict, const double *restrict,
                          const double *restrict, double, const conv_geometry *);
    void (*data_judge)(double *restrict, const double *restrict, const double *restrict,
                       const conv_geometry *);
    void (*weights_judge)(double *restrict, const double *restrict, const double *restrict, bool,
                          const conv_geometry *);
    int64_t zoom;
} forms;

static const forms conv = {
    conv_forward,           conv_grad_input,           conv_grad_weights,           conv_scratch,
    conv_forward_reference, conv_grad_input_reference, conv_grad_weights_reference, 1};
static const forms upconv = {upconv_forward,
                             upconv_grad_input,
                             upconv_grad_weights,
                             upconv_scratch,
                             upconv_forward_reference,
                             upconv_grad_input_reference,
                             upconv_grad_weights_reference,
                             2};

static float *new_floats(int64_t n)
{
    float *p = malloc((size_t)(n + 1) * sizeof *p);
    CHECK(p);
    return p;
}

static double *new_doubles(int64_t n)
{
    double *p = malloc((size_t)(n + 1) * sizeof *p);
    CHECK(p);
    return p;
}

// The same numbers in both precisions.
static void fill_random(float *f, double *d, int64_t n, uint64_t stream)
{
    rng r = rng_at(5, stream);
    for (int64_t i = 0; i < n; i++) d[i] = f[i] = (float)rng_normal(&r);
}

static double dot_product(const double *a, const double *b, int64_t n)
{
    double s = 0.0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

// How far off, as a part of the largest entry; garbage counts as infinitely far.
static double max_difference(const float *f, const double *d, int64_t n)
{
    double most = 0.0, off = 0.0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(f[i])) return INFINITY;
        most = fmax(most, fabs(d[i]));
        off = fmax(off, fabs((double)f[i] - d[i]));
    }
    return off / (most > 0.0 ? most : 1.0);
}

typedef struct problem {
    conv_geometry g;
    int64_t x_size, y_size, w_size;
    float *x, *y, *w, *bias, *out, *scratch;
    double *dx, *dy, *dw, *dbias, *want;
} problem;

static void problem_make(problem *p, const conv_geometry *g, const forms *f)
{
    p->g = *g;
    p->x_size = g->n * (g->h / f->zoom) * (g->w / f->zoom) * g->c;
    p->y_size = g->n * g->oh * g->ow * g->k;
    p->w_size = g->kh * g->kw * g->c * g->k;
    const int64_t most = p->x_size + p->y_size + p->w_size, need = f->scratch(g);
    p->x = new_floats(p->x_size), p->y = new_floats(p->y_size), p->w = new_floats(p->w_size);
    p->bias = new_floats(g->k), p->out = new_floats(most);
    p->dx = new_doubles(p->x_size), p->dy = new_doubles(p->y_size), p->dw = new_doubles(p->w_size);
    p->dbias = new_doubles(g->k), p->want = new_doubles(most);
    fill_random(p->x, p->dx, p->x_size, 1);
    fill_random(p->y, p->dy, p->y_size, 2);
    fill_random(p->w, p->dw, p->w_size, 3);
    fill_random(p->bias, p->dbias, g->k, 4);
    // Exactly what was asked for, and NaN before it is written: reading ahead of writing shows.
    p->scratch = malloc((size_t)(need ? need : 1) * sizeof *p->scratch);
    CHECK(p->scratch);
    for (int64_t i = 0; i < need; i++) p->scratch[i] = NAN;
}

static void problem_clear(problem *p)
{
    free(p->x), free(p->y), free(p->w), free(p->bias), free(p->out), free(p->scratch);
    free(p->dx), free(p->dy), free(p->dw), free(p->dbias), free(p->want);
}

static void check_near(double off, double bar, const char *what, const char *set,
                       const conv_geometry *g)
{
    if (!(off <= bar))
        print_error(
            "%s in %s: %g > %g at n %lld, %lldx%lldx%lld -> %lldx%lldx%lld, %lldx%lld/%lld\n", what,
            set, off, bar, (long long)g->n, (long long)g->h, (long long)g->w, (long long)g->c,
            (long long)g->oh, (long long)g->ow, (long long)g->k, (long long)g->kh, (long long)g->kw,
            (long long)g->stride);
    CHECK(off <= bar);
}

static const double bar = 1e-5; // of the largest entry

static void check_geometry(problem *p, const forms *f, const char *set)
{
    const conv_geometry *g = &p->g;
    f->forward_judge(p->want, p->dx, p->dw, p->dbias, 0.2, g);
    memset(p->out, 0xff, (size_t)p->y_size * sizeof *p->out);
    f->forward(p->out, p->x, p->w, p->bias, 0.2f, g, p->scratch);
    check_near(max_difference(p->out, p->want, p->y_size), bar, "forward", set, g);

    f->forward_judge(p->want, p->dx, p->dw, NULL, 1.0, g);
    f->forward(p->out, p->x, p->w, NULL, 1.0f, g, p->scratch);
    check_near(max_difference(p->out, p->want, p->y_size), bar, "forward without bias", set, g);

    f->data_judge(p->want, p->dy, p->dw, g);
    memset(p->out, 0xff, (size_t)p->x_size * sizeof *p->out);
    f->data(p->out, p->y, p->w, g, p->scratch);
    check_near(max_difference(p->out, p->want, p->x_size), bar, "data", set, g);

    f->weights_judge(p->want, p->dx, p->dy, false, g);
    memset(p->out, 0xff, (size_t)p->w_size * sizeof *p->out);
    f->weights(p->out, p->x, p->y, false, g, p->scratch);
    check_near(max_difference(p->out, p->want, p->w_size), bar, "weights", set, g);

    // Twice the same bits, and twice as much when added.
    float *again = new_floats(p->w_size);
    f->weights(again, p->x, p->y, false, g, p->scratch);
    CHECK(memcmp(again, p->out, (size_t)p->w_size * sizeof *again) == 0);
    f->weights(again, p->x, p->y, true, g, p->scratch);
    for (int64_t i = 0; i < p->w_size; i++) p->want[i] *= 2.0;
    check_near(max_difference(again, p->want, p->w_size), bar, "weights added", set, g);
    free(again);
}

// Weights made ready beforehand change no bit.
static int check_ready(problem *p)
{
    const conv_geometry *g = &p->g;
    int found = 0;
    for (conv_pass way = CONV_PASS_FORWARD; way <= CONV_PASS_GRAD_INPUT; way++) {
        const int64_t size = conv_packed_size(g, way), n = way ? p->x_size : p->y_size;
        if (!size) continue;
        float *ready = new_floats(size), *want = new_floats(n);
        conv_pack_weights(ready, p->w, g, way, p->scratch);
        if (way == CONV_PASS_FORWARD) {
            conv_forward(want, p->x, p->w, p->bias, 0.2f, g, p->scratch);
            conv_forward_packed(p->out, p->x, ready, p->bias, 0.2f, g, p->scratch);
        } else {
            conv_grad_input(want, p->y, p->w, g, p->scratch);
            conv_grad_input_packed(p->out, p->y, ready, g, p->scratch);
        }
        CHECK(memcmp(want, p->out, (size_t)n * sizeof *want) == 0);
        free(ready), free(want);
        found++;
    }
    return found;
}

static void check_all(const conv_geometry *list, int count, const forms *f)
{
    char best[16];
    snprintf(best, sizeof best, "%s", kernel_set_instructions());
    for (int s = 0; wide_choose(s); s++)
        for (int i = 0; i < count; i++) {
            problem p;
            problem_make(&p, list + i, f);
            check_geometry(&p, f, kernel_set_instructions());
            problem_clear(&p);
        }
    CHECK(kernel_set_select(best));
}

TEST(every_instruction_set_agrees_with_the_reference)
{
    check_all(plain, PLAIN, &conv);
}

TEST(every_instruction_set_agrees_with_the_reference_after_upsampling)
{
    check_all(up, UP, &upconv);
}

static void check_transposes(const conv_geometry *list, int count, const forms *f)
{
    for (int i = 0; i < count; i++) {
        problem p;
        problem_make(&p, list + i, f);
        double *back = new_doubles(p.x_size + p.w_size);
        f->forward_judge(p.want, p.dx, p.dw, NULL, 1.0, &p.g);
        const double product = dot_product(p.want, p.dy, p.y_size);
        const double scale =
            sqrt(dot_product(p.want, p.want, p.y_size) * dot_product(p.dy, p.dy, p.y_size));
        f->data_judge(back, p.dy, p.dw, &p.g);
        CHECK_NEAR(dot_product(back, p.dx, p.x_size), product, 1e-12 * scale);
        f->weights_judge(back, p.dx, p.dy, false, &p.g);
        CHECK_NEAR(dot_product(back, p.dw, p.w_size), product, 1e-12 * scale);
        free(back);
        problem_clear(&p);
    }
}

TEST(packed_weights_give_the_same_bits)
{
    char best[16];
    snprintf(best, sizeof best, "%s", kernel_set_instructions());
    for (int s = 0; wide_choose(s); s++) {
        int found = 0;
        for (int i = 0; i < PLAIN; i++) {
            problem p;
            problem_make(&p, plain + i, &conv);
            found += check_ready(&p);
            problem_clear(&p);
        }
        CHECK(found > 10);
    }
    CHECK(kernel_set_select(best));
}

TEST(the_references_are_transposes_of_each_other)
{
    check_transposes(plain, PLAIN, &conv);
    check_transposes(up, UP, &upconv);
}

TEST(the_reference_adds_known_numbers)
{
    // A 2x2 window of ones over 1..9, no padding; then with zeros before and after.
    const double x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[4] = {1, 1, 1, 1}, bias = -20.0;
    double y[4];
    const conv_geometry g = {1, 3, 3, 1, 2, 2, 1, 2, 2, 1, 0, 0};
    conv_forward_reference(y, x, w, NULL, 1.0, &g);
    CHECK(y[0] == 12 && y[1] == 16 && y[2] == 24 && y[3] == 28);
    conv_forward_reference(y, x, w, &bias, 0.5, &g);
    CHECK(y[0] == -4 && y[1] == -2 && y[2] == 4 && y[3] == 8);
    const conv_geometry wide = {1, 3, 3, 1, 2, 2, 1, 2, 2, 2, 1, 1};
    conv_forward_reference(y, x, w, NULL, 1.0, &wide);
    CHECK(y[0] == 1 && y[1] == 5 && y[2] == 11 && y[3] == 28);
}

TEST(nan_is_not_hidden)
{
    const conv_geometry g = {1, 8, 8, 8, 8, 8, 8, 3, 3, 1, 1, 1};
    problem p;
    problem_make(&p, &g, &conv);
    p.x[0] = NAN;
    conv_forward(p.out, p.x, p.w, p.bias, 0.0f, &g, p.scratch);
    for (int k = 0; k < 8; k++) CHECK(isnan(p.out[k]));
    problem_clear(&p);
}
