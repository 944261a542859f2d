// SPDX-License-Identifier: MIT
// Models with a known answer: the verdict must be right and kappa near its true value.
#include <math.h>
#include <stdio.h>

#include "golden/golden.h"
#include "plumb/kappa.h"

static struct {
    int cases, errors, unknown, off, uncovered;
} tally;

static int report(plumb_file *file, const char *path, const plumb_kappa *r)
{
    const double expected = golden_scalar(file, "expected", (double)NAN);
    const double kappa = golden_scalar(file, "kappa_true", (double)NAN);
    if (isnan(expected) || isnan(kappa)) {
        printf("%s: expected or kappa_true is missing\n", path);
        return 1;
    }
    const bool unknown = r->canonical == PLUMB_VERDICT_NOT_DETERMINED;
    const bool error = !unknown && r->canonical != (int)expected,
               off = fabs(r->kappa - kappa) > 0.05;
    if (unknown) printf("%s: verdict null: %s\n", path, r->why);
    if (error) printf("%s: verdict %d, expected %g: %s\n", path, r->canonical, expected, r->why);
    if (off) printf("%s: kappa %.4f, true %.4f\n", path, r->kappa, kappa);
    tally.cases++;
    tally.errors += error;
    tally.unknown += unknown;
    tally.off += off;
    tally.uncovered += !(kappa >= r->kappa_ci.low - 1e-4 && kappa <= r->kappa_ci.high + 1e-4);
    return 0;
}

int golden_planted(plumb_file *file, const char *path)
{
    plumb_array latent, truth;
    plumb_kappa r;
    if (plumb_file_read_array(&latent, file, "latent") ||
        plumb_file_read_array(&truth, file, "truth") ||
        plumb_kappa_measure(&r, &latent, NULL, &truth, NULL)) {
        printf("%s: %s\n", path, plumb_last_error());
        return 1;
    }
    const int failures = report(file, path, &r);
    plumb_kappa_clear(&r);
    return failures;
}

int golden_planted_verdict(void)
{
    printf("%d cases: %d wrong verdicts, %d null, kappa off by more than 0.05 in %d, outside its "
           "interval in %d\n",
           tally.cases, tally.errors, tally.unknown, tally.off, tally.uncovered);
    const double most = 0.05 * tally.cases;
    return tally.errors || tally.unknown > most || tally.off > most || tally.uncovered > most;
}
