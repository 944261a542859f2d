// SPDX-License-Identifier: MIT
// One feature of one record into an array.
#ifndef DATASET_TF_DECODE_H
#define DATASET_TF_DECODE_H

#include "base/buffer.h"
#include "dataset/features_txt.h"

/// Finds `want` in an Example and puts its numbers, as `dtype`, into `out`. `what` names file and
/// record. Fails with PLUMB_EFORMAT if it is not there, or not of that shape and type.
plumb_status tf_decode_feature(buffer *out, plumb_dtype dtype, const feature_spec *want,
                               const void *example, size_t bytes, const char *what);

#endif
