// SPDX-License-Identifier: MIT
// Elementwise arithmetic in float: a tape of small instructions run over blocks that stay in the
// first cache, so that a chain of operations reads and writes memory once.
#ifndef ENGINE_KERNELS_LANES_H
#define ENGINE_KERNELS_LANES_H

#include <stdbool.h>
#include <stdint.h>

enum { LANES_BLOCK = 256, LANES_REGISTERS = 48 };

/// One instruction: register `out` = op(a, b, value); op as in engine/op.h.
typedef struct lanes_code {
    int op;
    int out, a, b;
    float value;
} lanes_code;

/// How place e of the tape's shape is found in an operand's memory.
typedef enum lanes_view {
    LANES_FULL,   // e
    LANES_SPREAD, // broadcast: (e / (middle inner)) inner + e % inner
    LANES_CUT,    // slice: (e / part) whole + start + e % part
    LANES_NUMBER, // the same number everywhere
} lanes_view;

typedef struct lanes_operand {
    lanes_view view;
    int64_t middle, inner;      // spread
    int64_t part, whole, start; // cut
    float number;
    int reg;
} lanes_operand;

typedef struct lanes_tape {
    int64_t count; // places
    int codes, reads, writes, registers;
    const lanes_code *code;
    const lanes_operand *read;
    const int *write; // registers that are written out
} lanes_tape;

/// Runs the tape: in[i] is operand i's memory, out[j] that of write j. `scratch` has room for
/// lanes_scratch floats.
void lanes_run(const lanes_tape *tape, float *const *out, const float *const *in, float *scratch);
int64_t lanes_scratch(const lanes_tape *tape);

float lanes_sum(const float *x, int64_t n);
/// y[c] += sum over rows of x[row][c].
void lanes_sum_rows(float *y, const float *x, int64_t rows, int64_t columns);
/// y += x
void lanes_add(float *y, const float *x, int64_t n);

/// Uses "portable", "avx2" or "avx512" from now on; false if this processor lacks it. For tests.
bool lanes_select(const char *set);

#endif
