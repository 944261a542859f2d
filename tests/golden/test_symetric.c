// SPDX-License-Identifier: MIT
// Every case in golden/symetric against the published code's own output.
#include "golden/golden.h"

int main(void)
{
    static const golden_kind kinds[] = {
        {"B_rsq", golden_polynomial},
        {"in_images_u8", golden_forecast},
        {"exp_loss", golden_mlp},
        {0},
    };
    return golden_run("symetric", kinds);
}
