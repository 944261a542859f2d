// SPDX-License-Identifier: MIT
// Descending Landen transformations without inverse sines [Bulirsch65]: one sine and cosine of the
// scaled argument, then two divisions for each step of the arithmetic-geometric mean. The mean
// depends on the modulus alone and is computed once.
#include "math/elliptic.h"

#include <math.h>

elliptic elliptic_make(double m1)
{
    elliptic modulus = {.stretch = 1.0};
    if (m1 < 0.0) {
        // k > 1: use the modulus 1/k. sn(u, k) = sn(k u, 1/k) / k, and cn and dn are exchanged;
        // 1 - 1/k^2 = (k^2 - 1) / k^2.
        modulus.stretch = sqrt(1.0 - m1);
        m1 = -m1 / (1.0 - m1);
    }
    double a = 1.0, b = sqrt(m1);
    if (b == 0.0) return modulus;
    for (; modulus.depth < ELLIPTIC_MAX_DEPTH; modulus.depth++) {
        modulus.a[modulus.depth] = a;
        modulus.b[modulus.depth] = b;
        modulus.mean = 0.5 * (a + b);
        if (fabs(a - b) <= 1e-9 * a) { // the next step changes the mean by the square of this
            modulus.depth++;
            break;
        }
        b = sqrt(a * b);
        a = modulus.mean;
    }
    return modulus;
}

// For k <= 1.
static void sncndn_below_one(double out[3], const elliptic *modulus, double u)
{
    // k = 1: hyperbolic functions.
    if (modulus->depth == 0) {
        const double sech = 1.0 / cosh(u);
        out[0] = tanh(u);
        out[1] = out[2] = sech;
        return;
    }
    double sn = sin(u * modulus->mean), cn = cos(u * modulus->mean), dn = 1.0;
    if (sn != 0.0) {
        double a = cn / sn, c = modulus->mean * a;
        for (int i = modulus->depth - 1; i >= 0; i--) {
            a *= c;
            c *= dn;
            dn = (modulus->b[i] + a) / (modulus->a[i] + a);
            a = c / modulus->a[i];
        }
        sn = copysign(1.0 / sqrt(c * c + 1.0), sn);
        cn = c * sn;
    }
    out[0] = sn;
    out[1] = cn;
    out[2] = dn;
}

void elliptic_sncndn(double out[3], const elliptic *modulus, double u)
{
    sncndn_below_one(out, modulus, u * modulus->stretch);
    if (modulus->stretch != 1.0) {
        const double cn = out[1];
        out[0] /= modulus->stretch;
        out[1] = out[2];
        out[2] = cn;
    }
}
