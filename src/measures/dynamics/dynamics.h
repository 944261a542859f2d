// SPDX-License-Identifier: MIT
// What the parts of the measure share: states read out of latents, beside the true ones.
#ifndef MEASURES_DYNAMICS_DYNAMICS_H
#define MEASURES_DYNAMICS_DYNAMICS_H

#include "base/arena.h"
#include "base/option.h"
#include "plumb/dynamics.h"

extern const option_table dynamics_option_table;

/// All arrays are (trajectories, steps, dims). The first `context` steps are not scored.
typedef struct dynamics_states {
    int64_t trajectories, steps, context, dims;
    const double *truth;
    double *encoded, *rollout; ///< read out of latents; the rollout may be NaN or infinite
    double *mean, *deviation;  ///< (dims) of the truth; 0 for a constant column
    double r2, r2_worst;       ///< of the probe, over columns that are not constant
    int64_t latents;
    double r2_exchanged; ///< of a linear probe fitted to the rollouts; NaN if it was not needed
    int64_t wrapped;     ///< column of the truth that jumps by a turn; -1: none
    bool interleaved;    ///< the truth looks like (q1, p1, q2, p2), and is read as positions first
} dynamics_states;

/// What the flow takes from the input: the order of its columns before angles were replaced.
typedef struct dynamics_given {
    int64_t columns;           ///< of the truth as given
    const bool *angles;        ///< (columns) or NULL
    plumb_layout layout;       ///< of the truth as given
    const double *energy;      ///< (trajectories, steps) or NULL
    const plumb_array *action; ///< or NULL
} dynamics_given;

/// The input without the steps at both ends that no trajectory has encoded latents for.
typedef struct dynamics_encoded_part {
    plumb_dynamics_input input;
    plumb_array latent, encoded, truth, energy, action; ///< what `input` points to
    int64_t before, after;                              ///< steps left out
} dynamics_encoded_part;

/// A state is inferred from the frames around it, so the first and last steps may have none: NaN in
/// `encoded` for all trajectories. All memory is in `mem`. Fails with PLUMB_EMEMORY.
plumb_status dynamics_crop_encoded(dynamics_encoded_part *out, arena *mem,
                                   const plumb_dynamics_input *in);

/// Replaces angles of the truth by sines and cosines: `out` is a view of the truth, or of an array
/// in `mem`. Fails with PLUMB_EMEMORY.
plumb_status dynamics_replace_angles(plumb_array *out, arena *mem, const plumb_array *truth,
                                     const bool *angles);

/// Fits the probe and reads both kinds of latents out. All memory is in `mem`.
plumb_status dynamics_states_read(dynamics_states *out, arena *mem, const plumb_dynamics_input *in,
                                  const plumb_dynamics_options *opt);

/// Conserved quantities. May be NULL: energy (trajectories, steps).
plumb_status dynamics_find_conserved(plumb_dynamics *out, arena *mem, const dynamics_states *s,
                                     const double *energy);

/// Distributions, spectra, phase, range and growth of the error.
plumb_status dynamics_compare_motion(plumb_dynamics *out, arena *mem, const dynamics_states *s);

/// Fails with PLUMB_EVALUE or PLUMB_ESHAPE if the truth cannot have this layout.
plumb_status dynamics_check_layout(const plumb_dynamics_input *in, plumb_layout layout);

/// The flow in the coordinates of the readout, an angle as itself. Where it is not defined it is
/// not measured. Sets states->interleaved.
plumb_status dynamics_measure_flow(plumb_flow *out, arena *mem, dynamics_states *states,
                                   const dynamics_given *given, const plumb_dynamics_options *opt);

/// The verdict, with its reason.
plumb_status dynamics_decide(plumb_dynamics *out, arena *mem);

#endif
