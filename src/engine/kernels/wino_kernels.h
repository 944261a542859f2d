// SPDX-License-Identifier: MIT
// Winograd's transforms for one instruction set: included after tile_kernels.h, with its macros,
// and with TAPS 3 or 2. Y = A^T ((G g G^T) . (B^T d B)) A for 4x4 results [Lavin16, eq. (8)].
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

// From n x n to m x m: columns first, then rows. `read` is what stands at row i and column j,
// `write` puts to[j] of row i away; both see the first channel `at`.
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

#define READ(part, p) ((part) ? PART_LOAD(p, left) : LOAD(p))

// B^T d B of one tile of SIDE x SIDE pixels; channels up to a whole register are filled with zeros.
#define BODY(part)                                                                \
    TWICE(SIDE, SIDE, OF(in), READ(part, x + i * job->row + j * job->pixel + at), \
          STORE(v + (i * SIDE + j) * job->slice + at, to[j]))
TARGET static void OF(input)(float *restrict v, const float *restrict x, const wino_job *job)
{
    CHANNELS(BODY);
}
#undef BODY

// A dy A^T, the transpose of the output's transform; pixels that are not there count as zero.
#define PIXEL(part)                                                                          \
    (i < job->height && j < job->width ? READ(part, dy + i * job->row + j * job->pixel + at) \
                                       : (VEC){0})
#define BODY(part) \
    TWICE(4, SIDE, OF(back), PIXEL(part), STORE(v + (i * SIDE + j) * job->slice + at, to[j]))
TARGET static void OF(spread)(float *restrict v, const float *restrict dy, const wino_job *job)
{
    CHANNELS(BODY);
}
#undef BODY

// Bias, slope and the pixel's place.
TARGET static inline ALWAYS void OF(place)(const bool part, float *y, VEC value, int left,
                                           int64_t at, const wino_job *job)
{
    if (job->bias) value += READ(part, job->bias + at);
    if (job->slope != 1.0f) value = NAME(leaky, SET)(value, job->slope);
    if (part) PART_STORE(y + at, value, left);
    else STORE(y + at, value);
}

// A^T m A of one tile.
#define BODY(part)                                                      \
    TWICE(SIDE, 4, OF(out), LOAD(m + (i * SIDE + j) * job->slice + at), \
          if (i < job->height && j < job->width)                        \
              OF(place)(part, y + i * job->row + j * job->pixel, to[j], left, at, job))
TARGET static void OF(output)(float *restrict y, const float *restrict m, const wino_job *job)
{
    CHANNELS(BODY);
}
#undef BODY

// G g G^T of one input channel.
#define BODY(part)                                                                  \
    TWICE(TAPS, SIDE, OF(taps), READ(part, w + i * job->row + j * job->pixel + at), \
          STORE(u + (i * SIDE + j) * job->slice + at, to[j]))
TARGET static void OF(weights)(float *restrict u, const float *restrict w, const wino_job *job)
{
    CHANNELS(BODY);
}
#undef BODY

// G^T u G of one input channel.
#define BODY(part)                                                            \
    TWICE(SIDE, TAPS, OF(untaps), LOAD(u + (i * SIDE + j) * job->slice + at), \
          OF(place)(part, dw + i * job->row + j * job->pixel, to[j], left, at, job))
TARGET static void OF(gather)(float *restrict dw, const float *restrict u, const wino_job *job)
{
    CHANNELS(BODY);
}
#undef BODY

#undef OF
#undef SIDE
#undef TIMES
#undef TWICE
#undef CHANNELS
#undef READ
#undef PIXEL
#undef A2
#undef B2
#undef NA
#undef NB
#undef TAPS
