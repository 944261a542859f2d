// SPDX-License-Identifier: MIT
// Fused elementwise loop in float: a list of instructions run over blocks that stay in the first
// cache, so that a chain of operations reads and writes memory once. Also sums of arrays.
#ifndef ENGINE_FUSED_LOOP_H
#define ENGINE_FUSED_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/graph.h"

enum {
    FUSED_BLOCK = 256, // elements per block and register
    FUSED_MAX_REGISTERS = 48,
};

/// One instruction: register `out` = op(a, b, value).
typedef struct fused_instruction {
    op_kind op;  ///< An elementwise operation.
    int out;     ///< Register of the result.
    int a, b;    ///< Registers of the inputs; b = a for an operation with one input.
    float value; ///< Factor, summand or slope of the operation.
} fused_instruction;

/// How element e of the loop is found in an operand's memory.
typedef enum fused_view {
    FUSED_FULL,      // at e
    FUSED_BROADCAST, // at (e / (middle * inner)) * inner + e % inner
    FUSED_SLICE,     // at (e / part) * whole + start + e % part
    FUSED_SCALAR,    // nowhere: it is the same number for every element
} fused_view;

typedef struct fused_operand {
    fused_view view;
    int64_t middle, inner;      ///< FUSED_BROADCAST: see above.
    int64_t part, whole, start; ///< FUSED_SLICE: see above; in elements.
    float number;               ///< FUSED_SCALAR: the number.
    int reg;                    ///< Register it is loaded into.
} fused_operand;

typedef struct fused_loop {
    int64_t count;            ///< Elements.
    int codes, reads, writes; ///< Numbers of instructions, operands and results.
    int registers;            ///< At most FUSED_MAX_REGISTERS.
    const fused_instruction *code;
    const fused_operand *read;
    const int *write; ///< (writes) registers that are written to memory.
} fused_loop;

/// Runs the loop. in[i] is the memory of operand i, out[j] that of result j. `scratch` holds
/// fused_loop_scratch() floats.
void fused_loop_run(const fused_loop *loop, float *const *out, const float *const *in,
                    float *scratch);
int64_t fused_loop_scratch(const fused_loop *loop);

/// The sum of x (n): blocks of 4096 in float, their sums in double.
float fused_loop_sum(const float *x, int64_t n);
/// y (columns) += the sum over the rows of x (rows, columns).
void fused_loop_sum_rows(float *y, const float *x, int64_t rows, int64_t columns);

/// For tests: chooses "portable", "avx2" or "avx512"; false if this processor does not have it.
bool fused_loop_select(const char *set);

#endif
