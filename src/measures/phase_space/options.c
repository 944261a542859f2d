// SPDX-License-Identifier: MIT
// Options of the measures of a phase space: the table of their members and their defaults. The
// options of SyMetric and kappa have tables of their own.
#include "measures/phase_space/options.h"

#include "base/options_struct.h"
#include "measures/fit/layout_columns.h"

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_phase_space_options, member)
static const option_spec specs[] = {
    {MEMBER(symetric), .kind = OPTION_POINTER, .type = "symetric_options",
     .help = "options of SyMetric"},
    {MEMBER(kappa), .kind = OPTION_POINTER, .type = "kappa_options", .help = "options of kappa"},
    {MEMBER(flow), .kind = OPTION_POINTER, .type = "flow_options", .help = "options of the flow"},
    {MEMBER(coordinates_only), .kind = OPTION_BOOL, .help = "do not measure the flow"},
    {MEMBER(polynomial), .kind = OPTION_BOOL, .help = "measure SyMetric by polynomials"},
    {MEMBER(network), .kind = OPTION_BOOL, .help = "measure SyMetric by a network"},
    {MEMBER(published_only), .kind = OPTION_BOOL,
     .help = "only the published numbers: no kappa, which takes most of the time, and no Sym of "
             "the truth"},
    {MEMBER(fit_momenta), .kind = OPTION_BOOL,
     .help = "the latents are (q, velocity) of a Lagrangian model; its momenta are fitted to the "
             "motion of the latents, for kappa"},
    {MEMBER(threads), .kind = OPTION_INT, .low = 0, .high = 256,
     .help = "0: all cores; does not affect the result"},
    {MEMBER(layout), .kind = OPTION_ENUM, .words = layout_words,
     .help = "order of the latents: (q1, q2, p1, p2), (p1, p2, q1, q2), (q1, p1, q2, p2), "
             "(q, velocity), whose momenta are fitted, or (cos, sin, p)"},
    {MEMBER(truth_layout), .kind = OPTION_ENUM, .words = layout_words,
     .help = "order of the true states, as for the latents"},
    {MEMBER(drop_diverged), .kind = OPTION_BOOL,
     .help = "leave trajectories whose latents diverge out of SyMetric and the flow too; kappa "
             "always leaves them out, and names them"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table phase_space_option_table = {"phase_space_options",
                                               sizeof(plumb_phase_space_options), specs};

void plumb_phase_space_options_init(plumb_phase_space_options *options, size_t size)
{
    const plumb_phase_space_options defaults = {.size = sizeof defaults, .polynomial = true};
    options_init(options, size, &defaults, sizeof defaults);
}
