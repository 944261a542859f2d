// SPDX-License-Identifier: MIT
// The loops of gradient_sum.c for one instruction set. Included once per set, with SET (its name)
// and TARGET (the compiler's attribute) defined. Not a header to include elsewhere.
#define NAME_(kernel, set) kernel##_##set
#define NAME(kernel, set) NAME_(kernel, set)

TARGET static void NAME(add, SET)(float *restrict sum, const float *restrict other, int64_t count)
{
    for (int64_t i = 0; i < count; i++) sum[i] += other[i];
}

// Lane k sums elements k, k + 8, k + 16, ...; the order in which the lanes are added is fixed.
TARGET static double NAME(sum_squares, SET)(const float *x, int64_t count)
{
    double lane[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += (double)x[i + k] * (double)x[i + k];
    for (int k = 0; i + k < count; k++) lane[k] += (double)x[i + k] * (double)x[i + k];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static const gradient_kernels SET = {NAME(add, SET), NAME(sum_squares, SET)};

#undef NAME
#undef NAME_
#undef SET
#undef TARGET
