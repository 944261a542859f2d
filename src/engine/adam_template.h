// SPDX-License-Identifier: MIT
// The loops of adam.c for one instruction set: included once per set, with SET (its name) and
// TARGET (the compiler's attribute) defined. Not a header to use.
#define NAME_(kernel, set) kernel##_##set
#define NAME(kernel, set) NAME_(kernel, set)

TARGET static void NAME(step, SET)(float *restrict value, float *restrict m, float *restrict v,
                                   const float *restrict gradient, int64_t count,
                                   const constants *k)
{
    const float scale = k->scale, keep1 = k->keep1, take1 = k->take1, keep2 = k->keep2,
                take2 = k->take2, first = k->first, second = k->second, rate = k->rate,
                epsilon = k->epsilon;
    for (int64_t i = 0; i < count; i++) {
        const float g = gradient[i] * scale;
        m[i] = keep1 * m[i] + take1 * g;
        v[i] = keep2 * v[i] + take2 * (g * g);
        value[i] -= rate * (m[i] / first) / (sqrtf(v[i] / second) + epsilon);
    }
}

TARGET static void NAME(add, SET)(float *restrict sum, const float *restrict other, int64_t count)
{
    for (int64_t i = 0; i < count; i++) sum[i] += other[i];
}

TARGET static double NAME(squares, SET)(const float *x, int64_t count)
{
    double lane[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++) lane[k] += (double)x[i + k] * (double)x[i + k];
    for (int k = 0; i + k < count; k++) lane[k] += (double)x[i + k] * (double)x[i + k];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static const kernels SET = {NAME(step, SET), NAME(add, SET), NAME(squares, SET)};

#undef NAME
#undef NAME_
#undef SET
#undef TARGET
