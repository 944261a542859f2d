// SPDX-License-Identifier: MIT
// The kernels for any processor: registers of four floats, as vector types of the compiler.
#include "engine/kernels/simd.h"

#define SET portable
#define TARGET
#define LANES 4
#define ROWS 6
#define ROWS1 8
#define PANEL_ROWS 12
#define FMA(a, b, c) ((a) * (b) + (c))
#define PART_LOAD(p, count) ((VEC)four_load(p, count))
#define PART_STORE(p, v, count) four_store(p, (four)(v), count)
#define SUMS(a, b, c, d) ((four){SUM(a), SUM(b), SUM(c), SUM(d)})
#define SUM(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#include "engine/kernels/kernel_set_template.h"
