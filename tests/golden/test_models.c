// SPDX-License-Identifier: MIT
// Every case of golden/models, against the published code of the paper in double.
#include "golden/golden.h"

int main(void)
{
    static const golden_kind kinds[] = {
        {"adam.p", golden_adam},
        {0},
    };
    return golden_run("models", kinds);
}
