// SPDX-License-Identifier: MIT
// Three-dimensional vectors. The order of the sums is fixed, because the bits are results.
#ifndef WORLDS_VEC3_H
#define WORLDS_VEC3_H

#include <math.h>

/// a . b
static inline double vec3_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// out = a x b
static inline void vec3_cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// v = v / |v|
static inline void vec3_normalise(double v[3])
{
    const double length = sqrt(vec3_dot(v, v));
    for (int k = 0; k < 3; k++) v[k] /= length;
}

#endif
