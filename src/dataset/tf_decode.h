// SPDX-License-Identifier: MIT
// Decodes one feature of a TF example into an array.
#ifndef DATASET_TF_DECODE_H
#define DATASET_TF_DECODE_H

#include "base/buffer.h"
#include "dataset/features_txt.h"

/// Finds the feature `want` in an Example and writes its values, as `dtype`, to `out`. `what` names
/// file and record. Fails with PLUMB_EFORMAT if it is missing or has another shape or type.
plumb_status tf_decode_feature(buffer *out, plumb_dtype dtype, const feature_spec *want,
                               const void *example, size_t bytes, const char *what);

#endif
