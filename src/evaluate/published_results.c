// SPDX-License-Identifier: MIT
// [Higgins21, Table 1]: HGN++ and HGN on 13 worlds, the best seed of each. The numbers as printed,
// Rec and Ext in 1e-7. A star in the table means that SyMetric is 1.
#include <string.h>

#include "plumb/evaluation.h"

#define NETWORK_STAR 1
#define POLYNOMIAL_STAR 2

// One half of a row: Rec, Ext, VPT; Sym and R2 by a network and by polynomials; stars. "max" is the
// cap of Sym, 1000.
typedef struct printed_scores {
    double rec, ext, vpt, sym_mlp, sym, r2_mlp, r2;
    int stars;
} printed_scores;

typedef struct printed_row {
    const char *world;
    printed_scores hgnpp, hgn;
} printed_row;

// clang-format off
static const printed_row rows[] = {
    {"mass-spring",         {0.05, 0.18, 937.0, 0.0, 0.0, 0.99, 1.0, NETWORK_STAR | POLYNOMIAL_STAR},
                            {25.07, 197.67, 5.75, 0.68, 0.0, 0.88, 0.86, 0}},
    {"mass-spring+c",       {1.63, 2.77, 567.5, 0.03, 0.04, 0.96, 0.95, NETWORK_STAR | POLYNOMIAL_STAR},
                            {25.49, 126.34, 8.5, 0.78, 0.0, 0.52, 0.5, 0}},
    {"pendulum",            {1.95, 10.5, 85.25, 1.76, 0.61, 0.54, 0.96, 0},
                            {25.99, 294.22, 1.75, 0.43, 0.0, 0.79, 0.81, 0}},
    {"pendulum+c",          {26.94, 80.89, 23.0, 0.5, 0.48, 0.0, 0.98, 0},
                            {23.43, 194.52, 5.75, 0.37, 50.0, 0.39, 0.55, 0}},
    {"matching-pennies",    {2.25, 11.71, 640.5, 0.35, 0.25, 0.99, 0.98, 0},
                            {32.46, 562.98, 5.75, 0.55, 0.18, 0.88, 0.95, 0}},
    {"rock-paper-scissors", {4.82, 34.37, 146.75, 0.18, 0.1, 0.69, 0.96, 0},
                            {138.16, 955.31, 0.0, 0.23, 0.12, 0.55, 0.88, 0}},
    {"double-pendulum",     {32.24, 154.83, 5.5, 0.28, 0.24, 0.4, 0.96, 0},
                            {26.33, 196.52, 2.0, 0.3, 0.13, 0.2, 0.64, 0}},
    {"double-pendulum+c",   {54.7, 87.19, 5.0, 0.14, 0.48, 0.05, 0.91, 0},
                            {26.08, 97.28, 2.5, 0.12, 0.13, 0.0, 0.6, 0}},
    {"two-body",            {0.04, 0.41, 447.0, 0.22, 0.15, 0.91, 0.98, 0},
                            {22.33, 152.42, 12.75, 0.21, 0.14, 0.83, 0.98, 0}},
    {"two-body+c",          {1.95, 24.68, 36.25, 0.22, 0.19, 0.4, 0.95, 0},
                            {25.1, 69.88, 15.75, 0.5, 0.11, 0.32, 0.78, 0}},
    {"room-circle",         {114.43, 370.05, 1.0, 0.11, 1000.0, 0.16, 0.97, 0},
                            {39.55, 1044.6, 1.25, 0.11, 1000.0, 0.16, 0.35, 0}},
    {"md-4",                {55.68, 218.47, 0.75, 0.07, 0.06, 0.0, 0.94, 0},
                            {23.41, 1711.71, 4.0, 0.91, 0.06, 0.0, 0.82, 0}},
    {"md-16",               {364.73, 447.82, 0.0, 0.02, 0.02, 0.0, 0.64, 0},
                            {5.78, 396.71, 3.5, 0.02, 950.0, 0.0, 0.47, 0}},
};
// clang-format on

// In the units of plumb's own results.
static plumb_published_scores convert_scores(const printed_scores *printed)
{
    return (plumb_published_scores){.rec_mse = 1e-7 * printed->rec,
                                    .ext_mse = 1e-7 * printed->ext,
                                    .vpt = printed->vpt,
                                    .sym_network = printed->sym_mlp,
                                    .sym_polynomial = printed->sym,
                                    .r2_network = printed->r2_mlp,
                                    .r2_polynomial = printed->r2,
                                    .symetric_network = printed->stars & NETWORK_STAR,
                                    .symetric_polynomial = printed->stars & POLYNOMIAL_STAR};
}

bool plumb_published_at(plumb_published_row *out, int64_t index)
{
    if (!out || index < 0 || index >= (int64_t)(sizeof rows / sizeof *rows)) return false;
    const printed_row *row = &rows[index];
    *out =
        (plumb_published_row){row->world, convert_scores(&row->hgnpp), convert_scores(&row->hgn)};
    return true;
}

bool plumb_published_find(plumb_published_row *out, const char *world)
{
    plumb_published_row row;
    if (!out || !world) return false;
    for (int64_t i = 0; plumb_published_at(&row, i); i++)
        if (!strcmp(row.world, world)) {
            *out = row;
            return true;
        }
    return false;
}
