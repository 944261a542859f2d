// SPDX-License-Identifier: MIT
// Every case in golden/datasets: worlds moved and drawn as the published generator does, and as
// arithmetic of 48 digits says it should.
#include "golden/golden.h"
#include "golden/golden_worlds.h"

int main(void)
{
    static const golden_kind kinds[] = {
        {"canvas_max", golden_bodies},
        {"payoff", golden_game},
        {"box_length", golden_molecules},
        {"fov_deg", golden_room},
        {"c0_pos", golden_render},
        {"mass_spring_x0", golden_samplers},
        {0},
    };
    return golden_run("datasets", kinds);
}
