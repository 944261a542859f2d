// SPDX-License-Identifier: MIT
// Every case of golden/voe: scorers against scikit-learn, SciPy and PyOD, video models against
// PyTorch; and those of golden/voe/pc, files of Physical Concepts.
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
        {"composite", golden_perception},
        {"w/lstm.weight_ih", golden_dynamics},
        {0},
    };
    static const golden_kind files[] = {
        {"image", golden_free_clips},
        {"possible_image", golden_probes},
        {"masked", golden_checksum},
        {0},
    };
    const int scorers = golden_run("voe", kinds), clips = golden_run("voe/pc", files);
    if (scorers == 1 || clips == 1) return 1;
    return scorers && clips ? 77 : 0;
}
