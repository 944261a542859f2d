// SPDX-License-Identifier: MIT
// Jacobi's elliptic functions, for many arguments of one modulus.
#ifndef MATH_ELLIPTIC_H
#define MATH_ELLIPTIC_H

enum { ELLIPTIC_MAX_DEPTH = 16 };

/// A modulus, prepared. A plain struct.
typedef struct elliptic {
    double a[ELLIPTIC_MAX_DEPTH],
        b[ELLIPTIC_MAX_DEPTH]; ///< the arithmetic-geometric mean under way
    double mean;               ///< its limit: the quarter period is pi / (2 mean)
    double stretch;            ///< 1, or the modulus if it is above 1
    int depth;                 ///< 0: the separatrix, modulus 1
} elliptic;

/// `m1` is 1 - k^2, any finite number: negative beyond the separatrix.
elliptic elliptic_make(double m1);

/// sn, cn, dn of u, good to a few times the rounding of u.
void elliptic_sncndn(double out[3], const elliptic *e, double u);

#endif
