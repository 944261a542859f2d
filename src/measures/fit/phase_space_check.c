// SPDX-License-Identifier: MIT
// Checks the shapes of latents and truth, and names both in the message.
#include "measures/fit/phase_space_check.h"

#include "base/array.h"
#include "base/status.h"
#include "measures/fit/circle_columns.h"

static plumb_status check_one(const plumb_array *a, const char *name)
{
    char shape[256];
    plumb_array_shape_string(shape, sizeof shape, a);
    if (a->ndim != 3)
        return fail(PLUMB_ESHAPE, "%s is %s; expected (trajectories, steps, 2n), q first then p",
                    name, shape);
    if (a->shape[2] % 2 && circle_columns_find(a) != CIRCLE_NONE)
        return fail(PLUMB_ESHAPE,
                    "%s is %s; the last axis must be even. It looks like (cos, sin, p), which is "
                    "the layout circle",
                    name, shape);
    if (a->shape[2] < 2 || a->shape[2] % 2)
        return fail(
            PLUMB_ESHAPE,
            "%s is %s; the last axis must be even, for positions and momenta. plumb probe and "
            "plumb dynamics take latents of any kind",
            name, shape);
    return PLUMB_OK;
}

// latent (trajectories, steps >= those of the truth, 2m) and truth (trajectories, steps, 2n).
plumb_status phase_space_check(const plumb_array *latent, const plumb_array *truth)
{
    plumb_status st = check_one(latent, "latent");
    if (!st) st = check_one(truth, "truth");
    if (st) return st;
    char a[256], b[256];
    plumb_array_shape_string(a, sizeof a, latent);
    plumb_array_shape_string(b, sizeof b, truth);
    if (latent->shape[0] != truth->shape[0])
        return fail(PLUMB_ESHAPE,
                    "latent is %s and truth %s; the number of trajectories must be equal", a, b);
    // Latents past the end of the truth are allowed; they are cut.
    if (latent->shape[1] < truth->shape[1])
        return fail(PLUMB_ESHAPE,
                    "latent is %s and truth %s; the latents must have at least as many steps", a,
                    b);
    if (truth->shape[1] < 2)
        return fail(PLUMB_ENUMERIC, "truth is %s; the measure needs at least two steps", b);
    return PLUMB_OK;
}
