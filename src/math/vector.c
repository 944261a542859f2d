// SPDX-License-Identifier: MIT
// One body per loop, compiled once per instruction set, chosen by a table when the library loads.
#include "math/vector.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef double lanes __attribute__((vector_size(64)));

// Through memcpy, so that no alignment is promised.
#define LOAD(v, p) memcpy(&(v), (p), sizeof(lanes))
#define STORE(p, v) memcpy((p), &(v), sizeof(lanes))
#define SUM(v) \
    ((((v)[0] + (v)[4]) + ((v)[2] + (v)[6])) + (((v)[1] + (v)[5]) + ((v)[3] + (v)[7])))

INLINE double dot_body(const double *a, const double *b, int64_t n)
{
    lanes s0 = {0}, s1 = {0}, x, y;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        LOAD(x, a + i);
        LOAD(y, b + i);
        s0 += x * y;
        LOAD(x, a + i + 8);
        LOAD(y, b + i + 8);
        s1 += x * y;
    }
    if (i < n) {
        LOAD(x, a + i);
        LOAD(y, b + i);
        s0 += x * y;
    }
    s0 += s1;
    return SUM(s0);
}

// Four rows at a time share the loads of z; each row's own sum runs as in dot_body.
INLINE void dots_body(double *restrict out, const double *restrict rows, int64_t stride,
                      int64_t count, const double *restrict z, int64_t n)
{
    int64_t r = 0;
    for (; r + 4 <= count; r += 4) {
        const double *a = rows + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        lanes sa = {0}, sb = {0}, sc = {0}, sd = {0}, ta = {0}, tb = {0}, tc = {0}, td = {0}, x, y;
        int64_t i = 0;
        for (; i + 16 <= n; i += 16) {
            LOAD(y, z + i);
            LOAD(x, a + i);
            sa += x * y;
            LOAD(x, b + i);
            sb += x * y;
            LOAD(x, c + i);
            sc += x * y;
            LOAD(x, d + i);
            sd += x * y;
            LOAD(y, z + i + 8);
            LOAD(x, a + i + 8);
            ta += x * y;
            LOAD(x, b + i + 8);
            tb += x * y;
            LOAD(x, c + i + 8);
            tc += x * y;
            LOAD(x, d + i + 8);
            td += x * y;
        }
        if (i < n) {
            LOAD(y, z + i);
            LOAD(x, a + i);
            sa += x * y;
            LOAD(x, b + i);
            sb += x * y;
            LOAD(x, c + i);
            sc += x * y;
            LOAD(x, d + i);
            sd += x * y;
        }
        sa += ta;
        sb += tb;
        sc += tc;
        sd += td;
        out[r] = SUM(sa);
        out[r + 1] = SUM(sb);
        out[r + 2] = SUM(sc);
        out[r + 3] = SUM(sd);
    }
    for (; r < count; r++) out[r] = dot_body(rows + r * stride, z, n);
}

INLINE void moments_body(double *restrict sum, double *restrict square, const double *restrict rows,
                         int64_t stride, int64_t count, const double *restrict z, int64_t n)
{
    for (int64_t r = 0; r < count; r++) {
        const double *a = rows + r * stride;
        lanes s = {0}, q = {0}, x, y;
        for (int64_t i = 0; i < n; i += 8) {
            LOAD(x, a + i);
            LOAD(y, z + i);
            x *= y;
            s += x;
            q += x * x;
        }
        sum[r] += SUM(s);
        square[r] += SUM(q);
    }
}

INLINE void axpy_body(double *restrict y, double a, const double *restrict x, int64_t n)
{
    lanes u, v;
    for (int64_t i = 0; i < n; i += 8) {
        LOAD(u, x + i);
        LOAD(v, y + i);
        v += a * u;
        STORE(y + i, v);
    }
}

INLINE void axpy_product_body(double *restrict y, double a, const double *restrict x1,
                              const double *restrict x2, int64_t n)
{
    lanes u, v, t;
    for (int64_t i = 0; i < n; i += 8) {
        LOAD(u, x1 + i);
        LOAD(t, x2 + i);
        LOAD(v, y + i);
        v += a * (u * t);
        STORE(y + i, v);
    }
}

INLINE void product_body(double *restrict out, const double *restrict a, const double *restrict b,
                         int64_t n)
{
    lanes u, v;
    for (int64_t i = 0; i < n; i += 8) {
        LOAD(u, a + i);
        LOAD(v, b + i);
        u *= v;
        STORE(out + i, u);
    }
}

typedef struct kernels {
    const char *name;
    double (*dot)(const double *, const double *, int64_t);
    void (*dots)(double *restrict, const double *restrict, int64_t, int64_t, const double *restrict,
                 int64_t);
    void (*moments)(double *restrict, double *restrict, const double *restrict, int64_t, int64_t,
                    const double *restrict, int64_t);
    void (*axpy)(double *restrict, double, const double *restrict, int64_t);
    void (*axpy_product)(double *restrict, double, const double *restrict, const double *restrict,
                         int64_t);
    void (*product)(double *restrict, const double *restrict, const double *restrict, int64_t);
} kernels;

#define KERNELS(set, attributes)                                                                  \
    attributes static double dot_##set(const double *a, const double *b, int64_t n)              \
    {                                                                                             \
        return dot_body(a, b, n);                                                                 \
    }                                                                                             \
    attributes static void dots_##set(double *restrict out, const double *restrict rows,         \
                                      int64_t stride, int64_t count, const double *restrict z,   \
                                      int64_t n)                                                  \
    {                                                                                             \
        dots_body(out, rows, stride, count, z, n);                                                \
    }                                                                                             \
    attributes static void moments_##set(double *restrict sum, double *restrict square,          \
                                         const double *restrict rows, int64_t stride,            \
                                         int64_t count, const double *restrict z, int64_t n)     \
    {                                                                                             \
        moments_body(sum, square, rows, stride, count, z, n);                                     \
    }                                                                                             \
    attributes static void axpy_##set(double *restrict y, double a, const double *restrict x,    \
                                      int64_t n)                                                  \
    {                                                                                             \
        axpy_body(y, a, x, n);                                                                    \
    }                                                                                             \
    attributes static void axpy_product_##set(double *restrict y, double a,                      \
                                              const double *restrict x1,                         \
                                              const double *restrict x2, int64_t n)              \
    {                                                                                             \
        axpy_product_body(y, a, x1, x2, n);                                                       \
    }                                                                                             \
    attributes static void product_##set(double *restrict out, const double *restrict a,         \
                                         const double *restrict b, int64_t n)                    \
    {                                                                                             \
        product_body(out, a, b, n);                                                               \
    }                                                                                             \
    static const kernels set = {#set,        dot_##set,          dots_##set,  moments_##set,      \
                                axpy_##set,  axpy_product_##set, product_##set};

KERNELS(portable, )
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2"))))
KERNELS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

static const kernels *chosen = &portable;

__attribute__((constructor)) static void choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        chosen = &avx512;
    else if (__builtin_cpu_supports("avx2"))
        chosen = &avx2;
#endif
}

double vector_dot(const double *a, const double *b, int64_t n)
{
    return chosen->dot(a, b, n);
}

void vector_dots(double *restrict out, const double *restrict rows, int64_t stride, int64_t count,
                 const double *restrict z, int64_t n)
{
    chosen->dots(out, rows, stride, count, z, n);
}

void vector_moments(double *restrict sum, double *restrict square, const double *restrict rows,
                    int64_t stride, int64_t count, const double *restrict z, int64_t n)
{
    chosen->moments(sum, square, rows, stride, count, z, n);
}

void vector_axpy(double *restrict y, double a, const double *restrict x, int64_t n)
{
    chosen->axpy(y, a, x, n);
}

void vector_axpy_product(double *restrict y, double a, const double *restrict x1,
                         const double *restrict x2, int64_t n)
{
    chosen->axpy_product(y, a, x1, x2, n);
}

void vector_product(double *restrict out, const double *restrict a, const double *restrict b,
                    int64_t n)
{
    chosen->product(out, a, b, n);
}

const char *vector_instructions(void)
{
    return chosen->name;
}
