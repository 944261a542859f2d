// SPDX-License-Identifier: MIT
// Winograd's transforms for one instruction set: included after gemm_tile_template.h, with its
// macros, and with TAPS 3 or 2. Y = A^T ((G g G^T) . (B^T d B)) A for 4x4 results [Lavin16, section
// 4].
//
// The points of interpolation are 0, +-5/8, +-3/2 and infinity for three taps, and 0, 1/2, -1, 3/2
// and infinity for two: exact in binary, and their powers stay near one, so that the rounding error
// is a third of that of the usual 0, +-1, +-2.

#define OF(name) NAME(NAME(name, TAPS), SET)
#define SIDE (TAPS + 3)
#define TIMES(k, x, y) FMA((float)(k) - (VEC){0}, x, y) // y + k x

#if TAPS == 3

#define A2 0.390625 // 5/8 squared
#define B2 2.25     // 3/2 squared
#define NA (2 * A2 * (A2 - B2))
#define NB (2 * B2 * (B2 - A2))

TARGET static inline ALWAYS void OF(in)(VEC *o, const VEC *d)
{
    const VEC e = TIMES(-B2, d[2], d[4]), f = TIMES(-A2, d[2], d[4]);
    const VEC p = TIMES(-B2, d[1], d[3]), q = TIMES(-A2, d[1], d[3]);
    o[0] = TIMES(A2 * B2, d[0], TIMES(-(A2 + B2), d[2], d[4]));
    o[1] = TIMES(0.625, p, e);
    o[2] = TIMES(-0.625, p, e);
    o[3] = TIMES(1.5, q, f);
    o[4] = TIMES(-1.5, q, f);
    o[5] = TIMES(A2 * B2, d[1], TIMES(-(A2 + B2), d[3], d[5]));
}

TARGET static inline ALWAYS void OF(out)(VEC *o, const VEC *m)
{
    const VEC e = m[1] + m[2], f = m[3] + m[4], p = m[1] - m[2], q = m[3] - m[4];
    o[0] = m[0] + (e + f);
    o[1] = TIMES(1.5, q, 0.625f * p);
    o[2] = TIMES(B2, f, (float)A2 * e);
    o[3] = TIMES(1.5 * B2, q, TIMES(0.625 * A2, p, m[5]));
}

TARGET static inline ALWAYS void OF(back)(VEC *o, const VEC *y)
{
    const VEC e = TIMES(A2, y[2], y[0]), f = TIMES(B2, y[2], y[0]);
    const VEC p = TIMES(A2, y[3], y[1]), q = TIMES(B2, y[3], y[1]);
    o[0] = y[0];
    o[1] = TIMES(0.625, p, e);
    o[2] = TIMES(-0.625, p, e);
    o[3] = TIMES(1.5, q, f);
    o[4] = TIMES(-1.5, q, f);
    o[5] = y[3];
}

TARGET static inline ALWAYS void OF(taps)(VEC *o, const VEC *g)
{
    const VEC e = (float)(1 / NA) * TIMES(A2, g[2], g[0]);
    const VEC f = (float)(1 / NB) * TIMES(B2, g[2], g[0]);
    o[0] = (float)(1 / (A2 * B2)) * g[0];
    o[1] = TIMES(0.625 / NA, g[1], e);
    o[2] = TIMES(-0.625 / NA, g[1], e);
    o[3] = TIMES(1.5 / NB, g[1], f);
    o[4] = TIMES(-1.5 / NB, g[1], f);
    o[5] = g[2];
}

TARGET static inline ALWAYS void OF(untaps)(VEC *o, const VEC *u)
{
    const VEC e = (float)(1 / NA) * (u[1] + u[2]), f = (float)(1 / NB) * (u[3] + u[4]);
    o[0] = TIMES(1 / (A2 * B2), u[0], e + f);
    o[1] = TIMES(0.625 / NA, u[1] - u[2], (float)(1.5 / NB) * (u[3] - u[4]));
    o[2] = TIMES(A2, e, TIMES(B2, f, u[5]));
}

#else

TARGET static inline ALWAYS void OF(in)(VEC *o, const VEC *d)
{
    o[0] = TIMES(0.75, d[0], TIMES(-1.25, d[1], d[3] - d[2]));
    o[1] = TIMES(-1.5, d[1], TIMES(-0.5, d[2], d[3]));
    o[2] = TIMES(0.75, d[1], TIMES(-2.0, d[2], d[3]));
    o[3] = TIMES(-0.5, d[1], TIMES(0.5, d[2], d[3]));
    o[4] = TIMES(0.75, d[1], TIMES(-1.25, d[2], d[4] - d[3]));
}

TARGET static inline ALWAYS void OF(out)(VEC *o, const VEC *m)
{
    o[0] = (m[0] + m[1]) + (m[2] + m[3]);
    o[1] = TIMES(0.5, m[1], TIMES(1.5, m[3], -m[2]));
    o[2] = TIMES(0.25, m[1], TIMES(2.25, m[3], m[2]));
    o[3] = TIMES(0.125, m[1], TIMES(3.375, m[3], m[4] - m[2]));
}

TARGET static inline ALWAYS void OF(back)(VEC *o, const VEC *y)
{
    o[0] = y[0];
    o[1] = TIMES(0.5, y[1], TIMES(0.25, y[2], TIMES(0.125, y[3], y[0])));
    o[2] = (y[0] - y[1]) + (y[2] - y[3]);
    o[3] = TIMES(1.5, y[1], TIMES(2.25, y[2], TIMES(3.375, y[3], y[0])));
    o[4] = y[3];
}

TARGET static inline ALWAYS void OF(taps)(VEC *o, const VEC *g)
{
    o[0] = (float)(1 / 0.75) * g[0];
    o[1] = (float)(-1 / 0.75) * TIMES(0.5, g[1], g[0]);
    o[2] = (float)(-1 / 3.75) * (g[0] - g[1]);
    o[3] = (float)(1 / 3.75) * TIMES(1.5, g[1], g[0]);
    o[4] = g[1];
}

TARGET static inline ALWAYS void OF(untaps)(VEC *o, const VEC *u)
{
    const VEC e = (float)(-1 / 0.75) * u[1], f = (float)(-1 / 3.75) * u[2];
    const VEC h = (float)(1 / 3.75) * u[3];
    o[0] = TIMES(1 / 0.75, u[0], e + f + h);
    o[1] = TIMES(0.5, e, TIMES(1.5, h, u[4] - f));
}

#endif

// From n x n to m x m: the columns first, one or two rows of their results at a time so that they
// stay in registers, and then those rows. FROM(i) is what stands at row i and column j, PUT(i) puts
// to[j] of row i away. Pictures are not `restrict`, lest the compiler keep all of a tile in memory.
#define ROW(n, m, step, i, value)                        \
    {                                                    \
        VEC h[n], to[m];                                 \
        UNROLL for (int j = 0; j < n; j++) h[j] = value; \
        step(to, h);                                     \
        UNROLL for (int j = 0; j < m; j++) PUT(i);       \
    }
#define PAIR(n, m, step, i1, i2, x, y, one, two)    \
    {                                               \
        VEC h[n], g[n], to[m];                      \
        UNROLL for (int j = 0; j < n; j++)          \
        {                                           \
            const VEC e = x, o = y;                 \
            h[j] = one, g[j] = two;                 \
        }                                           \
        step(to, h);                                \
        UNROLL for (int j = 0; j < m; j++) PUT(i1); \
        step(to, g);                                \
        UNROLL for (int j = 0; j < m; j++) PUT(i2); \
    }

#if TAPS == 3
#define IN(n, m, step)                                                                 \
    ROW(n, m, step, 0, TIMES(A2 *B2, FROM(0), TIMES(-(A2 + B2), FROM(2), FROM(4))))    \
    PAIR(n, m, step, 1, 2, TIMES(-B2, FROM(2), FROM(4)), TIMES(-B2, FROM(1), FROM(3)), \
         TIMES(0.625, o, e), TIMES(-0.625, o, e))                                      \
    PAIR(n, m, step, 3, 4, TIMES(-A2, FROM(2), FROM(4)), TIMES(-A2, FROM(1), FROM(3)), \
         TIMES(1.5, o, e), TIMES(-1.5, o, e))                                          \
    ROW(n, m, step, 5, TIMES(A2 *B2, FROM(1), TIMES(-(A2 + B2), FROM(3), FROM(5))))
#define OUT(n, m, step)                                                                     \
    PAIR(n, m, step, 0, 2, FROM(1) + FROM(2), FROM(3) + FROM(4), FROM(0) + (e + o),         \
         TIMES(B2, o, (float)A2 * e))                                                       \
    PAIR(n, m, step, 1, 3, FROM(1) - FROM(2), FROM(3) - FROM(4), TIMES(1.5, o, 0.625f * e), \
         TIMES(1.5 * B2, o, TIMES(0.625 * A2, e, FROM(5))))
#define BACK(n, m, step)                                                             \
    ROW(n, m, step, 0, FROM(0))                                                      \
    PAIR(n, m, step, 1, 2, TIMES(A2, FROM(2), FROM(0)), TIMES(A2, FROM(3), FROM(1)), \
         TIMES(0.625, o, e), TIMES(-0.625, o, e))                                    \
    PAIR(n, m, step, 3, 4, TIMES(B2, FROM(2), FROM(0)), TIMES(B2, FROM(3), FROM(1)), \
         TIMES(1.5, o, e), TIMES(-1.5, o, e))                                        \
    ROW(n, m, step, 5, FROM(3))
#else
#define IN(n, m, step)                                                                 \
    ROW(n, m, step, 0, TIMES(0.75, FROM(0), TIMES(-1.25, FROM(1), FROM(3) - FROM(2)))) \
    ROW(n, m, step, 1, TIMES(-1.5, FROM(1), TIMES(-0.5, FROM(2), FROM(3))))            \
    PAIR(n, m, step, 2, 3, FROM(2), FROM(1), TIMES(0.75, o, TIMES(-2.0, e, FROM(3))),  \
         TIMES(-0.5, o, TIMES(0.5, e, FROM(3))))                                       \
    ROW(n, m, step, 4, TIMES(0.75, FROM(1), TIMES(-1.25, FROM(2), FROM(4) - FROM(3))))
#define OUT(n, m, step)                                                               \
    PAIR(n, m, step, 0, 1, FROM(1), FROM(3), (FROM(0) + e) + (FROM(2) + o),           \
         TIMES(0.5, e, TIMES(1.5, o, -FROM(2))))                                      \
    PAIR(n, m, step, 2, 3, FROM(1), FROM(3), TIMES(0.25, e, TIMES(2.25, o, FROM(2))), \
         TIMES(0.125, e, TIMES(3.375, o, FROM(4) - FROM(2))))
#define BACK(n, m, step)                                                                          \
    ROW(n, m, step, 0, FROM(0))                                                                   \
    PAIR(n, m, step, 1, 2, FROM(1), FROM(2),                                                      \
         TIMES(0.5, e, TIMES(0.25, o, TIMES(0.125, FROM(3), FROM(0)))),                           \
         (FROM(0) - e) + (o - FROM(3)))                                                           \
    ROW(n, m, step, 3, TIMES(1.5, FROM(1), TIMES(2.25, FROM(2), TIMES(3.375, FROM(3), FROM(0))))) \
    ROW(n, m, step, 4, FROM(3))
#endif

// The same for weights, which are few: both passes through memory.
#define TWICE(n, m, step, read, write)                             \
    do {                                                           \
        VEC half[m][n];                                            \
        UNROLL for (int j = 0; j < n; j++)                         \
        {                                                          \
            VEC from[n], to[m];                                    \
            UNROLL for (int i = 0; i < n; i++) from[i] = read;     \
            step(to, from);                                        \
            UNROLL for (int i = 0; i < m; i++) half[i][j] = to[i]; \
        }                                                          \
        UNROLL for (int i = 0; i < m; i++)                         \
        {                                                          \
            VEC to[m];                                             \
            step(to, half[i]);                                     \
            UNROLL for (int j = 0; j < m; j++) write;              \
        }                                                          \
    } while (0)

// Whole registers of channels, then what is left.
#define CHANNELS(body)                                                \
    do {                                                              \
        const int left = (int)(job->channels % LANES);                \
        int64_t at = 0;                                               \
        for (; at + LANES <= job->channels; at += LANES) body(false); \
        if (left) body(true);                                         \
    } while (0)

// Else the compiler works out all 36 places ahead of the loop over channels, and has to fetch each
// from memory.
#define FRESH __asm__("" : "+r"(row), "+r"(pixel), "+r"(slice))
#define READ(part, p) ((part) ? PART_LOAD(p, left) : LOAD(p))

// B^T d B of one tile of SIDE x SIDE pixels, of which those that are not there count as zero;
// channels up to a whole register are filled with zeros.
#define FROM(i)                                                          \
    (all || (i >= top && i < bottom && j >= left_edge && j < right_edge) \
         ? READ(part_, x + (start + i * row + j * pixel + at))           \
         : (VEC){0})
#define PUT(i) STORE(v + (i * SIDE + j) * slice + at, to[j])
#define BODY(part)               \
    do {                         \
        const bool part_ = part; \
        FRESH;                   \
        IN(SIDE, SIDE, OF(in))   \
    } while (0)
TARGET static inline ALWAYS void OF(input_some)(const bool all, float *v, const float *x,
                                                const winograd_tile *job)
{
    int64_t row = job->row, pixel = job->pixel, slice = job->slice;
    const int64_t start = job->start, top = job->top, bottom = job->height;
    const int64_t left_edge = job->left, right_edge = job->width;
    CHANNELS(BODY);
}
TARGET static void OF(input)(float *v, const float *x, const winograd_tile *job)
{
    if (!job->top && !job->left && job->height == SIDE && job->width == SIDE)
        OF(input_some)(true, v, x, job);
    else OF(input_some)(false, v, x, job);
}
#undef FROM
#undef BODY

// A dy A^T, the transpose of the output's transform; pixels that are not there count as zero.
#define FROM(i)                                                                              \
    (all || (i < job->height && j < job->width) ? READ(part_, dy + i * row + j * pixel + at) \
                                                : (VEC){0})
#define BODY(part)               \
    do {                         \
        const bool part_ = part; \
        FRESH;                   \
        BACK(4, SIDE, OF(back))  \
    } while (0)
TARGET static inline ALWAYS void OF(spread_some)(const bool all, float *v, const float *dy,
                                                 const winograd_tile *job)
{
    int64_t row = job->row, pixel = job->pixel, slice = job->slice;
    CHANNELS(BODY);
}
TARGET static void OF(spread)(float *v, const float *dy, const winograd_tile *job)
{
    if (job->height == 4 && job->width == 4) OF(spread_some)(true, v, dy, job);
    else OF(spread_some)(false, v, dy, job);
}
#undef FROM
#undef PUT
#undef BODY

// Bias, slope and the pixel's place.
TARGET static inline ALWAYS void OF(place)(const bool part, float *y, VEC value, int left,
                                           int64_t at, const float *bias, float slope)
{
    if (bias) value += READ(part, bias + at);
    if (slope != 1.0f) value = NAME(leaky, SET)(value, slope);
    if (part) PART_STORE(y + at, value, left);
    else STORE(y + at, value);
}

// A^T m A of one tile.
#define FROM(i) LOAD(m + (i * SIDE + j) * slice + at)
#define PUT(i)                                      \
    if (all || (i < job->height && j < job->width)) \
    OF(place)(part_, y + i * row + j * pixel, to[j], left, at, bias, slope)
#define BODY(part)               \
    do {                         \
        const bool part_ = part; \
        FRESH;                   \
        OUT(SIDE, 4, OF(out))    \
    } while (0)
TARGET static inline ALWAYS void OF(output_some)(const bool all, float *y, const float *m,
                                                 const float *bias, float slope,
                                                 const winograd_tile *job)
{
    int64_t row = job->row, pixel = job->pixel, slice = job->slice;
    CHANNELS(BODY);
}
TARGET static void OF(output)(float *y, const float *m, const winograd_tile *job)
{
    const bool all = job->height == 4 && job->width == 4;
    if (all && job->bias && job->slope != 1.0f)
        OF(output_some)(true, y, m, job->bias, job->slope, job);
    else if (all && !job->bias && job->slope == 1.0f) OF(output_some)(true, y, m, NULL, 1.0f, job);
    else OF(output_some)(false, y, m, job->bias, job->slope, job);
}
#undef FROM
#undef PUT
#undef BODY

// G g G^T of one input channel.
#define BODY(part)                                                                  \
    TWICE(TAPS, SIDE, OF(taps), READ(part, w + i * job->row + j * job->pixel + at), \
          STORE(u + (i * SIDE + j) * job->slice + at, to[j]))
TARGET static void OF(weights)(float *restrict u, const float *restrict w, const winograd_tile *job)
{
    CHANNELS(BODY);
}
#undef BODY

// G^T u G of one input channel.
#define BODY(part)                                                            \
    TWICE(SIDE, TAPS, OF(untaps), LOAD(u + (i * SIDE + j) * job->slice + at), \
          OF(place)(part, dw + i * job->row + j * job->pixel, to[j], left, at, bias, slope))
TARGET static void OF(gather)(float *restrict dw, const float *restrict u, const winograd_tile *job)
{
    const float *bias = NULL, slope = 1.0f;
    CHANNELS(BODY);
}
#undef BODY

#undef OF
#undef SIDE
#undef TIMES
#undef TWICE
#undef CHANNELS
#undef READ
#undef FRESH
#undef ROW
#undef PAIR
#undef IN
#undef OUT
#undef BACK
#undef A2
#undef B2
#undef NA
#undef NB
#undef TAPS
