// SPDX-License-Identifier: MIT
// What zero-sum games of two players share. The state is the two players' mixed strategies x and y;
// they learn by the replicator equations dx_i/dt = x_i [(A y)_i - x.A y],
// dy_j/dt = y_j [x.A y - (A^T x)_j]. H = -(sum ln x + sum ln y) / k is conserved.
#ifndef WORLDS_GAMES_GAME_H
#define WORLDS_GAMES_GAME_H

#include "worlds/world.h"

enum { GAME_MAX = 3 };

/// Both strategies uniform on their simplex.
plumb_status game_begin(double *x, double *parameters, const plumb_world *world,
                        const world_plan *plan, uint64_t seed, int64_t item);

/// The replicator equations with the payoff (k, k) that is the row's `model`.
void game_derivative(double *out, const plumb_world *world, const double *x,
                     const double *parameters);
double game_energy(const plumb_world *world, const double *x, const double *parameters);

typedef struct game_picture {
    int64_t size, k, block;
} game_picture;

/// Joint strategies as grey blocks: pixel (r, c) is x_i y_j, i = r / block, j = c / block.
void game_style(void *to, const plumb_world *world, const double *parameters,
                const world_plan *plan);
void game_draw(uint8_t *frame, const void *from, const double *x);

// The row of a game: what differs are its names, its size, how it moves and its canonical
// coordinates.
// clang-format off
#define GAME_ROW(title, line, number, strategies, pairs)                                          \
    {                                                                                             \
        .info = {.name = title, .summary = line, .n = strategies, .canonical_n = pairs,           \
                  .dt = 0.1, .height = 32, .width = 32, .channels = 3, .upright = true,           \
                  .reversible = true, .state_names = names, .canonical_names = canonical_names,   \
                  .angles = angles},                                                              \
        .id = number, .model = payoff, .interior = true, .motion_size = sizeof(motion),           \
        .style_size = sizeof(game_picture), .sample = game_begin, .start = start, .state_at = at, \
        .derivative = game_derivative, .energy = game_energy, .canonical = canonical,             \
        .style = game_style, .render = game_draw,                                                 \
    }
// clang-format on

#endif
