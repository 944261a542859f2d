// SPDX-License-Identifier: MIT
// All kernels of one instruction set, and their table. Included once per set; gemm_tile_template.h
// says which macros must be defined. Not a header to include elsewhere.
#define VEC NAME(vec, SET)
#define IVEC NAME(ivec, SET)
#define STRING_(x) #x
#define STRING(x) STRING_(x)

#include "engine/kernels/gemm_tile_template.h"

#define TAPS 3
#include "engine/kernels/winograd_template.h"
#define TAPS 2
#include "engine/kernels/winograd_template.h"

#define WINOGRAD_KERNELS(taps)                                                           \
    {                                                                                    \
        NAME(NAME(transform_input, taps), SET), NAME(NAME(transform_output, taps), SET), \
            NAME(NAME(transform_output_grad, taps), SET),                                \
            NAME(NAME(transform_weights, taps), SET),                                    \
            NAME(NAME(transform_weights_grad, taps), SET),                               \
    }
const kernel_set NAME(kernel_set, SET) = {
    .name = STRING(SET),
    .lanes = LANES,
    .gemm = NAME(gemm, SET),
    .gemm_at = NAME(gemm_at, SET),
    .gemm_dot = NAME(gemm_dot, SET),
    .gemm_panels = NAME(gemm_panels, SET),
    .winograd3 = WINOGRAD_KERNELS(3),
    .winograd2 = WINOGRAD_KERNELS(2),
};

#undef VEC
#undef IVEC
#undef STRING_
#undef STRING
#undef LOAD
#undef STORE
#undef ROW_CASE
#undef DOT_CASE
#undef PANEL_CASE
#undef WINOGRAD_KERNELS
#undef SET
#undef TARGET
#undef LANES
#undef ROWS
#undef ROWS1
#undef PANEL_ROWS
#undef FMA
#undef MASK
#undef PART_LOAD
#undef PART_STORE
#undef SUM
#undef SUMS
#undef HALVES
