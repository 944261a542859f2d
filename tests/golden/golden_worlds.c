// SPDX-License-Identifier: MIT
#include "golden/golden_worlds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

golden_worlds golden_worlds_begin(plumb_file *file, const char *path)
{
    return (golden_worlds){.file = file, .path = path};
}

int golden_worlds_end(golden_worlds *g)
{
    for (int i = 0; i < g->arrays; i++) free(g->array[i]);
    return g->failures;
}

const double *golden_worlds_read(golden_worlds *g, const char *name, int64_t *count)
{
    int64_t found = 0;
    double *values = golden_read(&found, g->file, name);
    if (values && (*count < 0 || found == *count) && g->arrays < GOLDEN_WORLDS_ARRAYS) {
        *count = found;
        g->array[g->arrays++] = values;
        return values;
    }
    printf("%s: %s holds %lld numbers, wanted %lld\n", g->path, name, (long long)found,
           (long long)*count);
    g->failures++;
    free(values);
    return NULL;
}

void golden_worlds_near(golden_worlds *g, const char *what, const double *got, const double *want,
                        int64_t count, double tolerance)
{
    double size = 1e-300;
    for (int64_t i = 0; i < count; i++) size = fmax(size, fabs(want[i]));
    for (int64_t i = 0; i < count; i++) {
        if (fabs(got[i] - want[i]) <= tolerance * size) continue; // never with NaN
        printf("%s: %s[%lld] is %.17g, wanted %.17g\n", g->path, what, (long long)i, got[i],
               want[i]);
        g->failures++;
        return;
    }
}

void golden_worlds_bytes(golden_worlds *g, const char *what, const uint8_t *got, const double *want,
                         int64_t count, int levels, double share)
{
    int64_t off = 0;
    int worst = 0;
    for (int64_t i = 0; i < count; i++) {
        const int difference = abs((int)got[i] - (int)want[i]);
        off += difference > 0;
        worst = difference > worst ? difference : worst;
    }
    if (worst <= levels && (double)off <= share * (double)count) return;
    printf("%s: %s: %lld of %lld bytes differ, by up to %d\n", g->path, what, (long long)off,
           (long long)count, worst);
    g->failures++;
}
