// SPDX-License-Identifier: MIT
// Every case of golden/voe that is about scorers, against scikit-learn, SciPy and PyOD.
#include "golden/golden.h"

int main(void)
{
    static const golden_kind kinds[] = {
        {"rk_unit", golden_neighbours},
        {"tree0/left", golden_forest},
        {"maha_sq", golden_outliers},
        {"vanilla/diff", golden_tuples},
        {"beta_ks_D", golden_uniformity},
        {"var0p001/log_LR", golden_example},
        {"patched", golden_patch},
        {"out/h_new", golden_cell},
        {"f64/pred", golden_predrnn},
        {0}, // video models: nothing judges these yet
    };
    return golden_run("voe", kinds);
}
