// SPDX-License-Identifier: MIT
// Functions shared by the zero-sum games of two players. The state is the mixed strategies x and y
// of the players, k probabilities each. They learn by the replicator equations
// dx_i/dt = x_i [(A y)_i - x.A y], dy_j/dt = y_j [x.A y - (A^T x)_j].
// H = -(sum ln x + sum ln y) / k is conserved.
#ifndef WORLDS_GAMES_GAME_H
#define WORLDS_GAMES_GAME_H

#include "worlds/world.h"

enum { GAME_MAX_STRATEGIES = 3 };

/// Samples both strategies uniformly on their simplex.
plumb_status game_sample_start(double *x, double *parameters, const plumb_world *world,
                               const world_plan *plan, uint64_t seed, int64_t item);

/// Computes the replicator equations with the payoff matrix (k, k), the `model` of the entry.
void game_compute_derivative(double *out, const plumb_world *world, const double *x,
                             const double *parameters);
double game_compute_energy(const plumb_world *world, const double *x, const double *parameters);

typedef struct game_style {
    int64_t size;  ///< Height and width of a frame in pixels.
    int64_t k;     ///< Strategies per player.
    int64_t block; ///< Side of a block in pixels.
} game_style;

/// Renders joint strategies as grey blocks: pixel (row, column) is x_i y_j with i = row / block,
/// j = column / block.
void game_prepare_style(void *to, const plumb_world *world, const double *parameters,
                        const world_plan *plan);
void game_render_frame(uint8_t *frame, const void *from, const double *x);

// The table entry of a game. Games differ in names, size, motion and canonical coordinates.
// clang-format off
#define GAME_ENTRY(title, line, number, strategies, pairs)                                    \
    {                                                                                         \
        .info = {.name = title, .summary = line, .n = strategies, .canonical_n = pairs,       \
                  .dt = 0.1, .height = 32, .width = 32, .channels = 3, .upright = true,       \
                  .reversible = true, .state_names = state_names,                             \
                  .canonical_names = canonical_names,                                         \
                  .angles = angles, .clips = 1},                                              \
        .id = number, .model = payoff, .interior = true, .motion_size = sizeof(game_motion),  \
        .style_size = sizeof(game_style), .sample_start = game_sample_start,                  \
        .begin_motion = begin_motion, .compute_phase = compute_phase,                         \
        .compute_derivative = game_compute_derivative, .compute_energy = game_compute_energy, \
        .compute_canonical = compute_canonical,                                               \
        .prepare_style = game_prepare_style, .render_frame = game_render_frame,               \
    }
// clang-format on

#endif
