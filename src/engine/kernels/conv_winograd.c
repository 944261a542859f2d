// SPDX-License-Identifier: MIT
// Winograd convolutions, a group of tiles at a time. The pixels of the group are transformed into V
// (products, tiles, channels); each of the 36 (or 25) products is a matrix product of V with the
// transformed weights U; its results M are transformed back. A group is so small that V and M stay
// in the second cache. But weights that do not fit there are read again for every group; then
// groups are made larger.
#include "engine/kernels/conv_winograd.h"

#include <string.h>

#include "engine/kernels/conv_direct.h"
#include "engine/kernels/conv_window.h"

enum { TILE = 4, GROUP_STEP = 24, MAX_GROUP = 128 };            // pixels of a side, tiles, tiles
enum { CACHED_FLOATS = 64 << 10, STREAMED_FLOATS = 256 << 10 }; // floats of V; of weights

// An image, or every second row and column of one. Distances are in floats.
typedef struct image_layout {
    int64_t h, w, c;            // pixels inside the image
    int64_t frame, line, pixel; // from one to the next
} image_layout;

// One pass over all frames. The window of result (0, 0) begins at pixel (-top, -left).
typedef struct winograd_plan {
    int taps, side;
    const kernel_set *set;
    const winograd_kernels *kernels;
    image_layout in, out;
    int sources; // 1, or the 4 parities of an image, whose results are added
    int64_t top[4], left[4];
    const float *source[4];
    int64_t tiles_down, tiles_across, tiles; // tiles of a frame, and of all
    int64_t depth;                           // channels of all sources, each up to whole registers
    int64_t group_tiles;                     // tiles
    int64_t slice;                           // floats from product to product of V
} winograd_plan;

static int64_t pad_to_registers(int64_t n, int64_t lanes)
{
    return (n + lanes - 1) / lanes * lanes;
}

// Tiles per group, at most all of them.
static void set_group(winograd_plan *plan, int64_t group)
{
    plan->group_tiles = conv_window_min(group, plan->tiles);
    // Not a power of two, so that the products do not compete for the same cache lines.
    plan->slice = plan->group_tiles * plan->depth + 16;
}

// F(4x4, 3x3) has 36 products per tile, F(4x4, 2x2) has 25 [Lavin16]. V of a group should fit in
// CACHED_FLOATS.
static winograd_plan make_plan(int taps, const image_layout *in, const image_layout *out,
                               int sources, int64_t frames, const kernel_set *set)
{
    winograd_plan plan = {.taps = taps, .side = taps + 3, .set = set, .in = *in, .out = *out};
    plan.kernels = taps == 3 ? &set->winograd3 : &set->winograd2;
    plan.sources = sources;
    plan.tiles_down = (out->h + TILE - 1) / TILE;
    plan.tiles_across = (out->w + TILE - 1) / TILE;
    plan.depth = sources * pad_to_registers(in->c, set->lanes);
    plan.tiles = frames * plan.tiles_down * plan.tiles_across;
    set_group(&plan,
              conv_window_max(GROUP_STEP, CACHED_FLOATS / (plan.side * plan.side * plan.depth) /
                                              GROUP_STEP * GROUP_STEP));
    return plan;
}

// Larger groups if the weights do not fit in the cache.
static winograd_plan enlarge_groups(winograd_plan plan)
{
    if (plan.side * plan.side * plan.depth * plan.out.c < STREAMED_FLOATS) return plan;
    const int64_t groups = (plan.tiles + MAX_GROUP - 1) / MAX_GROUP;
    set_group(&plan, (plan.tiles + groups - 1) / groups);
    return plan;
}

typedef struct tile_position {
    int64_t frame, row, column; // of the tile's first result
} tile_position;

// Tiles are numbered frame by frame, row by row.
static tile_position find_tile(const winograd_plan *plan, int64_t tile)
{
    const int64_t frame = tile / (plan->tiles_down * plan->tiles_across),
                  rest = tile % (plan->tiles_down * plan->tiles_across);
    return (tile_position){frame, rest / plan->tiles_across * TILE,
                           rest % plan->tiles_across * TILE};
}

// V = B^T x B of `count` tiles from `first` on.
static void transform_input(float *v, const winograd_plan *plan, int64_t first, int64_t count)
{
    winograd_tile job = {.row = plan->in.line,
                         .pixel = plan->in.pixel,
                         .slice = plan->slice,
                         .channels = plan->in.c};
    for (int64_t t = 0; t < count; t++) {
        const tile_position at = find_tile(plan, first + t);
        for (int s = 0; s < plan->sources; s++) {
            const int64_t row = at.row - plan->top[s], column = at.column - plan->left[s];
            // Pixels outside the image count as zero.
            job.top = conv_window_max(0, -row), job.left = conv_window_max(0, -column);
            job.height = conv_window_min(plan->side, plan->in.h - row);
            job.width = conv_window_min(plan->side, plan->in.w - column);
            job.start = row * plan->in.line + column * plan->in.pixel;
            plan->kernels->transform_input(v + t * plan->depth + s * (plan->depth / plan->sources),
                                           plan->source[s] + at.frame * plan->in.frame, &job);
        }
    }
}

// out = A^T M A of `count` tiles from `first` on; `wide` floats of M per tile.
static void transform_output(float *out, const float *m, int64_t wide, winograd_tile job,
                             const winograd_plan *plan, int64_t first, int64_t count)
{
    job.row = plan->out.line, job.pixel = plan->out.pixel;
    for (int64_t t = 0; t < count; t++) {
        const tile_position at = find_tile(plan, first + t);
        job.height = conv_window_min(TILE, plan->out.h - at.row);
        job.width = conv_window_min(TILE, plan->out.w - at.column);
        plan->kernels->transform_output(out + at.frame * plan->out.frame + at.row * plan->out.line +
                                            at.column * plan->out.pixel,
                                        m + t * wide, &job);
    }
}

// U = G w G^T (panel of results, product, depth, 2 registers) of `sources` kernels (taps, taps, c,
// k) that lie `kernel` floats apart.
static void transform_weights(float *u, const float *w, int64_t kernel, const winograd_plan *plan)
{
    const int64_t c = plan->in.c, k = plan->out.c, wide = 2 * plan->set->lanes,
                  each = plan->depth / plan->sources;
    winograd_tile job = {.row = plan->taps * c * k, .pixel = c * k, .slice = plan->depth * wide};
    for (int64_t at = 0; at < k; at += wide, u += plan->side * plan->side * plan->depth * wide) {
        job.channels = conv_window_min(wide, k - at);
        for (int s = 0; s < plan->sources; s++)
            for (int64_t i = 0; i < c; i++)
                plan->kernels->transform_weights(u + (s * each + i) * wide,
                                                 w + s * kernel + i * k + at, &job);
        for (int q = 0; q < plan->side * plan->side; q++) // V is zero there, and U must not be NaN
            for (int s = 0; s < plan->sources && each > c; s++)
                memset(u + (q * plan->depth + s * each + c) * wide, 0,
                       (size_t)((each - c) * wide) * sizeof *u);
    }
}

static int64_t packed_weights_size(const winograd_plan *plan)
{
    const int64_t wide = 2 * plan->set->lanes;
    return plan->side * plan->side * plan->depth * pad_to_registers(plan->out.c, wide);
}

// Floats of M from product to product.
static int64_t output_slice(const winograd_plan *plan)
{
    return plan->group_tiles * 2 * plan->set->lanes + 16;
}

// Floats of V and M.
static int64_t group_scratch(const winograd_plan *plan)
{
    return plan->side * plan->side * (plan->slice + output_slice(plan));
}

// out = leaky(sum over sources of the convolution + bias), for all frames.
static void run_plan(float *out, const float *u, const float *bias, float slope,
                     const winograd_plan *plan, float *scratch)
{
    const int64_t products = plan->side * plan->side, wide = 2 * plan->set->lanes,
                  slice = output_slice(plan);
    float *v = scratch, *m = v + products * plan->slice;
    gemm_tile job = {.runs = 1,
                     .length = plan->sources == 1 ? plan->in.c : plan->depth,
                     .a_step = 1,
                     .b_step = wide,
                     .a_row = plan->depth,
                     .c_row = wide,
                     .slope = 1.0f};
    for (int64_t first = 0; first < plan->tiles; first += plan->group_tiles) {
        const int64_t count = conv_window_min(plan->group_tiles, plan->tiles - first);
        transform_input(v, plan, first, count);
        // M = V U, two registers of output channels at a time, and back to pixels.
        job.rows = job.line = count;
        for (int64_t at = 0; at < plan->out.c; at += wide) {
            const int64_t columns = conv_window_min(wide, plan->out.c - at);
            const float *panel = u + at * products * plan->depth;
            job.columns = pad_to_registers(columns, plan->set->lanes);
            for (int64_t q = 0; q < products; q++)
                plan->set->gemm(m + q * slice, v + q * plan->slice, panel + q * plan->depth * wide,
                                &job);
            const winograd_tile back = {.slice = slice,
                                        .channels = columns,
                                        .bias = bias ? bias + at : NULL,
                                        .slope = slope};
            transform_output(out + at, m, wide, back, plan, first, count);
        }
    }
}

// Frames (h, w, c) without gaps.
static image_layout make_image(int64_t h, int64_t w, int64_t c)
{
    return (image_layout){h, w, c, h * w * c, w * c, c};
}

// Every second row and column.
static image_layout make_strided_image(int64_t h, int64_t w, int64_t c)
{
    return (image_layout){h / 2, w / 2, c, h * w * c, 2 * w * c, 2 * c};
}

// ---- plans: which image is read, which is written ----

static winograd_plan plan_forward(const conv_geometry *conv)
{
    const image_layout in = make_image(conv->h, conv->w, conv->c),
                       out = make_image(conv->oh, conv->ow, conv->k);
    winograd_plan plan = make_plan(3, &in, &out, 1, conv->n, kernel_set_for(conv->k));
    plan.top[0] = conv->top, plan.left[0] = conv->left;
    return plan;
}

// The gradient by the input is a convolution of dy with the weights flipped and transposed.
static winograd_plan plan_grad_input(const conv_geometry *conv)
{
    const image_layout in = make_image(conv->oh, conv->ow, conv->k),
                       out = make_image(conv->h, conv->w, conv->c);
    winograd_plan plan = make_plan(3, &in, &out, 1, conv->n, kernel_set_for(conv->c));
    plan.top[0] = 2 - conv->top, plan.left[0] = 2 - conv->left;
    return plan;
}

// Packed weights and the pass that uses them must have the same plan.
static winograd_plan plan_pass(const conv_geometry *conv, conv_pass pass)
{
    return enlarge_groups(pass == CONV_PASS_FORWARD ? plan_forward(conv) : plan_grad_input(conv));
}

int64_t conv_winograd_packed_size(const conv_geometry *conv, conv_pass pass)
{
    const winograd_plan plan = plan_pass(conv, pass);
    return packed_weights_size(&plan);
}

// (taps, taps, c, k) to (taps, taps, k, c), with the taps in reverse order.
static void transpose_weights(float *restrict to, const float *restrict w, int64_t taps, int64_t c,
                              int64_t k)
{
    for (int64_t t = 0; t < taps * taps; t++)
        conv_window_transpose(to + t * c * k, c, w + (taps * taps - 1 - t) * c * k, k, c, k);
}

void conv_winograd_pack_weights(float *restrict packed, const float *restrict w,
                                const conv_geometry *conv, conv_pass pass, float *scratch)
{
    const winograd_plan plan = plan_pass(conv, pass);
    if (pass == CONV_PASS_GRAD_INPUT) transpose_weights(scratch, w, 3, conv->c, conv->k);
    transform_weights(packed, pass == CONV_PASS_GRAD_INPUT ? scratch : w, 0, &plan);
}

void conv_winograd_forward(float *restrict y, const float *restrict x, const float *restrict packed,
                           const float *restrict bias, float slope, const conv_geometry *conv,
                           float *scratch)
{
    winograd_plan plan = plan_pass(conv, CONV_PASS_FORWARD);
    plan.source[0] = x;
    run_plan(y, packed, bias, slope, &plan, scratch);
}

void conv_winograd_grad_input(float *restrict dx, const float *restrict dy,
                              const float *restrict packed, const conv_geometry *conv,
                              float *scratch)
{
    winograd_plan plan = plan_pass(conv, CONV_PASS_GRAD_INPUT);
    plan.source[0] = dy;
    run_plan(dx, packed, NULL, 1.0f, &plan, scratch);
}

// dU (product, c, k) = sum over tiles of V^T E, with V = B^T x B and E = A dy A^T.
static void run_weights_plan(float *du, const float *dy, const winograd_plan *plan, float *scratch)
{
    const int64_t products = plan->side * plan->side;
    // E (product, tile, columns) of a group, beside V.
    const int64_t columns = pad_to_registers(plan->out.c, plan->set->lanes),
                  slice = plan->group_tiles * columns + 16;
    const int64_t wide = 2 * plan->set->lanes;
    float *v = scratch, *e = v + products * plan->slice;
    gemm_tile job = {.runs = 1,
                     .a_step = plan->depth,
                     .b_step = columns,
                     .rows = plan->in.c,
                     .line = plan->in.c,
                     .a_row = 1,
                     .c_row = columns,
                     .slope = 1.0f};
    for (int64_t first = 0; first < plan->tiles; first += plan->group_tiles) {
        const int64_t count = conv_window_min(plan->group_tiles, plan->tiles - first);
        transform_input(v, plan, first, count);
        winograd_tile grad_tile = {.row = plan->out.line,
                                   .pixel = plan->out.pixel,
                                   .slice = slice,
                                   .channels = plan->out.c};
        for (int64_t t = 0; t < count; t++) {
            const tile_position at = find_tile(plan, first + t);
            grad_tile.height = conv_window_min(TILE, plan->out.h - at.row);
            grad_tile.width = conv_window_min(TILE, plan->out.w - at.column);
            plan->kernels->transform_output_grad(e + t * columns,
                                                 dy + at.frame * plan->out.frame +
                                                     at.row * plan->out.line +
                                                     at.column * plan->out.pixel,
                                                 &grad_tile);
        }
        // dU += V^T E for each product.
        job.length = count;
        job.accumulate = first > 0;
        for (int64_t q = 0; q < products; q++)
            for (int64_t at = 0; at < columns; at += wide) {
                job.columns = conv_window_min(wide, columns - at);
                plan->set->gemm_at(du + q * plan->in.c * columns + at, v + q * plan->slice,
                                   e + q * slice + at, &job);
            }
    }
}

static int64_t weights_plan_scratch(const winograd_plan *plan)
{
    const int64_t columns = pad_to_registers(plan->out.c, plan->set->lanes);
    return plan->side * plan->side *
           (plan->in.c * columns + plan->slice + plan->group_tiles * columns + 16);
}

// dw = G^T dU G, one input channel at a time.
static void untransform_weights(float *dw, const float *du, const winograd_plan *plan)
{
    const int64_t c = plan->in.c, k = plan->out.c, columns = pad_to_registers(k, plan->set->lanes);
    const winograd_tile job = {.row = plan->taps * c * k,
                               .pixel = c * k,
                               .slice = c * columns,
                               .channels = k,
                               .slope = 1.0f};
    for (int64_t i = 0; i < c; i++)
        plan->kernels->transform_weights_grad(dw + i * k, du + i * columns, &job);
}

void conv_winograd_grad_weights(float *restrict dw, const float *restrict x,
                                const float *restrict dy, bool accumulate,
                                const conv_geometry *conv, float *scratch)
{
    // du (36, c, columns), then V and E in scratch. With `accumulate` dw is computed aside and
    // added.
    winograd_plan plan = plan_forward(conv);
    const int64_t size = 9 * conv->c * conv->k;
    float *du = scratch + size;
    plan.source[0] = x;
    run_weights_plan(du, dy, &plan,
                     du + plan.side * plan.side * conv->c *
                              pad_to_registers(conv->k, plan.set->lanes));
    untransform_weights(accumulate ? scratch : dw, du, &plan);
    for (int64_t i = 0; i < (accumulate ? size : 0); i++) dw[i] += scratch[i];
}

int64_t conv_winograd_scratch(const conv_geometry *conv)
{
    const winograd_plan forward = plan_pass(conv, CONV_PASS_FORWARD),
                        grad_input = plan_pass(conv, CONV_PASS_GRAD_INPUT);
    const winograd_plan weights = plan_forward(conv);
    const int64_t scratch_size =
        conv_window_max(packed_weights_size(&forward) + group_scratch(&forward),
                        packed_weights_size(&grad_input) + group_scratch(&grad_input));
    return 9 * conv->c * conv->k + conv_window_max(scratch_size, weights_plan_scratch(&weights));
}

// ---- after upsampling: one 2x2 convolution for each parity of rows and columns ----

// Reads x, writes every second row and column of y.
static winograd_plan plan_upsample_forward(const conv_geometry *conv)
{
    const image_layout in = make_image(conv->h / 2, conv->w / 2, conv->c),
                       out = make_strided_image(conv->h, conv->w, conv->k);
    return make_plan(2, &in, &out, 1, conv->n, kernel_set_for(conv->k));
}

// The parities of dy are four images of half the size.
static winograd_plan plan_upsample_grad_input(const conv_geometry *conv)
{
    const image_layout in = make_strided_image(conv->h, conv->w, conv->k),
                       out = make_image(conv->h / 2, conv->w / 2, conv->c);
    return make_plan(2, &in, &out, 4, conv->n, kernel_set_for(conv->c));
}

void conv_winograd_upsample_forward(float *restrict y, const float *restrict x,
                                    const float *restrict w, const float *restrict bias,
                                    float slope, const conv_geometry *conv, float *scratch)
{
    winograd_plan plan = plan_upsample_forward(conv);
    const int64_t size = conv->c * conv->k;
    float *u = scratch + 16 * size;
    conv_direct_upsample_parities(scratch, w, size);
    for (int q = 0; q < 4; q++) {
        const int row = q >> 1, column = q & 1;
        plan.source[0] = x;
        plan.top[0] = 1 - row, plan.left[0] = 1 - column;
        transform_weights(u, scratch + q * 4 * size, 0, &plan);
        run_plan(y + (row * conv->w + column) * conv->k, u, bias, slope, &plan,
                 u + packed_weights_size(&plan));
    }
}

void conv_winograd_upsample_grad_input(float *restrict dx, const float *restrict dy,
                                       const float *restrict w, const conv_geometry *conv,
                                       float *scratch)
{
    winograd_plan plan = plan_upsample_grad_input(conv);
    const int64_t size = conv->c * conv->k;
    float *transposed = scratch + 16 * size, *u = transposed + 16 * size;
    conv_direct_upsample_parities(scratch, w, size);
    // The four parities of dy are four sources, whose results are added.
    for (int q = 0; q < 4; q++) {
        const int row = q >> 1, column = q & 1;
        plan.source[q] = dy + (row * conv->w + column) * conv->k;
        plan.top[q] = row, plan.left[q] = column;
        transpose_weights(transposed + q * 4 * size, scratch + q * 4 * size, 2, conv->c, conv->k);
    }
    transform_weights(u, transposed, 4 * size, &plan);
    run_plan(dx, u, NULL, 1.0f, &plan, u + packed_weights_size(&plan));
}

void conv_winograd_upsample_grad_weights(float *restrict dw, const float *restrict x,
                                         const float *restrict dy, bool accumulate,
                                         const conv_geometry *conv, float *scratch)
{
    winograd_plan plan = plan_upsample_forward(conv);
    const int64_t size = conv->c * conv->k;
    float *du = scratch + 16 * size;
    for (int q = 0; q < 4; q++) {
        const int row = q >> 1, column = q & 1;
        plan.source[0] = x;
        plan.top[0] = 1 - row, plan.left[0] = 1 - column;
        run_weights_plan(du, dy + (row * conv->w + column) * conv->k, &plan,
                         du + plan.side * plan.side * conv->c *
                                  pad_to_registers(conv->k, plan.set->lanes));
        untransform_weights(scratch + q * 4 * size, du, &plan);
    }
    if (!accumulate) memset(dw, 0, (size_t)(9 * size) * sizeof *dw);
    // From gradients of the parities' taps to those of the nine taps.
    conv_direct_upsample_fold(dw, scratch, size);
}

int64_t conv_winograd_upsample_scratch(const conv_geometry *conv)
{
    const winograd_plan forward = plan_upsample_forward(conv),
                        grad_input = plan_upsample_grad_input(conv);
    const int64_t scratch_size =
        conv_window_max(packed_weights_size(&forward) + group_scratch(&forward),
                        packed_weights_size(&grad_input) + group_scratch(&grad_input));
    return 32 * conv->c * conv->k + conv_window_max(scratch_size, weights_plan_scratch(&forward));
}
