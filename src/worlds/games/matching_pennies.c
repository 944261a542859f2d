// SPDX-License-Identifier: MIT
// Matching pennies, payoff [[1, -1], [-1, 1]], solved in closed form.
//
// With a and b half the log odds of the players, a' = tanh b and b' = -tanh a; cosh a cosh b = C is
// conserved, and sinh a = A cn(t + c), A^2 = C^2 - 1, modulus A / C. The addition theorem
// [DLMF, 22.8] gives X = sinh a and Y = sinh b at any time from their initial values.
#include <math.h>

#include "math/elliptic.h"
#include "worlds/games/game.h"

typedef struct game_motion {
    double interval;
    double X, Y, cosh_a, cosh_b;
    elliptic modulus;
} game_motion;

// X = sinh a and Y = sinh b at time 0, and the modulus of the elliptic functions.
static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    (void)world, (void)parameters;
    game_motion *motion = storage;
    // sinh(ln(z) / 2) = (z - 1) / (2 sqrt z) with z = x1 / x2
    motion->interval = plan->interval;
    motion->X = (x[0] - x[1]) / (2.0 * sqrt(x[0] * x[1]));
    motion->Y = (x[2] - x[3]) / (2.0 * sqrt(x[2] * x[3]));
    motion->cosh_a = sqrt(1.0 + motion->X * motion->X);
    motion->cosh_b = sqrt(1.0 + motion->Y * motion->Y);
    const double C = motion->cosh_a * motion->cosh_b;
    motion->modulus = elliptic_make(1.0 / (C * C));
}

// Strategy (e^a, e^-a) / (e^a + e^-a) from sinh a, without cancellation.
static void compute_strategy(double out[2], double sinh_a)
{
    const double e = fabs(sinh_a) + sqrt(1.0 + sinh_a * sinh_a), small = 1.0 / (1.0 + e * e);
    out[0] = sinh_a > 0.0 ? 1.0 - small : small;
    out[1] = sinh_a > 0.0 ? small : 1.0 - small;
}

// Addition theorem of the Jacobi elliptic functions [DLMF, 22.8].
static void compute_phase(double *x, void *storage, int64_t frame)
{
    const game_motion *motion = storage;
    double f[3];
    elliptic_sncndn(f, &motion->modulus, motion->interval * (double)frame);
    const double s = f[0], c = f[1], d = f[2];
    const double ta = motion->X / motion->cosh_a, tb = motion->Y / motion->cosh_b;
    const double X = (c * motion->X + s * d * motion->cosh_a * tb) / (1.0 - s * s * tb * tb);
    const double Y = (c * motion->Y - s * d * motion->cosh_b * ta) / (1.0 - s * s * ta * ta);
    compute_strategy(x, X);
    compute_strategy(x + 2, Y);
}

// Log odds u = ln(x1 / x2) and v / 4 with v = ln(y1 / y2).
static void compute_canonical(double *out, const plumb_world *world, const double *x,
                              const double *parameters)
{
    (void)world, (void)parameters;
    out[0] = log(x[0] / x[1]);
    out[1] = 0.25 * log(x[2] / x[3]);
}

static const double payoff[4] = {1.0, -1.0, -1.0, 1.0};
static const char *const state_names[] = {"x1", "x2", "y1", "y2"};
static const char *const canonical_names[] = {"u", "v/4"};
static const bool angles[] = {false};

const plumb_world matching_pennies_entry =
    GAME_ENTRY("matching-pennies",
               "two players learn matching pennies; joint strategy as grey blocks", 9, 2, 1);
