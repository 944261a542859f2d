// SPDX-License-Identifier: MIT
// Did the latents learn the phase space? SyMetric, kappa and the verdict from one set of arrays.
//
// plumb measure, plumb evaluate, plumb demo, plumb report and the Python package call
// plumb_phase_space_measure(), so they cannot disagree.
#ifndef PLUMB_PHASE_SPACE_H
#define PLUMB_PHASE_SPACE_H

#include "plumb/flow.h"
#include "plumb/kappa.h"
#include "plumb/layout.h"
#include "plumb/symetric.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The arrays. Positions come first in each, then momenta, unless the options name another layout.
typedef struct plumb_phase_space_input {
    size_t size;                 ///< sizeof(plumb_phase_space_input)
    const plumb_array *latent;   ///< (trajectories, steps, 2m) latents of the model.
    const plumb_array *variance; ///< Posterior variance of the latents, for SyMetric. May be NULL.
    const plumb_array *momenta;  ///< Momenta of a Lagrangian model. May be NULL.
    const plumb_array *truth;    ///< (trajectories, steps, 2n) true states.
    /// (trajectories, steps, 2n') the same states in their fewest canonical coordinates, for kappa.
    /// May be NULL: kappa uses `truth`.
    const plumb_array *canonical;
    const plumb_array *energy; ///< (trajectories, steps) true energy, for the flow. May be NULL.
    /// (trajectories, steps or steps - 1, a) what drives the system, for the flow. May be NULL.
    const plumb_array *action;
} plumb_phase_space_input;

/// The options. Take them from plumb_phase_space_defaults() and change what you need.
typedef struct plumb_phase_space_options {
    size_t size; ///< sizeof(plumb_phase_space_options)
    /// Options of SyMetric; `method` is ignored. May be NULL: the defaults.
    const plumb_symetric_options *symetric;
    /// Options of kappa. May be NULL: the defaults, with `resamples`, `seed` and the treatment of
    /// trajectories that are not finite as in `symetric`.
    const plumb_kappa_options *kappa;
    bool polynomial;     ///< Measure SyMetric by polynomials. Default true.
    bool network;        ///< Measure SyMetric by a network. Default false.
    bool published_only; ///< Measure neither kappa nor the Sym of the truth. Default false.
    /// The latents are (q, velocity) of a Lagrangian model: fit its momenta to their motion and use
    /// them. Fails if they cannot be fitted. Default false.
    bool fit_momenta;
    /// Options of the flow. May be NULL: the defaults, with resamples, seed and the treatment of
    /// trajectories that are not finite as for kappa.
    const plumb_flow_options *flow;
    bool coordinates_only;     ///< Do not measure the flow. Default false.
    int threads;               ///< 0: as in `symetric`. Does not affect the result. Default 0.
    plumb_layout layout;       ///< Of latent and variance. Default PLUMB_LAYOUT_POSITIONS_FIRST.
    plumb_layout truth_layout; ///< Of truth. Default PLUMB_LAYOUT_POSITIONS_FIRST.
    /// Leave the trajectories that diverge (kappa.diverged) out of SyMetric and the flow too; kappa
    /// always leaves them out. Default false.
    bool drop_diverged;
} plumb_phase_space_options;

/// The result. Free it with plumb_phase_space_clear().
typedef struct plumb_phase_space {
    /// The only verdict: not learnt if the coordinates or the flow are not; learnt if the
    /// coordinates are and the flow does not contradict; else not determined.
    plumb_verdict verdict;
    const char *why;           ///< The reason of the verdict in one sentence.
    plumb_verdict coordinates; ///< Are the latents the true phase space? As kappa.canonical.
    bool has_polynomial;       ///< `polynomial` was measured.
    bool has_network;          ///< `network` was measured.
    plumb_symetric polynomial; ///< SyMetric by polynomials, or zeros.
    plumb_symetric network;    ///< SyMetric by a network, or zeros.
    plumb_kappa kappa;         ///< kappa, or `measured` false and the reason in `why`.
    plumb_flow flow;           ///< The flow, or `measured` false and the reason in `why`.
    double sym_floor; ///< Sym of the truth itself, which no model can undercut. NaN if undefined.
    int64_t canonical_dims; ///< 2n' of `canonical`, or 0 if it was not given.
    void *memory;           ///< Private.
} plumb_phase_space;

/// Fits the momenta dL/dv of a Lagrangian model, up to one factor, to the motion of its latents:
/// momenta (trajectories, steps, m) from latent (trajectories, steps, 2m), which are (q, velocity)
/// of at most four pairs. For `momenta` of the input and of plumb_symetric_options. Fails with
/// PLUMB_ESHAPE, and with PLUMB_ENUMERIC if the second half is not the velocity of the first.
PLUMB_API plumb_status plumb_phase_space_fit_momenta(double *momenta, const plumb_array *latent);

/// Sets the first `size` bytes of `options` to the defaults. plumb_phase_space_defaults() calls it.
PLUMB_API void plumb_phase_space_options_init(plumb_phase_space_options *options, size_t size);

/// The defaults: polynomials and kappa.
static inline plumb_phase_space_options plumb_phase_space_defaults(void)
{
    plumb_phase_space_options options;
    plumb_phase_space_options_init(&options, sizeof options);
    return options;
}

/// Measures SyMetric and kappa and decides. May be NULL: options. On failure `result` is unchanged.
/// Fails as plumb_symetric_measure() does, and with PLUMB_ESHAPE if `canonical` does not fit
/// `truth`. If kappa is undefined, this does not fail: kappa.measured is false and kappa.why has
/// the reason.
PLUMB_API plumb_status plumb_phase_space_measure(plumb_phase_space *result,
                                                 const plumb_phase_space_input *input,
                                                 const plumb_phase_space_options *options);

/// The rule that joins the verdicts on the coordinates (by kappa) and on the flow. SyMetric never
/// decides.
PLUMB_API plumb_verdict plumb_phase_space_join(plumb_verdict coordinates, plumb_verdict flow);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_phase_space_clear(plumb_phase_space *result);

/// Writes the result under the names that `plumb measure --json` prints. May be NULL: options.
PLUMB_API void plumb_phase_space_record(plumb_record *record, const plumb_phase_space *result,
                                        const plumb_phase_space_options *options);

#ifdef __cplusplus
}
#endif
#endif
