// SPDX-License-Identifier: MIT
// Every case in golden/datasets: states and frames of the worlds against the published generator,
// and against arithmetic with 48 digits.
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
    static const golden_kind records[] = {
        {"train/x", golden_tfrecord},
        {"test/x", golden_tfrecord},
        {0},
    };
    const int a = golden_run("datasets", kinds), b = golden_run("datasets/tfrecord", records);
    if (a == 1 || b == 1) return 1;
    return a && b ? 77 : 0;
}
