// SPDX-License-Identifier: MIT
// The loops of vector.c for one instruction set. Included once per set, with SET (its name), TARGET
// (the compiler's attribute) and WIDTH (doubles per register) defined. Not a header to include
// elsewhere.

#define NAME_(kernel, set) kernel##_##set
#define NAME(kernel, set) NAME_(kernel, set)
#define VEC NAME(vec, SET)
#define PARTS (8 / WIDTH)

typedef double VEC __attribute__((vector_size(WIDTH * 8), aligned(8), may_alias));

// A sum has eight lanes in PARTS registers. The lanes are added in the same order for every WIDTH.
#if WIDTH == 8
#define TOTAL(s)                                         \
    (((s)[0][0] + (s)[0][4]) + ((s)[0][2] + (s)[0][6]) + \
     (((s)[0][1] + (s)[0][5]) + ((s)[0][3] + (s)[0][7])))
#else
TARGET static inline double NAME(total, SET)(const VEC *s)
{
    const VEC t = s[0] + s[1];
    return (t[0] + t[2]) + (t[1] + t[3]);
}
#define TOTAL(s) NAME(total, SET)(s)
#endif

// a . b: 16 elements at a time, in two sets of eight lanes.
TARGET static double NAME(dot, SET)(const double *a, const double *b, int64_t n)
{
    VEC s[PARTS] = {0}, t[PARTS] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < PARTS; k++) {
            s[k] += *(const VEC *)(a + i + k * WIDTH) * *(const VEC *)(b + i + k * WIDTH);
            t[k] += *(const VEC *)(a + i + 8 + k * WIDTH) * *(const VEC *)(b + i + 8 + k * WIDTH);
        }
    if (i < n)
        for (int k = 0; k < PARTS; k++)
            s[k] += *(const VEC *)(a + i + k * WIDTH) * *(const VEC *)(b + i + k * WIDTH);
    for (int k = 0; k < PARTS; k++) s[k] += t[k];
    return TOTAL(s);
}

// out[r] = rows[r] . z. Four rows at a time share the loads of z. Each row has one set of eight
// lanes, as the last rows have, so the result of a row does not depend on its place.
TARGET static void NAME(dots, SET)(double *restrict out, const double *restrict rows,
                                   int64_t stride, int64_t count, const double *restrict z,
                                   int64_t n)
{
    int64_t r = 0;
    for (; r + 4 <= count; r += 4) {
        const double *a = rows + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        VEC sa[PARTS] = {0}, sb[PARTS] = {0}, sc[PARTS] = {0}, sd[PARTS] = {0};
        for (int64_t i = 0; i < n; i += 8)
            for (int k = 0; k < PARTS; k++) {
                const int64_t at = i + k * WIDTH;
                const VEC y = *(const VEC *)(z + at);
                sa[k] += *(const VEC *)(a + at) * y;
                sb[k] += *(const VEC *)(b + at) * y;
                sc[k] += *(const VEC *)(c + at) * y;
                sd[k] += *(const VEC *)(d + at) * y;
            }
        out[r] = TOTAL(sa);
        out[r + 1] = TOTAL(sb);
        out[r + 2] = TOTAL(sc);
        out[r + 3] = TOTAL(sd);
    }
    for (; r < count; r++) {
        const double *a = rows + r * stride;
        VEC s[PARTS] = {0};
        for (int64_t i = 0; i < n; i += 8)
            for (int k = 0; k < PARTS; k++)
                s[k] += *(const VEC *)(a + i + k * WIDTH) * *(const VEC *)(z + i + k * WIDTH);
        out[r] = TOTAL(s);
    }
}

// Sums of x = rows[r] z and of x^2.
TARGET static void NAME(moments, SET)(double *restrict sum, double *restrict square,
                                      const double *restrict rows, int64_t stride, int64_t count,
                                      const double *restrict z, int64_t n)
{
    for (int64_t r = 0; r < count; r++) {
        const double *a = rows + r * stride;
        VEC s[PARTS] = {0}, q[PARTS] = {0};
        for (int64_t i = 0; i < n; i += 8)
            for (int k = 0; k < PARTS; k++) {
                const VEC x = *(const VEC *)(a + i + k * WIDTH) * *(const VEC *)(z + i + k * WIDTH);
                s[k] += x;
                q[k] += x * x;
            }
        sum[r] += TOTAL(s);
        square[r] += TOTAL(q);
    }
}

// y += a x
TARGET static void NAME(axpy, SET)(double *restrict y, double a, const double *restrict x,
                                   int64_t n)
{
    for (int64_t i = 0; i < n; i += WIDTH) *(VEC *)(y + i) += a * *(const VEC *)(x + i);
}

// y += a (x1 x2)
TARGET static void NAME(axpy_product, SET)(double *restrict y, double a, const double *restrict x1,
                                           const double *restrict x2, int64_t n)
{
    for (int64_t i = 0; i < n; i += WIDTH)
        *(VEC *)(y + i) += a * (*(const VEC *)(x1 + i) * *(const VEC *)(x2 + i));
}

// out = a b
TARGET static void NAME(product, SET)(double *restrict out, const double *restrict a,
                                      const double *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i += WIDTH)
        *(VEC *)(out + i) = *(const VEC *)(a + i) * *(const VEC *)(b + i);
}

static const vector_kernels SET = {
    .dot = NAME(dot, SET),
    .dots = NAME(dots, SET),
    .moments = NAME(moments, SET),
    .axpy = NAME(axpy, SET),
    .axpy_product = NAME(axpy_product, SET),
    .product = NAME(product, SET),
};

#undef NAME
#undef NAME_
#undef VEC
#undef PARTS
#undef TOTAL
#undef SET
#undef TARGET
#undef WIDTH
