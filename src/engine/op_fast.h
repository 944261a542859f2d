// SPDX-License-Identifier: MIT
// The operations that are not elementwise, in float: products and convolutions handed on to their
// kernels, and numbers moved in long runs.
#ifndef ENGINE_OP_FAST_H
#define ENGINE_OP_FAST_H

#include "engine/graph.h"

/// Those that accumulate add to what is in `out` if asked to; the others never are.
typedef void fast(float *out, const node *n, const float *const *in, bool accumulate,
                  float *scratch);
fast fast_constant, fast_matmul, fast_conv, fast_conv_data, fast_conv_weights, fast_upconv,
    fast_upconv_data, fast_upconv_weights, fast_upsample, fast_downsum, fast_reshape, fast_slice,
    fast_embed, fast_concat, fast_broadcast, fast_sum, fast_transpose;

int64_t fast_matmul_scratch(const node *n);
int64_t fast_conv_scratch(const node *n);
int64_t fast_upconv_scratch(const node *n);

#endif
