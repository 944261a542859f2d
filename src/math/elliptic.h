// SPDX-License-Identifier: MIT
// Jacobi's elliptic functions sn, cn and dn, for many arguments of one modulus k.
#ifndef MATH_ELLIPTIC_H
#define MATH_ELLIPTIC_H

enum { ELLIPTIC_MAX_DEPTH = 16 };

/// What depends on the modulus alone.
typedef struct elliptic {
    double a[ELLIPTIC_MAX_DEPTH],
        b[ELLIPTIC_MAX_DEPTH]; ///< Iterates of the arithmetic-geometric mean.
    double mean;               ///< Its limit. The quarter period is pi / (2 mean).
    double stretch;            ///< 1, or k if k > 1.
    int depth;                 ///< Number of iterates. 0: k = 1, the separatrix.
} elliptic;

/// `m1` = 1 - k^2, any finite number; it is negative for k > 1.
elliptic elliptic_make(double m1);

/// out = sn(u), cn(u), dn(u), to a few times the rounding error of u.
void elliptic_sncndn(double out[3], const elliptic *modulus, double u);

#endif
