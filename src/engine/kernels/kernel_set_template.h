// SPDX-License-Identifier: MIT
// Everything of one instruction set, and its table. See gemm_tile_template.h. Not a header to use.
#define VEC NAME(vec, SET)
#define IVEC NAME(ivec, SET)
#define STRING_(x) #x
#define STRING(x) STRING_(x)

#include "engine/kernels/gemm_tile_template.h"

#define TAPS 3
#include "engine/kernels/winograd_template.h"
#define TAPS 2
#include "engine/kernels/winograd_template.h"

#define WINO(taps)                                                         \
    {                                                                      \
        NAME(NAME(input, taps), SET), NAME(NAME(output, taps), SET),       \
            NAME(NAME(spread, taps), SET), NAME(NAME(weights, taps), SET), \
            NAME(NAME(gather, taps), SET),                                 \
    }
const kernel_set NAME(kernel_set, SET) = {
    .name = STRING(SET),
    .lanes = LANES,
    .outer = NAME(outer, SET),
    .across = NAME(across, SET),
    .dots = NAME(dots, SET),
    .wino3 = WINO(3),
    .wino2 = WINO(2),
};

#undef VEC
#undef IVEC
#undef STRING_
#undef STRING
#undef LOAD
#undef STORE
#undef ROW_CASE
#undef DOT_CASE
#undef WINO
#undef SET
#undef TARGET
#undef LANES
#undef ROWS
#undef ROWS1
#undef FMA
#undef MASK
#undef PART_LOAD
#undef PART_STORE
#undef SUM
#undef SUMS
#undef HALVES
