// SPDX-License-Identifier: MIT
// Options of kappa: the table of its members, their defaults and their ranges.
#include "measures/kappa/options.h"

#include "base/options_struct.h"

static const char *const estimator_words[] = {"network", "gaussian", "polynomial", NULL};

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_kappa_options, member)
static const option_spec specs[] = {
    {MEMBER(estimator), .kind = OPTION_ENUM, .words = estimator_words,
     .help = "how kappa fits the map from truth to latents"},
    {MEMBER(kappa_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "kappa must be above it for a model to be canonical"},
    {MEMBER(r2_bar), .kind = OPTION_DOUBLE, .low = -1e300, .high = 1e300,
     .help = "the R2 of the state must be above it"},
    {MEMBER(centres), .kind = OPTION_INT64, .low = 1, .high = 4000,
     .help = "kernel centres of the map from truth to latents"},
    {MEMBER(state_centres), .kind = OPTION_INT64, .low = 1, .high = 4000,
     .help = "kernel centres of the map from latents to truth"},
    {MEMBER(symplectic), .kind = OPTION_BOOL,
     .help = "measure symplectic_r2 too: fit a map that is symplectic by design; takes seconds"},
    {MEMBER(drop_nonfinite), .kind = OPTION_BOOL,
     .help = "leave out trajectories that are not finite"},
    {MEMBER(resamples), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "bootstrap draws for the 95 % interval; 0: none"},
    {MEMBER(seed), .kind = OPTION_UINT64, .help = "seed of the bootstrap and of the symplectic map"},
    {MEMBER(angles), .kind = OPTION_POINTER, .type = "bool",
     .help = "which true positions are angles, one flag each"},
    {MEMBER(constants), .kind = OPTION_POINTER, .type = "array",
     .help = "constants that differ between trajectories, (trajectories, constants)"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table kappa_option_table = {"kappa_options", sizeof(plumb_kappa_options), specs};

void plumb_kappa_options_init(plumb_kappa_options *options, size_t size)
{
    const plumb_kappa_options defaults = {
        .size = sizeof defaults,
        .kappa_bar = 0.9,
        .r2_bar = 0.9,
        .centres = 400,
        .state_centres = 250,
        .resamples = 2000,
        .seed = 1,
    };
    options_init(options, size, &defaults, sizeof defaults);
}

plumb_status kappa_options_check(const plumb_kappa_options *opt)
{
    return options_check_ranges(&kappa_option_table, opt);
}
