// SPDX-License-Identifier: MIT
// Winograd's transforms for one instruction set: Y = A^T ((G g G^T) . (B^T d B)) A for 4x4 results
// [Lavin16, section 4]. Included after gemm_tile_template.h, with its macros, and with TAPS 3 or 2.
// Not a header to include elsewhere.
//
// The points of interpolation are 0, +-5/8, +-3/2 and infinity for three taps, and 0, 1/2, -1, 3/2
// and infinity for two. They are exact in binary and their powers stay near one, so the rounding
// error is a third of that of the usual points 0, +-1, +-2.
//
// Each transform is M x M^T with one of five matrices M. The functions below apply M to a vector
// (1d); the macros further down apply it to the columns and then to the rows of a tile (2d).

#define WINOGRAD_NAME(name) NAME(NAME(name, TAPS), SET)
#define SIDE (TAPS + 3)                                   // of a tile of the input
#define MUL_ADD(k, x, y) FMA((float)(k) - (VEC){0}, x, y) // y + k x

#if TAPS == 3

#define A2 0.390625 // 5/8 squared
#define B2 2.25     // 3/2 squared
#define NA (2 * A2 * (A2 - B2))
#define NB (2 * B2 * (B2 - A2))

// o = B^T d
TARGET static inline ALWAYS void WINOGRAD_NAME(input_1d)(VEC *o, const VEC *d)
{
    const VEC e = MUL_ADD(-B2, d[2], d[4]), f = MUL_ADD(-A2, d[2], d[4]);
    const VEC p = MUL_ADD(-B2, d[1], d[3]), q = MUL_ADD(-A2, d[1], d[3]);
    o[0] = MUL_ADD(A2 * B2, d[0], MUL_ADD(-(A2 + B2), d[2], d[4]));
    o[1] = MUL_ADD(0.625, p, e);
    o[2] = MUL_ADD(-0.625, p, e);
    o[3] = MUL_ADD(1.5, q, f);
    o[4] = MUL_ADD(-1.5, q, f);
    o[5] = MUL_ADD(A2 * B2, d[1], MUL_ADD(-(A2 + B2), d[3], d[5]));
}

// o = A^T m
TARGET static inline ALWAYS void WINOGRAD_NAME(output_1d)(VEC *o, const VEC *m)
{
    const VEC e = m[1] + m[2], f = m[3] + m[4], p = m[1] - m[2], q = m[3] - m[4];
    o[0] = m[0] + (e + f);
    o[1] = MUL_ADD(1.5, q, 0.625f * p);
    o[2] = MUL_ADD(B2, f, (float)A2 * e);
    o[3] = MUL_ADD(1.5 * B2, q, MUL_ADD(0.625 * A2, p, m[5]));
}

// o = A y
TARGET static inline ALWAYS void WINOGRAD_NAME(output_grad_1d)(VEC *o, const VEC *y)
{
    const VEC e = MUL_ADD(A2, y[2], y[0]), f = MUL_ADD(B2, y[2], y[0]);
    const VEC p = MUL_ADD(A2, y[3], y[1]), q = MUL_ADD(B2, y[3], y[1]);
    o[0] = y[0];
    o[1] = MUL_ADD(0.625, p, e);
    o[2] = MUL_ADD(-0.625, p, e);
    o[3] = MUL_ADD(1.5, q, f);
    o[4] = MUL_ADD(-1.5, q, f);
    o[5] = y[3];
}

// o = G g
TARGET static inline ALWAYS void WINOGRAD_NAME(weights_1d)(VEC *o, const VEC *g)
{
    const VEC e = (float)(1 / NA) * MUL_ADD(A2, g[2], g[0]);
    const VEC f = (float)(1 / NB) * MUL_ADD(B2, g[2], g[0]);
    o[0] = (float)(1 / (A2 * B2)) * g[0];
    o[1] = MUL_ADD(0.625 / NA, g[1], e);
    o[2] = MUL_ADD(-0.625 / NA, g[1], e);
    o[3] = MUL_ADD(1.5 / NB, g[1], f);
    o[4] = MUL_ADD(-1.5 / NB, g[1], f);
    o[5] = g[2];
}

// o = G^T u
TARGET static inline ALWAYS void WINOGRAD_NAME(weights_grad_1d)(VEC *o, const VEC *u)
{
    const VEC e = (float)(1 / NA) * (u[1] + u[2]), f = (float)(1 / NB) * (u[3] + u[4]);
    o[0] = MUL_ADD(1 / (A2 * B2), u[0], e + f);
    o[1] = MUL_ADD(0.625 / NA, u[1] - u[2], (float)(1.5 / NB) * (u[3] - u[4]));
    o[2] = MUL_ADD(A2, e, MUL_ADD(B2, f, u[5]));
}

#else

// o = B^T d
TARGET static inline ALWAYS void WINOGRAD_NAME(input_1d)(VEC *o, const VEC *d)
{
    o[0] = MUL_ADD(0.75, d[0], MUL_ADD(-1.25, d[1], d[3] - d[2]));
    o[1] = MUL_ADD(-1.5, d[1], MUL_ADD(-0.5, d[2], d[3]));
    o[2] = MUL_ADD(0.75, d[1], MUL_ADD(-2.0, d[2], d[3]));
    o[3] = MUL_ADD(-0.5, d[1], MUL_ADD(0.5, d[2], d[3]));
    o[4] = MUL_ADD(0.75, d[1], MUL_ADD(-1.25, d[2], d[4] - d[3]));
}

// o = A^T m
TARGET static inline ALWAYS void WINOGRAD_NAME(output_1d)(VEC *o, const VEC *m)
{
    o[0] = (m[0] + m[1]) + (m[2] + m[3]);
    o[1] = MUL_ADD(0.5, m[1], MUL_ADD(1.5, m[3], -m[2]));
    o[2] = MUL_ADD(0.25, m[1], MUL_ADD(2.25, m[3], m[2]));
    o[3] = MUL_ADD(0.125, m[1], MUL_ADD(3.375, m[3], m[4] - m[2]));
}

// o = A y
TARGET static inline ALWAYS void WINOGRAD_NAME(output_grad_1d)(VEC *o, const VEC *y)
{
    o[0] = y[0];
    o[1] = MUL_ADD(0.5, y[1], MUL_ADD(0.25, y[2], MUL_ADD(0.125, y[3], y[0])));
    o[2] = (y[0] - y[1]) + (y[2] - y[3]);
    o[3] = MUL_ADD(1.5, y[1], MUL_ADD(2.25, y[2], MUL_ADD(3.375, y[3], y[0])));
    o[4] = y[3];
}

// o = G g
TARGET static inline ALWAYS void WINOGRAD_NAME(weights_1d)(VEC *o, const VEC *g)
{
    o[0] = (float)(1 / 0.75) * g[0];
    o[1] = (float)(-1 / 0.75) * MUL_ADD(0.5, g[1], g[0]);
    o[2] = (float)(-1 / 3.75) * (g[0] - g[1]);
    o[3] = (float)(1 / 3.75) * MUL_ADD(1.5, g[1], g[0]);
    o[4] = g[1];
}

// o = G^T u
TARGET static inline ALWAYS void WINOGRAD_NAME(weights_grad_1d)(VEC *o, const VEC *u)
{
    const VEC e = (float)(-1 / 0.75) * u[1], f = (float)(-1 / 3.75) * u[2];
    const VEC h = (float)(1 / 3.75) * u[3];
    o[0] = MUL_ADD(1 / 0.75, u[0], e + f + h);
    o[1] = MUL_ADD(0.5, e, MUL_ADD(1.5, h, u[4] - f));
}

#endif

// From n x n to m x m: transforms the columns, one or two rows of the result at a time so that they
// stay in registers, and then those rows. FROM(i) reads row i, column j; PUT(i) writes to[j] to row
// i. The images are not `restrict`, because the compiler would then keep a whole tile in memory.
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
#define INPUT_2D(n, m, step)                                                               \
    ROW(n, m, step, 0, MUL_ADD(A2 *B2, FROM(0), MUL_ADD(-(A2 + B2), FROM(2), FROM(4))))    \
    PAIR(n, m, step, 1, 2, MUL_ADD(-B2, FROM(2), FROM(4)), MUL_ADD(-B2, FROM(1), FROM(3)), \
         MUL_ADD(0.625, o, e), MUL_ADD(-0.625, o, e))                                      \
    PAIR(n, m, step, 3, 4, MUL_ADD(-A2, FROM(2), FROM(4)), MUL_ADD(-A2, FROM(1), FROM(3)), \
         MUL_ADD(1.5, o, e), MUL_ADD(-1.5, o, e))                                          \
    ROW(n, m, step, 5, MUL_ADD(A2 *B2, FROM(1), MUL_ADD(-(A2 + B2), FROM(3), FROM(5))))
#define OUTPUT_2D(n, m, step)                                                                 \
    PAIR(n, m, step, 0, 2, FROM(1) + FROM(2), FROM(3) + FROM(4), FROM(0) + (e + o),           \
         MUL_ADD(B2, o, (float)A2 * e))                                                       \
    PAIR(n, m, step, 1, 3, FROM(1) - FROM(2), FROM(3) - FROM(4), MUL_ADD(1.5, o, 0.625f * e), \
         MUL_ADD(1.5 * B2, o, MUL_ADD(0.625 * A2, e, FROM(5))))
#define OUTPUT_GRAD_2D(n, m, step)                                                       \
    ROW(n, m, step, 0, FROM(0))                                                          \
    PAIR(n, m, step, 1, 2, MUL_ADD(A2, FROM(2), FROM(0)), MUL_ADD(A2, FROM(3), FROM(1)), \
         MUL_ADD(0.625, o, e), MUL_ADD(-0.625, o, e))                                    \
    PAIR(n, m, step, 3, 4, MUL_ADD(B2, FROM(2), FROM(0)), MUL_ADD(B2, FROM(3), FROM(1)), \
         MUL_ADD(1.5, o, e), MUL_ADD(-1.5, o, e))                                        \
    ROW(n, m, step, 5, FROM(3))
#else
#define INPUT_2D(n, m, step)                                                               \
    ROW(n, m, step, 0, MUL_ADD(0.75, FROM(0), MUL_ADD(-1.25, FROM(1), FROM(3) - FROM(2)))) \
    ROW(n, m, step, 1, MUL_ADD(-1.5, FROM(1), MUL_ADD(-0.5, FROM(2), FROM(3))))            \
    PAIR(n, m, step, 2, 3, FROM(2), FROM(1), MUL_ADD(0.75, o, MUL_ADD(-2.0, e, FROM(3))),  \
         MUL_ADD(-0.5, o, MUL_ADD(0.5, e, FROM(3))))                                       \
    ROW(n, m, step, 4, MUL_ADD(0.75, FROM(1), MUL_ADD(-1.25, FROM(2), FROM(4) - FROM(3))))
#define OUTPUT_2D(n, m, step)                                                             \
    PAIR(n, m, step, 0, 1, FROM(1), FROM(3), (FROM(0) + e) + (FROM(2) + o),               \
         MUL_ADD(0.5, e, MUL_ADD(1.5, o, -FROM(2))))                                      \
    PAIR(n, m, step, 2, 3, FROM(1), FROM(3), MUL_ADD(0.25, e, MUL_ADD(2.25, o, FROM(2))), \
         MUL_ADD(0.125, e, MUL_ADD(3.375, o, FROM(4) - FROM(2))))
#define OUTPUT_GRAD_2D(n, m, step)                                                       \
    ROW(n, m, step, 0, FROM(0))                                                          \
    PAIR(n, m, step, 1, 2, FROM(1), FROM(2),                                             \
         MUL_ADD(0.5, e, MUL_ADD(0.25, o, MUL_ADD(0.125, FROM(3), FROM(0)))),            \
         (FROM(0) - e) + (o - FROM(3)))                                                  \
    ROW(n, m, step, 3,                                                                   \
        MUL_ADD(1.5, FROM(1), MUL_ADD(2.25, FROM(2), MUL_ADD(3.375, FROM(3), FROM(0))))) \
    ROW(n, m, step, 4, FROM(3))
#endif

// The same for weights, which are few: the half-transformed tile goes through memory.
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

// Full registers of channels, then the remaining channels.
#define CHANNELS(body)                                                \
    do {                                                              \
        const int left = (int)(job->channels % LANES);                \
        int64_t at = 0;                                               \
        for (; at + LANES <= job->channels; at += LANES) body(false); \
        if (left) body(true);                                         \
    } while (0)

// Hides the distances from the compiler: otherwise it computes all 36 addresses before the loop
// over channels, and then loads each of them from memory.
#define HIDE_DISTANCES __asm__("" : "+r"(row), "+r"(pixel), "+r"(slice))
#define READ(part, p) ((part) ? PART_LOAD(p, left) : LOAD(p))

// V = B^T d B of one tile of SIDE x SIDE pixels. Pixels outside the image count as zero; channels
// are filled up with zeros to a full register. `all`: the whole tile is inside.
#define FROM(i)                                                          \
    (all || (i >= top && i < bottom && j >= left_edge && j < right_edge) \
         ? READ(part_, x + (start + i * row + j * pixel + at))           \
         : (VEC){0})
#define PUT(i) STORE(v + (i * SIDE + j) * slice + at, to[j])
#define BODY(part)                                    \
    do {                                              \
        const bool part_ = part;                      \
        HIDE_DISTANCES;                               \
        INPUT_2D(SIDE, SIDE, WINOGRAD_NAME(input_1d)) \
    } while (0)
TARGET static inline ALWAYS void WINOGRAD_NAME(transform_input_tile)(const bool all, float *v,
                                                                     const float *x,
                                                                     const winograd_tile *job)
{
    int64_t row = job->row, pixel = job->pixel, slice = job->slice;
    const int64_t start = job->start, top = job->top, bottom = job->height;
    const int64_t left_edge = job->left, right_edge = job->width;
    CHANNELS(BODY);
}
TARGET static void WINOGRAD_NAME(transform_input)(float *v, const float *x,
                                                  const winograd_tile *job)
{
    if (!job->top && !job->left && job->height == SIDE && job->width == SIDE)
        WINOGRAD_NAME(transform_input_tile)(true, v, x, job);
    else WINOGRAD_NAME(transform_input_tile)(false, v, x, job);
}
#undef FROM
#undef BODY

// V = A dy A^T, the transpose of the output's transform. Pixels outside the image count as zero.
#define FROM(i)                                                                              \
    (all || (i < job->height && j < job->width) ? READ(part_, dy + i * row + j * pixel + at) \
                                                : (VEC){0})
#define BODY(part)                                             \
    do {                                                       \
        const bool part_ = part;                               \
        HIDE_DISTANCES;                                        \
        OUTPUT_GRAD_2D(4, SIDE, WINOGRAD_NAME(output_grad_1d)) \
    } while (0)
TARGET static inline ALWAYS void WINOGRAD_NAME(transform_output_grad_tile)(const bool all, float *v,
                                                                           const float *dy,
                                                                           const winograd_tile *job)
{
    int64_t row = job->row, pixel = job->pixel, slice = job->slice;
    CHANNELS(BODY);
}
TARGET static void WINOGRAD_NAME(transform_output_grad)(float *v, const float *dy,
                                                        const winograd_tile *job)
{
    if (job->height == 4 && job->width == 4)
        WINOGRAD_NAME(transform_output_grad_tile)(true, v, dy, job);
    else WINOGRAD_NAME(transform_output_grad_tile)(false, v, dy, job);
}
#undef FROM
#undef PUT
#undef BODY

// Adds the bias, applies the leaky ReLU and stores one pixel.
TARGET static inline ALWAYS void WINOGRAD_NAME(store_pixel)(const bool part, float *y, VEC value,
                                                            int left, int64_t at, const float *bias,
                                                            float slope)
{
    if (bias) value += READ(part, bias + at);
    if (slope != 1.0f) value = NAME(leaky_relu, SET)(value, slope);
    if (part) PART_STORE(y + at, value, left);
    else STORE(y + at, value);
}

// y = A^T m A of one tile; pixels outside the image are not stored.
#define FROM(i) LOAD(m + (i * SIDE + j) * slice + at)
#define PUT(i)                                      \
    if (all || (i < job->height && j < job->width)) \
    WINOGRAD_NAME(store_pixel)(part_, y + i * row + j * pixel, to[j], left, at, bias, slope)
#define BODY(part)                                   \
    do {                                             \
        const bool part_ = part;                     \
        HIDE_DISTANCES;                              \
        OUTPUT_2D(SIDE, 4, WINOGRAD_NAME(output_1d)) \
    } while (0)
TARGET static inline ALWAYS void
WINOGRAD_NAME(transform_output_tile)(const bool all, float *y, const float *m, const float *bias,
                                     float slope, const winograd_tile *job)
{
    int64_t row = job->row, pixel = job->pixel, slice = job->slice;
    CHANNELS(BODY);
}
TARGET static void WINOGRAD_NAME(transform_output)(float *y, const float *m,
                                                   const winograd_tile *job)
{
    const bool all = job->height == 4 && job->width == 4;
    if (all && job->bias && job->slope != 1.0f)
        WINOGRAD_NAME(transform_output_tile)(true, y, m, job->bias, job->slope, job);
    else if (all && !job->bias && job->slope == 1.0f)
        WINOGRAD_NAME(transform_output_tile)(true, y, m, NULL, 1.0f, job);
    else WINOGRAD_NAME(transform_output_tile)(false, y, m, job->bias, job->slope, job);
}
#undef FROM
#undef PUT
#undef BODY

// U = G g G^T of one input channel.
#define BODY(part)                                            \
    TWICE(TAPS, SIDE, WINOGRAD_NAME(weights_1d),              \
          READ(part, w + i * job->row + j * job->pixel + at), \
          STORE(u + (i * SIDE + j) * job->slice + at, to[j]))
TARGET static void WINOGRAD_NAME(transform_weights)(float *restrict u, const float *restrict w,
                                                    const winograd_tile *job)
{
    CHANNELS(BODY);
}
#undef BODY

// dw = G^T u G of one input channel.
#define BODY(part)                                                                                \
    TWICE(SIDE, TAPS, WINOGRAD_NAME(weights_grad_1d), LOAD(u + (i * SIDE + j) * job->slice + at), \
          WINOGRAD_NAME(store_pixel)(part, dw + i * job->row + j * job->pixel, to[j], left, at,   \
                                     bias, slope))
TARGET static void WINOGRAD_NAME(transform_weights_grad)(float *restrict dw,
                                                         const float *restrict u,
                                                         const winograd_tile *job)
{
    const float *bias = NULL, slope = 1.0f;
    CHANNELS(BODY);
}
#undef BODY

#undef WINOGRAD_NAME
#undef SIDE
#undef MUL_ADD
#undef TWICE
#undef CHANNELS
#undef READ
#undef HIDE_DISTANCES
#undef ROW
#undef PAIR
#undef INPUT_2D
#undef OUTPUT_2D
#undef OUTPUT_GRAD_2D
#undef A2
#undef B2
#undef NA
#undef NB
#undef TAPS
