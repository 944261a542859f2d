// SPDX-License-Identifier: MIT
// The loop of adam.c for one instruction set. Included once per set, with SET (its name) and TARGET
// (the compiler's attribute) defined. Not a header to include elsewhere.
#define NAME_(kernel, set) kernel##_##set
#define NAME(kernel, set) NAME_(kernel, set)

TARGET static void NAME(step, SET)(float *restrict value, float *restrict m, float *restrict v,
                                   const float *restrict gradient, int64_t count,
                                   const adam_constants *constants)
{
    // Copies in registers: the compiler need not fear that `value` overwrites the struct.
    const float scale = constants->scale, rate = constants->rate, epsilon = constants->epsilon;
    const float keep1 = constants->keep1, take1 = constants->take1;
    const float keep2 = constants->keep2, take2 = constants->take2;
    const float first = constants->weight_sum1, second = constants->weight_sum2;
    for (int64_t i = 0; i < count; i++) {
        const float g = gradient[i] * scale;
        m[i] = keep1 * m[i] + take1 * g;
        v[i] = keep2 * v[i] + take2 * (g * g);
        value[i] -= rate * (m[i] / first) / (sqrtf(v[i] / second) + epsilon);
    }
}

static const adam_kernels SET = {NAME(step, SET)};

#undef NAME
#undef NAME_
#undef SET
#undef TARGET
