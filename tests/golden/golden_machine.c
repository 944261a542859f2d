// SPDX-License-Identifier: MIT
// Runs graphs in double or in float and compares their numbers with stored ones.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden/golden_models.h"

static const double allowed[2][GOLDEN_CLASSES] = {
    [PROGRAM_REFERENCE] = {1e-11, 1e-11, 1e-11},
    [PROGRAM_FAST] = {[GOLDEN_STATE] = 2e-4, [GOLDEN_GRADIENT] = 1e-3, [GOLDEN_LOSS] = 1e-5},
};

static const char *form_name(const golden_judgement *j)
{
    return j->form == PROGRAM_REFERENCE ? "double" : "float";
}

void golden_wrong(golden_judgement *j, const char *what)
{
    printf("%s: %s: %s\n", j->path, form_name(j), what);
    j->failures++;
}

void golden_close_to(golden_judgement *j, const char *name, const double *got, const double *want,
                     int64_t count, double scale, golden_class class)
{
    double worst = 0.0;
    int64_t at = -1;
    bool given = scale > 0.0;
    for (int64_t i = 0; i < count && !given; i++) scale = fmax(scale, fabs(want[i]));
    for (int64_t i = 0; i < count; i++) {
        double error = fabs(got[i] - want[i]);
        if (error > 0.0) error /= scale; // no error at all is none, however small the scale
        if (!(error <= worst)) worst = error, at = i; // NaN is the worst
        if (isnan(error)) break;
    }
    if (!(worst <= j->worst[class])) j->worst[class] = worst;
    if (worst <= allowed[j->form][class]) return;
    printf("%s: %s: %s[%lld] is %.17g, wanted %.17g: %.2e of %.3g\n", j->path, form_name(j), name,
           (long long)at, got[at], want[at], worst, scale);
    j->failures++;
}

void golden_close(golden_judgement *j, const char *name, const double *got, int64_t count,
                  golden_class class)
{
    int64_t wanted = -1;
    double *want = golden_read(&wanted, j->file, name);
    if (want && wanted == count) golden_close_to(j, name, got, want, count, 0.0, class);
    else {
        GOLDEN_NAME(text, "%s has %lld numbers, wanted %lld", name, (long long)wanted,
                    (long long)count);
        golden_wrong(j, text);
    }
    free(want);
}

void golden_tell(const golden_judgement *j)
{
    printf("  %-6s  worst: states %.1e, gradients %.1e, losses %.1e\n", form_name(j),
           j->worst[GOLDEN_STATE], j->worst[GOLDEN_GRADIENT], j->worst[GOLDEN_LOSS]);
}

bool golden_start(golden_machine *m, graph *g, graph_node *const *output, int outputs,
                  program_form form)
{
    *m = (golden_machine){0};
    if (!program_build(&m->p, g, output, outputs, form) && !instance_create(&m->i, m->p))
        return true;
    printf("%s\n", plumb_last_error());
    golden_stop(m);
    return false;
}

void golden_stop(golden_machine *m)
{
    instance_free(m->i);
    program_free(m->p);
    *m = (golden_machine){0};
}
