// SPDX-License-Identifier: MIT
// Elementwise arithmetic in float: a tape of small instructions run over blocks that stay in the
// first cache, so that a chain of operations reads and writes memory once.
#ifndef ENGINE_FUSED_LOOP_H
#define ENGINE_FUSED_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { FUSED_BLOCK = 256, FUSED_MAX_REGISTERS = 48 };

/// One instruction: register `out` = op(a, b, value); op as in engine/op.h.
typedef struct fused_instruction {
    int op;
    int out, a, b;
    float value;
} fused_instruction;

/// How place e of the tape's shape is found in an operand's memory.
typedef enum fused_view {
    FUSED_FULL,      // e
    FUSED_BROADCAST, // broadcast: (e / (middle inner)) inner + e % inner
    FUSED_SLICE,     // slice: (e / part) whole + start + e % part
    FUSED_SCALAR,    // the same number everywhere
} fused_view;

typedef struct fused_operand {
    fused_view view;
    int64_t middle, inner;      // spread
    int64_t part, whole, start; // cut
    float number;
    int reg;
} fused_operand;

typedef struct fused_loop {
    int64_t count; // places
    int codes, reads, writes, registers;
    const fused_instruction *code;
    const fused_operand *read;
    const int *write; // registers that are written out
} fused_loop;

/// Runs the tape: in[i] is operand i's memory, out[j] that of write j. `scratch` has room for
/// fused_loop_scratch floats.
void fused_loop_run(const fused_loop *t, float *const *out, const float *const *in, float *scratch);
int64_t fused_loop_scratch(const fused_loop *t);

float fused_loop_sum(const float *x, int64_t n);
/// y[c] += sum over rows of x[row][c].
void fused_loop_sum_rows(float *y, const float *x, int64_t rows, int64_t columns);
/// y += x
void fused_loop_add(float *y, const float *x, int64_t n);

/// Uses "portable", "avx2" or "avx512" from now on; false if this processor lacks it. For tests.
bool fused_loop_select(const char *set);

#endif
