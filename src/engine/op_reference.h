// SPDX-License-Identifier: MIT
// The judges: what each operation means, in double and plain loops. They are the definition, the
// path on which golden gradients are compared, and what every fast kernel is tested against.
#ifndef ENGINE_OP_REFERENCE_H
#define ENGINE_OP_REFERENCE_H

#include "engine/graph.h"

typedef void judge(double *out, const node *n, const double *const *in);
judge judge_constant, judge_total, judge_matmul, judge_conv, judge_conv_data, judge_conv_weights,
    judge_upconv, judge_upconv_data, judge_upconv_weights, judge_upsample, judge_downsum,
    judge_reshape, judge_slice, judge_embed, judge_concat, judge_broadcast, judge_sum,
    judge_transpose;

#endif
