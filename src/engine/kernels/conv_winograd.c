// SPDX-License-Identifier: MIT
// A group of tiles at a time: their pixels are transformed into V [products][tiles][channels], each
// of the 36 (or 25) products is a product of matrices, and its results M are transformed back. A
// group is so small that V and M stay in the second cache; but where the weights do not fit there
// and are read anew for every group, groups are few.
#include "engine/kernels/conv_winograd.h"

#include <string.h>

#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_window.h"

enum { TILE = 4, MANY = 24, MOST = 128 };         // pixels of a side, tiles, tiles
enum { CACHED = 64 << 10, STREAMED = 256 << 10 }; // floats of V; of weights

// A picture, or every second row and column of one.
typedef struct picture {
    int64_t h, w, c;            // pixels that are there
    int64_t frame, line, pixel; // distances
} picture;

// One pass over all frames: results (h, w) from windows that begin `top` and `left` before them.
typedef struct pass {
    int taps, side;
    const kernel_set *set;
    const winograd_kernels *wino;
    picture in, out;
    int sources; // 1, or the 4 parities of a picture, whose results are summed
    int64_t top[4], left[4];
    const float *from[4];
    int64_t down, across, tiles; // tiles of a frame, and of all
    int64_t depth;               // channels of all sources, each up to whole registers
    int64_t group;               // tiles
    int64_t slice;               // floats from product to product of V
} pass;

static int64_t padded(int64_t n, int64_t lanes)
{
    return (n + lanes - 1) / lanes * lanes;
}

static void group_by(pass *p, int64_t group)
{
    p->group = conv_window_min(group, p->tiles);
    // Away from powers of two, so that the products do not fight over places in the cache.
    p->slice = p->group * p->depth + 16;
}

static pass pass_make(int taps, const picture *in, const picture *out, int sources, int64_t frames,
                      const kernel_set *set)
{
    pass p = {.taps = taps, .side = taps + 3, .set = set, .in = *in, .out = *out};
    p.wino = taps == 3 ? &set->wino3 : &set->wino2;
    p.sources = sources;
    p.down = (out->h + TILE - 1) / TILE;
    p.across = (out->w + TILE - 1) / TILE;
    p.depth = sources * padded(in->c, set->lanes);
    p.tiles = frames * p.down * p.across;
    group_by(&p, conv_window_max(MANY, CACHED / (p.side * p.side * p.depth) / MANY * MANY));
    return p;
}

// A pass that reads weights.
static pass widened(pass p)
{
    if (p.side * p.side * p.depth * p.out.c < STREAMED) return p;
    const int64_t groups = (p.tiles + MOST - 1) / MOST;
    group_by(&p, (p.tiles + groups - 1) / groups);
    return p;
}

typedef struct spot {
    int64_t frame, row, column; // of the tile's first result
} spot;

static spot spot_of(const pass *p, int64_t tile)
{
    const int64_t frame = tile / (p->down * p->across), rest = tile % (p->down * p->across);
    return (spot){frame, rest / p->across * TILE, rest % p->across * TILE};
}

// V of `count` tiles from `first` on.
static void transform_input(float *v, const pass *p, int64_t first, int64_t count)
{
    winograd_tile job = {
        .row = p->in.line, .pixel = p->in.pixel, .slice = p->slice, .channels = p->in.c};
    for (int64_t t = 0; t < count; t++) {
        const spot at = spot_of(p, first + t);
        for (int s = 0; s < p->sources; s++) {
            const int64_t row = at.row - p->top[s], column = at.column - p->left[s];
            job.top = conv_window_max(0, -row), job.left = conv_window_max(0, -column);
            job.height = conv_window_min(p->side, p->in.h - row);
            job.width = conv_window_min(p->side, p->in.w - column);
            job.start = row * p->in.line + column * p->in.pixel;
            p->wino->input(v + t * p->depth + s * (p->depth / p->sources),
                           p->from[s] + at.frame * p->in.frame, &job);
        }
    }
}

static void transform_output(float *out, const float *m, int64_t slice, int64_t wide,
                             winograd_tile job, const pass *p, int64_t first, int64_t count)
{
    job.row = p->out.line, job.pixel = p->out.pixel, job.slice = slice;
    for (int64_t t = 0; t < count; t++) {
        const spot at = spot_of(p, first + t);
        job.height = conv_window_min(TILE, p->out.h - at.row);
        job.width = conv_window_min(TILE, p->out.w - at.column);
        p->wino->output(out + at.frame * p->out.frame + at.row * p->out.line +
                            at.column * p->out.pixel,
                        m + t * wide, &job);
    }
}

// Transformed weights U [panel of results][product][depth][2 registers], of `sources` kernels
// [taps][taps][c][k] that lie `kernel` floats apart.
static void transform_weights(float *u, const float *w, int64_t kernel, const pass *p)
{
    const int64_t c = p->in.c, k = p->out.c, wide = 2 * p->set->lanes, each = p->depth / p->sources;
    winograd_tile job = {.row = p->taps * c * k, .pixel = c * k, .slice = p->depth * wide};
    for (int64_t at = 0; at < k; at += wide, u += p->side * p->side * p->depth * wide) {
        job.channels = conv_window_min(wide, k - at);
        for (int s = 0; s < p->sources; s++)
            for (int64_t i = 0; i < c; i++)
                p->wino->weights(u + (s * each + i) * wide, w + s * kernel + i * k + at, &job);
        for (int q = 0; q < p->side * p->side; q++) // V is zero there, and U must not be NaN
            for (int s = 0; s < p->sources && each > c; s++)
                memset(u + (q * p->depth + s * each + c) * wide, 0,
                       (size_t)((each - c) * wide) * sizeof *u);
    }
}

static int64_t u_size(const pass *p)
{
    const int64_t wide = 2 * p->set->lanes;
    return p->side * p->side * p->depth * padded(p->out.c, wide);
}

static int64_t m_slice(const pass *p)
{
    return p->group * 2 * p->set->lanes + 16;
}

// V and M.
static int64_t group_size(const pass *p)
{
    return p->side * p->side * (p->slice + m_slice(p));
}

static void pass_run(float *out, const float *u, const float *bias, float slope, const pass *p,
                     float *scratch)
{
    const int64_t products = p->side * p->side, wide = 2 * p->set->lanes, slice = m_slice(p);
    float *v = scratch, *m = v + products * p->slice;
    gemm_tile job = {.runs = 1,
                     .length = p->sources == 1 ? p->in.c : p->depth,
                     .a_step = 1,
                     .b_step = wide,
                     .a_row = p->depth,
                     .c_row = wide,
                     .slope = 1.0f};
    for (int64_t first = 0; first < p->tiles; first += p->group) {
        const int64_t count = conv_window_min(p->group, p->tiles - first);
        transform_input(v, p, first, count);
        job.rows = job.line = count;
        for (int64_t at = 0; at < p->out.c; at += wide) {
            const int64_t columns = conv_window_min(wide, p->out.c - at);
            const float *panel = u + at * products * p->depth;
            job.columns = padded(columns, p->set->lanes);
            for (int64_t q = 0; q < products; q++)
                p->set->outer(m + q * slice, v + q * p->slice, panel + q * p->depth * wide, &job);
            const winograd_tile back = {
                .channels = columns, .bias = bias ? bias + at : NULL, .slope = slope};
            transform_output(out + at, m, slice, wide, back, p, first, count);
        }
    }
}

static picture picture_of(int64_t h, int64_t w, int64_t c)
{
    return (picture){h, w, c, h * w * c, w * c, c};
}

// Every second row and column.
static picture halves_of(int64_t h, int64_t w, int64_t c)
{
    return (picture){h / 2, w / 2, c, h * w * c, 2 * w * c, 2 * c};
}

static pass forward_pass(const conv_geometry *g)
{
    const picture in = picture_of(g->h, g->w, g->c), out = picture_of(g->oh, g->ow, g->k);
    pass p = pass_make(3, &in, &out, 1, g->n, kernel_set_for(g->k));
    p.top[0] = g->top, p.left[0] = g->left;
    return p;
}

static pass data_pass(const conv_geometry *g)
{
    const picture in = picture_of(g->oh, g->ow, g->k), out = picture_of(g->h, g->w, g->c);
    pass p = pass_make(3, &in, &out, 1, g->n, kernel_set_for(g->c));
    p.top[0] = 2 - g->top, p.left[0] = 2 - g->left;
    return p;
}

static pass reading_pass(const conv_geometry *g, conv_pass way)
{
    return widened(way == CONV_PASS_FORWARD ? forward_pass(g) : data_pass(g));
}

int64_t conv_winograd_packed_size(const conv_geometry *g, conv_pass way)
{
    const pass p = reading_pass(g, way);
    return u_size(&p);
}

// [taps][taps][c][k] to [taps][taps][k][c], taps in reverse.
static void turn(float *restrict to, const float *restrict w, int64_t taps, int64_t c, int64_t k)
{
    for (int64_t t = 0; t < taps * taps; t++)
        conv_window_transpose(to + t * c * k, c, w + (taps * taps - 1 - t) * c * k, k, c, k);
}

void conv_winograd_pack_weights(float *restrict ready, const float *restrict w,
                                const conv_geometry *g, conv_pass way, float *scratch)
{
    const pass p = reading_pass(g, way);
    if (way == CONV_PASS_GRAD_INPUT) turn(scratch, w, 3, g->c, g->k);
    transform_weights(ready, way == CONV_PASS_GRAD_INPUT ? scratch : w, 0, &p);
}

void conv_winograd_forward(float *restrict y, const float *restrict x, const float *restrict ready,
                           const float *restrict bias, float slope, const conv_geometry *g,
                           float *scratch)
{
    pass p = reading_pass(g, CONV_PASS_FORWARD);
    p.from[0] = x;
    pass_run(y, ready, bias, slope, &p, scratch);
}

void conv_winograd_grad_input(float *restrict dx, const float *restrict dy,
                              const float *restrict ready, const conv_geometry *g, float *scratch)
{
    pass p = reading_pass(g, CONV_PASS_GRAD_INPUT);
    p.from[0] = dy;
    pass_run(dx, ready, NULL, 1.0f, &p, scratch);
}

// dU [product][c][k] = sum over tiles of V of x and, transformed by the output's transpose, of dy.
static void pass_weights(float *du, const float *dy, const pass *p, float *scratch)
{
    const int64_t products = p->side * p->side;
    const int64_t columns = padded(p->out.c, p->set->lanes), slice = p->group * columns + 16;
    const int64_t wide = 2 * p->set->lanes;
    float *v = scratch, *e = v + products * p->slice;
    gemm_tile job = {.runs = 1,
                     .a_step = p->depth,
                     .b_step = columns,
                     .rows = p->in.c,
                     .line = p->in.c,
                     .a_row = 1,
                     .c_row = columns,
                     .slope = 1.0f};
    for (int64_t first = 0; first < p->tiles; first += p->group) {
        const int64_t count = conv_window_min(p->group, p->tiles - first);
        transform_input(v, p, first, count);
        winograd_tile spread = {
            .row = p->out.line, .pixel = p->out.pixel, .slice = slice, .channels = p->out.c};
        for (int64_t t = 0; t < count; t++) {
            const spot at = spot_of(p, first + t);
            spread.height = conv_window_min(TILE, p->out.h - at.row);
            spread.width = conv_window_min(TILE, p->out.w - at.column);
            p->wino->spread(e + t * columns,
                            dy + at.frame * p->out.frame + at.row * p->out.line +
                                at.column * p->out.pixel,
                            &spread);
        }
        job.length = count;
        job.accumulate = first > 0;
        for (int64_t q = 0; q < products; q++)
            for (int64_t at = 0; at < columns; at += wide) {
                job.columns = conv_window_min(wide, columns - at);
                p->set->across(du + q * p->in.c * columns + at, v + q * p->slice,
                               e + q * slice + at, &job);
            }
    }
}

static int64_t weights_size(const pass *p)
{
    const int64_t columns = padded(p->out.c, p->set->lanes);
    return p->side * p->side * (p->in.c * columns + p->slice + p->group * columns + 16);
}

// dw = G^T dU G, one input channel at a time.
static void gather_weights(float *dw, const float *du, const pass *p)
{
    const int64_t c = p->in.c, k = p->out.c, columns = padded(k, p->set->lanes);
    const winograd_tile job = {
        .row = p->taps * c * k, .pixel = c * k, .slice = c * columns, .channels = k, .slope = 1.0f};
    for (int64_t i = 0; i < c; i++) p->wino->gather(dw + i * k, du + i * columns, &job);
}

void conv_winograd_grad_weights(float *restrict dw, const float *restrict x,
                                const float *restrict dy, bool accumulate, const conv_geometry *g,
                                float *scratch)
{
    pass p = forward_pass(g);
    const int64_t size = 9 * g->c * g->k;
    float *du = scratch + size;
    p.from[0] = x;
    pass_weights(du, dy, &p, du + p.side * p.side * g->c * padded(g->k, p.set->lanes));
    gather_weights(accumulate ? scratch : dw, du, &p);
    for (int64_t i = 0; i < (accumulate ? size : 0); i++) dw[i] += scratch[i];
}

int64_t conv_winograd_scratch(const conv_geometry *g)
{
    const pass forward = reading_pass(g, CONV_PASS_FORWARD),
               data = reading_pass(g, CONV_PASS_GRAD_INPUT);
    const pass weights = forward_pass(g);
    const int64_t most =
        conv_window_max(u_size(&forward) + group_size(&forward), u_size(&data) + group_size(&data));
    return 9 * g->c * g->k + conv_window_max(most, weights_size(&weights));
}

static pass up_forward_pass(const conv_geometry *g)
{
    const picture in = picture_of(g->h / 2, g->w / 2, g->c), out = halves_of(g->h, g->w, g->k);
    return pass_make(2, &in, &out, 1, g->n, kernel_set_for(g->k));
}

static pass up_data_pass(const conv_geometry *g)
{
    const picture in = halves_of(g->h, g->w, g->k), out = picture_of(g->h / 2, g->w / 2, g->c);
    return pass_make(2, &in, &out, 4, g->n, kernel_set_for(g->c));
}

void conv_winograd_upsample_forward(float *restrict y, const float *restrict x,
                                    const float *restrict w, const float *restrict bias,
                                    float slope, const conv_geometry *g, float *scratch)
{
    pass p = up_forward_pass(g);
    const int64_t size = g->c * g->k;
    float *u = scratch + 16 * size;
    conv_direct_upsample_parities(scratch, w, size);
    for (int q = 0; q < 4; q++) {
        const int row = q >> 1, column = q & 1;
        p.from[0] = x;
        p.top[0] = 1 - row, p.left[0] = 1 - column;
        transform_weights(u, scratch + q * 4 * size, 0, &p);
        pass_run(y + (row * g->w + column) * g->k, u, bias, slope, &p, u + u_size(&p));
    }
}

void conv_winograd_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                       const float *restrict w, const conv_geometry *g,
                                       float *scratch)
{
    pass p = up_data_pass(g);
    const int64_t size = g->c * g->k;
    float *turned = scratch + 16 * size, *u = turned + 16 * size;
    conv_direct_upsample_parities(scratch, w, size);
    for (int q = 0; q < 4; q++) {
        const int row = q >> 1, column = q & 1;
        p.from[q] = dy + (row * g->w + column) * g->k;
        p.top[q] = row, p.left[q] = column;
        turn(turned + q * 4 * size, scratch + q * 4 * size, 2, g->c, g->k);
    }
    transform_weights(u, turned, 4 * size, &p);
    pass_run(dx, u, NULL, 1.0f, &p, u + u_size(&p));
}

void conv_winograd_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                         const float *restrict dy, bool accumulate,
                                         const conv_geometry *g, float *scratch)
{
    pass p = up_forward_pass(g);
    const int64_t size = g->c * g->k;
    float *du = scratch + 16 * size;
    for (int q = 0; q < 4; q++) {
        const int row = q >> 1, column = q & 1;
        p.from[0] = x;
        p.top[0] = 1 - row, p.left[0] = 1 - column;
        pass_weights(du, dy + (row * g->w + column) * g->k, &p,
                     du + p.side * p.side * g->c * padded(g->k, p.set->lanes));
        gather_weights(scratch + q * 4 * size, du, &p);
    }
    if (!accumulate) memset(dw, 0, (size_t)(9 * size) * sizeof *dw);
    conv_direct_upsample_fold(dw, scratch, size);
}

int64_t conv_winograd_upsample_scratch(const conv_geometry *g)
{
    const pass forward = up_forward_pass(g), data = up_data_pass(g);
    const int64_t most =
        conv_window_max(u_size(&forward) + group_size(&forward), u_size(&data) + group_size(&data));
    return 32 * g->c * g->k + conv_window_max(most, weights_size(&forward));
}
