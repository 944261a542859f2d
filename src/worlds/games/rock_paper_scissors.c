// SPDX-License-Identifier: MIT
// Rock, paper, scissors, payoff [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]. Chaotic for some starts
// [Sato02]. The equations are polynomials, so their Taylor series are a few products; every series
// is a multiple of its own unknown, so that even tiny ones keep all their digits.
#include <math.h>

#include "math/taylor.h"
#include "worlds/games/game.h"

typedef struct motion {
    double interval;
    taylor_solution taylor;
} motion;

// With A antisymmetric and z = A y, w = A x: x' = x (z - x.z), y' = y (w - y.w), for
// -(A^T x) = A x and x.A y = -y.A x.
static void series(double (*x)[TAYLOR_TERMS], const void *system)
{
    (void)system;
    double rate[6][TAYLOR_TERMS], value[TAYLOR_TERMS];
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        for (int i = 0; i < 3; i++) {
            const int next = (i + 1) % 3, last = (i + 2) % 3;
            rate[i][n] = x[3 + last][n] - x[3 + next][n];
            rate[3 + i][n] = x[last][n] - x[next][n];
        }
        value[n] = taylor_product(x[0], rate[0], n) + taylor_product(x[1], rate[1], n) +
                   taylor_product(x[2], rate[2], n);
        for (int i = 0; i < 3; i++) {
            rate[i][n] -= value[n];
            rate[3 + i][n] += value[n];
        }
        for (int i = 0; i < 6; i++) x[i][n + 1] = taylor_product(x[i], rate[i], n) / (n + 1);
    }
}

static void start(void *to, const plumb_world *world, const double *x, const double *par,
                  const world_plan *plan)
{
    (void)world, (void)par;
    motion *o = to;
    o->interval = plan->interval;
    taylor_start(&o->taylor, series, NULL, 6, x, plan->interval < 0.0, true);
}

static void at(double *x, void *from, int64_t frame)
{
    motion *o = from;
    taylor_evaluate(x, &o->taylor, o->interval * (double)frame);
}

// u_i = ln(x_i / x_3), v_j = ln(y_j / y_3); {u1, v2} = -3, {u2, v1} = 3.
static void canonical(double *out, const plumb_world *world, const double *x, const double *par)
{
    (void)world, (void)par;
    out[0] = log(x[0] / x[2]);
    out[1] = log(x[1] / x[2]);
    out[2] = -log(x[4] / x[5]) / 3.0;
    out[3] = log(x[3] / x[5]) / 3.0;
}

static const double payoff[9] = {0.0, -1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0};
static const char *const names[] = {"x1", "x2", "x3", "y1", "y2", "y3"};
static const char *const canonical_names[] = {"u1", "u2", "-v2/3", "v1/3"};
static const bool angles[] = {false, false};

const plumb_world rock_paper_scissors_row =
    GAME_ROW("rock-paper-scissors",
             "two players learn rock, paper, scissors; joint strategy as grey blocks", 10, 3, 2);
