// SPDX-License-Identifier: MIT
// Every planted model in golden/calibration: at most 2 % of the verdicts may be wrong.
#include "golden/golden.h"

int main(void)
{
    static const golden_kind kinds[] = {{"kappa_true", golden_planted}, {0}};
    const int code = golden_run("calibration", kinds);
    return code ? code : golden_planted_verdict();
}
