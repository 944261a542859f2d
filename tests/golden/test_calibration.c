// SPDX-License-Identifier: MIT
// Every planted model in golden/calibration: no verdict may be wrong.
// At most one in twenty may be null, have a kappa off by 0.05, or an interval without the true one.
#include "golden/golden.h"

int main(void)
{
    static const golden_kind kinds[] = {{"kappa_true", golden_planted}, {0}};
    const int code = golden_run("calibration", kinds);
    return code ? code : golden_planted_verdict();
}
