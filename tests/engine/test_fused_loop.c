// SPDX-License-Identifier: MIT
// How accurate the functions of the fused loops are, in every instruction set: against the C
// library in double, over the whole range, and at its ends.
#include "engine/fused_loop.h"

#include <math.h>

#include "support/test.h"

enum { POINTS = 200001 };

static const char *const sets[] = {"portable", "avx2", "avx512"};

static double sigmoid(double x)
{
    return x < 0.0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x));
}

static double softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static void apply(op_kind op, float *y, const float *x, int64_t n)
{
    const fused_instruction code = {.op = op, .out = 1};
    const fused_operand operand = {.view = FUSED_FULL};
    const fused_loop loop = {.count = n,
                             .codes = 1,
                             .reads = 1,
                             .writes = 1,
                             .registers = 2,
                             .code = &code,
                             .read = &operand,
                             .write = (const int[]){1}};
    float scratch[2 * FUSED_BLOCK];
    fused_loop_run(&loop, &y, &x, scratch);
}

// The largest error relative to the value, from `low` to `high`.
static double relative_error(op_kind op, double (*exact)(double), double low, double high)
{
    static float x[POINTS], y[POINTS];
    double worst = 0.0;
    for (int i = 0; i < POINTS; i++) x[i] = (float)(low + (high - low) * i / (POINTS - 1));
    apply(op, y, x, POINTS);
    for (int i = 0; i < POINTS; i++) {
        const double want = exact((double)x[i]);
        if (want != 0.0) worst = fmax(worst, fabs((double)y[i] - want) / fabs(want));
        CHECK(isfinite(y[i]));
    }
    return worst;
}

// An epsilon of float is 1.2e-7; rounding alone gives half of it.
TEST(activations_are_accurate_to_a_few_roundings)
{
    for (int s = 0; s < 3; s++) {
        if (!fused_loop_select(sets[s])) continue;
        CHECK(relative_error(OP_EXP, exp, -86.0, 88.0) < 2e-7);
        CHECK(relative_error(OP_SIGMOID, sigmoid, -86.0, 86.0) < 3e-7);
        CHECK(relative_error(OP_TANH, tanh, -12.0, 12.0) < 3e-7);
        CHECK(relative_error(OP_TANH, tanh, -1e-3, 1e-3) < 3e-7);
        CHECK(relative_error(OP_SOFTPLUS, softplus, -80.0, 40.0) < 3e-7);
    }
}

TEST(activations_have_the_right_limits)
{
    const float x[] = {-INFINITY, -1e4f, -105.0f, 0.0f, 105.0f, 1e4f, INFINITY, NAN};
    enum { COUNT = sizeof x / sizeof *x };
    for (int s = 0; s < 3; s++) {
        if (!fused_loop_select(sets[s])) continue;
        float y[COUNT];
        apply(OP_EXP, y, x, COUNT);
        CHECK(y[0] == 0.0f && y[1] == 0.0f && y[3] == 1.0f && isinf(y[5]) && isinf(y[6]));
        CHECK(isnan(y[7]));
        apply(OP_SIGMOID, y, x, COUNT);
        CHECK(y[0] == 0.0f && y[1] == 0.0f && y[3] == 0.5f && y[4] == 1.0f && y[6] == 1.0f);
        CHECK(isnan(y[7]));
        apply(OP_TANH, y, x, COUNT);
        CHECK(y[0] == -1.0f && y[2] == -1.0f && y[3] == 0.0f && y[5] == 1.0f && y[6] == 1.0f);
        CHECK(isnan(y[7]));
        apply(OP_SOFTPLUS, y, x, COUNT);
        CHECK(y[1] == 0.0f && fabsf(y[3] - 0.693147181f) < 1e-7f && y[5] == 1e4f && isinf(y[6]));
        CHECK(isnan(y[7]));
    }
}
