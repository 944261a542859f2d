// SPDX-License-Identifier: MIT
// Rock, paper, scissors, payoff [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]. Chaotic from some initial
// states [Sato02]. The equations are polynomials, so their Taylor series are a few products. Every
// series is a multiple of its own variable, so that even tiny probabilities keep full precision.
#include <math.h>

#include "math/taylor.h"
#include "worlds/games/game.h"

typedef struct game_motion {
    double interval;
    taylor_solution taylor;
} game_motion;

// Taylor coefficients of the solution. A is antisymmetric; with z = A y, w = A x the equations are
// x' = x (z - x.z), y' = y (w - y.w), because -(A^T x) = A x and x.A y = -y.A x.
static void extend_series(double (*x)[TAYLOR_TERMS], const void *system)
{
    (void)system;
    double rate[6][TAYLOR_TERMS], value[TAYLOR_TERMS];
    for (int n = 0; n < TAYLOR_ORDER; n++) {
        for (int i = 0; i < 3; i++) {
            const int next = (i + 1) % 3, previous = (i + 2) % 3;
            rate[i][n] = x[3 + previous][n] - x[3 + next][n];
            rate[3 + i][n] = x[previous][n] - x[next][n];
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

static void begin_motion(void *storage, const plumb_world *world, const double *x,
                         const double *parameters, const world_plan *plan)
{
    (void)world, (void)parameters;
    game_motion *motion = storage;
    motion->interval = plan->interval;
    taylor_start(&motion->taylor, extend_series, NULL, 6, x, plan->interval < 0.0, true);
}

// Evaluates the Taylor solution at the time of a frame.
static void compute_phase(double *x, void *storage, int64_t frame)
{
    game_motion *motion = storage;
    taylor_evaluate(x, &motion->taylor, motion->interval * (double)frame);
}

// u_i = ln(x_i / x_3), v_j = ln(y_j / y_3), with Poisson brackets {u1, v2} = -3, {u2, v1} = 3.
static void compute_canonical(double *out, const plumb_world *world, const double *x,
                              const double *parameters)
{
    (void)world, (void)parameters;
    out[0] = log(x[0] / x[2]);
    out[1] = log(x[1] / x[2]);
    out[2] = -log(x[4] / x[5]) / 3.0;
    out[3] = log(x[3] / x[5]) / 3.0;
}

static const double payoff[9] = {0.0, -1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0};
static const char *const state_names[] = {"x1", "x2", "x3", "y1", "y2", "y3"};
static const char *const canonical_names[] = {"u1", "u2", "-v2/3", "v1/3"};
static const bool angles[] = {false, false};

const plumb_world rock_paper_scissors_entry =
    GAME_ENTRY("rock-paper-scissors",
               "two players learn rock, paper, scissors; joint strategy as grey blocks", 10, 3, 2);
