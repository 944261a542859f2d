// SPDX-License-Identifier: MIT
// oneDNN's direct convolutions and product, where it is installed: NHWC in and out, weights in the
// layout it likes best, packed outside the time, bias and leaky ReLU fused.
#ifndef BENCH_KERNELS_PEER_H
#define BENCH_KERNELS_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/kernels/conv.h"

#if __has_include(<oneapi/dnnl/dnnl.h>) && !defined(NO_PEER)
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

static dnnl_engine_t peer_engine;
static dnnl_stream_t peer_stream;
static dnnl_primitive_t peer_primitive[3];
static dnnl_exec_arg_t peer_args[3][4];

static const char *peer_version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    __builtin_snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static void peer_product(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k,
                         bool ta, bool tb)
{
    dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0f, a, ta ? m : k, b, tb ? k : n, 0.0f, c,
               n);
}

static dnnl_memory_t peer_memory(const_dnnl_primitive_desc_t p, dnnl_query_t what, void *data)
{
    dnnl_memory_t m;
    const dnnl_memory_desc_t *d = dnnl_primitive_desc_query_md(p, what, 0);
    if (!data) data = aligned_alloc(64, (dnnl_memory_desc_get_size(d) + 127) / 64 * 64);
    if (dnnl_memory_create(&m, d, peer_engine, data)) abort();
    return m;
}

static bool peer_make(const conv_geometry *g, float *x, float *y, float *w, float *bias, float *out,
                      float *dw)
{
    (void)w;
    if (!peer_engine) {
        if (dnnl_engine_create(&peer_engine, dnnl_cpu, 0)) abort();
        if (dnnl_stream_create(&peer_stream, peer_engine, 0)) abort();
    }
    const int64_t bottom = (g->oh - 1) * g->stride + g->kh - g->h - g->top;
    const int64_t right = (g->ow - 1) * g->stride + g->kw - g->w - g->left;
    const dnnl_dims_t xs = {g->n, g->c, g->h, g->w}, ys = {g->n, g->k, g->oh, g->ow};
    const dnnl_dims_t ws = {g->k, g->c, g->kh, g->kw}, bs = {g->k}, step = {g->stride, g->stride};
    const dnnl_dims_t before = {g->top, g->left}, after = {bottom, right};
    dnnl_memory_desc_t xd, yd, wd, bd;
    dnnl_memory_desc_init_by_tag(&xd, 4, xs, dnnl_f32, dnnl_nhwc);
    dnnl_memory_desc_init_by_tag(&yd, 4, ys, dnnl_f32, dnnl_nhwc);
    dnnl_memory_desc_init_by_tag(&wd, 4, ws, dnnl_f32, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&bd, 1, bs, dnnl_f32, dnnl_a);
    dnnl_convolution_desc_t d;
    dnnl_primitive_desc_t forward, data, weights;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t ops;
    dnnl_primitive_attr_create(&attr);
    dnnl_post_ops_create(&ops);
    dnnl_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_relu, 0.01f, 0.0f);
    dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct, &xd, &wd,
                                       &bd, &yd, step, before, after);
    if (dnnl_primitive_desc_create(&forward, &d, attr, peer_engine, NULL)) return false;
    dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &xd, &wd, &yd, step,
                                             before, after);
    if (dnnl_primitive_desc_create(&data, &d, NULL, peer_engine, forward)) return false;
    dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &xd, &wd, NULL, &yd,
                                                step, before, after);
    if (dnnl_primitive_desc_create(&weights, &d, NULL, peer_engine, forward)) return false;
    dnnl_primitive_create(peer_primitive, forward);
    dnnl_primitive_create(peer_primitive + 1, data);
    dnnl_primitive_create(peer_primitive + 2, weights);
    const dnnl_exec_arg_t f[] = {
        {DNNL_ARG_SRC, peer_memory(forward, dnnl_query_src_md, x)},
        {DNNL_ARG_WEIGHTS, peer_memory(forward, dnnl_query_weights_md, NULL)},
        {DNNL_ARG_DST, peer_memory(forward, dnnl_query_dst_md, out)},
        {DNNL_ARG_BIAS, NULL},
    };
    for (int i = 0; i < 4; i++) peer_args[0][i] = f[i];
    if (dnnl_memory_create(&peer_args[0][3].memory, &bd, peer_engine, bias)) abort();
    peer_args[1][0] =
        (dnnl_exec_arg_t){DNNL_ARG_DIFF_DST, peer_memory(data, dnnl_query_diff_dst_md, y)};
    peer_args[1][1] =
        (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, peer_memory(data, dnnl_query_weights_md, NULL)};
    peer_args[1][2] =
        (dnnl_exec_arg_t){DNNL_ARG_DIFF_SRC, peer_memory(data, dnnl_query_diff_src_md, out)};
    peer_args[2][0] =
        (dnnl_exec_arg_t){DNNL_ARG_DIFF_DST, peer_memory(weights, dnnl_query_diff_dst_md, y)};
    peer_args[2][1] = (dnnl_exec_arg_t){DNNL_ARG_SRC, peer_memory(weights, dnnl_query_src_md, x)};
    peer_args[2][2] = (dnnl_exec_arg_t){DNNL_ARG_DIFF_WEIGHTS,
                                        peer_memory(weights, dnnl_query_diff_weights_md, NULL)};
    (void)dw;
    return true;
}

static void peer_run(int what)
{
    dnnl_primitive_execute(peer_primitive[what], peer_stream, what ? 3 : 4, peer_args[what]);
    dnnl_stream_wait(peer_stream);
}

#else

static const char *peer_version(void)
{
    return 0;
}

static void peer_product(float *c, const float *a, const float *b, int64_t m, int64_t n, int64_t k,
                         bool ta, bool tb)
{
    (void)c, (void)a, (void)b, (void)m, (void)n, (void)k, (void)ta, (void)tb;
}

static bool peer_make(const conv_geometry *g, float *x, float *y, float *w, float *bias, float *out,
                      float *dw)
{
    (void)g, (void)x, (void)y, (void)w, (void)bias, (void)out, (void)dw;
    return false;
}

static void peer_run(int what)
{
    (void)what;
}

#endif
#endif
