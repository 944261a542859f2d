// SPDX-License-Identifier: MIT
// Every case of golden/models: HGN and HGN++, their layers, their integrators, against the
// published code run in double.
#include "golden/golden.h"

int main(void)
{
    static const golden_kind kinds[] = {
        {"x_u8", golden_models}, {"conv.cases", golden_layers},   {"const.dt", golden_integrators},
        {"adam.p", golden_adam}, {"points.pair", golden_objects}, {0},
    };
    return golden_run("models", kinds);
}
