// SPDX-License-Identifier: MIT
// Six steps of Adam, rate 1.5e-4: adam.p0, adam.g (steps, n), adam.p (steps, n).
#include <stdio.h>
#include <stdlib.h>

#include "engine/adam.h"
#include "golden/golden.h"

enum { MOST = 1 << 16 };

int golden_adam(plumb_file *file, const char *path)
{
    static const adam_options usual = {0.9, 0.999, 1e-8};
    int64_t n = 0, all = 0, wanted = 0;
    double *p = golden_read(&n, file, "adam.p0"), *g = golden_read(&all, file, "adam.g");
    double *want = golden_read(&wanted, file, "adam.p");
    double *m = calloc(MOST, sizeof *m), *v = calloc(MOST, sizeof *v);
    float *narrow = calloc(4 * MOST, sizeof *narrow);
    int failures = 0;
    if (!p || !g || !want || !m || !v || !narrow || n < 1 || n > MOST || all % n || all != wanted) {
        printf("%s: adam.p0, adam.g and adam.p do not fit together\n", path);
        failures = 1;
    }
    float *p4 = narrow, *m4 = narrow + MOST, *v4 = narrow + 2 * MOST, *g4 = narrow + 3 * MOST;
    for (int64_t i = 0; i < n && !failures; i++) p4[i] = (float)p[i];
    for (int64_t t = 0; !failures && t < all / n; t++) {
        for (int64_t i = 0; i < n; i++) g4[i] = (float)g[t * n + i];
        adam_step_reference(p, m, v, g + t * n, n, &(adam_update){&usual, 1.5e-4, 1.0, t + 1});
        adam_step(p4, m4, v4, g4, n, &(adam_update){&usual, 1.5e-4, 1.0, t + 1});
        for (int64_t i = 0; i < n; i++) {
            failures += golden_near(path, "adam.p", t * n + i, p[i], want[t * n + i], 1e-15, 1e-14);
            failures += golden_near(path, "adam.p in float", t * n + i, (double)p4[i],
                                    want[t * n + i], 1e-8, 1e-6);
        }
    }
    free(p), free(g), free(want), free(m), free(v), free(narrow);
    return failures;
}
