// SPDX-License-Identifier: MIT
// Dynamics: does the model move as the world moves? For latents without canonical structure.
//
// A model encodes true frames to latents ("encoded") and predicts latents by itself ("latent"). The
// true state is read out of the encoded latents by a probe, fitted to other trajectories, and the
// same readout is applied to the predicted latents. What is measured is the motion of that readout:
// for how long it is right, how its error grows, whether it keeps what the world keeps, and whether
// it looks like the world in the long run. The readout of the encoded latents says how much of an
// error is that of the probe.
#ifndef PLUMB_DYNAMICS_H
#define PLUMB_DYNAMICS_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/flow.h"
#include "plumb/layout.h"
#include "plumb/record.h"
#include "plumb/state_forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this measure's numbers; it rises when a value changes for the same input.
#define PLUMB_DYNAMICS_VERSION 2

/// The settings. Take them from plumb_dynamics_defaults() and change what you need.
typedef struct plumb_dynamics_options {
    size_t size;       ///< sizeof(plumb_dynamics_options)
    int64_t context;   ///< Steps that the model was given; they are not scored. Default 0.
    double deviations; ///< VPT ends at the first error above this many deviations. Default 0.5.
    int64_t folds;     ///< Folds of the probe, 3 to 20. Default 5.
    bool nonlinear;    ///< The probe may use kernels where they are better. Default true.
    int64_t resamples; ///< Bootstrap draws for the 95 % intervals; 0: none. Default 2000.
    uint64_t seed;     ///< Of folds, centres and bootstrap. Default 1.
    int threads;       ///< 0: plumb_system_threads(). Does not affect the result. Default 0.
    /// Of the truth, for the flow: positions first, momenta first, or interleaved. Default
    /// PLUMB_LAYOUT_POSITIONS_FIRST.
    plumb_layout truth_layout;
} plumb_dynamics_options;

/// What is measured.
typedef struct plumb_dynamics_input {
    size_t size;               ///< sizeof(plumb_dynamics_input)
    const plumb_array *latent; ///< (trajectories, steps, d) of the model's own rollouts.
    /// (trajectories, steps, d) encoded from true frames. The first and the last steps may be NaN,
    /// in all trajectories alike: a state is inferred from frames around it. They are left out.
    const plumb_array *encoded;
    const plumb_array *truth; ///< (trajectories, steps, k) true states.
    /// (trajectories, steps) a quantity that the world keeps, or NULL.
    const plumb_array *energy;
    /// (k) true for columns of the truth that are angles in radians, or NULL. Each is replaced by
    /// its sine and its cosine, and all numbers are about these.
    const bool *angles;
    /// (trajectories, steps or steps - 1, a) what drives the system, held from a step to the next,
    /// or NULL. The flow takes it as a known input. Unless all of it is 0, the world keeps nothing:
    /// conserved quantities are measured and decide nothing.
    const plumb_array *action;
} plumb_dynamics_input;

/// What the motion is like.
typedef enum plumb_dynamics_verdict {
    PLUMB_DYNAMICS_UNKNOWN, ///< The state cannot be read out of the latents, or not well enough.
    PLUMB_DYNAMICS_RIGHT,   ///< As right as the readout allows, to the last step.
    PLUMB_DYNAMICS_OUT_OF_STEP, ///< Right for a while; then the right kind of motion, out of step.
    PLUMB_DYNAMICS_DRIFTS,      ///< Conserved quantities change: it spirals in or out.
    PLUMB_DYNAMICS_STOPS,       ///< The motion dies out or stands still.
    PLUMB_DYNAMICS_DIVERGES,    ///< It leaves the range of the truth, or is not finite.
    PLUMB_DYNAMICS_OTHER,       ///< It moves otherwise than the world.
} plumb_dynamics_verdict;

/// A conserved quantity: how it changes in the truth, in the readout of the encoded latents, and in
/// that of the rollout. Each is the root of the mean over trajectories of (last third - first
/// third)^2, in deviations of the quantity between trajectories.
typedef struct plumb_dynamics_conserved {
    bool measured;                  ///< False: there is none, and the other members are 0 or NaN.
    double truth, encoded, rollout; ///< The change, in deviations; 0 if it is conserved.
    double trend; ///< Mean over trajectories of (last - first third) of the rollout, in deviations.
    double share; ///< Found: variance within trajectories / all variance, of the truth.
} plumb_dynamics_conserved;

/// The result. Free what it owns with plumb_dynamics_clear().
typedef struct plumb_dynamics {
    plumb_dynamics_verdict verdict; ///< How the rollout moves.
    const char *why;                ///< One or two sentences.
    double r2;                      ///< Of the probe, mean over the columns of the truth.
    double r2_worst;                ///< Of the column that is read out worst.
    plumb_state_forecast motion;    ///< Readout of the rollout against the truth.
    plumb_state_forecast floor;     ///< Readout of the encoded latents against the truth.
    double growth; ///< Slope per step of the mean over trajectories of the log of the error, while
                   ///< it grows: up to 0.5 deviations.
    double growth_lyapunov; ///< `growth` / Lyapunov exponent of the truth; NaN if not chaotic.
    plumb_dynamics_conserved energy; ///< The `energy` of the input, as a quadratic function of the
                                     ///< state; only if it is one (R2 above 0.9).
    plumb_dynamics_conserved found;  ///< The quadratic function of the state that varies least
                                     ///< within a trajectory compared with between them; only if
                                     ///< its `share` is below 0.1.
    /// Last half of the steps: Wasserstein distance of the distribution of each column, in
    /// deviations, mean over columns; of the rollout and of the encoded latents.
    double histogram, histogram_floor;
    double spectrum, spectrum_floor; ///< Half the sum of differences of normalised power spectra,
                                     ///< 0 to 1, mean over columns; likewise.
    double phase_rate; ///< Mean |rate| at which rollout and truth get out of phase, radians per
                       ///< step, at the strongest frequency; NaN if there is none.
    double range;      ///< Deviation of the rollout / of the truth in the last third; 1: the same.
    double seconds;    ///< Time of the call.
    char input_hash[33]; ///< XXH3-128 of the arrays, in hexadecimal.
    void *memory;        ///< Private.
    /// The flow of the readout, if the truth has an even number of columns, positions and momenta
    /// in the order of `truth_layout`; else `measured` is false. Angles are angles in it.
    plumb_flow flow;
    /// Steps left out at the start and at the end, because `encoded` is NaN there.
    int64_t unencoded_before, unencoded_after;
    bool driven; ///< An action that is not 0 was given.
    /// A doubt about the arrays: some were exchanged, an angle jumps by a turn, or the truth has
    /// another layout. It changes no number. NULL: none.
    const char *hint;
} plumb_dynamics;

/// The word of a verdict: "right", "out-of-step", "drifts" ...
PLUMB_API const char *plumb_dynamics_verdict_name(plumb_dynamics_verdict verdict);

/// Sets the first `size` bytes of `options` to the defaults.
PLUMB_API void plumb_dynamics_options_init(plumb_dynamics_options *options, size_t size);

/// Returns the defaults.
static inline plumb_dynamics_options plumb_dynamics_defaults(void)
{
    plumb_dynamics_options options;
    plumb_dynamics_options_init(&options, sizeof options);
    return options;
}

/// Measures whether a model moves as the world moves. A rollout may be NaN or infinite.
/// May be NULL: options. On failure `result` is unchanged.
/// Fails with PLUMB_ESHAPE if shapes do not fit together, PLUMB_ENUMERIC if the truth or the
/// encoded latents are not finite, PLUMB_EVALUE if an option is invalid or there are fewer than
/// four trajectories or twelve scored steps, PLUMB_EMISSING without OpenBLAS.
PLUMB_API plumb_status plumb_dynamics_measure(plumb_dynamics *result,
                                              const plumb_dynamics_input *input,
                                              const plumb_dynamics_options *options);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_dynamics_clear(plumb_dynamics *result);

/// Writes the result under the names that `plumb dynamics --json` prints. May be NULL: options.
PLUMB_API void plumb_dynamics_record(plumb_record *record, const plumb_dynamics *result,
                                     const plumb_dynamics_options *options);

#ifdef __cplusplus
}
#endif
#endif
