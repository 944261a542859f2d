// SPDX-License-Identifier: MIT
// The flow of the latents: does the model move as a Hamiltonian system moves?
//
// kappa asks whether the latents are canonical coordinates. A model may have right coordinates and
// still lose energy. This measure follows the latents in time: how much the area of phase space
// changes per step, and, beside the truth, how much area, energy and time differ from it.
// docs/measures-flow.md derives it.
#ifndef PLUMB_FLOW_H
#define PLUMB_FLOW_H

#include "plumb/kappa.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_FLOW_VERSION 2

/// The settings. Take them from plumb_flow_defaults() and change what you need.
typedef struct plumb_flow_options {
    size_t size;       ///< sizeof(plumb_flow_options)
    int64_t lag;       ///< Steps between the two ends of the map z(t) -> z(t + lag). 0: chosen.
    double change_bar; ///< Area and energy may change by this share. Default 0.1.
    /// Leave out trajectories with NaN or infinity instead of failing. Default false.
    bool drop_nonfinite;
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of the bootstrap. Default 1.
} plumb_flow_options;

/// The arrays.
typedef struct plumb_flow_input {
    size_t size;               ///< sizeof(plumb_flow_input)
    const plumb_array *latent; ///< (trajectories, steps, 2m) latents of the model, q first.
    const plumb_array *truth;  ///< (trajectories, steps, 2n) true states. May be NULL.
    const plumb_array *energy; ///< (trajectories, steps) true energy. May be NULL.
    /// (trajectories, steps or steps - 1, a) what drives the system, held from a step to the next.
    /// It is an input of the map z(t) -> z(t + lag), and the energy decides nothing. May be NULL.
    const plumb_array *action;
} plumb_flow_input;

/// The result. Numbers that could not be measured are NaN. Free what it owns with
/// plumb_flow_clear().
typedef struct plumb_flow {
    bool measured;         ///< False if the flow is not defined here; `why` has the reason.
    plumb_verdict verdict; ///< Does the model move as the truth moves? Needs the truth.
    const char *why;       ///< The verdict in one sentence.
    int64_t lag;      ///< Steps of the map z(t) -> z(t + lag) and, for the rate, of its double.
    double kappa;     ///< kappa of that map: 1 if it keeps the form up to one constant.
    double area_rate; ///< Factor per step by which the latents' flow changes areas.
    plumb_interval area_rate_ci; ///< 95 %.
    double volume_rate;          ///< Factor per step by which it changes volumes.
    double true_area_rate;       ///< area_rate of the truth: 1 for a conservative system.
    /// Relative change of the area over the whole trajectory, less that of the truth. -0.1: a tenth
    /// is lost.
    double area_change;
    plumb_interval area_change_ci; ///< 95 %.
    /// Relative change of the energy, read from the latents, over the whole trajectory, less that
    /// of the truth. In units of the mean energy above the least.
    double energy_change;
    plumb_interval energy_change_ci; ///< 95 %.
    double clock;                    ///< Speed of the model's time: 1.02 runs 2 % fast.
    plumb_interval clock_ci;         ///< 95 %.
    double r2;                       ///< R2 of the true state, read from the latents.
    double r2_clock;                 ///< The same after the clock is corrected.
    int64_t trajectories;            ///< Trajectories used.
    int64_t steps;                   ///< Steps compared.
    bool driven;                     ///< An action that is not 0 was given.
    double seconds;                  ///< Time of the call.
    void *memory;                    ///< Private.
} plumb_flow;

/// Sets the first `size` bytes of `options` to the defaults. plumb_flow_defaults() calls it.
PLUMB_API void plumb_flow_options_init(plumb_flow_options *options, size_t size);

/// The defaults.
static inline plumb_flow_options plumb_flow_defaults(void)
{
    plumb_flow_options options;
    plumb_flow_options_init(&options, sizeof options);
    return options;
}

/// Measures the flow of the latents. May be NULL: options. On failure `result` is unchanged. Fails
/// with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC if values are not finite,
/// PLUMB_EMISSING without OpenBLAS. Data too few or too short are no failure: then `measured` is
/// false, or numbers are NaN.
PLUMB_API plumb_status plumb_flow_measure(plumb_flow *result, const plumb_flow_input *input,
                                          const plumb_flow_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_flow_clear(plumb_flow *result);

/// Writes the result as the object `flow`, and the keys flow_verdict and flow_why.
PLUMB_API void plumb_flow_record(plumb_record *record, const plumb_flow *result);

#ifdef __cplusplus
}
#endif
#endif
