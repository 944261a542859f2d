// SPDX-License-Identifier: MIT
#include "golden/golden_video.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void video_same(video_case *c, const char *name, const double *got, int64_t count, double tolerance)
{
    int64_t wanted = 0;
    double *want = golden_read(&wanted, c->file, name), most = 1e-300;
    if (!want || wanted != count) {
        printf("%s: %s has %lld values, wanted %lld\n", c->path, name, (long long)wanted,
               (long long)count);
        c->failures++;
        free(want);
        return;
    }
    double worst = 0.0;
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(want[i]));
        if (!(fabs(got[i] - want[i]) <= worst)) worst = fabs(got[i] - want[i]);
    }
    if (!(worst <= tolerance * most)) {
        printf("%s: %s in %s is off by %.3g of its largest, %.3g\n", c->path, name, c->form,
               worst / most, most);
        c->failures++;
    }
    free(want);
}

double *video_output(const video_case *c, int index, int64_t count)
{
    double *out = calloc((size_t)count + 1, sizeof *out);
    if (!out) abort();
    instance_get(c->i, index, out);
    return out;
}

void video_to_torch(double *out, const double *in, const tensor_shape *s)
{
    const int64_t *d = s->size;
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t i = 0; i < d[1] * d[2]; i++)
            for (int64_t k = 0; k < d[3]; k++)
                out[(n * d[3] + k) * d[1] * d[2] + i] = in[(n * d[1] * d[2] + i) * d[3] + k];
}

void video_from_torch(double *out, const double *in, const tensor_shape *s)
{
    const int64_t *d = s->size;
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t i = 0; i < d[1] * d[2]; i++)
            for (int64_t k = 0; k < d[3]; k++)
                out[(n * d[1] * d[2] + i) * d[3] + k] = in[(n * d[3] + k) * d[1] * d[2] + i];
}

double *video_read(video_case *c, const char *name, int64_t count)
{
    int64_t found = 0;
    double *x = golden_read(&found, c->file, name);
    if (x && found == count) return x;
    printf("%s: %s has %lld values, wanted %lld\n", c->path, name, (long long)found,
           (long long)count);
    c->failures++;
    free(x);
    x = calloc((size_t)count + 1, sizeof *x);
    if (!x) abort();
    return x;
}
