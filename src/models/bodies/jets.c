// SPDX-License-Identifier: MIT
// Values and derivatives of a small network at many points. The four parts of a point are computed
// together, so that a weight is loaded once for all of them. Products and sums are rounded
// separately: the portable and the AVX2 form give the same bits.
#include "models/bodies/jets.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/status.h"

enum { TILE = 8 };

int64_t jets_parameter_count(const jets_shape *shape)
{
    const int64_t F = shape->features, H = shape->width;
    return F * H + H + H * H + H + H;
}

// ---- products ----

// Four doubles at once. The compiler makes of it what the instruction set has; each element is
// rounded as a single double would be. The second type is for memory.
typedef double lanes __attribute__((vector_size(32)));
typedef double lanes_at __attribute__((vector_size(32), aligned(8), may_alias));

// out (4, width) = x (4, count) w (count, width), in tiles whose sums stay in registers.
static inline __attribute__((always_inline)) void multiply_body(double *restrict out,
                                                                const double *restrict x,
                                                                const double *restrict w, int count,
                                                                int width)
{
    for (int h = 0; h < width; h += TILE) {
        lanes a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0}, c0 = {0}, c1 = {0}, d0 = {0}, d1 = {0};
        for (int k = 0; k < count; k++) {
            const lanes w0 = *(const lanes_at *)(w + k * width + h);
            const lanes w1 = *(const lanes_at *)(w + k * width + h + 4);
            const double a = x[k], b = x[count + k], c = x[2 * count + k], d = x[3 * count + k];
            a0 += a * w0, a1 += a * w1;
            b0 += b * w0, b1 += b * w1;
            c0 += c * w0, c1 += c * w1;
            d0 += d * w0, d1 += d * w1;
        }
        *(lanes_at *)(out + h) = a0, *(lanes_at *)(out + h + 4) = a1;
        *(lanes_at *)(out + width + h) = b0, *(lanes_at *)(out + width + h + 4) = b1;
        *(lanes_at *)(out + 2 * width + h) = c0, *(lanes_at *)(out + 2 * width + h + 4) = c1;
        *(lanes_at *)(out + 3 * width + h) = d0, *(lanes_at *)(out + 3 * width + h + 4) = d1;
    }
}

// w (count, width) += x^T seed, of x (4, count) and seed (4, width).
static inline __attribute__((always_inline)) void add_outer_body(double *restrict w,
                                                                 const double *restrict x,
                                                                 const double *restrict seed,
                                                                 int count, int width)
{
    for (int k = 0; k < count; k++) {
        const double x0 = x[k], x1 = x[count + k], x2 = x[2 * count + k], x3 = x[3 * count + k];
        double *restrict row = w + k * width;
        for (int h = 0; h < width; h++)
            row[h] += x0 * seed[h] + x1 * seed[width + h] + x2 * seed[2 * width + h] +
                      x3 * seed[3 * width + h];
    }
}

typedef struct kernels {
    void (*multiply)(double *restrict, const double *restrict, const double *restrict, int, int);
    void (*add_outer)(double *restrict, const double *restrict, const double *restrict, int, int);
} kernels;

#define KERNELS(set, target)                                                              \
    target static void multiply_##set(double *restrict out, const double *restrict x,     \
                                      const double *restrict w, int count, int width)     \
    {                                                                                     \
        multiply_body(out, x, w, count, width);                                           \
    }                                                                                     \
    target static void add_outer_##set(double *restrict w, const double *restrict x,      \
                                       const double *restrict seed, int count, int width) \
    {                                                                                     \
        add_outer_body(w, x, seed, count, width);                                         \
    }                                                                                     \
    static const kernels set = {multiply_##set, add_outer_##set};

KERNELS(portable, )
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2"))))
#endif

static const cpu_variant variants[] = {CPU_AVX2(avx2) CPU_PORTABLE(portable)};
CPU_DISPATCH(kernels, variants, portable);

bool jets_select(const char *set)
{
    return choose_kernels(set);
}

// ---- activation ----

// swish and its first three derivatives: s = z g, where g = 1 / (1 + exp(-z)).
static inline void find_swish(double s[4], double z, double g)
{
    const double g1 = g * (1.0 - g), g2 = g1 * (1.0 - 2.0 * g), g3 = g1 * (1.0 - 6.0 * g1);
    s[0] = z * g;
    s[1] = g + z * g1;
    s[2] = 2.0 * g1 + z * g2;
    s[3] = 3.0 * g2 + z * g3;
}

// y and its derivatives from those of z: (4, width). Keeps g (width) for the reverse pass.
static void activate(double *restrict y, double *restrict g, const double *restrict z, int width)
{
    for (int h = 0; h < width; h++) g[h] = 1.0 / (1.0 + exp(-z[h]));
    for (int h = 0; h < width; h++) {
        double s[4];
        const double a = z[width + h], b = z[2 * width + h], ab = z[3 * width + h];
        find_swish(s, z[h], g[h]);
        y[h] = s[0];
        y[width + h] = s[1] * a;
        y[2 * width + h] = s[1] * b;
        y[3 * width + h] = s[2] * a * b + s[1] * ab;
    }
}

// Replaces the derivatives of the loss by y by those by z.
static void activate_back(double *restrict seed, const double *restrict z, const double *restrict g,
                          int width)
{
    for (int h = 0; h < width; h++) {
        double s[4];
        const double a = z[width + h], b = z[2 * width + h], ab = z[3 * width + h];
        const double v = seed[h], va = seed[width + h], vb = seed[2 * width + h],
                     vab = seed[3 * width + h];
        find_swish(s, z[h], g[h]);
        seed[h] = s[1] * v + s[2] * (a * va + b * vb + ab * vab) + s[3] * a * b * vab;
        seed[width + h] = s[1] * va + s[2] * b * vab;
        seed[2 * width + h] = s[1] * vb + s[2] * a * vab;
        seed[3 * width + h] = s[1] * vab;
    }
}

// ---- the network ----

// Where the parts of a block of parameters begin.
typedef struct block_view {
    double *w0, *b0, *w1, *b1, *w2;
} block_view;

static block_view view_block(double *block, const jets_shape *shape)
{
    const int64_t F = shape->features, H = shape->width;
    return (block_view){.w0 = block,
                        .b0 = block + F * H,
                        .w1 = block + F * H + H,
                        .b1 = block + F * H + H + H * H,
                        .w2 = block + F * H + H + H * H + H};
}

plumb_status jets_alloc(jets_network *out, arena *mem, const jets_shape *shape, int64_t points)
{
    assert(shape->width % TILE == 0);
    const int64_t F = shape->features, H = shape->width, rows = points * JET_PARTS;
    const int64_t size = jets_parameter_count(shape);
    *out = (jets_network){.shape = *shape,
                          .points = points,
                          .features = ARENA_ALLOC(mem, double, rows *F),
                          .output = ARENA_ALLOC(mem, double, rows),
                          .output_seed = ARENA_ALLOC(mem, double, rows),
                          .weights = ARENA_ALLOC(mem, double, size),
                          .transposed = ARENA_ALLOC(mem, double, H *H),
                          .sum = ARENA_ALLOC(mem, double, size),
                          .z0 = ARENA_ALLOC(mem, double, rows *H),
                          .y0 = ARENA_ALLOC(mem, double, rows *H),
                          .z1 = ARENA_ALLOC(mem, double, rows *H),
                          .y1 = ARENA_ALLOC(mem, double, rows *H),
                          .g0 = ARENA_ALLOC(mem, double, points *H),
                          .g1 = ARENA_ALLOC(mem, double, points *H),
                          .seed = ARENA_ALLOC(mem, double, 2 * JET_PARTS * H)};
    return out->features && out->output && out->output_seed && out->weights && out->transposed &&
                   out->sum && out->z0 && out->y0 && out->z1 && out->y1 && out->g0 && out->g1 &&
                   out->seed
               ? PLUMB_OK
               : PLUMB_EMEMORY;
}

void jets_run(jets_network *net, const float *parameters)
{
    const int F = net->shape.features, H = net->shape.width;
    const int64_t size = jets_parameter_count(&net->shape);
    for (int64_t i = 0; i < size; i++) net->weights[i] = (double)parameters[i];
    const block_view w = view_block(net->weights, &net->shape);
    for (int k = 0; k < H; k++)
        for (int h = 0; h < H; h++) net->transposed[h * H + k] = w.w1[k * H + h];
    for (int64_t n = 0; n < net->points; n++) {
        double *z0 = net->z0 + n * JET_PARTS * H, *y0 = net->y0 + n * JET_PARTS * H;
        double *z1 = net->z1 + n * JET_PARTS * H, *y1 = net->y1 + n * JET_PARTS * H;
        chosen->multiply(z0, net->features + n * JET_PARTS * F, w.w0, F, H);
        for (int h = 0; h < H; h++) z0[h] += w.b0[h];
        activate(y0, net->g0 + n * H, z0, H);
        chosen->multiply(z1, y0, w.w1, H, H);
        for (int h = 0; h < H; h++) z1[h] += w.b1[h];
        activate(y1, net->g1 + n * H, z1, H);
        for (int part = 0; part < JET_PARTS; part++) {
            double sum = 0.0;
            for (int h = 0; h < H; h++) sum += y1[part * H + h] * w.w2[h];
            net->output[n * JET_PARTS + part] = sum;
        }
    }
}

void jets_add_gradient(jets_network *net, float *gradient)
{
    const int F = net->shape.features, H = net->shape.width;
    const int64_t size = jets_parameter_count(&net->shape);
    const block_view w = view_block(net->weights, &net->shape);
    const block_view g = view_block(net->sum, &net->shape);
    double *outer = net->seed, *inner = net->seed + JET_PARTS * H;
    memset(net->sum, 0, (size_t)size * sizeof *net->sum);
    for (int64_t n = 0; n < net->points; n++) {
        const double *by = net->output_seed + n * JET_PARTS;
        // Nodes that no trajectory came near.
        if (by[0] == 0.0 && by[1] == 0.0 && by[2] == 0.0 && by[3] == 0.0) continue;
        const double *z0 = net->z0 + n * JET_PARTS * H, *y0 = net->y0 + n * JET_PARTS * H;
        const double *z1 = net->z1 + n * JET_PARTS * H, *y1 = net->y1 + n * JET_PARTS * H;
        for (int part = 0; part < JET_PARTS; part++)
            for (int h = 0; h < H; h++) {
                g.w2[h] += by[part] * y1[part * H + h];
                outer[part * H + h] = by[part] * w.w2[h];
            }
        activate_back(outer, z1, net->g1 + n * H, H);
        chosen->add_outer(g.w1, y0, outer, H, H);
        for (int h = 0; h < H; h++) g.b1[h] += outer[h];
        chosen->multiply(inner, outer, net->transposed, H, H);
        activate_back(inner, z0, net->g0 + n * H, H);
        chosen->add_outer(g.w0, net->features + n * JET_PARTS * F, inner, F, H);
        for (int h = 0; h < H; h++) g.b0[h] += inner[h];
    }
    for (int64_t i = 0; i < size; i++) gradient[i] += (float)net->sum[i];
}

// ---- definition ----

// One layer of the reference: in (4, count), out (4, width).
static void run_layer(double *out, const double *in, const float *w, const float *bias, int count,
                      int width)
{
    double z[JET_PARTS * 256] = {0}, g[256];
    for (int part = 0; part < JET_PARTS; part++)
        for (int h = 0; h < width; h++) {
            double sum = part == JET_VALUE ? (double)bias[h] : 0.0;
            for (int k = 0; k < count; k++) sum += in[part * count + k] * (double)w[k * width + h];
            z[part * width + h] = sum;
        }
    activate(out, g, z, width);
}

void jets_reference(double output[JET_PARTS], const jets_shape *shape, const float *parameters,
                    const double *features)
{
    const int F = shape->features, H = shape->width;
    double y0[JET_PARTS * 256] = {0}, y1[JET_PARTS * 256] = {0};
    assert(H <= 256);
    const float *b0 = parameters + F * H, *w1 = b0 + H, *b1 = w1 + H * H, *w2 = b1 + H;
    run_layer(y0, features, parameters, b0, F, H);
    run_layer(y1, y0, w1, b1, H, H);
    for (int part = 0; part < JET_PARTS; part++) {
        output[part] = 0.0;
        for (int h = 0; h < H; h++) output[part] += y1[part * H + h] * (double)w2[h];
    }
}
