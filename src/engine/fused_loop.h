// SPDX-License-Identifier: MIT
// Elementwise arithmetic in float: a tape of small instructions run over blocks that stay in the
// first cache, so that a chain of operations reads and writes memory once.
#ifndef ENGINE_FUSED_LOOP_H
#define ENGINE_FUSED_LOOP_H

#include <stdbool.h>
#include <stdint.h>

enum { TAPE_BLOCK = 256, TAPE_REGISTERS = 48 };

/// One instruction: register `out` = op(a, b, value); op as in engine/op.h.
typedef struct tape_code {
    int op;
    int out, a, b;
    float value;
} tape_code;

/// How place e of the tape's shape is found in an operand's memory.
typedef enum tape_view {
    TAPE_FULL,   // e
    TAPE_SPREAD, // broadcast: (e / (middle inner)) inner + e % inner
    TAPE_CUT,    // slice: (e / part) whole + start + e % part
    TAPE_NUMBER, // the same number everywhere
} tape_view;

typedef struct tape_operand {
    tape_view view;
    int64_t middle, inner;      // spread
    int64_t part, whole, start; // cut
    float number;
    int reg;
} tape_operand;

typedef struct tape {
    int64_t count; // places
    int codes, reads, writes, registers;
    const tape_code *code;
    const tape_operand *read;
    const int *write; // registers that are written out
} tape;

/// Runs the tape: in[i] is operand i's memory, out[j] that of write j. `scratch` has room for
/// tape_scratch floats.
void tape_run(const tape *t, float *const *out, const float *const *in, float *scratch);
int64_t tape_scratch(const tape *t);

float tape_sum(const float *x, int64_t n);
/// y[c] += sum over rows of x[row][c].
void tape_sum_rows(float *y, const float *x, int64_t rows, int64_t columns);
/// y += x
void tape_add(float *y, const float *x, int64_t n);

/// Uses "portable", "avx2" or "avx512" from now on; false if this processor lacks it. For tests.
bool tape_select(const char *set);

#endif
