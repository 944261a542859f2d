// SPDX-License-Identifier: MIT
// The loops of fused_loop.c for one instruction set. Included once per set, with SET (its name),
// TARGET (the compiler's attribute), WIDTH (floats per register) and FMA defined, and where the set
// has them LEAST and GREATEST (the second argument if one is NaN), RECIPROCAL (of numbers from 1 to
// 3) and TIMES_POWER (of two). Not a header to include elsewhere.
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(x) JOIN(x, SET)
#define V NAME(floats)
#define I NAME(ints)

typedef float V __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef int32_t I __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
#define SPLAT(x) ((V){0} + (x))
#define SELECT(condition, a, b) ((V)(((I)(condition) & (I)(a)) | (~(I)(condition) & (I)(b))))

#ifndef LEAST
#define LEAST(a, b) SELECT((a) < (b), a, b)
#define GREATEST(a, b) SELECT((a) > (b), a, b)
#endif
#ifndef RECIPROCAL
#define RECIPROCAL(x) (SPLAT(1.0f) / (x))
#endif

// e^x with x = n ln 2 + r: a polynomial in r times 2^n. At the ends of the range it gives 0 and
// infinity; NaN stays NaN.
TARGET static inline V NAME(exp)(V x)
{
    x = GREATEST(SPLAT(-104.0f), LEAST(SPLAT(104.0f), x));
    // n = round(x / ln 2): adding 1.5 * 2^23 leaves the nearest integer in the low bits
    V magic = SPLAT(12582912.0f);
    V t = FMA(x, SPLAT(1.44269504f), magic);
    V m = t - magic;
    // r = x - n ln 2, with ln 2 in two parts so that the first product is exact
    V r = FMA(m, SPLAT(2.12194440e-4f), FMA(m, SPLAT(-0.693359375f), x));
    V p = SPLAT(1.9875691500e-4f);
    p = FMA(p, r, SPLAT(1.3981999507e-3f));
    p = FMA(p, r, SPLAT(8.3334519073e-3f));
    p = FMA(p, r, SPLAT(4.1665795894e-2f));
    p = FMA(p, r, SPLAT(1.6666665459e-1f));
    p = FMA(p, r, SPLAT(5.0000001201e-1f));
    p = FMA(p, r * r, r) + SPLAT(1.0f);
#ifdef TIMES_POWER
    return TIMES_POWER(p, m);
#else
    // 2^n as 2^(n/2) 2^(n - n/2), each made by setting the exponent bits
    I n = (I)t - (I)magic, half = n >> 1;
    V a = (V)((half + 127) << 23), b = (V)((n - half + 127) << 23);
    return p * a * b;
#endif
}

TARGET static inline V NAME(absolute)(V x)
{
    return (V)((I)x & 0x7fffffff);
}

// 1 / (1 + e^-x). With e = e^-|x|, which is at most 1, it is 1 / (1 + e) above 0, e / (1 + e)
// below.
TARGET static inline V NAME(sigmoid)(V x)
{
    V e = NAME(exp)(-NAME(absolute)(x)), above = RECIPROCAL(e + SPLAT(1.0f));
    return SELECT(x < SPLAT(0.0f), e * above, above);
}

// tanh: an odd polynomial below 0.625, (1 - e) / (1 + e) with e = e^-2|x| and the sign of x above.
TARGET static inline V NAME(tanh)(V x)
{
    V a = NAME(absolute)(x), z = x * x;
    V p = SPLAT(-5.70498872745e-3f);
    p = FMA(p, z, SPLAT(2.06390887954e-2f));
    p = FMA(p, z, SPLAT(-5.37397155531e-2f));
    p = FMA(p, z, SPLAT(1.33314422036e-1f));
    p = FMA(p, z, SPLAT(-3.33332819422e-1f));
    V small = FMA(x * z, p, x);
    V e = NAME(exp)(a * SPLAT(-2.0f));
    V large = (SPLAT(1.0f) - e) * RECIPROCAL(e + SPLAT(1.0f));
    large = (V)((I)large | ((I)x & (int32_t)0x80000000));
    return SELECT(a < SPLAT(0.625f), small, large);
}

// softplus = max(x, 0) + log(1 + e) with e = exp(-|x|). With s = e / (2 + e), log(1 + e) is
// 2 atanh(s), a short series in s^2.
TARGET static inline V NAME(softplus)(V x)
{
    V e = NAME(exp)(-NAME(absolute)(x));
    V s = e * RECIPROCAL(e + SPLAT(2.0f)), z = s * s;
    V p = SPLAT(2.0f / 15);
    p = FMA(p, z, SPLAT(2.0f / 13));
    p = FMA(p, z, SPLAT(2.0f / 11));
    p = FMA(p, z, SPLAT(2.0f / 9));
    p = FMA(p, z, SPLAT(2.0f / 7));
    p = FMA(p, z, SPLAT(2.0f / 5));
    p = FMA(p, z, SPLAT(2.0f / 3));
    p = FMA(p, z, SPLAT(2.0f));
    return SELECT(x > SPLAT(0.0f), x, SPLAT(0.0f) * x) + s * p;
}

TARGET static inline V NAME(sqrt)(V x)
{
    V y;
    for (int i = 0; i < WIDTH; i++) y[i] = __builtin_sqrtf(x[i]);
    return y;
}

// Functions of the C library, one element at a time.
#define ONE_BY_ONE(name)                                      \
    TARGET static inline V NAME(name)(V x)                    \
    {                                                         \
        V y;                                                  \
        for (int i = 0; i < WIDTH; i++) y[i] = name##f(x[i]); \
        return y;                                             \
    }
ONE_BY_ONE(log)
ONE_BY_ONE(sin)
ONE_BY_ONE(cos)
ONE_BY_ONE(erf)
#undef ONE_BY_ONE

TARGET static inline V NAME(atan2)(V x, V y)
{
    V z;
    for (int i = 0; i < WIDTH; i++) z[i] = atan2f(x[i], y[i]);
    return z;
}

// out[i] = expression of x = a[i] and y = b[i]. The last elements, fewer than a register, go
// through copies, so that nothing past the end is touched.
#define LOOP(expression)                                        \
    {                                                           \
        int64_t i = 0;                                          \
        for (; i + WIDTH <= n; i += WIDTH) {                    \
            V x = *(const V *)(a + i), y = *(const V *)(b + i); \
            (void)x, (void)y;                                   \
            *(V *)(out + i) = (expression);                     \
        }                                                       \
        if (i < n) {                                            \
            V x = {0}, y = {0}, z;                              \
            memcpy(&x, a + i, (size_t)(n - i) * 4);             \
            memcpy(&y, b + i, (size_t)(n - i) * 4);             \
            z = (expression);                                   \
            memcpy(out + i, &z, (size_t)(n - i) * 4);           \
        }                                                       \
        break;                                                  \
    }

TARGET static void NAME(run_instruction)(op_kind op, float *out, const float *a, const float *b,
                                         float value, int64_t n)
{
    V v = SPLAT(value), one = SPLAT(1.0f), zero = SPLAT(0.0f);
    switch (op) {
    case OP_ADD: LOOP(x + y)
    case OP_SUBTRACT: LOOP(x - y)
    case OP_MULTIPLY: LOOP(x * y)
    case OP_DIVIDE: LOOP(x / y)
    case OP_SCALE: LOOP(x * v)
    case OP_ADD_SCALAR: LOOP(x + v)
    case OP_EXP: LOOP(NAME(exp)(x))
    case OP_LOG: LOOP(NAME(log)(x))
    case OP_SQRT: LOOP(NAME(sqrt)(x))
    case OP_RECIPROCAL: LOOP(one / x)
    case OP_SIN: LOOP(NAME(sin)(x))
    case OP_COS: LOOP(NAME(cos)(x))
    case OP_TANH: LOOP(NAME(tanh)(x))
    case OP_SIGMOID: LOOP(NAME(sigmoid)(x))
    case OP_SOFTPLUS: LOOP(NAME(softplus)(x))
    case OP_SWISH: LOOP(x * y)
    case OP_SWISH_GRAD: LOOP(y * (one + x * (one - y)))
    case OP_SWISH_GRAD2: LOOP((y - y * y) * (one + one + x * (one - y - y)))
    case OP_ERF: LOOP(NAME(erf)(x))
    case OP_ATAN2: LOOP(NAME(atan2)(x, y))
    case OP_LEAKY_RELU: LOOP(SELECT(x < zero, x * v, x))
    case OP_LEAKY_RELU_GRAD:
        if (value > 0) LOOP(SELECT(x >= zero, one, v))
        LOOP(SELECT(x > zero, one, v))
    default: break;
    }
}

// Blocks of 4096 in two registers of partial sums; the sums of blocks in double.
TARGET static float NAME(sum)(const float *x, int64_t n)
{
    double total = 0.0;
    for (int64_t start = 0; start < n; start += 4096) {
        int64_t end = n - start < 4096 ? n : start + 4096, i = start;
        V s = {0}, t = {0};
        for (; i + 2 * WIDTH <= end; i += 2 * WIDTH) {
            s += *(const V *)(x + i);
            t += *(const V *)(x + i + WIDTH);
        }
        s += t;
        for (int j = 0; j < WIDTH; j++) total += (double)s[j];
        for (; i < end; i++) total += (double)x[i];
    }
    return (float)total;
}

// Fewer columns than a register holds: WIDTH rows are `columns` full registers, whose elements
// belong to columns 0, 1, .., columns-1, 0, 1, ...
TARGET static void NAME(sum_narrow_rows)(float *y, const float *x, int64_t rows, int64_t columns)
{
    V s[WIDTH] = {{0}};
    int64_t r = 0;
    for (; r + WIDTH <= rows; r += WIDTH, x += WIDTH * columns)
        for (int64_t c = 0; c < columns; c++) s[c] += *(const V *)(x + c * WIDTH);
    const float *flat = (const float *)s;
    for (int64_t i = 0; i < WIDTH * columns; i++) y[i % columns] += flat[i];
    for (; r < rows; r++, x += columns)
        for (int64_t c = 0; c < columns; c++) y[c] += x[c];
}

// Four registers of columns at a time, then one, then single columns; each walks down all rows.
TARGET static void NAME(sum_rows)(float *y, const float *x, int64_t rows, int64_t columns)
{
    if (columns < WIDTH) {
        NAME(sum_narrow_rows)(y, x, rows, columns);
        return;
    }
    int64_t c = 0;
    for (; c + 4 * WIDTH <= columns; c += 4 * WIDTH) {
        V s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int64_t r = 0; r < rows; r++) {
            const V *row = (const V *)(x + r * columns + c);
            s0 += row[0], s1 += row[1], s2 += row[2], s3 += row[3];
        }
        V *out = (V *)(y + c);
        out[0] += s0, out[1] += s1, out[2] += s2, out[3] += s3;
    }
    for (; c + WIDTH <= columns; c += WIDTH) {
        V s = {0};
        for (int64_t r = 0; r < rows; r++) s += *(const V *)(x + r * columns + c);
        *(V *)(y + c) += s;
    }
    for (; c < columns; c++) {
        float s = 0.0f;
        for (int64_t r = 0; r < rows; r++) s += x[r * columns + c];
        y[c] += s;
    }
}

static const fused_kernels SET = {NAME(run_instruction), NAME(sum), NAME(sum_rows)};

#undef LOOP
#undef FMA
#undef LEAST
#undef GREATEST
#undef RECIPROCAL
#undef TIMES_POWER
#undef SELECT
#undef SPLAT
#undef I
#undef V
#undef NAME
#undef JOIN
#undef JOIN_
#undef SET
#undef TARGET
#undef WIDTH
