// SPDX-License-Identifier: MIT
// Matching pennies, payoff [[1, -1], [-1, 1]].
//
// With a and b half the log odds of the players, a' = tanh b and b' = -tanh a; cosh a cosh b = C is
// conserved, and sinh a = A cn(t + c), A^2 = C^2 - 1, modulus A / C. The addition theorem
// [DLMF, 22.8] gives X = sinh a and Y = sinh b at any time from their initial values.
#include <math.h>

#include "math/elliptic.h"
#include "worlds/games/game.h"

typedef struct motion {
    double interval;
    double X, Y, cosh_a, cosh_b;
    elliptic modulus;
} motion;

static void start(void *to, const plumb_world *world, const double *x, const double *par,
                  const world_plan *plan)
{
    (void)world, (void)par;
    motion *o = to;
    // sinh(ln(z) / 2) = (z - 1) / (2 sqrt z) with z = x1 / x2
    o->interval = plan->interval;
    o->X = (x[0] - x[1]) / (2.0 * sqrt(x[0] * x[1]));
    o->Y = (x[2] - x[3]) / (2.0 * sqrt(x[2] * x[3]));
    o->cosh_a = sqrt(1.0 + o->X * o->X);
    o->cosh_b = sqrt(1.0 + o->Y * o->Y);
    const double C = o->cosh_a * o->cosh_b;
    o->modulus = elliptic_make(1.0 / (C * C));
}

// (e^a, e^-a) / (e^a + e^-a): both without cancellation.
static void strategy(double out[2], double sinh_a)
{
    const double e = fabs(sinh_a) + sqrt(1.0 + sinh_a * sinh_a), small = 1.0 / (1.0 + e * e);
    out[0] = sinh_a > 0.0 ? 1.0 - small : small;
    out[1] = sinh_a > 0.0 ? small : 1.0 - small;
}

static void at(double *x, void *from, int64_t frame)
{
    const motion *o = from;
    double f[3];
    elliptic_sncndn(f, &o->modulus, o->interval * (double)frame);
    const double s = f[0], c = f[1], d = f[2];
    const double ta = o->X / o->cosh_a, tb = o->Y / o->cosh_b;
    const double X = (c * o->X + s * d * o->cosh_a * tb) / (1.0 - s * s * tb * tb);
    const double Y = (c * o->Y - s * d * o->cosh_b * ta) / (1.0 - s * s * ta * ta);
    strategy(x, X);
    strategy(x + 2, Y);
}

static void canonical(double *out, const plumb_world *world, const double *x, const double *par)
{
    (void)world, (void)par;
    out[0] = log(x[0] / x[1]);
    out[1] = 0.25 * log(x[2] / x[3]);
}

static const double payoff[4] = {1.0, -1.0, -1.0, 1.0};
static const char *const names[] = {"x1", "x2", "y1", "y2"};
static const char *const canonical_names[] = {"u", "v/4"};
static const bool angles[] = {false};

const plumb_world matching_pennies_row =
    GAME_ROW("matching-pennies",
             "two players learn matching pennies; joint strategy as grey blocks", 9, 2, 1);
